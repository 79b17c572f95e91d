"""Where a chain starts: the rows and columns that it sees, and a forest of stumps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.core import function, struct
from tvselect.trees.bits import WIDE, n_words
from tvselect.trees.state import (
    Design,
    FloatArray,
    IntArray,
    WordArray,
    check_chain,
    check_levels,
    zeros,
)


@struct(
    "draw",
    """
    rows: i8[rows]!
    shadows: i8[shadows]!
    shuffled: i8[shadows, rows]!
    """,
)
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


@struct(
    "sample",
    """
    codes: u8[words]!
    starts: i8[columns]! < words
    widths: u1[columns]!
    n_cuts: u1[columns]!
    has_missing: b1[columns]!
    observed: f8[sides=2, rows]!
    """,
)
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
        codes=zeros(n_columns * WIDE * n_words(n_rows), np.uint64),
        starts=np.arange(n_columns) * WIDE * n_words(n_rows),
        widths=np.zeros(n_columns, dtype=np.uint8),
        n_cuts=np.zeros(n_columns, dtype=np.uint8),
        has_missing=np.zeros(n_columns, dtype=np.bool_),
        observed=np.zeros((2, 64 * n_words(n_rows))),
    )


def design_of(sample: Sample, n_columns: int, n_rows: int) -> Design:
    """The first columns of a sample as the sampler reads them."""
    return Design(*sample[:5], np.arange(n_columns, dtype=np.int64), n_rows)


_copy_sample = function(
    "copy_sample",
    """
    table: design
    observed: f8[sides=2, padded]
    draw: draw
    sample: sample
    """,
)
_begin = function(
    "begin",
    """
    chain: chain
    design: design
    prior: prior
    observed: f8[sides=2, padded]
    precision: float
    """,
)


def copy_sample(table: Design, observed: FloatArray, draw: Draw, sample: Sample) -> None:
    """Copy the columns of a design at the drawn rows, and the shadows behind them."""
    n_padded = 64 * n_words(draw.rows.size)
    n_copies = table.columns.size + draw.shadows.size
    if n_copies > sample.starts.size or n_padded != sample.observed.shape[1]:
        raise ValueError(f"the sample has no room for {n_copies} columns and {draw.rows.size} rows")
    if observed.shape[1] != 64 * n_words(table.n_rows):
        raise ValueError(f"observed must be of {table.n_rows} rows")
    for rows in (draw.rows, draw.shuffled):
        if rows.size and not 0 <= rows.min() <= rows.max() < table.n_rows:
            raise ValueError(f"draw has rows that are not among the {table.n_rows} of the table")
    if draw.shadows.size and not 0 <= draw.shadows.min() <= draw.shadows.max() < table.widths.size:
        raise ValueError("draw.shadows has columns that the table does not have")
    _copy_sample(table, observed, draw, sample)


def begin(chain: Any, design: Any, prior: Any, observed: FloatArray, precision: float) -> None:
    """Make a packed chain a forest of stumps with means zero, whatever its arrays held before.

    ``observed`` is what is known of the response, in the order of the bits: its bounds, or its
    grade or class counted from 1.
    """
    n_rows = design.record.n_rows
    check_chain(chain.record, design.record, prior.record)
    check_levels(observed, n_rows, prior.record)
    if observed.shape[1] != 64 * n_words(n_rows):
        raise ValueError(f"observed must be of {n_rows} rows")
    _begin(chain, design, prior, observed, precision)
