"""Arms: how often each was rewarded, and which of them pass their threshold in a draw."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from tvselect.core import struct

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]
BLOCK = 64
ARMS_AT_ONCE = 2**20
EVERY_ARM = slice(None)


@struct("posteriors")
class Posteriors(NamedTuple):
    """Arms of one prior and threshold as the core reads and changes them, see :class:`Arms`."""

    successes: Annotated[IntArray, "i4[arms]!"]
    failures: Annotated[IntArray, "i4[arms]!"]
    chance_below: Annotated[NDArray[np.float32], "f4[arms]!"]  # that a draw is below the threshold
    passing: Annotated[NDArray[np.bool_], "b1[arms]!"]
    table: Annotated[FloatArray, "f8[successes, failures]"]  # chance_below, or NaN
    prior_a: float
    prior_b: float
    threshold: float


class ChanceTable:
    """Probability by successes and failures that a draw stays below; filled in when needed."""

    def __init__(self, *beta: float) -> None:
        self.beta = beta
        self.values: FloatArray = np.empty((0, 0))
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return chance_table, self.beta

    def at(self, s: IntArray, f: IntArray) -> FloatArray:
        """The probabilities of some counts."""
        table = self.values
        if s.max(initial=-1) < table.shape[0] and f.max(initial=-1) < table.shape[1]:
            found: FloatArray = table[s, f]
            if not np.isnan(found).any():
                return found
        self.extend(s, f)
        return self.values[s, f]

    def extend(self, s: IntArray, f: IntArray) -> None:
        """Compute what some counts need."""
        with self._lock:
            table = self.values
            shape = tuple(
                max(size, BLOCK, 1 << int(counts.max(initial=0)).bit_length())
                for size, counts in zip(table.shape, (s, f), strict=True)
            )
            if shape != table.shape:
                table = np.full(shape, np.nan)
                table[: self.values.shape[0], : self.values.shape[1]] = self.values
            wanted = np.zeros((shape[0] // BLOCK, shape[1] // BLOCK), dtype=np.bool_)
            wanted[s // BLOCK, f // BLOCK] = True
            a, b, c = self.beta
            for i, j in BLOCK * np.argwhere(wanted & np.isnan(table[::BLOCK, ::BLOCK])):
                table[i : i + BLOCK, j : j + BLOCK] = betainc(
                    a + np.arange(i, i + BLOCK)[:, None], b + np.arange(j, j + BLOCK), c
                )
            self.values = table


@lru_cache(maxsize=16)
def chance_table(*beta: float) -> ChanceTable:
    """The table of a prior ``a``, ``b`` and a threshold, shared by all arms that have these."""
    return ChanceTable(*beta)


class Arms:
    """Beta posteriors of all arms, as counts of rewards.

    Whether a draw ``theta_i ~ Beta(a_i, b_i)`` reaches ``c_i`` is decided by one uniform number
    and the stored probability of staying below, which changes only for arms that were played.
    Prior and threshold are one for all or one per arm. With a ``discount`` below 1 an arm that is
    played forgets a part of its earlier rewards. ``idle`` arms are never drawn, ``resting`` ones
    (these, and after burn-in all but the leaders) not now. ``passing`` are arms that were played
    and have a mean above their threshold. ``lead`` says what is known of arms beside their plays.
    """

    def __init__(
        self,
        n_arms: int,
        prior_a: float | FloatArray = 1.0,
        prior_b: float | FloatArray = 1.0,
        threshold: float | FloatArray = 0.5,
        discount: float = 1.0,
        idle: NDArray[np.bool_] | None = None,
    ) -> None:
        self.prior_a, self.prior_b, self.threshold = prior_a, prior_b, threshold
        self.discount, self.idle, self.resting = discount, idle, idle
        kind = np.int32 if discount == 1.0 else np.float64
        self.successes: NDArray[Any] = np.zeros(n_arms, dtype=kind)
        self.failures: NDArray[Any] = np.zeros(n_arms, dtype=kind)
        self.lead: FloatArray | None = None
        self.passing = np.zeros(n_arms, dtype=np.bool_)
        self._chance_below = np.zeros(n_arms, dtype=np.float32)
        beta: Any = prior_a, prior_b, threshold
        alike = discount == 1.0 and all(isinstance(value, float) for value in beta)
        self._table = chance_table(*beta) if alike else None
        self._refresh()

    def __len__(self) -> int:
        """Number of arms."""
        return self.successes.size

    def posterior(self, arms: IntArray | slice = EVERY_ARM) -> tuple[FloatArray, FloatArray]:
        """Parameters ``a`` and ``b`` of some ``arms``, or of all."""
        a: FloatArray = np.add(_of(self.prior_a, arms), self.successes[arms], dtype=np.float64)
        b: FloatArray = np.add(_of(self.prior_b, arms), self.failures[arms], dtype=np.float64)
        return a, b

    def means(self, arms: IntArray | slice = EVERY_ARM) -> FloatArray:
        """Posterior means ``a / (a + b)`` of some ``arms``, or of all."""
        a, b = self.posterior(arms)
        return a / (a + b)

    def played(self, arms: IntArray | slice = EVERY_ARM) -> NDArray[np.bool_]:
        """Which of some ``arms``, or of all, were played at least once."""
        return (self.successes[arms] + self.failures[arms]) > 0

    def draw(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """The draw of every theta as a quantile, by ``rng``, in steps of 2^-24."""
        return rng.random(len(self), dtype=np.float32)

    def drawable(self) -> IntArray:
        """Arms that may be drawn."""
        arms = np.arange(len(self), dtype=np.int32)
        return arms if self.resting is None else arms[~self.resting]

    def reaching(self, quantiles: NDArray[np.float32]) -> IntArray:
        """Arms whose draw, given as ``quantiles``, reaches its threshold."""
        return np.flatnonzero(quantiles >= self._chance_below).astype(np.int32)

    def thetas(self, arms: IntArray, quantiles: NDArray[np.float32]) -> FloatArray:
        """The values of ``arms`` at these ``quantiles``."""
        a, b = self.posterior(arms)
        return betaincinv(a, b, quantiles[arms].astype(np.float64))

    def update(self, arms: IntArray, rewards: NDArray[np.bool_]) -> None:
        """Count the ``rewards`` of the ``arms`` of a play."""
        if arms.size and not 0 <= arms.min() <= arms.max() < len(self):
            raise ValueError(f"arms must be from 0 to {len(self) - 1}, got {arms.max()}")
        count(self.successes, self.failures, arms, rewards, self.discount)
        self._settle(arms)

    def posteriors(self) -> Posteriors | None:
        """The arms for the core; None where they differ in prior or threshold, or forget."""
        if self._table is None:
            return None
        counts, table = (self.successes, self.failures), self._table
        return Posteriors(*counts, self._chance_below, self.passing, table.values, *table.beta)

    def extend_table(self, arms: IntArray, rewards: NDArray[np.bool_]) -> None:
        """Compute the chances that counting these ``rewards`` of ``arms`` asks for."""
        assert self._table is not None
        self._table.extend(self.successes[arms] + rewards, self.failures[arms] + ~rewards)

    def begin(self, leaders: IntArray | None = None) -> None:
        """Bring all arms back to their prior, or the ``leaders``: the others keep it, and rest."""
        anew = EVERY_ARM if leaders is None else leaders
        self.successes[anew] = 0
        self.failures[anew] = 0
        self.resting = self.idle
        if leaders is not None:
            self.resting = np.ones(len(self), dtype=np.bool_)
            self.resting[leaders] = False if self.idle is None else self.idle[leaders]
        self._refresh()

    def _refresh(self) -> None:
        for first in range(0, len(self), ARMS_AT_ONCE):
            self._settle(slice(first, first + ARMS_AT_ONCE))
        if self.resting is not None:
            self._chance_below[self.resting] = 1.0

    def _settle(self, arms: IntArray | slice) -> None:
        (a, b), c = self.posterior(arms), _of(self.threshold, arms)
        if self._table is None:
            self._chance_below[arms] = betainc(a, b, c)
        else:
            self._chance_below[arms] = self._table.at(self.successes[arms], self.failures[arms])
        self.passing[arms] = self.played(arms) & (a / (a + b) > c)


def count(
    successes: NDArray[Any],
    failures: NDArray[Any],
    arms: NDArray[Any],
    rewards: NDArray[np.bool_],
    discount: float = 1.0,
) -> None:
    """Count the ``rewards`` of the ``arms`` of a play; their earlier ones fade by ``discount``."""
    if discount < 1.0:
        successes[arms] *= discount
        failures[arms] *= discount
    successes[arms] += rewards
    failures[arms] += ~rewards


def _of(value: float | FloatArray, arms: IntArray | slice) -> float | FloatArray:
    return value if np.ndim(value) == 0 else np.asarray(value)[arms]
