"""The LASSO path: coordinate descent at one penalty after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tvselect.core import function

Floats = NDArray[np.float64]

TOLERANCE = 1e-5

descend = function(
    "descend",
    """
    x: f8[columns, rows]
    y: f8[rows]
    weight: f8[rows]
    is_binary: bool
    alpha: float
    max_iter: int
    places: i8[places] < columns
    coef: f8[columns]!
    eta: f8[rows]!
    curvature: f8[rows]!
    pull: f8[rows]!
    """,
)
"""Sweep over some coefficients until none moves."""


@dataclass(frozen=True)
class LassoProblem:
    """A weighted LASSO: standardised columns by row of ``x``, weights that sum to one."""

    x: Floats
    y: Floats
    weight: Floats
    binary: bool
    max_iter: int

    def loss(self, eta: Floats) -> Floats:
        """Loss of each row."""
        return np.logaddexp(0.0, eta) - self.y * eta if self.binary else (self.y - eta) ** 2

    def null(self) -> Floats:
        """Linear predictor of the empty model."""
        mean = self.weight @ self.y
        return np.full(self.y.size, logit(np.clip(mean, 1e-9, 1 - 1e-9)) if self.binary else mean)

    def gradient(self, eta: Floats) -> Floats:
        """How much each coefficient is pulled; einsum, as BLAS threads get in each other's way."""
        mean = expit(eta) if self.binary else eta
        return np.einsum("ji,i->j", self.x, self.weight * (self.y - mean))


def largest_alpha(problem: LassoProblem) -> float:
    """A hair above the smallest penalty at which all coefficients are zero."""
    return (1.0 + 1e-9) * float(np.abs(problem.gradient(problem.null())).max())


def walk(problem: LassoProblem, alphas: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Coefficients and linear predictor at one penalty after the other, in falling order.

    Only columns that pass the sequential strong rule (Tibshirani et al., 2012) are fitted;
    any that it misses are found by the optimality conditions and added.
    """
    eta = problem.null()
    coef = np.zeros(len(problem.x))
    curvature, pull = np.empty_like(eta), np.empty_like(eta)
    gradient = problem.gradient(eta)
    previous = np.abs(gradient).max()
    for alpha in alphas:
        chosen = (np.abs(gradient) >= 2.0 * alpha - previous) | (coef != 0.0)
        while True:
            places = np.flatnonzero(chosen)
            descend(
                problem.x, problem.y, problem.weight, problem.binary, alpha, problem.max_iter,
                places, coef, eta, curvature, pull,
            )  # fmt: skip
            gradient = problem.gradient(eta)
            missed = (np.abs(gradient) > (1.0 + TOLERANCE) * alpha) & ~chosen
            if not missed.any():
                break
            chosen |= missed
        previous = alpha
        yield coef, eta
