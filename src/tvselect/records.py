"""What is stored: records as JSON, arrays as ``.npz``, files that appear all at once.

Whatever is read is checked to the last field; schema libraries would ignore unknown ones.
"""

from __future__ import annotations

import io
import json
import math
import os
import secrets
import sys
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

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


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside a path to write to; it takes the path's place unless something fails."""
    part = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        try:
            yield part
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a file all at once."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


MOST_PACKED = 1100  # Deflate packs at most 1032 bytes into one


def read_arrays(blob: bytes) -> dict[str, NDArray[Any]]:
    """All arrays of an ``.npz`` file, without pickles and archive bombs, or a ValueError."""
    try:
        with zipfile.ZipFile(io.BytesIO(blob)) as archive, warnings.catch_warnings():
            warnings.simplefilter("error")
            files = archive.infolist()
            if sum(file.file_size for file in files) > MOST_PACKED * len(blob):
                raise ValueError("it unpacks to more than it can hold")
            return {
                file.filename.removesuffix(".npy"): _read_array(archive.read(file))
                for file in files
            }
    except Exception as error:  # the archive, its codecs and NumPy's header have each their own
        raise ValueError(f"these bytes are no stored arrays ({type(error).__name__})") from error


def check_types(arrays: Mapping[str, NDArray[Any]], types: Mapping[str, str]) -> None:
    """A ValueError unless arrays of one dimension and these types ("<f8", "U") are there."""
    for name, wanted in types.items():
        found = arrays.get(name)
        if found is None or found.ndim != 1 or wanted not in (found.dtype.str, found.dtype.kind):
            raise ValueError(f"there is no fitting array {name!r}")


def _read_array(content: bytes) -> NDArray[Any]:
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)[0]
    read_header: Any = getattr(np.lib.format, f"read_array_header_{min(version, 2)}_0")
    shape, _, dtype = read_header(file)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > len(content):
        raise ValueError("an array says that it is larger than it is")
    file.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    if dtype.kind == "U" and array.size and dtype.itemsize:
        codes = array.ravel().view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if codes.max() > sys.maxunicode:
            raise ValueError("a text holds what is no character")
    return array
