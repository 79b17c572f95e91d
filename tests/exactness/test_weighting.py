"""The posterior of every family, by weighing draws of the prior with their likelihood.

Law: means of test functions over a chain agree with those over draws of the prior that are
weighted by the likelihood of the data, the latent normals integrated out: within 4.5 standard
errors of both together, that of the weighted mean by its own variance, that of the chain by 40
batches. No latent normal is drawn on one side.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.exactness.chains import in_two_sizes, start, state_of
from tests.exactness.outcomes import FAMILIES, draw_cuts, log_likelihood, n_forests, observe
from tests.exactness.simulate import draw_states, make_setting
from tvselect.trees import prior as priors

N_BATCHES = 40


# Weights would be those of few draws if intercepts could be as large as they like.
RATIOS = np.linspace(0.1, 3.0, 30)


def functions(state):
    """Splits, splits on the first column, the fit at three rows, noise, cut points, rho's place."""
    counts, fit, cuts = state.counts, state.fit.flat[:3], np.arctan(state.cuts)
    return [counts.sum(), counts[0], *fit, min(state.sigma, 5.0), *cuts, state.ratio_index]


def weighted_prior(rng, setting, family, observed, n_draws):
    """Weighted means of the functions and their standard errors."""
    states = list(draw_states(rng, setting, family, n_draws))
    fits = [s.fit + s.intercepts for s in states]
    logs = [
        log_likelihood(family, observed, fit, s.sigma, s.cuts)
        for fit, s in zip(fits, states, strict=True)
    ]
    values, weights = np.array([*map(functions, states)]), np.exp(logs - np.max(logs))
    weights /= weights.sum()
    means = weights @ values
    return means, np.sqrt(weights**2 @ (values - means) ** 2)


def chain_means(rng, setting, family, observed, n_draws, thin):
    n_iterations = (n_draws + 50) * thin
    chain = start(setting, observed, rng=rng, n_iterations=n_iterations, family=family)
    chain.advance(50 * thin)
    values = []
    for _ in range(n_draws):
        chain.advance(thin)
        values.append(functions(state_of(chain, family)))
    batches = np.array(values).reshape(N_BATCHES, -1, len(values[0])).mean(axis=1)
    return batches.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)


def z_scores(family, groups, n_prior, n_draws):
    n = n_forests(family)
    setting = make_setting(
        n_rows=9, n_columns=2, n_values=3, n_trees=n, min_leaf=2, sparse=True, seed=5,
        groups=groups,
    )  # fmt: skip
    rng = np.random.default_rng(6)
    truth = (setting.codes[0] - 1.0) * 0.8
    if n > 1:
        truth = truth * np.array([[1.0], [-1.0], [0.0]])
    observed = observe(rng, family, truth, 0.5, draw_cuts(rng, family))
    expected, error = weighted_prior(rng, setting, family, observed, n_prior)
    found, spread = chain_means(rng, setting, family, observed, n_draws, thin=5)
    both = np.hypot(error, spread)
    is_random = both > 1e-12
    return np.abs(found - expected)[is_random] / both[is_random]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("groups", [(), (0, 0, 0, 0, 1, 1, 2, 2, 2)], ids=["", "groups"])
@in_two_sizes(4_000, 200_000)
def test_a_chain_agrees_with_the_weighted_prior(
    monkeypatch, family, groups, size, is_full, record_result
):
    monkeypatch.setattr(priors, "RATIOS", RATIOS)
    z = z_scores(family, groups, n_prior=size, n_draws=size)
    if is_full:
        found = f"{z.size} functions, largest z {z.max():.2f}"
        record_result("Weighted prior", f"{family}{', groups' if groups else ''}", found)
    assert np.all(z < 4.5), z
