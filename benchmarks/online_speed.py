"""Speed on a stream: Liang's set-up, n=20,000, p=1,000, batches of 1,000, M=1,000.

``make bench-online`` prints the table and records it. R: the same loop over the package BART, CPU
seconds on an idle core of such a machine (measured once, elsewhere).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.records import heading, record
from tvselect import BartReward, Search, StreamingThompsonSelector
from tvstudy.simulation import simulate

R_SECONDS = {1: 16.0, 5: 98.0}
REPEATS = 5


def seconds(X: np.ndarray, y: np.ndarray, **settings: Any) -> float:
    """Median over repeats, each with another seed."""
    times = []
    for seed in range(REPEATS):
        selector = StreamingThompsonSelector(random_state=seed, **settings)
        started = time.perf_counter()
        selector.fit(X, y)
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def main() -> None:
    d = simulate("liang", 20_000, 1_000, random_state=0)
    StreamingThompsonSelector(random_state=0).fit(d.X[:100, :10], d.y[:100])
    lines = [
        *heading("Speed on a stream", "make bench-online"),
        f"Liang's set-up, n=20,000, p=1,000, batches of 1,000; medians of {REPEATS} runs.",
        "",
        "| selector | rounds | seconds | R, CPU seconds | ratio |",
        "|---|---|---|---|---|",
    ]
    paper = BartReward(10, 1000, min_splits=1.0, proposals_per_column=0.0, penalty=0.0, shadows=0)
    selectors: dict[str, dict[str, Any]] = {
        "the paper's rule, sparse prior, M=1,000": {"reward": paper, "max_fdr": None},
        "default reward, no error control": {"max_fdr": None},
        "default: error control by knockoffs": {},
        "default, shuffled decoys": {"decoys": "shuffled"},
    }
    for name, settings in selectors.items():
        for n_rounds, r_seconds in R_SECONDS.items():
            t = seconds(d.X, d.y, n_rounds=n_rounds, **settings)
            lines.append(
                f"| {name} | {n_rounds} | {t:.2f} | {r_seconds:.0f} | {r_seconds / t:.0f} |"
            )
            print(lines[-1], flush=True)
    one = seconds(d.X, d.y, n_rounds=5, search=Search(n_chains=2), n_jobs=1)
    two = seconds(d.X, d.y, n_rounds=5, search=Search(n_chains=2), n_jobs=2)
    lines += [
        "",
        f"Two chains, five rounds: {one:.2f} s with one thread, {two:.2f} s with two: "
        f"{one / two:.2f} times the throughput.",
    ]
    record("online_speed.md", lines)


if __name__ == "__main__":
    main()
