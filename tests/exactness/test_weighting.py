"""The posterior of every family, by weighing draws of the prior with their likelihood.

Law: means of test functions over a chain agree with those over draws of the prior that are
weighted by the likelihood of the data, the latent normals integrated out: within 4.5 standard
errors of both together, that of the weighted mean by its own variance, that of the chain by 40
batches. No latent normal is drawn on one side.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.exactness.chains import in_two_sizes, start
from tests.exactness.outcomes import (
    FAMILIES,
    draw_cuts,
    has_noise,
    log_likelihood,
    n_forests,
    observe,
)
from tests.exactness.simulate import Forest, draw_sigma, forests_at, make_setting, simulate_forests

N_BATCHES = 40


def functions(fit, n_splits, counts, sigma, cuts):
    """Splits, splits on the first column, the fit at three rows, noise, cut points."""
    return [n_splits, counts, *fit.ravel()[:3], min(sigma, 5.0), *np.arctan(cuts)]


def weighted_prior(rng, setting, family, observed, n_draws):
    """Weighted means of the functions and their standard errors."""
    drawn = simulate_forests(rng, setting, n_draws)
    values, logs = [], []
    for r in range(n_draws):
        forest = Forest(*(part[r] for part in drawn))
        columns = np.concatenate([c[:n] for c, n in zip(forest.columns, forest.sizes, strict=True)])
        sigma = draw_sigma(rng, setting) if has_noise(family) else 1.0
        cuts = draw_cuts(rng, family)
        fit = forests_at(setting.codes, forest, n_forests(family))
        values.append(functions(fit, (columns >= 0).sum(), (columns == 0).sum(), sigma, cuts))
        logs.append(log_likelihood(family, observed, fit, sigma, cuts))
    weights = np.exp(logs - np.max(logs))
    weights /= weights.sum()
    means = weights @ np.array(values)
    errors = np.sqrt(weights**2 @ (np.array(values) - means) ** 2)
    return means, errors


def chain_means(rng, setting, family, observed, n_draws, thin):
    n_iterations = (n_draws + 50) * thin
    chain = start(setting, observed, rng=rng, n_iterations=n_iterations, family=family)
    chain.advance(50 * thin)
    n_cuts = draw_cuts(rng, family).size
    values = []
    for _ in range(n_draws):
        chain.advance(thin)
        sigma = chain.chain.response.real[0] ** -0.5
        cuts = chain.chain.response.cuts[:n_cuts]
        counts = chain.counts
        values.append(functions(chain.fitted(), counts.sum(), counts[0], sigma, cuts))
    batches = np.array(values).reshape(N_BATCHES, -1, len(values[0])).mean(axis=1)
    return batches.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)


def z_scores(family, n_prior, n_draws):
    setting = make_setting(
        n_rows=9,
        n_columns=2,
        n_values=3,
        n_trees=n_forests(family),
        min_leaf=2,
        sparse=True,
        seed=5,
    )
    rng = np.random.default_rng(6)
    shape = (n_forests(family), 9) if family == "classes" else (9,)
    truth = np.broadcast_to(setting.codes[0] - 1.0, shape) * 0.8
    if family == "classes":
        truth = truth * np.array([[1.0], [-1.0], [0.0]])
    observed = observe(rng, family, truth, 0.5, np.array(draw_cuts(rng, family)))
    expected, error = weighted_prior(rng, setting, family, observed, n_prior)
    found, spread = chain_means(rng, setting, family, observed, n_draws, thin=5)
    both = np.hypot(error, spread)
    is_random = both > 1e-12
    return np.abs(found - expected)[is_random] / both[is_random]


@pytest.mark.parametrize("family", FAMILIES)
@in_two_sizes(4_000, 200_000)
def test_a_chain_agrees_with_the_weighted_prior(family, size, is_full, record_result):
    z = z_scores(family, n_prior=size, n_draws=size)
    if is_full:
        found = f"{z.size} functions, largest z {z.max():.2f}"
        record_result("Weighted prior", family, found)
    assert np.all(z < 4.5), z
