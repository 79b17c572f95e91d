"""What a source of rows is, and the sources in memory: arrays, data frames, iterators of tables."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from itertools import chain, count
from operator import index
from threading import Lock
from typing import Any, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import (
    Field,
    arrow_errors,
    as_days,
    as_numbers,
    as_target,
    as_text,
    decoded,
    load,
)
from tvselect.inputs.columns import (
    LARGEST_WHOLE,
    Columns,
    Places,
    in_blocks,
    places,
    refuse_rounded,
)
from tvselect.inputs.errors import SourceError
from tvselect.inputs.outcome import one_column
from tvselect.inputs.table import (
    LONG,
    OBJECTS,
    Table,
    is_text,
    open_table,
    refuse_other_kinds,
    refuse_repeated,
)

Ints = NDArray[np.int64]

ONLY_ONCE = (
    "an iterator can be read only once; for further rounds pass a function that returns a new "
    "iterator, or use one round"
)
ROWS_OF_LAZY_FRAMES = 10_000
READERS = ("pyarrow", "polars", "duckdb", "_duckdb")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows that are read together: a table in memory, a row group, a block of a file."""

    table: Table
    target: Callable[[], NDArray[Any]]  #: Of all rows of the table
    rows: Ints | None = None  #: Those that are used; None for all
    groups: NDArray[np.int32] | None = None  #: Of all rows, where these are no column

    @property
    def n_rows(self) -> int:
        """How many rows are used."""
        return self.table.n_rows if self.rows is None else self.rows.size


class Batch:
    """Some rows. Nothing is read until asked for.

    Only the last batch of a source may be read, from any number of threads. Its ``n_rows`` are
    ``pieces`` of chunks.
    """

    def __init__(self, pieces: list[tuple[Chunk, Places]], n_rows: int) -> None:
        self._pieces, self.n_rows = pieces, n_rows

    def rows(self, chosen: Ints) -> Batch:
        """Some ``chosen`` rows, in rising order."""
        pieces: list[tuple[Chunk, Places]] = []
        first = 0
        for chunk, rows in self._pieces:
            own = places(rows, chunk.table.n_rows)
            inside = chosen[(chosen >= first) & (chosen < first + own.size)] - first
            pieces.append((chunk, own[inside]))
            first += own.size
        return Batch(pieces, chosen.size)

    def numbers(self, columns: Ints) -> NDArray[np.floating[Any]]:
        """Numbers (rows, ``columns``): float32 if all are, else float64; NaN where missing."""
        places = np.asarray(columns, dtype=np.int64)
        if places.size == 0:
            return np.empty((self.n_rows, 0))
        return _join([chunk.table.numbers(places, rows) for chunk, rows in self._pieces])

    def labels(self, column: int) -> NDArray[np.object_]:
        """A ``column`` of text, None where missing."""
        return _join([chunk.table.text(column).labels(rows) for chunk, rows in self._pieces])

    def groups(self, column: int | None, is_text: bool) -> NDArray[Any]:
        """Which rows belong together, by labels in a ``column``, which ``is_text`` or numbers.

        Where ``column`` is None, they came beside the table.
        """
        if column is None:
            return _join([c.groups[rows] for c, rows in self._pieces if c.groups is not None])
        return self.labels(column) if is_text else self.numbers(np.array([column]))[:, 0]

    def target(self) -> NDArray[Any]:
        """The target as it comes: numbers, booleans or text; NaN or None where missing."""
        parts = [chunk.target()[rows] for chunk, rows in self._pieces]
        if len({part.dtype.kind in "OUS" for part in parts}) > 1:
            # Joined as they are, numbers would become text.
            parts = [part.astype(object) for part in parts]
        return _join(parts)


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class Source(ABC):
    """Rows that are handed out in batches, pass by pass."""

    names: tuple[str, ...]  #: Of the columns, the target left out
    categorical: NDArray[np.bool_]  #: Which columns hold text or categories
    n_rows: int | None  #: None if it is not known before the end
    can_repeat: bool  #: Whether there can be more than one pass

    def batches(
        self, size: int, round: int, rng: np.random.Generator, *, skip: int = 0
    ) -> Iterator[Batch]:
        """One pass over the rows in batches of ``size``, the last one of what is left.

        ``round`` 0 reads all rows in order; later ones resample them with replacement by ``rng``,
        which belongs to the pass until it ends. ``skip`` batches are left out at the start.

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
        """Raise a SourceError if the data was changed after the source was opened."""

    def _describe(
        self, fields: Sequence[Field], n_rows: int | None, *, can_repeat: bool = True
    ) -> None:
        self.names, self.categorical = tuple(field.name for field in fields), text_mask(fields)
        self.n_rows, self.can_repeat = n_rows, can_repeat


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
                # No reference is kept here: once the caller drops the batch, its chunks are freed.
                full, pieces, held = pieces, [], 0
                if skip > 0:
                    skip -= 1
                else:
                    yield Batch(full, size)
                del full
    if held > 0 and skip == 0:
        yield Batch(pieces, held)


@final
class ArraySource(Source):
    """Rows in memory, ``y`` or a column the target; later rounds are a bootstrap of all rows."""

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        columns: Sequence[str] | None = None,
        groups: NDArray[np.int32] | None = None,
    ) -> None:
        chunk, self._fields, _ = _read_chunk(X, y, columns, "X")
        self._chunk = replace(chunk, groups=groups)
        if self._chunk.n_rows == 0:
            raise SourceError("X is empty: it has no rows")
        self._describe(self._fields, self._chunk.n_rows)

    def whole(self) -> Batch:
        """All rows as one batch."""
        return Batch([(self._chunk, slice(None))], self._chunk.n_rows)

    def identity(self) -> str:
        """A hash of all names and values."""
        total = sha256(hash_fields(self._fields, None).encode())
        for here in in_blocks(self._chunk.n_rows, len(self.names)):
            rows = Batch([(self._chunk, here)], here.stop - here.start)
            # The same bytes whatever the order in memory.
            numbers = rows.numbers(np.flatnonzero(~self.categorical))
            total.update(np.ascontiguousarray(numbers).data)
            for column in np.flatnonzero(self.categorical):
                total.update(json.dumps(rows.labels(int(column)).tolist()).encode())
            total.update(json.dumps(rows.target().tolist(), default=str).encode())
        if self._chunk.groups is not None:
            total.update(self._chunk.groups.data)
        return total.hexdigest()

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        yield self._chunk


@contextmanager
def _source_errors() -> Iterator[None]:
    try:
        yield
    except SourceError:
        raise
    except (TypeError, ValueError) as error:
        raise SourceError(str(error)) from error


@final
class IteratorSource(Source):
    """Rows of tables that come one after the other; no more is held than a batch needs.

    ``data`` is an iterator, a collection or a function that returns an iterator: of ``(X, y)``
    pairs, or of data frames and Arrow tables, which need the name of the target; or a polars
    LazyFrame or any Arrow stream. A bare iterator can be read once; of others, later rounds
    resample each table.
    """

    def __init__(
        self, data: Any, target: str | None = None, *, columns: Sequence[str] | None = None
    ) -> None:
        self._data, self._target, self._columns = data, target, columns
        self._fields: tuple[Field, ...] = ()
        chunks = self._read(_start(data))
        self._waiting: Iterator[Chunk] | None = chain([next(chunks)], chunks)
        is_used_up = hasattr(data, "__next__") or hasattr(data, "__arrow_c_stream__")
        can_repeat = hasattr(data, "collect_batches") or not is_used_up
        self._describe(self._fields, None, can_repeat=can_repeat)

    def identity(self) -> str:
        """A hash of names and types: the values cannot be known before they come."""
        return hash_fields(self._fields, self._target)

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        chunks, self._waiting = self._waiting, None
        if chunks is None:
            if not self.can_repeat:
                raise ValueError(ONLY_ONCE)
            chunks = self._read(_start(self._data))
        return chunks

    def _read(self, items: Iterator[Any]) -> Iterator[Chunk]:
        """The tables as chunks, each compared with the first."""
        is_empty = True
        for number in count(1):
            what = f"chunk {number}"
            try:
                item = next(items)
            except StopIteration:
                break
            except Exception as error:
                if isinstance(error, OSError) or type(error).__module__.split(".")[0] in READERS:
                    raise SourceError(f"{what} cannot be read: {error}") from error
                raise
            X, y = self._split(item, what)
            if len(X) > 0:
                is_empty = False
                yield self._compared(X, y, what)
        if is_empty:
            raise SourceError("the stream is empty: no rows came; is it used up already?")

    @_source_errors()
    def _compared(self, X: Any, y: Any, what: str) -> Chunk:
        chunk, fields, outcome = _read_chunk(X, y, self._columns, what)
        if not self._fields:
            self._fields, self._outcome = fields, outcome
        elif fields != self._fields:
            compare_columns(self._fields, fields, what, extra=False)
            chunk, *_ = _read_chunk(X, y, self.names, what)
        compare_columns([self._outcome], [outcome], what, extra=False)
        return chunk

    def _split(self, item: Any, what: str) -> tuple[Any, Any]:
        """A table and its target, or the target's name."""
        if isinstance(item, tuple | list) and len(item) == 2:
            if self._target is not None:
                raise SourceError(f"{what} is a pair (X, y), which needs no target=; leave it out")
            return _as_array(item[0]), _as_array(item[1])
        if nw.dependencies.is_into_dataframe(item):
            return item, require_target(self._target)
        if hasattr(item, "__arrow_c_array__") or hasattr(item, "__arrow_c_stream__"):
            return load("pyarrow").table(item), require_target(self._target)
        raise SourceError(
            f"{what} is a {type(item).__name__}; the stream must give pairs (X, y), or data "
            "frames or Arrow tables with target="
        )


def _start(data: Any) -> Iterator[Any]:
    if hasattr(data, "collect_batches"):
        # Of a fixed size: resampled rows depend on it.
        return iter(data.collect_batches(chunk_size=ROWS_OF_LAZY_FRAMES, maintain_order=True))
    if hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__next__"):
        return iter(load("pyarrow").RecordBatchReader.from_stream(data))
    if hasattr(data, "__iter__"):
        return iter(data)
    if callable(data):
        return _start(data())
    raise SourceError(
        f"{type(data).__name__} is no source of rows; pass a path, a table, an iterator of "
        "tables, or a function that returns one"
    )


def _as_array(values: Any) -> Any:
    """Tensors as arrays; everything else as it is."""
    for step in ("detach", "cpu", "numpy") if callable(getattr(values, "numpy", None)) else ():
        values = getattr(values, step)() if hasattr(values, step) else values
    return values


def _read_chunk(
    X: Any, y: Any, columns: Sequence[str] | None, what: str
) -> tuple[Chunk, tuple[Field, ...], Field]:
    """A table in memory as a chunk, its columns and its outcome; no copy of the whole is made."""
    table, fields = open_table(X, what)
    if isinstance(y, str) and not table.named:
        raise SourceError(f"target is the name {y!r}, but {what} has no names", "pass its values")
    if not fields:
        kinds = np.where(table.categorical, "text", "number").tolist()
        fields = [Field(*known, "") for known in zip(table.names, kinds, strict=True)]
    chosen = choose_columns(fields, columns, y if isinstance(y, str) else None, what)
    place_of = {field.name: place for place, field in enumerate(fields)}
    part = table.take(np.array([place_of[field.name] for field in chosen], dtype=np.int64))
    # Only the values of objects tell whether these are numbers.
    part.numbers(np.array([j for j, field in enumerate(chosen) if field.type in OBJECTS], np.int64))
    if y is None:
        raise SourceError(f"there is no target for {what}", "give its values or its column's name")
    if not isinstance(y, str):
        with _source_errors():
            target, name = one_column(_decoded(y)), "y"
        if len(target) != table.n_rows:
            raise SourceError(f"y has {len(target)} values but {what} has {table.n_rows} rows")
    elif isinstance(X, Table):
        target, name = X.column(place_of[y]), y
    else:
        column = nw.from_native(X, eager_only=True)[:, place_of[y]]
        target, name = one_column(_decoded(column.to_native())), y
    type = target.dtype.name
    if target.dtype.kind in "US":
        target = target.astype(object)
    holds_text = target.dtype.kind == "O" and any(map(is_text, target))
    outcome = Field(name, "text" if holds_text else "number", type)
    return Chunk(part, lambda: target), chosen, outcome


def _decoded(values: Any) -> Any:
    """Arrow columns without their dictionaries, which are no categories; others as they are."""
    is_arrow = type(values).__module__.startswith("pyarrow") and hasattr(values, "type")
    return decoded(values) if is_arrow else values


@final
class LazyColumns(Columns):
    """Columns of a chunk, the target last, each read once by ``read(name)``, under a lock."""

    def __init__(
        self, read: Callable[[str], Any], fields: Sequence[Field], n: int, path: str, lock: Lock
    ) -> None:
        self._read, self._fields, self._path, self._lock = read, fields, path, lock
        self.shape = n, len(fields)
        self._kept: dict[str, Any] = {}

    def chunk(self) -> Chunk:
        """A table of these columns, and its target."""
        table = Table(
            self,
            tuple(field.name for field in self._fields[:-1]),
            categorical=text_mask(self._fields[:-1]),
            text_of=lambda place: self._column(place, as_text),
        )
        return Chunk(table, lambda: self._column(-1, as_target))

    def __getitem__(self, key: tuple[Any, ...]) -> NDArray[np.floating[Any]]:
        rows, columns = key
        parts = [
            self._column(j, partial(self._numbers, self._fields[j]))[rows]
            for j in places(columns, self.shape[1])
        ]
        with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value like others
            return np.array(parts).T

    def _numbers(self, field: Field, column: Any) -> NDArray[np.floating[Any]]:
        if field.kind == "date":
            return as_days(column)
        numbers = as_numbers(column)
        if field.type in LONG and np.fmax.reduce(np.abs(numbers), initial=0.0) >= LARGEST_WHOLE:
            low, high = load("pyarrow.compute").min_max(decoded(column)).as_py().values()
            if isinstance(low, float):  # of CSV, where rounding may have made all of them equal
                high = np.nextafter(high, np.inf)
            refuse_rounded(low, high, f"column {field.name!r} of {self._path} holds")
        return numbers

    def _column(self, place: int, convert: Callable[[Any], Any]) -> Any:
        name = self._fields[place].name
        with self._lock:
            if name not in self._kept:
                what = f"column {name!r} of {self._path} cannot be read"
                with arrow_errors(what, "the file is damaged or has changed; write it again"):
                    values = self._read(name)
                    if len(values) != len(self):
                        raise SourceError(f"{what}: the file has changed; start again")
                    self._kept[name] = convert(values)
            return self._kept[name]


def choose_columns(
    fields: Sequence[Field], columns: Iterable[str] | None, target: str | None, where: str
) -> tuple[Field, ...]:
    """The columns to use, in order, without the target; a SourceError for unusable ones."""
    if isinstance(columns, str):
        raise SourceError(f"columns must be a list of names, got {columns!r}")
    known = {field.name: field for field in fields}
    refuse_repeated((field.name for field in fields), where, "rename them")
    remedy = "leave it out with {columns}"
    if target is not None:
        refuse_other_kinds([_find(known, target, where, "target")], where, remedy)
    wanted = [name for name in known if name != target] if columns is None else list(columns)
    refuse_repeated(wanted, "columns", "name each once")
    if target in wanted:
        raise SourceError(f"columns holds the target {target!r}; leave it out")
    chosen = tuple(_find(known, name, where, "columns") for name in wanted)
    if not chosen:
        raise SourceError(f"{where} has no column besides the target")
    refuse_other_kinds((field for field in chosen if field.kind != "date"), where, remedy)
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
        raise SourceError("the target is missing; give the name of its column: target='...'")
    if not isinstance(target, str):
        raise SourceError(f"target must be the name of a column, got {type(target).__name__}")
    return target


def compare_columns(
    first: Sequence[Field], other: Sequence[Field], where: str, *, extra: bool
) -> None:
    """Raise unless ``other`` has the columns of ``first``, of the same kinds; or ``extra`` ones."""
    found = {field.name: field for field in other}
    for field in first:
        if field.name not in found:
            raise SourceError(
                f"{where} lacks column {field.name!r}, which the data before it has",
                "leave the column out with {columns}, or add it",
            )
        if found[field.name].kind != field.kind:
            types = [found[field.name].type, field.type]
            here, before = ("text" if type == "object" else type for type in types)
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


def text_mask(fields: Sequence[Field]) -> NDArray[np.bool_]:
    """Which columns are text."""
    return np.array([field.kind == "text" for field in fields], dtype=np.bool_)


def hash_fields(fields: Sequence[Field], target: str | None) -> str:
    """A hash of names and types."""
    return sha256(repr((tuple(map(tuple, fields)), target)).encode()).hexdigest()
