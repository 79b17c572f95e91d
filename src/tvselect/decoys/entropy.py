"""How far copies can be from their originals: the choice that has the most entropy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

Floats = NDArray[np.float64]

STEPS = 50
TOLERANCE = 1e-3


def most_entropy(R: Floats, n_copies: int = 1) -> Floats:
    """Maximise ``log det((1 + 1/B) R - diag(s)) + B sum(log(s))`` by Newton's method."""
    R = (1 + 1 / n_copies) * R
    s = 1 / np.diag(np.linalg.inv(R))
    # Half of the largest multiple with R - diag(s) >= 0.
    s *= 0.5 * np.linalg.eigvalsh(R / np.sqrt(np.outer(s, s)))[0]
    entropy = _entropy(R, s, n_copies)
    for _ in range(STEPS):
        inverse = np.linalg.inv(R - np.diag(s))
        gradient = n_copies / s - np.diag(inverse)
        direction = solve(inverse**2 + np.diag(n_copies * s**-2), gradient, assume_a="pos")
        gain = gradient @ direction
        # The gain bounds the sum of squared relative changes of s.
        if gain < TOLERANCE**2 * n_copies:
            break
        step = 1.0
        while (reached := _entropy(R, s + step * direction, n_copies)) < entropy + step * gain / 4:
            step /= 2
        s, entropy = s + step * direction, reached
    return s


def _entropy(R: Floats, s: Floats, n_copies: int) -> float:
    if s.min() <= 0:
        return -np.inf
    try:
        factor = np.linalg.cholesky(R - np.diag(s))
    except np.linalg.LinAlgError:
        return -np.inf
    return float(2 * np.log(np.diag(factor)).sum() + n_copies * np.log(s).sum())
