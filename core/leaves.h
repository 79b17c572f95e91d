// Leaf means, the noise, and the sums over leaves that follow from them.
//
// What makes an iteration cheap: the leaves of all trees stand in one list, and the chain keeps how
// many rows every two of them share (gram). Residual sums of leaves follow from these counts and
// the leaf means alone, so that only a proposed split passes over the rows of its column.
#pragma once
#include "bits.h"
#include "random.h"

using Design = tvs_design;
using Prior = tvs_prior;
using Trees = tvs_trees;
using Leaves = tvs_leaves;
using Tally = tvs_tally;
using Response = tvs_response;
using Chain = tvs_chain;

// Sum over a leaf of the response minus all other trees.
inline double residual_sum(const Leaves &leaves, int64_t leaf) {
    double own = leaves.gram(leaf, leaf) * leaves.means[leaf];
    return leaves.sums[leaf] - (leaves.fitted[leaf] - own);
}

// Gives a leaf another mean and brings all leaves' forest sums up to date.
inline void set_leaf_mean(const Leaves &leaves, int64_t leaf, double value) {
    double step = value - leaves.means[leaf];
    leaves.means[leaf] = value;
    double *fitted = leaves.fitted.first(whole_eights(*leaves.size)).data;
    const int32_t *row = leaves.gram[leaf].data;
    for (int64_t k = 0; k < *leaves.size; k += LANES)
        store(fitted + k, load<Reals>(fitted + k) + step * as_reals(load<Counts>(row + k)));
}

// The same for two leaves in one pass.
inline void set_two_leaf_means(const Leaves &leaves, int64_t first, double first_value,
                               int64_t second, double second_value) {
    double first_step = first_value - leaves.means[first];
    double second_step = second_value - leaves.means[second];
    leaves.means[first] = first_value;
    leaves.means[second] = second_value;
    double *fitted = leaves.fitted.first(whole_eights(*leaves.size)).data;
    const int32_t *first_row = leaves.gram[first].data, *second_row = leaves.gram[second].data;
    for (int64_t k = 0; k < *leaves.size; k += LANES) {
        Reals steps = first_step * as_reals(load<Counts>(first_row + k)) +
                      second_step * as_reals(load<Counts>(second_row + k));
        store(fitted + k, load<Reals>(fitted + k) + steps);
    }
}

// Draws all leaf means of a tree from their normal conditional. Leaves of one tree share no rows,
// so that their means are independent; they are written two at a time to halve the passes.
inline void draw_leaf_means(Random &rng, const Prior &prior, const Chain &chain, int64_t tree) {
    auto &[trees, leaves, tally, response, proposal] = chain;
    double precision = response.real->precision;
    int64_t waiting = -1;
    double waiting_value = 0.0;
    for (const tvs_node &node : trees.nodes[tree].first(2 * trees.splits[tree] + 1)) {
        if (node.left != 0) continue;
        int64_t leaf = node.leaf;
        double variance = 1.0 / (prior.leaf_precision + leaves.gram(leaf, leaf) * precision);
        double mean = variance * precision * residual_sum(leaves, leaf);
        double value = mean + sqrt(variance) * rng.normal();
        if (waiting < 0) {
            waiting = leaf;
            waiting_value = value;
        } else {
            set_two_leaf_means(leaves, waiting, waiting_value, leaf, value);
            waiting = -1;
        }
    }
    if (waiting >= 0) set_leaf_mean(leaves, waiting, waiting_value);
}

// Brings everything that depends on the values of the response up to date.
inline void use_response(const Chain &chain) {
    auto &[trees, leaves, tally, response, proposal] = chain;
    spread(response.values, response.spread);
    for (int64_t k = 0; k < *leaves.size; ++k) {
        for (int64_t w = 0; w < proposal.rows.size; ++w) proposal.rows[w] = leaves.masks(w, k);
        leaves.sums[k] = sum_over(response.spread, proposal.rows);
    }
    response.real->squares = 0.0;
    for (double value : response.values) response.real->squares += value * value;
}

// Draws 1 / sigma^2 from its conditional: chi^2 / (nu lambda + residual squares), of which the
// latter follow from the sums over leaves alone.
inline void draw_precision(Random &rng, const Prior &prior, const Chain &chain, int64_t n_rows) {
    const Leaves &leaves = chain.leaves;
    double squares = chain.response.real->squares;
    for (int64_t k = 0; k < *leaves.size; ++k)
        squares += leaves.means[k] * (leaves.fitted[k] - 2.0 * leaves.sums[k]);
    double spread = prior.noise_sum + (squares > 0.0 ? squares : 0.0);
    chain.response.real->precision = rng.chi_square(prior.noise_df + (double)n_rows) / spread;
}
