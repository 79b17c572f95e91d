"""What is read from the plays of a journal."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tvselect.bandit.play import Play


def trajectories(
    plays: Iterable[Play],
    arms: ArrayLike,
    prior_a: ArrayLike = 1.0,
    prior_b: ArrayLike = 1.0,
    discount: float = 1.0,
) -> NDArray[np.float64]:
    """Posterior means of chosen arms: a row before the first play, then one after each.

    Parameters
    ----------
    plays : iterable of Play
    arms : integer array
        In any order.
    prior_a, prior_b : float or one of each chosen arm
        Their Beta prior.
    discount : float, default=1.0
        Whenever an arm is played, its earlier successes and failures are multiplied by it.

    Examples
    --------
    >>> plays = [Play(0, np.array([2, 4], np.int32), np.array([True, False]), 0.1)]
    >>> trajectories(plays, [4, 0, 2]).round(2)
    array([[0.5 , 0.5 , 0.5 ],
           [0.33, 0.5 , 0.67]])
    """
    wanted = np.asarray(arms, dtype=np.int64)
    first_a, first_b = (
        np.array(np.broadcast_to(p, wanted.shape), np.float64) for p in (prior_a, prior_b)
    )
    a, b = first_a.copy(), first_b.copy()
    means = [a / (a + b)]
    for play in plays:
        if play.arms.size:
            place = np.searchsorted(play.arms, wanted).clip(max=play.arms.size - 1)
            hit = play.arms[place] == wanted
            forgotten = (1.0 - discount) * hit
            a += forgotten * (first_a - a)
            b += forgotten * (first_b - b)
            a += hit & play.rewards[place]
            b += hit & ~play.rewards[place]
        means.append(a / (a + b))
    return np.array(means)
