// The forest's shape: looking at it, splitting a leaf, merging two leaves.
#pragma once

#include "leaves.h"

namespace tvselect {
namespace {

constexpr int64_t MAX_DEPTH = 63;

// The rank-th node, counted from 0, of those that are of some kind. It looks at all nodes: where it
// could stop early is a guess that the processor would get wrong.
template <class Kind>
inline int64_t nth_node(const Trees &trees, int64_t tree, int64_t rank, Kind is_of_kind) {
    int64_t found = 0;
    for (int64_t node = 0; node < 2 * trees.splits[tree] + 1; ++node) {
        bool is_one = is_of_kind(node);
        found = is_one && rank == 0 ? node : found;
        rank -= is_one;
    }
    return found;
}

inline int64_t nth_leaf(const Trees &trees, int64_t tree, int64_t rank) {
    return nth_node(trees, tree, rank,
                    [&](int64_t node) { return trees.nodes(tree, node).left == 0; });
}

inline int64_t nth_split(const Trees &trees, int64_t tree, int64_t rank) {
    return nth_node(trees, tree, rank,
                    [&](int64_t node) { return trees.nodes(tree, node).left != 0; });
}

// Whether a node is split into two leaves, so that a death may remove the split.
inline bool is_prunable(const Trees &trees, int64_t tree, int64_t node) {
    int64_t left = trees.nodes(tree, node).left;
    return left != 0 && trees.nodes(tree, left).left == 0 && trees.nodes(tree, left + 1).left == 0;
}

inline int64_t n_prunable(const Trees &trees, int64_t tree) {
    if (trees.splits[tree] <= 2) return trees.splits[tree] > 0; // the only split, or the lower one
    int64_t found = 0;
    for (int64_t node = 0; node < 2 * trees.splits[tree] + 1; ++node)
        found += is_prunable(trees, tree, node);
    return found;
}

inline int64_t nth_prunable(const Trees &trees, int64_t tree, int64_t rank) {
    return nth_node(trees, tree, rank,
                    [&](int64_t node) { return is_prunable(trees, tree, node); });
}

struct CutRange {
    int64_t low, high;
};

// Range [low, high) of the cuts of a column that the splits above leave open.
inline CutRange open_cuts(const Trees &trees, int64_t tree, int64_t node, int64_t column,
                          int64_t n_cuts) {
    CutRange open{0, n_cuts};
    while (node != 0) {
        int64_t parent = trees.nodes(tree, node).parent;
        const tvs_node &above = trees.nodes(tree, parent);
        if (above.column == column) {
            if (above.left == node)
                open.high = above.cut < open.high ? above.cut : open.high;
            else
                open.low = above.cut + 1 > open.low ? above.cut + 1 : open.low;
        }
        node = parent;
    }
    return open;
}

// Writes a new leaf below `parent` and ties it to its place in the list.
inline void place_leaf(const Trees &trees, const Leaves &leaves, int64_t tree, int64_t node,
                       int64_t parent, int64_t leaf) {
    tvs_node &placed = trees.nodes(tree, node);
    placed.parent = parent;
    placed.left = 0;
    placed.depth = trees.nodes(tree, parent).depth + 1;
    placed.leaf = leaf;
    leaves.owners[leaf] = {(int32_t)tree, (int32_t)node};
}

// A split of a leaf as it is proposed; cut == -1 where the leaf cannot be split so. The rows of the
// left child, their response and the forest there.
struct Split {
    int64_t column, cut;
    bool missing_left;
    double n_left, sum_left, fitted_left;
};

// Splits a leaf into the proposal's rows and the rest; both children keep its mean. The left child
// takes the leaf's place in the list, the right child a new one at the end.
inline void split_leaf(const Trees &trees, const Leaves &leaves, const Proposal &proposal,
                       int64_t tree, int64_t node, const Split &split) {
    int64_t child = 2 * trees.splits[tree] + 1;
    tvs_node &parent = trees.nodes(tree, node);
    int64_t left = parent.leaf;
    int64_t right = *leaves.size;

    parent.left = child;
    parent.column = split.column;
    parent.cut = split.cut;
    parent.missing_left = split.missing_left;
    place_leaf(trees, leaves, tree, child, node, left);
    place_leaf(trees, leaves, tree, child + 1, node, right);
    trees.splits[tree] += 1;

    const Matrix<int32_t> &gram = leaves.gram;
    for (int64_t k = 0; k < right; ++k) {
        int32_t on_left = proposal.shared[k], on_right = gram(left, k) - on_left;
        gram(right, k) = gram(k, right) = on_right;
        gram(left, k) = gram(k, left) = on_left;
    }
    gram(right, right) = gram(right, left);
    gram(right, left) = gram(left, right) = 0;
    for (int64_t w = 0; w < proposal.rows.size; ++w) {
        leaves.masks(w, right) = leaves.masks(w, left) & ~proposal.rows[w];
        leaves.masks(w, left) = proposal.rows[w];
    }
    leaves.sums[right] = leaves.sums[left] - split.sum_left;
    leaves.sums[left] = split.sum_left;
    leaves.fitted[right] = leaves.fitted[left] - split.fitted_left;
    leaves.fitted[left] = split.fitted_left;
    leaves.means[right] = leaves.means[left];
    *leaves.size += 1;
}

// Frees a pair of sibling nodes by moving the tree's last pair into its place.
inline void close_pair(const Trees &trees, const Leaves &leaves, int64_t tree, int64_t pair) {
    int64_t last = 2 * trees.splits[tree] - 1;
    trees.splits[tree] -= 1;
    if (last == pair) return;
    trees.nodes(tree, trees.nodes(tree, last).parent).left = pair;
    for (int64_t side = 0; side < 2; ++side) {
        tvs_node &moved = trees.nodes(tree, pair + side);
        moved = trees.nodes(tree, last + side);
        if (moved.left == 0) {
            leaves.owners[moved.leaf].node = pair + side;
        } else {
            trees.nodes(tree, moved.left).parent = pair + side;
            trees.nodes(tree, moved.left + 1).parent = pair + side;
        }
    }
}

// Frees a place in the list of leaves by moving the last leaf into it.
inline void close_leaf(const Trees &trees, const Leaves &leaves, int64_t leaf) {
    *leaves.size -= 1;
    int64_t last = *leaves.size;
    if (last == leaf) return;
    const Matrix<int32_t> &gram = leaves.gram;
    for (int64_t k = 0; k < last; ++k) gram(leaf, k) = gram(k, leaf) = gram(last, k);
    gram(leaf, leaf) = gram(last, last);
    for (int64_t w = 0; w < leaves.masks.n_rows; ++w) leaves.masks(w, leaf) = leaves.masks(w, last);
    leaves.sums[leaf] = leaves.sums[last];
    leaves.means[leaf] = leaves.means[last];
    leaves.fitted[leaf] = leaves.fitted[last];
    leaves.owners[leaf] = leaves.owners[last];
    trees.nodes(leaves.owners[leaf].tree, leaves.owners[leaf].node).leaf = leaf;
}

// Undoes a split: the node becomes a leaf with the left child's place and mean.
inline void merge_leaves(const Trees &trees, const Leaves &leaves, int64_t tree, int64_t node) {
    tvs_node &parent = trees.nodes(tree, node);
    int64_t child = parent.left;
    int64_t keep = trees.nodes(tree, child).leaf;
    int64_t free = trees.nodes(tree, child + 1).leaf;
    set_leaf_mean(leaves, free, leaves.means[keep]);

    const Matrix<int32_t> &gram = leaves.gram;
    int32_t n_rows = gram(keep, keep) + gram(free, free);
    for (int64_t k = 0; k < *leaves.size; ++k) gram(k, keep) = gram(keep, k) += gram(free, k);
    gram(keep, keep) = n_rows;
    for (int64_t w = 0; w < leaves.masks.n_rows; ++w)
        leaves.masks(w, keep) |= leaves.masks(w, free);
    leaves.sums[keep] += leaves.sums[free];
    leaves.fitted[keep] += leaves.fitted[free];
    parent.left = 0;
    parent.leaf = keep;
    leaves.owners[keep].node = node;
    close_pair(trees, leaves, tree, child);
    close_leaf(trees, leaves, free);
}

} // namespace
} // namespace tvselect
