from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from tests.bandit.plays import HEADER, N_ARMS, assert_holds, make_play, write
from tvselect.bandit import journal as journals
from tvselect.bandit.chain import Play
from tvselect.bandit.journal import Journal, JournalError


@pytest.fixture(params=["memory", "file"])
def journal(request, tmp_path):
    """A journal that is begun."""
    with Journal(None if request.param == "memory" else tmp_path / "a.journal") as made:
        assert made.header is None
        assert made.n_plays() == 0
        assert list(made.plays()) == []
        made.begin(HEADER)
        yield made


@pytest.fixture
def path(tmp_path):
    """A file with three plays."""
    write(tmp_path / "a", 3)
    return tmp_path / "a"


def play_of(arms, n_rewards=None, seconds=0.25, number=0, chain=0):
    n_rewards = len(arms) if n_rewards is None else n_rewards
    return Play(number, np.array(arms, np.int32), np.zeros(n_rewards, np.bool_), seconds, chain)


class TestEveryJournal:
    def test_it_gives_back_what_it_was_given(self, journal):
        for number in range(10):
            journal.append([make_play(number, 1)])
            journal.append([make_play(number, 0)])
        order = [(0, 10), (1, 10), (np.int64(0), 11), (1, 11)]
        journal.append([make_play(number, chain) for chain, number in order])
        journal.append([])
        assert journal.header == HEADER
        assert_holds(journal, 12, 0)
        assert_holds(journal, 12, 1)
        assert [play.number for play in journal.plays(1, start=9)] == [9, 10, 11]
        assert list(journal.plays(0, start=12)) == []

    def test_a_second_begin_returns_the_first_header(self, journal):
        again = dataclasses.replace(HEADER, entropy=1, version="9")
        assert journal.begin(again).entropy == HEADER.entropy

    @pytest.mark.parametrize("changed", [{"fingerprint": "x"}, {"n_arms": 3}, {"n_chains": 5}])
    def test_another_game_is_refused(self, journal, changed):
        name, value = next(iter(changed.items()))
        with pytest.raises(JournalError, match=rf"another data set.*{name} was .*, is {value}"):
            journal.begin(dataclasses.replace(HEADER, **changed))

    @pytest.mark.parametrize(
        ("play", "match"),
        [
            *((play_of([], number=n), "holds 2 plays of chain 0") for n in (-1, 1, 3)),
            (make_play(1, 1), "holds 0 plays of chain 1"),
            (dataclasses.replace(make_play(2), chain=2), "no chain 2"),
            (dataclasses.replace(make_play(2), chain=-1), "no chain -1"),
            (play_of([3, 2], number=2), "make no sense"),
            (play_of([2, 2], number=2), "make no sense"),
            (play_of([-1], number=2), "make no sense"),
            (play_of([N_ARMS], number=2), "make no sense"),
            (play_of([1], n_rewards=2, number=2), "make no sense"),
            (play_of([1], seconds=float("nan"), number=2), "make no sense"),
        ],
    )
    def test_when_one_of_several_plays_is_refused_nothing_is_added(self, journal, play, match):
        journal.append([make_play(0)], {"head": b"one", "cuts": b"0.5"})
        with pytest.raises(ValueError, match=match):
            journal.append([make_play(1), play], {"head": b"of those plays"})
        assert_holds(journal, 1)
        assert journal.n_plays(1) == 0
        assert (journal.kept("head"), journal.kept("cuts")) == (b"one", b"0.5")
        journal.append([make_play(1), make_play(0, 1)], {"head": bytearray(b"two")})
        assert_holds(journal, 2)
        assert (journal.kept("head"), journal.kept("cuts")) == (b"two", b"0.5")


class TestInAFile:
    def test_a_run_goes_on_where_it_stopped(self, tmp_path):
        """Also by a link, whose log is beside the file that it leads to."""
        path, there = tmp_path / "a b?c#%41.journal", tmp_path / "there"
        path.symlink_to(there)
        write(path, 3)
        with Journal(str(path)) as journal:
            assert journal.header == HEADER
            journal.keep("cuts", b"0.5")
        write(path, 7)
        with Journal(path) as journal:
            assert_holds(journal, 7)
            assert journal.kept("cuts") == b"0.5"
            assert (tmp_path / "there-wal").exists()
        assert sorted(os.listdir(tmp_path)) == [path.name, there.name]

    def test_the_file_is_as_promised(self, tmp_path):
        path = tmp_path / "a"
        with Journal(path) as journal:
            journal.begin(HEADER)
            journal.append([Play(0, np.array([1, 258]), np.array([True, False]), 0.5)])
            db = sqlite3.connect(path)
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert db.execute("PRAGMA application_id").fetchone() == (0x5456534A,)
            assert db.execute("PRAGMA user_version").fetchone() == (1,)
            row = db.execute("SELECT chain, number, arms, rewards, seconds FROM plays").fetchone()
            assert row == (0, 0, b"\1\0\0\0\2\1\0\0", b"\x80", 0.5)
            db.close()

    def test_plays_and_blobs_need_a_header(self, tmp_path):
        with Journal(tmp_path / "a") as journal:
            for write in (lambda: journal.append([make_play(0)]), lambda: journal.keep("a", b"")):
                with pytest.raises(JournalError, match="call begin first"):
                    write()

    def test_others_may_read_while_one_writes(self, path):
        with Journal(path) as writer, Journal(path) as reader:
            writer.append([make_play(3)], {"cuts": b"0.5"})
            assert_holds(reader, 4)
            assert reader.kept("cuts") == b"0.5"

    def test_of_two_writers_the_second_is_refused(self, tmp_path):
        path = tmp_path / "a"
        with Journal(path) as first, Journal(path) as second:
            first.begin(HEADER)
            with pytest.raises(JournalError, match="only one run may write"):
                second.begin(HEADER)
        with Journal(path) as first, Journal(path) as second:
            first.append([make_play(0)])
            with pytest.raises(JournalError, match="only one run may write"):
                second.append([make_play(0)])
            second.n_plays = lambda chain=0: 0
            with pytest.raises(JournalError, match=r"UNIQUE.*only one run may write"):
                second.append([make_play(0, 1), make_play(0)], {"head": b"of those plays"})
            assert_holds(first, 1)
            assert first.kept("head") is None
            assert first.n_plays(1) == 0
            first.append([make_play(0, 1), make_play(1)])

    def test_a_locked_file_is_reported(self, path, monkeypatch):
        monkeypatch.setattr(journals, "SECONDS_TO_WAIT", 0.05)
        other = sqlite3.connect(path, isolation_level=None)
        with Journal(path) as journal:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(JournalError, match=r"locked.*only one run may write"):
                journal.append([make_play(3)])
            other.execute("ROLLBACK")
            other.close()
            journal.append([make_play(3)])
            assert_holds(journal, 4)

    def test_a_log_left_by_a_deleted_journal_is_not_replayed(self, tmp_path):
        with Journal(tmp_path / "old") as journal:
            journal.begin(HEADER)
            journal.append([make_play(0)])
            (tmp_path / "new-wal").write_bytes((tmp_path / "old-wal").read_bytes())
        with Journal(tmp_path / "new") as journal:
            assert journal.header is None
            assert journal.n_plays() == 0

    def test_of_runs_that_start_at_the_same_time_one_makes_the_file(self, tmp_path, monkeypatch):
        monkeypatch.setattr(journals, "SECONDS_TO_WAIT", 0.05)
        path = tmp_path / "a"
        path.touch()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(JournalError, match=r"locked.*only one run may write"):
            Journal(path)
        other.close()
        assert path.read_bytes() == b""
        with Journal(path) as journal:
            journal.begin(HEADER)
            journal.append([make_play(0)])
            journal._create(path)  # as a run does that has found it empty
            journal.append([make_play(1)])
            assert_holds(journal, 2)

    def test_a_file_that_cannot_be_filled_is_removed(self, tmp_path, monkeypatch):
        def fail(self, missing_ok):
            monkeypatch.undo()
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "unlink", fail)
        with pytest.raises(JournalError, match="No space left"):
            Journal(tmp_path / "a")
        assert os.listdir(tmp_path) == []


class TestInMemory:
    @pytest.mark.parametrize("how", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
    def test_a_copy_is_in_memory_and_goes_on_by_itself(self, how, tmp_path):
        with Journal(tmp_path / "a") as in_file:
            in_file.begin(HEADER)
            for journal in (Journal(), in_file):
                journal.append([make_play(0, 1)], {"cuts": b"0.5"})
                found = how(journal)
                assert found.header == journal.header
                assert not found.is_durable
                assert_holds(found, 1, 1)
                assert found.kept("cuts") == b"0.5"
                found.append([make_play(1, 1)])
                assert_holds(how(found), 2, 1)
                assert_holds(journal, 1, 1)
            assert in_file.is_durable


class TestAttached:
    def test_plays_go_to_the_file_until_it_is_closed_and_stay_readable(self, tmp_path):
        path, journal = tmp_path / "a", Journal()
        for n_done in (0, 3):
            assert journal.attach(path, HEADER) == HEADER
            for number in range(n_done, n_done + 3):
                journal.append([make_play(number)], {"head": b"%d" % number})
            assert journal.is_durable
            journal.close()
        assert not journal.is_durable
        with Journal(path) as file:
            assert_holds(file, 6)
        path.unlink()
        assert_holds(journal, 6)
        assert journal.kept("head") == b"5"

    def test_an_empty_one_takes_over_what_the_file_holds(self, path):
        journal = Journal()
        assert journal.attach(path, dataclasses.replace(HEADER, entropy=1)) == HEADER
        assert_holds(journal, 3)
        journal.close()

    @pytest.mark.parametrize("n", [1, 4])
    def test_a_file_with_other_plays_is_refused(self, path, n):
        journal = Journal()
        journal.append([make_play(number) for number in range(n)])
        with pytest.raises(JournalError, match=f"holds 3 plays of chain 0: this run has made {n}"):
            journal.attach(path, HEADER)
        assert_holds(journal, n)
        assert not journal.is_durable

    def test_damage_is_found_at_once(self, path):
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("UPDATE plays SET seconds = 7 WHERE number = 2")
        db.close()
        with pytest.raises(JournalError, match="damaged at play 2"):
            Journal().attach(path, HEADER)
