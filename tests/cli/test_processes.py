"""Runs that are interrupted or killed, in processes of their own; and a terminal."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.cli.makers import QUICK, changed, make_table, write
from tests.waiting import n_plays, wait_for
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
    command = [sys.executable, "-m", "tests.cli.makers", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )


def wait_for_plays(folder, at_least, process):
    def are_there():
        assert process.poll() is None, process.communicate()
        return n_plays(folder / "journal.sqlite") >= at_least

    wait_for(are_there, DEADLINE)


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


@pytest.mark.parametrize("times", [2, pytest.param(200, marks=pytest.mark.long)])
def test_no_thread_of_a_reader_outlives_an_error(times, here):
    table = write(here / "t.csv", changed(y=np.ones(120)))
    core = min(os.sched_getaffinity(0))  # where threads wait for each other most
    command = [sys.executable, "-m", "tvselect.cli", "select", str(table), "-t", "y"]
    for _ in range(times):
        done = subprocess.run(
            command,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
            capture_output=True,
            text=True,
            cwd=here,
        )
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr


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


def test_a_reader_that_goes_away_is_no_error(here):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "tests.cli.makers", "select", write(here / "t.csv"), "-t", "y"]
    done = subprocess.run(
        [*command, *OPTIONS, "--plays", "5", "--out", here / "run"], cwd=ROOT, stdout=writer,
        stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(writer)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


ON_A_TERMINAL = """
import json, sys
from tests.cli.makers import quick

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


SEEN = {
    "talkative": [
        "Left out: 'id', an identifier by its name.",
        "60/60",
        "2 of 5 variables selected for 'y'",
        "On average at most 10 % of the",
        "Expected number of false ones among these 2: 0.1.",
        "variable  q-value  selection rate",
        "95 % interval",
        "████",
        "report.html",
    ],
    "quiet": ["95 % interval"],
    "compared": ["Same data, same settings.", "Jaccard index 1.00"],
    "twins": ["At least one of these matters, but these rows cannot tell which:"],
    "noise": [
        "Nothing here can be told from noise.",
        "has a q-value of",
        "of 50 decoys in",
        "With 120 rows, only stronger effects can be seen than there are here.",
        "0 of 5 variables selected",
    ],
    "median": ["Error control is off: how many of the selected are false is not known."],
}
NOT_SEEN = {
    "talkative": ["At least one"],
    "quiet": ["60/60", "Left out"],
    "noise": ["Expected number"],
    "median": ["q-value"],
}


@pytest.mark.filterwarnings("ignore:.*forkpty.*:DeprecationWarning")
def test_on_a_terminal(here):
    a, noise, y = (make_table()[name].to_numpy() for name in ("a", "n1", "y"))
    tables = {
        "run": changed(id=range(0, 360, 3)),
        "twins": changed(copy=a + 0.01 * noise),
        "noise": changed(y=np.random.default_rng(1).permutation(y)),
    }
    select = {
        name: ["select", str(write(here / f"{name}.csv", table)), "-t", "y", *QUICK,
               "--out", str(here / name)]
        for name, table in tables.items()
    }  # fmt: skip
    again, median = (["--out", str(here / name)] for name in ("again", "median"))
    screens = on_a_terminal(
        select["run"],
        [*select["run"], "--quiet", *again],
        ["compare", str(here / "run"), again[1]],
        select["twins"],
        select["noise"],
        [*select["run"], "--max-fdr", "none", *median],
    )
    seen = dict(zip(SEEN, screens, strict=True))
    for name, parts in SEEN.items():
        assert [part for part in parts if part not in seen[name]] == [], seen[name]
    for name, parts in NOT_SEEN.items():
        assert [part for part in parts if part in seen[name]] == [], seen[name]
    assert re.search(r"one of: (a, copy|copy, a) \(q-value", seen["twins"])


def test_the_entry_point_is_main():
    assert 'tvs = "tvselect.cli:main"' in (ROOT / "pyproject.toml").read_text()
    assert callable(main)
