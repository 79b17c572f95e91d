"""Values from JSON, checked against the types of a data class: the file may be anyone's."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def read_as(kind: type[T], value: Any, where: str) -> T:
    """The value as a data class, nested ones, tuples, unions and literals included.

    Parameters
    ----------
    kind : data class
    value : what ``json.loads`` gives
    where : str
        Name of the place, for errors.

    Raises
    ------
    ValueError
        Where something is missing, is not known or has another type.

    Examples
    --------
    >>> from tvselect.report.findings import Decoys
    >>> read_as(Decoys, {"n": 3, "n_passed": 1, "false_share": 0.5}, "decoys")
    Decoys(n=3, n_passed=1, false_share=0.5)
    >>> read_as(Decoys, {"n": "3", "n_passed": 1, "false_share": 0.5}, "decoys")
    Traceback (most recent call last):
        ...
    ValueError: decoys.n is '3', not a whole number
    """
    return _read(kind, value, where)


def _read(kind: Any, value: Any, where: str) -> Any:
    if is_dataclass(kind):
        return _read_class(kind, value, where)
    origin = get_origin(kind)
    if origin is tuple:
        return _read_tuple(get_args(kind), value, where)
    if origin is UnionType:
        plain = next(part for part in get_args(kind) if part is not NoneType)
        return None if value is None else _read(plain, value, where)
    if origin is Literal:
        if value not in get_args(kind):
            raise _wrong(where, value, f"one of {get_args(kind)}")
        return value
    if kind is str:
        if not isinstance(value, str):
            raise _wrong(where, value, "text")
        return value
    if type(value) not in ((int,) if kind is int else (int, float)):
        raise _wrong(where, value, "a whole number" if kind is int else "a number")
    try:
        number = kind(value)
        is_finite = math.isfinite(number)
    except OverflowError:
        is_finite = False
    if not is_finite:
        raise _wrong(where, value, "finite")
    return number


def _read_class(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise _wrong(where, value, "an object")
    names = {field.name for field in fields(kind)}
    if missing := names - value.keys():
        raise ValueError(f"{where} has no {min(missing)!r}")
    if unknown := value.keys() - names:
        raise ValueError(f"{where} has {min(unknown)!r}, which is not known")
    types = _hints(kind)
    return kind(**{name: _read(types[name], value[name], f"{where}.{name}") for name in names})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _read_tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _wrong(where, value, "a list")
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(value) != len(kinds):
        raise _wrong(where, value, f"a list of {len(kinds)}")
    pairs = zip(kinds, value, strict=True)
    return tuple(_read(kind, item, f"{where}[{i}]") for i, (kind, item) in enumerate(pairs))


def _wrong(where: str, value: Any, wanted: str) -> ValueError:
    shown = repr(value)
    if len(shown) > 60:
        shown = f"{shown[:60]}…"
    return ValueError(f"{where} is {shown}, not {wanted}")
