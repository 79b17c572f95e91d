"""``python -m tvstudy``: run a study, check it, and make its table and figure."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tvselect.workers import WorkerError
from tvstudy.check import check_rows
from tvstudy.figures import plot_study
from tvstudy.grid import OFFLINE, ONLINE, tasks
from tvstudy.methods import METHODS
from tvstudy.rows import read_rows
from tvstudy.runner import run_study
from tvstudy.tables import calibration_table, check_table, hamming_table, verdict

EXAMPLES = """examples:
  python -m tvstudy run offline --out rows --jobs 2 --time-limit 600
  python -m tvstudy run offline --out rows --method TVS --method "LASSO, 1 s.e." -r 5
  python -m tvstudy table rows
  python -m tvstudy check rows --rows 3
  python -m tvstudy figure rows --columns 1000 --to study.png
  python -m tvstudy methods
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="python -m tvstudy",
        description="Set-ups x methods x replicates: who finds the signals?",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run what the folder has no row of yet")
    run.add_argument("grid", choices=("offline", "online"))
    run.add_argument("--out", type=Path, required=True, help="folder of the rows")
    run.add_argument("--method", action="append", help="repeat for several; all by default")
    run.add_argument("--setup", action="append", help="repeat for several; all by default")
    run.add_argument("--columns", type=int, action="append", help="numbers of columns")
    run.add_argument("-r", "--replicates", type=int, help="data sets of each cell")
    run.add_argument("-j", "--jobs", type=int, default=1)
    run.add_argument(
        "--cluster", metavar="ADDRESS", help="run on a Dask cluster, such as tcp://head-node:8786"
    )
    run.add_argument("--time-limit", type=float, help="seconds for one run of a method")
    table = commands.add_parser("table", help="Hamming distances as a table")
    table.add_argument("folder", type=Path)
    table.add_argument(
        "--calibration", metavar="METHOD", help="how often selection rates are right, instead"
    )
    table.add_argument("--against", metavar="METHOD", help="that method and its hardest rivals")
    check = commands.add_parser("check", help="run some rows again: is the selection the same?")
    check.add_argument("folder", type=Path)
    check.add_argument("--rows", type=int, default=2, help="rows of every method (default: 2)")
    check.add_argument(
        "--longest", type=float, default=60.0, help="only rows of so many seconds (default: 60)"
    )
    check.add_argument("--seed", type=int, default=0, help="of the choice of rows (default: 0)")
    check.add_argument("-j", "--jobs", type=int, default=1)
    figure = commands.add_parser("figure", help="four panels: FDP, power, Hamming, time")
    figure.add_argument("folder", type=Path)
    figure.add_argument("--columns", type=int, required=True)
    figure.add_argument("--to", type=Path, required=True)
    commands.add_parser("methods", help="list the methods")
    return top


def main(arguments: list[str] | None = None) -> int:
    """Parse, call, print; returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        if options.command == "methods":
            print("\n".join(METHODS))
        elif options.command == "run":
            grid = OFFLINE if options.grid == "offline" else ONLINE
            online = options.grid == "online"
            names = options.method or [m for m in METHODS if ("online" in m) == online]
            todo = tasks(
                grid,
                names,
                n_replicates=options.replicates,
                setups=options.setup,
                n_columns=options.columns,
            )
            rows = run_study(
                todo,
                options.out,
                n_jobs=options.jobs,
                time_limit=options.time_limit,
                cluster=options.cluster,
            )
            print("\n".join(hamming_table(rows)))
        elif options.command == "table":
            rows = read_rows(options.folder)
            if options.calibration:
                lines = calibration_table(rows, options.calibration)
            elif options.against:
                lines = verdict(rows, options.against)
            else:
                lines = hamming_table(rows)
            print("\n".join(lines))
        elif options.command == "check":
            checked = check_rows(
                read_rows(options.folder),
                options.rows,
                longest=options.longest,
                n_jobs=options.jobs,
                random_state=options.seed,
            )
            print("\n".join(check_table(checked)))
            return 0 if all(one.same for one in checked) else 1
        else:
            plot_study(read_rows(options.folder), options.columns).savefig(options.to, dpi=120)
            print(f"Written: {options.to}")
    except KeyboardInterrupt:
        print("interrupted; the rows so far are kept: run again to go on", file=sys.stderr)
        return 130
    except (OSError, ValueError, WorkerError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
