"""The exact law of one arm of a simulated game, which depends on its own counts alone."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import binom


@cache
def exact_law(
    theta: float, c: float, n_plays: int, most: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The chance to be in each play, and that of (times played, successes) after the last.

    ``most`` cuts the states off: those of fewer times played stay exact.
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
    return played, state


def exact_mistakes(theta: float, c: float, n_plays: int, most: int | None = None) -> np.ndarray:
    """Expected number of wrong decisions about the arm after each play."""
    played, _ = exact_law(theta, c, n_plays, most)
    return np.cumsum(1 - played if theta >= c else played)


def expected_waits(theta: float, c: float, stages: range) -> np.ndarray:
    """Plays without the arm, on average, between its k-th and its next play, for each k.

    With s successes it waits ``1/q - 1`` plays, ``q`` the chance to be played. That falls with s:
    an arm whose mean varies, but never falls below ``theta``, waits no longer.
    """
    waits = np.zeros(len(stages))
    for at, k in enumerate(stages):
        s = np.arange(k + 1)
        weight = binom.pmf(s, k, theta)
        s = s[weight > 1e-200]
        waits[at] = (weight[s] * (1 / binom.cdf(s, k + 1, c) - 1)).sum()
    return waits
