"""The sampler of the sparse regression draws from its posterior: enumeration, and Geweke's test."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tvselect.core import pack
from tvselect.regression.gibbs import (
    ALONE,
    ALWAYS,
    OF_GROUPS,
    TAILS,
    TOGETHER,
    Terms,
    regress,
    start,
)
from tvselect.trees.state import NO_GROUPS

EXACT = 1e12
"""Degrees of freedom of a variance that is known."""


def make_terms(rng, n_rows, n_functions, log_odds):
    """Correlated functions, the constant in front, which is always in."""
    values = rng.standard_normal((n_functions, n_rows)) + rng.standard_normal(n_rows)
    values[0] = 1.0
    kinds = np.where(np.arange(n_functions) % 2, ALONE, TOGETHER).astype(np.uint8)
    kinds[0] = ALWAYS
    owners = np.full((n_functions, 3), -1, dtype=np.int32)
    owners[1:, 0] = np.arange(n_functions - 1) // 2
    odds = np.full(n_functions, log_odds)
    odds[0] = np.inf
    return Terms(values.astype(np.float32), odds, kinds, owners, np.zeros(n_functions, np.int32))


def neighbours(*pairs, n_functions):
    """Both ways, as the model has them."""
    both = sorted([*pairs, *(pair[::-1] for pair in pairs)])
    first, second = np.array(both, dtype=np.int64).T
    return np.searchsorted(first, np.arange(n_functions + 1)), np.ascontiguousarray(second)


@pytest.mark.parametrize("groups", [NO_GROUPS, np.array([0, 0, 1, 1, 2, 2, 2, 2], dtype=np.int32)])
def test_all_models_of_four_functions_are_visited_as_often_as_they_should(groups):
    """Law: frequencies of the 16 models are their posterior probabilities, up to 4 standard errors.

    All variances are known here, so that these are ratios of normal densities. Errors are those of
    the means of 100 batches of the chain.
    """
    rng = np.random.default_rng(3)
    n_rows, n_functions, n_sweeps = 8, 5, 20_000
    terms = make_terms(rng, n_rows, n_functions, log_odds=-0.5)
    y = terms.functions[1] + 0.5 * rng.standard_normal(n_rows)
    near = neighbours((1, 2), (1, 3), (3, 4), n_functions=n_functions)
    model, state = start(terms, y, 2, near, groups, TAILS[:1])
    slabs = np.array([4.0, 0.5, 1.0, 0.3])
    state.slabs[:], state.real[2] = slabs, 0.0
    fixed = np.full(4, np.inf)
    model = model._replace(
        rates=np.zeros(1),
        rate_constants=np.zeros(1),
        slab_df=fixed,
        noise_df=EXACT,
        noise_sum=EXACT,
        n_first=2,
        rest=2,
    )
    seen = np.zeros(n_sweeps, dtype=np.int64)
    packed = pack(model), pack(state)
    for sweep in range(0, n_sweeps, 2):  # of which the second is for the rest, too
        regress(rng, *packed, 1, 0)
        seen[sweep] = (state.coefficients[1:] != 0) @ (1, 2, 4, 8)
        regress(rng, *packed, 2, 0)
        seen[sweep + 1] = (state.coefficients[1:] != 0) @ (1, 2, 4, 8)
    expected = np.zeros(16)
    for model_in in itertools.product((0, 1), repeat=4):
        chosen = np.flatnonzero((1, *model_in))
        functions = terms.functions[chosen].astype(np.float64)
        cov = np.eye(n_rows) + (functions.T * slabs[terms.kinds[chosen]]) @ functions
        if groups.size:
            cov += slabs[OF_GROUPS] * (groups[:, None] == groups)
        log_density = -0.5 * (y @ np.linalg.solve(cov, y) + np.linalg.slogdet(cov)[1])
        expected[np.dot(model_in, (1, 2, 4, 8))] = log_density - 0.5 * sum(model_in)
    expected = np.exp(expected - expected.max())
    expected /= expected.sum()
    batches = (seen.reshape(100, -1, 1) == np.arange(16)).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / 10.0
    assert np.abs(batches.mean(axis=0) - expected).max() < 0.05
    assert np.all(np.abs(batches.mean(axis=0) - expected) < 4.0 * error + 1e-4)


def draw_from_prior(rng, model, state, n_rows):
    """Parameters, and noise, from the prior; the response is their sum, which nobody stores."""
    df = np.where(np.isinf(model.slab_df), 1.0, model.slab_df)
    drawn = model.slab_sum / rng.chisquare(df)
    state.slabs[:] = np.where(np.isinf(model.slab_df), 1.0, drawn)
    state.real[2] = rng.integers(model.rates.size)
    rate = np.where(model.kinds == ALONE, model.rates[int(state.real[2])], 0.0)
    is_in = rng.random(model.kinds.size) < 1.0 / (1.0 + np.exp(-model.log_odds - rate))
    normal = rng.standard_normal(model.kinds.size)
    state.coefficients[:] = is_in * normal * np.sqrt(state.slabs[model.kinds])
    state.intercepts[:] = np.sqrt(state.slabs[OF_GROUPS]) * rng.standard_normal(
        state.intercepts.size
    )
    state.real[0] = rng.chisquare(model.noise_df) / model.noise_sum
    state.real[1] = rng.integers(model.tails.size)
    df = model.tails[int(state.real[1])]
    state.weights[:n_rows] = 1.0 if np.isinf(df) else rng.chisquare(df, n_rows) / df


def draw_noise(rng, model, state, n_rows):
    """Noise and intercepts, which the chain has in its residuals."""
    sd = 1.0 / np.sqrt(state.real[0] * state.weights[:n_rows])
    state.residual[:n_rows] = sd * rng.standard_normal(n_rows)
    if model.groups.size:
        state.residual[:n_rows] += state.intercepts[model.groups]


def summary(model, state, n_rows):
    is_in = state.coefficients != 0
    return np.array([
        *is_in[1:], *(state.coefficients**2)[:4], np.abs(state.coefficients[2]),
        *np.log(state.slabs[1:]), np.log(state.real[0]),
        *(state.real[1] == np.arange(model.tails.size - 1)), state.real[2], state.real[2] ** 2,
        np.log(state.weights[:n_rows]).mean(), *state.intercepts**2,
        state.intercepts.sum() * state.coefficients[1],
    ])  # fmt: skip


@pytest.mark.parametrize("groups", [np.arange(12, dtype=np.int32) // 4, NO_GROUPS])
def test_sweeps_and_fresh_data_keep_the_prior(groups):
    """Law (Geweke 2004): where data are drawn anew given the parameters, sweeps keep the prior.

    Means of functions of the parameters before and after three sweeps agree within 4 standard
    errors of their paired difference.
    """
    rng = np.random.default_rng(5)
    n_rows, n_functions, n_replicates = 12, 6, 2_000
    terms = make_terms(rng, n_rows, n_functions, log_odds=-0.3)
    near = neighbours((1, 2), (2, 3), (2, 5), (4, 5), n_functions=n_functions)
    model, state = start(terms, np.zeros(n_rows), 3, near, groups, TAILS[::2].copy())
    model = model._replace(n_first=3, rest=2, noise_df=6.0, noise_sum=3.0)
    gaps, packed = [], (pack(model), pack(state))
    for _ in range(n_replicates):
        draw_from_prior(rng, model, state, n_rows)
        before = summary(model, state, n_rows)
        for _ in range(3):
            draw_noise(rng, model, state, n_rows)
            regress(rng, *packed, 2, 0)
        gaps.append(summary(model, state, n_rows) - before)
    gap = np.array(gaps)
    error = gap.std(axis=0, ddof=1) / np.sqrt(n_replicates)
    moved = error > 0
    assert moved.sum() >= 15
    assert np.all(np.abs(gap.mean(axis=0)[moved]) < 4.0 * error[moved])
