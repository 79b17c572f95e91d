"""From a plan to what the selectors take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Table
from tvselect.inputs.arrow import as_days, as_matrix, as_target, as_text
from tvselect.inputs.kinds import Field
from tvselect.inputs.outcome import missing_mask
from tvselect.inputs.profile import text_to_numbers
from tvselect.runs.errors import RunError, hint
from tvselect.runs.plan import Plan
from tvselect.sources import CompleteSource, Source, open_files
from tvselect.sources.arrow import read_fields
from tvselect.sources.stored import FileSource, TableFiles

ROWS_OF_SAMPLE = 2000


def open_planned(plan: Plan) -> TableFiles:
    """The files of a plan, which must still have its columns.

    Raises
    ------
    OSError, RunError, SourceError
        When they cannot be read or have changed.
    """
    files = open_files(plan.table, delimiter=plan.delimiter, decimal=plan.decimal)
    names = set(files.names)
    for name in (plan.target, *plan.columns):
        if name not in names:
            raise RunError(
                f"{plan.table} has no column {name!r} any more, but the run chose from it; "
                f"{hint(name, names)}"
            )
    return files


def prepare(plan: Plan, table: Any = None) -> tuple[Table, NDArray[Any]]:
    """The table in memory: numbers and text, rows without a target left out.

    ``table`` is the Arrow table of the files, if it is at hand.
    """
    if table is None:
        table = open_planned(plan).read([*plan.columns, plan.target])
    return _convert(plan, table)


def open_stream(plan: Plan) -> Source:
    """The table as a stream of complete rows."""
    source = FileSource(open_planned(plan), plan.target, plan.columns)
    return CompleteSource(source, n_rows=plan.n_rows)


def sample(plan: Plan) -> tuple[Table, NDArray[Any]]:
    """Some rows of a stream, as they would be in memory."""
    return _convert(plan, open_planned(plan).head(ROWS_OF_SAMPLE))


def _convert(plan: Plan, table: Any) -> tuple[Table, NDArray[Any]]:
    names = table.column_names
    y = as_target(table.column(names.index(plan.target)))
    if (missing := missing_mask(y)).any():
        table, y = table.take(np.flatnonzero(~missing)), y[~missing]
    if len(names) == len(plan.columns) + 1:
        table = table.remove_column(names.index(plan.target))
    if tuple(table.column_names) != plan.columns:
        place_of = {name: place for place, name in enumerate(table.column_names)}
        table = table.select([place_of[name] for name in plan.columns])
    fields = read_fields(table.schema)
    as_numbers = plan.facts.numbers
    categorical = np.array([f.kind == "text" and f.name not in as_numbers for f in fields])
    plain = np.array([f.kind == "number" for f in fields], dtype=np.bool_)
    matrix = _matrix(table, fields, plain, categorical)
    for name in plan.facts.infinite:
        place = np.count_nonzero(~categorical[: plan.columns.index(name)])
        matrix[np.isinf(matrix[:, place]), place] = np.nan
    texts = [as_text(table.column(int(j))) for j in np.flatnonzero(categorical)]
    return Table.of_matrix(matrix, plan.columns, texts, categorical), y


def _matrix(
    table: Any,
    fields: Sequence[Field],
    plain: NDArray[np.bool_],
    categorical: NDArray[np.bool_],
) -> NDArray[np.floating[Any]]:
    """All columns but those of text, as numbers."""
    if plain.all():
        return as_matrix(table)
    out = np.empty((table.num_rows, np.count_nonzero(~categorical)), order="F")
    if plain.any():
        out[:, plain[~categorical]] = as_matrix(table.select(np.flatnonzero(plain).tolist()))
    for place, j in enumerate(np.flatnonzero(~categorical)):
        if not plain[j]:
            column = table.column(int(j))
            is_text = fields[int(j)].kind == "text"
            out[:, place] = text_to_numbers(as_text(column)) if is_text else as_days(column)
    return out
