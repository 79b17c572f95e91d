"""Start a run and go on with one."""

from __future__ import annotations

import os
import platform
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tvselect.bandit.journal import JournalError, SqliteJournal
from tvselect.bandit.stopping import StopReason
from tvselect.runs.data import open_planned, open_stream, prepare, sample
from tvselect.runs.errors import RunError, collected_warnings
from tvselect.runs.folder import SCHEMA, RunFolder, RunRecord
from tvselect.runs.owning import require_plain
from tvselect.runs.plan import Plan, Settings, make_reward
from tvselect.runs.results import VariableResult
from tvselect.runs.writing import write_interactions, write_report, write_results
from tvselect.selectors.history import History
from tvselect.selectors.interactions import Interaction
from tvselect.selectors.thompson import ThompsonFit
from tvselect.sources.addresses import may_come_from_a_file, without_secrets
from tvselect.sources.files import hash_files, hash_stamps
from tvselect.sources.stored import TableFiles

PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow")


@dataclass(frozen=True)
class Result:
    """What a run found."""

    run: RunRecord
    folder: RunFolder
    fit: Any  #: The fitted selector
    variables: list[VariableResult]  #: Best first
    interactions: tuple[Interaction, ...]  #: Surest first; none of a stream
    page: Path | None  #: The report
    about_report: tuple[str, ...]  #: What is wrong with it, or why there is none
    was_interrupted: bool = False  #: While the report was made, after all else was written

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
    cluster: str | None = None,
    with_page: bool = True,
    verbose: int = 0,
) -> Result:
    """Play a new run in a folder; what it has made goes again if not one play was made."""
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
        table_stamp="",
        fingerprint=None,
        settings=settings,
        plan=plan,
        warnings=(),
    )
    with folder.held():
        try:
            files = files or open_planned(plan)
            run = replace(
                run, table_hash=hash_table(files, plan), table_stamp=hash_stamps(files.files)
            )
            folder.write_run(run)
            return _go(run, folder, files, table, Place(cluster, with_page, verbose))
        except BaseException as error:
            with suppress(JournalError):  # not ours to throw away
                n_plays = plays_done(folder)
                if n_plays == 0:
                    folder.remove()
                _say_what_is_kept(error, folder, n_plays)
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
    with_page: bool = True,
    verbose: int = 0,
) -> Result:
    """Go on with a run, to the planned number of plays or to more.

    The folder may come from anywhere: it does not say on which cluster to play, nor which host
    to ask for the table. These are the caller's to name.

    Raises
    ------
    RunError
        When the folder holds no run, somebody else is at work in it or the table has changed.
    """
    folder.read_run()  # a folder that is none is not written to
    with folder.held():
        return _resume(
            folder, plays, rounds, time_limit, table, jobs, Place(cluster, with_page, verbose)
        )


@dataclass(frozen=True)
class Place:
    """What a call decides for itself, whatever the folder says."""

    cluster: str | None = None  #: Address of a Dask scheduler
    with_page: bool = True  #: Whether to write report.html
    verbose: int = 0


def _resume(
    folder: RunFolder,
    plays: int | None,
    rounds: int | None,
    time_limit: float | None,
    table: str | None,
    jobs: int | None,
    place: Place,
) -> Result:
    run = before = folder.read_run()
    plan, settings = run.plan, run.settings
    if plays is not None and plan.stream:
        raise RunError(f"{folder.path} is a run on a stream; for more plays say --rounds")
    if rounds is not None and not plan.stream:
        raise RunError(f"{folder.path} is a run in memory; for more plays say --plays")
    if plays is not None and plays < (done := plays_done(folder)):
        raise RunError(f"{folder.path} has {done} plays already; --plays is counted in all")
    if rounds is not None and rounds < settings.rounds:
        raise RunError(f"{folder.path} has {settings.rounds} rounds; --rounds is counted in all")
    plan, files = open_again(run, folder, table)
    if table is None and plan.stream and hash_stamps(files.files) != run.table_stamp:
        raise RunError(
            f"{files.where} was written again since the run was begun; if it is the same table, "
            "say so with --table, else start a new run"
        )
    settings = replace(
        settings,
        jobs=min(settings.jobs, os.cpu_count() or 1) if jobs is None else jobs,
        plays=settings.plays if plays is None else plays,
        rounds=settings.rounds if rounds is None else rounds,
        time_limit=time_limit,
    )
    run = replace(
        run,
        plan=replace(plan, table=without_secrets(plan.table)),
        settings=settings,
        state="running",
        warnings=(),
        table_stamp=hash_stamps(files.files),
    )
    folder.write_run(run)
    try:
        return _go(run, folder, files, None, place)
    except BaseException as error:
        with suppress(RunError, JournalError):
            if folder.read_run().state == "running":  # nothing came of it
                folder.write_run(before)
            _say_what_is_kept(error, folder, plays_done(folder))
        raise


def open_again(run: RunRecord, folder: RunFolder, table: str | None) -> tuple[Plan, TableFiles]:
    """The table of a run, where it was or where it is now.

    Raises
    ------
    RunError
        When it is another one, or its address is not kept.
    """
    plan = run.plan
    if table is not None:
        plan = replace(plan, table=table if "://" in table else os.path.abspath(table))
    elif not may_come_from_a_file(plan.table):
        raise RunError(
            f"{folder.path} does not keep keys, hosts and endpoints; say --table with the whole "
            f"address of {without_secrets(plan.table)}"
        )
    files = open_planned(plan)
    if hash_table(files, plan) != run.table_hash:
        raise RunError(
            f"{files.where} is not the table that the run was begun with; go back to that one "
            "(--table says where it is now), or start a new run"
        )
    return plan, files


def _say_what_is_kept(error: BaseException, folder: RunFolder, n_plays: int) -> None:
    if isinstance(error, KeyboardInterrupt):
        kept = f"{n_plays:,} plays are kept; go on with: tvs resume {folder.path}"
        error.args = (kept if n_plays else "no play was made",)


def plays_done(folder: RunFolder) -> int:
    """How many plays the journal of a run holds.

    Raises
    ------
    JournalError
        When it is no journal or damaged.
    """
    require_plain(folder.files)
    if not folder.journal.exists():
        return 0
    with SqliteJournal(folder.journal) as journal:
        return 0 if journal.header is None else journal.n_plays()


def hash_table(files: TableFiles, plan: Plan) -> str:
    """A hash of the files: of all bytes, or of the names, sizes, footers and samples of a stream's.

    Raises
    ------
    SourceError
        When a file has changed since it was opened.
    """
    return hash_files(files.files, "") if plan.stream else files.fingerprint()


def _go(run: RunRecord, folder: RunFolder, files: TableFiles, table: Any, place: Place) -> Result:
    started = time.perf_counter()
    plan = run.plan
    selector = make_selector(run, folder.journal, place)
    with collected_warnings() as said:
        try:
            if plan.stream:
                X, y = None, None
                selector.fit_source(open_stream(plan, files))
            else:
                X, y = prepare(plan, files, table)
                selector.fit(X, y)
        except JournalError:  # somebody else's, or damaged: what is known is not the last word
            raise
        except BaseException:
            if hasattr(selector, "history_"):
                write_results(run, folder, selector, said, started)
            raise
    history: History = selector.history_
    if history.stop_reason is StopReason.INTERRUPTED and history.n_plays == 0:
        raise KeyboardInterrupt
    run, variables = write_results(run, folder, selector, said, started)
    interactions: tuple[Interaction, ...] = ()
    page, was_interrupted = None, False
    with collected_warnings() as about_report:
        try:
            interactions = write_interactions(folder, selector)
            rows = sample(plan, files) if plan.stream else (X, y)
            page = write_report(run, folder, selector, *rows, with_page=place.with_page)
        except RunError as error:
            about_report.append(str(error))
        except Exception as error:  # what was found is worth more than its page
            about_report.append(f"the report could not be made ({type(error).__name__}: {error})")
        except KeyboardInterrupt:
            was_interrupted = True
    return Result(
        run, folder, selector, variables, interactions, page, tuple(about_report), was_interrupted
    )


def make_selector(run: RunRecord, journal: Path | None, place: Place) -> Any:
    """The selector of a run, not fitted."""
    plan, settings = run.plan, run.settings
    groups = {label: list(members) for label, members in plan.groups.items()}
    shared: dict[str, Any] = dict(
        max_fdr=settings.max_fdr,
        decoys=None if settings.decoys == "none" else settings.decoys,
        patience=settings.patience,
        time_limit=settings.time_limit,
        groups="ld" if plan.linkage else groups or None,
        always_include=list(plan.always) or None,
        family=plan.family,
        n_chains=settings.chains,
        n_jobs=settings.jobs,
        runner=place.cluster,
        window="auto" if settings.window is None else settings.window,
        random_state=settings.seed,
        journal=journal,
        verbose=place.verbose,
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
