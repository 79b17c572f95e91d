"""Two classes: errors next to DART and ipss, time next to a continuous outcome, a rare class.

``make bench-classes`` prints the tables and records them.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.judging import Judged, errors_of, judge
from benchmarks.records import heading, record
from tvselect import StreamingThompsonSelector, ThompsonSelector
from tvstudy.methods import ALL_METHODS
from tvstudy.simulation import simulate
from tvstudy.simulation.setups import cut

SETUPS = ("linear", "friedman-correlated", "forest", "liang")
RIVALS = ("DART, 50 trees", "IPSS")
FIRST_SEED = 800_000
RARE = 0.01


def compare(setup: str, seed: int, rivals: list[str]) -> list[Judged]:
    """The default on classes and on the outcome that was cut, then the rivals on classes."""
    d = simulate(setup, 500, 1_000, random_state=FIRST_SEED + seed)
    classes = cut(d, 0.5)
    for known in (classes, d):  # all is loaded before time counts
        judge(ThompsonSelector(n_plays=1, n_jobs=1, random_state=seed), known)
    return [
        judge(ThompsonSelector(n_jobs=1, random_state=seed), classes),
        judge(ThompsonSelector(n_jobs=1, random_state=seed), d),
        *(judge(ALL_METHODS[name](seed), classes) for name in rivals),
    ]


def rare(setup: str, seed: int) -> list[Judged]:
    """A class of 1 % of 20,000 rows: a table, a stream in ten rounds, and a longer stream."""
    short, long = (
        cut(simulate(setup, n, 50, random_state=FIRST_SEED + seed), RARE) for n in (20_000, 200_000)
    )
    stream = partial(StreamingThompsonSelector, batch_size=5_000, random_state=seed)
    return [
        judge(ThompsonSelector(n_jobs=1, random_state=seed), short),
        judge(stream(n_rounds=10), short),
        judge(stream(n_rounds=10, max_fdr=None), short),
        judge(stream(n_rounds=1), long),
    ]


RARE_NAMES = [
    "table of 20,000 rows",
    "stream of 20,000 rows",
    "the same, median rule",
    "stream of 200,000 rows",
]


def lines_of(setup: str, names: list[str], results: Any) -> list[str]:
    """Lines of a table: one for each method."""
    lines = []
    for name, made in zip(names, zip(*results, strict=True), strict=True):
        lines.append(f"| {setup} | {name} | {errors_of(made)} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=10, help="data sets a row")
    parser.add_argument("--rare", type=int, default=2, help="data sets with a rare class a row")
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, default=list(RIVALS))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    head = [
        "| set-up | method | Hamming distance | found of 5 | false | CPU seconds |",
        "|---|---|---|---|---|---|",
    ]
    names = ["TVS (default)", "TVS, outcome not cut", *options.rivals]
    lines = [
        *heading("Two classes", "make bench-classes"),
        "`ThompsonSelector()` as it comes (FDR 0.1). ± is a standard error.",
        "",
        f"## Cut at the median, n=500, p=1,000, {options.n} data sets a row",
        "",
        *head,
    ]
    ratios = []
    with Parallel(n_jobs=options.jobs) as parallel:
        for setup in SETUPS:
            results = parallel(
                delayed(compare)(setup, seed, options.rivals) for seed in range(options.n)
            )
            lines += lines_of(setup, names, results)
            ratios.append([both[0].seconds / both[1].seconds for both in results])
        lines += [
            "",
            "Time of two classes over that of the outcome not cut, same columns and seed: "
            + ", ".join(
                f"{setup} {np.mean(r):.2f}" for setup, r in zip(SETUPS, ratios, strict=True)
            )
            + f"; mean {np.mean(ratios):.2f}.",
            "",
            f"## A class of 1 % of the rows, p=50, {options.rare} data sets a row",
            "",
            "Streams in batches of 5,000 rows; 20,000 rows in ten rounds, 200,000 in one.",
            "",
            *head,
        ]
        for setup in SETUPS:
            results = parallel(delayed(rare)(setup, seed) for seed in range(options.rare))
            lines += lines_of(setup, RARE_NAMES, results)
    record("two_classes.md", lines)


if __name__ == "__main__":
    main()
