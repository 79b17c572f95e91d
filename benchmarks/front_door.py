"""The front door: ``tvs select`` end to end next to ``fit`` alone on the same table.

``make bench-front`` prints the table and records it. Friedman's example with 300 rows, 300 plays
of the default reward; ``tvs select`` is a process of its own, from the start of Python to the
report on disk. At most 1.5 times the fit plus 3 s is allowed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from benchmarks.records import heading, record
from tvselect import ThompsonSelector

N_ROWS, N_PLAYS = 300, 300
TABLES = ((1_000, "parquet"), (10_000, "parquet"), (30_000, "parquet"), (100_000, "parquet"),
          (10_000, "csv"))  # fmt: skip
TIMES, PLUS = 1.5, 3.0
LINEAR = 1.5


def make(n_columns: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Friedman's example: five columns matter."""
    rng = np.random.default_rng(n_columns)
    X = rng.random((N_ROWS, n_columns))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, y + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(N_ROWS)


def write(X: NDArray[np.float64], y: NDArray[np.float64], path: Path) -> None:
    """The table as a file."""
    table = pa.table([*X.T, y], names=[*(f"x{j}" for j in range(X.shape[1])), "y"])
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path)


def select(path: Path, out: Path, plays: int = N_PLAYS) -> None:
    """``tvs select``, as a user runs it."""
    command = ["-m", "tvselect.cli", "select", str(path), "-t", "y", "--plays", str(plays)]
    # Installed packages are compiled to bytecode; so are they here.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        [sys.executable, *command, "--seed", "0", "--quiet", "--out", str(out)],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    assert (out / "report.html").exists()


class Seconds(NamedTuple):
    """Time on the clock and of the processor; the latter does not depend on the neighbours."""

    clock: float
    processor: float


def fastest(work: Callable[[int], object], repeats: int) -> Seconds:
    """Seconds of the fastest of some runs."""
    found = []
    for number in range(repeats):
        started, before = time.perf_counter(), os.times()
        work(number)
        clock, after = time.perf_counter() - started, os.times()
        found.append(Seconds(clock, sum(after[:4]) - sum(before[:4])))
    return min(found)


def measure(n_columns: int, suffix: str, folder: Path, repeats: int) -> tuple[Seconds, Seconds]:
    """Seconds of ``fit`` and of ``tvs select``."""
    X, y = make(n_columns)
    path = folder / f"t{n_columns}.{suffix}"
    write(X, y, path)
    selector = ThompsonSelector(n_plays=N_PLAYS, random_state=0)
    fit = fastest(lambda _: selector.fit(X, y), repeats)
    name = f"run-{n_columns}-{suffix}"
    return fit, fastest(lambda number: select(path, folder / f"{name}-{number}"), repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--most", type=int, default=100_000, help="leave out wider tables")
    options = parser.parse_args()
    rows, beyond = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X, y = make(20)
        write(X, y, folder / "t20.parquet")
        ThompsonSelector(n_plays=2, random_state=0).fit(X, y)
        select(folder / "t20.parquet", folder / "run-20", 20)
        for n_columns, suffix in TABLES:
            if n_columns > options.most:
                continue
            fit, whole = measure(n_columns, suffix, folder, options.repeats)
            limit = Seconds(*(TIMES * seconds + PLUS for seconds in fit))
            if suffix == "parquet":
                beyond[n_columns] = whole.processor
            cells = (f"{a:.2f} | {b:.2f}" for a, b in (fit, whole, limit))
            kept = (w <= most for w, most in zip(whole, limit, strict=True))
            verdicts = " | ".join("yes" if k else "no" for k in kept)
            rows.append(f"| {N_ROWS} x {n_columns:,} {suffix} | {' | '.join(cells)} | {verdicts} |")
            print(rows[-1], flush=True)
    record(
        "front_door.md",
        [
            *heading("The front door: tvs select next to fit", "make bench-front"),
            f"{N_PLAYS} plays of the default reward; `tvs select` is a process of its own, report "
            f"included; fastest of {options.repeats}. Allowed are {TIMES:g} times the fit plus "
            f"{PLUS:g} s.",
            "",
            "Pairs of columns: by the clock, and time of the processor.",
            "",
            "| table | fit, s | | tvs select, s | | allowed, s | | kept | |",
            "|---|---|---|---|---|---|---|---|---|",
            *rows,
            "",
            *linearity(beyond),
        ],
    )


def linearity(seconds: dict[int, float]) -> list[str]:
    """Whether further columns cost the same, however many there are."""
    sizes = sorted(seconds)[1:]
    slopes = {
        (few, many): (seconds[many] - seconds[few]) / (many - few) * 10_000
        for few, many in pairwise(sizes)
    }
    lines = [
        f"From {few:,} to {many:,} columns: {slope:.2f} s of the processor for every 10,000 more."
        for (few, many), slope in slopes.items()
    ]
    if len(slopes) > 1:
        first, *_, last = slopes.values()
        verdict = "linear in columns" if last <= LINEAR * first else "more than linear in columns"
        lines.append(f"The time is {verdict}.")
    return lines


if __name__ == "__main__":
    main()
