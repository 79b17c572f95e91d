from __future__ import annotations

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pytest

from study.tests.theory.arm_law import exact_mistakes, expected_waits
from tvselect.bandit.oracle import MEDIAN_MODEL_COST, threshold
from tvstudy.theory import (
    arm_values,
    cumulative_regret,
    dependent_arms_bound,
    dependent_means,
    expected_reward,
    global_reward,
    identifiability_margin,
    independent_arms_bound,
    known_size_bound,
    plot_regret,
    regret_band,
    regret_bound,
    simulate_game,
)

THETA = np.array([0.9, 0.7, 0.3, 0.3, 0.2, 0.1])
VALUE = np.log1p(1 / MEDIAN_MODEL_COST)
PLAYS = np.array([1, 2, 3, 10, 1e3, 1e6, 1e12])


def all_sets(n_arms: int) -> np.ndarray:
    return np.array(list(product([False, True], repeat=n_arms)))


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


def test_dependent_means_need_their_best_set():
    with pytest.raises(ValueError, match="best"):
        simulate_game(dependent_means(3, [0]), 10, np.random.default_rng(0))


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


def test_the_band_is_of_the_runs():
    curves = np.cumsum(np.random.default_rng(0).random((101, 7)), axis=1)
    band = regret_band(curves)
    assert band.n_runs == 101
    assert band.plays.tolist() == [1, 2, 3, 4, 5, 6, 7]
    np.testing.assert_allclose(band.mean, curves.mean(axis=0))
    np.testing.assert_allclose(band.low, np.sort(curves, axis=0)[5])
    np.testing.assert_allclose(band.high, np.sort(curves, axis=0)[95])


@pytest.mark.parametrize("curves", [[], [[]], np.zeros((2, 2, 2))])
def test_other_shapes_are_refused(curves):
    with pytest.raises(ValueError, match="curves"):
        regret_band(curves)


def test_mean_band_and_bound_are_drawn_on_the_axes_handed_in():
    game = simulate_game([0.9, 0.1, 0.2], 50, np.random.default_rng(0), n_runs=20)
    _, ax = plt.subplots()
    assert plot_regret(game.regret, bound=regret_bound([0.9, 0.1, 0.2], range(1, 51)), ax=ax) is ax
    assert ax.get_xscale() == "log"
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["5-95 % of runs", "mean of 20 runs", "bound"]
    ax.set_yscale("log")
    ax.figure.canvas.draw()


def test_one_run_has_no_band():
    ax = plot_regret([1.0, 2.0, 2.5])
    assert not ax.collections
    ax.figure.canvas.draw()


def test_a_bound_of_another_length_is_refused():
    with pytest.raises(ValueError, match="bound"):
        plot_regret([1.0, 2.0], bound=[1.0])
