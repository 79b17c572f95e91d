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
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.records import heading, record
from tests.hardening import intruders
from tests.hardening.drivers import (
    N_COLUMNS,
    N_FILES,
    SLOW_SECONDS,
    SLOW_SHARE,
    be_a_cluster,
    drive,
    make_files,
    start,
)
from tvselect.bandit.arms import Arms
from tvselect.bandit.journal import Journal
from tvselect.runs.folder import RunFolder

BETWEEN_FAULTS = 15.0
PATIENCE = 1800.0
FAULTS = {
    "worker": 0.3, "driver": 0.2, "journal": 0.16, "table": 0.08, "folder": 0.07, "second": 0.07,
    "side_file": 0.07, "times": 0.05,
}  # fmt: skip


class Soak:
    """The run that is disturbed, and its log."""

    def __init__(self, folder: Path, address: str, seed: int) -> None:
        self.table, self.folder, self.address = folder / "table", folder / "disturbed", address
        self.folder.mkdir()
        self.journal = RunFolder(self.folder).journal
        self.rng = np.random.default_rng(seed)
        self.began = time.monotonic()
        self.said = folder / "said"
        self.log: list[str] = []
        self.counts: Counter[str] = Counter()
        self.driver = self.start_driver()

    def start_driver(self) -> subprocess.Popen[str]:
        self.counts["drivers started"] += 1
        self.n_before = n_plays(self.journal)
        with self.said.open("w") as said:
            return start("--drive", self.table, self.journal, self.address, stderr=said)

    def say(self, what: str) -> None:
        seconds = int(time.monotonic() - self.began)
        line = f"{seconds // 60:3}:{seconds % 60:02}  {n_plays(self.journal):7,} plays  {what}"
        self.log.append(line)
        print(line, flush=True)

    def note(self, what: str, sentence: str) -> None:
        """Count a fault and log it."""
        self.counts[what] += 1
        self.say(sentence)

    def fault(self) -> None:
        """One fault, and what follows from it."""
        self.wait_for_progress()
        getattr(self, f"harm_{self.rng.choice(list(FAULTS), p=list(FAULTS.values()))}")()

    def wait_for_progress(self) -> None:
        """Until the run has gone on after the last fault; it must, sooner or later."""
        ends = time.monotonic() + PATIENCE
        while n_plays(self.journal) <= self.n_before:
            if self.driver.poll() is not None:
                raise SystemExit(f"the driver ended by itself: {self.said.read_text()}")
            if time.monotonic() > ends:
                raise SystemExit("the run does not go on")
            time.sleep(0.2)
        self.n_before = n_plays(self.journal)

    def harm_worker(self) -> None:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            pids = sorted(client.run(os.getpid).values())
        if pids:
            os.kill(int(self.rng.choice(pids)), signal.SIGKILL)
            self.counts["workers killed"] += 1
            self.say("a worker is killed")

    def harm_driver(self) -> None:
        self.kill_driver()
        self.say("the driver is killed")
        self.driver = self.start_driver()

    def harm_journal(self) -> None:
        self.kill_driver()
        self.say("the driver is killed")
        log = self.journal.with_name(self.journal.name + "-wal")
        if log.exists() and log.stat().st_size:
            size = log.stat().st_size
            cut = int(self.rng.integers(1, min(size, 4_000) + 1))
            os.truncate(log, size - cut)
            self.counts["journals cut"] += 1
            self.say(f"the last {cut:,} of {size:,} bytes of the journal's log are cut off")
        self.driver = self.start_driver()

    def harm_table(self) -> None:
        path = self.table / f"{self.rng.integers(N_FILES):02}.parquet"
        whole = path.with_suffix(".whole")
        part = path.with_suffix(".part")
        part.write_bytes(path.read_bytes()[: int(path.stat().st_size * self.rng.uniform(0.1, 0.9))])
        os.rename(path, whole)
        os.rename(part, path)
        self.counts["files cut"] += 1
        self.say(f"{path.name} is replaced by a part of itself")
        try:
            self.driver.wait(PATIENCE)
            said = self.said.read_text()
            self.say(f"the driver ends: {last_line(said)}")
            if path.name not in said:
                raise SystemExit(f"an error that does not name the file: {said}")
        except subprocess.TimeoutExpired:
            self.say("the driver has not noticed")
            self.kill_driver()
        os.rename(whole, path)
        self.driver = self.start_driver()

    def harm_folder(self) -> None:
        intruders.second_in_folder(self)

    def harm_second(self) -> None:
        intruders.second_on_journal(self)

    def harm_side_file(self) -> None:
        intruders.side_file(self)

    def harm_times(self) -> None:
        intruders.touched(self)

    def kill_driver(self) -> None:
        self.driver.kill()
        self.driver.wait()
        self.counts["drivers killed"] += 1


def last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line]
    return lines[-1].replace(str(Path(tempfile.gettempdir())), "") if lines else "without a word"


def n_plays(journal: Path) -> int:
    import sqlite3
    from contextlib import closing

    try:
        with closing(sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM plays").fetchone()[0])
    except sqlite3.Error:
        return 0


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
