"""Error control offline: what is selected at a level, by decoys of all columns."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.nested import nested
from tests.selectors.runs import assert_same
from tvselect import BartReward, LassoReward, PValueReward, ThompsonSelector
from tvselect.control import q_values_by_decoys as q_values
from tvselect.rewards import Reward
from tvselect.selectors import copies

N, P = 100, 12
SIGNALS = [3, 7]


def make_data(n=N, p=P, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 3 * X[:, 3] - 2 * X[:, 7] + rng.standard_normal(n)


def selector(reward=None, **settings):
    reward = PValueReward(alpha=1e-3) if reward is None else reward
    return ThompsonSelector(reward, **nested(**{"n_plays": 40, "random_state": 0, **settings}))


def test_the_default_controls_and_finds_what_is_there():
    X, y = make_data()
    fitted = ThompsonSelector(n_plays=60, random_state=0).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
    assert_allclose(fitted.q_values_[SIGNALS], 0.05)
    assert (np.delete(fitted.q_values_, SIGNALS) > 0.1).all()
    assert fitted.expected_false_ == 0.1
    assert fitted.history_.layout.n_copies == 10
    assert_array_equal(fitted.ranking_[SIGNALS], 1)
    assert_array_equal(np.sort(np.delete(fitted.ranking_, SIGNALS)), np.arange(2, P))
    assert {claim.columns for claim in fitted.claims_ if claim.q_value <= 0.1} == {(3,), (7,)}


def test_q_values_follow_from_the_payoffs_of_columns_and_decoys():
    X, y = make_data(n=40)
    fitted = selector(PValueReward(alpha=0.2)).fit(X, y)
    history = fitted.history_
    scores = np.where(history.passing(), history.means(), 0.0)
    wanted = q_values(scores[:P], scores[P:], 10, scores[:P] > 0)
    assert_array_equal(fitted.q_values_, wanted)
    assert_array_equal(fitted.support_, wanted <= 0.1)
    n_decoys = np.count_nonzero(scores[P:] >= scores[:P][fitted.support_].min())
    assert fitted.expected_false_ == pytest.approx((1 + n_decoys) / 10)


@pytest.mark.parametrize(("level", "n_copies"), [(0.05, 20), (0.1, 10), (0.3, 10)])
def test_there_are_copies_enough_for_a_single_column(level, n_copies):
    X, y = make_data()
    fitted = selector(max_fdr=level, n_plays=20).fit(X, y)
    assert fitted.history_.layout.n_copies == n_copies
    assert fitted.q_values_.min() == pytest.approx(1 / n_copies / fitted.support_.sum())


def test_without_control_there_are_no_decoys():
    X, y = make_data()
    fitted = selector(max_fdr=None).fit(X, y)
    assert fitted.history_.layout.n_arms == P
    assert np.isnan(fitted.q_values_).all()
    assert np.isnan(fitted.expected_false_)
    assert_array_equal(fitted.support_, fitted.selection_rates_ > 0.5)


def test_decoys_without_a_level_tell_and_do_not_decide():
    X, y = make_data(n=30)
    fitted = selector(PValueReward(alpha=0.3), max_fdr=None, decoys="shuffled").fit(X, y)
    assert_array_equal(fitted.support_, fitted.history_.passing()[:P])
    assert fitted.support_.sum() > (fitted.q_values_ <= 0.1).sum()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"max_fdr": 0.0}, "max_fdr"),
        ({"max_fdr": 1.0}, "max_fdr"),
        ({"max_fdr": float("nan")}, "max_fdr must be a number between 0 and 1"),
        ({"decoys": "other"}, "decoys must be 'auto'"),
        ({"decoys": None}, "cannot be kept without decoys"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, named):
    with pytest.raises(ValueError, match=named):
        selector(**settings).fit(*make_data())


def columns_of_one_factor(seed, n=80, p=30):
    """Columns that measure one factor, and the outcome that this factor is."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal(n)
    X = factor[:, None] + 0.5 * rng.standard_normal((n, p))
    return X, factor + 0.5 * rng.standard_normal(n)


def test_where_a_common_factor_is_the_signal_nothing_is_selected_without_a_word():
    X, y = columns_of_one_factor(seed=0)
    with pytest.warns(UserWarning, match=r"a common factor .* explains [78].% .* kind 'plain'"):
        fitted = selector(BartReward.with_decoys()).fit(X, y)
    assert not fitted.support_.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = selector(BartReward.with_decoys(), decoys="plain").fit(X, y)
    assert fitted.support_.any()
    assert fitted.history_.asked.decoys == "plain"


def test_a_block_of_near_copies_is_claimed():
    """Their shared signal is theirs: four in five of the outcome's variance cannot be missed."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 60))
    X[:, :20] = X[:, :1] + 0.1 * rng.standard_normal((200, 20))
    y = X[:, 0] + 0.5 * rng.standard_normal(200)
    fitted = selector(BartReward.with_decoys()).fit(X, y)
    assert fitted.support_[:20].any()
    assert not fitted.support_[20:].any()


def test_a_factor_that_has_nothing_to_do_with_the_outcome_is_not_spoken_of():
    X, y = columns_of_one_factor(seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector(PValueReward(alpha=1e-6)).fit(X, np.random.default_rng(2).permutation(y))


def test_more_columns_than_knockoffs_can_be_made_of_are_refused(monkeypatch):
    monkeypatch.setattr(copies, "MOST_KNOCKOFFS", 10)
    with pytest.raises(ValueError, match="10 columns at the most, X has 12; use decoys='shuffled'"):
        selector(decoys="knockoffs").fit(*make_data())


class Coin(Reward):
    """Pays every column with a probability of its own correlation with the outcome."""

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


@pytest.mark.parametrize("decoys", ["shuffled", "knockoffs"])
@pytest.mark.parametrize(
    "reward",
    [BartReward(n_trees=10, n_iterations=200), PValueReward(alpha=1e-3), LassoReward()],
    ids=["bart", "p", "lasso"],
)
def test_all_rewards_play_with_decoys(reward, decoys):
    X, y = make_data()
    fitted = selector(reward, decoys=decoys).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
    assert (fitted.decoy_test_ is None) == (decoys == "shuffled")


def test_groups_text_missing_values_and_columns_always_included_have_decoys():
    rng = np.random.default_rng(2)
    X, y = make_data(n=150)
    table = pd.DataFrame(X, columns=[f"v{j}" for j in range(P)])
    table["text"] = rng.choice(["a", "b", "c"], 150)
    table.loc[::7, "v0"] = np.nan
    y = y + 4 * (table["text"] == "b")
    fitted = ThompsonSelector(
        BartReward(n_trees=10, n_iterations=300),
        n_plays=60,
        feature_groups={"pair": ["v1", "v2"]},
        always_include=["v7"],
        random_state=0,
    ).fit(table, y)
    layout = fitted.history_.layout
    assert layout.n_arms == 11 * layout.n_candidates == 11 * 11
    assert_array_equal(np.flatnonzero(fitted.support_), [3, 7, 12])
    assert fitted.q_values_[7] == 0.0
    assert fitted.ranking_[7] == 1


def test_a_resumed_run_has_the_same_decoys(tmp_path):
    X, y = make_data()
    settings = {"reward": PValueReward(alpha=0.1), "journal": tmp_path / "run"}
    selector(**settings, n_plays=15, random_state=None).fit(X, y)
    resumed = selector(**settings, n_plays=40, random_state=None).fit(X, y)
    seed = resumed.history_.asked.seed
    whole = selector(PValueReward(alpha=0.1), n_plays=40, random_state=seed).fit(X, y)
    assert_same(resumed, whole)
    assert_array_equal(resumed.q_values_, whole.q_values_)


@pytest.mark.parametrize("settings", [{"n_jobs": 2}, {"n_jobs": 2, "runner": "processes"}])
def test_the_same_bits_for_any_runner(settings):
    X, y = make_data(n=60)
    game = {"reward": BartReward(n_trees=5, n_iterations=50), "n_plays": 12, "n_chains": 2}
    one = selector(**game, window=1).fit(X, y)
    other = selector(**game, window=1, **settings).fit(X, y)
    assert_same(one, other)
    assert_array_equal(one.q_values_, other.q_values_)


def test_of_too_many_arms_the_strongest_columns_play(monkeypatch):
    monkeypatch.setattr(copies, "MOST_ARMS", 100)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((100, 60))
    y = 3 * X[:, 50] + 2 * X[:, 5] + rng.standard_normal(100)
    fitted = selector().fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), [5, 50])
    assert np.count_nonzero(fitted.history_.times_played) <= 100
    assert fitted.q_values_.shape == (60,)


def test_a_bad_reward_leaves_no_journal_behind(tmp_path):
    with pytest.raises(ValueError, match="n_iterations"):
        selector(BartReward(n_iterations=0), journal=tmp_path / "run").fit(*make_data())
    assert not (tmp_path / "run").exists()
