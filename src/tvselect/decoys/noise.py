"""Normal numbers that belong to rows: the same row has the same ones, whenever it comes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Words = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def noise_of_rows(X: NDArray[np.float64], key: int) -> NDArray[np.float64]:
    """Standard normal numbers of the shape of a table, a function of each row and the key.

    Rows that are equal get equal numbers, all others independent ones.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.decoys.noise import noise_of_rows
    >>> noise = noise_of_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]), key=7)
    >>> noise.shape
    (3, 2)
    >>> bool((noise[0] == noise[2]).all())
    True
    """
    bits = np.where(np.isnan(X), np.nan, X + 0.0).view(np.uint64)
    steps = np.arange(1, X.shape[1] + 1, dtype=np.uint64) * GOLDEN
    start = _mix(np.array([key % 2**64], dtype=np.uint64))
    rows = _mix(_mix(bits ^ _mix(steps + start)).sum(axis=1, dtype=np.uint64))
    words = _mix(rows[:, None] + steps)
    return ndtri(((words >> np.uint64(11)) + 0.5) / 2.0**53)


def _mix(x: Words) -> Words:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
