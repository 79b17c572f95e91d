"""What was found out about a table, as plain values that go through JSON; no sentences."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from tvselect.inputs.outcome import Family
from tvselect.inputs.written import Writing
from tvselect.words import counted, listed

Reason = Literal[
    "excluded",
    "no covariate",
    "no value",
    "constant",
    "row numbers",
    "identifier",
    "free text",
    "all different",
    "many texts",
    "other type",
    "some files",
    "date on a stream",
    "mixed on a stream",
    "infinite on a stream",
]


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
    """What was found out about columns, by name where there is something to say."""

    left_out: dict[str, LeftOut]  #: Columns that are not used
    dates: tuple[str, ...]  #: Read as days since 1970-01-01
    numbers: dict[str, str]  #: Text read as numbers, and a cell that counts as missing (or "")
    written: dict[str, Writing]  #: How numbers with marks and signs are written
    mixed: dict[str, tuple[str, ...]]  #: Columns of numbers in several units
    infinite: dict[str, int]  #: How many infinite values there are, which count as missing
    missing: tuple[str, ...]  #: Columns with missing values
    copies: tuple[tuple[str, ...], ...]  #: Columns that hold the same values

    def among(self, chosen: Collection[str]) -> ColumnFacts:
        """The same of the columns that are chosen, and why others are left out."""
        copies = (tuple(name for name in names if name in chosen) for names in self.copies)
        return ColumnFacts(
            left_out=self.left_out,
            dates=tuple(name for name in self.dates if name in chosen),
            numbers={name: cell for name, cell in self.numbers.items() if name in chosen},
            written={name: how for name, how in self.written.items() if name in chosen},
            mixed={name: units for name, units in self.mixed.items() if name in chosen},
            infinite={name: n for name, n in self.infinite.items() if name in chosen},
            missing=tuple(name for name in self.missing if name in chosen),
            copies=tuple(names for names in copies if len(names) > 1),
        )


@dataclass(frozen=True)
class Doubt:
    """What may spoil a selection without being an error; for the user to judge."""

    kind: Literal[
        "leak", "one class", "code", "wild cell", "identifier", "copies", "few rows", "labels",
        "outcome code", "outcome cell", "dates as text", "units as text", "codes as text",
    ]  # fmt: skip
    names: tuple[str, ...]  #: Of columns; of classes, where these are in doubt
    value: float = 0.0  #: The least rank correlation with the outcome; the value, code or cell
    n: int = 0  #: Rows of the class, sets of copies

    @property
    def sentence(self) -> str:
        """The doubt and what to do about it."""
        rows, sets = counted(self.n, "row"), counted(self.n, "set")
        return DOUBTS[self.kind].format(
            names=listed(self.names), value=self.value, rows=rows, sets=sets
        )

    @property
    def is_of_outcome(self) -> bool:
        """Whether it is about the outcome, not about columns."""
        return self.kind in ("few rows", "labels", "outcome code", "outcome cell")


DOUBTS = {
    "leak": "Too good to be true? {names}: alone as good as the outcome itself (rank correlation "
    "{value:.3f}). Leave out what is made from the outcome, or known only with it.",
    "one class": "Known only after the outcome? {names}: {value:g} in all rows of one class, "
    "something else in most of the other. Leave out what comes after the outcome.",
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
