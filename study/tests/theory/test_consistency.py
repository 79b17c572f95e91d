"""Theorem 2 at work: what is right from some play on, and what is only ever more often right.

Under Assumption 1 the signals are in every play from some play on, and the model is right from
some play on. The played set is right ever more often, but a noise arm never leaves for good: while
it is not played its counts stay, and so does its chance to be played.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from study.tests.theory.arm_law import exact_law, expected_waits
from tvstudy.theory import Game, dependent_means, identifiability_margin, simulate_game

N_ARMS, N_SIGNALS, SIGNAL, NOISE = 8, 3, 0.7, 0.2
BEST = np.arange(N_ARMS) < N_SIGNALS
N_RUNS, N_PLAYS, SETTLED = 500, 3_000, 500
NOISE_ENTROPY = np.log(2) + NOISE * np.log(NOISE) + (1 - NOISE) * np.log(1 - NOISE)


@pytest.fixture(scope="module", params=["fixed", "dependent"])
def game(request) -> Game:
    """Signals with mean 0.7, or with 0.7 alone and 0.9 in company."""
    high, needs = (SIGNAL, 0) if request.param == "fixed" else (0.9, [0, 1, 2])
    means = dependent_means(
        N_ARMS, range(N_SIGNALS), needs=needs, high=high, low=SIGNAL, noise=NOISE
    )
    assert identifiability_margin(means, BEST) == pytest.approx(0.2)
    return simulate_game(means, N_PLAYS, np.random.default_rng(10), n_runs=N_RUNS, best=BEST)


def at_least(mask: np.ndarray, chance: float) -> bool:
    """Whether the share of true runs is no further below the chance than 4.5 standard errors."""
    return bool(mask.mean() >= chance - 4.5 * (chance * (1 - chance) / mask.size) ** 0.5)


def stays_above(theta: float, k: int, successes: np.ndarray) -> np.ndarray:
    """Chance that wins never fall to the losses again, of an arm with this mean or a higher one.

    Wins less losses are a random walk x, and ((1 - theta) / theta)^x is a supermartingale.
    """
    lead = np.maximum(2 * successes - k, 0)
    return 1 - np.minimum(1, ((1 - theta) / theta) ** lead)


def signal_fails(plays: int) -> tuple[float, float]:
    """Bounds of the chances that a signal is left out, and that it leaves the model, after these.

    Both by way of its times played: fewer than ``stage`` so far, or a mistake at a later stage.
    """
    stage = 2 * plays // 5
    _, state = exact_law(SIGNAL, 0.5, plays, most=stage)
    late = state[:stage].sum()
    left_out = expected_waits(SIGNAL, 0.5, range(stage, stage + 400)).sum()
    s = np.arange(stage + 1)
    leaves = 1 - binom.pmf(s, stage, SIGNAL) @ stays_above(SIGNAL, stage, s)
    return float(late + left_out), float(late + leaves)


def noise_enters(plays: int) -> float:
    """The chance that a noise arm is ever in the model after these plays."""
    _, state = exact_law(NOISE, 0.5, plays, most=100)
    k, s = np.indices(state.shape)
    debt = np.maximum(k - 2 * s, -1) + 1
    return float((state * (NOISE / (1 - NOISE)) ** debt).sum())


def test_from_some_play_on_every_play_holds_all_signals(game):
    left_out, _ = signal_fails(SETTLED)
    assert left_out < 0.003
    assert at_least(game.signals_played[:, SETTLED:].all(axis=1), 1 - N_SIGNALS * left_out)


@pytest.mark.parametrize("plays", [200, 500, 1_000])
def test_from_some_play_on_the_model_is_right(game, plays):
    _, leaves = signal_fails(plays)
    wrong = N_SIGNALS * leaves + (N_ARMS - N_SIGNALS) * noise_enters(plays)
    assert wrong < {200: 0.03, 500: 0.005, 1_000: 0.0015}[plays]
    assert at_least(game.right_model[:, plays:].all(axis=1), 1 - wrong)


def test_the_right_set_is_played_ever_more_often(game):
    """All signals are there, and each noise arm stays away by itself."""
    noise, _ = exact_law(NOISE, 0.5, N_PLAYS, most=100)
    chance = (1 - noise) ** (N_ARMS - N_SIGNALS)
    for block in np.array_split(np.arange(SETTLED, N_PLAYS), 5):
        by_run = game.right_set[:, block].mean(axis=1)
        error = by_run.std(ddof=1) / N_RUNS**0.5
        assert by_run.mean() == pytest.approx(chance[block].mean(), abs=4.5 * error)
    assert chance[-1] > 0.99
    last = slice(-10, None)
    wrong = N_SIGNALS * signal_fails(SETTLED)[0] + (N_ARMS - N_SIGNALS) * noise[last].sum()
    assert wrong < 0.1
    assert at_least(game.right_set[:, last].all(axis=1), 1 - wrong)


def test_a_noise_arm_comes_back_for_ever(game):
    """No fewer plays of it in each e-fold of time, about one by the entropy; few runs without."""
    noise, _ = exact_law(NOISE, 0.5, 10_000, most=100)
    folds = np.floor(10_000 * np.exp(-np.arange(5.0)[::-1])).astype(int)
    gains = np.diff(np.cumsum(noise)[folds - 1])
    assert (np.diff(gains) > 0).all()
    assert (gains > 0.75 / NOISE_ENTROPY).all()
    assert (gains < 1 / NOISE_ENTROPY).all()
    assert game.right_set[:, int(N_PLAYS / np.e) :].all(axis=1).mean() < 0.01


def test_without_strong_identifiability_the_right_set_may_never_be_played():
    """Two signals that need each other: lone plays teach them to stay away."""
    best = np.arange(6) < 2
    means = dependent_means(6, [0, 1], needs=1)
    assert identifiability_margin(means, best) == pytest.approx(-0.3)
    game = simulate_game(means, 1_000, np.random.default_rng(8), n_runs=200, best=best)
    found = (game.posterior_means[:, :2] >= 0.5).all(axis=1)
    assert 0.2 < found.mean() < 0.6
    assert game.right_set[found, 500:].mean() > 0.95
    assert game.right_set[~found, 500:].any(axis=1).mean() < 0.05
    lost = game.regret[~found].mean(axis=0)
    assert lost[-1] - lost[500] == pytest.approx(lost[500] - lost[0], rel=0.2)
