"""How the result of a run is shown."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from tvselect.cli.terminal import Terminal, as_json, tab_lines, variable_lines

if TYPE_CHECKING:
    from tvselect.runs.folder import RunRecord
    from tvselect.runs.play import Result

RUNNERS_UP = 3
DONE, INTERRUPTED = 0, 130


def show(result: Result, terminal: Terminal) -> int:
    """Show what was found; returns the exit code."""
    run, folder = result.run, result.folder
    for warning in run.warnings:
        terminal.warn(warning)
    selected = [v for v in result.variables if v.selected]
    if terminal.is_json:
        terminal.print_json(to_json(result))
    elif terminal.is_pretty:
        _show_pretty(result, terminal)
    else:
        for line in tab_lines(selected):
            terminal.print(line)
    if result.no_report:
        terminal.warn(result.no_report)
    if run.state == "interrupted":
        terminal.note(
            f"interrupted after {run.n_plays:,} plays, which are kept; go on with: "
            f"tvs resume {shlex.quote(str(folder.path))}"
        )
        return INTERRUPTED
    return DONE


def _show_pretty(result: Result, terminal: Terminal) -> None:
    run = result.run
    selected = [v for v in result.variables if v.selected]
    others = [v for v in result.variables if not v.selected][:RUNNERS_UP]
    batches = "batches" if run.plan.stream else "plays"
    terminal.print()
    terminal.print(
        f"{len(selected):,} of {len(result.variables):,} variables selected "
        f"for {run.plan.target!r} ({run.n_plays:,} {batches}, {run.seconds:.1f} s: "
        f"{_because(run)})"
    )
    terminal.print()
    for line in variable_lines(selected, others):
        terminal.print(line)
    if result.decoys_selected is not None:
        terminal.print()
        terminal.print(
            f"Decoys that passed: {result.decoys_selected}; about that many of the selected "
            "variables may be false."
        )
    terminal.print()
    page = result.folder.selected if result.no_report else result.folder.report
    terminal.print(f"Report: {page}")
    if selected:
        terminal.print(
            f"Next:   tvs transform {result.folder.path} TABLE -o OUT keeps these columns"
        )


def _because(run: RunRecord) -> str:
    from tvselect.report.sentences import why_stopped

    assert run.stop_reason is not None
    asked = run.settings
    return why_stopped(
        run.stop_reason, n_plays=asked.plays, patience=asked.patience,
        time_limit=asked.time_limit, n_rounds=asked.rounds,
    )  # fmt: skip


def to_json(result: Result) -> dict[str, Any]:
    """The result as JSON."""
    from tvselect.report.decisions import why_left_out
    from tvselect.runs.plan import describe_plan

    run, folder = result.run, result.folder
    return {
        "run": str(folder.path),
        "state": run.state,
        "stop_reason": run.stop_reason,
        "target": run.plan.target,
        "family": run.plan.family,
        "stream": run.plan.stream,
        "n_rows": run.plan.n_rows,
        "n_columns": len(run.plan.columns),
        "n_plays": run.n_plays,
        "seconds": run.seconds,
        "seed": run.settings.seed,
        "selected": [as_json(v) for v in result.variables if v.selected],
        "left_out": {n: why_left_out(why) for n, why in run.plan.facts.left_out.items()},
        "decisions": describe_plan(run.plan),
        "warnings": list(run.warnings),
        "decoys_selected": result.decoys_selected,
        "report": None if result.no_report else str(folder.report),
    }
