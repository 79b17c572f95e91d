"""Outcomes of all families, drawn by their definition and judged by their likelihood.

``fit`` is the forest at the rows, for classes (classes, rows); ``observed`` (2, rows) what a chain
is told: both bounds of a value, or its grade or class counted from 1.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtr

FAMILIES = ("gaussian", "probit", "survival", "ordinal", "classes")
OFFSET = 0.3
N_CUTS = 2
CLASS_OFFSETS = np.array([0.3, -0.2, 0.0])
CENSORED_AT = 0.4
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(30)


def has_noise(family):
    return family in ("gaussian", "survival")


def n_forests(family):
    return CLASS_OFFSETS.size if family == "classes" else 1


def start_cuts(family):
    if family == "ordinal":
        return np.array([-0.5, 0.5])
    return CLASS_OFFSETS if family == "classes" else np.empty(0)


def draw_cuts(rng, family):
    """Cut points from their prior: standard normals in order."""
    return np.sort(rng.standard_normal(N_CUTS)) if family == "ordinal" else start_cuts(family)


def observe(rng, family, fit, sigma, cuts):
    """Latent normals around the fit, and what is seen of them."""
    latent = fit + (sigma if has_noise(family) else 1.0) * rng.standard_normal(fit.shape)
    if family == "gaussian":
        return np.stack([latent, latent])
    if family == "probit":
        above = latent > -OFFSET
        return np.stack([np.where(above, -OFFSET, -np.inf), np.where(above, np.inf, -OFFSET)])
    if family == "survival":
        return seen_times(latent)
    if family == "ordinal":
        level = 1.0 + np.searchsorted(cuts, latent)
        return np.stack([level, level])
    seen = 1.0 + (latent + cuts[:, None]).argmax(axis=0)
    return np.stack([seen, seen])


def seen_times(latent):
    """Every third value is known, every third censored above a point, every third rounded."""
    kind = np.arange(latent.size) % 3
    is_late = (kind == 1) & (latent > CENSORED_AT)
    lower = np.where(is_late, CENSORED_AT, np.where(kind == 2, np.floor(latent), latent))
    upper = np.where(is_late, np.inf, np.where(kind == 2, lower + 1.0, latent))
    return np.stack([lower, upper])


def log_likelihood(family, observed, fit, sigma, cuts):
    """Log-likelihood of what was observed, the latent normals integrated out."""
    lower, upper = observed
    if family == "classes":
        return np.log(
            class_chances(fit + cuts[:, None])[lower.astype(int) - 1, range(lower.size)]
        ).sum()
    if family == "ordinal":
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        level = lower.astype(int)
        lower, upper, sigma = edges[level - 1], edges[level], 1.0
    if family == "probit":
        return np.where(upper == np.inf, log_ndtr(OFFSET + fit), log_ndtr(-OFFSET - fit)).sum()
    known = lower == upper
    z = (lower[known] - fit[known]) / sigma
    density = -0.5 * (z @ z) - z.size * np.log(sigma * np.sqrt(2.0 * np.pi))
    low, high = (np.where(known, 0.0, edge) - fit for edge in (lower, upper))
    chance = ndtr(high[~known] / sigma) - ndtr(low[~known] / sigma)
    return density + np.log(np.maximum(chance, 1e-300)).sum()


def class_chances(means):
    """Chance (classes, rows) of each class to have the largest latent."""
    chances = []
    for k in range(len(means)):
        points = means[k][:, None] + NODES
        others = [ndtr(points - means[j][:, None]) for j in range(len(means)) if j != k]
        chances.append((np.prod(others, axis=0) * WEIGHTS).sum(axis=1) / WEIGHTS.sum())
    return np.array(chances)
