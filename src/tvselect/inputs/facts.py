"""What is known of a table, as plain values that go through JSON, and how columns are profiled."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.columns import is_rounded
from tvselect.inputs.outcome import Family
from tvselect.inputs.text import SHARE_OF_NUMBERS, TextColumn, Writing, read_numbers
from tvselect.words import counted, listed

FEW_ROWS = 10
MOST_CATEGORIES = 100
LONG_TEXT = 25
ID_NAME = re.compile(
    r"(?i:|id|index|idx|uuid|guid|row_?(names?|id|number|num|nr|no)|unnamed: ?\d+"
    r"|__index_level_\d+__|(id|uuid)[ _.-].*|.*[ _.-](id|uuid|guid|idx))|.*[a-z](ID|Id)"
)
Reason = Literal[
    "excluded", "no covariate", "no value", "constant", "row numbers", "identifier", "free text",
    "all different", "many texts", "rounded", "other type", "some files", "mixed on a stream",
    "infinite on a stream",
]  # fmt: skip
DoubtKind = Literal[
    "leak", "one class", "absent", "code", "wild cell", "identifier", "copies", "few rows",
    "labels", "outcome code", "outcome cell", "dates as text", "units as text", "codes as text",
    "neighbours", "walks", "repeats",
]  # fmt: skip


@dataclass(frozen=True)
class LeftOut:
    """Why a column is of no use."""

    reason: Reason
    value: str = ""  #: The constant, or the type of what is neither number nor text
    low: float = 0.0  #: Of row numbers
    high: float = 0.0
    n_distinct: int = 0  #: Of texts
    n_rows: int = 0
    n_seen: int | None = None  #: How many of the first rows were looked at; None for all of them
    n_files: int = 0  #: That have the column
    n_all_files: int = 0

    @property
    def is_usable(self) -> bool:
        """Whether the column can be kept all the same."""
        unusable = ("no value", "other type", "some files")
        return self.reason not in unusable and "on a stream" not in self.reason


@dataclass(frozen=True)
class ReadingMode:
    """Whether a table is read batch by batch, and why."""

    stream: bool
    why: Literal["asked", "rows", "memory", "small", "whole", "by column"]
    n_rows: int  #: An estimate if ``is_estimate``
    is_estimate: bool = False
    most_rows: int = 0  #: That are read into memory unasked
    bytes_needed: int = 0
    bytes_free: int = 0


@dataclass(frozen=True)
class FileFacts:
    """How files were read."""

    encoding: str  #: How letters are written
    delimiter: str | None  #: Between cells of a CSV
    sheets: tuple[str, ...]  #: Of a spreadsheet: the one that is read, and others
    is_transposed: bool  #: Whether rows of the file are columns of the table
    numeric_names: bool  #: Whether the first line may be no names but numbers
    title: str = ""  #: What stands above the names of a CSV or a sheet, and is skipped


@dataclass(frozen=True)
class OutcomeProfile:
    """The outcome of a table."""

    name: str
    family: Family
    is_asked: bool  #: Whether the user chose the family
    is_text: bool
    n_rows: int  #: With a value
    n_missing: int  #: Without
    n_distinct: int
    classes: tuple[str, ...]  #: The labels of classes or grades
    is_guess: bool = False  #: Whether other families are as likely
    low: float = 0.0  #: The smallest and the largest number
    high: float = 0.0
    event: str | None = None  #: The column that says whether a time ended in the event
    n_events: int = 0


@dataclass(frozen=True)
class ColumnFacts:
    """What is known of columns, by name where there is something to say."""

    left_out: dict[str, LeftOut]  #: Columns that are not used
    dates: tuple[str, ...]  #: Read as days since 1970-01-01
    numbers: dict[str, str]  #: Text read as numbers, and a cell that counts as missing (or "")
    written: dict[str, Writing]  #: How numbers with marks and signs are written
    mixed: dict[str, tuple[str, ...]]  #: Columns of numbers in several units
    infinite: dict[str, int]  #: How many infinite values there are, which count as missing
    missing: tuple[str, ...]  #: Columns with missing values
    copies: tuple[tuple[str, ...], ...]  #: Columns that hold the same values
    #: Dates that are written as text in one way: a cell, and the day that it is read as
    written_days: dict[str, tuple[str, str]] = field(default_factory=dict, kw_only=True)

    def among(self, chosen: Collection[str]) -> ColumnFacts:
        """The same of the columns that are chosen, and why others are left out."""

        def kept(facts: Any) -> Any:
            if isinstance(facts, dict):
                return {name: fact for name, fact in facts.items() if name in chosen}
            return tuple(name for name in facts if name in chosen)

        names = ("dates", "numbers", "written", "mixed", "infinite", "missing", "written_days")
        copies = tuple(alike for alike in map(kept, self.copies) if len(alike) > 1)
        return replace(self, copies=copies, **{n: kept(getattr(self, n)) for n in names})


@dataclass(frozen=True)
class Doubt:
    """What may invalidate a selection without being an error; for the user to judge."""

    kind: DoubtKind
    names: tuple[str, ...]  #: Of columns; of classes, where these are in doubt
    value: float = 0.0  #: The least rank correlation with the outcome; the value, code or cell
    n: int = 0  #: Rows of the class, sets of copies

    @property
    def sentence(self) -> str:
        """The doubt and what to do about it."""
        words = {"rows": counted(self.n, "row"), "sets": counted(self.n, "set")}
        words |= {"groups": "groups= (--row-groups)", "order": "order= (--order)"}
        return DOUBTS[self.kind].format(names=listed(self.names), value=self.value, **words)

    @property
    def is_of_rows(self) -> bool:
        """Whether rows may depend on each other, so that q-values are unproven."""
        return self.kind in ("neighbours", "walks", "repeats")

    @property
    def is_of_outcome(self) -> bool:
        """Whether it is about the outcome, not about columns."""
        return self.kind in ("few rows", "labels", "outcome code", "outcome cell")


DOUBTS = {
    "leak": "Too good to be true? {names}: alone as good as the outcome itself (rank correlation "
    "{value:.3f}). Leave out what is made from the outcome, or known only with it (--exclude).",
    "one class": "Known only after the outcome? {names}: {value:g} in all rows of one class, "
    "something else in most of the other. Leave out what comes after the outcome (--exclude).",
    "absent": "Known only after the outcome? {names}: empty but for rows of some classes or values "
    "of the outcome, and filled in most of these. Leave out what comes after the outcome "
    "(--exclude).",
    "code": "Missing values in disguise? {value:g} is far from all other values of {names}. If it "
    "stands for a missing value, make it one.",
    "wild cell": "A slip? One cell with {value:g} is far from all other values of {names}.",
    "few rows": "Only {rows} of class {names}: what sets it apart is hard to find.",
    "labels": "One class or several? {names} differ in capitals or blanks only. If they are one, "
    "write them alike.",
    "outcome code": "Missing values in disguise? {value:g} is far from all other values of the "
    "outcome. If it stands for a missing value, leave these rows out.",
    "outcome cell": "A slip? One row with {value:g} is far from all other values of the outcome.",
    "dates as text": "Dates taken as text? {names}. Write them as 2019-12-31 to have them read as "
    "dates.",
    "units as text": "Numbers taken as text? {names}: a unit is in every cell. Write it into the "
    "name of the column, and the numbers alone into the cells.",
    "codes as text": "Numbers taken as text? {names}: most cells are numbers, more than a tenth "
    "are signs or words. Empty those that stand for missing values.",
    "neighbours": "Do rows depend on each other? Neighbouring rows are alike in the outcome and in "
    "many columns. q-values hold for independent rows: say which rows belong together with "
    "{groups}, or by what they follow each other with {order}.",
    "walks": "Do rows follow each other in time? The outcome and most columns change slowly from "
    "row to row, and such series go together by chance. q-values hold for independent rows: say "
    "{order}, and take differences between rows if nothing can be shown then.",
    "repeats": "Do rows with the same {names} belong together? They are alike in the outcome and "
    "in many columns. q-values hold for independent rows: say which belong together with {groups}.",
    "identifier": "An identifier or a row number? {names}. Leave it out.",
    "copies": "The same values in {sets} of columns, such as {names}: they compete, and any "
    "of them may be selected in place of the others.",
}


@dataclass(frozen=True)
class TableFacts(ColumnFacts):
    """How a table was understood."""

    where: str  #: The table, as the user gave it
    n_columns: int  #: Besides the target
    mode: ReadingMode
    files: FileFacts
    outcome: OutcomeProfile
    doubts: tuple[Doubt, ...] = ()


class Scan(NamedTuple):
    """Columns of numbers, one value per column."""

    low: NDArray[np.float64]  #: Smallest and largest finite value; infinite the other way round
    high: NDArray[np.float64]  #: where there is none
    n_missing: NDArray[np.int64]  #: Infinite values count as missing, too
    n_infinite: NDArray[np.int64]
    digest: NDArray[np.int64]  #: A hash of the values, of this process


def scan_block(block: NDArray[np.float64]) -> Scan:
    """Summarize columns of numbers (columns, rows); infinite values become NaN in place."""
    n_missing, n_infinite = (np.zeros(len(block), np.int64) for _ in range(2))
    bad = ~np.isfinite(block)
    if bad.any():
        n_missing[:], n_infinite[:] = bad.sum(axis=1), np.isinf(block).sum(axis=1)
        block[bad] = np.nan  # also those of other bits
    return Scan(
        np.fmin.reduce(block, axis=1, initial=np.inf),
        np.fmax.reduce(block, axis=1, initial=-np.inf),
        n_missing,
        n_infinite,
        np.array([hash(values.tobytes()) for values in block], dtype=np.int64),
    )


def constant_columns(
    names: Sequence[str], low: NDArray[np.float64], high: NDArray[np.float64]
) -> dict[str, LeftOut]:
    """Columns without any value (``low`` is above ``high``), or with a single one."""
    return {
        names[j]: LeftOut("constant", f"{low[j]:g}") if low[j] == high[j] else LeftOut("no value")
        for j in np.flatnonzero(low >= high).tolist()
    }


def profile_numbers(
    names: Sequence[str], block: NDArray[np.float64], found: Scan, is_whole: NDArray[np.bool_]
) -> dict[str, LeftOut]:
    """Why scanned columns (columns, rows) are useless; ``is_whole`` marks whole numbers."""
    n_rows = block.shape[1]
    left_out = constant_columns(names, found.low, found.high)
    with np.errstate(invalid="ignore"):  # columns without a value
        rounded = is_whole & (found.low <= found.high) & is_rounded(found.low, found.high)
    left_out |= {names[j]: LeftOut("rounded") for j in np.flatnonzero(rounded).tolist()}
    if n_rows < FEW_ROWS:
        return left_out
    counts_rows = np.isin(found.low, (0.0, 1.0)) & (found.high == found.low + (n_rows - 1))
    for j in np.flatnonzero(is_whole & (found.low < found.high)).tolist():
        named = ID_NAME.fullmatch(names[j]) is not None
        if not counts_rows[j] and not named:
            continue
        steps = np.diff(block[j])
        if counts_rows[j] and ((steps == 1.0).all() or (steps == -1.0).all()):
            low, high = float(found.low[j]), float(found.high[j])
            left_out[names[j]] = LeftOut("row numbers", low=low, high=high)
        elif named and _is_many(np.unique(block[j]).size, n_rows):
            left_out[names[j]] = LeftOut("identifier")
    return left_out


def profile_text(
    name: str, column: TextColumn, writing: Writing | None = None
) -> tuple[LeftOut | None, str | None]:
    """Why a column of text is useless; and if nearly all are numbers, a text that is not ("")."""
    filled = column.filled()
    if not filled.levels:
        return LeftOut("no value"), None
    numbers = read_numbers(filled.levels, writing)
    is_number = ~np.isnan(numbers)
    if filled.share(is_number) >= SHARE_OF_NUMBERS:
        odd = [text for text, good in zip(filled.levels, is_number, strict=True) if not good]
        reason = profile_days(name, np.where(np.isinf(numbers), np.nan, numbers))
        return reason, odd[0] if odd else ""
    texts, n = column.levels, int(column.counts.sum())
    if len(texts) == 1:
        text = texts[0]
        short = text if len(text) <= LONG_TEXT else text[: LONG_TEXT - 3] + "..."
        return LeftOut("constant", repr(short)), None
    if ID_NAME.fullmatch(name) and _is_many(len(texts), n):
        return LeftOut("identifier"), None
    if n >= FEW_ROWS and len(texts) == n:
        is_long = sum(map(len, texts)) > LONG_TEXT * n
        return LeftOut("free text" if is_long else "all different"), None
    if len(texts) > MOST_CATEGORIES or (n >= FEW_ROWS and 2 * len(texts) > n):
        return LeftOut("many texts", n_distinct=len(texts), n_rows=n), None
    return None, None


def profile_days(name: str, values: NDArray[np.float64]) -> LeftOut | None:
    """Why a column of dates, or of numbers written as text, is useless."""
    block = values[None, :]
    return profile_numbers([name], block, scan_block(block), np.zeros(1, np.bool_)).get(name)


def _is_many(n_distinct: int, n_rows: int) -> bool:
    """Whether there are too many distinct values for codes of categories."""
    return n_distinct > max(2 * FEW_ROWS, n_rows // 20) or n_distinct == n_rows
