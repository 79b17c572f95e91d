"""What columns hold, and those of Arrow as NumPy arrays. pyarrow is loaded when needed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple
from zipfile import BadZipFile

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.columns import LARGEST_WHOLE
from tvselect.inputs.errors import SourceError, first_line, needed
from tvselect.inputs.text import TextColumn

Kind = Literal["number", "text", "date", "other"]
KINDS: dict[Kind, tuple[str, ...]] = {
    "text": ("string", "large_string", "string_view"),
    "number": ("integer", "floating", "decimal", "boolean", "null"),
    "date": ("temporal",),
}
DAY = 86_400e6  # in microseconds
BYTES_AT_ONCE = 2**20
FAULTS = (OSError, UnicodeDecodeError, LookupError, EOFError, zlib.error, BadZipFile)


class Field(NamedTuple):
    """A column of the data: its name, what it holds, and the name of its type."""

    name: str
    kind: Kind
    type: str

    @property
    def is_day(self) -> bool:
        """Whether it holds dates, and neither durations nor times of day."""
        return self.kind == "date" and self.type.lower().startswith(("date", "timestamp"))


def fields_of(names: Iterable[str], dtypes: Sequence[Any]) -> tuple[Field, ...]:
    """Columns by their narwhals or Arrow types; neighbours of one type are looked at once."""
    fields: list[Field] = []
    for dtype, alike in groupby(zip(names, dtypes, strict=True), key=itemgetter(1)):
        kind, type = kind_of(dtype), str(_of_values(dtype))
        fields += [Field(name, kind, type) for name, _ in alike]
    return tuple(fields)


def _of_values(dtype: Any) -> Any:
    """The type of the values, also of a dictionary of Arrow."""
    return dtype.value_type if str(dtype).startswith("dictionary<") else dtype


def kind_of(dtype: Any) -> Kind:
    """The kind of a narwhals or Arrow type; objects are numbers until their values are read."""
    if isinstance(dtype, nw.dtypes.DType):
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            return "text"
        if dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown):
            return "number"
        return "date" if dtype.is_temporal() else "other"
    types, dtype = load("pyarrow").types, _of_values(dtype)
    for kind, names in KINDS.items():
        if any(getattr(types, f"is_{name}")(dtype) for name in names):
            return kind
    return "other"


def load(module: str) -> Any:
    """A module of pyarrow."""
    return needed(module, "reading files needs pyarrow: pip install 'tvselect[stream]'")


@contextmanager
def arrow_errors(what: str, remedy: str) -> Iterator[None]:
    """Turn pyarrow's errors into a SourceError that says where and what to do."""
    try:
        yield
    except (load("pyarrow").ArrowException, *FAULTS) as error:
        raise SourceError(f"{what}: {first_line(error)}", remedy) from error


def unpack(stream: Any, path: str, n_packed: int, remedy: str) -> bytearray:
    """All bytes of a stream; raises if they are far more than a table is compressed from."""
    limit, data = most_unpacked(n_packed), bytearray()
    while block := stream.read_buffer(BYTES_AT_ONCE):
        data += block
        if len(data) > limit:
            raise SourceError(f"{path} unpacks to more than {limit:,} bytes", remedy)
    return data


def most_unpacked(n_packed: int) -> int:
    """The largest plausible size of a table that is compressed to so many bytes."""
    return max(2**24, 200 * n_packed)


def as_matrix(table: Any) -> NDArray[np.floating[Any]]:
    """A copy by column: NaN where null, float32 if all columns are, else float64."""
    pa, types = load("pyarrow"), table.schema.types
    kinds = np.array([type.id for type in types])  # quicker to compare than the types
    if (kinds == pa.lib.Type_DICTIONARY).any():
        return as_matrix(pa.table(list(map(decoded, table.columns)), names=table.column_names))
    if (kinds == kinds[:1]).all() and types:
        return _of_one_type(table, types[0])
    out = np.empty((table.num_rows, table.num_columns), order="F")
    with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value like others
        for kind in np.unique(kinds):
            places = np.flatnonzero(kinds == kind).tolist()
            out[:, places] = _of_one_type(table.select(places), types[places[0]])
    return out


def _of_one_type(table: Any, kind: Any) -> NDArray[np.floating[Any]]:
    pa = load("pyarrow")
    if not (pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)):
        arrays = [column.cast(pa.float64(), safe=False) for column in table.columns]
        table = pa.Table.from_arrays(arrays, names=table.column_names)
    batches = table.combine_chunks().to_batches()
    if not batches:
        return np.empty((0, table.num_columns))
    values = batches[0].to_tensor(null_to_nan=True, row_major=False).to_numpy()
    keeps = values.dtype == np.float64 or pa.types.is_float32(kind)
    return values if keeps else values.astype(np.float64)


def as_numbers(column: Any) -> NDArray[np.floating[Any]]:
    """A column of numbers, NaN where null."""
    return as_matrix(load("pyarrow").table([column], [""]))[:, 0]


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


def as_text(column: Any) -> TextColumn:
    """A column of text or categories."""
    pa = load("pyarrow")
    texts = decoded(column).cast(pa.string())
    coded = _one_array(load("pyarrow.compute").dictionary_encode(texts))
    levels = coded.dictionary.to_pylist()
    order = sorted(range(len(levels)), key=levels.__getitem__)
    new = np.empty(len(levels) + 1, dtype=np.int64)
    new[order] = np.arange(len(levels))
    new[-1] = -1
    places = coded.indices.cast(pa.int64()).fill_null(len(levels))
    return TextColumn(new[np.from_dlpack(places)], tuple(levels[place] for place in order))


def as_target(column: Any) -> NDArray[Any]:
    """Numbers, booleans or text as they are; NaN or None where null."""
    types, column = load("pyarrow").types, decoded(column)
    if types.is_boolean(column.type):
        return np.array(column.to_pylist(), dtype=object if column.null_count else np.bool_)
    if types.is_integer(column.type) and not column.null_count:
        return np.from_dlpack(_one_array(column)).copy()
    if kind_of(column.type) == "text":
        return as_text(column).labels()
    numbers = as_numbers(column)
    is_rounded = types.is_integer(column.type) and (np.abs(numbers) >= LARGEST_WHOLE).any()
    return np.array(column.to_pylist(), dtype=object) if is_rounded else numbers


def as_days(column: Any) -> NDArray[np.float64]:
    """Dates as days since 1970-01-01, times and durations as days; NaN where null."""
    pa, column = load("pyarrow"), decoded(column)
    kind = column.type
    if pa.types.is_date32(kind):
        return as_numbers(column.cast(pa.int32())).astype(np.float64)
    if pa.types.is_time(kind):
        unit = pa.time64("us")
    elif pa.types.is_date64(kind) or pa.types.is_timestamp(kind):
        unit = pa.timestamp("us", tz=getattr(kind, "tz", None))
    else:
        unit = pa.duration("us")
    micros = column.cast(unit, safe=False).cast(pa.int64())
    return as_numbers(micros).astype(np.float64) / DAY


def _one_array(column: Any) -> Any:
    if not hasattr(column, "combine_chunks"):
        return column
    whole = column.combine_chunks()
    return whole.chunk(0) if hasattr(whole, "num_chunks") else whole
