"""Columns of text that hold numbers with marks and signs: how these are read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tvselect.inputs.arrow import as_text, load
from tvselect.inputs.facts import text_to_numbers
from tvselect.inputs.kinds import kind_of
from tvselect.inputs.text import TextColumn, Writing, decide_writing, look_at, mixed_units
from tvselect.runs.data import RawTable
from tvselect.runs.errors import RunError
from tvselect.sources.csv import CsvFiles
from tvselect.sources.stored import TableFiles
from tvselect.words import counted


class WrittenNumbers(NamedTuple):
    """How numbers are written, by column; and those of several units."""

    written: dict[str, Writing]
    mixed: dict[str, tuple[str, ...]]


def find_writing(raw: RawTable, target: str, files: TableFiles) -> WrittenNumbers:
    """Look at the text of a table, the target included."""
    texts = dict(raw.texts)
    if kind_of(raw.target.type) == "text":
        text = as_text(raw.target)
        if len(text.levels) > 2:  # two are classes
            texts[target] = text
    looks = {name: look for name, text in texts.items() if (look := look_at(text)) is not None}
    mixed = {name: units for name, look in looks.items() if (units := mixed_units(look))}
    if not isinstance(files, CsvFiles):
        return WrittenNumbers(decide_writing(looks, (), "."), mixed)
    dialect = files.dialect
    given = dialect.decimal if dialect.is_given else None
    return WrittenNumbers(decide_writing(looks, dialect.known, dialect.usual, given), mixed)


def target_as_numbers(column: Any, writing: Writing | None, what: str) -> Any:
    """An Arrow column of text as one of numbers, if it holds some.

    Raises
    ------
    RunError
        For a cell that is none.
    """
    pa = load("pyarrow")
    if writing is None:
        if kind_of(column.type) == "text":
            _refuse_a_mark(as_text(column), what)
        return column
    text = as_text(column)
    values = text_to_numbers(text, writing)
    odd = np.flatnonzero(np.isnan(values) & (text.codes >= 0))
    if odd.size:
        raise RunError(
            f"{what} holds numbers such as {writing.cell!r}, but {text.labels()[odd[0]]!r} in row "
            f"{odd[0] + 1}{f' and text in {odd.size - 1:,} more' if odd.size > 1 else ''}; mend or "
            "empty these"
        )
    return pa.chunked_array([pa.array(values, from_pandas=True)])


def _refuse_a_mark(text: TextColumn, what: str) -> None:
    """A sign such as '?' among labels is no class, but says that the value is missing."""
    marks = [k for k, label in enumerate(text.levels) if label and not any(map(str.isalnum, label))]
    if len(marks) == 1 and len(text.levels) > 2:
        rows = np.flatnonzero(text.codes == marks[0])
        raise RunError(
            f"{what} holds {text.levels[marks[0]]!r} in {counted(rows.size, 'row')}, first in row "
            f"{rows[0] + 1}; empty these cells where the value is missing, or write a name for "
            "the class"
        )
