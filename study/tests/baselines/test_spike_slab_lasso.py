"""The spike-and-slab LASSO: first-order conditions, limits, thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import Lasso

from tvstudy.baselines import SpikeSlabLasso
from tvstudy.baselines.scaling import standardise
from tvstudy.baselines.spike_slab_lasso import (
    Penalty,
    first_variance,
    last_stable,
    pull,
    threshold,
    walk,
)


def draw(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    return X, X[:, :3] @ np.array([2.0, -1.5, 1.0]) + rng.standard_normal(n)


def pen(t, theta, lambda0, lambda1):
    """The log prior at ``t`` over that at zero."""
    odds = lambda0 / lambda1 * (1.0 - theta) / theta
    return -lambda1 * t + np.log1p(odds * np.exp(-t * (lambda0 - lambda1))) - np.log1p(odds)


@pytest.mark.parametrize("variance", [None, 1.0])
@pytest.mark.parametrize(("n", "p"), [(50, 120), (150, 20)])
def test_first_order_conditions_hold_along_the_ladder(n, p, variance):
    """Gradient and penalty balance to 1e-6 of n; zeros are below their threshold."""
    X, y = draw(n, p)
    x, y = np.ascontiguousarray(standardise(X)[0].T), y - y.mean()
    ladder = np.linspace(2.0, n, 25)
    path = walk(x, y, ladder, Penalty(0.1, 1.0, float(p)), variance, 20_000, 1e-10)
    n_free = 0
    for lambda0, step in zip(ladder, path, strict=True):
        assert step.n_sweeps < 20_000
        residual = y - step.coef @ x
        gradient = x @ residual
        used = step.coef != 0.0
        slope = np.array([pull(abs(c), step.theta, lambda0, 0.1) for c in step.coef[used]])
        balance = gradient[used] - step.variance * slope * np.sign(step.coef[used])
        assert np.abs(balance).max() < 1e-6 * n
        limit = threshold(n, step.variance, step.theta, lambda0, 0.1)
        assert np.abs(gradient[~used]).max(initial=0.0) <= limit * (1.0 + 1e-6)
        assert step.theta == (1.0 + used.sum()) / (1.0 + 2.0 * p)
        if variance is None and step.variance != first_variance(y):
            n_free += 1
            assert step.variance == pytest.approx(residual @ residual / (n + 2), rel=1e-6)
    assert n_free > 10 if variance is None else n_free == 0


def test_equal_rates_are_the_plain_lasso():
    """One Laplace prior: penalty variance * rate / n; coefficients to 1e-5."""
    X, y = draw(60, 20)
    Z = standardise(X)[0]
    found = SpikeSlabLasso(lambda1=15.0, lambda0=[15.0], variance=2.0, tol=1e-9, max_iter=10_000)
    coef = found.fit(X, y).coef_ * X.std(axis=0)
    plain = Lasso(alpha=2.0 * 15.0 / 60, tol=1e-12).fit(Z, y - y.mean()).coef_
    np.testing.assert_allclose(coef, plain, atol=1e-5)


@pytest.mark.parametrize("lambda0", [1.0, 5.0, 60.0, 500.0])
@pytest.mark.parametrize("theta", [0.5, 0.01])
def test_the_refined_threshold_bounds_the_exact_one(lambda0, theta):
    """Zero is the mode up to ``inf_t (n t / 2 - variance pen(t) / t)``; found on a grid.

    The refined threshold is an upper bound, at most 5 per cent above, and exact where the
    penalty is concave enough to have one mode only.
    """
    n, variance = 100, 1.5
    t = np.geomspace(1e-8, 10.0, 200_000)
    exact = (n * t / 2.0 - variance * pen(t, theta, lambda0, 0.1) / t).min()
    refined = threshold(n, variance, theta, lambda0, 0.1)
    assert exact * (1.0 - 1e-6) <= refined <= 1.05 * exact


def pen_grid_mode(z, n, variance, theta, lambda0):
    def loss(b):
        return n * (b - z / n) ** 2 / (2.0 * variance) - pen(b, theta, lambda0, 0.1)

    best = minimize_scalar(
        loss, bounds=(0.5 * z / n, z / n), method="bounded", options=dict(xatol=1e-12)
    )
    return best.x if best.fun < loss(0.0) else 0.0


def test_orthonormal_columns_have_the_mode_of_each_coordinate():
    """Each coefficient is the global mode of its own problem, to 1e-6."""
    rng = np.random.default_rng(1)
    n, p = 64, 10
    Q = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, p))]))[0][:, 1:]
    X = 8.0 * Q
    y = X @ np.r_[2.0, -1.0, 0.7, np.zeros(7)] + rng.standard_normal(n)
    found = SpikeSlabLasso(variance=1.0, tol=1e-10).fit(X, y)
    expected = [
        np.sign(z) * pen_grid_mode(abs(z), n, 1.0, found.theta_, found.lambda0_)
        for z in X.T @ (y - y.mean())
    ]
    np.testing.assert_allclose(found.coef_, expected, atol=1e-6)
    assert found.get_support(indices=True).tolist() == [0, 1, 2]


def test_signals_and_noise_variance_are_found():
    """The noise variance is within 4 standard errors, sqrt(2 / n), of 1."""
    X, y = draw(150, 400)
    found = SpikeSlabLasso().fit(X, y)
    assert found.get_support(indices=True).tolist() == [0, 1, 2]
    assert abs(found.variance_ - 1.0) < 4.0 * np.sqrt(2.0 / 150)
    assert found.path_sizes_[-1] == 3
    assert found.lambda0_ == 150.0
    np.testing.assert_allclose(found.coef_[:3], [2.0, -1.5, 1.0], atol=0.35)


def test_a_model_that_fits_without_an_error_is_left_again():
    """No step ends with as many columns as rows once the noise variance is free."""
    rng = np.random.default_rng(0)
    X = rng.random((100, 600))
    y = 10.0 * X[:, 0] + 5.0 * X[:, 1] + 5.0 * np.sin(6.0 * X[:, 2]) + rng.standard_normal(100)
    found = SpikeSlabLasso().fit(X, y)
    assert found.path_sizes_[5:].max() < 100
    assert found.variance_ > 0.5
    assert found.support_[:2].all()


def test_the_last_stable_model():
    a, b = np.array([True, False]), np.array([False, True])
    assert last_stable([a] * 3 + [b] * 7) == 9
    assert last_stable([a] * 6 + [b] * 3) == 5
    assert last_stable([a, b] * 4) == 7
    assert last_stable([b] + [a] * 5 + [b, a, b]) == 5
    assert last_stable([a]) == 0
    assert last_stable([a, a]) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lambda1": 0.0}, "lambda1"),
        ({"variance": "guess"}, "variance must be"),
        ({"variance": -1.0}, "variance"),
        ({"lambda0": [2.0, 1.0]}, "lambda0 must be increasing"),
        ({"lambda0": [0.01, 1.0]}, "lambda0 must be increasing"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": np.inf}, "tol"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SpikeSlabLasso(**settings).fit(*draw(20, 3))
