"""A hash of all that the plays of a fit depend on: a journal is continued only where it agrees."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from inspect import getclosurevars
from pathlib import Path
from types import CodeType, EllipsisType, FunctionType, ModuleType, NoneType
from typing import Any

import numpy as np

from tvselect.bandit.journal import JournalError
from tvselect.inputs.columns import FileColumns, SparseColumns
from tvselect.rewards import Data

PLAIN = (NoneType, bool, int, float, complex, str, bytes, EllipsisType, range, np.generic, np.dtype)
NAMES_AT_A_TIME, LARGE = 100_000, 2**31


class UnknowableError(TypeError):
    """A value that cannot be described so that no other one has the same text."""


def fingerprint(known: Mapping[str, Any], *, strict: bool) -> str:
    """Hash of all that plays depend on; with ``strict`` a JournalError for what has no hash."""
    try:
        text = describe(dict(known), strict=strict)
    except UnknowableError as error:
        raise JournalError(
            f"the reward holds {error}, which cannot be told from another one: a journal could go "
            "on with another reward; give the reward numbers, text, arrays and functions only, "
            "or a method __dask_tokenize__ that says what it is, or leave the journal out"
        ) from None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def identity_of(data: Data) -> str:
    """Hash of a table and its outcome."""
    digest, X = hashlib.sha256(f"{data.X.shape!r} {data.X.dtype.str}".encode()), data.X
    for first in range(0, len(data.names), NAMES_AT_A_TIME):  # there may be millions of names
        names = "".join(f"\0{name}" for name in data.names[first : first + NAMES_AT_A_TIME])
        digest.update(names.encode("utf-8", "surrogatepass"))
    if isinstance(X, FileColumns):  # what is in a file is hashed there
        digest.update(X.file.identity().encode())
    front = X.front if isinstance(X, FileColumns) else X
    for array in front.stored if isinstance(front, SparseColumns) else [np.asarray(front)]:
        if array.nbytes >= LARGE and array.flags.f_contiguous and not array.flags.c_contiguous:
            array = array.T  # in a file, rows of such a table are read from one end to the other
        for block in np.array_split(array, max(1, array.nbytes >> 26)):
            digest.update(np.ascontiguousarray(block).data)
    digest.update(describe([data.outcome.values, data.sample_weight]).encode())
    if data.outcome.upper is not None:
        digest.update(describe(data.outcome.upper).encode())
    return digest.hexdigest()


def describe(value: Any, *, strict: bool = True) -> str:
    """A text that no other value has, without memory addresses.

    Functions and classes of installed packages go by their names, functions of the user by code,
    defaults, closure and globals, classes by their functions, objects by what pickle would keep or
    their ``__dask_tokenize__``. Others, such as locks and open files, are an UnknowableError, or
    where not ``strict`` their type.
    """
    known: dict[int, tuple[Any, str]] = {}  # with the value, or another could get the same id

    def text(value: Any) -> str:
        if isinstance(value, PLAIN):
            return repr(value)
        if id(value) not in known:
            known[id(value)] = value, f"<{len(known)}>"  # for values that hold themselves
            known[id(value)] = value, described(value)
        return known[id(value)][1]

    def described(value: Any) -> str:
        if isinstance(value, dict):
            return "".join(f"{text(key)}: {text(item)}, " for key, item in value.items()).join("{}")
        if isinstance(value, list | tuple):
            return ", ".join(map(text, value)).join("[]")
        if isinstance(value, set | frozenset):
            return ", ".join(sorted(map(text, value))).join("{}")
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            content = hashlib.sha256(np.ascontiguousarray(value).data).hexdigest()
            return f"array({value.dtype.str}, {value.shape}, {content})"
        try:
            parts = _parts(value)
        except Exception:  # whatever its author raises
            parts = kind = type(value)
            if strict:
                raise UnknowableError(f"a {kind.__module__}.{kind.__qualname__}") from None
        return text(parts)

    return text(value)


def _parts(value: Any) -> Any:
    """What a value is made of that is no plain one; fails where pickle does."""
    if isinstance(value, ModuleType):
        file = getattr(value, "__file__", None)
        if file is None or _is_installed(value.__name__):
            return value.__name__
        return [value.__name__, Path(file).read_bytes()]
    if isinstance(value, CodeType):
        made_of = value.co_code, value.co_names, value.co_consts, value.co_freevars
        return [*made_of, value.co_exceptiontable]
    if isinstance(value, FunctionType | type):
        name = f"{value.__module__}.{value.__qualname__}"
        if _is_installed(value.__module__) and "<" not in name:
            return name
        if isinstance(value, FunctionType):
            known = getclosurevars(value)
            defaults = value.__defaults__, value.__kwdefaults__
            return [name, value.__code__, *defaults, known.nonlocals, known.globals]
        own = {n: v for n, v in vars(value).items() if isinstance(v, FunctionType)}
        return [name, list(value.__bases__), own]
    if hasattr(value, "__dask_tokenize__"):
        return [type(value), value.__dask_tokenize__()]
    if hasattr(value, "get_params"):
        return [type(value), value.get_params(deep=False)]
    for inner in ("py_func", "__wrapped__"):  # compiled by Numba, cached by functools
        if isinstance(function := getattr(value, inner, None), FunctionType):
            return [type(value), function]
    parts = value.__reduce_ex__(4)
    if isinstance(parts, str):
        return f"{getattr(value, '__module__', '')}.{parts}"
    return [list(part) if isinstance(part, Iterator) else part for part in parts]


def _is_installed(module: str | None) -> bool:
    """Whether code is of Python, of this package or of another that was installed."""
    top = (module or "").partition(".")[0]
    if top in sys.stdlib_module_names or top == "tvselect":
        return True
    if top in ("", "__main__"):  # which may be run by an installed program
        return False
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    return file is None or bool({"site-packages", "dist-packages"} & set(Path(file).parts))
