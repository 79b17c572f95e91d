"""Columns as normal scores, and back: what a column's own ranks make of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from tvselect.core import function

Floats = NDArray[np.float64]

CLOSEST = 1e-12

find_cells = function(
    "find_cells",
    """
    values: f8[seen]
    starts: i8[columns+1] <= seen
    columns: f8[columns, rows]
    order: i8[columns, rows] < rows
    low: f8[columns, rows]!
    high: f8[columns, rows]!
    """,
)
"""Shares of the seen values below and up to each entry of the columns, read in rising order."""
look_up = function(
    "look_up",
    """
    values: f8[seen]
    starts: i8[columns+1] <= seen
    shares: f8[rows, columns]
    found: f8[rows, columns]!
    """,
)
"""The seen value with some share of the others below it, by column of ``shares``."""


@dataclass(frozen=True, eq=False)
class NormalScores:
    """The empirical quantiles of the columns of a table.

    A column is seen as a standard normal number of which its values tell the rank: a value
    that stands for itself is a point on the normal scale, one that makes up more than a
    fiftieth of the column (a 0 or a 1, say) an interval, and a missing one the whole line.

    Attributes
    ----------
    values : array
        The sorted values of one column after the other.
    starts : int64 array (p + 1,)
        Where those of each column begin.

    Examples
    --------
    >>> import numpy as np
    >>> scores = NormalScores.of(np.array([[0.0], [1.0], [1.0], [0.0]]))
    >>> low, high = scores.cells([[1.0], [np.nan]])
    >>> low.ravel(), high.ravel()
    (array([  0., -inf]), array([inf, inf]))
    >>> scores.back(np.array([[-0.3], [1.2]])).ravel()
    array([0., 1.])
    """

    values: Floats
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, X: ArrayLike) -> NormalScores:
        """Those of a table; NaN is missing."""
        X = read_matrix(X)
        ordered = np.sort(X, axis=0).T
        counts = np.count_nonzero(~np.isnan(X), axis=0)
        # NaN sorts to the end.
        is_there = np.arange(len(X)) < counts[:, None]
        return cls(ordered[is_there] + 0.0, np.concatenate([[0], np.cumsum(counts)]))

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.starts.size - 1

    def take(self, columns: NDArray[np.int64]) -> NormalScores:
        """Those of some columns."""
        bounds = zip(self.starts[columns], self.starts[columns + 1], strict=True)
        seen = [self.values[start:end] for start, end in bounds]
        sizes = [values.size for values in seen]
        return NormalScores(np.concatenate([np.empty(0), *seen]), np.cumsum([0, *sizes]))

    def cells(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Where on the normal scale the entries of a table lie: from ``low`` to ``high``.

        A value that was not seen is the point between its neighbours.
        """
        X = read_matrix(X)
        if X.shape[1] != self.n_columns:
            raise ValueError(
                f"The knockoffs are of {self.n_columns} columns, the table has {X.shape[1]}."
            )
        columns = np.ascontiguousarray(X.T)
        low, high = np.empty((2, *columns.shape))
        find_cells(self.values, self.starts, columns, np.argsort(columns, axis=1), low, high)
        is_wide = low < high
        ends = ndtri(high[is_wide])
        low = ndtri(low)
        high = low.copy()
        high[is_wide] = ends
        return low.T, high.T

    def back(self, z: Floats) -> Floats:
        """The values that stand at some places (..., rows, p) of the normal scale."""
        shares = np.ascontiguousarray(ndtr(z))
        X = np.empty(shares.shape)
        by_row = -1, self.n_columns
        look_up(self.values, self.starts, shares.reshape(by_row), X.reshape(by_row))
        return X


def mean_scores(low: Floats, high: Floats) -> Floats:
    """The mean of a standard normal number that lies in a cell; the point, where it is one."""
    scores = low.copy(order="K")
    is_cell = low != high
    low, high = low[is_cell], high[is_cell]
    density = np.exp(-0.5 * low**2) - np.exp(-0.5 * high**2)
    scores[is_cell] = density / np.sqrt(2 * np.pi) / (ndtr(high) - ndtr(low))
    return scores


def hermite(low: Floats, high: Floats, n_terms: int = 12) -> Floats:
    """By column the Hermite coefficients of its mean scores as functions of the normal number.

    Two normal numbers of correlation ``r`` with coefficients ``c`` and ``d`` have mean scores
    of covariance ``sum(c[h] * d[h] * r**(h + 1))``. A column of points has a single term.

    Returns
    -------
    array (p, n_terms)
    """
    scores = mean_scores(low, high)
    found = np.zeros((low.shape[1], n_terms))
    found[:, 0] = (scores**2).mean(axis=0)
    columns = np.flatnonzero((low < high).any(axis=0))
    if columns.size == 0:
        return found
    low, high, scores = low[:, columns], high[:, columns], scores[:, columns]
    weights = np.where(low < high, scores / np.maximum(ndtr(high) - ndtr(low), CLOSEST), 0.0)
    before = []
    for bound in (low, high):
        x = np.where(np.isinf(bound), 0.0, bound)
        density = np.where(np.isinf(bound), 0.0, np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi))
        before.append((x, np.zeros_like(x), density))
    for h in range(2, n_terms + 1):
        # He_{h-1}(x) phi(x) / sqrt((h-1)!), from the two before it.
        for place, (x, older, old) in enumerate(before):
            before[place] = x, old, (x * old - np.sqrt(h - 2) * older) / np.sqrt(h - 1)
        at_low, at_high = (last for _, _, last in before)
        found[columns, h - 1] = (weights * (at_low - at_high)).mean(axis=0) / np.sqrt(h)
    return found


def read_matrix(X: ArrayLike) -> Floats:
    """A table of numbers, or an error that says what it is instead."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"A table has 2 dimensions, got {X.ndim}.")
    infinite = np.flatnonzero(np.isinf(X).any(axis=0))
    if infinite.size:
        raise ValueError(f"Column {infinite[0]} has a value that is infinite.")
    return X
