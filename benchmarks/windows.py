"""What windows of plays cost in accuracy, and whether a thousand slow workers find the model.

``make bench-windows`` prints the tables and records them. In the first one the same data sets are
selected from with plays one by one (as in the paper), with the default window of two workers, and
with the widest window that any number of workers can lead to (a tenth of the plays that are done,
since burn-in once that is over). In the second the workers are simulated: plays are made here, and
a clock of their own says when they would have been back.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.records import heading, record
from tvselect import Search, ThompsonSelector
from tvselect.selectors.search import PLAYS_PER_WORKER
from tvselect.workers import Runner, TaskMap, Work, shares
from tvstudy.simulation import score, simulate

SETUPS = ("linear", "friedman-correlated", "forest", "liang")
SIZES = (1_000, 10_000)
WINDOWS = {
    "1 (the paper)": 1,
    f"{2 * PLAYS_PER_WORKER} (two workers)": 2 * PLAYS_PER_WORKER,
    "a tenth of the plays": 10_000,
}
FIRST_SEED = 7_000
SLOW_WORKERS, SLOW_PLAYS = 1_000, 3_000
MEAN_DELAY, STRAGGLERS, STRAGGLER_FACTOR = 5.0, 0.02, 20.0


class SlowWorkers:
    """Simulated workers: each play takes seconds, one in fifty twenty times as long.

    Parameters
    ----------
    n_workers : int
    rng : numpy.random.Generator
        Of the delays.
    """

    def __init__(self, n_workers: int, rng: np.random.Generator) -> None:
        self._n_workers, self._rng = n_workers, rng
        self.clock = 0.0
        self.work = 0.0

    def runner(self) -> Runner:
        """Where a selector may play."""
        return Runner(self._n_workers, self.bind)

    @contextmanager
    def bind(self, work: Work) -> Iterator[TaskMap]:
        """See :meth:`Runner.bind`."""

        def run(tasks: Sequence[Any]) -> list[Any]:
            delays = self._rng.exponential(MEAN_DELAY, len(tasks))
            delays *= np.where(self._rng.random(len(tasks)) < STRAGGLERS, STRAGGLER_FACTOR, 1.0)
            self.work += delays.sum()
            self.clock += max(sum(share) for share in shares(delays.tolist(), self._n_workers))
            return [work(task) for task in tasks]

        yield run


def hamming(setup: str, n_columns: int, seed: int, window: int) -> int:
    d = simulate(setup, 300, n_columns, random_state=seed)
    fitted = ThompsonSelector(search=Search(window=window), random_state=seed).fit(d.X, d.y)
    return score(fitted.get_support(), d.support).hamming


def accuracy(n_seeds: int, n_jobs: int) -> list[str]:
    """The table of windows."""
    cells = [(setup, p) for p in SIZES for setup in SETUPS]
    seeds = range(FIRST_SEED, FIRST_SEED + n_seeds)
    todo = [
        (*cell, seed, window) for window in WINDOWS.values() for cell in cells for seed in seeds
    ]
    with Parallel(n_jobs=n_jobs, return_as="generator") as parallel:
        done = parallel(delayed(hamming)(*task) for task in todo)
        found = list(tqdm(done, total=len(todo), unit=" fits"))
    values = np.reshape(found, (len(WINDOWS), len(cells), n_seeds)).astype(float)
    lines = [
        f"Mean Hamming distance over {n_seeds} data sets, n=300, 500 plays, default reward. Last "
        "column: mean difference from the paper's window over all cells, same data sets, ± its "
        "standard error.",
        "",
        "| most plays in a window | "
        + " | ".join(f"{setup}, {p:,}" for setup, p in cells)
        + " | mean | difference |",
        "|---|" + "---|" * (len(cells) + 2),
    ]
    for name, mine in zip(WINDOWS, values, strict=True):
        gap = (mine - values[0]).ravel()
        error = gap.std(ddof=1) / np.sqrt(gap.size)
        against = f"{gap.mean():+.2f} ± {error:.2f}" if gap.any() else "-"
        means = " | ".join(f"{v:.2f}" for v in mine.mean(axis=1))
        lines.append(f"| {name} | {means} | {mine.mean():.2f} | {against} |")
    return lines


def slow(setup: str, seed: int) -> str:
    """One row: the model of slow workers, and the time they would have taken."""
    d = simulate(setup, 300, 1_000, random_state=seed)
    workers = SlowWorkers(SLOW_WORKERS, np.random.default_rng(seed))
    fitted = ThompsonSelector(
        n_plays=SLOW_PLAYS, search=Search(runner=workers.runner()), random_state=seed
    ).fit(d.X, d.y)
    alone = ThompsonSelector(n_plays=SLOW_PLAYS, random_state=seed).fit(d.X, d.y)
    ours = score(fitted.get_support(), d.support)
    theirs = score(alone.get_support(), d.support)
    same = "yes" if np.array_equal(fitted.get_support(), alone.get_support()) else "no"
    return (
        f"| {setup} | {seed} | {ours.hamming} | {theirs.hamming} | {same} | "
        f"{workers.clock:,.0f} | {workers.work:,.0f} | {workers.work / workers.clock:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    lines = [
        *heading("Windows of plays", "make bench-windows"),
        *accuracy(options.seeds, options.jobs),
        "",
        f"## {SLOW_WORKERS:,} slow workers",
        "",
        f"Simulated: a play takes {MEAN_DELAY:g} s on average (exponential), one in "
        f"{1 / STRAGGLERS:.0f} {STRAGGLER_FACTOR:g} times as long; {SLOW_PLAYS:,} plays, window "
        f'"auto": {PLAYS_PER_WORKER * SLOW_WORKERS:,} plays, and never more than a tenth of those '
        "done, so that what a play learns comes back up to hundreds of plays later. n=300, "
        "p=1,000. Next to it the same number of plays one by one. The last three columns are "
        "simulated seconds: until the end, of work in all, and how many workers were busy on "
        "average.",
        "",
        "| set-up | seed | Hamming | plays one by one | same model | seconds | work | busy |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with Parallel(n_jobs=options.jobs, return_as="generator") as parallel:
        cells = [(setup, FIRST_SEED + k) for setup in SETUPS for k in range(2)]
        rows = parallel(delayed(slow)(*cell) for cell in cells)
        lines += tqdm(rows, total=len(cells), unit=" runs")
    record("windows.md", lines)


if __name__ == "__main__":
    main()
