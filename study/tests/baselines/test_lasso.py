"""The cross-validated LASSO against its parts by hand and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Lasso, lasso_path
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from tvselect.seeds import as_generator
from tvstudy.baselines import LassoBaseline
from tvstudy.baselines.lasso import one_standard_error


def draw(n, p, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    return X, X[:, :3] @ np.array([2.0, -1.0, 0.5]) + noise * rng.standard_normal(n)


@pytest.mark.parametrize(("n", "p", "ratio"), [(60, 8, 1e-4), (40, 70, 1e-2)])
@pytest.mark.parametrize("rule", ["1se", "min"])
def test_the_penalty_is_that_of_a_cross_validation_by_hand(n, p, ratio, rule):
    """Every fold fitted on its own; penalties to 1e-8."""
    X, y = draw(n, p)
    Z, centred = StandardScaler().fit_transform(X), y - y.mean()
    alphas = np.abs(Z.T @ centred).max() / n * np.geomspace(1.0, ratio, 100)
    folds = KFold(5, shuffle=True, random_state=int(as_generator(1).integers(2**31)))
    errors = np.empty((100, 5))
    for k, (train, test) in enumerate(folds.split(Z)):
        column_means, centre = Z[train].mean(axis=0), y[train].mean()
        inside = Z[train] - column_means
        coef = lasso_path(inside, y[train] - centre, alphas=alphas, max_iter=10**6)[1]
        left = y[test, None] - centre - (Z[test] - column_means) @ coef
        errors[:, k] = np.mean(left**2, axis=0)
    means = errors.mean(axis=1)
    best = means.argmin()
    limit = means[best] + errors[best].std(ddof=1) / np.sqrt(5) if rule == "1se" else means[best]
    alpha = alphas[np.flatnonzero(means <= limit)[0]]
    found = LassoBaseline(rule, n_folds=5, random_state=1).fit(X, y)
    assert found.alpha_ == pytest.approx(alpha, rel=1e-8)
    exact = Lasso(alpha=alpha, tol=1e-10, max_iter=10**6).fit(Z, centred).coef_ / X.std(axis=0)
    np.testing.assert_allclose(found.coef_, exact, atol=1e-3)
    np.testing.assert_array_equal(found.support_, found.coef_ != 0.0)


def test_orthonormal_columns_are_soft_thresholded():
    """Closed form; coefficients to 1e-4."""
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(np.column_stack([np.ones(64), rng.standard_normal((64, 10))]))[0][:, 1:]
    X = 8.0 * Q
    y = X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.standard_normal(64)
    found = LassoBaseline(random_state=0).fit(X, y)
    alone = X.T @ y / 64
    soft = np.sign(alone) * np.maximum(np.abs(alone) - found.alpha_, 0.0)
    np.testing.assert_allclose(found.coef_, soft, atol=1e-4)


def test_one_standard_error_by_hand():
    """Mean errors 4, 1, 3; at the best the folds differ by 3, so that the limit is 2.5."""
    alphas = np.array([4.0, 2.0, 1.0])
    errors = np.array([[4.0, 4.0], [2.5, -0.5], [3.0, 3.0]])
    assert one_standard_error(alphas, errors) == 2.0
    errors[0] = [2.0, 2.9]
    assert one_standard_error(alphas, errors) == 4.0


def test_units_do_not_matter():
    X, y = draw(80, 30)
    units = np.random.default_rng(1).uniform(0.01, 100.0, 30)
    here = LassoBaseline(random_state=0).fit(X, y)
    there = LassoBaseline(random_state=0).fit(X * units + 5.0, 1000.0 * y - 3.0)
    np.testing.assert_array_equal(here.support_, there.support_)
    np.testing.assert_allclose(there.coef_ * units, 1000.0 * here.coef_, rtol=1e-4)


def test_the_minimum_takes_at_least_as_much():
    X, y = draw(100, 300)
    few = LassoBaseline("1se", random_state=0).fit(X, y)
    many = LassoBaseline("min", random_state=0).fit(X, y)
    assert few.alpha_ > many.alpha_
    assert few.support_.sum() < many.support_.sum()


def test_constant_columns_alone_leave_nothing():
    found = LassoBaseline(random_state=0).fit(np.ones((20, 3)), np.arange(20.0))
    assert not found.support_.any()


def test_wrong_settings_are_refused():
    X, y = draw(30, 3)
    with pytest.raises(ValueError, match="rule must be"):
        LassoBaseline(rule="2se").fit(X, y)
    with pytest.raises(ValueError, match="n_folds"):
        LassoBaseline(n_folds=1).fit(X, y)
