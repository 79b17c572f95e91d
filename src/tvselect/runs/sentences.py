"""The decisions about a table in sentences."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tvselect.runs.columns import Column
from tvselect.runs.errors import listed

MOST_TWINS = 5


def about_columns(
    kept: Sequence[Column], left_out: Mapping[str, str], unwanted: Collection[str], *, whole: bool
) -> list[str]:
    """What becomes of the columns; ``whole`` says whether all rows were seen."""
    said: list[str] = []
    if unwanted:
        said.append(f"Excluded, as you asked: {listed(sorted(unwanted))}.")
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(reason, []).append(name)
    said += [f"Left out: {listed(names)}, {reason}." for reason, names in by_reason.items()]
    if dates := [column.name for column in kept if column.reading == "as dates"]:
        said.append(f"Dates become numbers (days since 1970-01-01): {listed(dates)}.")
    for column in kept:
        if column.reading == "as numbers":
            said.append(f"Read as numbers: {column.name!r}{column.note and '; ' + column.note}.")
        elif column.note:
            said.append(f"In {column.name!r} {column.note}.")
    if missing := [column.name for column in kept if column.has_missing]:
        said.append(f"Missing values are kept as missing: {listed(missing)}.")
    copies: dict[bytes, list[str]] = {}
    for column in kept if whole else ():
        if column.digest:
            copies.setdefault(column.digest, []).append(column.name)
    twins = [names for names in copies.values() if len(names) > 1]
    said += [f"The same values, all kept: {listed(names)}." for names in twins[:MOST_TWINS]]
    if len(twins) > MOST_TWINS:
        said.append(f"{len(twins) - MOST_TWINS:,} more sets of columns hold the same values.")
    return said


def about_roles(groups: Mapping[str, Sequence[str]], always: Sequence[str]) -> list[str]:
    """Groups, and columns that are part of every play."""
    said: list[str] = []
    if groups:
        n_columns = sum(map(len, groups.values()))
        said.append(f"{len(groups):,} group(s) of {n_columns:,} columns are one variable each.")
    if always:
        said.append(f"Part of every play: {listed(always)}.")
    return said


def why_nothing_is_left(left_out: Mapping[str, str]) -> str:
    """The first few reasons."""
    return "; ".join(f"{name!r}: {reason}" for name, reason in list(left_out.items())[:3])
