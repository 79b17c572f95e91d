"""Runners of this process: its own thread, or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from threading import Event
from typing import Any, final

from tvselect.runners.base import CountedRunner, Runner, TaskMap, Work, do_share


@final
class HereRunner(Runner):
    """One task after the other, in the thread that asks."""

    shares_memory = True

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

    shares_memory = True

    @contextmanager
    def bind(self, work: Work) -> Iterator[TaskMap]:
        """See :meth:`Runner.bind`."""
        with ThreadPoolExecutor(self.n_workers) as pool:

            def run(tasks: Sequence[Any]) -> list[Any]:
                if len(tasks) == 1:
                    return [work(tasks[0])]
                results: list[Any] = [None] * len(tasks)
                places = iter(range(len(tasks)))
                stopped = Event()

                def pull() -> None:
                    """Take task after task: a call of the pool for each would cost more."""
                    for place in places:
                        if stopped.is_set():
                            return
                        results[place] = work(tasks[place])

                with _interrupts_as_such():
                    futures = [pool.submit(pull) for _ in range(min(self.n_workers, len(tasks)))]
                    try:
                        wait(futures, return_when=FIRST_EXCEPTION)
                    finally:
                        # Whatever happens, nobody goes on working behind the caller's back.
                        stopped.set()
                        wait(futures)
                for future in futures:
                    future.result()
                return results

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
