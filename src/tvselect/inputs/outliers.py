"""Outliers of an outcome: values too far from its median to be taken at their word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAD_TO_SD = 1.4826
FARTHEST = 5.0
RARE = 0.01


def outlier_limits(y: NDArray[np.float64]) -> tuple[float, float]:
    """The median, less and plus five standard deviations by the median absolute one."""
    centre = np.median(y)
    reach = FARTHEST * MAD_TO_SD * np.median(np.abs(y - centre))
    return float(centre - reach), float(centre + reach)


def has_outliers(y: NDArray[np.float64]) -> bool:
    """Whether a value is beyond the limits.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> has_outliers(rng.normal(size=10_000)), has_outliers(rng.standard_t(2, 300))
    (False, True)
    """
    low, high = outlier_limits(y)
    return bool(y.min() < low or y.max() > high)


def pull_in(y: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Set a few values beyond the limits to these, and say how many; a long tail is left alone.

    Examples
    --------
    >>> values, n_moved = pull_in(np.append(np.arange(200.0), 1e12))
    >>> values.max().round(), n_moved
    (np.float64(471.0), 1)
    """
    low, high = outlier_limits(y)
    n_beyond = int(np.count_nonzero((y < low) | (y > high)))
    if n_beyond > RARE * y.size:
        return y, 0
    return np.clip(y, low, high), n_beyond
