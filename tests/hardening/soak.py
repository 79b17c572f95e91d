"""A soak: streaming on a cluster while things go wrong, next to a run that is left alone.

``make soak MINUTES=60`` plays a stream of Parquet files on two Dask workers. At random moments a
worker or the driver is killed, the end of the journal is cut off, a file of the table is replaced
by a part of itself, a second driver is sent into the same folder, a link or a pipe takes the place
of a file beside the journal, and the disk of the journal is slow all the time. After every fault
the run is started again and has to go on. Another run without cluster and without faults plays
beside it; at the end both journals must hold the same plays, bit by bit. The log goes to
docs/results/soak.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.records import ROOT, heading, record
from tests.waiting import n_plays
from tvselect import BartReward, Search, StreamingThompsonSelector
from tvselect.bandit.arms import Arms
from tvselect.bandit.journal import Journal
from tvselect.runs.folder import RunFolder

N_FILES, N_ROWS, N_COLUMNS, WINDOW = 12, 4_000, 40, 8
SLOW_SHARE, SLOW_SECONDS = 0.02, 1.0
BETWEEN_FAULTS, PATIENCE = 15.0, 1800.0
SIDE_FILES = ("journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite-journal", "run.lock")
ONE_WRITER, AT_WORK = "only one run may write", "another tvs is at work"
FAULTS = {
    "worker": 0.3, "driver": 0.2, "journal": 0.16, "table": 0.08, "folder": 0.07, "second": 0.07,
    "side_file": 0.07, "times": 0.05,
}  # fmt: skip


def make_files(folder: Path) -> None:
    """Files with two signals among 40 columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    folder.mkdir()
    for k in range(N_FILES):
        X = rng.random((N_ROWS, N_COLUMNS))
        y = 10 * X[:, 3] + 5 * (X[:, 7] > 0.5) + 3 * rng.standard_normal(N_ROWS)
        columns = {f"x{j}": X[:, j] for j in range(N_COLUMNS)} | {"y": y}
        pq.write_table(pa.table(columns), folder / f"{k:02}.parquet", row_group_size=1_000)


def drive(folder: Path, journal: Path, cluster: str | None, *, locked: bool) -> None:
    """Play until Ctrl-C, alone in the folder of the journal; on a cluster with a slow disk."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    if cluster is not None:
        slow_down(np.random.default_rng())
    selector = StreamingThompsonSelector(
        BartReward(n_iterations=300),
        batch_size=500,
        n_rounds=None,
        time_limit=1e6,
        search=Search(window=WINDOW, runner=cluster, journal=journal),
        random_state=7,
    )
    with RunFolder(journal.parent).held() if locked else nullcontext():
        selector.fit_source(folder, "y")


def slow_down(rng: np.random.Generator) -> None:
    """Let some writes into the journal take their time."""
    write = Journal._write

    def slowly(self: Journal, *what: Any) -> None:
        if rng.random() < SLOW_SHARE:
            time.sleep(rng.exponential(SLOW_SECONDS))
        write(self, *what)

    Journal._write = slowly  # type: ignore[method-assign]


def be_a_cluster() -> None:
    """Two workers; says where they are, and stays until its input ends.

    A worker that is killed again while it comes back is brought back, too: by default a
    ``LocalCluster`` gives it up after 15 s.
    """
    import dask
    from distributed import LocalCluster

    settings = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}),
        LocalCluster(**settings) as cluster,
    ):
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


def start(*arguments: Any, **settings: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.hardening.soak", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, text=True, **settings)


def wait_until(is_so: Callable[[], bool], problem: str) -> None:
    ends = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > ends:
            raise SystemExit(problem)
        time.sleep(0.2)


def require(words: str, said: Path) -> None:
    if words not in (text := said.read_text()):
        raise SystemExit(f"a driver ended without saying {words!r}: {text}")


class Soak:
    """The run that is disturbed, and its log."""

    def __init__(self, folder: Path, address: str, seed: int) -> None:
        self.table, self.folder, self.address = folder / "table", folder / "disturbed", address
        self.folder.mkdir()
        self.journal = RunFolder(self.folder).journal
        self.rng = np.random.default_rng(seed)
        self.began = time.monotonic()
        self.said, self.said_by_second = folder / "said", folder / "said-by-second"
        self.log: list[str] = []
        self.counts: Counter[str] = Counter()
        self.start_driver()

    def start_driver(self) -> None:
        self.counts["drivers started"] += 1
        self.n_before = n_plays(self.journal)
        self.driver = self.drive("--drive", self.said)

    def drive(self, how: str, said: Path) -> subprocess.Popen[str]:
        with said.open("w") as file:
            return start(how, self.table, self.journal, self.address, stderr=file)

    def say(self, what: str, counted: str = "") -> None:
        """Write down what happens, and count it."""
        self.counts.update([counted] if counted else [])
        seconds = int(time.monotonic() - self.began)
        line = f"{seconds // 60:3}:{seconds % 60:02}  {n_plays(self.journal):7,} plays  {what}"
        self.log.append(line)
        print(line, flush=True)

    def fault(self) -> None:
        """One fault, and what follows from it."""
        self.wait_for_progress()
        getattr(self, f"harm_{self.rng.choice(list(FAULTS), p=list(FAULTS.values()))}")()

    def wait_for_progress(self) -> None:
        """Until the run has gone on after the last fault; it must, sooner or later."""

        def has_gone_on() -> bool:
            if self.driver.poll() is not None:
                raise SystemExit(f"the driver ended by itself: {self.said.read_text()}")
            return n_plays(self.journal) > self.n_before

        wait_until(has_gone_on, "the run does not go on")
        self.n_before = n_plays(self.journal)

    def kill_driver(self) -> None:
        self.driver.kill()
        self.driver.wait()
        self.say("the driver is killed", "drivers killed")

    def harm_worker(self) -> None:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            pids = sorted(client.run(os.getpid).values())
        if pids:
            os.kill(int(self.rng.choice(pids)), signal.SIGKILL)
            self.say("a worker is killed", "workers killed")

    def harm_driver(self) -> None:
        self.kill_driver()
        self.start_driver()

    def harm_journal(self) -> None:
        self.kill_driver()
        log = self.journal.with_name(self.journal.name + "-wal")
        if log.exists() and (size := log.stat().st_size):
            cut = int(self.rng.integers(1, min(size, 4_000) + 1))
            os.truncate(log, size - cut)
            what = f"the last {cut:,} of {size:,} bytes of the journal's log are cut off"
            self.say(what, "journals cut")
        self.start_driver()

    def harm_table(self) -> None:
        path = self.table / f"{self.rng.integers(N_FILES):02}.parquet"
        whole, part = path.with_suffix(".whole"), path.with_suffix(".part")
        part.write_bytes(path.read_bytes()[: int(path.stat().st_size * self.rng.uniform(0.1, 0.9))])
        os.rename(path, whole)
        os.rename(part, path)
        self.say(f"{path.name} is replaced by a part of itself", "files cut")
        try:
            self.driver.wait(PATIENCE)
            require(path.name, self.said)
            last = self.said.read_text().strip().splitlines()[-1]
            self.say(f"the driver ends: {last.replace(tempfile.gettempdir(), '')}")
        except subprocess.TimeoutExpired:
            self.say("the driver has not noticed")
            self.kill_driver()
        os.rename(whole, path)
        self.start_driver()

    def harm_folder(self) -> None:
        """A second driver asks for the lock of the folder: refused, and nothing is written."""
        before = sorted(os.listdir(self.folder))
        self.drive("--drive", self.said_by_second).wait(PATIENCE)
        require(AT_WORK, self.said_by_second)
        if sorted(os.listdir(self.folder)) != before:
            raise SystemExit(f"the second driver left something in {os.listdir(self.folder)}")
        self.say("a second driver in the folder is refused", "second drivers in the folder")

    def harm_second(self) -> None:
        """A second driver goes past the lock: of the two one goes on, and is started again."""
        second = self.drive("--drive-unlocked", self.said_by_second)
        drivers = self.driver, second
        try:
            wait_until(
                lambda: any(driver.poll() is not None for driver in drivers),
                "two drivers write to one journal",
            )
            is_first = self.driver.poll() is not None
            require(ONE_WRITER, self.said if is_first else self.said_by_second)
        finally:
            second.kill()
            second.wait()
        which = "first" if is_first else "second"
        self.say(
            f"two drivers on the journal: the {which} gives way", "second drivers on the journal"
        )
        if is_first:
            self.start_driver()

    def harm_side_file(self) -> None:
        """A link, a pipe or a folder in the place of a file beside the journal: not used."""
        self.kill_driver()
        place = self.folder / str(self.rng.choice(SIDE_FILES))
        aside, outside = self.folder.with_name("aside"), self.folder.with_name("outside")
        if there := place.exists():
            place.rename(aside)
        kind = str(self.rng.choice(["link", "pipe", "folder"]))
        if kind == "link":
            place.symlink_to(outside)
        elif kind == "pipe":
            os.mkfifo(place)
        else:
            place.mkdir()
        second = self.drive("--drive", self.said_by_second)
        try:
            second.wait(PATIENCE)
        finally:
            second.kill()
            place.rmdir() if kind == "folder" else place.unlink()
        require(place.name.partition(".sqlite")[2] or place.name, self.said_by_second)
        if outside.exists():
            raise SystemExit(f"the driver wrote through {place.name}")
        if there:
            aside.rename(place)
        self.say(f"a {kind} in the place of {place.name} is refused", "side files replaced")
        self.start_driver()

    def harm_times(self) -> None:
        """Files of the folder get other times while the run goes on."""
        for file in self.folder.iterdir():
            times = self.rng.uniform(0, 2e9, 2)
            if file.is_file():
                os.utime(file, tuple(times))
        self.say("all files of the folder get other times", "files touched")


def end_in_good_order(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)


def compare(disturbed: Path, control: Path) -> tuple[bool, int, list[str]]:
    """Whether the plays of the first are those of the second, how many, and the model."""
    with Journal(disturbed) as one, Journal(control) as other:
        n = one.n_plays()
        assert one.header is not None
        arms = Arms(one.header.n_arms)
        same = True
        for a, b in zip(one.plays(0), islice(other.plays(0), n), strict=True):
            same &= (
                a.number == b.number
                and np.array_equal(a.arms, b.arms)
                and np.array_equal(a.rewards, b.rewards)
            )
            arms.update(a.arms, a.rewards)
    found = np.flatnonzero(arms.passing[:N_COLUMNS])  # behind them are decoys
    return bool(same), n, [f"x{j} (rate {arms.means()[j]:.3f})" for j in found]


def soak(minutes: float, seed: int) -> None:
    """Disturb for so many minutes, then compare and record."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder / "table")
        shutil.copytree(folder / "table", folder / "copy" / "table")
        with ExitStack() as started:
            cluster = start("--cluster", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            started.callback(cluster.kill)
            assert cluster.stdout is not None
            address = cluster.stdout.readline().strip()
            calm = RunFolder(folder / "control").journal
            calm.parent.mkdir()
            control = start("--drive", folder / "copy" / "table", calm)
            started.callback(control.kill)
            run = Soak(folder, address, seed)
            started.callback(lambda: run.driver.kill())
            run.say("the run begins")
            while time.monotonic() - run.began < 60 * minutes:
                time.sleep(min(run.rng.exponential(BETWEEN_FAULTS), 60.0))
                run.fault()
            run.wait_for_progress()
            run.say("no more faults; the run is ended in good order")
            end_in_good_order(run.driver)
            while n_plays(calm) < n_plays(run.journal):
                if control.poll() is not None:
                    raise SystemExit("the run without faults ended by itself")
                time.sleep(1.0)
            end_in_good_order(control)
            same, n, found = compare(run.journal, calm)
        run.say(
            f"{n:,} plays are compared with those of the run without faults: "
            + ("all the same" if same else "THEY DIFFER")
        )
    minutes = (time.monotonic() - run.began) / 60
    write_down(run, minutes, n, same, found)
    if not same:
        raise SystemExit("the plays differ")


def write_down(run: Soak, minutes: float, n: int, same: bool, found: list[str]) -> None:
    faults = ", ".join(f"{count} {what}" for what, count in sorted(run.counts.items()))
    record(
        "soak.md",
        [
            *heading("A soak: streaming while things go wrong", "make soak"),
            f"{minutes:.0f} minutes on two Dask workers: {faults}; one write in "
            f"{1 / SLOW_SHARE:.0f} into the journal waits for {SLOW_SECONDS:g} s on average. "
            f"{n:,} plays are in the journal at the end, "
            + ("all of them" if same else "NOT all of them")
            + " the same, bit by bit, as in a run in one process without cluster and faults. "
            f"Selected: {', '.join(found)}.",
            "",
            "```text",
            *run.log,
            "```",
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drive", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--drive-unlocked", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--cluster", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cluster:
        be_a_cluster()
    elif place := options.drive or options.drive_unlocked:
        table, journal, *cluster = place
        drive(Path(table), Path(journal), *cluster or [None], locked=bool(options.drive))
    else:
        soak(options.minutes, options.seed)


if __name__ == "__main__":
    main()
