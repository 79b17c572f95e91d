"""Names in sentences; imports nothing."""

from __future__ import annotations

from collections.abc import Collection

MOST_NAMES = 5


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
