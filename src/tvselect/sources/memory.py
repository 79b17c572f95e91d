"""Rows in memory, all at once or one table after the other: arrays, data frames, iterators."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import chain, count
from typing import Any, NamedTuple, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import Field, decoded, load
from tvselect.inputs.columns import in_blocks
from tvselect.inputs.errors import SourceError
from tvselect.inputs.outcome import one_column
from tvselect.inputs.table import OBJECTS, Table, is_text, open_table
from tvselect.sources.base import (
    ONLY_ONCE,
    Batch,
    Chunk,
    Source,
    categorical_mask,
    choose_columns,
    compare_columns,
    hash_fields,
    require_target,
)

ROWS_OF_LAZY_FRAMES = 10_000
ENDED = object()
READERS = ("pyarrow", "polars", "duckdb", "_duckdb")


@final
class ArraySource(Source):
    """Rows of a table in memory. Later rounds are a bootstrap of all rows.

    Parameters
    ----------
    X : array-like (rows, columns), or a pandas, polars or Arrow data frame
        Numbers; in data frames also text and categories.
    y : array-like, or str
        The target, or the name of its column in a data frame.
    columns : sequence of str, optional
        Those to use; all by default.

    Examples
    --------
    >>> source = ArraySource([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0, 1, 0])
    >>> source.names
    ('x0', 'x1')
    >>> [batch.n_rows for batch in source.batches(2, 0, np.random.default_rng(0))]
    [2, 1]
    """

    def __init__(self, X: Any, y: Any, *, columns: Sequence[str] | None = None) -> None:
        self._chunk, self._fields, _ = _read_chunk(X, y, columns)
        if self._chunk.n_rows == 0:
            raise SourceError("X is empty: it has no rows")
        self.names = tuple(field.name for field in self._fields)
        self.categorical = categorical_mask(self._fields)
        self.n_rows = self._chunk.n_rows
        self.can_repeat = True

    def whole(self) -> Batch:
        """All rows as one batch."""
        return self._rows(slice(None))

    def identity(self) -> str:
        """A hash of all names and values."""
        total = sha256(hash_fields(self._fields, None).encode())
        for here in in_blocks(self._chunk.n_rows, len(self.names)):
            rows = self._rows(here)
            # The same bytes whatever the order in memory.
            numbers = rows.numbers(np.flatnonzero(~self.categorical))
            total.update(np.ascontiguousarray(numbers).data)
            for column in np.flatnonzero(self.categorical):
                total.update(json.dumps(rows.labels(int(column)).tolist()).encode())
            total.update(json.dumps(rows.target().tolist(), default=str).encode())
        return total.hexdigest()

    def _rows(self, rows: slice) -> Batch:
        return Batch([(self._chunk, rows)], len(range(self._chunk.n_rows)[rows]))

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        yield self._chunk


@final
class IteratorSource(Source):
    """Rows of tables that come one after the other; no more is held than a batch needs.

    The first table is read at once, to learn the columns. A bare iterator can be read once;
    a collection, or a function that returns a new iterator, any number of times: later rounds
    resample the rows inside each table.

    Parameters
    ----------
    data : iterator, iterable, or callable that returns one
        Of ``(X, y)`` pairs (arrays, data frames, tensors), or of data frames, Arrow record
        batches and tables. Also a polars LazyFrame, an Arrow reader, and whatever has
        ``__arrow_c_stream__``.
    target : str, optional
        The column to explain, where there is no ``y``.
    columns : sequence of str, optional
        Those to explain it by; all others by default.

    Raises
    ------
    SourceError
        When nothing comes, or (in the middle of a pass) a table with other columns.

    Examples
    --------
    >>> pairs = [([[1.0, 2.0], [3.0, 4.0]], [0, 1]), ([[5.0, 6.0]], [0])]
    >>> source = IteratorSource(pairs)
    >>> batches = source.batches(3, 0, np.random.default_rng(0))
    >>> next(batches).numbers([1]).ravel()
    array([2., 4., 6.])
    """

    def __init__(
        self, data: Any, target: str | None = None, *, columns: Sequence[str] | None = None
    ) -> None:
        self._data, self._target, self._columns = data, target, columns
        self._fields: tuple[Field, ...] = ()
        self._outcome: Field | None = None
        chunks = self._read(_start(data))
        first = next(chunks)
        self._waiting: Iterator[_TableChunk] | None = chain([first], chunks)
        _, self._fields, self._outcome = first
        self.names = tuple(field.name for field in self._fields)
        self.categorical = categorical_mask(self._fields)
        self.n_rows = None
        self.can_repeat = hasattr(data, "collect_batches") or not (
            hasattr(data, "__next__") or hasattr(data, "__arrow_c_stream__")
        )

    def identity(self) -> str:
        """A hash of names and types: the values cannot be known before they come."""
        return hash_fields(self._fields, self._target)

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        tables, self._waiting = self._waiting, None
        if tables is None:
            if not self.can_repeat:
                raise ValueError(ONLY_ONCE)
            tables = self._read(_start(self._data))
        return (table.chunk for table in tables)

    def _read(self, items: Iterator[Any]) -> Iterator[_TableChunk]:
        """The tables as chunks, each compared with the first."""
        came = False
        for number in count(1):
            try:
                item = next(items, ENDED)
            except Exception as error:
                if isinstance(error, OSError) or type(error).__module__.split(".")[0] in READERS:
                    raise SourceError(f"chunk {number} cannot be read: {error}") from error
                raise
            if item is ENDED:
                break
            chunk = self._as_chunk(item, f"chunk {number}")
            if chunk is not None:
                came = True
                yield chunk
        if not came:
            raise SourceError("the stream is empty: no rows came; is it used up already?")

    def _as_chunk(self, item: Any, what: str) -> _TableChunk | None:
        X, y = self._split(item, what)
        if len(X) == 0:
            return None
        try:
            chunk = _read_chunk(X, y, self._columns, what=what)
            if self._outcome is not None and chunk.fields != self._fields:
                compare_columns(self._fields, chunk.fields, what, extra=False)
                chunk = _read_chunk(X, y, [field.name for field in self._fields], what=what)
        except SourceError:
            raise
        except (TypeError, ValueError) as error:
            raise SourceError(str(error)) from error
        if self._outcome is not None:
            compare_columns([self._outcome], [chunk.outcome], what, extra=False)
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
    if not callable(getattr(values, "numpy", None)):
        return values
    for step in ("detach", "cpu"):
        values = getattr(values, step)() if hasattr(values, step) else values
    return values.numpy()


class _TableChunk(NamedTuple):
    chunk: Chunk
    fields: tuple[Field, ...]  #: Of the columns
    outcome: Field


def _read_chunk(X: Any, y: Any, columns: Sequence[str] | None, *, what: str = "X") -> _TableChunk:
    """A table in memory as a chunk; no copy of the whole is made.

    ``y`` is the target, or the name of its column in a data frame.
    """
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
    if isinstance(y, str):
        target, name = _column_of(X, place_of[y], fields[place_of[y]]), y
    else:
        target, name = _checked(y, table.n_rows, what), "y"
    type = target.dtype.name
    if target.dtype.kind in "US":
        target = target.astype(object)
    holds_text = target.dtype.kind == "O" and any(map(is_text, target))
    outcome = Field(name, "text" if holds_text else "number", type)
    return _TableChunk(Chunk(part, lambda: target), chosen, outcome)


def _column_of(X: Any, place: int, field: Field) -> NDArray[Any]:
    if isinstance(X, Table):
        is_text = field.kind == "text"
        return X.text(place).labels() if is_text else X.numbers(np.array([place]))[:, 0]
    return one_column(_decoded(nw.from_native(X, eager_only=True)[:, place].to_native()))


def _checked(y: Any, n_rows: int, what: str) -> NDArray[Any]:
    """The target as an array of one dimension."""
    if y is None:
        raise SourceError(f"there is no target for {what}", "give its values or its column's name")
    try:
        values = one_column(_decoded(y))
    except (TypeError, ValueError) as error:
        raise SourceError(str(error)) from None
    if len(values) != n_rows:
        raise SourceError(f"y has {len(values)} values but {what} has {n_rows} rows")
    return values


def _decoded(values: Any) -> Any:
    """Arrow columns without their dictionaries, which are no categories; others as they are."""
    is_arrow = type(values).__module__.startswith("pyarrow") and hasattr(values, "type")
    return decoded(values) if is_arrow else values
