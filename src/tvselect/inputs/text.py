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

from tvselect.inputs.columns import ALL, Places


@dataclass(frozen=True)
class TextColumn:
    """A column of text."""

    codes: NDArray[np.int64]  #: The place of each row's label among the levels; -1 is missing
    levels: tuple[str, ...]  #: All labels, sorted

    def labels(self, rows: Places = ALL) -> NDArray[np.object_]:
        """The labels of some rows, None where missing; equal labels are one object."""
        # The code -1 is the last place.
        return np.array([*self.levels, None], dtype=object)[self.codes[rows]]

    def at(self, rows: Places) -> TextColumn:
        """Some rows, with the labels that they have."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        n_missing = int(np.count_nonzero(used < 0))
        return TextColumn(codes - n_missing, tuple(self.levels[code] for code in used[n_missing:]))


def encode_text(labels: Iterable[str | None]) -> TextColumn:
    """A column of text from its labels.

    Examples
    --------
    >>> encode_text(["b", None, "a", "b"])
    TextColumn(codes=array([ 1, -1,  0,  1]), levels=('a', 'b'))
    """
    held = list(labels)
    levels = sorted({label for label in held if label is not None})
    code_of: dict[str | None, int] = {label: code for code, label in enumerate(levels)}
    codes = np.fromiter((code_of.get(label, -1) for label in held), np.int64, len(held))
    return TextColumn(codes, tuple(levels))


Mark = Literal[".", ","]
KnownBy = Literal["column", "table", "user", "guess"]
MARKS: tuple[Mark, Mark] = (".", ",")
OTHER: dict[Mark, Mark] = {".": ",", ",": "."}
SHARE_OF_NUMBERS = 0.9
BLANKS = "'\u2019 \u00a0\u2009\u202f"
CURRENCY = r"[$€£¥]|EUR|USD|GBP|CHF|JPY"
SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}
#: What a number looks like, without blanks around it, with either mark before its fraction.
NUMBER = {
    mark: re.compile(
        rf"([+-]?)\s?({CURRENCY})?\s?([+-]?)"
        rf"((?:[0-9]+|[1-9][0-9]{{0,2}}(?:[{OTHER[mark]}{BLANKS}][0-9]{{3}})+)(?:[{mark}][0-9]*)?"
        rf"|[{mark}][0-9]+)(e[+-]?[0-9]+)?\s?({CURRENCY}|%)?",
        re.IGNORECASE,
    )
    for mark in MARKS
}
#: To what float() reads, with either mark before fractions.
PLAIN = {mark: str.maketrans(mark, ".", OTHER[mark] + BLANKS) for mark in MARKS}


@dataclass(frozen=True)
class Writing:
    """How the numbers of a column of text are written."""

    decimal: Mark
    cell: str  #: One of the cells
    value: float  #: What it is read as
    known_by: KnownBy


class Look(NamedTuple):
    """What the cells of a column are, by how many there are of each kind."""

    n: int
    n_numbers: int
    texts: list[str]  #: All numbers
    sure: dict[Mark, int]  #: Can be read with this mark only
    open: dict[Mark, int]  #: Have this mark, and can be read in both ways
    has_short: bool  #: A whole number below 1000
    has_long: bool  #: A whole number of four digits or more, without marks
    units: frozenset[str]


def read_number(text: str, decimal: Mark) -> float:
    """The number in a cell, with this mark before its fraction; NaN if it is none.

    Examples
    --------
    >>> read_number("1,234.5 €", "."), read_number("51,067", "."), read_number("51,067", ",")
    (1234.5, 51067.0, 51.067)
    >>> read_number("12.03.2020", ".")
    nan
    """
    found = NUMBER[decimal].fullmatch(text.strip())
    if found is None:
        return float("nan")
    sign, before, inner, digits, exponent, after = found.groups()
    if (sign and inner) or (before and after):
        return float("nan")
    return float(sign + inner + digits.translate(PLAIN[decimal]) + (exponent or ""))


def look_at(column: TextColumn) -> Look | None:
    """Look at a column of text; None unless nearly all of it are numbers."""
    times = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
    texts: list[str] = []
    sure: dict[Mark, int] = {".": 0, ",": 0}
    either: dict[Mark, int] = {".": 0, ",": 0}
    n_numbers, has_short, has_long, units = 0, False, False, set()
    for text, n in zip(column.levels, times.tolist(), strict=True):
        cell = text.strip()
        with_point, with_comma = NUMBER["."].fullmatch(cell), NUMBER[","].fullmatch(cell)
        found = with_point or with_comma
        if found is None or (found[1] and found[3]) or (found[2] and found[6]):
            n_numbers += n * (cell.lower() in ("inf", "-inf", "nan"))
            continue
        texts.append(text)
        n_numbers += n
        digits, unit = found[4], (found[2] or found[6] or "").upper()
        if unit or digits.strip("0.,"):
            units.add(SIGNS.get(unit, unit))
        if with_point is None or with_comma is None:
            sure["," if with_point is None else "."] += n
        elif "," in digits or "." in digits:
            either["," if "," in digits else "."] += n
        else:
            has_short |= len(digits) < 4
            has_long |= digits.isdigit() and len(digits) > 3
    n = int(times.sum())
    if not texts or n_numbers < SHARE_OF_NUMBERS * n:
        return None
    return Look(n, n_numbers, texts, sure, either, has_short, has_long, frozenset(units))


def decide_writing(
    looks: Mapping[str, Look], known: Iterable[Mark], usual: Mark, given: Mark | None = None
) -> dict[str, Writing]:
    """How the numbers of columns are written, where reading them as they are would not do.

    ``known`` are marks that stand before fractions elsewhere in the table, ``usual`` is what such a
    file has as a rule, ``given`` what the user says.
    """
    in_table = set(known)
    for look in looks.values():
        sure = [mark for mark in MARKS if look.sure[mark]]
        in_table.update(sure if len(sure) == 1 else ())
    found: dict[str, Writing] = {}
    for name, look in looks.items():
        decimal, known_by = _decide(look, in_table, usual, given)
        if look.n_numbers - look.sure[OTHER[decimal]] < SHARE_OF_NUMBERS * look.n:
            continue
        cell = None if mixed_units(look) else _telling_cell(look.texts, decimal, known_by)
        if cell is not None:
            found[name] = Writing(decimal, cell, read_number(cell, decimal), known_by)
    return found


def _telling_cell(texts: Sequence[str], decimal: Mark, known_by: KnownBy) -> str | None:
    """A cell that is not read as it stands, one with a mark if there is any."""
    marked = [text for text in texts if "," in text or "." in text]
    for text in (*marked, *texts):
        value = read_number(text, decimal)
        if np.isfinite(value) and (known_by == "guess" or value != number_of(text)):
            return text
    return None


def mixed_units(look: Look) -> tuple[str, ...]:
    """The units of a column whose numbers are not of one kind; bare ones may be of a currency."""
    units = look.units if "%" in look.units else look.units - {""}
    return tuple(sorted(units)) if len(units) > 1 else ()


def read_numbers(texts: Sequence[str], writing: Writing | None) -> NDArray[np.float64]:
    """The number that each text reads as, NaN where it is none."""
    numbers = (
        number_of(text) if writing is None else read_number(text, writing.decimal) for text in texts
    )
    return np.fromiter(numbers, np.float64, len(texts))


def number_of(text: str) -> float:
    """The number that a text reads as, without marks of thousands; NaN where it is none."""
    try:
        return float(text.replace("_", "x"))
    except ValueError:
        return float("nan")


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
