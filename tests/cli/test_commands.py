"""The commands, called as the shell calls them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tests.cli.makers import QUICK, make_joint_table, make_table, write
from tvselect.bandit.stopping import StopReason
from tvselect.cli import main
from tvselect.runs.folder import SCHEMA


def names(found):
    return [variable["name"] for variable in found["selected"]]


@pytest.fixture
def table(here):
    return write(here / "t.csv")


@pytest.fixture
def run(answer, table):
    return answer("select", table, "-t", "y", *QUICK)["run"]


class TestSelect:
    def test_writes_a_run(self, answer, table, here):
        found = answer("select", table, "--target", "y", *QUICK)
        assert (found["state"], found["n_plays"], found["seed"]) == ("done", 60, 1)
        assert {path.name for path in (here / found["run"]).iterdir()} == {
            "run.json", "journal.sqlite", "selected.csv", "variables.csv", "findings.json",
            "report.html", "run.lock",
        }  # fmt: skip
        lines = (here / "tvs-t-1" / "selected.csv").read_text().splitlines()
        assert lines[0] == (
            "variable,selected,q_value,selection_rate,low,high,times_played,claim,group,"
            "effect,direction,of_class"
        )
        assert [line.split(",")[0] for line in lines[1:]] == names(found)
        assert set(names(found)) == {"a", "b"}
        effects = {line.split(",")[0]: line.split(",")[-3:] for line in lines[1:]}
        assert effects == {"a": ["5.5", "up", ""], "b": ["", "", ""]}
        assert {line.split(",")[2] for line in lines[1:]} == {"0.05"}  # (1 + 0) / (10 * 2)
        assert len((here / "tvs-t-1" / "variables.csv").read_text().splitlines()) == 6
        kept = json.loads((here / "tvs-t-1" / "run.json").read_text())
        assert (kept["schema"], kept["settings"]["max_fdr"]) == (SCHEMA, 0.1)
        assert kept["command"].startswith("tvs select ")
        assert kept["plan"]["columns"] == ["a", "b", "n1", "n2", "n3"]
        assert "What explains y?" in (here / "tvs-t-1" / "report.html").read_text()

    def test_a_seed_is_drawn_and_kept(self, answer, table, here):
        first = answer("select", table, "-t", "y", "--reward", "pvalue", "--plays", "20")
        again = answer(
            "select", table, "-t", "y", "--reward", "pvalue", "--plays", "20",
            "--seed", first["seed"],
        )  # fmt: skip
        assert (first["run"], again["run"]) == ("tvs-t-1", "tvs-t-2")
        files = [here / run / "variables.csv" for run in (first["run"], again["run"])]
        assert files[0].read_bytes() == files[1].read_bytes()

    def test_nothing_is_overwritten(self, failure, table, run):
        line = failure("select", table, "-t", "y", *QUICK, "--out", run)
        assert f"tvs resume {run}" in line
        assert "--out" in line

    def test_an_empty_folder_is_taken(self, answer, table, here):
        (here / "mine").mkdir()
        assert answer("select", table, "-t", "y", *QUICK, "--out", "mine")["run"] == "mine"

    def test_piped_and_quiet(self, tvs, table):
        code, out, err = tvs("select", table, "-t", "y", *QUICK, "--quiet")
        assert (code, err) == (0, "")
        assert out.splitlines()[0] == "variable\tq_value\tselection_rate\tlow\thigh"
        assert sorted(line.split("\t")[0] for line in out.splitlines()[1:]) == ["a", "b"]

    def test_patterns(self, answer, table):
        found = answer("select", table, "-t", "y", *QUICK, "--exclude", "n*,b")
        assert set(found["left_out"]) == {"n1", "n2", "n3", "b"}
        assert names(found) == ["a"]

    @pytest.mark.parametrize("option", ["--exclude", "--include", "--always"])
    def test_unknown_columns(self, option, failure, table):
        line = failure("select", table, "-t", "y", option, "n1,nn2")
        assert f"{option} names 'nn2'" in line
        assert "did you mean 'n2'?" in line

    def test_excluded_and_included(self, failure, table):
        line = failure("select", table, "-t", "y", "--exclude", "a", "--include", "a")
        assert "'a' is excluded and included" in line

    def test_always(self, answer, table, here):
        found = answer("select", table, "-t", "y", *QUICK, "--always", "n3")
        assert (names(found), found["always"]) == (["a", "b"], ["n3"])
        assert "Part of every play: 'n3'." in found["decisions"]

    @pytest.mark.parametrize("suffix", [".json", ".csv"])
    def test_groups(self, suffix, answer, table, here):
        content = {".json": '{"both": ["a", "n1"], "rest": ["n2", "n3"]}',
                   ".csv": "column,group\na,both\nn1,both\nn2,rest\nn3,rest\n"}  # fmt: skip
        (here / f"groups{suffix}").write_text(content[suffix])
        found = answer("select", table, "-t", "y", *QUICK, "--groups", f"groups{suffix}")
        assert set(names(found)) == {"a", "n1", "b"}
        assert {v["name"]: v["group"] for v in found["selected"]}["n1"] == "both"

    @pytest.mark.parametrize(
        ("name", "content", "expected"),
        [
            ("g.json", "{", "is no JSON: Expecting property name"),
            ("g.json", '{"one": ["a"], "one": ["b"]}', "has the key 'one' twice"),
            ("g.json", '{"a": "b"}', "must look like"),
            ("g.json", '{"g": ["aa"]}', "did you mean 'a'?"),
            ("g.json", '{"g": ["a"], "h": ["a"]}', "puts column 'a' into groups 'g' and 'h'"),
            ("g.csv", "a,b\n", "must begin with the line 'column,group'"),
            ("g.csv", "column,group\na\n", "line 2 of g.csv has 1 cell;"),
        ],
    )
    def test_bad_groups(self, name, content, expected, failure, table, here):
        (here / name).write_text(content)
        assert expected in failure("select", table, "-t", "y", "--groups", name)

    def test_groups_that_do_not_exist(self, failure, table):
        line = failure("select", table, "-t", "y", "--groups", "none.json")
        assert "none.json: no such file" in line

    def test_contradictions(self, failure, table):
        line = failure("select", table, "-t", "y", "--reward", "pvalue", "--iterations", "5")
        assert "--iterations is for --reward bart" in line
        assert "drop --no-stream" in failure(
            "select", table, "-t", "y", "--no-stream", "--rounds", "2"
        )
        line = failure("select", table, "-t", "y", "--decoys", "none")
        assert "--max-fdr 0.1 cannot be kept with --decoys none" in line
        assert "say --max-fdr none" in line

    def test_error_control(self, answer, table):
        found = answer("select", table, "-t", "y", *QUICK)
        assert (found["max_fdr"], found["expected_false"], found["n_decoys"]) == (0.1, 0.1, 50)
        assert 0 < found["highest_decoy"] < 1
        assert [v["q_value"] for v in found["selected"]] == [0.05, 0.05]
        claims = {tuple(claim["columns"]) for claim in found["claims"]}
        assert {("a",), ("b",)} <= claims

    def test_interactions(self, answer, tvs, here, monkeypatch):
        monkeypatch.setattr("tvselect.selectors.interactions.N_WITHOUT", 20)
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

    def test_a_stricter_level_takes_more_decoys(self, answer, table):
        found = answer("select", table, "-t", "y", *QUICK, "--max-fdr", "0.05")
        assert (found["max_fdr"], found["n_decoys"]) == (0.05, 100)

    def test_the_median_model(self, answer, table, here):
        found = answer("select", table, "-t", "y", *QUICK, "--max-fdr", "none")
        assert set(names(found)) == {"a", "b"}
        for name in ("max_fdr", "expected_false", "highest_decoy"):
            assert found[name] is None
        assert found["n_decoys"] == 0
        assert {v["q_value"] for v in found["selected"]} == {None}
        assert json.loads((here / "tvs-t-1" / "run.json").read_text())["settings"][
            "max_fdr"
        ] is None  # fmt: skip
        with_decoys = answer(
            "select", table, "-t", "y", *QUICK, "--max-fdr", "none", "--decoys", "shuffled"
        )
        assert (with_decoys["max_fdr"], with_decoys["n_decoys"]) == (None, 50)
        assert with_decoys["expected_false"] is not None

    def test_noise(self, answer, here):
        table = make_table()
        y = np.random.default_rng(1).permutation(table["y"].to_numpy())
        path = write(here / "noise.csv", table.set_column(5, "y", [y]))
        found = answer("select", path, "-t", "y", *QUICK)
        assert (found["selected"], found["expected_false"]) == ([], 0.0)

    def test_patience_and_time(self, answer, table):
        found = answer("select", table, "-t", "y", *QUICK, "--patience", "5")
        assert found["stop_reason"] == StopReason.PATIENCE == "patience"

    def test_no_time_for_a_play(self, tvs, table):
        code, out, err = tvs("select", table, "-t", "y", *QUICK, "--time-limit", "1e-9", "--json")
        assert (code, json.loads(out)["stop_reason"]) == (0, StopReason.TIME_LIMIT)
        assert json.loads(out)["selected"] == []
        assert "the time limit of 1e-09 s was over before the first play" in err
        (warned,) = json.loads(out)["warnings"]
        assert f"tvs: warning: {warned}" in err

    def test_a_traceback_only_when_asked_for(self, table, capsys):
        assert main(["select", "none.csv", "-t", "y", "--debug"]) == 1
        assert "Traceback" in capsys.readouterr().err

    def test_a_report_that_fails_is_no_disaster(self, tvs, table, monkeypatch):
        def fails(*_, **__):
            raise KeyError("template")

        monkeypatch.setattr("tvselect.report.gather", fails)
        code, out, err = tvs("select", table, "-t", "y", *QUICK)
        assert (code, len(out.splitlines())) == (0, 3)
        assert "warning: the report could not be made (KeyError: 'template')" in err

    def test_without_the_extra(self, tvs, table, monkeypatch):
        def fails(findings):
            raise ModuleNotFoundError("jinja2")

        monkeypatch.setattr("tvselect.report.render", fails)
        code, _, err = tvs("select", table, "-t", "y", *QUICK)
        assert code == 0
        assert "pip install 'tvselect[cli]'" in err
        assert "pip install 'tvselect[cli]'" in tvs("report", "tvs-t-1")[2]


class TestStream:
    def stream(self, here, suffix, n_rows=3000, **columns):
        table = make_table(n_rows)
        for name, values in columns.items():
            table = table.append_column(name, [values])
        return write(here / f"s{suffix}", table)

    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
    def test_formats(self, suffix, answer, here):
        path = self.stream(here, suffix)
        found = answer("select", path, "-t", "y", *QUICK, "--stream", "--batch-size", "100")
        assert (found["stream"], sorted(names(found))) == (True, ["a", "b"])
        assert found["n_plays"] == 60

    def test_many_rows(self, answer, here, monkeypatch):
        monkeypatch.setattr("tvselect.runs.inspect.ROWS_IN_MEMORY", 2000)
        path = self.stream(here, ".parquet")
        options = ["--reward", "pvalue", "--seed", "1", "--max-fdr", "none"]
        found = answer("select", path, "-t", "y", *options)
        assert (found["stream"], found["n_plays"]) == (True, 3)
        assert any("3,000 rows are more than 2,000" in text for text in found["decisions"])
        assert answer("select", path, "-t", "y", *QUICK, "--no-stream")["stream"] is False

    def test_little_memory(self, answer, here, monkeypatch):
        monkeypatch.setattr("tvselect.runs.inspect.available_memory", lambda: 100_000)
        options = ["--reward", "pvalue", "--max-fdr", "none"]
        found = answer("select", self.stream(here, ".csv"), "-t", "y", *options)
        assert found["stream"] is True

    def test_what_a_stream_cannot_read(self, answer, failure, here):
        a = [None if i % 10 == 0 else i * 37 % 3000 / 7 for i in range(3000)]
        days = pa.array(np.arange(3000) % 400, pa.int32()).cast(pa.date32())
        path = self.stream(here, ".parquet", gaps=a, day=days, row=np.arange(3000))
        options = ["--reward", "pvalue", "--stream", "--max-fdr", "none"]
        found = answer("select", path, "-t", "gaps", *options)
        assert found["n_rows"] == 2700
        assert set(found["left_out"]) == {"day", "row"}
        line = failure("select", path, "-t", "y", "--stream", "--include", "day")
        assert "column 'day' cannot be included: dates" in line

    def test_decoys(self, answer, here):
        path = self.stream(here, ".csv")
        options = [*QUICK, "--batch-size", "100"]
        found = answer("select", path, "-t", "y", *options, "--decoys", "knockoffs")
        assert found["n_decoys"] == 5
        assert answer("select", path, "-t", "y", *options, "--max-fdr", "none")["n_decoys"] == 0

    def test_more_rounds(self, answer, failure, here):
        path = self.stream(here, ".csv")
        options = ["--reward", "pvalue", "--seed", "1", "--batch-size", "500", "--max-fdr", "none"]
        run = answer("select", path, "-t", "y", *options)["run"]
        assert "say --rounds" in failure("resume", run, "--plays", "9")
        assert answer("resume", run, "--rounds", "2")["n_plays"] == 12
        assert "has 2 rounds" in failure("resume", run, "--rounds", "1")


class TestResume:
    def test_more_plays(self, answer, run, table, here):
        assert answer("resume", run, "--plays", "90")["n_plays"] == 90
        at_once = answer(
            "select", table, "-t", "y", "--reward", "pvalue", "--plays", "90", "--seed", "1"
        )
        files = [here / name / "selected.csv" for name in (run, at_once["run"])]
        assert files[0].read_bytes() == files[1].read_bytes()

    def test_a_complete_run(self, answer, run, here):
        before = (here / run / "selected.csv").read_bytes()
        (here / run / "selected.csv").unlink()
        assert answer("resume", run)["n_plays"] == 60
        assert (here / run / "selected.csv").read_bytes() == before

    def test_a_table_that_moved(self, answer, failure, run, table, here):
        table.rename(here / "moved.csv")
        assert "does not exist" in failure("resume", run)
        assert answer("resume", run, "--table", "moved.csv", "--plays", "70")["n_plays"] == 70

    def test_a_table_that_changed(self, failure, run, table):
        table.write_text(table.read_text().replace("0.", "1."))
        assert "is not the table that the run was begun with" in failure("resume", run)

    def test_plays_are_counted_in_all(self, failure, run, here):
        before = (here / run / "run.json").read_text()
        assert "has 60 plays already" in failure("resume", run, "--plays", "30")
        assert (here / run / "run.json").read_text() == before

    def test_rounds_in_memory(self, failure, run):
        assert "say --plays" in failure("resume", run, "--rounds", "2")

    @pytest.mark.parametrize("command", ["resume", "report"])
    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (None, "run.json does not exist"),
            ("{", "no JSON or was cut off"),
            ("[]", "not written by this version of tvs"),
            (f'{{"schema": {SCHEMA}}}', "not written by this version of tvs (at 'version')"),
            ('{"schema": 99}', f"has schema 99, this tvs reads {SCHEMA}"),
        ],
    )
    def test_no_run(self, command, content, expected, failure, here):
        (here / "folder").mkdir()
        if content is not None:
            (here / "folder" / "run.json").write_text(content)
        assert expected in failure(command, "folder")

    def test_no_folder(self, failure):
        assert "there is no folder nowhere" in failure("resume", "nowhere")


class TestReport:
    def test_again(self, tvs, run, here):
        page = here / run / "report.html"
        before = page.read_bytes()
        page.unlink()
        assert tvs("report", run)[:2] == (0, f"{run}/report.html\n")
        assert page.read_bytes() == before

    def test_open(self, tvs, run, monkeypatch):
        opened = []
        monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
        assert tvs("report", run, "--open")[0] == 0
        assert opened[0].startswith("file:///")

    def test_damaged_findings(self, failure, run, here):
        (here / run / "findings.json").write_text("{}")
        assert f"tvs resume {run}" in failure("report", run)
        (here / run / "findings.json").unlink()
        assert f"tvs resume {run}" in failure("report", run)


class TestTransform:
    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet", ".feather"])
    @pytest.mark.parametrize("given", [".csv", ".parquet", ".arrow"])
    def test_formats(self, given, suffix, answer, run, here):
        path = write(here / f"new{given}", make_table(40, seed=9))
        found = answer("transform", run, path, "-o", f"out{suffix}")
        assert found == {"out": f"out{suffix}", "n_rows": 40, "columns": ["a", "b", "y"]}
        assert self.read(here / f"out{suffix}").equals(
            make_table(40, seed=9).select(["a", "b", "y"])
        )

    def read(self, path):
        if path.suffix == ".parquet":
            return pq.read_table(path)
        if path.suffix == ".feather":
            return pa.feather.read_table(path)
        mark = "\t" if path.suffix == ".tsv" else ","
        return pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter=mark))

    def test_cells_stay_as_they_are(self, tvs, run, here):
        text = 'b,a,y\n007,NA,"x,y"\n1.50,,"two\nlines"\n'
        (here / "odd.csv").write_text(text)
        assert tvs("transform", run, "odd.csv", "-o", "out.csv")[0] == 0
        assert (here / "out.csv").read_text() == text

    def test_no_target_no_matter(self, answer, run, here):
        path = write(here / "new.csv", make_table().drop_columns(["y"]))
        assert answer("transform", run, path, "-o", "out.csv")["columns"] == ["a", "b"]

    def test_refusals(self, failure, answer, run, table, here):
        assert "is the table itself" in failure("transform", run, table, "-o", table)
        (here / "out.csv").touch()
        assert "say --force" in failure("transform", run, table, "-o", "out.csv")
        assert answer("transform", run, table, "-o", "out.csv", "--force")["n_rows"] == 120
        assert "the ending says the format" in failure("transform", run, table, "-o", "out.xls")
        assert "does not exist" in failure("transform", run, table, "-o", "no/out.csv")
        path = write(here / "new.csv", make_table().rename_columns(["A1", *"bcdef"]))
        assert "no column named 'a'" in failure("transform", run, path, "-o", "other.csv")


class TestCompare:
    def test_the_same(self, answer, run, table):
        other = answer("select", table, "-t", "y", *QUICK)["run"]
        found = answer("compare", run, other)
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
        assert lines[0].endswith("\tselection_rate_1\tselection_rate_2\tq_value_1\tq_value_2")
        assert lines[1].split("\t")[-2:] == ["0.050000", "0.100000"]
        assert lines[2].startswith("b\tyes\tno\t")

    def test_another_level(self, answer, run, table):
        other = answer("select", table, "-t", "y", *QUICK, "--max-fdr", "none")["run"]
        found = answer("compare", run, other)
        assert found["differences"] == ["The runs differ in max fdr: 0.1 and None."]
        assert {tuple(v["q_value"]) for v in found["variables"]} == {(0.05, None)}

    def test_damaged_results(self, failure, run, here):
        (here / run / "variables.csv").write_text("a,b\n1,2\n")
        assert f"'tvs resume {run}' writes it again" in failure("compare", run, run)


@pytest.mark.parametrize("mode", ["--stream", "--no-stream"])
def test_the_real_report(mode, table, capsys, here):
    table = write(here / "t.csv", make_table().append_column("kind", [["u", "v", "w"] * 40]))
    assert main(["select", str(table), "-t", "y", "--plays", "10", mode, "--out", "run"]) == 0
    assert ("nothing can be selected" in capsys.readouterr().err) == (mode == "--stream")
    page = (here / "run" / "report.html").read_text()
    assert "<html" in page
    assert "What explains y?" in page
    assert main(["report", "run"]) == 0
    assert (here / "run" / "report.html").read_text() == page


def test_demo(answer, failure, here):
    options = ["--rows", "200", "--columns", "60", "--plays", "40", "--out", "d"]
    found = answer("demo", *options)
    assert set(names(found)) == {"x0", "x1", "x2", "x3", "x4"}
    assert found["run"] == "d/run"
    assert "exists already" in failure("demo", *options)
    assert "say --columns 5 or more" in failure("demo", "--columns", "4", "--out", "small")


def test_demo_speaks_in_a_pipe(tvs, here):
    _, out, err = tvs("demo", "--rows", "200", "--columns", "60", "--plays", "40", "--out", "d")
    assert "Will they be found?" in err
    assert "Report:" in out
