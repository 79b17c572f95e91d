"""Where a chain starts: the rows and columns that it sees, and a forest of stumps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.jit import kernel, part
from tvselect.trees.bits import EIGHT, ONE, WIDE, bit_place, n_words
from tvselect.trees.classes import plant_in_blocks
from tvselect.trees.state import (
    CLASSES,
    CONCENTRATION,
    GRADES,
    LEAF,
    LEVEL,
    LOWER,
    PRECISION,
    UPPER,
    Chain,
    Design,
    FloatArray,
    IntArray,
    PriorParameters,
    WordArray,
    locked,
)

BYTE = np.uint64(255)


class Draw(NamedTuple):
    """Which rows a chain sees, and which columns it sees a second time, shuffled.

    Attributes
    ----------
    rows : int64 array
    shadows : int64 array
        Columns of the table.
    shuffled : int64 array (shadows, rows)
        The rows in an order of its own for each shadow.
    """

    rows: IntArray
    shadows: IntArray
    shuffled: IntArray


class Sample(NamedTuple):
    """Columns copied at some rows, shuffled copies of columns behind them, and the response.

    Attributes
    ----------
    codes : uint64 array
        With room for eight bits a row in every column.
    starts, widths, n_cuts, has_missing : arrays over the columns
        See :class:`tvselect.trees.state.Design`.
    observed : float64 array (2, rows)
        What is known of the response, in the order of the bits.
    """

    codes: WordArray
    starts: IntArray
    widths: NDArray[np.uint8]
    n_cuts: NDArray[np.uint8]
    has_missing: NDArray[np.bool_]
    observed: FloatArray


NO_DRAW = Draw(
    np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int64)
)
"""All rows and no shadows: nothing has to be copied."""


def draw_with(rng: np.random.Generator, rows: IntArray, shadows: IntArray) -> Draw:
    """Shuffle the rows for every shadow."""
    return Draw(rows, shadows, rng.permuted(np.tile(rows, (shadows.size, 1)), axis=1))


def once_for_every_forest(draw: Draw, n_forests: int) -> Draw:
    """The same rows once for each of the forests, one block after the other."""
    return draw._replace(
        rows=np.tile(draw.rows, n_forests), shuffled=np.tile(draw.shuffled, n_forests)
    )


def new_sample(n_columns: int, n_rows: int) -> Sample:
    """Room for a sample."""
    return Sample(
        codes=np.zeros(n_columns * WIDE * n_words(n_rows), dtype=np.uint64),
        starts=np.arange(n_columns) * WIDE * n_words(n_rows),
        widths=np.zeros(n_columns, dtype=np.uint8),
        n_cuts=np.zeros(n_columns, dtype=np.uint8),
        has_missing=np.zeros(n_columns, dtype=np.bool_),
        observed=np.zeros((2, 64 * n_words(n_rows))),
    )


def design_of(sample: Sample, n_columns: int, n_rows: int) -> Design:
    """The first columns of a sample as the sampler reads them."""
    codes, starts, widths, n_cuts, has_missing = map(locked, sample[:5])  # one kernel for both
    columns = np.arange(n_columns, dtype=np.int64)
    return Design(codes, starts, widths, n_cuts, has_missing, columns, n_rows)


@kernel
def copy_sample(table: Design, observed: FloatArray, draw: Draw, sample: Sample) -> None:
    """Copy the columns of a design at the drawn rows, and the shadows behind them."""
    n_columns = table.columns.shape[0]
    for k in range(n_columns):
        copy_column(table, table.columns[k], draw.rows, sample, k)
    for k in range(draw.shadows.shape[0]):
        copy_column(table, draw.shadows[k], draw.shuffled[k], sample, n_columns + k)
    sample.observed[:] = 0.0
    for i in range(draw.rows.shape[0]):
        for side in range(2):
            sample.observed[side, bit_place(i)] = observed[side, bit_place(draw.rows[i])]


@part
def copy_column(table: Design, column: int, rows: IntArray, sample: Sample, place: int) -> None:
    """Copy a column at some rows to a place of the sample."""
    width = int(table.widths[column])
    source, target = table.starts[column], sample.starts[place]
    n_words = sample.observed.shape[1] // 64
    if width == WIDE:
        for w in range(WIDE * n_words):
            word = np.uint64(0)
            for b in range(min(8, rows.shape[0] - 8 * w)):
                row = rows[8 * w + b]
                code = (table.codes[source + (row >> 3)] >> (EIGHT * np.uint64(row & 7))) & BYTE
                word |= code << (EIGHT * np.uint64(b))
            sample.codes[target + w] = word
    else:
        sample.codes[target : target + width * n_words] = np.uint64(0)
        for i in range(rows.shape[0]):
            row, place_of_bit = rows[i], np.uint64(bit_place(i) & 63)
            bit = np.uint64(bit_place(row) & 63)
            for plane in range(width):
                code = (table.codes[source + width * (row >> 6) + plane] >> bit) & ONE
                sample.codes[target + width * (i >> 6) + plane] |= code << place_of_bit
    sample.widths[place] = width
    sample.n_cuts[place] = table.n_cuts[column]
    sample.has_missing[place] = table.has_missing[column]


@kernel
def begin(
    chain: Chain, design: Design, prior: PriorParameters, rows: WordArray, observed: FloatArray,
    precision: float,
) -> None:  # fmt: skip
    """Make the chain a forest of stumps with means zero, whatever its arrays held before.

    ``rows`` are all rows as bits; ``observed`` what is known of the response, in their order: its
    bounds, or its grade or class counted from 1.
    """
    trees, leaves, tally, response, _ = chain
    n_trees = trees.splits.shape[0]
    leaves.size[0] = n_trees
    for tree in range(n_trees):
        trees.splits[tree] = 0
        trees.nodes[tree, 0] = 0
        trees.nodes[tree, 0, LEAF] = tree
        leaves.owners[tree, 0] = tree
        leaves.owners[tree, 1] = 0
        leaves.means[tree] = 0.0
        leaves.fitted[tree] = 0.0
        for k in range(n_trees):
            leaves.gram[tree, k] = design.n_rows
        for w in range(rows.shape[0]):
            leaves.masks[w, tree] = rows[w]
    if prior.latent == CLASSES:
        plant_in_blocks(leaves, n_trees, prior.cuts.shape[0], design.n_rows)
    tally.columns[: design.columns.shape[0]] = 0
    tally.ladder[:] = 0
    tally.whole[:] = 0
    tally.whole[CONCENTRATION] = first_at_least(prior.shares, 1.0 / design.columns.shape[0])
    has_levels = prior.latent in (GRADES, CLASSES)
    for i in range(observed.shape[1]):
        low, high = observed[0, i], observed[1, i]
        response.values[i] = low if low == high and not has_levels else 0.0
        response.observed[LOWER, i] = 0.0 if has_levels else low
        response.observed[UPPER, i] = 0.0 if has_levels else high
        response.observed[LEVEL, i] = low - 1.0 if has_levels else -1.0
    for k in range(prior.cuts.shape[0]):
        response.cuts[k] = prior.cuts[k]
    response.real[PRECISION] = precision


@part
def first_at_least(ascending: FloatArray, value: float) -> int:
    """Place of the first number that reaches a value, or of the last number."""
    low, high = 0, ascending.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
