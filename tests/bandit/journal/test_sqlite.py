from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from tests.bandit.journal.plays import HEADER, assert_holds, make_play, write
from tvselect.bandit.journal import JournalError, SqliteJournal, sqlite
from tvselect.bandit.play import Play


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
            journal.append([Play(0, np.array([1, 258]), np.array([True, False]), 0.5)])
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
            journal.append([make_play(0)])

    def test_blobs_need_a_header(self, tmp_path):
        with (
            SqliteJournal(tmp_path / "a") as journal,
            pytest.raises(JournalError, match="call begin first"),
        ):
            journal.keep("cuts", b"0.5")

    def test_blobs_are_there_when_the_journal_is_opened_again(self, tmp_path):
        write(tmp_path / "a", 2)
        with SqliteJournal(tmp_path / "a") as journal, SqliteJournal(tmp_path / "a") as reader:
            journal.keep("cuts", b"0.5")
            assert reader.kept("cuts") == b"0.5"
        with SqliteJournal(tmp_path / "a") as journal:
            assert journal.kept("cuts") == b"0.5"
            assert_holds(journal, 2)

    def test_a_closed_journal_says_so(self, tmp_path):
        journal = SqliteJournal(tmp_path / "a")
        journal.begin(HEADER)
        journal.close()
        for use in (
            journal.n_plays,
            lambda: journal._write([], {}),
            lambda: journal.keep("cuts", b"0.5"),
            lambda: journal.kept("cuts"),
        ):
            with pytest.raises(JournalError, match=r"closed.*open it again"):
                use()

    def test_others_may_read_while_one_writes(self, tmp_path):
        path = tmp_path / "a"
        write(path, 2)
        with SqliteJournal(path) as writer, SqliteJournal(path) as reader:
            writer.append([make_play(2)])
            assert_holds(reader, 3)

    def test_of_two_writers_the_second_is_refused(self, tmp_path):
        path = tmp_path / "a"
        with SqliteJournal(path) as first, SqliteJournal(path) as second:
            first.begin(HEADER)
            with pytest.raises(JournalError, match="only one run may write"):
                second.begin(HEADER)
        with SqliteJournal(path) as first, SqliteJournal(path) as second:
            first.append([make_play(0)])
            with pytest.raises(JournalError, match="only one run may write"):
                second.append([make_play(0)])
            second.n_plays = lambda chain=0: 0
            with pytest.raises(JournalError, match=r"UNIQUE.*only one run may write"):
                second.append([make_play(0)])
            assert_holds(first, 1)

    def test_plays_that_fail_while_written_leave_none_behind(self, tmp_path):
        path = tmp_path / "a"
        write(path, 1)
        with SqliteJournal(path) as journal, SqliteJournal(path) as reader:
            plays = [make_play(0, 1), make_play(0)]
            journal.n_plays = lambda chain=0: 0
            with pytest.raises(JournalError, match=r"UNIQUE.*only one run may write"):
                journal.append(plays, {"head": b"of those plays"})
            del journal.n_plays
            assert_holds(reader, 1)
            assert reader.kept("head") is None
            assert reader.n_plays(1) == 0
            journal.append([make_play(0, 1), make_play(1)])
            assert_holds(reader, 2)

    def test_a_locked_file_is_reported(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sqlite, "SECONDS_TO_WAIT", 0.05)
        path = tmp_path / "a"
        write(path, 1)
        other = sqlite3.connect(path, isolation_level=None)
        with SqliteJournal(path) as journal:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(JournalError, match=r"locked.*only one run may write"):
                journal.append([make_play(1)])
            other.execute("ROLLBACK")
            other.close()
            journal.append([make_play(1)])
            assert_holds(journal, 2)

    def test_a_full_disk_keeps_what_is_written(self, tmp_path):
        path = tmp_path / "a"
        write(path, 3)
        with SqliteJournal(path) as journal:
            journal._db.execute("PRAGMA max_page_count = 1")
            with pytest.raises(JournalError, match=r"full.*run again"):
                journal.append([make_play(3)])
            assert_holds(journal, 3)
        write(path, 20)
        with SqliteJournal(path) as journal:
            assert_holds(journal, 20)

    def test_a_log_left_by_a_deleted_journal_is_not_replayed(self, tmp_path):
        old, new = tmp_path / "old", tmp_path / "new"
        with SqliteJournal(old) as journal:
            journal.begin(HEADER)
            journal.append([make_play(0)])
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

    def test_an_empty_file_is_a_new_journal(self, tmp_path):
        """A run that is killed as it makes the file may leave one."""
        path, fresh = tmp_path / "a", tmp_path / "fresh"
        path.touch()
        (tmp_path / "a-wal").touch()
        SqliteJournal(path).close()
        SqliteJournal(fresh).close()
        assert path.read_bytes() == fresh.read_bytes()
        with SqliteJournal(path) as journal:
            assert journal.header is None
        write(path, 3)
        with SqliteJournal(path) as journal:
            assert_holds(journal, 3)
        assert sorted(os.listdir(tmp_path)) == ["a", "fresh"]

    def test_of_runs_that_start_at_the_same_time_one_makes_the_file(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sqlite, "SECONDS_TO_WAIT", 0.05)
        path = tmp_path / "a"
        path.touch()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(JournalError, match=r"locked.*only one run may write"):
            SqliteJournal(path)
        other.close()
        assert path.read_bytes() == b""
        write(path, 1)

    def test_a_file_that_another_run_has_filled_meanwhile_is_left_alone(self, tmp_path):
        path = tmp_path / "a"
        path.touch()
        with SqliteJournal(path) as first:
            first.begin(HEADER)
            first.append([make_play(0)])
            first._create()
            first.append([make_play(1)])
            assert_holds(first, 2)
        with SqliteJournal(path) as journal:
            journal._create()
            assert_holds(journal, 2)

    def test_a_file_that_cannot_be_filled_is_removed(self, tmp_path, monkeypatch):
        def fail(self, missing_ok):
            monkeypatch.undo()
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "unlink", fail)
        with pytest.raises(JournalError, match="No space left"):
            SqliteJournal(tmp_path / "a")
        assert os.listdir(tmp_path) == []
