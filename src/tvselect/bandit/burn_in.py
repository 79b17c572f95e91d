"""Burn-in: what the first, wide plays found decides who starts anew, and counts no more."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CAUTION = 2.0


class BurnIn(NamedTuple):
    """After ``n_plays`` plays the ``n_leaders`` leading arms start anew.

    In the first plays hundreds of arms share a forest, and a signal may lose as often as noise
    does. That is enough to find the arms that deserve to be heard, but hard on their selection
    rates, which a few early losses keep below the threshold for good. After burn-in the
    leaders are back at their prior, and among themselves; the others keep what they have, and
    are not drawn again.
    """

    n_plays: int
    n_leaders: int
    heard: tuple[int, ...] = ()  #: Arms that start anew in any case

    def leaders(self, successes: NDArray[Any], failures: NDArray[Any]) -> NDArray[np.int32]:
        """Arms that start anew, in rising order.

        Examples
        --------
        >>> BurnIn(10, 2).leaders(np.array([0, 5, 1, 3]), np.array([0, 5, 9, 1]))
        array([1, 3], dtype=int32)
        """
        rates = successes / (successes + failures + CAUTION)
        best = np.argsort(-rates, kind="stable")[: self.n_leaders]
        return np.union1d(best, np.array(self.heard, dtype=np.intp)).astype(np.int32)
