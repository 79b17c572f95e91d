"""What a game pays and what it costs not to know the arms: rewards, regret, simulated games."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tvselect.bandit.oracle import MEDIAN_MODEL_COST, threshold

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Means = Callable[[Mask], Floats]
"""``means(played)``: the arms' means when these are played, both of shape (runs, arms)."""


def global_reward(rewards: ArrayLike, C: ArrayLike = MEDIAN_MODEL_COST) -> float:
    """The reward of a play: the sum of ``log(C + gamma)`` over the played arms.

    Parameters
    ----------
    rewards : array-like
        ``gamma``, in [0, 1], of the played arms only.
    C : float or array-like
        The cost of an arm, or one of each played arm.

    Examples
    --------
    >>> round(global_reward([1, 1, 0], C=0.5), 3)
    0.118
    """
    return float(np.log(np.asarray(C) + np.asarray(rewards)).sum())


def arm_values(theta: ArrayLike, C: ArrayLike = MEDIAN_MODEL_COST) -> Floats:
    """What arms of these means add to the expected reward, negative below the threshold.

    This is ``theta log((C + 1) / C) - log(1 / C)``, or ``L (theta - c)`` with the threshold ``c``
    that ``C`` stands for and ``L = log((C + 1) / C)``.

    Examples
    --------
    >>> arm_values([0.9, 0.6, 0.1]).round(3)
    array([ 0.385,  0.096, -0.385])
    """
    return np.log1p(1 / np.asarray(C)) * (np.asarray(theta) - threshold(np.asarray(C)))


def expected_reward(
    played: ArrayLike, theta: ArrayLike, C: ArrayLike = MEDIAN_MODEL_COST
) -> Floats:
    """Expected reward of sets of arms, given as masks over the last axis."""
    return np.where(played, arm_values(theta, C), 0.0).sum(axis=-1)


def cumulative_regret(
    played: Iterable[ArrayLike], theta: ArrayLike, C: ArrayLike = MEDIAN_MODEL_COST
) -> Floats:
    """Regret after each play of a game with known, independent arm means.

    Parameters
    ----------
    played : iterable of integer arrays
        The arms of each play, for example ``(play.arms for play in journal.plays())``.
    theta : array-like
        The mean of every arm.
    C : float or array-like
        The cost of an arm, or one of every arm.

    Examples
    --------
    >>> cumulative_regret([[0, 1], [1], [0]], theta=[0.9, 0.1]).round(3)
    array([0.385, 1.155, 1.155])
    """
    values = arm_values(theta, C)
    most = np.maximum(values, 0).sum()
    losses = [most - values[np.asarray(arms, dtype=np.intp)].sum() for arms in played]
    return np.cumsum(np.array(losses, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Game:
    """What came of a simulated game, by run: after each play, and of each arm at the end.

    Attributes
    ----------
    regret : array of shape (n_runs, n_plays)
        Summed over the plays so far.
    right_set, signals_played, right_model : masks of shape (n_runs, n_plays)
        Whether the play was that of the best set; whether it held all arms of the best set;
        whether the arms with a posterior mean above the threshold are the best set after it.
    posterior_means, times_played : arrays of shape (n_runs, n_arms)
    """

    regret: Floats
    right_set: Mask
    signals_played: Mask
    right_model: Mask
    posterior_means: Floats
    times_played: NDArray[np.int64]


def simulate_game(
    theta: ArrayLike | Means,
    n_plays: int,
    rng: np.random.Generator,
    *,
    C: ArrayLike = MEDIAN_MODEL_COST,
    n_runs: int = 1,
    best: ArrayLike | None = None,
) -> Game:
    """Thompson sampling with Bernoulli arms and Beta(1, 1) priors, many runs side by side.

    A play of no arm is legal here and pays nothing; so every arm of fixed mean is a game of its
    own, which is what :func:`tvselect.bandit.bounds.regret_bound` is about.

    Parameters
    ----------
    theta : array-like or callable
        The arms' means, or ``means(played)`` when they depend on what is played.
    n_plays : int
    rng : numpy Generator
    C : float or array-like
        The cost of an arm, or one of every arm.
    n_runs : int
    best : mask of arms
        The best set, for means that depend on what is played.

    Examples
    --------
    >>> game = simulate_game([0.9, 0.1], 300, np.random.default_rng(1), n_runs=100)
    >>> game.regret.shape, game.posterior_means.mean(axis=0).round(1)
    ((100, 300), array([0.9, 0.1]))
    >>> float(game.right_model[:, -1].mean())
    1.0
    """
    c = threshold(np.asarray(C))
    if callable(theta):
        if best is None:
            raise ValueError("means that depend on the played set need best, the best set of arms")
        means, target = theta, np.asarray(best, dtype=np.bool_)[np.newaxis]
    else:
        fixed = np.asarray(theta, dtype=np.float64)[np.newaxis]
        means, target = (lambda _: fixed), fixed >= c
    most = expected_reward(target, means(target), C)
    a = np.ones((n_runs, target.shape[1]))
    b = np.ones_like(a)
    losses = np.empty((n_runs, n_plays))
    right_set, signals_played, right_model = np.empty((3, n_runs, n_plays), dtype=np.bool_)
    for t in range(n_plays):
        played = rng.beta(a, b) >= c
        mean = means(played)
        won = played & (rng.random(played.shape) < mean)
        a += won
        b += played & ~won
        losses[:, t] = most - expected_reward(played, mean, C)
        right_set[:, t] = (played == target).all(axis=1)
        signals_played[:, t] = (played >= target).all(axis=1)
        right_model[:, t] = ((a / (a + b) > c) == target).all(axis=1)
    regret, times_played = np.cumsum(losses, axis=1), (a + b - 2).astype(np.int64)
    return Game(regret, right_set, signals_played, right_model, a / (a + b), times_played)


def dependent_means(
    n_arms: int,
    signals: ArrayLike,
    *,
    needs: ArrayLike = 0,
    high: float = 0.8,
    low: float = 0.2,
    noise: float = 0.2,
) -> Means:
    """Arms whose means depend on the played set, as when a variable is seen only beside others.

    Parameters
    ----------
    n_arms : int
    signals : integer array
        The arms that are worth playing.
    needs : int, or one of each signal
        A signal's mean is ``high`` when at least so many other signals are played with it, else
        ``low``. With rising needs (0, 1, 2, ...) the signals are found one after the other. Where
        all need another, the game can be lost: lone plays teach them to stay away.
    high, low : float
    noise : float
        The mean of all other arms, whatever is played.

    Examples
    --------
    >>> means = dependent_means(3, [0, 1], needs=[0, 1])
    >>> means(np.array([[False, True, True], [True, True, True]]))
    array([[0.8, 0.2, 0.2],
           [0.8, 0.8, 0.2]])
    """
    index = np.asarray(signals, dtype=np.intp)

    def means(played: Mask) -> Floats:
        theta = np.full((len(played), n_arms), noise)
        shown = played[:, index]
        others = shown.sum(axis=1, keepdims=True) - shown
        theta[:, index] = np.where(others >= needs, high, low)
        return theta

    return means
