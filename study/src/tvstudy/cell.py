"""One task of a study: draw the data set, select, judge. In this process or in one of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict

import numpy as np
from threadpoolctl import threadpool_limits

from tvstudy.grid import Task
from tvstudy.methods import ALL_METHODS
from tvstudy.problems import draw
from tvstudy.rows import FINISHED, LEVELS, Row
from tvstudy.simulation import score, score_at

NOT_FINISHED, FAILED = "not finished", "failed"
LOWEST_SHOWN = 0.2


def run_task(task: Task) -> Row:
    """Draw the data set, select, and judge: what is new in a row."""
    data = draw(task.setup, task.n_rows, task.n_columns, task.data_seed)
    selector = ALL_METHODS[task.method](task.method_seed)
    started, cpu_started = time.perf_counter(), time.process_time()
    selector.fit(data.X, data.y)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    found = selector.get_support()
    row: Row = {"status": FINISHED, "seconds": seconds, **score(found, data.support)._asdict()}
    row["cpu_seconds"], row["n_signals"] = cpu_seconds, int(data.support.sum())
    row["selected"] = np.flatnonzero(found).tolist()
    row["n_plays"] = getattr(selector, "n_plays_", None)
    if hasattr(selector, "to_frame"):
        table = selector.to_frame().sort_index()
        shown = (table.times_played > 0) & (table.selection_rate >= LOWEST_SHOWN)
        rates = table.selection_rate[shown].round(4)
        row["selection_rates"] = [[int(j), rate] for j, rate in rates.items()]
    if (q_values := getattr(selector, "q_values_", None)) is not None:
        claims = getattr(selector, "claims_", None)
        judged = [score_at(level, q_values, data.support, claims) for level in LEVELS]
        row["at"] = [one._asdict() for one in judged]
    row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return row


def try_task(task: Task) -> Row:
    """:func:`run_task` on one thread; a method that fails is a result, too."""
    try:
        with threadpool_limits(1):
            return run_task(task)
    except Exception as error:
        return failed(f"{type(error).__name__}: {error}")


def run_apart(task: Task, time_limit: float | None) -> Row:
    """:func:`try_task` in a new process, which is ended when its time is over."""
    script = "from tvstudy.cell import main; main()"
    command = [sys.executable, "-c", script, json.dumps(asdict(task))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=time_limit)
    except subprocess.TimeoutExpired:
        return not_finished(time_limit)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-1:]
        return failed(": ".join([f"ended with code {done.returncode}", *said]))
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def failed(error: str) -> Row:
    """The result of a task that raised an error or was lost."""
    return {"status": FAILED, "error": error}


def not_finished(time_limit: float | None) -> Row:
    """The result of a task that ran out of time."""
    return {"status": NOT_FINISHED, "seconds": time_limit}


def main() -> None:
    """A task from the command line; its row as the last line that is printed."""
    print("\n" + json.dumps(try_task(Task(**json.loads(sys.argv[1])))))
