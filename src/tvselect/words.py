"""Names, numbers and commands as people read them; imports nothing of the package."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from threading import Timer

MOST_NAMES = 5
SECONDS_OF_SILENCE = 2.0
LONGEST_NAME, LONGEST_TEXT = 120, 2000
JOINER = "\u200d"  # makes one emoji of several
FORMULA = "=+-@\t\r\uff1d\uff0b\uff0d\uff20"


def plural(word: str, n: float) -> str:
    """The word as it stands beside a number."""
    return word if n == 1 else f"{word}es" if word.endswith("ch") else f"{word}s"


def counted(n: int, word: str) -> str:
    """A number with its noun: 1 row, 2,000 rows."""
    return f"{n:,} {plural(word, n)}"


def listed(names: Collection[str], most: int = MOST_NAMES, *, quoted: bool = True) -> str:
    """The first few names, and how many more: 'a', 'b' and 1 more."""
    shown = [repr(name) if quoted else name for name in list(names)[:most]]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shown) + more


def level(q_value: float) -> str:
    """A q-value in two digits, three where it is small: 0.10, 0.013, <0.001."""
    if q_value < 0.0005:
        return "<0.001"
    return f"{q_value:.3f}" if q_value < 0.0995 else f"{q_value:.2f}"


def percent(share: float) -> str:
    """A share in percent, with a space before the sign that does not break."""
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def shorten(name: str, longest: int = 40) -> str:
    """A name on one line, cut in the middle when it is too long."""
    name = " ".join(name.split())
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail]}…{name[len(name) - tail :]}"


def printable(text: str) -> str:
    """Text without what cannot be seen, turns the direction of writing or ends a line: U+FFFD."""
    return "".join(c if c.isprintable() or c == JOINER else "\ufffd" for c in text)


def is_utf8(text: str) -> bool:
    """Whether text can be written as UTF-8; names of files may hold other bytes."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def readable(text: object, longest: int = LONGEST_TEXT) -> str:
    """One line of printable characters, cut in the middle when it is too long."""
    return printable(shorten(str(text), longest))


def column_name(name: str, column: int) -> str:
    """A column's name as it is shown, with its number where it had to be changed."""
    seen = readable(name, LONGEST_NAME)
    return seen if seen == name and seen else f"{seen} (column {column})".strip()


def command(name: str, *paths: str | PurePath) -> str:
    """A command of ``tvs`` with files or folders, quoted so that it can be pasted into a shell."""
    import shlex  # not loaded with the package

    plain = [f"./{path}" if str(path).startswith("-") else str(path) for path in paths]
    return shlex.join(["tvs", name, *plain])


def escaped(text: str) -> str:
    r"""Text for a cell between tabs: what is not printable, and the backslash, as in Python."""
    return "".join(
        c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode() for c in text
    )


def as_cell(text: str) -> str:
    """Text as a cell of a CSV, with an apostrophe in front where a spreadsheet would compute it."""
    return f"'{text}" if text[:1] in FORMULA + "'" and text else text


def from_cell(cell: str) -> str:
    """The text that :func:`as_cell` was given."""
    return cell.removeprefix("'")


@contextmanager
def waiting(text: str, verbose: int) -> Iterator[None]:
    """Say what is being done, on standard error, where that takes more than two seconds."""

    def say() -> None:
        print(printable(text), "...", file=sys.stderr, flush=True)

    timer = Timer(SECONDS_OF_SILENCE, say)
    timer.daemon = True
    if verbose >= 1:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
