"""Runners of this process: its own thread, or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from threading import Thread
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

    Examples
    --------
    >>> from tvselect.runners import ThreadRunner
    >>> with ThreadRunner(2).bind(abs) as run:
    ...     run([-1, 2, -3])
    [1, 2, 3]
    """

    shares_memory = True

    @contextmanager
    def bind(self, work: Work) -> Iterator[TaskMap]:
        """See :meth:`Runner.bind`."""
        threads = [_Worker() for _ in range(self.n_workers)]
        try:
            for thread in threads:
                thread.start()
            yield partial(_share_out, work, threads)
        finally:
            for thread in threads:
                thread.jobs.put(None)
            for thread in threads:
                if thread.is_alive():
                    thread.join()


class _Worker(Thread):
    """Does one job after the other, until one is None.

    Futures and events would be safe in all but one way: Ctrl-C in the middle of their locks,
    which are taken in Python, leaves these locked for ever. This queue has none.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def run(self) -> None:
        for job in iter(self.jobs.get, None):
            job()


def _share_out(work: Work, threads: Sequence[_Worker], tasks: Sequence[Any]) -> list[Any]:
    if len(tasks) == 1:
        return [work(tasks[0])]
    results: list[Any] = [None] * len(tasks)
    places = iter(range(len(tasks)))
    errors: list[BaseException] = []

    def pull() -> None:
        """Take task after task: a job for each would cost more."""
        try:
            for place in places:
                if errors:
                    return
                results[place] = work(tasks[place])
        except BaseException as error:
            errors.append(error)

    try:
        for thread in threads:
            thread.jobs.put(pull)
        _wait_for(threads)
    except BaseException as interrupt:
        # Whatever happens, nobody goes on working behind the caller's back.
        errors.append(interrupt)
        _wait_for(threads)
        raise
    if errors:
        raise errors[0]
    return results


def _wait_for(threads: Sequence[_Worker]) -> None:
    """Wait until every thread has done the jobs that it has."""
    done: SimpleQueue[None] = SimpleQueue()
    for thread in threads:
        thread.jobs.put(partial(done.put, None))
    for _ in threads:
        done.get()
