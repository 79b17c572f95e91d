// Birth and death of two splits at once, one below the other: how an interaction gets in.
//
// Two columns that matter only together explain nothing when the first of them is split on, and a
// chain that adds one split at a time stays where it is. A pair birth splits a leaf and then one of
// its children, chosen by a coin; a pair death takes back a split with a leaf on one side and a
// split into two leaves on the other. Cuts and sides of missing values are drawn from their prior
// one after the other, as in moves.h, and cancel in the same way. So are the two columns; where
// pairs are known that are worth a try (prior.pairs), half of the proposals take one of these
// instead, and the ratio makes up for it.
#pragma once

#include "moves.h"

namespace tvselect {
namespace {

constexpr double SIDES = 2.0;

// The child that a pair death would remove with the node's own split; 0 for none. It is split into
// two leaves, and its sibling is a leaf.
inline int64_t split_child(const Trees &trees, int64_t tree, int64_t node) {
    int64_t left = trees.nodes(tree, node).left;
    if (left == 0) return 0;
    if (trees.nodes(tree, left).left == 0) return is_prunable(trees, tree, left + 1) ? left + 1 : 0;
    if (trees.nodes(tree, left + 1).left == 0) return is_prunable(trees, tree, left) ? left : 0;
    return 0;
}

// Number of nodes that a pair death may choose.
inline int64_t n_pairs(const Trees &trees, int64_t tree) {
    int64_t found = 0;
    for (int64_t node = 0; node < 2 * trees.splits[tree] + 1; ++node)
        found += split_child(trees, tree, node) != 0;
    return found;
}

// A node that a pair death may choose, counted from 0.
inline int64_t nth_pair(const Trees &trees, int64_t tree, int64_t rank) {
    return nth_node(trees, tree, rank,
                    [&](int64_t node) { return split_child(trees, tree, node) != 0; });
}

// Number of pairs after a pair birth at a leaf. There is the new one, and two above it may be lost:
// the parent's, of which the leaf was a part, and the grandparent's, whose split child has two
// leaves no more.
inline int64_t pairs_after(const Trees &trees, int64_t tree, int64_t node) {
    int64_t found = n_pairs(trees, tree) + 1;
    if (node == 0) return found;
    int64_t parent = trees.nodes(tree, node).parent;
    found -= split_child(trees, tree, parent) != 0;
    if (parent != 0) found -= split_child(trees, tree, trees.nodes(tree, parent).parent) == parent;
    return found;
}

// One of the known pairs, or (-1, -1) for columns drawn from the prior: a coin decides.
inline tvs_pair draw_pair(Random &rng, const Prior &prior) {
    if (prior.pairs.size == 0) return {-1, -1};
    double u = 2.0 * rng.uniform();
    if (u >= 1.0) return {-1, -1};
    return prior.pairs[(int64_t)(u * (double)prior.pairs.size)];
}

// Log of the chance that a pair birth proposes two columns over that of the prior. The forest has
// both splits already, as the one birth left it and the other death finds it.
inline double log_chance_of_pair(const Design &design, const Prior &prior, const Chain &chain,
                                 int64_t first, int64_t second, int64_t iteration) {
    if (prior.pairs.size == 0) return 0.0;
    int64_t n_equal = 0;
    for (const tvs_pair &pair : prior.pairs)
        n_equal += pair.first == first && pair.second == second;
    const Tally &tally = chain.tally;
    int64_t q = design.columns.size, n_splits = tally.whole->n_splits;
    int64_t n_first = tally.columns[first].count - 1 - (first == second);
    int64_t n_second = tally.columns[second].count - 1;
    double by_prior = chance_of_column(tally, prior, q, iteration, n_first, n_splits - 2) *
                      chance_of_column(tally, prior, q, iteration, n_second, n_splits - 1);
    return log(0.5 + 0.5 * (double)n_equal / ((double)prior.pairs.size * by_prior));
}

// Undoes the last split that was proposed.
inline void take_back(const Prior &prior, const Chain &chain, int64_t tree, int64_t node,
                      int64_t iteration) {
    uncount_split(chain.tally, chain.trees.nodes(tree, node).column, iteration, prior.burn);
    merge_leaves(chain.trees, chain.leaves, tree, node);
    chain.tally.whole->accepted -= 2;
}

// Proposes to split a leaf, chosen by the uniform number u, and one of its children. Both splits
// are made, and taken back unless they are accepted.
inline void pair_birth(Random &rng, const Design &design, const Prior &prior, const Chain &chain,
                       int64_t tree, int64_t iteration, double u) {
    const Trees &trees = chain.trees;
    int64_t n_leaves = trees.splits[tree] + 1;
    int64_t node = nth_leaf(trees, tree, (int64_t)(u * (double)n_leaves));
    double proposal = SIDES * proposal_ratio(n_leaves, pairs_after(trees, tree, node));
    tvs_pair columns = draw_pair(rng, prior);
    Split first = draw_split(rng, design, prior, chain, tree, node, columns.first, iteration);
    if (first.cut < 0) return;
    double log_ratio = log_ratio_of(prior, chain, tree, node, first, 1.0);
    make_split(prior, chain, tree, node, first, iteration);
    int64_t child = trees.nodes(tree, node).left + (int64_t)(rng.uniform() * SIDES);
    Split second = draw_split(rng, design, prior, chain, tree, child, columns.second, iteration);
    if (second.cut >= 0) {
        log_ratio += log_ratio_of(prior, chain, tree, child, second, proposal);
        make_split(prior, chain, tree, child, second, iteration);
        log_ratio -=
            log_chance_of_pair(design, prior, chain, first.column, second.column, iteration);
        if (accepts(rng, log_ratio)) {
            chain.tally.whole->accepted -= 1;
            return;
        }
        take_back(prior, chain, tree, child, iteration);
    }
    take_back(prior, chain, tree, node, iteration);
}

// Proposes to remove a pair of splits, chosen by the uniform number u.
inline void pair_death(Random &rng, const Design &design, const Prior &prior, const Chain &chain,
                       int64_t tree, int64_t iteration, double u) {
    const Trees &trees = chain.trees;
    const Leaves &leaves = chain.leaves;
    const Tally &tally = chain.tally;
    double precision = chain.response.real->precision;
    int64_t removable = n_pairs(trees, tree);
    if (removable == 0) return;
    int64_t node = nth_pair(trees, tree, (int64_t)(u * (double)removable));
    int64_t child = split_child(trees, tree, node);
    const tvs_node upper = trees.nodes(tree, node), lower = trees.nodes(tree, child);
    int64_t sibling = 2 * upper.left + 1 - child;
    int64_t left = trees.nodes(tree, lower.left).leaf;
    int64_t right = trees.nodes(tree, lower.left + 1).leaf;
    int64_t other = trees.nodes(tree, sibling).leaf;
    double n_left = leaves.gram(left, left), s_left = residual_sum(leaves, left);
    double n_right = leaves.gram(right, right), s_right = residual_sum(leaves, right);
    int64_t n_leaves = trees.splits[tree] + 1;
    double proposal = SIDES * proposal_ratio(n_leaves - 2, removable);
    double log_ratio =
        -(log_split_ratio(prior, precision, proposal, upper.depth + 1, n_left, s_left, n_right,
                          s_right) +
          log_split_ratio(prior, precision, 1.0, upper.depth, n_left + n_right, s_left + s_right,
                          leaves.gram(other, other), residual_sum(leaves, other)));
    int64_t first = upper.column, second = lower.column;
    log_ratio += log_chance_of_pair(design, prior, chain, first, second, iteration);
    if (tally.columns[second].count == 1) log_ratio -= prior.column_log_weights[second];
    if (tally.columns[first].count - (first == second) == 1)
        log_ratio -= prior.column_log_weights[first];
    if (accepts(rng, log_ratio)) {
        int64_t last = 2 * trees.splits[tree] - 1;
        merge_leaves(trees, leaves, tree, child);
        if (node >= last) node = lower.left + node - last;
        merge_leaves(trees, leaves, tree, node);
        uncount_split(tally, second, iteration, prior.burn);
        uncount_split(tally, first, iteration, prior.burn);
        tally.whole->accepted -= 1;
    }
}

// Proposes a birth or a death, of one split or of two. A coin decides between birth and death, but
// a stump can only grow; the share prior.pair_share of both is of two splits. Coin, share and the
// choice of a place use one uniform number.
inline void move(Random &rng, const Design &design, const Prior &prior, const Chain &chain,
                 int64_t tree, int64_t iteration) {
    double u = rng.uniform();
    bool is_death = false;
    if (chain.trees.splits[tree] > 0) {
        u *= 2.0;
        is_death = u >= 1.0;
        if (is_death) u -= 1.0;
    }
    bool is_pair = u < prior.pair_share;
    if (is_pair)
        u /= prior.pair_share;
    else if (prior.pair_share > 0.0)
        u = (u - prior.pair_share) / (1.0 - prior.pair_share);
    if (is_pair && is_death)
        pair_death(rng, design, prior, chain, tree, iteration, u);
    else if (is_pair)
        pair_birth(rng, design, prior, chain, tree, iteration, u);
    else if (is_death)
        death(rng, prior, chain, tree, iteration, u);
    else
        birth(rng, design, prior, chain, tree, iteration, u);
}

} // namespace
} // namespace tvselect
