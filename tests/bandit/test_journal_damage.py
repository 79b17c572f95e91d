"""Journals that were killed, cut off or tampered with: every play is there, or it is refused."""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.bandit.plays import HEADER, N_ARMS, assert_holds, make_play, write
from tvselect.bandit.chain import Play
from tvselect.bandit.journal import Journal, JournalError, hides_plays, pack

PAGE, FRAME, N_PLAYS = 4096, 4120, 12


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
    assert not any(hides_plays(log, size) for size in (0, 1, 511, 4095, 8192, 65535))


def test_damage_in_the_middle_of_a_log_hides_plays_and_at_its_end_does_not(left):
    _, log, ends = left
    rng = np.random.default_rng(0)
    in_the_middle = [*range(32), *rng.integers(32, ends[-3], 200)]
    for place in [*in_the_middle, *rng.integers(ends[-2] + FRAME, len(log), 50)]:
        damaged = bytearray(log)
        damaged[place] ^= 1 + int(rng.integers(255))
        is_last_frame = place >= len(log) - FRAME
        assert hides_plays(bytes(damaged), PAGE) != is_last_frame, place


def test_what_remains_of_an_earlier_log_is_not_missed(tmp_path):
    content, log, ends = write_and_leave(tmp_path / "left", N_PLAYS, restart_after=N_PLAYS - 2)
    assert ends[-1] == ends[-3], "the log was not restarted"
    assert not hides_plays(log, PAGE)
    lay(tmp_path / "a", content, log)
    db = sqlite3.connect(tmp_path / "a")  # SQLite, too, takes the checksums for right
    assert db.execute("SELECT count(*) FROM plays").fetchone() == (N_PLAYS,)
    db.close()
    with Journal(tmp_path / "a") as journal:
        assert_holds(journal, N_PLAYS)


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


def refuse(path: Path, match: str) -> None:
    """What cannot be used is named, and left as it is."""
    before = path.read_bytes() if os.path.isfile(path) else None
    beside = sorted(os.listdir(path.parent)) if path.parent.is_dir() else None
    with pytest.raises(JournalError, match=match) as caught:
        Journal(path)
    assert path.name in str(caught.value)
    assert (path.read_bytes() if os.path.isfile(path) else None) == before
    assert (sorted(os.listdir(path.parent)) if path.parent.is_dir() else None) == beside


def change(path, *statements):
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)
    db.close()


def test_places_where_no_file_can_be(tmp_path):
    (tmp_path / "file").write_text("x")
    refuse(tmp_path / "missing" / "a", "folder that does not exist")
    refuse(tmp_path / "file" / "a", "folder that does not exist")
    refuse(tmp_path, "is not a file")
    refuse(tmp_path / ("a" * 300), "failed")
    os.mkfifo(tmp_path / "pipe")
    refuse(tmp_path / "pipe", "is not a file")


@pytest.mark.parametrize("content", [b"x", b"a,b\n1,2\n" * 50, bytes(4096), "delete", "wal"])
def test_files_and_databases_of_others(tmp_path, content):
    path = tmp_path / "data"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        change(path, f"PRAGMA journal_mode = {content}", "CREATE TABLE plays (chain)")
    refuse(path, "is not a journal of tvselect")


def test_an_empty_file_with_a_log(tmp_path):
    """Not new: a journal was here, and the log may hold plays."""
    (tmp_path / "a").touch()
    (tmp_path / "a-wal").write_bytes(b"x")
    refuse(tmp_path / "a", "is empty, but its -wal file is not; restore a copy")


OTHER_HEADER = json.dumps({**dataclasses.asdict(HEADER), "colour": "red"})


@pytest.mark.parametrize(
    ("statement", "match"),
    [
        ("PRAGMA user_version = 2", "format 2.*update tvselect"),
        (
            (
                "UPDATE header SET json = ?, crc = ?",
                (OTHER_HEADER, zlib.crc32(OTHER_HEADER.encode())),
            ),
            "damaged in its header, or of another version.*the version of tvselect",
        ),
        ("UPDATE header SET json = json || ' '", "damaged in its header"),
        ("UPDATE header SET json = 7", "damaged in its header"),
        ("UPDATE header SET crc = 0", "damaged in its header"),
    ],
)
def test_other_versions_and_headers_that_were_tampered_with(tmp_path, statement, match):
    write(tmp_path / "a", 1)
    change(tmp_path / "a", statement)
    refuse(tmp_path / "a", match)


def test_files_and_folders_that_are_read_only():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "a", 1)
        folder.chmod(0o755)
        (folder / "a").chmod(0o444)
        (folder / "empty").touch(0o444)
        try:
            if os.getuid() == 0:
                os.setresuid(65534, 65534, 0)
            refuse(folder / "a", "read-only.*make the file and its folder writable")
            refuse(folder / "empty", "read-only")
            if os.stat(folder).st_uid == os.getuid():
                folder.chmod(0o555)
            refuse(folder / "new", "read-only folder")
        finally:
            if os.geteuid() == 65534:
                os.setresuid(0, 0, 0)
            folder.chmod(0o755)


OF_PLAYS = [
    "arms = x'0100'",
    "arms = x'ffffff7f', rewards = x'80'",
    "rewards = rewards || x'00'",
    "rewards = 'text'",
    "seconds = seconds + 1",
    "seconds = 'soon'",
]
OF_BLOBS = ["value = x'00'", "value = 'text'", "value = 7", "crc = crc + 1", "crc = 'text'"]


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        *((f"UPDATE plays SET {change} WHERE number = 1", "play 1 of") for change in OF_PLAYS),
        ("DELETE FROM plays WHERE number = 1", "play 1 of"),
        *((f"UPDATE kept SET {change} WHERE name = 'cuts'", "'cuts', ") for change in OF_BLOBS),
        ("UPDATE OR REPLACE kept SET name = 'cuts' WHERE name = 'rows'", "'cuts', "),
    ],
)
def test_plays_and_blobs_that_were_tampered_with(tmp_path, damage, match):
    path = tmp_path / "a"
    write(path, 3)
    with Journal(path) as journal:
        journal.append([make_play(3)], {"rows": b"0.5", "cuts": b"0.5"})
    change(path, damage)
    with (
        Journal(path) as journal,
        pytest.raises(JournalError, match=rf"damaged at {match}.*; restore a copy"),
    ):
        print(journal.kept("cuts"), *journal.plays())


def test_arms_beyond_the_header_are_damage_even_with_a_right_checksum(tmp_path):
    with Journal(tmp_path / "a") as journal:
        journal.begin(HEADER)
        row = pack(Play(0, np.array([N_ARMS]), np.array([True]), 0.1))
        journal._db.execute("INSERT INTO plays VALUES (?, ?, ?, ?, ?, ?)", row)
        with pytest.raises(JournalError, match="damaged at play 0"):
            list(journal.plays())


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
