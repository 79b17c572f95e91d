"""The paper's online table: Liang's set-up, n=20,000, p=1,000, DART reward, one play per batch.

``make study-online-table`` prints the table and records it: mean Hamming distance and seconds over
data sets that nothing was tuned on, next to the paper's figures (one data set, another machine).
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.records import heading, record
from tvselect import BartReward, StreamingThompsonSelector
from tvstudy.simulation import score, simulate

PAPER: dict[tuple[int, int], dict[int, tuple[float, int]]] = {
    (500, 1): {100: (58.9, 4), 200: (34.1, 3), 500: (19.3, 3), 1000: (15.7, 4)},
    (500, 5): {100: (251.5, 4), 200: (165.0, 3), 500: (91.2, 3), 1000: (68.7, 2)},
    (1000, 1): {100: (84.0, 4), 200: (49.8, 3), 500: (29.5, 3), 1000: (23.6, 2)},
    (1000, 5): {100: (411.8, 4), 200: (241.5, 3), 500: (140.8, 1), 1000: (111.4, 0)},
    (10000, 1): {100: (541.8, 3), 200: (330.9, 2), 500: (220.4, 0), 1000: (182.8, 0)},
}
"""(M, rounds) -> batch size -> (seconds, Hamming distance)."""


def run(seed: int, n_iterations: int, n_rounds: int, batch_size: int) -> tuple[int, int, float]:
    """Signals missed, noise selected, seconds."""
    d = simulate("liang", 20_000, 1_000, random_state=seed)
    selector = StreamingThompsonSelector(
        BartReward(n_iterations=n_iterations),
        batch_size=batch_size,
        n_rounds=n_rounds,
        random_state=seed,
    )
    started = time.perf_counter()
    selector.fit(d.X, d.y)
    seconds = time.perf_counter() - started
    missed = int((d.support & ~selector.support_).sum())
    return missed, score(selector.support_, d.support).hamming - missed, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    X = np.random.default_rng(0).random((50, 5))
    StreamingThompsonSelector(random_state=0).fit(X, X[:, 0])
    lines = [
        *heading("The paper's online table", "make study-online-table"),
        f"Liang's set-up, n=20,000, p=1,000; mean over {options.seeds} data sets ± standard error. "
        "Paper: its printed figures (one data set, its own machine).",
        "",
        "| M | rounds | s | Hamming distance | missed | false | paper | seconds | paper |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    cells = [(m, r, s) for (m, r), sizes in PAPER.items() for s in sizes]
    with Parallel(n_jobs=options.jobs) as parallel:
        for m, r, s in tqdm(cells, unit=" cells"):
            results = parallel(delayed(run)(seed, m, r, s) for seed in range(options.seeds))
            missed, false, seconds = np.array(results).T
            hamming = missed + false
            error = hamming.std(ddof=1) / np.sqrt(options.seeds)
            paper_seconds, paper_hamming = PAPER[m, r][s]
            lines.append(
                f"| {m:,} | {r} | {s} | {hamming.mean():.1f} ± {error:.1f} | {missed.mean():.1f} | "
                f"{false.mean():.1f} | {paper_hamming} | {np.median(seconds):.2f} | "
                f"{paper_seconds:g} |"
            )
            tqdm.write(lines[-1])
    record("online_table.md", lines)


if __name__ == "__main__":
    main()
