from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import betainc
from scipy.stats import beta, binom, chi2, kstest

from tvselect.bandit.arms import Arms

N_DRAWS = 4000
SUCCESSES = np.array([0, 3, 0, 7, 20, 1], dtype=np.int32)
FAILURES = np.array([0, 1, 5, 7, 30, 40], dtype=np.int32)
EVERY = np.arange(6, dtype=np.int32)
PRIORS = {
    "uniform": (1.0, 1.0, 0.5),
    "scalar": (0.5, 2.0, 0.3),
    "per arm": (
        np.array([1.0, 0.5, 2.0, 1.0, 3.0, 0.7]),
        np.array([1.0, 1.5, 0.5, 4.0, 1.0, 0.9]),
        np.array([0.5, 0.7, 0.2, 0.4, 0.6, 0.1]),
    ),
}


def arms_with(counts=(SUCCESSES, FAILURES), prior=(1.0, 1.0, 0.5)):
    """Arms that got their counts play by play."""
    arms = Arms(len(counts[0]), *prior)
    for rewarded, numbers in zip((True, False), counts, strict=True):
        for step in range(int(numbers.max(initial=0))):
            played = np.flatnonzero(numbers > step).astype(np.int32)
            arms.update(played, np.full(played.size, rewarded))
    return arms


@pytest.fixture(params=PRIORS.values(), ids=PRIORS)
def prior(request):
    return request.param


@pytest.fixture
def law(prior):
    """The posteriors ``a`` and ``b``, and the thresholds, arm by arm."""
    a, b, c = (np.broadcast_to(value, SUCCESSES.shape).astype(float) for value in prior)
    return a + SUCCESSES, b + FAILURES, c


def test_arms_are_chosen_by_their_beta_law_and_independently_of_each_other(prior, law):
    arms, rng = arms_with(prior=prior), np.random.default_rng(1)
    chosen = np.zeros((N_DRAWS, len(arms)), dtype=int)
    for row in chosen:
        row[arms.reaching(arms.draw(rng))] = 1
    a, b, c = law
    chance, n_chosen = beta.sf(c, a, b), chosen.sum(axis=0)
    low, high = binom.ppf([[1e-5], [1 - 1e-5]], N_DRAWS, chance)
    assert (low <= n_chosen).all()
    assert (n_chosen <= high).all()
    is_open = (chance > 0.01) & (chance < 0.99)
    assert is_open.sum() >= 3
    expected = N_DRAWS * chance[is_open]
    distance = ((n_chosen[is_open] - expected) ** 2 / (expected * (1 - chance[is_open]))).sum()
    assert distance < chi2.isf(1e-4, is_open.sum())
    correlation = np.corrcoef(chosen.T[is_open])[np.triu_indices(is_open.sum(), 1)]
    assert np.abs(correlation).max() < 4.5 / np.sqrt(N_DRAWS)


def test_thetas_have_the_beta_law_and_reach_the_threshold_where_arms_are_chosen(prior, law):
    arms, rng = arms_with(prior=prior), np.random.default_rng(3)
    a, b, c = law
    draws = []
    for _ in range(1000):
        quantiles = arms.draw(rng)
        draws.append(theta := arms.thetas(EVERY, quantiles))
        clear = np.abs(theta - c) > 1e-6
        reached = np.isin(EVERY, arms.reaching(quantiles))
        assert_array_equal(reached[clear], (theta >= c)[clear])
    for i, drawn in enumerate(np.transpose(draws)):
        assert kstest(drawn, beta(a[i], b[i]).cdf).pvalue > 1e-4


def test_the_table_and_the_direct_computation_agree_bit_for_bit():
    one, other = Arms(6, 0.5, 2.0, 0.3), Arms(6, np.full(6, 0.5), 2.0, 0.3)
    rng = np.random.default_rng(5)
    for _ in range(80):
        played = np.flatnonzero(rng.random(6) < 0.8).astype(np.int32)
        rewards = rng.random(played.size) < 0.7
        one.update(played, rewards)
        other.update(played, rewards)
        assert_array_equal(one._chance_below, other._chance_below)
        assert_array_equal(one.passing, other.passing)
    a, b = one.posterior()
    assert one.successes.max() > 16
    assert_array_equal(one._chance_below, betainc(a, b, 0.3).astype(np.float32))


def test_arms_pass_when_played_and_their_mean_is_above_the_threshold(prior, law):
    """One arm was never played, and in one case one stands at its threshold."""
    arms, (a, b, c) = arms_with(prior=prior), law
    assert_array_equal(arms.played(), SUCCESSES + FAILURES > 0)
    assert_array_equal(arms.means(), a / (a + b))
    assert_array_equal(arms.passing, arms.played() & (a / (a + b) > c))
    assert not Arms(4, 9.0, 1.0, 0.5).passing.any()
