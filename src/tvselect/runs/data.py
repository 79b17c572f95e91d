"""From a plan to what the selectors take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tvselect.runs.columns import dates_to_numbers, numbers_of, to_numbers, without_infinity
from tvselect.runs.errors import RunError, hint
from tvselect.runs.plan import Plan
from tvselect.runs.tables import TableFiles, open_table
from tvselect.runs.target import missing_mask
from tvselect.sources import Source
from tvselect.sources.arrow import as_target
from tvselect.sources.complete import CompleteSource

ROWS_OF_SAMPLE = 2000


def open_planned(plan: Plan) -> TableFiles:
    """The files of a plan, which must still have its columns.

    Raises
    ------
    OSError, RunError, SourceError
        When they cannot be read or have changed.
    """
    files = open_table(plan.table, plan.delimiter, plan.decimal)
    names = set(files.names())
    for name in (plan.target, *plan.columns):
        if name not in names:
            raise RunError(
                f"{plan.table} has no column {name!r} any more, but the run chose from it; "
                f"{hint(name, names)}"
            )
    return files


def prepare(plan: Plan, table: pa.Table | None = None) -> tuple[pa.Table, NDArray[Any]]:
    """The table in memory: numbers and text, rows without a target left out."""
    if table is None:
        table = open_planned(plan).read([*plan.columns, plan.target])
    return _convert(plan, table)


def open_stream(plan: Plan) -> Source:
    """The table as a stream of complete rows."""
    source = open_planned(plan).source(plan.target, plan.columns)
    return CompleteSource(source, n_rows=plan.n_rows)


def sample(plan: Plan) -> tuple[pa.Table, NDArray[Any]]:
    """Some rows of a stream, as they would be in memory."""
    return _convert(plan, open_planned(plan).head(ROWS_OF_SAMPLE))


def _convert(plan: Plan, table: pa.Table) -> tuple[pa.Table, NDArray[Any]]:
    missing = missing_mask(table.column(plan.target))
    if missing.any():
        table = table.filter(pa.array(~missing))
    numbers, dates = set(plan.numbers), set(plan.dates)
    columns = []
    for name in plan.columns:
        column = table.column(name)
        if name in numbers:
            column = pa.array(without_infinity(to_numbers(column)))
        elif name in dates:
            column = pa.array(dates_to_numbers(column))
        elif not _is_text(column.type):
            column = pa.array(without_infinity(numbers_of(column)))
        columns.append(column)
    y = as_target(table.column(plan.target))
    return pa.Table.from_arrays(columns, names=list(plan.columns)), np.asarray(y)


def _is_text(kind: pa.DataType) -> bool:
    return (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_dictionary(kind)
    )
