"""What was found about each variable, to CSV and back."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tvselect.runs.errors import RunError
from tvselect.selectors.history import History

HEADER = ("variable", "selected", "pi", "low", "high", "times_played", "group")


class VariableResult(NamedTuple):
    """A variable: how often it was paid (``pi``), the 95 % interval, how often it was played."""

    name: str
    selected: bool
    pi: float
    low: float
    high: float
    times_played: int
    group: str


def read_off(history: History) -> list[VariableResult]:
    """All variables of a run, best first; ties in the order of the table."""
    by_feature, names, labels = history.layout.by_feature, history.names, history.labels
    support, pi = history.support, by_feature(history.means(), 1.0)
    order = np.lexsort((-pi, ~support))
    low, high = (by_feature(bound, 1.0).round(6)[order].tolist() for bound in history.intervals.T)
    values = zip(
        [names[j] for j in order],
        support[order].tolist(),
        pi.round(6)[order].tolist(),
        low,
        high,
        by_feature(history.times_played, history.n_plays)[order].tolist(),
        [labels.get(arm, "") for arm in history.arm_of_feature[order].tolist()],
        strict=True,
    )
    return list(map(VariableResult._make, values))


def to_csv(variables: Iterable[VariableResult]) -> str:
    """Variables as text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(
        (name, "yes" if selected else "no", f"{pi:.6f}", f"{low:.6f}", f"{high:.6f}", times, group)
        for name, selected, pi, low, high, times, group in variables
    )
    return out.getvalue()


def from_csv(path: Path) -> list[VariableResult]:
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


def _variable(row: Sequence[str]) -> VariableResult:
    name, selected, pi, low, high, times, group = row
    return VariableResult(
        name, selected == "yes", float(pi), float(low), float(high), int(times), group
    )
