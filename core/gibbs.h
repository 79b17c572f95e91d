// The Gibbs sampler: where a chain starts, and one iteration of Bayesian additive regression trees
// after the other.
#pragma once

#include "latents.h"
#include "pair_moves.h"

namespace tvselect {
namespace {

// Copies a column at some rows to a place of the sample.
inline void copy_column(const Design &table, int64_t column, Array<const int64_t> rows,
                        const tvs_sample &sample, int64_t place) {
    int64_t width = table.widths[column];
    int64_t n_words = sample.observed.n_columns / 64;
    Array<const uint64_t> source = table.codes.from(table.starts[column]);
    Array<uint64_t> target =
        sample.codes.from(sample.starts[place]).first((width == WIDE ? WIDE : width) * n_words);
    target.fill(0);
    if (width == WIDE) {
        for (int64_t i = 0; i < rows.size; ++i) {
            int64_t from = bit_place(rows[i]), to = bit_place(i);
            uint64_t code = (source[from >> 3] >> (8 * (from & 7))) & 255;
            target[to >> 3] |= code << (8 * (to & 7));
        }
    } else {
        for (int64_t i = 0; i < rows.size; ++i) {
            int64_t row = rows[i], bit = bit_place(row) & 63, to = bit_place(i) & 63;
            for (int64_t plane = 0; plane < width; ++plane) {
                uint64_t code = (source[width * (row >> 6) + plane] >> bit) & 1;
                target[width * (i >> 6) + plane] |= code << to;
            }
        }
    }
    sample.widths[place] = (uint8_t)width;
    sample.n_cuts[place] = table.n_cuts[column];
    sample.has_missing[place] = table.has_missing[column];
}

// Copies the columns of a design at the drawn rows, and the shadows behind them.
inline void copy_sample(const Design &table, Matrix<const double> observed, const tvs_draw &draw,
                        const tvs_sample &sample) {
    int64_t n_columns = table.columns.size;
    for (int64_t k = 0; k < n_columns; ++k)
        copy_column(table, table.columns[k], draw.rows, sample, k);
    for (int64_t k = 0; k < draw.shadows.size; ++k)
        copy_column(table, draw.shadows[k], draw.shuffled[k], sample, n_columns + k);
    for (int64_t side = 0; side < 2; ++side) {
        sample.observed[side].fill(0.0);
        for (int64_t i = 0; i < draw.rows.size; ++i)
            sample.observed(side, bit_place(i)) = observed(side, bit_place(draw.rows[i]));
    }
}

// Gives every stump the rows of its class: tree t is one of class t % n_classes.
inline void plant_in_blocks(const Leaves &leaves, int64_t n_trees, int64_t n_classes,
                            int64_t n_rows) {
    int64_t block = n_rows / n_classes;
    for (int64_t k = 0; k < n_classes; ++k) {
        for (int64_t w = 0; w < leaves.masks.n_rows; ++w) leaves.masks(w, k) = 0;
        for (int64_t i = k * block; i < (k + 1) * block; ++i) {
            int64_t place = bit_place(i);
            leaves.masks(place >> 6, k) |= 1ULL << (place & 63);
        }
    }
    for (int64_t tree = 0; tree < n_trees; ++tree) {
        for (int64_t w = 0; w < leaves.masks.n_rows; ++w)
            leaves.masks(w, tree) = leaves.masks(w, tree % n_classes);
        for (int64_t other = 0; other < n_trees; ++other)
            leaves.gram(tree, other) = tree % n_classes == other % n_classes ? (int32_t)block : 0;
    }
}

// Place of the first number that reaches a value, or of the last number.
inline int64_t first_at_least(Array<const double> ascending, double value) {
    int64_t low = 0, high = ascending.size - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (ascending[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Makes the chain a forest of stumps with means zero, whatever its arrays held before.
inline void begin(const Chain &chain, const Design &design, const Prior &prior,
                  Array<const uint64_t> mask, Matrix<const double> observed, double precision) {
    auto &[trees, leaves, tally, response, proposal] = chain;
    int64_t n_trees = trees.splits.size;
    *leaves.size = n_trees;
    for (int64_t tree = 0; tree < n_trees; ++tree) {
        trees.splits[tree] = 0;
        trees.nodes(tree, 0) = {0, 0, 0, 0, 0, 0, (int32_t)tree, 0};
        leaves.owners[tree] = {(int32_t)tree, 0};
        leaves.means[tree] = 0.0;
        leaves.fitted[tree] = 0.0;
        for (int64_t k = 0; k < n_trees; ++k) leaves.gram(tree, k) = (int32_t)design.n_rows;
        for (int64_t w = 0; w < mask.size; ++w) leaves.masks(w, tree) = mask[w];
    }
    if (prior.latent == TVS_CLASSES)
        plant_in_blocks(leaves, n_trees, prior.cuts.size, design.n_rows);
    tally.columns.first(design.columns.size).fill({0, 0, 0, 0});
    tally.ladder.fill(0);
    *tally.whole = {0, first_at_least(prior.shares, 1.0 / (double)design.columns.size), 0, 0};
    bool has_levels = prior.latent == TVS_GRADES || prior.latent == TVS_CLASSES;
    for (int64_t i = 0; i < observed.n_columns; ++i) {
        double low = observed(LOWER, i), high = observed(UPPER, i);
        response.values[i] = low == high && !has_levels ? low : 0.0;
        response.observed(LOWER, i) = has_levels ? 0.0 : low;
        response.observed(UPPER, i) = has_levels ? 0.0 : high;
        response.observed(LEVEL, i) = has_levels ? low - 1.0 : -1.0;
    }
    for (int64_t k = 0; k < prior.cuts.size; ++k) response.cuts[k] = prior.cuts[k];
    response.real->precision = precision;
}

// Whether so many more splits in every tree might not fit.
inline bool is_cramped(const Trees &trees, const Leaves &leaves, int64_t n_more) {
    if (*leaves.size + n_more * trees.nodes.n_rows >= leaves.sums.size) return true;
    for (int64_t n_splits : trees.splits)
        if (2 * (n_splits + n_more) + 1 > trees.nodes.n_columns) return true;
    return false;
}

// Runs iterations until `stop` of them are done; ends early, between two iterations, when the
// arrays of the chain could become too small in the next one.
inline void run(Random &rng, const Design &design, const Prior &prior, const Chain &chain,
                const tvs_trace &trace, int64_t stop) {
    auto &[trees, leaves, tally, response, proposal] = chain;
    int64_t q = design.columns.size;
    if (tally.whole->n_done == 0) use_response(response, leaves, proposal);
    for (int64_t iteration = tally.whole->n_done; iteration < stop; ++iteration) {
        if (is_cramped(trees, leaves, prior.pair_share == 0.0 ? 1 : 2)) return;
        if (prior.latent != TVS_OBSERVED && iteration % prior.latent_sweeps == 0)
            draw_latents(rng, prior, response, leaves, proposal, design.n_rows);
        for (int64_t tree = 0; tree < trees.splits.size; ++tree) {
            move(rng, design, prior, chain, tree, iteration);
            draw_leaf_means(rng, trees, leaves, tree, prior.leaf_precision,
                            response.real->precision);
        }
        if (prior.free_noise) draw_precision(rng, prior, response, leaves, design.n_rows);
        if (iteration >= prior.sparse_from) draw_concentration(rng, tally, prior, q);
        trace.precision[iteration] = response.real->precision;
        trace.theta[iteration] = (double)q * prior.shares[tally.whole->concentration];
        trace.n_splits[iteration] = tally.whole->n_splits;
        tally.whole->n_done = iteration + 1;
    }
}

} // namespace
} // namespace tvselect
