"""Processes of this machine that share the data through a file in memory."""

from __future__ import annotations

import mmap
import os
import pickle
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, final

import cloudpickle

from tvselect.runners.base import (
    CountedRunner,
    TaskMap,
    Work,
    WorkerError,
    do_share,
    run_shares,
)
from tvselect.runners.build import difference, this_build

_ALIGNED = 64
_SECONDS_TO_LOOK = 1.0
_work: Work | None = None
"""In a worker: what it was handed."""


@final
class ProcessRunner(CountedRunner):
    """Processes: for rewards in plain Python, which threads would not speed up.

    The data lies in one file that all processes map into memory.

    Parameters
    ----------
    n_workers : int
    """

    @contextmanager
    def bind(self, work: Work) -> Iterator[TaskMap]:
        """See :meth:`Runner.bind`."""
        with tempfile.TemporaryDirectory(prefix="tvselect-") as folder:
            packed = MappedPickle.pack(work, Path(folder) / "work")
            pool = _Pool(self.n_workers, packed)
            try:
                yield pool.run
            finally:
                pool.close()


class _Pool:
    """Processes that are replaced when one of them dies."""

    def __init__(self, n_workers: int, packed: MappedPickle) -> None:
        self._n_workers = n_workers
        self._parcel = packed
        self._pool = self._open()

    def run(self, tasks: Sequence[Any]) -> list[Any]:
        return run_shares(tasks, self._n_workers, self._attempt, self._replace)

    def _attempt(self, parts: dict[int, Sequence[Any]]) -> dict[int, list[Any]]:
        done: dict[int, list[Any]] = {}
        futures: dict[int, Future[list[Any]]] = {}
        try:
            with suppress(BrokenProcessPool):
                for k, part in parts.items():
                    futures[k] = self._pool.submit(_do_mine, part)
            wait(futures.values(), return_when=FIRST_EXCEPTION)
            for k, future in futures.items():
                with suppress(BrokenProcessPool):
                    done[k] = future.result()
        finally:
            for future in futures.values():
                future.cancel()
        return done

    def _replace(self) -> None:
        self.close()
        self._pool = self._open()

    def close(self) -> None:
        self._pool.shutdown()

    def _open(self) -> Any:
        from loky import ProcessPoolExecutor
        from loky.backend import get_context

        # Fresh interpreters, as a copy of this one may hold locks of threads it has not; they
        # do not run the caller's script again, as those of the standard library do.
        return ProcessPoolExecutor(
            self._n_workers,
            initializer=_receive,
            initargs=(self._parcel, os.getpid(), this_build()),
            context=get_context("loky"),
        )


class MappedPickle:
    """An object in a file: its arrays are not read but mapped, by any number of processes."""

    def __init__(self, path: Path, head: bytes, places: list[tuple[int, int]]) -> None:
        self.path, self.head, self.places = path, head, places

    @classmethod
    def pack(cls, thing: object, path: Path) -> MappedPickle:
        """Write an object down."""
        buffers: list[pickle.PickleBuffer] = []
        head = cloudpickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
        places = []
        with path.open("wb") as file:
            for buffer in buffers:
                file.write(bytes(-file.tell() % _ALIGNED))
                places.append((file.tell(), buffer.raw().nbytes))
                file.write(buffer.raw())
        return cls(path, head, places)

    def unpack(self) -> Any:
        """The object again; its arrays cannot be written to."""
        if not any(size for _, size in self.places):
            return pickle.loads(self.head, buffers=[b""] * len(self.places))
        with self.path.open("rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        buffers = [content[first : first + size] for first, size in self.places]
        return pickle.loads(self.head, buffers=buffers)


def _receive(packed: MappedPickle, driver: int, build: dict[str, str]) -> None:
    from threadpoolctl import threadpool_limits

    global _work
    threading.Thread(target=_leave_with, args=(driver, packed.path.parent), daemon=True).start()
    # Ctrl-C is the driver's: it lets the plays in hand end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    what = difference(build, this_build())
    _work = partial(_refuse, what) if what else packed.unpack()


def _refuse(what: str, task: Any) -> Any:
    raise WorkerError(
        f"a process has {what}: it was installed anew or edited while this one ran; start again"
    )


def _do_mine(tasks: Sequence[Any]) -> list[Any]:
    assert _work is not None
    return do_share(_work, tasks)


def _leave_with(driver: int, folder: Path) -> None:
    """End with the driver, even if it is killed, and leave nothing behind."""
    while os.getppid() == driver:
        time.sleep(_SECONDS_TO_LOOK)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
