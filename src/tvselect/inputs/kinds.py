"""What a column holds: numbers, text, dates, or something else. Decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import narwhals as nw

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
