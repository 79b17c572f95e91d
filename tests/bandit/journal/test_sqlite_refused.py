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

from tests.bandit.journal.plays import HEADER, N_ARMS, assert_holds, write
from tvselect.bandit.journal import JournalError, SqliteJournal, base
from tvselect.bandit.play import Play


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
            SqliteJournal(path) as journal,
            pytest.raises(JournalError, match="damaged at play 1 of chain 0; restore a copy"),
        ):
            list(journal.plays())

    def test_arms_beyond_the_header_are_damage_even_with_a_right_checksum(self, tmp_path):
        path = tmp_path / "a"
        with SqliteJournal(path) as journal:
            journal.begin(HEADER)
            play = Play(0, np.array([N_ARMS]), np.array([True]), 0.1)
            journal._write([(0, 0, base.pack(play))], {})
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
    with SqliteJournal(path) as journal:
        journal.keep("rows", b"0.5")
        if "WHERE" not in damage:
            journal.keep("cuts", b"0.5")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(damage)
    db.close()
    with SqliteJournal(path) as journal:
        with pytest.raises(JournalError, match=r"damaged at 'cuts'.*; restore a copy"):
            journal.kept("cuts")
        assert_holds(journal, 1)


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
