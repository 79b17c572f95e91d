"""The paper's set-ups as streams: errors and CPU time, beside the paper's rule in the same run.

``make bench-streams`` prints the table and records it; a few set-ups, sizes or streams by options.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from benchmarks.records import heading, record_as_made
from benchmarks.streams_errors import draw
from tvselect import StreamingThompsonSelector

SETUPS = ("linear", "friedman", "forest", "liang", "null, AR(0.9)")
RULES: dict[str, dict[str, Any]] = {
    "the paper's rule": {"max_fdr": None},
    "default": {},
    "knockoffs": {"decoys": "knockoffs"},
}
P = 1000


def play(
    setup: str, n: int, size: int, n_rounds: int, rules: list[str], seed: int
) -> list[tuple[int, int, float]]:
    """Signals missed, false ones and CPU seconds of every rule on one stream."""
    X, y, signals = draw(setup, n, P, seed)
    found = []
    for rule in rules:
        selector = StreamingThompsonSelector(
            batch_size=size, n_rounds=n_rounds, random_state=seed, **RULES[rule]
        )
        started = time.process_time()
        support = selector.fit(X, y).support_
        seconds = time.process_time() - started
        missed, false = np.sum(signals & ~support), np.sum(support & ~signals)
        found.append((int(missed), int(false), seconds))
    return found


def page(options: argparse.Namespace) -> Iterator[str]:
    given, rules = " ".join(sys.argv[1:]), ["the paper's rule", *options.rules]
    yield from heading("The paper's set-ups as streams", f"python -m benchmarks.streams {given}")
    yield (
        f"{P:,} columns, five signals or none, level 0.1; {options.streams} streams a cell. "
        "Errors: signals missed plus false ones, mean and standard error; in brackets the false "
        "ones. CPU: seconds of the process, all rules in the same run."
    )
    titles = "".join(f" {rule}: errors | CPU s |" for rule in rules)
    yield from ("", f"| set-up | rows | batch | rounds |{titles} CPU, {rules[1]} : paper |")
    yield "|---|---|---|---|" + "---|---|" * len(rules) + "---|"
    cells = product(options.rounds, SETUPS, options.rows, options.sizes)
    for n_rounds, setup, n, size in cells:
        streams = [play(setup, n, size, n_rounds, rules, seed) for seed in range(options.streams)]
        found = np.array(streams, dtype=float)
        errors, seconds = found[:, :, :2].sum(axis=2), found[:, :, 2].mean(axis=0)
        spread = errors.std(axis=0, ddof=1) / np.sqrt(len(found))
        false = found[:, :, 1].mean(axis=0)
        told = "".join(
            f" {e:.2f} \u00b1 {s:.2f} ({f:.2f}) | {t:.1f} |"
            for e, s, f, t in zip(errors.mean(axis=0), spread, false, seconds, strict=True)
        )
        yield f"| {setup} | {n:,} | {size:,} | {n_rounds} |{told} {seconds[1] / seconds[0]:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--rules", nargs="+", default=["default", "knockoffs"])
    parser.add_argument("--rounds", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000])
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000])
    warnings.simplefilter("ignore", RuntimeWarning)
    record_as_made("streams.md", page(parser.parse_args()))


if __name__ == "__main__":
    main()
