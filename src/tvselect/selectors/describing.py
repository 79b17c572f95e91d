"""Text that stands for a value: settings, and what a user's own reward is made of."""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from types import (
    CodeType,
    EllipsisType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import Any

import numpy as np
from numpy.typing import NDArray

PLAIN = (NoneType, bool, int, float, complex, str, bytes, EllipsisType, range, np.generic, np.dtype)
LOADS = ("LOAD_GLOBAL", "LOAD_NAME")
INSTALLED = {"site-packages", "dist-packages"}
CODE = (FunctionType, staticmethod, classmethod, property, cached_property)
PROTOCOL = 4


class UnknowableError(TypeError):
    """A value that cannot be told from another one of its type."""


def describe(value: Any, *, strict: bool = True) -> str:
    """Text that stands for a value, without memory addresses and without omissions.

    A function of an installed package is known by its name and its code. One of the user's is
    known by what it is made of: its code, defaults, the values that it remembers and those that
    it refers to; an object by its class and what pickle would keep of it. An object that knows
    better says so by ``__dask_tokenize__``: whatever that returns stands for it.

    Parameters
    ----------
    strict : bool, default=True
        Whether to refuse what cannot be known, such as locks and open files; else the type
        stands for it.

    Raises
    ------
    UnknowableError

    Examples
    --------
    >>> def scaled(by):
    ...     return lambda x: by * x
    >>> describe(scaled(2)) == describe(scaled(2)), describe(scaled(2)) == describe(scaled(3))
    (True, False)
    """
    return _Describer(strict).text(value)


class _Describer:
    """Remembers what it has described: values may refer to each other, and to themselves."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._known: dict[int, str] = {}
        self._alive: list[Any] = []  # or another value could get the same id

    def text(self, value: Any) -> str:
        if isinstance(value, PLAIN):
            return repr(value)
        if id(value) not in self._known:
            self._alive.append(value)
            self._known[id(value)] = f"<{len(self._alive)}>"
            self._known[id(value)] = self._describe(value)
        return self._known[id(value)]

    def _describe(self, value: Any) -> str:
        for kind, method in self._methods().items():
            if isinstance(value, kind):
                return method(value)
        if hasattr(value, "__dask_tokenize__"):
            return self.text(type(value)) + self.text(value.__dask_tokenize__())
        if hasattr(value, "get_params"):
            return self.text(type(value)) + self.text(value.get_params(deep=False))
        for name in ("py_func", "__wrapped__"):  # compiled by Numba, cached by functools
            if isinstance(inner := getattr(value, name, None), FunctionType):
                return self.text(type(value)) + self.text(inner)
        return self._object(value)

    def _methods(self) -> dict[Any, Callable[[Any], str]]:
        return {
            np.ndarray: self._array,
            dict: self._dict,
            (list, tuple): lambda v: f"[{', '.join(map(self.text, v))}]",
            (set, frozenset): lambda v: f"{{{', '.join(sorted(map(self.text, v)))}}}",
            CodeType: self._code,
            ModuleType: self._module,
            type: self._class,
            FunctionType: self._function,
            MethodType: lambda v: self.text([v.__self__, v.__func__]),
            property: lambda v: self.text([v.fget, v.fset, v.fdel]),
            (staticmethod, classmethod): lambda v: self.text(v.__func__),
            cached_property: lambda v: self.text(v.func),
            MemberDescriptorType: lambda v: str(v.__name__),
        }

    def _array(self, array: NDArray[Any]) -> str:
        if array.dtype.hasobject:
            return self.text(array.tolist())
        content = hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
        return f"array({array.dtype.str}, {array.shape}, {content})"

    def _dict(self, values: dict[Any, Any]) -> str:
        items = (f"{self.text(key)}: {self.text(item)}" for key, item in values.items())
        return f"{{{', '.join(items)}}}"

    def _code(self, code: CodeType) -> str:
        return self.text(
            [code.co_code, code.co_names, code.co_consts, code.co_freevars, code.co_exceptiontable]
        )

    def _module(self, module: ModuleType) -> str:
        file = getattr(module, "__file__", None)
        if file is None or is_installed(module.__name__):
            return module.__name__
        try:
            return f"{module.__name__} {hashlib.sha256(Path(file).read_bytes()).hexdigest()}"
        except OSError:
            return self._unknown(module)

    def _function(self, function: FunctionType) -> str:
        name = f"{function.__module__}.{function.__qualname__}{self.text(function.__code__)}"
        if is_installed(function.__module__) and _is_importable(function):
            return name
        remembered = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
        made_of = [function.__defaults__, function.__kwdefaults__, remembered]
        if not is_installed(function.__module__):
            known = function.__globals__
            made_of.append({n: known[n] for n in _names(function.__code__) if n in known})
        return name + self.text(made_of)

    def _class(self, kind: type) -> str:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if is_installed(kind.__module__):
            return name
        own = {n: v for n, v in sorted(vars(kind).items()) if _is_written(n, v)}
        return name + self.text([list(kind.__bases__), own])

    def _object(self, value: Any) -> str:
        try:
            parts = value.__reduce_ex__(PROTOCOL)
        except Exception:  # whatever its author raises
            return self._unknown(value)
        if isinstance(parts, str):
            return f"{getattr(value, '__module__', '')}.{parts}"
        made_of = [list(part) if isinstance(part, Iterator) else part for part in parts]
        return self.text(made_of)

    def _unknown(self, value: Any) -> str:
        if self._strict:
            raise UnknowableError(f"a {type(value).__module__}.{type(value).__qualname__}")
        return self.text(type(value))


@cache
def is_installed(module: str | None) -> bool:
    """Whether code is of Python, of this package or of another that was installed."""
    top = (module or "").partition(".")[0]
    if top in sys.stdlib_module_names or top == "tvselect":
        return True
    if top in ("", "__main__"):  # which may be run by an installed program
        return False
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    return file is None or bool(INSTALLED & set(Path(file).parts))


def _is_importable(function: FunctionType) -> bool:
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _is_written(name: str, value: Any) -> bool:
    """Whether an attribute of a class is the author's, and not what Python notes down there."""
    return isinstance(value, CODE) or not (name.startswith("__") or name == "_abc_impl")


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that has no value yet
        return False


def _names(code: CodeType) -> list[str]:
    """The global names that code refers to, in rising order."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    loads = (i.argval for i in dis.get_instructions(code) if i.opname in LOADS)
    return sorted({*loads, *(name for const in inner for name in _names(const))})
