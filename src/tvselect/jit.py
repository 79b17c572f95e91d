"""How kernels are compiled: one place for Numba's options, its cache and its notice.

Kernels are module-level functions on arrays of declared dtypes. With
``NUMBA_DISABLE_JIT=1`` the decorators leave the plain Python functions, which
are the reference for the compiled ones.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import event

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

logger = logging.getLogger("tvselect")


# Arrays come from Python and are never created inside, so Numba's reference counting
# (an atomic operation whenever an array is handed on) is switched off.
_options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def kernel(function: Kernel) -> Kernel:
    """Compile an entry point called from Python: cached on disk, runs without the GIL."""
    compiled: Any = numba.njit(cache=True, **_options)(function)
    if compiled is not function:
        _watch_all_sources(compiled)
        _announcer.add(compiled)
    return compiled


def part(function: Kernel) -> Kernel:
    """Compile a part of a kernel, inlined where a kernel calls it."""
    compiled: Any = numba.njit(forceinline=True, **_options)(function)
    return compiled


@cache
def _newest_source() -> tuple[float, int]:
    """Stamp of the package's sources: the newest change and the size of them all."""
    stats = [path.stat() for path in Path(__file__).parent.rglob("*.py")]
    return max(s.st_mtime for s in stats), sum(s.st_size for s in stats)


def _watch_all_sources(compiled: Any) -> None:
    """Recompile when *any* source of the package changes.

    Numba compares only the file that holds the kernel, so a change in a part
    that lives in another file would go unnoticed and old machine code would
    run. Where Numba's cache looks different from what we know, nothing is done.
    """
    index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = _newest_source()


class _Announcer(event.Listener):
    """Say once per process that the first use on a machine compiles."""

    def __init__(self) -> None:
        self._kernels: set[int] = set()
        self._said = False

    def add(self, compiled: Any) -> None:
        self._kernels.add(id(compiled))

    def on_start(self, event: Any) -> None:
        if not self._said and id(event.data["dispatcher"]) in self._kernels:
            self._said = True
            logger.warning(
                "tvselect: compiling its kernels for this machine "
                "(once, some seconds; kept for the next start)"
            )

    def on_end(self, event: Any) -> None:
        pass


_announcer = _Announcer()
event.register("numba:compile", _announcer)  # type: ignore[no-untyped-call]
