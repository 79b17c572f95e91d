"""A play: which arms were played, and what reward each of them got."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Payoffs = Callable[[NDArray[np.int32], np.random.Generator], NDArray[np.float64]]
"""``payoffs(arms, rng)``: the probability in [0, 1] of a reward, for each of the played arms."""


class Score(NamedTuple):
    """What scoring a play gives: a reward (0 or 1) per arm, and how many seconds it took."""

    rewards: NDArray[np.bool_]
    seconds: float


@dataclass(frozen=True, slots=True)
class Play:
    """The record of one play.

    Attributes
    ----------
    number : int
        Its place in the chain, from 0.
    arms : int32 array
        The arms that were played, in increasing order; none if a batch was skipped.
    rewards : bool array
        One for each of them.
    seconds : float
        How long scoring took; plays of one compiled call share its time evenly.
    chain : int
    """

    number: int
    arms: NDArray[np.int32]
    rewards: NDArray[np.bool_]
    seconds: float
    chain: int = 0


@dataclass(frozen=True, slots=True)
class PendingPlay:
    """A play whose arms are chosen and that is not scored yet.

    Attributes
    ----------
    rng : numpy.random.Generator
        The play's own random numbers, from where the choice has left them.
    """

    chain: int
    number: int
    arms: NDArray[np.int32]
    rng: np.random.Generator

    def score(self, payoffs: Payoffs) -> Score:
        """Reward the chosen arms; uses up the random numbers."""
        started = time.perf_counter()
        rewards = bernoulli(payoffs(self.arms, self.rng), self.rng)
        return Score(rewards, time.perf_counter() - started)

    def played(self, score: Score | None) -> Play:
        """The record of the play; without a score it is skipped, and nothing is learned."""
        if score is None:
            nothing = np.empty(0, np.int32), np.empty(0, np.bool_)
            return Play(self.number, *nothing, 0.0, self.chain)
        return Play(self.number, self.arms, score.rewards, score.seconds, self.chain)


def bernoulli(payoffs: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Turn payoffs in [0, 1] into rewards 0 / 1, by a trial where they are fractions."""
    rewards = payoffs > 0.0
    is_fraction = rewards & (payoffs < 1.0)
    if is_fraction.any():
        rewards[is_fraction] = rng.random(np.count_nonzero(is_fraction)) < payoffs[is_fraction]
    return rewards
