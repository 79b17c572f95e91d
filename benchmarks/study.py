"""The paper's study with its rivals: runs what is missing, then writes tables and figures.

``make study-offline`` and ``make study-online`` keep the rows in a folder of their own (``--rows``)
and go on where they stopped. Methods that take minutes see fewer data sets; the page says how many.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

from benchmarks.records import ROOT, heading, record
from tvstudy.check import check_rows
from tvstudy.figures import plot_study
from tvstudy.grid import OFFLINE, ONLINE, Grid, Task, tasks
from tvstudy.methods import METHODS
from tvstudy.rows import Row
from tvstudy.runner import run_study
from tvstudy.tables import (
    calibration_table,
    check_table,
    error_table,
    hamming_table,
    verdict,
)

WIDE = 10_000
FEWER: dict[str, int] = {
    "LASSO, 1 s.e.": 20,
    "LASSO, CV": 20,
    "TVS paper sparse, M=500": 20,
    "TVS paper sparse, M=1000": 20,
    "random forest": 10,
    "horseshoe": 3,
    "Boruta": 3,
    "RFECV": 3,
    "knockoffs, q=0.1": 5,
    "knockoffs, q=0.2": 5,
    "knockoffs, TVS, q=0.1": 5,
}
"""Data sets of methods that would take days with all of them."""
NOT_WIDE = {
    **dict.fromkeys(("horseshoe", "Boruta", "RFECV"), 1),
    **dict.fromkeys(("knockoffs, q=0.1", "knockoffs, q=0.2", "knockoffs, TVS, q=0.1"), 0),
}
"""Data sets with 10,000 columns; knockoffs need 9 GB and 25 minutes for a single one."""
UNSEEN = 20
"""Data sets more, drawn when all choices had been made."""
UNSEEN_BY = (
    "TVS",
    "TVS, patience 100",
    "DART, 10 chains of 20 trees",
    "spike-and-slab LASSO",
    "SIS + BART",
)
OFFLINE_RIVALS_OF_STREAMS = (
    "TVS",
    "alpha-investing",
    "DART, 50 trees",
    "spike-and-slab LASSO",
    "LASSO, 1 s.e.",
)
SLOW_ON_STREAMS = {"DART, 50 trees": 5, "LASSO, 1 s.e.": 5}


def offline() -> list[Task]:
    methods = [m for m in METHODS if "online" not in m]
    planned = [
        task
        for task in tasks(OFFLINE, methods)
        if task.replicate < _limit(task.method, task.n_columns)
    ]
    more = tasks(OFFLINE, UNSEEN_BY, n_replicates=OFFLINE.n_replicates + UNSEEN)
    return planned + [task for task in more if task.replicate >= OFFLINE.n_replicates]


def _limit(method: str, n_columns: int) -> int:
    limit = FEWER.get(method, OFFLINE.n_replicates)
    return NOT_WIDE.get(method, limit) if n_columns == WIDE else limit


def online() -> list[Task]:
    methods = [m for m in METHODS if "online" in m] + list(OFFLINE_RIVALS_OF_STREAMS)
    return [
        task
        for task in tasks(ONLINE, methods)
        if task.replicate < SLOW_ON_STREAMS.get(task.method, ONLINE.n_replicates)
    ]


def hold(rows: list[Row], per_method: int, n_jobs: int) -> str:
    """Whether rows that are run again select the same."""
    checked = check_rows(rows, per_method, n_jobs=n_jobs)
    print("\n".join(check_table(checked)))
    other = [one.key for one in checked if not one.same]
    return (
        f"Do they hold for the code of this page? {per_method} rows of every method, those of "
        "less than a minute, taken at random, were run again "
        f"(`python -m tvstudy check`): {len(checked) - len(other)} of {len(checked)} "
        "selected the same columns" + (f", other ones in {'; '.join(other)}." if other else ".")
    )


def page(kind: str, grid: Grid, rows: list[Row], champion: str, held: str) -> list[str]:
    n = grid.n_replicates
    lines = [
        *heading(f"The study, {kind}", f"make study-{kind}"),
        f"Mean Hamming distance ± standard error over {n} data sets, n={grid.sizes[0][0]:,}. "
        "Bold: the lowest of its column, and whatever lies within one standard error of the "
        "difference from it. In brackets: the data sets that a slow method saw, where these "
        f"are not {n}, or finished within the time limit. Seconds: of one selection on one "
        "core, mean of the medians of the cells, on a machine that ran several at a time and "
        "paused some: rough.",
        "",
        f"The rows were collected over several commits and put together here. {held}",
        "",
        *hamming_table(rows, grid.n_replicates),
        "",
        *verdict(rows, champion),
        "",
        "## Signals missed and noise selected",
        "",
        *error_table(rows),
    ]
    for _, p in grid.sizes:
        lines += ["", f"![four panels, p={p:,}](../images/study_{kind}_{p}.png)"]
    lines += [
        "",
        "## Calibration",
        "",
        f"All data sets and set-ups, {champion}: how often a variable with a final selection rate "
        "between two values is a signal. It is a frequency of the rule, not a posterior "
        "probability; the threshold is 0.5.",
        "",
        *calibration_table(rows, champion),
    ]
    return lines


def unseen(rows: list[Row], champion: str) -> list[str]:
    """The section about data sets on which nothing had been chosen."""
    if not rows:
        return []
    return [
        "",
        "## Data sets that nobody had seen",
        "",
        "While the reward of TVS was chosen, a form close to the final one had been run on 22 of "
        f"the {OFFLINE.n_replicates} data sets above. These {UNSEEN} were drawn when all choices "
        "had been made, and run once, with the rivals that were hardest above:",
        "",
        *hamming_table(rows, UNSEEN),
        "",
        *verdict(rows, champion),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("offline", "online"))
    parser.add_argument("--rows", type=Path, required=True, help="folder of the rows")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=1200.0, help="seconds per selection")
    parser.add_argument("--check", type=int, default=3, help="rows of a method to run again")
    parser.add_argument("--only-pages", action="store_true", help="run nothing new")
    options = parser.parse_args()
    grid, todo = (OFFLINE, offline()) if options.kind == "offline" else (ONLINE, online())
    champion = "TVS" if options.kind == "offline" else "TVS online, s=1000, M=1000, patience 100"
    rows = run_study(
        [] if options.only_pages else todo,
        options.rows,
        n_jobs=options.jobs,
        time_limit=options.time_limit,
    )
    place = {method: k for k, method in enumerate(METHODS)}
    rows = sorted(rows, key=lambda row: place[row["method"]])
    later = [row for row in rows if row["replicate"] >= grid.n_replicates]
    rows = [row for row in rows if row["replicate"] < grid.n_replicates]
    held = hold(rows, options.check, options.jobs)
    matplotlib.use("Agg")
    (ROOT / "docs" / "images").mkdir(parents=True, exist_ok=True)
    for _, p in grid.sizes:
        figure = plot_study(rows, p)
        figure.savefig(ROOT / "docs" / "images" / f"study_{options.kind}_{p}.png", dpi=80)
    lines = page(options.kind, grid, rows, champion, held) + unseen(later, champion)
    record(f"study_{options.kind}.md", lines)


if __name__ == "__main__":
    main()
