"""From the chunks in which data comes to batches of the size that was asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from operator import index
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.text import Rows
from tvselect.sources.base import Batch, Source

ONLY_ONCE = (
    "an iterator can be read only once; for further rounds pass a function that returns a new "
    "iterator, or use one round"
)


class Chunk(ABC):
    """Rows that come together: a table in memory, a row group, a block of a file."""

    n_rows: int

    @abstractmethod
    def numbers(self, columns: NDArray[np.int64], rows: Rows) -> NDArray[np.floating[Any]]:
        """Columns of numbers at some rows."""

    @abstractmethod
    def labels(self, column: int, rows: Rows) -> NDArray[np.object_]:
        """The text of a column at some rows."""

    @abstractmethod
    def target(self, rows: Rows) -> NDArray[Any]:
        """The target at some rows."""


@final
class Pieces(Batch):
    """A batch made of rows of one or several chunks."""

    def __init__(self, pieces: list[tuple[Chunk, Rows]], n_rows: int) -> None:
        self._pieces = pieces
        self.n_rows = n_rows

    def numbers(self, columns: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """Columns of numbers (rows, columns)."""
        places = np.asarray(columns, dtype=np.int64)
        return _join([chunk.numbers(places, rows) for chunk, rows in self._pieces])

    def labels(self, column: int) -> NDArray[np.object_]:
        """The text of a categorical column."""
        return _join([chunk.labels(column, rows) for chunk, rows in self._pieces])

    def target(self) -> NDArray[Any]:
        """The target as it comes."""
        parts = [chunk.target(rows) for chunk, rows in self._pieces]
        if len({part.dtype.kind in "OUS" for part in parts}) > 1:
            # Joined as they are, numbers would become text.
            parts = [part.astype(object) for part in parts]
        return _join(parts)


class ChunkedSource(Source):
    """A source that knows its chunks; they are cut into batches here."""

    def batches(
        self, size: int, round: int, rng: np.random.Generator, *, skip: int = 0
    ) -> Iterator[Batch]:
        """One pass over the rows; see :meth:`Source.batches`."""
        for name, value, least in (("size", size, 1), ("round", round, 0), ("skip", skip, 0)):
            if index(value) < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        if round > 0 and not self.can_repeat:
            raise ValueError(ONLY_ONCE)
        resampling = rng if round > 0 else None
        return cut(self._chunks(size, resampling), size, resampling, skip)

    @abstractmethod
    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        """The chunks of a pass, in the order in which they are read."""


def cut(
    chunks: Iterable[Chunk], size: int, rng: np.random.Generator | None, skip: int = 0
) -> Iterator[Batch]:
    """Cut chunks into batches; with ``rng`` the rows of each chunk are resampled first."""
    pieces: list[tuple[Chunk, Rows]] = []
    held = 0
    for chunk in chunks:
        drawn = None if rng is None else rng.integers(chunk.n_rows, size=chunk.n_rows)
        start = 0
        while start < chunk.n_rows:
            stop = min(chunk.n_rows, start + size - held)
            pieces.append((chunk, slice(start, stop) if drawn is None else drawn[start:stop]))
            held += stop - start
            start = stop
            if held == size:
                # The list goes with the batch: once the caller drops it, the chunks can go too.
                full, pieces, held = pieces, [], 0
                if skip > 0:
                    skip -= 1
                else:
                    yield Pieces(full, size)
                del full
    if held > 0 and skip == 0:
        yield Pieces(pieces, held)


def stack(columns: list[NDArray[Any]], n_rows: int) -> NDArray[np.floating[Any]]:
    """Columns side by side, in the widest of their types."""
    kind = np.result_type(*columns) if columns else np.float64
    out = np.empty((n_rows, len(columns)), dtype=kind, order="F")
    with np.errstate(invalid="ignore"):  # a signalling NaN, which is a missing value like others
        for place, values in enumerate(columns):
            out[:, place] = values
    return out


def count(rows: Rows, n_rows: int) -> int:
    """How many rows are meant, out of ``n_rows``."""
    return len(range(n_rows)[rows]) if isinstance(rows, slice) else rows.size


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
