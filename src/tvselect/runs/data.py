"""From a plan to what the selectors take; and the rows that a condition of SQL keeps.

A condition, such as ``Segment = 'A' and Age >= 30``, may come with a run's folder from anywhere:
SQLite in memory can compare columns and call a few harmless functions, nothing else.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Table, TextColumn
from tvselect.inputs.arrow import (
    Field,
    as_days,
    as_matrix,
    as_target,
    as_text,
    fields_of,
    kind_of,
    load,
)
from tvselect.inputs.columns import ColumnFile
from tvselect.inputs.errors import RowError
from tvselect.inputs.outcome import missing_mask, survival_array
from tvselect.inputs.text import Writing, look_at, text_to_numbers
from tvselect.runs import RunError, hint
from tvselect.runs.plan import FileOptions, Plan
from tvselect.sources import FileSource, Source
from tvselect.sources.files import STANDARD_INPUT
from tvselect.sources.tables import ColumnTable, TableFiles
from tvselect.words import counted, listed

ROWS_OF_SAMPLE = 2000
#: A day, a month and a year, of two digits only where the others have two.
DATE = re.compile(
    r"(?=\d\d\D\d\d\D|.*\d{4})\d{1,2}(?P<mark>[./-])\d{1,2}(?P=mark)(?P<year>\d{4}|\d\d)"
    r"(?P<clock> \d{1,2}:\d\d(?P<seconds>:\d\d)?)?"
)
TRUTH = {"true": 1.0, "yes": 1.0, "1": 1.0, "1.0": 1.0, "nan": np.nan}
TRUTH |= {"false": 0.0, "no": 0.0, "0": 0.0, "0.0": 0.0}


@dataclass(frozen=True)
class RawTable:
    """A table as it comes out of a file."""

    fields: tuple[Field, ...]  #: All columns but the target
    matrix: NDArray[np.float64]  #: The columns of numbers (rows, columns), by column
    texts: dict[str, TextColumn]
    days: dict[str, NDArray[np.float64]]  #: Columns of dates as days since 1970-01-01
    target: Any  #: An Arrow column, as the next
    event: Any = None  #: Whether a survival time ended in the event
    file: ColumnFile | None = None  #: Columns that are not read yet
    in_file: tuple[str, ...] = ()  #: Their names
    #: Columns of text whose cells are all dates: one of these, and the day that it is read as.
    written_days: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def numeric(self) -> list[Field]:
        """The columns of the matrix."""
        return [field for field in self.fields if field.kind == "number"]


def open_planned(plan: Plan) -> TableFiles:
    """The files of a plan, which must still have its columns."""
    if plan.file.table == STANDARD_INPUT:
        raise RunError(
            "the table came through standard input and was not kept; save it as a file, and name "
            "it with --table"
        )
    files = plan.file.open()
    for name in sorted(set(plan.needed).difference(files.names)):
        raise RunError(
            f"{files.where} has no column {name!r} any more, but the run chose from it; "
            f"{hint(name, files.names)}"
        )
    return files


def read_raw(
    files: TableFiles,
    columns: Sequence[str],
    target: str,
    event: str | None = None,
    n_rows: int | None = None,
    where: str | None = None,
) -> RawTable:
    """Some columns and the target of all rows, of the first, or of those that meet ``where``."""
    wanted, also = set(columns), list[str]()
    if where is not None:
        also = [n for n in columns_named(where, files.names, files.where) if n not in wanted]
    if isinstance(files, ColumnTable):
        table = files.rows if n_rows is None else files.head(n_rows)
        for name in (target, event):
            if name in files.in_file:
                raise RunError(
                    f"{name!r} is a column of {files.where}; the target is known of its rows: "
                    f"{listed(table.column_names)}"
                )
    elif n_rows is None:
        is_all = wanted.issuperset(files.names) and not files.in_some
        table = files.read(None if is_all else [*columns, *also])
    else:
        table = files.head(n_rows)
    rows = np.arange(table.num_rows)
    if where is not None:
        rows = rows_that_meet(where, table, files.where)
        table = table.take(rows)
    table = table.select([name for name in table.column_names if name in wanted])
    raw = split(table, target, event)
    if n_rows is None:
        raw = with_written_days(raw)
    if not isinstance(files, ColumnTable):
        return raw
    file = files.file if n_rows is None and where is None else files.file.at(rows)
    return replace(raw, file=file, in_file=tuple(files.in_file))


def split(table: Any, target: str, event: str | None = None) -> RawTable:
    """The columns of an Arrow table, those of numbers converted together."""
    y, events = table[target], None if event is None else table[event]
    table = table.drop_columns([target] if event is None else [target, event])
    fields = fields_of(table.column_names, table.schema.types)
    numeric = [j for j, field in enumerate(fields) if field.kind == "number"]
    return RawTable(
        fields=fields,
        matrix=np.asfortranarray(as_matrix(table.select(numeric)), dtype=np.float64),
        texts={f.name: as_text(table[j]) for j, f in enumerate(fields) if f.kind == "text"},
        days={f.name: as_days(table[j]) for j, f in enumerate(fields) if f.kind == "date"},
        target=y,
        event=events,
    )


def with_written_days(raw: RawTable) -> RawTable:
    """The table with columns of dates that are written as text among those of dates."""
    found, shown = {}, {}
    for name, text in raw.texts.items():
        if (days := read_days(text)) is not None:
            row = text.codes.argmax()
            day = np.datetime64(int(days[row] // 1), "D")
            found[name], shown[name] = days, (text.levels[-1].strip(), str(day))
    if not found:
        return raw
    return replace(
        raw,
        fields=tuple(Field(f.name, "date", "date") if f.name in found else f for f in raw.fields),
        texts={name: text for name, text in raw.texts.items() if name not in found},
        days=raw.days | found,
        written_days=shown,
    )


def read_days(text: TextColumn) -> NDArray[np.float64] | None:
    """Dates written as 31.12.2024, 31/12/2024, 12/31/2024 and so on, as days since 1970-01-01.

    None unless all cells agree on one way, and no other way would do for all of them.

    Examples
    --------
    >>> from tvselect.inputs.text import encode_text
    >>> read_days(encode_text(["02.01.1970", "31.01.1970"]))
    array([ 1., 30.])
    >>> read_days(encode_text(["1/2/1970", "13/1/1970"]))
    array([31., 12.])
    >>> read_days(encode_text(["1/2/1970", "2/1/1970"]))  # January or February?
    """
    text = text.filled()
    cells = [level.strip() for level in text.levels]
    looks = DATE.fullmatch(cells[0]) if cells else None
    if looks is None:
        return None
    mark = looks["mark"]
    clock = "" if looks["clock"] is None else " %H:%M:%S" if looks["seconds"] else " %H:%M"
    year = "%Y" if len(looks["year"]) == 4 else "%y"
    orders = [f"%d{mark}%m"] + [f"%m{mark}%d"] * (mark != ".")
    read = []
    for order in orders:
        with suppress(ValueError):
            how = f"{order}{mark}{year}{clock}"
            read.append([datetime.strptime(cell, how).replace(tzinfo=UTC) for cell in cells])
    if len(read) != 1:
        return None
    days = [moment.timestamp() / 86400 for moment in read[0]]
    return np.array([*days, np.nan])[text.codes]


def prepare(
    plan: Plan, files: TableFiles, raw: RawTable | None = None
) -> tuple[Table, NDArray[Any]]:
    """The table in memory without rows that have no target; ``raw`` is what was read before."""
    raw = raw or read_raw(files, plan.needed, plan.target, plan.event, where=plan.where)
    files.require_unchanged()
    return _convert(plan, raw)


def sample(plan: Plan, files: TableFiles) -> tuple[Table, NDArray[Any]]:
    """Some rows of a stream, as they would be in memory."""
    return _convert(plan, read_raw(files, files.names, plan.target, n_rows=ROWS_OF_SAMPLE))


def open_stream(plan: Plan, files: TableFiles) -> Source:
    """The table as a stream of complete rows."""
    n_rows = plan.facts.outcome.n_rows
    columns = [*plan.columns, *plan.row_columns]
    return FileSource(files, plan.target, columns, complete=True, n_rows=n_rows)


def _convert(plan: Plan, raw: RawTable) -> tuple[Table, NDArray[Any]]:
    """The planned columns as numbers and texts, and the outcome."""
    facts, written = plan.facts, plan.facts.written
    in_file = {name: place for place, name in enumerate(raw.in_file)}
    front = [name for name in (*plan.columns, *plan.row_columns) if name not in in_file]
    is_text = np.array([n in raw.texts and n not in facts.numbers for n in front], dtype=np.bool_)
    texts = [raw.texts[front[j]] for j in np.flatnonzero(is_text)]
    place_of = {field.name: place for place, field in enumerate(raw.numeric)}
    numbers = [name for name, skip in zip(front, is_text, strict=True) if not skip]
    matrix = raw.matrix
    if numbers != list(place_of):
        matrix = np.empty((len(matrix), len(numbers)), order="F")
        for name, values in zip(numbers, matrix.T, strict=True):
            if name in place_of:
                values[:] = raw.matrix[:, place_of[name]]
            elif name in raw.days:
                values[:] = raw.days[name]
            else:
                values[:] = text_to_numbers(raw.texts[name], written.get(name))
    for name in facts.infinite:
        values = matrix[:, numbers.index(name)]
        values[np.isinf(values)] = np.nan
    y = read_target(raw.target, written.get(plan.target))
    missing = missing_mask(y)
    if plan.event is not None:
        event = read_event(raw.event, plan.event, facts.where)
        missing |= np.isnan(event)
        y = survival_array(y, np.nan_to_num(event))
    complete = None
    if missing.any():
        complete = np.flatnonzero(~missing)
        matrix, y, texts = matrix[complete], y[complete], [text.at(complete) for text in texts]
    table = Table.of_matrix(matrix, tuple(front), texts, is_text)
    table.dates = frozenset(field.name for field in raw.fields if field.is_day)
    if raw.file is not None:
        behind = [name for name in plan.columns if name in in_file]
        places = np.array([in_file[name] for name in behind], dtype=np.int64)
        table = table.beside(raw.file.at(complete, places), behind)
    return table, y


def read_target(column: Any, writing: Writing | None) -> NDArray[Any]:
    """The target as it is, or as numbers where these are written as text."""
    return as_target(column) if writing is None else text_to_numbers(as_text(column), writing)


def read_event(column: Any, name: str, where: str) -> NDArray[np.float64]:
    """A column that says whether the event took place, as 1 and 0; NaN is missing."""
    values = np.full(len(column), np.nan)
    for row, value in enumerate(column.to_pylist()):
        if value is None:
            continue
        try:
            values[row] = TRUTH[str(value).strip().lower()]
        except KeyError:
            raise RowError(
                f"the event {name!r} of {where} has {value!r}",
                "it must be true or false (1 or 0)",
                row + 1,
            ) from None
    return values


TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"((?:[^"]|"")*)"|`([^`]*)`|\[([^]]*)\]|(?<![\w$])([^\W\d][\w$]*)"""
)
FUNCTIONS = {
    "abs", "coalesce", "glob", "ifnull", "instr", "length", "like", "lower", "nullif", "round",
    "substr", "trim", "upper",
}  # fmt: skip
OPERATORS = {
    "and", "between", "case", "cast", "collate", "else", "end", "escape", "false", "glob", "in",
    "is", "isnull", "like", "not", "notnull", "null", "or", "then", "true", "when",
}  # fmt: skip
MOST_PARTS = 20
EXAMPLE = "write it as in --where \"Segment = 'A' and Age >= 30\""


def columns_named(condition: str, names: Sequence[str], where: str) -> list[str]:
    """The columns of a table that a condition names; a RunError for others, and for none."""
    by_case = {name.casefold(): name for name in reversed(names)}
    known, found = set(names), dict[str, None]()
    for double, tick, square, word in TOKEN.findall(condition):
        quoted = double.replace('""', '"') or tick or square
        name = quoted or word
        name = name if name in known else by_case.get(name.casefold(), name)
        if name in known:
            found[name] = None
        elif quoted:
            raise RunError(
                f"--where names the column {name!r}, which {where} does not have; "
                f"{hint(name, names)} (text stands in single quotes)"
            )
    if not found:
        raise RunError(f"--where {condition!r} names no column of {where}; {EXAMPLE}")
    return list(found)


def rows_that_meet(condition: str, table: Any, where: str) -> NDArray[np.int64]:
    """The rows of an Arrow table for which a condition is true; a RunError if there are none."""
    names = columns_named(condition, table.column_names, where)
    columns, kinds = zip(*(_as_stored(table[name], name) for name in names), strict=True)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as base:
        try:
            declared = ", ".join(map(" ".join, zip(map(_quoted, names), kinds, strict=True)))
            base.execute(f"CREATE TABLE here ({declared})")
            marks = ", ".join("?" * len(names))
            base.executemany(f"INSERT INTO here VALUES ({marks})", zip(*columns, strict=True))
            base.set_authorizer(_allowed())
            kept = base.execute(
                f"SELECT rowid FROM here WHERE ({_with_quoted_names(condition, names)}\n)"
            ).fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            told = str(error)
            if told.startswith("no such column: "):
                name = told.removeprefix("no such column: ")
                told = f"{where} has no column {name!r} (text stands in single quotes: '{name}')"
            raise RunError(f"--where {condition!r} cannot be used: {told}; {EXAMPLE}") from None
    if not kept:
        raise RunError(f"no row of {where} meets --where {condition!r}")
    return np.sort(np.array(kept, dtype=np.int64).ravel() - 1)


class Part(NamedTuple):
    """Rows with the same value of a column."""

    label: str
    where: str  #: The condition that they meet
    n_rows: int


def parts_by(file: FileOptions, name: str, where: str | None) -> list[Part]:
    """The parts of a table by the values of a column; a RunError for one or very many of them."""
    files = file.open()
    if name not in files.names:
        raise RunError(f"--by names {name!r}, which {files.where} does not have; "
                       f"{hint(name, files.names)}")  # fmt: skip
    if files.files[0].data is not None:
        raise RunError("--by reads the table several times; save standard input as a file")
    known = [] if where is None else columns_named(where, files.names, files.where)
    table = files.rows if isinstance(files, ColumnTable) else files.read([*{name, *known}])
    if name not in table.column_names:
        raise RunError(f"--by names {name!r}; it takes what is known of the rows")
    if where is not None:
        table = table.take(rows_that_meet(where, table, files.where))
    counts = Counter(value for value in _as_stored(table[name], name)[0] if value is not None)
    counts.pop("", None)
    if not 2 <= len(counts) <= MOST_PARTS:
        raise RunError(
            f"--by {name!r} makes {counted(len(counts), 'part')} of {files.where}; it takes a "
            f"column of 2 to {MOST_PARTS} values"
        )
    parts = []
    for value, n_rows in sorted(counts.items()):
        literal = _quoted(value, "'") if isinstance(value, str) else repr(value)
        condition = f"{_quoted(name)} = {literal}"
        condition = condition if where is None else f"{condition} and ({where})"
        label = f"{value:g}" if isinstance(value, float) else str(value)
        parts.append(Part(label, condition, n_rows))
    return parts


def _quoted(text: str, mark: str = '"') -> str:
    return mark + text.replace(mark, 2 * mark) + mark


def _with_quoted_names(condition: str, names: Sequence[str]) -> str:
    """A condition in which columns such as 'Alter' are no keywords of SQL."""
    known = {name.casefold() for name in names}

    def quoted(token: re.Match[str]) -> str:
        word = token[token.lastindex or 0].casefold() if token.lastindex == 4 else ""
        is_call = condition[token.end() :].lstrip().startswith("(")
        return f'"{token[0]}"' if word in known - OPERATORS and not is_call else token[0]

    return TOKEN.sub(quoted, condition)


def _allowed() -> Any:
    """Refuses all but one SELECT, the columns, and some functions."""
    selects = count(1)

    def check(action: int, first: Any, second: Any, *_: Any) -> int:
        is_fine = action == sqlite3.SQLITE_READ
        if action == sqlite3.SQLITE_SELECT:
            is_fine = next(selects) == 1
        elif action == sqlite3.SQLITE_FUNCTION:
            is_fine = second.lower() in FUNCTIONS
        return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY

    return check


def _as_stored(column: Any, name: str) -> tuple[list[Any], str]:
    """The values of a column, and its type: dates are texts such as 2024-12-31."""
    pa = load("pyarrow")
    kind = kind_of(column.type)
    if kind == "number":
        if not pa.types.is_signed_integer(column.type):
            column = column.cast(pa.float64(), safe=False)
        return column.to_pylist(), "NUMERIC"
    if kind == "date":
        return column.cast(pa.string()).to_pylist(), "TEXT"
    if kind != "text":
        raise RunError(f"--where names {name!r}, which holds {column.type}: it cannot be compared")
    text = as_text(column)
    if (days := read_days(text)) is not None:
        moments = (days * 86400).round()
        unit = "D" if not (moments[~np.isnan(moments)] % 86400).any() else "s"
        when = np.where(np.isnan(moments), np.datetime64("NaT"), moments.astype("M8[s]"))
        written = np.datetime_as_string(when.astype(f"M8[{unit}]"))
        return [None if w == "NaT" else w.replace("T", " ") for w in written.tolist()], "TEXT"
    if look_at(text) is not None and not all(level.strip().isdigit() for level in text.levels):
        raise RunError(
            f"--where names {name!r}, which holds numbers written as text such as "
            f"{text.levels[0]!r}: write them as plain numbers"
        )
    return text.labels().tolist(), "TEXT"
