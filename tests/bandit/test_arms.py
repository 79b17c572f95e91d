from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import beta, binom, chi2, kstest

from tvselect.bandit.arms import Arms

N_DRAWS = 4000
SUCCESSES = np.array([0, 3, 0, 7, 20, 1], dtype=np.int32)
FAILURES = np.array([0, 1, 5, 7, 30, 40], dtype=np.int32)
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


def spread(prior):
    return tuple(np.broadcast_to(value, SUCCESSES.shape).astype(float) for value in prior)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_an_arm_is_chosen_as_often_as_its_beta_draw_reaches_the_threshold(prior):
    arms = arms_with(prior=prior)
    rng = np.random.default_rng(1)
    chosen = np.zeros(len(arms), dtype=int)
    for _ in range(N_DRAWS):
        chosen[arms.reaching(arms.draw(rng))] += 1
    a, b, c = spread(prior)
    chance = beta.sf(c, a + SUCCESSES, b + FAILURES)
    low, high = binom.ppf([[1e-5], [1 - 1e-5]], N_DRAWS, chance)
    assert (low <= chosen).all()
    assert (chosen <= high).all()
    open_ended = (chance > 0.01) & (chance < 0.99)
    assert open_ended.sum() >= 3
    expected = N_DRAWS * chance[open_ended]
    distance = ((chosen[open_ended] - expected) ** 2 / (expected * (1 - chance[open_ended]))).sum()
    assert distance < chi2.isf(1e-4, open_ended.sum())


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_choices_of_different_arms_are_independent(prior):
    arms = arms_with(counts=(np.ones(6, np.int32), np.ones(6, np.int32)), prior=prior)
    rng = np.random.default_rng(2)
    chosen = np.zeros((N_DRAWS, len(arms)))
    for row in chosen:
        row[arms.reaching(arms.draw(rng))] = 1.0
    correlation = np.corrcoef(chosen.T)[np.triu_indices(len(arms), 1)]
    assert np.abs(correlation).max() < 4.5 / np.sqrt(N_DRAWS)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_thetas_have_the_beta_law(prior):
    arms = arms_with(prior=prior)
    rng = np.random.default_rng(3)
    every = np.arange(len(arms), dtype=np.int32)
    draws = np.array([arms.thetas(every, arms.draw(rng)) for _ in range(1000)])
    a, b, _ = spread(prior)
    for i in every:
        law = beta(a[i] + SUCCESSES[i], b[i] + FAILURES[i])
        assert kstest(draws[:, i], law.cdf).pvalue > 1e-4


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_theta_reaches_the_threshold_exactly_for_the_arms_that_are_chosen(prior):
    arms = arms_with(prior=prior)
    rng = np.random.default_rng(4)
    every = np.arange(len(arms), dtype=np.int32)
    c = spread(prior)[2]
    for _ in range(500):
        quantiles = arms.draw(rng)
        theta = arms.thetas(every, quantiles)
        clear = np.abs(theta - c) > 1e-6
        reached = np.isin(every, arms.reaching(quantiles))
        np.testing.assert_array_equal(reached[clear], (theta >= c)[clear])


def test_the_table_and_the_direct_computation_agree_bit_for_bit():
    one, other = Arms(6, 0.5, 2.0, 0.3), Arms(6, np.full(6, 0.5), 2.0, 0.3)
    rng = np.random.default_rng(5)
    for _ in range(80):
        played = np.flatnonzero(rng.random(6) < 0.8).astype(np.int32)
        rewards = rng.random(played.size) < 0.7
        one.update(played, rewards)
        other.update(played, rewards)
        np.testing.assert_array_equal(one._chance_below, other._chance_below)
        np.testing.assert_array_equal(one.passing, other.passing)
    a, b = one.posterior()
    assert one.successes.max() > 16
    np.testing.assert_array_equal(one._chance_below, betainc(a, b, 0.3).astype(np.float32))


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_an_update_touches_only_the_played_arms(prior):
    arms = arms_with(prior=prior)
    before = [x.copy() for x in (arms.successes, arms.failures, arms.passing, arms._chance_below)]
    played = np.array([1, 4], dtype=np.int32)
    arms.update(played, np.array([True, False]))
    others = np.array([0, 2, 3, 5])
    after = (arms.successes, arms.failures, arms.passing, arms._chance_below)
    for was, now in zip(before, after, strict=True):
        np.testing.assert_array_equal(was[others], now[others])
    np.testing.assert_array_equal(arms.successes[played] - before[0][played], [1, 0])
    np.testing.assert_array_equal(arms.failures[played] - before[1][played], [0, 1])
    a, b, c = spread(prior)
    np.testing.assert_array_equal(
        arms._chance_below,
        betainc(a + arms.successes, b + arms.failures, c).astype(np.float32),
    )


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_arms_pass_when_played_and_their_mean_is_above_the_threshold(prior):
    arms = arms_with(prior=prior)
    a, b, c = spread(prior)
    means = (a + SUCCESSES) / (a + b + SUCCESSES + FAILURES)
    np.testing.assert_array_equal(arms.means(), means)
    np.testing.assert_array_equal(arms.passing, (SUCCESSES + FAILURES > 0) & (means > c))


def test_arms_that_were_never_played_do_not_pass():
    arms = Arms(4, 9.0, 1.0, 0.5)
    assert not arms.passing.any()
    assert not arms.played().any()
    arms.update(np.array([2], dtype=np.int32), np.array([True]))
    np.testing.assert_array_equal(arms.passing, [False, False, True, False])
    np.testing.assert_array_equal(arms.played(), [False, False, True, False])


def test_a_mean_exactly_at_the_threshold_does_not_pass():
    arms = Arms(1)
    arms.update(np.array([0], dtype=np.int32), np.array([True]))
    arms.update(np.array([0], dtype=np.int32), np.array([False]))
    assert arms.means()[0] == 0.5
    assert not arms.passing[0]


def test_a_stored_copy_goes_on_alike():
    arms = arms_with()
    copy = pickle.loads(pickle.dumps(arms))
    played = np.array([0, 2], dtype=np.int32)
    for each in (arms, copy):
        each.update(played, np.array([True, False]))
    np.testing.assert_array_equal(copy._chance_below, arms._chance_below)
    np.testing.assert_array_equal(copy.passing, arms.passing)
