"""How the default of error control was chosen: variants on data sets that serve for this alone.

``make choose-errors`` runs what its folder of rows lacks and records the page. A row is known by
the name of its variant: a variant that is changed needs a new name.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.records import heading, record
from tvselect import BartReward, ThompsonSelector
from tvstudy.error_tables import choice_table, not_finished_list
from tvstudy.methods import ALL_METHODS, Method
from tvstudy.problems import BATTERY, TUNING, battery_tasks
from tvstudy.runner import run_study

VARIANTS: dict[str, dict[str, Any]] = {
    "default: 30 trees, penalty 0.5": {},
    "default, no burn-in": {"burn_in": 0},
    "40 trees, penalty 1": {"reward": BartReward()},
    "50 trees, penalty 0.5": {
        "reward": BartReward(n_trees=50, n_iterations=500, penalty=0.5, min_splits=2.0)
    },
    "default, half of the rows in a play": {
        "reward": BartReward(
            n_trees=30, n_iterations=500, penalty=0.5, min_splits=1.5, max_samples=0.5
        )
    },
    "default, knockoffs": {"decoys": "knockoffs"},
    "no control: the median model": {"max_fdr": None},
}
"""What each variant gives to ``ThompsonSelector``."""
CELLS = {
    ("null: normal, normal", 300, 200),
    ("null: normal, normal", 300, 2_000),
    ("null: AR(0.9), t(2)", 300, 200),
    ("null: 0-1, rare class", 300, 200),
    ("paper: linear", 300, 1_000),
    ("paper: friedman-correlated", 300, 1_000),
    ("paper: forest", 300, 1_000),
    ("paper: liang", 300, 1_000),
    ("bumps", 500, 500),
    ("bumps: classes", 500, 500),
    ("AR(0.5): 20 signals", 300, 1_000),
    ("AR(0.9): 10 signals", 300, 1_000),
}


def variant(settings: dict[str, Any]) -> Method:
    return lambda seed: ThompsonSelector(**settings, random_state=seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="folder of the rows")
    parser.add_argument("-n", type=int, default=10, help="data sets of a cell")
    parser.add_argument("--variant", nargs="*", choices=tuple(VARIANTS), default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-limit", type=float, help="seconds per selection")
    parser.add_argument("--only-page", action="store_true", help="run nothing new")
    options = parser.parse_args()
    ALL_METHODS.maps.append({name: variant(settings) for name, settings in VARIANTS.items()})
    cells = [
        replace(cell, n_sets=options.n)
        for cell in BATTERY
        if (cell.setup, cell.n_rows, cell.n_columns) in CELLS
    ]
    todo = battery_tasks(cells, {name: {} for name in options.variant or VARIANTS}, first=TUNING)
    rows = run_study(
        [] if options.only_page else todo,
        options.rows,
        n_jobs=options.jobs,
        time_limit=options.time_limit,
    )
    place = {name: k for k, name in enumerate(VARIANTS)}
    rows = sorted(
        (row for row in rows if row["method"] in place), key=lambda row: place[row["method"]]
    )
    lines = [
        *heading("Error control: what was compared", "make choose-errors"),
        f"{options.n} data sets of a cell, numbered from {TUNING:,} on; those of "
        "[the battery](errors.md) are others. Every variant by its own rule (`support_`). "
        "Select anything: share of the runs without signals that do. In the cells: share of the "
        "signals found, rate of false columns. ± is a standard error.",
        "",
        *choice_table(rows),
        "",
        *(f"- {name}: `{settings or 'as it comes'}`" for name, settings in VARIANTS.items()),
    ]
    if lost := not_finished_list(rows):
        lines += ["", "## Runs without a result", "", *lost]
    record("errors_choice.md", lines)


if __name__ == "__main__":
    main()
