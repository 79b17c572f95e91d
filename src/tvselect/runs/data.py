"""From a plan to what the selectors take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Table, TextColumn
from tvselect.inputs.arrow import Field, as_days, as_matrix, as_target, as_text, fields_of
from tvselect.inputs.columns import ColumnFile
from tvselect.inputs.errors import RowError
from tvselect.inputs.outcome import missing_mask, survival_array
from tvselect.inputs.text import Writing, text_to_numbers
from tvselect.runs import RunError, hint
from tvselect.runs.plan import Plan
from tvselect.sources import CompleteSource, FileSource, Source, open_files
from tvselect.sources.files import STANDARD_INPUT
from tvselect.sources.tables import ColumnTable, TableFiles
from tvselect.words import listed

ROWS_OF_SAMPLE = 2000


def open_planned(plan: Plan) -> TableFiles:
    """The files of a plan, which must still have its columns."""
    if plan.table == STANDARD_INPUT:
        raise RunError(
            "the table came through standard input and is gone; save it as a file, and say where "
            "with --table"
        )
    files = open_files(
        plan.table,
        delimiter=plan.delimiter,
        decimal=plan.decimal,
        sheet=plan.sheet,
        transpose=plan.transpose,
        phenotypes=local_path(plan.phenotypes),
        layer=plan.layer,
    )
    names = set(files.names)
    for name in (plan.target, *([plan.event] if plan.event else []), *plan.columns):
        if name not in names:
            raise RunError(
                f"{files.where} has no column {name!r} any more, but the run chose from it; "
                f"{hint(name, names)}"
            )
    return files


def local_path(phenotypes: str | None) -> str | None:
    """The path of the table of the people: a file that names a host is refused."""
    if phenotypes is None:
        return None
    if "://" in phenotypes or phenotypes == STANDARD_INPUT:
        raise RunError("--phenotype is a file of this machine; save it as one")
    return os.path.abspath(os.path.expanduser(phenotypes))


def prepare(
    plan: Plan, files: TableFiles, raw: RawTable | None = None
) -> tuple[Table, NDArray[Any]]:
    """The table in memory: numbers and text, rows without a target left out.

    ``raw`` is what was read already.
    """
    if raw is None:
        needed = [*plan.columns, plan.target, *([plan.event] if plan.event else [])]
        raw = read_raw(files, needed, plan.target, plan.event)
    files.require_unchanged()
    return _convert(plan, raw)


def open_stream(plan: Plan, files: TableFiles) -> Source:
    """The table as a stream of complete rows."""
    return CompleteSource(FileSource(files, plan.target, plan.columns), n_rows=plan.n_rows)


def sample(plan: Plan, files: TableFiles) -> tuple[Table, NDArray[Any]]:
    """Some rows of a stream, as they would be in memory."""
    return _convert(plan, read_raw(files, files.names, plan.target, n_rows=ROWS_OF_SAMPLE))


@dataclass(frozen=True)
class RawTable:
    """A table as it comes out of a file.

    Attributes
    ----------
    fields : tuple of Field
        All columns but the target.
    matrix : float64 array (rows, columns), by column
        The columns of numbers.
    texts, days : dict
        Columns of text, and of dates as days since 1970-01-01, by name.
    target : pyarrow.ChunkedArray
    event : pyarrow.ChunkedArray or None
        Whether a survival time ended in the event.
    file : ColumnFile or None
        Columns that are not read yet.
    in_file : tuple of str
        Their names.
    """

    fields: tuple[Field, ...]
    matrix: NDArray[np.float64]
    texts: dict[str, TextColumn]
    days: dict[str, NDArray[np.float64]]
    target: Any
    event: Any = None
    file: ColumnFile | None = None
    in_file: tuple[str, ...] = ()


def read_raw(
    files: TableFiles,
    columns: Sequence[str],
    target: str,
    event: str | None = None,
    n_rows: int | None = None,
) -> RawTable:
    """Some columns of a table, the target among them: all rows, or the first ``n_rows``."""
    wanted = set(columns)
    if isinstance(files, ColumnTable):
        known = files.rows if n_rows is None else files.head(n_rows)
        for name in (target, event):
            if name in files.in_file:
                raise RunError(
                    f"{name!r} is a column of {files.where}; the target is known of its rows: "
                    f"{listed(known.column_names)}"
                )
        known = known.select([name for name in known.column_names if name in wanted])
        file = files.file if n_rows is None else files.file.at(np.arange(known.num_rows))
        return replace(split(known, target, event), file=file, in_file=tuple(files.in_file))
    is_all = wanted.issuperset(files.names) and not files.in_some
    if n_rows is None:
        table = files.read(None if is_all else columns)
    else:
        table = files.head(n_rows)
        table = table.select([name for name in table.column_names if name in wanted])
    return split(table, target, event)


def split(table: Any, target: str, event: str | None = None) -> RawTable:
    """The columns of an Arrow table, those of numbers converted together."""
    events = None
    if event is not None:
        events, table = table[event], table.drop_columns([event])
    fields = fields_of(table.column_names, table.schema.types)
    place = next(j for j, field in enumerate(fields) if field.name == target)
    places = [j for j in range(len(fields)) if j != place]
    numeric = [j for j in places if fields[j].kind == "number"]
    is_plain = len(numeric) == len(places)
    numbers = table.remove_column(place) if is_plain else table.select(numeric)
    return RawTable(
        fields=tuple(fields[j] for j in places),
        matrix=np.asfortranarray(as_matrix(numbers), dtype=np.float64),
        texts={fields[j].name: as_text(table[j]) for j in places if fields[j].kind == "text"},
        days={fields[j].name: as_days(table[j]) for j in places if fields[j].kind == "date"},
        target=table.column(place),
        event=events,
    )


def _convert(plan: Plan, raw: RawTable) -> tuple[Table, NDArray[Any]]:
    in_file = {name: place for place, name in enumerate(raw.in_file)}
    front = tuple(name for name in plan.columns if name not in in_file)
    table, y, complete = _in_memory(replace(plan, columns=front), raw)
    if raw.file is not None:
        behind = [name for name in plan.columns if name in in_file]
        places = np.array([in_file[name] for name in behind], dtype=np.int64)
        table = table.beside(raw.file.at(complete, places), behind)
    return table, y


def _in_memory(plan: Plan, raw: RawTable) -> tuple[Table, NDArray[Any], NDArray[np.int64] | None]:
    """The columns that were read, the outcome, and the rows that have one; None is all."""
    chosen, facts = set(plan.columns), plan.facts
    y = _read_target(raw.target, facts.written.get(plan.target))
    used = np.array([f.name in chosen for f in raw.fields if f.kind == "number"], dtype=np.bool_)
    plain = raw.matrix if used.all() else raw.matrix[:, used]
    categorical = np.array(
        [name in raw.texts and name not in facts.numbers for name in plan.columns], dtype=np.bool_
    )
    texts = [raw.texts[plan.columns[j]] for j in np.flatnonzero(categorical)]
    matrix = _with_converted(plan, raw, plain, categorical)
    for name in facts.infinite:
        place = np.count_nonzero(~categorical[: plan.columns.index(name)])
        matrix[np.isinf(matrix[:, place]), place] = np.nan
    missing = missing_mask(y)
    if plan.event is not None:
        event = read_event(raw.event, plan.event, plan.facts.where)
        missing |= np.isnan(event)
        y = survival_array(y, np.nan_to_num(event))
    complete = None
    if missing.any():
        complete = np.flatnonzero(~missing)
        matrix, y, texts = matrix[complete], y[complete], [text.at(complete) for text in texts]
    return Table.of_matrix(matrix, plan.columns, texts, categorical), y, complete


def read_event(column: Any, name: str, where: str) -> NDArray[np.float64]:
    """A column that says whether the event took place, as 1 and 0; NaN is missing."""
    values = np.empty(len(column))
    for row, value in enumerate(column.to_pylist()):
        text = str(value).strip().lower()
        if value is None or text == "nan":
            values[row] = np.nan
        elif text in ("true", "yes", "1", "1.0"):
            values[row] = 1.0
        elif text in ("false", "no", "0", "0.0"):
            values[row] = 0.0
        else:
            raise RowError(
                f"the event {name!r} of {where} has {value!r}",
                "it must be true or false (1 or 0)",
                row + 1,
            )
    return values


def _read_target(column: Any, writing: Writing | None) -> NDArray[Any]:
    return as_target(column) if writing is None else text_to_numbers(as_text(column), writing)


def _with_converted(
    plan: Plan, raw: RawTable, plain: NDArray[np.float64], categorical: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The numbers, with dates and numbers written as text at their places among them."""
    names = [name for name, is_text in zip(plan.columns, categorical, strict=True) if not is_text]
    if plain.shape[1] == len(names):
        return plain
    out = np.empty((len(plain), len(names)), order="F")
    facts = plan.facts
    converted = raw.days | {
        name: text_to_numbers(raw.texts[name], facts.written.get(name)) for name in facts.numbers
    }
    is_converted = np.array([name in converted for name in names], dtype=np.bool_)
    out[:, ~is_converted] = plain
    for place in np.flatnonzero(is_converted):
        out[:, place] = converted[names[place]]
    return out
