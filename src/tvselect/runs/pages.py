"""The report of a run, where its libraries are installed."""

from __future__ import annotations

from typing import Any

from tvselect.files import write_text
from tvselect.report import About, Findings, gather, render
from tvselect.runs.errors import RunError
from tvselect.runs.folder import RunFolder, RunRecord
from tvselect.runs.plan import describe_plan

INSTALL = "pip install 'tvselect[cli]'"


def write_pages(run: RunRecord, folder: RunFolder, selector: Any, X: Any, y: Any) -> str:
    """Write findings.json and report.html; returns why there is no page, or nothing."""
    findings = gather(
        selector,
        X,
        y,
        title=f"What explains {run.plan.target}?",
        target=run.plan.target,
        about=About(table=run.plan.table, command=run.command, folder=str(folder.path)),
        notes=[*describe_plan(run.plan), *run.warnings],
        random_state=run.settings.seed,
    )
    write_text(folder.findings, findings.to_json())
    try:
        page = render(findings)
    except ModuleNotFoundError:
        return f"the report as a page needs: {INSTALL}"
    write_text(folder.report, page)
    return ""


def render_again(folder: RunFolder) -> None:
    """Write report.html from findings.json.

    Raises
    ------
    RunError
        When the report is not installed, or the run has no findings.
    """
    findings = read_findings(folder)
    try:
        page = render(findings)
    except ModuleNotFoundError:
        raise RunError(f"the report needs more packages: {INSTALL}") from None
    write_text(folder.report, page)


def read_findings(folder: RunFolder) -> Findings:
    """Read findings.json.

    Raises
    ------
    RunError
        When it is missing or something else.
    """
    remedy = f"'tvs resume {folder.path}' writes it"
    try:
        return Findings.from_json(folder.findings.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(f"{folder.findings} does not exist; {remedy}") from None
    except UnicodeDecodeError:
        raise RunError(f"{folder.findings} is damaged; {remedy}") from None
    except ValueError:
        raise RunError(f"{folder.findings} is not as tvs wrote it; {remedy}") from None
