"""What is printed and written, whatever the columns are called and wherever it goes."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.makers import QUICK, make_table, write
from tvselect.cli.print import Terminal
from tvselect.report.characters import escaped, printable
from tvselect.runs.folder import RunFolder, from_csv

ROOT = Path(__file__).parents[2]
ESCAPE = "\x1b]0;owned\x07\x1b[31m"
NAMES = [f"a{ESCAPE}", "b\nforged\tyes\t1.0"]


def named(*names):
    """The usual table; its two signals have other names."""
    table = make_table()
    return table.rename_columns([*names, *table.column_names[len(names) :]])


@pytest.fixture
def odd(here):
    return write(here / "t.parquet", named(*NAMES))


def python(code, *arguments, **settings):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT, timeout=300, check=False,
        stderr=subprocess.PIPE, **settings,
    )  # fmt: skip


MAIN = "import sys; from tests.cli.quick import quick; sys.exit(quick(sys.argv[1:]))"


class TestNames:
    def test_in_a_pipe_a_row_is_a_line(self, odd, tvs):
        code, out, err = tvs("select", odd, "-t", "y", *QUICK, "--out", "run")
        assert code == 0
        assert "\x1b" not in err
        rows = [line.split("\t") for line in out.splitlines()]
        assert {row[0] for row in rows[1:]} == {escaped(name) for name in NAMES}
        assert {len(row) for row in rows} == {5}
        assert "\x1b" not in out
        compared = tvs("compare", "run", "run")[1]
        assert {line.count("\t") for line in compared.splitlines()} == {6}
        assert "\x1b" not in compared
        assert len(compared.splitlines()) == 3

    def test_the_name_can_be_had_again(self):
        for name in (*NAMES, "back\\slash", "\u202ecod.exe", "\ud800"):
            assert escaped(name).encode("ascii").decode("unicode_escape") == name
            assert escaped(name).isprintable()
        assert escaped("größe 🙂") == "größe 🙂"

    @pytest.mark.parametrize("command", ["select", "compare", "transform"])
    def test_on_a_terminal_nothing_steers_it(self, command, odd, tvs, monkeypatch, capsys):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
        _, out, err = tvs("select", odd, "-t", "y", *QUICK, "--exclude", "n1", "--out", "run")
        if command == "compare":
            _, out, err = tvs("compare", "run", "run")
        if command == "transform":
            _, out, err = tvs("transform", "run", odd, "-o", "short.csv")
        assert printable(NAMES[0]) in out
        assert "\x1b]" not in out + err
        assert "\nforged" not in out + err

    def test_in_errors_and_warnings(self, here, tvs, capsys):
        name = f"t{ESCAPE}.csv"
        write(here / name)
        err = tvs("select", name, "-t", "z")[2]
        assert err.count("\n") == 1
        assert "\x1b" not in err
        Terminal().warn(f"one{ESCAPE}\ntwo")
        Terminal().trace(f"one{ESCAPE}\ntwo")
        assert "\x1b" not in capsys.readouterr().err

    def test_in_a_spreadsheet_nothing_is_computed(self, here, tvs):
        names = ["=cmd|' /C calc'!A0", "@SUM(1+1)*cmd"]
        path = write(here / "t.parquet", named(*names))
        groups = here / "groups.json"
        groups.write_text(json.dumps({"+1": ["n1", "n2"]}))
        options = (*QUICK, "--out", "run", "--groups", groups)
        assert tvs("select", path, "-t", "y", *options)[0] == 0
        for file in ("selected.csv", "variables.csv"):
            with (here / "run" / file).open(newline="") as opened:
                cells = [cell for row in csv.reader(opened) for cell in row]
            assert {f"'{name}" for name in names} <= set(cells)
            assert not any(cell.startswith(tuple("=+-@\t\r")) for cell in cells)
        found = from_csv(RunFolder(here / "run").variables)
        assert {*names, "n1"} <= {variable.name for variable in found}
        assert "+1" in {variable.group for variable in found}
        assert tvs("transform", "run", path, "-o", "short.parquet")[0] == 0
        assert set(pq.read_table("short.parquet").column_names) == {*names, "y"}


class TestStreams:
    def test_closed_output_is_no_error(self, here):
        write(here / "t.csv")
        run = here / "run"
        done = python(
            MAIN, "select", here / "t.csv", "-t", "y", *QUICK, "--out", run, "--quiet",
            preexec_fn=lambda: os.close(1),
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads((run / "run.json").read_text())["state"] == "done"
        assert (run / "journal.sqlite").read_bytes().startswith(b"SQLite format 3")

    def test_ascii_output_says_names_by_number(self, here):
        path = write(here / "t.parquet", named("größe", "b"))
        environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        done = python(
            MAIN, "select", path, "-t", "y", *QUICK, "--out", here / "run", "--quiet",
            env=environment, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"gr\\xf6\\xdfe\t" in done.stdout

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_full_output_is_one_error(self, here):
        write(here / "t.csv")
        with open("/dev/full", "wb") as full:
            done = python(
                MAIN,
                "select",
                here / "t.csv",
                "-t",
                "y",
                *QUICK,
                "--out",
                here / "run",
                stdout=full,
            )
        assert done.returncode == 1
        assert b"Traceback" not in done.stderr
        assert b"tvs: error: " in done.stderr


class TestInterrupts:
    def test_while_the_report_is_made_the_run_is_kept(self, here, tvs, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        write(here / "t.csv")
        monkeypatch.setattr("tvselect.report.gather", interrupted)
        code, out, err = tvs("select", "t.csv", "-t", "y", *QUICK, "--out", "run")
        assert code == 130
        assert out.startswith("variable\t")
        assert "nothing" not in err
        assert "interrupted while the report was made; the run is kept" in err
        assert json.loads((here / "run" / "run.json").read_text())["state"] == "done"

    def test_it_is_said_what_is_kept(self, here, tvs, monkeypatch):
        write(here / "t.csv")
        assert tvs("select", "t.csv", "-t", "y", *QUICK, "--out", "run")[0] == 0
        before = (here / "run" / "run.json").read_text()

        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("tvselect.runs.play.write_results", interrupted)
        code, _, err = tvs("resume", "run", "--plays", "80", "--quiet")
        assert (code, err) == (
            130, "tvs: interrupted; 80 plays are kept; go on with: tvs resume run\n"
        )  # fmt: skip
        assert (here / "run" / "run.json").read_text() == before

    def test_an_import_does_not_swallow_it(self, here):
        (here / "greedy.py").write_text(
            "import os, signal, time\n"
            "try:\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "    time.sleep(0.3)\n"
            "except BaseException:\n"
            "    pass\n"
        )
        code = f"""if True:
            import sys, time
            sys.path.insert(0, {str(here)!r})
            from tvselect.cli import call

            def greedy(options, terminal):
                import greedy
                time.sleep(5)
                print("not reached")

            call.COMMANDS["report"] = greedy
            sys.exit(call.main(["report", "run"]))
        """
        done = python(code, stdout=subprocess.PIPE)
        assert (done.returncode, done.stdout) == (130, b"")
        assert done.stderr == b"tvs: interrupted\n"


def test_no_report_when_none_is_asked_for(here, answer, tvs):
    found = answer(
        "select", write(here / "t.csv"), "-t", "y", *QUICK, "--out", "run", "--no-report"
    )
    assert found["report"] is None
    assert not (here / "run" / "report.html").exists()
    assert tvs("report", "run")[0] == 0
    assert (here / "run" / "report.html").exists()
    assert answer("resume", "run", "--plays", "61", "--no-report")["report"] is None
    assert not (here / "run" / "report.html").exists()


class TestAlwaysIncluded:
    def test_they_are_no_selections(self, here, tvs, monkeypatch):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        path = write(here / "t.parquet")
        options = (*QUICK, "--always", "a,n1", "--out", "run")
        _, out, _ = tvs("select", path, "-t", "y", *options)
        assert "1 of 3 variables selected" in out
        assert "Always part of the model, not tested: 'a', 'n1'." in out
        assert next(line.split()[0] for line in out.splitlines() if "█" in line) == "b"
        found = {v.name: v for v in from_csv(RunFolder(here / "run").variables)}
        assert {name for name, v in found.items() if v.always} == {"a", "n1"}
        assert {name for name, v in found.items() if v.selected} == {"a", "b", "n1"}
        assert found["a"].q_value is None
        assert found["b"].q_value is not None
        assert tvs("transform", "run", path, "-o", "short.parquet")[0] == 0
        assert set(pq.read_table("short.parquet").column_names) == {"a", "b", "n1", "y"}
        assert "1 of 1 variables by both" in tvs("compare", "run", "run")[1]

    def test_they_have_a_list_of_their_own_for_scripts(self, here, answer, tvs):
        path = write(here / "t.parquet")
        found = answer("select", path, "-t", "y", *QUICK, "--always", "a,n1")
        assert [v["name"] for v in found["selected"]] == ["b"]
        assert found["always"] == ["a", "n1"]
        assert "3 to choose from" in found["decisions"][0]
        _, out, _ = tvs("select", path, "-t", "y", *QUICK, "--always", "a,n1")
        assert [line.split("\t")[0] for line in out.splitlines()[1:]] == ["b"]

    def test_all_columns_leave_nothing_to_select(self, here, failure):
        said = failure("select", write(here / "t.csv"), "-t", "y", "--always", "*")
        assert "are always included (--always, --covariates)" in said


def test_a_group_has_one_line(here, tvs, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    (here / "groups.json").write_text(json.dumps({"pair": ["a", "n1"]}))
    path = write(here / "t.parquet")
    _, out, _ = tvs("select", path, "-t", "y", *QUICK, "--groups", "groups.json")
    assert "2 of 4 variables selected" in out
    shown = [line.split()[0] for line in out.splitlines() if "█" in line]
    assert sorted(shown[:2]) == ["b", "pair"]
    assert len(set(shown)) == len(shown)


def test_one_is_singular(tvs, here):
    (here / "one.csv").write_text("a,y\n" + "".join(f"{i % 7},{i % 7}.{i}\n" for i in range(40)))
    code, _, err = tvs("select", "one.csv", "-t", "y", "--plays", "1", "--no-report", "--seed", "1")
    assert code == 0
    assert "40 rows, 1 column besides the target" in err
    assert "Search: 1 play, scored by" in err
    assert "of 1 variable selected for 'y' (1 play, " in err
    assert "the only play is done" in err
    assert "these 1" not in err
