// The forest's shape: looking at it, splitting a leaf, merging two leaves.
#pragma once
#include "leaves.h"

constexpr int64_t MAX_DEPTH = 63;

// One tree of a forest.
struct Tree {
    int64_t number;
    Array<tvs_node> nodes;
    int64_t &n_splits;

    Tree(const Trees &trees, int64_t number)
        : number(number), nodes(trees.nodes[number]), n_splits(trees.splits[number]) {}

    tvs_node &operator[](int64_t node) const { return nodes[node]; }
    int64_t size() const { return 2 * n_splits + 1; }
    int64_t n_leaves() const { return n_splits + 1; }
};

inline bool is_leaf(const Tree &tree, int64_t node) { return tree[node].left == 0; }
inline bool is_split(const Tree &tree, int64_t node) { return tree[node].left != 0; }

// Whether a node is split into two leaves, so that a death may remove the split.
inline bool is_prunable(const Tree &tree, int64_t node) {
    int64_t left = tree[node].left;
    return left != 0 && is_leaf(tree, left) && is_leaf(tree, left + 1);
}

// The child that a pair death would remove with the node's own split; 0 for none. It is split into
// two leaves, and its sibling is a leaf.
inline int64_t split_child(const Tree &tree, int64_t node) {
    int64_t left = tree[node].left;
    if (left == 0) return 0;
    if (is_leaf(tree, left)) return is_prunable(tree, left + 1) ? left + 1 : 0;
    return is_leaf(tree, left + 1) && is_prunable(tree, left) ? left : 0;
}
inline bool is_pair(const Tree &tree, int64_t node) { return split_child(tree, node) != 0; }

// The rank-th node, counted from 0, of those that are of some kind. It looks at all nodes: where it
// could stop early is a guess that the processor would get wrong.
template <auto is_of_kind> inline int64_t nth(const Tree &tree, int64_t rank) {
    int64_t found = 0;
    for (int64_t node = 0; node < tree.size(); ++node) {
        bool is_one = is_of_kind(tree, node);
        found = is_one && rank == 0 ? node : found;
        rank -= is_one;
    }
    return found;
}

template <auto is_of_kind> inline int64_t count(const Tree &tree) {
    int64_t found = 0;
    for (int64_t node = 0; node < tree.size(); ++node) found += is_of_kind(tree, node);
    return found;
}

// Range [low, high) of the cuts of a column that the splits above leave open.
inline tvs_pair open_cuts(const Tree &tree, int64_t node, int64_t column, int64_t n_cuts) {
    int64_t low = 0, high = n_cuts;
    while (node != 0) {
        int64_t child = node;
        node = tree[child].parent;
        const tvs_node &above = tree[node];
        if (above.column != column) continue;
        if (above.left == child) high = above.cut < high ? above.cut : high;
        else low = above.cut + 1 > low ? above.cut + 1 : low;
    }
    return {low, high};
}

// A split of a leaf as it is proposed; cut == -1 where the leaf cannot be split so. The rows of the
// left child, their response and the forest there.
struct Split {
    int64_t column = -1, cut = -1;
    bool missing_left = false;
    double n_left = 0.0, sum_left = 0.0, fitted_left = 0.0;
};

// Splits a leaf into the proposal's rows and the rest; both children keep its mean. The left child
// takes the leaf's place in the list, the right child a new one at the end.
inline void split_leaf(const Tree &tree, const Chain &chain, int64_t node, const Split &split) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    int64_t child = tree.size();
    tvs_node &parent = tree[node];
    int64_t left = parent.leaf, right = *leaves.size;
    parent.left = child;
    parent.column = split.column;
    parent.cut = split.cut;
    parent.missing_left = split.missing_left;
    for (int64_t side = 0; side < 2; ++side) {
        int32_t leaf = side == 0 ? left : right, depth = parent.depth + 1;
        tree[child + side] = {(int32_t)node, 0, 0, 0, 0, depth, leaf, 0};
        leaves.owners[leaf] = {(int32_t)tree.number, (int32_t)(child + side)};
    }
    tree.n_splits += 1;
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
    for (int64_t g = 0; g < groups.sizes.size; ++g) {
        groups.rows(left, g) = groups.of_split(0, g);
        groups.rows(right, g) = groups.of_split(1, g);
    }
    leaves.sums[right] = leaves.sums[left] - split.sum_left;
    leaves.sums[left] = split.sum_left;
    leaves.fitted[right] = leaves.fitted[left] - split.fitted_left;
    leaves.fitted[left] = split.fitted_left;
    leaves.means[right] = leaves.means[left];
    *leaves.size += 1;
}

// Frees a pair of sibling nodes by moving the tree's last pair into its place.
inline void close_pair(const Tree &tree, const Leaves &leaves, int64_t pair) {
    int64_t last = tree.size() - 2;
    tree.n_splits -= 1;
    if (last == pair) return;
    tree[tree[last].parent].left = pair;
    for (int64_t side = 0; side < 2; ++side) {
        tvs_node &moved = tree[pair + side];
        moved = tree[last + side];
        if (moved.left == 0) leaves.owners[moved.leaf].node = pair + side;
        else tree[moved.left].parent = tree[moved.left + 1].parent = pair + side;
    }
}

// Frees a place in the list of leaves by moving the last leaf into it.
inline void close_leaf(const Chain &chain, int64_t leaf) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
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
    for (int64_t g = 0; g < groups.sizes.size; ++g) groups.rows(leaf, g) = groups.rows(last, g);
    trees.nodes(leaves.owners[leaf].tree, leaves.owners[leaf].node).leaf = leaf;
}

// Undoes a split: the node becomes a leaf with the left child's mean, and its place, which is
// returned, or a free one.
inline int64_t merge_leaves(const Chain &chain, int64_t number, int64_t node) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    Tree tree(trees, number);
    tvs_node &parent = tree[node];
    int64_t child = parent.left, keep = tree[child].leaf, free = tree[child + 1].leaf;
    set_leaf_mean(chain, free, leaves.means[keep]);
    const Matrix<int32_t> &gram = leaves.gram;
    int32_t n_rows = gram(keep, keep) + gram(free, free);
    for (int64_t k = 0; k < *leaves.size; ++k) gram(k, keep) = gram(keep, k) += gram(free, k);
    gram(keep, keep) = n_rows;
    for (int64_t w = 0; w < leaves.masks.n_rows; ++w)
        leaves.masks(w, keep) |= leaves.masks(w, free);
    for (int64_t g = 0; g < groups.sizes.size; ++g) groups.rows(keep, g) += groups.rows(free, g);
    leaves.sums[keep] += leaves.sums[free];
    leaves.fitted[keep] += leaves.fitted[free];
    parent.left = 0;
    parent.leaf = keep;
    leaves.owners[keep].node = node;
    close_pair(tree, leaves, child);
    close_leaf(chain, free);
    return keep == *leaves.size ? free : keep;
}
