"""The LASSO path: coordinate descent at one penalty after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tvselect.jit import kernel

Floats = NDArray[np.float64]

TOLERANCE = 1e-5
FLATTEST = 1e-4


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


@kernel
def descend(
    x: Floats,
    y: Floats,
    weight: Floats,
    binary: bool,
    alpha: float,
    max_iter: int,
    places: NDArray[np.int64],
    coef: Floats,
    eta: Floats,
    curvature: Floats,
    pull: Floats,
) -> None:
    """Sweep over some coefficients until none moves.

    A sweep looks at a parabola through the loss. For two classes it has the curvature at
    hand and, whenever moves grow, twice as much as before, up to the largest there is: with that
    every sweep goes downhill, but where a class is rare it is hundreds of times the one at hand.
    Coefficients at zero are looked at again when the others have come to rest. Moves are
    measured by what they are worth: along a flat parabola even a long one changes little.
    """
    everything, care, before = True, 1.0, math.inf
    most = 0.25 if binary else 1.0
    for _ in range(max_iter):
        total, gain = 0.0, 0.0
        for i in range(y.size):
            mean = 1.0 / (1.0 + math.exp(-eta[i])) if binary else eta[i]
            curvature[i] = weight[i]
            if binary:
                curvature[i] *= min(most, care * max(mean * (1.0 - mean), FLATTEST))
            pull[i] = weight[i] * (y[i] - mean)
            total += curvature[i]
            gain += pull[i]
        move = gain / total
        for i in range(y.size):
            pull[i] -= move * curvature[i]
            eta[i] += move
        largest = math.sqrt(total / most) * abs(move)
        for k in range(places.size):
            j = places[k]
            if coef[j] == 0.0 and not everything:
                continue
            size, gain = 0.0, 0.0
            for i in range(y.size):
                size += curvature[i] * x[j, i] * x[j, i]
                gain += pull[i] * x[j, i]
            if size == 0.0:
                continue
            gain += coef[j] * size
            move = max(abs(gain) - alpha, 0.0) * np.sign(gain) / size - coef[j]
            if move != 0.0:
                coef[j] += move
                for i in range(y.size):
                    pull[i] -= move * curvature[i] * x[j, i]
                    eta[i] += move * x[j, i]
                largest = max(largest, math.sqrt(size / most) * abs(move))
        if largest < TOLERANCE and everything:
            break
        if largest > before:
            care *= 2.0
        everything, before = largest < TOLERANCE, largest
