"""Columns as codes of one byte: cut points found once, every value put between two of them.

A column with fewer than ``max_cuts`` distinct values is cut halfway between
neighbours, any other on an even grid of ``max_cuts`` points between its smallest
and largest value. Where a few values are so far out that the grid would have the
others in a few bins, a column is cut by rank instead. The code of a value is the number
of cuts at or below it, so that ``code <= c`` means ``value < cut c``. Code 255 is a
missing value. Columns of two or three values take one or two bits for a code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.core import function
from tvselect.inputs import Numbered, Table, read_table
from tvselect.inputs.errors import check_scalar
from tvselect.trees.bits import MISSING, WIDE, n_words, pack, unpack
from tvselect.trees.far_values import cut_crowded_by_rank
from tvselect.trees.state import Design, locked

Copying = Callable[[NDArray[np.uint8]], NDArray[np.uint8]]
"""From the codes (columns, rows) of some columns to those of their copies."""
MOST_CUTS = 254
BLOCK_VALUES = 1 << 18
HASH_SIZE = 1024

find_cuts = function(
    "find_cuts",
    f"""
    block: f8[columns, rows]
    bits: i8[columns, rows]
    seen: i8[places={HASH_SIZE}, two=2]!
    n_cuts: u1[columns]!
    low: f8[columns]!
    step: f8[columns]!
    sizes: i8[columns]!
    halfway: f8[columns, cuts]!
    n_missing: i8[columns]!
    infinite: b1[columns]!
    """,
)
"""Cut points of a block of columns; ``sizes[j] > 0`` when they are listed in ``halfway``."""
encode_columns = function(
    "encode_columns",
    """
    block: f8[columns, rows]
    n_cuts: u1[columns]
    low: f8[columns]
    step: f8[columns]
    starts: i8[columns+1] <= halfway
    halfway: f8[halfway]
    codes: u1[columns, padded>=rows]!
    """,
)
"""Codes of a block of columns; where a column has no cuts its codes stay as they are."""


@dataclass(frozen=True)
class Cuts:
    """The cut points of every column of a table.

    Attributes
    ----------
    n_cuts : uint8 array
    low, step : float64 arrays
        Smallest value and width of a bin, for columns cut on a grid.
    starts : int64 array
        ``halfway[starts[j]:starts[j + 1]]`` are the cuts of column ``j`` when it is
        not cut on a grid.
    halfway : float64 array
    names : sequence of str
    """

    n_cuts: NDArray[np.uint8]
    low: NDArray[np.float64]
    step: NDArray[np.float64]
    starts: NDArray[np.int64]
    halfway: NDArray[np.float64]
    names: Sequence[str]

    def of(self, column: int) -> NDArray[np.float64]:
        """Cut points of one ``column``."""
        first, last = self.starts[column], self.starts[column + 1]
        if last > first:
            return self.halfway[first:last]
        return self.low[column] + self.step[column] * np.arange(1, self.n_cuts[column] + 1)

    def take(self, columns: NDArray[np.int64], names: Sequence[str]) -> Cuts:
        """The cut points of some ``columns``, with their ``names``."""
        sizes = self.starts[columns + 1] - self.starts[columns]
        ends = np.cumsum(sizes)
        places = np.arange(sizes.sum()) - np.repeat(ends - sizes - self.starts[columns], sizes)
        return Cuts(
            n_cuts=self.n_cuts[columns],
            low=self.low[columns],
            step=self.step[columns],
            starts=np.concatenate([[0], ends]),
            halfway=self.halfway[places],
            names=names,
        )

    def replaced(self, columns: NDArray[np.int64], others: Cuts) -> Cuts:
        """The same with the cut points of ``others`` for some ``columns``."""
        n_columns = self.n_cuts.size
        both = Cuts(
            n_cuts=np.concatenate([self.n_cuts, others.n_cuts]),
            low=np.concatenate([self.low, others.low]),
            step=np.concatenate([self.step, others.step]),
            starts=np.concatenate([self.starts, self.starts[-1] + others.starts[1:]]),
            halfway=np.concatenate([self.halfway, others.halfway]),
            names=(),
        )
        places = np.arange(n_columns)
        places[columns] = n_columns + np.arange(columns.size)
        return both.take(places, self.names)

    def bin(self, X: Any) -> BinnedTable:
        """Another table ``X`` between the same cut points."""
        codes = self.encode(X)
        n_rows = len(X)
        has_missing = (codes[:, :n_rows] == MISSING).any(axis=1)
        widths = narrowest(self.n_cuts, has_missing)
        return BinnedTable(locked(packed(codes, widths)), widths, n_rows, has_missing, self)

    def encode(self, X: Any) -> NDArray[np.uint8]:
        """Codes (columns, rows padded to a multiple of 64) of another table ``X``.

        Values outside the range seen before fall into the end bins.
        """
        table = read_table(X)
        if table.n_columns != len(self.names):
            raise ValueError(
                f"X has {table.n_columns} columns but the cut points are for {len(self.names)}"
            )
        if table.named and table.names != self.names:
            wrong = next(j for j, name in enumerate(table.names) if name != self.names[j])
            raise ValueError(
                f"column {wrong} of X is {table.names[wrong]!r} where "
                f"{self.names[wrong]!r} is expected"
            )
        codes = _no_codes(table)
        for first, block in _blocks(table):
            _refuse_infinite(np.any(np.isinf(block), axis=1), table.names, first)
            self._encode_block(first, np.ascontiguousarray(block, dtype=np.float64), codes)
        return codes

    def _encode_block(
        self, first: int, block: NDArray[np.float64], codes: NDArray[np.uint8]
    ) -> None:
        last = first + len(block)
        encode_columns(
            block,
            self.n_cuts[first:last],
            self.low[first:last],
            self.step[first:last],
            self.starts[first : last + 1],
            self.halfway,
            codes[first:last],
        )


@dataclass(frozen=True)
class BinnedTable:
    """A table as the sampler reads it: codes by column, and the cuts they stand for.

    Attributes
    ----------
    words : uint64 array, read-only
        The codes of one column after the other, see :mod:`tvselect.trees.bits`.
    widths : uint8 array
        Bits of a code of each column: 1, 2 or 8.
    n_rows : int
    has_missing : bool array
    cuts : Cuts
    """

    words: NDArray[np.uint64]
    widths: NDArray[np.uint8]
    n_rows: int
    has_missing: NDArray[np.bool_]
    cuts: Cuts

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.widths.size

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first word of every column."""
        return _starts(self.widths, self.n_rows)

    @property
    def codes(self) -> NDArray[np.uint8]:
        """All codes (columns, rows padded to a multiple of 64), a byte each; read-only."""
        codes: NDArray[np.uint8] = locked(self._codes_of(np.arange(self.n_columns)))
        return codes

    def design(self, columns: NDArray[np.int64] | None = None) -> Design:
        """The table as the sampler reads it, with the ``columns`` that may be split on; or all."""
        if columns is None:
            columns = np.arange(self.n_columns, dtype=np.int64)
        return Design(
            codes=self.words,
            starts=self.starts,
            widths=self.widths,
            n_cuts=self.cuts.n_cuts,
            has_missing=self.has_missing,
            columns=columns,
            n_rows=self.n_rows,
        )

    def with_copies(self, copies: Sequence[tuple[NDArray[np.int64], Copying]]) -> BinnedTable:
        """The table with ``copies`` behind it: some columns each, and how they are changed."""
        source = np.concatenate([np.arange(self.n_columns), *(columns for columns, _ in copies)])
        words = _Words()
        words.take(self.words)
        for columns, copy in copies:
            for first, last in _spans(columns.size, self.n_rows):
                some = columns[first:last]
                codes = self._codes_of(some)
                codes[:, : self.n_rows] = copy(codes[:, : self.n_rows])
                words.take(packed(codes, self.widths[some]))
        return self._with(source, words.all())

    def with_values(self, columns: NDArray[np.int64], X: NDArray[np.float64]) -> BinnedTable:
        """The table with the columns of ``X`` behind it, cut like these ``columns`` of its own."""
        cuts = self.cuts.take(columns, Numbered(columns.size))
        words = np.concatenate([self.words, packed(cuts.encode(X), self.widths[columns])])
        return self._with(np.append(np.arange(self.n_columns), columns), locked(words))

    def _with(self, columns: NDArray[np.int64], words: NDArray[np.uint64]) -> BinnedTable:
        """Words of columns that are cut, named and complete like some of this table."""
        names = self.cuts.names
        cuts = self.cuts.take(columns, [names[j] for j in columns])
        return BinnedTable(
            words, self.widths[columns], self.n_rows, self.has_missing[columns], cuts
        )

    def _codes_of(self, columns: NDArray[np.int64]) -> NDArray[np.uint8]:
        codes = np.empty((columns.size, 64 * n_words(self.n_rows)), dtype=np.uint8)
        for mine, width, places in _by_width(
            self.widths[columns], self.starts[columns], self.n_rows
        ):
            codes[mine] = unpack(self.words[places], width)
        return codes

    def blocks(self) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """The codes of some columns at a time, with the number of the first."""
        for first, last in _spans(self.n_columns, self.n_rows):
            yield first, self._codes_of(np.arange(first, last))

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return self.cuts.names


def bin_table(X: Any, *, max_cuts: int = 100) -> BinnedTable:
    """Find the cut points of a table and encode it.

    Parameters
    ----------
    X : array-like or data frame (rows, columns)
        Numbers; missing values are legal, infinite ones and columns without any
        value are not.
    max_cuts : int, default=100
        At most that many cut points per column, 254 at the most.

    Returns
    -------
    BinnedTable

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.trees import bin_table
    >>> table = bin_table(np.array([[1.0, 0], [2, 1], [4, np.nan]]))
    >>> table.codes[:, :3]
    array([[  0,   1,   2],
           [  0,   1, 255]], dtype=uint8)
    >>> table.cuts.of(0)
    array([1.5, 3. ])
    """
    check_scalar(max_cuts, "max_cuts", Integral, min_val=1, max_val=MOST_CUTS)
    table = read_table(X)
    n = table.n_columns
    n_cuts = np.zeros(n, dtype=np.uint8)
    low, step = np.zeros(n), np.zeros(n)
    sizes = np.zeros(n, dtype=np.int64)
    n_missing = np.zeros(n, dtype=np.int64)
    words = _Words()
    pieces: list[NDArray[np.float64]] = []
    for first, block in _blocks(table):
        # Stored by column, and -0.0 and 0.0 one value to the bit.
        block = np.add(block, 0.0, dtype=np.float64, order="C")
        last = first + len(block)
        here = slice(first, last)
        halfway = np.zeros((len(block), max_cuts))
        infinite = np.zeros(len(block), dtype=np.bool_)
        seen = np.zeros((HASH_SIZE, 2), dtype=np.int64)
        find_cuts(
            block, block.view(np.int64), seen, n_cuts[here], low[here], step[here], sizes[here],
            halfway, n_missing[here], infinite,
        )  # fmt: skip
        _refuse_infinite(infinite, table.names, first)
        _refuse_all_missing(n_missing[here] == table.n_rows, table.names, first)
        coded = np.zeros((len(block), 64 * n_words(table.n_rows)), dtype=np.uint8)
        flat = _encode(block, n_cuts[here], low[here], step[here], sizes[here], halfway, coded)
        if cut_crowded_by_rank(block, coded, n_cuts[here], step[here], sizes[here], halfway):
            flat = _encode(block, n_cuts[here], low[here], step[here], sizes[here], halfway, coded)
        words.take(packed(coded, narrowest(n_cuts[here], n_missing[here] > 0)))
        pieces.append(flat)
    cuts = Cuts(
        n_cuts=n_cuts,
        low=low,
        step=step,
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        halfway=np.concatenate(pieces),
        names=table.names,
    )
    has_missing = n_missing > 0
    widths = narrowest(n_cuts, has_missing)
    return BinnedTable(words.all(), widths, table.n_rows, has_missing, cuts)


def _encode(
    block: NDArray[np.float64],
    n_cuts: NDArray[np.uint8],
    low: NDArray[np.float64],
    step: NDArray[np.float64],
    sizes: NDArray[np.int64],
    halfway: NDArray[np.float64],
    coded: NDArray[np.uint8],
) -> NDArray[np.float64]:
    """Encode a block; returns the cuts that are listed, one column after the other."""
    flat = halfway[np.arange(halfway.shape[1]) < sizes[:, None]]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    encode_columns(block, n_cuts, low, step, starts, flat, coded)
    return flat


def narrowest(n_cuts: NDArray[np.uint8], has_missing: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """How many bits the codes of columns need: 1, 2 or 8."""
    return np.where((n_cuts <= 1) & ~has_missing, 1, np.where(n_cuts <= 2, 2, WIDE)).astype(
        np.uint8
    )


def packed(codes: NDArray[np.uint8], widths: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Codes (columns, rows padded to a multiple of 64) in so many bits each, as words."""
    n_rows = codes.shape[1]
    words = np.empty(int(widths.sum()) * n_words(n_rows), dtype=np.uint64)
    for mine, width, places in _by_width(widths, _starts(widths, n_rows), n_rows):
        words[places] = pack(codes[mine], width)
    return words


def _starts(widths: NDArray[np.uint8], n_rows: int) -> NDArray[np.int64]:
    ends = np.cumsum(widths, dtype=np.int64)
    return (ends - widths) * n_words(n_rows)


def _by_width(
    widths: NDArray[np.uint8], starts: NDArray[np.int64], n_rows: int
) -> Iterator[tuple[NDArray[np.int64], int, NDArray[np.int64]]]:
    """Columns of one width at a time, and the places of their words."""
    for width in np.unique(widths).tolist():
        mine = np.flatnonzero(widths == width)
        yield mine, width, starts[mine, None] + np.arange(width * n_words(n_rows))


class _Words:
    """Words of columns as they come in; never much more room than they need."""

    def __init__(self) -> None:
        self._size, self._words = 0, np.empty(0, dtype=np.uint64)

    def take(self, words: NDArray[np.uint64]) -> None:
        """Put the words of some columns behind the others."""
        first, self._size = self._size, self._size + words.size
        if self._size > self._words.size:
            self._words.resize(max(self._size, self._words.size * 5 // 4), refcheck=False)
        self._words[first : self._size] = words

    def all(self) -> NDArray[np.uint64]:
        """Those of all columns, read-only."""
        self._words.resize(self._size, refcheck=False)
        return locked(self._words)


def _spans(n_columns: int, n_rows: int) -> Iterator[tuple[int, int]]:
    width = max(1, BLOCK_VALUES // n_rows)
    for first in range(0, n_columns, width):
        yield first, min(first + width, n_columns)


def _blocks(table: Table) -> Iterator[tuple[int, NDArray[np.float64]]]:
    for first, last in _spans(table.n_columns, table.n_rows):
        yield first, table.block(first, last)


def _no_codes(table: Table) -> NDArray[np.uint8]:
    return np.zeros((table.n_columns, 64 * n_words(table.n_rows)), dtype=np.uint8)


def _refuse_infinite(infinite: NDArray[np.bool_], names: Sequence[str], first: int) -> None:
    if infinite.any():
        name = names[first + int(np.flatnonzero(infinite)[0])]
        raise ValueError(
            f"column {name!r} of X holds infinite or too large values; "
            "replace them by NaN or a bound"
        )


def _refuse_all_missing(empty: NDArray[np.bool_], names: Sequence[str], first: int) -> None:
    if empty.any():
        name = names[first + int(np.flatnonzero(empty)[0])]
        raise ValueError(f"column {name!r} of X holds no value in any row; leave it out")
