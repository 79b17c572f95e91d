"""Thompson sampling: choose, reward, update."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.arms import Arms
from tvselect.bandit.oracle import Oracle
from tvselect.bandit.play import Play
from tvselect.bandit.stopping import Steadiness, Stopping

Payoffs = Callable[[NDArray[np.int32], np.random.Generator], NDArray[np.float64]]
"""``payoffs(arms, rng)``: one payoff in [0, 1] for each of the played arms."""
PLAYS_PER_TURN = 10
"""A window holds at most one turn for so many plays that are done."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A play that is chosen and not paid yet.

    Attributes
    ----------
    chain, number : int
    arms : int32 array
    rng : numpy.random.Generator
        The play's own random numbers, from where the choice has left them.
    """

    chain: int
    number: int
    arms: NDArray[np.int32]
    rng: np.random.Generator

    def pay(self, payoffs: Payoffs) -> NDArray[np.bool_]:
        """Reward the chosen arms; the same numbers however often it is done."""
        state = self.rng.bit_generator.state
        try:
            return bernoulli(payoffs(self.arms, self.rng), self.rng)
        finally:
            self.rng.bit_generator.state = state

    def paid(self, rewards: NDArray[np.bool_], seconds: float) -> Play:
        """The record of the turn."""
        return Play(self.number, self.arms, rewards, seconds)


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
    window : int, default=1
        At most so many plays are chosen from one state of the arms, so that they can be
        paid at the same time; never more than a tenth of the plays that are done, for
        many plays from a state that knows little keep the game from getting anywhere.
        1 is the paper.
    """

    def __init__(
        self,
        arms: Arms,
        oracle: Oracle,
        stopping: Stopping,
        *,
        entropy: int,
        chain: int = 0,
        window: int = 1,
    ) -> None:
        self.arms = arms
        self.oracle = oracle
        self.stopping = stopping
        self.entropy = entropy
        self.chain = chain
        self.window = window
        self.n_plays = 0
        self._turns: list[Turn] = []
        self._steadiness = Steadiness()

    def play(self, payoffs: Payoffs) -> Play:
        """Choose, reward, update."""
        started = time.perf_counter()
        turn = self.turns()[0]
        play = turn.paid(turn.pay(payoffs), time.perf_counter() - started)
        self.learn(play)
        return play

    def turns(self) -> list[Turn]:
        """What to play next: a window of turns, chosen from the arms as they are now.

        The same turns again until they are learned from.
        """
        if not self._turns:
            self._turns = [self._choose(self.n_plays + k) for k in range(self._window())]
        n_left = None if self.stopping.n_plays is None else self.stopping.n_plays - self.n_plays
        return self._turns[:n_left]

    @property
    def is_between_windows(self) -> bool:
        """Whether all that was chosen is learned from: when the rules of stopping are asked."""
        return not self._turns

    def skip(self) -> Play:
        """A play of no arm: its turn passes, nothing is learned."""
        self.turns()  # A window begins here, too.
        play = skipped(self.n_plays)
        self.learn(play)
        return play

    def learn(self, play: Play) -> None:
        """Update the arms with a play, made now or read from a journal."""
        self.n_plays = play.number + 1
        self._turns = self._turns[1:]
        if play.arms.size == 0:
            return
        self.arms.update(play.arms, play.rewards)
        if self.stopping.patience is not None:
            self._steadiness.see(self.oracle.model(self.arms))

    def replay(self, plays: Iterable[Play]) -> None:
        """Bring the chain to where it stood after some plays."""
        self.arms.clear()
        self.n_plays = 0
        self._turns = []
        self._steadiness = Steadiness()
        together: list[Play] = []
        for play in plays:
            together.append(play)
            if len(together) == self._window():
                self._learn_all(together)
                together = []
        if together:
            self.turns()  # The window goes on with turns from before its first play.
            self._learn_all(together)

    def stop_reason(self) -> str | None:
        """Why to stop, or None to go on."""
        return self.stopping.reason(self.n_plays, self._steadiness.n_unchanged)

    def _learn_all(self, plays: Iterable[Play]) -> None:
        for play in plays:
            self.learn(play)

    def _window(self) -> int:
        return max(1, min(self.window, self.n_plays // PLAYS_PER_TURN))

    def _choose(self, number: int) -> Turn:
        rng = self._generator(number)
        return Turn(self.chain, number, self.oracle.choose(self.arms, rng), rng)

    def _generator(self, number: int) -> np.random.Generator:
        seeds = np.random.SeedSequence(self.entropy, spawn_key=(self.chain, number))
        return np.random.Generator(np.random.SFC64(seeds))


def skipped(number: int) -> Play:
    """The record of a play of no arm."""
    return Play(number, np.empty(0, np.int32), np.empty(0, np.bool_), 0.0)


def bernoulli(payoffs: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Turn payoffs in [0, 1] into rewards 0 / 1, by a trial where they are fractions."""
    rewards = payoffs >= 1.0
    fractions = np.flatnonzero((payoffs > 0.0) & ~rewards)
    rewards[fractions] = rng.random(fractions.size) < payoffs[fractions]
    return rewards
