"""Claims: columns that cannot be told apart are claimed together."""

from __future__ import annotations

import numpy as np
import pytest

from tests.nested import nested
from tvselect import BartReward, PValueReward, ThompsonSelector


def fit(X, y, reward=None, **settings):
    reward = PValueReward(alpha=1e-3) if reward is None else reward
    return ThompsonSelector(reward, **nested(n_plays=60, random_state=0, **settings)).fit(X, y)


def made(fitted):
    return [set(claim.columns) for claim in fitted.claims_ if claim.q_value <= fitted.max_fdr]


def test_a_column_and_its_copy_make_one_claim():
    """Which of two equal columns is paid is chance; that one of them is, is not."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 20))
    X[:, 11] = X[:, 4]
    y = 2 * X[:, 4] + 2 * X[:, 8] + rng.standard_normal(150)
    fitted = fit(X, y, BartReward(n_trees=10, n_iterations=300))
    assert sorted(made(fitted), key=min) == [{4, 11}, {8}]
    assert all(claim.selection_rate > 0.8 for claim in fitted.claims_[:2])
    both = next(claim for claim in fitted.claims_ if len(claim.columns) == 2)
    assert str(both) in ("at least one of x4, x11", "at least one of x11, x4")


def test_a_claim_is_paid_when_one_of_its_columns_is():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 12))
    X[:, 5] = X[:, 4] + 0.3 * rng.standard_normal(150)
    fitted = fit(X, X[:, 4] + 0.5 * rng.standard_normal(150))
    claim = fitted.claims_[0]
    n_played = n_rewarded = 0
    for play in fitted.history_.plays:
        mine = np.isin(play.arms, [4, 5])
        n_played += mine.any()
        n_rewarded += (mine & play.rewards).any()
    assert set(claim.columns) == {4, 5}
    assert claim.selection_rate == pytest.approx((1 + n_rewarded) / (2 + n_played))


def test_a_common_factor_does_not_make_columns_alike():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 40)) + 1.5 * rng.standard_normal((200, 1))
    y = 2 * X[:, 3] - 2 * X[:, 9] + rng.standard_normal(200)
    fitted = fit(X, y, BartReward(n_trees=10, n_iterations=300))
    assert np.corrcoef(X.T)[3, 9] > 0.6
    assert sorted(made(fitted), key=min) == [{3}, {9}]


def test_groups_are_alone_in_their_claims():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 10))
    X[:, 6] = X[:, 2]
    fitted = fit(X, X[:, 2] + 0.5 * rng.standard_normal(150), feature_groups={"pair": [2, 3]})
    assert {2, 3} in made(fitted)
    assert {6} in made(fitted)


def test_without_decoys_claims_have_no_q_value():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((100, 6))
    fitted = fit(X, X[:, 1] + 0.1 * rng.standard_normal(100), max_fdr=None)
    (claim,) = fitted.claims_
    assert claim.columns == (1,)
    assert np.isnan(claim.q_value)
