"""The forest's shape: looking at it, splitting a leaf, merging two leaves."""

from __future__ import annotations

from tvselect.jit import part
from tvselect.trees.leaves import set_leaf_mean
from tvselect.trees.state import (
    COLUMN,
    CUT,
    DEPTH,
    LEAF,
    LEFT,
    MISSING_LEFT,
    PARENT,
    Leaves,
    Proposal,
    Trees,
)


@part
def nth_leaf(trees: Trees, tree: int, rank: int) -> int:
    """Node of a leaf, counted from 0."""
    node = 0
    while True:
        if trees.nodes[tree, node, LEFT] == 0:
            if rank == 0:
                return node
            rank -= 1
        node += 1


@part
def nth_split(trees: Trees, tree: int, rank: int) -> int:
    """Node of a split, counted from 0."""
    node = 0
    while True:
        if trees.nodes[tree, node, LEFT] != 0:
            if rank == 0:
                return node
            rank -= 1
        node += 1


@part
def is_prunable(trees: Trees, tree: int, node: int) -> bool:
    """Whether a node is split into two leaves, so that a death may remove the split."""
    left = trees.nodes[tree, node, LEFT]
    return (
        left != 0 and trees.nodes[tree, left, LEFT] == 0 and trees.nodes[tree, left + 1, LEFT] == 0
    )


@part
def n_prunable(trees: Trees, tree: int) -> int:
    """Number of prunable nodes."""
    found = 0
    for node in range(2 * trees.splits[tree] + 1):
        found += is_prunable(trees, tree, node)
    return found


@part
def nth_prunable(trees: Trees, tree: int, rank: int) -> int:
    """A prunable node, counted from 0."""
    node = 0
    while True:
        if is_prunable(trees, tree, node):
            if rank == 0:
                return node
            rank -= 1
        node += 1


@part
def open_cuts(trees: Trees, tree: int, node: int, column: int, n_cuts: int) -> tuple[int, int]:
    """Range ``[low, high)`` of the cuts of a column that the splits above leave open."""
    low, high = 0, n_cuts
    while node != 0:
        parent = trees.nodes[tree, node, PARENT]
        if trees.nodes[tree, parent, COLUMN] == column:
            cut = trees.nodes[tree, parent, CUT]
            if trees.nodes[tree, parent, LEFT] == node:
                high = min(high, cut)
            else:
                low = max(low, cut + 1)
        node = parent
    return low, high


@part
def split_leaf(
    trees: Trees,
    leaves: Leaves,
    proposal: Proposal,
    tree: int,
    node: int,
    column: int,
    cut: int,
    missing_left: int,
    sum_left: float,
    fitted_left: float,
) -> None:
    """Split a leaf into the proposal's rows and the rest; both children keep its mean.

    The left child takes the leaf's place in the list, the right child a new one at
    the end.
    """
    nodes, gram, shared = trees.nodes, leaves.gram, proposal.shared
    child = 2 * trees.splits[tree] + 1
    left = nodes[tree, node, LEAF]
    right = leaves.size[0]

    nodes[tree, node, LEFT] = child
    nodes[tree, node, COLUMN] = column
    nodes[tree, node, CUT] = cut
    nodes[tree, node, MISSING_LEFT] = missing_left
    place_leaf(trees, leaves, tree, child, node, left)
    place_leaf(trees, leaves, tree, child + 1, node, right)
    trees.splits[tree] += 1

    for k in range(right):
        gram[right, k] = gram[left, k] - shared[k]
        gram[k, right] = gram[right, k]
        gram[left, k] = shared[k]
        gram[k, left] = shared[k]
    gram[right, right] = gram[right, left]
    gram[right, left] = 0.0
    gram[left, right] = 0.0
    for w in range(proposal.rows.shape[0]):
        leaves.masks[w, right] = leaves.masks[w, left] & ~proposal.rows[w]
        leaves.masks[w, left] = proposal.rows[w]
    leaves.sums[right] = leaves.sums[left] - sum_left
    leaves.sums[left] = sum_left
    leaves.fitted[right] = leaves.fitted[left] - fitted_left
    leaves.fitted[left] = fitted_left
    leaves.means[right] = leaves.means[left]
    leaves.size[0] += 1


@part
def place_leaf(trees: Trees, leaves: Leaves, tree: int, node: int, parent: int, leaf: int) -> None:
    """Write a new leaf below ``parent`` and tie it to its place in the list."""
    trees.nodes[tree, node, PARENT] = parent
    trees.nodes[tree, node, LEFT] = 0
    trees.nodes[tree, node, DEPTH] = trees.nodes[tree, parent, DEPTH] + 1
    trees.nodes[tree, node, LEAF] = leaf
    leaves.owners[leaf, 0] = tree
    leaves.owners[leaf, 1] = node


@part
def merge_leaves(trees: Trees, leaves: Leaves, tree: int, node: int) -> None:
    """Undo a split: the node becomes a leaf with the left child's place and mean."""
    nodes, gram = trees.nodes, leaves.gram
    child = nodes[tree, node, LEFT]
    keep = nodes[tree, child, LEAF]
    free = nodes[tree, child + 1, LEAF]
    set_leaf_mean(leaves, free, leaves.means[keep])

    n_rows = gram[keep, keep] + gram[free, free]
    for k in range(leaves.size[0]):
        gram[keep, k] += gram[free, k]
        gram[k, keep] = gram[keep, k]
    gram[keep, keep] = n_rows
    for w in range(leaves.masks.shape[0]):
        leaves.masks[w, keep] |= leaves.masks[w, free]
    leaves.sums[keep] += leaves.sums[free]
    leaves.fitted[keep] += leaves.fitted[free]
    nodes[tree, node, LEFT] = 0
    nodes[tree, node, LEAF] = keep
    leaves.owners[keep, 1] = node
    close_pair(trees, leaves, tree, child)
    close_leaf(trees, leaves, free)


@part
def close_pair(trees: Trees, leaves: Leaves, tree: int, pair: int) -> None:
    """Free a pair of sibling nodes by moving the tree's last pair into its place."""
    nodes = trees.nodes
    last = 2 * trees.splits[tree] - 1
    trees.splits[tree] -= 1
    if last == pair:
        return
    nodes[tree, nodes[tree, last, PARENT], LEFT] = pair
    for side in range(2):
        for field in range(nodes.shape[2]):
            nodes[tree, pair + side, field] = nodes[tree, last + side, field]
        child = nodes[tree, pair + side, LEFT]
        if child == 0:
            leaves.owners[nodes[tree, pair + side, LEAF], 1] = pair + side
        else:
            nodes[tree, child, PARENT] = pair + side
            nodes[tree, child + 1, PARENT] = pair + side


@part
def close_leaf(trees: Trees, leaves: Leaves, leaf: int) -> None:
    """Free a place in the list of leaves by moving the last leaf into it."""
    leaves.size[0] -= 1
    last = leaves.size[0]
    if last == leaf:
        return
    gram = leaves.gram
    for k in range(last):
        gram[leaf, k] = gram[last, k]
        gram[k, leaf] = gram[last, k]
    gram[leaf, leaf] = gram[last, last]
    for w in range(leaves.masks.shape[0]):
        leaves.masks[w, leaf] = leaves.masks[w, last]
    leaves.sums[leaf] = leaves.sums[last]
    leaves.means[leaf] = leaves.means[last]
    leaves.fitted[leaf] = leaves.fitted[last]
    leaves.owners[leaf, 0] = leaves.owners[last, 0]
    leaves.owners[leaf, 1] = leaves.owners[last, 1]
    trees.nodes[leaves.owners[leaf, 0], leaves.owners[leaf, 1], LEAF] = leaf
