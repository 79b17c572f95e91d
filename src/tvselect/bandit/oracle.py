"""The oracle: which arms to play, which start anew after burn-in, which make the model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.arms import Arms
from tvselect.core import function

NO_PAIRS: NDArray[np.int32] = np.empty((0, 2), dtype=np.int32)
join_partners = function(
    "join_partners", "pairs: i4[pairs, two=2]\narms: i4[room]!\nn_arms: int", int
)
"""Let the missing partners of pairs join arms in rising order; how many there are then."""
MOST_REDRAWS = 100
SHARE_BY_LOT, SHARE_FILLED = 0.25, 0.5
MEDIAN_MODEL_COST = (math.sqrt(5.0) - 1.0) / 2.0


def threshold(cost: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
    """Threshold ``c = log(1/C) / log((1 + C)/C)`` of a cost ``C`` in (0, 1); high for low costs."""
    c = np.log(1.0 / np.asarray(cost)) / np.log1p(1.0 / np.asarray(cost))
    c = np.where(np.abs(c - 0.5) < 1e-12, 0.5, c)
    return float(c) if c.ndim == 0 else c


class BurnIn(NamedTuple):
    """After ``n_plays`` plays the ``n_leaders`` leading arms start anew.

    In the first plays hundreds of arms share a forest, and a few early losses could keep a signal
    down for good. Leaders go back to their prior; the others are not drawn again.
    """

    n_plays: int
    n_leaders: int
    heard: tuple[int, ...] = ()  #: Arms that start anew in any case

    def leaders(self, successes: NDArray[Any], failures: NDArray[Any]) -> NDArray[np.int32]:
        """Arms that start anew, in rising order."""
        rates = successes / (successes + failures + 2.0)
        best = np.argsort(-rates, kind="stable")[: self.n_leaders]
        return np.union1d(best, np.array(self.heard, dtype=np.intp)).astype(np.int32)


NO_BURN_IN = BurnIn(0, 0)


@dataclass(frozen=True)
class Oracle:
    """Chooses the arms of a play and reads the model off the arms."""

    n_wanted: int | None = None
    """Known model size ``q*``: so many are selected and, unless there is a ``crowd``, at most so
    many played, and of decoys of a table those that draw as high."""
    n_candidates: int | None = None  #: Arms from this number on are decoys, never part of the model
    n_joining: int = 0
    """Decoys that every arm is played with, each of which is ``n_candidates`` behind the one
    before; ``q*`` then counts them once."""
    pairs: NDArray[np.int32] = field(default_factory=lambda: NO_PAIRS)
    """Arms (pairs, 2) that are played together: where one of a pair is drawn, the other joins.
    Without effect where the size of the model is known."""
    crowd: int | None = None
    """Most arms that play at once beside those of the model; see :meth:`Oracle.choose`."""

    def choose(self, arms: Arms, rng: np.random.Generator) -> NDArray[np.int32]:
        """Those of ``arms`` whose draw reaches the threshold; of these the ``q*`` largest draws.

        An empty choice is drawn again; after 100 of them the largest draws are played. The draws of
        decoys that come along decide nothing. With a ``crowd`` the model plays, and of the
        arms that were drawn or never played those that lead by what else is known, and some by lot.
        """
        n_free = self.n_candidates if self.n_joining else None
        for _ in range(MOST_REDRAWS):
            quantiles = arms.draw(rng)
            chosen = arms.reaching(quantiles)
            chosen = chosen[: None if n_free is None else np.searchsorted(chosen, n_free)]
            if chosen.size:
                n_wanted = self.n_wanted or chosen.size
                break
        else:
            chosen = arms.drawable()[:n_free]
            n_wanted = self.n_wanted or 1
        if self.crowd is not None:
            chosen = self._seated(arms, chosen, rng)
        elif chosen.size > n_wanted:
            thetas, n_own = arms.thetas(chosen, quantiles), self.n_candidates or len(arms)
            if n_free is None and chosen[-1] >= n_own:  # decoys that draw as high play, too
                own = np.sort(thetas[: np.searchsorted(chosen, n_own)])
                chosen = chosen[thetas >= own[-n_wanted]] if own.size > n_wanted else chosen
            else:
                chosen = _largest(chosen, thetas, n_wanted)
        if self.n_wanted is None and self.pairs.size:
            joined = np.concatenate([chosen, np.empty(len(self.pairs), dtype=np.int32)])
            chosen = joined[: join_partners(self.pairs, joined, chosen.size)]
        return self._joined(chosen)

    def _joined(self, chosen: NDArray[np.int32]) -> NDArray[np.int32]:
        """Arms with the decoys that come along."""
        n_own = self.n_candidates or 0
        return np.concatenate([chosen + np.int32(k * n_own) for k in range(1 + self.n_joining)])

    def leaders(self, arms: Arms) -> NDArray[np.int32]:
        """A crowd of the arms of the highest rates so far, all above the threshold among them."""
        own = slice(self.n_candidates)
        rates = arms.successes[own] / (arms.successes[own] + arms.failures[own] + 2.0)
        n_leaders = max(self.crowd or 1, np.count_nonzero(arms.passing[own]))
        order = np.lexsort([-rates, ~arms.passing[own]])
        return self._joined(np.sort(order[:n_leaders]).astype(np.int32))

    def _seated(
        self, arms: Arms, drawn: NDArray[np.int32], rng: np.random.Generator
    ) -> NDArray[np.int32]:
        """The model, a crowd of the ``drawn`` and the never played; then some that had a reward."""
        assert self.crowd is not None
        n_free = self.n_candidates
        passing, waiting = arms.passing[:n_free].copy(), ~arms.played()[:n_free]
        if arms.resting is not None:
            waiting &= ~arms.resting[:n_free]
        waiting[drawn] = True
        waiting &= ~passing
        model, rest = np.flatnonzero(passing), rng.permutation(np.flatnonzero(waiting))
        by_lot = math.ceil(SHARE_BY_LOT * self.crowd)
        n_rest = max(self.crowd - model.size, by_lot)
        if arms.lead is not None and rest.size > n_rest:
            rest = rest[np.argsort(-arms.lead[rest], kind="stable")]
            rest[n_rest - by_lot :] = rng.permutation(rest[n_rest - by_lot :])
        n_left = math.ceil(SHARE_FILLED * self.crowd) - model.size - rest.size
        again = np.flatnonzero((arms.successes[:n_free] > 0) & ~passing & ~waiting).astype(np.int32)
        if 0 < n_left < again.size:
            again = again[np.argsort(-rng.beta(*arms.posterior(again)), kind="stable")]
        seated = np.concatenate([model, rest[:n_rest], again[: max(n_left, 0)]])
        return np.sort(seated).astype(np.int32)

    def model(self, arms: Arms) -> NDArray[np.int32]:
        """The estimated model: played ``arms`` above the threshold, the ``q*`` best."""
        passing = np.flatnonzero(arms.passing[: self.n_candidates]).astype(np.int32)
        if self.n_wanted is not None and passing.size > self.n_wanted:
            return _largest(passing, arms.means(passing), self.n_wanted)
        return passing


def _largest(
    arms: NDArray[np.int32], values: NDArray[np.float64], n_wanted: int
) -> NDArray[np.int32]:
    return np.sort(arms[np.argsort(-values, kind="stable")[:n_wanted]])
