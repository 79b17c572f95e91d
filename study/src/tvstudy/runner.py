"""Runs the tasks of a study: a process each, some at a time, resumable, with a time limit."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from tvselect.workers import opened
from tvstudy.cell import failed, not_finished, run_apart, try_task
from tvstudy.grid import Task
from tvstudy.methods import ALL_METHODS
from tvstudy.rows import LINES, Row, append_row, read_rows, write_parquet

Results = Generator[tuple[Task, Row], None, None]


def run_study(
    tasks: Iterable[Task],
    folder: str | Path,
    *,
    n_jobs: int = 1,
    time_limit: float | None = None,
    verbose: int = 1,
    cluster: Any = None,
) -> list[Row]:
    """Run the tasks that the folder has no row of yet.

    Parameters
    ----------
    tasks : iterable of Task
    folder : path
        Where the rows are kept; a second call goes on where the first stopped.
    n_jobs : int, default=1
        Tasks at a time, each in a process and on one thread of its own.
    time_limit : float, optional
        Seconds for a task; a longer one is ended and recorded as "not finished".
    verbose : int, default=1
        1 shows a progress bar.
    cluster : address, distributed.Client or Runner, optional
        Run the tasks on its workers instead, as many at a time as these have threads.

    Returns
    -------
    list of rows
        All that the folder holds, older ones too.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    known = {row["key"] for row in read_rows(folder)} if (folder / LINES).exists() else set()
    waiting = [task for task in tasks if task.key not in known]
    unknown = {task.method for task in waiting} - set(ALL_METHODS)
    if unknown:
        raise ValueError(f"no method is named {min(unknown)!r}; there are {', '.join(ALL_METHODS)}")
    results = (
        _run_here(waiting, n_jobs, time_limit)
        if cluster is None
        else _run_on(cluster, waiting, time_limit)
    )
    with (
        closing(results),
        tqdm(total=len(waiting), unit=" tasks", disable=verbose < 1) as bar,
    ):
        for task, row in results:
            append_row(
                folder, {"key": task.key, **asdict(task), **row, "version": version("tvselect")}
            )
            bar.update()
    write_parquet(folder)
    return read_rows(folder)


def _run_on(cluster: Any, waiting: list[Task], time_limit: float | None) -> Results:
    with (
        opened(cluster) as runner,
        runner.bind(partial(run_apart, time_limit=time_limit)) as run,
    ):
        while waiting:
            n_next = runner.n_workers
            tasks, waiting = waiting[:n_next], waiting[n_next:]
            yield from zip(tasks, run(tasks), strict=True)


@dataclass
class _Running:
    task: Task
    process: BaseProcess
    answer: Connection
    started: float


def _run_here(waiting: list[Task], n_jobs: int, time_limit: float | None) -> Results:
    waiting = waiting[::-1]
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                running.append(_start(waiting.pop()))
            for one in _finished(running, time_limit):
                running.remove(one)
                yield one.task, _conclude(one, time_limit)
    finally:
        for one in running:
            one.process.kill()


def _start(task: Task) -> _Running:
    context = multiprocessing.get_context("fork")
    answer, end = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(task, end), daemon=True)
    with warnings.catch_warnings():
        # Threads of this process (a progress bar, idle BLAS workers) hold no lock a task needs.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    end.close()
    return _Running(task, process, answer, time.perf_counter())


def _work(task: Task, end: Connection) -> None:
    end.send(try_task(task))


def _finished(running: list[_Running], time_limit: float | None) -> list[_Running]:
    """Tasks with an answer or out of time; waits until there is one."""
    while True:
        left = None
        if time_limit is not None:
            left = max(0.0, min(t.started for t in running) + time_limit - time.perf_counter())
        ready = wait([one.answer for one in running], timeout=left)
        done = [one for one in running if one.answer in ready]
        if time_limit is not None:
            now = time.perf_counter()
            done += [t for t in running if t not in done and now - t.started >= time_limit]
        if done:
            return done


def _conclude(one: _Running, time_limit: float | None) -> Row:
    if not one.answer.poll():
        one.process.kill()
        return not_finished(time_limit)
    try:
        row: Row = one.answer.recv()
    except EOFError:
        row = failed(f"ended with code {one.process.exitcode}")
    one.process.join()
    return row
