"""Runs the tasks of a study: a process each, some at a time, resumable, with a time limit."""

from __future__ import annotations

import multiprocessing
import resource
import time
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from tvselect.simulation import score, simulate
from tvselect.study.grid import Task
from tvselect.study.methods import METHODS
from tvselect.study.rows import FINISHED, LINES, Row, append_row, read_rows, write_parquet

NOT_FINISHED, FAILED = "not finished", "failed"
LOWEST_SHOWN = 0.2


def run_task(task: Task) -> Row:
    """Draw the data set, select, and judge: one row."""
    data = simulate(task.setup, task.n_rows, task.n_columns, random_state=task.data_seed)
    selector = METHODS[task.method](task.method_seed)
    started = time.perf_counter()
    selector.fit(data.X, data.y)
    seconds = time.perf_counter() - started
    found = selector.get_support()
    row: Row = {"status": FINISHED, "seconds": seconds, **score(found, data.support)._asdict()}
    row["selected"] = np.flatnonzero(found).tolist()
    row["n_plays"] = getattr(selector, "n_plays_", None)
    if (pi := getattr(selector, "inclusion_probabilities_", None)) is not None:
        shown = np.flatnonzero(pi >= LOWEST_SHOWN)
        row["pi"] = [[int(j), round(float(pi[j]), 4)] for j in shown]
    row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return row


@dataclass
class _Running:
    task: Task
    process: BaseProcess
    answer: Connection
    started: float


def run_study(
    tasks: Iterable[Task],
    folder: str | Path,
    *,
    n_jobs: int = 1,
    time_limit: float | None = None,
    verbose: int = 1,
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

    Returns
    -------
    list of rows
        All that the folder holds, older ones too.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    known = {row["key"] for row in read_rows(folder)} if (folder / LINES).exists() else set()
    waiting = [task for task in tasks if task.key not in known]
    unknown = {task.method for task in waiting} - set(METHODS)
    if unknown:
        raise ValueError(f"no method is named {min(unknown)!r}; there are {', '.join(METHODS)}")
    waiting.reverse()
    running: list[_Running] = []
    with tqdm(total=len(waiting), unit=" tasks", disable=verbose < 1) as bar:
        try:
            while waiting or running:
                while waiting and len(running) < n_jobs:
                    running.append(_start(waiting.pop()))
                for one in _finished(running, time_limit):
                    running.remove(one)
                    append_row(folder, _conclude(one, time_limit))
                    bar.update()
        finally:
            for one in running:
                one.process.kill()
    write_parquet(folder)
    return read_rows(folder)


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
    try:
        with threadpool_limits(1):
            row = run_task(task)
    except Exception as error:  # a method that fails is a result, too
        row = {"status": FAILED, "error": f"{type(error).__name__}: {error}"}
    end.send(row)


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
    row: dict[str, Any]
    if one.answer.poll():
        try:
            row = one.answer.recv()
        except EOFError:
            row = {"status": FAILED, "error": f"ended with code {one.process.exitcode}"}
        one.process.join()
    else:
        one.process.kill()
        row = {"status": NOT_FINISHED, "seconds": time_limit}
    return {"key": one.task.key, **asdict(one.task), **row, "version": version("tvselect")}
