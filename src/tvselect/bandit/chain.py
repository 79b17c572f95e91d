"""Thompson sampling: a chain is asked which arms to play, and told what they were worth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.arms import Arms
from tvselect.bandit.oracle import NO_BURN_IN, BurnIn, Oracle

if TYPE_CHECKING:
    from tvselect.bandit.journal import Journal

PLAYS_PER_PENDING = 10
"""A window holds at most one pending play for so many plays that are done."""
Payoffs = Callable[[NDArray[np.int32], np.random.Generator], NDArray[np.float64]]
"""``payoffs(arms, rng)``: the probability in [0, 1] of a reward, for each of the played arms."""


@dataclass(frozen=True, slots=True)
class Play:
    """The record of one play."""

    number: int  #: Its place in the chain, from 0
    arms: NDArray[np.int32]  #: Those that were played, in rising order; none if it was skipped
    rewards: NDArray[np.bool_]  #: One for each of them
    seconds: float  #: How long scoring took; plays of one compiled call share its time evenly
    chain: int = 0


@dataclass(frozen=True, slots=True)
class PendingPlay:
    """A play whose arms are chosen and that is not scored yet."""

    chain: int
    number: int
    arms: NDArray[np.int32]
    rng: np.random.Generator  #: The play's own random numbers, from where the choice has left them

    def score(self, payoffs: Payoffs | None) -> Play:
        """Reward the chosen arms, with its random numbers; without payoffs the play is skipped."""
        if payoffs is None:
            nothing = np.empty(0, np.int32), np.empty(0, np.bool_)
            return Play(self.number, *nothing, 0.0, self.chain)
        started = time.perf_counter()
        rewards = bernoulli(payoffs(self.arms, self.rng), self.rng)
        return Play(self.number, self.arms, rewards, time.perf_counter() - started, self.chain)


def bernoulli(payoffs: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Turn payoffs in [0, 1] into rewards 0 / 1, by a trial where they are fractions."""
    rewards = payoffs > 0.0
    is_fraction = rewards & (payoffs < 1.0)
    if is_fraction.any():
        rewards[is_fraction] = rng.random(np.count_nonzero(is_fraction)) < payoffs[is_fraction]
    return rewards


class ThompsonChain:
    """One sequence of plays, each chosen by what was learned from those before.

    The random numbers of a play come from the seed of the run (``entropy``), its ``chain`` and its
    number, so that a resumed chain goes on exactly as it would have. At most ``window`` plays, and
    no more than a tenth of those learned from, are chosen from one state of the arms, to be scored
    at the same time. ``n_unchanged`` says for how many plays since burn-in the model has not
    changed, skipped ones left out, if the chain ``has_patience``. Plays with a number in ``rounds``
    are all of the arms that led before.
    """

    def __init__(
        self,
        arms: Arms,
        oracle: Oracle,
        *,
        entropy: int,
        chain: int = 0,
        window: int = 1,
        has_patience: bool = True,
        burn_in: BurnIn = NO_BURN_IN,
    ) -> None:
        self.arms, self.oracle = arms, oracle
        self.entropy, self.chain, self.window = entropy, chain, window
        self.has_patience, self.burn_in = has_patience, burn_in
        self.rounds = range(0)
        self.n_plays = self.n_unchanged = 0
        self._model: NDArray[np.int32] | None = None
        self._leaders: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._pending: list[PendingPlay] = []

    @property
    def width(self) -> int:
        """How many plays the next window holds; 0 inside of one."""
        if self._pending:
            return 0
        left, n_learned = self.n_until_fresh(), self.n_plays
        if n_learned < self.rounds.start:
            left = self.rounds.start - n_learned
        elif not left:
            n_learned -= self.burn_in.n_plays
        widest = min(self.window, n_learned // PLAYS_PER_PENDING)
        return max(1, min(widest, left or widest))

    def ask(self, at_most: int | None = None) -> list[PendingPlay]:
        """The next window of plays, or its first ``at_most``: the same until they are told of."""
        for number in range(self.n_plays, self.n_plays + self.width):
            rng = np.random.Generator(np.random.SFC64(self._seeds(number)))
            is_set = number in self.rounds
            arms = self._leaders if is_set else self.oracle.choose(self.arms, rng)
            self._pending.append(PendingPlay(self.chain, number, arms, rng))
        return self._pending[:at_most]

    def tell(self, play: Play) -> None:
        """Learn from the next ``play``, made now or read from a journal."""
        self.n_plays = play.number + 1
        self._pending = self._pending[1:]
        if play.arms.size:
            self.arms.update(play.arms, play.rewards)
        if play.arms.size and self.has_patience:
            model = self.oracle.model(self.arms)
            same = self._model is not None and np.array_equal(model, self._model)
            self.n_unchanged = self.n_unchanged + 1 if same else 0
            self._model = model
        if self.n_plays == self.rounds.start:
            self._leaders = self.oracle.leaders(self.arms)
        self._burn_in()

    def make_plays(self, score: Callable[[PendingPlay], Play], n: int) -> list[Play]:
        """Choose the next ``n`` plays, ``score`` them and learn from them, one after the other."""
        plays = []
        for _ in range(n):
            plays.append(score(*self.ask(1)))
            self.tell(plays[-1])
        return plays

    def seeds(self, n_plays: int) -> NDArray[np.uint64]:
        """Three words for each of the next ``n_plays``, of which SFC64 makes its random numbers."""
        numbers = range(self.n_plays, self.n_plays + n_plays)
        words = [self._seeds(number).generate_state(3, np.uint64) for number in numbers]
        return np.array(words, dtype=np.uint64).reshape(n_plays, 3)

    def has_learned(self, n_plays: int, n_unchanged: int) -> None:
        """Count ``n_plays`` that the arms know; the model is that of ``n_unchanged`` plays ago."""
        self.n_plays += n_plays
        if self.has_patience:
            self.n_unchanged, self._model = n_unchanged, self.oracle.model(self.arms)
        self._burn_in()

    def replay(self, plays: Iterable[Play]) -> None:
        """Bring the chain to where it stood after these ``plays``."""
        self.arms.begin()
        self.n_plays = self.n_unchanged = 0
        self._model, self._pending = None, []
        plays = iter(plays)
        while window := list(islice(plays, self.width)):
            if len(window) < self.width:
                self.ask()  # The window goes on with plays chosen before its first one.
            for play in window:
                self.tell(play)

    def n_until_fresh(self) -> int:
        """Plays that are left of burn-in."""
        return max(0, self.burn_in.n_plays - self.n_plays)

    def _burn_in(self) -> None:
        if not 0 < self.n_plays <= self.burn_in.n_plays:
            return
        self.n_unchanged = 0
        if self.n_plays == self.burn_in.n_plays:
            self.arms.begin(self.burn_in.leaders(self.arms.successes, self.arms.failures))
            self._model = self.oracle.model(self.arms) if self.has_patience else None

    def _seeds(self, number: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.entropy, spawn_key=(self.chain, number))


class Chains(tuple[ThompsonChain, ...]):
    """Independent chains that advance together: each has made as many plays as the others."""

    _in_flight = False

    @property
    def n_plays(self) -> int:
        """Plays of every chain."""
        return self[0].n_plays

    @property
    def n_unchanged(self) -> int:
        """For how many plays the model of no chain has changed; 0 inside a window."""
        return min(chain.n_unchanged if chain.width else 0 for chain in self)

    def ask(self, at_most: int | None = None) -> list[PendingPlay]:
        """What to play next: a window of every chain, or its first ``at_most`` plays."""
        self._in_flight = True
        return [pending for chain in self for pending in chain.ask(at_most)]

    def tell(self, plays: Sequence[Play]) -> Sequence[Play]:
        """Let every chain learn from its plays."""
        for play in plays:
            self[play.chain].tell(play)
        self._in_flight = False
        return plays

    def go_ahead(
        self, make: Callable[[list[tuple[ThompsonChain, int]]], Iterable[list[Play]]], n_plays: int
    ) -> list[Play]:
        """Let ``make([(chain, n_plays), ...])`` make the next plays of every chain."""
        self._in_flight = True
        plays = [play for made in make([(chain, n_plays) for chain in self]) for play in made]
        self._in_flight = False
        return plays

    def follow(self, journal: Journal) -> None:
        """Go back to where the journal stands, where plays did not get into it."""
        if self._in_flight or any(c.n_plays != journal.n_plays(c.chain) for c in self):
            for chain in self:
                chain.replay(journal.plays(chain.chain))
            self._in_flight = False
