"""Columns as normal numbers of which a table tells the ranks, and what links many of them.

The sample correlations of 1,000 columns in 300 rows are mostly noise, and shrinking them all by
one factor washes out the few that are there. So what all columns share is taken out as factors;
what is left links columns to a few others, and where a link stands out of the noise they make a
block. In a block every column is regressed on the few columns before it that matter, which is a
sparse Cholesky factor of the inverse: positive definite whatever the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import ndtr, ndtri

from tvselect.core import function

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

CLOSEST = 1e-12
LARGEST_BLOCK = 400
FLOOR = 1e-3
ROUNDING = 1e-9

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


class Block(NamedTuple):
    """Columns that are correlated with each other, apart from the factors.

    Attributes
    ----------
    members : int array (q,)
    correlation, precision : array (q, q)
        The precision is the inverse of the correlation; most of it is 0.
    """

    members: Indices
    correlation: Floats
    precision: Floats


class Links(NamedTuple):
    """Pairs of columns, ``first`` before ``second``, and how strongly they are correlated."""

    n_columns: int
    first: Indices
    second: Indices
    strength: Floats


class Correlations(NamedTuple):
    """Correlations of columns on the normal scale.

    A column is ``loadings @ factors + rest * own``, ``own`` of unit variance and correlated
    inside its block only. A column without a block is independent of the others but for the
    factors.
    """

    loadings: Floats
    rest: Floats
    blocks: tuple[Block, ...]


def estimate_correlations(scores: Floats, coefficients: Floats) -> Correlations:
    """Correlations of normal numbers that are known by their mean scores.

    Parameters
    ----------
    scores : array (rows, p)
        See :func:`mean_scores`. Their variance is the share that
        the table tells of a normal number: 1 for continuous columns, 0.64 for halves of 0
        and 1.
    coefficients : array (p, terms)
        See :func:`hermite`.
    """
    n = len(scores)
    centred = scores - scores.mean(axis=0)
    scale = np.sqrt((centred**2).mean(axis=0))
    unit = centred / np.where(scale > ROUNDING, scale, np.inf)
    loadings = _factors(unit)
    links = _links(unit, loadings)
    if loadings.size:
        without = _links(unit, loadings[:, :0])
        if 5 * links.first.size > without.first.size:
            # What factors do not explain away are links of neighbours.
            loadings, links = loadings[:, :0], without
    normal = loadings / np.maximum(scale, ROUNDING)[:, None]
    shared = (normal**2).sum(axis=1)
    normal *= np.sqrt(np.minimum(1.0, 0.98 / np.maximum(shared, ROUNDING)))[:, None]
    rest = np.sqrt(1 - (normal**2).sum(axis=1))
    blocks = []
    for members in _clusters(links):
        wanted = _of_normals(centred[:, members].T @ centred[:, members] / n, coefficients[members])
        wanted -= normal[members] @ normal[members].T
        wanted /= np.outer(rest[members], rest[members])
        np.fill_diagonal(wanted, 1.0)
        seen = _apart(unit[:, members], unit[:, members], *[loadings[members]] * 2)
        blocks.append(_regressions(members, seen, np.clip(wanted, -1.0, 1.0), n))
    return Correlations(normal, rest, tuple(blocks))


def _apart(unit: Floats, others: Floats, loadings: Floats, of_others: Floats) -> Floats:
    """Correlations of columns with others, given the factors."""
    own, of_other = (
        np.sqrt(np.maximum((part**2).mean(axis=0) - (shared**2).sum(axis=1), FLOOR))
        for part, shared in ((unit, loadings), (others, of_others))
    )
    found: Floats = unit.T @ others / len(unit) - loadings @ of_others.T
    found /= own[:, None]
    found /= of_other
    return found


def _links(unit: Floats, loadings: Floats) -> Links:
    """Pairs of columns whose correlation, given the factors, stands out; in blocks of columns."""
    n, p = unit.shape
    least, at_once = _least(n, p), 1000
    found = []
    for first in range(0, p, at_once):
        some, later = slice(first, first + at_once), slice(first, None)
        seen = _apart(unit[:, some], unit[:, later], loadings[some], loadings[later])
        j, k = np.nonzero(np.triu(np.abs(seen) > least, k=1))
        found.append((j + first, k + first, np.abs(seen[j, k])))
    return Links(p, *(np.concatenate(part) for part in zip(*found, strict=True)))


def _factors(unit: Floats) -> Floats:
    """Loadings of what many columns share, by the probabilistic principal components."""
    n, p = unit.shape
    if n <= p:
        values, vectors = np.linalg.eigh(unit @ unit.T / n)
        vectors = unit.T @ vectors / np.sqrt(np.maximum(n * values, 1e-12))
    else:
        values, vectors = np.linalg.eigh(unit.T @ unit / n)
    values, vectors = values[::-1][:20], vectors[:, ::-1][:, :20]
    # The largest eigenvalue that noise has (Marchenko and Pastur), and some luck; a factor
    # explains 15 % of the columns' variance at least.
    edge = 1.1 * (1 + np.sqrt(p / n)) ** 2
    n_factors = int(np.count_nonzero(values > max(edge, 0.15 * p)))
    values, vectors = values[:n_factors], vectors[:, :n_factors]
    noise = (p - values.sum()) / max(p - n_factors, 1) * (1 + p / n)
    return vectors * np.sqrt(np.maximum(values - noise, 0.0))


def _least(n_rows: int, n_columns: int) -> float:
    """The smallest correlation that stands out among those with so many columns."""
    return float(np.sqrt(1 - np.exp(-(2 * np.log(max(n_columns, 2)) + 2) / n_rows)))


def _clusters(links: Links) -> list[Indices]:
    """Columns that are linked, strongest links first, at most ``LARGEST_BLOCK`` together."""
    p, first, second, strength = links
    order = np.argsort(-strength, kind="stable")
    cluster_of = list(range(p))
    members = [[j] for j in range(p)]
    for j, k in zip(first[order].tolist(), second[order].tolist(), strict=True):
        a, b = cluster_of[j], cluster_of[k]
        if a == b or len(members[a]) + len(members[b]) > LARGEST_BLOCK:
            continue
        if len(members[a]) < len(members[b]):
            a, b = b, a
        for member in members[b]:
            cluster_of[member] = a
        members[a] += members[b]
        members[b] = []
    return [np.array(sorted(found)) for found in members if len(found) > 1]


def _of_normals(covariance: Floats, coefficients: Floats) -> Floats:
    """Correlations of the normal numbers whose mean scores have these covariances."""
    if not coefficients[:, 1:].any():
        return covariance / np.sqrt(np.outer(coefficients[:, 0], coefficients[:, 0]))
    terms = [np.outer(c, c) for c in coefficients.T]
    low, high = np.full((2, *covariance.shape), [[[-1.0]], [[1.0]]])
    for _ in range(16):
        middle = (low + high) / 2
        reached = np.zeros_like(middle)
        for term in reversed(terms):
            reached = middle * (reached + term)
        is_below = reached < covariance
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return (low + high) / 2


def _regressions(members: Indices, seen: Floats, wanted: Floats, n_rows: int) -> Block:
    """A block from the regressions of its columns, each on those before it that matter.

    ``seen`` tells which these are, ``wanted`` the coefficients.
    """
    q = len(members)
    order = _along_the_links(seen)
    seen, wanted = seen[np.ix_(order, order)], wanted[np.ix_(order, order)]
    factor, variances = np.eye(q), np.ones(q)
    least = _least(n_rows, q)
    for j in range(1, q):
        chosen = _choose(seen, j, least, max(1, n_rows // 5))
        if not chosen:
            continue
        among = np.array([*chosen, j])
        part = wanted[np.ix_(among, among)]
        lowest = np.linalg.eigvalsh(part)[0]
        if lowest < FLOOR:
            part = part + (FLOOR - lowest) / (1 - lowest) * (np.eye(len(among)) - part)
        slopes = np.linalg.solve(part[:-1, :-1], part[:-1, -1])
        factor[j, chosen] = -slopes
        variances[j] = 1 - part[-1, :-1] @ slopes
    spread = solve_triangular(factor, np.eye(q), lower=True) * np.sqrt(variances)
    correlation = spread @ spread.T
    scale = np.sqrt(np.diag(correlation))
    precision = (factor / variances[:, None]).T @ factor * np.outer(scale, scale)
    return Block(members[order], correlation / np.outer(scale, scale), precision)


def _along_the_links(seen: Floats) -> Indices:
    """An order in which every column comes after the one that it is most like (Prim)."""
    q = len(seen)
    strength = np.abs(seen)
    order = [int(strength.sum(axis=1).argmax())]
    nearest = strength[order[0]].copy()
    placed = np.zeros(q, dtype=np.bool_)
    placed[order[0]] = True
    for _ in range(q - 1):
        nearest[placed] = -1.0
        order.append(int(nearest.argmax()))
        placed[order[-1]] = True
        np.maximum(nearest, strength[order[-1]], out=nearest)
    return np.array(order)


def _choose(seen: Floats, j: int, least: float, at_most: int) -> list[int]:
    """Columns before ``j`` that explain it, the largest partial correlation first."""
    chosen: list[int] = []
    left, variances, own = seen[j, :j].copy(), np.ones(j), 1.0
    rows = np.empty((min(at_most, j), j))
    while len(chosen) < len(rows):
        partial = left**2 / (np.maximum(variances, FLOOR) * max(own, FLOOR))
        partial[chosen] = 0.0
        k = int(partial.argmax())
        if partial[k] < least**2:
            break
        row = (seen[k, :j] - rows[: len(chosen), k] @ rows[: len(chosen)]) / np.sqrt(
            max(variances[k], FLOOR)
        )
        rows[len(chosen)] = row
        chosen.append(k)
        step = row[k] and left[k] / row[k]
        left -= step * row
        variances -= row**2
        own -= step**2
    return chosen
