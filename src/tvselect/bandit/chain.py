"""Thompson sampling: choose, reward, update."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.arms import Arms
from tvselect.bandit.oracle import Oracle
from tvselect.bandit.play import Play
from tvselect.bandit.stopping import Steadiness, Stopping

Payoffs = Callable[[NDArray[np.int32], np.random.Generator], NDArray[np.float64]]
"""``payoffs(arms, rng)``: one payoff in [0, 1] for each of the played arms."""


class ThompsonChain:
    """One run of the game; Algorithm 1 of the paper, a play at a time.

    Every play has its own random numbers, from the seed of the run, the chain and the
    number of the play alone: a chain that is resumed goes on exactly as it would have.

    Parameters
    ----------
    arms : Arms
    oracle : Oracle
    stopping : Stopping
    entropy : int
        Seed of the run.
    chain : int
        Which of several independent chains this is.
    """

    def __init__(
        self,
        arms: Arms,
        oracle: Oracle,
        stopping: Stopping,
        *,
        entropy: int,
        chain: int = 0,
    ) -> None:
        self.arms = arms
        self.oracle = oracle
        self.stopping = stopping
        self.entropy = entropy
        self.chain = chain
        self.n_plays = 0
        self._steadiness = Steadiness()

    def play(self, payoffs: Payoffs) -> Play:
        """Choose, reward, update."""
        started = time.perf_counter()
        rng = self._generator(self.n_plays)
        chosen = self.oracle.choose(self.arms, rng)
        rewards = bernoulli(payoffs(chosen, rng), rng)
        play = Play(self.n_plays, chosen, rewards, time.perf_counter() - started)
        self.learn(play)
        return play

    def skip(self) -> Play:
        """A play of no arm: its turn passes, nothing is learned."""
        play = Play(self.n_plays, np.empty(0, np.int32), np.empty(0, np.bool_), 0.0)
        self.learn(play)
        return play

    def learn(self, play: Play) -> None:
        """Update the arms with a play, made now or read from a journal."""
        self.n_plays = play.number + 1
        if play.arms.size == 0:
            return
        self.arms.update(play.arms, play.rewards)
        if self.stopping.patience is not None:
            self._steadiness.see(self.oracle.model(self.arms))

    def replay(self, plays: Iterable[Play]) -> None:
        """Bring the chain to where it stood after some plays."""
        self.arms.clear()
        self.n_plays = 0
        self._steadiness = Steadiness()
        for play in plays:
            self.learn(play)

    def stop_reason(self) -> str | None:
        """Why to stop, or None to go on."""
        return self.stopping.reason(self.n_plays, self._steadiness.n_unchanged)

    def _generator(self, number: int) -> np.random.Generator:
        seeds = np.random.SeedSequence(self.entropy, spawn_key=(self.chain, number))
        return np.random.Generator(np.random.SFC64(seeds))


def bernoulli(payoffs: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Turn payoffs in [0, 1] into rewards 0 / 1, by a trial where they are fractions."""
    rewards = payoffs >= 1.0
    fractions = np.flatnonzero((payoffs > 0.0) & ~rewards)
    rewards[fractions] = rng.random(fractions.size) < payoffs[fractions]
    return rewards
