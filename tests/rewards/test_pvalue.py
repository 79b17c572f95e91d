from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tvselect.inputs import read_outcome
from tvselect.rewards.base import Data
from tvselect.rewards.pvalue import PValueReward, p_values


def noise_data(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n_rows, n_columns)), rng.standard_normal(n_rows)
    return Data(X, read_outcome(y, n_rows), tuple(map(str, range(n_columns))))


def test_p_values_are_those_of_scipy():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 6)) * 10.0 ** np.arange(-3, 3) + 1e3
    y = X[:, 2] + rng.standard_normal(25)
    expected = [stats.pearsonr(x, y).pvalue for x in X.T]
    np.testing.assert_allclose(p_values(X, y), expected, rtol=1e-7)


def test_two_classes_are_compared_by_the_pooled_t_test():
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 1.0], [10, 17])
    X = rng.standard_normal((27, 4)) + np.outer(y, [0.0, 0.5, 1.0, 3.0])
    expected = stats.ttest_ind(X[y == 0], X[y == 1]).pvalue
    np.testing.assert_allclose(p_values(X, y), expected, rtol=1e-9)


def test_missing_rows_are_left_out_column_by_column():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    X[rng.random(X.shape) < 0.3] = np.nan
    y = rng.standard_normal(40)
    expected = [stats.pearsonr(x[~np.isnan(x)], y[~np.isnan(x)]).pvalue for x in X.T]
    np.testing.assert_allclose(p_values(X, y), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("column", "p"),
    [
        ([7.1, 7.1, 7.1, 7.1], 1.0),
        ([np.nan] * 4, 1.0),
        ([np.nan, np.nan, 1, 2], 1.0),
        ([1, 2, 3, np.nan], 1.0),  # the outcome is constant where the column is seen
        ([0, 0, 0, 1e300], 0.0),
        ([0, 0, 0, 1e-300], 0.0),
    ],
)
def test_columns_about_which_nothing_or_everything_is_known(column, p):
    y = np.array([0.1, 0.1, 0.1, 0.7])
    assert p_values(np.array(column)[:, None], y) == pytest.approx([p], abs=1e-12)


@pytest.mark.parametrize("factor", [1e-200, -3.0, 1e200])
def test_units_do_not_matter(factor):
    data = noise_data(30, 4)
    y = data.outcome.values
    np.testing.assert_allclose(p_values(factor * data.X, y), p_values(data.X, y), rtol=1e-9)
    np.testing.assert_allclose(p_values(data.X, factor * y), p_values(data.X, y), rtol=1e-9)


def test_without_bootstrap_a_share_alpha_of_the_noise_is_paid():
    data = noise_data(100, 4000)
    payoffs = PValueReward(alpha=0.1, bootstrap=False).start(data)(np.arange(4000), None)
    assert payoffs.mean() == pytest.approx(0.1, abs=4 * np.sqrt(0.1 * 0.9 / 4000))


def test_with_bootstrap_the_mean_payoff_passes_one_half_where_p_passes_alpha():
    data = noise_data(200, 300)
    rng = np.random.default_rng(1)
    feedback = PValueReward(alpha=0.2).start(data)
    mean = np.mean([feedback(np.arange(300), rng) for _ in range(200)], axis=0)
    p = p_values(data.X, data.outcome.values)
    assert mean[p < 0.1].min() > 0.5
    assert mean[p > 0.4].max() < 0.5


@pytest.mark.parametrize(
    ("settings", "error", "name"),
    [
        ({"alpha": 0.0}, ValueError, "alpha"),
        ({"alpha": 1.0}, ValueError, "alpha"),
        ({"alpha": np.nan}, ValueError, "alpha"),
        ({"alpha": "small"}, TypeError, "alpha"),
        ({"bootstrap": "yes"}, TypeError, "bootstrap"),
    ],
)
def test_bad_settings_are_named_at_the_start(settings, error, name):
    with pytest.raises(error, match=name):
        PValueReward(**settings).start(noise_data(10, 2))
