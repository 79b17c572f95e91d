"""Arrow columns as NumPy arrays, many of them in one call. pyarrow is loaded when needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import DAY, kind_of
from tvselect.inputs.text import TextColumn

MOST_PACKED, LEAST_UNPACKED, BYTES_AT_ONCE = 200, 2**24, 2**20


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
        raise SourceError(f"{what}: {reason}", remedy) from error


def unpack(stream: Any, path: str, n_packed: int, remedy: str) -> bytearray:
    """All of a stream; raises where that is far more than tables of so many bytes unpack to."""
    limit, data = most_unpacked(n_packed), bytearray()
    while block := stream.read_buffer(BYTES_AT_ONCE):
        data += block
        if len(data) > limit:
            raise SourceError(f"{path} unpacks to more than {limit:,} bytes", remedy)
    return data


def most_unpacked(n_packed: int) -> int:
    """How many bytes a table may be that is packed into these."""
    return max(LEAST_UNPACKED, MOST_PACKED * n_packed)


def as_matrix(table: Any) -> NDArray[np.floating[Any]]:
    """Columns of numbers (rows, columns), NaN where null: float32 if all are, else float64.

    The values of a column lie next to each other, in memory of their own.
    """
    types = table.schema.types
    kinds = np.array([type.id for type in types])  # quicker to compare than the types
    if (kinds == load("pyarrow").lib.Type_DICTIONARY).any():
        return as_matrix(_decoded(table))
    if (kinds == kinds[:1]).all() and types:
        return _one_type(table, types[0])
    out = np.empty((table.num_rows, table.num_columns), order="F")
    with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value like others
        for kind in np.unique(kinds):
            places = np.flatnonzero(kinds == kind).tolist()
            out[:, places] = _one_type(table.select(places), types[places[0]])
    return out


def decoded(column: Any) -> Any:
    """A column whose values stand in a dictionary, as these values."""
    pa = load("pyarrow")
    if not pa.types.is_dictionary(column.type):
        return column
    kind = column.type.value_type
    if not (pa.types.is_string_view(kind) or pa.types.is_binary_view(kind)):
        return column.cast(kind)
    # Of views, as polars writes them, pyarrow has no cast.
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    texts = [chunk.dictionary.cast(pa.string()).take(chunk.indices) for chunk in chunks]
    return pa.chunked_array(texts, pa.string())


def as_numbers(column: Any) -> NDArray[np.floating[Any]]:
    """A column of numbers, NaN where null."""
    return as_matrix(load("pyarrow").table([column], [""]))[:, 0]


def as_text(column: Any) -> TextColumn:
    """A column of text or categories."""
    pa = load("pyarrow")
    column = decoded(column)
    coded = _one_array(load("pyarrow.compute").dictionary_encode(column.cast(pa.string())))
    texts = coded.dictionary.to_pylist()
    order = sorted(range(len(texts)), key=texts.__getitem__)
    new = np.empty(len(texts) + 1, dtype=np.int64)
    new[order] = np.arange(len(texts))
    new[-1] = -1
    places = coded.indices.cast(pa.int64()).fill_null(len(texts))
    return TextColumn(new[np.from_dlpack(places)], tuple(texts[place] for place in order))


def as_target(column: Any) -> NDArray[Any]:
    """Numbers, booleans or text as they are; NaN or None where null."""
    pa = load("pyarrow")
    column = decoded(column)
    if pa.types.is_boolean(column.type):
        return np.array(column.to_pylist(), dtype=object if column.null_count else np.bool_)
    if pa.types.is_integer(column.type) and not column.null_count:
        return np.from_dlpack(_one_array(column)).copy()
    return as_text(column).labels() if kind_of(column.type) == "text" else as_numbers(column)


def as_days(column: Any) -> NDArray[np.float64]:
    """Dates as days since 1970-01-01, times and durations as days; NaN where null."""
    pa = load("pyarrow")
    column = decoded(column)
    kind = column.type
    if pa.types.is_date32(kind):
        return as_numbers(column.cast(pa.int32())).astype(np.float64)
    if pa.types.is_date64(kind):
        column = column.cast(pa.timestamp("us"), safe=False)
    elif pa.types.is_time(kind):
        column = column.cast(pa.time64("us"), safe=False)
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", tz=kind.tz), safe=False)
    else:
        column = column.cast(pa.duration("us"), safe=False)
    return as_numbers(column.cast(pa.int64())).astype(np.float64) / DAY


def _one_type(table: Any, kind: Any) -> NDArray[np.floating[Any]]:
    pa = load("pyarrow")
    if not (pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)):
        double = pa.float64()
        arrays = [column.cast(double, safe=False) for column in table.columns]
        table = pa.Table.from_arrays(arrays, names=table.column_names)
    batches = table.to_batches()
    if not batches:
        return np.empty((0, table.num_columns))
    if len(batches) > 1:
        batches = table.combine_chunks().to_batches()
    values = batches[0].to_tensor(null_to_nan=True, row_major=False).to_numpy()
    keeps = values.dtype == np.float64 or pa.types.is_float32(kind)
    return values if keeps else values.astype(np.float64)


def _decoded(table: Any) -> Any:
    columns = [decoded(column) for column in table.columns]
    return load("pyarrow").table(columns, names=table.column_names)


def _one_array(column: Any) -> Any:
    if not hasattr(column, "combine_chunks"):
        return column
    whole = column.combine_chunks()
    return whole.chunk(0) if hasattr(whole, "num_chunks") else whole
