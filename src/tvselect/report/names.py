"""Text from outside, made fit to be shown: column names can be anything."""

from __future__ import annotations

from tvselect.plotting.labels import shorten
from tvselect.report.characters import printable

LONGEST_NAME, LONGEST_TEXT = 120, 2000


def readable(text: object, longest: int = LONGEST_TEXT) -> str:
    """One line of printable characters, cut in the middle when it is too long.

    Characters that cannot be seen, turn the direction of writing or are no characters at all
    become U+FFFD.

    Examples
    --------
    >>> readable("age" + chr(10) + " at  diagnosis")
    'age at diagnosis'
    >>> readable("safe" + chr(0x202E) + "gnp.exe") == "safe" + chr(0xFFFD) + "gnp.exe"
    True
    """
    return printable(shorten(str(text), longest))


def shown(name: str, column: int) -> str:
    """A name of a column as it is shown; those that had to be changed get its number.

    Examples
    --------
    >>> shown("age", 3)
    'age'
    >>> shown("", 3)
    '(column 3)'
    >>> shown("a" * 1000, 3) == "a" * 60 + "…" + "a" * 59 + " (column 3)"
    True
    """
    seen = readable(name, LONGEST_NAME)
    return seen if seen == name and seen else f"{seen} (column {column})".strip()
