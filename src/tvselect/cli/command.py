"""From the arguments to a command, and from what it raises to an exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from tvselect.cli import compare, completion, demo, report, resume, select, transform
from tvselect.cli.parser import Options, make_parser
from tvselect.cli.terminal import Terminal

DONE, FAILED, INTERRUPTED = 0, 1, 130
COMMANDS: dict[str, Callable[[Options, Terminal], int]] = {
    "select": select.run,
    "resume": resume.run,
    "report": report.run,
    "transform": transform.run,
    "compare": compare.run,
    "demo": demo.run,
    "completion": completion.run,
}
OPTION_OF = {
    "columns": "--exclude",
    "family": "--family gaussian",
    "batch_size": "--batch-size",
    "delimiter": "--sep",
    "stream": "say --stream",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``tvs``; returns the exit code.

    0 done, 1 an error (one line says what to do), 2 wrong usage, 130 interrupted.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["study"]:
        from tvselect.study.__main__ import main as study

        return study(arguments[1:])
    try:
        options = make_parser().parse_args(arguments, Options())
    except SystemExit as leaving:
        return int(leaving.code or 0)
    options.arguments = arguments
    terminal = Terminal(
        quiet=options.quiet, json=options.json, for_people=options.command == "demo"
    )
    with _second_interrupt_ends():
        try:
            return COMMANDS[options.command](options, terminal)
        except KeyboardInterrupt:
            terminal.note("interrupted; nothing new was written")
            return INTERRUPTED
        except BrokenPipeError:
            # The reader of a pipe has gone: nothing is wrong. Python would complain at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
        except Exception as error:
            if options.debug:
                traceback.print_exc()
            terminal.error(_one_line(error))
            return FAILED


def _one_line(error: Exception) -> str:
    from tvselect.inputs.errors import InputError
    from tvselect.sources.opening import UnknownFormatError

    if isinstance(error, UnknownFormatError):
        return (
            f"{error.where}: a file ending in {error.suffix!r} cannot be read; save it as .csv, "
            ".tsv, .parquet, .feather or .arrow"
        )
    worded = error.worded(OPTION_OF) if isinstance(error, InputError) else str(error)
    text = " ".join(worded.split())
    if isinstance(error, MemoryError):
        return "the table does not fit into memory; say --stream"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}"
    from tvselect.runners import WorkerError

    known = (OSError, ValueError, TypeError, ModuleNotFoundError, WorkerError)
    if not isinstance(error, known):
        kind = type(error).__name__
        return f"this should not happen ({kind}: {text}); run again with --debug and tell us"
    return text


@contextmanager
def _second_interrupt_ends() -> Iterator[None]:
    """The first Ctrl-C ends a run in good order, the second one at once."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, end)
        raise KeyboardInterrupt

    def end(number: int, frame: FrameType | None) -> None:
        os.write(2, b"\nstopped at once; plays that were made are kept in the journal\n")
        os._exit(INTERRUPTED)

    try:
        before = signal.signal(signal.SIGINT, interrupt)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
