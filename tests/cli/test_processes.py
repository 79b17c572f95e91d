"""Runs that are interrupted or killed, in processes of their own; and a terminal."""

import fcntl
import json
import os
import pty
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.cli.makers import make_table, write
from tvselect.cli import main

ROOT = Path(__file__).parents[2]
DEADLINE = 120.0
OPTIONS = ("--reward", "pvalue", "--seed", "1")


@pytest.fixture
def table(here):
    """Large enough that a play takes some milliseconds."""
    noise = pa.table({f"z{j}": make_table(2000, seed=j)["n1"] for j in range(100)})
    for name, column in zip(make_table().column_names, make_table(2000).columns, strict=True):
        noise = noise.append_column(name, column)
    return write(here / "t.parquet", noise)


def begin(*arguments):
    command = [sys.executable, "-m", "tests.cli.quick", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )


def wait_for_plays(folder, at_least, process):
    """Look at the journal until it holds some plays."""
    ends = time.monotonic() + DEADLINE
    while time.monotonic() < ends:
        assert process.poll() is None, process.communicate()
        if n_plays(folder / "journal.sqlite") >= at_least:
            return
        time.sleep(0.005)
    process.kill()
    raise AssertionError("no plays before the deadline")


def n_plays(journal):
    if not journal.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True)) as db:
            return db.execute("SELECT count(*) FROM plays").fetchone()[0]
    except sqlite3.Error:
        return 0


def results(folder):
    return [(folder / name).read_bytes() for name in ("selected.csv", "variables.csv")]


def undisturbed(tvs, table, folder, n_plays):
    options = [*OPTIONS, "--plays", n_plays, "--out", folder]
    assert tvs("select", table, "-t", "y", *options)[0] == 0
    return results(folder)


def test_a_killed_run_goes_on_to_the_same_bytes(tvs, table, here):
    process = begin("select", table, "-t", "y", *OPTIONS, "--plays", 150, "--out", here / "killed")
    wait_for_plays(here / "killed", 10, process)
    process.kill()
    process.communicate()
    assert n_plays(here / "killed" / "journal.sqlite") < 150
    assert json.loads((here / "killed" / "run.json").read_text())["state"] == "running"
    assert not (here / "killed" / "selected.csv").exists()
    assert tvs("resume", here / "killed")[0] == 0
    assert results(here / "killed") == undisturbed(tvs, table, here / "other", 150)


def test_an_interrupted_run_keeps_what_is_known(tvs, table, here):
    process = begin(
        "select", table, "-t", "y", *OPTIONS, "--plays", 100_000, "--out", here / "stopped"
    )
    wait_for_plays(here / "stopped", 10, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert f"tvs resume {here / 'stopped'}" in err
    assert out.startswith("variable\t")
    kept = json.loads((here / "stopped" / "run.json").read_text())
    assert kept["state"] == "interrupted"
    assert (here / "stopped" / "report.html").exists()
    done = kept["n_plays"]
    assert results(here / "stopped") == undisturbed(tvs, table, here / "other", done)
    assert tvs("resume", here / "stopped", "--plays", done + 5)[0] == 0
    assert json.loads((here / "stopped" / "run.json").read_text())["state"] == "done"


def test_an_interrupt_before_the_first_play_leaves_nothing(tvs, here, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tvselect.runs.play.prepare", interrupted)
    code, out, err = tvs("select", write(here / "t.csv"), "-t", "y", *OPTIONS)
    assert (code, out) == (130, "")
    assert "interrupted" in err
    assert [path.name for path in here.iterdir()] == ["t.csv"]


def test_an_interrupt_in_the_first_play_leaves_nothing(tvs, here, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tvselect.bandit.chain.Chains.ask", interrupted)
    assert tvs("select", write(here / "t.csv"), "-t", "y", *OPTIONS)[:2] == (130, "")
    assert [path.name for path in here.iterdir()] == ["t.csv"]


def test_a_second_interrupt_ends_at_once(here):
    code = """if True:
        import os, signal, sys
        from tvselect.cli import call

        def stubborn(options, terminal):
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                os.kill(os.getpid(), signal.SIGINT)
            print("not reached")

        call.COMMANDS["report"] = stubborn
        sys.exit(call.main(["report", "run"]))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert "stopped at once" in done.stderr


def test_a_reader_that_goes_away_is_no_error(here):
    code = (
        "import sys; from tvselect.cli import main; "
        "sys.exit(main(['select', 't.csv', '-t', 'y', '--reward', 'pvalue', '--plays', '5']))"
    )
    write(here / "t.csv")
    reader, writer = os.pipe()
    os.close(reader)
    stub = "import tvselect.runs.play as p; p.write_report = lambda *_, **__: None; "
    done = subprocess.run(
        [sys.executable, "-c", stub + code], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


ON_A_TERMINAL = """
import json, sys
from tests.cli.quick import quick

for command in json.loads(sys.argv[1]):
    print("ended with", quick(command), flush=True)
"""


def on_a_terminal(*commands):
    """What someone at a terminal sees of each command, one process for all."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-c", ON_A_TERMINAL, json.dumps(commands)])
    size = struct.pack("HHHH", 40, 100, 0, 0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
    seen = b""
    try:
        while block := os.read(terminal, 2**16):
            seen += block
    except OSError:  # the other side has ended
        pass
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    *screens, rest = seen.decode().split("ended with 0\r\n")
    assert (len(screens), rest) == (len(commands), "")
    return screens


@pytest.mark.filterwarnings("ignore:.*forkpty.*:DeprecationWarning")
def test_on_a_terminal(here):
    path = write(here / "t.csv", make_table().append_column("id", [list(range(0, 360, 3))]))
    arguments = ["select", str(path), "-t", "y", *OPTIONS, "--plays", "60"]
    run, again = str(here / "run"), str(here / "again")
    twin = pa.array(make_table()["a"].to_numpy() + 0.01 * make_table()["n1"].to_numpy())
    noise = np.random.default_rng(1).permutation(make_table()["y"].to_numpy())
    twins = write(here / "twins.csv", make_table().append_column("copy", twin))
    no_signal = write(here / "noise.csv", make_table().set_column(5, "y", [noise]))
    talkative, quiet, compared, of_twins, of_noise, median = on_a_terminal(
        [*arguments, "--out", run],
        [*arguments, "--quiet", "--out", again],
        ["compare", run, again],
        ["select", str(twins), *arguments[2:], "--out", str(here / "twins")],
        ["select", str(no_signal), *arguments[2:], "--out", str(here / "noise")],
        [*arguments, "--max-fdr", "none", "--out", str(here / "median")],
    )
    for part in (
        "Left out: 'id', an identifier by its name.",
        "60/60",
        "2 of 5 variables selected for 'y'",
        "On average at most 10 % of the",
        "Expected number of false ones among these 2: 0.1.",
        "variable  q-value  selection rate",
        "95 % interval",
        "████",
        "report.html",
    ):
        assert part in talkative
    assert "60/60" not in quiet
    assert "Left out" not in quiet
    assert "95 % interval" in quiet
    assert "Same data, same settings." in compared
    assert "Jaccard index 1.00" in compared
    assert "At least one of these matters, but these rows cannot tell which:" in of_twins
    assert "one of: a, copy (q-value" in of_twins or "one of: copy, a (q-value" in of_twins
    assert "At least one" not in talkative
    for part in (
        "Nothing here can be told from noise.",
        "has a q-value of",
        "of 50 decoys in",
        "With 120 rows, only stronger effects can be seen than there are here.",
        "0 of 5 variables selected",
    ):
        assert part in of_noise
    assert "Expected number" not in of_noise
    assert "Error control is off: how many of the selected are false is not known." in median
    assert "q-value" not in median


def test_the_entry_point_is_main():
    text = (ROOT / "pyproject.toml").read_text()
    assert 'tvs = "tvselect.cli:main"' in text
    assert callable(main)
