"""From the arguments to a command, and from what it raises to an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence

from tvselect.cli import commands
from tvselect.cli.compare import compare
from tvselect.cli.interrupts import INTERRUPTED, interrupts
from tvselect.cli.parser import Options, make_parser
from tvselect.cli.select import select
from tvselect.cli.terminal import Terminal, open_streams

DONE, FAILED = 0, 1
COMMANDS: dict[str, Callable[[Options, Terminal], int]] = {
    "select": select,
    "resume": commands.resume,
    "report": commands.report,
    "transform": commands.transform,
    "worth": commands.worth,
    "compare": compare,
    "demo": commands.demo,
    "completion": commands.completion,
}
#: How parameters of Python are spelt here.
OPTIONS = {
    "columns": "--exclude",
    "family": "--family gaussian",
    "classes": "--family classes",
    "batch_size": "--batch-size",
    "delimiter": "--sep",
    "decimal": "--decimal",
    "sheet": "--sheet",
    "phenotypes": "--phenotype",
    "layer": "--layer",
    "format": "save it as .csv, .tsv, .xlsx, .parquet, .feather or .arrow",
    "stream": "say --stream",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``tvs``; returns the exit code.

    0 done, 1 an error (one line says what to do), 2 wrong usage, 130 interrupted.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    open_streams()
    try:
        options = make_parser().parse_args(arguments, Options())
    except SystemExit as leaving:
        return int(leaving.code or 0)
    options.arguments = arguments
    terminal = Terminal(
        quiet=options.quiet, json=options.json, for_people=options.command == "demo"
    )
    with interrupts():
        try:
            code = COMMANDS[options.command](options, terminal)
            sys.stdout.flush()
            return code
        except KeyboardInterrupt as interrupt:
            terminal.note(f"interrupted{''.join(f'; {text}' for text in interrupt.args)}")
            return INTERRUPTED
        except BrokenPipeError:
            # The reader of a pipe has gone: nothing is wrong. Python would complain at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
        except Exception as error:
            if options.debug:
                terminal.trace(traceback.format_exc())
            terminal.error(explain(error))
            return FAILED


def explain(error: Exception) -> str:
    """What is wrong and what to do about it, in one line for someone at the command line."""
    if isinstance(error, ImportError):  # of an extra, or of the native core: little can be imported
        return " ".join(str(error).split())
    from tvselect.inputs.errors import InputError
    from tvselect.runners import WorkerError

    if isinstance(error, MemoryError):
        return "the table does not fit into memory; say --stream"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}"
    text = error.worded(OPTIONS) if isinstance(error, InputError) else str(error)
    text = " ".join(text.split())
    if isinstance(error, OSError | ValueError | TypeError | WorkerError):
        return text
    kind = type(error).__name__
    return f"this should not happen ({kind}: {text}); run again with --debug and tell us"
