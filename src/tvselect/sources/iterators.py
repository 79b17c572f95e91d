"""Rows that arrive: iterators of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, count
from typing import Any, final

import narwhals as nw
import numpy as np

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field
from tvselect.sources.chunks import ONLY_ONCE, Chunk, ChunkedSource
from tvselect.sources.columns import (
    categorical_mask,
    compare_columns,
    hash_fields,
    require_target,
)
from tvselect.sources.memory import TableChunk, read_chunk

ROWS_OF_LAZY_FRAMES = 10_000
ENDED = object()
READERS = ("pyarrow", "polars", "duckdb", "_duckdb")


@final
class IteratorSource(ChunkedSource):
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
        self._target = target
        self._columns = columns
        self._data = data
        self._fields: tuple[Field, ...] = ()
        self._outcome: Field | None = None
        chunks = self._read(_start(data))
        first = next(chunks)
        self._waiting: Iterator[TableChunk] | None = chain([first], chunks)
        _, self._fields, self._outcome = first
        self.names = tuple(field.name for field in self._fields)
        self.categorical = categorical_mask(self._fields)
        self.n_rows = None
        self.can_repeat = _can_repeat(data)

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

    def _read(self, items: Iterator[Any]) -> Iterator[TableChunk]:
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

    def _as_chunk(self, item: Any, what: str) -> TableChunk | None:
        X, y = self._split(item, what)
        if len(X) == 0:
            return None
        try:
            chunk = read_chunk(X, y, self._columns, what=what)
            if self._outcome is not None and chunk.fields != self._fields:
                compare_columns(self._fields, chunk.fields, what, extra=False)
                chunk = read_chunk(X, y, [field.name for field in self._fields], what=what)
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


def _can_repeat(data: Any) -> bool:
    if hasattr(data, "collect_batches"):
        return True
    return not hasattr(data, "__next__") and not hasattr(data, "__arrow_c_stream__")


def _as_array(values: Any) -> Any:
    """Tensors as arrays; everything else as it is."""
    if not callable(getattr(values, "numpy", None)):
        return values
    for step in ("detach", "cpu"):
        values = getattr(values, step)() if hasattr(values, step) else values
    return values.numpy()
