"""Latent normals: an outcome that is known to lie between two bounds, in a grade or in a class.

``latent = forest + noise``. Two classes, counts and censored times say between which bounds it
lies; so do grades, whose bounds are drawn as well (:mod:`tvselect.trees.grades`). With three or
more classes every class has a forest of its own, and the largest latent is that of the class
seen (:mod:`tvselect.trees.classes`).
"""

from __future__ import annotations

import math

import numpy as np

from tvselect.jit import part
from tvselect.trees.bits import NONE, ONE
from tvselect.trees.classes import draw_class_latents
from tvselect.trees.grades import draw_cut_points
from tvselect.trees.noise import use_response
from tvselect.trees.state import (
    CLASSES,
    GRADES,
    LOWER,
    PRECISION,
    UPPER,
    FloatArray,
    Leaves,
    PriorParameters,
    Proposal,
    ResponseState,
)
from tvselect.trees.truncated import normal_between


@part
def forest_at_rows(leaves: Leaves, out: FloatArray) -> None:
    """Value of the forest at every row (and zero at the padding)."""
    out[:] = 0.0
    for w in range(leaves.masks.shape[0]):
        for k in range(leaves.size[0]):
            rows = leaves.masks[w, k]
            if rows != NONE:
                for b in range(64):
                    bit = np.float64((rows >> np.uint64(b)) & ONE)
                    out[64 * w + b] += bit * leaves.means[k]


@part
def draw_latents(
    rng: np.random.Generator,
    prior: PriorParameters,
    response: ResponseState,
    leaves: Leaves,
    proposal: Proposal,
    n_rows: int,
) -> None:
    """Draw the latent normals given what was observed and make them the response."""
    forest_at_rows(leaves, response.fit)
    if prior.latent == CLASSES:
        draw_class_latents(rng, prior, response, n_rows)
    else:
        if prior.latent == GRADES:
            draw_cut_points(rng, prior, response)
        draw_between_bounds(rng, response)
    use_response(response, leaves, proposal)


@part
def draw_between_bounds(rng: np.random.Generator, response: ResponseState) -> None:
    """Draw every value that is not known, between its bounds."""
    sd = 1.0 / math.sqrt(response.real[PRECISION])
    for i in range(response.values.shape[0]):
        low, high = response.observed[LOWER, i], response.observed[UPPER, i]
        if low < high:
            response.values[i] = normal_between(rng, response.fit[i], sd, low, high)
