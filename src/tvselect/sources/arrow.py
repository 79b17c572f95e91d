"""Columns of Arrow files, read when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from threading import Lock
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import as_numbers, as_target, as_text, load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field, Kind, kind_of
from tvselect.inputs.text import Rows
from tvselect.sources.chunks import Chunk, count, stack

LAST_PLAIN = 14
"""Arrow's types up to this number are known by the number alone: numbers, text, bytes."""


@contextmanager
def arrow_errors(what: str, remedy: str) -> Iterator[None]:
    """Turn pyarrow's errors into a SourceError that says where and what to do."""
    exceptions = (load("pyarrow").ArrowException, OSError, UnicodeDecodeError, LookupError)
    try:
        yield
    except exceptions as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
        raise SourceError(f"{what}: {reason}", remedy) from error


def read_fields(schema: Any) -> tuple[Field, ...]:
    """The columns of an Arrow schema."""
    fields: list[Field] = []
    known: dict[Any, tuple[Kind, str]] = {}
    for name, type in zip(schema.names, schema.types, strict=True):
        key = type.id if type.id <= LAST_PLAIN else type
        if key not in known:
            known[key] = kind_of(type), str(type)
        fields.append(Field(name, *known[key]))
    return tuple(fields)


def pooled(blocks: Iterable[Any], least: int) -> Iterator[Any]:
    """Record batches put together to tables of at least some rows."""
    pa = load("pyarrow")
    held: list[Any] = []
    for block in chain(blocks, [None]):
        if block is not None:
            held.append(pa.Table.from_batches([block]))
        n_rows = sum(map(len, held))
        if n_rows >= least or (block is None and n_rows > 0):
            yield pa.concat_tables(held, promote_options="permissive")
            held = []


@final
class ArrowChunk(Chunk):
    """Columns that are read when first asked for, and kept as long as the chunk.

    Parameters
    ----------
    read : callable
        ``read(name)``: the Arrow array of a column.
    names : tuple of str
    target : str
    n_rows : int
    where : str
        The chunk's name in error messages.
    lock : Lock
        Held while reading; chunks that share a reader share it.
    """

    def __init__(
        self,
        read: Callable[[str], Any],
        names: tuple[str, ...],
        target: str,
        n_rows: int,
        where: str,
        lock: Lock,
    ) -> None:
        self.n_rows = n_rows
        self._read = read
        self._names = names
        self._target = target
        self._where = where
        self._lock = lock
        self._kept: dict[str, NDArray[Any]] = {}

    def numbers(self, columns: NDArray[np.int64], rows: Rows) -> NDArray[np.floating[Any]]:
        """Columns of numbers at some rows."""
        parts = [self._column(self._names[j], as_numbers)[rows] for j in columns]
        return stack(parts, count(rows, self.n_rows))

    def labels(self, column: int, rows: Rows) -> NDArray[np.object_]:
        """The text of a column at some rows."""
        return self._column(self._names[column], lambda values: as_text(values).labels())[rows]

    def target(self, rows: Rows) -> NDArray[Any]:
        """The target at some rows."""
        return self._column(self._target, as_target)[rows]

    def _column(self, name: str, convert: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        with self._lock:
            if name not in self._kept:
                what = f"column {name!r} of {self._where} cannot be read"
                with arrow_errors(what, "the file is damaged or has changed; write it again"):
                    column = self._read(name)
                    if len(column) != self.n_rows:
                        raise SourceError(f"{what}: the file has changed; start again")
                    self._kept[name] = convert(column)
            return self._kept[name]
