from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.bandit.arm_law import exact_mistakes, expected_waits
from tvselect.bandit.bounds import (
    dependent_arms_bound,
    identifiability_margin,
    independent_arms_bound,
    known_size_bound,
    regret_bound,
)
from tvselect.bandit.oracle import MEDIAN_MODEL_COST, threshold
from tvselect.bandit.regret import arm_values, dependent_means, expected_reward, simulate_game

THETA = np.array([0.9, 0.7, 0.3, 0.3, 0.2, 0.1])
VALUE = np.log1p(1 / MEDIAN_MODEL_COST)
PLAYS = np.array([1, 2, 3, 10, 1e3, 1e6, 1e12])


def all_sets(n_arms: int) -> np.ndarray:
    return np.array(list(product([False, True], repeat=n_arms)))


def largest_loss(means, best: np.ndarray) -> float:
    sets = all_sets(best.size)
    most = expected_reward(best, means(best[None])).item()
    return float(most - expected_reward(sets, means(sets)).min())


@pytest.mark.parametrize("C", [0.2, MEDIAN_MODEL_COST, 0.9])
@pytest.mark.parametrize("gap", [-0.25, -0.1, -0.04, 0.04, 0.1, 0.25, 0.4])
def test_the_bound_holds_for_the_exact_law(C, gap):
    c = float(threshold(C))
    theta = min(max(c + gap, 0.0), 1.0)
    exact = exact_mistakes(theta, c, 150) * abs(float(arm_values(theta, C)))
    assert (exact <= regret_bound([theta], np.arange(1, 151), C)).all()


@pytest.mark.parametrize("theta", [0.1, 0.3, 0.35])
def test_the_bound_of_noise_arms_holds_where_it_bites(theta):
    exact = exact_mistakes(theta, 0.5, 1_500, most=120)
    bound = regret_bound([theta], np.arange(1, 1_501)) / (VALUE * (0.5 - theta))
    assert (exact <= bound).all()
    assert bound[-1] < 1_000


@pytest.mark.parametrize("c", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.9, 1.0])
def test_the_bound_of_signals_holds_for_ever(c, share):
    gap = share * (1 - c)
    waits = expected_waits(c + gap, c, range(400)).sum()
    narrow = min(gap, (1 - c) / 2)
    assert waits <= 1 / narrow**3 + 6 / narrow**2 + 3


def test_the_bound_is_for_any_number_of_plays():
    assert regret_bound(THETA, 100).shape == ()
    assert regret_bound(THETA, [[10, 100, 1000]]).shape == (1, 3)
    assert regret_bound(THETA, 0) == 0
    assert regret_bound([0.5], 1_000) == 0
    curve = regret_bound(THETA, np.arange(1, 5_000))
    assert (np.diff(curve) >= 0).all()
    assert regret_bound(np.repeat(THETA, 7), 300) == pytest.approx(7 * regret_bound(THETA, 300))


def test_means_that_depend_on_the_played_set_but_keep_to_their_side():
    def means(played):
        crowd = played.mean(axis=1, keepdims=True)
        return np.where(np.arange(8) < 3, 0.95 - 0.2 * crowd, 0.05 + 0.2 * crowd)

    best, worst = np.arange(8) < 3, np.where(np.arange(8) < 3, 0.75, 0.25)
    game = simulate_game(means, 1_000, np.random.default_rng(6), n_runs=100, best=best)
    bound = regret_bound(worst, np.arange(1, 1_001), largest_loss=largest_loss(means, best))
    assert (game.regret.mean(axis=0) <= bound).all()
    assert ((game.posterior_means >= 0.5) == best).all()


def test_the_margin_of_strong_identifiability():
    best = np.array([True, True, False])
    assert identifiability_margin([0.9, 0.7, 0.4], best) == pytest.approx(0.1)
    assert identifiability_margin([0.9, 0.6, 0.1], best) == pytest.approx(0.1)
    assert identifiability_margin([0.9, 0.4, 0.1], best) == pytest.approx(-0.1)
    assert identifiability_margin([0.9, 0.7, 0.6], best) == pytest.approx(-0.1)

    def better_elsewhere(played):
        return np.where(best, 0.7, 0.2) + 0.1 * played[:, 2:]

    assert identifiability_margin(better_elsewhere, best) == 0

    def only_where_it_is_not_played(played):
        return np.where(played, [0.9, 0.7, 0.2], 0.5)

    assert identifiability_margin(only_where_it_is_not_played, best) == pytest.approx(0.2)
    with pytest.raises(ValueError, match="at most 16 arms, got 17"):
        identifiability_margin(np.full(17, 0.9), np.ones(17, dtype=bool))


@pytest.mark.parametrize(
    "bound",
    [
        lambda plays: known_size_bound(THETA, 2, plays, 0.1, open_constant=2.0),
        lambda plays: independent_arms_bound(THETA, plays, 0.003, open_constant=2.0),
        lambda plays: dependent_arms_bound(6, 2, 0.2, plays, 1.5, open_constants=(1.0, 2.0)),
        lambda plays: regret_bound(THETA, plays),
    ],
)
def test_every_bound_is_linear_in_log_plays(bound):
    at = bound(np.array([1e4, 1e8, 1e12, 1e16]))
    np.testing.assert_allclose(np.diff(at, 2), 0, atol=1e-6 * at[-1])
    assert (np.diff(bound(PLAYS)) >= 0).all()
    assert bound(10).shape == ()


def test_the_bound_with_known_size():
    gaps = 0.7 - THETA[2:]
    slope = (known_size_bound(THETA, 2, 1e9, 1e-9) - known_size_bound(THETA, 2, 1, 1e-9)) / np.log(
        1e9
    )
    assert slope == pytest.approx((1 / gaps).sum(), rel=1e-6)
    assert known_size_bound(THETA, 2, 1, 0.1) == THETA.size**2
    assert known_size_bound(THETA, 2, 1, 0.1, open_constant=3) == pytest.approx(36 + 3 * 6e4)
    assert known_size_bound(THETA, 2, 100, 0.19999) > 1e8
    with pytest.raises(ValueError, match=r"below 0\.2"):
        known_size_bound(THETA, 2, 100, 0.2)


@pytest.mark.parametrize(
    "theta", [THETA, [0.9], [0.6, 0.7], [0.8, 0.2], [0.8, 0.6, 0.9, 0.45], [0.3, 0.1, 0.6, 0.0]]
)
def test_the_bound_with_independent_arms_looks_at_all_wrong_sets(theta):
    theta = np.asarray(theta)
    best, sets, epsilon = theta >= 0.5, all_sets(theta.size), 5e-4
    q, loss = best.sum(), largest_loss(lambda _: theta, best)
    losses = expected_reward(best, theta) - expected_reward(sets, theta)
    wrong = (sets != best).any(axis=1)
    rates = 8 * VALUE**2 * sets.sum(axis=1) / (losses - 2 * VALUE * (q**2 + 2) * epsilon)
    slope = sum(rates[wrong & sets[:, i]].max(initial=0.0) for i in range(theta.size))
    start = theta.size * (theta.size**2 / epsilon**2 + 3) * loss
    found = independent_arms_bound(theta, [1, np.e], epsilon)
    assert found[0] == pytest.approx(start, rel=1e-12)
    assert np.diff(found)[0] == pytest.approx(slope, rel=1e-4)
    rest = 8 * loss / epsilon**2 * (4 / epsilon**2 + 1) ** q * np.log(q / epsilon**2)
    more = independent_arms_bound(theta, 1, epsilon, open_constant=2.0) - start
    assert more == pytest.approx(2 * rest)


def test_the_bound_with_independent_arms_is_cubic_in_their_number():
    losses = [np.abs(arm_values([0.8] + [0.2] * (p - 1))).sum() for p in (50, 100)]
    few, many = (independent_arms_bound([0.8] + [0.2] * (p - 1), 10, 0.01) for p in (50, 100))
    assert (many / losses[1]) / (few / losses[0]) == pytest.approx(8, rel=0.01)
    with pytest.raises(ValueError, match=r"between 0 and 0\.05, got 0\.05"):
        independent_arms_bound([0.8, 0.2], 10, 0.05)


def test_the_bound_of_theorem_1():
    alpha = 0.25
    c_alpha = 128 / np.expm1(0.5) + np.exp(-1) / -np.expm1(-1 / 32) + 32 * 7
    at_start = 2.0 * (3 * c_alpha + 10 * (2 + 64))
    assert dependent_arms_bound(10, 3, alpha, 1, 2.0) == pytest.approx(at_start)
    slope = dependent_arms_bound(10, 3, alpha, np.e, 2.0) - at_start
    assert slope == pytest.approx(2.0 * 8 * 10 / alpha**2)
    weight = 3 * 2.0 * np.exp(-1) / -np.expm1(-1 / 32)
    opened = dependent_arms_bound(10, 3, alpha, 1, 2.0, open_constants=(5.0, 7.0)) - at_start
    assert opened == pytest.approx(weight * (5 + 7 * 0.5 / 8))

    by_arms = [dependent_arms_bound(p, 3, alpha, 1e3, 2.0) for p in (10, 20, 30)]
    assert np.diff(by_arms, 2) == pytest.approx(0, abs=1e-9)
    by_alpha = [dependent_arms_bound(10, 3, a, 1e3, 2.0) for a in np.linspace(0.01, 0.49, 200)]
    assert (np.diff(by_alpha) < 0).all()
    for outside in (0.0, 0.5):
        with pytest.raises(ValueError, match="alpha must be between 0 and"):
            dependent_arms_bound(10, 3, outside, 1, 2.0)


@pytest.mark.parametrize("n_signals", [0, 1, 5, 20])
def test_our_bound_is_below_that_of_theorem_1_without_its_open_constants(n_signals):
    """So Theorem 1 is true for any constants that are not negative."""
    for alpha in np.linspace(0.005, 0.495, 99):
        worst = np.where(np.arange(20) < n_signals, 0.5 + alpha, 0.5 - alpha)
        ours = regret_bound(worst, PLAYS, largest_loss=1.0)
        assert (ours <= dependent_arms_bound(20, n_signals, alpha, PLAYS, 1.0)).all()


@pytest.mark.parametrize("theta", [THETA, [0.8, 0.2], np.r_[[0.8] * 5, [0.2] * 45]])
def test_our_bound_is_below_those_of_the_paper_for_independent_arms(theta):
    loss, gaps = np.abs(arm_values(theta)).sum(), np.abs(np.asarray(theta) - 0.5)
    q = (gaps[np.asarray(theta) > 0.5]).size
    ours = regret_bound(theta, PLAYS)
    limit = gaps.min() / (2 * (q**2 + 2))
    for share in (0.1, 0.5, 0.9):
        assert (ours < independent_arms_bound(theta, PLAYS, share * limit)).all()
    assert (3 * ours < dependent_arms_bound(gaps.size, q, gaps.min(), PLAYS, loss)).all()


@pytest.mark.parametrize("needs", [0, 1, [0, 1, 2]])
def test_games_that_are_strongly_identifiable_stay_below_theorem_1(needs):
    best = np.arange(8) < 3
    means = dependent_means(8, [0, 1, 2], needs=needs, high=0.9, low=0.7, noise=0.2)
    alpha, loss = identifiability_margin(means, best), largest_loss(means, best)
    assert alpha == pytest.approx(0.3 if needs == 0 else 0.2)
    plays = np.arange(1, 1_001)
    game = simulate_game(means, plays.size, np.random.default_rng(9), n_runs=200, best=best)
    ours = regret_bound(np.where(best, 0.5 + alpha, 0.5 - alpha), plays, largest_loss=loss)
    assert (game.regret.mean(axis=0) <= ours).all()
    assert (ours <= dependent_arms_bound(8, 3, alpha, plays, loss)).all()
    assert game.regret[:, -1].max() < ours[-1]
