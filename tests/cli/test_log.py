"""What is said without a terminal: all but the findings on standard error."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.cli.makers import QUICK, make_table, write

ROOT = Path(__file__).parents[2]
DEADLINE = 300


def run(*arguments, data=None):
    command = [sys.executable, "-m", "tests.cli.quick", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, input=data, cwd=ROOT, check=True, timeout=DEADLINE
    )


def test_decisions_and_caveats_go_to_standard_error(here):
    twin = pa.array(make_table()["a"].to_numpy() + 0.01 * make_table()["n1"].to_numpy())
    table = make_table().append_column("id", [range(1, 121)]).append_column("copy", twin)
    path = write(here / "t.csv", table)
    done = run("select", path, "-t", "y", *QUICK, "--out", here / "run")
    out, err = done.stdout.decode(), done.stderr.decode()
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


def test_nothing_was_found(here):
    noise = np.random.default_rng(1).permutation(make_table()["y"].to_numpy())
    path = write(here / "t.csv", make_table().set_column(5, "y", [noise]))
    done = run("select", path, "-t", "y", *QUICK, "--out", here / "run", "--json")
    assert json.loads(done.stdout)["selected"] == []
    assert b"Nothing here can be told from noise." in done.stderr
    quiet = run("select", path, "-t", "y", *QUICK, "--out", here / "again", "--quiet")
    assert quiet.stderr == b""


def test_a_table_through_a_pipe(here):
    data = write(here / "t.tsv").read_bytes()
    done = run("select", "-", "-t", "y", *QUICK, "--out", here / "run", data=data)
    assert sorted(line.split(b"\t")[0] for line in done.stdout.splitlines()[1:]) == [b"a", b"b"]
    assert b"standard input: 120 rows" in done.stderr
