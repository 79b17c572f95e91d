"""Time and memory of a selection against the number of columns, from 1,000 to 1,000,000.

``make bench-wide`` prints the table and records it. Friedman's function, independent uniform
columns (float32, made in memory), 100 plays. Every size runs in a process
of its own, so that its peak memory can be read off.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np

from benchmarks.records import heading, in_fresh_process, record

SIZES = ((300, 1_000), (300, 10_000), (300, 100_000), (500, 1_000_000))
N_PLAYS = 100


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one_size(n_rows: int, n_columns: int, seed: int) -> dict[str, object]:
    from tvselect import ThompsonSelector

    rng = np.random.default_rng(seed)
    warm_up = rng.random((50, 10), dtype=np.float32)
    ThompsonSelector(n_plays=2, random_state=0).fit(warm_up, warm_up[:, 0])
    X = rng.random((n_rows, n_columns), dtype=np.float32)
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = f + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n_rows)
    before = peak_megabytes()
    started = time.process_time()
    selector = ThompsonSelector(n_plays=N_PLAYS, random_state=seed).fit(X, y)
    seconds = time.process_time() - started
    found = np.flatnonzero(selector.support_)
    return {
        "seconds": seconds,
        "before": before,
        "peak": peak_megabytes(),
        "signals": int((found < 5).sum()),
        "false": int((found >= 5).sum()),
    }


def main() -> None:
    if len(sys.argv) == 4:
        print(json.dumps(one_size(*map(int, sys.argv[1:]))))
        return
    lines = [
        *heading("Wide tables: time and memory against the number of columns", "make bench-wide"),
        f"Default settings, {N_PLAYS} plays, seconds of CPU. Memory: peak of the process in MB, "
        "before the fit (the table is in memory) and in all.",
        "",
        "| n | p | seed | signals found | false | CPU seconds | MB before | MB peak |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n_rows, n_columns in SIZES:
        for seed in (1, 2) if n_columns < 1_000_000 else (1,):
            r = in_fresh_process("wide", n_rows, n_columns, seed)
            lines.append(
                f"| {n_rows} | {n_columns:,} | {seed} | {r['signals']} of 5 | {r['false']} | "
                f"{r['seconds']:.1f} | {r['before']:.0f} | {r['peak']:.0f} |"
            )
            print(lines[-1], flush=True)
    record("wide.md", lines)


if __name__ == "__main__":
    main()
