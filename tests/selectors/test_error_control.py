"""Error control offline: what is selected and claimed at a level, by decoys of all columns."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.decoyed import Marginal, pay_likeness
from tests.nested import nested
from tests.selectors.runs import SIGNALS, P, make_data
from tvselect import BartReward, ThompsonSelector
from tvselect.control import q_values_by_decoys as q_values
from tvselect.inputs.doubts import DoubtWarning
from tvselect.rewards import Reward
from tvselect.selectors import copies


def selector(reward=None, **settings):
    reward = Marginal(alpha=1e-3) if reward is None else reward
    return ThompsonSelector(reward, **nested(**{"n_plays": 40, "random_state": 0, **settings}))


def claimed(fitted):
    found = [{*claim.columns} for claim in fitted.claims_ if claim.q_value <= fitted.max_fdr]
    return sorted(found, key=min)


def test_the_default_controls_and_finds_what_is_there():
    X, y = make_data()
    fitted = ThompsonSelector(n_plays=60, random_state=0, second_opinion=False).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
    assert_allclose(fitted.q_values_[SIGNALS], 0.05)
    assert (np.delete(fitted.q_values_, SIGNALS) > 0.1).all()
    assert fitted.expected_false_ == 0.1
    assert fitted.result_.layout.n_copies == 10
    assert_array_equal(fitted.ranking_[SIGNALS], 1)
    assert_array_equal(np.sort(np.delete(fitted.ranking_, SIGNALS)), np.arange(2, P))
    assert claimed(fitted) == [{3}, {7}]


def test_q_values_follow_from_the_payoffs_of_columns_and_decoys():
    fitted = selector(Marginal(alpha=0.2)).fit(*make_data(n=40))
    result = fitted.result_
    scores = np.where(result.passing(), result.means(), 0.0)
    wanted = q_values(scores[:P], scores[P:], 10, scores[:P] > 0)
    assert_array_equal(fitted.q_values_, wanted)
    assert_array_equal(fitted.support_, wanted <= 0.1)
    n_decoys = np.count_nonzero(scores[P:] >= scores[:P][fitted.support_].min())
    assert fitted.expected_false_ == pytest.approx((1 + n_decoys) / 10)


@pytest.mark.parametrize(("level", "n_copies"), [(0.05, 20), (0.1, 10), (0.3, 10)])
def test_there_are_copies_enough_for_a_single_column(level, n_copies):
    fitted = selector(max_fdr=level, n_plays=20).fit(*make_data())
    assert fitted.result_.layout.n_copies == n_copies
    assert fitted.q_values_.min() == pytest.approx(1 / n_copies / fitted.support_.sum())


def test_without_control_there_are_no_decoys_or_these_only_tell():
    fitted = selector(max_fdr=None).fit(*make_data())
    assert fitted.result_.layout.n_arms == P
    assert np.isnan([*fitted.q_values_, fitted.expected_false_]).all()
    assert np.isnan([claim.q_value for claim in fitted.claims_]).all()
    assert_array_equal(fitted.support_, fitted.selection_rates_ > 0.5)
    X, y = make_data(n=30)
    fitted = selector(Marginal(alpha=0.3), max_fdr=None, decoys="shuffled").fit(X, y)
    assert_array_equal(fitted.support_, fitted.result_.passing()[:P])
    assert fitted.support_.sum() > (fitted.q_values_ <= 0.1).sum()


def columns_of_one_factor(seed, n=80, p=30):
    """Columns that measure one factor, and the outcome that this factor is."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal(n)
    X = factor[:, None] + 0.5 * rng.standard_normal((n, p))
    return X, factor + 0.5 * rng.standard_normal(n)


def test_where_a_common_factor_is_the_signal_nothing_is_selected_and_that_is_said():
    X, y = columns_of_one_factor(seed=0)
    with pytest.warns(UserWarning, match=r"a common factor .* explains [78].% .* kind 'plain'"):
        fitted = selector(BartReward.with_decoys()).fit(X, y)
    assert not fitted.support_.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = selector(BartReward.with_decoys(), decoys="plain", second_opinion=False)
        assert plain.fit(X, y).support_.any()
        # A factor that has nothing to do with the outcome is not spoken of.
        X, y = columns_of_one_factor(seed=1)
        selector(Marginal(alpha=1e-6)).fit(X, np.random.default_rng(2).permutation(y))


def test_a_block_of_near_copies_is_claimed():
    """Their shared signal is theirs: four in five of the outcome's variance cannot be missed."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 60))
    X[:, :20] = X[:, :1] + 0.1 * rng.standard_normal((200, 20))
    y = X[:, 0] + 0.5 * rng.standard_normal(200)
    fitted = selector(BartReward.with_decoys()).fit(X, y)
    assert fitted.support_[:20].any()
    assert not fitted.support_[20:].any()


def test_more_columns_than_knockoffs_can_be_made_of_are_refused(monkeypatch):
    monkeypatch.setattr(copies, "MOST_KNOCKOFFS", 10)
    with pytest.raises(ValueError, match="10 columns at the most, X has 12; use fewer columns"):
        selector(decoys="knockoffs").fit(*make_data())


class Coin(Reward):
    """Pays every column with a probability of its own correlation with the outcome."""

    rewards_stand_ins = False

    def start(self, data):
        y = data.outcome.values - data.outcome.values.mean()

        def feedback(columns, rng):
            values = data.values(columns)
            values = values - values.mean(axis=0)
            r = values.T @ y / np.sqrt((values**2).sum(axis=0) * (y @ y))
            return np.abs(r) ** 0.3

        return feedback


@pytest.mark.parametrize(("p", "n_runs"), [(4, 400), (30, 200)])
def test_on_noise_one_run_in_ten_selects_anything(p, n_runs):
    """With B copies that are exchangeable with the table, the block of the highest score is the
    table's with probability 1 / (B + 1); of all runs at most 10 % and three standard errors."""
    rng, hits = np.random.default_rng(9), 0
    for run in range(n_runs):
        X, y = rng.standard_normal((25, p)), rng.standard_normal(25)
        hits += selector(Coin(), n_plays=15, random_state=run).fit(X, y).support_.any()
    assert hits / n_runs <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / n_runs)


OTHERS = {
    "lasso": "LassoReward",
    "pvalue": "PValueReward",
    "importance": "ImportanceReward",
    pay_likeness: "FunctionReward",
}


@pytest.mark.parametrize(
    "reward",
    [BartReward(n_trees=10, n_iterations=200), *OTHERS],
    ids=["trees", "lasso", "pvalue", "importance", "function"],
)
def test_rewards_that_stand_ins_may_have_are_compared_with_knockoffs_alone(reward):
    X, y = make_data()
    is_other = reward in OTHERS
    for decoys in ("auto", "knockoffs"):
        fitted = selector(reward, decoys=decoys).fit(X, y)
        assert fitted.support_[SIGNALS[0]]
        assert (fitted.decoy_test_ is not None) == (is_other or decoys == "knockoffs")
    if is_other:
        for decoys, max_fdr in product(("shuffled", "plain"), (0.1, None)):
            with pytest.raises(ValueError, match=f"can promise nothing with {OTHERS[reward]}"):
                selector(reward, decoys=decoys, max_fdr=max_fdr).fit(X, y)
        with pytest.raises(ValueError, match=r"the only ones .* with groups .* or max_fdr=None"):
            selector(reward).fit(X, y, groups=np.arange(len(y)) % 40)
        free = selector(reward, max_fdr=None).fit(X, y)
        assert np.isnan(free.q_values_).all()


def test_groups_text_missing_values_and_columns_always_included_have_decoys():
    rng = np.random.default_rng(2)
    X, y = make_data(n=150)
    table = pd.DataFrame(X, columns=[f"v{j}" for j in range(P)])
    table["text"] = rng.choice(["a", "b", "c"], 150)
    table.loc[::7, "v0"] = np.nan
    y = y + 4 * (table["text"] == "b")
    settings = dict(feature_groups={"pair": ["v1", "v2"]}, always_include=["v7"], n_plays=60)
    fitted = selector(BartReward(n_trees=10, n_iterations=300), **settings).fit(table, y)
    layout = fitted.result_.layout
    assert layout.n_arms == 11 * layout.n_candidates == 11 * 11
    assert_array_equal(np.flatnonzero(fitted.support_), [3, 7, 12])
    assert fitted.q_values_[7] == 0.0
    assert fitted.ranking_[7] == 1


# Columns that cannot be told apart are claimed together.


def test_a_column_and_its_copy_make_one_claim():
    """Which of two equal columns is paid is chance; that one of them is, is not."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 20))
    X[:, 11] = X[:, 4]
    y = 2 * X[:, 4] + 2 * X[:, 8] + rng.standard_normal(150)
    fitted = selector(BartReward(n_trees=10, n_iterations=300), n_plays=60).fit(X, y)
    assert claimed(fitted) == [{4, 11}, {8}]
    assert all(claim.selection_rate > 0.8 for claim in fitted.claims_[:2])
    both = next(claim for claim in fitted.claims_ if len(claim.columns) == 2)
    assert str(both) in ("at least one of x4, x11", "at least one of x11, x4")


def test_a_claim_is_paid_when_one_of_its_columns_is():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 12))
    X[:, 5] = X[:, 4] + 0.3 * rng.standard_normal(150)
    fitted = selector().fit(X, X[:, 4] + 0.5 * rng.standard_normal(150))
    claim = fitted.claims_[0]
    mine = [np.isin(play.arms, [4, 5]) for play in fitted.result_.plays]
    n_played = sum(here.any() for here in mine)
    rewards = [play.rewards for play in fitted.result_.plays]
    n_rewarded = sum((here & paid).any() for here, paid in zip(mine, rewards, strict=True))
    assert set(claim.columns) == {4, 5}
    assert claim.selection_rate == pytest.approx((1 + n_rewarded) / (2 + n_played))


def test_a_common_factor_does_not_make_columns_alike():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 40)) + 1.5 * rng.standard_normal((200, 1))
    y = 2 * X[:, 3] - 2 * X[:, 9] + rng.standard_normal(200)
    fitted = selector(BartReward(n_trees=10, n_iterations=300), n_plays=60).fit(X, y)
    assert np.corrcoef(X.T)[3, 9] > 0.6
    assert claimed(fitted) == [{3}, {9}]


def test_groups_are_alone_in_their_claims():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 10))
    X[:, 6] = X[:, 2]
    y = X[:, 2] + 0.5 * rng.standard_normal(150)
    fitted = selector(feature_groups={"pair": [2, 3]}).fit(X, y)
    assert {2, 3} in claimed(fitted)
    assert {6} in claimed(fitted)


# Cells and rows that are far from all others do not change what is selected.


@pytest.mark.parametrize("decoys", ["shuffled", "knockoffs"])
def test_a_wild_row_and_one_wild_cell_of_a_hundred_are_told_and_hide_no_signal(decoys):
    rng = np.random.default_rng(4)
    X = rng.random((300, 20))
    y = 10 * X[:, 3] + 5 * (X[:, 7] > 0.5) + rng.normal(size=300)
    X.flat[rng.choice(X.size, X.size // 100, replace=False)] = rng.choice(
        [999.0, -9999.0, 1e6, -1e6, 1e12], X.size // 100
    )
    X[1] = -9999.0
    with pytest.warns(DoubtWarning):
        fitted = ThompsonSelector(n_plays=150, decoys=decoys, random_state=0).fit(X, y)
    assert_array_equal(fitted.get_support(indices=True), SIGNALS)
