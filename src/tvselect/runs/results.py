"""What was found about each variable, to CSV and back."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.runs.errors import RunError

HEADER = ("variable", "selected", "pi", "low", "high", "times_played", "group")


class Variable(NamedTuple):
    """A variable: how often it was paid (``pi``), the 95 % interval, how often it was played."""

    name: str
    selected: bool
    pi: float
    low: float
    high: float
    times_played: int
    group: str


def read_off(selector: Any) -> list[Variable]:
    """All variables of a fitted selector, best first; ties in the order of the table."""
    history = selector.history_
    arms = history.arm_of_feature
    played = _times_played(history)
    pi, intervals = selector.inclusion_probabilities_, selector.inclusion_intervals_
    return [
        Variable(
            history.names[j],
            bool(selector.support_[j]),
            round(float(pi[j]), 6),
            round(float(intervals[j, 0]), 6),
            round(float(intervals[j, 1]), 6),
            int(played[arms[j]]) if arms[j] >= 0 else int(selector.n_plays_),
            history.labels.get(int(arms[j]), ""),
        )
        for j in np.lexsort((-pi, ~selector.support_))
    ]


def _times_played(history: Any) -> NDArray[np.int64]:
    n_arms = int(history.arm_of_feature.max(initial=-1)) + 1 + history.decoy_of.size
    played = np.zeros(n_arms, dtype=np.int64)
    for chain in range(history.n_chains):
        for play in history.journal.plays(chain):
            played[play.arms] += 1
    return played


def to_csv(variables: Iterable[Variable]) -> str:
    """Variables as text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for v in variables:
        writer.writerow([v.name, "yes" if v.selected else "no", *map(_six, v[2:5]), *v[5:]])
    return out.getvalue()


def from_csv(path: Path) -> list[Variable]:
    """Variables from a file that :func:`to_csv` wrote.

    Raises
    ------
    RunError
        When it is missing or something else.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise RunError(
            f"{path} cannot be read; 'tvs resume {path.parent}' writes it again"
        ) from None
    try:
        if tuple(rows[0]) != HEADER:
            raise ValueError
        return [_variable(row) for row in rows[1:]]
    except (IndexError, ValueError):
        raise RunError(
            f"{path} is not as tvs wrote it; 'tvs resume {path.parent}' writes it again"
        ) from None


def _variable(row: Sequence[str]) -> Variable:
    name, selected, pi, low, high, times, group = row
    return Variable(name, selected == "yes", float(pi), float(low), float(high), int(times), group)


def _six(value: float) -> str:
    return f"{value:.6f}"
