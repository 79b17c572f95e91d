from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from tvselect.bandit.oracle import MEDIAN_MODEL_COST, threshold
from tvselect.bandit.regret import (
    arm_values,
    cumulative_regret,
    dependent_means,
    expected_reward,
    global_reward,
    regret_bound,
    simulate_game,
)

THETA = np.array([0.9, 0.7, 0.3, 0.3, 0.2, 0.1])
VALUE = np.log1p(1 / MEDIAN_MODEL_COST)


def all_sets(n_arms: int) -> np.ndarray:
    return np.array(list(product([False, True], repeat=n_arms)))


def exact_mistakes(theta: float, c: float, n_plays: int, most: int | None = None) -> np.ndarray:
    """Expected number of wrong decisions about one arm after each play, by its exact law.

    The state is (times played, successes); ``most`` cuts it off for arms that are played rarely.
    """
    k, s = np.ogrid[: (most or n_plays) + 1, : (most or n_plays) + 1]
    chance = np.where(s <= k, binom.cdf(s, k + 1, c), 0.0)
    state = np.zeros(chance.shape)
    state[0, 0] = 1
    played = np.empty(n_plays)
    for t in range(n_plays):
        moving = state * chance
        played[t] = moving.sum()
        state -= moving
        state[1:, 1:] += theta * moving[:-1, :-1]
        state[1:] += (1 - theta) * moving[:-1]
    return np.cumsum(1 - played if theta >= c else played)


@pytest.mark.parametrize("C", [0.3, MEDIAN_MODEL_COST, np.array([0.2, 0.5, 0.9])])
def test_expected_reward_is_the_mean_of_the_global_reward(C):
    theta = np.array([0.8, 0.4, 0.1])
    for mask in all_sets(3):
        mean = 0.0
        for rewards in product([0, 1], repeat=int(mask.sum())):
            chance = np.prod(np.where(rewards, theta[mask], 1 - theta[mask]))
            cost = np.broadcast_to(C, 3)[mask]
            mean += chance * global_reward(rewards, cost)
        assert expected_reward(mask, theta, C) == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("C", [0.3, MEDIAN_MODEL_COST, np.linspace(0.1, 0.9, 6)])
def test_the_best_set_is_that_of_the_arms_above_their_threshold(C):
    sets = all_sets(6)
    best = sets[np.argmax(expected_reward(sets, THETA, C))]
    np.testing.assert_array_equal(best, threshold(C) <= THETA)
    np.testing.assert_array_equal(best, arm_values(THETA, C) >= 0)


def test_regret_is_what_the_best_set_would_have_paid_more():
    rng = np.random.default_rng(0)
    masks = rng.random((20, 6)) < 0.5
    losses = expected_reward(THETA >= 0.5, THETA) - expected_reward(masks, THETA)
    found = cumulative_regret((np.flatnonzero(mask) for mask in masks), THETA)
    np.testing.assert_allclose(found, np.cumsum(losses), rtol=1e-12)
    assert (losses >= 0).all()
    assert cumulative_regret([[], [0, 1]], THETA).tolist() == pytest.approx([0.6 * VALUE] * 2)
    assert cumulative_regret([], THETA).shape == (0,)


@pytest.mark.parametrize("theta", [0.2, 0.45, 0.5, 0.6, 0.9])
@pytest.mark.parametrize("C", [0.3, MEDIAN_MODEL_COST])
def test_the_simulation_follows_the_exact_law(theta, C):
    n_arms, n_runs, n_plays = 20, 100, 40
    game = simulate_game(
        np.full(n_arms, theta), n_plays, np.random.default_rng(1), C=C, n_runs=n_runs
    )
    c = float(threshold(C))
    cost = n_arms * abs(float(arm_values(theta, C)))
    expected = cost * exact_mistakes(theta, c, n_plays)
    error = game.regret.std(axis=0, ddof=1) / n_runs**0.5
    assert (np.abs(game.regret.mean(axis=0) - expected) <= 4.5 * error + 1e-9).all()
    mistakes = n_plays - game.times_played if theta >= c else game.times_played
    np.testing.assert_allclose(game.regret[:, -1], cost / n_arms * mistakes.sum(axis=1), atol=1e-9)


def test_costs_may_differ_between_arms():
    C = np.array([0.1, 0.1, MEDIAN_MODEL_COST, MEDIAN_MODEL_COST])
    game = simulate_game([0.8, 0.99, 0.8, 0.99], 400, np.random.default_rng(2), C=C, n_runs=50)
    plays = game.times_played.mean(axis=0)
    assert threshold(0.1) > 0.9
    assert plays[0] < 100
    assert plays[1] > 200
    assert (plays[2:] > 350).all()


def test_means_of_arms_that_keep_being_played_converge():
    game = simulate_game(THETA, 2_000, np.random.default_rng(3), n_runs=50)
    kept = THETA >= 0.5
    assert (game.times_played[:, kept] > 1_800).all()
    assert (game.times_played[:, ~kept] < 400).all()
    np.testing.assert_allclose(
        game.posterior_means[:, kept], np.broadcast_to(THETA[kept], (50, 2)), atol=0.06
    )
    assert (game.posterior_means[:, ~kept] < 0.5).all()


def log_rate(theta: np.ndarray) -> float:
    """What regret gains per e-fold of plays in the end, as of Lai and Robbins (c = 1/2)."""
    noise = theta[theta < 0.5]
    divergence = np.log(2) + noise * np.log(noise) + (1 - noise) * np.log(1 - noise)
    return float((VALUE * (0.5 - noise) / divergence).sum())


def check_logarithmic(n_runs: int, n_plays: int) -> str:
    regret = simulate_game(THETA, n_plays, np.random.default_rng(4), n_runs=n_runs).regret
    plays = np.arange(1, n_plays + 1)
    assert (regret.mean(axis=0) <= regret_bound(THETA, plays)).all()

    folds = np.floor(n_plays * np.exp(-np.arange(4.0)[::-1])).astype(int) - 1
    gains = np.diff(regret[:, folds], axis=1)
    error = gains.std(axis=0, ddof=1) / n_runs**0.5
    assert (gains.mean(axis=0) <= log_rate(THETA) + 4 * error).all()
    assert (gains.mean(axis=0) >= 0.6 * log_rate(THETA) - 4 * error).all()

    per_play = gains / np.diff(folds)
    change = np.diff(per_play, axis=1)
    assert (change.mean(axis=0) + 4 * change.std(axis=0) / n_runs**0.5 < 0).all()

    last = slice(n_plays // 10, None)
    curve, time = regret[:, last].mean(axis=0), np.log(plays[last])
    slope, start = np.polyfit(time, curve, 1)
    assert np.std(curve - slope * time - start) < 0.02 * np.ptp(curve)
    assert 0.6 * log_rate(THETA) < slope < 1.1 * log_rate(THETA)
    bound = regret_bound(THETA, n_plays)
    return (
        f"{n_runs:,} runs of {n_plays:,} plays: regret {regret[:, -1].mean():.1f} on average, "
        f"bound {bound:.1f}; {slope:.2f} per log T, {log_rate(THETA):.2f} in theory"
    )


def test_regret_grows_like_the_logarithm_of_time():
    check_logarithmic(n_runs=200, n_plays=3_000)


@pytest.mark.long
def test_regret_grows_like_the_logarithm_of_time_at_full_size(record_result):
    finding = check_logarithmic(n_runs=1_000, n_plays=20_000)
    record_result("Regret", "known arm means", finding)


def test_regret_grows_like_the_number_of_noise_arms():
    rng = np.random.default_rng(5)
    few, many = (
        simulate_game([0.2] * p, 500, rng, n_runs=100).regret[:, -1].mean() for p in (5, 50)
    )
    assert many / few == pytest.approx(10, rel=0.1)


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
    """Over all time a signal in state (k, s) waits 1/q - 1 plays on average."""
    gap = share * (1 - c)
    waits = 0.0
    for k in range(400):
        s = np.arange(k + 1)
        weight = binom.pmf(s, k, c + gap)
        s = s[weight > 1e-200]
        waits += (weight[s] * (1 / binom.cdf(s, k + 1, c) - 1)).sum()
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
    sets = all_sets(8)
    rewards = expected_reward(sets, means(sets))
    loss = expected_reward(best, means(best[None]))[0] - rewards.min()
    game = simulate_game(means, 1_000, np.random.default_rng(6), n_runs=100, best=best)
    bound = regret_bound(worst, np.arange(1, 1_001), largest_loss=loss)
    assert (game.regret.mean(axis=0) <= bound).all()
    assert ((game.posterior_means >= 0.5) == best).all()


@pytest.mark.parametrize("needs", [0, [0, 1, 2, 3], [0, 0, 1, 2]])
def test_signals_that_need_those_before_them_are_found(needs):
    best = np.arange(10) < 4
    means = dependent_means(10, np.flatnonzero(best), needs=needs)
    game = simulate_game(means, 1_500, np.random.default_rng(7), n_runs=100, best=best)
    assert ((game.posterior_means >= 0.5) == best).all(axis=1).mean() > 0.98
    noise = regret_bound([0.2] * 6, 1_500) / (VALUE * 0.3)
    assert game.times_played[:, ~best].sum(axis=1).mean() <= noise
    regret = game.regret.mean(axis=0)
    assert regret[-1] - regret[500] < 1.2 * log_rate(np.full(6, 0.2)) * np.log(3)


def test_signals_that_all_need_another_can_be_lost():
    best = np.arange(6) < 2
    means = dependent_means(6, [0, 1], needs=1)
    game = simulate_game(means, 1_000, np.random.default_rng(8), n_runs=200, best=best)
    found = (game.posterior_means[:, :2] >= 0.5).all(axis=1)
    assert 0.2 < found.mean() < 0.6
    lost = game.regret[~found].mean(axis=0)
    assert lost[-1] - lost[500] == pytest.approx(lost[500] - lost[0], rel=0.2)


def test_dependent_means_need_their_best_set():
    with pytest.raises(ValueError, match="best"):
        simulate_game(dependent_means(3, [0]), 10, np.random.default_rng(0))
