"""A selection whose rates over the plays are kept, and drawn as the paper draws them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.judging import with_error
from benchmarks.paper.edition import Piece
from tvstudy.simulation import Simulated, score

N_STEPS, N_NOISE = 200, 200
HALF = 0.5


def followed(selector: Any, data: Simulated) -> Piece:
    """Fit a selector: seconds, errors, and rates of the signals and of the noise played most."""
    started = time.process_time()
    selector.fit(data.X, data.y)
    seconds = time.process_time() - started
    result = selector.result_
    signals, noise = np.flatnonzero(data.support), np.flatnonzero(~data.support)
    n_played = result.layout.by_feature(result.times_played, 0)
    leading = noise[np.argsort(-n_played[noise], kind="stable")[:N_NOISE]]
    of_signals = result.trajectories(signals.tolist())
    steps = np.unique(np.linspace(0, len(of_signals) - 1, N_STEPS).astype(int))
    of_noise = result.trajectories(leading.tolist())[steps]
    below = np.flatnonzero((of_signals < HALF).any(axis=1))
    hamming = score(selector.support_, data.support).hamming
    missed = int((data.support & ~selector.support_).sum())
    return {
        "seconds": seconds,
        "hamming": int(hamming),
        "missed": missed,
        "false": int(hamming) - missed,
        "n_plays": len(of_signals) - 1,
        "n_until": int(below[-1]) + 1 if below.size else 0,
        "steps": steps.tolist(),
        "signals": of_signals[steps].round(3).tolist(),
        "noise": of_noise.round(3).tolist(),
    }


def draw(ax: Any, piece: Piece, title: str) -> None:
    """Signals in blue, noise in grey, the paper's cut dotted."""
    ax.plot(piece["steps"], piece["noise"], color="0.8", linewidth=0.4)
    ax.plot(piece["steps"], piece["signals"], color="tab:blue", linewidth=1.3)
    ax.axhline(HALF, color="0.3", linestyle=":")
    ax.set(ylim=(0, 1), title=title)
    ax.title.set_fontsize(10)


def line(label: str, pieces: Sequence[Piece]) -> str:
    """A row of a table: plays until all signals stay above a half, errors, seconds."""
    until = [p["n_until"] if p["n_until"] <= p["n_plays"] else None for p in pieces]
    reached = [n for n in until if n is not None]
    when = f"{np.median(reached):.0f} ({len(reached)} of {len(pieces)})" if reached else "never"
    return (
        f"| {label} | {when} | {with_error([p['hamming'] for p in pieces])} | "
        f"{np.mean([p['missed'] for p in pieces]):.1f} | "
        f"{np.mean([p['false'] for p in pieces]):.1f} | "
        f"{np.median([p['seconds'] for p in pieces]):.1f} |"
    )


HEADER = (
    "| rule | plays until all signals stay above 0.5 (data sets) | Hamming distance | missed | "
    "false | seconds |",
    "|---|---|---|---|---|---|",
)
