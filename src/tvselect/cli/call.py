"""From the arguments to a command, and from what it raises to an exit code."""

from __future__ import annotations

import _thread
import argparse
import os
import re
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, fields, replace
from importlib import import_module
from math import ceil
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from tvselect.cli.parse import Options, make_parser
from tvselect.cli.print import (
    DONE,
    INTERRUPTED,
    Terminal,
    open_streams,
    show_comparison,
    show_parts,
    show_result,
)
from tvselect.words import counted, waiting

if TYPE_CHECKING:
    from tvselect.runs.data import RawTable
    from tvselect.runs.folder import RunFolder
    from tvselect.runs.plan import Plan, Settings
    from tvselect.runs.play import Result
    from tvselect.sources.tables import TableFiles

FAILED = 1
SEED_BITS, DEMO_SEED = 32, 2021
SECONDS_TO_WAIT = 0.05
FIGURES, MM_OF_AN_INCH = (".pdf", ".svg", ".png"), 25.4
IMPORTING = "<frozen importlib._bootstrap>"
FILES, FOLDERS = ("TABLE", "FILE", "OUT"), ("RUN", "FOLDER")
AGAIN = {
    "worth": "Selecting again {n} times, each time without a part of the rows",
    "stability": "Searching again with {n} other seeds",
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
    "names": "--names",
    "format": "save it as .csv, .tsv, .xlsx, .parquet, .feather or .arrow",
    "stream": "say --stream",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``tvs``; the exit code: 0 done, 1 an error, 2 wrong usage, 130 interrupted."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    open_streams()
    try:
        options = make_parser().parse_args(arguments, Options(arguments=arguments))
    except SystemExit as leaving:
        return int(leaving.code or 0)
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
            terminal.note(f"error: {explain(error)}")
            return FAILED


def explain(error: Exception) -> str:
    """What is wrong and what to do about it, in one line for someone at the command line."""
    if isinstance(error, ImportError):  # of an extra, or of the native core: little can be imported
        return str(error)
    from tvselect.inputs.errors import InputError
    from tvselect.workers import WorkerError

    if isinstance(error, MemoryError):
        return "the table does not fit into memory; say --stream"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}"
    text = error.worded(OPTIONS) if isinstance(error, InputError) else str(error)
    text = re.sub(r"\s*\n\s*", " ", text)
    if isinstance(error, OSError | ValueError | TypeError | WorkerError):
        return text
    kind = type(error).__name__
    return f"this should not happen ({kind}: {text}); run again with --debug and tell us"


@contextmanager
def interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the first Ctrl-C, end the process at the second.

    While a module is being imported the first one waits: the import could swallow it.
    """
    n_imports = _n_imports(sys._getframe())
    n_pressed, is_over, is_delayed = 0, False, False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal n_pressed, is_delayed
        if not is_delayed:
            n_pressed += 1
        is_delayed = False
        if n_pressed > 1:
            os.write(2, b"\nstopped at once; plays that were made are kept in the journal\n")
            os._exit(INTERRUPTED)
        if _n_imports(frame) <= n_imports:
            raise KeyboardInterrupt
        wait = threading.Timer(SECONDS_TO_WAIT, press_again)
        wait.daemon = True
        wait.start()

    def press_again() -> None:
        nonlocal is_delayed
        if not is_over:
            is_delayed = True
            _thread.interrupt_main()

    try:
        before = signal.signal(signal.SIGINT, press)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        is_over = True
        signal.signal(signal.SIGINT, before)


def _n_imports(frame: FrameType | None) -> int:
    """How many imports are under way in the thread of a frame; ``None`` has none."""
    return sum(f.f_code.co_filename == IMPORTING for f, _ in traceback.walk_stack(frame))


def select(options: Options, terminal: Terminal) -> int:
    """Look at the table, say what was decided, search, show what was found; or so by parts."""
    if options.by is None:
        return show_result(_select(options, terminal), terminal)
    from tvselect.runs import RunError
    from tvselect.runs.data import parts_by
    from tvselect.runs.plan import FileOptions

    parts = parts_by(_given(options, FileOptions), options.by, options.where)
    names = [re.sub(r"[^\w.-]+", "_", part.label)[:60] for part in parts]
    found = []
    for number, (part, name) in enumerate(zip(parts, names, strict=True), start=1):
        terminal.say(f"{options.by} = {part.label} ({counted(part.n_rows, 'row')}):")
        more = f"-{number}" if names.count(name) > 1 else ""
        out = options.out and f"{options.out}-{name}{more}"
        mine = copy(options)
        mine.by, mine.where, mine.out = None, part.where, out
        mine.exclude = [*options.exclude, options.by]
        try:
            found.append((part.label, _select(mine, terminal)))
        except RunError as error:  # too few rows of this part, or of one class
            terminal.warn(f"{options.by} = {part.label}: {error}")
            continue
        if code := show_result(found[-1][1], terminal, is_part=True):
            return code
    if len(found) < 2:
        raise RunError(f"there is nothing to compare by {options.by!r}; see the warnings")
    show_parts(options.by, found, terminal)
    return DONE


def _select(options: Options, terminal: Terminal) -> Result:
    """One run."""
    import secrets

    with waiting("  Reading the table", terminal.is_live):
        plan, files, table = _inspect(options)
    from tvselect.report.decisions import describe_doubts
    from tvselect.runs import play
    from tvselect.runs.folder import new_folder
    from tvselect.runs.inspect import require_what_the_reward_needs
    from tvselect.runs.plan import Settings, describe_plan
    from tvselect.sources.addresses import argument_without_secrets

    settings = _given(options, Settings, seed=secrets.randbits(SEED_BITS))
    settings = replace(settings, max_fdr=options.max_fdr)  # which may be None
    require_what_the_reward_needs(plan, settings)
    is_one_round = bool(options.row_groups or options.order)  # each row is evidence once
    if plan.stream and options.plays is not None and not is_one_round:
        per_round = -(-plan.facts.outcome.n_rows // settings.batch_size)
        rounds = max(settings.rounds, -(-options.plays // per_round))
        settings = replace(settings, rounds=rounds)
    for sentence in describe_plan(plan):
        terminal.say(f"  {sentence}")
    if plan.facts.left_out:
        terminal.say("  (--include NAME keeps a column, --exclude NAME leaves one out)")
    terminal.warn(*describe_doubts(plan.facts))
    terminal.say(f"  {_describe_search(plan, settings, options.cluster)}")
    if settings.has_knockoffs and not (plan.stream or terminal.is_live):  # the fit says it
        from tvselect.decoys.knockoffs import describe_cost

        n_copies = max(10, ceil(1.0 / (settings.max_fdr or 1.0)))
        terminal.say(f"  {describe_cost(plan.facts.outcome.n_rows, len(plan.columns), n_copies)}")
    return play.start(
        plan,
        settings,
        new_folder(options.out, options.table),
        play.Place(options.cluster, not options.no_report, int(terminal.is_live)),
        files=files,
        table=table,
        command=shlex.join(["tvs", *map(argument_without_secrets, options.arguments)]),
    )


def _inspect(options: Options) -> tuple[Plan, TableFiles, RawTable | None]:
    """How the table is read, its files, and all of it, unless it is to be streamed."""
    from concurrent.futures import ThreadPoolExecutor

    from tvselect.runs.inspect import TableOptions, inspect_table
    from tvselect.runs.plan import FileOptions

    _refuse_contradictions(options)
    if options.cluster is not None:
        from tvselect.workers import open_runner

        open_runner(options.cluster).close()  # a wrong address shows before a table is read
    wanted = _given(options, TableOptions)
    if options.time:
        wanted = replace(wanted, target=options.time, family="survival")
    if options.batch_size or options.rounds:
        wanted = replace(wanted, stream=True)
    with ThreadPoolExecutor(1) as aside:  # libraries are loaded while the table is read
        aside.submit(import_module, "tvselect.runs.play")
        return inspect_table(_given(options, FileOptions), wanted)


def _given(options: Options, record: Any, **more: Any) -> Any:
    """A record of the options that have the names of its fields, as far as they were given."""
    named = {field.name: getattr(options, field.name, None) for field in fields(record)}
    return record(**more | {name: value for name, value in named.items() if value is not None})


def _refuse_contradictions(options: Options) -> None:
    for is_so, problem in (
        (options.iterations is not None and options.reward != "bart",
         f"--iterations is for --reward bart, not {options.reward}; leave it out"),
        (options.stream is False and (options.batch_size or options.rounds),
         "--batch-size and --rounds are for streams; drop --no-stream"),
        (options.decoys == "none" and options.max_fdr is not None,
         f"--max-fdr {options.max_fdr} cannot be kept with --decoys none; leave that out, or say "
         "--max-fdr none"),
        (options.event is not None and options.time is None,
         "--event needs --time, the column of the times"),
        (options.event is not None and options.event == options.time,
         "--time and --event name the same column; one is the time, the other says whether the "
         "event took place (1) or not (0)"),
        (options.time is not None and options.family is not None,
         "--time is a family of its own; leave --family out"),
    ):  # fmt: skip
        if is_so:
            raise ValueError(problem)


def _describe_search(plan: Plan, settings: Settings, cluster: str | None) -> str:
    plays = "plays until it settles"
    if settings.plays is not None:
        plays = counted(settings.plays, "play")
    if plan.stream:
        n_batches = -(-plan.facts.outcome.n_rows // settings.batch_size) * settings.rounds
        each, rounds = counted(settings.batch_size, "row"), counted(settings.rounds, "round")
        plays = f"{counted(n_batches, 'play')} of {each}, {rounds}"
    chains = f"{settings.chains} chains of " if settings.chains > 1 else ""
    place = f" on {cluster}" if cluster else ""
    by = {"bart": "BART", "lasso": "LASSO", "pvalue": "p-values"}.get(settings.reward, "importance")
    search = f"Search: {chains}{plays}{place}, scored by {by}; seed {settings.seed}."
    if settings.window is None and (cluster or settings.jobs > settings.chains):
        search += (
            " How many workers there are changes the numbers; runs with the same --window do not "
            "depend on it."
        )
    if settings.max_fdr is None:
        return f"{search} Error control is off (--max-fdr none)."
    return f"{search} On average at most {100 * settings.max_fdr:g} % of the selected false."


def resume(options: Options, terminal: Terminal) -> int:
    """Go on with a run to the planned number of plays, or to more."""
    from tvselect.runs import play
    from tvselect.sources.addresses import without_secrets

    folder = _folder(options)
    before = folder.read_run()
    terminal.say(f"  Going on with {folder.path} ({without_secrets(before.plan.file.table)}).")
    result = play.resume(
        folder,
        play.Place(options.cluster, not options.no_report, int(terminal.is_live)),
        plays=options.plays,
        rounds=options.rounds,
        time_limit=options.time_limit,
        table=options.table,
        jobs=options.jobs,
    )
    if before.state == "done" and result.run.n_plays == before.n_plays:
        more = "--rounds" if before.plan.stream else "--plays"
        terminal.say(f"  The run was complete; {more} N plays more.")
    return show_result(result, terminal)


def report(options: Options, terminal: Terminal) -> int:
    """Render report.html from findings.json, and show it; or print how to report the run."""
    from tvselect.report import describe_methods
    from tvselect.runs import collected_warnings

    folder = _folder(options)
    folder.read_run()
    findings = folder.read_findings()
    if options.methods:
        text = describe_methods(findings)
        terminal.show({"methods": text}, text.splitlines())
        return DONE
    with folder.held(), collected_warnings() as said:
        folder.render(findings)
    terminal.warn(*said)
    terminal.show({"report": str(folder.report)}, [str(folder.report)])
    if options.open:
        import webbrowser

        if not webbrowser.open(folder.report.absolute().as_uri()):
            terminal.warn(f"no browser was found; open {folder.report} by hand")
    return DONE


def plot(options: Options, terminal: Terminal) -> int:
    """Draw a figure of a run."""
    from tvselect.report import plot_run
    from tvselect.runs import new_file

    out, folder = new_file(options.out, FIGURES, force=options.force), _folder(options)
    folder.read_run()
    plot_run(folder.read_findings(), options.kind, out, width=options.width / MM_OF_AN_INCH)
    terminal.show({"figure": str(out)}, [str(out)])
    return DONE


def measure(options: Options, terminal: Terminal) -> int:
    """Make the search of a run again, without parts of the rows or with other seeds."""
    from tvselect.runs import collected_warnings
    from tvselect.runs.play import Place, measure

    again = AGAIN[options.command].format(n=options.n)
    with collected_warnings() as said:
        found = measure(
            options.command,
            options.n,
            _folder(options),
            Place(verbose=int(terminal.is_live)),
            table=options.table,
            jobs=options.jobs,
            announce=lambda seconds: terminal.say(f"  {again}: about {seconds:.0f} s."),
        )
    terminal.warn(*dict.fromkeys(said))
    terminal.show(asdict(found), str(found).splitlines())
    return DONE


def _folder(options: Options) -> RunFolder:
    """The folder that a command is about."""
    from tvselect.runs.folder import RunFolder

    return RunFolder(Path(options.run).expanduser())


def transform(options: Options, terminal: Terminal) -> int:
    """Write a table with the selected columns, and the target if it is there."""
    from tvselect.runs.transform import transform

    out = options.out
    how = dict(force=options.force, delimiter=options.delimiter, phenotypes=options.phenotypes)
    n_rows, columns = transform(_folder(options), options.table, out, **how)
    written = f"Written: {out}, {n_rows:,} rows, columns {', '.join(columns)}"
    if terminal.is_json or terminal.is_pretty:
        terminal.show({"out": out, "n_rows": n_rows, "columns": columns}, [written])
    else:
        terminal.say(written)
    return DONE


def compare(options: Options, terminal: Terminal) -> int:
    """Show runs side by side."""
    from tvselect.records import write_text
    from tvselect.report import render_comparison
    from tvselect.runs import new_file
    from tvselect.runs.compare import compare
    from tvselect.runs.folder import RunFolder

    out = options.out and new_file(options.out, (".html",), force=options.force)
    found = compare(*(RunFolder(Path(path).expanduser()) for path in options.runs))
    if out:
        write_text(out, render_comparison(found))
    show_comparison(found, terminal)
    if out:
        terminal.say(f"Page: {out}")
    return DONE


def demo(options: Options, terminal: Terminal) -> int:
    """Write the wide Friedman example and run ``tvs select`` on it."""
    import tempfile

    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tvselect.seeds import as_generator

    n_rows, n_columns = options.rows, options.columns
    if n_columns < 5:
        raise ValueError(f"five columns matter; say --columns 5 or more, not {n_columns}")
    folder = Path(options.out or tempfile.mkdtemp(prefix="tvs-demo-")).expanduser()
    table = folder / "friedman.parquet"
    if table.exists():
        raise ValueError(f"{table} exists already; choose another --out")
    rng = as_generator(DEMO_SEED)
    x = rng.random((n_rows, n_columns))
    f = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y = f + 10 * x[:, 3] + 5 * x[:, 4] + rng.standard_normal(n_rows)
    names = [*(f"x{j}" for j in range(n_columns)), "y"]
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table([*x.T, y], names=names), table)
    arguments = ["select", str(table), "--target", "y", "--out", str(folder / "run")]
    arguments += ["--plays", str(options.plays), "--seed", str(options.seed)]
    for line in (
        f"Made up: {n_rows:,} rows x {n_columns:,} columns, {table}",
        "y = 10 sin(pi x0 x1) + 20 (x2 - 0.5)^2 + 10 x3 + 5 x4 + noise",
        "Five columns matter: x0, x1, x2, x3, x4. Will they be found?",
        f"$ {shlex.join(['tvs', *arguments])}",
    ):
        terminal.say(line)
    return select(make_parser().parse_args(arguments, Options(arguments=arguments)), terminal)


def completion(options: Options, terminal: Terminal) -> int:
    """Print a script that completes ``tvs`` in a shell."""
    from tvselect.inputs.errors import needed

    shtab = needed("shtab", "completion needs shtab: pip install 'tvselect[cli]'")
    parser = make_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for command in commands.choices.values():
        for action in command._actions:
            if action.metavar in FILES:
                action.complete = shtab.FILE
            elif action.metavar in FOLDERS:
                action.complete = shtab.DIRECTORY
    print(shtab.complete(parser, options.shell))
    return DONE


COMMANDS: dict[str, Callable[[Options, Terminal], int]] = {
    "select": select,
    "resume": resume,
    "report": report,
    "plot": plot,
    "worth": measure,
    "stability": measure,
    "transform": transform,
    "compare": compare,
    "demo": demo,
    "completion": completion,
}
