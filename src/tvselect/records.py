"""Frozen records to JSON and back; what comes back is checked to the last field.

Schema libraries read data classes, too, but pass over fields that they do not know.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
NAMES = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
LONGEST = 60


class RecordError(ValueError):
    """A value that does not belong there; ``where`` is its place: ``variables[2].q_value``."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where} {problem}".strip())
        self.where = where


def to_json(record: Any) -> str:
    """A record as JSON."""
    return json.dumps(record, default=_values, allow_nan=False)


def _values(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def parse_json(text: str) -> Any:
    """The values of a JSON text, finite and without a key twice; raises RecordError."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_once)
    except RecordError:
        raise
    except (ValueError, RecursionError) as error:
        raise RecordError("", f"is no JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RecordError("", f"has the key {twice!r} twice")
    return found


def read_record(kind: type[Record], value: Any, where: str = "") -> Record:
    """A record from what JSON holds: data classes, tuples, dicts, unions with None, enums.

    Raises
    ------
    RecordError
        Where something is missing, is not known or has another type; ``where`` is the start
        of the place.

    Examples
    --------
    >>> from tvselect.report.findings import LookAlike
    >>> read_record(LookAlike, {"name": "age", "correlation": 0.9, "selection_rate": None})
    LookAlike(name='age', correlation=0.9, selection_rate=None)
    >>> wrong = {"name": "age", "correlation": "0.9", "selection_rate": None}
    >>> read_record(LookAlike, wrong, "alike")
    Traceback (most recent call last):
        ...
    tvselect.records.RecordError: alike.correlation is '0.9', not a number
    """
    read: Record = _read(kind, value, where)
    return read


def _read(kind: Any, value: Any, where: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _read_class(kind, value, where)
    if origin is tuple:
        return _read_tuple(inner, value, where)
    if origin is dict:
        if not isinstance(value, dict):
            raise _wrong(where, value, "an object")
        return {key: _read(inner[1], item, _join(where, key)) for key, item in value.items()}
    if origin in (Union, UnionType):
        plain = next(part for part in inner if part is not NoneType)
        return None if value is None else _read(plain, value, where)
    if origin is Literal or issubclass(kind, Enum):
        known = inner or tuple(member.value for member in kind)
        if value not in known:
            raise _wrong(where, value, f"one of {known}")
        return value if inner else kind(value)
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise _wrong(where, value, NAMES[kind])
    try:
        is_finite = kind is str or math.isfinite(value)
    except OverflowError:
        is_finite = False
    if not is_finite:
        raise _wrong(where, value, "finite")
    return kind(value)


def _read_class(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise _wrong(where, value, "an object")
    names = [field.name for field in fields(kind)]
    for name in [*names, *value]:
        if name not in value:
            raise RecordError(_join(where, name), "is missing")
        if name not in names:
            raise RecordError(_join(where, name), "is not known")
    types = _hints(kind)
    return kind(**{name: _read(types[name], value[name], _join(where, name)) for name in names})


def _read_tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _wrong(where, value, "a list")
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(value) != len(kinds):
        raise _wrong(where, value, f"a list of {len(kinds)}")
    pairs = zip(kinds, value, strict=True)
    return tuple(_read(kind, item, f"{where}[{i}]") for i, (kind, item) in enumerate(pairs))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _wrong(where: str, value: Any, wanted: str) -> RecordError:
    shown = repr(value)
    return RecordError(
        where, f"is {shown if len(shown) <= LONGEST else f'{shown[:LONGEST]}…'}, not {wanted}"
    )


def _refuse_constant(constant: str) -> None:
    raise RecordError("", f"holds {constant}, which is no number")
