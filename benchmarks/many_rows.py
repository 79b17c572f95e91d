"""Many rows offline: what the default finds in 2,000 to 100,000 of them, and in what time.

``make bench-rows`` prints the tables and records them. The first table is the experiment behind
the rows and trees of a play, on data sets (seeds from 12,000 on) that serve for this choice alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from benchmarks.records import heading, record
from tvselect import BartReward, ThompsonSelector
from tvstudy.simulation import Simulated, simulate, simulate_autoregressive

N_COLUMNS = 200
TUNING = 12_000
PROBLEMS: dict[str, Callable[..., Simulated]] = {
    **{
        setup: partial(simulate, setup)
        for setup in ("linear", "friedman-correlated", "forest", "liang")
    },
    **{
        f"{n} signals": partial(simulate_autoregressive, n_signals=n, correlation=0.5)
        for n in (20, 50)
    },
}
CHOICE = ((500, 30), (2_000, 30), (2_000, 60), (5_000, 30), (5_000, 60), (10_000, 30))
SIZES = (2_000, 10_000, 100_000)


def reward_of(rows: int, trees: int) -> BartReward:
    """The default, but for the rows and trees of a play."""
    usual = BartReward.with_decoys()
    min_splits = usual.min_splits * trees / usual.n_trees
    return usual.set_params(max_samples=rows, n_trees=trees, min_splits=min_splits)


def run(reward: BartReward | None, problem: str, n_rows: int, seed: int) -> list[float]:
    """Signals, those found, false ones and seconds."""
    d = PROBLEMS[problem](n_rows, N_COLUMNS, random_state=seed)
    started = time.perf_counter()
    selector = ThompsonSelector(reward, n_jobs=1, random_state=seed).fit(d.X, d.y)
    seconds = time.perf_counter() - started
    found = selector.support_
    return [d.support.sum(), (found & d.support).sum(), (found & ~d.support).sum(), seconds]


def row(cells: Sequence[str], results: Sequence[list[float]]) -> str:
    """A line of a table."""
    n_signals, found, false, seconds = np.array(results).T
    error = found.std(ddof=1) / np.sqrt(len(results))
    line = (
        f"| {' | '.join(cells)} | {n_signals.mean():.0f} | {found.mean():.1f} ± {error:.1f} | "
        f"{false.mean():.1f} | {np.median(seconds):.0f} |"
    )
    print(line, flush=True)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=3, help="data sets a row")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    columns = "signals | found | false | seconds |\n|---|---|---|" + "---|" * 4
    lines = [
        *heading("Many rows", "make bench-rows"),
        f"p={N_COLUMNS}, the default selector (FDR 0.1), one core; mean over {options.n} data "
        "sets a row, median of the seconds.",
        "",
        "## The choice: rows and trees of a play, 10,000 rows",
        "",
        *f"| problem | rows seen | trees | {columns}".split("\n"),
    ]
    with Parallel(n_jobs=options.jobs) as parallel:

        def results(
            reward: BartReward | None, problem: str, n: int, first: int
        ) -> list[list[float]]:
            seeds = range(first, first + options.n)
            done: list[list[float]] = parallel(delayed(run)(reward, problem, n, s) for s in seeds)
            return done

        for problem in ("friedman-correlated", "50 signals"):
            for rows, trees in CHOICE:
                found = results(reward_of(rows, trees), problem, 10_000, TUNING)
                lines.append(row((problem, f"{rows:,}", f"{trees}"), found))
        lines += ["", "## The default, next to 500 rows a play", ""]
        lines += f"| problem | n | rows seen | {columns}".split("\n")
        for problem in PROBLEMS:
            for n in SIZES:
                for name, reward in ("default", None), ("500", reward_of(500, 30)):
                    lines.append(row((problem, f"{n:,}", name), results(reward, problem, n, 0)))
    record("many_rows.md", lines)


if __name__ == "__main__":
    main()
