"""What was lost, killed or too much."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
import tracemalloc
from functools import partial

import numpy as np

from tests.cli.makers import QUICK, make_table, write
from tests.hardening.faults.base import (
    DEADLINE,
    INTERRUPT,
    MEASURED,
    STREAM,
    TVS,
    expect,
    fault,
    python,
    said,
    select,
    tvs,
    wait_for,
)


@fault("16", "A second run in one folder", "deletes the first one's; a user's empty one, too")
def share_folders(folder):
    write(folder / "t.csv")
    (folder / "run").mkdir()
    commands = [[*TVS, "select", "t.csv", "-t", "y", *QUICK, "--out", "run"]] * 2
    started = [
        subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for command in commands
    ]
    errors = [process.communicate(timeout=DEADLINE)[1] for process in started]
    codes = sorted(process.returncode for process in started)
    state = json.loads((folder / "run" / "run.json").read_text())["state"]
    expect((codes, state) == ([0, 1], "done"), (codes, state, errors))
    (folder / "mine").mkdir()
    (folder / "link").symlink_to(folder / "mine")
    script = (
        "import tvselect.runs.play as p\nfrom tvselect.cli import main\n"
        "def prepare(*_): raise ValueError('the real reason')\n"
        "p.prepare = prepare\nsys.exit(main(sys.argv[1:]))"
    )
    for place in ("mine", "link"):
        done = python(folder, script, "select", "t.csv", "-t", "y", *QUICK, "--out", place)
        expect("the real reason" in done.stderr, done.stderr)
        expect(list((folder / "mine").iterdir()) == [], "something is left")
    return "of two that start, one runs and one is refused; a folder that was there stays"


@fault("17", "A refused writer", 'overwrites finished results: "failed", old selected.csv')
def suspend_writers(folder):
    write(folder / "t.parquet", make_table(4000))
    process = subprocess.Popen(
        [*TVS, "select", "t.parquet", "-t", "y", "--reward", "pvalue", "--seed", "1", "--plays",
         "3000", "--out", "run"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_for(folder / "run" / "journal.sqlite-wal", process)
        process.send_signal(signal.SIGSTOP)
        refused = said(tvs(folder, "resume", "run"))
    finally:
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=DEADLINE)
    run = json.loads((folder / "run" / "run.json").read_text())
    expect((run["state"], run["n_plays"]) == ("done", 3000), run["state"])
    return f'the second one is {refused}; the first one ends "done"'


@fault("18", "A limit of the address space", "kills `tvs select`")
def limit_memory(folder):
    limit = 6 * 2**30
    done = select(
        folder,
        env={"XDG_CACHE_HOME": str(folder / "cache")},
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, (limit, limit)),
    )
    expect(done.returncode == 0 and (folder / "run" / "report.html").exists(), done.stderr)
    return f"the run is kept, with a page of tables: `{done.stderr.strip()}`"


@fault("19", "A label of 100,000 characters in 20,000 rows", "asks for 7 GB")
def hold_long_labels(folder):
    from tvselect.inputs import read_outcome

    labels = ["a", "b"] * 10_000
    labels[5] = "x" * 100_000
    tracemalloc.start()
    read_outcome(labels, len(labels))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    expect(most < 20e6, most)
    return f"{most / 1e6:.1f} MB as an outcome; held as codes"


@fault("19", "A CSV of 0.9 MB with one cell of 5,000 characters", "takes 1.6 GB")
def hold_long_cells(folder):
    cells = [f"{'ab'[k % 2]},{k * 7919 % 1000 / 10}" for k in range(220_000)]
    cells[5] = f"{'x' * 5000},1"
    (folder / "t.csv").write_text("\n".join(["t,y", *cells, ""]))
    options = ("--stream", *STREAM, "--batch-size", "20000", "--no-report")
    done = tvs(folder, "select", "t.csv", "-t", "y", *options, command=MEASURED)
    megabytes = float(done.stdout.splitlines()[-1]) / 1024
    expect(megabytes < 800, (megabytes, done.stderr))
    return f"{megabytes:.0f} MB in all, the program included"


@fault("20", "Ctrl-C while the report is written", '"nothing new was written", but it was')
def interrupt_reports(folder):
    script = (
        "import tvselect.report as r\nfrom tvselect.cli import main\n"
        f"r.gather = lambda *_, **__: {INTERRUPT}\nsys.exit(main(sys.argv[1:]))"
    )
    write(folder / "t.csv")
    done = python(folder, script, "select", "t.csv", "-t", "y", *QUICK, "--out", "run")
    run = json.loads((folder / "run" / "run.json").read_text())
    expect(done.returncode == 130 and run["state"] == "done", done.stderr)
    expect("the run is kept" in done.stderr, done.stderr)
    return f"`{done.stderr.strip()}`"


@fault("20", "Ctrl-C during imports", "can be swallowed")
def interrupt_imports(folder):
    (folder / "greedy.py").write_text(
        f"import os, signal\ntry:\n    {INTERRUPT}\nexcept BaseException:\n    pass\n"
    )
    script = (
        "import time\nfrom tvselect.cli import call\n"
        "def report(*_):\n    import greedy\n    time.sleep(5)\n"
        "call.COMMANDS['report'] = report\nsys.exit(call.main(['report', 'run']))"
    )
    done = python(folder, script)
    expect(done.returncode == 130, done.stderr)
    return f"waits for the import, then `{done.stderr.strip()}`"


@fault("20", "Closed or ASCII standard output", "a traceback, or code 1 after the header")
def close_output(folder):
    done = select(folder, stdout=None, preexec_fn=lambda: os.close(1))
    expect(done.returncode == 0 and "Traceback" not in done.stderr, done.stderr)
    table = make_table()
    write(folder / "odd.parquet", table.rename_columns(["größe", *table.column_names[1:]]))
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = select(folder, table="odd.parquet", out="other", env=ascii_only)
    expect(done.returncode == 0 and "gr\\xf6\\xdfe" in done.stdout, done.stderr)
    return "code 0 both; a name is written as `gr\\xf6\\xdfe`"


@fault("20", "`transform` and permissions", "writes mode 0600")
def write_modes(folder):
    select(folder)
    modes = []
    for ending in ("csv", "parquet", "feather", "csv.gz"):
        tvs(folder, "transform", "run", "t.csv", "-o", f"short.{ending}", umask=0o022)
        modes.append(oct((folder / f"short.{ending}").stat().st_mode & 0o777))
    expect(set(modes) == {"0o644"}, modes)
    return "0644 under the usual mask 022"


@fault("20", "LassoReward, 3 positives of 2,000", "100 times as long as usual")
def fit_rare_classes(folder):
    from tvselect.inputs import read_outcome
    from tvselect.rewards import LassoReward
    from tvselect.rewards.base import Data

    X = np.random.default_rng(0).standard_normal((2000, 30))
    seconds = []
    for n_positive in (1000, 200, 3):
        outcome = read_outcome(np.arange(2000) < n_positive, 2000)
        play = LassoReward().start(Data(X, outcome, tuple(map(str, range(30)))))
        play(np.arange(30), np.random.default_rng(0))
        started = time.perf_counter()
        for seed in range(3):
            play(np.arange(30), np.random.default_rng(seed))
        seconds.append((time.perf_counter() - started) / 3)
    expect(seconds[2] < 30 * seconds[1], seconds)
    return f"{seconds[2]:.2f} s a play; 200 positives {seconds[1]:.2f} s, half {seconds[0]:.2f} s"
