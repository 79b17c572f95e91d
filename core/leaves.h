// Leaf means, the noise, and the sums over leaves that follow from them.
//
// What makes an iteration cheap: the leaves of all trees stand in one list, and the chain keeps how
// many rows every two of them share (gram). Residual sums of leaves follow from these counts and
// the leaf means alone, so that only a proposed split passes over the rows of its column.
#pragma once
#include "groups.h"

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

// Gives two leaves other means, or one leaf twice the same, and brings all sums up to date.
inline void set_leaf_means(const Chain &chain, int64_t first, double first_value, int64_t second,
                           double second_value) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    double first_step = first_value - leaves.means[first];
    double second_step = second == first ? 0.0 : second_value - leaves.means[second];
    leaves.means[first] = first_value;
    leaves.means[second] = second_value;
    double *fitted = leaves.fitted.first(whole_eights(*leaves.size)).data;
    const int32_t *first_row = leaves.gram[first].data, *second_row = leaves.gram[second].data;
    for (int64_t k = 0; k < *leaves.size; k += LANES) {
        Reals steps = first_step * as_reals(load<Counts>(first_row + k)) +
                      second_step * as_reals(load<Counts>(second_row + k));
        store(fitted + k, load<Reals>(fitted + k) + steps);
    }
    Array<double> of_first = groups.rows[first], of_second = groups.rows[second];
    for (int64_t g = 0; g < groups.rest.size; ++g)
        groups.rest[g] -= first_step * of_first[g] + second_step * of_second[g];
}
inline void set_leaf_mean(const Chain &chain, int64_t leaf, double value) {
    set_leaf_means(chain, leaf, value, leaf, value);
}

inline LeafData data_of(const Leaves &leaves, int64_t leaf) {
    return {(double)leaves.gram(leaf, leaf), residual_sum(leaves, leaf), leaves.means[leaf]};
}
inline PairData data_of(const Chain &chain, int64_t left, int64_t right) {
    PairData pair{data_of(chain.leaves, left), data_of(chain.leaves, right)};
    pair.integrate_out(chain.groups, chain.groups.rows[left], chain.groups.rows[right]);
    return pair;
}

// Draws a leaf mean from its normal conditional given all others.
inline void draw_leaf_mean(Random &rng, const Prior &prior, const Chain &chain, int64_t leaf) {
    LeafData data = data_of(chain.leaves, leaf);
    data.integrate_out(chain.groups, chain.groups.rows[leaf]);
    double precision = chain.response.real->precision;
    double variance = 1.0 / (prior.leaf_precision + data.n * precision);
    set_leaf_mean(chain, leaf, variance * precision * data.sum + sqrt(variance) * rng.normal());
}

// Draws two of one tree together: one with the other integrated out, then that one.
inline void draw_two_leaf_means(Random &rng, const Prior &prior, const Chain &chain, int64_t first,
                                int64_t second) {
    auto [one, other, both] = data_of(chain, first, second);
    double precision = chain.response.real->precision, least = prior.leaf_precision;
    double variance = 1.0 / (least + other.n * precision), share = variance * precision * both;
    double v = least + precision * (one.n - share * both);
    v = v > least ? v : least;
    double first_value = precision * (one.sum - share * other.sum) / v + rng.normal() / sqrt(v);
    double mean = variance * precision * (other.sum - both * first_value);
    set_leaf_means(chain, first, first_value, second, mean + sqrt(variance) * rng.normal());
}

// Draws all of a tree where rows belong to groups, from the last node on: leaves of a new split,
// whose means are not up to date, come first.
inline void draw_dependent_leaf_means(Random &rng, const Prior &prior, const Chain &chain,
                                      int64_t tree) {
    int64_t waiting = -1;
    for (int64_t k = 2 * chain.trees.splits[tree]; k >= 0; --k) {
        const tvs_node &node = chain.trees.nodes(tree, k);
        if (node.left != 0) continue;
        if (waiting >= 0) draw_two_leaf_means(rng, prior, chain, waiting, node.leaf);
        waiting = waiting >= 0 ? -1 : node.leaf;
    }
    if (waiting >= 0) draw_leaf_mean(rng, prior, chain, waiting);
}

// Draws all leaf means of a tree from their normal conditional. Leaves of one tree share no rows,
// so that their means are independent; they are written two at a time to halve the passes.
inline void draw_leaf_means(Random &rng, const Prior &prior, const Chain &chain, int64_t tree) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    if (groups.sizes.size > 0) return draw_dependent_leaf_means(rng, prior, chain, tree);
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
            set_leaf_means(chain, waiting, waiting_value, leaf, value);
            waiting = -1;
        }
    }
    if (waiting >= 0) set_leaf_mean(chain, waiting, waiting_value);
}

// Brings everything that depends on the values of the response up to date.
inline void use_response(const Chain &chain) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    spread(response.values, response.spread);
    for (int64_t k = 0; k < *leaves.size; ++k) {
        for (int64_t w = 0; w < proposal.rows.size; ++w) proposal.rows[w] = leaves.masks(w, k);
        leaves.sums[k] = sum_over(response.spread, proposal.rows);
    }
    groups.rest.fill(0.0);
    for_rows_of_groups(groups, [&](int64_t i, int64_t g) { groups.rest[g] += response.values[i]; });
    for (int64_t k = 0; k < *leaves.size; ++k)
        for (int64_t g = 0; g < groups.rest.size; ++g)
            groups.rest[g] -= leaves.means[k] * groups.rows(k, g);
    response.real->squares = 0.0;
    for (double value : response.values) response.real->squares += value * value;
}

// Draws 1 / sigma^2 from its conditional: chi^2 / (nu lambda + residual squares), of which the
// latter follow from the sums over leaves alone.
inline void draw_precision(Random &rng, const Prior &prior, const Chain &chain, int64_t n_rows) {
    const Leaves &leaves = chain.leaves;
    const Groups &groups = chain.groups;
    double squares = chain.response.real->squares;
    squares -= weighted(groups, groups.rest, groups.rest);
    for (int64_t k = 0; k < *leaves.size; ++k)
        squares += leaves.means[k] * (leaves.fitted[k] - 2.0 * leaves.sums[k]);
    double spread = prior.noise_sum + (squares > 0.0 ? squares : 0.0);
    chain.response.real->precision = rng.chi_square(prior.noise_df + (double)n_rows) / spread;
}
