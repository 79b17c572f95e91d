"""Runners of this process: its own thread, or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import Any, final

from tvselect.runners.base import CountedRunner, Runner, TaskMap, Work, do_share


@final
class HereRunner(Runner):
    """One task after the other, in the thread that asks."""

    @property
    def n_workers(self) -> int:
        """One."""
        return 1

    @contextmanager
    def bind(self, work: Work) -> Iterator[TaskMap]:
        """See :meth:`Runner.bind`."""
        yield partial(do_share, work)


@final
class ThreadRunner(CountedRunner):
    """Threads: the trees run without Python's lock, and all share one copy of the data.

    Parameters
    ----------
    n_workers : int
    """

    @contextmanager
    def bind(self, work: Work) -> Iterator[TaskMap]:
        """See :meth:`Runner.bind`."""
        with ThreadPoolExecutor(self.n_workers) as pool:

            def run(tasks: Sequence[Any]) -> list[Any]:
                if len(tasks) == 1:
                    return [work(tasks[0])]
                with _interrupts_as_such():
                    futures = [pool.submit(work, task) for task in tasks]
                    try:
                        wait(futures)
                    finally:
                        # Whatever happens, nobody goes on working behind the caller's back.
                        for future in futures:
                            future.cancel()
                        wait(futures)
                return [future.result() for future in futures]

            yield run


@contextmanager
def _interrupts_as_such() -> Iterator[None]:
    """Ctrl-C inside Python's own locks can end as an error of the lock: it is Ctrl-C again."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
