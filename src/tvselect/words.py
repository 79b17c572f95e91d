"""Names in sentences; imports nothing."""

from __future__ import annotations

from collections.abc import Collection

MOST_NAMES = 5


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
