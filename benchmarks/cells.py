"""TVS alone on the cells of both studies: the figure that a change of defaults must not worsen.

``make study-cells`` runs what its folder of rows lacks, then writes the page. The rivals on the
same data sets are in the study.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.records import heading, record
from tvstudy.grid import OFFLINE, ONLINE, Grid, tasks
from tvstudy.runner import run_study
from tvstudy.tables import error_table, hamming_table

CELLS: dict[str, tuple[Grid, list[str]]] = {
    "Tables": (OFFLINE, ["TVS", "TVS-FDR"]),
    "Streams": (ONLINE, ["TVS online, s=1000, M=1000, patience 100"]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="folder of the rows")
    parser.add_argument("-n", type=int, help="data sets a cell: those of the study")
    parser.add_argument("--streams", type=int, help="streams a cell: those of the study")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    lines = [
        *heading("The cells of the study, TVS alone", "make study-cells"),
        "Mean Hamming distance ± standard error on the data sets of the study. TVS and TVS online: "
        "the median rule (`max_fdr=None`); TVS-FDR: `ThompsonSelector()` as it comes.",
    ]
    for name, (grid, methods) in CELLS.items():
        n = (options.streams if name == "Streams" else options.n) or grid.n_replicates
        rows = run_study(
            tasks(grid, methods, n_replicates=n), options.rows / name.lower(), n_jobs=options.jobs
        )
        lines += ["", f"## {name}", "", *hamming_table(rows, n), "", "Signals missed + noise:"]
        lines += ["", *error_table(rows)]
    record("cells.md", lines)


if __name__ == "__main__":
    main()
