"""Counts and grades: each family next to numbers, and what a family costs.

``make bench-counts`` prints the page and records it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.judging import errors_of, judge, warm_up, with_error
from benchmarks.records import heading, record
from tvselect import ThompsonSelector
from tvselect.inputs.outcome import survival_array
from tvstudy.simulation import Labelled, simulate_counts, simulate_grades

N_ROWS, N_COLUMNS = 300, 500
FIRST_SEED = 930_000
GRADES = {
    "3 even": (1 / 3, 1 / 3, 1 / 3),
    "3 uneven": (0.7, 0.2, 0.1),
    "5 even": (0.2, 0.2, 0.2, 0.2, 0.2),
    "5 uneven": (0.5, 0.25, 0.13, 0.07, 0.05),
}
Draw = Callable[[int, int, np.random.Generator], Labelled]
NUMBERS = ("counts", "gaussian")
COUNTS: dict[str, tuple[Draw, tuple[str, ...]]] = {
    "counts, median rate 0.3": (
        partial(simulate_counts, mean=0.3),
        (*NUMBERS, "ordinal", "probit"),
    ),
    "overdispersed, rate 1": (
        partial(simulate_counts, mean=1.0, shape=0.7),
        (*NUMBERS, "ordinal", "probit"),
    ),
    "counts, median rate 2": (partial(simulate_counts, mean=2.0), NUMBERS),
    "counts, median rate 20": (partial(simulate_counts, mean=20.0), NUMBERS),
}


def table(kind: Draw, seed: int) -> Labelled:
    return kind(N_ROWS, N_COLUMNS, np.random.default_rng(seed))


def lines_of(title: str, kind: Draw, families: tuple[str, ...], n: int) -> list[str]:
    """A line for each family; two classes are those above zero and the others."""
    lines = []
    for family in families:
        made = []
        for seed in range(FIRST_SEED, FIRST_SEED + n):
            d = table(kind, seed)
            if family == "probit":
                d = d._replace(y=(d.y > 0).astype(int))
            selector = ThompsonSelector(family=family, n_jobs=1, random_state=seed)
            made.append(judge(selector, d))
        lines.append(f"| {title} | {family} | {n} | {errors_of(made)} |")
        print(lines[-1], flush=True)
    return lines


def seconds_of_families(n: int) -> list[str]:
    """CPU seconds of a fit for each family: one table, its outcome cut as the family asks."""
    seconds: dict[str, list[float]] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + n):
        d = table(partial(simulate_counts, mean=20), seed)
        rank = d.y + np.random.default_rng(seed).random(d.y.size)
        thirds = np.digitize(rank, np.quantile(rank, [1 / 3, 2 / 3]))
        seen = np.minimum(rank, np.quantile(rank, 0.7))
        outcomes = {
            "gaussian": np.log(rank),
            "probit": (rank > np.median(rank)).astype(int),
            "classes": thirds,
            "ordinal": thirds,
            "counts": d.y,
            "survival": survival_array(seen, rank <= seen),
        }
        for family, y in outcomes.items():
            selector = ThompsonSelector(family=family, n_jobs=1, random_state=seed)
            seconds.setdefault(family, []).append(judge(selector, d._replace(y=y)).seconds)
    base = np.array(seconds["gaussian"])
    return [
        f"| {family} | {np.mean(spent):.1f} | {with_error(list(np.array(spent) / base))} |"
        for family, spent in seconds.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=3, help="data sets a row of grades")
    parser.add_argument("--counts", type=int, default=10, help="data sets a row of counts")
    parser.add_argument("--speed", type=int, default=1, help="data sets for the times")
    options = parser.parse_args()
    warm_up()
    lines = [
        *heading("Counts and grades", "make bench-counts"),
        f"`ThompsonSelector()` (FDR 0.1) with each family, n={N_ROWS}, p={N_COLUMNS}, five "
        "signals. probit: counts above zero or not. Overdispersed: the rates times a gamma "
        "variable of shape 0.7. ± is a standard error.",
        "",
        "| outcome | family | data sets | Hamming distance | found of 5 | false | CPU seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for title, (kind, families) in COUNTS.items():
        lines += lines_of(title, kind, families, options.counts)
    for name, shares in GRADES.items():
        kind = partial(simulate_grades, shares=shares)
        families = ("ordinal", "gaussian", "classes")
        lines += lines_of(f"grades, {name}", kind, families, options.n)
    lines += [
        "",
        "## Time",
        "",
        f"CPU seconds of a fit, all of it loaded before, on {options.speed} table(s) of counts "
        "(median rate 20): their logs (gaussian), above the median or not (probit), thirds "
        "(classes, ordinal), the counts, times of which 30 % are censored (survival).",
        "",
        "| family | CPU seconds | over those of gaussian |",
        "|---|---|---|",
        *seconds_of_families(options.speed),
    ]
    record("counts.md", lines)


if __name__ == "__main__":
    main()
