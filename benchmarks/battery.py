"""The battery: who selects noise, who finds signals, at which rate of false discoveries.

``make battery`` runs what its folder of rows lacks, then writes the page; ``make battery-page``
writes it from the rows that are there. Nothing was ever chosen on these data sets.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.records import heading, record
from tvstudy.error_tables import (
    NULL,
    duel_table,
    fdr_table,
    not_finished_list,
    null_tables,
    time_table,
)
from tvstudy.methods import CONTROLLED
from tvstudy.problems import BATTERY, Part, battery_tasks, missing_tables
from tvstudy.rows import LEVELS, Row
from tvstudy.runner import run_study
from tvstudy.tables import hamming_table

FEWER: dict[str, dict[Part, int]] = {"IPSS": {"nulls": 2, "signals": 20}}
"""Data sets of a cell for a method that takes minutes; others see all."""


def limits(methods: Sequence[str], numbers: Sequence[str]) -> dict[str, Mapping[Part, int]]:
    """Data sets per method: the plan's, or ``20`` for all, or ``IPSS=5`` for one."""
    chosen = {name: FEWER.get(name, {}) for name in methods}
    for text in numbers:
        name, _, number = text.rpartition("=")
        for one in [name] if name else methods:
            chosen[one] = {"nulls": int(number), "signals": int(number)}
    return chosen


def page(rows: Sequence[Row], absent: Mapping[str, str], rival: str, command: str) -> list[str]:
    planned = {(cell.setup, cell.n_rows, cell.n_columns): k for k, cell in enumerate(BATTERY)}
    place = {name: k for k, name in enumerate(CONTROLLED)}
    rows = sorted(
        (
            row
            for row in rows
            if (row["setup"], row["n_rows"], row["n_columns"]) in planned and row["method"] in place
        ),
        key=lambda row: (
            planned[row["setup"], row["n_rows"], row["n_columns"]],
            place[row["method"]],
        ),
    )
    lost = not_finished_list(rows)
    lines = [
        *heading("Errors: the battery", command),
        f"TVS-FDR: `ThompsonSelector()` as it comes. IPSS: the package {rival} as it comes, "
        "columns with a q-value of at most the level. "
        "One thread a run; the data sets were used for nothing else. ± is a standard error. "
        "Rows are independent everywhere; columns AR(0.9) are correlated at 0.9 to the power of "
        "their distance.",
    ]
    if any(row["setup"].startswith(NULL) for row in rows):
        lines += [
            "",
            "## Nothing there",
            "",
            "Share of runs (%) that select anything at level 0.1, in brackets the number of runs; "
            "n=300. Bold: above 10 % by more than two standard errors of a share of 10 %.",
            "",
            *null_tables(rows),
        ]
    for level in LEVELS if any(not row["setup"].startswith(NULL) for row in rows) else ():
        lines += [
            "",
            f"## Signals, level {level}",
            "",
            "Mean number of signals found and rate of false discoveries, by columns and by "
            "claims (a claim is false when none of its columns is a signal). Bold: above the "
            "level by more than two standard errors.",
            "",
            *fdr_table(rows, level),
            "",
            "Signals found on the data sets that both methods saw:",
            "",
            *duel_table(rows, *CONTROLLED, level),
        ]
    if paper := [row for row in rows if row["setup"].startswith("paper")]:
        lines += [
            "",
            "## Hamming distance, the paper's set-ups, level 0.1",
            "",
            *hamming_table(paper),
        ]
    lines += ["", "## Time", "", "Median seconds of a run, CPU / clock.", "", *time_table(rows)]
    if absent:
        lines += ["", *(f"Left out: {name}. {why}" for name, why in absent.items())]
    if lost:
        lines += ["", "## Runs without a result", "", *lost]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="folder of the rows")
    parser.add_argument("--part", choices=("nulls", "signals"), help="both by default")
    parser.add_argument("--method", nargs="*", choices=tuple(CONTROLLED), default=[])
    parser.add_argument("-n", nargs="*", default=[], help="data sets: 20, or IPSS=5 TVS-FDR=20")
    parser.add_argument("--setup", default="", help="only those that begin with this: bumps")
    parser.add_argument("--columns", type=int, nargs="*", default=[], help="only these widths")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-limit", type=float, help="seconds per selection")
    parser.add_argument("--only-page", action="store_true", help="run nothing new")
    parser.add_argument("--page", default="errors.md", help="its name in docs/results")
    options = parser.parse_args()
    absent = missing_tables()
    for name, why in absent.items():
        print(f"{name} is left out: {why}")
    cells = [
        cell
        for cell in BATTERY
        if cell.setup not in absent
        and options.part in (None, cell.part)
        and cell.setup.startswith(options.setup)
        and (not options.columns or cell.n_columns in options.columns)
    ]
    methods = options.method or list(CONTROLLED)
    for name in methods:
        CONTROLLED[name](0)  # what it imports, the processes of the runs need not
    todo = battery_tasks(cells, limits(methods, options.n))
    rows = run_study(
        [] if options.only_page else todo,
        options.rows,
        n_jobs=options.jobs,
        time_limit=options.time_limit,
    )
    only = f" SETUP={options.setup} PAGE={options.page}" if options.setup else ""
    record(options.page, page(rows, absent, f"ipss {version('ipss')}", f"make battery{only}"))


if __name__ == "__main__":
    main()
