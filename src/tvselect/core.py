"""Access to the native core: loads the library, checks and converts arguments, calls functions.

Every struct is declared by :func:`struct` on a named tuple or dataclass, every function by
:func:`function`. A type is ``int``, ``float``, ``bool``, ``generator``,
the name of a struct, or an array such as ``f8[rows, columns]``: its items (as NumPy writes them),
its axes, then ``!`` if the core writes into it. It is passed as its address and the lengths of
its named axes; a name stands for one length in all of a declaration. The numbers of
``i8[q] < table`` are indices below the length ``table``, those of ``i8[columns+1] <= listed`` rise
from 0 up to it. A field of a struct is annotated by its type in Python, an array also by this one:
``starts: Annotated[NDArray[np.int64], "i8[table] < words"]``.

The core itself checks nothing. Arguments of a wrong type, shape, order or range raise a
``TypeError`` or ``ValueError`` here, which names the struct or function and the field.
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

VERSION = 4
ITEMS = {kind: np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "u8", "u1", "b1")}
INT = ctypes.c_int64
ALIGNMENT = 64
SCALARS = {"int": INT, "bool": INT, "float": ctypes.c_double}


class Array(ctypes.Structure):
    """An array with one named axis, as the core takes it."""

    _fields_ = (("data", ctypes.c_void_p), ("size", INT))


class Matrix(ctypes.Structure):
    """An array with two named axes."""

    _fields_ = (("data", ctypes.c_void_p), ("n_rows", INT), ("n_columns", INT))


Record = TypeVar("Record", bound=type)
Made = TypeVar("Made")


class Axis(NamedTuple):
    """An axis of an array: ``3``, ``rows``, ``rows+1``, ``sides=2`` or ``padded>=rows``."""

    name: str
    relation: str
    other: str
    number: int

    @classmethod
    def read(cls, text: str) -> Axis:
        """Parse an axis of a declaration."""
        match = re.fullmatch(r"([a-z_]*)([+=]|>=|<=|)([a-z_]*)(\d*)", text)
        assert match, text
        name, relation, other, number = match.groups()
        return cls(name, relation if name else "=", other, int(number or 0))

    def length(self, lengths: dict[str, int], found: int) -> int:
        """The required length; a name that is new takes the length found."""
        if self.relation in (">=", "<="):
            bound = lengths[self.other]
            found = max(found, bound) if self.relation == ">=" else min(found, bound)
        elif self.relation == "=":
            lengths[self.name] = self.number
            return self.number
        return lengths.setdefault(self.name, max(found - self.number, 0)) + self.number


@dataclass(frozen=True)
class Field:
    """A field of a struct, or a parameter of a function.

    ``kind`` is the type of its items, of a scalar, or a struct's name. If ``relation`` is ``<``
    its numbers are indices below the length ``limit``, if it is ``<=`` they rise from 0 up to it.
    """

    name: str
    kind: str
    axes: tuple[Axis, ...]
    is_written: bool
    relation: str
    limit: str

    @classmethod
    def read(cls, text: str) -> Field:
        """Parse ``name: type``."""
        match = re.fullmatch(r"(\w+): (\w+)(?:\[(.+?)\])?(!?)(?: (<=?) (\w+))?", text.strip())
        assert match, text
        name, kind, axes, mark, relation, limit = match.groups()
        parsed = tuple(map(Axis.read, axes.split(", "))) if axes else ()
        return cls(name, kind, parsed, bool(mark), relation or "", limit or "")

    @cached_property
    def named_axes(self) -> list[int]:
        """The axes whose lengths are passed with the address."""
        return [k for k, axis in enumerate(self.axes) if axis.name]

    @cached_property
    def memory(self) -> Any:
        """Its ctypes type in a struct."""
        if self.axes:
            return (ctypes.c_void_p, Array, Matrix)[len(self.named_axes)]
        return SCALARS.get(self.kind) or _structs[self.kind].memory

    @property
    def parameter(self) -> Any:
        """Its ctypes type as a parameter."""
        if self.axes or self.kind in SCALARS:
            return self.memory
        return ctypes.c_void_p if self.kind == "generator" else ctypes.POINTER(self.memory)

    def cross(self, where: str, value: Any, lengths: dict[str, int]) -> Any:
        """Check a value and convert it to ctypes."""
        if self.axes:
            return self.view(where, value, lengths)
        if self.kind == "float":
            return float(value)
        if self.kind in SCALARS:
            if not -(2**63) <= value < 2**63:
                raise ValueError(f"{where}.{self.name} must have 64 bits, got {value}")
            return int(value)
        if self.kind == "generator":
            if not isinstance(value, np.random.Generator):
                wanted = f"{where}.{self.name} must be a numpy.random.Generator"
                raise TypeError(f"{wanted}, got {value!r}")
            return value.bit_generator.ctypes.bit_generator
        declared = _structs[self.kind]
        if isinstance(value, declared.memory):
            return value
        if _struct_of.get(type(value)) is not declared:
            found = type(value).__name__
            raise TypeError(f"{where}.{self.name} must be a {self.kind}, got {found}")
        return pack(value)

    def view(self, where: str, value: Any, lengths: dict[str, int]) -> Any:
        """Check an array and convert it to its address and lengths."""
        wanted = ITEMS[self.kind]
        if type(value) is not np.ndarray or value.dtype != wanted:
            found = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
            raise TypeError(f"{where}.{self.name} must be an array of {wanted}, got {found}")
        is_right = value.ndim == len(self.axes)
        for axis, length in zip(self.axes, value.shape, strict=False):
            is_right &= axis.length(lengths, length) == length
        if not is_right:
            axes = ", ".join(str(axis.length(lengths, 0)) for axis in self.axes)
            raise ValueError(f"{where}.{self.name} must be of shape ({axes}), got {value.shape}")
        flags = value.flags
        if not flags.c_contiguous or (self.is_written and not flags.writeable):
            needed = "writable and stored row by row" if self.is_written else "stored row by row"
            raise ValueError(f"{where}.{self.name} must be {needed}")
        address = int(value.__array_interface__["data"][0])
        if not self.named_axes:
            return address
        return self.memory(address, *(value.shape[axis] for axis in self.named_axes))

    def check_range(self, where: str, value: NDArray[Any], lengths: dict[str, int]) -> None:
        """Refuse numbers out of range, or that fall where they must rise."""
        if not value.size:
            return
        highest = lengths[self.limit] - (self.relation == "<")
        if value.min() < 0 or value.max() > highest:
            wrong = value.min() if value.min() < 0 else value.max()
            raise ValueError(f"{where}.{self.name} must be from 0 to {highest}, got {wrong}")
        if self.relation == "<=" and np.any(value[1:] < value[:-1]):
            raise ValueError(f"{where}.{self.name} must not fall")


class Struct(NamedTuple):
    """A struct of the core, the Python record for it, and a further check of records."""

    name: str
    fields: tuple[Field, ...]
    memory: type[ctypes.Structure]
    record: type
    check: Callable[[Any], None]


_structs: dict[str, Struct] = {}
_struct_of: dict[type, Struct] = {}


def struct(
    name: str, check: Callable[[Any], None] = lambda record: None
) -> Callable[[Record], Record]:
    """Declare a named tuple or dataclass to be the struct ``tvs_name`` of the core.

    ``check`` refuses records whose fields contradict each other. Raises an ImportError if the
    struct of the library has another size.
    """

    def declare(record: Record) -> Record:
        hints = get_type_hints(record, include_extras=True)
        fields = tuple(Field.read(f"{field}: {_type(hint)}") for field, hint in hints.items())
        in_memory = [(field.name, field.memory) for field in fields]
        memory = type(name, (ctypes.Structure,), {"_fields_": in_memory})
        if library.tvs_size_of(name.encode()) not in (0, ctypes.sizeof(memory)):
            raise _other_version()
        _structs[name] = _struct_of[record] = Struct(name, fields, memory, record, check)
        return record

    return declare


def _type(hint: Any) -> str:
    """The type of a field, from its annotation."""
    if hasattr(hint, "__metadata__"):
        return str(hint.__metadata__[0])
    return _struct_of[hint].name if hint in _struct_of else str(hint.__name__)


def pack(record: Any) -> Any:
    """Convert a record to its struct in memory, which keeps the arrays alive and can be reused."""
    declared = _struct_of[type(record)]
    values = [getattr(record, field.name) for field in declared.fields]
    packed = declared.memory(*_crossing(declared.name, declared.fields, values))
    declared.check(record)
    packed.record = record
    return packed


def allocate(record: type[Made], parts: Mapping[str, Any] | None = None, **lengths: int) -> Made:
    """A record with arrays of zeros: ``lengths`` by axis, unless a field is among the ``parts``.

    Arrays begin at a multiple of 64 bytes: a vector of eight numbers is one access then.
    """
    values = dict(parts or {})
    for field in _struct_of[record].fields:
        if field.name in values or field.kind in SCALARS:
            continue
        if not field.axes:
            values[field.name] = allocate(_structs[field.kind].record, None, **lengths)
            continue
        shape = [a.number + (0 if a.relation == "=" else lengths[a.name]) for a in field.axes]
        size = math.prod(shape) * ITEMS[field.kind].itemsize
        memory = np.zeros(size + ALIGNMENT, dtype=np.uint8)
        first = -memory.__array_interface__["data"][0] % ALIGNMENT
        values[field.name] = memory[first : first + size].view(ITEMS[field.kind]).reshape(shape)
    return record(**values)


def _crossing(where: str, fields: Sequence[Field], values: Sequence[Any]) -> list[Any]:
    """Check values of fields or parameters and convert them to ctypes."""
    lengths: dict[str, int] = {}
    crossing = [f.cross(where, value, lengths) for f, value in zip(fields, values, strict=True)]
    for field, value in zip(fields, values, strict=True):
        if field.limit:
            field.check_range(where, value, lengths)
    return crossing


def function(
    name: str,
    declaration: str,
    returns: type[int] | type[float] | None = None,
    source: ctypes.CDLL | None = None,
) -> Callable[..., Any]:
    """The function ``tvs_name`` of the core, with checks of its arguments.

    Parameters are separated by line breaks or semicolons. A struct is passed as its record or as
    the result of :func:`pack`. ``source`` is another library with such functions, for tests.
    """
    fields = [Field.read(text) for text in re.split("[\n;]", declaration.strip())]
    native = getattr(source or library, f"tvs_{name}", None)
    if native is None:
        raise _other_version()
    native.restype = SCALARS[returns.__name__] if returns else None
    native.argtypes = [field.parameter for field in fields]

    def call(*values: Any) -> Any:
        return native(*_crossing(name, fields, values))

    call.__name__ = name
    return call


def _load() -> ctypes.CDLL:
    """The library for this processor; ``TVSELECT_SIMD`` selects a lower level, for tests."""
    machine = platform.machine().lower()
    if machine not in ("x86_64", "amd64"):
        return _open("arm" if machine in ("arm64", "aarch64") else "any")
    basic = _open("v2")
    best = int(basic.tvs_level())
    if best < 2:
        raise ImportError("tvselect needs a processor with x86-64-v2 (SSE4.2 and POPCNT)")
    levels = [f"v{level}" for level in range(2, best + 1)]
    asked = os.environ.get("TVSELECT_SIMD", levels[-1])
    if asked not in levels:
        raise ImportError(
            f"TVSELECT_SIMD={asked} is not one of those that this processor runs: "
            + ", ".join(levels)
        )
    return basic if asked == "v2" else _open(asked)


def _open(level: str) -> ctypes.CDLL:
    suffix = {"win32": "dll", "darwin": "dylib"}.get(sys.platform, "so")
    path = Path(__file__).with_name(f"libtvselect_{level}.{suffix}")
    try:
        found = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(
            f"the native library {path} cannot be loaded; install tvselect again"
        ) from error
    try:
        for about in (found.tvs_version, found.tvs_source, found.tvs_level, found.tvs_size_of):
            about.restype = INT
    except AttributeError:
        raise _other_version() from None
    if found.tvs_version() != VERSION:
        raise _other_version()
    found.tvs_size_of.argtypes = [ctypes.c_char_p]
    return found


def _other_version() -> ImportError:
    folder = Path(__file__).parent
    return ImportError(
        f"the native library in {folder} is of another version; install tvselect again"
    )


library = _load()
