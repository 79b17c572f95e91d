"""The selector as its users meet it: what it finds, what it tells."""

from __future__ import annotations

import pickle
from tempfile import TemporaryFile

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betainc
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.bandit.plays import fold_counts
from tests.nested import nested
from tvselect import BartReward, LassoReward, PValueReward, ThompsonSelector
from tvselect.bandit.oracle import threshold
from tvselect.inputs.doubts import DoubtWarning

N, P = 100, 12
NAMES = [f"v{j}" for j in range(P)]
SIGNALS = [3, 7]
RESULTS = (
    "support_",
    "selection_rates_",
    "selection_rate_intervals_",
    "chain_supports_",
    "selection_rate_spread_",
    "n_plays_",
)


def make_data(n=N, p=P, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 3 * X[:, 3] - 2 * X[:, 7] + rng.standard_normal(n)


def selector(reward=None, **settings):
    if reward is None:
        reward = PValueReward(alpha=1e-4)
    return ThompsonSelector(
        reward, **nested(**{"n_plays": 25, "max_fdr": None, "random_state": 0, **settings})
    )


def quick_bart():
    return BartReward(n_trees=10, n_iterations=100, proposals_per_column=0.0, shadows=0)


def assert_same(one, other):
    for name in RESULTS:
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def counts_of(fitted):
    n_arms = int(fitted.history_.arm_of_feature.max()) + 1
    return fold_counts(fitted.history_.journal, n_arms, range(fitted.history_.n_chains))


@pytest.mark.parametrize(
    "reward",
    [PValueReward(alpha=1e-4), quick_bart(), LassoReward(), None],
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


def test_fitted_attributes_fit_together():
    X, y = make_data()
    fitted = selector(n_chains=3).fit(X, y)
    assert fitted.support_.shape == fitted.selection_rates_.shape == (P,)
    assert fitted.support_.dtype == np.bool_
    assert fitted.selection_rate_intervals_.shape == (P, 2)
    assert fitted.chain_supports_.shape == (3, P)
    assert fitted.selection_rate_spread_.shape == (P,)
    assert fitted.n_plays_ == 25
    assert fitted.n_features_in_ == P
    assert fitted.stop_reason_ == "plays"
    assert not hasattr(fitted, "feature_names_in_")
    low, high = fitted.selection_rate_intervals_.T
    assert (low < fitted.selection_rates_).all()
    assert (fitted.selection_rates_ < high).all()


@pytest.mark.parametrize("cost", [0.3, (np.sqrt(5) - 1) / 2, np.linspace(0.2, 0.9, P)])
def test_the_support_is_what_was_played_and_paid_at_least_the_threshold(cost):
    X, y = make_data()
    fitted = selector(cost=cost, prior=(2.0, 0.5), n_plays=15).fit(X, y)
    successes, failures = counts_of(fitted)
    share = (2.0 + successes) / (2.5 + successes + failures)
    assert_array_equal(fitted.selection_rates_, share)
    assert_array_equal(fitted.support_, (successes + failures > 0) & (share >= threshold(cost)))


def test_intervals_are_quantiles_of_the_beta_posterior():
    X, y = make_data()
    fitted = selector().fit(X, y)
    successes, failures = counts_of(fitted)
    for q, bound in zip((0.025, 0.975), fitted.selection_rate_intervals_.T, strict=True):
        assert_allclose(betainc(1 + successes, 1 + failures, bound), q, rtol=1e-6)


def test_variables_that_were_never_played_are_not_selected():
    X, y = make_data(p=60)
    fitted = selector(n_features_to_select=2, n_plays=3, prior=(5.0, 1.0)).fit(X, y)
    successes, failures = counts_of(fitted)
    assert (successes + failures == 0).sum() > 40
    assert fitted.support_.sum() <= 2
    assert (successes + failures)[fitted.support_].all()


def mapped(X):
    """The same table in a file, column by column."""
    with TemporaryFile() as file:
        there = np.memmap(file, X.dtype, "w+", shape=X.shape, order="F")
    there[:] = X
    return there


@pytest.mark.parametrize(
    "wrap",
    [
        np.asfortranarray,
        np.ndarray.tolist,
        lambda X: mapped(X),
        lambda X: pd.DataFrame(X, columns=NAMES),
        lambda X: pl.DataFrame(X, schema=NAMES),
        lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
    ],
    ids=["fortran", "lists", "mapped", "pandas", "polars", "arrow"],
)
@pytest.mark.parametrize("reward", [PValueReward(alpha=1e-4), quick_bart()], ids=["p", "bart"])
def test_every_kind_of_table_gives_the_same_result(wrap, reward):
    X, y = make_data()
    fitted = selector(reward, n_plays=10).fit(wrap(X), y)
    assert_same(fitted, selector(reward, n_plays=10).fit(X, y))
    if hasattr(wrap(X), "__dataframe__"):
        assert_array_equal(fitted.feature_names_in_, NAMES)


def test_every_kind_of_outcome_gives_the_same_result():
    X, y = make_data()
    wanted = selector().fit(X, y)
    for wrap in (list, pd.Series, pl.Series, pa.array, lambda y: y[:, None], pd.DataFrame):
        assert_same(selector().fit(X, wrap(y)), wanted)


def test_labels_of_any_type_are_two_classes():
    X, y = make_data()
    second = y > 0
    wanted = selector(quick_bart()).fit(X, second)
    assert set(SIGNALS) <= set(np.flatnonzero(wanted.support_))
    texts = np.where(second, "yes", "no")
    for labels in (
        second.astype(int),
        second.astype(float),
        np.where(second, 7, -2),
        texts,
        texts.tolist(),
        texts.astype(object),
        pd.Series(texts, dtype="category"),
        pl.Series(texts),
    ):
        assert_same(selector(quick_bart()).fit(X, labels), wanted)


def test_the_family_can_be_said(tmp_path):
    X, y = make_data()
    y = (y > np.median(y)).astype(int)
    as_classes = selector(quick_bart(), journal=tmp_path / "run.tvs").fit(X, y)
    assert_same(as_classes, selector(quick_bart(), family="probit").fit(X, y))
    as_numbers = selector(quick_bart(), family="gaussian").fit(X, y)
    assert not np.array_equal(counts_of(as_numbers), counts_of(as_classes))
    with pytest.raises(ValueError, match="other settings"):
        selector(quick_bart(), family="gaussian", journal=tmp_path / "run.tvs").fit(X, y)
    with pytest.raises(ValueError, match="family must be"):
        selector(family="poisson").fit(X, y)


def test_names_go_in_and_come_out():
    X, y = make_data()
    fitted = selector().fit(X, y)
    assert_array_equal(fitted.get_feature_names_out(), ["x3", "x7"])
    assert_array_equal(fitted.get_feature_names_out(NAMES), ["v3", "v7"])
    fitted = selector().fit(pd.DataFrame(X, columns=NAMES), y)
    assert_array_equal(fitted.feature_names_in_, NAMES)
    assert_array_equal(fitted.get_feature_names_out(), ["v3", "v7"])
    assert_array_equal(fitted.get_support(indices=True), SIGNALS)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(pd.DataFrame(X, columns=NAMES[::-1]))


def test_the_selected_columns_come_out_in_the_frame_that_was_asked_for():
    X, y = make_data()
    frames = {"pandas": pd.DataFrame(X, columns=NAMES), "polars": pl.DataFrame(X, schema=NAMES)}
    fitted = selector().fit(X, y)
    assert_array_equal(fitted.transform(X), X[:, SIGNALS])
    assert_array_equal(fitted.inverse_transform(X[:, SIGNALS])[:, SIGNALS], X[:, SIGNALS])
    for kind, frame in frames.items():
        for out, kept in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
            found = selector().set_output(transform=out).fit(frame, y).transform(frame)
            assert isinstance(found, kept), (kind, out)
            assert list(found.columns) == ["v3", "v7"]
            assert_array_equal(found.to_numpy(), X[:, SIGNALS])


def test_pipelines_and_searches_reach_all_settings():
    X, y = make_data()
    pipeline = make_pipeline(
        StandardScaler(), selector(BartReward(n_trees=10, shadows=0)), LinearRegression()
    )
    search = GridSearchCV(
        pipeline,
        {
            "thompsonselector__reward__n_iterations": [20, 60],
            "thompsonselector__n_plays": [3, 12],
        },
        cv=2,
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    chosen = search.best_estimator_[1]
    assert chosen.n_plays_ == search.best_params_["thompsonselector__n_plays"]
    assert search.score(X, y) > 0.5


def test_a_clone_has_the_settings_and_nothing_else():
    X, y = make_data()
    original = selector(quick_bart(), cost=np.full(P, 0.5), feature_groups={"g": [0, 1]}).fit(X, y)
    copy = clone(original)
    assert not hasattr(copy, "support_")
    assert copy.reward is not original.reward
    assert_same(copy.fit(X, y), original)


@pytest.mark.parametrize("way", ["pickle", "joblib"])
def test_a_fitted_selector_survives_storage(way, tmp_path):
    X, y = make_data()
    fitted = selector(n_chains=2).fit(X, y)
    if way == "pickle":
        loaded = pickle.loads(pickle.dumps(fitted))
    else:
        joblib.dump(fitted, tmp_path / "fitted.joblib")
        loaded = joblib.load(tmp_path / "fitted.joblib")
    assert_same(loaded, fitted)
    assert_array_equal(loaded.transform(X), fitted.transform(X))
    assert_same(loaded.set_params(n_plays=30).fit(X, y), fitted.set_params(n_plays=30).fit(X, y))


def test_missing_values_are_for_rewards_that_take_them():
    X, y = make_data()
    X[::7, 3] = np.nan
    X[::5, 1] = np.nan
    fitted = selector(quick_bart()).fit(X, y)
    assert set(SIGNALS) <= set(np.flatnonzero(fitted.support_))
    assert_array_equal(fitted.transform(X), X[:, fitted.support_])
    names = pd.DataFrame(X, columns=NAMES)
    with pytest.raises(ValueError, match=r"NaN, .* in column 'v1' and 1 more"):
        selector(LassoReward()).fit(names, y)
    with pytest.raises(ValueError, match=r"NaN, .* in column 'x1'"):
        selector(lambda X, y, rng: np.ones(X.shape[1])).fit(X, y)


@pytest.mark.parametrize("reward", [None, LassoReward()])
def test_infinite_values_are_refused_by_the_name_of_their_column(reward):
    X, y = make_data()
    X[3, 5] = -np.inf
    with pytest.raises(ValueError, match="infinity in column 'x5'"):
        ThompsonSelector(reward).fit(X, y)
    with pytest.raises(ValueError, match="infinity in column 'v5'"):
        ThompsonSelector(reward).fit(pd.DataFrame(X, columns=NAMES), y)
    text = pd.DataFrame(X, columns=NAMES).assign(v0="a")
    with pytest.raises(ValueError, match="infinity in column 'v5'"):
        ThompsonSelector(reward).fit(text, y)


def test_huge_values_are_not_infinite():
    X, y = make_data()
    X[:, 0] *= 1e307
    assert_same(selector().fit(X, y), selector().fit(X, y))


def test_a_known_size_bounds_what_is_played_and_selected():
    X, y = make_data()
    for q in (1, 2, 5):
        fitted = selector(PValueReward(alpha=0.5), n_features_to_select=q).fit(X, y)
        assert max(play.arms.size for play in fitted.history_.plays) <= q
        assert fitted.support_.sum() <= q
    fitted = selector(n_features_to_select=2, n_plays=60).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)


def test_a_cost_of_its_own_makes_a_column_easier_or_harder_to_select():
    X, y = make_data()
    cost = np.full(P, (np.sqrt(5) - 1) / 2)
    cost[[0, 7]] = 0.999, 0.05
    fitted = selector(cost=cost).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), [0, 3])


def test_a_prior_of_its_own_keeps_a_column_out_of_the_game():
    X, y = make_data()
    b = np.ones(P)
    b[3] = 1e6
    fitted = selector(prior=(1.0, b)).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), [7])
    assert all(3 not in play.arms for play in fitted.history_.plays)


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
    free = [
        selector(PValueReward(0.2), random_state=None).fit(X, y).selection_rates_ for _ in range(2)
    ]
    assert not np.array_equal(*free)


def test_the_data_stay_as_they_are():
    X, y = make_data()
    X.flags.writeable = y.flags.writeable = False
    for reward in (PValueReward(), quick_bart(), LassoReward()):
        selector(reward, n_plays=3).fit(X, y)


def test_sample_weights_count_for_every_reward():
    X, y = make_data()
    noisy = y.copy()
    noisy[: N // 2] = np.random.default_rng(1).permutation(noisy[: N // 2]) * 9
    weight = (np.arange(N) >= N // 2).astype(float)
    fitted = selector(LassoReward()).fit(X, noisy, sample_weight=weight)
    assert set(SIGNALS) <= set(np.flatnonzero(fitted.support_))
    assert_same(
        selector(LassoReward(), n_plays=5).fit(X, y, sample_weight=None),
        selector(LassoReward(), n_plays=5).fit(X, y),
    )
    rows = np.flatnonzero(weight)
    assert_same(
        selector(quick_bart(), n_plays=5).fit(X, noisy, sample_weight=weight),
        selector(quick_bart(), n_plays=5).fit(X[rows], noisy[rows]),
    )
    for bad in (weight[1:], -weight, 0 * weight, np.where(weight > 0, np.nan, 1.0)):
        with pytest.raises(ValueError, match="sample_weight"):
            selector(LassoReward()).fit(X, y, sample_weight=bad)


def test_a_function_as_reward():
    def strong(X, y, rng):
        return np.abs(X.T @ y / len(y)).clip(0, 1)

    fitted = selector(strong, n_plays=60).fit(*make_data())
    assert set(SIGNALS) <= set(np.flatnonzero(fitted.support_))


def test_the_history_tells_every_play():
    X, y = make_data()
    frame = pd.DataFrame(X, columns=NAMES)
    fitted = selector(n_chains=2, n_plays=9, prior=(1.0, 3.0)).fit(frame, y)
    paths = [fitted.history_.trajectories(["v3", "v0"], chain) for chain in range(2)]
    for chain, path in enumerate(paths):
        assert path.shape == (10, 2)
        assert_array_equal(path[0], [0.25, 0.25])
        assert_array_equal(path, fitted.history_.trajectories([3, 0], chain))
        successes, failures = fold_counts(fitted.history_.journal, P, [chain])
        assert_allclose(path[-1], ((1 + successes) / (4 + successes + failures))[[3, 0]])
    frame = fitted.history_.to_frame()
    assert list(frame.columns) == ["chain", "play", "n_played", "n_rewarded", "seconds"]
    assert len(frame) == 18
    successes, failures = counts_of(fitted)
    assert frame["n_rewarded"].sum() == successes.sum()
    assert frame["n_played"].sum() == (successes + failures).sum()
    with pytest.raises(ValueError, match="'nobody'"):
        fitted.history_.trajectories(["nobody"])


def test_a_progress_bar_shows_on_request_only(capsys):
    X, y = make_data()
    selector(n_plays=3).fit(X, y)
    assert capsys.readouterr().err == ""
    selector(n_plays=3, verbose=1).fit(X, y)
    assert "TVS" in capsys.readouterr().err


def test_what_may_spoil_a_selection_is_said_as_a_warning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    y = X[:, 2] + rng.normal(size=100)
    X[:, 4] = np.exp(y)
    selector = ThompsonSelector(BartReward(n_trees=5, n_iterations=50), n_plays=5, random_state=0)
    with pytest.warns(DoubtWarning, match=r"Too good to be true\? 'x4'") as caught:
        selector.fit(X, y)
    assert caught[0].filename == __file__
