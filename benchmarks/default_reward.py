"""Which settings of the BART reward select best: the experiment behind the default.

``make bench-default`` prints the table and records it. Every candidate differs from the reward of
a game with decoys in what its name says. The data sets (seeds from 12,000 on) serve for this
choice alone; what the documentation reports of the default comes from other seeds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.records import heading, record
from tvselect import BartReward, ThompsonSelector
from tvstudy.problems import draw
from tvstudy.simulation import Simulated

CANDIDATES: dict[str, dict[str, object]] = {
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
}
FIRST_SEED = 12_000


def with_heavy_tails(setup: str, n_rows: int, n_columns: int, random_state: int) -> Simulated:
    """A data set with noise of the same scale and the t law with two degrees of freedom."""
    d = draw(setup, n_rows, n_columns, random_state)
    noise = np.random.default_rng([random_state, 2]).standard_t(2, n_rows)
    return d._replace(y=d.f + (d.y - d.f).std() * noise)


CELLS: dict[str, Callable[[int], Simulated]] = {
    "linear, p=10,000": partial(draw, "linear", 300, 10_000),
    "forest, p=1,000": partial(draw, "forest", 300, 1_000),
    "liang, p=1,000": partial(draw, "liang", 300, 1_000),
    "20 signals, p=1,000": partial(draw, "AR(0.5): 20 signals", 300, 1_000),
    "bumps, n=250": partial(draw, "bumps", 250, 500),
    "bumps, n=500": partial(draw, "bumps", 500, 500),
    "bumps: classes, n=500": partial(draw, "bumps: classes", 500, 500),
    "forest, t(2) noise": partial(with_heavy_tails, "forest", 300, 1_000),
}


def run(name: str, cell: str, seed: int) -> tuple[float, float, float]:
    """Share of signals found, share of false ones among the selected, seconds."""
    d = CELLS[cell](seed)
    reward = BartReward.with_decoys().set_params(**CANDIDATES[name])
    started = time.process_time()
    selected = ThompsonSelector(reward, n_jobs=1, random_state=seed).fit(d.X, d.y).support_
    seconds = time.process_time() - started
    n_found, n_selected = (selected & d.support).sum(), selected.sum()
    return n_found / d.support.sum(), 1.0 - n_found / n_selected if n_selected else 0.0, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=4, help="data sets a cell")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=list(CANDIDATES))
    options = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + options.n)
    lines = [
        *heading("The default reward: what was compared", "make bench-default"),
        f"Share of the signals found (FDR 0.1), mean over {options.n} data sets a cell; n=300 "
        "unless said. False: share of the selected columns, over all cells; s.e.: of the mean "
        "over all cells; difference: from the default on the same data sets, with its s.e.",
        "",
        f"| reward | {' | '.join(CELLS)} | mean | s.e. | difference | false | CPU seconds |",
        "|---|" + "---|" * (len(CELLS) + 5),
    ]
    usual = None
    with Parallel(n_jobs=options.jobs) as parallel:
        for name in tqdm(options.only, unit=" rewards"):
            results = parallel(delayed(run)(name, cell, seed) for cell in CELLS for seed in seeds)
            found, false, seconds = np.moveaxis(
                np.array(results).reshape(len(CELLS), options.n, 3), 2, 0
            )
            usual = found if usual is None else usual
            lines.append(
                f"| {name} | {' | '.join(f'{share:.2f}' for share in found.mean(axis=1))} | "
                f"{found.mean():.3f} | {error_of_mean(found):.3f} | "
                f"{(found - usual).mean():+.3f} ± {error_of_mean(found - usual):.3f} | "
                f"{false.mean():.2f} | {seconds.mean():.1f} |"
            )
            tqdm.write(lines[-1])
    record("default_reward.md", lines)


def error_of_mean(values: np.ndarray) -> float:
    """Standard error of the mean over all cells, from the spread within them."""
    return float(np.sqrt((values.var(axis=1, ddof=1) / values.shape[1]).mean() / len(values)))


if __name__ == "__main__":
    main()
