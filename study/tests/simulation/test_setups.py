from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, kstest, norm

from tvstudy.simulation import SETUPS, simulate
from tvstudy.simulation.setups import _forest

N = 4000
VARIANCE = {"linear": 5, "friedman": 1, "friedman-correlated": 1, "forest": 0.5, "liang": 0.5}
SIGNAL = {
    "linear": lambda x: x[0] + 2 * x[1] + 3 * x[2] - 2 * x[3] - x[4],
    "friedman": lambda x: (
        10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    ),
    "liang": lambda x: 10 * x[1] / (1 + x[0] ** 2) + 5 * np.sin(x[2] * x[3]) + 2 * x[4],
}
SIGNAL["friedman-correlated"] = SIGNAL["friedman"]
CORRELATION = {
    "linear": lambda lag: 0.9**lag,
    "forest": lambda lag: 0.3**lag,
    "friedman": lambda lag: 0.0**lag,
    # Equal correlation 0.3 of the normal scores.
    "friedman-correlated": lambda lag: np.where(lag == 0, 1.0, 0.3),
    "liang": lambda lag: np.where(lag == 0, 1.0, 0.5),
}


@pytest.mark.parametrize("setup", SETUPS)
def test_shapes_and_support(setup):
    data = simulate(setup, 40, 9, random_state=0)
    assert data.X.shape == (40, 9)
    assert data.y.shape == data.f.shape == (40,)
    np.testing.assert_array_equal(data.support, [True] * 5 + [False] * 4)


@pytest.mark.parametrize("setup", SIGNAL)
def test_the_signal_is_the_formula_of_the_paper(setup):
    data = simulate(setup, 50, 8, random_state=1)
    np.testing.assert_allclose(data.f, SIGNAL[setup](data.X.T), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("setup", SETUPS)
def test_columns_are_correlated_as_stated(setup):
    X = simulate(setup, N, 7, random_state=2).X
    if setup == "friedman-correlated":
        X = norm.ppf(X)
    lag = np.abs(np.subtract.outer(np.arange(7), np.arange(7)))
    wanted = CORRELATION[setup](lag)
    error = (1 - wanted**2) / np.sqrt(N)
    assert (np.abs(np.corrcoef(X.T) - wanted) <= 4.5 * error + 1e-12).all()


@pytest.mark.parametrize("setup", SETUPS)
def test_columns_have_the_stated_law(setup):
    law = {"liang": norm(scale=np.sqrt(0.5)), "linear": norm(), "forest": norm()}
    X = simulate(setup, N, 7, random_state=3).X
    for x in X.T:
        cdf = law[setup].cdf if setup in law else "uniform"
        assert kstest(x, cdf).pvalue > 1e-4


@pytest.mark.parametrize("noise_variance", [None, 0.04])
@pytest.mark.parametrize("setup", SETUPS)
def test_the_noise_is_normal_with_the_stated_variance(setup, noise_variance):
    data = simulate(setup, N, 5, noise_variance=noise_variance, random_state=4)
    noise = data.y - data.f
    variance = noise_variance or VARIANCE[setup]
    low, high = chi2.ppf([1e-5, 1 - 1e-5], N)
    assert low <= (noise**2).sum() / variance <= high
    assert kstest(noise / np.sqrt(variance), "norm").pvalue > 1e-4


def test_no_noise_at_all():
    data = simulate("friedman", 20, 5, noise_variance=0.0, random_state=0)
    np.testing.assert_array_equal(data.y, data.f)


@pytest.mark.parametrize("setup", SETUPS)
def test_a_seed_gives_the_same_data_and_another_seed_other_data(setup):
    one, same, other = (simulate(setup, 30, 6, random_state=seed) for seed in (7, 7, 8))
    for a, b in zip(one, same, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one.X, other.X)
    generator = np.random.default_rng(7)
    first, second = (simulate(setup, 30, 6, random_state=generator) for _ in range(2))
    assert not np.array_equal(first.X, second.X)


def test_the_forest_varies_about_as_much_as_its_prior_says():
    """200 trees, leaf variance 4/200: a row has variance 4, part of it shared by all rows."""
    spreads = np.array(
        [simulate("forest", 200, 5, random_state=seed).f.std() for seed in range(30)]
    )
    assert ((spreads > 0.7) & (spreads < 1.8)).all()
    error = spreads.std(ddof=1) / np.sqrt(30)
    assert 1.0 - 4 * error < spreads.mean() < 1.4 + 4 * error


def test_a_value_of_the_forest_is_normal_with_variance_four():
    values = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        values.append(_forest(rng, rng.standard_normal((12, 5)))[0])
    low, high = chi2.ppf([1e-5, 1 - 1e-5], 120)
    assert low <= np.square(values).sum() / 4.0 <= high


def test_the_forest_depends_on_the_signals_only_and_on_each_of_them():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((80, 9))
    f = _forest(np.random.default_rng(1), X)
    for j in range(9):
        changed = X.copy()
        changed[:, j] = rng.permutation(changed[:, j])
        same = np.array_equal(_forest(np.random.default_rng(1), changed), f)
        assert same == (j >= 5)


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "match"),
    [
        (("cubic", 10, 6), {}, ValueError, "linear, friedman"),
        (("linear", 1, 6), {}, ValueError, "n_rows"),
        (("linear", 10, 4), {}, ValueError, "n_columns"),
        (("linear", 10.0, 6), {}, TypeError, "n_rows"),
        (("linear", 10, 6), {"noise_variance": -1.0}, ValueError, "noise_variance"),
        (("linear", 10, 6), {"random_state": -1}, ValueError, "random_state"),
    ],
)
def test_bad_requests_are_refused_by_name(arguments, settings, error, match):
    with pytest.raises(error, match=match):
        simulate(*arguments, **settings)


def test_sizes_may_be_numpy_integers():
    assert simulate("linear", np.int64(10), np.int32(6), random_state=0).X.shape == (10, 6)
