"""Ranks of columns: what they share does not depend on how their values are spread."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tvselect.jit import kernel


def normal_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of the normal law at the ranks of some numbers; equal ones share theirs.

    Examples
    --------
    >>> normal_scores(np.array([3.0, 1e12, 3.0, 2.0])).round(2)
    array([ 0.  ,  1.15,  0.  , -1.15])
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    scores: NDArray[np.float64] = ndtri((np.cumsum(counts) - 0.5 * counts) / values.size)
    return scores[place]


def centred_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks (columns, rows) of mean 0 and length 1; 0 where there is nothing to rank.

    Equal values share the mean of their ranks; products of two columns are Spearman's
    correlations, with missing values in the middle.

    Examples
    --------
    >>> centred_ranks(np.array([[3.0, 9.0, 9.0, np.nan]])).round(2)
    array([[-0.82,  0.41,  0.41,  0.  ]])
    """
    order = np.argsort(values, axis=1)  # missing ones last
    ranks = np.empty(values.shape)
    rank_columns(values, order, ranks)
    return ranks


@kernel
def rank_columns(
    values: NDArray[np.float64], order: NDArray[np.int64], ranks: NDArray[np.float64]
) -> None:
    """Ranks of columns from their order; equal values share the mean of their ranks."""
    for j in range(values.shape[0]):
        n_present = 0
        for i in range(values.shape[1]):
            n_present += values[j, i] == values[j, i]
        squares = 0.0
        first = 0
        while first < n_present:
            last = first + 1
            while last < n_present and values[j, order[j, last]] == values[j, order[j, first]]:
                last += 1
            rank = 0.5 * (first + last - n_present)
            for place in range(first, last):
                ranks[j, order[j, place]] = rank
            squares += (last - first) * rank * rank
            first = last
        for place in range(n_present, values.shape[1]):
            ranks[j, order[j, place]] = 0.0
        if squares > 0.0:
            for i in range(values.shape[1]):
                ranks[j, i] /= math.sqrt(squares)
