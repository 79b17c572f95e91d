"""Weights of rows: a row of weight 2 counts as two rows, which stay one observation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tvselect.inputs.table import Table

MOST_REPEATS = 20
"""Largest whole weight that is taken at its word."""


def check_weights(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Weights as floats, one for each row.

    Raises
    ------
    ValueError
        For another number of them, and for negative, missing or infinite ones.
    """
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, X has {n_rows} rows")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError("sample_weight must be finite, not negative and not all zero")
    return weights


def repeated_rows(weights: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """The rows that weights stand for, each as often as its weight says.

    Whole numbers up to 20 are taken at their word once a common divisor is taken out: 3 for each
    row says no more than 1. Others are scaled so that as many rows come out as have a positive
    weight, and rounded up or down at random, such that each is right on average.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.inputs.weights import repeated_rows
    >>> repeated_rows(np.array([2.0, 0.0, 1.0]), np.random.default_rng(0))
    array([0, 0, 2])
    """
    if weights.max() > MOST_REPEATS or not np.array_equal(weights, np.floor(weights)):
        scaled = weights * (np.count_nonzero(weights) / weights.sum())
        order = rng.permutation(weights.size)
        ends = np.floor(np.cumsum(scaled[order]) + rng.random())
        counts = np.empty(weights.size)
        counts[order] = np.diff(ends, prepend=0.0)
        repeats = counts.astype(np.int64)
    else:
        repeats = weights.astype(np.int64)
        repeats //= np.gcd.reduce(repeats)
    return np.repeat(np.arange(weights.size), repeats)


def thinned_rows(weights: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """A sample of rows in which each has the chance that its weight says, none twice.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.inputs.weights import thinned_rows
    >>> thinned_rows(np.array([2.0, 0.0, 2.0]), np.random.default_rng(0))
    array([0, 2])
    """
    return np.flatnonzero(rng.random(weights.size) * weights.max() < weights)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of a table or outcome of any kind."""
    if isinstance(X, Table):
        return X.rows(rows)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "take") and type(X).__module__.startswith("pyarrow"):
        return X.take(rows)
    if hasattr(X, "shape") or type(X).__module__.startswith("polars"):
        return X[rows]
    return [X[row] for row in rows.tolist()]
