"""The Gibbs loop: one iteration of Bayesian additive regression trees after the other."""

from __future__ import annotations

import numpy as np

from tvselect.jit import part, shared_kernel
from tvselect.trees.dirichlet import draw_concentration
from tvselect.trees.latents import draw_latents
from tvselect.trees.leaves import draw_leaf_means
from tvselect.trees.noise import draw_precision, use_response
from tvselect.trees.pair_moves import move
from tvselect.trees.state import (
    CONCENTRATION,
    N_DONE,
    N_SPLITS,
    OBSERVED,
    PRECISION,
    Chain,
    Design,
    Leaves,
    PriorParameters,
    Trace,
    Trees,
)


@shared_kernel
def run(
    rng: np.random.Generator,
    design: Design,
    prior: PriorParameters,
    chain: Chain,
    trace: Trace,
    stop: int,
) -> None:
    """Run iterations until ``stop`` of them are done.

    It ends early, between two iterations, when the arrays of the chain could become
    too small in the next one. The chain itself holds how many iterations are done, so
    that an interrupt on the way back to Python loses nothing.
    """
    trees, leaves, tally, response, proposal = chain
    q = design.columns.shape[0]
    if tally.whole[N_DONE] == 0:
        use_response(response, leaves, proposal)
    for iteration in range(tally.whole[N_DONE], stop):
        if is_cramped(trees, leaves, 1 if prior.pair_share == 0.0 else 2):
            return
        if prior.latent != OBSERVED and iteration % prior.latent_sweeps == 0:
            draw_latents(rng, prior, response, leaves, proposal, design.n_rows)
        for tree in range(trees.splits.shape[0]):
            move(rng, design, prior, chain, tree, iteration)
            draw_leaf_means(
                rng, trees, leaves, tree, prior.leaf_precision, response.real[PRECISION]
            )
        if prior.free_noise:
            draw_precision(rng, response, leaves, design.n_rows, prior.noise_df, prior.noise_sum)
        if iteration >= prior.sparse_from:
            draw_concentration(rng, tally, prior, q)
        trace.precision[iteration] = response.real[PRECISION]
        trace.theta[iteration] = q * prior.shares[tally.whole[CONCENTRATION]]
        trace.n_splits[iteration] = tally.whole[N_SPLITS]
        tally.whole[N_DONE] = iteration + 1


@part
def is_cramped(trees: Trees, leaves: Leaves, n_more: int) -> bool:
    """Whether so many more splits in every tree might not fit."""
    n_trees, n_nodes = trees.nodes.shape[0], trees.nodes.shape[1]
    if leaves.size[0] + n_more * n_trees >= leaves.sums.shape[0]:
        return True
    for tree in range(n_trees):
        if 2 * (trees.splits[tree] + n_more) + 1 > n_nodes:
            return True
    return False
