// Birth and death: one Metropolis-Hastings step on the shape of a tree.
//
// The prior of a split is the product of "this node splits" (by depth), the column (uniform, or the
// urn of dirichlet.h), the cut (uniform over those that the splits above leave open) and the side
// of missing values (a coin). A birth proposes column, cut and side from exactly this prior, given
// all other splits of the forest, so that they cancel and only the depth terms, the choice of the
// leaf or of the pair of leaves, and the likelihood remain in the ratio. Moves of one split are
// here, those of two in pair_moves.h.
#pragma once

#include "dirichlet.h"

namespace tvselect {
namespace {

// Log of the Metropolis-Hastings ratio of a split; that of its removal is the negative.
//
// Likelihood: a leaf of n rows with residual sum s has, its mean integrated out and up to what no
// split changes, (kappa / v)^(1/2) exp((phi s)^2 / (2 v)) with v = kappa + n phi,
// kappa = 1 / tau^2 and phi = 1 / sigma^2. Prior: one split at `depth` more, its two children
// leaves. Proposal: `proposal` is the chance that the removal is proposed over that of the split.
inline double log_split_ratio(const Prior &prior, double precision, double proposal, int64_t depth,
                              double n_left, double s_left, double n_right, double s_right) {
    double v_left = prior.leaf_precision + n_left * precision;
    double v_right = prior.leaf_precision + n_right * precision;
    double v_both = prior.leaf_precision + (n_left + n_right) * precision;
    double s_both = s_left + s_right;
    double gain = s_left * s_left / v_left + s_right * s_right / v_right - s_both * s_both / v_both;
    double shrink = prior.leaf_precision * v_both / (v_left * v_right);

    return 0.5 * (log(shrink * proposal * proposal) + precision * precision * gain) +
           prior.split_log_odds[depth];
}

// Chance of a death over that of the birth that it undoes: the birth chooses one of n_leaves leaves
// of the smaller tree, the death one of n_removable places of the larger one.
inline double proposal_ratio(int64_t n_leaves, int64_t n_removable) {
    double chance_birth = (n_leaves == 1 ? 1.0 : 0.5) / (double)n_leaves;
    double chance_death = 0.5 / (double)n_removable;
    return chance_death / chance_birth;
}

// Metropolis-Hastings: accepts with probability min(1, exp(log_ratio)).
inline bool accepts(Random &rng, double log_ratio) { return -rng.exponential() < log_ratio; }

// Draws how to split a leaf, on a column or, for -1, on one drawn from the prior. The proposal then
// holds the rows of the left child.
inline Split draw_split(Random &rng, const Design &design, const Prior &prior, const Chain &chain,
                        int64_t tree, int64_t node, int64_t column, int64_t iteration) {
    const Leaves &leaves = chain.leaves;
    const tvs_node &at = chain.trees.nodes(tree, node);
    double n_both = leaves.gram(at.leaf, at.leaf);
    if (n_both < 2.0 * (double)prior.min_leaf || at.depth == MAX_DEPTH)
        return {-1, -1, false, 0.0, 0.0, 0.0};
    if (column < 0) column = draw_column(rng, chain.trees, chain.tally, design, prior, iteration);
    int64_t where = design.columns[column];
    auto [low, high] = open_cuts(chain.trees, tree, node, column, design.n_cuts[where]);
    if (low >= high) return {column, -1, false, 0.0, 0.0, 0.0};
    int64_t cut = low + (int64_t)(rng.uniform() * (double)(high - low));
    bool missing_left = design.has_missing[where] && rng.uniform() < 0.5;
    const Proposal &proposal = chain.proposal;
    double n_left = (double)rows_at_most(&design.codes[design.starts[where]], design.widths[where],
                                         leaves.masks, at.leaf, cut, missing_left, proposal.rows);
    double min_leaf = (double)prior.min_leaf;
    if (n_left < min_leaf || n_both - n_left < min_leaf) return {column, -1, false, 0.0, 0.0, 0.0};
    double sum_left = sum_over(chain.response.spread, proposal.rows);
    double fitted_left =
        overlaps(leaves.masks, *leaves.size, proposal.rows, leaves.means, proposal.shared);
    return {column, cut, missing_left, n_left, sum_left, fitted_left};
}

// Log of the Metropolis-Hastings ratio of a drawn split, the weight of its column included.
inline double log_ratio_of(const Prior &prior, const Chain &chain, int64_t tree, int64_t node,
                           const Split &split, double proposal) {
    const Leaves &leaves = chain.leaves;
    const tvs_node &at = chain.trees.nodes(tree, node);
    double residual_left =
        split.sum_left - (split.fitted_left - split.n_left * leaves.means[at.leaf]);
    double log_ratio =
        log_split_ratio(prior, chain.response.real->precision, proposal, at.depth, split.n_left,
                        residual_left, leaves.gram(at.leaf, at.leaf) - split.n_left,
                        residual_sum(leaves, at.leaf) - residual_left);
    if (chain.tally.columns[split.column].count == 0)
        log_ratio += prior.column_log_weights[split.column];
    return log_ratio;
}

// Splits a leaf as drawn, and counts it.
inline void make_split(const Prior &prior, const Chain &chain, int64_t tree, int64_t node,
                       const Split &split, int64_t iteration) {
    split_leaf(chain.trees, chain.leaves, chain.proposal, tree, node, split);
    count_split(chain.tally, split.column, iteration, prior.burn);
}

// Proposes to split a leaf, chosen by the uniform number u.
inline void birth(Random &rng, const Design &design, const Prior &prior, const Chain &chain,
                  int64_t tree, int64_t iteration, double u) {
    const Trees &trees = chain.trees;
    int64_t n_leaves = trees.splits[tree] + 1;
    int64_t node = nth_leaf(trees, tree, (int64_t)(u * (double)n_leaves));
    Split split = draw_split(rng, design, prior, chain, tree, node, -1, iteration);
    if (split.cut < 0) return;
    // The parent stops being prunable when this leaf splits.
    bool replaces = node != 0 && is_prunable(trees, tree, trees.nodes(tree, node).parent);
    double proposal = proposal_ratio(n_leaves, n_prunable(trees, tree) + 1 - replaces);
    if (accepts(rng, log_ratio_of(prior, chain, tree, node, split, proposal)))
        make_split(prior, chain, tree, node, split, iteration);
}

// Proposes to remove a split above two leaves, chosen by the uniform number u.
inline void death(Random &rng, const Prior &prior, const Chain &chain, int64_t tree,
                  int64_t iteration, double u) {
    const Trees &trees = chain.trees;
    const Leaves &leaves = chain.leaves;
    int64_t n_leaves = trees.splits[tree] + 1;
    int64_t prunable = n_prunable(trees, tree);
    int64_t node = nth_prunable(trees, tree, (int64_t)(u * (double)prunable));
    const tvs_node &at = trees.nodes(tree, node);
    int64_t left = trees.nodes(tree, at.left).leaf;
    int64_t right = trees.nodes(tree, at.left + 1).leaf;
    double log_ratio = -log_split_ratio(prior, chain.response.real->precision,
                                        proposal_ratio(n_leaves - 1, prunable), at.depth,
                                        leaves.gram(left, left), residual_sum(leaves, left),
                                        leaves.gram(right, right), residual_sum(leaves, right));
    int64_t column = at.column;
    if (chain.tally.columns[column].count == 1) log_ratio -= prior.column_log_weights[column];
    if (accepts(rng, log_ratio)) {
        merge_leaves(trees, leaves, tree, node);
        uncount_split(chain.tally, column, iteration, prior.burn);
    }
}

} // namespace
} // namespace tvselect
