"""A runner from what people write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tvselect.runners.base import Runner
from tvselect.runners.cluster import DaskRunner
from tvselect.runners.local import HereRunner, ThreadRunner
from tvselect.runners.processes import ProcessRunner


@contextmanager
def opened(runner: Any = None, n_jobs: int | None = None) -> Iterator[Runner]:
    """A runner as :func:`open_runner` chooses it, closed afterwards unless it was given."""
    chosen = open_runner(runner, n_jobs)
    try:
        yield chosen
    finally:
        if chosen is not runner:
            chosen.close()


def open_runner(runner: Any = None, n_jobs: int | None = None) -> Runner:
    """Choose where plays run.

    Parameters
    ----------
    runner : {"threads", "processes"}, address, distributed.Client or Runner, optional
        "threads" by default; an address such as ``tcp://head-node:8786``, or a client, is
        a Dask cluster.
    n_jobs : int, optional
        Threads or processes, as in scikit-learn: 1 by default, -1 is one per core.

    Returns
    -------
    Runner

    Examples
    --------
    >>> open_runner("threads", n_jobs=2).n_workers
    2
    """
    if isinstance(runner, Runner):
        return runner
    if runner is None or (isinstance(runner, str) and runner in ("threads", "processes")):
        n_workers = 1
        if n_jobs != 1:
            from joblib import effective_n_jobs

            n_workers = max(1, effective_n_jobs(n_jobs))
        if runner == "processes":
            return ProcessRunner(n_workers)
        return HereRunner() if n_workers == 1 else ThreadRunner(n_workers)
    if (isinstance(runner, str) and "://" in runner) or hasattr(runner, "scheduler_info"):
        return DaskRunner(runner)
    raise ValueError(
        f"runner must be 'threads', 'processes', the address of a Dask scheduler such as "
        f"'tcp://head-node:8786', a distributed.Client or a Runner, got {runner!r}"
    )
