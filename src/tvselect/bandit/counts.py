"""Counts of rewards along the plays of a chain; outside the search, no one else adds them up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.play import Play


class FreshArms(NamedTuple):
    """Arms that start anew after so many plays."""

    n_plays: int
    arms: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Counts:
    """How often arms were rewarded and not: int32, or float64 when earlier rewards fade."""

    successes: NDArray[Any]
    failures: NDArray[Any]
    #: What is left of an arm's earlier rewards when it is played again.
    discount: float = 1.0
    #: Times that arms were played, where the sum does not say it.
    faded: NDArray[np.int32] | None = None

    @classmethod
    def zeros(cls, n_arms: int, discount: float = 1.0) -> Self:
        """Before the first play."""
        if discount == 1.0:
            return cls(np.zeros(n_arms, np.int32), np.zeros(n_arms, np.int32))
        return cls(np.zeros(n_arms), np.zeros(n_arms), discount, np.zeros(n_arms, np.int32))

    def copy(self) -> Self:
        """The counts as they are now."""
        faded = None if self.faded is None else self.faded.copy()
        return type(self)(self.successes.copy(), self.failures.copy(), self.discount, faded)

    @property
    def times_played(self) -> NDArray[np.int32]:
        """How often arms were played."""
        return self.successes + self.failures if self.faded is None else self.faded

    def follow(
        self,
        plays: Iterable[Play],
        places: NDArray[np.int64] | None = None,
        fresh: FreshArms | None = None,
    ) -> Iterator[Play]:
        """Count plays one by one, in place; each is handed on as soon as it is counted.

        Parameters
        ----------
        plays : iterable of Play
        places : int array, optional
            By arm where it is counted, -1 for arms that are not; every arm at its own number
            by default.
        fresh : FreshArms, optional
            Arms that start anew, and when.

        Examples
        --------
        >>> plays = [Play(0, np.array([2, 4], np.int32), np.array([True, False]), 0.1)]
        >>> counts = Counts.zeros(5)
        >>> for play in counts.follow(plays):
        ...     print(play.number, counts.successes, counts.failures)
        0 [0 0 1 0 0] [0 0 0 0 1]
        """
        for play in plays:
            if fresh is not None and play.number == fresh.n_plays:
                forgotten = fresh.arms if places is None else places[fresh.arms]
                self.successes[forgotten[forgotten >= 0]] = 0
                self.failures[forgotten[forgotten >= 0]] = 0
            arms, rewards = play.arms.astype(np.intp), play.rewards
            if places is not None:
                arms = places[arms]
                is_counted = arms >= 0
                arms, rewards = arms[is_counted], rewards[is_counted]
            if self.faded is not None:
                self.successes[arms] *= self.discount
                self.failures[arms] *= self.discount
                self.faded[arms] += 1
            self.successes[arms] += rewards
            self.failures[arms] += ~rewards
            yield play
