from __future__ import annotations

import copy
import dataclasses
import inspect
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvselect.bandit import journal as module
from tvselect.bandit.journal import (
    Header,
    Journal,
    JournalError,
    MemoryJournal,
    SqliteJournal,
    fold_counts,
    played_sizes,
    trajectories,
)
from tvselect.bandit.play import Play

N_ARMS = 5_000
HEADER = Header("fp-1", 2**100 + 7, N_ARMS, 2, {"reward": "bart", "C": 0.618}, "0.1.0")


def make_play(number: int, chain: int = 0, most: int = 3_000) -> Play:
    """The play of this number: always the same, so that what is read back can be checked."""
    rng = np.random.default_rng([chain, number])
    arms = np.flatnonzero(rng.random(N_ARMS) < rng.random() * most / N_ARMS).astype(np.int32)
    return Play(number, arms, rng.random(arms.size) < 0.3, float(rng.random()))


def assert_same(found: Play, expected: Play) -> None:
    assert found.number == expected.number
    assert found.seconds == expected.seconds
    assert (found.arms.dtype, found.rewards.dtype) == (np.int32, np.bool_)
    np.testing.assert_array_equal(found.arms, expected.arms)
    np.testing.assert_array_equal(found.rewards, expected.rewards)


def assert_holds(journal: Journal, n_plays: int, chain: int = 0) -> None:
    found = list(journal.plays(chain))
    assert len(found) == journal.n_plays(chain) == n_plays
    for number, play in enumerate(found):
        assert_same(play, make_play(number, chain))


def write(path: Path, n_plays: int) -> None:
    with SqliteJournal(path) as journal:
        journal.begin(HEADER)
        for number in range(journal.n_plays(), n_plays):
            journal.append(0, make_play(number))


@pytest.fixture(params=["memory", "sqlite"])
def journal(request, tmp_path):
    made = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "a.journal")
    with made:
        yield made


class TestEveryJournal:
    def test_it_starts_blank(self, journal):
        assert journal.header is None
        assert journal.n_plays() == 0
        assert list(journal.plays()) == []

    def test_it_gives_back_what_it_was_given(self, journal):
        journal.begin(HEADER)
        for number in range(12):
            journal.append(1, make_play(number, 1))
            journal.append(0, make_play(number, 0))
        assert journal.header == HEADER
        assert_holds(journal, 12, 0)
        assert_holds(journal, 12, 1)
        assert [play.number for play in journal.plays(1, start=9)] == [9, 10, 11]
        assert list(journal.plays(0, start=12)) == []

    @given(
        arms=st.sets(st.integers(0, N_ARMS - 1), max_size=40),
        seconds=st.floats(0, 1e9),
        data=st.data(),
    )
    @settings(max_examples=30, deadline=None)
    def test_any_play_survives(self, arms, seconds, data):
        rewards = data.draw(st.lists(st.booleans(), min_size=len(arms), max_size=len(arms)))
        play = Play(0, np.array(sorted(arms), np.int32), np.array(rewards, np.bool_), seconds)
        with tempfile.TemporaryDirectory() as folder:
            for made in (MemoryJournal(), SqliteJournal(Path(folder) / "a")):
                with made:
                    made.begin(HEADER)
                    made.append(0, play)
                    assert_same(next(made.plays()), play)

    def test_numbers_of_numpy_will_do(self, journal):
        journal.begin(HEADER)
        play = dataclasses.replace(make_play(0, 1), number=np.int64(0), seconds=np.float32(0.5))
        journal.append(np.int64(1), play)
        assert [found.seconds for found in journal.plays(np.int64(1))] == [0.5]

    def test_a_second_begin_returns_the_first_header(self, journal):
        journal.begin(HEADER)
        again = dataclasses.replace(HEADER, entropy=1, version="9")
        assert journal.begin(again).entropy == HEADER.entropy

    @pytest.mark.parametrize("changed", [{"fingerprint": "x"}, {"n_arms": 3}, {"n_chains": 5}])
    def test_another_game_is_refused(self, journal, changed):
        journal.begin(HEADER)
        name, value = next(iter(changed.items()))
        with pytest.raises(JournalError, match=rf"another data set.*{name} was .*, is {value}"):
            journal.begin(dataclasses.replace(HEADER, **changed))

    @pytest.mark.parametrize("number", [0, 2, -1])
    def test_a_gap_is_refused(self, journal, number):
        journal.begin(HEADER)
        journal.append(0, make_play(0))
        with pytest.raises(JournalError, match="holds 1 plays of chain 0"):
            journal.append(0, dataclasses.replace(make_play(1), number=number))
        assert journal.n_plays() == 1

    @pytest.mark.parametrize(
        ("arms", "n_rewards"), [([3, 2], 2), ([2, 2], 2), ([-1], 1), ([N_ARMS], 1), ([1], 2)]
    )
    @pytest.mark.parametrize("seconds", [0.0, float("nan")])
    def test_a_play_that_makes_no_sense_is_refused(self, journal, arms, n_rewards, seconds):
        journal.begin(HEADER)
        with pytest.raises(ValueError, match="make no sense"):
            journal.append(0, Play(0, np.array(arms), np.zeros(n_rewards, np.bool_), seconds))
        assert journal.n_plays() == 0

    @pytest.mark.parametrize("chain", [-1, 2])
    def test_a_chain_that_is_not_there_is_refused(self, journal, chain):
        journal.begin(HEADER)
        with pytest.raises(ValueError, match="no chain"):
            journal.append(chain, make_play(0))


def test_a_memory_journal_takes_plays_without_a_header_and_can_be_copied():
    journal = MemoryJournal()
    journal.append(3, make_play(0, 3))
    assert_holds(copy.deepcopy(journal), 1, 3)


def test_a_memory_journal_is_small():
    arms = np.arange(0, 1_000_000, 58, dtype=np.int32)
    journal = MemoryJournal()
    tracemalloc.start()
    try:
        for t in range(500):
            journal.append(0, Play(t, arms, arms % 7 == t % 7, 0.1))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert played_sizes(journal.plays()).sum() > 8.5e6
    assert used < 40e6


class TestSqliteJournal:
    def test_a_run_goes_on_where_it_stopped(self, tmp_path):
        path = tmp_path / "a b?c#%41.journal"
        write(path, 3)
        with SqliteJournal(str(path)) as journal:
            assert journal.header == HEADER
        write(path, 7)
        with SqliteJournal(path) as journal:
            assert_holds(journal, 7)
        assert os.listdir(tmp_path) == [path.name]

    def test_the_file_is_as_promised(self, tmp_path):
        path = tmp_path / "a"
        with SqliteJournal(path) as journal:
            journal.begin(HEADER)
            journal.append(0, Play(0, np.array([1, 258]), np.array([True, False]), 0.5))
            db = sqlite3.connect(path)
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert db.execute("PRAGMA application_id").fetchone() == (0x5456534A,)
            assert db.execute("PRAGMA user_version").fetchone() == (1,)
            row = db.execute("SELECT chain, number, arms, rewards, seconds FROM plays").fetchone()
            assert row == (0, 0, b"\1\0\0\0\2\1\0\0", b"\x80", 0.5)
            db.close()

    def test_plays_need_a_header(self, tmp_path):
        with (
            SqliteJournal(tmp_path / "a") as journal,
            pytest.raises(JournalError, match="call begin first"),
        ):
            journal.append(0, make_play(0))

    def test_a_closed_journal_says_so(self, tmp_path):
        journal = SqliteJournal(tmp_path / "a")
        journal.close()
        with pytest.raises(JournalError, match=r"closed.*open it again"):
            journal.n_plays()

    def test_others_may_read_while_one_writes(self, tmp_path):
        path = tmp_path / "a"
        write(path, 2)
        with SqliteJournal(path) as writer, SqliteJournal(path) as reader:
            writer.append(0, make_play(2))
            assert_holds(reader, 3)

    def test_of_two_writers_the_second_is_refused(self, tmp_path):
        path = tmp_path / "a"
        with SqliteJournal(path) as first, SqliteJournal(path) as second:
            first.begin(HEADER)
            with pytest.raises(JournalError, match="only one run may write"):
                second.begin(HEADER)
        with SqliteJournal(path) as first, SqliteJournal(path) as second:
            first.append(0, make_play(0))
            with pytest.raises(JournalError, match="only one run may write"):
                second.append(0, make_play(0))
            second.n_plays = lambda chain=0: 0
            with pytest.raises(JournalError, match=r"UNIQUE.*only one run may write"):
                second.append(0, make_play(0))
            assert_holds(first, 1)

    def test_a_locked_file_is_reported(self, tmp_path, monkeypatch):
        monkeypatch.setattr(module, "SECONDS_TO_WAIT", 0.05)
        path = tmp_path / "a"
        write(path, 1)
        other = sqlite3.connect(path, isolation_level=None)
        with SqliteJournal(path) as journal:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(JournalError, match=r"locked.*only one run may write"):
                journal.append(0, make_play(1))
            other.execute("ROLLBACK")
            other.close()
            journal.append(0, make_play(1))
            assert_holds(journal, 2)

    def test_a_full_disk_keeps_what_is_written(self, tmp_path):
        path = tmp_path / "a"
        write(path, 3)
        with SqliteJournal(path) as journal:
            journal._db.execute("PRAGMA max_page_count = 1")
            with pytest.raises(JournalError, match=r"full.*run again"):
                journal.append(0, make_play(3))
            assert_holds(journal, 3)
        write(path, 20)
        with SqliteJournal(path) as journal:
            assert_holds(journal, 20)

    def test_a_log_left_by_a_deleted_journal_is_not_replayed(self, tmp_path):
        old, new = tmp_path / "old", tmp_path / "new"
        with SqliteJournal(old) as journal:
            journal.begin(HEADER)
            journal.append(0, make_play(0))
            (tmp_path / "new-wal").write_bytes((tmp_path / "old-wal").read_bytes())
        with SqliteJournal(new) as journal:
            assert journal.header is None
            assert journal.n_plays() == 0

    def test_a_link_leads_to_the_journal(self, tmp_path):
        (tmp_path / "there").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "there" / "a")
        write(tmp_path / "link", 2)
        with SqliteJournal(tmp_path / "there" / "a") as journal:
            assert_holds(journal, 2)


class TestRefused:
    """What cannot be used is named, and left as it is."""

    def refuse(self, path: Path, match: str) -> None:
        before = path.read_bytes() if os.path.isfile(path) else None
        beside = sorted(os.listdir(path.parent)) if path.parent.is_dir() else None
        with pytest.raises(JournalError, match=match) as caught:
            SqliteJournal(path)
        assert path.name in str(caught.value)
        assert (path.read_bytes() if os.path.isfile(path) else None) == before
        assert (sorted(os.listdir(path.parent)) if path.parent.is_dir() else None) == beside

    def test_places_where_no_file_can_be(self, tmp_path):
        (tmp_path / "file").write_text("x")
        self.refuse(tmp_path / "missing" / "a", "folder that does not exist")
        self.refuse(tmp_path / "file" / "a", "folder that does not exist")
        self.refuse(tmp_path, "is not a file")
        self.refuse(tmp_path / ("a" * 300), "failed")
        os.mkfifo(tmp_path / "pipe")
        self.refuse(tmp_path / "pipe", "is not a file")

    @pytest.mark.parametrize("content", [b"", b"x", b"a,b\n1,2\n" * 50, bytes(4096)])
    def test_files_of_another_kind(self, tmp_path, content):
        path = tmp_path / "data.csv"
        path.write_bytes(content)
        self.refuse(path, "is not a journal of tvselect")

    @pytest.mark.parametrize("mode", ["delete", "wal"])
    def test_databases_of_others(self, tmp_path, mode):
        db = sqlite3.connect(tmp_path / "other.db")
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("CREATE TABLE plays (chain)")
        db.close()
        self.refuse(tmp_path / "other.db", "is not a journal of tvselect")

    def test_a_newer_format(self, tmp_path):
        path = tmp_path / "a"
        write(path, 1)
        db = sqlite3.connect(path)
        db.execute("PRAGMA user_version = 2")
        db.close()
        self.refuse(path, "format 2.*update tvselect")

    def test_files_and_folders_that_are_read_only(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(folder / "a", 1)
            folder.chmod(0o755)
            (folder / "a").chmod(0o444)
            try:
                if os.getuid() == 0:
                    os.setresuid(65534, 65534, 0)
                self.refuse(folder / "a", "read-only")
                self.refuse(folder / "a", "make the file and its folder writable")
                if os.stat(folder).st_uid == os.getuid():
                    folder.chmod(0o555)
                self.refuse(folder / "new", "read-only folder")
            finally:
                if os.geteuid() == 65534:
                    os.setresuid(0, 0, 0)
                folder.chmod(0o755)

    @pytest.mark.parametrize(
        "damage",
        [
            "UPDATE plays SET arms = x'0100' WHERE number = 1",
            "UPDATE plays SET arms = x'ffffff7f', rewards = x'80' WHERE number = 1",
            "UPDATE plays SET rewards = rewards || x'00' WHERE number = 1",
            "UPDATE plays SET rewards = 'text' WHERE number = 1",
            "UPDATE plays SET seconds = seconds + 1 WHERE number = 1",
            "UPDATE plays SET seconds = 'soon' WHERE number = 1",
            "DELETE FROM plays WHERE number = 1",
        ],
    )
    def test_plays_that_were_tampered_with(self, tmp_path, damage):
        path = tmp_path / "a"
        write(path, 3)
        db = sqlite3.connect(path, isolation_level=None)
        db.execute(damage)
        db.close()
        with (
            SqliteJournal(path) as journal,
            pytest.raises(JournalError, match="damaged at play 1 of chain 0; restore a copy"),
        ):
            list(journal.plays())

    def test_arms_beyond_the_header_are_damage_even_with_a_right_checksum(self, tmp_path):
        path = tmp_path / "a"
        with SqliteJournal(path) as journal:
            journal.begin(HEADER)
            play = Play(0, np.array([N_ARMS]), np.array([True]), 0.1)
            journal._write(0, 0, module._pack(0, play))
            with pytest.raises(JournalError, match="damaged at play 0"):
                list(journal.plays())

    @pytest.mark.parametrize("column", ["json = json || ' '", "json = 7", "crc = 0"])
    def test_a_header_that_was_tampered_with(self, tmp_path, column):
        path = tmp_path / "a"
        write(path, 1)
        db = sqlite3.connect(path, isolation_level=None)
        db.execute(f"UPDATE header SET {column}")
        db.close()
        self.refuse(path, "damaged in its header")


def assert_whole_or_refused(path: Path, n_plays: int) -> bool:
    before = path.read_bytes()
    try:
        with SqliteJournal(path) as journal:
            assert_holds(journal, n_plays)
            assert journal.header == HEADER
        whole = True
    except JournalError:
        whole = False
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
    return whole


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "a"
    write(path, 12)
    content = path.read_bytes()
    pages = range(0, len(content), 4096)
    cuts = {*range(0, 110, 10), *pages, *(p + 1 for p in pages), *(p + 4095 for p in pages)}
    cuts |= {int(cut) for cut in np.random.default_rng(1).integers(0, len(content), 20)}
    for cut in sorted(cut for cut in cuts if cut < len(content)):
        path.write_bytes(content[:cut])
        assert not assert_whole_or_refused(path, 12), cut


def test_random_damage_is_found_or_harmless(tmp_path):
    path = tmp_path / "a"
    write(path, 6)
    content = path.read_bytes()
    rng = np.random.default_rng(2)
    n_refused = 0
    for trial in range(150):
        damaged = np.frombuffer(content, np.uint8).copy()
        length = int(rng.choice([1, 1, 8, 500]))
        span = min(len(content), [len(content), 200, 4096][trial % 3])
        start = int(rng.integers(0, span))
        damaged[start : start + length] = rng.integers(0, 256, damaged[start:][:length].size)
        path.write_bytes(damaged.tobytes())
        n_refused += not assert_whole_or_refused(path, 6)
    assert n_refused > 50
    path.write_bytes(rng.bytes(20_000))
    assert not assert_whole_or_refused(path, 6)


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
        journal.append(0, make_play(number))
        os.write(1, b"%d\\n" % number)
"""


def run_and_kill(path: Path, delay: float) -> int:
    """Let a process write, kill it, and return how many plays it said to have written."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, path], stdout=subprocess.PIPE)
    with child:
        assert child.stdout.readline() == b"ready\n"
        time.sleep(delay)
        os.kill(child.pid, signal.SIGKILL)
        said = child.stdout.read().split()
    return int(said[-1]) + 1 if said else 0


def test_what_was_appended_survives_kill_9(tmp_path):
    path = tmp_path / "a"
    n_before = 0
    for delay in np.random.default_rng(3).uniform(0, 0.08, 10):
        said = run_and_kill(path, delay)
        with SqliteJournal(path) as journal:
            n_plays = journal.n_plays()
            assert n_plays >= max(said, n_before)
            assert n_plays <= max(said, n_before) + 1
            assert_holds(journal, n_plays)
        n_before = n_plays
    assert n_before > 10


def test_after_a_kill_the_log_may_be_damaged_or_alone(tmp_path):
    path, wal = tmp_path / "a", tmp_path / "a-wal"
    run_and_kill(path, 0.05)
    kept, log = path.read_bytes(), wal.read_bytes()
    rng = np.random.default_rng(4)
    for trial in range(10):
        damaged = bytearray(log)
        damaged[int(rng.integers(0, len(log)))] ^= 255
        path.write_bytes(kept)
        wal.write_bytes(log if trial == 0 else damaged)
        (tmp_path / "a-shm").unlink(missing_ok=True)
        with SqliteJournal(path) as journal:
            assert_holds(journal, journal.n_plays())
            assert trial > 0 or journal.n_plays() > 0


def test_counts_are_summed_over_chains(journal):
    journal.begin(HEADER)
    successes, failures = np.zeros((2, N_ARMS), np.int64)
    for chain in (0, 1):
        for number in range(5):
            play = make_play(number, chain)
            journal.append(chain, play)
            for arm, reward in zip(play.arms, play.rewards, strict=True):
                (successes if reward else failures)[arm] += 1
    found = fold_counts(journal, N_ARMS, range(2))
    np.testing.assert_array_equal(found, (successes, failures))
    assert found[0].dtype == np.int64
    np.testing.assert_array_equal(
        sum(fold_counts(journal, N_ARMS, [chain])[1] for chain in (0, 1)), failures
    )


@given(seed=st.integers(0, 10_000), n_plays=st.integers(0, 8))
@settings(max_examples=40, deadline=None)
def test_trajectories_are_the_means_of_the_counts(seed, n_plays):
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(1, 12))
    plays = []
    for number in range(n_plays):
        arms = np.flatnonzero(rng.random(n_arms) < 0.4).astype(np.int32)
        plays.append(Play(number, arms, rng.random(arms.size) < 0.5, 0.0))
    chosen = rng.integers(0, n_arms, 5)
    prior_a, prior_b = rng.uniform(0.5, 3, (2, 5))
    found = trajectories(iter(plays), chosen, prior_a, prior_b)
    assert found.shape == (n_plays + 1, 5)
    for t in range(n_plays + 1):
        journal = MemoryJournal()
        for play in plays[:t]:
            journal.append(0, play)
        successes, failures = fold_counts(journal, n_arms)
        a, b = prior_a + successes[chosen], prior_b + failures[chosen]
        np.testing.assert_allclose(found[t], a / (a + b), rtol=1e-12)


def test_trajectories_of_a_few_arms_among_very_many_are_quick():
    arms = np.arange(0, 1_000_000, 59, np.int32)
    rewards = np.zeros(arms.size, np.bool_)
    plays = (Play(t, arms, rewards, 0.0) for t in range(500))
    started = time.perf_counter()
    found = trajectories(plays, np.arange(20))
    assert time.perf_counter() - started < 1
    np.testing.assert_allclose(found[-1, :2], [1 / 502, 0.5])


def test_no_plays_no_sizes():
    assert played_sizes([]).tolist() == []
    assert trajectories([], [1, 2], 3.0).tolist() == [[0.75, 0.75]]
