"""The folder of a run, as ``tvs report``, ``resume``, ``transform`` and ``compare`` read it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fuzz.mutation import JSON, TABLE
from fuzz.targets.base import Target
from fuzz.targets.journals import sound_journal
from fuzz.targets.tables import CSV_TOKENS, csv_seeds
from tvselect.after.dependence import Dependence, Effect, Scale
from tvselect.after.worth import Stability, Worth
from tvselect.bandit.engine import StopReason
from tvselect.inputs.facts import FileFacts, LeftOut, OutcomeProfile, ReadingMode, TableFacts
from tvselect.inputs.text import Writing
from tvselect.records import to_json
from tvselect.report.findings import (
    About,
    Best,
    Control,
    Findings,
    HeatMap,
    JointClaim,
    LookAlike,
    OutcomeSummary,
    ReportedInteraction,
    ReportedVariable,
    Resemblance,
)
from tvselect.runs.compare import compare
from tvselect.runs.data import open_planned
from tvselect.runs.folder import SCHEMA, RunFolder, RunRecord, VariableResult, to_csv
from tvselect.runs.plan import FileOptions, Plan, Settings, read_groups
from tvselect.runs.play import Place, hash_table, make_selector, plays_done
from tvselect.runs.transform import transform
from tvselect.selectors.results import Asked

COLUMNS = ("n", "x", "text")
ASKED = Asked(
    is_stream=False, reward="BartReward()", family="auto", seed=3, window=1, fingerprint="01",
    n_plays=500, patience=10, n_rows=12,
)  # fmt: skip
VARIABLES = [
    VariableResult("x", True, 0.05, 0.97, 0.9, 1.0, 40, 1, "", 80.0, 3),
    VariableResult("text", True, 0.05, 0.8, 0.6, 0.9, 40, None, "words", 60.0, 5),
    VariableResult("n", False, 1.0, 0.1, 0.0, 0.3, 12, 1, "", 0.5),
]


@cache
def table() -> bytes:
    """The table of the run."""
    return csv_seeds()[0][1:]


@cache
def sound_run() -> RunRecord:
    """What run.json says of a finished run."""
    facts = TableFacts(
        where="table.csv", n_columns=4, mode=ReadingMode(False, "small", 12, True),
        outcome=OutcomeProfile("y", "probit", False, False, 12, 0, 2, ("0", "1")),
        left_out={"id": LeftOut("identifier"), "one": LeftOut("constant", "1")}, dates=(),
        numbers={"n": "?"},
        written={"n": Writing(".", "$1,234", 1234.0, "column")}, mixed={"b": ("$", "€")},
        files=FileFacts("UTF-8", ",", (), False, False),
        infinite={"x": 1}, missing=("x",), copies=(("n", "x"),),
    )  # fmt: skip
    plan = Plan(
        file=FileOptions("table.csv", delimiter=",", decimal="."), columns=COLUMNS, always=("n",),
        feature_groups={"words": ("text",)}, linkage=False, facts=facts,
    )  # fmt: skip
    return RunRecord(
        schema=SCHEMA, version="0.1.0", versions={"python": "3.11.0"},
        command="tvs select table.csv",
        created="2026-01-01T00:00:00+00:00", state="done", stop_reason=StopReason.PLAYS,
        n_plays=500, seconds=1.5, table_hash="00", table_stamp="02", fingerprint="01",
        settings=Settings(seed=3, iterations=50, patience=10), plan=plan, warnings=("one",),
    )  # fmt: skip


@cache
def sound_findings() -> Findings:
    """What findings.json says of it."""
    shown = [
        ReportedVariable(v.name, "selected" if v.selected else "unselected", v.selection_rate,
                         v.low, v.high, 0.5, v.times_played, int(v.selected), v.q_value, v.e_value,
                         v.selected_since, (), v.seen, (0.5, v.selection_rate))
        for v in VARIABLES
    ]  # fmt: skip
    decoy = ReportedVariable(
        "decoy 1 of x", "decoy", 0.1, 0.0, 0.2, 0.5, 9, 0, None, None, None, (), "", (0.5, 0.1)
    )
    at, *band = (0.0, 1.0), (0.1, 0.2), (0.0, 0.1), (0.2, 0.3)
    numbers, levels = Scale((), (0.0, 1.0, 3.0)), Scale(("a", "b"), (0.0, 1.0))
    heat_map = HeatMap(numbers, levels, ((0.1, 0.2), (0.1, 0.4), (0.2, 0.9)))
    return Findings(
        title="What explains y?", target="y", outcome="two classes", classes=("no", "yes"),
        summary=OutcomeSummary(300, None, (), (200, 100)), left_out={"constant": 1},
        n_columns=3, n_variables=3, n_selected=2, n_unplayed=0,
        n_plays=500, n_skipped=0, n_chains=1, seconds=1.5,
        stop_reason=StopReason.PLAYS, asked=ASKED,
        agreement=None, control=Control(0.1, 0.1, "shuffled", 30, 25, 10, 0, 0.1),
        claims=(JointClaim(("x", "n"), 2, 0.98, 0.05),), best=Best("n", 0.1, 1.0, 0.5),
        variables=(*shown, decoy), always=("n",),
        steps=(0, 500), played=(2.0, 2.0), rewarded=(1.0, 2.0),
        dependence=(
            Dependence("x", (), at, "yes", *band), Dependence("text", ("a", "b"), at, "yes", *band),
        ),
        dependence_note="by trees", effects=(Effect(0, "x", 0.1, "up", "yes"),),
        stability=Stability((1, 2), ("x",), (1.0,), (0.9,), 1.0, (1, 1), 2.5),
        worth=Worth("AUC", (0.7, 0.8), (0.6, 0.7), (0.5, 0.5), (2, 3), 300, 1.5),
        interactions=(ReportedInteraction(("x", "text"), 0.2, 0.05, heat_map),),
        resemblances=(Resemblance("x", (LookAlike("n", 0.9, 0.1),)),), resemblance_note="Spearman",
        notes=("a note",), about=About("table.csv", "tvs", "run", {"seed": "3"}),
        settings="ThompsonSelector()", versions={"numpy": "2"},
    )  # fmt: skip


def make_folder(folder: Path) -> None:
    """A sound run next to its table, and another to compare it with."""
    (folder / "table.csv").write_bytes(table())
    for name in ("run", "other"):
        run = RunFolder(folder / name)
        run.path.mkdir()
        run.write_run(sound_run())
        run.variables.write_text(to_csv(VARIABLES, of_stream=True))
        run.selected.write_text(to_csv(VARIABLES[:2], of_stream=True))
        run.findings.write_text(sound_findings().to_json())
        run.journal.write_bytes(sound_journal())


def damaged(member: str, data: bytes, folder: Path) -> RunFolder:
    """The run with other bytes in one of its files."""
    run = RunFolder(folder / "run")
    getattr(run, member).write_bytes(data)
    return run


def read_record(data: bytes, folder: Path) -> None:
    """run.json, up to the first play of a resumed run."""
    run_folder = damaged("record", data, folder)
    run = run_folder.read_run()
    compare(run_folder, RunFolder(folder / "other"))
    files = open_planned(run.plan)
    hash_table(files, run.plan)
    plays_done(run_folder)
    make_selector(run, run_folder.journal, Place())


def read_journal(data: bytes, folder: Path) -> None:
    """The journal of a run."""
    for suffix in ("-wal", "-shm"):
        journal = RunFolder(folder / "run").journal
        journal.with_name(journal.name + suffix).unlink(missing_ok=True)
    plays_done(damaged("journal", data, folder))


def read_variables(data: bytes, folder: Path) -> None:
    """variables.csv, as ``tvs compare`` reads it."""
    compare(damaged("variables", data, folder), RunFolder(folder / "other"))


def read_selected(data: bytes, folder: Path) -> None:
    """selected.csv, as ``tvs transform`` reads it."""
    run = damaged("selected", data, folder)
    transform(run, str(folder / "table.csv"), str(folder / "out.csv"), force=True)


def read_table(data: bytes, folder: Path) -> None:
    """The table that is transformed, into text and into Parquet."""
    path = folder / "new.csv"
    path.write_bytes(data[1:])
    suffix = ".parquet" if data[:1] > b"\2" else ".csv.gz"
    transform(RunFolder(folder / "run"), str(path), str(folder / f"out{suffix}"), force=True)


def read_shown(data: bytes, folder: Path) -> None:
    """findings.json."""
    damaged("findings", data, folder).read_findings()


def write_page(data: bytes, folder: Path) -> None:
    """findings.json, and the page that is made of it."""
    run = damaged("findings", data, folder)
    run.render(run.read_findings())


def read_grouping(data: bytes, folder: Path) -> None:
    """A file of groups: the first byte says whether it is JSON or CSV."""
    path = folder / ("groups.json" if data[:1] < b"\1" else "groups.csv")
    path.write_bytes(data[1:])
    read_groups(path, COLUMNS)


def _finding_seeds() -> list[bytes]:
    return [sound_findings().to_json().encode()]


def _csv_of(n: int) -> list[bytes]:
    return [to_csv(VARIABLES[:n]).encode(), to_csv([]).encode()]


TARGETS = (
    Target("run-record", "run.json, up to the first play of `tvs resume`",
           lambda: [to_json(sound_run()).encode()], read_record,
           make_folder, changes=JSON, share=400, per_process=100_000),
    Target("run-journal", "the journal of a run, as `tvs resume` counts its plays",
           lambda: [sound_journal()], read_journal, make_folder, share=100),
    Target("run-variables", "variables.csv, as `tvs compare` reads it", lambda: _csv_of(3),
           read_variables, make_folder, tokens=CSV_TOKENS, changes=TABLE, share=300,
           per_process=100_000),
    Target("run-selected", "selected.csv, as `tvs transform` reads it", lambda: _csv_of(2),
           read_selected, make_folder, tokens=CSV_TOKENS, changes=TABLE, share=250),
    Target("run-table", "the table of `tvs transform`", csv_seeds, read_table,
           make_folder, tokens=CSV_TOKENS, changes=TABLE, share=30),
    Target("findings", "findings.json, as `tvs report` reads it", _finding_seeds, read_shown,
           make_folder, changes=JSON, share=500, per_process=100_000),
    Target("report", "findings.json, with the page made of it", _finding_seeds, write_page,
           make_folder, changes=JSON, share=2, quick=10, seconds=5.0),  # which draws six pictures
    Target("groups", "groups of columns, JSON and CSV",
           lambda: [b'\0{"words": ["text", "n*"], "x": ["x"]}', b"\1column,group\nx,a\nn,b\n"],
           read_grouping, changes=(*JSON, *TABLE), tokens=(b"column,group\n", b"[", b"*", b"?"),
           share=2500, per_process=100_000),
)  # fmt: skip
