"""What else could have been chosen: columns that rise and fall with a selected one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tvselect.inputs import Table
from tvselect.jit import kernel

MOST_ALIKE = 5
ALIKE = 0.5
VALUES_AT_ONCE = 2**22


class Match(NamedTuple):
    """A column and its rank correlation with another."""

    column: int
    correlation: float


def find_lookalikes(
    table: Table, columns: NDArray[np.int64], candidates: NDArray[np.int64]
) -> list[list[Match]]:
    """For each column the candidates of the strongest Spearman correlation, if it is 0.5 or more.

    A missing value counts as the middle rank. Columns of text have no ranks: they have no
    look-alikes and are none.

    Parameters
    ----------
    table : Table
    columns, candidates : int arrays

    Returns
    -------
    list of lists
        At most five for each column, the strongest first.

    Examples
    --------
    >>> from tvselect.inputs import read_table
    >>> X = np.random.default_rng(0).random((100, 3))
    >>> X[:, 2] = -X[:, 0] ** 3
    >>> find_lookalikes(read_table(X), np.array([0]), np.array([1, 2]))
    [[Match(column=2, correlation=-1.0)]]
    """
    numeric = ~table.categorical[columns]
    candidates = candidates[~table.categorical[candidates]]
    ranked = _centred_ranks(_by_column(table, columns[numeric]))
    best: list[list[Match]] = [[] for _ in range(int(numeric.sum()))]
    step = max(1, VALUES_AT_ONCE // table.n_rows)
    for first in range(0, candidates.size, step):
        block = candidates[first : first + step]
        correlations = ranked @ _centred_ranks(_by_column(table, block)).T
        for found, row in zip(best, correlations, strict=True):
            alike = np.flatnonzero(np.abs(row) >= ALIKE)
            for place in alike[np.argsort(-np.abs(row[alike]), kind="stable")][:MOST_ALIKE]:
                correlation = round(float(np.clip(row[place], -1, 1)), 12)
                found.append(Match(int(block[place]), correlation))
            found.sort(key=lambda match: -abs(match.correlation))
            del found[MOST_ALIKE:]
    filled = iter(best)
    return [next(filled) if is_number else [] for is_number in numeric]


def chance_level(n_rows: int, n_candidates: int) -> float:
    """About the strongest rank correlation that unrelated columns reach by chance.

    Examples
    --------
    >>> round(chance_level(300, 10_000), 2)
    0.23
    """
    if n_rows < 3 or n_candidates < 1:
        return 1.0
    return min(1.0, float(ndtri(1 - 0.5 / (n_candidates + 1))) / math.sqrt(n_rows - 1))


def _by_column(table: Table, columns: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(table.numbers(columns).T, dtype=np.float64)


def _centred_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks (columns, rows) of mean 0 and length 1; 0 where there is nothing to rank."""
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
