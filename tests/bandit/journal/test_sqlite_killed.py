from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tests.bandit.journal.plays import HEADER, N_ARMS, assert_holds, make_play
from tvselect.bandit.journal import JournalError, SqliteJournal

CHILD = f"""
from __future__ import annotations
import os, sys
import numpy as np
from tvselect.bandit.journal import Header, SqliteJournal
from tvselect.bandit.play import Play
N_ARMS, HEADER = {N_ARMS}, {HEADER}
{inspect.getsource(make_play)}
with SqliteJournal(sys.argv[1]) as journal:
    journal.begin(HEADER)
    os.write(1, b"ready\\n")
    for number in range(journal.n_plays(), 100_000):
        journal.append([make_play(number, chain) for chain in (0, 1)])
        journal.keep("number", b"%d" % number)
        os.write(1, b"%d\\n" % number)
"""


def run_and_kill(path: Path, delay: float, at_least: int = 0) -> int:
    """Let a process write, kill it, and return how many plays it said to have written."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, path], stdout=subprocess.PIPE)
    with child:
        assert child.stdout.readline() == b"ready\n"
        first = [child.stdout.readline() for _ in range(at_least)]
        time.sleep(delay)
        os.kill(child.pid, signal.SIGKILL)
        said = [*first, *child.stdout.read().split()]
    return int(said[-1]) + 1 if said else 0


def test_what_was_appended_survives_kill_9(tmp_path):
    path = tmp_path / "a"
    n_before = 0
    for k, delay in enumerate(np.random.default_rng(3).uniform(0, 0.08, 10)):
        said = run_and_kill(path, delay, at_least=3 * (k % 2))
        with SqliteJournal(path) as journal:
            n_plays = journal.n_plays()
            assert n_plays >= max(said, n_before)
            assert n_plays <= max(said, n_before) + 1
            assert_holds(journal, n_plays, 0)
            assert_holds(journal, n_plays, 1)
            kept = journal.kept("number")
            assert n_plays == 0 or int(kept) in (n_plays - 1, n_plays - 2)
        n_before = n_plays
    assert n_before > 10


def test_after_a_kill_the_log_may_be_alone_and_damage_to_it_is_found(tmp_path):
    path, wal = tmp_path / "a", tmp_path / "a-wal"
    run_and_kill(path, 0.05, at_least=5)
    kept, log = path.read_bytes(), wal.read_bytes()
    rng = np.random.default_rng(4)
    n_plays = n_refused = 0
    for trial in range(30):
        damaged = bytearray(log)
        damaged[int(rng.integers(0, len(log)))] ^= 255
        path.write_bytes(kept)
        wal.write_bytes(log if trial == 0 else damaged)
        (tmp_path / "a-shm").unlink(missing_ok=True)
        try:
            with SqliteJournal(path) as journal:
                found = journal.n_plays()
                assert_holds(journal, found)
        except JournalError:
            n_refused += 1
        else:
            n_plays = max(n_plays, found)
            assert found >= n_plays - 1, "more than the last play was lost"
    assert n_plays > 1
    assert n_refused > 15
