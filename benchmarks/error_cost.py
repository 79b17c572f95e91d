"""What error control costs: fits with decoys and without, side by side, one thread.

``make bench-errors`` records the page.
"""

from __future__ import annotations

import argparse
import resource
import time
from multiprocessing import get_context

import numpy as np

from benchmarks.records import heading, record
from tvselect import ThompsonSelector

RULES = {"decoys, FDR 0.1": 0.1, "no decoys": None}


def fit(n_columns: int, seed: int, max_fdr: float | None) -> tuple[float, int, int, float]:
    """Seconds of the processor, signals found, false ones, and gigabytes at the most."""
    rng = np.random.default_rng([11, n_columns, seed])
    small = rng.random((100, 50), dtype=np.float32)
    ThompsonSelector(n_plays=5, max_fdr=max_fdr, random_state=0).fit(small, small[:, 0])
    X = rng.random((300, n_columns), dtype=np.float32)
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = signal + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(300)
    started = time.process_time()
    found = ThompsonSelector(max_fdr=max_fdr, random_state=seed).fit(X, y).support_
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return seconds, int(found[:5].sum()), int(found[5:].sum()), peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--columns", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000]
    )
    parser.add_argument("-n", type=int, default=3, help="data sets of up to 10,000 columns")
    options = parser.parse_args()
    lines = [
        *heading("What error control costs", "make bench-errors"),
        "300 rows, Friedman's function of five of the columns, default settings. Fits with "
        "and without decoys take turns, each in a process of its own. Means over the data sets.",
        "",
        "| columns | data sets | rule | found | false | CPU seconds | ratio | memory, GB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n_columns in options.columns:
        n_sets = options.n if n_columns <= 10_000 else 1
        results: dict[str, list[tuple[float, int, int, float]]] = {rule: [] for rule in RULES}
        for seed in range(n_sets):
            for rule, max_fdr in RULES.items():
                with get_context("spawn").Pool(1) as pool:
                    results[rule].append(pool.apply(fit, (n_columns, seed, max_fdr)))
        means = {rule: np.mean(rows, axis=0) for rule, rows in results.items()}
        for rule, (seconds, n_found, n_false, peak) in means.items():
            ratio = seconds / means["no decoys"][0]
            lines.append(
                f"| {n_columns:,} | {n_sets} | {rule} | {n_found:.1f} of 5 | {n_false:.1f} | "
                f"{seconds:.1f} | {ratio:.2f} | {peak:.1f} |"
            )
            print(lines[-1], flush=True)
    record("error_cost.md", lines)


if __name__ == "__main__":
    main()
