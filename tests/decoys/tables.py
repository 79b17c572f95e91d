"""Tables of known correlations, for the tests of decoys."""

from __future__ import annotations

import numpy as np


def autoregressive(correlation, rows, p, rng):
    X = rng.standard_normal((rows, p))
    for j in range(1, p):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    return X


def common_factor(rows, p, rng):
    return (rng.standard_normal((rows, 1)) + rng.standard_normal((rows, p))) / 2


def correlations(a, b):
    """Of the columns of two tables, one by one."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    return (a * b).mean(axis=0) / (a.std(axis=0) * b.std(axis=0))
