"""Ranks of columns: what they share does not depend on how their values are spread."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tvselect.core import function

TINY = 1e-12

rank_codes = function("rank_codes", "codes: u1[columns, rows]\nranks: f8[columns, rows]!")
rank_columns = function(
    "rank_columns",
    """
    values: f8[columns, rows]
    order: i8[columns, rows] < rows
    ranks: f8[columns, rows]!
    """,
)


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
    rank_columns(np.ascontiguousarray(values, dtype=np.float64), order, ranks)
    return ranks


def ranks_beside_zeros(
    values: NDArray[np.float64], n_rows: int
) -> tuple[NDArray[np.float64], float]:
    """:func:`centred_ranks` of a column of which some values are at hand, the others zero.

    Returns
    -------
    ranks : float64 array
        Of the values at hand.
    of_zero : float
        The rank of a zero.

    Examples
    --------
    >>> ranks, of_zero = ranks_beside_zeros(np.array([3.0, np.nan, -1.0]), 5)
    >>> ranks.round(2), round(of_zero, 2)
    (array([ 0.71,  0.  , -0.71]), 0.0)
    """
    levels, place, counts = np.unique(
        np.append(values, 0.0), return_inverse=True, return_counts=True
    )
    counts[place[-1]] += n_rows - values.size - 1
    is_missing = np.isnan(levels)
    counts[is_missing] = 0
    ends = np.cumsum(counts)
    ranks = np.where(is_missing, 0.0, ends - 0.5 * counts - 0.5 * counts.sum())
    ranks /= math.sqrt(max(float(counts @ ranks**2), TINY))
    return ranks[place[:-1]], float(ranks[place[-1]])


def centred_ranks_of_codes(codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """:func:`centred_ranks` of columns of codes, of which the largest byte is missing.

    Counting takes the place of sorting.

    Examples
    --------
    >>> centred_ranks_of_codes(np.array([[3, 9, 9, 255]], dtype=np.uint8)).round(2)
    array([[-0.82,  0.41,  0.41,  0.  ]])
    """
    ranks = np.empty(codes.shape)
    rank_codes(np.ascontiguousarray(codes), ranks)
    return ranks
