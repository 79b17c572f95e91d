"""How well the selected columns of a run predict rows that were held back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tvselect.files import write_text
from tvselect.runs.data import prepare
from tvselect.runs.errors import RunError
from tvselect.runs.folder import RunFolder
from tvselect.runs.play import Place, make_selector, open_again
from tvselect.selectors.worth import Worth, held_out_worth, refuse_folds


def measure(
    folder: RunFolder,
    *,
    folds: int,
    table: str | None = None,
    jobs: int | None = None,
    announce: Callable[[float], None] = lambda seconds: None,
    verbose: int,
) -> Worth:
    """Score predictions of held-out rows, and add them to the findings and the report of a run.

    ``announce`` is told how many seconds it may take, once the table has been found and read.

    Raises
    ------
    RunError
        When the folder holds no run in memory that has come to its end, or the table has changed.
    """
    run = folder.read_run()
    if run.plan.stream:
        raise RunError(
            f"{folder.path} is a run on a stream, which is read in order, not in folds; measure "
            "a sample of its rows with 'tvs select --no-stream'"
        )
    if run.state != "done":
        raise RunError(f"{folder.path} is not complete; finish it with 'tvs resume {folder.path}'")
    with folder.held():
        findings = folder.read_findings()
        plan, files = open_again(run, folder, table)
        X, y = prepare(plan, files)
        if jobs is not None:
            run = replace(run, settings=replace(run.settings, jobs=jobs))
        selector = make_selector(run, None, Place())
        try:
            refuse_folds(len(y), folds)
            announce(max(1.0, folds * findings.seconds))
            worth = held_out_worth(
                selector, X, y, n_folds=folds, random_state=run.settings.seed, verbose=verbose
            )
        except ValueError as error:
            raise RunError(str(error)) from None
        findings = replace(findings, worth=worth)
        write_text(folder.findings, findings.to_json())
        if folder.report.exists():
            folder.render(findings)
    return worth
