"""Rows that a condition keeps, such as ``Segment = 'A' and Age >= 30``: SQL, by SQLite in memory.

A condition may come with a run's folder from anywhere: it can compare columns and call a few
harmless functions, nothing else.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import as_text, kind_of, load
from tvselect.inputs.text import look_at
from tvselect.runs import RunError, hint
from tvselect.runs.data import read_days
from tvselect.runs.plan import FileOptions
from tvselect.sources.tables import ColumnTable
from tvselect.words import counted

TOKEN = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)"|`([^`]*)`|\[([^]]*)\]|([^\W\d][\w$]*)""")
FUNCTIONS = {
    "abs", "coalesce", "glob", "ifnull", "instr", "length", "like", "lower", "nullif", "round",
    "substr", "trim", "upper",
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
    quoted = ('"' + name.replace('"', '""') + '"' for name in names)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as base:
        try:
            declared = ", ".join(map(" ".join, zip(quoted, kinds, strict=True)))
            base.execute(f"CREATE TABLE here ({declared})")
            marks = ", ".join("?" * len(names))
            base.executemany(f"INSERT INTO here VALUES ({marks})", zip(*columns, strict=True))
            base.set_authorizer(_allowed())
            kept = base.execute(f"SELECT rowid FROM here WHERE ({condition}\n)").fetchall()
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
        literal = repr(value)
        if isinstance(value, str):
            literal = "'" + value.replace("'", "''") + "'"
        condition = '"' + name.replace('"', '""') + f'" = {literal}'
        condition = condition if where is None else f"{condition} and ({where})"
        parts.append(
            Part(f"{value:g}" if isinstance(value, float) else str(value), condition, n_rows)
        )
    return parts


def _allowed() -> Any:
    """Refuses all but one SELECT, the columns, and some functions."""
    n_selects = 0

    def check(action: int, first: Any, second: Any, *_: Any) -> int:
        nonlocal n_selects
        n_selects += action == sqlite3.SQLITE_SELECT
        is_fine = (
            (action == sqlite3.SQLITE_SELECT and n_selects == 1)
            or action == sqlite3.SQLITE_READ
            or (action == sqlite3.SQLITE_FUNCTION and second.lower() in FUNCTIONS)
        )
        return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY

    return check


def _as_stored(column: Any, name: str) -> tuple[list[Any], str]:
    """The values of a column, and its type: dates are texts such as 2024-12-31."""
    pa = load("pyarrow")
    kind = kind_of(column.type)
    if kind == "number":
        is_whole = pa.types.is_signed_integer(column.type)
        return (
            column if is_whole else column.cast(pa.float64(), safe=False)
        ).to_pylist(), "NUMERIC"
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
