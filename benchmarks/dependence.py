"""Rows that depend on each other: false selections and signals, told of it and not, and the doubt.

``make bench-dependence`` prints the tables and records them; every row is written when it is done.
The real table is looked for in ``TVSELECT_DATA``, and left out where it is not.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter

from benchmarks.records import heading, record_as_made
from tvselect import BartReward, StreamingThompsonSelector, ThompsonSelector
from tvselect.inputs import read_outcome
from tvselect.inputs.dependence import find_dependence

FIRST_SEED, P, BATCH = 430_000, 30, 1000
REAL = Path("telemonitoring", "parkinsons_updrs.csv.gz")


@dataclass(frozen=True)
class Rows:
    """A table, what is to be told of its rows, and its signals."""

    X: np.ndarray
    y: np.ndarray
    told: dict[str, Any]
    signals: tuple[int, ...] = ()


Maker = Callable[[np.random.Generator], Rows]


def clusters(
    rng: np.random.Generator,
    sizes: Any,
    between: float = 1.0,
    within: float = 1.0,
    outcome: float = 0.5,
) -> Rows:
    """Columns of groups and rows, with standard deviations; the group's share of the outcome."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    X = between * rng.normal(size=(len(sizes), P))[groups]
    X = X + within * rng.normal(size=(groups.size, P))
    y = np.sqrt(outcome) * rng.normal(size=len(sizes))[groups]
    return Rows(X, y + np.sqrt(1 - outcome) * rng.normal(size=groups.size), {"groups": groups})


def series(rng: np.random.Generator, n: int, memory: float) -> Rows:
    """Independent AR(1) series, or random walks."""
    noise = rng.normal(size=(n + (500 if memory < 1 else 0), P + 1))
    Z = lfilter([1], [1, -memory], noise, axis=0)[-n:]
    return Rows(Z[:, 1:], Z[:, 0], {"order": "rows"})


def people(rng: np.random.Generator, n_people: int, n_rows: int) -> Rows:
    """Rows of a few people in any order; a number of each, ten columns."""
    groups = rng.integers(n_people, size=n_rows)
    X = rng.normal(size=(n_people, 10))[groups]
    return Rows(X, rng.normal(size=n_people)[groups] + rng.normal(size=n_rows), {"groups": groups})


def panel(rng: np.random.Generator, n_groups: int, n_times: int) -> Rows:
    """AR(0.9) series of groups with levels of their own."""
    many = [series(rng, n_times, 0.9) for _ in range(n_groups)]
    groups = np.repeat(np.arange(n_groups), n_times)
    X = np.concatenate([one.X for one in many]) + 2 * rng.normal(size=(n_groups, P))[groups]
    y = np.concatenate([one.y for one in many]) + 2 * rng.normal(size=n_groups)[groups]
    return Rows(X, y, {"groups": groups, "order": np.tile(np.arange(n_times), n_groups)})


def independent(rng: np.random.Generator, n: int) -> Rows:
    """Rows that have nothing to do with each other."""
    return Rows(rng.normal(size=(n, P)), rng.normal(size=n), {})


def signals(rng: np.random.Generator, n_groups: int, n_each: int, share: float) -> Rows:
    """Three columns act inside groups, two between them; ``share`` is the ICC of the rest."""
    rows = clusters(rng, [n_each] * n_groups, 0.0, 1.0, share)
    groups = rows.told["groups"]
    rows.X[:, P // 2 :] = rng.normal(size=(n_groups, P - P // 2))[groups]
    acting = (0, 1, 2, P - 2, P - 1)
    y = rows.y + 0.4 * rows.X[:, :3].sum(axis=1) + 0.8 * rows.X[:, -2:].sum(axis=1)
    return Rows(rows.X, y, rows.told, acting)


NOTHING_THERE: dict[str, Maker] = {
    "independent rows, 200": partial(independent, n=200),
    "20 groups x 10, columns of groups": partial(clusters, sizes=[10] * 20, within=0.0),
    "20 groups x 10, columns of both": partial(clusters, sizes=[10] * 20),
    "100 x 2": partial(clusters, sizes=[2] * 100, within=0.0),
    "42 x 20, columns of groups": partial(clusters, sizes=[20] * 42, within=0.0, outcome=0.9),
    "10 donors x 20, outcome by donor": partial(clusters, sizes=[20] * 10, outcome=0.9),
    "60 groups, sizes by Zipf's law": partial(clusters, sizes=120 // np.arange(1, 61)),
    "AR(0.5), 200": partial(series, n=200, memory=0.5),
    "AR(0.9), 200": partial(series, n=200, memory=0.9),
    "AR(0.9), 500": partial(series, n=500, memory=0.9),
    "AR(0.98), 200": partial(series, n=200, memory=0.98),
    "random walks, 200": partial(series, n=200, memory=1.0),
    "panel of 30 x 20": partial(panel, n_groups=30, n_times=20),
}
STREAMS: dict[str, Maker] = {
    "1,000 groups x 10": partial(clusters, sizes=[10] * 1000, within=0.0),
    "20 people x 500, in any order": partial(people, n_people=20, n_rows=10_000),
    "AR(0.9), 10,000": partial(series, n=10_000, memory=0.9),
}
SOMETHING_THERE: dict[str, Maker] = {
    "60 groups x 10, ICC 0.5": partial(signals, n_groups=60, n_each=10, share=0.5),
    "60 groups x 10, ICC 0": partial(signals, n_groups=60, n_each=10, share=0.0),
}


@dataclass
class Found:
    """What was selected in some tables."""

    any: list[bool] = field(default_factory=list)
    false_share: list[float] = field(default_factory=list)
    power: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, rows: Rows, support: np.ndarray, seconds: float) -> None:
        """Count one selection."""
        is_false = support.copy()
        is_false[list(rows.signals)] = False
        self.any.append(bool(is_false.any()))
        self.false_share.append(is_false.sum() / max(1, support.sum()))
        self.power.append(float(support[list(rows.signals)].mean()) if rows.signals else np.nan)
        self.seconds.append(seconds)


def with_error(values: Any) -> str:
    """A mean with its standard error."""
    values = np.asarray(values, dtype=np.float64)
    if values.size == 0 or np.isnan(values).any():
        return "-"
    return f"{values.mean():.2f} ± {values.std() / np.sqrt(values.size):.2f}"


@dataclass(frozen=True)
class How:
    """How a table is searched."""

    n_plays: int
    n_iterations: int
    stream: bool = False

    def __str__(self) -> str:
        if self.stream:
            return f"batches of {BATCH} rows"
        return f"{self.n_plays} plays of {self.n_iterations} iterations"


def fit(rows: Rows, seed: int, how: How, told: bool) -> Any:
    """A selection, told how rows depend on each other or not."""
    selector: Any = ThompsonSelector(
        BartReward.with_decoys().set_params(n_iterations=how.n_iterations),
        n_plays=how.n_plays,
        n_jobs=1,
        random_state=seed,
    )
    if how.stream:
        selector = StreamingThompsonSelector(
            batch_size=BATCH, decoys="shuffled", n_jobs=1, random_state=seed
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return selector.fit(rows.X, rows.y, **(rows.told if told else {}))


def tables_of(make: Maker, n: int, two_classes: bool) -> Iterator[tuple[int, Rows]]:
    for seed in range(n):
        rows = make(np.random.default_rng([FIRST_SEED, seed, two_classes]))
        if two_classes:
            y = (rows.y > np.median(rows.y)).astype(np.float64)
            rows = Rows(rows.X, y, rows.told, rows.signals)
        yield seed, rows


def is_doubted(rows: Rows) -> bool:
    names = [f"x{j}" for j in range(rows.X.shape[1])]
    return find_dependence(names, rows.X, read_outcome(rows.y, len(rows.y))) is not None


def measure(make: Maker, n: int, how: How, two_classes: bool) -> dict[bool, Found]:
    """What is selected told of the rows, and of a quarter of the tables untold."""
    found = {True: Found(), False: Found()}
    for seed, rows in tables_of(make, n, two_classes):
        for told in (True, False):
            if rows.told if told else (seed < max(5, n // 4) or not rows.told or rows.signals):
                started = time.perf_counter()
                support = fit(rows, seed, how, told).support_
                found[told].add(rows, support, time.perf_counter() - started)
    return found


def by_kind(
    kinds: dict[str, Maker], n: int, how: How
) -> Iterator[tuple[str, Maker, bool, dict[bool, Found]]]:
    """What was selected for each kind of rows, as a number and as two classes, with a label."""
    for name, make in kinds.items():
        for two_classes in (False, True):
            label = f"{name} | {'two classes' if two_classes else 'number'}"
            yield label, make, two_classes, measure(make, n, how, two_classes)


def nothing_there(
    title: str, kinds: dict[str, Maker], n: int, n_doubts: int, how: How
) -> Iterator[str]:
    """The share of tables of noise in which anything is selected."""
    yield f"## {title}"
    yield ""
    yield (
        f"Share of tables in which anything is selected at the level 0.1, with its standard error "
        f"({n} tables a row told, a quarter of them untold; {how}); share of "
        f"{n_doubts} tables that a doubt about the rows is said of."
    )
    yield ""
    yield "| rows | outcome | told | nothing said | doubt |"
    yield "|---|---|---|---|---|"
    for label, make, two_classes, found in by_kind(kinds, n, how):
        doubts = [is_doubted(rows) for _, rows in tables_of(make, n_doubts, two_classes)]
        cells = [with_error(found[told].any) for told in (True, False)]
        yield f"| {label} | {' | '.join(cells)} | {with_error(doubts)} |"
    yield ""


def something_there(n: int, how: How) -> Iterator[str]:
    """Power and false discoveries where something is there."""
    yield "## Signals"
    yield ""
    yield (
        "Three columns act inside groups, two between them, of 30. Share of the signals found and "
        f"of false ones among the selected ({n} tables a row; {how}), and seconds of a fit."
    )
    yield ""
    yield "| rows | outcome | | found | false | seconds |"
    yield "|---|---|---|---|---|---|"
    for label, _, _, found in by_kind(SOMETHING_THERE, n, how):
        for told in (True, False):
            cells = [with_error(found[told].power), with_error(found[told].false_share)]
            what = "groups given" if told else "nothing said"
            seconds = np.median(found[told].seconds)
            yield f"| {label} | {what} | {' | '.join(cells)} | {seconds:.1f} |"
    yield ""


def real_table(path: Path, n: int, how: How) -> Iterator[str]:
    """People of the telemonitoring table, with 20 random numbers of each."""
    yield "## Recordings of 42 people"
    yield ""
    if not path.exists():
        yield f"Left out: there is no {REAL} in the folder that `TVSELECT_DATA` names."
        return
    with gzip.open(path, "rt") as file:
        names, *lines = csv.reader(file)
    values = np.array(lines, dtype=np.float64)
    people = values[:, names.index("subject#")].astype(np.int64)
    y = values[:, names.index("total_UPDRS")]
    others = ("subject#", "motor_UPDRS", "total_UPDRS")
    kept = [j for j, name in enumerate(names) if name not in others]
    yield "`total_UPDRS` by the other columns and 20 columns that are one random number a person."
    yield ""
    yield "| draw | | noise selected | selected besides |"
    yield "|---|---|---|---|"
    for seed in range(n):
        rng = np.random.default_rng([FIRST_SEED, seed])
        noise = rng.normal(size=(people.max() + 1, 20))[people]
        rows = Rows(np.column_stack([values[:, kept], noise]), y, {"groups": people})
        for told in (True, False) if seed == 0 else (True,):
            support = fit(rows, seed, how, told).support_
            besides = ", ".join(names[kept[j]] for j in np.flatnonzero(support[: len(kept)]))
            what = "groups given" if told else "nothing said"
            n_noise = np.count_nonzero(support[len(kept) :])
            yield f"| {seed + 1} | {what} | {n_noise} | {besides or '-'} |"
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=200, help="tables of a row")
    parser.add_argument("--doubts", type=int, default=300, help="tables of a row that are doubted")
    parser.add_argument("--signals", type=int, help="tables of a row with signals; as -n")
    parser.add_argument("--plays", type=int, default=500)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--draws", type=int, default=20, help="of noise beside the real table")
    options = parser.parse_args()

    def lines() -> Iterator[str]:
        yield from heading("Rows that depend on each other", "make bench-dependence")
        n, how = options.n, How(options.plays, options.iterations)
        yield from nothing_there("Nothing there", NOTHING_THERE, n, options.doubts, how)
        yield from something_there(n if options.signals is None else options.signals, how)
        data = Path(os.environ.get("TVSELECT_DATA", "data")) / REAL
        yield from real_table(data, options.draws, how)
        how = How(0, 500, stream=True)
        yield from nothing_there("Streams of nothing", STREAMS, n, 0, how)

    record_as_made("dependence.md", lines())


if __name__ == "__main__":
    main()
