"""The commands, called as the shell calls them."""

import codecs
import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tests.cli.makers import (
    INTERACTIONS,
    QUICK,
    changed,
    make_joint_table,
    make_table,
    names,
    write,
)
from tvselect import __version__
from tvselect.bandit.engine import StopReason
from tvselect.cli import main
from tvselect.cli.call import explain
from tvselect.inputs.errors import InputError
from tvselect.runs import RunError
from tvselect.runs.folder import SCHEMA
from tvselect.runs.transform import MOST_OF_SHEET
from tvselect.selectors.thompson import ThompsonSelector
from tvselect.sources import open_files

HEAVY = ("numpy", "scipy", "sklearn", "pyarrow", "pandas", "tqdm", "narwhals", "shtab")
SELECT = ("select", "t.csv", "-t", "y")


@pytest.fixture
def table(here):
    return write(here / "t.csv")


class TestSelect:
    def test_writes_a_run(self, answer, table, here):
        found = answer("select", table, "--target", "y", *QUICK)
        assert (found["state"], found["n_plays"], found["seed"]) == ("done", 60, 1)
        folder = here / "tvs-t-1"
        assert here / found["run"] == folder
        assert {path.name for path in folder.iterdir()} == {
            "run.json", "journal.sqlite", "selected.csv", "variables.csv", "findings.json",
            "report.html", "run.lock",
        }  # fmt: skip
        lines = (folder / "selected.csv").read_text().splitlines()
        assert lines[0] == (
            "variable,selected,q_value,selection_rate,low,high,times_played,claim,group,"
            "effect,direction,of_class,seen"
        )
        assert [line.split(",")[0] for line in lines[1:]] == names(found)
        assert set(names(found)) == {"a", "b"}
        effects = {line.split(",")[0]: line.split(",")[-4:-1] for line in lines[1:]}
        assert effects == {"a": ["5.5", "up", ""], "b": ["", "", ""]}
        assert {line.split(",")[2] for line in lines[1:]} == {"0.05"}  # (1 + 0) / (10 * 2)
        assert len((folder / "variables.csv").read_text().splitlines()) == 6
        kept = json.loads((folder / "run.json").read_text())
        assert (kept["schema"], kept["settings"]["max_fdr"]) == (SCHEMA, 0.1)
        assert kept["command"].startswith("tvs select ")
        assert kept["plan"]["columns"] == ["a", "b", "n1", "n2", "n3"]
        assert "What explains y?" in (folder / "report.html").read_text()
        assert (found["max_fdr"], found["expected_false"], found["n_decoys"]) == (0.1, 0.1, 50)
        assert 0 < found["highest_decoy"] < 1
        assert [v["q_value"] for v in found["selected"]] == [0.05, 0.05]
        assert {("a",), ("b",)} <= {tuple(claim["columns"]) for claim in found["claims"]}

    def test_workers_that_change_the_numbers_are_said(self, tvs, told, table):
        for options in ("--jobs 1", "--jobs 2", "--jobs 1 --window 4", "--jobs 2 --window 4"):
            _, _, err = tvs(*SELECT, *QUICK, *options.split(), "--no-report")
            assert ("How many workers there are changes" in err) == (options == "--jobs 2")
        (said,) = told("compare", "tvs-t-1", "tvs-t-2")["differences"]
        assert said.startswith("The runs differ in window: 1 and 32 plays chosen together")
        assert told("compare", "tvs-t-3", "tvs-t-4")["differences"] == []

    def test_a_stream_of_the_same_table_has_the_same_data(self, tvs, told, table):
        for mode in ("--no-stream", "--stream"):
            tvs(*SELECT, "--reward", "pvalue", "--seed", "1", mode, "--no-report")
        differences = ["The runs differ in streamed: False and True."]
        assert told("compare", "tvs-t-1", "tvs-t-2")["differences"] == differences
        table.write_bytes(table.read_bytes().replace(b"\n", b"\r\n"))
        tvs(*SELECT, "--reward", "pvalue", "--seed", "1", "--stream", "--no-report")
        first, second = told("compare", "tvs-t-1", "tvs-t-3")["differences"]
        assert first.startswith("The data may differ (")
        assert first.endswith("t.csv was written again).")
        assert second == differences[0]

    def test_a_seed_is_drawn_and_kept(self, answer, table, here):
        options = ("--reward", "pvalue", "--plays", "20")
        first = answer(*SELECT, *options)
        again = answer(*SELECT, *options, "--seed", first["seed"])
        assert (first["run"], again["run"]) == ("tvs-t-1", "tvs-t-2")
        files = [here / run / "variables.csv" for run in (first["run"], again["run"])]
        assert files[0].read_bytes() == files[1].read_bytes()

    def test_interactions(self, answer, tvs, here, monkeypatch):
        monkeypatch.setattr(ThompsonSelector, "interactions_", INTERACTIONS)
        table = write(here / "joint.csv", make_joint_table())
        found = answer("select", table, "-t", "y", *QUICK)
        (pair,) = found["interactions"]
        assert set(pair["columns"]) == {"a", "b"}
        assert pair["q_value"] == 0.05
        lines = (here / found["run"] / "interactions.csv").read_text().splitlines()
        assert lines[0] == "first,second,strength,q_value"
        assert lines[1].split(",") == ["a", "b", f"{pair['strength']:.6g}", "0.05"]
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        _, out, _ = tvs("resume", found["run"], "--plays", "61")
        assert "\ninteractions: a x b (q 0.050)\n" in out

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ("--max-fdr 0.05", {"max_fdr": 0.05, "n_decoys": 100}),  # a stricter one takes more
            ("--max-fdr none", {"max_fdr": None, "n_decoys": 0, "expected_false": None,
                                "highest_decoy": None, "q_values": {None}}),
            ("--max-fdr none --decoys knockoffs", {"max_fdr": None, "n_decoys": 50}),
            ("--patience 5", {"stop_reason": StopReason.PATIENCE}),
            ("--exclude n*,b", {"selected": ["a"], "left_out": {"n1", "n2", "n3", "b"}}),
        ],
    )  # fmt: skip
    def test_settings(self, options, expected, answer, table):
        found = answer(*SELECT, *QUICK, *options.split())
        found |= {"q_values": {v["q_value"] for v in found["selected"]}}
        found |= {"selected": sorted(names(found)), "left_out": set(found["left_out"])}
        expected = {"selected": ["a", "b"]} | expected
        assert {name: found[name] for name in expected} == expected

    def test_what_knockoffs_will_take_is_said_before_they_are_made(self, tvs, table):
        _, _, err = tvs(*SELECT, *QUICK, "--plays", "5", "--decoys", "knockoffs")
        assert "Knockoffs of 5 columns take about 7 s and 0.1 GB before the first play." in err

    def test_no_time_for_a_play(self, told, tvs, table):
        found = told(*SELECT, *QUICK, "--time-limit", "1e-9")
        assert (found["stop_reason"], found["selected"]) == (StopReason.TIME_LIMIT, [])
        (warned,) = found["warnings"]
        assert "the time limit of 1e-09 s was over before the first play" in warned

    def test_a_traceback_only_when_asked_for(self, capsys):
        assert main(["select", "none.csv", "-t", "y", "--debug"]) == 1
        assert "Traceback" in capsys.readouterr().err

    def test_a_report_that_fails_is_no_disaster(self, tvs, table, monkeypatch):
        def fails(*_, **__):
            raise KeyError("template")

        monkeypatch.setattr("tvselect.report.gather", fails)
        code, out, err = tvs(*SELECT, *QUICK)
        assert (code, len(out.splitlines())) == (0, 3)
        assert "warning: the report could not be made (KeyError: 'template')" in err

    def test_without_the_extra(self, tvs, table, monkeypatch):
        def fails(findings):
            raise ModuleNotFoundError("jinja2")

        monkeypatch.setattr("tvselect.report.render", fails)
        code, _, err = tvs(*SELECT, *QUICK)
        assert code == 0
        assert "pip install 'tvselect[cli]'" in err
        assert "pip install 'tvselect[cli]'" in tvs("report", "tvs-t-1")[2]

    def test_no_report(self, answer, tvs, table, here):
        assert answer(*SELECT, *QUICK, "--out", "run", "--no-report")["report"] is None
        page = here / "run" / "report.html"
        assert not page.exists()
        assert tvs("report", "run")[0] == 0
        assert page.exists()
        assert answer("resume", "run", "--plays", "61", "--no-report")["report"] is None
        assert not page.exists()


class TestStream:
    def stream(self, here, suffix, n_rows=3000, **columns):
        return write(here / f"s{suffix}", changed(make_table(n_rows), **columns))

    @pytest.mark.parametrize(
        ("limit", "value", "said"),
        [
            ("ROWS_IN_MEMORY", 2000, "3,000 rows are more than 2,000"),
            ("available_memory", lambda: 100_000, "GB that are free"),
        ],
    )
    def test_a_large_table_is_streamed(self, limit, value, said, answer, here, monkeypatch):
        monkeypatch.setattr(f"tvselect.runs.inspect.{limit}", value)
        select = ("select", self.stream(here, ".parquet"), "-t", "y", "--reward", "pvalue")
        found = answer(*select, "--max-fdr", "none")
        assert (found["stream"], found["n_plays"]) == (True, 3)
        assert said in "\n".join(found["decisions"])
        assert answer(*select, "--plays", "5", "--no-stream")["stream"] is False

    def test_what_a_stream_cannot_read(self, answer, failure, here):
        a = [None if i % 10 == 0 else i * 37 % 3000 / 7 for i in range(3000)]
        days = pa.array(np.arange(3000) % 400, pa.int32()).cast(pa.date32())
        path = self.stream(here, ".parquet", gaps=a, day=days, row=np.arange(3000))
        options = ["--reward", "pvalue", "--stream", "--max-fdr", "none"]
        found = answer("select", path, "-t", "gaps", *options)
        assert found["n_rows"] == 2700
        assert set(found["left_out"]) == {"row"}
        days_said = "Dates become numbers (days since 1970-01-01): 'day'."
        assert days_said in found["decisions"]
        found = answer("select", path, "-t", "y", *options, "--always", "day")
        assert found["always"] == ["day"]
        path = self.stream(here, ".parquet", gaps=[np.inf, *a[1:]])
        line = failure("select", path, "-t", "y", "--stream", "--include", "gaps")
        assert "column 'gaps' cannot be included: infinite" in line

    def test_decoys(self, answer, here):
        path = self.stream(here, ".csv")
        options = [*QUICK, "--batch-size", "100"]
        found = answer("select", path, "-t", "y", *options, "--decoys", "knockoffs")
        assert found["n_decoys"] == 15
        assert answer("select", path, "-t", "y", *options, "--max-fdr", "none")["n_decoys"] == 0

    def test_more_rounds(self, answer, failure, here):
        path = self.stream(here, ".csv")
        options = ["--reward", "pvalue", "--seed", "1", "--batch-size", "500", "--max-fdr", "none"]
        run = answer("select", path, "-t", "y", *options)["run"]
        assert "say --rounds" in failure("resume", run, "--plays", "9")
        assert answer("resume", run, "--rounds", "2")["n_plays"] == 12
        assert "has 2 rounds" in failure("resume", run, "--rounds", "1")
        assert "a run on a stream" in failure("worth", run)


class TestResume:
    def test_more_plays(self, answer, run, here):
        assert answer("resume", run, "--plays", "90")["n_plays"] == 90
        at_once = answer(*SELECT, *QUICK, "--plays", "90")
        files = [here / name / "selected.csv" for name in (run, at_once["run"])]
        assert files[0].read_bytes() == files[1].read_bytes()

    def test_a_complete_run(self, answer, run, here):
        before = (here / run / "selected.csv").read_bytes()
        (here / run / "selected.csv").unlink()
        assert answer("resume", run)["n_plays"] == 60
        assert (here / run / "selected.csv").read_bytes() == before

    def test_a_table_that_moved(self, answer, failure, run, here):
        (here / "t.csv").rename(here / "moved.csv")
        assert "does not exist" in failure("resume", run)
        assert answer("resume", run, "--table", "moved.csv", "--plays", "70")["n_plays"] == 70


def becomes(name, text):
    return lambda here: (here / name).write_text(text)


def renamed(here):
    write(here / "t.csv", make_table().rename_columns(["A1", *"bcdef"]))


def replaced(here):
    write(here / "t.csv", make_table(seed=9))


AGAIN = "write it again: tvs resume run"
REFUSED = [
    ("resume nowhere", None, "there is no folder nowhere"),
    ("resume run --plays 30", None, "has 60 plays already"),
    ("resume run --rounds 2", None, "say --plays"),
    ("worth run --folds 60", None, "less than five for each of 60 folds"),
    ("worth run --table nowhere.csv", None, "nowhere.csv does not exist"),
    ("transform run t.csv -o t.csv", None, "is the table itself"),
    ("transform run t.csv -o out.csv", becomes("out.csv", ""), "say --force"),
    ("transform run t.csv -o out.xls", None, "out.xls must end in .csv.gz, .tsv.gz, .csv"),
    ("transform run t.csv -o no/out.csv", None, "does not exist"),
    ("transform run t.csv -o out.csv", renamed, "no column named 'a'"),
    ("compare run run", becomes("run/variables.csv", "a,b\n1,2\n"), AGAIN),
    ("report run", becomes("run/findings.json", "{}"), AGAIN),
    ("report run", lambda here: (here / "run" / "findings.json").unlink(), AGAIN),
    ("resume run", replaced, "is not the table that the run was begun with"),
    ("worth run", replaced, "is not the table that the run was begun with"),
    ("resume run", renamed, "has no column 'a' any more, but the run chose from it"),
    ("report .", None, "run.json does not exist"),
] + [
    (f"{command} run", becomes("run/run.json", content), said)
    for command in ("resume", "report")
    for content, said in (
        ("{", "no JSON or was cut off"),
        ("[]", "not written by this version of tvs"),
        (f'{{"schema": {SCHEMA}}}', "not written by this version of tvs (at 'version')"),
        ('{"schema": 99}', f"has schema 99, this tvs reads {SCHEMA}"),
    )
]  # fmt: skip


@pytest.mark.parametrize(("command", "change", "said"), REFUSED)
def test_what_is_refused(command, change, said, failure, run, here):
    """In one line, and nothing is written."""
    if change is not None:
        change(here)
    assert said in failure(*command.split())


class TestReport:
    def test_again(self, tvs, run, here, monkeypatch):
        page = here / run / "report.html"
        before = page.read_bytes()
        page.unlink()
        assert tvs("report", run)[:2] == (0, f"{run}/report.html\n")
        assert page.read_bytes() == before
        opened = []
        monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
        assert tvs("report", run, "--open")[0] == 0
        assert opened[0].startswith("file:///")


class TestWorth:
    def test_scores_are_printed_and_kept(self, answer, run, here):
        found = answer("worth", run, "--folds", "3")
        assert (found["score"], len(found["selected"]), found["n_rows"]) == ("R2", 3, 120)
        assert np.mean(found["selected"]) > 0.5 > np.mean(found["none"])
        kept = json.loads((here / run / "findings.json").read_text())["worth"]
        assert kept == found
        assert "selected columns  R2" in (here / run / "report.html").read_text()

    def test_what_it_costs_is_said_before_where_it_can_be_done(self, tvs, run):
        code, out, err = tvs("worth", run, "--folds", "2")
        assert code == 0
        assert out.splitlines()[0].startswith("selected columns  R2")
        assert "Selecting again 2 times" in err
        assert "Selecting again" not in tvs("worth", run, "--folds", "60")[2]


class TestStability:
    def test_seeds_are_counted_and_kept(self, answer, run, here):
        found = answer("stability", run, "--seeds", "3")
        assert len(found["seeds"]) == len(found["n_selected"]) == 3
        assert (set(found["names"][:2]), found["shares"][:2]) == ({"a", "b"}, [1.0, 1.0])
        kept = json.loads((here / run / "findings.json").read_text())["stability"]
        assert kept == found
        assert answer("stability", run, "--seeds", "3")["shares"] == found["shares"]

    def test_they_stay_with_the_run_until_it_makes_more_plays(self, answer, tvs, run, here):
        assert tvs("worth", run, "--folds", "2")[0] == 0
        assert tvs("stability", run, "--seeds", "2")[0] == 0

        def kept():
            found = json.loads((here / run / "findings.json").read_text())
            return [found["worth"] is not None, found["stability"] is not None]

        assert "left out" not in tvs("resume", run)[2]
        assert kept() == [True, True]
        _, _, err = tvs("resume", run, "--plays", "61")
        for name in ("worth", "stability"):
            assert f"the {name} in the report was measured before these plays" in err
            assert f"measure it again: tvs {name} {run}" in err
        assert kept() == [False, False]

    def test_of_a_stream(self, tvs, here):
        write(here / "t.csv", make_table(1200))
        options = (*QUICK, "--stream", "--batch-size", "40", "--out", "run")
        assert tvs(*SELECT, *options)[0] == 0
        code, out, err = tvs("stability", "run", "--seeds", "2")
        assert code == 0
        assert out.endswith("Mean Jaccard index of 2 seeds: 1.00\n")
        assert "Searching again with 2 other seeds" in err


class TestTransform:
    @pytest.mark.parametrize(
        ("given", "suffix"),
        [(".csv", ".tsv"), (".parquet", ".csv.gz"), (".csv", ".parquet"), (".arrow", ".feather"),
         (".parquet", ".csv"), (".csv", ".csv"), (".parquet", ".xlsx")],
    )  # fmt: skip
    def test_formats(self, given, suffix, answer, run, here):
        path = write(here / f"new{given}", make_table(40, seed=9))
        found = answer("transform", run, path, "-o", f"out{suffix}")
        assert found == {"out": f"out{suffix}", "n_rows": 40, "columns": ["a", "b", "y"]}
        out = here / f"out{suffix}"
        if suffix == ".parquet":
            written = pq.read_table(out)
        elif suffix == ".feather":
            written = pa.feather.read_table(out)
        elif suffix == ".xlsx":
            written = open_files(out).read()
        else:
            mark = "\t" if suffix == ".tsv" else ","
            written = pa.csv.read_csv(out, parse_options=pa.csv.ParseOptions(delimiter=mark))
        assert written.equals(make_table(40, seed=9).select(["a", "b", "y"]))

    def test_cells_stay_as_they_are(self, tvs, run, here):
        text = 'b,a,y\n007,NA,"x,y"\n1.50,,"two\nlines"\n'
        (here / "odd.csv").write_text(text)
        assert tvs("transform", run, "odd.csv", "-o", "out.csv")[0] == 0
        assert (here / "out.csv").read_text() == text

    def test_what_excel_would_get_wrong(self, tvs, run, here):
        y = ["=1+1", "Größe", None]
        when = [datetime(2024, 5, 1, tzinfo=UTC), None, datetime(2024, 5, 2, tzinfo=UTC)]
        pq.write_table(pa.table({"a": [1.5, np.nan, 3.0], "b": when, "y": y}), here / "new.parquet")
        for out in ("out.xlsx", "out.csv"):
            assert tvs("transform", run, "new.parquet", "-o", out)[0] == 0
        (_, *rows) = openpyxl.load_workbook(here / "out.xlsx").active.values
        assert [row[2] for row in rows] == y
        assert [row[0] for row in rows] == [1.5, None, 3]
        assert rows[0][1] == "2024-05-01 00:00:00+00:00"
        text = (here / "out.csv").read_bytes()
        assert text.startswith(codecs.BOM_UTF8 + b"a,b,y")
        assert open_files("out.csv").read().column("y").to_pylist() == y

    def test_too_many_rows_for_a_sheet(self, failure, run, monkeypatch):
        monkeypatch.setitem(MOST_OF_SHEET, "rows", 100)
        line = failure("transform", run, "t.csv", "-o", "out.xlsx")
        assert "a sheet holds 100 rows, not 120; write .parquet" in line

    def test_no_target_no_matter(self, answer, run, here):
        path = write(here / "new.csv", make_table().drop_columns(["y"]))
        assert answer("transform", run, path, "-o", "out.csv")["columns"] == ["a", "b"]

    def test_a_file_is_replaced_only_by_force(self, answer, run, here):
        (here / "out.csv").touch()
        assert answer("transform", run, "t.csv", "-o", "out.csv", "--force")["n_rows"] == 120


class TestCompare:
    def test_the_same(self, answer, run, here):
        shutil.copytree(run, "other")
        found = answer("compare", run, "other")
        assert (found["jaccard"], found["same"]) == (1.0, True)
        assert [v["difference"] for v in found["variables"]] == [0.0, 0.0]

    def test_other_data_and_settings(self, answer, tvs, run, here):
        path = write(here / "u.csv", make_table(seed=8).drop_columns(["b"]))
        options = ["--reward", "pvalue", "--plays", "40", "--seed", "2", "--chains", "2"]
        other = answer("select", path, "-t", "y", *options)["run"]
        found = answer("compare", run, other)
        assert found["jaccard"] == 0.5
        assert [(v["name"], v["selected"]) for v in found["variables"]] == [
            ("a", [True, True]), ("b", [True, False]),
        ]  # fmt: skip
        text = " ".join(found["differences"])
        for part in ("data differ", "plays: 60 and 40", "chains: 1 and 2", "chose from 'b'"):
            assert part in text
        _, out, err = tvs("compare", run, other)
        assert "Jaccard index" in err
        lines = out.splitlines()
        assert "\tselection_rate_1\tselection_rate_2\tq_value_1\tq_value_2\teffect_1" in lines[0]
        assert lines[1].split("\t")[5:7] == ["0.050000", "0.100000"]
        assert lines[2].startswith("b\tyes\tno\t")

    def test_another_level(self, answer, run):
        other = answer(*SELECT, *QUICK, "--max-fdr", "none")["run"]
        found = answer("compare", run, other)
        assert found["differences"] == ["The runs differ in max fdr: 0.1 and not set."]
        assert {tuple(v["q_value"]) for v in found["variables"]} == {(0.05, None)}

    def test_any_number_on_a_page(self, answer, tvs, failure, run, here):
        for name in ("other", "third"):
            shutil.copytree(run, name)
        for name, rows in (
            ("other", [("a,yes", "a,no"), (",up,", ",down,")]),
            ("third", [("b,yes", "b,no"), ("5.5,up", "55,up")]),
        ):
            path = here / name / "variables.csv"
            text = path.read_text().replace(*rows[0]).replace(*rows[1])
            path.write_text(text.replace(",5.5,down", ",5.5,up") if name == "other" else text)
        runs = (run, "other", "third")
        found = answer("compare", *runs)
        assert found["runs"] == list(runs)
        assert {v["name"]: v["selected"] for v in found["variables"]} == {
            "a": [True, False, True], "b": [True, True, False],
        }  # fmt: skip
        assert found["jaccard"] == pytest.approx((0.5 + 0.5 + 0) / 3)
        assert found["effects"] == [
            "The effect of a differs: 5.5 in the first run, 55 in the third."
        ]
        path = here / "third" / "variables.csv"
        path.write_text(path.read_text().replace("55,up", "5.5,down"))
        against = "The effect of a has another direction: up in the first run, down in the third."
        assert answer("compare", *runs, "-o", "page.html")["effects"] == [against]
        page = (here / "page.html").read_text()
        for words in ("3 runs compared", "0 of 2 variables are selected by all", against):
            assert words in page
        assert "page.html exists already" in failure("compare", *runs, "-o", "page.html")
        assert "must end in .html" in failure("compare", *runs, "-o", "page.pdf")
        assert "name two or more" in failure("compare", run)


def test_demo(tvs, failure, here):
    options = ["--rows", "200", "--columns", "60", "--plays", "40", "--out", "d"]
    code, out, err = tvs("demo", *options)  # speaks in a pipe, too
    assert code == 0
    assert "Will they be found?" in err
    assert "5 of 60 variables selected" in out
    assert "Report: d/run/report.html" in out
    lines = (here / "d" / "run" / "selected.csv").read_text().splitlines()
    assert {line.split(",")[0] for line in lines[1:]} == {"x0", "x1", "x2", "x3", "x4"}
    assert "exists already" in failure("demo", *options)
    assert "say --columns 5 or more" in failure("demo", "--columns", "4", "--out", "small")


def test_a_tilde_is_the_home_of_the_user(answer, table, here, monkeypatch):
    """Also where no shell has seen it, as in ``--out=~/run``."""
    monkeypatch.setenv("HOME", str(here / "home"))
    (here / "home").mkdir()
    (here / "home" / "g.csv").write_text("column,group\na,one\nn1,one\n")
    answer(*SELECT, *QUICK, "--out=~/run", "--feature-groups=~/g.csv")
    assert answer("resume", "~/run")["run"] == str(here / "home" / "run")
    assert answer("compare", "~/run", "~/run")["same"]
    answer("demo", "--rows=40", "--columns=6", "--plays=2", "--out=~/d")
    assert {path.name for path in (here / "home").iterdir()} == {"g.csv", "run", "d"}


def test_help_and_version_import_nothing_heavy(here):
    code = (
        "import sys; from tvselect.cli import main; "
        "codes = [main(arguments.split()) for arguments in sys.argv[2:]];"
        "print([name for name in sys.argv[1].split(',') if name in sys.modules], codes)"
    )
    arguments = ["--help", "select --help", "--version"]
    command = [sys.executable, "-c", code, ",".join(HEAVY), *arguments]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[] [0, 0, 0]"
    assert "tvs select prices.csv --target price" in out
    assert f"tvs {__version__}" in out


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "choose",
        "select t.csv",
        "select t.csv -t y --plays 0",
        "select t.csv -t y --plays many",
        "select t.csv -t y --seed -1",
        "select t.csv -t y --time-limit nan",
        "select t.csv -t y --reward money",
        "select t.csv -t y --max-fdr 1",
        "select t.csv -t y --max-fdr little",
        "select t.csv -t y --decoys ducks",
        "select t.csv -t y --cluster head-node",
        "select t.csv -t y --jobs 2 --cluster tcp://127.0.0.1:9",
        "transform run t.csv",
        "worth run --folds 1",
        "plot run -o f.png --width 0",
        "plot run -o f.png --width nan",
        "completion dos",
    ],
)
def test_wrong_usage(arguments, tvs):
    code, out, err = tvs(*arguments.split())
    assert (code, out) == (2, "")
    assert "usage: tvs" in err


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(shell, tvs, here):
    code, out, err = tvs("completion", shell)
    assert (code, err) == (0, "")
    assert "transform" in out
    assert "--target" in out or shell == "tcsh"  # shtab completes no options there
    if shell == "bash" and shutil.which("bash"):
        (here / "script").write_text(out)
        subprocess.run(["bash", "-n", here / "script"], check=True)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("'a' holds lists", "leave it out with {columns}"),
         "'a' holds lists; leave it out with --exclude"),
        (InputError("y has 3 values", "say {family}"), "y has 3 values; say --family gaussian"),
        (InputError("10 rows are too few", "raise {batch_size}"),
         "10 rows are too few; raise --batch-size"),
        (RunError("two\n lines"), "two lines"),
        (MemoryError(), "the table does not fit into memory; say --stream"),
        (FileNotFoundError(2, "No such file or directory", "t.csv"),
         "t.csv: no such file or directory"),
        (KeyError("x"),
         "this should not happen (KeyError: 'x'); run again with --debug and tell us"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_in_the_words_of_the_options(error, line):
    assert explain(error) == line
