"""With the likelihood switched off the chain draws from the prior.

Law: means of the number of splits, of the greatest depth, of every column's splits
and of theta (through ``theta/q / (1 + theta/q)``) agree with direct simulation within
4 standard errors; those of the chain come from batch means.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.exactness.chains import chain_statistics, in_two_sizes, start
from tests.exactness.simulate import make_setting, prior_statistics, theta_grid

SETTINGS = {
    f"min_leaf={m} p={p} missing={missing} {'sparse' if sparse else 'plain'}": (
        m, p, missing, sparse, 1.0, 0.0,
    )
    for m, p, missing, sparse in itertools.product((1, 2, 5), (1, 3), (False, True), (False, True))
} | {
    "weighed columns plain": (2, 3, False, False, (0.4, 0.8, 0.2), 0.0),
    "weighed columns sparse": (2, 3, True, True, (0.1, 1.0, 0.3), 0.0),
    "pairs plain": (1, 3, True, False, 1.0, 0.5),
    "pairs, weighed columns sparse": (2, 3, False, True, (0.1, 1.0, 0.3), 0.5),
    "pairs, half of them known, sparse": (1, 3, False, True, 1.0, 0.5),
}  # fmt: skip


def mean_and_error(x, n_batches=200):
    batches = x[: len(x) // n_batches * n_batches].reshape(n_batches, -1, x.shape[1]).mean(axis=1)
    return batches.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(n_batches)


def compare(name, n_draws, thin):
    m, p, missing, sparse, column_weights, pair_share = SETTINGS[name]
    setting = make_setting(
        n_rows=6 * m + 6, n_columns=p, n_values=5, missing=missing, n_trees=2, min_leaf=m,
        sparse=sparse, column_weights=column_weights, pair_share=pair_share,
        pairs=((0, 1), (2, 0)) if "known" in name else (), seed=m + 10 * p,
    )  # fmt: skip
    seeds = np.random.SeedSequence([m, p, missing, sparse]).spawn(2)
    direct = prior_statistics(np.random.default_rng(seeds[0]), setting, n_draws)
    rng = np.random.default_rng(seeds[1])
    chain = start(setting, np.zeros(setting.table.n_rows), rng=rng, n_iterations=thin, sigma=np.inf)
    chain_statistics(chain, 100, thin)
    drawn = chain_statistics(chain, n_draws, thin)
    share = theta_grid(p) / p
    for x in (direct, drawn):
        x[:, 2] = (share / (1 + share))[x[:, 2].astype(int)]
    if not sparse:
        direct, drawn = np.delete(direct, 2, axis=1), np.delete(drawn, 2, axis=1)
    expected, error_direct = mean_and_error(direct)
    found, error_chain = mean_and_error(drawn)
    errors = np.hypot(error_direct, error_chain)
    return np.abs(found - expected) / errors, error_chain, direct.std(axis=0)


@pytest.mark.parametrize("name", SETTINGS)
@in_two_sizes(20_000, 600_000)
def test_chain_without_likelihood_draws_from_the_prior(name, size, is_full, record_result):
    thin = 10 if not is_full else 60 if "sparse" in name else 15
    z, errors, _ = compare(name, size, thin)
    if is_full:
        found = f"largest z {z.max():.2f}, largest s.e. {errors.max():.4f}"
        record_result("Prior recovery", name, found)
        assert np.all(errors <= 0.002), errors
    assert np.all(z < 4), z
