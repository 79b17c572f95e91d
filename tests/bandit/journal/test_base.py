from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bandit.journal.plays import HEADER, N_ARMS, assert_holds, assert_same, make_play
from tvselect.bandit.journal import JournalError, MemoryJournal, SqliteJournal
from tvselect.bandit.play import Play


class TestEveryJournal:
    def test_it_starts_blank(self, journal):
        assert journal.header is None
        assert journal.n_plays() == 0
        assert list(journal.plays()) == []

    def test_it_gives_back_what_it_was_given(self, journal):
        journal.begin(HEADER)
        for number in range(12):
            journal.append([make_play(number, 1)])
            journal.append([make_play(number, 0)])
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
                    made.append([play])
                    assert_same(next(made.plays()), play)

    def test_numbers_of_numpy_will_do(self, journal):
        journal.begin(HEADER)
        play = dataclasses.replace(make_play(0, 1), number=np.int64(0), seconds=np.float32(0.5))
        journal.append([play])
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
        journal.append([make_play(0)])
        with pytest.raises(JournalError, match="holds 1 plays of chain 0"):
            journal.append([dataclasses.replace(make_play(1), number=number)])
        assert journal.n_plays() == 1

    @pytest.mark.parametrize(
        ("arms", "n_rewards"), [([3, 2], 2), ([2, 2], 2), ([-1], 1), ([N_ARMS], 1), ([1], 2)]
    )
    @pytest.mark.parametrize("seconds", [0.0, float("nan")])
    def test_a_play_that_makes_no_sense_is_refused(self, journal, arms, n_rewards, seconds):
        journal.begin(HEADER)
        with pytest.raises(ValueError, match="make no sense"):
            journal.append([Play(0, np.array(arms), np.zeros(n_rewards, np.bool_), seconds)])
        assert journal.n_plays() == 0

    @pytest.mark.parametrize("chain", [-1, 2])
    def test_a_chain_that_is_not_there_is_refused(self, journal, chain):
        journal.begin(HEADER)
        with pytest.raises(ValueError, match="no chain"):
            journal.append([dataclasses.replace(make_play(0), chain=chain)])

    def test_plays_of_several_chains_are_added_together(self, journal):
        journal.begin(HEADER)
        journal.append([make_play(0, 1)])
        order = [(0, 0), (1, 1), (np.int64(0), 1), (0, 2), (1, 2)]
        journal.append([make_play(number, chain) for chain, number in order])
        journal.append([])
        assert_holds(journal, 3, 0)
        assert_holds(journal, 3, 1)

    @pytest.mark.parametrize(
        ("chain", "play", "match"),
        [
            (1, make_play(1, 1), "holds 0 plays of chain 1"),
            (0, make_play(1), "holds 2 plays of chain 0"),
            (2, make_play(0), "no chain 2"),
            (1, Play(0, np.array([3, 2]), np.zeros(2, np.bool_), 0.1), "make no sense"),
        ],
    )
    def test_when_one_of_several_plays_is_refused_none_is_added(self, journal, chain, play, match):
        journal.begin(HEADER)
        journal.append([make_play(0)])
        with pytest.raises(ValueError, match=match):
            journal.append([make_play(1), dataclasses.replace(play, chain=chain)])
        assert_holds(journal, 1)
        assert journal.n_plays(1) == 0
        journal.append([make_play(1), make_play(0, 1)])
        assert_holds(journal, 2)

    def test_blobs_are_kept_with_the_plays_or_not_at_all(self, journal):
        journal.begin(HEADER)
        journal.append([make_play(0)], {"head": b"one", "cuts": b"0.5"})
        assert (journal.kept("head"), journal.kept("cuts")) == (b"one", b"0.5")
        with pytest.raises(JournalError, match="holds 1 plays of chain 0"):
            journal.append([make_play(0)], {"head": b"older"})
        assert journal.kept("head") == b"one"
        journal.append([make_play(1)], {"head": bytearray(b"two")})
        assert (journal.kept("head"), journal.kept("cuts")) == (b"two", b"0.5")
        assert_holds(journal, 2)

    def test_a_play_without_arms_is_a_play(self, journal):
        journal.begin(HEADER)
        plays = [make_play(0), skipped(1), skipped(2), make_play(3)]
        journal.append([plays[0]])
        journal.append([plays[1], skipped(0, 1)])
        journal.append([plays[2]])
        journal.append([plays[3]])
        assert [journal.n_plays(chain) for chain in (0, 1)] == [4, 1]
        for found, expected in zip(journal.plays(0), plays, strict=True):
            assert_same(found, expected)
        assert_same(next(journal.plays(1)), skipped(0, 1))

    def test_it_keeps_blobs_next_to_the_plays(self, journal):
        journal.begin(HEADER)
        assert journal.kept("cuts") is None
        for name, blob in [("cuts", b"old"), ("", b""), ("é\0 '", bytes(range(256)) * 999)]:
            journal.keep(name, blob)
            assert journal.kept(name) == blob
        journal.keep("cuts", bytearray(b"new"))
        assert journal.kept("cuts") == b"new"
        assert journal.kept("") == b""
        assert journal.kept("Cuts") is None
        assert journal.n_plays() == 0


def skipped(number: int, chain: int = 0) -> Play:
    return Play(number, np.array([], np.int32), np.array([], np.bool_), 0.25, chain)
