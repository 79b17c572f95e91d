"""The course of a run: payoffs of chosen arms, and how many were played, at some of the plays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.selectors.history import History

MOST_STEPS = 200


class Course(NamedTuple):
    """All chains together, at some of the plays.

    Attributes
    ----------
    steps : int64 array
        Plays done; the first is 0.
    pi : float64 array (steps, arms)
    n_played : int64 array (arms,)
        Plays that the arms were part of.
    played, paid : float64 arrays (steps,)
        Arms played and paid at the play, averaged over chains; 0 before the first.
    seconds : float
        Spent on plays.
    """

    steps: NDArray[np.int64]
    pi: NDArray[np.float64]
    n_played: NDArray[np.int64]
    played: NDArray[np.float64]
    paid: NDArray[np.float64]
    seconds: float


def follow(history: History, arms: NDArray[np.int64]) -> Course:
    """Follow chosen arms through the plays of all chains.

    A chain that stopped before the others keeps its counts.

    Examples
    --------
    >>> from tvselect import LassoReward, ThompsonSelector
    >>> X = np.random.default_rng(0).random((100, 5))
    >>> selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0).fit(X, X[:, 3])
    >>> course = follow(selector.history_, np.array([3]))
    >>> bool(course.pi[-1, 0] == selector.inclusion_probabilities_[3]), course.steps[[0, -1]]
    (True, array([ 0, 20]))
    """
    chains = range(history.n_chains)
    longest = max(history.journal.n_plays(chain) for chain in chains)
    steps = np.unique(np.linspace(0, longest, min(MOST_STEPS, longest + 1)).astype(np.int64))
    counts = np.zeros((2, steps.size, arms.size))
    sizes, n_chains_at = np.zeros((2, steps.size)), np.zeros(steps.size)
    n_played, seconds = np.zeros(arms.size, dtype=np.int64), 0.0
    for chain in chains:
        now = np.zeros((2, arms.size))
        row = 1
        for number, play in enumerate(history.journal.plays(chain), start=1):
            seconds += play.seconds
            if play.arms.size:
                place = np.searchsorted(play.arms, arms).clip(max=play.arms.size - 1)
                hit, is_paid = play.arms[place] == arms, play.rewards[place]
                now *= np.where(hit, history.discount, 1.0)
                now += [hit & is_paid, hit & ~is_paid]
                n_played += hit
            if number == steps[row]:
                counts[:, row] += now
                sizes[:, row] += play.arms.size, play.rewards.sum()
                n_chains_at[row] += 1
                row = min(row + 1, steps.size - 1)
        ended = steps > history.journal.n_plays(chain)
        counts[:, ended] += now[:, None]
    a, b = (value if np.ndim(value) == 0 else np.asarray(value)[arms] for value in history.prior)
    paid, unpaid = counts[0] + a, counts[1] + b
    n_at_play, n_paid_at_play = sizes / np.maximum(n_chains_at, 1)
    return Course(steps, paid / (paid + unpaid), n_played, n_at_play, n_paid_at_play, seconds)
