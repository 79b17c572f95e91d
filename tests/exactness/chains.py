"""Chains of the sampler under test, set up from a :class:`simulate.Setting`."""

from __future__ import annotations

import numpy as np
from scipy import stats

from tests.exactness.outcomes import has_noise, n_forests, start_cuts
from tests.exactness.simulate import Setting
from tvselect.jit import kernel
from tvselect.trees import Prior, Response, Sampler, start_chain
from tvselect.trees.bits import in_bit_order
from tvselect.trees.gibbs import run
from tvselect.trees.state import COLUMN as NODE_COLUMN
from tvselect.trees.state import (
    CONCENTRATION,
    COUNT,
    CUT,
    DEPTH,
    LEFT,
    MISSING_LEFT,
    N_DONE,
    N_SPLITS,
    with_more_room,
)


def prior_of(setting: Setting, family: str = "gaussian") -> Prior:
    spread = 0.5 if has_noise(family) else 3.0
    return Prior(
        n_trees=setting.n_trees,
        min_leaf=setting.min_leaf,
        base=setting.base,
        power=setting.power,
        k=spread / (setting.leaf_sd * np.sqrt(setting.n_trees / n_forests(family))),
        noise_df=setting.noise_df,
        sparse=setting.sparse,
        pair_share=setting.pair_share,
        latent_sweeps=setting.latent_sweeps,
    )


def start(setting, observed, *, rng, n_iterations, sigma=None, family="gaussian"):
    """A chain whose first iteration is already under the full prior, with ample room.

    ``observed`` are the outcomes, taken as they are, or what is known of them (2, rows).
    """
    cuts = start_cuts(family)
    prior = prior_of(setting, family)
    n_rows = setting.table.n_rows
    quantile = stats.chi2.ppf(1 - prior.noise_quantile, prior.noise_df)
    response = Response(
        family=family,
        observed=np.stack([in_bit_order(row) for row in np.broadcast_to(observed, (2, n_rows))]),
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
        prior,
        column_weights=setting.column_weights,
        pairs=setting.pairs,
        n_iterations=n_iterations,
        n_burn=0,
        sigma=sigma,
        rng=rng,
    )
    return with_ample_room(chain)


def with_ample_room(chain: Sampler) -> Sampler:
    for _ in range(2):
        chain.chain = with_more_room(chain.chain)
    return chain


@kernel
def collect_statistics(rng, design, prior, chain, trace, n_draws, thin, out):
    """Splits, greatest depth, place of theta, splits by column, every ``thin`` iterations."""
    for r in range(n_draws):
        chain.tally.whole[N_DONE] = 0
        run(rng, design, prior, chain, trace, thin)
        out[r, 0] = chain.tally.whole[N_SPLITS]
        out[r, 1] = 0
        for t in range(chain.trees.splits.shape[0]):
            for node in range(2 * chain.trees.splits[t] + 1):
                out[r, 1] = max(out[r, 1], chain.trees.nodes[t, node, DEPTH])
        out[r, 2] = chain.tally.whole[CONCENTRATION]
        for j in range(design.columns.shape[0]):
            out[r, 3 + j] = chain.tally.columns[j, COUNT]


def chain_statistics(chain: Sampler, n_draws, thin):
    out = np.zeros((n_draws, 3 + chain.design.columns.size))
    collect_statistics(
        chain.rng, chain.design, chain.prior, chain.chain, chain.trace, n_draws, thin, out
    )
    return out


@kernel
def collect_shapes(rng, design, prior, chain, trace, n_draws, thin, base, stack, out):
    """Every tree as one number: its preorder in digits, 0 for a leaf."""
    nodes = chain.trees.nodes
    for r in range(n_draws):
        chain.tally.whole[N_DONE] = 0
        run(rng, design, prior, chain, trace, thin)
        for t in range(chain.trees.splits.shape[0]):
            key = 1
            top = 1
            stack[0] = 0
            while top > 0:
                top -= 1
                node = stack[top]
                digit = 0
                if nodes[t, node, LEFT] != 0:
                    place = nodes[t, node, NODE_COLUMN] * 254 + nodes[t, node, CUT]
                    digit = 1 + 2 * place + nodes[t, node, MISSING_LEFT]
                    stack[top] = nodes[t, node, LEFT] + 1
                    stack[top + 1] = nodes[t, node, LEFT]
                    top += 2
                key = key * base + digit
            out[r, t] = key


def chain_shapes(chain: Sampler, n_draws, thin, base):
    out = np.zeros((n_draws, chain.chain.trees.splits.size), dtype=np.int64)
    stack = np.zeros(64, dtype=np.int64)
    collect_shapes(
        chain.rng, chain.design, chain.prior, chain.chain, chain.trace, n_draws, thin, base, stack,
        out,
    )  # fmt: skip
    return out
