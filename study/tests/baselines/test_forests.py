from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from tvselect.seeds import as_generator
from tvstudy.baselines import Boruta, ForestBaseline, RfecvBaseline


def linear_data(n_rows=120, n_columns=10):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    return X, 3 * X[:, 1] - 2 * X[:, 5] + 0.5 * rng.standard_normal(n_rows)


def test_the_forest_is_that_of_scikit_learn():
    X, y = linear_data()
    seed = int(as_generator(4).integers(2**31))
    forest = RandomForestRegressor(random_state=seed)
    expected = SelectFromModel(forest).fit(X, y)
    model = ForestBaseline(random_state=4).fit(X, y)
    np.testing.assert_array_equal(model.support_, expected.get_support())
    assert model.selector_.threshold_ == pytest.approx(1 / 10)
    assert model.support_[[1, 5]].all()


def test_thresholds_and_linear_models():
    X, y = linear_data()
    few = RandomForestRegressor(10)
    half = ForestBaseline(few, "median", random_state=0).fit(X, y)
    assert half.support_.sum() == 5
    ridge = ForestBaseline(Ridge(), 1.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(ridge.support_), [1, 5])


@pytest.mark.parametrize(
    ("selector", "settings"), [(ForestBaseline, {}), (RfecvBaseline, {"step": 4, "cv": 2})]
)
def test_two_classes(selector, settings):
    X, y = linear_data()
    label = np.where(y > 0, "yes", "no")
    for estimator in (RandomForestClassifier(10), LogisticRegression()):
        model = selector(estimator, **settings, random_state=0).fit(X, label)
        assert model.support_[1]
        assert model.classes_.tolist() == ["no", "yes"]


def test_elimination_is_that_of_scikit_learn():
    X, y = linear_data()
    X = X * 10.0 ** np.arange(-5, 5)
    model = RfecvBaseline("linear", step=2, cv=4, random_state=7).fit(X, y)
    rng = as_generator(7)
    expected = RFECV(
        Ridge(random_state=int(rng.integers(2**31))),
        step=2,
        cv=KFold(4, shuffle=True, random_state=int(rng.integers(2**31))),
        scoring="neg_mean_squared_error",
    ).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_array_equal(model.support_, expected.support_)
    np.testing.assert_array_equal(model.selector_.ranking_, expected.ranking_)
    assert model.support_[[1, 5]].all()


def test_elimination_with_a_forest():
    X, y = linear_data()
    model = RfecvBaseline(RandomForestRegressor(10), step=4, cv=2, random_state=0).fit(X, y)
    assert model.support_[[1, 5]].all()
    named = RfecvBaseline("forest", step=4, cv=2, random_state=0).fit(X[:, :6], y)
    assert named.support_[[1, 5]].all()


def test_steps_grow_with_the_number_of_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 200))
    model = RfecvBaseline("linear", random_state=0).fit(X, X[:, 0] + rng.standard_normal(60))
    n_features = model.selector_.cv_results_["n_features"]
    assert n_features[-1] == 200
    assert set(np.diff(n_features)[1:]) == {10}


@pytest.mark.parametrize(
    ("model", "error", "match"),
    [
        (ForestBaseline("trees"), TypeError, "instance"),
        (ForestBaseline(RandomForestClassifier()), ValueError, "regressor"),
        (RfecvBaseline("trees"), ValueError, "'forest', 'linear'"),
        (RfecvBaseline(RandomForestRegressor), TypeError, "instance"),
        (RfecvBaseline("linear", cv=1), ValueError, "cv"),
        (Boruta(n_iterations=0), ValueError, "n_iterations"),
        (Boruta(alpha=1.0), ValueError, "alpha"),
        (Boruta(RandomForestRegressor), TypeError, "instance"),
        (Boruta(RandomForestClassifier()), ValueError, "regressor"),
        (Boruta(Ridge()), TypeError, "no forest"),
    ],
)
def test_settings_are_checked(model, error, match):
    with pytest.raises(error, match=match):
        model.fit(*linear_data(20, 6))


def test_a_class_with_one_row_cannot_be_cross_validated():
    X, _ = linear_data(10)
    with pytest.raises(ValueError, match="2 rows of each class"):
        RfecvBaseline("linear").fit(X, np.arange(10) == 3)


def friedman(n_rows=200, n_columns=12):
    rng = np.random.default_rng(3)
    X = rng.random((n_rows, n_columns))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    return X, f + rng.standard_normal(n_rows)


def test_boruta_finds_the_signals_and_leaves_its_estimator_alone():
    X, y = friedman()
    quick = RandomForestRegressor(20, max_features=0.5, min_samples_leaf=5)
    model = Boruta(quick, n_iterations=12, random_state=0).fit(X, y)
    assert model.support_[:4].all()
    assert model.support_.sum() <= 6
    assert len(model.selector_.importance_history_) <= 1 + 12
    assert (quick.n_estimators, quick.random_state) == (20, None)
    again = Boruta(quick, n_iterations=12, random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        model.selector_.importance_history_, again.selector_.importance_history_
    )


def test_boruta_with_two_classes():
    X, y = friedman()
    label = np.where(y > np.median(y), "high", "low")
    quick = RandomForestClassifier(20, min_samples_leaf=5)
    model = Boruta(quick, n_iterations=12, random_state=0).fit(X, label)
    assert model.support_[[0, 3]].all()


def test_what_boruta_has_not_confirmed_is_not_selected():
    """Three iterations are too few to confirm anything: all columns stay tentative."""
    X, y = friedman()
    model = Boruta(RandomForestRegressor(20), n_iterations=3, random_state=0).fit(X, y)
    assert not model.support_.any()
