"""Columns of text: their labels as codes, and numbers as people write them.

Whether ``51,067`` is 51067 or 51.067 is decided for a column as a whole, by its other cells, then
by the other columns; where nothing tells, what was assumed is kept as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Mark = Literal[".", ","]
KnownBy = Literal["column", "table", "user", "guess"]
UNKNOWN = -2
MARKS: tuple[Mark, Mark] = (".", ",")
OTHER: dict[Mark, Mark] = {".": ",", ",": "."}
SHARE_OF_NUMBERS = 0.9
BLANKS = "'\u2019 \u00a0\u2009\u202f"
SIGNS = "+\u2212-"
CURRENCY = r"[$€£¥]|EUR|USD|GBP|CHF|JPY"
SYMBOLS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}
BRACKETED = re.compile(rf"\(([^(){SIGNS}]+)\)")  # as accountants write what is negative
#: What a number looks like, without blanks around it, with either mark before its fraction.
NUMBER = {
    mark: re.compile(
        rf"(?P<sign>[{SIGNS}])?\s?(?P<before>{CURRENCY})?\s?(?(sign)|(?P<inner>[{SIGNS}])?)"
        rf"(?P<digits>(?:[0-9]+|[1-9][0-9]{{0,2}}(?:[{OTHER[mark]}{BLANKS}][0-9]{{3}})+)"
        rf"(?:[{mark}][0-9]*)?|[{mark}][0-9]+)(?P<exponent>e[+-]?[0-9]+)?"
        rf"\s?(?(before)|(?P<after>{CURRENCY}|%)?)",
        re.IGNORECASE,
    )
    for mark in MARKS
}
#: To what float() reads, with either mark before fractions.
PLAIN = {mark: str.maketrans(f"{mark}\u2212", ".-", OTHER[mark] + BLANKS) for mark in MARKS}


@dataclass(frozen=True)
class TextColumn:
    """A column of text."""

    codes: NDArray[np.int64]  #: The place of each row's label among the levels; -1 is missing
    levels: tuple[str, ...]  #: All labels, sorted

    def share(self, holds: Iterable[object]) -> float:
        """Of the cells that are there, those for whose level it holds."""
        are_some = np.fromiter(map(bool, holds), np.bool_, len(self.levels))
        return float(self.counts[are_some].sum() / max(1, self.counts.sum()))

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows have each label."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels))

    def filled(self) -> TextColumn:
        """The same with cells of blanks alone as missing ones."""
        is_filled = np.array([bool(level.strip()) for level in self.levels] + [False])
        if is_filled[:-1].all():
            return self
        codes = np.where(is_filled[self.codes], self.codes, -1)
        return TextColumn(codes, self.levels).at(slice(None))

    def labels(self, rows: slice | NDArray[np.int64] = slice(None)) -> NDArray[np.object_]:
        """The labels of some rows, None where missing; equal labels are one object."""
        # The code -1 is the last place.
        return np.array([*self.levels, None], dtype=object)[self.codes[rows]]

    def at(self, rows: slice | NDArray[np.int64]) -> TextColumn:
        """Some rows, with the labels that they have."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        n_missing = int(np.count_nonzero(used < 0))
        return TextColumn(codes - n_missing, tuple(self.levels[code] for code in used[n_missing:]))


def encode_text(labels: Iterable[str | None]) -> TextColumn:
    """A column of text from its labels."""
    held = list(labels)
    levels = sorted({label for label in held if label is not None})
    return TextColumn(codes_of(held, levels), tuple(levels))


def codes_of(labels: Iterable[str | None], levels: Iterable[str]) -> NDArray[np.int64]:
    """The place of each label among the levels; -1 for None, -2 for a label that is not there."""
    place_of: dict[str | None, int] = {str(level): place for place, level in enumerate(levels)}
    place_of[None] = -1
    return np.fromiter((place_of.get(label, UNKNOWN) for label in labels), np.int64)


def one_hot(
    codes: NDArray[np.int64], n_levels: int, unknown: float = np.nan
) -> NDArray[np.float64]:
    """0/1 columns of the levels (rows, levels): NaN where missing, ``unknown`` for new levels."""
    rows = np.concatenate([np.eye(n_levels), np.full((2, n_levels), np.nan)])
    rows[UNKNOWN] = unknown
    return rows[codes]


@dataclass(frozen=True)
class Writing:
    """How the numbers of a column of text are written."""

    decimal: Mark
    cell: str  #: One of the cells
    value: float  #: What it is read as
    known_by: KnownBy


class Look(NamedTuple):
    """What the cells of a column of numbers are, by how many there are of each kind."""

    n: int
    n_numbers: int
    texts: list[str]  #: All numbers
    sure: dict[Mark, int]  #: Can be read with this mark only
    open: dict[Mark, int]  #: Have this mark, and can be read in both ways
    has_short: bool  #: A whole number below 1000
    has_long: bool  #: A whole number of four digits or more, without marks
    units: frozenset[str]

    @property
    def mixed_units(self) -> tuple[str, ...]:
        """Its units where numbers are not of one kind; bare ones may be of a currency."""
        units = self.units if "%" in self.units else self.units - {""}
        return tuple(sorted(units)) if len(units) > 1 else ()


def read_number(text: str, decimal: Mark) -> float:
    """The number in a cell, with this mark before its fraction; NaN if it is none."""
    found = NUMBER[decimal].fullmatch(_with_sign(text))
    if found is None:
        return float("nan")
    parts = (found["sign"] or found["inner"], found["digits"], found["exponent"])
    return float("".join(part for part in parts if part).translate(PLAIN[decimal]))


def _with_sign(text: str) -> str:
    """A cell without blanks around it, and with a minus in place of brackets."""
    bracketed = BRACKETED.fullmatch(text.strip())
    return f"-{bracketed[1].strip()}" if bracketed else text.strip()


def look_at(column: TextColumn) -> Look | None:
    """Look at a column of text; None unless nearly all are numbers, not all in brackets."""
    column = column.filled()
    texts: list[str] = []
    sure: dict[Mark, int] = {".": 0, ",": 0}
    either: dict[Mark, int] = {".": 0, ",": 0}
    n_numbers, has_short, has_long, units = 0, False, False, set()
    for text, n in zip(column.levels, column.counts.tolist(), strict=True):
        cell = _with_sign(text)
        with_point, with_comma = NUMBER["."].fullmatch(cell), NUMBER[","].fullmatch(cell)
        found = with_point or with_comma
        if found is None:
            n_numbers += n * (cell.lower() in ("inf", "-inf", "nan"))
            continue
        texts.append(text)
        n_numbers += n
        digits, unit = found["digits"], (found["before"] or found["after"] or "").upper()
        if unit or digits.strip("0.,"):
            units.add(SYMBOLS.get(unit, unit))
        if with_point is None or with_comma is None:
            sure["," if with_point is None else "."] += n
        elif "," in digits or "." in digits:
            either["," if "," in digits else "."] += n
        else:
            has_short |= len(digits) < 4
            has_long |= digits.isdigit() and len(digits) > 3
    n = int(column.counts.sum())
    if n_numbers < SHARE_OF_NUMBERS * n or all("(" in text for text in texts):
        return None
    return Look(n, n_numbers, texts, sure, either, has_short, has_long, frozenset(units))


def decide_writing(
    looks: Mapping[str, Look], known: Iterable[Mark], usual: Mark, given: Mark | None = None
) -> dict[str, Writing]:
    """How numbers are written: ``known`` marks before fractions, a ``usual`` one, one ``given``."""
    in_table = set(known)
    for look in looks.values():
        sure = [mark for mark in MARKS if look.sure[mark]]
        in_table.update(sure if len(sure) == 1 else ())
    found: dict[str, Writing] = {}
    for name, look in looks.items():
        decimal, known_by = _decide(look, in_table, usual, given)
        if look.mixed_units or look.n_numbers - look.sure[OTHER[decimal]] < (
            SHARE_OF_NUMBERS * look.n
        ):
            continue
        # A cell that is not read as it stands, one with a mark if there is any.
        for cell in sorted(look.texts, key=lambda text: "," not in text and "." not in text):
            value = read_number(cell, decimal)
            if np.isfinite(value) and (known_by == "guess" or value != number_of(cell)):
                found[name] = Writing(decimal, cell, value, known_by)
                break
    return found


def _decide(
    look: Look, in_table: set[Mark], usual: Mark, given: Mark | None
) -> tuple[Mark, KnownBy]:
    if any(look.sure.values()):
        return max(MARKS, key=lambda mark: look.sure[mark]), "column"
    marks = [mark for mark in MARKS if look.open[mark]]
    if not marks:
        return ".", "column"
    if given is not None:
        return given, "user"
    if len(in_table) == 1:
        return next(iter(in_table)), "table"
    if marks == ["."] and usual == ".":
        return ".", "column"
    if len(marks) == 1 and look.has_short != look.has_long:
        return (OTHER[marks[0]] if look.has_short else marks[0]), "column"
    return (usual if "," in marks else "."), "guess"


def number_of(text: str) -> float:
    """The number that a text reads as, without marks of thousands; NaN where it is none."""
    try:
        return float(text.replace("_", "x"))
    except ValueError:
        return float("nan")


def read_numbers(texts: Sequence[str], writing: Writing | None) -> NDArray[np.float64]:
    """The number that each text reads as, NaN where it is none."""
    numbers = (
        number_of(text) if writing is None else read_number(text, writing.decimal) for text in texts
    )
    return np.fromiter(numbers, np.float64, len(texts))


def text_to_numbers(column: TextColumn, writing: Writing | None = None) -> NDArray[np.float64]:
    """Text as finite numbers, NaN where it is none."""
    numbers = np.append(read_numbers(column.levels, writing), np.nan)
    return np.where(np.isinf(numbers), np.nan, numbers)[column.codes]
