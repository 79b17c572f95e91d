"""One 0/1 column per category."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -2


def one_hot(
    codes: NDArray[np.int64], n_levels: int, unknown: float = np.nan
) -> NDArray[np.float64]:
    """0/1 columns of the levels of a feature (rows, levels).

    Parameters
    ----------
    codes : int64 array
        The level of each row; -1 where it is missing (a row of NaN), -2 where it is none of
        the levels (a row of ``unknown``).
    n_levels : int
    unknown : float, default=NaN

    Examples
    --------
    >>> one_hot(np.array([1, 0, -1]), 2)
    array([[ 0.,  1.],
           [ 1.,  0.],
           [nan, nan]])
    """
    rows = np.concatenate([np.eye(n_levels), np.full((2, n_levels), np.nan)])
    rows[UNKNOWN] = unknown
    return rows[codes]


def codes_of(labels: NDArray[np.object_], levels: Iterable[str]) -> NDArray[np.int64]:
    """The place of each label among the levels; -1 for None, -2 for a label that is not there."""
    place_of: dict[str | None, int] = {str(level): place for place, level in enumerate(levels)}
    place_of[None] = -1
    return np.fromiter((place_of.get(label, UNKNOWN) for label in labels), np.int64, len(labels))
