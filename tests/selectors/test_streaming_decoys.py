"""Decoys on streams."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from tests.bandit.journal.plays import fold_counts
from tests.selectors.streams import (
    SIGNALS,
    P,
    make_data,
    make_frame,
    selector,
)
from tvselect import PValueReward
from tvselect.bandit.oracle import threshold


def test_decoys_are_one_per_numeric_column_and_never_selected():
    frame, y = make_frame()
    settings = dict(decoys="knockoffs", always_include=["v0"], groups={"g": ["v1", "v2"]})
    fitted = selector(PValueReward(alpha=0.9), n_chains=2, **settings).fit(frame, y)
    assert_array_equal(fitted.history_.decoy_of, [*range(1, P), P + 1])
    assert fitted.decoy_probabilities_.shape == (P,)
    assert fitted.support_.shape == fitted.inclusion_probabilities_.shape == (P + 3,)
    assert fitted.n_decoys_selected_ >= 10
    n_arms = fitted.history_.arm_of_feature.max() + 1
    assert n_arms == P + 3 - 2
    assert fitted.history_.journal.header.n_arms == n_arms + P
    assert max(play.arms.max() for play in fitted.history_.plays) >= n_arms
    successes, failures = fold_counts(fitted.history_.journal, n_arms + P, range(2))
    share = (1 + successes) / (2 + successes + failures)
    assert_array_equal(fitted.decoy_probabilities_, share[n_arms:])
    passed = share[n_arms:] > 0.5
    assert fitted.n_decoys_selected_ == (passed & (successes + failures > 0)[n_arms:]).sum()
    n_selected = fitted.support_[fitted.history_.decoy_of].sum()
    assert fitted.false_discovery_share_ == min(1.0, fitted.n_decoys_selected_ / n_selected)
    path = fitted.history_.decoy_trajectories()
    assert path.shape == (16, P)


def test_decoys_do_not_come_through_where_signals_do():
    X, y = make_data()
    fitted = selector(decoys="knockoffs", n_rounds=2).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
    assert fitted.n_decoys_selected_ == 0
    assert fitted.false_discovery_share_ == 0.0


def test_decoys_have_the_cost_and_the_prior_of_their_columns():
    X, y = make_data()
    cost, b = np.full(P, 0.6), np.ones(P)
    cost[2], b[5] = 0.05, 50.0
    fitted = selector(decoys="knockoffs", cost=cost, prior=(1.0, b)).fit(X, y)
    arms = fitted._game.chains[0].arms
    assert_array_equal(arms.threshold, np.tile(threshold(cost), 2))
    assert_array_equal(arms.prior_b, np.tile(b, 2))
    assert_array_equal(fitted.threshold_, threshold(cost))
    assert_array_equal(fitted.history_.decoy_trajectories()[0], 1 / (1 + b))


def test_a_table_of_text_alone_has_no_decoys():
    frame, y = make_frame()
    fitted = selector(decoys="knockoffs").fit(frame[["city", "kind"]], y)
    assert fitted.decoy_probabilities_.size == fitted.n_decoys_selected_ == 0
    assert_array_equal(fitted.get_feature_names_out(), ["city"])


def test_the_known_size_counts_variables_not_decoys():
    X, y = make_data()
    fitted = selector(decoys="knockoffs", n_features_to_select=2, n_rounds=4).fit(X, y)
    assert max(play.arms.size for play in fitted.history_.plays) <= 2
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)


def test_decoys_of_noise_are_paid_like_the_noise():
    """Without signals a column and its knockoff are exchangeable: equal chances of a payoff.

    Each play pays an arm with the same probability q, so that the two shares of payoffs differ
    by a normal number of variance q (1 - q) (1/n + 1/m); columns of one batch share their y
    and correlate a little, hence 4 standard errors and not 2.
    """
    rng = np.random.default_rng(5)
    p = 20
    X = rng.standard_normal((20_000, p)) + rng.standard_normal((20_000, 1))
    y = rng.standard_normal(20_000)
    fitted = selector(PValueReward(alpha=0.3), decoys="knockoffs").fit(X, y)
    successes, failures = fold_counts(fitted.history_.journal, 2 * p)
    n = np.array([(successes + failures)[:p].sum(), (successes + failures)[p:].sum()])
    paid = np.array([successes[:p].sum(), successes[p:].sum()])
    assert n.min() > 200
    q = paid.sum() / n.sum()
    z = np.diff(paid / n)[0] / np.sqrt(q * (1 - q) * (1 / n).sum())
    assert abs(z) < 4
