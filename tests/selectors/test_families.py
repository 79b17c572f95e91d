"""Outcomes that people have: classes, grades, counts, survival times, in both selectors."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom

from tests.nested import nested
from tvselect import StreamingThompsonSelector, ThompsonSelector
from tvselect.inputs.outcome import survival_array
from tvselect.rewards import BartReward

N, P = 250, 12
SIGNALS = {2, 7}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((N, P))
    return X, 1.5 * X[:, 2] + 2.0 * (X[:, 7] > 0) + 0.5 * rng.standard_normal(N)


def outcomes(latent):
    rng = np.random.default_rng(9)
    time, until = np.exp(latent), np.exp(rng.normal(2.0, 1.0, latent.size))
    cut = np.digitize(latent, np.quantile(latent, [0.3, 0.7]))
    return {
        "classes": np.array(["c", "a", "b"])[cut],
        "ordinal": pd.Series(pd.Categorical.from_codes(cut, ["low", "mid", "top"], ordered=True)),
        "counts": rng.poisson(np.exp(0.7 * latent)),
        "survival": survival_array(np.minimum(time, until), time <= until),
    }


def assert_same(one, other):
    np.testing.assert_array_equal(one.selection_rates_, other.selection_rates_)


def quick(**settings):
    settings = {"n_plays": 60, "random_state": 0, "family": "auto", **settings}
    return ThompsonSelector(
        BartReward(n_trees=30, n_iterations=200, min_splits=1.5), **nested(**settings)
    )


@pytest.mark.parametrize("family", ["classes", "ordinal", "counts", "survival"])
@pytest.mark.filterwarnings("ignore:y holds whole numbers")
def test_signals_are_found_and_the_family_is_recorded(table, family):
    X, latent = table
    y = outcomes(latent)[family]
    found = quick().fit(X, y)
    assert set(np.flatnonzero(found.support_)) == SIGNALS
    assert found.history_.asked.family == family
    assert_same(quick(family=family).fit(X, y), found)


@pytest.mark.parametrize("family", ["classes", "ordinal", "counts", "survival"])
@pytest.mark.filterwarnings("ignore:y holds whole numbers", "ignore:.*decoys")
def test_streams_find_them_too(table, family):
    X, latent = (
        np.tile(part, (4, 1))[:, : np.shape(part)[-1]] if part.ndim > 1 else np.tile(part, 4)
        for part in table
    )
    y = outcomes(latent)[family]
    stream = StreamingThompsonSelector(
        BartReward(n_trees=30, n_iterations=200), batch_size=200, n_rounds=8, max_fdr=None,
        family=family, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert set(np.flatnonzero(stream.support_)) >= SIGNALS
    assert stream.history_.asked.family == family


def test_few_whole_numbers_are_classes_and_it_is_said(table):
    X, latent = table
    codes = np.digitize(latent, np.quantile(latent, [0.3, 0.7]))
    with pytest.warns(UserWarning, match="codes of 3 classes: family='classes'") as warned:
        quick(n_plays=2).fit(X, codes)
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(n_plays=2, family="ordinal").fit(X, codes)
        quick(n_plays=2).fit(X, codes.astype(str))


def test_all_codings_of_three_classes_find_the_same(table):
    """Law: a class is a name; six codings differ by the seeds' chance alone."""
    X, _ = table
    rng = np.random.default_rng(10)
    y = rng.integers(0, 3, N)
    X = X.copy()
    X[:, 0] += 2.0 * (y == 1)
    X[:, 4] += 2.0 * (y == 2)
    X[:, 9] += 2.0 * (y == 0)
    for coding in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        found = quick(family="classes").fit(X, np.array(coding)[y])
        assert set(np.flatnonzero(found.support_)) == {0, 4, 9}, coding


@pytest.mark.parametrize("reward", ["lasso", "importance", "pvalue"])
@pytest.mark.parametrize("family", ["classes", "survival", "counts"])
@pytest.mark.filterwarnings("ignore:y holds whole numbers")
def test_every_reward_deals_with_every_family(table, reward, family):
    X, latent = table
    n_plays = 25 if reward == "importance" else 40
    found = ThompsonSelector(reward, n_plays=n_plays, family=family, max_fdr=None, random_state=0)
    found.fit(X, outcomes(latent)[family])
    if family != "counts":  # these are far from normal, and taken as numbers
        assert set(np.flatnonzero(found.support_)) >= SIGNALS


def test_a_reward_has_a_name():
    X = np.random.default_rng(0).random((30, 4))
    with pytest.raises(ValueError, match="'bart', 'lasso', 'importance', 'pvalue'; got 'boost'"):
        ThompsonSelector("boost").fit(X, X[:, 0])
    chosen = ThompsonSelector().set_params(reward__n_trees=7).reward
    assert (chosen.n_trees, chosen.penalty) == (7, BartReward.with_decoys().penalty)
    plain = ThompsonSelector("bart", max_fdr=None).set_params(reward__n_trees=7).reward
    assert (plain.n_trees, plain.penalty) == (7, BartReward().penalty)


@pytest.mark.filterwarnings("ignore:.*rows are copies")
@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_whole_weights_are_repeated_rows_to_the_bit(table, make):
    X, y = table[0][:80], table[1][:80]
    weights = np.random.default_rng(1).integers(0, 4, 80)
    rows = np.repeat(np.arange(80), weights)
    names = [f"c{j}" for j in range(P)]
    make_table = (lambda a: make(a, names)) if make is pl.DataFrame else make
    one = quick(n_plays=10).fit(make_table(X), y, sample_weight=weights)
    other = quick(n_plays=10).fit(make_table(X[rows]), y[rows])
    assert_same(one, other)
    stream = StreamingThompsonSelector(n_rounds=2, batch_size=60, max_fdr=None, random_state=0)
    stream.fit(make_table(X), y, sample_weight=weights)
    again = StreamingThompsonSelector(n_rounds=2, batch_size=60, max_fdr=None, random_state=0)
    assert_same(stream, again.fit(make_table(X[rows]), y[rows]))


def test_equal_weights_change_nothing(table):
    """Twenty copies of every row make all noise as sure as a signal, which then is lost."""
    X, y = table[0][:80], table[1][:80]
    assert_same(
        quick(n_plays=10).fit(X, y, sample_weight=np.full(80, 20)), quick(n_plays=10).fit(X, y)
    )


@pytest.mark.parametrize("copied_by", ["weights", "hand"])
def test_rows_that_count_five_times_make_noise_no_surer(copied_by):
    """Law: at a level of 0.1, at most about one run in ten selects any noise."""
    n_runs, n_false = 8, 0
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, 6)), rng.normal(size=100)
        selector = quick(n_plays=40, random_state=seed)
        if copied_by == "weights":
            selector.fit(X, y, sample_weight=np.append(np.full(99, 5), 4))
        else:
            with pytest.warns(UserWarning, match="400 of 500 rows are copies"):
                selector.fit(np.tile(X, (5, 1)), np.tile(y, 5))
        n_false += selector.support_.any()
    assert n_false <= binom.ppf(0.999, n_runs, 0.1)


def test_large_weights_are_scaled(table):
    X, y = table
    weights = np.random.default_rng(0).integers(1, 4, N)
    one = quick(n_plays=5).fit(X, y, sample_weight=2.0**30 * weights)
    assert_same(one, quick(n_plays=5).fit(X, y, sample_weight=0.5 * weights))


@pytest.mark.filterwarnings("ignore:nothing can be selected")
def test_a_stream_with_error_control_leaves_rows_out_by_weight(table):
    X, y = table
    weights = np.where(np.arange(N) % 2 == 0, 3.0, 0.0)
    settings = {"batch_size": 50, "random_state": 0}
    one = StreamingThompsonSelector(**nested(**settings)).fit(X, y, sample_weight=weights)
    assert_same(one, StreamingThompsonSelector(**nested(**settings)).fit(X[::2], y[::2]))


def test_rows_without_weight_do_not_matter(table):
    X, y = table
    weights = np.ones(N)
    weights[::5] = 0.0
    changed = X.copy()
    changed[::5] = 99.0
    one = quick(n_plays=10).fit(X, y, sample_weight=weights)
    assert_same(one, quick(n_plays=10).fit(changed, y, sample_weight=weights))


@pytest.mark.parametrize(
    ("weights", "message"),
    [(np.ones(3), "shape"), (np.full(N, -1.0), "negative"), (np.full(N, np.nan), "finite")],
)
def test_bad_weights_are_refused(table, weights, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(*table, sample_weight=weights)


def test_a_stream_keeps_the_order_of_grades(table):
    """Alphabetical order would put the highest grade first."""
    X, latent = table
    cut = np.digitize(latent, np.quantile(latent, [0.3, 0.7]))
    names = np.array(["small", "middle", "big"])
    y = pd.Series(pd.Categorical(names[cut], names, ordered=True))
    settings = {"batch_size": 50, "max_fdr": None, "random_state": 0}
    numbers = StreamingThompsonSelector(**nested(family="ordinal", **settings)).fit(X, cut)
    assert_same(StreamingThompsonSelector(**nested(**settings)).fit(X, y), numbers)
    parts = StreamingThompsonSelector(**nested(**settings)).partial_fit(X[:60], y[:60])
    assert parts.history_.asked.family == "ordinal"


def test_grades_in_text_have_no_order(table):
    X, latent = table
    with pytest.raises(TypeError, match="whose order is not known; write them as numbers"):
        quick(family="ordinal").fit(X, np.array(["low", "mid", "top"])[np.digitize(latent, [0, 1])])
