"""Screening, then trees."""

from __future__ import annotations

import numpy as np
import pytest

from tvstudy.baselines import SisBart
from tvstudy.baselines.sis import screen


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.random((150, 400)) * np.geomspace(0.01, 100.0, 400)
    y = X[:, 5] / X[:, 5].std() + (X[:, 9] > np.median(X[:, 9])) * 2 + 0.5 * rng.random(150)
    return X, y


def test_the_largest_correlations_pass(data):
    X, y = data
    correlation = [abs(np.corrcoef(x, y)[0, 1]) for x in X.T]
    np.testing.assert_array_equal(screen(X, y, 30), np.sort(np.argsort(correlation)[-30:]))


def test_constants_are_last():
    x = np.random.default_rng(0).random((20, 3))
    X = np.column_stack([np.full(20, 1e6), x])
    np.testing.assert_array_equal(screen(X, x[:, 1], 3), [1, 2, 3])
    np.testing.assert_array_equal(screen(X, x[:, 1], 4), [0, 1, 2, 3])


def test_n_over_log_n_columns_pass_by_default(data):
    found = SisBart(n_iterations=1000, random_state=0).fit(*data)
    assert found.screened_.size == int(150 / np.log(150)) == 29
    assert {5, 9} <= set(found.get_support(indices=True))
    out = np.setdiff1d(np.arange(400), found.screened_)
    assert not found.mean_splits_[out].any()
    assert not found.inclusion_[out].any()
    np.testing.assert_array_equal(found.support_, found.mean_splits_ >= 1.0)


def test_a_signal_without_correlation_does_not_pass():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (300, 500))
    found = SisBart(n_screen=5, n_iterations=200, random_state=0).fit(X, X[:, 0] ** 2)
    assert 0 not in found.screened_


def test_more_columns_than_there_are_is_all_of_them(data):
    X, y = data
    found = SisBart(n_screen=50, n_iterations=200, cut="inclusion", random_state=0)
    assert found.fit(X[:, :12], y).screened_.size == 12
    np.testing.assert_array_equal(found.support_, found.inclusion_ >= 0.5)


def test_wrong_settings_are_refused(data):
    with pytest.raises(ValueError, match="n_screen"):
        SisBart(n_screen=0).fit(*data)
    with pytest.raises(ValueError, match="cut must be"):
        SisBart(cut="half").fit(*data)
