"""Draws of the normal law between two bounds."""

from __future__ import annotations

import math

import numpy as np

from tvselect.jit import part

ROOT_OF_TWO_PI = math.sqrt(2.0 * math.pi)


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
def normal_between(
    rng: np.random.Generator, mean: float, sd: float, low: float, high: float
) -> float:
    """Draw from N(mean, sd^2) given that it lies between ``low`` and ``high``, infinite or not."""
    if high == math.inf:
        if low == -math.inf:
            return mean + sd * rng.standard_normal()
        return low + sd * positive_normal(rng, (mean - low) / sd)
    if low == -math.inf:
        return high - sd * positive_normal(rng, (high - mean) / sd)
    if low + high < 2.0 * mean:  # mirrored, so that the upper bound is the farther one
        value = standard_between(rng, (mean - high) / sd, (mean - low) / sd)
        return min(max(mean - sd * value, low), high)
    value = standard_between(rng, (low - mean) / sd, (high - mean) / sd)
    return min(max(mean + sd * value, low), high)


@part
def standard_between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw from N(0, 1) given finite bounds, the upper one at least as far from 0 as the lower.

    Rejection (Robert 1995) from the normal itself, from its tail, or from a uniform law where
    the bounds are close.
    """
    if low <= 0.0:
        if high - low > ROOT_OF_TWO_PI:
            while True:
                value = rng.standard_normal()
                if low <= value <= high:
                    return value
        while True:
            value = low + (high - low) * rng.random()
            if rng.random() <= math.exp(-0.5 * value * value):
                return value
    if low * (high - low) > 1.0:
        while True:
            value = low + positive_normal(rng, -low)
            if value <= high:
                return value
    while True:
        value = low + (high - low) * rng.random()
        if rng.random() <= math.exp(0.5 * (low * low - value * value)):
            return value
