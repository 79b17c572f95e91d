from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tvselect.inputs import read_outcome
from tvselect.trees import Prior, working_response
from tvselect.trees.response import chances_of_classes, class_offsets, rounding_bounds
from tvselect.trees.state import MAX_DEPTH, in_row_order


def response_of(y, noise_scale="sd"):
    return working_response(read_outcome(y, len(y)), noise_scale)


def parameters_of(prior, response, n_columns=7):
    return prior.parameters(response, np.ones(n_columns), burn=3, sparse_from=2, free_noise=True)


@pytest.mark.parametrize("base", [0.1, 0.95])
@pytest.mark.parametrize("power", [0.0, 0.5, 2.0, 400.0, 1e6])
def test_split_log_odds_are_those_of_one_more_split(base, power):
    odds = parameters_of(Prior(base=base, power=power), response_of([1, 2, 3])).split_log_odds
    assert odds.size == MAX_DEPTH + 1
    assert np.isfinite(odds).all()
    for depth in range(MAX_DEPTH + 1) if power < 3 else ():
        p, below = (base * (1 + d) ** -power for d in (depth, depth + 1))
        assert odds[depth] == pytest.approx(math.log(p * (1 - below) ** 2 / (1 - p)))


def test_leaf_means_have_the_standard_deviation_of_the_paper():
    assert Prior(n_trees=16, k=2).leaf_sd(response_of([1.0, 2.0, 7.0])) == 0.5 / (2 * 4)
    assert Prior(n_trees=16, k=3).leaf_sd(response_of([1, 0, 1])) == 3 / (3 * 4)
    parameters = parameters_of(Prior(n_trees=16, k=2), response_of([1.0, 2.0, 7.0]))
    assert parameters.leaf_precision == pytest.approx(16.0**2)


@pytest.mark.parametrize("noise_df", [1, 3.0, 10])
@pytest.mark.parametrize("noise_quantile", [0.5, 0.9, 0.99])
def test_noise_is_below_its_scale_with_the_stated_probability(noise_df, noise_quantile):
    response = response_of([1.0, 4.0, 2.0, 8.0])
    prior = Prior(noise_df=noise_df, noise_quantile=noise_quantile)
    parameters = parameters_of(prior, response)
    assert parameters.noise_df == noise_df
    variance = parameters.noise_sum / parameters.noise_df
    inverse_gamma = stats.invgamma(noise_df / 2, scale=noise_df * variance / 2)
    below = inverse_gamma.cdf(response.noise_scale**2)
    assert below == pytest.approx(noise_quantile)


@pytest.mark.parametrize("rho", [None, 2.0])
@pytest.mark.parametrize("floor", [0.0, 0.001, 0.2])
def test_concentration_has_its_beta_prior_above_the_floor(rho, floor):
    prior = Prior(sparse=True, a=0.5, b=1.5, rho=rho, theta_floor=floor)
    parameters = parameters_of(prior, response_of([1.0, 2.0, 4.0]))
    theta = 7 * parameters.shares
    share = theta / (theta + (7 if rho is None else rho))
    steps = (np.arange(share.size) + 0.5) / share.size
    law_below = stats.beta(0.5, 1.5).cdf(floor)
    expected = law_below + (1 - law_below) * steps
    np.testing.assert_allclose(stats.beta(0.5, 1.5).cdf(share), expected, atol=1e-9)
    assert share.min() >= floor


def test_numbers_of_any_type_give_the_same_law():
    response = response_of([1.0, 2.0, 4.0])
    plain = parameters_of(Prior(n_trees=4, min_leaf=3, k=2.0, noise_df=4.0, sparse=True), response)
    numpy = Prior(
        n_trees=np.int32(4), min_leaf=np.uint8(3), k=np.float32(2), noise_df=4, sparse=np.True_
    )
    for one, other in zip(plain, parameters_of(numpy, response), strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(one, other)


OUT_OF_RANGE = {
    "base": [0.0, 1.0], "noise_quantile": [0, 1], "power": [-0.1], "k": [0], "noise_df": [0.0],
    "a": [0], "b": [-1.0], "rho": [0.0], "theta_floor": [-0.1], "pair_share": [-0.1, 0.91],
}  # fmt: skip
NO_NUMBERS = [("n_trees", 2.0), ("min_leaf", "5"), ("pair_share", None), ("k", None), ("rho", "p")]


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("n_trees", 0, ValueError),
        ("min_leaf", 0, ValueError),
        *((name, value, ValueError) for name in OUT_OF_RANGE
          for value in (*OUT_OF_RANGE[name], math.nan, math.inf)),
        *((name, value, TypeError) for name, value in NO_NUMBERS),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused_by_name(name, value, error):
    with pytest.raises(error, match=name):
        Prior(**{name: value})


def test_a_continuous_response_is_centred_and_of_range_one():
    y = np.array([3.0, 1.0, 9.0, 4.0])
    response = response_of(y)
    values = in_row_order(response.observed[0], 4)
    assert np.ptp(values) == pytest.approx(1.0)
    assert values.mean() == pytest.approx(0.0)
    np.testing.assert_allclose(response.center + response.scale * values, y)
    assert response.noise_scale == pytest.approx(y.std(ddof=1) / 8)
    assert response_of(y, 2.0).noise_scale == 0.25
    assert response.observed.shape == (2, 64)
    assert np.count_nonzero(response.observed[0]) <= 4
    np.testing.assert_array_equal(*response.observed)


@pytest.mark.parametrize("unit", [1e-250, 1e-150, 1e-3, 1e150, 1e300])
def test_the_unit_of_the_outcome_does_not_matter(unit):
    y = np.array([3.0, 1.0, 9.0, 4.0])
    one, other = response_of(y), response_of(unit * y)
    np.testing.assert_allclose(other.observed, one.observed, rtol=1e-12)
    assert other.noise_scale == pytest.approx(one.noise_scale)
    assert other.scale == pytest.approx(unit * one.scale, rel=1e-12, abs=0)


def test_two_classes_are_bounds_at_the_quantile_of_their_share():
    response = response_of(["b", "a", "b", "b"])
    lower, upper = in_row_order(response.observed, 4)
    assert stats.norm.cdf(response.center) == pytest.approx(0.75)
    np.testing.assert_array_equal(lower, [-response.center, -np.inf] + 2 * [-response.center])
    np.testing.assert_array_equal(upper, [np.inf, -response.center, np.inf, np.inf])
    assert (response.family, response.scale) == ("probit", 1.0)
    assert not response.observed[:, 4:][:, response.observed[0, 4:] == 0].any()


@pytest.mark.parametrize("labels", ["abc", "cab", "bca", "acb", "bac", "cba"])
def test_the_order_of_classes_changes_the_chain_not_the_law(labels):
    """Law: class k's forest is that of its label; offsets go with the shares."""
    latent = np.random.default_rng(3).standard_normal(300)
    place = np.digitize(latent, np.quantile(latent, [0.2, 0.5]))
    response = working_response(read_outcome(np.array(list(labels))[place], 300))
    expected = class_offsets(np.array([0.2, 0.3, 0.5]))[np.argsort(list(labels))]
    np.testing.assert_allclose(response.cuts, expected, atol=0.02)


@pytest.mark.parametrize("shares", [[0.2, 0.3, 0.5], [0.01, 0.01, 0.98], [0.1] * 10])
def test_offsets_of_classes_give_their_shares(shares):
    offsets = class_offsets(np.array(shares))
    assert abs(offsets.mean()) < 1e-9
    np.testing.assert_allclose(chances_of_classes(offsets), shares, atol=1e-6)
    draws = offsets + np.random.default_rng(0).standard_normal((200_000, len(shares)))
    seen = np.bincount(draws.argmax(axis=1), minlength=len(shares)) / 200_000
    np.testing.assert_allclose(seen, shares, atol=4.5 * 0.5 / np.sqrt(200_000))


def test_counts_lie_between_the_quantiles_of_their_shares():
    counts = np.array([0.0, 0.0, 1.0, 5.0])
    lower, upper = rounding_bounds(counts)
    np.testing.assert_allclose(stats.norm.cdf(lower), [0, 0, 0.5, 0.75])
    np.testing.assert_allclose(stats.norm.cdf(upper), [0.5, 0.5, 0.75, 1.0])
    response = working_response(read_outcome(np.tile(counts, 5), 20, family="counts"))
    seen = in_row_order(response.observed, 20)
    assert np.all(seen[0] < seen[1])
