"""Two-class outcomes: ``P(y = 1) = Phi(offset + forest)`` with latent normals."""

from __future__ import annotations

import math

import numpy as np

from tvselect.jit import part
from tvselect.trees.bits import NONE, ONE
from tvselect.trees.noise import use_response
from tvselect.trees.state import FloatArray, Leaves, Proposal, ResponseState


@part
def positive_normal(rng: np.random.Generator, mean: float) -> float:
    """Draw from N(mean, 1) given that it is positive.

    Plain rejection where half of the draws or so succeed, else Robert's (1995)
    exponential envelope of the tail.
    """
    if mean > -0.4:
        while True:
            value = mean + rng.standard_normal()
            if value > 0.0:
                return value
    rate = 0.5 * (math.sqrt(mean * mean + 4.0) - mean)
    while True:
        value = rng.standard_exponential() / rate
        miss = value - mean - rate
        if rng.random() <= math.exp(-0.5 * miss * miss):
            return value


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
    response: ResponseState,
    leaves: Leaves,
    proposal: Proposal,
    offset: float,
) -> None:
    """Draw the latent normals given the classes and make them the response."""
    forest_at_rows(leaves, response.values)
    for i in range(response.values.shape[0]):
        side = response.classes[i]
        if side != 0.0:  # zero marks the padding
            latent = side * positive_normal(rng, side * (offset + response.values[i]))
            response.values[i] = latent - offset
    use_response(response, leaves, proposal)
