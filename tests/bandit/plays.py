"""What the tests of journals share: plays to write, and what must be read back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.chain import Play
from tvselect.bandit.journal import Header, Journal

N_ARMS = 5_000
HEADER = Header("fp-1", 2**100 + 7, N_ARMS, 2, 1, "0.1.0")


def make_play(number: int, chain: int = 0, most: int = 3_000) -> Play:
    """The play of this number: always the same, so that what is read back can be checked."""
    rng = np.random.default_rng([chain, number])
    arms = np.flatnonzero(rng.random(N_ARMS) < rng.random() * most / N_ARMS).astype(np.int32)
    return Play(number, arms, rng.random(arms.size) < 0.3, float(rng.random()), chain)


def assert_same(found: Play, expected: Play) -> None:
    assert found.number == expected.number
    assert (found.seconds, found.chain) == (expected.seconds, expected.chain)
    assert (found.arms.dtype, found.rewards.dtype) == (np.int32, np.bool_)
    np.testing.assert_array_equal(found.arms, expected.arms)
    np.testing.assert_array_equal(found.rewards, expected.rewards)


def assert_holds(journal: Journal, n_plays: int, chain: int = 0) -> None:
    found = list(journal.plays(chain))
    assert len(found) == journal.n_plays(chain) == n_plays
    for number, play in enumerate(found):
        assert_same(play, make_play(number, chain))


def write(path: Path, n_plays: int) -> None:
    with Journal(path) as journal:
        journal.begin(HEADER)
        for number in range(journal.n_plays(), n_plays):
            journal.append([make_play(number)])


def listed(journal: Journal, n_chains: int) -> list[tuple[int, int, list[int], list[bool]]]:
    """All plays, to be compared: chain, number, arms, rewards."""
    return [
        (chain, play.number, play.arms.tolist(), play.rewards.tolist())
        for chain in range(n_chains)
        for play in journal.plays(chain)
    ]


def fold_counts(
    journal: Journal, n_arms: int, chains: Iterable[int] = (0,)
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Successes and failures of every arm, summed over the plays of some chains."""
    successes, failures = np.zeros((2, n_arms), dtype=np.int64)
    for chain in chains:
        for play in journal.plays(chain):
            successes[play.arms] += play.rewards
            failures[play.arms] += ~play.rewards
    return successes, failures
