"""Ordered grades: cut points between the latent normals of neighbouring grades.

A priori the cut points are independent standard normals put in order, which makes all shares of the
grades equally likely where the forest is zero. Each is moved by a Metropolis step given the forest,
with the latents integrated out; these are drawn anew afterwards.
"""

from __future__ import annotations

import math

import numpy as np

from tvselect.jit import part
from tvselect.trees.state import LEVEL, LOWER, UPPER, PriorParameters, ResponseState

ROOT_HALF = math.sqrt(0.5)
SMALLEST = 1e-300


@part
def draw_cut_points(
    rng: np.random.Generator, prior: PriorParameters, response: ResponseState
) -> None:
    """Move every cut point once, and put the bounds of the rows where they are now."""
    n_cuts = prior.cuts.shape[0]
    for k in range(n_cuts):
        old = response.cuts[k]
        new = old + prior.cut_steps[k] * rng.standard_normal()
        low = response.cuts[k - 1] if k > 0 else -math.inf
        high = response.cuts[k + 1] if k + 1 < n_cuts else math.inf
        if low < new < high:
            log_ratio = 0.5 * (old * old - new * new)
            for i in range(response.fit.shape[0]):
                level = response.observed[LEVEL, i]
                if level == k:
                    fit = response.fit[i]
                    log_ratio += math.log(
                        chance(low - fit, new - fit) / chance(low - fit, old - fit)
                    )
                elif level == k + 1:
                    fit = response.fit[i]
                    log_ratio += math.log(
                        chance(new - fit, high - fit) / chance(old - fit, high - fit)
                    )
            if math.log(rng.random()) < log_ratio:
                response.cuts[k] = new
    for i in range(response.fit.shape[0]):
        level = int(response.observed[LEVEL, i])
        if level >= 0:
            response.observed[LOWER, i] = response.cuts[level - 1] if level > 0 else -math.inf
            response.observed[UPPER, i] = response.cuts[level] if level < n_cuts else math.inf


@part
def chance(low: float, high: float) -> float:
    """Probability of the standard normal law between two bounds."""
    if low > 0.0:
        low, high = -high, -low
    below = 0.0 if low == -math.inf else math.erfc(-ROOT_HALF * low)
    within = 2.0 if high == math.inf else math.erfc(-ROOT_HALF * high)
    return max(0.5 * (within - below), SMALLEST)
