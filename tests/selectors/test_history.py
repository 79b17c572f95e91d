"""The read-out of a run: one fold of its plays, and a record that does not change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.bandit.plays import fold_counts
from tests.nested import nested
from tvselect import PValueReward, StreamingThompsonSelector
from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import Play
from tvselect.bandit.engine import StopReason
from tvselect.bandit.journal import Journal
from tvselect.inputs import Numbered
from tvselect.selectors.layout import lay_out_arms
from tvselect.selectors.results import Asked, History

ASKED = Asked(is_stream=False, reward="r", family="auto", seed=1, window=1, fingerprint="f")


def history_of(plays, n_arms, *, n_chains=1, prior=(1.0, 1.0), **more):
    journal = Journal()
    for chain in range(n_chains):
        for play in plays:
            journal.append([replace(play, chain=chain)])
    arms = Arms(n_arms, discount=more.get("discount", 1.0))
    for play in plays:
        arms.update(play.arms, play.rewards)
    return History(
        journal=journal, n_plays=journal.n_plays(),
        layout=lay_out_arms(Numbered(n_arms)), prior=prior, threshold=0.5, asked=ASKED,
        stop_reason=StopReason.PLAYS, successes=np.tile(arms.successes, (n_chains, 1)),
        failures=np.tile(arms.failures, (n_chains, 1)), **more,
    )  # fmt: skip


def random_plays(rng, n_arms, n_plays):
    plays = []
    for number in range(n_plays):
        arms = np.flatnonzero(rng.random(n_arms) < 0.4).astype(np.int32)
        plays.append(Play(number, arms, rng.random(arms.size) < 0.5, 0.25))
    return plays


@given(seed=st.integers(0, 10_000), n_plays=st.integers(0, 8))
@settings(max_examples=40, deadline=None)
def test_paths_are_the_means_of_the_counts(seed, n_plays):
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(1, 12))
    plays = random_plays(rng, n_arms, n_plays)
    chosen = rng.integers(0, n_arms, 5)
    prior_a, prior_b = rng.uniform(0.5, 3, (2, n_arms))
    found = history_of(plays, n_arms, prior=(prior_a, prior_b)).paths(chosen)
    assert found.shape == (n_plays + 1, 5)
    for t in range(n_plays + 1):
        journal = Journal()
        for play in plays[:t]:
            journal.append([play])
        successes, failures = fold_counts(journal, n_arms)
        a, b = (prior_a + successes)[chosen], (prior_b + failures)[chosen]
        assert_array_equal(found[t], a / (a + b))


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
    history = history_of(plays, 5, prior=(prior_a, prior_b), discount=discount)
    chosen = rng.integers(0, 5, 7)
    assert_allclose(history.paths(chosen), np.array(rows)[:, chosen], rtol=1e-12)
    assert_array_equal(history.paths(np.arange(5))[-1], history.means())
    assert_array_equal(
        history.times_played, sum((np.bincount(play.arms, minlength=5) for play in plays), 0)
    )


@given(seed=st.integers(0, 10_000), n_plays=st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_some_steps_are_rows_of_all_and_chains_are_added_up(seed, n_plays):
    rng = np.random.default_rng(seed)
    plays = random_plays(rng, 6, n_plays)
    history = history_of(plays, 6, n_chains=3)
    arms = np.arange(6)
    steps = np.unique(rng.integers(0, n_plays + 1, 4))
    every = history.paths(arms)
    assert_array_equal(history.paths(arms, steps), every[steps])
    one = history.paths(arms, chain=1)
    counted = Arms(6)
    for number, play in enumerate(plays, start=1):
        counted.update(play.arms, play.rewards)
        s, f = counted.successes, counted.failures
        assert_array_equal(one[number], (1 + s) / (2 + s + f))
        assert_array_equal(every[number], (1 + 3 * s) / (2 + 3 * (s + f)))
    played, paid = history.sizes(steps)
    sizes = [0, *(play.arms.size for play in plays)]
    assert_array_equal(played, np.array(sizes)[steps])
    assert_array_equal(paid, np.array([0, *(play.rewards.sum() for play in plays)])[steps])
    assert history.seconds == 3 * 0.25 * n_plays


@pytest.mark.parametrize("discount", [1.0, 0.5])
def test_a_play_without_arms_changes_nothing(discount):
    none = np.array([], np.int32), np.array([], np.bool_)
    one = Play(1, np.array([1, 2], np.int32), np.array([True, False]), 0.1)
    plays = [Play(0, *none, 0.0), one, Play(2, *none, 0.0), Play(3, *none, 0.0)]
    history = history_of(plays, 3, discount=discount)
    before, after = [0.5, 0.5, 0.5], [1 / 2, 2 / 3, 1 / 3]
    assert_allclose(history.paths(np.arange(3)), [before, before, after, after, after])
    assert history.n_skipped == 3


def test_without_plays_there_is_the_prior():
    history = history_of([], 2, prior=(3.0, 1.0))
    assert history.paths(np.arange(2)).tolist() == [[0.75, 0.75]]
    assert not history.support.any()
    assert history.seconds == 0.0


def test_a_few_of_very_many_arms():
    arms = np.arange(0, 1_000_000, 59, np.int32)
    rewards = np.zeros(arms.size, np.bool_)
    history = history_of([Play(t, arms, rewards, 0.0) for t in range(500)], 1_000_000)
    found = history.paths(np.arange(20))
    assert_allclose(found[-1, :2], [1 / 502, 0.5])


def reading(history):
    """Everything that a history says."""
    steps = np.arange(history.n_plays + 1)
    said = [
        history.support, history.means(), history.intervals, history.times_played, history.seconds,
        history.chain_supports, history.spread, history.sizes(steps), history.n_skipped,
        history.paths(np.arange(history.layout.n_arms)), [play.number for play in history.plays],
        history.stop_reason, history.asked,
    ]  # fmt: skip
    return [np.asarray(value, dtype=object).tolist() for value in said]


def make_data(n_rows=120, p=12):
    X = np.random.default_rng(3).random((n_rows, p))
    return X, X[:, 2] + 0.1 * X[:, 5]


def test_an_old_history_stays_as_it_was_after_more_batches():
    X, y = make_data(600)
    settings = dict(n_chains=2, decoys="knockoffs", discount=0.9, random_state=0)
    selector = StreamingThompsonSelector(PValueReward(alpha=0.2), **nested(**settings))
    histories, readings = [], []
    for first in range(0, 600, 60):
        selector.partial_fit(X[first : first + 60], y[first : first + 60])
        histories.append(selector.history_)
        readings.append(reading(selector.history_))
    assert [history.n_plays for history in histories] == list(range(1, 11))
    assert [reading(history) for history in histories] == readings


def test_of_too_many_arms_the_best_are_selected():
    arms, paid = np.arange(4, dtype=np.int32), np.ones(4, np.bool_)
    plays = [Play(0, arms, paid, 0.0), Play(1, arms[2:], paid[2:], 0.0)]
    assert history_of(plays, 4).support.tolist() == [True] * 4
    assert history_of(plays, 4, n_wanted=3).support.tolist() == [True, False, True, True]
    assert history_of(plays, 4, n_wanted=2).support.tolist() == [False, False, True, True]
