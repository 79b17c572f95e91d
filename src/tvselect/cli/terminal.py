"""What is printed, and where: findings on stdout, everything else on stderr.

On a terminal findings are a table for the eye, in a pipe lines with tabs or JSON. Decisions and
what is to be said about the findings go to stderr, into a log as well; the progress bar is for a
terminal only.
"""

from __future__ import annotations

import json
import logging
import shutil
import sys
import textwrap
from typing import Any


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
        if quiet:
            # The notice that kernels are compiled.
            logging.getLogger("tvselect").setLevel(logging.ERROR)

    def say(self, text: str = "") -> None:
        """A line for someone who watches, or reads the log."""
        if self._speaks:
            shown = _wrapped(text) if self.is_live else text  # a line each for other programs
            print(shown, file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """A line that should not be missed."""
        print(f"tvs: warning: {text}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """A line about how it ended."""
        print(f"tvs: {text}", file=sys.stderr, flush=True)

    def error(self, text: str) -> None:
        """Why there is no answer."""
        print(f"tvs: error: {text}", file=sys.stderr, flush=True)

    def print_json(self, value: Any) -> None:
        """The findings as JSON."""
        print(json.dumps(value, indent=1, allow_nan=False))


def _wrapped(text: str) -> str:
    width = max(40, shutil.get_terminal_size().columns - 1)
    inside = "    " if text.startswith("  ") else ""
    return textwrap.fill(
        text, width, subsequent_indent=inside, break_long_words=False, break_on_hyphens=False
    )
