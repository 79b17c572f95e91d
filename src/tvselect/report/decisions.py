"""The decisions about a table in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tvselect.words import MOST_NAMES, counted, listed

if TYPE_CHECKING:
    from tvselect.inputs.facts import FileFacts, LeftOut, OutcomeProfile, ReadingMode, TableFacts

MOST_COPIES = 5
GB = 2**30
REASONS = {
    "excluded": "excluded",
    "no covariate": "not named by --covariates",
    "no value": "no value in {any_row}",
    "constant": "constant ({value} in {every_row})",
    "row numbers": "numbers the rows from {low:g} to {high:g}",
    "identifier": "an identifier by its name",
    "free text": "free text",
    "all different": "a different text in {every_row}, as identifiers have",
    "many texts": "free text or names: {n_distinct:,} different texts in {n_rows:,} rows",
    "rounded": "whole numbers so large and alike that their differences are lost in floating-point "
    "numbers: subtract the smallest from all",
    "some files": "in {n_files:,} of {n_all_files:,} files only",
    "other type": "neither numbers nor text but {value}",
    "mixed on a stream": "numbers with text or signs, which a stream cannot read (--no-stream can)",
    "infinite on a stream": "infinite values, which a stream cannot read (--no-stream can)",
}
MODES = {
    "asked": "Read into memory, as you asked.",
    "rows": "Streamed batch by batch: {about}{mode.n_rows:,} rows are more than "
    "{mode.most_rows:,} (--no-stream reads them all into memory).",
    "memory": "Streamed batch by batch: it would take some {needed:.1f} GB of the {free:.1f} GB "
    "that are free (--no-stream tries all the same).",
    "small": "Read into memory (--stream reads batch by batch).",
    "whole": "Read into memory.",
    "by column": "Columns stay in the file and are read as they are needed.",
}


def describe_table(
    facts: TableFacts, n_kept: int, groups: Mapping[str, Sequence[str]], always: Sequence[str]
) -> list[str]:
    """All decisions about a table; ``groups`` are one variable each, ``always`` are played."""
    n_rows = facts.outcome.n_rows + facts.outcome.n_missing
    said = [
        f"{facts.where}: {counted(n_rows, 'row')}, {counted(facts.n_columns, 'column')} besides "
        f"the target; {n_kept:,} to choose from.",
        *_files(facts.files),
        _mode(facts.mode),
        *_outcome(facts.outcome),
        *_columns(facts),
    ]
    if groups:
        n_columns = sum(map(len, groups.values()))
        said.append(
            f"{counted(len(groups), 'group')} of {counted(n_columns, 'column')}: one variable each."
        )
    if always:
        said.append(f"Part of every play: {listed(always)}.")
    return said


def describe_doubts(facts: TableFacts) -> list[str]:
    """What was assumed about a table and may be wrong."""
    said = []
    if facts.files.numeric_names:
        said.append(
            f"all names of columns are numbers; if the first line of {facts.where} is no line of "
            "names, write one above it"
        )
    for name, how in facts.written.items():
        if how.known_by == "guess":
            other = "," if how.decimal == "." else "."
            said.append(
                f"column {name!r}: {how.cell!r} is read as {how.value:.15g}, with {how.decimal!r} "
                f"before fractions, which nothing in the table tells; say --decimal {other} if "
                f"that is wrong, --decimal {how.decimal} if it is right"
            )
    for name, units in facts.mixed.items():
        shown = ", ".join(unit or "none" for unit in units)
        said.append(
            f"column {name!r} holds numbers of several units ({shown}), which are not converted; "
            "write them in one"
        )
    return said + [doubt.sentence for doubt in facts.doubts if doubt.is_of_rows]


def why_left_out(why: LeftOut) -> str:
    """Why a column is not used."""
    first = f"the first {why.n_seen:,} rows" if why.n_seen is not None else ""
    facts = {**vars(why), "any_row": first or "any row", "every_row": first or "every row"}
    if why.value == "binary":
        facts["value"] = "bytes or text that is not UTF-8"
    return REASONS[why.reason].format(**facts)


def _files(files: FileFacts) -> list[str]:
    said = []
    if files.encoding != "UTF-8":
        said.append(f"Not UTF-8: its letters are read as {files.encoding}.")
    if files.delimiter == " ":
        said.append("Cells have blanks between them (--sep says another mark).")
    if len(files.sheets) > 1:
        first, *others = files.sheets
        said.append(f"Sheet {first!r} is read; --sheet reads another: {listed(others)}.")
    if files.title:
        said.append(f"Above the names of the columns stands {files.title!r}, which is skipped.")
    if files.is_transposed:
        said.append("Transposed, as you asked: rows of the file are columns here.")
    return said


def _mode(mode: ReadingMode) -> str:
    if mode.why == "asked" and mode.stream:
        return "Streamed, as --stream, --batch-size or --rounds asks for."
    about = "about " if mode.is_estimate else ""
    needed, free = mode.bytes_needed / GB, mode.bytes_free / GB
    return MODES[mode.why].format(mode=mode, about=about, needed=needed, free=free)


def _outcome(outcome: OutcomeProfile) -> list[str]:
    said = [f"{outcome.name!r} {_family(outcome)}."]
    if outcome.n_missing:
        rows = "row has" if outcome.n_missing == 1 else "rows have"
        said.append(
            f"{outcome.n_missing:,} {rows} no value of {outcome.name!r}"
            f"{' or of the event' if outcome.family == 'survival' else ''} and cannot be used."
        )
    return said


def _family(outcome: OutcomeProfile) -> str:
    """What kind of outcome it is taken for, and what else it could be."""
    n, labels = outcome.n_distinct, outcome.classes
    as_numbers = " (--family gaussian takes them as numbers)"
    if outcome.family == "probit":
        other = "" if outcome.is_asked or outcome.is_text else as_numbers
        return f"has two values, {labels[0]} and {labels[1]}: two classes{other}"
    if outcome.family in ("classes", "ordinal"):
        values = f"has {n:,} values, {', '.join(labels[:-1])} and {labels[-1]}"
        kind = "classes" if outcome.family == "classes" else "ordered grades"
        other = " (--family ordinal if they are grades, gaussian if numbers)"
        return f"{values}: {kind}{other if outcome.is_guess else ''}"
    if outcome.family == "counts":
        other = as_numbers if outcome.is_guess else ""
        return f"holds whole numbers from {outcome.low:g} to {outcome.high:g}: counts{other}"
    if outcome.family == "survival" and outcome.event is None:
        return (
            f"is a time until an event that took place in all {outcome.n_rows:,} rows "
            "(--event NAME if some were censored)"
        )
    if outcome.family == "survival":
        n_censored = outcome.n_rows - outcome.n_events
        return (
            f"is the time until {outcome.event!r}: {counted(outcome.n_events, 'event')}, "
            f"{counted(n_censored, 'row')} censored"
        )
    return f"is a number with {n:,} different values: regression"


def _columns(facts: TableFacts) -> list[str]:
    said = []
    by_reason: dict[str, list[str]] = {}
    for name, why in facts.left_out.items():
        by_reason.setdefault(why_left_out(why), []).append(name)
    if unwanted := by_reason.pop("excluded", None):
        said.append(f"Excluded, as you asked: {listed(unwanted)}.")
    said += [f"Left out: {listed(names)}, {reason}." for reason, names in by_reason.items()]
    if facts.dates:
        said.append(f"Dates become numbers (days since 1970-01-01): {listed(facts.dates)}.")
    for name, (cell, day) in list(facts.written_days.items())[:MOST_NAMES]:
        said.append(f"Read as dates, as all cells agree: {name!r} ({cell!r} as {day}).")
    said += _numbers(facts)
    said += [
        f"In {name!r} {counted(n, 'infinite value')} {'counts' if n == 1 else 'count'} as missing."
        for name, n in facts.infinite.items()
    ]
    if facts.missing:
        said.append(f"Missing values are kept as missing: {listed(facts.missing)}.")
    shown = facts.copies[:MOST_COPIES]
    said += [
        f"The same values, all kept: {listed(names)}; they compete, and any of them may be "
        f"selected in place of {names[0]!r}."
        for names in shown
    ]
    if len(facts.copies) > MOST_COPIES:
        more = len(facts.copies) - MOST_COPIES
        sets = "set of columns holds" if more == 1 else "sets of columns hold"
        said.append(f"{more:,} more {sets} the same values.")
    return said + [doubt.sentence for doubt in facts.doubts if not doubt.is_of_rows]


def _numbers(facts: TableFacts) -> list[str]:
    said: list[str] = []
    alike: list[str] = []
    for name in {**facts.numbers, **facts.written}:
        cell, how = facts.numbers.get(name, ""), facts.written.get(name)
        note = f"; cells such as {cell!r} count as missing" if cell else ""
        if how is not None and len(said) >= MOST_NAMES and not note:
            alike.append(name)
            continue
        shown = "" if how is None else f" ({how.cell!r} as {how.value:.15g})"
        elsewhere = ", as elsewhere in the table" if how and how.known_by == "table" else ""
        said.append(f"Read as numbers: {name!r}{shown}{elsewhere}{note}.")
    if alike:
        said.append(f"Read as numbers, too: {listed(alike)}.")
    return said
