"""Which settings of the BART reward select best: the experiment behind the defaults.

``make bench-default`` prints two tables and records them: of searches with decoys, and of those
without, by the median rule. Every candidate differs from the default in what its name says. The
data sets (seeds from 12,000 on) serve for this choice alone; what the documentation reports of
the defaults comes from other seeds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.records import heading, record
from tvselect import BartReward, ThompsonSelector
from tvstudy.problems import draw
from tvstudy.simulation import Simulated

FIRST_SEED = 12_000
Settings = dict[str, object]


def with_heavy_tails(setup: str, n_rows: int, n_columns: int, random_state: int) -> Simulated:
    """A data set with noise of the same scale and the t law with two degrees of freedom."""
    d = draw(setup, n_rows, n_columns, random_state)
    noise = np.random.default_rng([random_state, 2]).standard_t(2, n_rows)
    return d._replace(y=d.f + (d.y - d.f).std() * noise)


@dataclass(frozen=True)
class Search:
    """Candidates, the data sets they are compared on, and by what."""

    title: str
    page: str
    measure: str
    by_hamming: bool
    reward: Callable[[], BartReward]
    settings: Settings
    candidates: dict[str, Settings]
    cells: dict[str, Callable[[int], Simulated]]


SEARCHES = {
    "decoys": Search(
        title="The default reward: what was compared",
        page="default_reward.md",
        measure="Share of the signals found (FDR 0.1)",
        by_hamming=False,
        reward=BartReward.with_decoys,
        settings={},
        candidates={
            "default": {},
            "D=20": {"n_trees": 20},
            "D=50": {"n_trees": 50},
            "D=40, min_splits=2.5, penalty=1": {"n_trees": 40, "min_splits": 2.5, "penalty": 1.0},
            "M=1,000": {"n_iterations": 1000},
            "min_splits=1": {"min_splits": 1.0},
            "min_splits=2.5": {"min_splits": 2.5},
            "penalty=0.25": {"penalty": 0.25},
            "penalty=1": {"penalty": 1.0},
            "no screening": {"screening": False},
            "no pairs": {"pair_share": 0.0},
            "plain prior": {"sparse": False},
            "24 proposals a column": {"proposals_per_column": 24.0},
            "normal noise": {"noise": "normal"},
            "normal scores": {"noise": "scores"},
            "latents every iteration": {"latent_sweeps": 1},
        },
        cells={
            "linear, p=10,000": partial(draw, "linear", 300, 10_000),
            "forest, p=1,000": partial(draw, "forest", 300, 1_000),
            "liang, p=1,000": partial(draw, "liang", 300, 1_000),
            "20 signals, p=1,000": partial(draw, "AR(0.5): 20 signals", 300, 1_000),
            "bumps, n=250": partial(draw, "bumps", 250, 500),
            "bumps, n=500": partial(draw, "bumps", 500, 500),
            "bumps: classes, n=500": partial(draw, "bumps: classes", 500, 500),
            "forest, t(2) noise": partial(with_heavy_tails, "forest", 300, 1_000),
        },
    ),
    "median": Search(
        title="The default reward without decoys: what was compared",
        page="default_reward_median.md",
        measure="Hamming distance (median rule, 300 plays)",
        by_hamming=True,
        reward=BartReward,
        settings={"max_fdr": None, "n_plays": 300},
        candidates={
            "default": {},
            "D=20, M=1,000, min_splits=1": {"n_trees": 20, "n_iterations": 1000, "min_splits": 1.0},
            "D=40, M=500, min_splits=2": {"n_trees": 40, "n_iterations": 500, "min_splits": 2.0},
            "D=40, M=500, min_splits=3": {"n_trees": 40, "n_iterations": 500, "min_splits": 3.0},
            "D=30, M=500, min_splits=2": {"n_trees": 30, "n_iterations": 500, "min_splits": 2.0},
            "no screening": {"screening": False},
            "no penalty": {"penalty": 0.0},
            "no shadows": {"shadows": 0},
            "plain prior": {"sparse": False},
        },
        cells={
            f"{setup}, p={p:,}": partial(draw, setup, 300, p)
            for p in (1_000, 10_000)
            for setup in ("linear", "friedman-correlated", "forest", "liang")
        },
    ),
}


def run(search: Search, name: str, cell: str, seed: int) -> tuple[float, float, float]:
    """The measure, the share of false columns among the selected, CPU seconds."""
    d = search.cells[cell](seed)
    reward = search.reward().set_params(**search.candidates[name])
    selector = ThompsonSelector(reward, n_jobs=1, random_state=seed, **search.settings)
    started = time.process_time()
    selected = selector.fit(d.X, d.y).support_
    seconds = time.process_time() - started
    n_found, n_selected = (selected & d.support).sum(), selected.sum()
    false = 1.0 - n_found / n_selected if n_selected else 0.0
    share_found, hamming = n_found / d.support.sum(), (selected ^ d.support).sum()
    return hamming if search.by_hamming else share_found, false, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "searches", nargs="*", default=list(SEARCHES), help="decoys, median, or both"
    )
    parser.add_argument("-n", type=int, default=4, help="data sets a cell")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for name in options.searches:
        compare(SEARCHES[name], options.n, options.jobs)


def compare(search: Search, n_sets: int, n_jobs: int) -> None:
    """Run all candidates and record the table."""
    seeds = range(FIRST_SEED, FIRST_SEED + n_sets)
    lines = [
        *heading(search.title, "make bench-default"),
        f"{search.measure}, mean over {n_sets} data sets a cell; n=300 unless said. "
        "False: share of the selected columns, over all cells; s.e.: of the mean "
        "over all cells; difference: from the default on the same data sets, with its s.e.",
        "",
        f"| reward | {' | '.join(search.cells)} | mean | s.e. | difference | false | CPU seconds |",
        "|---|" + "---|" * (len(search.cells) + 5),
    ]
    usual = None
    with Parallel(n_jobs=n_jobs) as parallel:
        for name in tqdm(search.candidates, unit=" rewards"):
            results = parallel(
                delayed(run)(search, name, cell, seed) for cell in search.cells for seed in seeds
            )
            values, false, seconds = np.moveaxis(
                np.array(results).reshape(len(search.cells), n_sets, 3), 2, 0
            )
            usual = values if usual is None else usual
            lines.append(
                f"| {name} | {' | '.join(f'{mean:.2f}' for mean in values.mean(axis=1))} | "
                f"{values.mean():.3f} | {error_of_mean(values):.3f} | "
                f"{(values - usual).mean():+.3f} ± {error_of_mean(values - usual):.3f} | "
                f"{false.mean():.2f} | {seconds.mean():.1f} |"
            )
            tqdm.write(lines[-1])
    record(search.page, lines)


def error_of_mean(values: np.ndarray) -> float:
    """Standard error of the mean over all cells, from the spread within them."""
    return float(np.sqrt((values.var(axis=1, ddof=1) / values.shape[1]).mean() / len(values)))


if __name__ == "__main__":
    main()
