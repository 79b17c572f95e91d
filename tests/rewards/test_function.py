from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tvselect.inputs import read_outcome
from tvselect.rewards.base import Data
from tvselect.rewards.function import FunctionReward


@pytest.fixture
def data():
    X = np.arange(12, dtype=np.int16).reshape(4, 3)
    return Data(X, read_outcome(["b", "a", "a", "b"], 4), ("x0", "x1", "x2"))


def feedback_of(function, data):
    return lambda *columns: FunctionReward(function).start(data)(
        np.array(columns), np.random.default_rng(0)
    )


def test_the_function_sees_the_played_columns_the_outcome_and_the_generator(data):
    rng = np.random.default_rng(5)
    seen = []

    def look(X, y, rng):
        seen.append((X, y, rng))
        return np.zeros(X.shape[1])

    FunctionReward(look).start(data)(np.array([2, 0]), rng)
    [(X, y, given)] = seen
    np.testing.assert_array_equal(X, data.X[:, [2, 0]])
    assert X.dtype == np.float64
    np.testing.assert_array_equal(y, [1.0, 0.0, 0.0, 1.0])
    assert given is rng


def test_the_function_may_change_its_arguments(data):
    def vandal(X, y, rng):
        X[:] = y[:] = -1.0
        return np.ones(X.shape[1])

    before = data.X.copy()
    feedback_of(vandal, data)(0, 1)
    np.testing.assert_array_equal(data.X, before)
    np.testing.assert_array_equal(data.outcome.values, [1.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize("function", [None, 3, "mean"])
def test_what_cannot_be_called_is_refused_at_the_start(function, data):
    with pytest.raises(TypeError, match="function must be a callable"):
        FunctionReward(function).start(data)


def test_mistakes_of_the_function_are_named(data):
    def halves(X, y, rng):
        return [0.5]

    with pytest.raises(ValueError, match=r"reward function 'halves' returned 1 payoff\(s\)"):
        feedback_of(halves, data)(0, 1)
    with pytest.raises(TypeError, match="reward function 'partial' returned no numbers"):
        feedback_of(partial(lambda X, y, rng: None), data)(0)


def test_its_own_errors_come_through(data):
    def broken(X, y, rng):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        feedback_of(broken, data)(0)
