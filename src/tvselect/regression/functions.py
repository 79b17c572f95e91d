"""Functions of columns that a regression may use: lines, bends and products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tvselect.core import function
from tvselect.inputs.columns import centred_ranks
from tvselect.regression.gibbs import ALONE, TOGETHER, Floats, Ints, Singles, Small, Terms

DEGREES = 4
DECAY = 0.25
ODDS, MOST_ODDS, PAIR_ODDS, MOST_PAIR_ODDS = 1.0, 0.05, 0.67, 0.002
FAR_OUT = 3.0
FEWEST_NEW = 0.05
FEWEST_MISSING = 0.02
MOST_NEAR, ALIKE = 6, 0.3
PAIRS_OF_A_KIND, LEADING_PAIRS, FEW_LEADERS = 200, 2**20, 25
LEADING_TRIPLES, FAR_AHEAD = 50, 2.75
SHAPE_ODDS = 0.05

screen_triples = function(
    "screen_triples",
    "halves: u8[words, padded]; signs: u8[words]; n_rows: int; least: float; room: u8[words]!;"
    "furthest: i8[columns<=padded]!; partners: i8[columns, others=2]!",
)


Bools = NDArray[np.bool_]


def columns_as_functions(values: Floats) -> Singles:
    """Functions (degrees + 1, columns, rows) of columns (columns, rows), orthogonal to each other.

    The column itself, cut off at three standard deviations, and what powers of its ranks add to
    this; the last says where values are missing. Each has mean 0 and variance 1, or is 0
    where a column of few values allows no more.
    """
    n_columns, n_rows = values.shape
    ranks = centred_ranks(values)
    u = (ranks / np.maximum(np.abs(ranks).max(axis=1, keepdims=True), 1e-12)).astype(np.float32)
    is_there = ~np.isnan(values)
    n_there = np.maximum(is_there.sum(axis=1, keepdims=True), 1)
    own = np.where(is_there, values, 0.0)
    own /= np.maximum(np.abs(own).max(axis=1, keepdims=True), 1e-300)
    own = np.where(is_there, own - own.sum(axis=1, keepdims=True) / n_there, 0.0)
    own /= np.sqrt((own**2).sum(axis=1, keepdims=True) / n_there) + 1e-300
    powers = [np.clip(own, -FAR_OUT, FAR_OUT).astype(np.float32)]
    bend = u
    for _ in range(DEGREES - 1):
        bend = bend * u
        mean = (bend * is_there).sum(axis=1, keepdims=True) / n_there
        powers.append(np.where(is_there, bend - mean, 0.0).astype(np.float32))
    missing = 1.0 - n_there[:, 0] / n_rows
    is_gap = (missing >= FEWEST_MISSING) & (missing <= 1.0 - FEWEST_MISSING)
    powers.append((~is_there & is_gap[:, None]).astype(np.float32))
    found = np.zeros((DEGREES + 1, n_columns, n_rows), dtype=np.float32)
    for place, power in enumerate(powers):
        power -= power.mean(axis=1, keepdims=True)
        before = _length(power)
        for earlier in found[:place]:
            power -= (np.einsum("ij,ij->i", power, earlier) / n_rows)[:, None] * earlier
        length = _length(power)
        is_new = length > FEWEST_NEW * np.maximum(before, 1e-6)
        found[place] = power * np.where(is_new, 1.0 / np.maximum(length, 1e-12), 0.0)[:, None]
    return found


def _length(values: Singles) -> Singles:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", values, values) / values.shape[1]))


def of_one_column(
    functions: Singles, owners: Small, n_columns: int, n_tests: int, trust: Floats | None = None
) -> Terms:
    """All functions of some columns, with prior odds for a table of ``n_columns``.

    A column that is trusted to be in (0 to 1) may have another shape than a line at higher odds.
    """
    degrees, places = np.nonzero(functions.any(axis=2))
    steps = np.where(degrees == DEGREES, 1, degrees)
    odds = min(ODDS / n_columns, MOST_ODDS) / n_tests * DECAY**steps
    if trust is not None:
        odds += np.where(degrees > 0, SHAPE_ODDS * trust[places], 0.0)
    return Terms(
        functions[degrees, places],
        np.log(odds),
        np.full(places.size, ALONE, dtype=np.uint8),
        _owners(owners[places]),
        (degrees + 1).astype(np.int32),
    )


def n_leaders(n_columns: int) -> int:
    """Of how many columns products with all of ``n_columns`` are looked at."""
    return max(FEW_LEADERS, LEADING_PAIRS // max(n_columns, 1))


def leading_pairs(functions: Singles, scores: Floats, falling: Ints) -> Ints:
    """Products of two columns that go with the scores: columns, degrees less 1 (products, 4).

    Of lines and bends 200 for each pair of these, of the leaders in ``falling`` order with all
    columns; of higher degrees as many, of few leaders.
    """
    n_columns = functions.shape[1]
    weights = scores.astype(np.float32)
    found = []
    for a, b in np.ndindex(DEGREES, DEGREES):
        leaders = np.sort(falling[: n_leaders(n_columns) if max(a, b) < 2 else FEW_LEADERS])
        z = np.abs((functions[a, leaders] * weights) @ functions[b].T)
        z[np.arange(leaders.size), leaders] = 0.0
        if a == b:  # each pair once
            place = np.full(n_columns, leaders.size)
            place[leaders] = np.arange(leaders.size)
            z[place[None, :] < np.arange(leaders.size)[:, None]] = 0.0
        most = min(PAIRS_OF_A_KIND if max(a, b) < 2 else PAIRS_OF_A_KIND // 8, z.size)
        best = np.argpartition(z, -most, axis=None)[-most:]
        i, j = np.unravel_index(best, z.shape)
        i, shapes = leaders[i], np.full((i.size, 2), [a, b])
        is_first = (i < j)[:, None]
        shapes = np.where(is_first, shapes, shapes[:, ::-1])
        found.append(np.column_stack([np.minimum(i, j), np.maximum(i, j), shapes]))
    return np.unique(np.concatenate(found), axis=0)


def leading_triples(halves: Bools, is_above: Bools) -> Ints:
    """Columns (triples, 3) the product of whose signs goes furthest with the signs of the rows.

    ``halves`` (columns, rows) tell where columns are above their middle. Of each column with two
    after it there is at most one triple, and 50 in all.
    """
    n_columns, n_rows = halves.shape
    words, signs = _bits(halves), _bits(is_above[None])[:, 0].copy()
    furthest, partners = np.zeros(n_columns, np.int64), np.zeros((n_columns, 2), np.int64)
    screen_triples(words, signs, n_rows, FAR_AHEAD, np.zeros_like(signs), furthest, partners)
    best = np.argsort(-np.abs(furthest), kind="stable")[:LEADING_TRIPLES]
    best = best[furthest[best] != 0]
    return np.column_stack([best, partners[best]])


def _bits(rows: Bools) -> NDArray[np.uint64]:
    """Rows as words of 64 bits, (words, rows) with zeros up to a multiple of eight."""
    n, size = rows.shape
    bits = np.zeros((-(-n // 8) * 8, -(-size // 64) * 8), dtype=np.uint8)
    bits[:n, : -(-size // 8)] = np.packbits(rows, axis=1)
    return np.ascontiguousarray(bits.view(np.uint64).T)


def of_several_columns(
    factors: Sequence[Singles],
    owners: Sequence[Small],
    n_columns: int,
    bends: Ints | int,
    trust: Floats,
) -> Terms:
    """Products of functions of different columns; ``trust`` in all of these raises their odds.

    ``bends`` says by how much their degrees exceed those of lines.
    """
    products = np.prod(factors, axis=0)
    products -= products.mean(axis=1, keepdims=True)
    length = _length(products)
    products /= np.maximum(length, 1e-6)[:, None]
    size = len(products)
    odds = min(PAIR_ODDS / float(n_columns) ** len(factors), MOST_PAIR_ODDS) + SHAPE_ODDS * trust
    return Terms(
        products,
        np.log(odds * DECAY**bends),
        np.full(size, TOGETHER, dtype=np.uint8),
        _owners(*owners),
        np.zeros(size, dtype=np.int32),
    ).at(np.flatnonzero(length > FEWEST_NEW))


def _owners(*some: Small) -> Small:
    found = np.full((some[0].size, 3), -1, dtype=np.int32)
    for place, owners in enumerate(some):
        found[:, place] = owners
    return found


def near_columns(lines: Singles) -> Ints:
    """Pairs (pairs, 2) of columns that are alike, and of every column with itself, both ways."""
    n = len(lines)
    alike = np.abs(lines @ lines.T) / lines.shape[1]
    np.fill_diagonal(alike, 0.0)
    best = np.argpartition(-alike, min(MOST_NEAR, n - 1), axis=1)[:, :MOST_NEAR]
    is_near = np.zeros((n, n), dtype=np.bool_)
    np.put_along_axis(is_near, best, np.take_along_axis(alike, best, axis=1) > ALIKE, axis=1)
    return np.argwhere(is_near | is_near.T | np.eye(n, dtype=np.bool_))


def near_functions(terms: Terms, columns: Ints, pairs: Ints) -> tuple[Ints, Ints]:
    """By function its neighbours: of the same column, or of the same degree of one that is near.

    ``columns`` are places of the columns that functions of one column are of, -1 for others.
    """
    table = np.full((DEGREES + 2, int(max(pairs.max(initial=0), columns.max(initial=0))) + 1), -1)
    is_single = np.flatnonzero(columns >= 0)
    table[terms.degrees[is_single], columns[is_single]] = is_single
    firsts, seconds = [], []
    for degree, other in np.ndindex(len(table), len(table)):
        here = pairs if degree == other else pairs[pairs[:, 0] == pairs[:, 1]]
        first, second = table[degree, here[:, 0]], table[other, here[:, 1]]
        are_two = (first >= 0) & (second >= 0) & (first != second)
        firsts.append(first[are_two])
        seconds.append(second[are_two])
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    order = np.argsort(first, kind="stable")
    return np.searchsorted(first[order], np.arange(terms.kinds.size + 1)), second[order]
