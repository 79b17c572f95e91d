"""The outcome of a table in a file: its family, and the rows that lack it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import read_outcome
from tvselect.inputs.arrow import as_target
from tvselect.inputs.errors import RowError
from tvselect.inputs.facts import OutcomeProfile
from tvselect.inputs.kinds import kind_of
from tvselect.inputs.outcome import Family, Outcome, TextOutcomeError, missing_mask, survival_array
from tvselect.inputs.text import number_of
from tvselect.runs.errors import RunError
from tvselect.words import listed

MOST_CLASSES = 5


def profile_outcome(
    name: str,
    column: Any,
    where: str,
    family: Family | None = None,
    event: tuple[str, NDArray[np.float64]] | None = None,
) -> OutcomeProfile:
    """Look at the outcome.

    Parameters
    ----------
    name : str
    column : pyarrow.ChunkedArray
    where : str
        The table's name in error messages.
    family : str or None
        What the user chose.
    event : name and values, optional
        Whether a survival time ended in the event, 1 or 0; NaN is missing.

    Raises
    ------
    TypeError, ValueError
        When there is nothing to explain, or it is of no family.
    """
    what = f"the target {name!r} of {where}"
    if kind_of(column.type) not in ("number", "text"):
        raise RunError(f"{what} holds {column.type}; it must hold numbers or classes")
    values = as_target(column)
    missing = missing_mask(values)
    if event is not None:
        missing |= np.isnan(event[1])
    present = values[~missing]
    if present.size == 0:
        raise RunError(f"{what} has no value in any of its {len(column):,} rows")
    if present.size == 1:
        raise RunError(f"{what} has a value in 1 row only; at least two are needed")
    if event is not None:
        if kind_of(column.type) == "text":
            raise RunError(_about_text(what, values.tolist(), is_time=True))
        present = survival_array(present, event[1][~missing])
    try:
        outcome = look_at_outcome(present, family, what)
    except RowError as error:
        row = int(np.flatnonzero(~missing)[error.row]) + 1
        raise RowError(error.problem, error.remedy, row) from None
    except TextOutcomeError:
        if family == "ordinal":
            raise RunError(
                f"{what} holds grades in text, whose order is not known; write them as numbers, "
                "from the lowest on"
            ) from None
        raise RunError(_about_text(what, values.tolist())) from None
    labels = () if outcome.classes is None else outcome.classes.tolist()
    return OutcomeProfile(
        name=name,
        family=outcome.family,
        is_asked=family is not None,
        is_text=kind_of(column.type) == "text",
        n_rows=present.size,
        n_missing=int(missing.sum()),
        n_distinct=np.unique(outcome.values).size,
        classes=tuple(map(str, labels)),
        is_guess=outcome.is_guess,
        low=float(outcome.values.min()) if outcome.family == "counts" else 0.0,
        high=float(outcome.values.max()) if outcome.family == "counts" else 0.0,
        event=None if event is None else event[0],
        n_events=0 if outcome.upper is None else int(np.isfinite(outcome.upper).sum()),
    )


def look_at_outcome(y: NDArray[Any], family: Family | None, what: str = "y") -> Outcome:
    """Read an outcome without a word: the fit warns of what is odd."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read_outcome(y, y.size, family=family or "auto", what=what)


def read_event(column: Any, name: str, where: str) -> NDArray[np.float64]:
    """A column that says whether the event took place, as 1 and 0; NaN is missing.

    Raises
    ------
    RunError
        For anything but true and false, yes and no, 1 and 0.
    """
    said = {"true": 1.0, "yes": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "no": 0.0, "0": 0.0,
            "0.0": 0.0}  # fmt: skip
    values = np.empty(len(column))
    for row, value in enumerate(column.to_pylist()):
        text = str(value).strip().lower()
        if value is None or text == "nan":
            values[row] = np.nan
        elif text in said:
            values[row] = said[text]
        else:
            raise RowError(
                f"the event {name!r} of {where} has {value!r}",
                "it must be true or false (1 or 0)",
                row + 1,
            )
    return values


def _about_text(what: str, texts: list[Any], *, is_time: bool = False) -> str:
    numbers = [0.0 if text is None else number_of(text.replace("_", "")) for text in texts]
    odd = np.flatnonzero(np.isnan(numbers)).tolist()
    if not odd:
        return (
            f"{what} holds numbers that are written in several ways, such as {texts[0]!r}; write "
            "them alike"
        )
    if 2 * len(odd) < len(texts):
        return (
            f"{what} holds numbers, but {texts[odd[0]]!r} in row {odd[0] + 1}"
            f"{f' and text in {len(odd) - 1:,} more' if len(odd) > 1 else ''}; mend or empty these"
        )
    if is_time:
        return f"{what} holds text such as {texts[odd[0]]!r}; survival times are numbers"
    levels = sorted(set(texts) - {None})
    return (
        f"{what} holds text with {len(levels):,} different values "
        f"({listed(levels, MOST_CLASSES)}), too many for classes; it must be a number or have "
        "fewer classes"
    )
