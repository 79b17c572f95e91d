"""Errors of streams at every batch.

``make study-streams`` plays what its folder of pieces lacks, then writes the page.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.records import heading, kept, record_as_made
from tvselect import StreamingThompsonSelector
from tvstudy.simulation import simulate

SETUPS = ("linear", "friedman", "forest", "liang", "0/1", "skewed", "null", "null, AR(0.9)")
RULES: dict[str, dict[str, object]] = {
    "knockoffs": {"decoys": "knockoffs"},
    "shuffled": {"decoys": "shuffled"},
    "median rule": {"max_fdr": None},
}
LEVEL, SHARE, FIRST_SEED = 0.1, 0.9, 800_000
PIECE = 10


class Stream(NamedTuple):
    """The sets that a stream selected, batch after batch."""

    false_share: list[float]
    n_true: list[int]
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


def play(setup: str, rule: str, options: argparse.Namespace, seed: int) -> Stream:
    """Play a stream batch by batch and look at the selected set after each."""
    p, size, n_batches = options.columns, options.rows, options.batches
    X, y, signals = draw(setup, size * n_batches, p, seed)
    selector = StreamingThompsonSelector(random_state=seed, **RULES[rule])
    sets = np.empty((n_batches, p), dtype=np.bool_)
    started = time.process_time()
    for k in range(n_batches):
        rows = slice(k * size, (k + 1) * size)
        sets[k] = selector.partial_fit(X[rows], y[rows]).support_
    seconds = time.process_time() - started
    share = (sets & ~signals).sum(axis=1) / np.maximum(sets.sum(axis=1), 1)
    n_true = (sets & signals).sum(axis=1)
    return Stream(share.tolist(), n_true.tolist(), int(signals.sum()), seconds)


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
        reached = [np.array(s.n_true) >= wanted for s in streams]
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


def streams(rule: str, setup: str, options: argparse.Namespace) -> list[Stream]:
    """All streams of a set-up, in pieces that are kept when they are finished."""
    size = f"{options.columns}-{options.rows}-{options.batches}"
    folder = options.pieces / size / rule / setup.replace("/", "-")
    made: list[Stream] = []
    for first in range(0, options.streams, PIECE):
        seeds = range(first, min(first + PIECE, options.streams))
        piece = kept(
            folder / f"{seeds.start}-{seeds.stop}.json",
            lambda seeds=seeds: [play(setup, rule, options, k)._asdict() for k in seeds],
        )
        made += [Stream(**one) for one in piece]
    return made


def page(options: argparse.Namespace) -> Iterator[str]:
    asked = f"--streams {options.streams} --rule {' '.join(map(repr, options.rule))}"
    yield from heading("Errors of streams", f"python -m benchmarks.streams_errors {asked}")
    yield (
        f"{options.columns} columns, {options.batches} batches of {options.rows} rows, the "
        f"default reward, level {LEVEL}. The selected set is looked at after every batch. FDR: the "
        "mean share of false ones among the selected, at the batch where it is largest (standard "
        "error). Ever: streams that select something false at any time. Plays: batches until "
        f"{SHARE:.0%} of the signals are selected, the median over streams. 0/1 and skewed: the "
        "linear set-up, its columns cut at 0 or as `exp(1.5 x)`. The median rule is the paper's, "
        "without decoys (`max_fdr=None`)."
    )
    yield from (
        "",
        "| set-up | decoys | streams | largest FDR | ever | plays | found at end | CPU s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    )
    for setup in SETUPS:
        for rule in options.rule:
            yield line(setup, rule, streams(rule, setup, options))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pieces", type=Path, required=True, help="folder of finished pieces")
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--rule", nargs="*", choices=RULES, default=list(RULES))
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rows", type=int, default=300, help="of a batch")
    parser.add_argument("--batches", type=int, default=60)
    warnings.simplefilter("ignore", RuntimeWarning)
    record_as_made("streams_errors.md", page(parser.parse_args()))


if __name__ == "__main__":
    main()
