"""From the chunks in which data comes to batches of the size that was asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from operator import index
from threading import Lock
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import arrow_errors, as_numbers, as_target, as_text
from tvselect.inputs.columns import Columns, Places, places
from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field
from tvselect.inputs.outcome import missing_mask
from tvselect.inputs.table import Table
from tvselect.sources.base import Batch, Source
from tvselect.sources.columns import categorical_mask

ONLY_ONCE = (
    "an iterator can be read only once; for further rounds pass a function that returns a new "
    "iterator, or use one round"
)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Places that come together: a table in memory, a row group, a block of a file.

    Attributes
    ----------
    table : Table
    target : callable
        Returns the target of all rows of the table.
    rows : int64 array or None
        Those that are used; None for all.
    """

    table: Table
    target: Callable[[], NDArray[Any]]
    rows: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        return self.table.n_rows if self.rows is None else self.rows.size


@final
class Pieces(Batch):
    """A batch made of rows of one or several chunks."""

    def __init__(self, pieces: list[tuple[Chunk, Places]], n_rows: int) -> None:
        self._pieces = pieces
        self.n_rows = n_rows

    def numbers(self, columns: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """Columns of numbers (rows, columns)."""
        places = np.asarray(columns, dtype=np.int64)
        if places.size == 0:
            return np.empty((self.n_rows, 0))
        return _join([chunk.table.numbers(places, rows) for chunk, rows in self._pieces])

    def labels(self, column: int) -> NDArray[np.object_]:
        """The text of a categorical column."""
        return _join([chunk.table.text(column).labels(rows) for chunk, rows in self._pieces])

    def target(self) -> NDArray[Any]:
        """The target as it comes."""
        parts = [chunk.target()[rows] for chunk, rows in self._pieces]
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


@final
class CompleteSource(ChunkedSource):
    """Another source without the rows whose target is missing.

    Parameters
    ----------
    source : ChunkedSource
        Arrays, Parquet, CSV or Feather.
    n_rows : int, optional
        How many rows have a target, where it is known.

    Examples
    --------
    >>> from tvselect.sources import ArraySource
    >>> source = CompleteSource(ArraySource([[1.0], [2.0], [3.0]], [5.0, np.nan, 7.0]))
    >>> [batch.numbers(np.array([0])).ravel() for batch in source.batches(9, 0, None)]
    [array([1., 3.])]
    """

    def __init__(self, source: ChunkedSource, *, n_rows: int | None = None) -> None:
        self._source = source
        self.names, self.categorical = source.names, source.categorical
        self.n_rows, self.can_repeat = n_rows, source.can_repeat

    def identity(self) -> str:
        """A hash of the other source's identity."""
        return sha256(f"complete rows of {self._source.identity()}".encode()).hexdigest()

    def require_unchanged(self) -> None:
        """Ask the other source."""
        self._source.require_unchanged()

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        for chunk in self._source._chunks(size, rng):
            complete = np.flatnonzero(~missing_mask(chunk.target()))
            if complete.size:
                is_whole = complete.size == chunk.n_rows
                yield chunk if is_whole else replace(chunk, rows=complete)


def cut(
    chunks: Iterable[Chunk], size: int, rng: np.random.Generator | None, skip: int = 0
) -> Iterator[Batch]:
    """Cut chunks into batches; with ``rng`` the rows of each chunk are resampled first."""
    pieces: list[tuple[Chunk, Places]] = []
    held = 0
    for chunk in chunks:
        drawn = None if rng is None else rng.integers(chunk.n_rows, size=chunk.n_rows)
        start = 0
        while start < chunk.n_rows:
            stop = min(chunk.n_rows, start + size - held)
            rows = slice(start, stop) if drawn is None else drawn[start:stop]
            pieces.append((chunk, rows if chunk.rows is None else chunk.rows[rows]))
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


@final
class LazyColumns(Columns):
    """Columns that are read when first asked for, and kept as long as the chunk.

    Parameters
    ----------
    read : callable
        ``read(name)``: the Arrow array of a column.
    names : sequence of str
    n_rows : int
    where : str
        The chunk's name in error messages.
    lock : Lock
        Held while reading; chunks that share a reader share it.
    """

    def __init__(
        self, read: Callable[[str], Any], names: Sequence[str], n_rows: int, where: str, lock: Lock
    ) -> None:
        self._read, self._names, self._where, self._lock = read, names, where, lock
        self.shape = n_rows, len(names)
        self._kept: dict[str, Any] = {}

    def __getitem__(self, key: tuple[Any, ...]) -> NDArray[np.floating[Any]]:
        rows, columns = key
        parts = [self.column(j, as_numbers)[rows] for j in places(columns, self.shape[1])]
        with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value like others
            return np.array(parts).T

    def column(self, place: int, convert: Callable[[Any], Any]) -> Any:
        """All of a column, of text or the target, too."""
        name = self._names[place]
        with self._lock:
            if name not in self._kept:
                what = f"column {name!r} of {self._where} cannot be read"
                with arrow_errors(what, "the file is damaged or has changed; write it again"):
                    values = self._read(name)
                    if len(values) != len(self):
                        raise SourceError(f"{what}: the file has changed; start again")
                    self._kept[name] = convert(values)
            return self._kept[name]


def lazy_chunk(
    read: Callable[[str], Any], fields: Sequence[Field], n_rows: int, where: str, lock: Lock
) -> Chunk:
    """A chunk of :class:`LazyColumns`, of which the last one is the target."""
    names = tuple(field.name for field in fields)
    columns = LazyColumns(read, names, n_rows, where, lock)
    table = Table(
        columns,
        names[:-1],
        categorical=categorical_mask(fields[:-1]),
        text=lambda j: columns.column(j, as_text),
    )
    return Chunk(table, lambda: columns.column(-1, as_target))


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
