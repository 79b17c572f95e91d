"""What is printed and written, whatever the columns are called and wherever it goes."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from fuzz.targets.runs import sound_findings
from tests.cli.makers import QUICK, changed, make_table, text_of, write
from tvselect.bandit.engine import StopReason
from tvselect.cli import main
from tvselect.cli.print import Terminal
from tvselect.report.page import render
from tvselect.runs.folder import RunFolder, from_csv
from tvselect.selectors.thompson import ThompsonSelector
from tvselect.trees import Sampler
from tvselect.words import escaped, printable

ROOT = Path(__file__).parents[2]
ESCAPE = "\x1b]0;owned\x07\x1b[31m"
TREES = ("--trees-only", "--iterations", "50", "--plays", "60", "--seed", "1")
NAMES = [f"a{ESCAPE}", "b\nforged\tyes\t1.0"]


def named(*names):
    """The usual table; its two signals have other names."""
    table = make_table()
    return table.rename_columns([*names, *table.column_names[len(names) :]])


def with_a_twin():
    a, noise = (make_table()[name].to_numpy() for name in ("a", "n1"))
    return changed(id=range(1, 121), copy=a + 0.01 * noise)


@pytest.fixture
def odd(here):
    return write(here / "t.parquet", named(*NAMES))


def be_a_terminal(monkeypatch):
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)


def python(*arguments, **settings):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=ROOT, timeout=300, check=False,
        stderr=subprocess.PIPE, **settings,
    )  # fmt: skip


class TestWithoutATerminal:
    def test_findings_alone_go_to_standard_output(self, here, tvs):
        path = write(here / "t.csv", with_a_twin())
        code, out, err = tvs("select", path, "-t", "y", *TREES, "--out", here / "run")
        assert code == 0
        assert out.splitlines()[0] == "variable\tq_value\tselection_rate\tlow\thigh"
        assert all(line.count("\t") == 4 for line in out.splitlines())
        said = err.splitlines()
        for part in (
            f"  {path}: 120 rows, 7 columns besides the target; 6 to choose from.",
            "  Left out: 'id', numbers the rows from 1 to 120.",
            "At least one of these matters, but these rows cannot tell which:",
        ):
            assert part in said
        assert "Search: 60 plays, scored by " in err
        assert "variables selected for 'y'" in err
        assert "one of: a, copy" in err or "one of: copy, a" in err
        assert str(here / "run" / "report.html") in err
        assert "\r" not in err
        code, out, err = tvs("select", path, "-t", "y", *TREES, "--exclude", "copy", "--quiet")
        assert (code, err) == (0, "")
        assert sorted(line.split("\t")[0] for line in out.splitlines()[1:]) == ["a", "b"]

    def test_nothing_was_found(self, here, tvs):
        noise = np.random.default_rng(1).permutation(make_table()["y"].to_numpy())
        path = write(here / "t.csv", changed(y=noise))
        code, out, err = tvs("select", path, "-t", "y", *QUICK, "--json")
        found = json.loads(out)
        assert (code, found["selected"], found["expected_false"]) == (0, [], 0.0)
        assert "Nothing here can be told from noise." in err
        assert tvs("select", path, "-t", "y", *QUICK, "--quiet")[2] == ""

    def test_one_is_singular(self, tvs, here):
        rows = "".join(f"{i % 7},{i % 7}.{i}\n" for i in range(40))
        (here / "one.csv").write_text(f"a,y\n{rows}")
        _, _, err = tvs("select", "one.csv", "-t", "y", "--plays", "1", "--seed", "1")
        assert "40 rows, 1 column besides the target" in err
        assert "Search: 1 play, scored by" in err
        assert "of 1 variable selected for 'y' (1 play, " in err
        assert "the only play is done" in err
        assert "these 1" not in err


class TestNames:
    def test_in_a_pipe_a_row_is_a_line(self, odd, tvs):
        code, out, err = tvs("select", odd, "-t", "y", *QUICK, "--out", "run")
        assert code == 0
        rows = [line.split("\t") for line in out.splitlines()]
        assert {row[0] for row in rows[1:]} == {escaped(name) for name in NAMES}
        assert {len(row) for row in rows} == {5}
        compared = tvs("compare", "run", "run")[1]
        assert {line.count("\t") for line in compared.splitlines()} == {10}
        assert len(compared.splitlines()) == 3
        assert "\x1b" not in out + err + compared

    def test_the_name_can_be_had_again(self):
        for name in (*NAMES, "back\\slash", "\u202ecod.exe", "\ud800"):
            assert escaped(name).encode("ascii").decode("unicode_escape") == name
            assert escaped(name).isprintable()
        assert escaped("größe 🙂") == "größe 🙂"

    def test_on_a_terminal_nothing_steers_it(self, odd, tvs, monkeypatch):
        be_a_terminal(monkeypatch)
        for command in (
            ("select", odd, "-t", "y", *QUICK, "--exclude", "n1", "--out", "run"),
            ("compare", "run", "run"),
            ("transform", "run", odd, "-o", "short.csv"),
        ):
            _, out, err = tvs(*command)
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
        options = (*QUICK, "--out", "run", "--feature-groups", groups)
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
    """In processes of their own."""

    def select(self, here, table, *options, **settings):
        command = ("-m", "tests.cli.makers", "select", table, "-t", "y", *QUICK, *options)
        return python(*command, "--out", here / "run", **settings)

    def test_closed_output_is_no_error(self, here):
        table, closed = write(here / "t.csv"), {"preexec_fn": lambda: os.close(1)}
        done = self.select(here, table, "--quiet", **closed)
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads((here / "run" / "run.json").read_text())["state"] == "done"
        assert (here / "run" / "journal.sqlite").read_bytes().startswith(b"SQLite format 3")

    def test_a_table_through_a_pipe_and_ascii_output(self, here):
        environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        data = text_of(named("größe", "b"), "\t").encode()
        done = self.select(here, "-", env=environment, stdout=subprocess.PIPE, input=data)
        assert done.returncode == 0
        assert b"standard input: 120 rows" in done.stderr
        found = [line.split(b"\t")[0] for line in done.stdout.splitlines()[1:]]
        assert sorted(found) == [b"b", b"gr\\xf6\\xdfe"]

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_full_output_is_one_error(self, here):
        with open("/dev/full", "wb") as full:
            done = self.select(here, write(here / "t.csv"), stdout=full)
        assert done.returncode == 1
        assert b"Traceback" not in done.stderr
        assert b"tvs: error: " in done.stderr


class TestInterrupts:
    @pytest.fixture
    def interrupted(self, monkeypatch):
        def interrupt(*_, **__):
            raise KeyboardInterrupt

        return lambda where: monkeypatch.setattr(where, interrupt)

    def test_while_the_report_is_made_the_run_is_kept(self, here, tvs, interrupted):
        write(here / "t.csv")
        interrupted("tvselect.report.gather")
        code, out, err = tvs("select", "t.csv", "-t", "y", *QUICK, "--out", "run")
        assert code == 130
        assert out.startswith("variable\t")
        assert "nothing" not in err
        assert "interrupted while the report was made; the run is kept" in err
        assert json.loads((here / "run" / "run.json").read_text())["state"] == "done"

    def test_a_forest_of_the_report_is_not_kept_in_part(self, here, capsys, monkeypatch):
        monkeypatch.setattr(ThompsonSelector, "interactions_", ())
        write(here / "t.csv")
        advance = Sampler.advance

        def interrupted(chain, n_iterations=None):
            if chain.n_done > 0.6 * chain.n_iterations:
                raise KeyboardInterrupt
            advance(chain, n_iterations)

        with monkeypatch.context() as patch:
            patch.setattr(Sampler, "advance", interrupted)
            assert main(["select", "t.csv", "-t", "y", *QUICK, "--out", "run"]) == 130
        assert "interrupted while the report was made" in capsys.readouterr().err
        assert not (here / "run" / "findings.json").exists()
        assert main(["resume", "run"]) == 0
        assert (here / "run" / "report.html").exists()

    def test_it_is_said_what_is_kept(self, here, run, tvs, interrupted):
        before = (here / "run" / "run.json").read_text()
        interrupted("tvselect.runs.play.write_results")
        code, _, err = tvs("resume", "run", "--plays", "80", "--quiet")
        assert code == 130
        assert err == "tvs: interrupted; 80 plays are kept; go on with: tvs resume run\n"
        assert (here / "run" / "run.json").read_text() == before

    @pytest.mark.parametrize(
        "where", ["tvselect.runs.play.prepare", "tvselect.bandit.chain.Chains.go_ahead"]
    )
    def test_before_the_first_play_is_made_nothing_is_left(self, where, tvs, here, interrupted):
        interrupted(where)
        code, out, err = tvs("select", write(here / "t.csv"), "-t", "y", *QUICK)
        assert (code, out) == (130, "")
        assert "interrupted" in err
        assert [path.name for path in here.iterdir()] == ["t.csv"]

    @pytest.mark.parametrize(
        ("work", "said"),
        [
            ("import greedy", "tvs: interrupted\n"),  # an import does not swallow it
            ("stubborn()", "\nstopped at once; plays that were made are kept in the journal\n"),
        ],
    )
    def test_it_ends_a_command(self, work, said, here):
        (here / "greedy.py").write_text(
            "import os, signal, time\n"
            "try:\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "    time.sleep(0.3)\n"
            "except BaseException:\n"
            "    pass\n"
        )
        code = f"""if True:
            import os, signal, sys, time
            sys.path.insert(0, {str(here)!r})
            from tvselect.cli import call

            def stubborn():
                try:
                    os.kill(os.getpid(), signal.SIGINT)
                except KeyboardInterrupt:
                    os.kill(os.getpid(), signal.SIGINT)

            def work(options, terminal):
                {work}
                time.sleep(5)
                print("not reached")

            call.COMMANDS["report"] = work
            sys.exit(call.main(["report", "run"]))
        """
        done = python("-c", code, stdout=subprocess.PIPE)
        assert (done.returncode, done.stdout, done.stderr.decode()) == (130, b"", said)


HOSTILE = """-x y;touch PWNED;$(touch PWNED)'`touch PWNED`"&|"""


def test_commands_that_are_proposed_can_be_pasted(here, tvs, monkeypatch):
    """Whatever the folder is called: every shell hands its name over as one word."""
    select = ("select", write(here / "t.csv"), "-t", "y", *QUICK, f"--out={HOSTILE}")
    folder, run = here / HOSTILE, f"./{HOSTILE}"

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    def proposed(name, *arguments):
        said = "".join(tvs(*arguments)[1:]).replace(f"{here}/", "")
        (command,) = re.findall(f"tvs {name} .*$", said, re.MULTILINE)
        words = shlex.split(command.removesuffix(" TABLE -o OUT keeps these columns"))
        assert words == ["tvs", name, run]
        shown = subprocess.check_output(["sh", "-c", command.replace("tvs", "echo", 1)], cwd=here)
        assert shown.decode().startswith(f"{name} {run}")
        assert not (here / "PWNED").exists()

    proposed("transform", *select)
    proposed("resume", *select)  # exists already
    with monkeypatch.context() as patch:
        patch.setattr("tvselect.report.gather", interrupt)
        proposed("resume", "resume", run)
        proposed("resume", "report", run)  # has no findings
        patch.setattr("tvselect.runs.play.write_results", interrupt)
        proposed("resume", "resume", run, "--plays", 80)
    record = folder / "run.json"
    record.write_text(record.read_text().replace('"done"', '"interrupted"'))
    proposed("resume", "worth", run)
    (folder / "variables.csv").write_text("")
    proposed("resume", "compare", run, run)
    findings = replace(sound_findings(), stop_reason=StopReason.INTERRUPTED, worth=None)
    page = render(replace(findings, about=replace(findings.about, folder=HOSTILE)))
    commands = re.findall("<code>tvs (resume|worth) (.*?)</code>", page)
    assert [(name, *shlex.split(unescape(rest))) for name, rest in commands] == [
        ("resume", run), ("worth", run),
    ]  # fmt: skip


def test_columns_that_are_always_included_are_no_selections(here, answer, tvs, monkeypatch):
    be_a_terminal(monkeypatch)
    path = write(here / "t.parquet")
    _, out, _ = tvs("select", path, "-t", "y", *QUICK, "--always", "a,n1", "--out", "run")
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

    found = answer("select", path, "-t", "y", *QUICK, "--always", "a,n1")
    assert [v["name"] for v in found["selected"]] == ["b"]
    assert found["always"] == ["a", "n1"]
    assert "3 to choose from" in found["decisions"][0]
    assert "Part of every play: 'a', 'n1'." in found["decisions"]


def test_a_group_has_one_line(here, tvs, monkeypatch):
    be_a_terminal(monkeypatch)
    (here / "groups.json").write_text(json.dumps({"pair": ["a", "n1"]}))
    path = write(here / "t.parquet")
    _, out, _ = tvs("select", path, "-t", "y", *QUICK, "--feature-groups", "groups.json")
    assert "2 of 4 variables selected" in out
    shown = [line.split()[0] for line in out.splitlines() if "█" in line]
    assert sorted(shown[:2]) == ["b", "pair"]
    assert len(set(shown)) == len(shown)
