"""Outcomes that people have, and weights of rows, in both selectors."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom
from sklearn.linear_model import Ridge

from tests.nested import nested
from tests.selectors.runs import assert_same
from tvselect import BartReward, ImportanceReward, StreamingThompsonSelector, ThompsonSelector
from tvselect.inputs.outcome import survival_array

N, P = 250, 12
SIGNALS = {2, 7}
FAMILIES = ["classes", "ordinal", "counts", "survival"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((N, P))
    return X, 1.5 * X[:, 2] + 2.0 * (X[:, 7] > 0) + 0.5 * rng.standard_normal(N)


def codes(latent):
    return np.digitize(latent, np.quantile(latent, [0.3, 0.7]))


def outcomes(latent):
    rng = np.random.default_rng(9)
    time, until = np.exp(latent), np.exp(rng.normal(2.0, 1.0, latent.size))
    cut = codes(latent)
    return {
        "classes": np.array(["c", "a", "b"])[cut],
        "ordinal": pd.Series(pd.Categorical.from_codes(cut, ["low", "mid", "top"], ordered=True)),
        "counts": rng.poisson(np.exp(0.7 * latent)),
        "survival": survival_array(np.minimum(time, until), time <= until),
    }


def quick(reward=None, **settings):
    reward = reward or BartReward(n_trees=30, n_iterations=200, min_splits=1.5)
    return ThompsonSelector(reward, **nested(**{"n_plays": 60, "random_state": 0, **settings}))


def stream(reward=None, **settings):
    settings = {"batch_size": 50, "max_fdr": None, "random_state": 0, **settings}
    return StreamingThompsonSelector(reward, **settings)


def found(fitted):
    return set(np.flatnonzero(fitted.support_))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.filterwarnings("ignore:y holds whole numbers")
def test_signals_are_found_and_the_family_is_recorded(table, family):
    X, latent = table
    y = outcomes(latent)[family]
    fitted = quick().fit(X, y)
    assert found(fitted) == SIGNALS
    assert fitted.result_.asked.family == family
    assert_same(quick(family=family).fit(X, y), fitted)


@pytest.mark.parametrize("family", FAMILIES)
def test_streams_find_them_too(table, family):
    X, latent = np.tile(table[0], (4, 1)), np.tile(table[1], 4)
    reward = BartReward(n_trees=30, n_iterations=200)
    fitted = stream(reward, batch_size=200, n_rounds=8, family=family)
    fitted.fit(X, outcomes(latent)[family])
    assert found(fitted) >= SIGNALS
    assert fitted.result_.asked.family == family


def test_few_whole_numbers_are_classes_and_it_is_said(table):
    X, latent = table
    with pytest.warns(UserWarning, match="codes of 3 classes: family='classes'") as warned:
        quick(n_plays=2).fit(X, codes(latent))
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(n_plays=2, family="ordinal").fit(X, codes(latent))
        quick(n_plays=2).fit(X, codes(latent).astype(str))


def test_all_codings_of_three_classes_find_the_same(table):
    """Law: a class is a name; codings differ by the seeds' chance alone."""
    X = table[0].copy()
    y = np.random.default_rng(10).integers(0, 3, N)
    for column, k in ((0, 1), (4, 2), (9, 0)):
        X[:, column] += 2.0 * (y == k)
    for coding in ([0, 1, 2], [1, 0, 2], [2, 0, 1]):
        assert found(quick(family="classes").fit(X, np.array(coding)[y])) == {0, 4, 9}, coding


@pytest.mark.parametrize("reward", ["lasso", "importance", "pvalue"])
@pytest.mark.parametrize("family", ["classes", "survival", "counts"])
def test_every_reward_deals_with_every_family(table, reward, family):
    X, latent = table
    n_plays = 25 if reward == "importance" else 40
    fitted = quick(reward, n_plays=n_plays, family=family, max_fdr=None)
    fitted.fit(X, outcomes(latent)[family])
    if family != "counts":  # these are far from normal, and taken as numbers
        assert found(fitted) >= SIGNALS


def test_a_reward_has_a_name():
    chosen = ThompsonSelector().set_params(reward__n_trees=7).reward
    assert (chosen.n_trees, chosen.penalty) == (7, BartReward.with_decoys().penalty)
    plain = ThompsonSelector("bart", max_fdr=None).set_params(reward__n_trees=7).reward
    assert (plain.n_trees, plain.penalty) == (7, BartReward().penalty)


def test_a_stream_keeps_the_order_of_grades(table):
    """Alphabetical order would put the highest grade first."""
    X, latent = table
    names = np.array(["small", "middle", "big"])
    y = pd.Series(pd.Categorical(names[codes(latent)], names, ordered=True))
    assert_same(stream().fit(X, y), stream(family="ordinal").fit(X, codes(latent)))
    assert stream().partial_fit(X[:60], y[:60]).result_.asked.family == "ordinal"


# Weights of rows.


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_a_row_and_its_copies_are_one_that_weighs_as_much_to_the_bit(table, make):
    X, y = table[0][:80], table[1][:80]
    weights = np.random.default_rng(1).integers(0, 4, 80)
    rows = np.repeat(np.arange(80), weights)
    with pytest.warns(UserWarning, match="rows are copies of others.* are one observation"):
        one = quick(n_plays=10).fit(make(X[rows]), y[rows])
    assert_same(one, quick(n_plays=10).fit(make(X), y, sample_weight=weights))
    selector = stream(n_rounds=2, batch_size=60)  # without error control
    one = selector.fit(make(X), y, sample_weight=weights).selection_rates_
    again = selector.fit(make(X[rows]), y[rows]).selection_rates_
    np.testing.assert_array_equal(one, again)


@pytest.mark.parametrize(
    ("weights", "same"),
    [
        # Twenty copies of every row would make all noise as sure as a signal.
        (np.full(N, 20), np.ones(N)),
        (2.0**30 * (1 + np.arange(N) % 3), 0.5 * (1 + np.arange(N) % 3)),
    ],
    ids=["equal", "large"],
)
def test_only_the_ratios_of_weights_matter(table, weights, same):
    one, other = (quick(n_plays=10).fit(*table, sample_weight=some) for some in (weights, same))
    assert_same(one, other)


def test_rows_without_weight_do_not_matter(table):
    X, y = table
    weights, changed = np.ones(N), X.copy()
    weights[::5], changed[::5] = 0.0, 99.0
    one, other = (quick(n_plays=10).fit(some, y, sample_weight=weights) for some in (X, changed))
    assert_same(one, other)


@pytest.mark.parametrize("few", [0, 12])
def test_rows_that_count_more_make_noise_no_surer(few):
    """Law: at a level of 0.1, at most about one run in ten selects any noise."""
    n_runs, n_false = 8, 0
    weights = np.append(np.full(99, 5), 4) if not few else 1 + 19 * (np.arange(120) < few)
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(weights.size, 30 if few else 6)), rng.normal(size=weights.size)
        selector = quick(n_plays=40, random_state=seed).fit(X, y, sample_weight=weights)
        n_false += selector.support_.any()
    assert n_false <= binom.ppf(0.999, n_runs, 0.1)


@pytest.mark.parametrize("bootstrap", [None, False, True])
def test_a_play_sees_no_more_rows_than_weights_are_worth(bootstrap):
    """Twelve rows of weight 20 among 120 are worth 348^2 / 4908 = 24.7 rows."""
    seen, weights = set(), 1 + 19 * (np.arange(120) < 12)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 4)), rng.normal(size=120)

    def reward(X, y, rng=None):
        seen.add(len(y))
        return np.zeros(X.shape[1])

    class Model(Ridge):
        def fit(self, X, y):
            seen.add(len(y))
            return super().fit(X, y)

    chosen = reward if bootstrap is None else ImportanceReward(Model(), bootstrap=bootstrap)
    quick(chosen, n_plays=3, max_fdr=None).fit(X, y, sample_weight=weights)
    assert seen == {25}


@pytest.mark.filterwarnings("ignore:nothing can be selected")
def test_a_stream_with_error_control_leaves_rows_out_by_weight(table):
    X, y = table
    weights = np.where(np.arange(N) % 2 == 0, 3.0, 0.0)
    one = stream(max_fdr=0.1).fit(X, y, sample_weight=weights)
    assert_same(one, stream(max_fdr=0.1).fit(X[::2], y[::2]))
