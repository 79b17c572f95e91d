"""Start a run, go on with one, and measure what its selection is worth."""

from __future__ import annotations

import math
import os
import shlex
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvselect import report
from tvselect.bandit.engine import StopReason
from tvselect.bandit.journal import Journal, JournalError
from tvselect.records import write_text
from tvselect.report.decisions import describe_doubts
from tvselect.runs import RunError, collected_warnings
from tvselect.runs.data import open_planned, open_stream, prepare, sample
from tvselect.runs.folder import (
    RunFolder,
    RunRecord,
    State,
    VariableResult,
    pairs_to_csv,
    to_csv,
)
from tvselect.runs.plan import Plan, Settings, describe_plan
from tvselect.selectors import Search, StreamingThompsonSelector, ThompsonSelector
from tvselect.selectors.results import feature_findings
from tvselect.sources.addresses import may_come_from_a_file, without_secrets
from tvselect.sources.files import hash_files, hash_stamps
from tvselect.sources.tables import TableFiles
from tvselect.words import command, waiting

if TYPE_CHECKING:
    from tvselect.after.interactions import Interaction
    from tvselect.after.worth import Stability, Worth
    from tvselect.selectors.base import BanditSelector

STATES: dict[StopReason, State]
STATES = {StopReason.INTERRUPTED: "interrupted", StopReason.ERROR: "failed"}


@dataclass
class Result:
    """What a run found; the report fills in the last five."""

    run: RunRecord
    folder: RunFolder
    fit: Any  #: The fitted selector
    variables: list[VariableResult]  #: Best first
    interactions: tuple[Interaction, ...] = ()  #: Surest first; none of a stream
    page: Path | None = None  #: The report
    about_report: tuple[str, ...] = ()  #: What is wrong with it, or why there is none
    was_interrupted: bool = False  #: While the report was made, after all else was written

    @property
    def selected(self) -> list[VariableResult]:
        """The selected variables, without those that are always included."""
        return [v for v in self.variables if v.selected and not v.always]


@dataclass(frozen=True)
class Place:
    """What a call decides for itself, whatever the folder says."""

    cluster: str | None = None  #: Address of a Dask scheduler
    with_page: bool = True  #: Whether to write report.html
    verbose: int = 0


def start(
    plan: Plan,
    settings: Settings,
    folder: RunFolder,
    place: Place,
    *,
    files: TableFiles,
    table: Any = None,
    command: str = "",
) -> Result:
    """Play a new run in a folder; what it has made is removed if not one play was made."""
    with folder.held(), _at_work(folder):
        run = RunRecord(
            command=command,
            table_hash=hash_table(files, plan),
            table_stamp=hash_stamps(files.files),
            settings=settings,
            plan=plan,
        )
        return _play(run, folder, files, table, place)


@contextmanager
def _at_work(folder: RunFolder, before: RunRecord | None = None) -> Iterator[None]:
    """Undo what a failed run has written, and say what an interrupt keeps."""
    try:
        yield
    except BaseException as error:
        with suppress(RunError, JournalError):  # a folder that is not ours any more is kept
            n_plays = plays_done(folder)
            if before is None and n_plays == 0:
                folder.remove()
            elif before is not None and folder.read_run().state == "running":
                folder.write_run(before)
            if isinstance(error, KeyboardInterrupt):
                go_on = f"go on with: {command('resume', folder.path)}"
                kept = f"{n_plays:,} plays are kept; {go_on}"
                error.args = (kept if n_plays else "no play was made",)
        raise


def resume(
    folder: RunFolder,
    place: Place,
    *,
    plays: int | None = None,
    rounds: int | None = None,
    time_limit: float | None = None,
    table: str | None = None,
    jobs: int | None = None,
) -> Result:
    """Go on with a run, to the planned number of plays or to more.

    The folder may come from anywhere: only the caller names a cluster, or a host of the table.
    """
    folder.read_run()  # a folder that is none is not written to
    with folder.held():
        before = folder.read_run()
        stream, settings, path = before.plan.stream, before.settings, folder.path
        if plays is not None and stream:
            raise RunError(f"{path} is a run on a stream; for more plays say --rounds")
        if rounds is not None and not stream:
            raise RunError(f"{path} is a run in memory; for more plays say --plays")
        if plays is not None and plays < (done := plays_done(folder)):
            raise RunError(f"{path} has {done} plays already; --plays is counted in all")
        if rounds is not None and rounds < settings.rounds:
            raise RunError(f"{path} has {settings.rounds} rounds; --rounds is counted in all")
        plan, files = open_again(before, folder, table)
        stamp = hash_stamps(files.files)
        if table is None and stream and stamp != before.table_stamp:
            raise RunError(
                f"{files.where} was written again since the run was begun; if it is the same "
                "table, say so with --table, else start a new run"
            )
        kept = replace(plan.file, table=without_secrets(plan.file.table))
        run = replace(
            before,
            plan=replace(plan, file=kept),
            settings=replace(
                settings,
                jobs=_jobs(settings, jobs),
                plays=plays or settings.plays,
                rounds=rounds or settings.rounds,
                time_limit=time_limit,
            ),
            state="running",
            warnings=(),
            table_stamp=stamp,
        )
        with _at_work(folder, before):
            return _play(run, folder, files, None, place)


def measure(
    what: str,
    n: int,
    folder: RunFolder,
    place: Place,
    *,
    announce: Callable[[float], None] = lambda seconds: None,
    table: str | None = None,
    jobs: int | None = None,
) -> Worth | Stability:
    """The "worth" of a run by ``n`` folds of the rows, or its "stability" over ``n`` other seeds.

    What is found is added to the findings and the report. ``announce`` is called with the seconds
    that it may take, once the table has been read; ``table`` is where that is now.
    """
    from tvselect.after.worth import (
        draw_seeds,
        expected_seconds,
        held_out_worth,
        refit,
        refuse_folds,
    )

    run = folder.read_run()
    if what == "worth" and run.plan.stream:
        raise RunError(
            f"{folder.path} is a run on a stream, which is read in order, not in folds; measure "
            "a sample of its rows with 'tvs select --no-stream'"
        )
    if run.state != "done":
        finish = command("resume", folder.path)
        raise RunError(f"{folder.path} is not complete; finish it: {finish}")
    with folder.held():
        findings = folder.read_findings()
        with waiting("  Reading the table", place.verbose):
            plan, files = open_again(run, folder, table)
            rows = _read_rows(plan, files)
        settings = replace(run.settings, jobs=_jobs(run.settings, jobs))
        selector = make_selector(replace(run, settings=settings), None, place)
        seed, seconds = settings.seed, max(findings.seconds, run.seconds)
        found: Worth | Stability
        if what == "worth":
            X, y = rows
            refuse_folds(len(y), n)
            announce(expected_seconds(seconds, len(y), n))
            told: dict[str, Any] = {**plan.told, "verbose": place.verbose}
            found = held_out_worth(selector, X, y, n_folds=n, random_state=seed, **told)
        else:
            announce(n * seconds)
            seeds = draw_seeds(n, seed)
            found = refit(selector, lambda again: _fit(again, rows, plan), seeds, place.verbose)
        measured: dict[str, Any] = {what: found}
        findings = replace(findings, **measured)
        write_text(folder.findings, findings.to_json())
        if folder.report.exists():
            folder.render(findings)
    return found


def _jobs(settings: Settings, asked: int | None) -> int:
    """As many as asked for; a folder cannot ask for more than there are processors."""
    return min(settings.jobs, os.cpu_count() or 1) if asked is None else asked


def open_again(run: RunRecord, folder: RunFolder, table: str | None) -> tuple[Plan, TableFiles]:
    """The table of a run, where it was or where it is now; refused if it is another one."""
    plan = run.plan
    if table is not None:
        plan = replace(plan, file=replace(plan.file, table=table).absolute())
    elif not may_come_from_a_file(plan.file.table):
        raise RunError(
            f"{folder.path} does not keep keys, hosts and endpoints; say --table with the whole "
            f"address of {without_secrets(plan.file.table)}"
        )
    files = open_planned(plan)
    if hash_table(files, plan) != run.table_hash:
        raise RunError(
            f"{files.where} is not the table that the run was begun with; go back to that one "
            "(--table says where it is now), or start a new run"
        )
    return plan, files


def hash_table(files: TableFiles, plan: Plan) -> str:
    """A hash of the files: of all bytes, or of names, sizes, footers and samples for a stream."""
    return hash_files(files.files, "") if plan.stream else files.fingerprint()


def plays_done(folder: RunFolder) -> int:
    """How many plays the journal of a run holds; one that is damaged is a JournalError."""
    folder.require_plain_files()
    if not folder.journal.exists():
        return 0
    with Journal(folder.journal) as journal:
        return 0 if journal.header is None else journal.n_plays()


def read_off(fit: BanditSelector) -> list[VariableResult]:
    """All variables of a run, best first; ties in the order of the table."""
    order, found = feature_findings(fit)
    arms, labels = fit.result_.arm_of_feature, fit.result_.layout.labels
    columns: dict[str, list[Any]] = {"name": found["name"], "always": (arms < 0).tolist()}
    columns["group"] = [labels.get(arm, "") for arm in arms.tolist()]
    columns["q_value"] = _numbers(np.where(arms < 0, np.nan, found["q_value"]))
    for name in ("selection_rate", "low", "high"):
        columns[name] = found[name].round(6).tolist()
    for name in found.keys() & {"selected", "times_played", "seen"}:
        columns[name] = found[name].tolist()
    for name in found.keys() & {"claim", "selected_since"}:
        columns[name] = [number or None for number in found[name].tolist()]
    if "e_value" in found:
        columns["e_value"] = _numbers(found["e_value"])
    return [VariableResult(**{n: some[j] for n, some in columns.items()}) for j in order.tolist()]


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else float(f"{value:.6g}") for value in values.tolist()]


def _play(run: RunRecord, folder: RunFolder, files: TableFiles, table: Any, place: Place) -> Result:
    """Search, then write what was found and, last, the report."""
    folder.write_run(run)
    started = time.perf_counter()
    plan = run.plan
    selector = make_selector(run, folder.journal, place)
    with collected_warnings() as said:
        try:
            with waiting("  Reading the table", place.verbose):
                rows = _read_rows(plan, files, table)
            _fit(selector, rows, plan)
        except JournalError:  # somebody else's, or damaged: what is known is not the last word
            raise
        except BaseException:
            if hasattr(selector, "result_"):
                write_results(run, folder, selector, said, started)
            raise
    searched = selector.result_
    if any(doubt.is_of_rows for doubt in plan.facts.doubts):
        selector.result_ = replace(searched, asked=replace(searched.asked, unproven=True))
    if searched.stop_reason is StopReason.INTERRUPTED and searched.n_plays == 0:
        raise KeyboardInterrupt
    result = write_results(run, folder, selector, said, started)
    with collected_warnings() as about_report, waiting("  Making the report", place.verbose):
        try:
            result.interactions = getattr(selector, "interactions_", ())
            folder.interactions.unlink(missing_ok=True)
            if result.interactions:
                write_text(folder.interactions, pairs_to_csv(result.interactions))
            X, y = sample(plan, files) if plan.stream else rows
            write_report(result, X, y, place.with_page)
        except RunError as error:
            about_report.append(str(error))
        except Exception as error:  # what was found is worth more than its page
            about_report.append(f"the report could not be made ({type(error).__name__}: {error})")
        except KeyboardInterrupt:
            result.was_interrupted = True
    result.about_report = tuple(about_report)
    return result


def _read_rows(plan: Plan, files: TableFiles, table: Any = None) -> tuple[Any, ...]:
    """What a selector is fitted to: a stream, or a table and its outcome."""
    return (open_stream(plan, files),) if plan.stream else prepare(plan, files, table)


def _fit(selector: Any, rows: tuple[Any, ...], plan: Plan) -> None:
    (selector.fit_source if plan.stream else selector.fit)(*rows, **plan.told)


def make_selector(run: RunRecord, journal: Path | None, place: Place) -> Any:
    """The selector of a run, not fitted."""
    plan, settings = run.plan, run.settings
    groups = {label: list(members) for label, members in plan.feature_groups.items()}
    reward = settings.make_reward(plan.stream)
    shared: dict[str, Any] = dict(
        max_fdr=settings.max_fdr,
        decoys=None if settings.decoys == "none" else settings.decoys,
        time_limit=settings.time_limit,
        feature_groups="ld" if plan.linkage else groups or None,
        always_include=list(plan.always) or None,
        family=plan.facts.outcome.family,
        n_jobs=settings.jobs,
        random_state=settings.seed,
        verbose=place.verbose,
        search=Search(
            patience=settings.patience,
            n_chains=settings.chains,
            window="auto" if settings.window is None else settings.window,
            runner=place.cluster,
            journal=journal,
        ),
    )
    if not plan.stream:
        asks_twice = not settings.trees_only
        return ThompsonSelector(reward, n_plays=settings.plays, second_opinion=asks_twice, **shared)
    return StreamingThompsonSelector(
        reward, batch_size=settings.batch_size, n_rounds=settings.rounds, **shared
    )


def write_results(
    run: RunRecord, folder: RunFolder, selector: Any, said: list[str], started: float
) -> Result:
    """Write variables.csv, selected.csv and, last, run.json, which says that they are there."""
    searched = selector.result_
    run = replace(
        run,
        state=STATES.get(searched.stop_reason, "done"),
        stop_reason=searched.stop_reason,
        n_plays=searched.n_plays,
        seconds=round(time.perf_counter() - started, 3),
        fingerprint=searched.asked.fingerprint,
        warnings=tuple(dict.fromkeys(said)),
    )
    result = Result(run, folder, selector, read_off(selector))
    _write_variables(result)
    folder.write_run(run)
    return result


def write_report(result: Result, X: Any, y: Any, with_page: bool) -> None:
    """Write findings.json, report.html and the effects in variables.csv."""
    run, folder, selector = result.run, result.folder, result.fit
    worth, stability = _measured_before(folder, run)
    for outdated in (folder.findings, folder.report):
        outdated.unlink(missing_ok=True)
    plan = run.plan
    settings = ", ".join(f"{name}={value!r}" for name, value in asdict(run.settings).items())
    notes = [*describe_plan(plan), *describe_doubts(plan.facts), *run.warnings]
    findings = report.gather(
        selector,
        X,
        y,
        title=f"What explains {plan.target}?",
        target=plan.target,
        about=report.About(
            _name_of(plan.file.table) + (f" (rows with {plan.where})" if plan.where else ""),
            _by_names(run.command, plan.file.table, plan.file.phenotypes, folder.path),
            folder.path.name if folder.path.is_absolute() else str(folder.path),
            {"Settings": settings},
        ),
        notes=[note.replace(plan.facts.where, _name_of(plan.facts.where)) for note in notes],
        left_out=Counter(why.reason for why in plan.facts.left_out.values()),
        worth=worth,
        stability=stability,
        random_state=run.settings.seed,
    )
    write_text(folder.findings, findings.to_json())
    names, of_name = selector.result_.names, {v.name: v for v in result.variables}
    for effect in findings.effects:
        name = str(names[effect.column])
        of_name[name] = of_name[name]._replace(
            effect=effect.size, direction=effect.direction, of_class=effect.of_class
        )
    result.variables = list(of_name.values())
    _write_variables(result)
    if with_page:
        folder.render(findings)
        result.page = folder.report


def _measured_before(folder: RunFolder, run: RunRecord) -> tuple[Worth | None, Stability | None]:
    """What was measured of a run, unless it has made plays since then, which is said."""
    try:
        before = folder.read_findings()
    except RunError:  # there are none, or none that can be read
        return None, None
    if before.n_plays == run.n_plays:
        return before.worth, before.stability
    measured = {"worth": before.worth, "stability": before.stability}
    for name in (name for name, found in measured.items() if found is not None):
        warnings.warn(
            f"the {name} in the report was measured before these plays and is left out; measure it "
            f"again: {command(name, folder.path)}",
            UserWarning,
            stacklevel=2,
        )
    return None, None


def _name_of(table: str) -> str:
    """What is said of a table on a page that others read: its name, not its path."""
    return table if "://" in table else Path(table).name


def _by_names(said: str, *paths: str | Path | None) -> str:
    """A command in which these files and folders have their names instead of paths."""
    known = {os.path.abspath(path) for path in paths if path and "://" not in str(path)}

    def named(word: str) -> str:
        option, equals, value = word.rpartition("=") if word.startswith("--") else ("", "", word)
        is_path = os.path.abspath(os.path.expanduser(value)) in known
        return f"{option}{equals}{Path(value).name}" if is_path else word

    with suppress(ValueError):  # no command line
        return shlex.join(map(named, shlex.split(said)))
    return said


def _write_variables(result: Result) -> None:
    """Write variables.csv, and the selected ones of it."""
    of_stream = hasattr(result.fit, "e_values_")
    selected = [variable for variable in result.variables if variable.selected]
    write_text(result.folder.variables, to_csv(result.variables, of_stream=of_stream))
    write_text(result.folder.selected, to_csv(selected, of_stream=of_stream))
