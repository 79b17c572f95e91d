"""Many rows offline: what the default finds in 2,000 to 100,000 of them, and in what time.

``make bench-rows`` prints the table and records it; ``make bench-rows PART=choice`` the experiment
behind the rows and trees of a play, on data sets that serve for this choice alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.judging import judge, warm_up, with_error
from benchmarks.records import heading, record_as_made
from tvselect import BartReward, ThompsonSelector
from tvstudy.simulation import Simulated, simulate, simulate_autoregressive

N_COLUMNS = 200
FIRST_SEED, TUNING = 0, 12_000
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


def cells(reward: BartReward | None, problem: str, n_rows: int, seeds: range) -> str:
    """Signals, those found, false ones and the median of the seconds."""
    made = []
    for seed in seeds:
        d = PROBLEMS[problem](n_rows, N_COLUMNS, random_state=seed)
        made.append(judge(ThompsonSelector(reward, n_jobs=1, random_state=seed), d))
    return (
        f"{d.support.sum()} | {with_error([one.found for one in made])} | "
        f"{with_error([one.false for one in made])} | {np.median([m.seconds for m in made]):.0f}"
    )


def default(n: int) -> Iterator[str]:
    """The default next to 500 rows a play."""
    yield from heading("Many rows", "make bench-rows")
    yield (
        f"p={N_COLUMNS}, `ThompsonSelector()` as it comes (FDR 0.1), next to plays of 500 rows; "
        f"one core; {n} data set(s) a row, median of the CPU seconds. ± is a standard error."
    )
    yield from ("", "| problem | n | rows of a play | signals | found | false | seconds |")
    yield "|---|---|---|---|---|---|---|"
    for problem in PROBLEMS:
        for n_rows in SIZES:
            for name, reward in ("default", None), ("500", reward_of(500, 30)):
                found = cells(reward, problem, n_rows, range(FIRST_SEED, FIRST_SEED + n))
                yield f"| {problem} | {n_rows:,} | {name} | {found} |"


def choice(n: int) -> Iterator[str]:
    """Rows and trees of a play."""
    yield from heading("Rows and trees of a play", "make bench-rows PART=choice")
    yield (
        f"10,000 rows, p={N_COLUMNS}, error control at 0.1, one core; {n} data set(s) a row, which "
        "served for this choice alone; median of the CPU seconds."
    )
    yield from ("", "| problem | rows of a play | trees | signals | found | false | seconds |")
    yield "|---|---|---|---|---|---|---|"
    for problem in ("friedman-correlated", "50 signals"):
        for rows, trees in CHOICE:
            found = cells(reward_of(rows, trees), problem, 10_000, range(TUNING, TUNING + n))
            yield f"| {problem} | {rows:,} | {trees} | {found} |"


PARTS = {"default": ("many_rows.md", default), "choice": ("rows_of_a_play.md", choice)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=3, help="data sets a row")
    parser.add_argument("--part", choices=PARTS, default="default")
    options = parser.parse_args()
    warm_up()
    page, lines = PARTS[options.part]
    record_as_made(page, lines(options.n))


if __name__ == "__main__":
    main()
