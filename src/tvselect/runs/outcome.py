"""The outcome of a table in a file: its family, and the rows that lack it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvselect.inputs import read_outcome
from tvselect.inputs.arrow import as_target
from tvselect.inputs.facts import OutcomeProfile
from tvselect.inputs.kinds import kind_of
from tvselect.inputs.outcome import Family, TextOutcomeError, missing_mask
from tvselect.inputs.written import number_of
from tvselect.runs.errors import RunError
from tvselect.words import listed

MOST_CLASSES = 5


def profile_outcome(
    name: str, column: Any, where: str, family: Family | None = None
) -> OutcomeProfile:
    """Look at the outcome.

    Parameters
    ----------
    name : str
    column : pyarrow.ChunkedArray
    where : str
        The table's name in error messages.
    family : {"gaussian", "probit"} or None
        What the user chose.

    Raises
    ------
    TypeError, ValueError
        When there is nothing to explain, or it is neither a number nor two classes.
    """
    what = f"the target {name!r} of {where}"
    if kind_of(column.type) not in ("number", "text"):
        raise RunError(f"{what} holds {column.type}; it must hold numbers or two classes")
    values = as_target(column)
    missing = missing_mask(values)
    present = values[~missing]
    if present.size == 0:
        raise RunError(f"{what} has no value in any of its {len(column):,} rows")
    if present.size == 1:
        raise RunError(f"{what} has a value in 1 row only; at least two are needed")
    try:
        outcome = read_outcome(present, present.size, family=family or "auto", what=what)
    except TextOutcomeError:
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
    )


def _about_text(what: str, texts: list[Any]) -> str:
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
    levels = sorted(set(texts) - {None})
    return (
        f"{what} holds text with {len(levels):,} different values "
        f"({listed(levels, MOST_CLASSES)}); it must be a number or have two classes: "
        "add a 0/1 column for one of them"
    )
