"""Second-order knockoffs on normal scores: several copies, of columns of any shape.

A column is seen as a standard normal number of which its values tell the rank. Of the correlations
of 1,000 columns in 300 rows most are noise, and shrinking them all by one factor washes out the few
that are there. So what all columns share is taken out as factors; what is left links columns to a
few others, and linked columns make a block. There every column is regressed on the few columns
before it that matter: a sparse Cholesky factor of the inverse, positive definite whatever the data.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve, solve_triangular
from scipy.special import eval_hermitenorm, gamma, ndtr, ndtri

from tvselect.core import function
from tvselect.inputs.columns import evenly
from tvselect.records import check_types, read_arrays

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

NO_LINKS = np.empty((2, 0), dtype=np.int64)
CLOSEST = 1e-12
LARGEST_BLOCK = 400
FLOOR = 1e-3
SINGULAR = 1e-5
TELLING_FACTORS = 100
ROUNDING = 1e-9
STORED = {
    "n_copies": "<i8", "values": "<f8", "starts": "<i8", "rest": "<f8", "loadings": "<f8",
    "sizes": "<i8", "members": "<i8", "s": "<f8", "precision": "<f8", "root": "<f8",
}  # fmt: skip

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


class NormalScores(NamedTuple):
    """The empirical quantiles of the columns of a table.

    On the normal scale a value is a point, one that makes up more than a fiftieth of its column (a
    0 or a 1, say) an interval, and a missing one the whole line.
    """

    values: Floats  #: The sorted values of one column after the other
    starts: Indices  #: Where those of each column begin, and the end (columns + 1,)

    @classmethod
    def of(cls, X: Floats) -> NormalScores:
        """Those of a table; NaN is missing."""
        ordered = np.sort(X, axis=0).T  # NaN last
        counts = np.count_nonzero(~np.isnan(X), axis=0)
        is_there = np.arange(len(X)) < counts[:, None]
        return cls(ordered[is_there] + 0.0, np.concatenate([[0], np.cumsum(counts)]))

    def take(self, columns: Indices) -> NormalScores:
        """Those of some columns."""
        bounds = zip(self.starts[columns], self.starts[columns + 1], strict=True)
        seen = [self.values[start:end] for start, end in bounds]
        sizes = [values.size for values in seen]
        return NormalScores(np.concatenate([np.empty(0), *seen]), np.cumsum([0, *sizes]))

    def cells(self, X: Floats) -> tuple[Floats, Floats]:
        """Where on the normal scale entries lie: ``low`` and ``high``; new values in between."""
        if X.shape[1] != self.starts.size - 1:
            raise ValueError(
                f"The knockoffs are of {self.starts.size - 1} columns, the table has {X.shape[1]}."
            )
        columns = np.ascontiguousarray(X.T)
        low, high = np.empty((2, *columns.shape))
        find_cells(self.values, self.starts, columns, np.argsort(columns, axis=1), low, high)
        return ndtri(low).T, ndtri(high).T

    def back(self, z: Floats) -> Floats:
        """The values that stand at some places (..., rows, p) of the normal scale."""
        shares = np.ascontiguousarray(ndtr(z))
        X = np.empty(shares.shape)
        by_row = -1, self.starts.size - 1
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
    """By column the Hermite coefficients (p, terms) of its mean scores, seen as a function.

    Two normal numbers of correlation ``r`` with coefficients ``c`` and ``d`` have mean scores
    of covariance ``sum(c[h] * d[h] * r**(h + 1))``. A column of points has a single term.
    """
    scores = mean_scores(low, high)
    found = np.zeros((low.shape[1], n_terms))
    found[:, 0] = (scores**2).mean(axis=0)
    columns = np.flatnonzero((low < high).any(axis=0))
    if columns.size == 0:
        return found
    low, high, scores = low[:, columns], high[:, columns], scores[:, columns]
    weights = np.where(low < high, scores / np.maximum(ndtr(high) - ndtr(low), CLOSEST), 0.0)
    bounds = [(np.where(np.isinf(end), 0.0, end), np.exp(-0.5 * end**2)) for end in (low, high)]
    for h in range(1, n_terms):
        at_low, at_high = (eval_hermitenorm(h, x) * density for x, density in bounds)
        scale = np.sqrt(2 * np.pi * gamma(h + 2))
        found[columns, h] = (weights * (at_low - at_high)).mean(axis=0) / scale
    return found


def describe_cost(n_rows: int, n_columns: int, n_copies: int) -> str:
    """What knockoffs of a table will take, as measured on two cores, within a factor of two."""
    seconds = 7 + 5e-7 * n_rows * n_columns * n_copies
    bytes = 5 * 8 * n_rows * n_columns * n_copies
    return (
        f"Knockoffs of {n_columns:,} columns take about {seconds:.0f} s and "
        f"{max(bytes / 2**30, 0.1):.1f} GB before the first play."
    )


class Block(NamedTuple):
    """Columns that are correlated apart from the factors, and whose copies are made together."""

    members: Indices
    s: Floats  #: One minus the correlation of a column with its copy, factors apart
    precision: Floats  #: Inverse of the correlations, factors apart; most of it is 0
    root: Floats  #: ``root @ root.T``: covariance of what a row's copies share, given the row

    def among(self, kept: NDArray[np.bool_]) -> Block:
        """The block of some members, right for those whose neighbours are all kept."""
        if kept.all():
            return self
        root = np.asarray(np.linalg.qr(self.root[kept].T, mode="r")).T
        precision = self.precision[np.ix_(kept, kept)]
        return Block(self.members[kept], self.s[kept], precision, root)


@dataclass(frozen=True, eq=False)
class Knockoffs:
    """Copies of columns that keep every column's shape and the correlations of all.

    Columns are seen as normal numbers of which the table tells the ranks (a Gaussian copula).
    There, with correlations ``R`` and ``S`` diagonal, a row and its copies have covariances ``R``
    each and ``R - S`` with one another: no swap of a column with one of its copies changes their
    law [1]_. Copies are then mapped back through the quantiles of their column, so that those of a
    0/1 column are 0 and 1.

    Notes
    -----
    ``S`` maximises the entropy of a row and its copies, that is
    ``log det((1 + 1/B) R - S) + B sum(log(s))`` with ``B`` copies [2]_, in every block, given the
    factors. Where a table tells only an interval (0/1, ties, missing values), the normal number is
    drawn from it by Gibbs sampling, so that 0/1 columns lose nothing of their correlations.
    Knockoffs are as valid as this model is; :func:`~tvselect.decoys.swap_test` looks for what it
    misses.

    References
    ----------
    .. [1] Gimenez, J. R. and Zou, J. (2019). Improving the stability of the knockoff
       procedure: multiple simultaneous knockoffs and entropy maximization. *AISTATS*.
    .. [2] Spector, A. and Janson, L. (2022). Powerful knockoffs via minimizing
       reconstructability. *Annals of Statistics* 50(1), 252-276.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.decoys import Knockoffs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3)) + rng.normal(size=(500, 1))
    >>> X[:, 2] = X[:, 2] > 1
    >>> copies = Knockoffs.estimate(X, n_copies=5).draw(X, rng)
    >>> copies.shape
    (5, 500, 3)
    >>> np.unique(copies[:, :, 2])
    array([0., 1.])
    """

    n_copies: int  #: For which ``S`` was chosen; at most so many can be drawn
    scores: NormalScores  #: The quantiles of the columns
    loadings: Floats  #: What the columns owe to common factors (columns, factors)
    rest: Floats  #: Standard deviations of the columns, given the factors
    blocks: tuple[Block, ...]  #: Other columns are independent of all others but for the factors

    @classmethod
    def estimate(cls, X: ArrayLike, n_copies: int = 1, *, factors_alone: bool = False) -> Knockoffs:
        """Estimate from a table ``X`` of at least 2 rows what ``n_copies`` are drawn with.

        NaN is missing; a column without values counts as constant 0. ``factors_alone`` keeps only
        what columns owe to common factors.
        """
        X = _read_matrix(X)
        if len(X) < 2:
            raise ValueError(f"Knockoffs are estimated from at least 2 rows, got {len(X)}.")
        if n_copies < 1:
            raise ValueError(f"n_copies must be at least 1, got {n_copies}.")
        quantiles = NormalScores.of(X)
        cells = quantiles.cells(X)
        scores, coefficients = mean_scores(*cells), hermite(*cells)
        centred = scores - scores.mean(axis=0)
        scale = np.sqrt((centred**2).mean(axis=0))
        unit = centred / np.where(scale > ROUNDING, scale, np.inf)
        loadings = _factors(unit)
        (first, second), *without = [NO_LINKS]
        if loadings.size or not factors_alone:
            some = slice(300 if factors_alone else None)  # enough to tell factors from neighbours
            (first, second), *without = _links(unit[:, some], loadings[some])
        if without and 5 * first.size > without[0][0].size:
            # What factors do not explain away are links of neighbours.
            loadings, (first, second) = loadings[:, :0], without[0]
        # The scores of a column tell only a share of its normal number: 0.64 for halves of 0 and 1.
        normal = loadings / np.maximum(scale, ROUNDING)[:, None]
        shared = (normal**2).sum(axis=1)
        normal *= np.sqrt(np.minimum(1.0, 0.98 / np.maximum(shared, ROUNDING)))[:, None]
        rest = np.sqrt(1 - (normal**2).sum(axis=1))
        blocks = []
        if factors_alone:
            first, second = NO_LINKS
        for members in _clusters(first, second, len(rest)):
            covariance = centred[:, members].T @ centred[:, members] / len(X)
            wanted = _correlations(covariance, coefficients[members])
            wanted -= normal[members] @ normal[members].T
            wanted /= np.outer(rest[members], rest[members])
            np.fill_diagonal(wanted, 1.0)
            own = unit[:, members]
            side = (own**2).mean(axis=0), loadings[members]
            seen = _without_factors(own.T @ own / len(X), side, side)
            blocks.append(_block(members, seen, np.clip(wanted, -1.0, 1.0), len(X), n_copies))
        return cls(n_copies, quantiles, normal, rest, tuple(blocks))

    def among(self, columns: Indices) -> tuple[Indices, Knockoffs]:
        """The columns that copies of some ``columns`` need, and the knockoffs of these alone.

        Needed are those that are not independent of them given all others, and 100 that tell the
        factors, where there are some.
        """
        has_factors = self.loadings.shape[1] > 0
        is_needed = np.zeros(self.rest.size, dtype=np.bool_)
        if has_factors:
            is_needed[evenly(self.rest.size, TELLING_FACTORS)] = True
        is_needed[columns] = True
        blocks = []
        for block in self.blocks:
            kept = is_needed[block.members]
            if not kept.any():
                continue
            # An interval is drawn given all that goes with it, and so are factors.
            if has_factors or self._has_intervals[block.members].any():
                kept[:] = True
            else:
                kept = (block.precision[kept] != 0.0).any(axis=0)
            is_needed[block.members[kept]] = True
            blocks.append(block.among(kept))
        needed = np.flatnonzero(is_needed)
        if needed.size == self.rest.size:
            return needed, self
        moved = (b._replace(members=np.searchsorted(needed, b.members)) for b in blocks)
        scores, loadings = self.scores.take(needed), self.loadings[needed]
        return needed, Knockoffs(self.n_copies, scores, loadings, self.rest[needed], tuple(moved))

    @cached_property
    def _has_intervals(self) -> NDArray[np.bool_]:
        """Columns of which the table may tell an interval: ties, or missing values."""
        starts, counts = self.scores.starts, np.diff(self.scores.starts)
        found = counts < counts.max(initial=0)
        for j in np.flatnonzero(~found).tolist():
            values = self.scores.values[starts[j] : starts[j + 1]]
            n_tied = max(1, values.size // 50)
            found[j] = (values[n_tied:] == values[:-n_tied]).any()
        return found

    def draw(
        self,
        X: ArrayLike,
        rng: np.random.Generator,
        n_copies: int | None = None,
        among: Indices | None = None,
    ) -> Floats:
        """Copies (``n_copies``, rows, columns) of the rows of a table ``X``, by ``rng``.

        By default as many as ``S`` was chosen for, which is the most; of all columns, or of some
        ``among`` them in rising order. NaN where ``X`` is.
        """
        n_copies = self.n_copies if n_copies is None else n_copies
        if not 1 <= n_copies <= self.n_copies:
            raise ValueError(
                f"These knockoffs were estimated for n_copies={self.n_copies}, not {n_copies}."
            )
        X = _read_matrix(X)
        common, own = self._latent(*self.scores.cells(X), rng)
        asked = np.arange(X.shape[1]) if among is None else among
        copies = rng.standard_normal((self.n_copies, len(X), asked.size))
        for block in self.blocks:
            members, s, precision, root = block
            is_asked = np.isin(members, asked)
            if not is_asked.any():
                continue
            here: Any = slice(None) if is_asked.all() else is_asked
            seen, s = own[:, members], s[here]
            shared = rng.standard_normal((len(X), root.shape[1])) @ root[here].T
            mean = seen[:, here] - (seen @ precision[:, here]) * s + shared
            places = np.searchsorted(asked, members[here])
            noise = copies[:, :, places]
            copies[:, :, places] = mean + np.sqrt(s) * (noise - noise.mean(axis=0))
        scores, X = (self.scores, X) if among is None else (self.scores.take(asked), X[:, asked])
        copies = scores.back(common[:, asked] + self.rest[asked] * copies[:n_copies])
        copies[:, np.isnan(X)] = np.nan
        return copies

    def _latent(self, low: Floats, high: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """A draw of what rows owe to the factors, and of the rest in its standard deviations."""
        z = mean_scores(low, high)
        is_open = low < high
        columns = np.flatnonzero(is_open.any(axis=0))
        regressions = self._regressions(columns)
        for _ in range(10 if columns.size else 1):
            common = self._common(z, rng)
            own = (z - common) / self.rest
            for j, (others, slopes, spread) in regressions.items():
                rows = np.flatnonzero(is_open[:, j])
                mean = own[np.ix_(rows, others)] @ slopes
                bounds = [(end[rows, j] - common[rows, j]) / self.rest[j] for end in (low, high)]
                below, above = (ndtr((bound - mean) / spread) for bound in bounds)
                share = below + rng.random(rows.size) * (above - below)
                drawn = mean + spread * ndtri(np.clip(share, CLOSEST, 1 - CLOSEST))
                own[rows, j] = np.clip(drawn, *bounds)
            z = common + self.rest * own
        return common, own

    def _regressions(self, columns: Indices) -> dict[int, tuple[Indices, Floats, float]]:
        """By column the others that it is regressed on, the slopes and the rest's spread."""
        lone = np.empty(0, dtype=np.int64), np.empty(0), 1.0
        found = dict.fromkeys(columns.tolist(), lone)
        for block in self.blocks:
            for place, j in enumerate(block.members.tolist()):
                if j in found:
                    row = block.precision[place].copy()
                    own, row[place] = row[place], 0.0
                    others = np.flatnonzero(row)
                    found[j] = block.members[others], -row[others] / own, own**-0.5
        return found

    def _common(self, z: Floats, rng: np.random.Generator) -> Floats:
        """A draw of what rows owe to the factors."""
        if self.loadings.shape[1] == 0:
            return np.zeros_like(z)
        unit = self.loadings / self.rest[:, None]
        weights = unit.copy()
        for block in self.blocks:
            weights[block.members] = block.precision @ unit[block.members]
        precision = np.eye(unit.shape[1]) + unit.T @ weights
        root = np.linalg.cholesky(precision)
        mean = np.linalg.solve(precision, weights.T @ (z / self.rest).T)
        noise = np.linalg.solve(root.T, rng.standard_normal(mean.shape))
        drawn: Floats = (mean + noise).T @ self.loadings.T
        return drawn


def _read_matrix(X: ArrayLike) -> Floats:
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"A table has 2 dimensions, got {X.ndim}.")
    infinite = np.flatnonzero(np.isinf(X).any(axis=0))
    if infinite.size:
        raise ValueError(f"Column {infinite[0]} has a value that is infinite.")
    return X


def _factors(unit: Floats) -> Floats:
    """Loadings of what many columns share, by the probabilistic principal components."""
    n, p = unit.shape
    from scipy.sparse.linalg import eigsh

    # A factor explains 15 % of the columns' variance at least: there are six at most.
    n_found, size = 6, min(n, p)
    gram = (unit @ unit.T if n <= p else unit.T @ unit) / n
    if size <= 10 * n_found:
        values, vectors = np.linalg.eigh(gram)
    else:
        values, vectors = eigsh(gram, n_found, which="LA", v0=np.ones(size))
    values, vectors = values[::-1][:n_found], vectors[:, ::-1][:, :n_found]
    if n <= p:
        vectors = unit.T @ vectors / np.sqrt(np.maximum(n * values, 1e-12))
    # The largest eigenvalue that noise has (Marchenko and Pastur), and some luck.
    edge = 1.1 * (1 + np.sqrt(p / n)) ** 2
    n_factors = int(np.count_nonzero(values > max(edge, 0.15 * p)))
    values, vectors = values[:n_factors], vectors[:, :n_factors]
    noise = (p - values.sum()) / max(p - n_factors, 1) * (1 + p / n)
    return vectors * np.sqrt(np.maximum(values - noise, 0.0))


def _without_factors(
    found: Floats, first: tuple[Floats, Floats], second: tuple[Floats, Floats]
) -> Floats:
    """Correlations given the factors, by the variances and the loadings of both sides."""
    found = found - first[1] @ second[1].T
    own, of_others = (
        np.sqrt(np.maximum(variances - (loadings**2).sum(axis=1), FLOOR))
        for variances, loadings in (first, second)
    )
    found /= own[:, None]
    found /= of_others
    return found


def _least(n_rows: int, n_columns: int) -> float:
    """The smallest correlation that stands out among those with so many columns."""
    return float(np.sqrt(1 - np.exp(-(2 * np.log(max(n_columns, 2)) + 2) / n_rows)))


def _links(unit: Floats, loadings: Floats) -> list[tuple[Indices, Indices]]:
    """Pairs of columns that stand out given the factors, strongest first; then by themselves."""
    n, p = unit.shape
    least, at_once = _least(n, p), 1000
    given = [loadings, loadings[:, :0]] if loadings.size else [loadings]
    squares = (unit**2).mean(axis=0)
    found: list[list[tuple[Indices, Indices, Floats]]] = [[] for _ in given]
    for first in range(0, p, at_once):
        some, later = slice(first, first + at_once), slice(first, None)
        together = unit[:, some].T @ unit[:, later] / n
        for pairs, shared in zip(found, given, strict=True):
            sides = ((squares[part], shared[part]) for part in (some, later))
            seen = _without_factors(together, *sides)
            j, k = np.nonzero(np.triu(np.abs(seen) > least, k=1))
            pairs.append((j + first, k + first, np.abs(seen[j, k])))
    links = []
    for pairs in found:
        j, k, strength = (np.concatenate(part) for part in zip(*pairs, strict=True))
        order = np.argsort(-strength, kind="stable")
        links.append((j[order], k[order]))
    return links


def _clusters(first: Indices, second: Indices, n_columns: int) -> list[Indices]:
    """Columns that are linked, strongest links first, at most ``LARGEST_BLOCK`` together."""
    cluster_of = list(range(n_columns))
    members = [[j] for j in range(n_columns)]
    for j, k in zip(first.tolist(), second.tolist(), strict=True):
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


def _correlations(covariance: Floats, coefficients: Floats) -> Floats:
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


def _block(members: Indices, seen: Floats, wanted: Floats, n_rows: int, n_copies: int) -> Block:
    """A block by regressions on earlier columns that ``seen`` tells, with ``wanted`` slopes."""
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
    correlation /= np.outer(scale, scale)
    lowest = np.linalg.eigvalsh(correlation)[0]
    if lowest < SINGULAR:  # factors that were missed: a regression on all of them at once
        correlation += (FLOOR - lowest) / (1 - lowest) * (np.eye(q) - correlation)
        precision = np.linalg.inv(correlation)
    s = most_entropy(correlation, n_copies)
    # The root of (1 + 1/B) S - S P S; rounding must not leave a negative variance.
    ratio, half = 1 + 1 / n_copies, np.sqrt(s)
    values, vectors = np.linalg.eigh(half[:, None] * precision * half)
    shrink = min(1.0, ratio / values[-1])
    rest = np.maximum(ratio - shrink * values, 0.0)
    root = np.sqrt(shrink) * half[:, None] * vectors * np.sqrt(rest)
    return Block(members[order].astype(np.int64), shrink * s, precision, root)


def _along_the_links(seen: Floats) -> Indices:
    """An order in which every column comes after the one that it is most like (Prim)."""
    strength = np.abs(seen).round(9)  # two columns are alike but for the last bit
    np.fill_diagonal(strength, 1.0)
    order = [int(strength.sum(axis=1).argmax())]
    nearest = strength[order[0]].copy()
    for _ in range(len(seen) - 1):
        nearest[order] = -1.0
        order.append(int(nearest.argmax()))
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
        explained = rows[: len(chosen), k] @ rows[: len(chosen)]
        row = (seen[k, :j] - explained) / np.sqrt(max(variances[k], FLOOR))
        rows[len(chosen)] = row
        chosen.append(k)
        step = row[k] and left[k] / row[k]
        left -= step * row
        variances -= row**2
        own -= step**2
    return chosen


def most_entropy(R: Floats, n_copies: int = 1) -> Floats:
    """Maximise ``log det((1 + 1/B) R - diag(s)) + B sum(log(s))`` by Newton's method."""
    R = (1 + 1 / n_copies) * R
    s = 1 / np.diag(np.linalg.inv(R))
    # Half of the largest multiple with R - diag(s) >= 0.
    s *= 0.5 * np.linalg.eigvalsh(R / np.sqrt(np.outer(s, s)))[0]
    entropy = _entropy(R, s, n_copies)
    for _ in range(50):
        inverse = np.linalg.inv(R - np.diag(s))
        gradient = n_copies / s - np.diag(inverse)
        direction = solve(inverse**2 + np.diag(n_copies * s**-2), gradient, assume_a="pos")
        gain = gradient @ direction
        # The gain bounds the sum of squared relative changes of s.
        if gain < 1e-6 * n_copies:
            break
        step = 1.0
        while (reached := _entropy(R, s + step * direction, n_copies)) < entropy + step * gain / 4:
            step /= 2
        s, entropy = s + step * direction, reached
    return s


def _entropy(R: Floats, s: Floats, n_copies: int) -> float:
    if s.min() <= 0:
        return -np.inf
    try:
        factor = np.linalg.cholesky(R - np.diag(s))
    except np.linalg.LinAlgError:
        return -np.inf
    return float(2 * np.log(np.diag(factor)).sum() + n_copies * np.log(s).sum())


def store_knockoffs(knockoffs: Knockoffs) -> bytes:
    """An ``.npz`` file in memory."""
    blocks = knockoffs.blocks
    of_blocks = {name: [getattr(b, name).ravel() for b in blocks] for name in Block._fields}
    arrays: dict[str, Any] = {
        "n_copies": [knockoffs.n_copies],
        "rest": knockoffs.rest,
        "loadings": knockoffs.loadings.ravel(),
        "sizes": np.array([block.members.size for block in blocks], dtype="<i8"),
        **knockoffs.scores._asdict(),
        **{n: np.concatenate([np.empty(0, STORED[n]), *some]) for n, some in of_blocks.items()},
    }
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def restore_knockoffs(data: bytes) -> Knockoffs:
    """Read what :func:`store_knockoffs` wrote; a ValueError for anything else."""
    try:
        parts = read_arrays(data)
        check_types(parts, STORED)
    except ValueError as error:
        raise ValueError("These bytes are not stored knockoffs.") from error
    sizes, starts, members, rest = (parts[name] for name in ("sizes", "starts", "members", "rest"))
    p = rest.size
    are_sizes = sizes.size <= p and ((sizes > 0) & (sizes <= p)).all()
    n_members, n_squares = (sizes.sum() if are_sizes else -1), (sizes**2).sum()
    wanted = {"rest": p, "s": n_members, "precision": n_squares, "root": n_squares}
    is_sound = {
        "rest": p > 0 and (rest > 0).all(),
        "n_copies": parts["n_copies"].size == 1 and parts["n_copies"][0] >= 1,
        "starts": starts.size == p + 1 and starts[0] == 0 and (np.diff(starts) >= 0).all(),
        "values": starts.size > 0 and starts[-1] == parts["values"].size,
        "loadings": p > 0 and parts["loadings"].size % p == 0,
        "members": np.unique(members).size == members.size == n_members
        and ((members >= 0) & (members < p)).all(),
        **{f"size of {name}": parts[name].size == size for name, size in wanted.items()},
        **{f"values of {n}": np.isfinite(parts[n]).all() for n in STORED if STORED[n] == "<f8"},
    }
    for name, sound in is_sound.items():
        if not sound:
            raise ValueError(f"These bytes are not stored knockoffs (at {name!r}).")
    ends, squares = np.cumsum(sizes)[:-1], np.cumsum(sizes**2)[:-1]
    lines = (np.split(parts[name], ends) for name in ("members", "s"))
    matrices = (np.split(parts[name], squares) for name in ("precision", "root"))
    blocks = tuple(
        Block(held, s, precision.reshape(held.size, -1), root.reshape(held.size, -1))
        for held, s, precision, root in zip(*lines, *matrices, strict=True)
        if held.size
    )
    scores = NormalScores(parts["values"], starts)
    return Knockoffs(
        int(parts["n_copies"][0]), scores, parts["loadings"].reshape(p, -1), rest, blocks
    )


@dataclass(frozen=True)
class SwapTest:
    """What a classifier made of swapped columns."""

    accuracy: float  #: Share of rows that it knew to be swapped or not; 1/2 is a guess
    p_value: float  #: Probability of so many by guessing


def swap_test(X: ArrayLike, copies: ArrayLike, rng: np.random.Generator) -> SwapTest:
    """Test knockoffs by a classifier that tries to tell swapped rows from others [1]_.

    Of half of the rows, a third of the columns change places with their copies. Valid
    knockoffs leave a classifier nothing but to guess which rows these are. A forest looks at
    some of the columns and their copies, and at how the difference of a column and its copy
    goes with the columns that are most like it, added up over all of them. It votes on rows
    that it was not grown on.

    A small p-value says that the copies are not what they should be. A large one says only
    that this test found nothing: it sees shapes and correlations, of what few rows tell.

    Parameters
    ----------
    X : array (rows, p)
        NaN where missing.
    copies : array (n_copies, rows, p) or (rows, p)
        Each row is tried with one of them.
    rng : numpy.random.Generator

    Returns
    -------
    SwapTest

    References
    ----------
    .. [1] Blain, A., Thirion, B., Linhart, J. and Neuvial, P. (2024). When knockoffs fail:
       diagnosing and fixing non-exchangeability of knockoffs. arXiv:2407.06892.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.decoys import Knockoffs, swap_test
    >>> rng = np.random.default_rng(0)
    >>> X = np.cumsum(rng.normal(size=(500, 20)), axis=1)
    >>> swap_test(X, Knockoffs.estimate(X).draw(X, rng), rng).p_value > 0.01
    True
    >>> swap_test(X, rng.permutation(X), rng).p_value < 0.01
    True
    """
    from scipy.stats import binomtest
    from sklearn.ensemble import RandomForestClassifier

    X, tried = _pair(X, copies, rng)
    n, p = X.shape
    if p < 2 or n < 10:
        return SwapTest(0.5, 1.0)
    swapped, others = np.split(rng.permutation(p), [max(1, p // 3)])
    is_swapped = rng.random(n) < 0.5
    sums = X[:, others] + tried[:, others]
    before, after = X[:, swapped].copy(), tried[:, swapped].copy()
    before[is_swapped], after[is_swapped] = after[is_swapped], before[is_swapped].copy()
    # What is chosen here does not depend on which of the two is the copy.
    alike = (before + after).T @ sums
    nearest = np.argsort(-np.abs(alike), axis=1, kind="stable")[:, :3]
    signs = np.sign(np.take_along_axis(alike, nearest, axis=1))
    pooled = [
        ((before - after) * signs[:, k] * of_others[:, nearest[:, k]]).sum(axis=1)
        for k in range(nearest.shape[1])
        for of_others in (sums, X[:, others] - tried[:, others])
    ]
    features = np.column_stack([*pooled, before[:, :30], after[:, :30]])
    forest = RandomForestClassifier(
        200, min_samples_leaf=5, oob_score=True, random_state=int(rng.integers(2**31))
    ).fit(features, is_swapped)
    n_right = int(np.count_nonzero((forest.oob_decision_function_[:, 1] > 0.5) == is_swapped))
    return SwapTest(n_right / n, float(binomtest(n_right, n, alternative="greater").pvalue))


def _pair(X: ArrayLike, copies: ArrayLike, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Rows and one copy each, in units of both together; columns that vary, missing values 0."""
    X, copies = np.asarray(X, dtype=np.float64), np.asarray(copies, dtype=np.float64)
    if X.ndim != 2 or copies.shape[-2:] != X.shape:
        raise ValueError(f"X has shape {X.shape}, its copies {copies.shape}: they must be alike.")
    copies = copies.reshape(-1, *X.shape)
    rows = np.sort(rng.permutation(len(X))[:2000])
    X, tried = X[rows], copies[rng.integers(len(copies), size=rows.size), rows]
    both = np.concatenate([X, tried])
    varies = np.fmin.reduce(both) < np.fmax.reduce(both)
    mean, scale = np.nanmean(both[:, varies], axis=0), np.nanstd(both[:, varies], axis=0)
    unit = np.nan_to_num((both[:, varies] - mean) / scale)
    return unit[: rows.size], unit[rows.size :]
