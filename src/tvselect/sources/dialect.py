"""How a CSV file is written: marks between cells and before fractions, by its first lines."""

from __future__ import annotations

import io
import re
from csv import Error, reader
from itertools import islice
from typing import NamedTuple

from tvselect.inputs.errors import SourceError
from tvselect.inputs.text import MARKS, NUMBER, Mark
from tvselect.sources.texts import HEAD, Text

BLOCK = 2**20
LEAST_LINES = 100
LINES_TO_LOOK_AT = 100
LINES_TO_COUNT = 20
DELIMITERS = ",;\t|"
BLANKS = " "


class Dialect(NamedTuple):
    """How a CSV file is written.

    Attributes
    ----------
    delimiter : str
        Between cells; a blank stands for any number of blanks.
    decimal : {".", ","}
        Before the fraction of a number.
    block : int
        How many bytes to read at once.
    known : tuple
        Marks that cannot be anything but those before fractions.
    doubtful : tuple of str
        Columns of numbers such as 51,067, which may be read in two ways: taken as text.
    is_given : bool
        Whether the user says what stands before fractions.
    """

    delimiter: str
    decimal: Mark
    block: int
    known: tuple[Mark, ...] = ()
    doubtful: tuple[str, ...] = ()
    is_given: bool = False

    @property
    def usual(self) -> Mark:
        """What is before fractions as a rule: there are semicolons because commas are."""
        return "," if self.delimiter == ";" else "."

    @property
    def is_wide(self) -> bool:
        """Whether lines are long."""
        return self.block > BLOCK


def find_dialect(text: Text, delimiter: str | None, decimal: Mark | None) -> Dialect:
    """The dialect of a file; what is given is taken as it is."""
    head = text.head
    # The header, without what is in quotes.
    line = re.sub(rb'"[^"]*"', b"", head).split(b"\n", 1)[0]
    if delimiter is None:
        delimiter = _find_delimiter(text, line)
    if len(delimiter) != 1 or not delimiter.isascii():
        raise SourceError(f"the delimiter must be a single character, got {delimiter!r}")
    if decimal not in (None, *MARKS):
        raise SourceError(f"decimal must be '.' or ',', got {decimal!r}")
    # pyarrow reads some thirty blocks ahead, and a block must hold some lines.
    block = max(BLOCK, LEAST_LINES * len(line))
    if decimal is not None:
        return Dialect(delimiter, decimal, block, (decimal,), is_given=True)
    return _with_decimal(Dialect(delimiter, ".", block), head)


def _find_delimiter(text: Text, header: bytes) -> str:
    path = text.path.lower()
    if ".tsv" in path and b"\t" in header:
        return "\t"
    found = [mark for mark in DELIMITERS if mark.encode() in header]
    n_marks = sum(header.count(mark.encode()) for mark in found)
    if len(found) == 1 and len(header.split()) <= n_marks + 1:
        return found[0]
    # Names may hold marks and blanks; what is between cells is as often in every line.
    alike = {mark: _cells_of_all(text.head, mark) for mark in found}
    if any(n_cells > 1 for n_cells in alike.values()):
        return max(found, key=lambda mark: alike[mark])
    if _cells_of_all(text.aligned().head, BLANKS) > 1:
        return BLANKS
    return max(DELIMITERS, key=lambda mark: header.count(mark.encode()))


def _cells_of_all(head: bytes, mark: str) -> int:
    """How many cells a line has, if the first ones are alike; else none."""
    counts = {len(row) for row in _rows(head, mark, LINES_TO_COUNT)}
    return counts.pop() if len(counts) == 1 else 0


def _with_decimal(dialect: Dialect, head: bytes) -> Dialect:
    """What is before fractions by the first rows, and which columns do not say."""
    is_comma = dialect.delimiter == ","
    has_commas = b'"' in head if is_comma else b"," in head
    if not has_commas and not (dialect.usual == "," and b"." in head):
        return dialect._replace(known=(".",))
    rows = _rows(head, dialect.delimiter, LINES_TO_LOOK_AT)
    if not rows:
        return dialect
    times: dict[Mark, int] = {".": 0, ",": 0}
    open_columns: set[int] = set()
    sure_columns: set[int] = set()
    for row in rows[1:]:
        for place, text in enumerate(row):
            if "," not in text and "." not in text:
                continue
            marks = [mark for mark in MARKS if NUMBER[mark].fullmatch(text.strip())]
            if len(marks) == 1:
                times[marks[0]] += 1
                sure_columns.add(place)
            elif marks:
                open_columns.add(place)
    known = tuple(mark for mark in MARKS if times[mark])
    if is_comma:
        return dialect._replace(known=known)
    open_columns -= sure_columns
    doubtful = [] if len(known) == 1 else sorted(open_columns)
    return dialect._replace(
        decimal="," if times[","] > times["."] else ".",
        known=known,
        doubtful=tuple(rows[0][place] for place in doubtful if place < len(rows[0])),
    )


def _rows(head: bytes, mark: str, most: int) -> list[list[str]]:
    """The first rows, without one that is cut off; none where they cannot be read."""
    lines = io.StringIO(head.decode("utf-8-sig", "replace"), newline="")
    try:
        rows = [row for row in islice(reader(lines, delimiter=mark), most + 1) if row]
    except Error:  # longer than a cell may be
        return []
    is_cut = len(head) >= HEAD or len(rows) > most
    return rows[:-1] if is_cut and len(rows) > 2 else rows
