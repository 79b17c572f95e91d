"""The outcome in working units: what the forest models, or what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from tvselect.inputs import Outcome
from tvselect.inputs.columns import normal_scores
from tvselect.inputs.outcome import Family
from tvselect.trees.state import BOUNDS, CLASSES, GRADES, OBSERVED, Floats, in_bit_order

SMALLEST_SCALE = 1e-50
ON_LATENT_SCALE = ("probit", "ordinal", "classes")
"""Families whose latent normals have variance 1."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
BEST_STEP = 2.4
"""Of a Metropolis step in one dimension, in standard deviations (Gelman et al. 1996)."""


@dataclass(frozen=True)
class Response:
    """An outcome made ready for the sampler; made once, used by any number of chains."""

    family: Family
    observed: Floats  # in the order of the bits: both bounds, or grade or class twice
    n_rows: int
    center: float  # outcome = center + scale * working value, or that of the latent normal
    scale: float
    noise_scale: float  # rough guess of the noise standard deviation, in working units
    cuts: Floats = field(default_factory=lambda: np.empty(0))  # as in PriorParameters
    cut_steps: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def precision(self) -> float:
        """``1 / sigma^2`` that a chain starts from."""
        return 1.0 if self.has_unit_noise else self.noise_scale**-2

    @property
    def has_unit_noise(self) -> bool:
        """Whether the noise variance is 1 by definition, not drawn."""
        return self.family in ON_LATENT_SCALE

    @property
    def latent(self) -> int:
        """What is known of the values, as the core reads it."""
        if self.family in ("ordinal", "classes"):
            return GRADES if self.family == "ordinal" else CLASSES
        return OBSERVED if np.array_equal(*self.observed) else BOUNDS

    @property
    def n_forests(self) -> int:
        """One, or one for every class."""
        return self.cuts.size if self.family == "classes" else 1


def working_response(outcome: Outcome, noise_scale: float | Literal["sd"] = "sd") -> Response:
    """Bring a checked outcome into working units.

    ``noise_scale`` is a rough guess of the noise standard deviation in units of the outcome; "sd"
    is the standard deviation of the outcome itself, the same for every set of columns.
    """
    y, n_rows = outcome.values, outcome.values.size
    if outcome.family == "probit":
        offset = float(ndtri(y.mean()))
        bounds = np.where(y > 0, [[-offset], [np.inf]], [[-np.inf], [-offset]])
        return Response("probit", in_bit_order(bounds), n_rows, offset, 1.0, 1.0)
    if outcome.family in ("ordinal", "classes"):
        _, place, numbers = np.unique(y, return_inverse=True, return_counts=True)
        shares = numbers / n_rows
        observed = in_bit_order(np.tile(place + 1.0, (2, 1)))
        if outcome.family == "classes":
            return Response("classes", observed, n_rows, 0.0, 1.0, 1.0, class_offsets(shares))
        below = np.cumsum(shares)[:-1]
        cuts = ndtri(below)
        density = np.exp(-0.5 * cuts**2) / np.sqrt(2.0 * np.pi)
        steps = BEST_STEP * np.sqrt(below * (1.0 - below) / n_rows) / density
        return Response("ordinal", observed, n_rows, 0.0, 1.0, 1.0, cuts, steps)
    if outcome.family == "counts":
        return _on_range_one(outcome, *rounding_bounds(y), normal_scores(y), noise_scale)
    upper = y if outcome.upper is None else outcome.upper
    known = np.where(np.isfinite(y), y, upper)
    return _on_range_one(outcome, y, upper, known[np.isfinite(known)], noise_scale)


def _on_range_one(
    outcome: Outcome,
    lower: Floats,
    upper: Floats,
    typical: Floats,
    noise_scale: float | Literal["sd"],
) -> Response:
    """Bounds centred at the typical values and over their range."""
    center, scale = float(typical.mean()), float(typical.max() - typical.min())
    values = (typical - center) / scale
    guess = float(values.std(ddof=1)) if noise_scale == "sd" else noise_scale / scale
    if not SMALLEST_SCALE < guess < 1.0 / SMALLEST_SCALE:
        raise ValueError(f"noise_scale={noise_scale!r} is out of all proportion to y")
    observed = in_bit_order((np.stack([lower, upper]) - center) / scale)
    return Response(outcome.family, observed, outcome.values.size, center, scale, guess)


def rounding_bounds(counts: Floats) -> tuple[Floats, Floats]:
    """Normal quantiles that each count lies between, from the shares of smaller and equal ones.

    A count is a transformed and rounded normal variable (Kowal and Canale 2020); the
    transformation is estimated from the distribution of all counts.

    >>> lower, upper = rounding_bounds(np.array([0.0, 3.0, 0.0, 1.0]))
    >>> lower.round(2), upper.round(2)
    (array([-inf, 0.67, -inf, 0.  ]), array([0.  ,  inf, 0.  , 0.67]))
    """
    _, place, numbers = np.unique(counts, return_inverse=True, return_counts=True)
    cuts = ndtri(np.concatenate([[0], np.cumsum(numbers)]) / counts.size)
    return cuts[place], cuts[place + 1]


def class_offsets(shares: Floats) -> Floats:
    """Means of independent normals of which each is the largest with its share, of mean zero.

    >>> class_offsets(np.array([0.2, 0.2, 0.6])).round(2)
    array([-0.3 , -0.3 ,  0.59])
    """
    offsets = np.zeros(shares.size)
    for _ in range(200):
        step = np.log(shares / chances_of_classes(offsets))
        offsets += 0.5 * (step - step.mean())
    return offsets


def chances_of_classes(means: Floats) -> Floats:
    """Chance (..., classes) of independent normals with these means to be the largest."""
    gaps = means[..., :, None, None] + NODES - means[..., None, :, None]
    below = ndtr(gaps)
    k = np.arange(means.shape[-1])
    below[..., k, k, :] = 1.0
    chances = (below.prod(axis=-2) * WEIGHTS).sum(axis=-1)
    return np.asarray(chances / chances.sum(axis=-1, keepdims=True))
