"""The paper's studies offline and online: false discoveries, power, Hamming distance and time."""

from __future__ import annotations

from typing import Any

from benchmarks.paper.edition import Edition, save
from tvstudy.figures import plot_study
from tvstudy.grid import OFFLINE, ONLINE, Grid, tasks
from tvstudy.rows import by_cpu
from tvstudy.runner import run_study
from tvstudy.tables import error_table, hamming_table

TIME_LIMIT = 1_200.0
QUICK_METHODS = ("TVS-FDR", "TVS", "TVS paper, M=500", "DART, 50 trees", "spike-and-slab LASSO")
OFFLINE_METHODS = (
    "TVS-FDR",
    "TVS",
    "TVS, patience 100",
    "TVS paper, M=500",
    "TVS paper, M=1000",
    "BART, 20 trees",
    "DART, 50 trees",
    "spike-and-slab LASSO",
    "SIS + BART",
    "LASSO, 1 s.e.",
    "horseshoe",
)
ONLINE_METHODS = (
    *(
        f"TVS online, s={size}, M={m}, {until}"
        for size in (500, 1000)
        for m in (500, 1000)
        for until in ("1 rounds", "5 rounds", "10 rounds", "patience 100")
    ),
    "alpha-investing",
)
SLOW = {"horseshoe": 3, "LASSO, 1 s.e.": 10}
"""Data sets of methods that would take days with all of them."""
SLOWEST = "horseshoe"
"""Left out of editions with fewer data sets: an hour for one of each cell."""
ABOUT = {
    "offline": "n=300, 500 plays. The paper: TVS has the lowest Hamming distance across the board. "
    "TVS: today's reward with the paper's cut at 0.5; TVS-FDR: today's default, with at most a "
    "tenth of the selected false; TVS paper: the paper's reward, M iterations.",
    "online": "n=10,000, p=1,000, batches of s rows, today's reward with M iterations and the "
    "paper's cut at 0.5; until the model is stable for 100 plays (patience).",
}


def _study(edition: Edition, kind: str, grid: Grid, methods: Any, n: int, **only: Any) -> list[str]:
    todo = [
        task
        for task in tasks(grid, methods, n_replicates=n, **only)
        if task.replicate < SLOW.get(task.method, n)
    ]
    keys = {task.key for task in todo}
    rows = run_study(todo, edition.folder / kind, n_jobs=edition.n_jobs, time_limit=TIME_LIMIT)
    order = {method: k for k, method in enumerate(methods)}
    rows = sorted((r for r in by_cpu(rows) if r["key"] in keys), key=lambda r: order[r["method"]])
    lines = [
        f"## The study {kind}",
        "",
        f"{ABOUT[kind]} {n} data set(s) a cell (the paper: 50), in brackets where fewer.",
        "",
        *hamming_table(rows, n),
        "",
        "Signals missed + noise selected:",
        "",
        *error_table(rows),
    ]
    for p in sorted({row["n_columns"] for row in rows}):
        lines += ["", save(plot_study(rows, p), f"study_{kind}_{p}")]
    return lines


def offline(edition: Edition) -> list[str]:
    methods, n = edition.either(OFFLINE_METHODS, QUICK_METHODS), edition.n_sets(50, 2)
    if edition.at_most is not None:
        methods = tuple(method for method in methods if method != SLOWEST)
    only = edition.either({}, {"n_columns": [1_000]})
    return _study(edition, "offline", OFFLINE, methods, n, **only)


def online(edition: Edition) -> list[str]:
    methods, n = edition.either(ONLINE_METHODS, ONLINE_METHODS[:2]), edition.n_sets(20, 2)
    return _study(edition, "online", ONLINE, methods, n)
