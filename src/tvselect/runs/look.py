"""Look at a table and decide how to read it; every decision is a sentence."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from tvselect.runs.columns import Column, examine
from tvselect.runs.errors import RunError, hint, listed
from tvselect.runs.names import expand, read_groups
from tvselect.runs.plan import Family, Plan
from tvselect.runs.sentences import about_columns, about_roles, why_nothing_is_left
from tvselect.runs.tables import TableFiles, open_table
from tvselect.runs.target import is_number, look_at_target
from tvselect.sources.arrow import arrow_errors

ROWS_IN_MEMORY = 200_000
ROWS_TO_LOOK_AT = 10_000
COPIES, SHARE_OF_MEMORY = 3, 0.5
ASSUMED_MEMORY = 4 * 2**30


@dataclass(frozen=True)
class Wishes:
    """What the user has decided already; the rest is found out.

    Attributes
    ----------
    target : str
    stream : bool or None
    family : {"gaussian", "probit"} or None
    exclude, include, always : tuple of str
        Names and patterns.
    groups : path or None
    delimiter : str or None
    takes_missing : bool
        Whether the reward does.
    min_rows : int
        That the reward needs.
    reward : str
        Its name.
    """

    target: str
    stream: bool | None = None
    family: Family | None = None
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    groups: str | Path | None = None
    delimiter: str | None = None
    takes_missing: bool = True
    min_rows: int = 2
    reward: str = "bart"


def look(path: str, wishes: Wishes) -> tuple[Plan, pa.Table | None]:
    """Look at a table.

    Returns
    -------
    plan : Plan
    table : pyarrow.Table or None
        All of it, unless it is to be streamed.

    Raises
    ------
    OSError, RunError, SourceError
        When it cannot be read or holds nothing to select from; says what to do.
    """
    files = open_table(path, wishes.delimiter)
    names = files.names()
    if wishes.target not in names:
        raise RunError(_no_target(wishes.target, names, path))
    stream, mode = _decide_mode(files, len(names), wishes.stream)
    seen = files.head(ROWS_TO_LOOK_AT) if stream else files.read()
    values = files.column(wishes.target) if stream else seen.column(wishes.target)
    target = look_at_target(wishes.target, values, path, wishes.family)
    if target.n_rows < wishes.min_rows:
        raise RunError(
            f"{path} has {target.n_rows} row(s) with a value of {wishes.target!r}; at least "
            f"{wishes.min_rows} are needed"
        )
    others = [name for name in names if name != wishes.target]
    always = expand(wishes.always, others, "--always", path)
    wanted = {*expand(wishes.include, others, "--include", path), *always}
    unwanted = set(expand(wishes.exclude, others, "--exclude", path))
    if both := sorted(wanted & unwanted):
        raise RunError(f"column {both[0]!r} is excluded and included; choose one")
    columns = [_examine(name, seen, path) for name in others if name not in unwanted]
    if stream:
        columns = [_on_a_stream(column) for column in columns]
    kept, left_out = _choose(columns, wanted)
    if not kept:
        why = why_nothing_is_left(left_out) or "it has no other"
        raise RunError(f"no column of {path} is left to choose from: {why}")
    _refuse_missing(kept, wishes)
    chosen = {column.name for column in kept}
    groups = read_groups(wishes.groups, others) if wishes.groups else {}
    groups = {g: inside for g, all in groups.items() if (inside := [m for m in all if m in chosen])}
    head = (
        f"{path}: {target.n_rows + target.n_missing:,} rows, {len(others):,} columns besides the "
        f"target; {len(kept):,} to choose from."
    )
    plan = Plan(
        table=path if "://" in path else os.path.abspath(os.path.expanduser(path)),
        delimiter=files.dialect.delimiter if files.dialect else None,
        decimal=files.dialect.decimal if files.dialect else None,
        target=wishes.target,
        family=target.family,
        stream=stream,
        n_rows=target.n_rows,
        n_incomplete=target.n_missing,
        columns=tuple(column.name for column in kept),
        numbers=tuple(column.name for column in kept if column.reading == "as numbers"),
        dates=tuple(column.name for column in kept if column.reading == "as dates"),
        always=tuple(always),
        groups={label: tuple(members) for label, members in groups.items()},
        left_out={**dict.fromkeys(sorted(unwanted), "excluded"), **left_out},
        decisions=(
            head,
            mode,
            *target.sentences,
            *about_columns(kept, left_out, unwanted, whole=not stream),
            *about_roles(groups, always),
        ),
    )
    return plan, None if stream else seen


def _examine(name: str, table: pa.Table, path: str) -> Column:
    what = f"column {name!r} of {path} cannot be read"
    with arrow_errors(what, "mend it, or leave it out with --exclude"):
        return examine(name, table.column(name))


def _no_target(target: str, names: Sequence[str], path: str) -> str:
    without_header = len(names) > 1 and all(is_number(name) for name in names)
    remedy = "is its first line one of names? Add one" if without_header else hint(target, names)
    return f"no column named {target!r} in {path}; {remedy}"


def _decide_mode(files: TableFiles, n_columns: int, wish: bool | None) -> tuple[bool, str]:
    """Whether to stream, and why."""
    n_rows, is_estimate = files.count_rows()
    about = "about " if is_estimate else ""
    if wish is not None:
        return wish, "Streamed, as you asked." if wish else "Read into memory, as you asked."
    if n_rows > ROWS_IN_MEMORY:
        return True, (
            f"Streamed batch by batch: {about}{n_rows:,} rows are more than {ROWS_IN_MEMORY:,} "
            "(--no-stream reads them all into memory)."
        )
    need, free = n_rows * n_columns * 8 * COPIES, available_memory()
    if need > SHARE_OF_MEMORY * free:
        return True, (
            f"Streamed batch by batch: it would take some {need / 2**30:.1f} GB of the "
            f"{free / 2**30:.1f} GB that are free (--no-stream tries all the same)."
        )
    return False, "Read into memory (--stream reads batch by batch)."


def available_memory() -> int:
    """Bytes that are free for use."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return ASSUMED_MEMORY


def _on_a_stream(column: Column) -> Column:
    """What only a table in memory can do makes a column useless on a stream."""
    seen = f"in the first {ROWS_TO_LOOK_AT:,} rows"
    if column.reason:
        return replace(column, reason=column.reason.replace("in every row", seen))
    if column.reading == "as dates":
        why = "dates, which a stream cannot read as numbers"
    elif column.reading == "as numbers":
        why = "numbers mixed with text, which a stream cannot read"
    elif "infinite" in column.note:
        why = "infinite values, which a stream cannot read"
    else:
        return column
    return replace(column, reason=f"{why} (--no-stream can)", usable=False)


def _choose(
    columns: Sequence[Column], wanted: Collection[str]
) -> tuple[list[Column], dict[str, str]]:
    """The columns that are kept, and why the others are not."""
    kept: list[Column] = []
    left_out: dict[str, str] = {}
    for column in columns:
        if column.name in wanted and not column.usable:
            raise RunError(f"column {column.name!r} cannot be included: {column.reason}")
        if column.reason and column.name not in wanted:
            left_out[column.name] = column.reason
        else:
            kept.append(column)
    return kept, left_out


def _refuse_missing(kept: Sequence[Column], wishes: Wishes) -> None:
    missing = [column.name for column in kept if column.has_missing]
    if missing and not wishes.takes_missing:
        raise RunError(
            f"--reward {wishes.reward} cannot take missing values, but {listed(missing)} "
            f"{'has' if len(missing) == 1 else 'have'} some; use --reward bart or --exclude"
        )
