"""Observations: rows that are copies of each other are one, and move together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.sparse import Matrix

MOST_COLUMNS = 64
MOST_VALUES = 2**26
TELLING = 3
"""Variables that a chance match is judged by: those with the most values."""
FEWEST_COPIES, SMALLEST_SHARE = 5, 0.01
"""Fewer copies, or a smaller share of the rows, do not matter."""
BEYOND_CHANCE = 10.0


def numbered(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Labels as numbers, in the order in which they appear first.

    Examples
    --------
    >>> numbered(np.array([7, 7, 2, 7]))
    array([0, 0, 1, 0])
    """
    _, firsts, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(firsts))[inverse]


def copied_rows(X: Matrix, y: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """The observation of every row, where many rows are copies of others; else None.

    Rows are copies that agree in the outcome and in up to 64 columns, if far more of them do than
    would by chance: by that of the three most varied among these alone, so that a table of a few
    classes has none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    >>> copied_rows(X, y) is None
    True
    >>> copied_rows(np.repeat(X, 2, axis=0), np.repeat(y, 2))[:4]
    array([0, 0, 1, 1])
    """
    n_rows, n_columns = X.shape
    n_seen = min(n_columns, MOST_COLUMNS, max(1, MOST_VALUES // n_rows))
    agreeing = [_codes(y)]
    found = agreeing[0]
    for j in np.linspace(0, n_columns - 1, n_seen).astype(np.int64):
        if found.max() == n_rows - 1:
            return None
        agreeing.append(_codes(np.asarray(X[:, [j]], dtype=np.float64)[:, 0]))
        found = _codes(found * n_rows + agreeing[-1])
    chances = sorted(_share_of_pairs(codes) for codes in agreeing)[:TELLING]
    found_share = _share_of_pairs(found)
    n_copies = n_rows - (int(found.max()) + 1)
    is_few = n_copies < max(FEWEST_COPIES, SMALLEST_SHARE * n_rows)
    if is_few or found_share < BEYOND_CHANCE * np.prod(chances):
        return None
    return numbered(found)


def orders_of(
    observations: NDArray[np.int64] | None, n_rows: int, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Random orders (n, rows) of rows, in which the rows of an observation stay together.

    An observation takes the place of one with as many rows, so that these orders are permutations
    and leave alone what weights may have to do with the columns.

    Examples
    --------
    >>> orders_of(np.array([0, 0, 1, 1, 2]), 5, 1, np.random.default_rng(3))
    array([[2, 3, 0, 1, 4]])
    """
    orders = np.tile(np.arange(n_rows), (n, 1))
    if observations is None:
        return rng.permuted(orders, axis=1)
    by_observation = np.argsort(observations, kind="stable")
    n_rows_of = np.bincount(observations)
    starts = np.cumsum(n_rows_of) - n_rows_of
    for size in np.unique(n_rows_of):
        rows = by_observation[starts[n_rows_of == size][:, None] + np.arange(size)]
        for order in orders:
            order[rows] = rng.permutation(rows)
    return orders


def _codes(values: NDArray[np.generic]) -> NDArray[np.int64]:
    """Values as numbers from 0; missing ones are the same."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _share_of_pairs(codes: NDArray[np.int64]) -> float:
    """Of all pairs of rows, those that agree."""
    n = codes.size
    counts = np.bincount(codes).astype(np.float64)
    return float((counts * (counts - 1.0)).sum() / max(n * (n - 1), 1))
