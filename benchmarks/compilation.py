"""How long the first fit on a machine takes, which compiles the kernels.

``make bench-compile`` prints the table and records it. Every fit is a fresh interpreter with an
empty cache of kernels; a second one beside it finds them there. Seconds of the processor, because
compilation is one thread of work that a busy machine only puts off.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.records import heading, record

N_TURNS = 3
MOST_SECONDS = 10.0
FIT = """
import time
import numpy as np
from tvselect import ThompsonSelector

rng = np.random.default_rng(0)
X = rng.random((100, 20))
signal = 4 * X[:, 3] + 0.5 * rng.standard_normal(100)
y = {outcome}
started = time.process_time()
ThompsonSelector(random_state=1{settings}).fit(X, y)
print(time.process_time() - started)
"""
OUTCOMES = {
    "a number": ("signal", ""),
    "two classes": ("signal > 2", ""),
    "three classes": ("np.digitize(signal, [1, 3]).astype(str)", ""),
    "grades": ("np.digitize(signal, [1, 3])", ", family='ordinal'"),
    "counts": ("rng.poisson(np.exp(signal / 2))", ", family='counts'"),
    "a number, plays in windows": ("signal", ", window=8"),
}


def seconds_of(script: str, cache: str) -> float:
    """Seconds of the processor that a fit takes in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env={**os.environ, "NUMBA_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"},
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return float(done.stdout)


def first_and_second(script: str) -> tuple[float, float]:
    """Of a fit that compiles, and of one that finds the kernels."""
    with tempfile.TemporaryDirectory() as cache:
        return seconds_of(script, cache), seconds_of(script, cache)


def page(seconds: dict[str, tuple[float, float]]) -> list[str]:
    """The table, and whether compilation is as short as it should be."""
    longest = max(first - second for first, second in seconds.values())
    return [
        *heading("Compilation", "make bench-compile"),
        f"A fit of 100 x 20 with the default settings, best of {N_TURNS} fresh interpreters, "
        "seconds of the processor: with an empty cache of kernels, and the next one.",
        "",
        "| outcome | first fit | next fit | compilation |",
        "|---|---:|---:|---:|",
        *(
            f"| {outcome} | {first:.1f} | {second:.1f} | {first - second:.1f} |"
            for outcome, (first, second) in seconds.items()
        ),
        "",
        f"At most {MOST_SECONDS:g} s of compilation: {'yes' if longest <= MOST_SECONDS else 'NO'}.",
    ]


def main() -> None:
    turns: dict[str, list[tuple[float, float]]] = {outcome: [] for outcome in OUTCOMES}
    for _ in range(N_TURNS):
        for name, (outcome, settings) in OUTCOMES.items():
            turns[name].append(first_and_second(FIT.format(outcome=outcome, settings=settings)))
    best = {
        name: (min(first for first, _ in done), min(second for _, second in done))
        for name, done in turns.items()
    }
    record("compile.md", page(best))


if __name__ == "__main__":
    main()
