"""Leaf means: their marginal likelihood, their draw, and the sums that follow from them."""

from __future__ import annotations

import math

import numpy as np

from tvselect.jit import part
from tvselect.trees.bits import whole_fours
from tvselect.trees.state import LEAF, LEFT, Leaves, Trees


@part
def residual_sum(leaves: Leaves, leaf: int) -> float:
    """Sum over a leaf of the response minus all *other* trees."""
    own = leaves.gram[leaf, leaf] * leaves.means[leaf]
    return leaves.sums[leaf] - (leaves.fitted[leaf] - own)


@part
def set_leaf_mean(leaves: Leaves, leaf: int, value: float) -> None:
    """Give a leaf another mean and bring all leaves' forest sums up to date."""
    step = value - leaves.means[leaf]
    leaves.means[leaf] = value
    for k in range(whole_fours(leaves.size[0])):
        leaves.fitted[k] += step * leaves.gram[leaf, k]


@part
def set_two_leaf_means(
    leaves: Leaves, first: int, first_value: float, second: int, second_value: float
) -> None:
    """:func:`set_leaf_mean` for two leaves in one pass."""
    first_step = first_value - leaves.means[first]
    second_step = second_value - leaves.means[second]
    leaves.means[first] = first_value
    leaves.means[second] = second_value
    for k in range(whole_fours(leaves.size[0])):
        leaves.fitted[k] += (
            first_step * leaves.gram[first, k] + second_step * leaves.gram[second, k]
        )


@part
def draw_leaf_means(
    rng: np.random.Generator,
    trees: Trees,
    leaves: Leaves,
    tree: int,
    leaf_precision: float,
    precision: float,
) -> None:
    """Draw all leaf means of a tree from their normal conditional.

    Leaves of one tree share no rows, so that their means are independent; they are
    written two at a time to halve the passes over the sums.
    """
    waiting, waiting_value = -1, 0.0
    for node in range(2 * trees.splits[tree] + 1):
        if trees.nodes[tree, node, LEFT] == 0:
            leaf = trees.nodes[tree, node, LEAF]
            variance = 1.0 / (leaf_precision + leaves.gram[leaf, leaf] * precision)
            mean = variance * precision * residual_sum(leaves, leaf)
            value = mean + math.sqrt(variance) * rng.standard_normal()
            if waiting < 0:
                waiting, waiting_value = leaf, value
            else:
                set_two_leaf_means(leaves, waiting, waiting_value, leaf, value)
                waiting = -1
    if waiting >= 0:
        set_leaf_mean(leaves, waiting, waiting_value)
