"""Frozen records to JSON and back; what comes back is checked field by field."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from tvselect.runs.errors import RunError

Record = TypeVar("Record")


def to_dict(record: Any) -> dict[str, Any]:
    """A record as plain values; tuples of many names stay as they are."""
    return {field.name: _plain(getattr(record, field.name)) for field in fields(record)}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return to_dict(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple) and value and not isinstance(value[0], str):
        return [_plain(item) for item in value]
    return value


def from_dict(kind: type[Record], values: Any, where: str) -> Record:
    """A record from plain values.

    Raises
    ------
    RunError
        When a field without a default is missing, or one is unknown or of another type;
        names it.
    """
    if not isinstance(values, Mapping):
        raise _unfit(where)
    hints = _hints(kind)  # type: ignore[arg-type]
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in values and field.default is MISSING:
            raise _unfit(f"{where}.{field.name}")
    for name in values:
        if name not in hints:
            raise _unfit(f"{where}.{name}")
    return kind(**{name: _read(hints[name], values[name], f"{where}.{name}") for name in values})


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(hint: Any, value: Any, where: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return from_dict(hint, value, where)  # type: ignore[arg-type]
    if origin is tuple and isinstance(value, list):
        return tuple(_read(inner[0], item, where) for item in value)
    if origin is dict and isinstance(value, dict):
        return {str(key): _read(inner[1], item, f"{where}.{key}") for key, item in value.items()}
    if origin is Literal and value in inner:
        return value
    if origin is UnionType:
        if value is None and NoneType in inner:
            return None
        return _read(next(kind for kind in inner if kind is not NoneType), value, where)
    if hint is float and type(value) in (int, float):
        with suppress(OverflowError):
            return float(value)
    if isinstance(hint, type) and type(value) is hint:
        return value
    raise _unfit(where)


def _unfit(where: str) -> RunError:
    file, _, field = where.partition(":")
    at = f" (at {field.lstrip('.')!r})" if field else ""
    return RunError(f"{file} was not written by this version of tvs{at}; is this the right folder?")
