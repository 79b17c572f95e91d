"""What the rows at hand add to a run: the outcome, shapes and look-alikes of what was selected."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import read_outcome
from tvselect.inputs.outcome import Outcome
from tvselect.plotting.arms import FittedArms
from tvselect.report.dependence import MOST_SHOWN, partial_dependence
from tvselect.report.findings import Dependence, LookAlike, Resemblance
from tvselect.report.lookalikes import ALIKE, chance_level, find_lookalikes
from tvselect.report.names import readable, shown
from tvselect.report.rows import Rows
from tvselect.selectors.history import History

MOST_CHOSEN, MOST_COMPARED = 100, 30
NO_TABLE = "The table was not at hand when this report was written."


class Columns(NamedTuple):
    """Columns and the names they are shown by."""

    places: NDArray[np.int64]
    names: tuple[str, ...]


def selected_columns(history: History, every: FittedArms) -> Columns:
    """Columns of the selected arms in falling order of pi, then those always included."""
    falling = np.argsort(-every.probabilities, kind="stable")
    arms = falling[every.selected[falling]][:MOST_CHOSEN]
    places = [np.flatnonzero(history.arm_of_feature == arm) for arm in arms]
    places.append(np.flatnonzero(history.arm_of_feature < 0))
    columns = np.concatenate(places).astype(np.int64)[:MOST_CHOSEN]
    return Columns(columns, tuple(shown(history.names[j], int(j)) for j in columns))


def outcome_of(history: History, rows: Rows | None, y: Any) -> tuple[Outcome | None, str]:
    """The outcome of the rows at hand, or why there is none."""
    target = y if rows is None else rows.target
    if target is None:
        return None, NO_TABLE
    try:
        return read_outcome(target, len(target), family=history.asked.family), ""
    except (TypeError, ValueError) as error:
        return None, f"It could not be worked out from the rows at hand: {readable(error)}."


def shapes_of(
    rows: Rows | None,
    outcome: Outcome | None,
    note: str,
    chosen: Columns,
    rng: np.random.Generator,
) -> tuple[tuple[Dependence, ...], str]:
    """How the outcome depends on the chosen columns, and how that was found, or why not."""
    if chosen.places.size == 0:
        return (), "There is no selected variable to look at."
    if rows is None or outcome is None:
        return (), note or NO_TABLE
    try:
        found = partial_dependence(rows, outcome, chosen.places.tolist(), chosen.names, rng)
    except ValueError as error:
        return (), f"No model could be fitted to the rows at hand: {readable(error)}."
    more = f"; the first {MOST_SHOWN} are shown" if chosen.places.size > MOST_SHOWN else ""
    return found, f"By a model of the selected variables, on {rows.n_rows:,} rows{more}."


def lookalikes_of(
    history: History, every: FittedArms, rows: Rows | None, chosen: Columns
) -> tuple[tuple[Resemblance, ...], str]:
    """Look-alikes of the chosen columns, and how they were found, or why not."""
    if rows is None:
        return (), NO_TABLE
    arm_of_feature = history.arm_of_feature
    columns = chosen.places[arm_of_feature[chosen.places] >= 0][:MOST_COMPARED]
    if columns.size == 0:
        return (), "There is no selected variable to compare with."
    candidates = np.flatnonzero(~history.support)
    found = tuple(
        Resemblance(
            shown(history.names[column], int(column)),
            tuple(
                LookAlike(
                    name=shown(history.names[match.column], match.column),
                    correlation=match.correlation,
                    pi=float(every.probabilities[arm]) if every.times_played[arm] else None,
                )
                for match in matches
                for arm in [arm_of_feature[match.column]]
            ),
        )
        for column, matches in zip(columns, find_lookalikes(rows, columns, candidates), strict=True)
        if matches
    )
    chance = chance_level(rows.n_rows, candidates.size)
    return found, (
        f"{'' if found else 'Nothing: no other column resembles a selected one. '}Shown are "
        f"resemblances of {ALIKE:g} or more, on {rows.n_rows:,} rows; columns of text are not "
        f"compared. Among {candidates.size:,} unrelated columns the strongest would reach about "
        f"{chance:.2f} by chance."
    )
