"""Outcomes that are no numbers: classes, grades, counts and survival times with known signals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.outcome import survival_array

Floats = NDArray[np.float64]


class Labelled(NamedTuple):
    """A table, its outcome of any kind, and which columns matter."""

    X: Floats
    y: NDArray[Any]
    support: NDArray[np.bool_]


def _normal_table(
    n_rows: int, n_columns: int, n_signals: int, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.bool_]]:
    support = np.zeros(n_columns, dtype=np.bool_)
    support[rng.choice(n_columns, n_signals, replace=False)] = True
    return rng.standard_normal((n_rows, n_columns)), support


def simulate_expression(n_rows: int, n_columns: int, rng: np.random.Generator) -> Labelled:
    """Three classes (0, 1, 2) told apart by four genes, two of them by the middle class alone."""
    X, support = _normal_table(n_rows, n_columns, 4, rng)
    y = rng.integers(0, 3, n_rows)
    shifts = np.array([[0.0, 1.2, 0.0], [0.0, 0.0, 1.2], [1.2, 0.0, 0.0], [0.0, 1.2, 0.0]])
    X[:, support] += shifts[:, y].T
    return Labelled(X, y, support)


def simulate_survival(
    n_rows: int,
    n_columns: int,
    rng: np.random.Generator,
    *,
    censored: float,
    proportional: bool,
) -> Labelled:
    """Five columns act on the time to an event; the rest of the rows is censored.

    Proportional hazards: a Weibull law whose log hazard is linear. Not proportional: a log-normal
    time whose mean and spread depend on the columns, two of them by steps and a product.
    """
    X, support = _normal_table(n_rows, n_columns, 5, rng)
    a, b, c, d, e = X[:, support].T
    if proportional:
        score = 0.8 * a - 0.8 * b + 0.6 * c - 0.6 * d + 0.6 * e
        time = (rng.standard_exponential(n_rows) / np.exp(score)) ** (1 / 1.5)
    else:
        middle = 0.9 * (np.abs(a) < 0.7) + 0.9 * (b > 0.3) + 0.5 * c * d
        time = np.exp(middle + np.exp(0.4 * e - 0.5) * rng.standard_normal(n_rows))
    draws = rng.standard_exponential(n_rows)
    low, high = 1e-6, 1e6
    for _ in range(80):  # the rate of censoring that gives the wanted share
        scale = np.sqrt(low * high)
        low, high = (low, scale) if np.mean(draws * scale < time) < censored else (scale, high)
    until = draws * np.sqrt(low * high)
    return Labelled(X, survival_array(np.minimum(time, until), time <= until), support)


def simulate_counts(
    n_rows: int,
    n_columns: int,
    rng: np.random.Generator,
    *,
    mean: float,
    shape: float | None = None,
) -> Labelled:
    """Poisson counts with this median rate; five columns act on its log.

    With a ``shape`` the rate of every row is multiplied by a gamma variable of that shape and
    mean 1, which makes the counts overdispersed (negative binomial).
    """
    X, support = _normal_table(n_rows, n_columns, 5, rng)
    a, b, c, d, e = X[:, support].T
    score = 0.6 * a - 0.6 * b + 0.8 * (c > 0.5) + 0.4 * np.abs(d) + 0.5 * e
    rate = mean * np.exp(score - np.median(score))
    if shape is not None:
        rate *= rng.gamma(shape, 1.0 / shape, n_rows)
    return Labelled(X, rng.poisson(rate), support)


def simulate_grades(
    n_rows: int, n_columns: int, rng: np.random.Generator, *, shares: tuple[float, ...]
) -> Labelled:
    """Grades with these shares, cut from a number on which five columns act."""
    X, support = _normal_table(n_rows, n_columns, 5, rng)
    a, b, c, d, e = X[:, support].T
    latent = a - 0.8 * b + 1.2 * (c > 0.5) + 0.6 * np.abs(d) + 0.6 * e
    latent += rng.standard_normal(n_rows)
    return Labelled(X, np.digitize(latent, np.quantile(latent, np.cumsum(shares)[:-1])), support)
