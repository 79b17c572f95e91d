"""Screening: which columns, and which pairs, are associated with the outcome before any play."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from tvselect.core import function
from tvselect.inputs import Outcome
from tvselect.inputs.columns import Matrix, evenly, normal_scores
from tvselect.inputs.outcome import MAD_TO_SD
from tvselect.trees.bins import BinnedTable
from tvselect.trees.prior import NO_PAIRS, RATIOS
from tvselect.trees.state import MISSING, NO_GROUPS, Bytes, Floats, Ints, Small

Halves = NDArray[np.float32]
FALSE_ALARM, FEWEST_ROWS, SMALLEST_HALF, TOO_ALIKE = 0.01, 20, 0.25, 0.5
MOST_COLUMNS, MOST_VALUES, COLUMNS_AT_ONCE, MOST_PAIRS = 16_384, 2**28, 1024, 32

correlate = function(
    "correlate",
    "codes: u1[columns, padded]; outcome: f8[rows<=padded];"
    "correlations: f8[columns]!; n_present: i8[columns]!",
)
"""Correlation of every column's codes with the outcome over the rows where it is present."""


class Bulk(NamedTuple):
    """Median and robust standard deviation (at least 1) of the z-values of a table's columns."""

    centre: float
    spread: float


def marginal_evidence(
    table: BinnedTable,
    outcome: Outcome,
    n_candidates: int,
    starts: Ints | None = None,
    bulks: Sequence[Bulk] = (),
    groups: Small = NO_GROUPS,
) -> Floats:
    """Evidence for every column, in nats: ``-log(n_candidates * p)``, or 0 if that is negative.

    ``p`` is the two-sided p-value of the column's correlation with the outcome, the smallest one
    over the simple terms of the outcome. Correlations are compared with the bulk of all columns
    (median and median deviation) instead of with zero, so that none stands out if all columns are
    weakly correlated with the outcome. Each copy of the table, between two of ``starts``, has its
    own bulk; ``bulks`` gives them if the table holds only a choice of the columns. Rows of one of
    the ``groups`` have the covariance ``I + rho J``, with the rho that makes the outcome likeliest.
    """
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1]
    spans = list(pairwise([0, table.n_columns] if starts is None else starts))
    terms = outcome.in_simple_terms()
    evidence, r = np.zeros((2, table.n_columns))
    n_present = np.empty(table.n_columns, dtype=np.int64)
    for term in terms:
        y = term.values - term.values.mean()
        y /= np.abs(y).max() or 1.0
        total, weights = y @ y, np.zeros(sizes.size)
        if groups.size:
            sums = np.add.reduceat(y[order], np.cumsum(sizes) - sizes)
            v = 1.0 + RATIOS[::20, None] * sizes
            left = total - (RATIOS[::20, None] * sums**2 / v).sum(axis=1)
            best = np.argmin(np.log(v).sum(axis=1) + y.size * np.log(np.maximum(left, 1e-300)))
            weights, total = RATIOS[20 * best] / v[best], left[best]
            y[order] -= np.repeat(weights * sums, sizes)
        inflation = np.full(table.n_columns, math.sqrt(y @ y / total) if total > 0.0 else 1.0)
        for here, codes in table.blocks():
            correlate(codes, y, r[here], n_present[here])
            if groups.size:
                inflation[here] /= np.sqrt(1.0 - _shares_by_groups(codes, order, sizes, weights))
        z = z_values(r, n_present) * inflation
        for k, (first, last) in enumerate(spans):
            copy = z[first:last]
            centre, spread = bulks[k] if bulks else bulk_of(copy)
            copy -= centre
            copy /= spread
        log_p = np.log(2.0) + log_ndtr(-np.abs(z))
        np.maximum(evidence, -log_p - np.log(n_candidates * len(terms)), out=evidence)
    return evidence


def _shares_by_groups(codes: Bytes, order: Ints, sizes: Ints, weights: Floats) -> Floats:
    """What the intercepts of groups take of the sum of squares of columns; missing is the mean."""
    values = codes[:, order].astype(np.float64)
    values[values == MISSING] = np.nan
    values -= np.nan_to_num(np.nanmean(values, axis=1, keepdims=True))
    np.nan_to_num(values, copy=False)
    sums = np.add.reduceat(values, np.cumsum(sizes) - sizes, axis=1)
    squares = np.square(values).sum(axis=1)
    return np.asarray(sums**2 @ weights / np.where(squares > 0.0, squares, 1.0))


def z_values(r: Floats, n_rows: int | Ints) -> Floats:
    """Fisher's z of correlations, in standard errors."""
    return np.arctanh(np.clip(r, 1e-12 - 1.0, 1.0 - 1e-12)) * np.sqrt(np.maximum(n_rows - 3, 0))


def bulk_of(z: NDArray[np.floating]) -> Bulk:
    """The bulk of some z-values."""
    if z.size == 0:
        return Bulk(0.0, 1.0)
    centre = float(np.median(z))
    return Bulk(centre, max(1.0, MAD_TO_SD * float(np.median(np.abs(z - centre)))))


class Pairs(NamedTuple):
    """Pairs of columns whose product is correlated with the outcome, the strongest first."""

    columns: Ints  # (pairs, 2)
    z: Floats  # correlation of the product of both halves with it, in standard errors


def screen_pairs(
    X: Matrix,
    outcome: Outcome,
    observations: Ints | None = None,
    n_threads: int = 1,
    *,
    spread: float = 1.0,
) -> Pairs:
    """Pairs of columns whose product is significantly correlated with the outcome.

    Every column is cut into an upper and a lower half, and all products of two halves are
    correlated with the normal scores of the outcome, by a matrix product. They are compared with
    the bulk of the pairs, as in :func:`marginal_evidence`. The sum of random signs exceeds ``z``
    with a probability of at most ``2 exp(-z^2 / 2)`` (Hoeffding), so that a pair is found in at
    most one of a hundred tables of noise whose columns are cut into equal halves. Left out are
    columns with less than a quarter of the rows in one half, pairs of similar columns, and tables
    of more than 16,384 columns. A column is in one pair at most. Rows are sampled from tables of
    more than 2^28 values; of rows that are the same ``observations`` the first is used.
    ``spread`` is the largest standard error of a sum over rows that depend on each other, relative
    to that of independent rows.

    >>> from tvselect.inputs import read_outcome
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 50))
    >>> y = np.sign(X[:, 7] - 0.5) * np.sign(X[:, 3] - 0.5) + rng.normal(size=300)
    >>> screen_pairs(X, read_outcome(y, 300)).columns
    array([[3, 7]])
    """
    n_rows, n_columns = X.shape
    none = Pairs(NO_PAIRS, np.empty(0))
    rows = np.arange(n_rows)
    if observations is not None:
        rows = np.unique(observations, return_index=True)[1]
    if rows.size < FEWEST_ROWS or not 2 <= n_columns <= MOST_COLUMNS:
        return none
    rows = rows[evenly(rows.size, MOST_VALUES // n_columns)]
    halves, kept = _halves(X, rows)
    if kept.size < 2:
        return none
    terms = outcome.rows(rows).in_simple_terms()
    n_tests = len(terms) * kept.size * (kept.size - 1) // 2
    needed = spread * math.sqrt(2.0 * math.log(2.0 * n_tests / FALSE_ALARM))
    found = [pair for term in terms for pair in _passing(halves, term.values, needed, n_threads)]
    return _strongest(found, halves, kept)


def _passing(
    halves: Halves, y: Floats, needed: float, n_threads: int
) -> list[tuple[float, int, int]]:
    """The z-value of every column with its best partner, where it is as far out as needed."""
    exact = normal_scores(y)
    exact -= exact.mean()
    scores = (exact / max(float(exact.std()), 1e-12)).astype(np.float32)
    bulk = Bulk(0.0, 1.0)
    if len(halves) >= 20:  # the bulk of all pairs, by those of the first columns
        some = halves[:512]
        bulk = bulk_of(_z_values(some, some, scores)[np.triu_indices(len(some), 1)])

    def of_block(first: int) -> list[tuple[float, int, int]]:
        z = _z_values(halves[first : first + COLUMNS_AT_ONCE], halves[first:], scores)
        away = z - np.float32(bulk.centre)
        np.abs(away, out=away)
        away /= np.float32(bulk.spread)
        away[:, : len(z)] = np.triu(away[:, : len(z)], 1)
        best = away.argmax(axis=1)
        passing = np.flatnonzero(away[np.arange(len(z)), best] >= needed).tolist()
        return [(float(z[i, best[i]]), first + i, first + int(best[i])) for i in passing]

    with ThreadPoolExecutor(n_threads) as pool:
        found = pool.map(of_block, range(0, len(halves), COLUMNS_AT_ONCE))
        return [pair for block in found for pair in block]


def _z_values(first: Halves, second: Halves, scores: Halves) -> Halves:
    """Correlation of the products of halves with the outcome, in standard errors."""
    z = np.matmul(first * scores, second.T, dtype=np.float32)
    z /= np.float32(math.sqrt(scores.size))
    return z


def _halves(X: Matrix, rows: NDArray[np.intp]) -> tuple[Halves, Ints]:
    """Columns (columns, rows) cut near their median, of mean 0 and variance 1; which they are."""
    n_columns, is_all = X.shape[1], rows.size == X.shape[0]
    halves, kept = [], []
    for first in range(0, n_columns, COLUMNS_AT_ONCE):
        columns = np.arange(first, min(first + COLUMNS_AT_ONCE, n_columns))
        some = X[:, columns] if is_all else X[rows[:, None], columns]
        block = np.ascontiguousarray(some.T, dtype=np.float64)
        is_there = ~np.isnan(block)
        sorted_values = np.sort(block, axis=1)
        n_there = is_there.sum(axis=1)
        middle = sorted_values[np.arange(len(block)), np.maximum(n_there - 1, 0) // 2]
        above, at_least = block > middle[:, None], block >= middle[:, None]
        share, share_at_least = (
            np.where(n_there > 0, half.sum(axis=1) / np.maximum(n_there, 1), 0.0)
            for half in (above, at_least)
        )
        is_nearer = np.abs(share_at_least - 0.5) < np.abs(share - 0.5)
        half = np.where(is_nearer[:, None], at_least, above)
        share = np.where(is_nearer, share_at_least, share)
        enough = (share >= SMALLEST_HALF) & (share <= 1.0 - SMALLEST_HALF)
        enough &= n_there * 2 > rows.size
        spread = np.sqrt(np.maximum(share * (1.0 - share), 1e-12))
        values = np.where(is_there, (half - share[:, None]) / spread[:, None], 0.0)
        halves.append(values[enough].astype(np.float32))
        kept.append(first + np.flatnonzero(enough))
    return np.concatenate(halves), np.concatenate(kept)


def _strongest(found: list[tuple[float, int, int]], halves: Halves, kept: Ints) -> Pairs:
    """Pairs that share no column, the strongest first."""
    chosen: list[tuple[float, int, int]] = []
    for z, i, j in sorted(found, key=lambda pair: -abs(pair[0])):
        alike = abs(float(halves[i] @ halves[j])) / halves.shape[1]
        taken = {column for _, *pair in chosen for column in pair}
        if alike <= TOO_ALIKE and taken.isdisjoint((i, j)) and len(chosen) < MOST_PAIRS:
            chosen.append((z, i, j))
    values = np.array(chosen, dtype=np.float64).reshape(-1, 3)
    return Pairs(kept[values[:, 1:].astype(np.int64)], values[:, 0].copy())
