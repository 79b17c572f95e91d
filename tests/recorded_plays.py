"""Twelve small runs whose plays are on record: ``make check-plays`` says which have changed.

A change of these numbers is not an error by itself, but it must be meant: the same seed then
gives another selection. The record depends on the version of NumPy to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.nested import nested
from tvselect import BartReward, LassoReward, StreamingThompsonSelector, ThompsonSelector

RECORD = Path(__file__).with_name("recorded_plays.json")


def table(n: int = 120, p: int = 40, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, 2 * X[:, 3] + np.where(X[:, 7] > 0, 2.0, 0.0) + rng.normal(size=n)


def small(**settings: Any) -> BartReward:
    return BartReward(n_trees=5, n_iterations=60, **settings)


def offline(reward: Any = None, **settings: Any) -> Any:
    X, y = table()
    settings = {"n_plays": 40, "max_fdr": None, "random_state": 1} | settings
    return ThompsonSelector(reward or small(), **nested(**settings)).fit(X, y)


def probit() -> Any:
    X, y = table()
    return ThompsonSelector(small(), n_plays=30, max_fdr=None, random_state=2).fit(X, y > y.mean())


def some_rows() -> Any:
    X, y = table(300)
    reward = small(max_samples=100)
    return ThompsonSelector(reward, n_plays=30, max_fdr=None, random_state=3).fit(X, y)


def resumed() -> Any:
    X, y = table()
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = dict(random_state=1, max_fdr=None, journal=Path(folder) / "run")
        ThompsonSelector(small(), **nested(n_plays=15, **settings)).fit(X, y)
        return ThompsonSelector(small(), **nested(n_plays=40, **settings)).fit(X, y)


def stream(**settings: Any) -> Any:
    X, y = table(2000, 20)
    settings = {"batch_size": 100, "n_rounds": 2, "random_state": 1} | settings
    if "decoys" not in settings:
        settings["max_fdr"] = None
    return StreamingThompsonSelector(small(), **nested(**settings)).fit(X, y)


def stream_of_classes() -> Any:
    X, y = table(2000, 20)
    settings: dict[str, Any] = dict(batch_size=100, max_fdr=None, random_state=4)
    return StreamingThompsonSelector(small(), **nested(**settings)).fit(X, y > 1)


RUNS: dict[str, Callable[[], Any]] = {
    "offline": offline,
    "offline, shuffled decoys": lambda: offline(max_fdr=0.1),
    "offline, the paper's rule": lambda: offline(BartReward.paper(50)),
    "offline, groups and a column always included": lambda: offline(
        feature_groups={"a": [1, 2, 3], "b": [10, 11]}, always_include=[5]
    ),
    "offline, two chains in windows": lambda: offline(n_chains=2, window=3, n_plays=60),
    "offline, two classes": probit,
    "offline, some of the rows": some_rows,
    "offline, LASSO": lambda: offline(LassoReward()),
    "offline, resumed": resumed,
    "stream": stream,
    "stream, decoys and forgetting": lambda: stream(decoys="knockoffs", discount=0.95),
    "stream, two classes": stream_of_classes,
}


def digest(selector: Any) -> str:
    """Hash of the arms and rewards of all plays of the first chain, and of what was found."""
    total = hashlib.sha256()
    for play in selector.result_.plays:
        total.update(play.arms.astype("<i4").tobytes())
        total.update(play.rewards.astype("u1").tobytes())
    total.update(selector.selection_rates_.astype("<f8").tobytes())
    return total.hexdigest()[:16]


def main() -> int:
    """Compare all runs with the record, or write it with ``--record``."""
    found = {name: digest(run()) for name, run in RUNS.items()}
    if "--record" in sys.argv[1:]:
        RECORD.write_text(json.dumps(found, indent=1) + "\n")
    recorded = json.loads(RECORD.read_text())
    for name, now in found.items():
        print(f"{'same' if now == recorded.get(name) else 'CHANGED':8}{now}  {name}")
    return int(found != recorded)


if __name__ == "__main__":
    sys.exit(main())
