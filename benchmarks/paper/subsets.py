"""BART on random subsets of the rows, with all columns at once: the paper's plain alternative."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.judging import with_error
from benchmarks.paper.edition import Edition, Piece, save
from tvstudy.baselines import BartBaseline
from tvstudy.simulation import score, simulate

N_ROWS = 20_000
SIZES = (100, 200, 500, 1_000, N_ROWS)
PAPER = {1_000: "74.7 s / 1", N_ROWS: "4,207 s / 29"}
N_TREES = 50


def fitted(n_rows: int, n_iterations: int, seed: int) -> Piece:
    """DART on some rows of the stream; seconds and errors."""
    data = simulate("liang", N_ROWS, 1_000, random_state=seed)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(N_ROWS, n_rows, replace=False))
    method = BartBaseline(N_TREES, True, n_iterations, random_state=rng)
    started = time.process_time()
    support = method.fit(data.X[rows], data.y[rows]).support_
    return {
        "seconds": time.process_time() - started,
        "hamming": score(support, data.support).hamming,
        "false": int((support & ~data.support).sum()),
    }


def section(edition: Edition) -> list[str]:
    from matplotlib import pyplot as plt

    n_sets, n_iterations = edition.n_sets(5, 1), edition.either(20_000, 1_000)
    lines = [
        "## BART on subsets of the rows, with all columns",
        "",
        "Liang's set-up, n=20,000, p=1,000. What the search on a stream is set against: DART with "
        f"{N_TREES} trees and {n_iterations:,} iterations on s rows, all columns at once. Few rows "
        f"hide signals; many take long. Means over {n_sets} data set(s); the paper has one, with "
        "20,000 iterations.",
        "",
        "| s | Hamming distance | of these false | seconds | paper, seconds / Hamming distance |",
        "|---|---|---|---|---|",
    ]
    means = []
    for n_rows in SIZES:
        pieces = [
            edition.piece(
                f"subset_{n_rows}_{seed}", lambda n=n_rows, seed=seed: fitted(n, n_iterations, seed)
            )
            for seed in range(n_sets)
        ]
        hamming, false, seconds = ([p[k] for p in pieces] for k in ("hamming", "false", "seconds"))
        means.append((float(np.mean(hamming)), float(np.median(seconds))))
        lines.append(
            f"| {n_rows:,} | {with_error(hamming)} | {np.mean(false):.1f} | "
            f"{np.median(seconds):.1f} | {PAPER.get(n_rows, '-')} |"
        )
    figure, panels = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for ax, values, title in zip(
        panels, zip(*means, strict=True), ("Hamming distance", "seconds"), strict=True
    ):
        ax.plot([f"{n:,}" for n in SIZES], values, "o-", color="tab:blue")
        ax.set(xlabel="rows", title=title)
    panels[1].set_yscale("log")
    return [*lines, "", save(figure, "subsets")]
