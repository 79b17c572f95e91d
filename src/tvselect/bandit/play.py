"""A play: what was played and what it paid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Play:
    """The record of one play.

    Attributes
    ----------
    number : int
        Its place in the run, from 0.
    arms : int32 array
        The arms that were played, in increasing order.
    rewards : bool array
        One for each of them.
    seconds : float
        How long the play took.
    """

    number: int
    arms: NDArray[np.int32]
    rewards: NDArray[np.bool_]
    seconds: float
