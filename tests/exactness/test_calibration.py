"""Simulation-based calibration (Talts et al. 2018).

Law: draw parameters from the prior and data from the parameters; the rank of every
true quantity among 63 thinned posterior draws is uniform on 0..63. Chi-square over 16
bins of ranks, p > 0.01 after Holm's correction over the quantities of a case.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.exactness import outcomes, simulate
from tests.exactness.chains import in_two_sizes, start, state_of
from tvselect.trees import prior as priors

N_RANKS = 63
GROUPS = np.arange(24) % 11 // 2
# Latent normals go a long way where intercepts are very much larger than the noise.
RATIOS = np.linspace(0.05, 3.0, 60)
CASES = {
    "gaussian, plain": ("gaussian", {}),
    "gaussian, sparse": ("gaussian", dict(sparse=True)),
    "gaussian, sparse, missing values": ("gaussian", dict(sparse=True, missing=True, min_leaf=3)),
    "gaussian, sparse, pairs": ("gaussian", dict(sparse=True, pair_share=0.5)),
    "gaussian, sparse, known pairs": (
        "gaussian", dict(sparse=True, pair_share=0.5, pairs=((0, 1), (1, 0))),
    ),
    "probit, plain": ("probit", {}),
    "probit, sparse": ("probit", dict(sparse=True)),
    "probit, sparse, latents every third iteration": (
        "probit", dict(sparse=True, latent_sweeps=3),
    ),
    "bounds, plain": ("survival", {}),
    "bounds, sparse, latents every third iteration": (
        "survival", dict(sparse=True, latent_sweeps=3),
    ),
    "grades, plain": ("ordinal", {}),
    "grades, sparse, latents every third iteration": (
        "ordinal", dict(sparse=True, latent_sweeps=3),
    ),
    "classes, plain": ("classes", dict(n_trees=3)),
    "classes, sparse, latents every third iteration": (
        "classes", dict(sparse=True, n_trees=6, latent_sweeps=3),
    ),
    "gaussian, sparse, groups": (
        "gaussian", dict(sparse=True, groups=GROUPS),
    ),
    "gaussian, sparse, pairs, groups": (
        "gaussian", dict(sparse=True, pair_share=0.5, groups=GROUPS),
    ),
    "bounds, sparse, groups": ("survival", dict(sparse=True, groups=GROUPS)),
    "probit, sparse, groups": ("probit", dict(sparse=True, groups=GROUPS)),
    "classes, sparse, groups": ("classes", dict(sparse=True, n_trees=3, groups=GROUPS)),
}  # fmt: skip


def quantities(family, is_sparse, has_groups, observed, state):
    """f(x0), splits, log-likelihood, then sigma, cut points and theta where they are random.

    With groups those alone that need no intercepts, and rho.
    """
    values = [state.fit.flat[0], state.counts.sum()]
    if has_groups:
        values.append(state.ratio_index)
    else:
        args = state.fit, state.sigma, state.cuts
        values.append(outcomes.log_likelihood(family, observed, *args))
    if outcomes.has_noise(family):
        values.append(state.sigma)
    if family == "ordinal":
        values += state.cuts.tolist()
    return [*values, state.theta_index] if is_sparse else values


def one_replicate(setting, family, seed, thin):
    """Ranks of the true quantities, ties broken at random."""
    rng, kind = np.random.default_rng(seed), (setting.prior.sparse, setting.groups.size > 0)
    (truth,) = simulate.draw_states(rng, setting, family, 1)
    latent = truth.fit + truth.intercepts
    observed = outcomes.observe(rng, family, latent, truth.sigma, truth.cuts)
    true = np.array(quantities(family, *kind, observed, truth))
    chain = start(setting, observed, rng=rng, n_iterations=(N_RANKS + 10) * thin, family=family)
    chain.advance(10 * thin)
    draws = np.zeros((N_RANKS, true.size))
    for draw in draws:
        chain.advance(thin)
        draw[:] = quantities(family, *kind, observed, state_of(chain, family))
    below = (draws < true - 1e-9).sum(axis=0)
    ties = (np.abs(draws - true) <= 1e-9).sum(axis=0)
    return below + rng.integers(0, ties + 1)


def p_values(case, n_replicates, thin):
    sizes = dict(n_rows=24, n_columns=3, n_values=4, n_trees=2, min_leaf=2, seed=1)
    family, settings = CASES[case]
    setting = simulate.make_setting(**{**sizes, **settings})
    seeds = np.random.SeedSequence(20).spawn(n_replicates)
    ranks = np.array([one_replicate(setting, family, seed, thin) for seed in seeds])
    bins = [np.bincount(r // 4, minlength=16) for r in ranks.T]
    return np.array([stats.chisquare(b).pvalue for b in bins])


def holm(p):
    order = np.argsort(p)
    return np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]).min()


@pytest.mark.parametrize("case", CASES)
@in_two_sizes(dict(n_replicates=160, thin=40), dict(n_replicates=1000, thin=100))
def test_ranks_of_the_truth_are_uniform(monkeypatch, case, size, is_full, record_result):
    if not case.startswith("gaussian"):
        monkeypatch.setattr(priors, "RATIOS", RATIOS)
    p = p_values(case, **size)
    if is_full:
        found = "p-values " + ", ".join(f"{v:.2f}" for v in p)
        record_result("Calibration, 1,000 replicates", case, found)
    assert holm(p) > 0.01, p
