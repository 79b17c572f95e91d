"""Names and numbers in sentences, tables and pictures; imports nothing."""

from __future__ import annotations

from collections.abc import Collection

MOST_NAMES = 5
LONGEST_NAME, LONGEST_TEXT = 120, 2000
JOINER = "\u200d"  # makes one emoji of several
FORMULA = "=+-@\t\r\uff1d\uff0b\uff0d\uff20"


def plural(word: str, n: float) -> str:
    """The word as it stands beside a number.

    Examples
    --------
    >>> plural("play", 1), plural("play", 2), plural("batch", 0)
    ('play', 'plays', 'batches')
    """
    if n == 1:
        return word
    return f"{word}es" if word.endswith("ch") else f"{word}s"


def counted(n: int, word: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row"), counted(0, "batch")
    ('1 row', '2,000 rows', '0 batches')
    """
    return f"{n:,} {plural(word, n)}"


def listed(names: Collection[str], most: int = MOST_NAMES, *, quoted: bool = True) -> str:
    """The first few names, and how many more.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2)
    "'a', 'b' and 1 more"
    """
    shown = [repr(name) if quoted else name for name in list(names)[:most]]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shown) + more


def level(q_value: float) -> str:
    """A q-value in as many digits as can be read at a glance.

    Examples
    --------
    >>> [level(q) for q in (1.0, 0.1, 0.0125, 0.00002)]
    ['1.00', '0.10', '0.013', '<0.001']
    """
    if q_value < 0.0005:
        return "<0.001"
    return f"{q_value:.3f}" if q_value < 0.0995 else f"{q_value:.2f}"


def percent(share: float) -> str:
    """A share in percent, apart from its sign by a space that does not break.

    Examples
    --------
    >>> percent(0.254) == "25" + chr(0xA0) + "%"
    True
    """
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def shorten(name: str, longest: int = 40) -> str:
    """A name on one line, cut in the middle when it is too long.

    Examples
    --------
    >>> shorten("ENSG00000141510.18_TP53_tumor_protein", 20)
    'ENSG000001…r_protein'
    """
    name = " ".join(name.split())
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail]}…{name[len(name) - tail :]}"


def printable(text: str) -> str:
    """One line: what cannot be seen, turns the direction of writing or ends it becomes U+FFFD.

    Examples
    --------
    >>> printable("a" + chr(27) + "[31m" + chr(10) + "b") == f"a{chr(0xFFFD)}[31m{chr(0xFFFD)}b"
    True
    """
    return "".join(c if c.isprintable() or c == JOINER else "\ufffd" for c in text)


def readable(text: object, longest: int = LONGEST_TEXT) -> str:
    """One line of printable characters, cut in the middle when it is too long.

    Examples
    --------
    >>> readable("age" + chr(10) + " at  diagnosis")
    'age at diagnosis'
    >>> readable("safe" + chr(0x202E) + "gnp.exe") == "safe" + chr(0xFFFD) + "gnp.exe"
    True
    """
    return printable(shorten(str(text), longest))


def column_name(name: str, column: int) -> str:
    """A column's name as it is shown, with its number where it had to be changed.

    Examples
    --------
    >>> column_name("age", 3), column_name("", 3)
    ('age', '(column 3)')
    >>> column_name("a" * 1000, 3) == "a" * 60 + "…" + "a" * 59 + " (column 3)"
    True
    """
    seen = readable(name, LONGEST_NAME)
    return seen if seen == name and seen else f"{seen} (column {column})".strip()


def escaped(text: str) -> str:
    r"""Text between tabs, with what is not printable, and the backslash, as in Python.

    Examples
    --------
    >>> print(escaped("a" + chr(9) + "b" + chr(27) + "c"), escaped("d" + chr(92) + "e"))
    a\tb\x1bc d\\e
    """
    return "".join(
        c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode() for c in text
    )


def as_cell(text: str) -> str:
    """Text as a cell of a CSV, with an apostrophe in front where a spreadsheet would compute it.

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
