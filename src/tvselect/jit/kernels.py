"""Numba's options: entry points for Python, and the parts that they are made of."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

import numba
from numba.core import types
from numba.core.registry import CPUDispatcher

from tvselect.jit.keeping import announcer, make_forgiving, watch_all_sources
from tvselect.jit.parts import PartCompiler
from tvselect.jit.sharing import CAN_SHARE, call_of

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Arrays come from Python and are never created inside, so Numba's reference counting
# (an atomic operation whenever an array is handed on) is switched off. Nothing calls from C.
_options: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True
}  # fmt: skip
_part_options: dict[str, Any] = {
    **_options, "forceinline": True, "no_cpython_wrapper": True, "pipeline_class": PartCompiler
}  # fmt: skip


def kernel(function: Kernel) -> Kernel:
    """Compile an entry point called from Python: cached on disk, runs without the GIL.

    Where another kernel calls it, it is a :func:`part`.
    """
    compiled: Any
    try:
        compiled = numba.njit(cache=True, **_options)(function)
    except RuntimeError:  # there is no folder that Numba can write to
        compiled = numba.njit(**_options)(function)
        announcer.is_kept = False
    if compiled is not function:
        compiled.__class__ = _EntryPoint
        watch_all_sources(compiled)
        make_forgiving(compiled)
        announcer.add(compiled)
    return compiled


def shared_kernel(function: Kernel) -> Kernel:
    """Compile a kernel that others call where it is, instead of inlining it.

    For one that is large, returns nothing and is called by several: machine code of it is made
    once, not in each of them. An older Numba inlines it all the same.
    """
    compiled: Any = kernel(function)
    if compiled is not function and CAN_SHARE:
        compiled.__class__ = _SharedEntryPoint
    return compiled


def part(function: Kernel) -> Kernel:
    """Compile a part of a kernel, inlined where a kernel calls it.

    It has no entry from Python, which spares a third of the time to compile: a call from
    there would crash (``part.py_func`` is the plain function).
    """
    compiled: Any = numba.njit(**_part_options)(function)
    return compiled


class _EntryPoint(CPUDispatcher):
    """A kernel; others that call it inline the function instead of a kernel of its own."""

    @cached_property
    def _part(self) -> Any:
        return part(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return self._part._numba_type_

    def compile(self, signature: Any) -> Any:
        """Compile without a search for garbage, which takes a fourth of the time."""
        with _garbage_kept():
            return super().compile(signature)


class _SharedEntryPoint(_EntryPoint):
    """A kernel that others call by its address."""

    @cached_property
    def _numba_type_(self) -> Any:
        return types.Function(call_of(self))


@contextmanager
def _garbage_kept() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
