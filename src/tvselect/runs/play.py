"""Start a run and go on with one."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from tvselect import report
from tvselect.bandit.journal import JournalError, SqliteJournal
from tvselect.bandit.stopping import InterruptWarning, StopReason
from tvselect.files import write_text
from tvselect.runs.data import open_planned, open_stream, prepare, sample
from tvselect.runs.errors import RunError
from tvselect.runs.folder import INSTALL, SCHEMA, RunFolder, RunRecord, State
from tvselect.runs.plan import Plan, Settings, describe_plan, doubts_of, make_reward
from tvselect.runs.results import VariableResult, pairs_to_csv, read_off, to_csv
from tvselect.selectors.history import History
from tvselect.selectors.interactions import Interaction
from tvselect.selectors.thompson import ThompsonFit
from tvselect.sources.files import hash_files
from tvselect.sources.stored import TableFiles

STATES: dict[StopReason, State] = {
    StopReason.INTERRUPTED: "interrupted",
    StopReason.ERROR: "failed",
}
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")


@dataclass(frozen=True)
class Result:
    """What a run found."""

    run: RunRecord
    folder: RunFolder
    fit: Any  #: The fitted selector
    variables: list[VariableResult]  #: Best first
    interactions: tuple[Interaction, ...]  #: Surest first; none of a stream
    no_report: str  #: Why there is no report, or empty

    @property
    def history(self) -> History:
        """Its read-out."""
        history: History = self.fit.history_
        return history


def start(
    plan: Plan,
    settings: Settings,
    folder: RunFolder,
    *,
    files: TableFiles | None = None,
    table: Any = None,
    command: str = "",
    verbose: int = 0,
) -> Result:
    """Play a new run in a folder; the folder goes again if not one play was made."""
    run = RunRecord(
        schema=SCHEMA,
        version=version("tvselect"),
        versions={
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        state="running",
        stop_reason=None,
        n_plays=0,
        seconds=0.0,
        table_hash="",
        fingerprint=None,
        settings=settings,
        plan=plan,
        warnings=(),
    )
    try:
        run = replace(run, table_hash=hash_table(files or open_planned(plan), plan))
        folder.write_run(run)
        return _go(run, folder, table, verbose)
    except BaseException:
        with suppress(JournalError):  # not ours to throw away
            if plays_done(folder) == 0:
                folder.remove()
        raise


def resume(
    folder: RunFolder,
    *,
    plays: int | None = None,
    rounds: int | None = None,
    time_limit: float | None = None,
    table: str | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    verbose: int = 0,
) -> Result:
    """Go on with a run, to the planned number of plays or to more.

    A run that was begun on a cluster goes on there, unless ``jobs`` calls it back.

    Raises
    ------
    RunError
        When the folder holds no run or the table has changed.
    """
    run = folder.read_run()
    plan, settings = run.plan, run.settings
    if plays is not None and plan.stream:
        raise RunError(f"{folder.path} is a run on a stream; for more plays say --rounds")
    if rounds is not None and not plan.stream:
        raise RunError(f"{folder.path} is a run in memory; for more plays say --plays")
    if plays is not None and plays < (done := plays_done(folder)):
        raise RunError(f"{folder.path} has {done} plays already; --plays is counted in all")
    if rounds is not None and rounds < settings.rounds:
        raise RunError(f"{folder.path} has {settings.rounds} rounds; --rounds is counted in all")
    if table is not None:
        plan = replace(plan, table=table if "://" in table else os.path.abspath(table))
    if hash_table(open_planned(plan), plan) != run.table_hash:
        raise RunError(
            f"{plan.table} is not the table that the run was begun with; go back to that one "
            "(--table says where it is now), or start a new run"
        )
    if jobs is not None or cluster is not None:
        settings = replace(settings, jobs=jobs or settings.jobs, cluster=cluster)
    settings = replace(
        settings,
        plays=settings.plays if plays is None else plays,
        rounds=settings.rounds if rounds is None else rounds,
        time_limit=time_limit,
    )
    run = replace(run, plan=plan, settings=settings, state="running", warnings=())
    return _go(run, folder, None, verbose)


def plays_done(folder: RunFolder) -> int:
    """How many plays the journal of a run holds.

    Raises
    ------
    JournalError
        When it is no journal or damaged.
    """
    if not folder.journal.exists():
        return 0
    with SqliteJournal(folder.journal) as journal:
        return 0 if journal.header is None else journal.n_plays()


def hash_table(files: TableFiles, plan: Plan) -> str:
    """A hash of the files: of all bytes, or of the names, sizes and ends of a stream's."""
    return hash_files(files.files, "") if plan.stream else files.fingerprint()


def _go(run: RunRecord, folder: RunFolder, table: Any, verbose: int) -> Result:
    started = time.perf_counter()
    plan = run.plan
    selector = _make_selector(run, folder, verbose)
    with _collected_warnings() as said:
        try:
            if plan.stream:
                X, y = None, None
                selector.fit_source(open_stream(plan))
            else:
                X, y = prepare(plan, table)
                selector.fit(X, y)
        except BaseException:
            if hasattr(selector, "history_"):
                _write_results(run, folder, selector, said, started)
            raise
    history: History = selector.history_
    if history.stop_reason is StopReason.INTERRUPTED and history.n_plays == 0:
        raise KeyboardInterrupt
    run, variables = _write_results(run, folder, selector, said, started)
    interactions: tuple[Interaction, ...] = ()
    try:
        interactions = _write_interactions(folder, selector)
        rows = sample(plan) if plan.stream else (X, y)
        no_report = _write_report(run, folder, selector, *rows)
    except Exception as error:  # what was found is worth more than its page
        no_report = f"the report could not be made ({type(error).__name__}: {error})"
    return Result(run, folder, selector, variables, interactions, no_report)


def _write_interactions(folder: RunFolder, selector: Any) -> tuple[Interaction, ...]:
    """Write interactions.csv; without any, there is none."""
    found: tuple[Interaction, ...] = getattr(selector, "interactions_", ())
    if found:
        write_text(folder.interactions, pairs_to_csv(found))
    else:
        folder.interactions.unlink(missing_ok=True)
    return found


def _write_report(run: RunRecord, folder: RunFolder, selector: Any, X: Any, y: Any) -> str:
    """Write findings.json and report.html; returns why there is no page, or nothing."""
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
    try:
        page = report.render(findings)
    except ModuleNotFoundError:
        return f"the report as a page needs: {INSTALL}"
    write_text(folder.report, page)
    return ""


def _write_results(
    run: RunRecord, folder: RunFolder, selector: Any, said: list[str], started: float
) -> tuple[RunRecord, list[VariableResult]]:
    history: History = selector.history_
    variables = read_off(selector)
    of_stream = hasattr(selector, "e_values_")
    write_text(folder.variables, to_csv(variables, of_stream=of_stream))
    selected = [variable for variable in variables if variable.selected]
    write_text(folder.selected, to_csv(selected, of_stream=of_stream))
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


def _make_selector(run: RunRecord, folder: RunFolder, verbose: int) -> Any:
    plan, settings = run.plan, run.settings
    shared: dict[str, Any] = dict(
        max_fdr=settings.max_fdr,
        decoys=None if settings.decoys == "none" else settings.decoys,
        patience=settings.patience,
        time_limit=settings.time_limit,
        groups={label: list(members) for label, members in plan.groups.items()} or None,
        always_include=list(plan.always) or None,
        family=plan.family,
        n_chains=settings.chains,
        n_jobs=settings.jobs,
        runner=settings.cluster,
        window="auto" if settings.window is None else settings.window,
        random_state=settings.seed,
        journal=folder.journal,
        verbose=verbose,
    )
    reward = make_reward(settings, plan.stream)
    if not plan.stream:
        return ThompsonFit(reward, n_plays=settings.plays, **shared)
    from tvselect.selectors import StreamingThompsonSelector

    return StreamingThompsonSelector(
        reward,
        batch_size=settings.batch_size,
        n_rounds=settings.rounds,
        **shared,
    )


@contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    """Warnings as sentences, instead of on the screen."""
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (RuntimeWarning, UserWarning):
            warnings.filterwarnings("always", category=category)
        warnings.filterwarnings("ignore", category=InterruptWarning)
        warnings.showwarning = lambda message, *_, **__: said.append(str(message))
        yield said
