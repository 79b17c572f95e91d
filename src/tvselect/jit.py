"""How kernels are compiled: one place for Numba's options, its cache and its notice.

Kernels are module-level functions on arrays of declared dtypes. With
``NUMBA_DISABLE_JIT=1`` the decorators leave the plain Python functions, which
are the reference for the compiled ones.
"""

from __future__ import annotations

import gc
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import compiler, event
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import CPUDispatcher

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

logger = logging.getLogger("tvselect")
SET_FOLDER = "set NUMBA_CACHE_DIR to a folder with room that can be written to"


# Arrays come from Python and are never created inside, so Numba's reference counting
# (an atomic operation whenever an array is handed on) is switched off.
_options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_without_entry: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Kernel) -> Kernel:
    """Compile an entry point called from Python: cached on disk, runs without the GIL.

    Where another kernel calls it, it is a :func:`part`.
    """
    compiled: Any
    try:
        compiled = numba.njit(cache=True, **_options)(function)
    except RuntimeError:  # there is no folder that Numba can write to
        compiled = numba.njit(**_options)(function)
        _announcer.is_kept = False
    if compiled is not function:
        compiled.__class__ = _EntryPoint
        _watch_all_sources(compiled)
        _make_forgiving(compiled)
        _announcer.add(compiled)
    return compiled


def part(function: Kernel) -> Kernel:
    """Compile a part of a kernel, inlined where a kernel calls it.

    It has no entry from Python, which spares a third of the time to compile: a call from
    there would crash (``part.py_func`` is the plain function).
    """
    compiled: Any = numba.njit(
        forceinline=True, pipeline_class=_PartCompiler, **_without_entry, **_options
    )(function)
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


@contextmanager
def _garbage_kept() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _PartLibrary(JITCodeLibrary):
    """The code of a part and of its own parts, neither optimised nor made machine code.

    That is done once, in the kernel that they are inlined into, not at every level below it.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    @property
    def codegen(self) -> type[_NoEnvironment]:
        """Who is told of the function's environment."""
        return _NoEnvironment


class _NoEnvironment:
    """Parts do without the environment in which functions look up Python objects."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        pass


class _PartCompiler(compiler.Compiler):
    """Numba's own compiler, but for the library that the code goes to."""

    def compile_extra(self, function: Any) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.library = _PartLibrary(codegen, function.__qualname__)  # type: ignore[no-untyped-call]
        self.state.library.enable_object_caching()
        return super().compile_extra(function)  # type: ignore[no-untyped-call]


@cache
def _newest_source() -> tuple[float, int]:
    """Stamp of the package's sources: the newest change and the size of them all."""
    stats = [path.stat() for path in Path(__file__).parent.rglob("*.py")]
    return max(s.st_mtime for s in stats), sum(s.st_size for s in stats)


def _watch_all_sources(compiled: Any) -> None:
    """Recompile when *any* source of the package changes, or the file that holds the kernel.

    Numba compares only the file that holds the kernel, so a change in a part
    that lives in another file would go unnoticed and old machine code would
    run. Where Numba's cache looks different from what we know, nothing is done.
    """
    index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = (index._source_stamp, _newest_source())


def _make_forgiving(compiled: Any) -> None:
    """Compile where the cache cannot be read, and go on where it cannot be written.

    A full disk or a file that was cut off would otherwise end every run in an error of
    Numba's or of pickle's. Where the cache looks different, nothing is done.
    """
    cache: Any = getattr(compiled, "_cache", None)
    if not (hasattr(cache, "_load_overload") and hasattr(cache, "_save_overload")):
        return
    load, save = cache._load_overload, cache._save_overload

    def load_if_possible(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:  # whatever unpickling a damaged file may raise
            with suppress(OSError):
                cache.flush()
            return None

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError as error:
            _announcer.regret(error)

    cache._load_overload, cache._save_overload = load_if_possible, save_if_possible


class _Announcer(event.Listener):
    """Say once per process that the first use on a machine compiles."""

    def __init__(self) -> None:
        self.is_kept = True
        self.n_compiled = 0
        self.kernels: list[Any] = []
        self._said = False
        self._regretted = False

    def add(self, compiled: Any) -> None:
        self.kernels.append(compiled)

    def on_start(self, event: Any) -> None:
        if not any(event.data["dispatcher"] is one for one in self.kernels):
            return
        self.n_compiled += 1
        if not self._said:
            self._said = True
            how_often = "once, some seconds; kept for the next start"
            if not self.is_kept:
                how_often = f"some seconds, at every start; to keep them {SET_FOLDER}"
            logger.warning(f"compiling the kernels of tvselect for this machine ({how_often})")

    def regret(self, error: OSError) -> None:
        """Say once that kernels could not be kept."""
        if not self._regretted:
            self._regretted = True
            logger.warning(
                f"the kernels of tvselect could not be kept ({error.strerror}) and will be "
                f"compiled again at the next start; to keep them {SET_FOLDER}"
            )

    def on_end(self, event: Any) -> None:
        pass


_announcer = _Announcer()
event.register("numba:compile", _announcer)  # type: ignore[no-untyped-call]


@dataclass
class Compilation:
    """What was compiled.

    Attributes
    ----------
    n_kernels : int
    seconds : float
    folder : str
        Where kernels are kept; empty where they cannot be.
    """

    n_kernels: int = 0
    seconds: float = 0.0
    folder: str = ""


@contextmanager
def watched_compilation() -> Iterator[Compilation]:
    """Count the kernels that are compiled in the meantime."""
    made, before, started = Compilation(), _announcer.n_compiled, time.perf_counter()
    yield made
    made.n_kernels = _announcer.n_compiled - before
    made.seconds = time.perf_counter() - started
    if _announcer.is_kept:
        made.folder = os.environ.get("NUMBA_CACHE_DIR") or str(Path(__file__).parent)


def was_compiled(compiled: Any) -> bool:
    """Whether a kernel of today's sources is on disk; also where that cannot be told."""
    index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if not hasattr(index, "_load_index"):
        return True
    try:
        return bool(index._load_index())
    except Exception:  # whatever unpickling a damaged file may raise
        return False


def all_kernels() -> list[Any]:
    """The kernels of all modules that are imported."""
    return list(_announcer.kernels)
