"""Heavy tails and an outlier: what the default finds, next to noise that is taken for normal.

``make bench-tails`` prints the table and records it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed

from benchmarks.records import heading, record
from tvselect import BartReward, ThompsonSelector
from tvstudy.problems import draw

CELLS = (
    ("linear", 300, 10_000),
    ("forest", 300, 1_000),
    ("liang", 300, 1_000),
    ("AR(0.5): 10 signals", 300, 1_000),
    ("bumps", 500, 500),
)
FIRST_SEED = 900_000
Noise = Callable[[np.random.Generator, np.ndarray], np.ndarray]
KINDS: dict[str, Noise] = {
    "as it is": lambda rng, noise: noise,
    "t(2)": lambda rng, noise: noise.std() * rng.standard_t(2, noise.size),
    "one value of 10^12": lambda rng, noise: np.where(np.arange(noise.size) == 7, 1e12, noise),
}


def run(cell: tuple[str, int, int], kind: str, seed: int) -> list[tuple[int, int]]:
    """Signals found and false columns, by the default and by normal noise."""
    d = draw(*cell, FIRST_SEED + seed)
    y = d.f + KINDS[kind](np.random.default_rng([FIRST_SEED, seed]), d.y - d.f)
    results = []
    for noise in ("auto", "normal"):
        reward = BartReward.with_decoys().set_params(noise=noise)
        selector = ThompsonSelector(reward, n_jobs=1, random_state=seed).fit(d.X, y)
        found = selector.support_
        results.append((int((found & d.support).sum()), int((found & ~d.support).sum())))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=6, help="data sets a row")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    lines = [
        *heading("Heavy tails and outliers", "make bench-tails"),
        f'`ThompsonSelector()` as it comes (FDR 0.1) and with `noise="normal"`, {options.n} data '
        "sets a row: signals found, and false columns in brackets.",
        "",
        "| problem | noise | default | normal noise | difference |",
        "|---|---|---|---|---|",
    ]
    with Parallel(n_jobs=options.jobs) as parallel:
        for cell in CELLS:
            for kind in KINDS:
                results = parallel(delayed(run)(cell, kind, seed) for seed in range(options.n))
                both = np.array(results)
                gain = both[:, 0, 0] - both[:, 1, 0]
                (auto, auto_false), (normal, normal_false) = both.mean(axis=0)
                error = gain.std(ddof=1) / np.sqrt(options.n)
                lines.append(
                    f"| {cell[0]}, n={cell[1]}, p={cell[2]:,} | {kind} | {auto:.2f} "
                    f"({auto_false:.2f}) | {normal:.2f} ({normal_false:.2f}) | "
                    f"{gain.mean():+.2f} ± {error:.2f} |"
                )
                print(lines[-1], flush=True)
    record("heavy_tails.md", lines)


if __name__ == "__main__":
    main()
