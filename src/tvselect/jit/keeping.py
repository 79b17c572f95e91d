"""The cache of kernels on disk, and the notice that they are compiled."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import event

logger = logging.getLogger("tvselect")
PACKAGE = Path(__file__).parents[1]
SET_FOLDER = "set NUMBA_CACHE_DIR to a folder with room that can be written to"


@cache
def _newest_source() -> tuple[float, int]:
    """Stamp of the package's sources: the newest change and the size of them all."""
    stats = [path.stat() for path in PACKAGE.rglob("*.py")]
    return max(s.st_mtime for s in stats), sum(s.st_size for s in stats)


def watch_all_sources(compiled: Any) -> None:
    """Recompile when *any* source of the package changes, or the file that holds the kernel.

    Numba compares only the file that holds the kernel, so a change in a part
    that lives in another file would go unnoticed and old machine code would
    run. Where Numba's cache looks different from what we know, nothing is done.
    """
    index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = (index._source_stamp, _newest_source())


def make_forgiving(compiled: Any) -> None:
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
            announcer.regret(error)

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


announcer = _Announcer()
event.register("numba:compile", announcer)  # type: ignore[no-untyped-call]


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
    made, before, started = Compilation(), announcer.n_compiled, time.perf_counter()
    yield made
    made.n_kernels = announcer.n_compiled - before
    made.seconds = time.perf_counter() - started
    if announcer.is_kept:
        made.folder = os.environ.get("NUMBA_CACHE_DIR") or str(PACKAGE)


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
    return list(announcer.kernels)
