"""Arrow columns as NumPy arrays. pyarrow is loaded when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tvselect.sources.base import SourceError
from tvselect.sources.chunks import Chunk, Rows, count, stack
from tvselect.sources.columns import Field, Kind


def load(module: str) -> Any:
    """A module of pyarrow, or an error that says how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "reading files needs pyarrow: pip install 'tvselect[stream]'"
        ) from None


@contextmanager
def arrow_errors(what: str, remedy: str) -> Iterator[None]:
    """Turn pyarrow's errors into a SourceError that says where and what to do."""
    exceptions = (load("pyarrow").ArrowException, OSError, UnicodeDecodeError, LookupError)
    try:
        yield
    except exceptions as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
        raise SourceError(f"{what}: {reason}; {remedy}") from error


def read_fields(schema: Any) -> tuple[Field, ...]:
    """The columns of an Arrow schema."""
    types = load("pyarrow").types

    def kind(of: Any) -> Kind:
        if types.is_dictionary(of):
            of = of.value_type
            return "text" if kind(of) != "other" else "other"
        if types.is_integer(of) or types.is_floating(of) or types.is_decimal(of):
            return "number"
        if types.is_boolean(of) or types.is_null(of):
            return "number"
        is_text = types.is_string(of) or types.is_large_string(of) or types.is_string_view(of)
        return "text" if is_text else "other"

    return tuple(Field(field.name, kind(field.type), str(field.type)) for field in schema)


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
        return self._column(self._names[column], as_labels)[rows]

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


def as_numbers(column: Any) -> NDArray[np.floating[Any]]:
    """Floats of their own, NaN where null: float32 stays, everything else becomes float64."""
    pa = load("pyarrow")
    if column.type != pa.float32():
        column = column.cast(pa.float64(), safe=False)
    # DLPack and not to_numpy, which imports pandas (50 MB). A copy, so that Arrow's roomy
    # buffers can go.
    values: NDArray[Any] = np.from_dlpack(_one_array(_without_nulls(column, np.nan)))
    return values.copy()


def as_labels(column: Any) -> NDArray[np.object_]:
    """Text, None where null; equal texts are one object."""
    pa = load("pyarrow")
    pc = load("pyarrow.compute")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    codes = _one_array(pc.dictionary_encode(column.cast(pa.string())))
    labels = np.array([*codes.dictionary.to_pylist(), None], dtype=object)
    places = _without_nulls(codes.indices.cast(pa.int64()), len(labels) - 1)
    return labels[np.from_dlpack(places)]


def as_target(column: Any) -> NDArray[Any]:
    """Numbers, booleans or text as they are; NaN or None where null."""
    types = load("pyarrow").types
    if types.is_boolean(column.type):
        return np.array(column.to_pylist(), dtype=object if column.null_count else np.bool_)
    if types.is_integer(column.type) and not column.null_count:
        return np.from_dlpack(_one_array(column)).copy()
    is_number = types.is_integer(column.type) or types.is_floating(column.type)
    if is_number or types.is_decimal(column.type) or types.is_null(column.type):
        return as_numbers(column)
    return as_labels(column)


def _without_nulls(column: Any, value: float) -> Any:
    return column.fill_null(value) if column.null_count else column


def _one_array(column: Any) -> Any:
    if not hasattr(column, "combine_chunks"):
        return column
    whole = column.combine_chunks()
    return whole.chunk(0) if hasattr(whole, "num_chunks") else whole
