"""Birth and death of two splits at once, one below the other: how an interaction gets in.

Two columns that matter only together explain nothing when the first of them is split on, and
a chain that adds one split at a time stays where it is. A pair birth splits a leaf and then one
of its children, chosen by a coin; a pair death takes back a split with a leaf on one side and a
split into two leaves on the other. Cuts and sides of missing values are drawn from their prior
one after the other, as in :mod:`tvselect.trees.moves`, and cancel in the same way. So are the two
columns; where pairs are known that are worth a try (``prior.pairs``), half of the proposals take
one of these instead, and the ratio makes up for it.
"""

from __future__ import annotations

import math

import numpy as np

from tvselect.jit import part
from tvselect.trees.dirichlet import (
    chance_of_column,
    uncount_split,
)
from tvselect.trees.leaves import residual_sum
from tvselect.trees.moves import (
    accepts,
    birth,
    death,
    draw_split,
    log_ratio_of,
    log_split_ratio,
    make_split,
    proposal_ratio,
)
from tvselect.trees.state import (
    ACCEPTED,
    COLUMN,
    COUNT,
    DEPTH,
    LEAF,
    LEFT,
    N_SPLITS,
    PARENT,
    PRECISION,
    Chain,
    Design,
    PriorParameters,
    Trees,
)
from tvselect.trees.structure import is_prunable, merge_leaves, nth_leaf

SIDES = 2.0


@part
def move(
    rng: np.random.Generator,
    design: Design,
    prior: PriorParameters,
    chain: Chain,
    tree: int,
    iteration: int,
) -> None:
    """Propose a birth or a death, of one split or of two.

    A coin decides between birth and death, but a stump can only grow; the share
    ``prior.pair_share`` of both is of two splits. Coin, share and the choice of a place use one
    uniform number.
    """
    u = rng.random()
    is_death = False
    if chain.trees.splits[tree] > 0:
        u *= 2.0
        is_death = u >= 1.0
        u -= is_death
    is_pair = u < prior.pair_share
    if is_pair:
        u /= prior.pair_share
    elif prior.pair_share > 0.0:
        u = (u - prior.pair_share) / (1.0 - prior.pair_share)
    if is_pair and is_death:
        pair_death(rng, design, prior, chain, tree, iteration, u)
    elif is_pair:
        pair_birth(rng, design, prior, chain, tree, iteration, u)
    elif is_death:
        death(rng, prior, chain, tree, iteration, u)
    else:
        birth(rng, design, prior, chain, tree, iteration, u)


@part
def split_child(trees: Trees, tree: int, node: int) -> int:
    """The child that a pair death would remove with the node's own split; 0 for none.

    It is split into two leaves, and its sibling is a leaf.
    """
    left = trees.nodes[tree, node, LEFT]
    if left == 0:
        return 0
    if trees.nodes[tree, left, LEFT] == 0:
        return left + 1 if is_prunable(trees, tree, left + 1) else 0
    if trees.nodes[tree, left + 1, LEFT] == 0:
        return left if is_prunable(trees, tree, left) else 0
    return 0


@part
def n_pairs(trees: Trees, tree: int) -> int:
    """Number of nodes that a pair death may choose."""
    found = 0
    for node in range(2 * trees.splits[tree] + 1):
        found += split_child(trees, tree, node) != 0
    return found


@part
def nth_pair(trees: Trees, tree: int, rank: int) -> int:
    """A node that a pair death may choose, counted from 0."""
    node = 0
    while True:
        if split_child(trees, tree, node) != 0:
            if rank == 0:
                return node
            rank -= 1
        node += 1


@part
def pairs_after(trees: Trees, tree: int, node: int) -> int:
    """Number of pairs after a pair birth at a leaf.

    There is the new one, and two above it may be lost: the parent's, of which the leaf was a
    part, and the grandparent's, whose split child has two leaves no more.
    """
    found = n_pairs(trees, tree) + 1
    if node != 0:
        parent = trees.nodes[tree, node, PARENT]
        found -= split_child(trees, tree, parent) != 0
        if parent != 0:
            above = trees.nodes[tree, parent, PARENT]
            found -= split_child(trees, tree, above) == parent
    return found


@part
def draw_pair(rng: np.random.Generator, prior: PriorParameters) -> tuple[int, int]:
    """One of the known pairs, or (-1, -1) for columns drawn from the prior: a coin decides."""
    n_known = prior.pairs.shape[0]
    if n_known == 0:
        return -1, -1
    u = 2.0 * rng.random()
    if u >= 1.0:
        return -1, -1
    known = int(u * n_known)
    return prior.pairs[known, 0], prior.pairs[known, 1]


@part
def log_chance_of_pair(
    design: Design,
    prior: PriorParameters,
    chain: Chain,
    first: int,
    second: int,
    iteration: int,
) -> float:
    """Log of the chance that a pair birth proposes two columns over that of the prior.

    The forest has both splits already, as the one birth left it and the other death finds it.
    """
    n_known = prior.pairs.shape[0]
    if n_known == 0:
        return 0.0
    n_equal = 0
    for k in range(n_known):
        n_equal += prior.pairs[k, 0] == first and prior.pairs[k, 1] == second
    tally, q = chain.tally, design.columns.shape[0]
    n_splits = tally.whole[N_SPLITS]
    n_first = tally.columns[first, COUNT] - 1 - (first == second)
    n_second = tally.columns[second, COUNT] - 1
    by_prior = chance_of_column(
        tally, prior, q, iteration, n_first, n_splits - 2
    ) * chance_of_column(tally, prior, q, iteration, n_second, n_splits - 1)
    return math.log(0.5 + 0.5 * n_equal / (n_known * by_prior))


@part
def take_back(prior: PriorParameters, chain: Chain, tree: int, node: int, iteration: int) -> None:
    """Undo the last split that was proposed."""
    uncount_split(chain.tally, chain.trees.nodes[tree, node, COLUMN], iteration, prior.burn)
    merge_leaves(chain.trees, chain.leaves, tree, node)
    chain.tally.whole[ACCEPTED] -= 2


@part
def pair_birth(
    rng: np.random.Generator,
    design: Design,
    prior: PriorParameters,
    chain: Chain,
    tree: int,
    iteration: int,
    u: float,
) -> None:
    """Propose to split a leaf, chosen by the uniform number ``u``, and one of its children.

    Both splits are made, and taken back unless they are accepted.
    """
    trees = chain.trees
    n_leaves = trees.splits[tree] + 1
    node = nth_leaf(trees, tree, int(u * n_leaves))
    proposal = SIDES * proposal_ratio(n_leaves, pairs_after(trees, tree, node))
    column, below = draw_pair(rng, prior)
    first = draw_split(rng, design, prior, chain, tree, node, column, iteration)
    if first.cut < 0:
        return
    log_ratio = log_ratio_of(prior, chain, tree, node, first, 1.0)
    make_split(prior, chain, tree, node, first, iteration)
    child = trees.nodes[tree, node, LEFT] + int(rng.random() * SIDES)
    second = draw_split(rng, design, prior, chain, tree, child, below, iteration)
    if second.cut >= 0:
        log_ratio += log_ratio_of(prior, chain, tree, child, second, proposal)
        make_split(prior, chain, tree, child, second, iteration)
        log_ratio -= log_chance_of_pair(
            design, prior, chain, first.column, second.column, iteration
        )
        if accepts(rng, log_ratio):
            chain.tally.whole[ACCEPTED] -= 1
            return
        take_back(prior, chain, tree, child, iteration)
    take_back(prior, chain, tree, node, iteration)


@part
def pair_death(
    rng: np.random.Generator,
    design: Design,
    prior: PriorParameters,
    chain: Chain,
    tree: int,
    iteration: int,
    u: float,
) -> None:
    """Propose to remove a pair of splits, chosen by the uniform number ``u``."""
    trees, leaves, tally = chain.trees, chain.leaves, chain.tally
    nodes, precision = trees.nodes, chain.response.real[PRECISION]
    removable = n_pairs(trees, tree)
    if removable == 0:
        return
    node = nth_pair(trees, tree, int(u * removable))
    child = split_child(trees, tree, node)
    sibling = 2 * nodes[tree, node, LEFT] + 1 - child
    left = nodes[tree, nodes[tree, child, LEFT], LEAF]
    right = nodes[tree, nodes[tree, child, LEFT] + 1, LEAF]
    other = nodes[tree, sibling, LEAF]
    n_left, s_left = leaves.gram[left, left], residual_sum(leaves, left)
    n_right, s_right = leaves.gram[right, right], residual_sum(leaves, right)
    depth, n_leaves = nodes[tree, node, DEPTH], trees.splits[tree] + 1
    proposal = SIDES * proposal_ratio(n_leaves - 2, removable)
    log_ratio = -(
        log_split_ratio(prior, precision, proposal, depth + 1, n_left, s_left, n_right, s_right)
        + log_split_ratio(
            prior, precision, 1.0, depth, n_left + n_right, s_left + s_right,
            leaves.gram[other, other], residual_sum(leaves, other),
        )
    )  # fmt: skip
    first, second = nodes[tree, node, COLUMN], nodes[tree, child, COLUMN]
    log_ratio += log_chance_of_pair(design, prior, chain, first, second, iteration)
    if tally.columns[second, COUNT] == 1:
        log_ratio -= prior.column_log_weights[second]
    if tally.columns[first, COUNT] - (first == second) == 1:
        log_ratio -= prior.column_log_weights[first]
    if accepts(rng, log_ratio):
        freed, last = nodes[tree, child, LEFT], 2 * trees.splits[tree] - 1
        merge_leaves(trees, leaves, tree, child)
        if node >= last:
            node = freed + node - last
        merge_leaves(trees, leaves, tree, node)
        uncount_split(tally, second, iteration, prior.burn)
        uncount_split(tally, first, iteration, prior.burn)
        tally.whole[ACCEPTED] -= 1
