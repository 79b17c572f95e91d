"""Runs in a folder: look at a table, play, keep, go on, compare."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from tvselect.inputs.errors import InterruptWarning
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


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Warnings as sentences, instead of on the screen."""
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (RuntimeWarning, UserWarning):
            warnings.filterwarnings("always", category=category)
        warnings.filterwarnings("ignore", category=InterruptWarning)
        warnings.showwarning = lambda message, *_, **__: said.append(str(message))
        yield said
