"""What may spoil a selection from a table in a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import as_target
from tvselect.inputs.doubts import find_doubts
from tvselect.inputs.facts import MOST_CATEGORIES, Doubt
from tvselect.inputs.outcome import Family, missing_mask
from tvselect.inputs.table import one_hot
from tvselect.runs.data import RawTable
from tvselect.runs.outcome import look_at_outcome

VALUES_AT_ONCE = 2**18


def look_for_doubts(
    raw: RawTable, chosen: Collection[str], family: Family | None
) -> tuple[Doubt, ...]:
    """Doubts about the chosen columns; copies and identifiers were looked for already."""
    y = as_target(raw.target)
    rows = np.flatnonzero(~missing_mask(y))
    try:
        outcome = look_at_outcome(y[rows], family)
    except (TypeError, ValueError):  # the first rows of a stream may not tell
        return ()
    names = [field.name for field in raw.fields if field.kind == "number"]
    texts = {
        name: text
        for name, text in raw.texts.items()
        if name in chosen and len(text.levels) <= MOST_CATEGORIES
    }
    for name, text in texts.items():
        names += [name] * len(text.levels)

    def blocks() -> Iterator[tuple[int, NDArray[np.float64]]]:
        columns = raw.matrix.T
        step = max(1, VALUES_AT_ONCE // max(1, len(raw.matrix)))
        for first in range(0, len(columns), step):
            block = columns[first : first + step]
            yield first, block if rows.size == y.size else block[:, rows]
        place = len(columns)
        for text in texts.values():
            yield place, np.ascontiguousarray(one_hot(text.codes[rows], len(text.levels)).T)
            place += len(text.levels)

    found = find_doubts(names, blocks(), outcome, with_structure=False)
    about = (doubt if doubt.is_of_outcome else _among(doubt, chosen) for doubt in found)
    return tuple(doubt for doubt in about if doubt.is_of_outcome or doubt.names)


def _among(doubt: Doubt, chosen: Collection[str]) -> Doubt:
    return replace(doubt, names=tuple(name for name in doubt.names if name in chosen))
