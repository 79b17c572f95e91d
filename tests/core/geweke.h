// Geweke's joint test: replicates of "parameters and data from the prior, then a kernel and fresh
// data in turn", see tests/exactness/test_geweke.py.
#pragma once

#include "gibbs.h"
#include "simulate.h"

namespace geweke {

enum { TREE, MEANS, NOISE, CONCENTRATION, LATENTS, SWEEP, RATIO };
constexpr int64_t N_FUNCTIONS = 12;
constexpr double OFFSET = 0.3, CENSORED_AT = 0.4; // as in tests/exactness/outcomes.py

// Back to stumps with means zero.
inline void clear(const Chain &chain) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    for (int64_t t = 0; t < trees.splits.size; ++t)
        while (trees.splits[t] > 0) merge_leaves(chain, t, nth<is_prunable>({trees, t}, 0));
    leaves.means.fill(0.0);
    leaves.fitted.fill(0.0);
    tally.columns.fill({0, 0, 0, 0});
    tally.ladder.fill(0);
    *tally.whole = {0, 0, 0, 0};
}

// Splits a leaf where it is told to, whatever the prior says.
inline void split_at(const Design &design, const Chain &chain, int64_t tree, int64_t node,
                     int64_t column, int64_t cut, bool missing_left) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    int64_t where = design.columns[column];
    int64_t n_left =
        rows_at_most(&design.codes[design.starts[where]], design.widths[where], leaves.masks,
                     trees.nodes(tree, node).leaf, cut, missing_left, proposal.rows);
    count_by_group(groups, proposal.rows, trees.nodes(tree, node).leaf);
    double sum_left = sum_over(response.spread, proposal.rows);
    double fitted_left =
        overlaps(leaves.masks, *leaves.size, proposal.rows, leaves.means, proposal.shared);
    split_leaf({trees, tree}, chain, node,
               {column, cut, missing_left, (double)n_left, sum_left, fitted_left});
}

// Gives a stump the shape and means of a tree in preorder.
inline void plant(const Design &design, const Prior &prior, const Chain &chain, int64_t tree,
                  const direct::Tree &wanted, int64_t n_nodes) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    int64_t stack[direct::MOST_NODES] = {0}, top = 1;
    for (int64_t k = 0; k < n_nodes; ++k) {
        int64_t node = stack[--top], column = wanted.columns[k];
        if (column < 0) {
            set_leaf_mean(chain, trees.nodes(tree, node).leaf, wanted.means[k]);
            continue;
        }
        split_at(design, chain, tree, node, column, wanted.cuts[k], wanted.missing_left[k]);
        count_split(tally, column, 1, 0, prior.burn);
        stack[top++] = trees.nodes(tree, node).left + 1;
        stack[top++] = trees.nodes(tree, node).left;
    }
}

// A third is known, a third censored, a third rounded.
inline void see_time(Matrix<double> observed, int64_t i, double value) {
    double lower = value, upper = value;
    if (i % 3 == 1 && value > CENSORED_AT) {
        lower = CENSORED_AT;
        upper = INFINITE;
    } else if (i % 3 == 2) {
        lower = floor(value);
        upper = lower + 1.0;
    }
    observed(LOWER, i) = lower;
    observed(UPPER, i) = upper;
}

inline void see_classes(const Response &response, Array<const double> offsets, int64_t n_rows) {
    int64_t block = n_rows / offsets.size;
    for (int64_t i = 0; i < block; ++i) {
        int64_t best = 0;
        double largest = -INFINITE;
        for (int64_t k = 0; k < offsets.size; ++k) {
            double latent = offsets[k] + response.values[bit_place(k * block + i)];
            if (latent > largest) {
                best = k;
                largest = latent;
            }
        }
        for (int64_t k = 0; k < offsets.size; ++k)
            response.observed(LEVEL, bit_place(k * block + i)) = (double)best;
    }
}

// Data given the parameters: outcomes, or latents and what is seen of them.
inline void fresh_data(Random &rng, const Design &design, const Prior &prior, const Chain &chain,
                       Array<const uint8_t> mask, Array<double> fit) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    forest_at_rows(leaves, fit);
    double sd = pow(response.real->precision, -0.5);
    Array<double> intercepts = groups.of_split[0];
    for (double &value : intercepts)
        value = sd * sqrt(prior.ratios[groups.whole->ratio]) * rng.normal();
    for_rows_of_groups(groups, [&](int64_t i, int64_t group) { fit[i] += intercepts[group]; });
    for (int64_t i = 0; i < fit.size; ++i) {
        if (!mask[i]) continue;
        double value = fit[i] + sd * rng.normal();
        response.values[i] = value;
        if (prior.latent == TVS_BOUNDS && prior.free_noise) {
            see_time(response.observed, i, value);
        } else if (prior.latent == TVS_BOUNDS) {
            response.observed(LOWER, i) = value > -OFFSET ? -OFFSET : -INFINITE;
            response.observed(UPPER, i) = value > -OFFSET ? INFINITE : -OFFSET;
        } else if (prior.latent == TVS_GRADES) {
            int64_t level = 0;
            while (level < prior.cuts.size && value > response.cuts[level]) ++level;
            response.observed(LEVEL, i) = (double)level;
        }
    }
    if (prior.latent == TVS_CLASSES) see_classes(response, prior.cuts, design.n_rows);
    use_response(chain);
}

inline void test_functions(const Chain &chain, Array<const uint8_t> mask, Array<double> fit,
                           Array<double> out) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    forest_at_rows(leaves, fit);
    out[0] = (double)tally.whole->n_splits;
    out[1] = (double)tally.columns[0].count;
    out[2] = (double)tally.whole->concentration;
    out[3] = log(response.real->precision);
    int64_t depth = 0;
    for (int64_t t = 0; t < trees.splits.size; ++t)
        for (int64_t node = 0; node < 2 * trees.splits[t] + 1; ++node)
            if (trees.nodes(t, node).depth > depth) depth = trees.nodes(t, node).depth;
    out[4] = (double)depth;
    double square = 0.0, cross = 0.0, values = 0.0;
    for (int64_t i = 0; i < fit.size; ++i) {
        if (!mask[i]) continue;
        square += fit[i] * fit[i];
        cross += fit[i] * response.values[i];
        values += response.values[i] * response.values[i];
    }
    out[5] = square;
    // Heavy tails of the noise would drown these without a bound.
    out[6] = atan(cross);
    out[7] = atan(values / 30.0);
    out[8] = fit[0];
    out[9] = atan(response.cuts[0]);
    out[10] = (double)groups.whole->ratio;
    double squares = 0.0; // of the residuals' sums over groups
    for (double sum : groups.rest) squares += sum * sum;
    out[11] = atan(squares / 100.0);
}

inline void replicates(Random &rng, const Design &design, const Prior &prior, const Chain &chain,
                       const tvs_trace &trace, int64_t under_test, int64_t n_rounds,
                       double noise_df, double noise_sum, const direct::Forests &drawn,
                       Array<const uint8_t> mask, Array<double> fit, Matrix<double> before,
                       Matrix<double> after) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    int64_t n_trees = trees.splits.size;
    for (int64_t r = 0; r < drawn.theta_index.size; ++r) {
        clear(chain);
        tally.whole->concentration = drawn.theta_index[r];
        set_ratio(groups, prior.ratios, (int64_t)(rng.uniform() * (double)prior.ratios.size));
        response.real->precision = 1.0;
        if (prior.free_noise) response.real->precision = rng.chi_square(noise_df) / noise_sum;
        if (prior.latent == TVS_GRADES) {
            double one = rng.normal(), two = rng.normal();
            response.cuts[0] = one < two ? one : two;
            response.cuts[1] = one < two ? two : one;
        }
        for (int64_t t = 0; t < n_trees; ++t)
            plant(design, prior, chain, t, drawn.tree(r, t), drawn.sizes[r * n_trees + t]);
        fresh_data(rng, design, prior, chain, mask, fit);
        test_functions(chain, mask, fit, before[r]);
        for (int64_t round = 0; round < n_rounds; ++round) {
            if (under_test == TREE || under_test == MEANS) {
                for (int64_t t = 0; t < n_trees; ++t) {
                    Move step{rng, design, prior, chain, 0, {trees, t}};
                    if (under_test == TREE) step.propose();
                    draw_leaf_means(rng, prior, chain, t);
                }
            } else if (under_test == NOISE) {
                draw_precision(rng, prior, chain, design.n_rows);
            } else if (under_test == RATIO) {
                draw_ratio(rng, prior.ratios, groups, response.real->precision);
            } else if (under_test == CONCENTRATION) {
                draw_concentration(rng, tally, prior, design.columns.size);
            } else if (under_test == LATENTS) {
                draw_latents(rng, prior, chain, design.n_rows);
                test_functions(chain, mask, fit, after[r]);
            } else {
                tally.whole->n_done = 0;
                run(rng, design, prior, chain, trace, 1);
            }
            fresh_data(rng, design, prior, chain, mask, fit);
        }
        if (under_test != LATENTS) test_functions(chain, mask, fit, after[r]);
    }
}

} // namespace geweke
