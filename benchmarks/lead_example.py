"""The lead example of the paper, offline: Friedman, n=300, p=10,000, independent columns.

``make bench-lead`` prints the tables and records them: how well the paper's rule and the default
reward do over 20 data sets, how long a selection takes, and what two threads gain.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.records import heading, record
from tvselect import BartReward, Search, StreamingThompsonSelector, ThompsonSelector
from tvstudy.simulation import Simulated, score, simulate


def _paper(n_iterations: int, n_plays: int, *, sparse: bool = False) -> dict[str, Any]:
    reward = BartReward.paper(n_iterations, sparse=sparse)
    return dict(reward=reward, n_plays=n_plays, max_fdr=None)


SETTINGS: dict[str, tuple[dict[str, Any], float]] = {
    "paper rule, M=100, T=500": (_paper(100, 500), 0.5),
    "paper rule, sparse prior, M=100, T=500": (_paper(100, 500, sparse=True), 0.5),
    "paper rule, M=1,000, T=300": (_paper(1000, 300), 0.2),
    "paper rule, sparse prior, M=1,000, T=300": (_paper(1000, 300, sparse=True), 0.2),
    "default": ({}, 0.1),
    "default, no decoys, T=300": (dict(n_plays=300, max_fdr=None), 0.1),
}


def data(seed: int) -> Simulated:
    return simulate("friedman", 300, 10_000, random_state=seed)


def accuracy(n_seeds: int) -> list[str]:
    """Mean Hamming distance over data sets 0, 1, ..., which no setting was tuned on."""
    rows = []
    for name, (settings, target) in SETTINGS.items():
        scores, seconds = [], []
        for seed in range(n_seeds):
            d = data(seed)
            started = time.perf_counter()
            selector = ThompsonSelector(**settings, random_state=seed).fit(d.X, d.y)
            seconds.append(time.perf_counter() - started)
            scores.append(score(selector.support_, d.support))
        hamming = np.array([s.hamming for s in scores])
        clean = sum(s.fdp == 0 for s in scores)
        rows.append(
            f"| {name} | {hamming.mean():.2f} ± {hamming.std(ddof=1) / np.sqrt(n_seeds):.2f} | "
            f"{target} | {np.mean([s.power for s in scores]) * 5:.2f} | {clean} of {n_seeds} | "
            f"{np.median(seconds):.2f} |"
        )
        print(rows[-1], flush=True)
    return rows


def two_threads(n_repeats: int = 5) -> list[str]:
    """The same selection with one thread and with two, in turns; the medians and their ratio.

    Plays of a window, or of two chains, are scored at the same time; the numbers are the same.
    """
    d, long = data(100), simulate("friedman", 20_000, 1000, random_state=100)
    offline, stream = ThompsonSelector, StreamingThompsonSelector
    paper, default = BartReward.paper(100), BartReward()
    windows, chains = Search(window=32), Search(n_chains=2)
    cases: dict[str, tuple[type, BartReward, dict[str, Any], Simulated]] = {
        "paper rule, T=500, window=32": (offline, paper, dict(n_plays=500, search=windows), d),
        "paper rule, T=500, two chains": (offline, paper, dict(n_plays=500, search=chains), d),
        "default, T=300, window=32": (offline, default, dict(n_plays=300, search=windows), d),
        "default, T=300, two chains": (offline, default, dict(n_plays=300, search=chains), d),
        "stream, default, window=32": (stream, default, dict(batch_size=200, search=windows), long),
        "stream, default, two chains": (stream, default, dict(batch_size=200, search=chains), long),
    }
    rows = []
    for name, (kind, reward, settings, where) in cases.items():
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(n_repeats):
            for n_jobs, taken in seconds.items():
                selector = kind(reward, max_fdr=None, random_state=0, n_jobs=n_jobs, **settings)
                started = time.perf_counter()
                selector.fit(where.X, where.y)
                taken.append(time.perf_counter() - started)
        one, two = np.median(seconds[1]), np.median(seconds[2])
        rows.append(f"| {name} | {one:.2f} | {two:.2f} | {one / two:.2f} |")
        print(rows[-1], flush=True)
    return rows


def choice_milliseconds() -> float:
    """Cost of choosing the arms of a play at p = 10,000."""
    from tvselect.bandit.arms import Arms
    from tvselect.bandit.oracle import Oracle

    arms, oracle, rng = Arms(10_000), Oracle(), np.random.default_rng(0)
    started = time.perf_counter()
    for _ in range(1000):
        oracle.choose(arms, rng)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    n_seeds = options.seeds
    ThompsonSelector(n_plays=2, random_state=0).fit(data(101).X[:, :10], data(101).y)
    lines = [
        *heading("The lead example, offline", "make bench-lead"),
        f"Friedman, n=300, p=10,000, independent columns; {n_seeds} data sets.",
        "",
        "| setting | mean Hamming distance | target | signals found of 5 | no false positive | "
        "seconds |",
        "|---|---|---|---|---|---|",
        *accuracy(n_seeds),
        "",
        f"Choosing the arms of a play: {choice_milliseconds():.3f} ms.",
        "",
        "One thread and two, measured in turns (the stream: 20,000 rows, 1,000 columns):",
        "",
        "| | one thread, s | two threads, s | ratio |",
        "|---|---|---|---|",
        *two_threads(options.repeats),
    ]
    record("lead_example.md", lines)


if __name__ == "__main__":
    main()
