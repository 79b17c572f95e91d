"""What is printed, and where: findings on stdout, everything else on stderr.

On a terminal findings are a table for the eye, in a pipe lines with tabs or JSON. Decisions
and the progress bar are for a terminal only.
"""

from __future__ import annotations

import json
import logging
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tvselect.runs.results import VariableResult

BAR_WIDTH = 20
EIGHTHS = " ▏▎▍▌▋▊▉█"
MOST_ROWS = 40


class Terminal:
    """Where a command prints.

    Parameters
    ----------
    quiet : bool
        Only findings and errors.
    json : bool
        Findings as JSON.
    for_people : bool
        Decisions and findings for the eye in a pipe, too.
    """

    def __init__(
        self, *, quiet: bool = False, json: bool = False, for_people: bool = False
    ) -> None:
        self.is_json = json
        self.is_live = sys.stderr.isatty() and not quiet
        self.is_pretty = (sys.stdout.isatty() or for_people) and not json
        self.speaks = self.is_live or (for_people and not quiet and not json)
        if not self.is_live:
            # The notice that kernels are compiled.
            logging.getLogger("tvselect").setLevel(logging.ERROR)

    def say(self, text: str = "") -> None:
        """A line for someone who watches."""
        if self.speaks:
            print(self._wrapped(text), file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """A line that should not be missed."""
        print(f"tvs: warning: {text}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """A line about how it ended."""
        print(f"tvs: {text}", file=sys.stderr, flush=True)

    def error(self, text: str) -> None:
        """Why there is no answer."""
        print(f"tvs: error: {text}", file=sys.stderr, flush=True)

    def print(self, text: str = "") -> None:
        """A line of the findings."""
        print(text)

    def print_json(self, value: Any) -> None:
        """The findings as JSON."""
        print(json.dumps(value, indent=1, allow_nan=False))

    def _wrapped(self, text: str) -> str:
        width = max(40, shutil.get_terminal_size().columns - 1)
        inside = "    " if text.startswith("  ") else ""
        return textwrap.fill(
            text, width, subsequent_indent=inside, break_long_words=False, break_on_hyphens=False
        )


def bar(share: float, width: int = BAR_WIDTH) -> str:
    """A bar of text, padded to its width.

    Examples
    --------
    >>> bar(0.5, 4), bar(0.6, 4)
    ('██  ', '██▍ ')
    """
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    full, part = divmod(eighths, 8)
    text = (EIGHTHS[-1] * full + (EIGHTHS[part] if part else "")).ljust(width)
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return ("#" * round(width * share)).ljust(width)
    return text


def variable_lines(
    selected: Sequence[VariableResult], others: Sequence[VariableResult]
) -> list[str]:
    """The selected variables with their pi, interval and a bar, then some that are not."""
    shown = [*selected[:MOST_ROWS], *others]
    names = [_short(v.name if not v.group else f"{v.name} [{v.group}]") for v in shown]
    width = max(map(len, (*names, "variable")))
    rows = [
        f"  {name:<{width}}  {v.pi:4.2f}  {bar(v.pi)}  {v.low:.2f} to {v.high:.2f}"
        for name, v in zip(names, shown, strict=True)
    ]
    lines = [f"  {'variable':<{width}}  {'pi':>4}  {'':{BAR_WIDTH}}  95 % interval"]
    lines += rows[: len(shown) - len(others)]
    if len(selected) > MOST_ROWS:
        lines.append(f"  ... and {len(selected) - MOST_ROWS:,} more in selected.csv")
    if others:
        lines += ["  not selected, the best of them:", *rows[len(shown) - len(others) :]]
    return lines


def tab_lines(variables: Sequence[VariableResult]) -> list[str]:
    """Variables for a pipe: a header, then cells with tabs between them."""
    rows = [f"{v.name}\t{v.pi:.6f}\t{v.low:.6f}\t{v.high:.6f}" for v in variables]
    return ["variable\tpi\tlow\thigh", *rows]


def as_json(variable: VariableResult) -> dict[str, Any]:
    """A variable as JSON."""
    values = variable._asdict()
    values["group"] = values["group"] or None
    return values


def _short(name: str, width: int = 40) -> str:
    name = " ".join(name.split())
    return name if len(name) <= width else name[: width - 3] + "..."
