"""Characters of text from outside that a terminal, a page or a spreadsheet would obey.

Imports nothing.
"""

from __future__ import annotations

JOINER = "\u200d"  # makes one emoji of several
FORMULA = "=+-@\t\r\uff1d\uff0b\uff0d\uff20"


def printable(text: str) -> str:
    """One line: what cannot be seen, turns the direction of writing or ends it becomes U+FFFD.

    Examples
    --------
    >>> printable("a" + chr(27) + "[31m" + chr(10) + "b") == f"a{chr(0xFFFD)}[31m{chr(0xFFFD)}b"
    True
    """
    return "".join(c if c.isprintable() or c == JOINER else "\ufffd" for c in text)


def escaped(text: str) -> str:
    r"""Text as a cell between tabs: what is not printable, and the backslash, as in Python.

    Examples
    --------
    >>> print(escaped("a" + chr(9) + "b" + chr(27) + "c"), escaped("d" + chr(92) + "e"))
    a\tb\x1bc d\\e
    """
    return "".join(
        c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode() for c in text
    )


def as_cell(text: str) -> str:
    """Text as a cell of a CSV: with an apostrophe in front where a spreadsheet would compute it.

    Examples
    --------
    >>> as_cell("=1+1"), as_cell("age"), as_cell("'age")
    ("'=1+1", 'age', "''age")
    """
    return f"'{text}" if text[:1] in FORMULA + "'" and text else text


def from_cell(cell: str) -> str:
    """The text that :func:`as_cell` was given.

    Examples
    --------
    >>> from_cell(as_cell("=1+1"))
    '=1+1'
    """
    return cell.removeprefix("'")
