"""Columns by name or by pattern, and groups of columns from a file."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tvselect.records import RecordError, parse_json, read_record
from tvselect.runs.errors import RunError, hint
from tvselect.words import counted

RANGE = re.compile(r"(?P<name>.*?)(?P<first>[0-9]{1,6})-(?P=name)(?P<last>[0-9]{1,6})")


def expand(items: Iterable[str], names: Sequence[str], option: str, where: str) -> list[str]:
    """The columns that names and patterns stand for, in the order of the table.

    Parameters
    ----------
    items : iterable of str
        Names, patterns such as ``gene_*``, or several of these with commas between them.
    names : sequence of str
        All columns.
    option, where : str
        For error messages.

    Raises
    ------
    RunError
        For what stands for no column.

    Examples
    --------
    >>> expand(["y,gene_*"], ["gene_1", "x", "gene_2", "y"], "--exclude", "t.csv")
    ['gene_1', 'gene_2', 'y']
    """
    known = set(names)
    found: set[str] = set()
    for item in items:
        for part in [item] if item in known else item.split(","):
            part = part if part in known else part.strip()
            if not part:
                continue
            matches = {part} & known or {name for name in names if fnmatchcase(name, part)}
            if not matches:
                raise RunError(
                    f"{option} names {part!r}, which {where} does not have; {hint(part, names)}"
                )
            found |= matches
    return [name for name in names if name in found]


def with_ranges(items: Iterable[str], names: Sequence[str]) -> list[str]:
    """Names, with those in between where two that end in numbers have a dash between them.

    Examples
    --------
    >>> with_ranges(["age,PC1-PC3"], ["age", "PC1", "PC2", "PC3"])
    ['age', 'PC1', 'PC2', 'PC3']
    """
    known = set(names)
    found: list[str] = []
    for part in (part.strip() for item in items for part in item.split(",")):
        ends = RANGE.fullmatch(part)
        if ends is None or part in known:
            found.append(part)
            continue
        first, last = int(ends["first"]), int(ends["last"])
        if last < first:
            raise RunError(f"{part!r} ends before it begins; the smaller number comes first")
        width = len(ends["first"])
        found += [f"{ends['name']}{number:0{width}d}" for number in range(first, last + 1)]
    return found


def read_groups(path: str | Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Groups from JSON, ``{"label": ["column", "pattern_*"]}``, or CSV with column,group.

    Raises
    ------
    OSError, RunError
        When it cannot be read, is neither, or names columns that are not there.
    """
    where = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RunError(f"{where} is no UTF-8 text; groups are JSON or a CSV column,group") from None
    pairs = _from_json(text, where) if where.lower().endswith(".json") else _from_csv(text, where)
    groups: dict[str, list[str]] = {}
    owner: dict[str, str] = {}
    for label, item in pairs:
        for name in expand([item], names, f"group {label!r} of {where}", "the table"):
            if owner.setdefault(name, label) != label:
                raise RunError(
                    f"{where} puts column {name!r} into groups {owner[name]!r} and {label!r}; "
                    "a column can be in one"
                )
            members = groups.setdefault(label, [])
            if name not in members:
                members.append(name)
    return groups


def _from_json(text: str, where: str) -> list[tuple[str, str]]:
    try:
        groups = read_record(dict[str, tuple[str, ...]], parse_json(text))
    except RecordError as error:
        shape = '{"group": ["column", "column"]}'
        raise RunError(f"{where} must look like {shape}, but {error}") from None
    return [(label, member) for label, members in groups.items() for member in members]


def _from_csv(text: str, where: str) -> list[tuple[str, str]]:
    try:
        rows = [row for row in csv.reader(text.splitlines()) if row]
    except csv.Error as error:
        raise RunError(f"{where} cannot be read as CSV: {error}; mend the file") from None
    if not rows or [cell.strip().lower() for cell in rows[0]] != ["column", "group"]:
        raise RunError(f"{where} must begin with the line 'column,group' (or be a .json file)")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != 2:
            raise RunError(
                f"line {number} of {where} has {counted(len(row), 'cell')}; it needs column,group"
            )
    return [(group.strip(), column) for column, group in rows[1:] if group.strip()]
