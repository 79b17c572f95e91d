"""Columns that matter only together, found and named; and those whose effects add up, not named.

``make bench-pairs`` runs it and records the page; ``N=20`` data sets of each kind.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from benchmarks.records import heading, record
from tvselect import ThompsonSelector
from tvselect.after.interactions import SelectedData, find_interactions
from tvselect.inputs import read_outcome

FIRST_SEED = 700_000
Floats = NDArray[np.float64]


class Kind(NamedTuple):
    """Data sets of one kind: the outcome without noise, its columns, and those that interact."""

    n_rows: int
    n_columns: int
    outcome: Callable[[Floats], Floats]
    signals: tuple[int, ...]
    together: tuple[int, ...]


def crossed(X: Floats) -> Floats:
    return 3 * np.sign(X[:, 0] - 0.5) * np.sign(X[:, 1] - 0.5) + 2.0 * (X[:, 2] > 0.5)


def parity(X: Floats) -> Floats:
    return 3 * np.prod(np.sign(X[:, :3] - 0.5), axis=1)


KINDS = {
    "two crossed, one by itself, n=500, p=500": Kind(500, 500, crossed, (0, 1, 2), (0, 1)),
    "two crossed, one by itself, n=500, p=5,000": Kind(500, 5000, crossed, (0, 1, 2), (0, 1)),
    "parity of three, n=1,000, p=100": Kind(1000, 100, parity, (0, 1, 2), (0, 1, 2)),
    "parity of three, n=500, p=500": Kind(500, 500, parity, (0, 1, 2), (0, 1, 2)),
    "parity of three, n=500, p=1,000": Kind(500, 1000, parity, (0, 1, 2), (0, 1, 2)),
}


ADDITIVE: dict[str, Callable[[Floats, Floats], NDArray[np.generic]]] = {
    "curves: `2 sin(2 z0) + z1^2 / 4`": lambda z, e: 2 * np.sin(2 * z[:, 0]) + z[:, 1] ** 2 / 4 + e,
    "long tail: `exp(z0) + z1^2`, noise 0.3": lambda z, e: np.exp(z[:, 0]) + z[:, 1] ** 2 + 0.3 * e,
    "long tail: `exp(z0) + exp(z1)`, noise 0.5": lambda z, e: (
        np.exp(z[:, 0]) + np.exp(z[:, 1]) + 0.5 * e
    ),
    "classes: `z0 + z1 > 0`, noise 1": lambda z, e: z[:, 0] + z[:, 1] + e > 0,
    "classes: `4 z0 + 4 z1 > 0`, noise 1": lambda z, e: 4 * z[:, 0] + 4 * z[:, 1] + e > 0,
}
"""Outcomes of normal columns and noise, additive on their scale or that of probits."""


def names_a_pair(outcome: Callable[[Floats, Floats], NDArray[np.generic]], seed: int) -> bool:
    """Whether a pair is named at 0.1 among three columns, two of which have effects that add up."""
    rng = np.random.default_rng(FIRST_SEED + seed)
    z, noise = rng.standard_normal((300, 3)), rng.standard_normal(300)
    data = SelectedData(z, np.arange(3), read_outcome(outcome(z, noise), 300))
    found = find_interactions(data, ["z0", "z1", "z2"], rng)
    return any(pair.q_value <= 0.1 for pair in found)


def run(kind: Kind, seed: int) -> tuple[int, int, bool, bool, float]:
    """Signals found, false columns, whether the pair or triple is named, another pair, seconds.

    A triple is named where each of its columns is seen "with" the two others.
    """
    rng = np.random.default_rng(FIRST_SEED + seed)
    X = rng.random((kind.n_rows, kind.n_columns))
    y = kind.outcome(X) + rng.standard_normal(kind.n_rows)
    started = time.process_time()
    selector = ThompsonSelector(random_state=seed).fit(X, y)
    seconds = time.process_time() - started
    found = set(np.flatnonzero(selector.support_).tolist())
    named = {pair.columns for pair in selector.interactions_}
    others = {
        frozenset([k, *(int(name[1:]) for name in text.split()[1::2])])
        for k, text in enumerate(selector.result_.seen)
        if text.startswith("with")
    }
    is_named = kind.together in named or others == {frozenset(kind.together)}
    return (
        len(found & set(kind.signals)),
        len(found - set(kind.signals)),
        is_named,
        any(not set(pair) <= set(kind.together) for pair in named),
        seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=20, help="data sets of each kind")
    n = parser.parse_args().n
    lines = [
        *heading("Columns that matter only together", f"make bench-pairs N={n}"),
        f"{n} data sets of each kind, `ThompsonSelector()` as it comes, noise of sd "
        "1. All found: all signals and no other column. Crossed: `3 sign(x0 - 1/2) sign(x1 - 1/2) "
        "+ 2 (x2 > 1/2)`; parity: `3 sign(x0 - 1/2) sign(x1 - 1/2) sign(x2 - 1/2)`.",
        "",
        "| data | all found | and the pair or triple named | signals found | false columns | "
        "another pair named | seconds (CPU) |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, kind in KINDS.items():
        rows = np.array([run(kind, seed) for seed in tqdm(range(n), desc=name)], dtype=np.float64)
        exact = (rows[:, 0] == len(kind.signals)) & (rows[:, 1] == 0)
        named = (exact & (rows[:, 2] > 0)).sum()
        lines.append(
            f"| {name} | {exact.sum()} of {n} | {named} of {n} | {rows[:, 0].mean():.2f} of "
            f"{len(kind.signals)} | {rows[:, 1].mean():.2f} | {rows[:, 3].mean():.2f} | "
            f"{rows[:, 4].mean():.1f} |"
        )
        print(lines[-1], flush=True)
    lines += [
        "",
        "## Effects that add up",
        "",
        f"{n} tables each of 300 rows and three normal columns: how many name a pair at the level "
        "of 0.1, all of them false.",
        "",
        "| outcome | tables that name a pair |",
        "|---|---|",
    ]
    for name, outcome in ADDITIVE.items():
        n_false = sum(names_a_pair(outcome, seed) for seed in tqdm(range(n), desc=name))
        lines.append(f"| {name} | {n_false} of {n} |")
        print(lines[-1], flush=True)
    record("pairs.md", lines)


if __name__ == "__main__":
    main()
