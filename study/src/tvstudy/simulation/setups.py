"""The simulated set-ups of the paper; the first five variables are the signals."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.utils import check_scalar

from tvselect.seeds import as_generator

N_SIGNALS = 5
FloatArray = NDArray[np.float64]


class Simulated(NamedTuple):
    """A simulated data set.

    Attributes
    ----------
    X : float64 array (rows, columns)
        Of categories a data frame with text.
    y : float64 array
    f : float64 array
        The outcome without noise.
    support : bool array
        True for the signals.
    """

    X: Any
    y: FloatArray
    f: FloatArray
    support: NDArray[np.bool_]


def simulate(
    setup: str,
    n_rows: int,
    n_columns: int,
    *,
    noise_variance: float | None = None,
    random_state: Any = None,
) -> Simulated:
    """Draw a data set from a set-up of the paper.

    Parameters
    ----------
    setup : {"linear", "friedman", "friedman-correlated", "forest", "liang"}
        - linear: ``x1 + 2 x2 + 3 x3 - 2 x4 - x5``, normal columns with correlation
          ``0.9^|j-k|``, noise variance 5;
        - friedman: ``10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5``, uniform columns,
          independent, or with a Gaussian copula of equal correlation 0.3
          (friedman-correlated), noise variance 1;
        - forest: one draw of the BART prior with 200 trees that split on the signals at
          values of the data, leaf means N(0, 4/200), normal columns with correlation
          ``0.3^|j-k|``, noise variance 0.5;
        - liang: ``10 x2 / (1 + x1^2) + 5 sin(x3 x4) + 2 x5``, columns ``(e_i + z_ij) / 2``
          with standard normal parts, noise variance 0.5.
    n_rows, n_columns : int
    noise_variance : float, optional
        Another noise variance.
    random_state : None, int, SeedSequence or Generator

    Returns
    -------
    Simulated

    Examples
    --------
    >>> from tvstudy.simulation import simulate
    >>> data = simulate("liang", 100, 1000, random_state=0)
    >>> data.X.shape, data.support.sum()
    ((100, 1000), np.int64(5))
    """
    if setup not in SETUPS:
        raise ValueError(f"setup must be one of {', '.join(SETUPS)}, got {setup!r}")
    check_scalar(n_rows, "n_rows", Integral, min_val=2)
    check_scalar(n_columns, "n_columns", Integral, min_val=N_SIGNALS)
    if noise_variance is not None:
        check_scalar(noise_variance, "noise_variance", Real, min_val=0.0)
    rng = as_generator(random_state)
    columns, signal, variance = SETUPS[setup]
    X = columns(rng, n_rows, n_columns)
    f = signal(rng, X)
    variance = variance if noise_variance is None else noise_variance
    y = f + np.sqrt(variance) * rng.standard_normal(n_rows)
    return Simulated(X, y, f, np.arange(n_columns) < N_SIGNALS)


def cut(d: Simulated, share: float) -> Simulated:
    """The same data set with two classes: whether the outcome is among the largest."""
    return d._replace(y=(d.y > np.quantile(d.y, 1.0 - share)).astype(np.float64))


def autoregressive(correlation: float) -> Callable[..., FloatArray]:
    """Normal columns with correlation ``correlation^|j-k|``."""

    def columns(rng: np.random.Generator, n_rows: int, n_columns: int) -> FloatArray:
        X = rng.standard_normal((n_rows, n_columns))
        scale = np.sqrt(1.0 - correlation**2)
        for j in range(1, n_columns):
            X[:, j] = correlation * X[:, j - 1] + scale * X[:, j]
        return X

    return columns


def _uniform(rng: np.random.Generator, n_rows: int, n_columns: int) -> FloatArray:
    return rng.random((n_rows, n_columns))


def _uniform_copula(rng: np.random.Generator, n_rows: int, n_columns: int) -> FloatArray:
    common = rng.standard_normal((n_rows, 1))
    return ndtr(np.sqrt(0.3) * common + np.sqrt(0.7) * rng.standard_normal((n_rows, n_columns)))


def _common_factor(rng: np.random.Generator, n_rows: int, n_columns: int) -> FloatArray:
    return (rng.standard_normal((n_rows, 1)) + rng.standard_normal((n_rows, n_columns))) / 2.0


def _linear(rng: np.random.Generator, X: FloatArray) -> FloatArray:
    return X[:, :5] @ np.array([1.0, 2.0, 3.0, -2.0, -1.0])


def _friedman(rng: np.random.Generator, X: FloatArray) -> FloatArray:
    wave = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1])
    return wave + 20.0 * (X[:, 2] - 0.5) ** 2 + 10.0 * X[:, 3] + 5.0 * X[:, 4]


def _liang(rng: np.random.Generator, X: FloatArray) -> FloatArray:
    ratio = 10.0 * X[:, 1] / (1.0 + X[:, 0] ** 2)
    return ratio + 5.0 * np.sin(X[:, 2] * X[:, 3]) + 2.0 * X[:, 4]


def _forest(rng: np.random.Generator, X: FloatArray, n_trees: int = 200) -> FloatArray:
    f = np.zeros(len(X))
    for _ in range(n_trees):
        stack = [(np.arange(len(X)), 0)]
        while stack:
            rows, depth = stack.pop()
            if rows.size > 1 and rng.random() < 0.95 / (1.0 + depth) ** 2:
                x = X[rows, rng.integers(N_SIGNALS)]
                left = x < rng.choice(x)
                if 0 < left.sum() < rows.size:
                    stack += [(rows[left], depth + 1), (rows[~left], depth + 1)]
                    continue
            f[rows] += rng.normal(0.0, np.sqrt(4.0 / n_trees))
    return f


SETUPS: dict[str, tuple[Callable[..., FloatArray], Callable[..., FloatArray], float]] = {
    "linear": (autoregressive(0.9), _linear, 5.0),
    "friedman": (_uniform, _friedman, 1.0),
    "friedman-correlated": (_uniform_copula, _friedman, 1.0),
    "forest": (autoregressive(0.3), _forest, 0.5),
    "liang": (_common_factor, _liang, 0.5),
}
