from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from tests.bandit.journal.plays import HEADER, assert_holds, make_play
from tvselect.bandit.journal import JournalError, SqliteJournal
from tvselect.bandit.journal.log import hides_plays

PAGE, FRAME, N_PLAYS = 4096, 4120, 12


def write_and_leave(path, n_plays, restart_after=None):
    """The file and the log as a killed writer leaves them; where each play ends in the log."""
    log, ends = path.with_name(path.name + "-wal"), []
    with SqliteJournal(path) as journal:
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
    with SqliteJournal(tmp_path / "a") as journal:
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
        SqliteJournal(path)
    assert (path.read_bytes(), wal.read_bytes()) == (content, bytes(damaged))
    wal.rename(tmp_path / "away")
    with SqliteJournal(path) as journal:
        n_plays = journal.n_plays()
        assert n_plays < N_PLAYS
        assert_holds(journal, n_plays)


def test_a_log_that_changes_while_it_is_read_is_left_to_sqlite(left, tmp_path, monkeypatch):
    content, log, ends = left
    path = tmp_path / "a"
    lay(path, content, log)
    reads = iter([log[: ends[3]] + bytes(10) + log[ends[3] + 10 :], log])
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda self: next(reads))
    with SqliteJournal(path) as journal:
        assert_holds(journal, N_PLAYS)


def test_the_checksums_are_those_of_sqlite(left, tmp_path):
    """SQLite reads all plays from the log alone, so that it takes the checksums for right."""
    content, log, _ = left
    lay(tmp_path / "a", content, log)
    db = sqlite3.connect(tmp_path / "a")
    assert db.execute("SELECT count(*) FROM plays").fetchone() == (N_PLAYS,)
    db.close()
