"""What a source of rows is: its columns, its chunks, and the batches that are cut from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from hashlib import sha256
from operator import index
from threading import Lock
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import Field, arrow_errors, as_numbers, as_target, as_text
from tvselect.inputs.columns import Columns, Places, places
from tvselect.inputs.errors import SourceError
from tvselect.inputs.outcome import missing_mask
from tvselect.inputs.table import Table, refuse_other_kinds, refuse_repeated

LEAVE_OUT = "leave it out with {columns}"
ONLY_ONCE = (
    "an iterator can be read only once; for further rounds pass a function that returns a new "
    "iterator, or use one round"
)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows that come together: a table in memory, a row group, a block of a file."""

    table: Table
    target: Callable[[], NDArray[Any]]  #: Of all rows of the table
    rows: NDArray[np.int64] | None = None  #: Those that are used; None for all

    @property
    def n_rows(self) -> int:
        """How many rows are used."""
        return self.table.n_rows if self.rows is None else self.rows.size


class Batch:
    """Some rows. Nothing is read until asked for.

    Only the batch that a source handed out last may be read, from any number of threads.

    Parameters
    ----------
    pieces : list of (Chunk, rows)
        The chunks that the rows are of.
    n_rows : int
    """

    def __init__(self, pieces: list[tuple[Chunk, Places]], n_rows: int) -> None:
        self._pieces = pieces
        self.n_rows = n_rows

    def numbers(self, columns: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """The numbers of some columns (rows, columns); NaN if missing.

        Parameters
        ----------
        columns : int64 array
            Their places among those of the source.

        Returns
        -------
        float32 array if all of them are, else float64
        """
        places = np.asarray(columns, dtype=np.int64)
        if places.size == 0:
            return np.empty((self.n_rows, 0))
        return _join([chunk.table.numbers(places, rows) for chunk, rows in self._pieces])

    def labels(self, column: int) -> NDArray[np.object_]:
        """The text of a categorical column, None where missing.

        Parameters
        ----------
        column : int
        """
        return _join([chunk.table.text(column).labels(rows) for chunk, rows in self._pieces])

    def target(self) -> NDArray[Any]:
        """The target as it comes: numbers, booleans or text; NaN or None where missing."""
        parts = [chunk.target()[rows] for chunk, rows in self._pieces]
        if len({part.dtype.kind in "OUS" for part in parts}) > 1:
            # Joined as they are, numbers would become text.
            parts = [part.astype(object) for part in parts]
        return _join(parts)


class Source(ABC):
    """Rows that are handed out in batches, pass by pass.

    Attributes
    ----------
    names : tuple of str
        Of the columns, the target left out.
    categorical : bool array
        Which columns hold text or categories.
    n_rows : int or None
        None if it is not known before the end.
    can_repeat : bool
        Whether there can be more than one pass.
    """

    names: tuple[str, ...]
    categorical: NDArray[np.bool_]
    n_rows: int | None
    can_repeat: bool

    def batches(
        self, size: int, round: int, rng: np.random.Generator, *, skip: int = 0
    ) -> Iterator[Batch]:
        """One pass over the rows.

        Parameters
        ----------
        size : int
            Rows of a batch; the last one may have fewer.
        round : int
            0 reads all rows in order. Later rounds resample them with replacement.
        rng : numpy.random.Generator
            For resampling. It belongs to the pass until the pass ends: the batches are a
            function of ``size``, ``round`` and its state.
        skip : int
            How many batches to leave out at the start; the others stay the same.

        Raises
        ------
        ValueError
            For another round of data that can be read only once.
        SourceError
            When the data cannot be read, then or later.
        """
        for name, value, least in (("size", size, 1), ("round", round, 0), ("skip", skip, 0)):
            if index(value) < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        if round > 0 and not self.can_repeat:
            raise ValueError(ONLY_ONCE)
        resampling = rng if round > 0 else None
        return _cut(self._chunks(size, resampling), size, resampling, skip)

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        """The chunks of a pass, in the order in which they are read."""
        raise NotImplementedError

    @abstractmethod
    def identity(self) -> str:
        """A hash that says whether two sources hold the same data."""

    def require_unchanged(self) -> None:  # noqa: B027
        """Raise a SourceError if the data is not what it was when the source was opened."""


@final
class CompleteSource(Source):
    """Another source without the rows whose target is missing.

    Parameters
    ----------
    source : Source
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

    def __init__(self, source: Source, *, n_rows: int | None = None) -> None:
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


def _cut(
    chunks: Iterable[Chunk], size: int, rng: np.random.Generator | None, skip: int
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
                    yield Batch(full, size)
                del full
    if held > 0 and skip == 0:
        yield Batch(pieces, held)


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@final
class LazyColumns(Columns):
    """Columns of a chunk that are read when first asked for, and kept as long as it.

    Parameters
    ----------
    read : callable
        ``read(name)`` returns an Arrow array, under the lock.
    fields : sequence of Field
        The last one is the target.
    n_rows : int
    where : str
        The chunk's name in error messages.
    lock : Lock
        Shared by chunks of one reader.
    """

    def __init__(
        self,
        read: Callable[[str], Any],
        fields: Sequence[Field],
        n_rows: int,
        where: str,
        lock: Lock,
    ) -> None:
        self._read, self._fields, self._where, self._lock = read, fields, where, lock
        self.shape = n_rows, len(fields)
        self._kept: dict[str, Any] = {}

    def chunk(self) -> Chunk:
        """They as a table, and the last one as the target."""
        table = Table(
            self,
            tuple(field.name for field in self._fields[:-1]),
            categorical=categorical_mask(self._fields[:-1]),
            text_of=lambda place: self._column(place, as_text),
        )
        return Chunk(table, lambda: self._column(-1, as_target))

    def __getitem__(self, key: tuple[Any, ...]) -> NDArray[np.floating[Any]]:
        rows, columns = key
        parts = [self._column(j, as_numbers)[rows] for j in places(columns, self.shape[1])]
        with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value like others
            return np.array(parts).T

    def _column(self, place: int, convert: Callable[[Any], Any]) -> Any:
        name = self._fields[place].name
        with self._lock:
            if name not in self._kept:
                what = f"column {name!r} of {self._where} cannot be read"
                with arrow_errors(what, "the file is damaged or has changed; write it again"):
                    values = self._read(name)
                    if len(values) != len(self):
                        raise SourceError(f"{what}: the file has changed; start again")
                    self._kept[name] = convert(values)
            return self._kept[name]


def choose_columns(
    fields: Sequence[Field], columns: Iterable[str] | None, target: str | None, where: str
) -> tuple[Field, ...]:
    """The columns to use, in the order of ``columns`` or of the data, without the target.

    Raises a SourceError for names that are missing or repeated, and columns of other types.
    """
    if isinstance(columns, str):
        raise SourceError(f"columns must be a list of names, got {columns!r}")
    known = {field.name: field for field in fields}
    refuse_repeated((field.name for field in fields), where, "rename them")
    if target is not None:
        refuse_other_kinds([_find(known, target, where, "target")], where, LEAVE_OUT)
    wanted = [name for name in known if name != target] if columns is None else list(columns)
    refuse_repeated(wanted, "columns", "name each once")
    if target in wanted:
        raise SourceError(f"columns holds the target {target!r}; leave it out")
    chosen = tuple(_find(known, name, where, "columns") for name in wanted)
    if not chosen:
        raise SourceError(f"{where} has no column besides the target")
    refuse_other_kinds(chosen, where, LEAVE_OUT)
    return chosen


def _find(known: dict[str, Field], name: str, where: str, role: str) -> Field:
    if name not in known:
        close = get_close_matches(str(name), known, n=1)
        shown = ", ".join(map(repr, list(known)[:5])) + (", ..." if len(known) > 5 else "")
        hint = f"did you mean {close[0]!r}?" if close else f"it has {shown}"
        raise SourceError(f"{role} names {name!r}, which {where} does not have; {hint}")
    return known[name]


def require_target(target: Any) -> str:
    """The name of the target, or an error that says how to give it."""
    if target is None:
        raise SourceError("which column is to be explained? Give its name: target='...'")
    if not isinstance(target, str):
        raise SourceError(f"target must be the name of a column, got {type(target).__name__}")
    return target


def compare_columns(
    first: Sequence[Field], other: Sequence[Field], where: str, *, extra: bool
) -> None:
    """Raise unless ``other`` has the columns of ``first``, in any order, of the same kinds.

    ``extra`` says whether it may have more columns.
    """
    found = {field.name: field for field in other}
    for field in first:
        if field.name not in found:
            raise SourceError(
                f"{where} lacks column {field.name!r}, which the data before it has",
                "leave the column out with {columns}, or add it",
            )
        if found[field.name].kind != field.kind:
            here, before = (
                "text" if one.type == "object" else one.type for one in (found[field.name], field)
            )
            raise SourceError(
                f"column {field.name!r} of {where} holds {here}, before it held {before}",
                "make them alike",
            )
    more = found.keys() - {field.name for field in first}
    if more and not extra:
        raise SourceError(
            f"{where} has column {min(more)!r}, which the data before it lacks",
            "say which columns to use with {columns}, or drop it",
        )


def categorical_mask(fields: Sequence[Field]) -> NDArray[np.bool_]:
    """Which columns hold text."""
    return np.array([field.kind == "text" for field in fields], dtype=np.bool_)


def hash_fields(fields: Sequence[Field], target: str | None) -> str:
    """A hash of names and types."""
    return sha256(repr((tuple(map(tuple, fields)), target)).encode()).hexdigest()
