"""The paper's online table: Liang's set-up, n=20,000, p=1,000, one play per batch, all its rows."""

from __future__ import annotations

import time

import numpy as np
from joblib import Parallel, delayed

from benchmarks.judging import with_error
from benchmarks.paper.edition import Edition, Piece
from tvselect import BartReward, StreamingThompsonSelector
from tvstudy.simulation import score, simulate

SIZES = (100, 200, 500, 1_000)
PAPER: dict[tuple[int, int], tuple[tuple[float, int], ...]] = {
    (500, 1): ((58.9, 4), (34.1, 3), (19.3, 3), (15.7, 4)),
    (500, 5): ((251.5, 4), (165.0, 3), (91.2, 3), (68.7, 2)),
    (500, 10): ((467.5, 4), (348.8, 3), (187.8, 3), (137.2, 1)),
    (1_000, 1): ((84.0, 4), (49.8, 3), (29.5, 3), (23.6, 2)),
    (1_000, 5): ((411.8, 4), (241.5, 3), (140.8, 1), (111.4, 0)),
    (1_000, 10): ((870.6, 3), (507.0, 2), (288.2, 1), (224.2, 0)),
    (10_000, 1): ((541.8, 3), (330.9, 2), (220.4, 0), (182.8, 0)),
    (10_000, 5): ((2_421.0, 3), (1_502.0, 2), (1_060.0, 0), (972.0, 0)),
    (10_000, 10): ((4_842.0, 3), (3_028.0, 0), (2_248.0, 0), (2_088.0, 0)),
}
"""(M, passes) -> (seconds, Hamming distance) for each size of a batch."""
RULES = ("paper's rule", "default reward")


def selector_of(
    rule: str, n_iterations: int, n_rounds: int, batch_size: int, seed: int
) -> StreamingThompsonSelector:
    """With the paper's reward, ten trees of DART, or today's; both with the cut at a half."""
    reward = BartReward(n_iterations=n_iterations)
    if rule == RULES[0]:
        reward = BartReward(
            10,
            n_iterations,
            min_splits=1,
            proposals_per_column=0,
            theta_floor=0.001,
            penalty=0,
            shadows=0,
        )
    return StreamingThompsonSelector(
        reward, batch_size=batch_size, n_rounds=n_rounds, max_fdr=None, random_state=seed
    )


def fitted(rule: str, m: int, n_rounds: int, size: int, seed: int) -> tuple[int, float]:
    """Hamming distance and seconds."""
    data = simulate("liang", 20_000, 1_000, random_state=seed)
    selector = selector_of(rule, m, n_rounds, size, seed)
    started = time.process_time()
    selector.fit(data.X, data.y)
    seconds = time.process_time() - started
    return int(score(selector.support_, data.support).hamming), seconds


def section(edition: Edition) -> list[str]:
    n_sets = edition.n_sets(10, 2)
    rows = edition.either(list(PAPER), [(500, 1), (1_000, 1)])

    def cell(rule: str, m: int, n_rounds: int, size: int) -> Piece:
        def make() -> Piece:
            found = Parallel(edition.n_jobs)(
                delayed(fitted)(rule, m, n_rounds, size, seed) for seed in range(n_sets)
            )
            hamming, seconds = zip(*found, strict=True)
            return {"hamming": hamming, "seconds": seconds}

        return edition.piece(f"table_{rule.split()[0]}_{m}_{n_rounds}_{size}", make)

    lines = [
        "## The online table",
        "",
        "Seconds / Hamming distance. Liang's set-up, n=20,000, p=1,000; the paper's printed "
        f"figures (one data set, its own machine), then ours: mean over {n_sets} data set(s) ± "
        "standard error, one core.",
        "",
        "| M, passes | by | " + " | ".join(f"s={size:,}" for size in SIZES) + " |",
        "|---|---|" + "---|" * len(SIZES),
    ]
    for m, n_rounds in rows:
        name = f"| {m:,}, {n_rounds} |"
        printed = (f"{seconds:g} / {hamming}" for seconds, hamming in PAPER[m, n_rounds])
        lines.append(f"{name} paper | " + " | ".join(printed) + " |")
        for rule in RULES:
            pieces = [cell(rule, m, n_rounds, size) for size in SIZES]
            ours = (f"{np.median(p['seconds']):.1f} / {with_error(p['hamming'])}" for p in pieces)
            lines.append(f"{name} {rule} | " + " | ".join(ours) + " |")
    return lines
