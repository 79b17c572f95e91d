"""What a runner is: workers that do the same work on many tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any

Work = Callable[[Any], Any]
"""A pure function of one task: done again elsewhere it gives the same."""
TaskMap = Callable[[Sequence[Any]], list[Any]]
"""``run(tasks)``: the results in the order of the tasks."""

MOST_LOSSES = 5
"""So many workers may be lost in one call of ``run`` before it gives up."""


class WorkerError(RuntimeError):
    """Workers that are lost again and again, or that cannot be reached."""


class Runner(ABC):
    """Workers, wherever they are. What they return never depends on who did it.

    Attributes
    ----------
    n_workers : int
        Tasks that run at the same time.
    shares_memory : bool
        Whether tasks are the very objects that they were handed over as.
    is_remote : bool
        Whether the workers may be on other machines, to which data has a way to go.
    """

    shares_memory = False
    is_remote = False

    @property
    @abstractmethod
    def n_workers(self) -> int:
        """Tasks that run at the same time."""

    @abstractmethod
    def bind(self, work: Work) -> AbstractContextManager[TaskMap]:
        """Give the work, and the data it holds, to every worker once.

        Parameters
        ----------
        work : callable
            A pure function of one task.

        Returns
        -------
        context manager
            Of a function that runs a list of tasks. A task whose worker is lost is done
            again by another one; an error that the work raises is raised as it is.
        """

    def close(self) -> None:  # noqa: B027
        """Let go of what the runner has opened; most have nothing to let go of."""


class CountedRunner(Runner):
    """A runner of as many workers as it is told."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers

    @property
    def n_workers(self) -> int:
        """As it was told."""
        return self._n_workers


def run_shares(
    tasks: Sequence[Any],
    n_workers: int,
    attempt: Callable[[dict[int, Sequence[Any]]], dict[int, list[Any]]],
    recover: Callable[[], None],
) -> list[Any]:
    """Run the tasks in shares, and again those whose worker was lost.

    Parameters
    ----------
    attempt : callable
        ``attempt(parts)``: the results of those parts, by number, that came back.
    recover : callable
        Called when some did not.

    Returns
    -------
    list
        The results in the order of the tasks.
    """
    parts = dict(enumerate(shares(tasks, n_workers)))
    done: dict[int, list[Any]] = {}
    for _ in range(MOST_LOSSES):
        done |= attempt({k: part for k, part in parts.items() if k not in done})
        if len(done) == len(parts):
            return [result for k in parts for result in done[k]]
        recover()
    raise WorkerError(
        f"workers were lost {MOST_LOSSES} times during the same plays; if memory was short, use "
        "fewer of them or give them more"
    )


def shares(tasks: Sequence[Any], n_workers: int) -> list[Sequence[Any]]:
    """Cut the tasks into runs of neighbours, one per worker, as even as can be.

    Examples
    --------
    >>> shares([1, 2, 3, 4, 5], 2)
    [[1, 2, 3], [4, 5]]
    >>> shares([1], 2)
    [[1]]
    """
    n_shares = min(n_workers, len(tasks))
    short, longer = divmod(len(tasks), max(1, n_shares))
    ends = [k * short + min(k, longer) for k in range(n_shares + 1)]
    return [tasks[first:last] for first, last in pairwise(ends)]


def do_share(work: Work, tasks: Iterable[Any]) -> list[Any]:
    """The work on several tasks, one after the other."""
    return [work(task) for task in tasks]


def call(task: Callable[[], Any]) -> Any:
    """The work of a runner whose tasks are functions."""
    return task()
