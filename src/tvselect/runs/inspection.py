"""Look at a table and decide how to read it; decisions are facts."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import arrow_errors
from tvselect.inputs.doubts import doubts_about_text
from tvselect.inputs.facts import (
    ColumnFacts,
    LeftOut,
    ReadingMode,
    TableFacts,
    profile_days,
    profile_numbers,
    profile_text,
    scan_block,
    text_to_numbers,
)
from tvselect.inputs.outcome import Family
from tvselect.inputs.text import Mark, Writing
from tvselect.report.decisions import why_left_out
from tvselect.runs.data import RawTable, local_path, read_raw
from tvselect.runs.doubts import look_for_doubts
from tvselect.runs.errors import RunError
from tvselect.runs.header import check_names, facts_of
from tvselect.runs.names import expand, read_groups, with_ranges
from tvselect.runs.numbers import find_writing, target_as_numbers
from tvselect.runs.outcome import profile_outcome, read_event
from tvselect.runs.plan import Plan
from tvselect.sources import open_files
from tvselect.sources.by_column import ColumnTable
from tvselect.sources.files import STANDARD_INPUT
from tvselect.sources.stored import TableFiles
from tvselect.words import counted, listed

LINKAGE = "ld"
ROWS_IN_MEMORY = 200_000
ROWS_TO_LOOK_AT = 10_000
COPIES, SHARE_OF_MEMORY = 3, 0.5
ASSUMED_MEMORY = 4 * 2**30
VALUES_AT_ONCE = 2**22
WHOLE = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


@dataclass(frozen=True)
class TableOptions:
    """What the user has decided already; the rest is found out."""

    target: str
    stream: bool | None = None
    family: Family | None = None
    event: str | None = None  #: Column that says whether a survival time ended in the event
    exclude: tuple[str, ...] = ()  #: Names and patterns, as the next two
    include: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    groups: str | Path | None = None  #: A file, or "ld" for linked neighbours
    delimiter: str | None = None
    decimal: Mark | None = None
    sheet: str | None = None
    transpose: bool = False
    phenotypes: str | None = None  #: Table of the people or cells
    layer: str | None = None  #: Of an AnnData file
    covariates: tuple[str, ...] = ()  #: Columns of that table that are part of every play


def inspect_table(path: str, options: TableOptions) -> tuple[Plan, TableFiles, RawTable | None]:
    """Look at a table.

    Returns
    -------
    plan : Plan
    files : TableFiles
    raw : RawTable or None
        All of it, unless it is to be streamed.

    Raises
    ------
    OSError, RunError, SourceError
        When it cannot be read or holds nothing to select from; says what to do.
    """
    phenotypes = local_path(options.phenotypes)
    files = open_files(
        path,
        delimiter=options.delimiter,
        decimal=options.decimal,
        sheet=options.sheet,
        transpose=options.transpose,
        phenotypes=phenotypes,
        layer=options.layer,
    )
    where, target = files.where, options.target
    check_names(files, target)
    if options.event is not None:
        check_names(files, options.event, "--event")
    names = [name for name in files.names if name not in files.in_some]
    mode = decide_mode(files, options.stream)
    if mode.stream and options.event is not None:
        raise RunError("survival times cannot be read from a stream; say --no-stream")
    with arrow_errors(f"{where} cannot be read", "mend it, or leave columns out with {columns}"):
        n_rows = ROWS_TO_LOOK_AT if mode.stream else None
        raw = read_raw(files, names, target, options.event, n_rows)
    written, mixed = find_writing(raw, target, files)
    what = f"the target {target!r} of {where}"
    if mode.stream and target in written:
        raise RunError(
            f"{what} holds numbers such as {written[target].cell!r}, which a stream cannot read; "
            "say --no-stream, or write plain numbers"
        )
    values = files.column(target) if mode.stream else raw.target
    values = target_as_numbers(values, written.get(target), what)
    event = None
    if options.event is not None:
        event = options.event, read_event(raw.event, options.event, where)
    outcome = profile_outcome(target, values, where, options.family, event)
    others = [name for name in names if name not in (target, options.event)]
    always, wanted, unwanted = _asked_for(options, others, files)
    found = replace(profile_columns(raw, unwanted, written), mixed=mixed)
    found = _with_files(found, files)
    if mode.stream:
        found = _on_a_stream(found, len(raw.matrix))
    left_out = _without_wanted(found.left_out, wanted)
    left_out.pop(options.event or target, None)
    kept = [name for name in others if name not in left_out and name not in unwanted]
    if not kept:
        reasons = left_out or unwanted
        why = "; ".join(f"{n!r}: {why_left_out(reasons[n])}" for n in list(reasons)[:3])
        raise RunError(f"no column of {where} is left to choose from: {why or 'it has no other'}")
    chosen = set(kept)
    if chosen <= set(always):
        raise RunError(
            f"all columns of {where} that are left are always included (--always, --covariates): "
            "there is nothing to select from"
        )
    unread = {
        name: text
        for name, text in raw.texts.items()
        if name not in unwanted and name not in found.numbers and name not in found.mixed
    }
    left_out = unwanted | left_out
    facts = TableFacts(
        **vars(replace(found, left_out=left_out).among({*chosen, target})),
        where=where,
        n_columns=len(others) + len(files.in_some),
        mode=mode,
        files=facts_of(files),
        outcome=outcome,
        doubts=look_for_doubts(raw, chosen, options.family) + doubts_about_text(unread),
    )
    address = where if "://" in path else path  # without its secrets
    is_fixed = "://" in path or path == STANDARD_INPUT
    is_linked = options.groups == LINKAGE
    if is_linked and mode.stream:
        raise RunError(f"--groups {LINKAGE} needs the whole table; say --no-stream")
    groups = read_groups(options.groups, others) if options.groups and not is_linked else {}
    plan = Plan(
        table=address if is_fixed else os.path.abspath(os.path.expanduser(path)),
        delimiter=options.delimiter,
        decimal=options.decimal,
        sheet=options.sheet,
        transpose=options.transpose,
        phenotypes=phenotypes,
        layer=options.layer,
        columns=tuple(kept),
        always=tuple(always),
        groups={
            label: inside
            for label, members in groups.items()
            if (inside := tuple(member for member in members if member in chosen))
        },
        linkage=is_linked,
        facts=facts,
    )
    return plan, files, None if mode.stream else raw


def _asked_for(
    options: TableOptions, others: Sequence[str], files: TableFiles
) -> tuple[list[str], set[str], dict[str, LeftOut]]:
    """Columns that are part of every play, those that may not be left out, and those left out."""
    target, where = options.target, files.where
    for option in ("always", "include", "exclude", "covariates"):
        for name in (target, options.event):
            if name is not None and name in getattr(options, option):
                raise RunError(f"--{option} names {name!r}, which is what is to be explained")
    always = expand(options.always, others, "--always", where)
    beside = options.phenotypes or where
    always += expand(with_ranges(options.covariates, others), others, "--covariates", beside)
    wanted = {*expand(options.include, others, "--include", where), *always}
    unwanted = dict.fromkeys(
        sorted(expand(options.exclude, others, "--exclude", where)), LeftOut("excluded")
    )
    if isinstance(files, ColumnTable):  # what else is known of the rows is for covariates
        unused = set(files.rows.column_names).intersection(others) - wanted - unwanted.keys()
        unwanted |= dict.fromkeys(sorted(unused), LeftOut("no covariate"))
    if both := sorted(wanted & unwanted.keys()):
        raise RunError(f"column {both[0]!r} is excluded and included; choose one")
    return always, wanted, unwanted


def decide_mode(files: TableFiles, asked: bool | None) -> ReadingMode:
    """Whether to read a table batch by batch."""
    n_rows, is_estimate = files.estimate_rows(), files.n_rows is None
    if asked:
        files.refuse_stream()
    if asked is not None:
        return ReadingMode(asked, "asked", n_rows, is_estimate)
    if files.by_column:
        return ReadingMode(False, "by column", n_rows)
    if files.only_whole:
        return ReadingMode(False, "whole", n_rows, is_estimate)
    if n_rows > ROWS_IN_MEMORY:
        return ReadingMode(True, "rows", n_rows, is_estimate, ROWS_IN_MEMORY)
    need, free = n_rows * len(files.names) * 8 * COPIES, available_memory()
    is_large = need > SHARE_OF_MEMORY * free
    return ReadingMode(
        is_large,
        "memory" if is_large else "small",
        n_rows,
        is_estimate,
        bytes_needed=need,
        bytes_free=free,
    )


def available_memory() -> int:
    """Bytes that are free for use."""
    try:
        import psutil
    except ModuleNotFoundError:
        return ASSUMED_MEMORY
    return int(psutil.virtual_memory().available)


def profile_columns(
    raw: RawTable, unwanted: Collection[str] = (), written: Mapping[str, Writing] | None = None
) -> ColumnFacts:
    """Look at the columns of a table: numbers in blocks, others one by one.

    Infinite numbers become missing ones.
    """
    written = written or {}
    left_out: dict[str, LeftOut] = {}
    infinite: dict[str, int] = {}
    missing: set[str] = set()
    numeric = [field for field in raw.fields if field.kind == "number"]
    names = [field.name for field in numeric]
    is_whole = np.array([field.type in WHOLE for field in numeric], dtype=np.bool_)
    columns = raw.matrix.T
    digests = np.empty(len(numeric), dtype=np.int64)
    step = max(1, VALUES_AT_ONCE // max(1, len(raw.matrix)))
    for first in range(0, len(numeric), step):
        part = slice(first, first + step)
        scan, inside = scan_block(columns[part]), names[part]
        left_out |= profile_numbers(inside, columns[part], scan, is_whole[part])
        missing.update(inside[j] for j in np.flatnonzero(scan.n_missing))
        infinite |= {inside[j]: int(scan.n_infinite[j]) for j in np.flatnonzero(scan.n_infinite)}
        digests[part] = scan.digest
    dates: list[str] = []
    numbers: dict[str, str] = {}
    for name, kind, type in raw.fields:
        if kind == "number":
            continue
        why: LeftOut | None = LeftOut("other type", type)
        lacks = np.zeros(0, dtype=np.bool_)
        if kind == "date":
            dates.append(name)
            why = profile_days(name, raw.days[name])
            lacks = np.isnan(raw.days[name])
        elif kind == "text":
            why, odd_cell = profile_text(name, text := raw.texts[name], written.get(name))
            lacks = text.codes < 0
            if odd_cell is not None:
                numbers[name] = odd_cell
                lacks = np.isnan(text_to_numbers(text, written.get(name)))
        if why is not None:
            left_out[name] = why
        if lacks.any():
            missing.add(name)
    if raw.file is not None:
        left_out |= {raw.in_file[j]: why for j, why in raw.file.useless().items()}
        missing.update(raw.in_file[j] for j in raw.file.with_missing().tolist())
    order = [*(field.name for field in raw.fields), *raw.in_file]
    return ColumnFacts(
        left_out={n: left_out[n] for n in order if n in left_out and n not in unwanted},
        dates=tuple(dates),
        numbers=numbers,
        written=dict(written),
        mixed={},
        infinite=infinite,
        missing=tuple(name for name in order if name in missing),
        copies=_find_copies(names, columns, digests),
    )


def _find_copies(
    names: Sequence[str], columns: NDArray[np.float64], digests: NDArray[np.int64]
) -> tuple[tuple[str, ...], ...]:
    """Columns of numbers that hold the same values."""
    copies = []
    _, which, counts = np.unique(digests, return_inverse=True, return_counts=True)
    for digest in dict.fromkeys(which[counts[which] > 1].tolist()):
        first, *others = np.flatnonzero(which == digest).tolist()
        alike = [j for j in others if np.array_equal(columns[first], columns[j], equal_nan=True)]
        if alike:
            copies.append(tuple(names[j] for j in (first, *alike)))
    return tuple(copies)


def _on_a_stream(found: ColumnFacts, n_seen: int) -> ColumnFacts:
    """What only a table in memory can do makes a column useless on a stream.

    A column that is constant in the rows looked at may vary in later ones.
    """
    left_out = {
        name: replace(why, n_seen=n_seen)
        for name, why in found.left_out.items()
        if why.reason != "constant" or n_seen < ROWS_TO_LOOK_AT
    }
    for names, reason in (
        (found.dates, LeftOut("date on a stream")),
        (found.numbers, LeftOut("mixed on a stream")),
        (found.infinite, LeftOut("infinite on a stream")),
    ):
        for name in names:
            left_out.setdefault(name, reason)
    return replace(found, left_out=left_out, copies=())


def _without_wanted(left_out: Mapping[str, LeftOut], wanted: set[str]) -> dict[str, LeftOut]:
    for name in wanted & left_out.keys():
        if not left_out[name].is_usable:
            raise RunError(f"column {name!r} cannot be included: {why_left_out(left_out[name])}")
    return {name: why for name, why in left_out.items() if name not in wanted}


def _with_files(found: ColumnFacts, files: TableFiles) -> ColumnFacts:
    """Columns that not all files have are left out."""
    n_all = len(files.files)
    partial = {
        name: LeftOut("some files", n_files=n, n_all_files=n_all)
        for name, n in files.in_some.items()
    }
    return replace(found, left_out={**found.left_out, **partial})


def refuse_what_the_reward_cannot_take(plan: Plan, name: str, reward: Any) -> None:
    """Raise a RunError for too few rows, and for missing values where the reward takes none."""
    outcome, missing = plan.facts.outcome, plan.facts.missing
    if outcome.n_rows < reward.min_rows:
        raise RunError(
            f"{plan.facts.where} has {counted(outcome.n_rows, 'row')} with a value of "
            f"{outcome.name!r}; at least {reward.min_rows} are needed"
        )
    if missing and not reward.takes_missing:
        raise RunError(
            f"--reward {name} cannot take missing values, but {listed(missing)} "
            f"{'has' if len(missing) == 1 else 'have'} some; use --reward bart or --exclude"
        )
