"""Whether each reward keeps the level: signals found and false columns, by reward and decoys.

``make bench-rewards N=20`` runs what its folder of rows lacks and makes
``docs/results/rewards.md``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.records import heading, kept, record_as_made
from tvselect import StreamingThompsonSelector, ThompsonSelector
from tvselect.rewards import (
    BartReward,
    FunctionReward,
    ImportanceReward,
    LassoReward,
    PValueReward,
    Reward,
)
from tvstudy.simulation.setups import Simulated, autoregressive

FIRST_SEED = 700_000
LEVEL, N_ROWS, N_COLUMNS, N_SIGNALS, N_PLAYS = 0.1, 200, 60, 6, 60
OF_STREAM = 100, 200
"""Batches of a stream, and rows of each."""


def correlation(X: Any, y: Any, rng: np.random.Generator) -> Any:
    """Three times the absolute correlation, on a bootstrap replicate: a function of a user."""
    rows = rng.integers(len(y), size=len(y))
    return np.minimum(3.0 * np.abs(np.corrcoef(X[rows].T, y[rows])[-1, :-1]), 1.0)


REWARDS: dict[str, Callable[[], Reward]] = {
    "bart": BartReward.with_decoys,
    "lasso": LassoReward,
    "importance": ImportanceReward,
    "pvalue": PValueReward,
    "a function": lambda: FunctionReward(correlation),
}


def signals(rng: np.random.Generator, n: int, r: float) -> Simulated:
    """Linear signals among columns AR(r), half of the variance noise."""
    X = autoregressive(r)(rng, n, N_COLUMNS)
    true = rng.choice(N_COLUMNS, N_SIGNALS, replace=False)
    f = X[:, true] @ rng.choice([-1.0, 1.0], N_SIGNALS)
    support = np.isin(np.arange(N_COLUMNS), true)
    return Simulated(X, f + f.std() * rng.standard_normal(n), f, support)


def noise(rng: np.random.Generator, n: int, r: float, classes: bool) -> Simulated:
    """An outcome that has nothing to do with columns AR(r)."""
    y = rng.standard_normal(n)
    y = (y > 0).astype(float) if classes else y
    return Simulated(autoregressive(r)(rng, n, N_COLUMNS), y, 0 * y, np.zeros(N_COLUMNS, bool))


KINDS: dict[str, Callable[[np.random.Generator, int], Simulated]] = {
    "AR(0.5)": lambda rng, n: signals(rng, n, 0.5),
    "AR(0.9)": lambda rng, n: signals(rng, n, 0.9),
    "noise": lambda rng, n: noise(rng, n, 0.5, False),
    "noise, two classes": lambda rng, n: noise(rng, n, 0.5, True),
}


def run(reward: str, decoys: str, kind: str, stream: bool, seed: int) -> list[float]:
    """Found, false; claims that are false, and all; seconds of CPU."""
    rng = np.random.default_rng([FIRST_SEED + seed, list(KINDS).index(kind)])
    d = KINDS[kind](rng, OF_STREAM[0] * OF_STREAM[1] if stream else N_ROWS)
    warnings.simplefilter("ignore")
    rule = REWARDS[reward]()
    rule.rewards_stand_ins = False  # or shuffled decoys are refused
    settings: dict[str, Any] = {"decoys": decoys, "max_fdr": LEVEL, "random_state": seed}
    started = time.process_time()
    fit: Any
    if stream:
        fit = StreamingThompsonSelector(rule, batch_size=OF_STREAM[1], **settings).fit(d.X, d.y)
    else:
        fit = ThompsonSelector(rule, n_plays=N_PLAYS, n_jobs=1, **settings).fit(d.X, d.y)
    seconds = time.process_time() - started
    claims = [claim for claim in getattr(fit, "claims_", ()) if claim.q_value <= LEVEL]
    n_false = sum(not d.support[list(claim.columns)].any() for claim in claims)
    found, false = (fit.support_ & d.support).sum(), (fit.support_ & ~d.support).sum()
    return [float(found), float(false), float(n_false), float(len(claims)), seconds]


def mean(values: Any) -> str:
    return f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(values.size):.2f}"


def rows_of(rewards: list[str]) -> Iterator[tuple[str, str, str, bool]]:
    """Reward, decoys, kind of table, and whether it is a stream."""
    for reward in rewards:
        for decoys in ("shuffled", "knockoffs"):
            if reward == "bart" and decoys == "knockoffs":
                continue
            for kind in KINDS:
                # That any reward keeps the level on noise with shuffled decoys is proved.
                if decoys == "knockoffs" or not kind.startswith("noise"):
                    yield reward, decoys, kind, False
                if reward == "pvalue" and not kind.startswith("noise"):
                    yield reward, decoys, kind, True


def page(
    n: int, rewards: list[str], pieces: Path, jobs: int, is_complete: bool = True
) -> Iterator[str]:
    yield from heading("Rewards and the level", f"make bench-rewards N={n}")
    yield (
        f"{n} tables of {N_ROWS} rows and {N_COLUMNS} columns a row, {N_SIGNALS} linear signals "
        f"with as much noise, `max_fdr={LEVEL}`, {N_PLAYS} plays; streams of {OF_STREAM[0]} "
        f"batches of {OF_STREAM[1]} rows. FDR is the mean share of false ones, ± a standard error; "
        "for noise it is the share of tables in which anything is selected. Shuffled decoys beside "
        "other rewards than trees are refused by the selectors, which take knockoffs; here the "
        "check is switched off. The function pays three times the absolute correlation. Seconds "
        "are CPU of a fit."
    )
    yield ""
    yield "| reward | decoys | table | found | FDR, columns | FDR, claims | seconds |"
    yield "|---|---|---|---|---|---|---|"
    with Parallel(n_jobs=jobs) as parallel:
        for row in rows_of(rewards):
            reward, decoys, kind, stream = row

            def make(row: Any = row) -> list[list[float]]:
                return list(parallel(delayed(run)(*row, seed) for seed in range(n)))

            name = "-".join(map(str, row)).replace(" ", "_")
            piece = pieces / f"{name}-{n}.json"
            where = f"{kind}, a stream" if stream else kind
            if not (is_complete or piece.exists()):
                yield f"| {reward} | {decoys} | {where} | not measured yet | | | |"
                continue
            a = np.array(kept(piece, make)).T
            by_column, by_claim = (
                mean(false / np.maximum(all_, 1.0))
                for false, all_ in ((a[1], a[0] + a[1]), (a[2], a[3]))
            )
            yield (
                f"| {reward} | {decoys} | {where} | {a[0].mean():.1f} | {by_column} | "
                f"{'-' if stream else by_claim} | {np.median(a[4]):.1f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=20, help="tables a row")
    parser.add_argument("--rewards", nargs="*", default=list(REWARDS), choices=REWARDS)
    parser.add_argument("--pieces", type=Path, required=True, help="folder of finished rows")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only-page", action="store_true", help="run nothing new")
    options = parser.parse_args()
    lines = page(options.n, options.rewards, options.pieces, options.jobs, not options.only_page)
    record_as_made("rewards.md", lines)


if __name__ == "__main__":
    from benchmarks import reward_levels  # by its name, for the workers

    reward_levels.main()
