"""The smaller commands: resume, report, worth, transform, demo, completion."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvselect.cli.parser import Options, make_parser
from tvselect.cli.results import show
from tvselect.cli.select import mark, select
from tvselect.cli.terminal import Terminal

DATA_SEED = 2021
FILES, FOLDERS = ("TABLE", "FILE", "OUT"), ("RUN", "FOLDER")


def resume(options: Options, terminal: Terminal) -> int:
    """Go on with a run to the planned number of plays, or to more."""
    from tvselect.runs import play
    from tvselect.runs.folder import RunFolder
    from tvselect.sources.addresses import without_secrets

    folder = RunFolder(Path(options.run))
    before = folder.read_run()
    terminal.say(f"  Going on with {folder.path} ({without_secrets(before.plan.table)}).")
    result = play.resume(
        folder,
        plays=options.plays,
        rounds=options.rounds,
        time_limit=options.time_limit,
        table=options.table,
        jobs=options.jobs,
        cluster=options.cluster,
        with_page=not options.no_report,
        verbose=int(terminal.is_live),
    )
    if before.state == "done" and result.run.n_plays == before.n_plays:
        more = "--rounds" if before.plan.stream else "--plays"
        terminal.say(f"  The run was complete; {more} N plays more.")
    return show(result, terminal)


def report(options: Options, terminal: Terminal) -> int:
    """Render report.html from findings.json, and show it where that is asked for."""
    from tvselect.runs.errors import collected_warnings
    from tvselect.runs.folder import RunFolder

    folder = RunFolder(Path(options.run))
    folder.read_run()
    findings = folder.read_findings()
    with folder.held(), collected_warnings() as said:
        folder.render(findings)
    for warning in said:
        terminal.warn(warning)
    if terminal.is_json:
        terminal.print_json({"report": str(folder.report)})
    else:
        terminal.print_lines([str(folder.report)])
    if options.open:
        import webbrowser

        if not webbrowser.open(folder.report.absolute().as_uri()):
            terminal.warn(f"no browser was found; open {folder.report} by hand")
    return 0


def worth(options: Options, terminal: Terminal) -> int:
    """Score predictions of rows that were held back."""
    from dataclasses import asdict

    from tvselect.runs.errors import collected_warnings
    from tvselect.runs.folder import RunFolder
    from tvselect.runs.worth import measure

    folder = RunFolder(Path(options.run))

    def announce(seconds: float) -> None:
        terminal.say(
            f"  Selecting again {options.folds} times, each time without a part of the rows: about "
            f"{seconds:.0f} s."
        )

    with collected_warnings() as said:
        found = measure(
            folder,
            folds=options.folds,
            table=options.table,
            jobs=options.jobs,
            announce=announce,
            verbose=int(terminal.is_live),
        )
    for warning in dict.fromkeys(said):
        terminal.warn(warning)
    if terminal.is_json:
        terminal.print_json(asdict(found))
    else:
        terminal.print_lines(str(found).splitlines())
    return 0


def transform(options: Options, terminal: Terminal) -> int:
    """Write a table with the selected columns, and the target if it is there."""
    from tvselect.runs.folder import RunFolder
    from tvselect.runs.transform import transform

    folder, out = RunFolder(Path(options.run)), options.out
    n_rows, columns = transform(
        folder,
        options.table,
        out,
        force=options.force,
        delimiter=mark(options.sep),
        phenotypes=options.phenotypes,
    )
    if terminal.is_json:
        terminal.print_json({"out": out, "n_rows": n_rows, "columns": columns})
    else:
        written = f"Written: {out}, {n_rows:,} rows, columns {', '.join(columns)}"
        if terminal.is_pretty:
            terminal.print_lines([written])
        else:
            terminal.say(written)
    return 0


def demo(options: Options, terminal: Terminal) -> int:
    """Write the wide Friedman example and run ``tvs select`` on it."""
    import tempfile

    folder = Path(options.out or tempfile.mkdtemp(prefix="tvs-demo-"))
    table = folder / "friedman.parquet"
    write_table(table, options.rows, options.columns)
    terminal.say(f"Made up: {options.rows:,} rows x {options.columns:,} columns, {table}")
    terminal.say("y = 10 sin(pi x0 x1) + 20 (x2 - 0.5)^2 + 10 x3 + 5 x4 + noise")
    terminal.say("Five columns matter: x0, x1, x2, x3, x4. Will they be found?")
    arguments = ["select", str(table), "--target", "y", "--out", str(folder / "run")]
    arguments += ["--plays", str(options.plays), "--seed", str(options.seed)]
    terminal.say(f"$ tvs {' '.join(arguments)}")
    chosen = make_parser().parse_args(arguments, Options())
    chosen.arguments = arguments
    return select(chosen, terminal)


def write_table(path: Path, n_rows: int, n_columns: int) -> None:
    """Write Friedman's example as Parquet; a table that is there already is kept."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tvselect.runs.errors import RunError
    from tvselect.seeds import as_generator

    if n_columns < 5:
        raise RunError(f"five columns matter; say --columns 5 or more, not {n_columns}")
    if path.exists():
        raise RunError(f"{path} exists already; choose another --out")
    rng = as_generator(DATA_SEED)
    x = rng.random((n_rows, n_columns))
    f = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y = f + 10 * x[:, 3] + 5 * x[:, 4] + rng.standard_normal(n_rows)
    names = [f"x{j}" for j in range(n_columns)]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table([*x.T, y], names=[*names, "y"]), path)


def completion(options: Options, terminal: Terminal) -> int:
    """Print a script that completes ``tvs`` in a shell."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise ModuleNotFoundError("completion needs shtab: pip install 'tvselect[cli]'") from None
    parser = make_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for command in commands.choices.values():
        for action in command._actions:
            if action.metavar in FILES:
                action.complete = shtab.FILE
            elif action.metavar in FOLDERS:
                action.complete = shtab.DIRECTORY
    print(shtab.complete(parser, options.shell))
    return 0
