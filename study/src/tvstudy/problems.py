"""The data sets of the studies by name, and those of the battery: how many, of which size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from tvselect.seeds import as_generator
from tvstudy.datasets import fetch_hiv, load_madelon
from tvstudy.grid import PAPER_SETUPS, Task
from tvstudy.simulation import (
    Simulated,
    plant_signals,
    simulate,
    simulate_autoregressive,
    simulate_bumps,
    simulate_null,
)
from tvstudy.simulation.nulls import COLUMNS, OUTCOMES
from tvstudy.simulation.outcomes import Labelled, simulate_expression
from tvstudy.simulation.setups import cut

Part = Literal["nulls", "signals"]
HARSH = (("0-1", "rare class"), ("AR(0.9)", "t(2)"), ("categories", "classes"))
TUNING = 10_000
"""Number of the first data set that serves for choosing; smaller ones never do."""


@dataclass(frozen=True)
class Cell:
    """A row of the battery: data sets of one kind and size."""

    part: Part
    setup: str
    n_rows: int
    n_columns: int
    n_sets: int


def draw(setup: str, n_rows: int, n_columns: int, random_state: Any) -> Simulated | Labelled:
    """The data set of a name, a size and a seed; names of no problem here are the paper's."""
    make = ALL_PROBLEMS.get(setup, partial(simulate, setup))
    return make(n_rows, n_columns, random_state=random_state)


def _planted(read: Callable[[], Any], n_rows: int, n_columns: int, random_state: Any) -> Simulated:
    X, rng = read(), as_generator(random_state)
    rows = np.sort(rng.choice(len(X), n_rows, replace=False))
    return plant_signals(X[rows, :n_columns], random_state=rng)


def _cut_at_median(setup: str, n_rows: int, n_columns: int, random_state: Any) -> Simulated:
    return cut(simulate(setup, n_rows, n_columns, random_state=random_state), 0.5)


def _expression(n_rows: int, n_columns: int, random_state: Any) -> Labelled:
    return simulate_expression(n_rows, n_columns, as_generator(random_state))


def _mutations() -> Any:
    return fetch_hiv("PI", download_if_missing=False).problem("APV").X


REAL: dict[str, Callable[[], Any]] = {
    "planted: HIV": _mutations,
    "planted: Madelon": lambda: load_madelon().X,
}
PROBLEMS: dict[str, Callable[..., Simulated]] = {
    **{
        f"null: {columns}, {outcome}": partial(simulate_null, columns, outcome)
        for columns, outcome in dict.fromkeys(
            [(columns, "normal") for columns in COLUMNS]
            + [("normal", outcome) for outcome in OUTCOMES]
            + list(HARSH)
        )
    },
    **{f"paper: {setup}": partial(simulate, setup) for setup in PAPER_SETUPS},
    "bumps": simulate_bumps,
    "bumps: classes": partial(simulate_bumps, classes=True),
    **{
        f"AR({r}): {n} signals": partial(simulate_autoregressive, n_signals=n, correlation=r)
        for r in (0.5, 0.9)
        for n in (10, 20)
    },
    **{name: partial(_planted, read) for name, read in REAL.items()},
}
CLASSES: dict[str, Callable[..., Simulated | Labelled]] = {
    **{f"two classes: {setup}": partial(_cut_at_median, setup) for setup in PAPER_SETUPS},
    "three classes: expression": _expression,
}
"""The paper's set-ups cut at the median, and genes of three classes; not of the battery."""
ALL_PROBLEMS = {**PROBLEMS, **CLASSES}
SIZES: dict[str, tuple[tuple[int, int], ...]] = {
    "null": ((300, 5), (300, 20), (300, 200), (300, 2_000), (300, 10_000)),
    "paper": ((300, 1_000), (300, 10_000)),
    "bumps": ((250, 500), (500, 500)),
    "AR(0.5)": ((300, 1_000),),
    "AR(0.9)": ((300, 1_000),),
    "planted: HIV": ((767, 201),),
    "planted: Madelon": ((400, 500),),
}
BATTERY = tuple(
    Cell(
        "nulls" if setup.startswith("null") else "signals",
        setup, n, p, 200 if setup.startswith("null") and p <= 200 else 50,
    )
    for setup in PROBLEMS
    for n, p in SIZES.get(setup) or SIZES[setup.split(":")[0]]
)  # fmt: skip


def missing_tables() -> dict[str, str]:
    """Problems whose real table is not here, and why."""
    missing = {}
    for name, read in REAL.items():
        try:
            read()
        except OSError as error:
            missing[name] = str(error)
    return missing


def battery_tasks(
    cells: Iterable[Cell], limits: Mapping[str, Mapping[Part, int]], first: int = 0
) -> Iterator[Task]:
    """Tasks of the methods, number by number from ``first`` on.

    ``limits`` says how many data sets of a cell a method sees at most, by part; a part that is
    not there has all of them.
    """
    cells = list(cells)
    for k in range(max((cell.n_sets for cell in cells), default=0)):
        for cell in cells:
            for method, limit in limits.items():
                if k < min(cell.n_sets, limit.get(cell.part, cell.n_sets)):
                    yield Task(cell.setup, cell.n_rows, cell.n_columns, first + k, method)
