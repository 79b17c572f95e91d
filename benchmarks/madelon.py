"""Madelon: an interaction of five columns, and fifteen combinations of them, next to Boruta.

``make study-madelon`` prints the page and records it; the table is looked for in TVSELECT_DATA.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from benchmarks.records import heading, record
from tvselect import ThompsonSelector
from tvstudy.baselines import Boruta
from tvstudy.datasets import load_madelon

DEPTH = 7
"""Of Boruta's trees, as its documentation advises."""


def judged(name: str, selector: Any, X: Any, y: Any, support: Any) -> str:
    """A line of the table."""
    with threadpool_limits(1):
        started = time.process_time()
        selector.fit(X, y)
        seconds = time.process_time() - started
    found = selector.support_
    claims = getattr(selector, "claims_", ())
    claimed = {column for claim in claims for column in claim.columns}
    relevant = set(np.flatnonzero(support).tolist())
    in_claims = (
        f"{len(claims)} | {len(claimed & relevant)} | {len(claimed - relevant)}"
        if claims
        else "- | - | -"
    )
    line = (
        f"| {name} | {(found & support).sum()} | {(found & ~support).sum()} | {in_claims} | "
        f"{seconds:.0f} |"
    )
    print(line, flush=True)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=3, help="seeds")
    n = parser.parse_args().n
    X, y, support = load_madelon()
    lines = [
        *heading("Madelon", "make study-madelon"),
        f"{X.shape[0]:,} rows, {X.shape[1]} columns, {support.sum()} of them relevant: five, whose "
        "corners make two classes, and fifteen combinations of these. `ThompsonSelector()` as "
        'it comes; its claims, "at least one of these", name what stands in for one '
        f"another. Boruta: BorutaPy with forests of depth {DEPTH}.",
        "",
        "| method, seed | selected, relevant | selected, not | claims | columns in them, relevant "
        "| not | CPU seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for seed in range(n):
        selector = ThompsonSelector(n_jobs=1, random_state=seed)
        lines.append(judged(f"TVS, {seed}", selector, X, y, support))
        forest = RandomForestClassifier(max_depth=DEPTH)
        boruta = Boruta(forest, random_state=seed)
        lines.append(judged(f"Boruta, {seed}", boruta, X, y, support))
    record("madelon.md", lines)


if __name__ == "__main__":
    main()
