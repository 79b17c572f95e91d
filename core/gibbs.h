// The Gibbs sampler of Bayesian additive regression trees: where a chain starts, and the loop.
#pragma once
#include "latents.h"
#include "moves.h"

// Copies a column at some rows to a place of the sample.
inline void copy_column(const Design &table, int64_t column, Array<const int64_t> rows,
                        const tvs_sample &sample, int64_t place) {
    int64_t width = table.widths[column], n_words = sample.observed.n_columns / 64;
    Array<const uint64_t> source = table.codes.from(table.starts[column]);
    Array<uint64_t> target = sample.codes.from(sample.starts[place]).first(width * n_words);
    target.fill(0);
    for (int64_t i = 0; i < rows.size; ++i) {
        int64_t from = bit_place(rows[i]), to = bit_place(i);
        if (width == WIDE) {
            uint64_t code = (source[from >> 3] >> (8 * (from & 7))) & 255;
            target[to >> 3] |= code << (8 * (to & 7));
            continue;
        }
        for (int64_t plane = 0; plane < width; ++plane) {
            uint64_t code = (source[width * (from >> 6) + plane] >> (from & 63)) & 1;
            target[width * (to >> 6) + plane] |= code << (to & 63);
        }
    }
    sample.widths[place] = (uint8_t)width;
    sample.n_cuts[place] = table.n_cuts[column];
    sample.has_missing[place] = table.has_missing[column];
}

// Whether so many more splits in every tree might not fit.
inline bool is_cramped(const Trees &trees, const Leaves &leaves, int64_t n_more) {
    bool found = *leaves.size + n_more * trees.nodes.n_rows >= leaves.sums.size;
    for (int64_t n_splits : trees.splits)
        found |= 2 * (n_splits + n_more) + 1 > trees.nodes.n_columns;
    return found;
}

inline void run(Random &rng, const Design &design, const Prior &prior, const Chain &chain,
                const tvs_trace &trace, int64_t stop) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    int64_t q = design.columns.size;
    if (tally.whole->n_done == 0) use_response(chain);
    for (int64_t iteration = tally.whole->n_done; iteration < stop; ++iteration) {
        if (is_cramped(trees, leaves, prior.pair_share == 0.0 ? 1 : 2)) return;
        if (prior.latent != TVS_OBSERVED && iteration % prior.latent_sweeps == 0)
            draw_latents(rng, prior, chain, design.n_rows);
        for (int64_t tree = 0; tree < trees.splits.size; ++tree) {
            Move{rng, design, prior, chain, iteration, {trees, tree}}.propose();
            draw_leaf_means(rng, prior, chain, tree);
        }
        if (prior.free_noise) draw_precision(rng, prior, chain, design.n_rows);
        if (groups.sizes.size > 0) draw_ratio(rng, prior.ratios, groups, response.real->precision);
        if (iteration >= prior.sparse_from) draw_concentration(rng, tally, prior, q);
        trace.precision[iteration] = response.real->precision;
        trace.theta[iteration] = (double)q * prior.shares[tally.whole->concentration];
        trace.ratio[iteration] = prior.ratios[groups.whole->ratio];
        trace.n_splits[iteration] = tally.whole->n_splits;
        tally.whole->n_done = iteration + 1;
    }
}

// Rows by group, leaf and word. Of several classes every one has the groups to itself.
inline void begin_groups(const Chain &chain, const Prior &prior, Array<const int32_t> codes,
                         int64_t n_classes) {
    auto &[trees, leaves, tally, response, proposal, groups] = chain;
    groups.sizes.fill(0.0);
    *groups.whole = {0, 0};
    int64_t group = -1;
    for (int64_t i = 0; i < codes.size; ++i) {
        bool is_new = i % (codes.size / n_classes) == 0 || codes[i] != codes[i - 1];
        group += is_new;
        if (is_new || i % 64 == 0) groups.parts[groups.whole->n_parts++] = {i >> 6, group, 0};
        groups.parts[groups.whole->n_parts - 1].rows |= 1ULL << (bit_place(i) & 63);
        groups.sizes[group] += 1.0;
    }
    for (int64_t k = 0; k < *leaves.size; ++k) {
        groups.rows[k].fill(0.0);
        for (const tvs_part &part : groups.parts.first(groups.whole->n_parts))
            groups.rows(k, part.group) +=
                (double)__builtin_popcountll(leaves.masks(part.word, k) & part.rows);
    }
    set_ratio(groups, prior.ratios, prior.ratios.size / 2);
}

void tvs_copy_sample(const Design *table, Matrix<const double> observed, const tvs_draw *draw,
                     const tvs_sample *sample, Array<const int32_t> groups) {
    int64_t n_columns = table->columns.size;
    for (int64_t k = 0; k < n_columns; ++k)
        copy_column(*table, table->columns[k], draw->rows, *sample, k);
    for (int64_t k = 0; k < draw->shadows.size; ++k)
        copy_column(*table, draw->shadows[k], draw->shuffled[k], *sample, n_columns + k);
    for (int64_t side = 0; side < 2; ++side) {
        sample->observed[side].fill(0.0);
        for (int64_t i = 0; i < draw->rows.size; ++i)
            sample->observed(side, bit_place(i)) = observed(side, bit_place(draw->rows[i]));
    }
    for (int64_t i = 0; i < draw->rows.size && groups.size > 0; ++i)
        sample->groups[i] = groups[draw->rows[i]];
}

void tvs_begin(const Chain *chain, const Design *design, const Prior *prior,
               Matrix<const double> observed, Array<const int32_t> codes, double precision) {
    auto &[trees, leaves, tally, response, proposal, groups] = *chain;
    int64_t n_trees = trees.splits.size, n_columns = design->columns.size;
    // Tree t has the rows of class t % n_classes.
    int64_t n_classes = prior->latent == TVS_CLASSES ? prior->cuts.size : 1;
    int64_t block = design->n_rows / n_classes;
    *leaves.size = n_trees;
    for (int64_t tree = 0; tree < n_trees; ++tree) {
        int64_t k = tree % n_classes;
        trees.splits[tree] = 0;
        trees.nodes(tree, 0) = {0, 0, 0, 0, 0, 0, (int32_t)tree, 0};
        leaves.owners[tree] = {(int32_t)tree, 0};
        leaves.means[tree] = 0.0;
        leaves.fitted[tree] = 0.0;
        for (int64_t other = 0; other < n_trees; ++other)
            leaves.gram(tree, other) = other % n_classes == k ? (int32_t)block : 0;
        for (int64_t w = 0; w < leaves.masks.n_rows; ++w)
            leaves.masks(w, tree) = tree == k ? 0 : leaves.masks(w, k);
        for (int64_t i = k * block; tree == k && i < (k + 1) * block; ++i)
            leaves.masks(i >> 6, tree) |= 1ULL << (bit_place(i) & 63);
    }
    begin_groups(*chain, *prior, codes, n_classes);
    tally.columns.first(n_columns).fill({0, 0, 0, 0});
    tally.ladder.fill(0);
    int64_t theta = 0; // the first that is at least 1
    while (theta + 1 < prior->shares.size && prior->shares[theta] < 1.0 / (double)n_columns)
        ++theta;
    *tally.whole = {0, theta, 0, 0};
    bool has_levels = prior->latent == TVS_GRADES || prior->latent == TVS_CLASSES;
    for (int64_t i = 0; i < observed.n_columns; ++i) {
        double low = observed(LOWER, i), high = observed(UPPER, i);
        response.values[i] = low == high && !has_levels ? low : 0.0;
        response.observed(LOWER, i) = has_levels ? 0.0 : low;
        response.observed(UPPER, i) = has_levels ? 0.0 : high;
        response.observed(LEVEL, i) = has_levels ? low - 1.0 : -1.0;
    }
    for (int64_t k = 0; k < prior->cuts.size; ++k) response.cuts[k] = prior->cuts[k];
    response.real->precision = precision;
}

void tvs_run(const tvs_generator *rng, const Design *design, const Prior *prior, const Chain *chain,
             const tvs_trace *trace, int64_t stop) {
    Random random = Random::of(rng);
    run(random, *design, *prior, *chain, *trace, stop);
}
