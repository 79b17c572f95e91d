"""Wild cells: errors on the paper's set-ups with one cell of a hundred replaced, and without.

``make check-contamination`` prints the table and records it; it fails where wild cells cost more
than one error on average and ``fit`` says nothing of them.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.records import heading, record
from tvselect import ThompsonSelector
from tvselect.inputs.doubts import DoubtWarning
from tvstudy.simulation import simulate

SETUPS = ("linear", "friedman-correlated", "forest", "liang")
WILD = (999.0, -9999.0, 1e6, -1e6, 1e12)
SHARE, MOST_ERRORS = 0.01, 1.0
FIRST_SEED = 950_000
TABLES = ("as they are", "wild columns", "wild columns and outcome")


class Errors(NamedTuple):
    """Of one fit: signals missed, false columns, and whether there was a warning."""

    missed: int
    false: int
    warned: bool


def contaminate(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Replace one value of a hundred, at places drawn at random."""
    n = round(SHARE * values.size)
    out = values.copy()
    out.flat[rng.choice(values.size, n, replace=False)] = rng.choice(WILD, n)
    return out


def run(setup: str, n_rows: int, n_columns: int, seed: int) -> list[Errors]:
    """Errors on one data set, as it is and with wild cells."""
    data = simulate(setup, n_rows, n_columns, random_state=FIRST_SEED + seed)
    rng = np.random.default_rng([FIRST_SEED, seed])
    X, y = contaminate(data.X, rng), contaminate(data.y, rng)
    errors = []
    for columns, outcome in ((data.X, data.y), (X, data.y), (X, y)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            selector = ThompsonSelector(n_jobs=1, random_state=seed).fit(columns, outcome)
        found = selector.support_
        missed, false = (data.support & ~found).sum(), (found & ~data.support).sum()
        warned = any(issubclass(one.category, DoubtWarning) for one in said)
        errors.append(Errors(int(missed), int(false), warned))
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=20, help="data sets of a set-up")
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    lines = [
        *heading("Wild cells", "make check-contamination"),
        f"The paper's set-ups with {options.rows} rows and {options.columns:,} columns, "
        f"{options.n} data sets each; one cell of a hundred is replaced by one of "
        f"{', '.join(f'{value:g}' for value in WILD)}, in the columns, and in the outcome, too. "
        "`ThompsonSelector()` as it comes (FDR 0.1). Errors are signals missed and false columns, "
        "on average; the law: at most one more than without wild cells, or a warning.",
        "",
        "| set-up | cells | missed | false | errors more | warned | holds |",
        "|---|---|---|---|---|---|---|",
    ]
    holds = True
    with Parallel(n_jobs=options.jobs) as parallel:
        for setup in SETUPS:
            results = parallel(
                delayed(run)(setup, options.rows, options.columns, seed)
                for seed in range(options.n)
            )
            values = np.array(results, dtype=float)
            errors = values[:, :, 0] + values[:, :, 1]
            for kind, name in enumerate(TABLES):
                missed, false, warned = values[:, kind].mean(axis=0)
                more = errors[:, kind] - errors[:, 0]
                fits = more.mean() <= MOST_ERRORS or warned == 1.0
                holds &= fits
                spread = more.std(ddof=1) / np.sqrt(options.n) if options.n > 1 else 0.0
                cost = "" if kind == 0 else f"{more.mean():+.2f} ± {spread:.2f}"
                lines.append(
                    f"| {setup} | {name} | {missed:.2f} | {false:.2f} | {cost} | "
                    f"{warned:.0%} | {'yes' if fits else 'no'} |"
                )
                print(lines[-1], flush=True)
    record("contamination.md", lines)
    sys.exit(not holds)


if __name__ == "__main__":
    main()
