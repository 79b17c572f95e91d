"""The faults that a review with hostile eyes found in version 0.1.0, tried again one by one.

``make check-faults`` writes docs/results/faults.md and fails if one of them is still there.
"""

from __future__ import annotations

import json
import os
import pty
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.records import ROOT, heading, record
from tests.cli.makers import QUICK, make_table, write

DEADLINE = 300
STREAM = ("--reward", "pvalue", "--seed", "1", "--batch-size", "40", "--max-fdr", "none")
TVS = (sys.executable, "-m", "tvselect.cli")
MEASURED = (
    sys.executable,
    "-c",
    """
import resource, sys
from tvselect.cli import main
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
""",
)
INTERRUPT = "os.kill(os.getpid(), signal.SIGINT)"
FAULTS: list[tuple[str, str, str, Callable[[Path], str]]] = []


class StillThereError(Exception):
    """What happens, where something else should."""


def fault(number: str, what: str, before: str) -> Callable[..., Callable[[Path], str]]:
    """Enter a check into the list; it gets an empty folder and says what happens now."""

    def enter(check: Callable[[Path], str]) -> Callable[[Path], str]:
        FAULTS.append((number, what, before, check))
        return check

    return enter


def expect(is_so: bool, otherwise: object) -> None:
    """Raise unless a fault is gone."""
    if not is_so:
        raise StillThereError(" ".join(str(otherwise).split())[:300])


def tvs(folder, *arguments, command=TVS, env=None, **settings):
    """Run a command in a folder."""
    return subprocess.run(
        [*command, *map(str, arguments)], cwd=folder, timeout=DEADLINE, check=False,
        env={**os.environ, "PYTHONPATH": ":".join([str(ROOT), *sys.path]), **(env or {})},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **settings},
    )  # fmt: skip


def select(folder, *options, table="t.csv", out="run", **settings):
    if table == "t.csv":
        write(folder / table)
    return tvs(folder, "select", table, "-t", "y", *(options or QUICK), "--out", out, **settings)


def said(done) -> str:
    """The line with which a command has refused."""
    expect(done.returncode == 1 and done.stderr.count("\n") == 1, (done.returncode, done.stderr))
    return f"refused: `{done.stderr.removeprefix('tvs: error: ').strip()}`"


def change(folder, edit):
    path = folder / "run" / "run.json"
    values = json.loads(path.read_text())
    edit(values)
    path.write_text(json.dumps(values))


def python(folder, script, *arguments, **settings):
    script = f"import os, signal, sys\n{script}"
    return tvs(folder, *arguments, command=(sys.executable, "-c", script), **settings)


class Listener:
    """Somebody who waits for calls and never answers."""

    def __enter__(self):
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen()
        self._socket.settimeout(0.2)
        self.host = f"127.0.0.1:{self._socket.getsockname()[1]}"
        return self

    def __exit__(self, *_):
        self._socket.close()

    @property
    def was_called(self):
        try:
            self._socket.accept()[0].close()
        except TimeoutError:
            return False
        return True


@fault("1", "A run folder can run code", "`tvs resume` joins the scheduler that run.json names")
def run_code(folder):
    select(folder)
    with Listener() as scheduler:
        change(folder, lambda run: run["settings"].update(cluster=f"tcp://{scheduler.host}"))
        done = tvs(folder, "resume", "run", "--plays", 80)
        expect(not scheduler.was_called, "the scheduler was called")
    return f"nobody is called; {said(done)}"


@fault("2", "Keys in an address", "left in run.json, findings.json and report.html")
def keep_secrets(folder):
    script = (
        "import tvselect.sources.files as f, pyarrow.fs as fs\nfrom tvselect.cli import main\n"
        f"f.open_remote = lambda url: (fs.LocalFileSystem(), {str(folder / 't.csv')!r})\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    write(folder / "t.csv")
    address = "s3://AKEY:S3CR3T@bucket/t.csv"
    done = python(folder, script, "select", address, "-t", "y", *QUICK, "--out", "run")
    expect(done.returncode == 0, done.stderr)
    texts = [path.read_bytes() for path in (folder / "run").iterdir()]
    found = sum(b"S3CR3T" in text or b"AKEY" in text for text in texts)
    expect(found == 0 and "S3CR3T" not in done.stdout + done.stderr, f"in {found} files")
    kept = json.loads((folder / "run" / "run.json").read_text())["plan"]["table"]
    return f"in none of {len(texts)} files; kept is `{kept}`"


@fault("2", "An endpoint in run.json", "gets signed headers in clear; `resume` hangs")
def call_endpoints(folder):
    select(folder)
    with Listener() as host:
        address = f"s3://bucket/t.csv?scheme=http&endpoint_override={host.host}"
        change(folder, lambda run: run["plan"].update(table=address))
        keys = {"AWS_ACCESS_KEY_ID": "OWN", "AWS_SECRET_ACCESS_KEY": "OWN"}
        done = tvs(folder, "resume", "run", "--plays", 80, env=keys)
        expect(not host.was_called, "the endpoint was called")
    return f"nobody is called; {said(done)}"


@fault("2", "An endpoint that never answers", "`tvs select` hangs")
def wait_for_endpoints(folder):
    started = time.monotonic()
    with Listener() as host:
        address = f"s3://K:S@bucket/t.csv?scheme=http&endpoint_override={host.host}"
        done = tvs(folder, "select", address, "-t", "y")
    expect("Timeout" in done.stderr, done.stderr)
    return f"an error after {time.monotonic() - started:.0f} s: a timeout was reached"


ODD = ["a\x1b]0;owned\x07", "b\nforged\tyes"]


def odd_table(folder):
    table = make_table()
    return write(folder / "odd.parquet", table.rename_columns([*ODD, *table.column_names[2:]]))


@fault("3", "Escape sequences in names", "reach the terminal raw")
def steer_the_terminal(folder):
    odd_table(folder)
    here, there = pty.openpty()
    seen = bytearray()

    def listen():
        try:
            while block := os.read(here, 4096):
                seen.extend(block)
        except OSError:  # the other side is closed
            pass

    reader = threading.Thread(target=listen)
    reader.start()
    done = select(folder, table="odd.parquet", stdout=there)
    os.close(there)
    reader.join()
    os.close(here)
    expect(done.returncode == 0 and b"\x1b]0;" not in seen, seen)
    shown = next(line for line in seen.decode().splitlines() if "owned" in line)
    return f"shown as `{shown.split()[0]}`"


@fault("3", "Newlines and tabs in names", "forge rows in pipes and in `compare`")
def forge_rows(folder):
    odd_table(folder)
    rows = select(folder, table="odd.parquet").stdout.splitlines()
    compared = tvs(folder, "compare", "run", "run").stdout.splitlines()
    widths = [{line.count("\t") for line in lines} for lines in (rows, compared)]
    expect(widths == [{4}, {6}] and len(rows) == len(compared) == 3, (rows, compared))
    name = next(line for line in rows if "forged" in line).split("\t")[0]
    return f"a row each; the name is written as `{name}`"


@fault("3", "Formulas as names", "selected.csv keeps `=cmd\\|...`")
def keep_formulas(folder):
    table = make_table()
    names = ["=cmd|' /C calc'!A0", *table.column_names[1:]]
    write(folder / "odd.parquet", table.rename_columns(names))
    select(folder, table="odd.parquet")
    lines = (folder / "run" / "selected.csv").read_text().splitlines()
    cell = next(line.split(",")[0] for line in lines if "cmd" in line)
    expect(cell == f"'{names[0]}", cell)
    done = tvs(folder, "transform", "run", "odd.parquet", "-o", "short.parquet")
    expect(done.returncode == 0, done.stderr)
    return "written with an apostrophe in front, which tvs takes away again"


@fault("4", "journal.sqlite is a link", "`resume` creates a file outside the folder")
def follow_links(folder):
    select(folder)
    (folder / "run" / "journal.sqlite").unlink()
    (folder / "run" / "journal.sqlite").symlink_to(folder / "outside")
    done = tvs(folder, "resume", "run")
    expect(not (folder / "outside").exists(), "it was created")
    return said(done)


@fault("4", "run.json is a pipe", "hangs")
def wait_for_pipes(folder):
    select(folder)
    (folder / "run" / "run.json").unlink()
    os.mkfifo(folder / "run" / "run.json")
    return said(tvs(folder, "resume", "run"))


@fault(
    "8", "A column that is constant in the first 1,000 rows of a stream", "can never be selected"
)
def vary_late(folder):
    from tvselect import StreamingThompsonSelector

    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 6))
    y = 3 * X[:, 3] - 2 * X[:, 5] + rng.normal(size=5000)
    X[:1000, [1, 3]] = 0.0
    fitted = StreamingThompsonSelector("pvalue", batch_size=100, random_state=0).fit(X, y)
    found = np.flatnonzero(fitted.support_).tolist()
    expect(found == [3, 5], found)
    return "selected once it varies; one of noise that begins to vary is not"


@fault(
    "8",
    "3 positives in 2,000 rows of a stream",
    "17 of 20 batches skipped, noise selected, no warning",
)
def skip_batches(folder):
    from tvselect import StreamingThompsonSelector

    X, y = np.random.default_rng(0).normal(size=(2000, 12)), np.zeros(2000, dtype=int)
    y[[100, 700, 1500]] = 1
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        fitted = StreamingThompsonSelector(batch_size=100, random_state=0).fit(X, y)
    expect(len(heard) == 1 and not fitted.support_.any(), [str(one.message) for one in heard])
    return f"nothing is selected, and a warning: `{heard[0].message}`"


@fault("9", "Two rewards of one name", "a journal goes on with the other one")
def swap_rewards(folder):
    from tests.selectors.test_describing import KINDS
    from tvselect import ThompsonSelector
    from tvselect.bandit.journal import JournalError

    X = np.random.default_rng(0).normal(size=(50, 4))
    for kind, make in KINDS.items():
        if kind in ("array", "namespace", "compiled"):  # as arguments only, or not callable so
            continue
        journal = folder / kind
        ThompsonSelector(make(0.5), n_plays=3, journal=journal, random_state=1).fit(X, X[:, 0])
        try:
            ThompsonSelector(make(0.9), n_plays=6, journal=journal).fit(X, X[:, 0])
        except JournalError:
            continue
        raise StillThereError(kind)
    return f"refused for {len(KINDS) - 3} kinds: partials, closures, defaults, objects, ..."


@fault("10", "A worker with another version", "gives other numbers without a word")
def mix_versions(folder):
    import distributed

    from tests.runners.test_build import pretend
    from tvselect.runners import WorkerError, open_runner

    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(pretend, {"tvselect": "0.0.9"})
        with open_runner(client).bind(abs) as run:
            try:
                run([-1])
            except WorkerError as error:
                text = str(error).replace(cluster.workers[0].worker_address, "ADDRESS")
                return f"refused: `{text}`"
    raise StillThereError("it was played on")


def two_groups(path, order):
    rng = np.random.default_rng(0)
    tables = [make_table(20_000, seed=int(seed)) for seed in rng.integers(100, size=2)]
    with pq.ParquetWriter(
        path, tables[0].schema, write_statistics=False, use_dictionary=False, compression="none"
    ) as writer:
        for k in order:
            writer.write_table(tables[k], row_group_size=20_000)


@fault("11", "Row groups permuted in place", '`resume` ends "done"')
def permute_groups(folder):
    options = ("--reward", "pvalue", "--stream", "--batch-size", "2000", "--max-fdr", "none")
    path = folder / "t.parquet"
    two_groups(path, (0, 1))
    before = path.stat()
    done = select(folder, *options, table="t.parquet")
    expect(done.returncode == 0, done.stderr)
    two_groups(path, (1, 0))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    expect(path.stat().st_size == before.st_size, "the size has changed")
    return said(tvs(folder, "resume", "run", "--rounds", 2))


@fault("11", "A Parquet replaced in mid-run", 'the run ends "done"')
def replace_tables(folder):
    for name, seed in (("t", 1), ("other", 2)):
        table = make_table(40_000, seed=seed)
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=1000)
    options = ("--reward", "pvalue", "--stream", "--batch-size", 1000, "--max-fdr", "none",
               "--rounds", 100, "--seed", 1)  # fmt: skip
    process = subprocess.Popen(
        [*TVS, *map(str, ("select", "t.parquet", "-t", "y", *options, "--out", "run"))],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(folder / "run" / "journal.sqlite-wal", process)
    os.replace(folder / "other.parquet", folder / "t.parquet")
    _, err = process.communicate(timeout=DEADLINE)
    run = json.loads((folder / "run" / "run.json").read_text())
    expect(process.returncode == 1 and run["state"] == "failed", (run["state"], err))
    return f'ends with an error, state "{run["state"]}": the file was changed or replaced'


@fault("15", "A time limit of nearly 0", "no plays, nothing selected, no warning")
def give_no_time(folder):
    done = select(folder, "--reward", "pvalue", "--time-limit", "1e-9")
    expect("was over before the first play" in done.stderr, done.stderr)
    return f"`{done.stderr.removeprefix('tvs: ').strip()}`"


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
        "import time\nfrom tvselect.cli import command\n"
        "def report(*_):\n    import greedy\n    time.sleep(5)\n"
        "command.COMMANDS['report'] = report\nsys.exit(command.main(['report', 'run']))"
    )
    done = python(folder, script)
    expect(done.returncode == 130, done.stderr)
    return f"waits for the import, then `{done.stderr.strip()}`"


@fault("20", "Closed or ASCII standard output", "a traceback, or code 1 after the header")
def close_output(folder):
    done = select(folder, stdout=None, preexec_fn=lambda: os.close(1))
    expect((done.returncode, done.stderr) == (0, ""), done.stderr)
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


def wait_for(path, process):
    """Wait until a log has plays."""
    ends = time.monotonic() + DEADLINE
    while not (path.exists() and path.stat().st_size > 50_000):
        expect(process.poll() is None and time.monotonic() < ends, "no plays")
        time.sleep(0.002)


def main() -> int:
    """Try all of them; returns how many are still there."""
    lines = [
        *heading("Faults of version 0.1.0, tried again", "make check-faults"),
        '"Before" is what the review reported of version 0.1.0, "now" is what this command saw.',
        "",
        "| | fault | before | now |",
        "|---|---|---|---|",
    ]
    n_left = 0
    for number, what, before, check in FAULTS:
        with tempfile.TemporaryDirectory() as name:
            try:
                after = check(Path(name).resolve())
            except (StillThereError, subprocess.TimeoutExpired) as error:
                n_left += 1
                after = f"**still there**: {error}"
            after = after.replace(str(Path(name).resolve()), "FOLDER").replace("|", "\\|")
            lines.append(f"| {number} | {what} | {before} | {after} |")
            print(lines[-1], file=sys.stderr, flush=True)
    record("faults.md", lines)
    return n_left


if __name__ == "__main__":
    sys.exit(main())
