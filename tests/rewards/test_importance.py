from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor, ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from tvselect.inputs import read_outcome
from tvselect.rewards.base import Data
from tvselect.rewards.importance import ImportanceReward, seeded

ALL = np.arange(4)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    y = 4 * X[:, 2] - 2 * X[:, 0] + 0.1 * rng.standard_normal(80)
    return Data(X, read_outcome(y, 80), ("a", "b", "c", "d"))


@pytest.fixture(scope="module")
def two_classes(data):
    return Data(data.X, read_outcome(data.outcome.values > 0, 80), data.names)


def play(estimator, data, seed=0, bootstrap=True):
    feedback = ImportanceReward(estimator, bootstrap=bootstrap).start(data)
    return feedback(ALL, np.random.default_rng(seed))


def test_coefficients_are_rescaled_by_the_largest(data):
    coef = np.abs(LinearRegression().fit(data.X, data.outcome.values).coef_)
    payoffs = play(LinearRegression(), data, bootstrap=False)
    np.testing.assert_allclose(payoffs, coef / coef.max(), rtol=1e-9)
    np.testing.assert_allclose(payoffs[[2, 0]], [1.0, 0.5], atol=0.02)


def test_coefficients_of_a_classifier_are_taken_too(two_classes):
    model = LogisticRegression().fit(two_classes.X, two_classes.outcome.values)
    coef = np.abs(model.coef_[0])
    payoffs = play(LogisticRegression(), two_classes, bootstrap=False)
    np.testing.assert_allclose(payoffs, coef / coef.max(), rtol=1e-6)


def test_the_default_follows_the_outcome(data, two_classes):
    for table in (data, two_classes):
        payoffs = play(None, table)
        assert payoffs.argmax() == 2
        assert payoffs[1] < 0.3


@pytest.mark.parametrize(
    "estimator", [ExtraTreesRegressor(5), make_pipeline(StandardScaler(), Ridge(solver="sag"))]
)
def test_estimators_are_seeded_by_the_generator_and_left_as_they_were(estimator, data):
    before = estimator.get_params()
    first = play(estimator, data, seed=1, bootstrap=False)
    np.testing.assert_array_equal(play(estimator, data, seed=1, bootstrap=False), first)
    assert (play(estimator, data, seed=2, bootstrap=False) != first).any()
    assert estimator.get_params() == before


def test_nested_random_states_are_set():
    model = seeded(BaggingRegressor(DecisionTreeRegressor()), np.random.default_rng(0))
    states = [model.random_state, model.estimator.random_state]
    assert all(isinstance(state, int) for state in states)
    assert states[0] != states[1]


def test_what_the_estimator_takes_the_reward_takes():
    assert ImportanceReward().takes_missing
    assert ImportanceReward().takes_weights
    assert ImportanceReward(Ridge()).takes_weights
    assert not ImportanceReward(Ridge()).takes_missing
    assert not ImportanceReward(KNeighborsRegressor()).takes_weights
    assert not ImportanceReward("forest").takes_missing
    assert not ImportanceReward("forest").takes_weights


def test_equal_importances_of_zero_pay_nothing(data):
    payoffs = play(DecisionTreeRegressor(max_depth=1, min_samples_leaf=50), data)
    np.testing.assert_array_equal(payoffs, 0.0)


@pytest.mark.parametrize("estimator", ["forest", 3, Ridge])
def test_what_is_no_estimator_is_refused_at_the_start(estimator, data):
    with pytest.raises(TypeError, match="estimator must be an instance"):
        ImportanceReward(estimator).start(data)


def test_a_classifier_for_numbers_is_refused_at_the_start(data):
    with pytest.raises(ValueError, match=r"ExtraTreesClassifier.* y is continuous"):
        ImportanceReward(ExtraTreesClassifier()).start(data)


def test_an_estimator_without_importances_is_named_at_the_first_play(data):
    feedback = ImportanceReward(KNeighborsRegressor()).start(data)
    with pytest.raises(TypeError, match=r"KNeighborsRegressor\(\) has neither"):
        feedback(ALL, np.random.default_rng(0))


def test_bootstrap_must_be_a_boolean(data):
    with pytest.raises(TypeError, match="bootstrap"):
        ImportanceReward(bootstrap=1).start(data)
