"""Arms: how often each was paid, and which of them pass their threshold in a draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]


class Arms:
    """Beta posteriors of all arms, as counts of payoffs.

    Whether a draw ``theta_i ~ Beta(a_i, b_i)`` reaches ``c_i`` is decided by one uniform
    number against the stored probability of staying below, which changes only for arms
    that were played. The drawn values themselves are computed only where asked for.

    Parameters
    ----------
    n_arms : int
    prior_a, prior_b : float or array (n_arms,)
        The Beta prior, one for all or one per arm.
    threshold : float or array (n_arms,)
        ``c``, one for all or one per arm.

    Attributes
    ----------
    successes, failures : int32 arrays
    passing : bool array
        Arms that were played and whose mean is at or above their threshold.
    """

    def __init__(
        self,
        n_arms: int,
        prior_a: float | FloatArray = 1.0,
        prior_b: float | FloatArray = 1.0,
        threshold: float | FloatArray = 0.5,
    ) -> None:
        self.prior_a, self.prior_b, self.threshold = prior_a, prior_b, threshold
        self.successes = np.zeros(n_arms, dtype=np.int32)
        self.failures = np.zeros(n_arms, dtype=np.int32)
        self.passing = np.zeros(n_arms, dtype=np.bool_)
        alike = all(np.ndim(value) == 0 for value in (prior_a, prior_b, threshold))
        self._table = np.empty((0, 0)) if alike else None
        every_arm = np.arange(n_arms, dtype=np.int32)
        self._chance_below = np.zeros(n_arms)
        self._chance_below[:] = self._below(every_arm)

    def __len__(self) -> int:
        """Number of arms."""
        return self.successes.size

    def posterior(self, arms: IntArray | slice = slice(None)) -> tuple[FloatArray, FloatArray]:
        """Parameters ``a`` and ``b`` of some arms, or of all."""
        a: FloatArray = np.add(_of(self.prior_a, arms), self.successes[arms], dtype=np.float64)
        b: FloatArray = np.add(_of(self.prior_b, arms), self.failures[arms], dtype=np.float64)
        return a, b

    def means(self, arms: IntArray | slice = slice(None)) -> FloatArray:
        """Posterior means ``a / (a + b)``."""
        a, b = self.posterior(arms)
        return a / (a + b)

    def played(self) -> NDArray[np.bool_]:
        """Which arms were played at least once."""
        return (self.successes + self.failures) > 0

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """One uniform number per arm: the draw of every theta, in quantiles."""
        return rng.random(len(self))

    def reaching(self, quantiles: FloatArray) -> IntArray:
        """Arms whose draw reaches its threshold."""
        return np.flatnonzero(quantiles >= self._chance_below).astype(np.int32)

    def thetas(self, arms: IntArray, quantiles: FloatArray) -> FloatArray:
        """The drawn values of some arms."""
        a, b = self.posterior(arms)
        return betaincinv(a, b, quantiles[arms])

    def update(self, arms: IntArray, rewards: NDArray[np.bool_]) -> None:
        """Count the payoffs of a play."""
        self.successes[arms] += rewards
        self.failures[arms] += ~rewards
        self._chance_below[arms] = self._below(arms)
        self.passing[arms] = self.means(arms) >= _of(self.threshold, arms)

    def add(self, *others: Arms) -> None:
        """Add the counts of other runs of the same game."""
        for other in others:
            self.successes += other.successes
            self.failures += other.failures
        every_arm = np.arange(len(self), dtype=np.int32)
        self._chance_below[:] = self._below(every_arm)
        self.passing[:] = self.played() & (self.means() >= self.threshold)

    def _below(self, arms: IntArray) -> FloatArray:
        """Probability that a draw stays below the threshold."""
        s, f = self.successes[arms], self.failures[arms]
        if self._table is None:
            a, b = self.posterior(arms)
            return betainc(a, b, _of(self.threshold, arms))
        if s.max(initial=0) >= self._table.shape[0] or f.max(initial=0) >= self._table.shape[1]:
            rows = _room(self._table.shape[0], int(s.max(initial=0)))
            columns = _room(self._table.shape[1], int(f.max(initial=0)))
            self._table = betainc(
                self.prior_a + np.arange(rows)[:, None],
                self.prior_b + np.arange(columns)[None, :],
                self.threshold,
            )
        return self._table[s, f]


def _of(value: float | FloatArray, arms: IntArray | slice) -> float | FloatArray:
    return value if np.ndim(value) == 0 else np.asarray(value)[arms]


def _room(size: int, largest: int) -> int:
    size = max(size, 16)
    while size <= largest:
        size *= 2
    return size
