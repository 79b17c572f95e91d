"""What was found about each variable, to CSV and back."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.report.characters import as_cell, from_cell
from tvselect.report.findings import Effect
from tvselect.runs.errors import RunError
from tvselect.selectors.base import BanditFit
from tvselect.selectors.findings import feature_findings
from tvselect.selectors.interactions import Interaction

HEADER = (
    "variable", "selected", "q_value", "selection_rate", "low", "high", "times_played", "claim",
    "group",
)  # fmt: skip
OF_STREAMS = ("e_value", "selected_since")
OF_SELECTED = ("effect", "direction", "of_class")
OF_PAIRS = ("first", "second", "strength", "q_value")


class VariableResult(NamedTuple):
    """A variable: its selection rate, with the 95 % interval, and how often it was played."""

    name: str
    selected: bool
    q_value: float | None  #: None without decoys, and where always included
    selection_rate: float
    low: float
    high: float
    times_played: int
    claim: int | None  #: Number of the claim that it belongs to
    group: str
    e_value: float | None = None  #: Of a stream with error control, as the next
    selected_since: int | None = None  #: Batch
    always: bool = False  #: Included without being tested


def read_off(fit: BanditFit) -> list[VariableResult]:
    """All variables of a run, best first; ties in the order of the table."""
    found, history = feature_findings(fit), fit.history_
    n = len(found.name)
    nothing = [None] * n
    arms = history.arm_of_feature[found.column]
    values = zip(
        found.name,
        found.selected.tolist(),
        _numbers(np.where(arms < 0, np.nan, found.q_value)),
        found.selection_rate.round(6).tolist(),
        found.low.round(6).tolist(),
        found.high.round(6).tolist(),
        found.times_played.tolist(),
        [number or None for number in found.claim.tolist()],
        [history.labels.get(arm, "") for arm in arms.tolist()],
        nothing if found.e_value is None else _numbers(found.e_value),
        nothing
        if found.selected_since is None
        else [batch if batch > 0 else None for batch in found.selected_since.tolist()],
        (arms < 0).tolist(),
        strict=True,
    )
    return list(map(VariableResult._make, values))


def to_csv(
    variables: Sequence[VariableResult],
    *,
    of_stream: bool = False,
    effects: Mapping[str, Effect] | None = None,
) -> str:
    """Variables as text; those of a stream with error control have two columns more.

    A variable is selected, "yes" or "no", or "always" part of the model and not tested.
    With ``effects``, by name, there are three more: how far the outcome moves with the variable,
    which way, and of which class it is the chance.

    Names that a spreadsheet would compute have an apostrophe in front, see
    :func:`tvselect.report.characters.as_cell`.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    has_effects = effects is not None
    writer.writerow(HEADER + OF_STREAMS * of_stream + OF_SELECTED * has_effects)
    for v in variables:
        more = [_cell(v.e_value), _cell(v.selected_since)] if of_stream else []
        if effects is not None:
            found = effects.get(v.name)
            more += (
                [""] * len(OF_SELECTED)
                if found is None
                else [f"{found.size:.6g}", found.direction, as_cell(found.of_class)]
            )
        writer.writerow(
            [as_cell(v.name), _answer(v), _cell(v.q_value),
             f"{v.selection_rate:.6f}", f"{v.low:.6f}", f"{v.high:.6f}", v.times_played,
             _cell(v.claim), as_cell(v.group), *more]
        )  # fmt: skip
    return out.getvalue()


def pairs_to_csv(interactions: Sequence[Interaction]) -> str:
    """Interactions as text.

    Examples
    --------
    >>> print(pairs_to_csv([Interaction((0, 2), ("age", "dose"), 1.5, 0.05)]), end="")
    first,second,strength,q_value
    age,dose,1.5,0.05
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(OF_PAIRS)
    for pair in interactions:
        writer.writerow([*map(as_cell, pair.names), _cell(pair.strength), _cell(pair.q_value)])
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
        known = [HEADER + more for more in ((), OF_STREAMS)]
        if tuple(rows[0]) not in (*known, *(header + OF_SELECTED for header in known)):
            raise ValueError
        return [_variable(dict(zip(rows[0], row, strict=True))) for row in rows[1:]]
    except (IndexError, ValueError):
        raise RunError(
            f"{path} is not as tvs wrote it; 'tvs resume {path.parent}' writes it again"
        ) from None


def _variable(cells: dict[str, str]) -> VariableResult:
    def known(name: str, kind: Any) -> Any:
        return kind(cells[name]) if cells.get(name) else None

    return VariableResult(
        from_cell(cells["variable"]),
        cells["selected"] != "no",
        known("q_value", float),
        float(cells["selection_rate"]),
        float(cells["low"]),
        float(cells["high"]),
        int(cells["times_played"]),
        known("claim", int),
        from_cell(cells["group"]),
        known("e_value", float),
        known("selected_since", int),
        cells["selected"] == "always",
    )


def _answer(v: VariableResult) -> str:
    if v.always:
        return "always"
    return "yes" if v.selected else "no"


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else float(f"{value:.6g}") for value in values.tolist()]


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
