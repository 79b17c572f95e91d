"""The horseshoe sampler against the laws it must have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import halfcauchy, kstest

from tvstudy.baselines import Horseshoe
from tvstudy.baselines.horseshoe import (
    Problem,
    State,
    draw_local,
    draw_unit,
    iterate,
    scale_columns,
    state_problem,
    weigh,
)

SHAPES = [(6, 15), (20, 5), (8, 8)]


def draw(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return np.asfortranarray(X), X[:, 0] * 2.0 + rng.standard_normal(n), rng


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_coefficients_given_all_scales_have_the_gaussian_law(n, p):
    """Conjugate: precision X'X/s2 + 1/(s2 t2 l2); means to 5 s.e., covariances to 6 per cent."""
    X, y, rng = draw(n, p)
    local, overall, variance = rng.uniform(0.1, 3.0, p), 0.7, 1.3
    problem, spread = state_problem(X, y), np.sqrt(local)
    scaled, cover = scale_columns(problem, spread)
    fit = weigh(problem, spread, cover, overall)
    units = [draw_unit(problem, scaled, overall, fit, variance, rng) for _ in range(20_000)]
    coef = np.sqrt(variance * overall * local) * np.array(units)
    exact = np.linalg.inv((X.T @ X + np.diag(1.0 / (overall * local))) / variance)
    mean = exact @ X.T @ y / variance
    error = np.sqrt(np.diag(exact) / len(coef))
    assert np.abs((coef.mean(axis=0) - mean) / error).max() < 5.0
    scale = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    assert np.abs((np.cov(coef.T) - exact) / scale).max() < 0.06


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_the_noise_and_the_global_scale_are_weighed_by_the_marginal_likelihood(n, p):
    """Dense formulas to 1e-9; few and many columns take different routes to them."""
    X, y, rng = draw(n, p)
    local = rng.uniform(0.1, 3.0, p)
    spread = np.sqrt(local)
    densities = []
    for overall in (0.01, 0.3):
        M = np.eye(n) + overall * (X * local) @ X.T
        rest = y @ np.linalg.solve(M, y)
        log_density = -0.5 * np.linalg.slogdet(M)[1] - 0.5 * n * np.log(rest)
        log_density += np.log(np.sqrt(overall) / (1.0 + overall))
        for problem in (state_problem(X, y), Problem(X, y, None, X.T @ y)):
            fit = weigh(problem, spread, scale_columns(problem, spread)[1], overall)
            assert fit.rest == pytest.approx(rest, rel=1e-9)
            densities.append(fit.log_density - log_density)
    np.testing.assert_allclose(densities, 0.0, atol=1e-9)


def test_local_scales_keep_the_half_cauchy_law():
    """Scales from the prior and coefficients given them: the next scales have the prior too."""
    rng = np.random.default_rng(1)
    local = halfcauchy.rvs(size=20_000, random_state=rng) ** 2
    for _ in range(3):
        local = draw_local(local, rng.standard_normal(local.size), rng)
    assert kstest(np.sqrt(local), halfcauchy.cdf).pvalue > 1e-3


@pytest.mark.parametrize(("n", "p"), [(4, 6), (6, 4)])
def test_iterations_keep_the_prior_over_replicated_data(n, p):
    """Parameters from the prior, data given them, three iterations: the prior again.

    The law of ``y / |y|`` does not depend on the noise variance, and under its flat prior the
    posterior depends on nothing else. Kolmogorov-Smirnov p-values above 1e-3.
    """
    rng = np.random.default_rng(2)
    X = np.asfortranarray(rng.standard_normal((n, p)))
    low, high = halfcauchy.cdf([1.0 / p, 1.0])
    overall, first = [], []
    for _ in range(1500):
        t = halfcauchy.ppf(rng.uniform(low, high))
        local = halfcauchy.rvs(size=p, random_state=rng) ** 2
        y = X @ (t * np.sqrt(local) * rng.standard_normal(p)) + rng.standard_normal(n)
        state, problem = State(local, t**2), state_problem(X, y)
        for _ in range(3):
            state, _ = iterate(problem, state, rng)
        overall.append(np.sqrt(state.overall))
        first.append(np.sqrt(state.local[0]))
    uniform = (halfcauchy.cdf(overall) - low) / (high - low)
    assert kstest(uniform, "uniform").pvalue > 1e-3
    assert kstest(first, halfcauchy.cdf).pvalue > 1e-3


@pytest.mark.parametrize("p", [20, 150])
def test_signals_are_found_and_shrunk_little(p):
    """Coefficients with a standard error of 0.05: to 0.2. The noise variance is 1 in law and,
    with many columns to fit it, somewhat less in the posterior: 0.4 to 1.4.
    """
    rng = np.random.default_rng(3)
    X = 5.0 + 2.0 * rng.standard_normal((100, p))
    y = 1.5 * X[:, 2] - X[:, 5] + rng.standard_normal(100)
    found = Horseshoe(800, 200, random_state=0).fit(X, y)
    assert found.get_support(indices=True).tolist() == [2, 5]
    np.testing.assert_allclose(found.coef_[[2, 5]], [1.5, -1.0], atol=0.2)
    assert 0.4 < np.mean(found.noise_[200:] ** 2) < 1.4
    assert found.noise_.shape == found.overall_scale_.shape == (800,)
    assert found.overall_scale_.min() >= 1.0 / p
    assert found.share_positive_[2] == 1.0
    assert found.share_positive_[5] == 0.0


def test_columns_that_do_not_move_are_left_out():
    X, y, _ = draw(40, 4)
    X[:, 3] = 1e9
    found = Horseshoe(200, 50, random_state=0).fit(X, y)
    assert found.get_support(indices=True).tolist() == [0]
    assert found.share_positive_[3] == 0.5
    assert found.coef_[3] == 0.0


def test_a_higher_level_selects_less():
    X, y, _ = draw(50, 60, seed=3)
    low = Horseshoe(400, 100, level=0.2, random_state=0).fit(X, y)
    high = Horseshoe(400, 100, level=0.99, random_state=0).fit(X, y)
    assert (high.support_ <= low.support_).all()
    assert high.support_.sum() < low.support_.sum()


def test_an_outcome_without_noise_does_no_harm():
    X, _, _ = draw(30, 50)
    found = Horseshoe(300, 100, random_state=0).fit(X, 3.0 * X[:, 4])
    assert found.get_support(indices=True).tolist() == [4]
    assert np.isfinite(found.noise_).all()


def test_progress_is_shown_on_demand(capsys):
    X, y, _ = draw(20, 4)
    Horseshoe(20, 5, verbose=1, random_state=0).fit(X, y)
    assert "20/20" in capsys.readouterr().err


def test_wrong_settings_are_refused():
    X, y, _ = draw(20, 4)
    with pytest.raises(ValueError, match="n_burn"):
        Horseshoe(10, 10).fit(X, y)
    with pytest.raises(ValueError, match="level"):
        Horseshoe(level=1.0).fit(X, y)
