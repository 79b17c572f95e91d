from __future__ import annotations

import numpy as np
import pytest

from tvstudy.simulation import plant_signals, simulate_autoregressive, simulate_bumps

N = 4000


def noise_ratio(data):
    return (data.y - data.f).std() / data.f.std()


def test_bumps_are_standardised_have_five_to_fifteen_signals_and_the_stated_noise():
    ratios = []
    for seed in range(20):
        data = simulate_bumps(400, 40, random_state=seed)
        assert 5 <= data.support.sum() <= 15
        np.testing.assert_allclose(data.X.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(data.X.std(axis=0), 1.0)
        assert 0.0 < data.f.min() <= data.f.max() <= data.support.sum()
        ratios.append(noise_ratio(data) ** -2)
    # Uniform in 0.5 to 2, each known to some 4 / sqrt(2 * 400) of itself.
    assert 0.4 < min(ratios) < 0.9 < 1.5 < max(ratios) < 2.4


def test_bumps_without_groups_are_one_a_signal():
    data = simulate_bumps(400, 40, grouped=False, ratios=(4.0, 4.0), random_state=0)
    np.testing.assert_allclose(data.f, np.exp(-(data.X[:, data.support] ** 2)).sum(axis=1))
    assert noise_ratio(data) ** -2 == pytest.approx(4.0, rel=4 / np.sqrt(200))


def test_the_classes_of_bumps_follow_the_signal():
    data = simulate_bumps(N, 40, classes=True, random_state=0)
    assert set(data.y) == {0.0, 1.0}
    z = (data.f[data.y == 1].mean() - data.f[data.y == 0].mean()) / data.f.std() * np.sqrt(N) / 2
    assert z > 4


@pytest.mark.parametrize(("n_signals", "correlation"), [(10, 0.5), (20, 0.9)])
def test_linear_signals_sit_where_the_support_says(n_signals, correlation):
    data = simulate_autoregressive(N, 60, n_signals, correlation, random_state=1)
    assert data.support.sum() == n_signals
    coefficients, *_ = np.linalg.lstsq(data.X, data.f, rcond=None)
    np.testing.assert_allclose(coefficients[~data.support], 0.0, atol=1e-9)
    sizes = np.abs(coefficients[data.support])
    assert sizes.min() >= 0.5 - 1e-9
    assert sizes.max() <= 1.0 + 1e-9
    # A standard deviation has a relative standard error of 1 / sqrt(2 N) = 0.011.
    assert noise_ratio(data) == pytest.approx(0.7, rel=0.045)


@pytest.mark.parametrize("binary", [False, True])
def test_planted_signals_depend_on_ten_columns_and_no_other(binary):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 30))
    X = (X > 1.0).astype(float) if binary else X
    X[:, 0] = np.arange(N) < 19  # too few rows beside its most frequent value
    data = plant_signals(X, random_state=2)
    assert data.support.sum() == 10
    assert not data.support[0]
    assert data.X is X
    assert noise_ratio(data) == pytest.approx(0.7, rel=0.045)
    other = X.copy()
    other[:, ~data.support] = rng.permutation(other[:, ~data.support])
    np.testing.assert_array_equal(plant_signals(other, random_state=2).f, data.f)
    linear = np.column_stack([np.ones(N), X[:, data.support]])
    left = data.f - linear @ np.linalg.lstsq(linear, data.f, rcond=None)[0]
    assert left.std() > 0.05 * data.f.std()
