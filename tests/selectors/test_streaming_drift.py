"""Streams that change: roles of columns, values and columns that the head did not have."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from tests.selectors.runs import assert_same
from tests.selectors.streams import (
    SIGNALS,
    make_data,
    make_frame,
    quick_bart,
    selector,
)
from tvselect import BartReward, LassoReward, PValueReward


def changing(n=6000, p=20, seed=0):
    """The role of the first column ends halfway, that of the second begins."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, np.where(np.arange(n) < n // 2, X[:, 0], X[:, 1]) + rng.standard_normal(n)


@pytest.mark.parametrize(
    ("reward", "size"),
    [(PValueReward(alpha=1e-3), 100), (BartReward(), 200)],
    ids=["p", "bart"],
)
@pytest.mark.parametrize("discount", [0.8, 0.9])
def test_with_a_discount_a_role_that_ends_is_dropped_and_a_new_one_found(discount, reward, size):
    errors = []
    for seed in range(1 if isinstance(reward, BartReward) else 4):
        X, y = changing(seed=seed)
        fitted = selector(reward, batch_size=size, discount=discount, random_state=seed)
        half = clone(fitted).fit(X[:3000], y[:3000])
        errors.append((half.support_ != (np.arange(20) == 0)).sum())
        fitted.fit(X, y)
        errors.append((fitted.support_ != (np.arange(20) == 1)).sum())
    assert np.mean(errors) <= 0.5, errors


def test_without_a_discount_a_role_that_ends_is_remembered():
    X, y = changing()
    fitted = selector().fit(X, y)
    assert fitted.support_[0]


def test_trajectories_are_the_fold_of_the_plays():
    X, y = changing(n=3000)
    fitted = selector(discount=0.85, prior=(2.0, 1.0), decoys="knockoffs").fit(X, y)
    a, b = np.zeros((2, 40))
    wanted = [np.full(40, 2 / 3)]
    for play in fitted.history_.plays:
        a[play.arms] = 0.85 * a[play.arms] + play.rewards
        b[play.arms] = 0.85 * b[play.arms] + ~play.rewards
        wanted.append((2 + a) / (3 + a + b))
    path = fitted.history_.trajectories(range(20))
    assert_allclose(path, np.array(wanted)[:, :20], rtol=1e-12)
    assert_allclose(fitted.history_.decoy_trajectories(), np.array(wanted)[:, 20:], rtol=1e-12)
    assert_allclose(path[-1], fitted.selection_rates_, rtol=1e-12)
    assert_allclose(wanted[-1][20:], fitted.decoy_rates_, rtol=1e-12)


def test_a_discount_of_one_forgets_nothing():
    X, y = make_data()
    assert_same(selector(discount=1).fit(X, y), selector().fit(X, y))
    assert_same(selector(discount=1.0).fit(X, y), selector().fit(X, y))


@pytest.mark.parametrize("reward", [PValueReward(alpha=0.01), quick_bart()], ids=["p", "bart"])
def test_values_outside_the_range_of_the_head_fall_into_the_end_bins(reward):
    X, y = make_data(n=2000)
    X[1500:, 0], X[1500:, 3] = 1e300, np.sign(X[1500:, 3]) * 1e9
    fitted = selector(reward).fit(X, y)
    assert fitted.n_plays_ == 20
    assert fitted.support_[3]


@pytest.mark.parametrize(
    "reward", [PValueReward(alpha=0.01), quick_bart(), LassoReward()], ids=["p", "bart", "lasso"]
)
def test_new_categories_count_as_missing_or_other(reward):
    frame, y = make_frame(n=2000)
    frame = frame[["v7", "city"]].fillna({"city": "Bern"})
    frame.loc[1500:, "city"] = "Genf"
    frame.loc[1300:1399:2, "city"] = "Zug"
    fitted = selector(reward).fit(frame, y)
    assert fitted.n_plays_ == 20
    assert fitted.support_[0]


@pytest.mark.parametrize("reward", [PValueReward(alpha=0.01), quick_bart()], ids=["p", "bart"])
@pytest.mark.parametrize("rows", [slice(None), slice(0, 1000), slice(1000, 1200)])
@pytest.mark.parametrize("name", ["v3", "city"])
def test_columns_may_be_missing_for_a_while(name, rows, reward):
    frame, y = make_frame(n=2000)
    frame.loc[frame.index[rows], name] = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = selector(reward).fit(frame, y)
    told = [str(warning.message) for warning in caught]
    if rows.start == 1000:
        assert told == []
    else:
        assert len(told) == 1
        assert f"column {name!r} has no value in the first 1000 rows" in told[0]
    assert fitted.n_plays_ == 20
    place = list(frame).index(name)
    if rows == slice(None) or (rows.start == 0 and isinstance(reward, BartReward)):
        assert not fitted.support_[place]
    assert fitted.support_[7]


def test_rewards_that_take_no_missing_values_say_so():
    X, y = make_data()
    X[1234] = np.nan
    with pytest.raises(ValueError, match=r"NaN, which the reward cannot take, in column 'x"):
        selector(LassoReward()).fit(X, y)


@pytest.mark.parametrize(
    "reward", [PValueReward(alpha=0.01), quick_bart(), LassoReward()], ids=["p", "bart", "lasso"]
)
@pytest.mark.parametrize("max_fdr", [None, 0.1])
def test_constant_columns_are_not_selected(reward, max_fdr):
    X, y = make_data()
    X[:, 0] = 7.0
    X[:1200, 1] = -1.0
    fitted = selector(reward, max_fdr=max_fdr).fit(X, y)
    assert not fitted.support_[:2].any()
    assert set(SIGNALS) <= set(np.flatnonzero(fitted.support_))
