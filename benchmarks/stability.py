"""How much a second run with another seed selects the same: mean Jaccard index of ten reruns.

``make bench-stability`` prints the table and records it.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
from joblib import Parallel, delayed

from benchmarks.records import heading, record
from tvselect import Search, ThompsonSelector
from tvstudy.baselines import BartBaseline
from tvstudy.simulation import simulate

SETUPS = ("linear", "friedman-correlated", "forest", "liang")
SIZES = (1_000, 10_000)
FIRST_DATA_SEED = 5_000
METHODS = {
    "TVS": lambda seed: ThompsonSelector(random_state=seed),
    "DART, 50 trees": lambda seed: BartBaseline.dart(random_state=seed),
    "TVS, 4 chains": lambda seed: ThompsonSelector(search=Search(n_chains=4), random_state=seed),
}
BY_DEFAULT = ("TVS", "DART, 50 trees")


def jaccard(a: frozenset[int], b: frozenset[int]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


def reruns(name: str, setup: str, n_columns: int, data_seed: int, n_reruns: int) -> float:
    """Mean Jaccard index over the pairs of reruns on one data set."""
    d = simulate(setup, 300, n_columns, random_state=data_seed)
    found = [
        frozenset(np.flatnonzero(METHODS[name](seed).fit(d.X, d.y).get_support()).tolist())
        for seed in range(n_reruns)
    ]
    return float(np.mean([jaccard(a, b) for a, b in combinations(found, 2)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=3)
    parser.add_argument("--reruns", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--method", choices=METHODS, action="append", help=" and ".join(BY_DEFAULT) + " by default"
    )
    options = parser.parse_args()
    cells = [(setup, p) for p in SIZES for setup in SETUPS]
    seeds = range(FIRST_DATA_SEED, FIRST_DATA_SEED + options.data_sets)
    lines = [
        *heading("Stability: the same data, another seed", "make bench-stability"),
        f"Mean Jaccard index of the sets that {options.reruns} reruns select, over pairs, ± the "
        f"standard error over {options.data_sets} data sets, n=300, 500 plays. 1: always the same "
        "set.",
        "",
        "| method | " + " | ".join(f"{setup}, {p:,}" for setup, p in cells) + " | mean |",
        "|---|" + "---|" * (len(cells) + 1),
    ]
    with Parallel(n_jobs=options.jobs, verbose=1) as parallel:
        for name in options.method or BY_DEFAULT:
            values = np.reshape(
                parallel(
                    delayed(reruns)(name, *cell, seed, options.reruns)
                    for cell in cells
                    for seed in seeds
                ),
                (len(cells), len(seeds)),
            )
            errors = values.std(axis=1, ddof=1) / np.sqrt(len(seeds))
            lines.append(
                f"| {name} | "
                + " | ".join(
                    f"{v.mean():.2f} ± {e:.2f}" for v, e in zip(values, errors, strict=True)
                )
                + f" | {values.mean():.2f} |"
            )
            print(lines[-1], flush=True)
    record("stability.md", lines)


if __name__ == "__main__":
    main()
