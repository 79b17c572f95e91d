from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bandit.journal.plays import fold_counts
from tvselect.bandit.journal import MemoryJournal, trajectories
from tvselect.bandit.play import Play


def random_plays(rng: np.random.Generator, n_arms: int, n_plays: int) -> list[Play]:
    plays = []
    for number in range(n_plays):
        arms = np.flatnonzero(rng.random(n_arms) < 0.4).astype(np.int32)
        plays.append(Play(number, arms, rng.random(arms.size) < 0.5, 0.0))
    return plays


@given(seed=st.integers(0, 10_000), n_plays=st.integers(0, 8))
@settings(max_examples=40, deadline=None)
def test_trajectories_are_the_means_of_the_counts(seed, n_plays):
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(1, 12))
    plays = random_plays(rng, n_arms, n_plays)
    chosen = rng.integers(0, n_arms, 5)
    prior_a, prior_b = rng.uniform(0.5, 3, (2, 5))
    found = trajectories(iter(plays), chosen, prior_a, prior_b)
    assert found.shape == (n_plays + 1, 5)
    for t in range(n_plays + 1):
        journal = MemoryJournal()
        for play in plays[:t]:
            journal.append([play])
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


@given(seed=st.integers(0, 10_000), n_plays=st.integers(0, 30), discount=st.floats(0.01, 1.0))
@settings(max_examples=60, deadline=None)
def test_a_discount_makes_played_arms_forget(seed, n_plays, discount):
    rng = np.random.default_rng(seed)
    prior_a, prior_b = rng.uniform(0.5, 3, (2, 5))
    plays = random_plays(rng, 5, n_plays)
    successes, failures = np.zeros((2, 5))
    rows = [prior_a / (prior_a + prior_b)]
    for play in plays:
        for arm, reward in zip(play.arms, play.rewards, strict=True):
            successes[arm] = discount * successes[arm] + (1.0 if reward else 0.0)
            failures[arm] = discount * failures[arm] + (0.0 if reward else 1.0)
        a, b = prior_a + successes, prior_b + failures
        rows.append(a / (a + b))
    chosen = rng.integers(0, 5, 7)
    found = trajectories(plays, chosen, prior_a[chosen], prior_b[chosen], discount)
    np.testing.assert_allclose(found, np.array(rows)[:, chosen], rtol=1e-12)


def test_without_a_discount_the_numbers_are_sums_to_the_last_bit():
    rng = np.random.default_rng(0)
    prior_a, prior_b = rng.uniform(0.1, 3, (2, 8))
    plays = random_plays(rng, 8, 200)
    a, b = prior_a.copy(), prior_b.copy()
    rows = [a / (a + b)]
    for play in plays:
        a[play.arms] += play.rewards
        b[play.arms] += ~play.rewards
        rows.append(a / (a + b))
    np.testing.assert_array_equal(trajectories(plays, np.arange(8), prior_a, prior_b), rows)


@pytest.mark.parametrize("discount", [1.0, 0.5])
def test_a_play_without_arms_changes_nothing(discount):
    one = Play(0, np.array([1, 2], np.int32), np.array([True, False]), 0.1)
    skipped = Play(1, np.array([], np.int32), np.array([], np.bool_), 0.0)
    found = trajectories([skipped, one, skipped, skipped], [0, 1, 2], discount=discount)
    before, after = [0.5, 0.5, 0.5], [1 / 2, 2 / 3, 1 / 3]
    np.testing.assert_allclose(found, [before, before, after, after, after])


def test_without_plays_there_is_the_prior():
    assert trajectories([], [1, 2], 3.0).tolist() == [[0.75, 0.75]]
