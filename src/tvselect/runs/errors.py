"""The error of a run, and names that were misspelt."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from tvselect.words import listed


class RunError(ValueError):
    """What a user can mend: one line that names the file, column or option and the remedy."""


def hint(name: str, known: Collection[str]) -> str:
    """What the user may have meant, or what there is.

    Examples
    --------
    >>> hint("pirce", ["price", "rooms"])
    "did you mean 'price'?"
    >>> hint("zzz", ["price", "rooms"])
    "it has 'price', 'rooms'"
    """
    by_lower = {other.strip().lower(): other for other in known}
    close = get_close_matches(name.strip().lower(), by_lower, n=1)
    return f"did you mean {by_lower[close[0]]!r}?" if close else f"it has {listed(known)}"
