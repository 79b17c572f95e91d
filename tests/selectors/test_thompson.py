"""The selector as its users meet it: what it finds and tells, when it stops, what it refuses."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betainc
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.bandit.plays import fold_counts
from tests.decoyed import Marginal
from tests.nested import nested
from tests.selectors.runs import SIGNALS, P, assert_same, make_data, plays_of
from tests.selectors.streams import selector as stream_selector
from tvselect import (
    BartReward,
    LassoReward,
    StreamingThompsonSelector,
    ThompsonSelector,
)
from tvselect.bandit import engine
from tvselect.bandit.oracle import threshold
from tvselect.inputs.doubts import DoubtWarning
from tvselect.selectors.results import mean_jaccard

NAMES = [f"v{j}" for j in range(P)]


def selector(reward=None, **settings):
    if reward is None:
        reward = Marginal(alpha=1e-4)
    settings = {"n_plays": 25, "max_fdr": None, "random_state": 0, **settings}
    return ThompsonSelector(reward, **nested(**settings))


def quick_bart():
    return BartReward(n_trees=10, n_iterations=100, proposals_per_column=0.0, shadows=0)


def counts_of(fitted, chains=None):
    n_arms = int(fitted.result_.arm_of_feature.max()) + 1
    chains = range(fitted.result_.n_chains) if chains is None else chains
    return np.array(fold_counts(fitted.result_.journal, n_arms, chains))


@pytest.mark.parametrize(
    "reward",
    [Marginal(alpha=1e-4), quick_bart(), LassoReward(), None],
    ids=["p-value", "short bart", "lasso", "default"],
)
def test_a_selection_makes_half_an_error_at_most_on_average(reward):
    truth = np.isin(np.arange(P), SIGNALS)
    errors = []
    for seed in range(10):
        X, y = make_data(seed=seed)
        fitted = ThompsonSelector(reward, n_plays=40, random_state=seed).fit(X, y)
        errors.append((fitted.support_ != truth).sum())
    assert np.mean(errors) <= 0.5, errors


@pytest.mark.parametrize("make", [selector, stream_selector], ids=["table", "stream"])
def test_fitted_attributes_fit_together(make):
    fitted = make(n_chains=3).fit(*make_data(n=1000))
    assert (fitted.n_plays_, fitted.n_features_in_) == (fitted.result_.n_plays, P)
    assert not hasattr(fitted, "feature_names_in_")
    successes, failures = counts_of(fitted)
    share = (1 + successes) / (2 + successes + failures)
    assert_array_equal(fitted.selection_rates_, share)
    assert_array_equal(fitted.threshold_, np.full(P, 0.5))
    assert_array_equal(fitted.support_, (successes + failures > 0) & (share > 0.5))
    low, high = fitted.selection_rate_intervals_.T
    for q, bound in zip((0.025, 0.975), (low, high), strict=True):
        assert_allclose(betainc(1 + successes, 1 + failures, bound), q, rtol=1e-6)


@pytest.mark.parametrize("cost", [0.3, (np.sqrt(5) - 1) / 2, np.linspace(0.2, 0.9, P)])
def test_the_support_is_what_was_played_and_paid_at_least_the_threshold(cost):
    fitted = selector(cost=cost, prior=(2.0, 0.5), n_plays=15).fit(*make_data())
    successes, failures = counts_of(fitted)
    share = (2.0 + successes) / (2.5 + successes + failures)
    assert_array_equal(fitted.selection_rates_, share)
    assert_array_equal(fitted.support_, (successes + failures > 0) & (share >= threshold(cost)))


def test_variables_that_were_never_played_are_not_selected():
    X, y = make_data(p=60)
    fitted = selector(n_features_to_select=2, n_plays=3, prior=(5.0, 1.0)).fit(X, y)
    times = counts_of(fitted).sum(axis=0)
    assert (times == 0).sum() > 40
    assert fitted.support_.sum() == 2
    assert times[fitted.support_].all()


def test_names_go_in_and_come_out():
    X, y = make_data()
    fitted = selector().fit(X, y)
    assert_array_equal(fitted.get_feature_names_out(), ["x3", "x7"])
    assert_array_equal(fitted.get_feature_names_out(NAMES), ["v3", "v7"])
    assert_array_equal(fitted.get_support(indices=True), SIGNALS)
    assert_array_equal(fitted.transform(X), X[:, SIGNALS])
    assert_array_equal(fitted.inverse_transform(X[:, SIGNALS])[:, SIGNALS], X[:, SIGNALS])
    fitted = selector().fit(pd.DataFrame(X, columns=NAMES), y)
    assert_array_equal(fitted.feature_names_in_, NAMES)
    assert_array_equal(fitted.get_feature_names_out(), ["v3", "v7"])
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(pd.DataFrame(X, columns=NAMES[::-1]))
    for frame in (pd.DataFrame(X, columns=NAMES), pl.DataFrame(X, schema=NAMES)):
        for out, kept in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
            found = selector().set_output(transform=out).fit(frame, y).transform(frame)
            assert isinstance(found, kept)
            assert list(found.columns) == ["v3", "v7"]
            assert_array_equal(found.to_numpy(), X[:, SIGNALS])


def test_pipelines_and_searches_reach_all_settings():
    X, y = make_data()
    pipeline = make_pipeline(
        StandardScaler(), selector(BartReward(n_trees=10, shadows=0)), LinearRegression()
    )
    grid = {
        "thompsonselector__reward__n_iterations": [20, 60],
        "thompsonselector__n_plays": [3, 12],
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    chosen = search.best_estimator_[1]
    assert chosen.n_plays_ == search.best_params_["thompsonselector__n_plays"]
    assert search.score(X, y) > 0.5


def test_missing_values_are_for_rewards_that_take_them():
    X, y = make_data()
    X[::7, 3] = np.nan
    X[::5, 1] = np.nan
    fitted = selector(quick_bart()).fit(X, y)
    assert set(SIGNALS) <= set(np.flatnonzero(fitted.support_))
    assert_array_equal(fitted.transform(X), X[:, fitted.support_])
    with pytest.raises(ValueError, match=r"NaN, .* in column 'v1' and 1 more"):
        selector(LassoReward()).fit(pd.DataFrame(X, columns=NAMES), y)
    with pytest.raises(ValueError, match=r"NaN, .* in column 'x1'"):
        selector(lambda X, y, rng: np.ones(X.shape[1])).fit(X, y)


@pytest.mark.parametrize("reward", [None, LassoReward()])
def test_infinite_values_are_refused_by_the_name_of_their_column(reward):
    X, y = make_data()
    X[3, 5] = -np.inf
    frame = pd.DataFrame(X, columns=NAMES)
    for table, name in ((X, "x5"), (frame, "v5"), (frame.assign(v0="a"), "v5")):
        with pytest.raises(ValueError, match=f"infinity in column '{name}'"):
            ThompsonSelector(reward).fit(table, y)
    X[:, 5] = 1e307 * y  # huge values are not infinite
    assert selector(reward, n_plays=2).fit(X, y).n_plays_ == 2


def test_of_a_known_size_so_many_are_selected_and_at_most_so_many_played():
    X, y = make_data()
    for q in (1, 2, 5):
        fitted = selector(Marginal(alpha=0.5), n_features_to_select=q).fit(X, y)
        assert max(play.arms.size for play in fitted.result_.plays) <= q
        assert fitted.support_.sum() == q
    for q in (1, 5):
        fitted = selector(n_features_to_select=q, n_plays=20, max_fdr=0.1).fit(X, y)
        assert fitted.support_.sum() == q
    assert_array_equal(np.flatnonzero(fitted.support_[SIGNALS]), [0, 1])
    fitted = selector(n_features_to_select=2, n_plays=60).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)


def test_costs_and_priors_of_columns():
    X, y = make_data()
    cost, b = np.full(P, (np.sqrt(5) - 1) / 2), np.ones(P)
    cost[[0, 7]] = 0.999, 0.05
    assert_array_equal(np.flatnonzero(selector(cost=cost).fit(X, y).support_), [0, 3])
    b[3] = 1e6
    fitted = selector(prior=(1.0, b)).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), [7])
    assert all(3 not in play.arms for play in fitted.result_.plays)


def test_random_states_of_all_kinds():
    X, y = make_data()
    fits = [
        selector(random_state=make(5)).fit(X, y).selection_rates_
        for make in (int, np.int64, np.random.default_rng, np.random.RandomState)
        for _ in range(2)
    ]
    for one, same in zip(fits[::2], fits[1::2], strict=True):
        assert_array_equal(one, same)
    assert_array_equal(fits[0], fits[2])
    one, two = (selector(Marginal(0.2), random_state=None).fit(X, y) for _ in range(2))
    assert plays_of(one) != plays_of(two)


def test_the_history_tells_every_play():
    X, y = make_data()
    frame = pd.DataFrame(X, columns=NAMES)
    fitted = selector(n_chains=2, n_plays=9, prior=(1.0, 3.0)).fit(frame, y)
    for chain in range(2):
        path = fitted.result_.trajectories(["v3", "v0"], chain)
        assert path.shape == (10, 2)
        assert_array_equal(path[0], [0.25, 0.25])
        assert_array_equal(path, fitted.result_.trajectories([3, 0], chain))
        successes, failures = counts_of(fitted, [chain])
        assert_allclose(path[-1], ((1 + successes) / (4 + successes + failures))[[3, 0]])
    frame = fitted.result_.to_frame()
    assert list(frame.columns) == ["chain", "play", "n_played", "n_rewarded", "seconds"]
    assert len(frame) == 18
    successes, failures = counts_of(fitted)
    assert frame["n_rewarded"].sum() == successes.sum()
    assert frame["n_played"].sum() == (successes + failures).sum()
    with pytest.raises(ValueError, match="'nobody'"):
        fitted.result_.trajectories(["nobody"])


def test_what_may_spoil_a_selection_is_said_as_a_warning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    y = X[:, 2] + rng.normal(size=100)
    X[:, 4] = np.exp(y)
    with pytest.warns(DoubtWarning, match=r"Too good to be true\? 'x4'") as caught:
        selector(n_plays=5).fit(X, y)
    assert caught[0].filename == __file__


# When it stops, and what its chains have to do with each other.


def test_patience_stops_a_steady_game():
    X, y = make_data()
    fitted = selector(n_plays=500, patience=6).fit(X, y)
    assert fitted.stop_reason_ == "patience"
    assert 6 < fitted.n_plays_ < 500


def test_the_time_limit_stops_between_plays(monkeypatch):
    ticks = count()
    monkeypatch.setattr(engine, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    X, y = make_data()
    fitted = selector(n_plays=500, time_limit=12.5).fit(X, y)
    assert fitted.stop_reason_ == "time limit"
    whole = selector(n_plays=12).fit(X, y)
    assert whole.stop_reason_ == "plays"
    assert_same(fitted, whole)


def test_chains_are_pooled_by_adding_their_counts():
    fitted = selector(Marginal(alpha=0.2), n_chains=3, n_plays=8).fit(*make_data())
    by_chain = np.array([counts_of(fitted, [k]) for k in range(3)])
    successes, failures = by_chain.sum(axis=0)
    assert_array_equal(fitted.selection_rates_, (1 + successes) / (2 + successes + failures))
    means = (1 + by_chain[:, 0]) / (2 + by_chain.sum(axis=1))
    assert_array_equal(fitted.chain_supports_, (by_chain.sum(axis=1) > 0) & (means > 0.5))
    assert_allclose(fitted.selection_rate_spread_, means.std(axis=0))
    assert fitted.chain_agreement_ == mean_jaccard(fitted.chain_supports_)
    assert len(np.unique(by_chain, axis=0)) == 3


def test_the_first_chain_does_not_depend_on_how_many_there_are():
    one, three = (selector(n_chains=n).fit(*make_data()) for n in (1, 3))
    assert plays_of(one) == [play for play in plays_of(three) if play[0] == 0]
    assert np.isnan(one.chain_agreement_)
    assert_array_equal(one.selection_rate_spread_, np.zeros(P))
    assert_array_equal(one.chain_supports_[0], one.support_)


def test_the_mean_jaccard_index():
    a, b, c = [True, True, False], [True, False, False], [False, False, False]
    assert mean_jaccard(np.array([a, b, c])) == pytest.approx((0.5 + 0 + 0) / 3)
    assert mean_jaccard(np.array([c, c])) == 1.0
    assert np.isnan(mean_jaccard(np.array([a])))


# What it refuses.


def half(last):
    return np.r_[np.full(P - 1, 0.5), last]


@pytest.mark.parametrize(("n_plays", "error"), [(0, ValueError), (2.5, TypeError)])
def test_a_number_of_plays_that_is_none_is_refused(n_plays, error):
    with pytest.raises(error, match="n_plays"):
        selector(n_plays=n_plays).fit(*make_data())


BAD_SETTINGS = {
    "no chain": (dict(n_chains=0), ValueError, "n_chains"),
    "no patience": (dict(patience=0), ValueError, "patience"),
    "no thread": (dict(n_jobs=0), ValueError, "n_jobs"),
    "no time": (dict(time_limit=0), ValueError, "time_limit"),
    "nan seconds": (dict(time_limit=float("nan")), ValueError, "time_limit"),
    "cost 0": (dict(cost=0.0), ValueError, "cost"),
    "cost 1": (dict(cost=1.0), ValueError, "cost"),
    "one cost of 1": (dict(cost=half(1.0)), ValueError, "cost"),
    "nan cost": (dict(cost=half(np.nan)), ValueError, "between 0 and 1"),
    "costs of others": (dict(cost=np.full(P + 1, 0.5)), ValueError, "cost has shape"),
    "text cost": (dict(cost="cheap"), ValueError, "cost must hold numbers"),
    "prior 0": (dict(prior=(0.0, 1.0)), ValueError, "prior"),
    "negative prior": (dict(prior=(1.0, -np.ones(P))), ValueError, "prior"),
    "nan prior": (dict(prior=(half(np.nan), 1.0)), ValueError, "positive and fin"),
    "infinite prior": (dict(prior=(1.0, np.inf)), ValueError, "prior"),
    "three priors": (dict(prior=(1.0, 1.0, 1.0)), ValueError, "pair"),
    "one prior": (dict(prior=1.0), ValueError, "pair"),
    "too many wanted": (dict(n_features_to_select=P + 1), ValueError, "12 arms"),
    "none wanted": (dict(n_features_to_select=0), ValueError, "n_features_to_select"),
    "reward of no kind": (dict(reward=5), TypeError, "callable"),
    "bad reward": (dict(reward=Marginal(alpha=2.0)), ValueError, "alpha"),
    "unknown reward": (dict(reward="boost"), ValueError, "'lasso', .*; got 'boost'"),
    "decoys": (dict(decoys="copies"), ValueError, "decoys must be 'auto', 'shuffled'"),
    "true decoys": (dict(decoys=True), ValueError, "decoys must be 'auto', 'shuffled'"),
    "no decoys": (dict(decoys=None), ValueError, "max_fdr=0.1 cannot be kept without decoys"),
    "max_fdr 0": (dict(max_fdr=0.0), ValueError, "max_fdr"),
    "tiny max_fdr": (dict(max_fdr=1e-9), ValueError, "max_fdr must be at least 0.001"),
    "max_fdr 1": (dict(max_fdr=1.0), ValueError, "max_fdr"),
    "nan max_fdr": (dict(max_fdr=np.nan), ValueError, "max_fdr must be a number between 0 and 1"),
    "text for verbose": (dict(verbose="x"), TypeError, "verbose must be an instance of"),
    "unknown family": (dict(family="poisson"), ValueError, "family must be"),
    "negative seed": (dict(random_state=-1), ValueError, "random_state"),
    "seed of no kind": (dict(random_state="seven"), ValueError, "seven"),
}


@pytest.mark.parametrize("Selector", [ThompsonSelector, StreamingThompsonSelector])
@pytest.mark.parametrize("case", BAD_SETTINGS)
@pytest.mark.filterwarnings("ignore:nothing can be selected")
def test_bad_settings_are_refused_by_name(case, Selector, tmp_path):
    settings, error, match = BAD_SETTINGS[case]
    settings = {"reward": Marginal(), "journal": tmp_path / "run.journal", **settings}
    with pytest.raises(error, match=match):
        Selector(**nested(**settings)).fit(*make_data())
    assert "reward" in case or not any(tmp_path.iterdir())


X0, Y0 = make_data(n=30)
BAD_DATA = {
    "nan in y": (X0, np.r_[Y0[:-1], np.nan], ValueError, "y has 1 missing .* row 29"),
    "short y": (X0, Y0[:-1], ValueError, "29 values but X has 30 rows"),
    "two outcomes": (X0, np.c_[Y0, Y0], ValueError, "single column"),
    "text among objects": (np.array([["a", 1.0]] * 30, dtype=object), Y0, ValueError, "float"),
    "dates": (pd.DataFrame({"a": X0[:, 0], "d": [1, "x"] * 15}), Y0, TypeError, "'d'"),
}


@pytest.mark.parametrize("Selector", [ThompsonSelector, StreamingThompsonSelector])
@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_are_refused_clearly(case, Selector):
    X, y, error, match = BAD_DATA[case]
    with pytest.raises(error, match=match):
        Selector(Marginal()).fit(X, y)
