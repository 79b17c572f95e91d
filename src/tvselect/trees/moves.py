"""Birth and death: one Metropolis-Hastings step on the shape of a tree.

The prior of a split is the product of "this node splits" (by depth), the column
(uniform, or the urn of :mod:`tvselect.trees.dirichlet`), the cut (uniform over
those that the splits above leave open) and the side of missing values (a coin).
A birth proposes column, cut and side from exactly this prior, given all other
splits of the forest, so that they cancel and only the depth terms, the choice
of the leaf or of the pair of leaves, and the likelihood remain in the ratio.
Moves of one split are here, those of two in :mod:`tvselect.trees.pair_moves`.
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
def log_split_ratio(
    prior: PriorParameters,
    precision: float,
    proposal: float,
    depth: int,
    n_left: float,
    s_left: float,
    n_right: float,
    s_right: float,
) -> float:
    """Log of the Metropolis-Hastings ratio of a split; that of its removal is the negative.

    Likelihood: a leaf of ``n`` rows with residual sum ``s`` has, its mean integrated
    out and up to what no split changes, ``(kappa / v)^(1/2) exp((phi s)^2 / (2 v))``
    with ``v = kappa + n phi``, ``kappa = 1 / tau^2`` and ``phi = 1 / sigma^2``.
    Prior: one split at ``depth`` more, its two children leaves.
    Proposal: ``proposal`` is the chance that the removal is proposed over that of the split.
    """
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
def proposal_ratio(n_leaves: int, n_removable: int) -> float:
    """Chance of a death over that of the birth that it undoes.

    The birth chooses one of ``n_leaves`` leaves of the smaller tree, the death one of
    ``n_removable`` places of the larger one.
    """
    chance_birth = (1.0 if n_leaves == 1 else 0.5) / n_leaves
    chance_death = 0.5 / n_removable
    return chance_death / chance_birth


@part
def accepts(rng: np.random.Generator, log_ratio: float) -> bool:
    """Metropolis-Hastings: accept with probability ``min(1, exp(log_ratio))``."""
    return -rng.standard_exponential() < log_ratio


@part
def draw_split(
    rng: np.random.Generator,
    design: Design,
    prior: PriorParameters,
    chain: Chain,
    tree: int,
    node: int,
    column: int,
) -> tuple[int, int, float, float]:
    """Draw a cut and a side for missing values, and look at the left child.

    Returns
    -------
    cut : int
        -1 where the leaf cannot be split so.
    missing_left : int
    n_left, sum_left : float
        Rows of the left child, which the proposal then holds, and their response.
    """
    trees, leaves, proposal = chain.trees, chain.leaves, chain.proposal
    leaf = trees.nodes[tree, node, LEAF]
    where = design.columns[column]
    low, high = open_cuts(trees, tree, node, column, int(design.n_cuts[where]))
    if low >= high:
        return -1, 0, 0.0, 0.0
    cut = low + int(rng.random() * (high - low))
    missing_left = int(design.has_missing[where] and rng.random() < 0.5)
    n_left = rows_at_most(design.codes, where, leaves.masks, leaf, cut, missing_left, proposal.rows)
    n_right = leaves.gram[leaf, leaf] - n_left
    if n_left < prior.min_leaf or n_right < prior.min_leaf:
        return -1, 0, 0.0, 0.0
    overlaps(leaves.masks, leaves.size[0], proposal.rows, proposal.shared)
    return cut, missing_left, n_left, sum_over(chain.response.subset_sums, proposal.rows)


@part
def can_split(prior: PriorParameters, chain: Chain, tree: int, node: int) -> bool:
    """Whether a leaf has the rows and the depth for a split."""
    leaf = chain.trees.nodes[tree, node, LEAF]
    n_rows = chain.leaves.gram[leaf, leaf]
    return n_rows >= 2 * prior.min_leaf and chain.trees.nodes[tree, node, DEPTH] < MAX_DEPTH


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
    trees, leaves = chain.trees, chain.leaves
    n_leaves = trees.splits[tree] + 1
    node = nth_leaf(trees, tree, int(u * n_leaves))
    if not can_split(prior, chain, tree, node):
        return
    column = draw_column(rng, trees, chain.tally, design, prior, iteration)
    cut, missing_left, n_left, sum_left = draw_split(rng, design, prior, chain, tree, node, column)
    if cut < 0:
        return
    leaf = trees.nodes[tree, node, LEAF]
    fitted_left = weighted_sum(chain.proposal.shared, leaves.means, leaves.size[0])
    residual_left = sum_left - (fitted_left - n_left * leaves.means[leaf])

    # The parent stops being prunable when this leaf splits.
    replaces = node != 0 and is_prunable(trees, tree, trees.nodes[tree, node, PARENT])
    log_ratio = log_split_ratio(
        prior,
        chain.response.real[PRECISION],
        proposal_ratio(n_leaves, n_prunable(trees, tree) + 1 - replaces),
        trees.nodes[tree, node, DEPTH],
        n_left,
        residual_left,
        leaves.gram[leaf, leaf] - n_left,
        residual_sum(leaves, leaf) - residual_left,
    )
    if chain.tally.columns[column, COUNT] == 0:
        log_ratio += prior.column_log_weights[column]
    if accepts(rng, log_ratio):
        split_leaf(
            trees, leaves, chain.proposal, tree, node, column, cut, missing_left, sum_left,
            fitted_left,
        )  # fmt: skip
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
    log_ratio = -log_split_ratio(
        prior,
        chain.response.real[PRECISION],
        proposal_ratio(n_leaves - 1, prunable),
        trees.nodes[tree, node, DEPTH],
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
