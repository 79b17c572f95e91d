"""Errors of streams at every batch: ``python -m tvstudy.streams_battery PAGE --streams 200``."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect import StreamingThompsonSelector
from tvstudy.simulation import simulate

SETUPS = ("linear", "friedman", "forest", "liang", "0/1", "skewed", "null", "null, AR(0.9)")
RULES: dict[str, dict[str, object]] = {
    "knockoffs": {"decoys": "knockoffs"},
    "shuffled": {"decoys": "shuffled"},
    "median rule": {"max_fdr": None},
}
LEVEL, SHARE, FIRST_SEED = 0.1, 0.9, 500_000


class Stream(NamedTuple):
    """The sets that a stream selected, batch after batch."""

    false_share: NDArray[np.float64]
    n_true: NDArray[np.int64]
    n_signals: int
    seconds: float


def draw(
    setup: str, n: int, p: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Rows, outcome and which columns are signals."""
    rng = np.random.default_rng(FIRST_SEED + seed)
    if setup.startswith("null"):
        X = simulate("linear", n, p, random_state=rng).X
        X = X if "AR" in setup else rng.standard_normal((n, p))
        return X, rng.standard_normal(n), np.zeros(p, dtype=np.bool_)
    if setup in ("0/1", "skewed"):
        data = simulate("linear", n, p, random_state=rng)
        if setup == "skewed":
            return np.exp(1.5 * data.X), data.y, data.support
        X = (data.X > 0).astype(np.float64)
        return X, X[:, :5] @ [1.0, 2.0, 3.0, -2.0, -1.0] + rng.standard_normal(n), data.support
    data = simulate(setup, n, p, random_state=rng)
    return data.X, data.y, data.support


def play(setup: str, rule: str, p: int, size: int, n_batches: int, seed: int) -> Stream:
    """Play a stream batch by batch and look at the selected set after each."""
    X, y, signals = draw(setup, size * n_batches, p, seed)
    selector = StreamingThompsonSelector(random_state=seed, **RULES[rule])
    sets = np.empty((n_batches, p), dtype=np.bool_)
    started = time.process_time()
    for k in range(n_batches):
        rows = slice(k * size, (k + 1) * size)
        sets[k] = selector.partial_fit(X[rows], y[rows]).support_
    seconds = time.process_time() - started
    share = (sets & ~signals).sum(axis=1) / np.maximum(sets.sum(axis=1), 1)
    return Stream(share, (sets & signals).sum(axis=1), int(signals.sum()), seconds)


def line(setup: str, rule: str, streams: list[Stream]) -> str:
    """A row of the page."""
    shares = np.array([stream.false_share for stream in streams])
    n = len(streams)
    worst = int(shares.mean(axis=0).argmax())
    error = shares[:, worst].std() / np.sqrt(n)
    ever = np.mean((shares > 0).any(axis=1))
    n_signals = streams[0].n_signals
    cells = [setup, rule, str(n), f"{shares.mean(axis=0)[worst]:.3f} ({error:.3f})", f"{ever:.2f}"]
    if n_signals:
        wanted = np.ceil(SHARE * n_signals)
        reached = [s.n_true >= wanted for s in streams]
        plays = [int(r.argmax()) + 1 if r.any() else r.size + 1 for r in reached]
        middle = np.median(plays)
        cells += [
            f"{middle:.0f}" if middle <= reached[0].size else f"> {reached[0].size}",
            f"{np.mean([s.n_true[-1] for s in streams]):.2f} of {n_signals}",
        ]
    else:
        cells += ["-", "-"]
    cells += [f"{np.mean([s.seconds for s in streams]):.1f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Play all streams and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rows", type=int, default=300, help="of a batch")
    parser.add_argument("--batches", type=int, default=100)
    options = parser.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)
    p, size, n_batches = options.columns, options.rows, options.batches
    lines = [
        "# Errors of streams",
        "",
        f"{p} columns, {n_batches} batches of {size} rows, the default reward, level {LEVEL}; "
        "written by `make study-streams`. The selected set is looked at after every batch. "
        "FDR: the mean share of false ones among the selected, at the batch where it is largest "
        "(standard error). Ever: streams that select something false at any time. Plays: batches "
        f"until {SHARE:.0%} of the signals are selected, the median over streams. 0/1 and skewed: "
        "the linear set-up, its columns cut at 0 or as `exp(1.5 x)`. The median rule is the "
        "paper's, without decoys (`max_fdr=None`).",
        "",
        "| set-up | decoys | streams | largest FDR | ever | plays | found at end | CPU s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for setup in SETUPS:
        for rule in RULES:
            made = [play(setup, rule, p, size, n_batches, k) for k in range(options.streams)]
            lines.append(line(setup, rule, made))
            print(lines[-1], flush=True)
            options.page.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
