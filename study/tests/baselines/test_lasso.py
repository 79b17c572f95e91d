"""The cross-validated LASSO against scikit-learn's path and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Lasso, lasso_path
from sklearn.preprocessing import StandardScaler

from tvselect.inputs import as_generator
from tvselect.rewards.lasso_path import Problem, largest_alpha
from tvstudy.baselines import LassoBaseline
from tvstudy.baselines.lasso import MAX_ITER, choose_penalty, path


def draw(n, p, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    return X, X[:, :3] @ np.array([2.0, -1.0, 0.5]) + noise * rng.standard_normal(n)


@pytest.mark.parametrize(("n", "p", "ratio"), [(60, 8, 1e-4), (40, 70, 1e-2)])
@pytest.mark.parametrize("rule", ["1se", "min"])
def test_the_penalty_is_that_of_a_cross_validation_by_hand(n, p, ratio, rule):
    """Every fold fitted by scikit-learn on its own standardised rows; penalties to 1e-9."""
    X, y = draw(n, p)
    Z, centred = StandardScaler().fit_transform(X), y - y.mean()
    alphas = np.abs(Z.T @ centred).max() / n * np.geomspace(1.0, ratio, 100)
    fold = as_generator(1).permutation(np.arange(n) % 5)
    errors = np.empty((100, 5))
    for k in range(5):
        train, test = fold != k, fold == k
        scaler = StandardScaler().fit(X[train])
        inside = scaler.transform(X[train])
        centre = y[train].mean()
        coef = lasso_path(inside, y[train] - centre, alphas=alphas, tol=1e-8, max_iter=10**6)[1]
        errors[:, k] = np.mean(
            (y[test, None] - centre - scaler.transform(X[test]) @ coef) ** 2, axis=0
        )
    means = errors.mean(axis=1)
    best = means.argmin()
    limit = means[best] + errors[best].std(ddof=1) / np.sqrt(5) if rule == "1se" else means[best]
    alpha = alphas[np.flatnonzero(means <= limit)[0]]
    found = LassoBaseline(rule, n_folds=5, random_state=1).fit(X, y)
    assert found.alpha_ == pytest.approx(alpha, rel=1e-8)
    exact = Lasso(alpha=alpha, tol=1e-10, max_iter=10**6).fit(Z, centred).coef_ / X.std(axis=0)
    np.testing.assert_allclose(found.coef_, exact, atol=1e-3)
    np.testing.assert_array_equal(found.support_, found.coef_ != 0.0)


@pytest.mark.parametrize("p", [20, 100])
@pytest.mark.parametrize("copies", [False, True], ids=["", "copied columns"])
def test_first_order_conditions_hold_along_the_path(p, copies):
    """Correlations with what is left: the penalty, with the coefficient's sign, or less; to 1e-4.

    For more rows than columns (least angles), for fewer, and where columns are copies.
    """
    X, y = draw(60, p)
    if copies:
        X[:, 10:20] = X[:, :10]
    x, y = StandardScaler().fit_transform(X).T.copy(), (y - y.mean()) / y.std()
    weight = (np.arange(60) < 50) / 50.0
    x -= (x @ weight)[:, None]
    problem = Problem(x, y, weight, False, MAX_ITER)
    alphas = largest_alpha(problem) * np.geomspace(1.0, 1e-2, 30)
    for alpha, (coef, eta) in zip(alphas, path(problem, alphas), strict=True):
        np.testing.assert_allclose(eta, weight @ y + coef @ x, atol=1e-8)
        pulled = problem.gradient(eta)
        assert np.abs(pulled).max() <= alpha + 1e-4
        np.testing.assert_allclose(pulled[coef != 0], alpha * np.sign(coef[coef != 0]), atol=1e-4)
    assert np.any(coef != 0)


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


def test_one_standard_error_is_weighted_by_fold_size():
    """Errors 4, 1, 3 at three penalties; at the best, variance (2*1 + 1*4) / 3 = 2 over 2 folds."""
    errors = np.array([[4.0, 1.0], [2.0, -1.0], [3.0, 3.0]])
    assert choose_penalty(errors, np.array([2, 1]), one_se=False) == 1
    limit = 1.0 + np.sqrt(2.0 / 1.0)
    assert 2.4 < limit < 3.0
    assert choose_penalty(errors, np.array([2, 1]), one_se=True) == 1
    errors[0] = [3.0, 1.0]
    assert choose_penalty(errors, np.array([2, 1]), one_se=True) == 0


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
