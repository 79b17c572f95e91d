"""Columns as normal scores, and back: what a column's own ranks make of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]

CLOSEST = 1e-12
WIDE = 0.02
"""A value that comes again and makes up a larger share of its column is an interval of scores."""


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

    def column(self, j: int) -> Floats:
        """The sorted values of a column."""
        return self.values[self.starts[j] : self.starts[j + 1]]

    def cells(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Where on the normal scale the entries of a table lie: from ``low`` to ``high``.

        A value that was not seen is the point between its neighbours.
        """
        X = read_matrix(X)
        if X.shape[1] != self.n_columns:
            raise ValueError(
                f"The knockoffs are of {self.n_columns} columns, the table has {X.shape[1]}."
            )
        low, high = np.empty((2, X.shape[1], X.shape[0]))
        for j, x in enumerate(X.T):
            seen = self.column(j)
            n = max(seen.size, 1)
            first, last = (np.searchsorted(seen, x, side) / n for side in ("left", "right"))
            middle = np.clip((first + last) / 2, 0.5 / n, 1 - 0.5 / n)
            wide = last - first > max(WIDE, 1.5 / n)
            low[j], high[j] = np.where(wide, first, middle), np.where(wide, last, middle)
            missing = np.isnan(x) | (seen.size == 0)
            low[j, missing], high[j, missing] = 0.0, 1.0
        return ndtri(low).T, ndtri(high).T

    def back(self, z: Floats) -> Floats:
        """The values that stand at some places (..., rows, p) of the normal scale."""
        shares = ndtr(z)
        X = np.empty_like(shares)
        for j in range(self.n_columns):
            seen = self.column(j)
            if seen.size == 0:
                X[..., j] = 0.0
                continue
            places = (shares[..., j] * seen.size).astype(np.intp)
            X[..., j] = seen[np.minimum(places, seen.size - 1)]
        return X


def mean_scores(low: Floats, high: Floats) -> Floats:
    """The mean of a standard normal number that lies in a cell; the point, where it is one."""
    is_point = low == high
    share = np.where(is_point, 1.0, ndtr(high) - ndtr(low))
    with np.errstate(over="ignore"):
        density = np.exp(-0.5 * low**2) - np.exp(-0.5 * high**2)
    return np.where(is_point, low, density / np.sqrt(2 * np.pi) / share)


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
