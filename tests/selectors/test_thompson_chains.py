"""When the selector stops, and what its chains have to do with each other."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.bandit.plays import fold_counts
from tests.selectors.test_thompson import P, assert_same, make_data, quick_bart, selector
from tvselect import PValueReward
from tvselect.bandit import engine
from tvselect.selectors.results import mean_jaccard


def test_patience_stops_a_steady_game():
    X, y = make_data()
    fitted = selector(n_plays=500, patience=6).fit(X, y)
    assert fitted.stop_reason_ == "patience"
    assert 6 < fitted.n_plays_ < 500
    same = selector(n_plays=fitted.n_plays_).fit(X, y)
    assert_array_equal(same.support_, fitted.support_)
    before = selector(n_plays=fitted.n_plays_ - 1, patience=6).fit(X, y)
    assert before.stop_reason_ == "plays"


def test_the_time_limit_stops_between_plays(monkeypatch):
    ticks = count()
    monkeypatch.setattr(engine, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    X, y = make_data()
    fitted = selector(n_plays=500, time_limit=12.5).fit(X, y)
    assert fitted.stop_reason_ == "time limit"
    assert fitted.n_plays_ == 12
    assert_same(fitted, selector(n_plays=12).fit(X, y))


def test_chains_are_pooled_by_adding_their_counts():
    X, y = make_data()
    fitted = selector(PValueReward(alpha=0.2), n_chains=3, n_plays=8).fit(X, y)
    journal = fitted.history_.journal
    by_chain = np.array([fold_counts(journal, P, [k]) for k in range(3)])
    successes, failures = by_chain.sum(axis=0)
    assert_array_equal(fitted.selection_rates_, (1 + successes) / (2 + successes + failures))
    means = (1 + by_chain[:, 0]) / (2 + by_chain.sum(axis=1))
    assert_array_equal(fitted.chain_supports_, (by_chain.sum(axis=1) > 0) & (means > 0.5))
    assert_allclose(fitted.selection_rate_spread_, means.std(axis=0))
    assert fitted.chain_agreement_ == mean_jaccard(fitted.chain_supports_)
    assert 0.0 <= fitted.chain_agreement_ <= 1.0
    assert len({journal_key(journal, k) for k in range(3)}) == 3


def journal_key(journal, chain):
    return tuple(tuple(play.arms.tolist()) for play in journal.plays(chain))


def test_the_first_chain_does_not_depend_on_how_many_there_are():
    X, y = make_data()
    one, three = (selector(n_chains=n).fit(X, y).history_.journal for n in (1, 3))
    assert journal_key(one, 0) == journal_key(three, 0)


def test_one_chain_agrees_with_nobody():
    X, y = make_data()
    fitted = selector().fit(X, y)
    assert np.isnan(fitted.chain_agreement_)
    assert_array_equal(fitted.selection_rate_spread_, np.zeros(P))
    assert_array_equal(fitted.chain_supports_[0], fitted.support_)


def test_the_mean_jaccard_index():
    a, b, c = [True, True, False], [True, False, False], [False, False, False]
    assert mean_jaccard(np.array([a, b])) == 0.5
    assert mean_jaccard(np.array([a, b, c])) == pytest.approx((0.5 + 0 + 0) / 3)
    assert mean_jaccard(np.array([c, c])) == 1.0
    assert np.isnan(mean_jaccard(np.array([a])))


@pytest.mark.parametrize("reward", [PValueReward(), quick_bart()], ids=["p", "bart"])
def test_the_number_of_threads_changes_nothing(reward):
    X, y = make_data()
    one, two, many = (
        selector(reward, n_chains=3, n_jobs=n, n_plays=10).fit(X, y) for n in (1, 2, -1)
    )
    assert_same(one, two)
    assert_same(one, many)
    for chain in range(3):
        assert journal_key(one.history_.journal, chain) == journal_key(two.history_.journal, chain)
