"""Counts of payoffs along the plays of a chain; outside the game, no one else adds them up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.play import Play


@dataclass(frozen=True, eq=False)
class Counts:
    """How often arms were paid, not paid and played."""

    successes: NDArray[Any]  #: int32, float64 when discounted; so are failures
    failures: NDArray[Any]
    times_played: NDArray[np.int32]  #: Never discounted

    @classmethod
    def zeros(cls, n_arms: int, discount: float = 1.0) -> Self:
        """Before the first play."""
        kind = np.int32 if discount == 1.0 else np.float64
        return cls(np.zeros(n_arms, kind), np.zeros(n_arms, kind), np.zeros(n_arms, np.int32))

    def copy(self) -> Self:
        """The counts as they are now."""
        return type(self)(self.successes.copy(), self.failures.copy(), self.times_played.copy())

    def follow(
        self, plays: Iterable[Play], discount: float = 1.0, places: NDArray[np.int32] | None = None
    ) -> Iterator[Play]:
        """Count plays one by one, in place; each is handed on as soon as it is counted.

        Parameters
        ----------
        plays : iterable of Play
        discount : float, default=1.0
            Whenever an arm is played, its earlier successes and failures are multiplied by it.
        places : int32 array, optional
            By arm where it is counted, -1 for arms that are not; every arm at its own number
            by default.

        Examples
        --------
        >>> plays = [Play(0, np.array([2, 4], np.int32), np.array([True, False]), 0.1)]
        >>> counts = Counts.zeros(5)
        >>> for play in counts.follow(plays):
        ...     print(play.number, counts.successes, counts.failures)
        0 [0 0 1 0 0] [0 0 0 0 1]
        """
        for play in plays:
            arms, rewards = play.arms, play.rewards
            if places is not None:
                arms = places[arms]
                is_counted = arms >= 0
                arms, rewards = arms[is_counted], rewards[is_counted]
            if discount < 1.0:
                self.successes[arms] *= discount
                self.failures[arms] *= discount
            self.successes[arms] += rewards
            self.failures[arms] += ~rewards
            self.times_played[arms] += 1
            yield play
