"""The command ``tvs`` in this process, with what it says and raises in our hands."""

from __future__ import annotations

import io
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random

from tvselect.cli.call import COMMANDS, explain
from tvselect.cli.parse import Options, make_parser
from tvselect.cli.print import Terminal


class HarmError(Exception):
    """What must never happen, whatever the file: always a fault."""


def tvs(*arguments: str) -> None:
    """Run a command and let its error through; what it prints goes nowhere."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        _run(arguments)


def said_by(*arguments: str) -> tuple[str, Exception | None]:
    """All that a command would show, with ``--debug``, and its error."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        error = None
        try:
            _run(arguments)
        except Exception as raised:
            error = raised
            print(explain(raised), *traceback.format_exception(raised), sep="\n")
    return out.getvalue() + err.getvalue(), error


def _run(arguments: tuple[str, ...]) -> None:
    options = make_parser().parse_args(arguments, Options())
    options.arguments = list(arguments)
    COMMANDS[options.command](options, Terminal())


def small_table(seed: int = 0, n_rows: int = 40) -> str:
    """A table in which text matters."""
    rng = Random(seed)
    rows = [
        f"{7 * i % n_rows},{rng.gauss(0, 1):.3f},{'abc'[i % 3]},{i % 3 + rng.gauss(0, 0.5):.3f}"
        for i in range(n_rows)
    ]
    return "\n".join(["n,x,text,y", *rows, ""])


def make_run(folder: Path, table: Path, seed: int) -> None:
    """A short run in a folder."""
    tvs("select", str(table), "--target", "y", "--reward", "pvalue", "--plays", "12",
        "--no-report", "--seed", str(seed), "--out", str(folder))  # fmt: skip
