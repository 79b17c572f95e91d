"""How fast are the tree sampler and whole selections? ``make bench`` records the tables.

Everything runs in one process tied to one core, engines in turn, medians of repeats; the
first call of every engine, in which bartz compiles, is left out.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib.metadata import version
from statistics import median
from typing import Any, NamedTuple

from benchmarks import peers
from benchmarks.core_cases import N_TREES, friedman, one_chain
from benchmarks.judging import warm_up
from benchmarks.records import heading, record
from benchmarks.selection_speed import published_settings, selections
from tvselect.trees import bin_table, run_bart


class Case(NamedTuple):
    """One comparison."""

    label: str
    n_rows: int
    n_columns: int
    n_iterations: int
    sparse: bool
    target: int


CASES = (
    Case("(a) n=300, p=5,000, 100 iterations", 300, 5_000, 100, False, 200),
    Case("(b) n=300, p=50, 1,000 iterations", 300, 50, 1_000, False, 30),
    Case("(c) n=1,000, p=1,000, sparse prior, 1,000 iterations", 1_000, 1_000, 1_000, True, 60),
)


def engines(case: Case) -> dict[str, Callable[[int, int], Any]]:
    """Everything that is timed for a case, as functions of iterations and seed."""
    X, y = friedman(case.n_rows, case.n_columns)
    common = {"n_trees": N_TREES}
    found: dict[str, Callable[[int, int], Any]] = {
        "tvselect, binned before": one_chain(X, y, sparse=case.sparse),
        "tvselect, from the array": lambda n, seed: run_bart(
            X, y, sparse=case.sparse, n_iterations=n, n_burn=0, n_keep=1, random_state=seed
        ),
        "bartz, documented": lambda n, seed: peers.bartz_documented(
            X, y, n_iterations=n, seed=seed, sparse=case.sparse, **common
        ),
        "bartz, bare": lambda n, seed: peers.bartz_bare(
            X, y, n_iterations=n, seed=seed, sparse=case.sparse, **common
        ),
    }
    if not case.sparse:
        found["stochtree, documented"] = lambda n, seed: peers.stochtree_documented(
            X, y, n_iterations=n, seed=seed, **common
        )
        found["stochtree, bare"] = lambda n, seed: peers.stochtree_bare(
            X, y, n_iterations=n, seed=seed, **common
        )
    return found


def seconds(run: Callable[..., Any], *arguments: Any) -> float:
    started = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - started


def compare(case: Case, repeats: int) -> list[str]:
    """Time a case; returns rows of a table in Markdown."""
    running = engines(case)
    for run in running.values():
        run(case.n_iterations, 0)
    times: dict[str, list[float]] = {name: [] for name in running}
    for seed in range(1, repeats + 1):
        for name, run in running.items():
            n_calls = 10 if name.startswith("tvselect, binned") else 1
            times[name] += [seconds(run, case.n_iterations, seed) for _ in range(n_calls)]
    middle = {name: median(t) for name, t in times.items()}
    rows = []
    for name, t in middle.items():
        ratios = ""
        if name.startswith("tvselect"):
            for kind in ("documented", "bare"):
                rival = min(middle[other] for other in middle if other.endswith(kind))
                ratios += f" {rival / t:.0f} |"
        else:
            ratios = " | |"
        rows.append(
            f"| {case.label} | {name} | {1e3 * t:.2f} | {1e6 * t / case.n_iterations:.1f} |{ratios}"
        )
    return rows


def time_by_columns(repeats: int) -> list[str]:
    """Time per iteration at p = 100 and p = 100,000: sparse prior, binned before."""
    runs = {p: one_chain(*friedman(300, p), sparse=True) for p in (100, 100_000)}
    n_iterations = 5_000
    times: dict[int, list[float]] = {p: [] for p in runs}
    for seed in range(repeats + 1):
        for p, run in runs.items():
            times[p].append(seconds(run, n_iterations, seed))
    each = {p: 1e6 * median(t[1:]) / n_iterations for p, t in times.items()}
    rows = [f"| 300 | {p:,} | {each[p]:.2f} |" for p in each]
    return [*rows, f"| | ratio | {each[100_000] / each[100]:.2f} |"]


def time_by_rows(repeats: int) -> list[str]:
    """Time per iteration for n from 1,000 to 100,000: sparse prior, binned before."""
    rows = []
    first = 0.0
    for n_rows, n_iterations in ((1_000, 2_000), (10_000, 1_000), (100_000, 300)):
        run = one_chain(*friedman(n_rows, 100), sparse=True)
        run(10, 0)
        each = 1e6 * median(seconds(run, n_iterations, seed) for seed in range(repeats))
        each /= n_iterations
        first = first or each / n_rows
        rows.append(f"| {n_rows:,} | 100 | {each:.1f} | {each / n_rows / first:.2f} |")
    return rows


def time_of_binning(repeats: int) -> str:
    X, _ = friedman(300, 10_000)
    bin_table(X)
    return f"{median(seconds(bin_table, X) for _ in range(repeats)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warm_up()
    lines = [
        *heading("Speed next to others", "make bench"),
        f"One core; stochtree {version('stochtree')}, bartz "
        f"{version('bartz')} on jax {version('jax')}. {N_TREES} trees, second calls, medians of "
        f"{repeats} repeats, engines in turn.",
        "",
        "How many times faster than the faster of the two others: called as their documentation "
        "shows, and bare, the fastest way found to run just the sampler (see "
        "`benchmarks/peers.py`).",
        "",
        "| case | engine | ms | µs per iteration | x documented | x bare |",
        "|---|---|---|---|---|---|",
    ]
    for case in CASES:
        lines += compare(case, repeats)
    lines += [
        "",
        f"Binning 300 x 10,000 doubles: {time_of_binning(repeats)} s.",
        "",
        "## Columns",
        "",
        "Sparse prior, after binning, 5,000 iterations.",
        "",
        "| n | p | µs per iteration |",
        "|---|---|---|",
        *time_by_columns(repeats),
        "",
        "## Rows",
        "",
        "Sparse prior, after binning. Last column: time per iteration and row, relative to the "
        "first line; 1 is linear growth.",
        "",
        "| n | p | µs per iteration | relative time per row |",
        "|---|---|---|---|",
        *time_by_rows(min(repeats, 3)),
        "",
        "## Settings published for R",
        "",
        "Whole runs on the clock, with settings whose seconds in R the paper gives (its machine, "
        "not this one).",
        "",
        *published_settings(),
        "",
        "## Whole selections",
        "",
        "Friedman, n=300, p=1,000, one data set; TVS-FDR: `ThompsonSelector()` as it comes, IPSS: "
        f"ipss {version('ipss')} as it comes, Boruta: boruta_py {version('boruta')}.",
        "",
        *selections(),
    ]
    record("speed.md", lines)


if __name__ == "__main__":
    main()
