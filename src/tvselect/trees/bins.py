"""Columns as codes: cut points of every column, and the codes of values between them.

A column with fewer than ``max_cuts`` distinct values is cut halfway between
neighbours, any other on an even grid of ``max_cuts`` points between its smallest
and largest value. If a few values are so far out that most others would share a few
bins of the grid, a column is cut by rank instead. The code of a value is the number
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
from sklearn.utils import check_scalar

from tvselect.core import function
from tvselect.inputs import Numbered, Table, read_table
from tvselect.inputs.columns import VALUES_IN_CACHE, in_blocks
from tvselect.trees.state import (
    MISSING,
    WIDE,
    Bools,
    Bytes,
    Design,
    Floats,
    Ints,
    Words,
    locked,
    n_words,
    pack_codes,
    unpack_codes,
)

Copying = Callable[[Bytes], Bytes]
"""From the codes (columns, rows) of some columns to those of their copies."""
MOST_CUTS = 254
FARTHEST = 20.0

find_cuts = function(
    "find_cuts",
    "block: f8[columns, rows]; n_cuts: u1[columns]!; low: f8[columns]!; step: f8[columns]!;"
    "sizes: i8[columns]!; halfway: f8[columns, cuts]!; n_missing: i8[columns]!;"
    "infinite: b1[columns]!",
)
"""Cut points of a block of columns; ``sizes[j] > 0`` of them are listed in ``halfway``."""
encode_columns = function(
    "encode_columns",
    "block: f8[columns, rows]; n_cuts: u1[columns]; low: f8[columns]; step: f8[columns];"
    "starts: i8[columns+1] <= halfway; halfway: f8[halfway]; codes: u1[columns, padded>=rows]!",
)
"""Codes of a block of columns; where a column has no cuts its codes stay as they are."""
find_crowded = function(
    "find_crowded",
    "block: f8[columns, rows]; codes: u1[columns, padded>=rows]; step: f8[columns];"
    "width: int; crowded: b1[columns]!",
)
"""Columns on a grid with a third of their values in ``width`` bins; zeros are not counted."""


@dataclass(frozen=True)
class Cuts:
    """The cut points of every column of a table, listed one after the other or on a grid."""

    n_cuts: Bytes
    low: Floats  # the smallest value, for columns cut on a grid
    step: Floats  # the width of a bin, for these
    starts: Ints  # halfway[starts[j] : starts[j + 1]] are those of column j where they are listed
    halfway: Floats
    names: Sequence[str]

    @classmethod
    def joined(cls, parts: Sequence[Cuts], names: Sequence[str]) -> Cuts:
        """The cut points of several tables side by side."""
        n_cuts, low, step, halfway = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("n_cuts", "low", "step", "halfway")
        )
        starts = _ends(np.concatenate([np.diff(part.starts) for part in parts]))
        return cls(n_cuts, low, step, starts, halfway, names)

    def of(self, column: int) -> Floats:
        """Cut points of one ``column``."""
        first, last = self.starts[column], self.starts[column + 1]
        if last > first:
            return self.halfway[first:last]
        return self.low[column] + self.step[column] * np.arange(1, self.n_cuts[column] + 1)

    def take(self, columns: Ints, names: Sequence[str]) -> Cuts:
        """The cut points of some ``columns``, with their ``names``."""
        sizes = self.starts[columns + 1] - self.starts[columns]
        starts = _ends(sizes)
        places = np.arange(starts[-1]) + np.repeat(self.starts[columns] - starts[:-1], sizes)
        some = self.n_cuts[columns], self.low[columns], self.step[columns]
        return Cuts(*some, starts, self.halfway[places], names)

    def replaced(self, columns: Ints, others: Cuts) -> Cuts:
        """The same with the cut points of ``others`` for some ``columns``."""
        places = np.arange(self.n_cuts.size)
        places[columns] = places.size + np.arange(columns.size)
        return Cuts.joined([self, others], ()).take(places, self.names)

    def bin(self, X: Any) -> BinnedTable:
        """Bin another table ``X`` with the same cut points."""
        codes = self.encode(X)
        has_missing = (codes[:, : len(X)] == MISSING).any(axis=1)
        widths = narrowest(self.n_cuts, has_missing)
        return BinnedTable(locked(packed(codes, widths)), widths, len(X), has_missing, self)

    def encode(self, X: Any) -> Bytes:
        """Codes (columns, padded rows) of another table ``X``; ends beyond the known range."""
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
        codes = np.zeros((table.n_columns, 64 * n_words(table.n_rows)), dtype=np.uint8)
        for here, block in _blocks(table):
            _refuse_infinite(np.any(np.isinf(block), axis=1), table.names, here)
            starts = self.starts[here.start : here.stop + 1]
            some = self.n_cuts[here], self.low[here], self.step[here]
            encode_columns(block, *some, starts, self.halfway, codes[here])
        return codes


@dataclass(frozen=True)
class BinnedTable:
    """A table as the sampler reads it: codes by column, and the cuts they stand for."""

    words: Words  # codes of one column after the other, see trees/state.py; read-only
    widths: Bytes  # bits of a code of each column: 1, 2 or 8
    n_rows: int
    has_missing: Bools
    cuts: Cuts

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.widths.size

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return self.cuts.names

    @cached_property
    def starts(self) -> Ints:
        """The first word of every column."""
        return _starts(self.widths, self.n_rows)

    @property
    def codes(self) -> Bytes:
        """All codes (columns, rows padded to a multiple of 64), a byte each; read-only."""
        codes: Bytes = locked(self._codes_of(np.arange(self.n_columns)))
        return codes

    def blocks(self) -> Iterator[tuple[slice, Bytes]]:
        """The codes of some columns at a time."""
        for here in in_blocks(self.n_columns, self.n_rows, VALUES_IN_CACHE):
            yield here, self._codes_of(np.arange(here.start, here.stop))

    def design(self, columns: Ints | None = None) -> Design:
        """The table as the sampler reads it, with the ``columns`` that may be split on; or all."""
        if columns is None:
            columns = np.arange(self.n_columns, dtype=np.int64)
        by_column = self.starts, self.widths, self.cuts.n_cuts, self.has_missing
        return Design(self.words, *by_column, columns, self.n_rows)

    def with_copies(self, copies: Sequence[tuple[Ints, Copying]]) -> BinnedTable:
        """The table with ``copies`` behind it: some columns each, and how they are changed."""
        source = np.concatenate([np.arange(self.n_columns), *(columns for columns, _ in copies)])
        words = bytearray(self.words)
        for columns, copy in copies:
            for here in in_blocks(columns.size, self.n_rows, VALUES_IN_CACHE):
                codes = self._codes_of(columns[here])
                codes[:, : self.n_rows] = copy(codes[:, : self.n_rows])
                words.extend(packed(codes, self.widths[columns[here]]))
        return self._with(source, _as_words(words))

    def with_values(self, columns: Ints, X: Floats) -> BinnedTable:
        """The table with the columns of ``X`` behind it, cut like these ``columns`` of its own."""
        cuts = self.cuts.take(columns, Numbered(columns.size))
        words = np.concatenate([self.words, packed(cuts.encode(X), self.widths[columns])])
        return self._with(np.append(np.arange(self.n_columns), columns), locked(words))

    def _with(self, columns: Ints, words: Words) -> BinnedTable:
        """A table of ``words``, with cut points, names and missing values as in these columns."""
        cuts = self.cuts.take(columns, [self.names[j] for j in columns])
        widths, has_missing = self.widths[columns], self.has_missing[columns]
        return BinnedTable(words, widths, self.n_rows, has_missing, cuts)

    def _codes_of(self, columns: Ints) -> Bytes:
        codes = np.empty((columns.size, 64 * n_words(self.n_rows)), dtype=np.uint8)
        widths, starts = self.widths[columns], self.starts[columns]
        for mine, width, places in _by_width(widths, starts, self.n_rows):
            codes[mine] = unpack_codes(self.words[places], width)
        return codes


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
    has_missing = np.zeros(table.n_columns, dtype=np.bool_)
    parts, words = [], bytearray()
    for here, block in _blocks(table):
        block = block + 0.0  # a copy, in which -0.0 and 0.0 are one value to the bit
        n = len(block)
        low, step, halfway = np.zeros(n), np.zeros(n), np.zeros((n, max_cuts))
        sizes, n_missing = np.zeros((2, n), dtype=np.int64)
        n_cuts, infinite = np.zeros(n, dtype=np.uint8), np.zeros(n, dtype=np.bool_)
        find_cuts(block, n_cuts, low, step, sizes, halfway, n_missing, infinite)
        _refuse_infinite(infinite, table.names, here)
        for column in np.flatnonzero(n_missing == table.n_rows):
            name = table.names[here.start + column]
            raise ValueError(f"column {name!r} of X holds no value in any row; leave it out")
        codes = np.zeros((n, 64 * n_words(table.n_rows)), dtype=np.uint8)
        while True:
            listed = halfway[np.arange(max_cuts) < sizes[:, None]]
            cuts = Cuts(n_cuts, low, step, _ends(sizes), listed, ())
            encode_columns(block, n_cuts, low, step, cuts.starts, listed, codes)
            if not _cut_crowded_by_rank(block, codes, n_cuts, step, sizes, halfway):
                break
        has_missing[here] = n_missing > 0
        words.extend(packed(codes, narrowest(n_cuts, has_missing[here])))
        parts.append(cuts)
    cuts = Cuts.joined(parts, table.names)
    widths = narrowest(cuts.n_cuts, has_missing)
    return BinnedTable(_as_words(words), widths, table.n_rows, has_missing, cuts)


def _cut_crowded_by_rank(
    block: Floats, codes: Bytes, n_cuts: Bytes, step: Floats, sizes: Ints, halfway: Floats
) -> bool:
    """Cut crowded columns by rank that reach 20 times as far as their middle half; if any."""
    max_cuts = halfway.shape[1]
    crowded = np.zeros(len(block), dtype=np.bool_)
    find_crowded(block, codes, step, int((max_cuts + 1) / FARTHEST) + 2, crowded)
    for j in np.flatnonzero(crowded).tolist():
        distinct = np.unique(block[j][~np.isnan(block[j])])
        middle = distinct[3 * distinct.size // 4] - distinct[distinct.size // 4]
        crowded[j] = (distinct[-1] - distinct[0]) / FARTHEST > middle
        if crowded[j]:
            places = np.unique(np.linspace(1, distinct.size - 1, max_cuts).round().astype(np.int64))
            lower, upper = distinct[places - 1], distinct[places]
            between = 0.5 * lower + 0.5 * upper
            halfway[j, : places.size] = np.where(between > lower, between, upper)
            n_cuts[j] = sizes[j] = places.size
            step[j] = 0.0
    return bool(crowded.any())


def narrowest(n_cuts: Bytes, has_missing: Bools) -> Bytes:
    """Bits that the codes of each column need: 1, 2 or 8."""
    widths = np.where((n_cuts <= 1) & ~has_missing, 1, np.where(n_cuts <= 2, 2, WIDE))
    return widths.astype(np.uint8)


def packed(codes: Bytes, widths: Bytes) -> Words:
    """Codes (columns, rows padded to a multiple of 64) as words, by the bits of each column."""
    n_rows = codes.shape[1]
    words = np.empty(int(widths.sum()) * n_words(n_rows), dtype=np.uint64)
    for mine, width, places in _by_width(widths, _starts(widths, n_rows), n_rows):
        words[places] = pack_codes(codes[mine], width)
    return words


def _ends(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)])


def _starts(widths: Bytes, n_rows: int) -> Ints:
    ends = np.cumsum(widths, dtype=np.int64)
    return (ends - widths) * n_words(n_rows)


def _by_width(widths: Bytes, starts: Ints, n_rows: int) -> Iterator[tuple[Ints, int, Ints]]:
    """For each width its columns, and the indices of their words."""
    for width in np.unique(widths).tolist():
        mine = np.flatnonzero(widths == width)
        yield mine, width, starts[mine, None] + np.arange(width * n_words(n_rows))


def _as_words(grown: bytearray) -> Words:
    """Words collected in a bytearray, which can grow without a second copy."""
    words: Words = locked(np.frombuffer(grown, dtype=np.uint64))
    return words


def _blocks(table: Table) -> Iterator[tuple[slice, Floats]]:
    for here in in_blocks(table.n_columns, table.n_rows, VALUES_IN_CACHE):
        yield here, table.block(here.start, here.stop)


def _refuse_infinite(infinite: Bools, names: Sequence[str], here: slice) -> None:
    for column in np.flatnonzero(infinite):
        raise ValueError(
            f"column {names[here.start + column]!r} of X holds infinite or too large values; "
            "replace them by NaN or a bound"
        )
