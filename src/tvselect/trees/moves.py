"""Birth and death: one Metropolis-Hastings step on the shape of a tree.

The prior of a split is the product of "this node splits" (by depth), the column
(uniform, or the urn of :mod:`tvselect.trees.dirichlet`), the cut (uniform over
those that the splits above leave open) and the side of missing values (a coin).
A birth proposes column, cut and side from exactly this prior, given all other
splits of the forest, so that they cancel and only the depth terms, the choice
of the leaf or of the pair of leaves, and the likelihood remain in the ratio.
"""

from __future__ import annotations

import math

import numpy as np

from tvselect.jit import part
from tvselect.trees.bits import overlaps, rows_at_most, sum_over, weighted_sum
from tvselect.trees.dirichlet import count_split, draw_column, uncount_split
from tvselect.trees.leaves import residual_sum
from tvselect.trees.state import (
    COLUMN,
    COUNT,
    DEPTH,
    LEAF,
    LEFT,
    MAX_DEPTH,
    PARENT,
    PRECISION,
    Chain,
    Design,
    PriorParameters,
)
from tvselect.trees.structure import (
    is_prunable,
    merge_leaves,
    n_prunable,
    nth_leaf,
    nth_prunable,
    open_cuts,
    split_leaf,
)


@part
def move(
    rng: np.random.Generator,
    design: Design,
    prior: PriorParameters,
    chain: Chain,
    tree: int,
    iteration: int,
) -> None:
    """Propose a birth or a death: a coin decides, but a stump can only grow.

    The coin and the choice of a leaf or split share one uniform number.
    """
    u = rng.random()
    if chain.trees.splits[tree] > 0:
        u *= 2.0
    if u < 1.0:
        birth(rng, design, prior, chain, tree, iteration, u)
    else:
        death(rng, prior, chain, tree, iteration, u - 1.0)


@part
def log_birth_ratio(
    prior: PriorParameters,
    precision: float,
    depth: int,
    n_leaves: int,
    n_prunable: int,
    n_left: float,
    s_left: float,
    n_right: float,
    s_right: float,
) -> float:
    """Log of the Metropolis-Hastings ratio of a birth; that of the death is its negative.

    Likelihood: a leaf of ``n`` rows with residual sum ``s`` has, its mean integrated
    out and up to what no split changes, ``(kappa / v)^(1/2) exp((phi s)^2 / (2 v))``
    with ``v = kappa + n phi``, ``kappa = 1 / tau^2`` and ``phi = 1 / sigma^2``.
    Prior: one split at ``depth`` more, its two children leaves.
    Proposal: the birth chooses one of ``n_leaves`` leaves of the smaller tree, the death
    that undoes it one of ``n_prunable`` splits of the larger one.
    """
    chance_birth = (1.0 if n_leaves == 1 else 0.5) / n_leaves
    chance_death = 0.5 / n_prunable
    proposal = chance_death / chance_birth

    v_left = prior.leaf_precision + n_left * precision
    v_right = prior.leaf_precision + n_right * precision
    v_both = prior.leaf_precision + (n_left + n_right) * precision
    s_both = s_left + s_right
    gain = s_left * s_left / v_left + s_right * s_right / v_right - s_both * s_both / v_both
    shrink = prior.leaf_precision * v_both / (v_left * v_right)

    return (
        0.5 * (math.log(shrink * proposal * proposal) + precision * precision * gain)
        + prior.split_log_odds[depth]
    )


@part
def accepts(rng: np.random.Generator, log_ratio: float) -> bool:
    """Metropolis-Hastings: accept with probability ``min(1, exp(log_ratio))``."""
    return -rng.standard_exponential() < log_ratio


@part
def birth(
    rng: np.random.Generator,
    design: Design,
    prior: PriorParameters,
    chain: Chain,
    tree: int,
    iteration: int,
    u: float,
) -> None:
    """Propose to split a leaf, chosen by the uniform number ``u``."""
    trees, leaves, response, proposal = chain.trees, chain.leaves, chain.response, chain.proposal
    n_leaves = trees.splits[tree] + 1
    node = nth_leaf(trees, tree, int(u * n_leaves))
    leaf = trees.nodes[tree, node, LEAF]
    depth = trees.nodes[tree, node, DEPTH]
    n_both = leaves.gram[leaf, leaf]
    if n_both < 2 * prior.min_leaf or depth == MAX_DEPTH:
        return

    column = draw_column(rng, trees, chain.tally, design, prior, iteration)
    where = design.columns[column]
    low, high = open_cuts(trees, tree, node, column, int(design.n_cuts[where]))
    if low >= high:
        return
    cut = low + int(rng.random() * (high - low))
    missing_left = int(design.has_missing[where] and rng.random() < 0.5)
    n_left = rows_at_most(design.codes, where, leaves.masks, leaf, cut, missing_left, proposal.rows)
    n_right = n_both - n_left
    if n_left < prior.min_leaf or n_right < prior.min_leaf:
        return

    overlaps(leaves.masks, leaves.size[0], proposal.rows, proposal.shared)
    fitted_left = weighted_sum(proposal.shared, leaves.means, leaves.size[0])
    sum_left = sum_over(response.subset_sums, proposal.rows)
    residual_left = sum_left - (fitted_left - n_left * leaves.means[leaf])
    residual_right = residual_sum(leaves, leaf) - residual_left

    # The parent stops being prunable when this leaf splits.
    replaces = node != 0 and is_prunable(trees, tree, trees.nodes[tree, node, PARENT])
    prunable = n_prunable(trees, tree) + 1 - replaces
    log_ratio = log_birth_ratio(
        prior,
        response.real[PRECISION],
        depth,
        n_leaves,
        prunable,
        n_left,
        residual_left,
        n_right,
        residual_right,
    )
    if chain.tally.columns[column, COUNT] == 0:
        log_ratio += prior.column_log_weights[column]
    if accepts(rng, log_ratio):
        split_leaf(
            trees, leaves, proposal, tree, node, column, cut, missing_left, sum_left, fitted_left
        )
        count_split(chain.tally, column, iteration, prior.burn)


@part
def death(
    rng: np.random.Generator,
    prior: PriorParameters,
    chain: Chain,
    tree: int,
    iteration: int,
    u: float,
) -> None:
    """Propose to remove a split above two leaves, chosen by the uniform number ``u``."""
    trees, leaves = chain.trees, chain.leaves
    n_leaves = trees.splits[tree] + 1
    prunable = n_prunable(trees, tree)
    node = nth_prunable(trees, tree, int(u * prunable))
    child = trees.nodes[tree, node, LEFT]
    left = trees.nodes[tree, child, LEAF]
    right = trees.nodes[tree, child + 1, LEAF]
    log_ratio = -log_birth_ratio(
        prior,
        chain.response.real[PRECISION],
        trees.nodes[tree, node, DEPTH],
        n_leaves - 1,
        prunable,
        leaves.gram[left, left],
        residual_sum(leaves, left),
        leaves.gram[right, right],
        residual_sum(leaves, right),
    )
    column = trees.nodes[tree, node, COLUMN]
    if chain.tally.columns[column, COUNT] == 1:
        log_ratio -= prior.column_log_weights[column]
    if accepts(rng, log_ratio):
        merge_leaves(trees, leaves, tree, node)
        uncount_split(chain.tally, column, iteration, prior.burn)
