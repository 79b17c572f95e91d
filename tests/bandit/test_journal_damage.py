"""Journals that were killed, cut off or tampered with: every play is there, or it is refused."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.bandit.plays import HEADER, N_ARMS, assert_holds, make_play, write
from tvselect.bandit.chain import Play
from tvselect.bandit.journal import Journal, JournalError, hides_plays, pack

PAGE, FRAME, N_PLAYS = 4096, 4120, 12
CHILD = f"""
from __future__ import annotations
import os, sys
import numpy as np
from tvselect.bandit.journal import Header, Journal
from tvselect.bandit.chain import Play
N_ARMS, HEADER = {N_ARMS}, {HEADER}
{inspect.getsource(make_play)}
with Journal(sys.argv[1]) as journal:
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
        with Journal(path) as journal:
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
            with Journal(path) as journal:
                found = journal.n_plays()
                assert_holds(journal, found)
        except JournalError:
            n_refused += 1
        else:
            n_plays = max(n_plays, found)
            assert found >= n_plays - 1, "more than the last play was lost"
    assert n_plays > 1
    assert n_refused > 15


def write_and_leave(path, n_plays, restart_after=None):
    """The file and the log as a killed writer leaves them; where each play ends in the log."""
    log, ends = path.with_name(path.name + "-wal"), []
    with Journal(path) as journal:
        journal.begin(HEADER)
        for number in range(n_plays):
            if number == restart_after:
                journal._db.execute("PRAGMA wal_checkpoint(RESTART)")
            journal.append([make_play(number)])
            ends.append(log.stat().st_size)
        return path.read_bytes(), log.read_bytes(), ends


@pytest.fixture
def left(tmp_path):
    return write_and_leave(tmp_path / "left", N_PLAYS)


def lay(path, content, log):
    path.write_bytes(content)
    path.with_name(path.name + "-wal").write_bytes(log)
    path.with_name(path.name + "-shm").unlink(missing_ok=True)


def test_a_log_hides_nothing_wherever_it_is_cut(left):
    _, log, _ = left
    cuts = {0, 1, 31, 32, *range(32, len(log), FRAME), *range(55, len(log), 997), len(log)}
    assert not any(hides_plays(log[:cut], PAGE) for cut in cuts)


def test_damage_in_the_middle_of_a_log_hides_plays_and_at_its_end_does_not(left):
    _, log, ends = left
    rng = np.random.default_rng(0)
    for place in [*range(32), *rng.integers(32, ends[-3], 200)]:
        damaged = bytearray(log)
        damaged[place] ^= 1 + int(rng.integers(255))
        assert hides_plays(bytes(damaged), PAGE), place
    for place in rng.integers(ends[-2] + FRAME, len(log), 50):
        damaged = bytearray(log)
        damaged[place] ^= 255
        last_frame = place >= len(log) - FRAME
        assert hides_plays(bytes(damaged), PAGE) != last_frame, place


@pytest.mark.parametrize("page_size", [0, 1, 511, 4095, 8192, 65535])
def test_a_size_of_pages_that_is_wrong_finds_nothing(left, page_size):
    assert not hides_plays(left[1], page_size)


def test_what_remains_of_an_earlier_log_is_not_missed(tmp_path):
    content, log, ends = write_and_leave(tmp_path / "left", N_PLAYS, restart_after=N_PLAYS - 2)
    assert ends[-1] == ends[-3], "the log was not restarted"
    assert not hides_plays(log, PAGE)
    lay(tmp_path / "a", content, log)
    with Journal(tmp_path / "a") as journal:
        assert_holds(journal, N_PLAYS)


def test_a_log_with_checksums_of_the_other_byte_order_is_read(left):
    """Made from the log at hand: the same frames, summed up as a big-endian machine would."""
    _, log, _ = left
    other = bytearray(log)
    other[:4] = (0x377F0683).to_bytes(4)

    def sums(one, two, content):
        words = np.frombuffer(content, ">u4").astype(object)
        for even, odd in zip(words[::2], words[1::2], strict=True):
            one = (one + even + two) % 2**32
            two = (two + odd + one) % 2**32
        return one, two

    last = sums(0, 0, bytes(other[:24]))
    other[24:32] = b"".join(value.to_bytes(4) for value in last)
    for start in range(32, len(other), FRAME):
        frame = bytes(other[start : start + FRAME])
        last = sums(*last, frame[:8] + frame[24:])
        other[start + 16 : start + 24] = b"".join(value.to_bytes(4) for value in last)
    assert not hides_plays(bytes(other), PAGE)
    other[40 + FRAME] ^= 1
    assert hides_plays(bytes(other), PAGE)


def test_a_log_that_hides_plays_is_refused_and_can_be_moved_away(left, tmp_path):
    content, log, ends = left
    path, wal = tmp_path / "a", tmp_path / "a-wal"
    damaged = bytearray(log)
    damaged[ends[3] + 100] ^= 1
    lay(path, content, bytes(damaged))
    with pytest.raises(JournalError, match=r"'.*a' has a damaged -wal file.*move the -wal file"):
        Journal(path)
    assert (path.read_bytes(), wal.read_bytes()) == (content, bytes(damaged))
    wal.rename(tmp_path / "away")
    with Journal(path) as journal:
        n_plays = journal.n_plays()
        assert n_plays < N_PLAYS
        assert_holds(journal, n_plays)


def test_a_log_that_changes_while_it_is_read_is_left_to_sqlite(left, tmp_path, monkeypatch):
    content, log, ends = left
    path = tmp_path / "a"
    lay(path, content, log)
    reads = iter([log[: ends[3]] + bytes(10) + log[ends[3] + 10 :], log])
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda self: next(reads))
    with Journal(path) as journal:
        assert_holds(journal, N_PLAYS)


def test_the_checksums_are_those_of_sqlite(left, tmp_path):
    """SQLite reads all plays from the log alone, so that it takes the checksums for right."""
    content, log, _ = left
    lay(tmp_path / "a", content, log)
    db = sqlite3.connect(tmp_path / "a")
    assert db.execute("SELECT count(*) FROM plays").fetchone() == (N_PLAYS,)
    db.close()


class TestRefused:
    """What cannot be used is named, and left as it is."""

    def refuse(self, path: Path, match: str) -> None:
        before = path.read_bytes() if os.path.isfile(path) else None
        beside = sorted(os.listdir(path.parent)) if path.parent.is_dir() else None
        with pytest.raises(JournalError, match=match) as caught:
            Journal(path)
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

    @pytest.mark.parametrize("content", [b"x", b"a,b\n1,2\n" * 50, bytes(4096)])
    def test_files_of_another_kind(self, tmp_path, content):
        path = tmp_path / "data.csv"
        path.write_bytes(content)
        self.refuse(path, "is not a journal of tvselect")

    def test_an_empty_file_with_a_log(self, tmp_path):
        """Not new: a journal was here, and the log may hold plays."""
        (tmp_path / "a").touch()
        (tmp_path / "a-wal").write_bytes(b"x")
        self.refuse(tmp_path / "a", "is empty, but its -wal file is not; restore a copy")

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

    def test_a_header_with_fields_of_another_version(self, tmp_path):
        path = tmp_path / "a"
        write(path, 1)
        text = json.dumps({**dataclasses.asdict(HEADER), "colour": "red"}).encode()
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("UPDATE header SET json = ?, crc = ?", (text.decode(), zlib.crc32(text)))
        db.close()
        self.refuse(path, "damaged in its header, or of another version.*the version of tvselect")

    def test_files_and_folders_that_are_read_only(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(folder / "a", 1)
            folder.chmod(0o755)
            (folder / "a").chmod(0o444)
            (folder / "empty").touch(0o444)
            try:
                if os.getuid() == 0:
                    os.setresuid(65534, 65534, 0)
                self.refuse(folder / "a", "read-only")
                self.refuse(folder / "a", "make the file and its folder writable")
                self.refuse(folder / "empty", "read-only")
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
            Journal(path) as journal,
            pytest.raises(JournalError, match="damaged at play 1 of chain 0; restore a copy"),
        ):
            list(journal.plays())

    def test_arms_beyond_the_header_are_damage_even_with_a_right_checksum(self, tmp_path):
        path = tmp_path / "a"
        with Journal(path) as journal:
            journal.begin(HEADER)
            play = Play(0, np.array([N_ARMS]), np.array([True]), 0.1)
            journal._write([pack(play)], {})
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


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE kept SET value = x'00'",
        "UPDATE kept SET value = 'text'",
        "UPDATE kept SET value = 7",
        "UPDATE kept SET crc = crc + 1",
        "UPDATE kept SET crc = 'text'",
        "UPDATE kept SET name = 'cuts' WHERE name = 'rows'",
    ],
)
def test_blobs_that_were_tampered_with(tmp_path, damage):
    path = tmp_path / "a"
    write(path, 1)
    with Journal(path) as journal:
        journal.keep("rows", b"0.5")
        if "WHERE" not in damage:
            journal.keep("cuts", b"0.5")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(damage)
    db.close()
    with Journal(path) as journal:
        with pytest.raises(JournalError, match=r"damaged at 'cuts'.*; restore a copy"):
            journal.kept("cuts")
        assert_holds(journal, 1)


def assert_whole_or_refused(path: Path, n_plays: int) -> bool:
    before = path.read_bytes()
    try:
        with Journal(path) as journal:
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
    cuts = {1, *range(10, 110, 10), *pages, *(p + 1 for p in pages), *(p + 4095 for p in pages)}
    cuts |= {int(cut) for cut in np.random.default_rng(1).integers(0, len(content), 20)}
    for cut in sorted(cut for cut in cuts if 0 < cut < len(content)):
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
