"""Tables in which nothing matters: columns and an outcome that know nothing of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from tvselect.seeds import as_generator
from tvstudy.simulation.setups import FloatArray, Simulated, autoregressive

Rng = np.random.Generator
MOST_LEVELS = 10
MOST_MISSING = 0.3


def simulate_null(
    columns: str, outcome: str, n_rows: int, n_columns: int, *, random_state: Any = None
) -> Simulated:
    """Draw columns, and an outcome that does not depend on them.

    Parameters
    ----------
    columns : str
        - uniform, normal, t(3): independent;
        - AR(0.9): normal with correlation ``0.9^|j-k|``;
        - 0-1: 1 with a probability between 0.05 and 0.5, a column's own;
        - categories: a data frame of text, 2 to 10 equally likely levels a column;
        - missing: normal, of which 0 to 30 % are missing, a column's own share.
    outcome : str
        normal, t(2), classes (two, equally likely), rare class (two, 5 %), counts (Poisson
        with mean 2).
    n_rows, n_columns : int
    random_state : None, int, SeedSequence or Generator

    Returns
    -------
    Simulated

    Examples
    --------
    >>> from tvstudy.simulation import simulate_null
    >>> data = simulate_null("categories", "rare class", 100, 20, random_state=0)
    >>> data.X.shape, data.support.any()
    ((100, 20), np.False_)
    """
    rng = as_generator(random_state)
    X = COLUMNS[columns](rng, n_rows, n_columns)
    y = OUTCOMES[outcome](rng, n_rows)
    return Simulated(X, y, np.zeros(n_rows), np.zeros(n_columns, dtype=np.bool_))


def _binary(rng: Rng, n_rows: int, n_columns: int) -> FloatArray:
    shares = rng.uniform(0.05, 0.5, n_columns)
    return (rng.random((n_rows, n_columns)) < shares).astype(np.float64)


def _categories(rng: Rng, n_rows: int, n_columns: int) -> pd.DataFrame:
    n_levels = rng.integers(2, MOST_LEVELS, n_columns, endpoint=True)
    levels = np.array([f"level {k}" for k in range(MOST_LEVELS)], dtype=object)
    names = [f"x{j}" for j in range(n_columns)]
    return pd.DataFrame(levels[rng.integers(n_levels, size=(n_rows, n_columns))], columns=names)


def _missing(rng: Rng, n_rows: int, n_columns: int) -> FloatArray:
    X = rng.standard_normal((n_rows, n_columns))
    X[rng.random(X.shape) < rng.uniform(0.0, MOST_MISSING, n_columns)] = np.nan
    return X


def _classes(share: float) -> Callable[[Rng, int], FloatArray]:
    return lambda rng, n: (rng.random(n) < share).astype(np.float64)


COLUMNS: dict[str, Callable[[Rng, int, int], Any]] = {
    "uniform": lambda rng, n, p: rng.random((n, p)),
    "normal": lambda rng, n, p: rng.standard_normal((n, p)),
    "AR(0.9)": autoregressive(0.9),
    "t(3)": lambda rng, n, p: rng.standard_t(3, (n, p)),
    "0-1": _binary,
    "categories": _categories,
    "missing": _missing,
}
OUTCOMES: dict[str, Callable[[Rng, int], FloatArray]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "t(2)": lambda rng, n: rng.standard_t(2, n),
    "classes": _classes(0.5),
    "rare class": _classes(0.05),
    "counts": lambda rng, n: rng.poisson(2.0, n).astype(np.float64),
}
