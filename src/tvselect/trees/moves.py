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
from typing import NamedTuple

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


class Split(NamedTuple):
    """A split of a leaf as it is proposed: column, cut, side of missing values, left child.

    Attributes
    ----------
    cut : int
        -1 where the leaf cannot be split so.
    n_left, sum_left, fitted_left : float
        Rows of the left child, their response and the forest there.
    """

    column: int
    cut: int
    missing_left: int
    n_left: float
    sum_left: float
    fitted_left: float


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
    iteration: int,
) -> Split:
    """Draw how to split a leaf, on a column or, for -1, on one drawn from the prior.

    The proposal then holds the rows of the left child.
    """
    trees, leaves, proposal = chain.trees, chain.leaves, chain.proposal
    leaf = trees.nodes[tree, node, LEAF]
    n_both = leaves.gram[leaf, leaf]
    if n_both < 2 * prior.min_leaf or trees.nodes[tree, node, DEPTH] == MAX_DEPTH:
        return Split(-1, -1, 0, 0.0, 0.0, 0.0)
    if column < 0:
        column = draw_column(rng, trees, chain.tally, design, prior, iteration)
    where = design.columns[column]
    low, high = open_cuts(trees, tree, node, column, int(design.n_cuts[where]))
    if low >= high:
        return Split(column, -1, 0, 0.0, 0.0, 0.0)
    cut = low + int(rng.random() * (high - low))
    missing_left = int(design.has_missing[where] and rng.random() < 0.5)
    n_left = rows_at_most(
        design.codes, design.starts[where], int(design.widths[where]), leaves.masks, leaf, cut,
        missing_left, proposal.rows,
    )  # fmt: skip
    if n_left < prior.min_leaf or n_both - n_left < prior.min_leaf:
        return Split(column, -1, 0, 0.0, 0.0, 0.0)
    overlaps(leaves.masks, leaves.size[0], proposal.rows, proposal.shared)
    fitted_left = weighted_sum(proposal.shared, leaves.means, leaves.size[0])
    sum_left = sum_over(chain.response.subset_sums, proposal.rows)
    return Split(column, cut, missing_left, float(n_left), sum_left, fitted_left)


@part
def log_ratio_of(
    prior: PriorParameters, chain: Chain, tree: int, node: int, split: Split, proposal: float
) -> float:
    """Log of the Metropolis-Hastings ratio of a drawn split, the weight of its column included."""
    leaves = chain.leaves
    leaf = chain.trees.nodes[tree, node, LEAF]
    residual_left = split.sum_left - (split.fitted_left - split.n_left * leaves.means[leaf])
    log_ratio = log_split_ratio(
        prior,
        chain.response.real[PRECISION],
        proposal,
        chain.trees.nodes[tree, node, DEPTH],
        split.n_left,
        residual_left,
        leaves.gram[leaf, leaf] - split.n_left,
        residual_sum(leaves, leaf) - residual_left,
    )
    if chain.tally.columns[split.column, COUNT] == 0:
        log_ratio += prior.column_log_weights[split.column]
    return log_ratio


@part
def make_split(
    prior: PriorParameters, chain: Chain, tree: int, node: int, split: Split, iteration: int
) -> None:
    """Split a leaf as drawn, and count it."""
    split_leaf(
        chain.trees, chain.leaves, chain.proposal, tree, node, split.column, split.cut,
        split.missing_left, split.sum_left, split.fitted_left,
    )  # fmt: skip
    count_split(chain.tally, split.column, iteration, prior.burn)


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
    trees = chain.trees
    n_leaves = trees.splits[tree] + 1
    node = nth_leaf(trees, tree, int(u * n_leaves))
    split = draw_split(rng, design, prior, chain, tree, node, -1, iteration)
    if split.cut < 0:
        return
    # The parent stops being prunable when this leaf splits.
    replaces = node != 0 and is_prunable(trees, tree, trees.nodes[tree, node, PARENT])
    proposal = proposal_ratio(n_leaves, n_prunable(trees, tree) + 1 - replaces)
    if accepts(rng, log_ratio_of(prior, chain, tree, node, split, proposal)):
        make_split(prior, chain, tree, node, split, iteration)


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
