from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Ridge

from tvstudy.baselines import Boruta
from tvstudy.baselines.boruta import _importances, decide


class Script(RegressorMixin, BaseEstimator):
    """Importances by heart: columns hold 1 (always best), 0 (never), or 2 (every other time)."""

    calls = 0

    def fit(self, X, y):
        Script.calls += 1
        value = X[0] if Script.calls % 2 else np.where(X[0] == 2, 0, X[0])
        half = np.arange(X.shape[1]) < X.shape[1] // 2
        self.feature_importances_ = np.where(half, value, 0.5)
        return self


def scripted(columns, **settings):
    Script.calls = 0
    X = np.tile(np.array(columns, dtype=float), (5, 1))
    return Boruta(Script(), **settings).fit(X, np.arange(5.0))


def test_decisions_fall_at_the_first_iteration_that_allows_them():
    # All or no hits have p-value 2^-t; it is at most 0.05 / t first at t = 8.
    model = scripted([1, 0, 1, 0, 0, 1])
    np.testing.assert_array_equal(model.decisions_, [1, -1, 1, -1, -1, 1])
    assert model.n_iterations_ == 8
    np.testing.assert_array_equal(model.hits_, [8, 0, 8, 0, 0, 8])
    np.testing.assert_array_equal(model.support_, [1, 0, 1, 0, 0, 1])


@pytest.mark.parametrize(("tentative", "selected"), [("reject", 0), ("rough", 1), ("keep", 1)])
def test_what_becomes_of_undecided_columns(tentative, selected):
    # The last column hits in 8 of 15 iterations: its median importance is 2, above 0.5.
    model = scripted([1, 0, 1, 0, 0, 2], n_iterations=15, tentative=tentative)
    assert model.decisions_[5] == 0
    assert model.n_iterations_ == 15
    np.testing.assert_array_equal(model.support_, [1, 0, 1, 0, 0, selected])


def test_the_rough_rule_drops_columns_with_a_low_median():
    # 7 of 14: median importance (0 + 2) / 2 = 1; with more zeros than twos it is 0.
    model = scripted([1, 0, 1, 0, 0, 2], n_iterations=14, tentative="rough")
    assert model.support_[5]
    Script.calls = 1
    X = np.tile([1.0, 0, 1, 0, 0, 2], (5, 1))
    late = Boruta(Script(), n_iterations=15, tentative="rough").fit(X, np.arange(5.0))
    assert late.hits_[5] == 7
    assert not late.support_[5]


def test_two_corrections_by_hand():
    hits = np.array([20, 15, 14, 10, 5, 0])
    up, down = binom.sf(hits - 1, 20, 0.5), binom.cdf(hits, 20, 0.5)
    # Bonferroni over 20 iterations: p <= 0.0025; 15 hits have p = 0.021.
    assert up[1] == pytest.approx(down[4]) == pytest.approx(0.0207, abs=1e-4)
    start = np.zeros(6, dtype=np.int64)
    np.testing.assert_array_equal(decide(start, hits, 20), [1, 0, 0, 0, 0, -1])
    # One step: p <= 0.5 / 6 = 0.083.
    found = decide(start, hits, 20, alpha=0.5, two_step=False)
    np.testing.assert_array_equal(found, [1, 1, 1, 0, -1, -1])


def test_decisions_stay_and_rejected_columns_count_no_more():
    decisions = np.array([1, -1, 0, 0])
    found = decide(decisions, np.array([0, 20, 20, 10]), 20)
    np.testing.assert_array_equal(found, [1, -1, 1, 0])
    np.testing.assert_array_equal(decisions, [1, -1, 0, 0])


@pytest.mark.parametrize("two_step", [True, False])
def test_decisions_are_those_of_boruta_py(two_step):
    boruta = pytest.importorskip("boruta")
    rng = np.random.default_rng(0)
    peer = boruta.BorutaPy(None, two_step=two_step)
    for n_iterations in (5, 8, 12, 30, 90):
        share = rng.choice([0.05, 0.5, 0.95], size=60)
        hits = rng.binomial(n_iterations, share)
        before = rng.choice([-1, 0, 0, 0, 1], size=60)
        expected = peer._do_tests(before.copy(), hits, n_iterations)
        found = decide(before, hits, n_iterations, two_step=two_step)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("n_columns", "n_shadows"), [(1, 5), (2, 6), (3, 6), (5, 5), (8, 8)])
def test_shadows_are_shuffled_columns_and_at_least_five(n_columns, n_shadows):
    seen = {}

    class Spy(Script):
        def fit(self, X, y):
            seen["X"], self.feature_importances_ = X, np.arange(X.shape[1])
            return self

    X = np.random.default_rng(0).random((50, n_columns))
    real, shadow = _importances(X, np.arange(50.0), Spy(), np.random.default_rng(1))
    assert (len(real), len(shadow)) == (n_columns, n_shadows)
    np.testing.assert_array_equal(seen["X"][:, :n_columns], X)
    copies = seen["X"][:, n_columns:]
    for k in range(n_shadows):
        np.testing.assert_array_equal(np.sort(copies[:, k]), np.sort(X[:, k % n_columns]))
        assert np.abs(np.corrcoef(copies[:, k], X[:, k % n_columns])[0, 1]) < 0.6


def friedman(n_rows=200, n_columns=12):
    rng = np.random.default_rng(3)
    X = rng.random((n_rows, n_columns))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    return X, f + rng.standard_normal(n_rows)


def test_a_forest_finds_the_signals():
    X, y = friedman()
    quick = RandomForestRegressor(20, max_features=0.5, min_samples_leaf=5)
    model = Boruta(quick, n_iterations=12, random_state=0).fit(X, y)
    assert model.support_[:4].all()
    assert model.support_.sum() <= 6
    again = Boruta(quick, n_iterations=12, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.hits_, again.hits_)


def test_two_classes():
    X, y = friedman()
    label = np.where(y > np.median(y), "high", "low")
    quick = RandomForestClassifier(20, min_samples_leaf=5)
    model = Boruta(quick, n_iterations=12, random_state=0).fit(X, label)
    assert model.support_[[0, 3]].all()


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"n_iterations": 0}, ValueError, "n_iterations"),
        ({"alpha": np.nan}, ValueError, "alpha"),
        ({"two_step": "yes"}, TypeError, "two_step"),
        ({"tentative": "drop"}, ValueError, "tentative"),
        ({"estimator": RandomForestRegressor}, TypeError, "instance"),
        ({"estimator": RandomForestClassifier()}, ValueError, "regressor"),
        ({"estimator": Ridge()}, TypeError, "feature_importances_"),
    ],
)
def test_settings_are_checked(settings, error, match):
    with pytest.raises(error, match=match):
        Boruta(**settings).fit(*friedman(20, 5))
