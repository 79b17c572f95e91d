"""What else could have been chosen: columns that rise and fall with a selected one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tvselect.inputs import Table
from tvselect.inputs.columns import centred_ranks, in_blocks

MOST_ALIKE = 5
ALIKE = 0.5


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
    ranked = centred_ranks(_by_column(table, columns[numeric]))
    best: list[list[Match]] = [[] for _ in range(int(numeric.sum()))]
    for here in in_blocks(candidates.size, table.n_rows):
        block = candidates[here]
        correlations = ranked @ centred_ranks(_by_column(table, block)).T
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
