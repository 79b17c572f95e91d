"""Burn-in: the leaders start anew among themselves, whoever makes the plays."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.bandit.test_chain import assert_same, assert_same_arms, step
from tvselect import PValueReward, ThompsonSelector
from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import ThompsonChain
from tvselect.bandit.oracle import BurnIn, Oracle

BURN_IN = BurnIn(10, 3)


def chain_of(window=1, **settings):
    settings = {"burn_in": BURN_IN} | settings
    return ThompsonChain(Arms(7), Oracle(), entropy=1, window=window, **settings)


def test_leaders_are_paid_best_and_arms_never_played_lead_nothing():
    successes, failures = np.array([0, 1, 9, 4]), np.array([0, 0, 1, 4])
    assert_array_equal(BurnIn(1, 2).leaders(successes, failures), [2, 3])


@pytest.mark.parametrize(
    ("heard", "wanted"), [((), [2, 3]), ((0,), [0, 2, 3]), ((3, 1), [1, 2, 3]), ((3, 2), [2, 3])]
)
def test_arms_to_be_heard_lead_in_any_case(heard, wanted):
    successes, failures = np.array([0, 1, 9, 4]), np.array([50, 0, 1, 4])
    leaders = BurnIn(1, 2, heard).leaders(successes, failures)
    assert_array_equal(leaders, wanted)
    assert leaders.dtype == np.int32


def test_arms_to_be_heard_start_anew_with_the_leaders():
    chain = chain_of(burn_in=BurnIn(10, 1, (0, 6)))
    for _ in range(10):
        step(chain)
    assert not chain.arms.failures[[0, 6]].any()
    played = np.unique(np.concatenate([step(chain).arms for _ in range(30)]))
    assert np.isin([0, 6], played).all()
    assert played.size <= 3


def test_leaders_start_anew_and_the_others_rest():
    chain, plain = chain_of(), chain_of(burn_in=None)
    for _ in range(BURN_IN.n_plays):
        assert_same(step(chain), step(plain))
    leaders = BURN_IN.leaders(plain.arms.successes, plain.arms.failures)
    others = np.setdiff1d(np.arange(7), leaders)
    assert not chain.arms.successes[leaders].any()
    assert not chain.arms.failures[leaders].any()
    assert_array_equal(chain.arms.successes[others], plain.arms.successes[others])
    for _ in range(30):
        assert np.isin(step(chain).arms, leaders).all()


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("n_plays", [5, 10, 11, 40])
def test_a_replayed_chain_goes_on_as_it_would_have(window, n_plays):
    chain, again = chain_of(window), chain_of(window)
    again.replay([step(chain) for _ in range(n_plays)])
    assert again.n_unchanged == chain.n_unchanged
    assert_same_arms(again, chain)
    for _ in range(5):
        assert_same(step(again), step(chain))


def test_a_window_ends_with_burn_in():
    chain = chain_of(window=4, burn_in=BurnIn(45, 3))
    while chain.n_plays < 45:
        step(chain)
    assert chain.width
    assert len(chain.ask()) == 1


def test_windows_grow_anew_after_burn_in():
    """At most a tenth of the plays that the fresh arms have learned from, as at the start."""
    chain = chain_of(window=3, burn_in=BurnIn(40, 3))
    sizes = []
    for _ in range(80):
        sizes.append(len(chain.ask()) if chain.width else 0)
        step(chain)
    assert max(sizes[:40]) == 3
    assert sizes[40:60] == [1] * 20
    assert sizes[60] == 2


def test_patience_begins_after_burn_in():
    chain = chain_of()
    counts = [step(chain) and chain.n_unchanged for _ in range(30)]
    assert counts[:10] == [0] * 10
    assert max(counts) > 0


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 8))
    return X, X[:, 2] + 0.5 * rng.normal(size=100)


def fit(**settings):
    settings = {"burn_in": 15, "n_plays": 40, "max_fdr": None, "random_state": 1} | settings
    return ThompsonSelector(PValueReward(), **settings).fit(*table())


@pytest.mark.parametrize("n_plays", [14, 15, 16, 40])
def test_a_history_counts_what_the_arms_count(n_plays):
    """But at the very end of burn-in, where the arms are fresh and the history still knows."""
    history = fit(n_plays=n_plays).history_
    first = 15 if n_plays > 15 else 0
    plays = history.plays[first:]
    paid = np.sum([np.isin(np.arange(8), play.arms[play.rewards]) for play in plays], axis=0)
    played = np.sum([np.isin(np.arange(8), play.arms) for play in plays], axis=0)
    assert_array_equal(history.means(), (1 + paid) / (2 + played))
    assert_array_equal(history.paths(np.arange(8))[-1], history.means())


@pytest.mark.parametrize("first", [10, 15, 20])
def test_a_resumed_run_ends_the_same(tmp_path, first):
    fit(n_plays=first, journal=tmp_path / "run")
    resumed, whole = fit(journal=tmp_path / "run"), fit()
    assert_array_equal(resumed.selection_rates_, whole.selection_rates_)
    warm = ThompsonSelector(
        PValueReward(), burn_in=15, n_plays=first, max_fdr=None, random_state=1, warm_start=True
    ).fit(*table())
    warm.set_params(n_plays=40).fit(*table())
    assert_array_equal(warm.selection_rates_, whole.selection_rates_)


@pytest.mark.parametrize("wrong", [-1, 1.5, "long"])
def test_what_is_no_burn_in_is_refused(wrong):
    with pytest.raises((TypeError, ValueError), match="burn_in"):
        fit(burn_in=wrong)


def test_by_default_wide_games_with_decoys_have_one():
    settings = dict(burn_in="auto", n_plays=2)
    assert fit(**settings).history_.asked.burn_in == 0
    assert fit(**settings, max_fdr=0.1).history_.asked.burn_in == 0
    X = np.random.default_rng(0).normal(size=(30, 100))
    wide = ThompsonSelector(PValueReward(), n_plays=2).fit(X, X[:, 2])
    assert wide.history_.asked.burn_in == 150
