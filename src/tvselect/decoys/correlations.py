"""Correlations of many columns from few rows: common factors, and blocks of sparse regressions.

The sample correlations of 1,000 columns in 300 rows are mostly noise, and shrinking them all by
one factor washes out the few that are there. So what all columns share is taken out as factors;
what is left links columns to a few others, and where a link stands out of the noise they make a
block. In a block every column is regressed on the few columns before it that matter, which is a
sparse Cholesky factor of the inverse: positive definite whatever the data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LARGEST_BLOCK = 400
BLOCK_OF_COLUMNS = 1000
MOST_FACTORS = 20
LEAST_SHARE = 0.15
"""A factor explains at least so much of the columns' variance."""
FLOOR = 1e-3
MOST_SHARED = 0.98
ROUNDING = 1e-9
HALVINGS = 16


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
        See :func:`tvselect.decoys.scores.mean_scores`. Their variance is the share that
        the table tells of a normal number: 1 for continuous columns, 0.64 for halves of 0
        and 1.
    coefficients : array (p, terms)
        See :func:`tvselect.decoys.scores.hermite`.
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
    normal *= np.sqrt(np.minimum(1.0, MOST_SHARED / np.maximum(shared, ROUNDING)))[:, None]
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
    least = _least(n, p)
    found = []
    for first in range(0, p, BLOCK_OF_COLUMNS):
        some, later = slice(first, first + BLOCK_OF_COLUMNS), slice(first, None)
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
    values, vectors = values[::-1][:MOST_FACTORS], vectors[:, ::-1][:, :MOST_FACTORS]
    # The largest eigenvalue that noise has (Marchenko and Pastur), and some luck.
    edge = 1.1 * (1 + np.sqrt(p / n)) ** 2
    n_factors = int(np.count_nonzero(values > max(edge, LEAST_SHARE * p)))
    values, vectors = values[:n_factors], vectors[:, :n_factors]
    noise = (p - values.sum()) / max(p - n_factors, 1) * (1 + p / n)
    return vectors * np.sqrt(np.maximum(values - noise, 0.0))


def _least(n_rows: int, n_columns: int) -> float:
    """The smallest correlation that stands out among those with so many columns."""
    return float(np.sqrt(1 - np.exp(-(2 * np.log(max(n_columns, 2)) + 2) / n_rows)))


def _clusters(links: Links) -> list[Indices]:
    """Columns that are linked, strongest links first, at most so many together."""
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
    for _ in range(HALVINGS):
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
