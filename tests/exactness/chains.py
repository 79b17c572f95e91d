"""Chains of the sampler under test, set up from a :class:`simulate.Setting`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.core.probes import collect_shapes, collect_statistics
from tests.exactness.outcomes import has_noise, n_forests, start_cuts
from tests.exactness.simulate import State, theta_grid
from tvselect.trees import Response, Sampler, start_chain
from tvselect.trees.state import in_bit_order, with_more_room


def in_two_sizes(quick, full):
    """A check with its quick ``size``, and with that of ``make check-long``, whose is recorded."""
    return pytest.mark.parametrize(
        ("size", "is_full"),
        [
            pytest.param(quick, False, id="quick"),
            pytest.param(full, True, id="full size", marks=pytest.mark.long),
        ],
    )


def start(setting, observed, *, rng, n_iterations, sigma=None, family="gaussian"):
    """A chain whose first iteration is already under the full prior, with ample room.

    ``observed`` are the outcomes, taken as they are, or what is known of them (2, rows).
    """
    cuts, given = start_cuts(family), setting.prior
    spread = 0.5 if has_noise(family) else 3.0
    k = spread / (setting.leaf_sd * np.sqrt(given.n_trees / n_forests(family)))
    n_rows = setting.table.n_rows
    quantile = stats.chi2.ppf(1 - given.noise_quantile, given.noise_df)
    response = Response(
        family=family,
        observed=in_bit_order(np.broadcast_to(observed, (2, n_rows))),
        n_rows=n_rows,
        center=0.0,
        scale=1.0,
        noise_scale=float(np.sqrt(setting.noise_sum / quantile)),
        cuts=cuts,
        cut_steps=np.full(cuts.size, 0.6),
    )
    chain = start_chain(
        setting.table,
        response,
        replace(given, k=k),
        column_weights=setting.column_weights,
        pairs=setting.pairs,
        groups=setting.groups,
        n_iterations=n_iterations,
        n_burn=0,
        sigma=sigma,
        rng=rng,
    )
    for _ in range(2):
        chain.chain = with_more_room(chain.chain)
    return chain


def state_of(chain: Sampler, family):
    """Where a chain is, its place of theta found on the grid."""
    response, fit, n = chain.chain.response, chain.fitted(), n_forests(family)
    theta = 0.999999 * chain.trace.theta[chain.n_done - 1]
    return State(
        fit.reshape(n, -1) if n > 1 else fit,
        chain.counts,
        response.real[0] ** -0.5,
        response.cuts[: start_cuts(family).size].copy(),
        np.searchsorted(theta_grid(chain.design.columns.size), theta),
        int(chain.chain.groups.whole[1]),
    )


def chain_statistics(chain: Sampler, n_draws, thin):
    """Splits, greatest depth, place of theta, splits by column, every ``thin`` iterations."""
    out = np.zeros((n_draws, 3 + chain.design.columns.size))
    collect_statistics(chain.rng, chain.design, chain.prior, chain.chain, chain.trace, thin, out)
    return out


def chain_shapes(chain: Sampler, n_draws, thin, base):
    """Every tree as one number: its preorder in digits, 0 for a leaf."""
    out = np.zeros((n_draws, chain.chain.trees.splits.size), dtype=np.int64)
    collect_shapes(chain.rng, chain.design, chain.prior, chain.chain, chain.trace, thin, base, out)
    return out
