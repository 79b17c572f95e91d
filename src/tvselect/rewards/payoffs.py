"""What rewards share: a bootstrap replicate of the rows, and a check of their values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.rewards.base import Data

MOST_REDRAWS = 100
ROUNDING = 1e-9


def check_payoffs(values: Any, n_columns: int, *, what: str = "the reward") -> NDArray[np.float64]:
    """Payoffs as floats, once they are known to be lawful.

    Parameters
    ----------
    values : array-like of numbers or booleans
        What a reward returned for a play.
    n_columns : int
        Number of played columns.
    what : str
        Who returned it, for error messages.

    Returns
    -------
    float64 array
        A copy; the caller's array is not handed on.

    Raises
    ------
    TypeError
        When they are no numbers.
    ValueError
        For another shape, missing values and values outside [0, 1]; what rounding has
        pushed out by less than 1e-9 is put back.

    Examples
    --------
    >>> from tvselect.rewards.payoffs import check_payoffs
    >>> check_payoffs([True, False, 0.5], 3)
    array([1. , 0. , 0.5])
    """
    wanted = f"return one number in [0, 1] for each of the {n_columns} played columns"
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{what} returned rows of different lengths; {wanted}") from None
    if array.dtype.kind not in "biuf":
        shown = type(values).__name__ if array.ndim == 0 else f"values of type {array.dtype}"
        raise TypeError(f"{what} returned no numbers but {shown}; {wanted}")
    if array.ndim != 1:
        raise ValueError(f"{what} returned an array of shape {array.shape}; {wanted}")
    if array.size != n_columns:
        raise ValueError(f"{what} returned {array.size} payoff(s); {wanted}")
    payoffs = array.astype(np.float64)
    bad = np.flatnonzero(~((payoffs >= -ROUNDING) & (payoffs <= 1.0 + ROUNDING)))
    if bad.size:
        first = int(bad[0])
        remedy = "use 0 where nothing is known" if np.isnan(payoffs[first]) else "rescale or clip"
        raise ValueError(
            f"{what} returned {bad.size} payoff(s) outside [0, 1], the first at position {first} "
            f"({payoffs[first]}); {remedy}"
        )
    return np.clip(payoffs, 0.0, 1.0)


def draw_rows(data: Data, bootstrap: bool, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Rows that a play looks at: all, or as many drawn with replacement, in increasing order.

    A draw in which the outcome is constant is thrown away; None after 100 of these.
    """
    y, n = data.outcome.values, data.n_rows
    if not bootstrap:
        return np.arange(n)
    for _ in range(MOST_REDRAWS):
        rows = np.sort(rng.integers(n, size=n))
        if np.ptp(y[rows]) > 0.0:
            return rows
    return None
