"""Frozen records to JSON and back; what comes back is checked to the last field.

Schema libraries read data classes, too, but ignore unknown fields.
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
types_of = cache(get_type_hints)


class RecordError(ValueError):
    """A value that does not belong there; ``where`` is its place: ``variables[2].q_value``."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where} {problem}".strip())
        self.where = where


def to_json(record: Any) -> str:
    """A record as JSON."""
    return json.dumps(
        record,
        default=lambda value: {field.name: getattr(value, field.name) for field in fields(value)},
        allow_nan=False,
    )


def parse_json(text: str) -> Any:
    """The values of a JSON text, finite and without a key twice; raises RecordError."""

    def refuse_constant(constant: str) -> None:
        raise RecordError("", f"holds {constant}, which is no number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise RecordError("", f"has the key {key!r} twice")
            found[key] = value
        return found

    try:
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=unique)
    except RecordError:
        raise
    except (ValueError, RecursionError) as error:
        raise RecordError("", f"is no JSON: {error}") from None


def read_record(kind: type[Record], value: Any, where: str = "") -> Record:
    """A record from JSON; a RecordError with its place in ``where`` for what does not fit."""
    read: Record = _read(kind, value, where)
    return read


def _read(kind: Any, value: Any, where: str) -> Any:
    def inside(name: str) -> str:
        return f"{where}.{name}" if where else name

    def expect(is_so: bool, wanted: str) -> None:
        if not is_so:
            shown = repr(value)
            shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
            raise RecordError(where, f"is {shown}, not {wanted}")

    origin, inner = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        expect(isinstance(value, dict), "an object")
        names = [field.name for field in fields(kind)]
        for name in [*names, *value]:
            if name not in value or name not in names:
                problem = "is missing" if name not in value else "is not known"
                raise RecordError(inside(name), problem)
        types = types_of(kind)
        return kind(**{name: _read(types[name], value[name], inside(name)) for name in names})
    if origin is tuple:
        expect(isinstance(value, list), "a list")
        kinds = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        expect(len(value) == len(kinds), f"a list of {len(kinds)}")
        pairs = zip(kinds, value, strict=True)
        return tuple(_read(kind, item, f"{where}[{i}]") for i, (kind, item) in enumerate(pairs))
    if origin is dict:
        expect(isinstance(value, dict), "an object")
        return {key: _read(inner[1], item, inside(key)) for key, item in value.items()}
    if origin in (Union, UnionType):
        plain = next(part for part in inner if part is not NoneType)
        return None if value is None else _read(plain, value, where)
    if origin is Literal or issubclass(kind, Enum):
        known = inner or tuple(member.value for member in kind)
        expect(value in known, f"one of {known}")
        return value if inner else kind(value)
    expect(type(value) is kind or (kind is float and type(value) is int), NAMES[kind])
    try:
        is_finite = kind is str or math.isfinite(value)
    except OverflowError:
        is_finite = False
    expect(is_finite, "finite")
    return kind(value)
