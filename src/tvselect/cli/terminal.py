"""What is printed, and where: findings on stdout, everything else on stderr.

On a terminal findings are a table for the eye, in a pipe lines with tabs or JSON. Decisions and
what is to be said about the findings go to stderr, into a log as well; the progress bar is for a
terminal only.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Any

from tvselect.report.characters import escaped, printable


def open_streams() -> None:
    """Make standard output and error fit to be written to, whatever the caller has left of them.

    Where one is closed, nothing is written: its number would else go to the next file that is
    opened. What an encoding cannot say is written by its number, as in Python.
    """
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            handle = os.open(os.devnull, os.O_WRONLY)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


class Terminal:
    """Where a command prints.

    Parameters
    ----------
    quiet : bool
        Only findings and errors.
    json : bool
        Findings as JSON.
    for_people : bool
        Findings for the eye in a pipe, too.
    """

    def __init__(
        self, *, quiet: bool = False, json: bool = False, for_people: bool = False
    ) -> None:
        self.is_json = json
        self.is_live = sys.stderr.isatty() and not quiet
        self.is_pretty = (sys.stdout.isatty() or for_people) and not json
        self._speaks = not quiet

    def say(self, text: str = "") -> None:
        """A line for someone who watches, or reads the log."""
        if self._speaks:
            text = printable(text)
            shown = _wrapped(text) if self.is_live else text  # a line each for other programs
            print(shown, file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """A line that should not be missed."""
        self.note(f"warning: {text}")

    def note(self, text: str) -> None:
        """A line about how it ended."""
        print(f"tvs: {printable(' '.join(text.split()))}", file=sys.stderr, flush=True)

    def error(self, text: str) -> None:
        """Why there is no answer."""
        self.note(f"error: {text}")

    def trace(self, text: str) -> None:
        """Where an error comes from."""
        print(*map(printable, text.splitlines()), sep="\n", file=sys.stderr, flush=True)

    def print_lines(self, lines: Iterable[str]) -> None:
        """Findings for the eye; nothing in them steers the terminal."""
        print("\n".join(map(printable, lines)))

    def print_rows(self, rows: Iterable[Iterable[str]]) -> None:
        """Findings for scripts: cells with tabs between them, see :func:`escaped`."""
        for row in rows:
            print("\t".join(map(escaped, row)))

    def print_json(self, value: Any) -> None:
        """The findings as JSON."""
        print(json.dumps(value, indent=1, allow_nan=False))


def _wrapped(text: str) -> str:
    width = max(40, shutil.get_terminal_size().columns - 1)
    inside = "    " if text.startswith("  ") else ""
    return textwrap.fill(
        text, width, subsequent_indent=inside, break_long_words=False, break_on_hyphens=False
    )
