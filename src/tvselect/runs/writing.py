"""What a run leaves in its folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tvselect import report
from tvselect.bandit.stopping import StopReason
from tvselect.files import write_text
from tvselect.report.findings import Effect
from tvselect.runs.folder import RunFolder, RunRecord, State
from tvselect.runs.plan import describe_plan, doubts_of
from tvselect.runs.results import VariableResult, pairs_to_csv, read_off, to_csv
from tvselect.selectors.history import History
from tvselect.selectors.interactions import Interaction

STATES: dict[StopReason, State] = {
    StopReason.INTERRUPTED: "interrupted",
    StopReason.ERROR: "failed",
}


def write_interactions(folder: RunFolder, selector: Any) -> tuple[Interaction, ...]:
    """Write interactions.csv; without any, there is none."""
    found: tuple[Interaction, ...] = getattr(selector, "interactions_", ())
    if found:
        write_text(folder.interactions, pairs_to_csv(found))
    else:
        folder.interactions.unlink(missing_ok=True)
    return found


def write_report(
    run: RunRecord, folder: RunFolder, selector: Any, X: Any, y: Any, *, with_page: bool
) -> Path | None:
    """Write findings.json and report.html; returns where the page is."""
    for outdated in (folder.findings, folder.report):
        outdated.unlink(missing_ok=True)
    settings = ", ".join(f"{name}={value!r}" for name, value in asdict(run.settings).items())
    findings = report.gather(
        selector,
        X,
        y,
        title=f"What explains {run.plan.target}?",
        target=run.plan.target,
        about=report.About(run.plan.table, run.command, str(folder.path), {"Settings": settings}),
        notes=[*describe_plan(run.plan), *doubts_of(run.plan), *run.warnings],
        random_state=run.settings.seed,
    )
    write_text(folder.findings, findings.to_json())
    names = selector.history_.names
    _write_selected(folder, selector, {names[found.column]: found for found in findings.effects})
    if with_page:
        folder.render(findings)
        return folder.report
    return None


def write_results(
    run: RunRecord, folder: RunFolder, selector: Any, said: list[str], started: float
) -> tuple[RunRecord, list[VariableResult]]:
    """Write variables.csv, selected.csv and, last, run.json, which says that they are there."""
    history: History = selector.history_
    variables = read_off(selector)
    write_text(folder.variables, to_csv(variables, of_stream=hasattr(selector, "e_values_")))
    _write_selected(folder, selector, {})
    run = replace(
        run,
        state=STATES.get(history.stop_reason, "done"),
        stop_reason=history.stop_reason,
        n_plays=history.n_plays,
        seconds=round(time.perf_counter() - started, 3),
        fingerprint=history.asked.fingerprint,
        warnings=tuple(dict.fromkeys(said)),
    )
    folder.write_run(run)
    return run, variables


def _write_selected(folder: RunFolder, selector: Any, effects: Mapping[str, Effect]) -> None:
    selected = [variable for variable in read_off(selector) if variable.selected]
    of_stream = hasattr(selector, "e_values_")
    write_text(folder.selected, to_csv(selected, of_stream=of_stream, effects=effects))
