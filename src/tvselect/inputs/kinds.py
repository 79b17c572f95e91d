"""What a column holds: numbers, text, dates, or something else; dates as numbers of days."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Kind = Literal["number", "text", "date", "other"]


class Field(NamedTuple):
    """A column of the data: its name, what it holds, and the name of its type."""

    name: str
    kind: Kind
    type: str


def fields_of(names: Iterable[str], dtypes: Sequence[Any]) -> tuple[Field, ...]:
    """Columns by their narwhals or Arrow types; neighbours of one type are looked at once."""
    fields: list[Field] = []
    for dtype, alike in groupby(zip(names, dtypes, strict=True), key=itemgetter(1)):
        kind, type = kind_of(dtype), str(_without_dictionary(dtype))
        fields += [Field(name, kind, type) for name, _ in alike]
    return tuple(fields)


def _without_dictionary(dtype: Any) -> Any:
    """The Arrow type of the values, where these stand in a dictionary; others as they are."""
    is_coded = str(dtype).startswith("dictionary<")
    return dtype.value_type if is_coded else dtype


def kind_of(dtype: Any) -> Kind:
    """The kind of a narwhals or Arrow type.

    Objects of unknown type count as numbers until their values are read.

    Examples
    --------
    >>> kind_of(nw.Boolean()), kind_of(nw.Categorical()), kind_of(nw.Date()), kind_of(nw.Binary())
    ('number', 'text', 'date', 'other')
    """
    if not isinstance(dtype, nw.dtypes.DType):
        return _arrow_kind(dtype)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    if dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown):
        return "number"
    return "date" if dtype.is_temporal() else "other"


def _arrow_kind(type: Any) -> Kind:
    from pyarrow import types

    type = _without_dictionary(type)
    if types.is_string(type) or types.is_large_string(type) or types.is_string_view(type):
        return "text"
    if types.is_integer(type) or types.is_floating(type) or types.is_decimal(type):
        return "number"
    if types.is_boolean(type) or types.is_null(type):
        return "number"
    return "date" if types.is_temporal(type) else "other"


DAY = 86_400e6
"""In microseconds."""


def days_of_array(values: NDArray[Any]) -> NDArray[np.float64]:
    """Dates or durations of NumPy as days, NaN where there is none.

    Examples
    --------
    >>> days_of_array(np.array(["1970-01-02T12", "NaT"], dtype="datetime64[h]"))
    array([1.5, nan])
    """
    kind = "datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]"
    times = values.astype(kind)
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / DAY)


def days_of_series(series: nw.Series[Any]) -> NDArray[np.float64]:
    """A column of dates, times or durations of a data frame as days, NaN where null."""
    if series.dtype == nw.Time:
        times = [np.nan if t is None else _share_of_day(t) for t in series.to_list()]
        return np.array(times, dtype=np.float64)
    if series.dtype == nw.Duration:
        return days_of_array(series.to_numpy().astype("timedelta64[us]"))
    moments = series.cast(nw.Datetime("us")) if series.dtype == nw.Date else series
    micros = moments.dt.timestamp("us").cast(nw.Float64).to_numpy()
    return np.where(series.is_null().to_numpy(), np.nan, micros / DAY)


def _share_of_day(time: Any) -> float:
    seconds = 3600 * time.hour + 60 * time.minute + time.second
    return float((1e6 * seconds + time.microsecond) / DAY)
