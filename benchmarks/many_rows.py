"""Many rows offline: plays that see a random part of the rows, next to plays that see all.

``make bench-rows`` prints the tables and records them.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.records import heading, record
from tvselect import BartReward, ThompsonSelector
from tvstudy.simulation import score, simulate

SETUPS = ("linear", "friedman-correlated", "forest", "liang")
N_COLUMNS = 50


REWARDS = {
    "all": BartReward(max_samples=None),
    "500 a play (auto)": BartReward(),
    "1,000 a play, 40 trees": BartReward(max_samples=1000, n_trees=40),
}


def run(setup: str, n_rows: int, rows_seen: str, seed: int) -> list[float]:
    """Hamming distance and seconds of one selection with 100 plays."""
    d = simulate(setup, n_rows, N_COLUMNS, random_state=seed)
    selector = ThompsonSelector(REWARDS[rows_seen], n_plays=100, random_state=seed)
    started = time.perf_counter()
    selector.fit(d.X, d.y)
    return [score(selector.support_, d.support).hamming, time.perf_counter() - started]


def row(setup: str, n_rows: int, rows_seen: str, n_seeds: int) -> str:
    hamming, seconds = np.array([run(setup, n_rows, rows_seen, s) for s in range(n_seeds)]).T
    error = hamming.std(ddof=1) / np.sqrt(n_seeds)
    line = (
        f"| {setup} | {n_rows:,} | {rows_seen} | {hamming.mean():.2f} ± {error:.2f} | "
        f"{np.median(seconds):.1f} |"
    )
    print(line, flush=True)
    return line


def main() -> None:
    ThompsonSelector(n_plays=2, random_state=0).fit(np.eye(40), np.arange(40.0))
    lines = [
        *heading("Many rows: plays that see a part of them", "make bench-rows"),
        f"p={N_COLUMNS}, 100 plays, mean over data sets (5; 3 with 100,000 rows).",
        "",
        "| set-up | n | rows seen | Hamming distance | seconds |",
        "|---|---|---|---|---|",
    ]
    for setup in SETUPS:
        for rows_seen in REWARDS:
            lines.append(row(setup, 10_000, rows_seen, 5))
        lines.append(row(setup, 100_000, "500 a play (auto)", 3))
    record("many_rows.md", lines)


if __name__ == "__main__":
    main()
