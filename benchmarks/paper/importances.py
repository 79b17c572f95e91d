"""Importances of BART on all columns, over trees D and iterations M."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.paper.edition import Edition, Piece, save
from tvstudy.baselines import BartBaseline
from tvstudy.simulation import simulate

TREES, ITERATIONS = (10, 20, 50), (5_000, 50_000)
KINDS = {"BART": False, "DART": True}
N_NOISE = 300


def fitted(sparse: bool, n_trees: int, n_iterations: int, n_sets: int) -> Piece:
    """Splits per forest of the first data set; signals and noise with one or more, of all."""
    found: dict[str, list[Any]] = {"true": [], "false": [], "seconds": []}
    for seed in reversed(range(n_sets)):
        data = simulate("friedman", 300, 10_000, random_state=seed)
        method = BartBaseline(
            n_trees, sparse, n_iterations, random_state=np.random.default_rng(seed)
        )
        started = time.process_time()
        support = method.fit(data.X, data.y).support_
        found["seconds"].append(time.process_time() - started)
        found["true"].append(int((support & data.support).sum()))
        found["false"].append(int((support & ~data.support).sum()))
    splits = method.mean_splits_
    noise = np.sort(splits[~data.support])[::-1][:N_NOISE]
    return {**found, "signals": splits[data.support].tolist(), "noise": noise.tolist()}


def section(edition: Edition) -> list[str]:
    from matplotlib import pyplot as plt

    n_sets = edition.n_sets(10, 2)
    iterations = edition.either(ITERATIONS, (1_000, 5_000))
    size = (3 * len(iterations) * len(KINDS), 2.4 * len(TREES))
    shape = (len(TREES), len(iterations) * len(KINDS))
    figure, panels = plt.subplots(*shape, figsize=size, layout="constrained", sharex=True)
    lines = [
        "## Importances of BART on all columns, over D and M",
        "",
        "The paper's first figure: on Friedman's function (n=300, p=10,000, independent columns) "
        "the number of splits tells signals from noise only with few trees and many iterations, "
        "and takes long. Here: splits per forest after burn-in, the five signals (blue) and the "
        f"{N_NOISE} leading noise columns (grey) of one data set; the table counts columns with at "
        f"least one split per forest, means over {n_sets} data set(s).",
        "",
        "| model | D | M | signals of 5 | noise | seconds |",
        "|---|---|---|---|---|---|",
    ]
    cases = [(kind, m) for kind in KINDS for m in iterations]
    for row, n_trees in zip(panels, TREES, strict=True):
        for ax, (kind, m) in zip(row, cases, strict=True):
            piece = edition.piece(
                f"importance_{kind}_{n_trees}_{m}",
                lambda kind=kind, d=n_trees, m=m: fitted(KINDS[kind], d, m, n_sets),
            )
            ax.plot(range(6, 6 + N_NOISE), piece["noise"], ".", color="0.6", markersize=3)
            ax.plot(range(1, 6), piece["signals"], "o", color="tab:blue")
            ax.axhline(1.0, color="0.3", linestyle=":")
            ax.set(xscale="log", title=f"{kind}, D={n_trees}, M={m:,}")
            ax.title.set_fontsize(10)
            lines.append(
                f"| {kind} | {n_trees} | {m:,} | {np.mean(piece['true']):.1f} | "
                f"{np.mean(piece['false']):.1f} | {np.median(piece['seconds']):.1f} |"
            )
    for ax in panels[:, 0]:
        ax.set_ylabel("splits per forest")
    for ax in panels[-1]:
        ax.set_xlabel("column, signals first")
    return [*lines, "", save(figure, "importances")]
