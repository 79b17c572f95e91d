from __future__ import annotations

import numpy as np
import pytest

from tests.decoys.tables import autoregressive
from tvselect.decoys import Knockoffs, swap_test


def test_copies_of_the_law_itself_are_not_told_apart():
    """Columns and copies independent and normal: p-values are uniform, or larger."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, copies = rng.normal(size=(2, 200, 10))
        found.append(swap_test(X, copies, rng).p_value)
    assert np.mean(np.array(found) < 0.1) < 0.1 + 3 * np.sqrt(0.09 / 20)


@pytest.mark.parametrize("correlation", [0.5, 0.9])
def test_knockoffs_pass_and_shuffled_rows_do_not(correlation):
    rng = np.random.default_rng(1)
    X = autoregressive(correlation, 300, 60, rng)
    assert swap_test(X, Knockoffs.estimate(X, 3).draw(X, rng), rng).p_value > 0.01
    assert swap_test(X, rng.permutation(X), rng).p_value < 1e-6


def test_shape_gives_copies_away():
    rng = np.random.default_rng(2)
    X = (rng.random((300, 12)) < 0.5) + 0.0
    found = swap_test(X, 0.5 + 0.5 * rng.normal(size=X.shape), rng)
    assert found.accuracy > 0.9
    assert found.p_value < 1e-6
    assert swap_test(X, Knockoffs.estimate(X).draw(X, rng), rng).p_value > 0.01


def test_missing_values_and_constants_are_no_obstacle():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 5))
    X[:, 0], X[:, 1], X[::3, 2] = 1.0, np.nan, np.nan
    assert swap_test(X, Knockoffs.estimate(X).draw(X, rng), rng).p_value > 0.01


def test_a_single_column_tells_nothing():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 1))
    assert swap_test(X, X[None], rng).p_value == 1.0


def test_another_shape_is_refused():
    with pytest.raises(ValueError, match="must be alike"):
        swap_test(np.zeros((9, 3)), np.zeros((2, 8, 3)), np.random.default_rng(0))
