"""Runs in a folder: look at a table, play, keep, go on, compare."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from tvselect.inputs.errors import InterruptWarning
from tvselect.words import listed


class RunError(ValueError):
    """An error that a user can mend: it names the file, column or option and the remedy."""


def hint(name: str, known: Collection[str]) -> str:
    """What the user may have meant, or what there is."""
    by_lower = {other.strip().lower(): other for other in known}
    close = get_close_matches(name.strip().lower(), by_lower, n=1)
    return f"did you mean {by_lower[close[0]]!r}?" if close else f"it has {listed(known)}"


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect warnings as sentences instead of showing them."""
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (RuntimeWarning, UserWarning):
            warnings.filterwarnings("always", category=category)
        warnings.filterwarnings("ignore", category=InterruptWarning)
        warnings.showwarning = lambda message, *_, **__: said.append(str(message))
        yield said


def new_file(out: str, suffixes: Sequence[str], *, force: bool) -> Path:
    """A file to write, which is not there yet unless it may be overwritten."""
    path = Path(out).expanduser()
    if not out.lower().endswith(tuple(suffixes)):
        raise RunError(f"{out} must end in {', '.join(suffixes)}")
    if path.exists() and not force:
        raise RunError(f"{out} exists already; say --force to overwrite it")
    if not path.parent.is_dir():
        raise RunError(f"the folder {path.parent} does not exist; make it first")
    return path
