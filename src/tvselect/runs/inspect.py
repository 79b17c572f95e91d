"""Look at a table in a file and decide how to read it; decisions are facts."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import facts, read_outcome
from tvselect.inputs.arrow import arrow_errors, as_text, kind_of
from tvselect.inputs.blocks import IN_ROW_ORDER, named_columns
from tvselect.inputs.columns import VALUES_IN_CACHE, in_blocks
from tvselect.inputs.dependence import find_dependence
from tvselect.inputs.doubts import doubts_about_text, find_doubts
from tvselect.inputs.errors import RowError, SourceError
from tvselect.inputs.outcome import Family, Outcome, TextOutcomeError, missing_mask, survival_array
from tvselect.inputs.table import refuse_repeated
from tvselect.inputs.text import (
    Writing,
    decide_writing,
    look_at,
    number_of,
    one_hot,
    read_numbers,
    text_to_numbers,
)
from tvselect.report.decisions import why_left_out
from tvselect.runs import RunError, hint
from tvselect.runs.data import RawTable, read_event, read_raw, read_target
from tvselect.runs.plan import FileOptions, Plan, Settings, expand, read_groups
from tvselect.sources.addresses import without_secrets
from tvselect.sources.csv import CsvFiles
from tvselect.sources.tables import ColumnTable, TableFiles
from tvselect.words import counted, listed

LINKAGE = "ld"
ROWS_IN_MEMORY, ROWS_TO_LOOK_AT = 200_000, 10_000
COPIES, SHARE_OF_MEMORY, ASSUMED_MEMORY = 3, 0.5, 4 * 2**30
MOST_LABELS = 200_000
WHOLE = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


@dataclass(frozen=True)
class TableOptions:
    """What the user has decided; the rest is decided by the table."""

    target: str = ""
    stream: bool | None = None
    family: Family | None = None
    event: str | None = None  #: Column that says whether a survival time ended in the event
    exclude: Sequence[str] = ()  #: Names, patterns and ranges, as the next three
    include: Sequence[str] = ()
    always: Sequence[str] = ()
    covariates: Sequence[str] = ()  #: Columns of the table of people that are part of every play
    feature_groups: str | Path | None = None  #: A file, or "ld" for linked neighbours
    row_groups: str | None = None  #: Column that says which rows belong together
    order: str | None = None  #: Column by which rows follow each other, or "rows": as they stand
    where: str | None = None  #: Condition of SQL that rows have to meet


def inspect_table(
    file: FileOptions, options: TableOptions
) -> tuple[Plan, TableFiles, RawTable | None]:
    """How a table is read, its files, and all of it unless it is streamed; or what is wrong."""
    files = file.open()
    where, target, event = files.where, options.target, options.event
    has_numeric_names = _has_numeric_names(files)
    of_rows = named_columns(options.row_groups, options.order)
    for name, what in (
        (target, "the target"),
        (event, "--event"),
        (options.row_groups, "--row-groups"),
        (options.order if options.order in of_rows else None, "--order"),
    ):
        if what in ("--row-groups", "--order") and name in of_rows and name in (target, event):
            raise RunError(f"{what} names {name!r}, which is what is to be explained")
        if name is not None:
            _require_column(files, name, what, has_numeric_names)
    names = [name for name in files.names if name not in files.in_some]
    others = [name for name in names if name not in (target, event, *of_rows)]
    if options.where is not None:
        if options.stream:
            raise RunError("--where reads the whole table; say --no-stream, or filter the stream")
        files.only_whole = "--where picks its rows"
    mode = decide_mode(files, options.stream)
    is_linked = options.feature_groups == LINKAGE
    if mode.stream and event is not None:
        raise RunError("survival times cannot be read from a stream; say --no-stream")
    if mode.stream and is_linked:
        raise RunError(f"--feature-groups {LINKAGE} needs the whole table; say --no-stream")
    if mode.stream and options.order not in (None, IN_ROW_ORDER):
        raise RunError("a stream is read row by row; say --order rows, or --no-stream")
    with arrow_errors(f"{where} cannot be read", "mend it, or leave columns out with {columns}"):
        n_rows = ROWS_TO_LOOK_AT if mode.stream else None
        raw = read_raw(files, names, target, event, n_rows, options.where)
    if options.where is not None:
        where = f"{where} where {options.where}"
    written, mixed = _find_writing(raw, target, files)
    if mode.stream and target in written:
        raise RunError(
            f"the target {target!r} of {where} holds numbers such as {written[target].cell!r}, "
            "which a stream cannot read; say --no-stream, or write plain numbers"
        )
    values = files.column(target) if mode.stream else raw.target
    outcome = profile_outcome(values, raw.event, options, where, written.get(target))
    always, wanted, unwanted = _asked_for(options, others, files, file.phenotypes)
    found = profile_columns(raw, unwanted, written, mixed)
    if mode.stream:
        found = _on_a_stream(found, len(raw.matrix))
    left_out = found.left_out | {
        name: facts.LeftOut("some files", n_files=n, n_all_files=len(files.files))
        for name, n in files.in_some.items()
    }
    for name in wanted & left_out.keys():
        if not left_out[name].is_usable:
            raise RunError(f"column {name!r} cannot be included: {why_left_out(left_out[name])}")
    told = wanted.union(of_rows)
    left_out = {name: why for name, why in left_out.items() if name not in told}
    kept = [name for name in others if name not in left_out and name not in unwanted]
    if not kept:
        reasons = list((left_out or unwanted).items())[:3]
        why = "; ".join(f"{name!r}: {why_left_out(reason)}" for name, reason in reasons)
        raise RunError(f"no column of {where} is left to choose from: {why or 'it has no other'}")
    chosen = set(kept)
    if chosen <= set(always):
        raise RunError(
            f"all columns of {where} that are left are always included (--always, --covariates): "
            "there is nothing to select from"
        )
    groups = {}
    if options.feature_groups and not is_linked:
        for label, members in read_groups(options.feature_groups, others).items():
            if inside := tuple(member for member in members if member in chosen):
                groups[label] = inside
    known = facts.TableFacts(
        **vars(replace(found, left_out=unwanted | left_out).among({*chosen, target, *of_rows})),
        where=files.where,
        n_columns=len(others) + len(files.in_some),
        mode=mode,
        files=facts.FileFacts(
            encoding=files.encoding,
            delimiter=files.dialect.delimiter if isinstance(files, CsvFiles) else None,
            sheets=files.sheets,
            is_transposed=files.is_transposed,
            numeric_names=has_numeric_names,
            title=files.title,
        ),
        outcome=outcome,
        doubts=_look_for_doubts(raw, found, chosen, unwanted, options, written.get(target)),
    )
    absolute = file.absolute()
    plan = Plan(
        file=replace(absolute, table=without_secrets(absolute.table)),
        columns=tuple(kept),
        always=tuple(always),
        feature_groups=groups,
        linkage=is_linked,
        facts=known,
        row_groups=options.row_groups,
        order=options.order,
        where=options.where,
    )
    return plan, files, None if mode.stream else raw


def _has_numeric_names(files: TableFiles) -> bool:
    """Whether names are numbers that do not just count the columns: a header may be missing."""
    if not isinstance(files, CsvFiles) or files.is_transposed or len(files.names) < 2:
        return False
    numbers = [number_of(name) for name in files.names]
    steps = {b - a for a, b in pairwise(numbers)}
    is_count = steps == {1.0} and numbers[0] in (0.0, 1.0)
    return not is_count and not np.isnan(numbers).any()


def _require_column(files: TableFiles, name: str, what: str, has_numeric_names: bool) -> None:
    names, where = files.names, files.where
    if has_numeric_names and (name not in names or len(set(names)) < len(names)):
        raise RunError(
            f"the first line of {where} holds numbers ({listed(names, 3)}); if these are no names, "
            "write a line of names above it"
        )
    refuse_repeated(names, where, "rename them")
    if name in files.in_some:
        n = files.in_some[name]
        raise RunError(f"{what} {name!r} is in {n} of {len(files.files)} files of {where}")
    if name in names:
        return
    with suppress(SourceError):  # perhaps its rows are meant as columns
        is_small = names and not files.is_transposed and files.estimate_rows() <= MOST_LABELS
        if is_small and name in files.column(names[0]).to_pylist():
            raise RunError(
                f"no column of {where} is named {name!r}, but a row is; if its rows are to be "
                "columns, say --transpose"
            )
    raise RunError(f"no column named {name!r} in {where}; {hint(name, names)}")


def decide_mode(files: TableFiles, asked: bool | None) -> facts.ReadingMode:
    """Whether to read a table batch by batch: by the first rule that holds."""
    if asked:
        files.refuse_stream()
    n_rows = files.estimate_rows()
    need, free = n_rows * len(files.names) * 8 * COPIES, available_memory()
    rules: dict[Any, object] = {
        "asked": asked is not None,
        "by column": files.by_column,
        "whole": files.only_whole,
        "rows": n_rows > ROWS_IN_MEMORY,
        "memory": need > SHARE_OF_MEMORY * free,
        "small": True,
    }
    why = next(reason for reason, holds in rules.items() if holds)
    stream = asked if asked is not None else why in ("rows", "memory")
    return facts.ReadingMode(stream, why, n_rows, files.n_rows is None, ROWS_IN_MEMORY, need, free)


def available_memory() -> int:
    """Bytes that are free for use."""
    try:
        import psutil
    except ModuleNotFoundError:
        return ASSUMED_MEMORY
    return int(psutil.virtual_memory().available)


def _find_writing(
    raw: RawTable, target: str, files: TableFiles
) -> tuple[dict[str, Writing], dict[str, tuple[str, ...]]]:
    """How numbers in columns of text are written, and the columns with numbers of several units."""
    texts = dict(raw.texts)
    if kind_of(raw.target.type) == "text":
        text = as_text(raw.target).filled()
        if len(text.levels) > 2:  # two are classes
            texts[target] = text
    looks = {name: look for name, text in texts.items() if (look := look_at(text)) is not None}
    mixed = {name: units for name, look in looks.items() if (units := look.mixed_units)}
    if isinstance(files, CsvFiles):
        dialect = files.dialect
        given = dialect.decimal if dialect.is_given else None
        written = decide_writing(looks, dialect.known, dialect.usual, given)
    else:
        written = decide_writing(looks, (), ".")
    if target in looks and target not in written:
        # Plain numbers kept as text, too many different ones for classes.
        levels, n = texts[target].levels, looks[target].n
        numbers = read_numbers(levels, None)
        if np.isfinite(numbers).all() and len(levels) > min(facts.MOST_CATEGORIES, n // 2):
            written[target] = Writing(".", levels[0], float(numbers[0]), "column")
    return written, mixed


def profile_outcome(
    column: Any, events: Any, options: TableOptions, where: str, writing: Writing | None
) -> facts.OutcomeProfile:
    """Look at the target, and the events of survival times; a RunError if it is unusable."""
    name, family = options.target, options.family
    what = f"the target {name!r} of {where}"
    kind = kind_of(column.type)
    if kind not in ("number", "text"):
        raise RunError(f"{what} holds {column.type}; it must hold numbers or classes")
    if kind == "text":
        _refuse_odd_cells(column, writing, what)
    values = read_target(column, writing)
    missing = missing_mask(values)
    event = None
    if options.event is not None:
        event = read_event(events, options.event, where)
        missing |= np.isnan(event)
    present = values[~missing]
    if present.size == 0:
        raise RunError(f"{what} has no value in any of its {len(column):,} rows")
    if present.size == 1:
        raise RunError(f"{what} has a value in 1 row only; at least two are needed")
    is_text = kind == "text" and writing is None
    if event is not None:
        if is_text:
            raise RunError(_about_text(what, values.tolist(), is_time=True))
        present = survival_array(present, event[~missing])
    try:
        outcome = _read_outcome(present, family, what)
    except RowError as error:
        row = int(np.flatnonzero(~missing)[error.row]) + 1
        raise RowError(error.problem, error.remedy, row) from None
    except TextOutcomeError:
        if family == "ordinal":
            raise RunError(
                f"{what} holds grades in text, whose order is not known; write them as numbers, "
                "from the lowest on"
            ) from None
        raise RunError(_about_text(what, values.tolist())) from None
    is_count = outcome.family == "counts"
    return facts.OutcomeProfile(
        name=name,
        family=outcome.family,
        is_asked=family is not None,
        is_text=is_text,
        n_rows=present.size,
        n_missing=int(missing.sum()),
        n_distinct=np.unique(outcome.values).size,
        classes=() if outcome.classes is None else tuple(map(str, outcome.classes.tolist())),
        is_guess=outcome.is_guess,
        low=float(outcome.values.min()) if is_count else 0.0,
        high=float(outcome.values.max()) if is_count else 0.0,
        event=options.event,
        n_events=0 if outcome.upper is None else int(np.isfinite(outcome.upper).sum()),
    )


def _read_outcome(y: NDArray[Any], family: Family | None, what: str = "y") -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit gives them
        return read_outcome(y, y.size, family=family or "auto", what=what)


def _refuse_odd_cells(column: Any, writing: Writing | None, what: str) -> None:
    """Raise for text among numbers, and for a sign such as '?' among labels."""
    text = as_text(column).filled()
    if writing is not None:
        odd = np.flatnonzero(np.isnan(text_to_numbers(text, writing)) & (text.codes >= 0))
        if odd.size:
            such = f" such as {writing.cell!r}"
            raise RunError(_odd_cells(what, such, text.labels()[odd[0]], odd.tolist()))
        return
    signs = [k for k, label in enumerate(text.levels) if label and not any(map(str.isalnum, label))]
    if len(signs) == 1 and len(text.levels) > 2:
        rows = np.flatnonzero(text.codes == signs[0])
        raise RunError(
            f"{what} holds {text.levels[signs[0]]!r} in {counted(rows.size, 'row')}, first in row "
            f"{rows[0] + 1}; empty these cells where the value is missing, or write a name for "
            "the class"
        )


def _odd_cells(what: str, such: str, cell: str, rows: Sequence[int]) -> str:
    more = f" and text in {len(rows) - 1:,} more" if len(rows) > 1 else ""
    return (
        f"{what} holds numbers{such}, but {cell!r} in row {rows[0] + 1}{more}; mend or empty these"
    )


def _about_text(what: str, texts: list[Any], *, is_time: bool = False) -> str:
    """What is wrong with text that cannot be the outcome."""
    numbers = [0.0 if text is None else number_of(text.replace("_", "")) for text in texts]
    odd = np.flatnonzero(np.isnan(numbers)).tolist()
    if not odd:
        several = f"{what} holds numbers that are written in several ways, such as {texts[0]!r}"
        return f"{several}; write them alike"
    cell = texts[odd[0]]
    if 2 * len(odd) < len(texts):
        return _odd_cells(what, "", cell, odd)
    if is_time:
        return f"{what} holds text such as {cell!r}; survival times are numbers"
    levels = sorted(set(texts) - {None})
    return (
        f"{what} holds text with {len(levels):,} different values ({listed(levels)}), too many for "
        "classes; it must be a number or have fewer classes"
    )


def _asked_for(
    options: TableOptions, others: Sequence[str], files: TableFiles, phenotypes: str | None
) -> tuple[list[str], set[str], dict[str, facts.LeftOut]]:
    """Columns that are always included, those that must be kept, and those left out."""
    found: dict[str, list[str]] = {}
    for option in ("always", "covariates", "include", "exclude"):
        items = getattr(options, option)
        for name in (*items, *",".join(items).split(",")):
            if name in (options.target, options.event):
                raise RunError(f"--{option} names {name!r}, which is what is to be explained")
            if name in (options.row_groups, options.order) and name not in others:
                raise RunError(
                    f"--{option} names {name!r}, which says how rows depend on each other "
                    f"(--row-groups, --order) and is no variable; leave it out of --{option}"
                )
        where = (option == "covariates" and phenotypes) or files.where
        found[option] = expand(items, others, f"--{option}", where)
    always = found["always"] + found["covariates"]
    wanted = {*found["include"], *always}
    unwanted = dict.fromkeys(sorted(found["exclude"]), facts.LeftOut("excluded"))
    if isinstance(files, ColumnTable):  # other columns of its rows have to be named
        unused = set(files.rows.column_names).intersection(others) - wanted - unwanted.keys()
        unwanted |= dict.fromkeys(sorted(unused), facts.LeftOut("no covariate"))
    if both := sorted(wanted & unwanted.keys()):
        raise RunError(f"column {both[0]!r} is excluded and included; choose one")
    return always, wanted, unwanted


def profile_columns(
    raw: RawTable,
    unwanted: Collection[str] = (),
    written: Mapping[str, Writing] = MappingProxyType({}),
    mixed: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> facts.ColumnFacts:
    """Look at the columns of a table, at numbers in blocks."""
    left_out: dict[str, facts.LeftOut | None] = {}
    infinite: dict[str, int] = {}
    numbers: dict[str, str] = {}
    missing: set[str] = set()
    names = [field.name for field in raw.numeric]
    is_whole = np.array([field.type in WHOLE for field in raw.numeric], dtype=np.bool_)
    columns = raw.matrix.T
    digests = np.empty(len(names), dtype=np.int64)
    for part in in_blocks(len(names), len(raw.matrix)):
        scan, inside = facts.scan_block(columns[part]), names[part]
        left_out |= facts.profile_numbers(inside, columns[part], scan, is_whole[part])
        missing.update(inside[j] for j in np.flatnonzero(scan.n_missing))
        infinite |= {inside[j]: int(scan.n_infinite[j]) for j in np.flatnonzero(scan.n_infinite)}
        digests[part] = scan.digest
    copies = []
    _, which, counts = np.unique(digests, return_inverse=True, return_counts=True)
    for digest in dict.fromkeys(which[counts[which] > 1].tolist()):
        first, *later = np.flatnonzero(which == digest).tolist()
        alike = [j for j in later if np.array_equal(columns[first], columns[j], equal_nan=True)]
        if alike:
            copies.append(tuple(names[j] for j in (first, *alike)))
    for name, kind, type in raw.fields:
        lacks = np.zeros(0, dtype=np.bool_)
        if kind == "other":
            left_out[name] = facts.LeftOut("other type", type)
        elif kind == "date":
            left_out[name] = facts.profile_days(name, raw.days[name])
            lacks = np.isnan(raw.days[name])
        elif kind == "text":
            text, writing = raw.texts[name], written.get(name)
            left_out[name], odd_cell = facts.profile_text(name, text, writing)
            lacks = text.codes < 0
            if odd_cell is not None:
                numbers[name] = odd_cell
                lacks = np.isnan(text_to_numbers(text, writing))
        if lacks.any():
            missing.add(name)
    if raw.file is not None:
        low, high, n_missing = raw.file.ranges()
        left_out |= facts.constant_columns(raw.in_file, low, high)
        missing.update(raw.in_file[j] for j in np.flatnonzero(n_missing).tolist())
    order = [*(field.name for field in raw.fields), *raw.in_file]
    return facts.ColumnFacts(
        left_out={n: why for n in order if n not in unwanted and (why := left_out.get(n))},
        dates=tuple(raw.days),
        numbers=numbers,
        written=dict(written),
        mixed=dict(mixed),
        infinite=infinite,
        missing=tuple(name for name in order if name in missing),
        copies=tuple(copies),
        written_days=raw.written_days,
    )


def _on_a_stream(found: facts.ColumnFacts, n_seen: int) -> facts.ColumnFacts:
    """The facts by the first rows of a stream; what is constant there may vary in later ones."""
    left_out = {
        name: replace(why, n_seen=n_seen)
        for name, why in found.left_out.items()
        if why.reason != "constant" or n_seen < ROWS_TO_LOOK_AT
    }
    for names, why in (
        (found.numbers, facts.LeftOut("mixed on a stream")),
        (found.infinite, facts.LeftOut("infinite on a stream")),
    ):
        for name in names:
            left_out.setdefault(name, why)
    return replace(found, left_out=left_out, copies=())


def _look_for_doubts(
    raw: RawTable,
    found: facts.ColumnFacts,
    chosen: Collection[str],
    unwanted: Collection[str],
    options: TableOptions,
    writing: Writing | None,
) -> tuple[facts.Doubt, ...]:
    """Doubts about the chosen columns, besides copies and identifiers."""
    known = {*unwanted, *found.numbers, *found.mixed}
    about_text = doubts_about_text({n: text for n, text in raw.texts.items() if n not in known})
    y = read_target(raw.target, writing)
    rows = np.flatnonzero(~missing_mask(y))
    try:
        outcome = _read_outcome(y[rows], options.family)
    except (TypeError, ValueError):  # the first rows of a stream may not tell
        return about_text
    texts = {
        name: text
        for name, text in raw.texts.items()
        if name in chosen and len(text.levels) <= facts.MOST_CATEGORIES
    }
    names = [field.name for field in raw.numeric]
    names += [name for name, text in texts.items() for _ in text.levels]
    names += raw.days

    def blocks() -> Iterator[tuple[int, NDArray[np.float64]]]:
        columns = raw.matrix.T
        for here in in_blocks(len(columns), len(raw.matrix), VALUES_IN_CACHE):
            yield here.start, columns[here] if rows.size == y.size else columns[here][:, rows]
        place = len(columns)
        for text in texts.values():
            yield place, np.ascontiguousarray(one_hot(text.codes[rows], len(text.levels)).T)
            place += len(text.levels)
        for values in raw.days.values():
            yield place, np.where(np.isnan(values[rows]), np.nan, 0.0)[None]
            place += 1

    doubts = []
    for doubt in find_doubts(names, blocks(), outcome, with_structure=False):
        if not doubt.is_of_outcome:
            doubt = replace(doubt, names=tuple(name for name in doubt.names if name in chosen))
        if doubt.is_of_outcome or doubt.names:
            doubts.append(doubt)
    keys = {n: text.codes[rows] for n, text in raw.texts.items() if len(text.levels) < rows.size}
    matrix = raw.matrix if rows.size == y.size else raw.matrix[rows]
    of_rows = None
    if options.row_groups is None and options.order is None:
        of_rows = find_dependence(names[: matrix.shape[1]], matrix, outcome, keys)
    return (*doubts, *([of_rows] if of_rows else []), *about_text)


def require_what_the_reward_needs(plan: Plan, settings: Settings) -> None:
    """Raise a RunError for too few rows, or missing values that the reward cannot take."""
    outcome, missing, reward = plan.facts.outcome, plan.facts.missing, settings.reward
    made = settings.make_reward(plan.stream)
    if outcome.n_rows < made.min_rows:
        raise RunError(
            f"{plan.facts.where} has {counted(outcome.n_rows, 'row')} with a value of "
            f"{outcome.name!r}; at least {made.min_rows} are needed"
        )
    if missing and not made.takes_missing:
        has = "has" if len(missing) == 1 else "have"
        raise RunError(
            f"--reward {reward} cannot take missing values, but {listed(missing)} {has} some; use "
            "--reward bart or --exclude"
        )
    if settings.batch_size < made.min_rows:
        raise RunError(
            f"--batch-size {settings.batch_size} is too small: --reward {reward} needs at least "
            f"{made.min_rows} rows"
        )
