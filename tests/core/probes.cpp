// What tests need of the core's inside, as functions that are called like those of its interface.
#include "geweke.h"
#include "plays.h"

using namespace tvselect;

extern "C" {

// ------------------------------------------------------------------ random numbers
// `state` are the five words of a generator: it goes on from there.

TVS_API void tvs_seed(const uint64_t *seeds, uint64_t *state) {
    Random::seeded(seeds).store(state);
}

#define FILL(name, type, draw)                                                                     \
    TVS_API void tvs_fill_##name(int64_t n, uint64_t *state, double about, type *out) {            \
        (void)about;                                                                               \
        Random rng = Random::stored(state);                                                        \
        for (int64_t i = 0; i < n; ++i) out[i] = (type)(draw);                                     \
        rng.store(state);                                                                          \
    }

FILL(words, uint64_t, rng.word())
FILL(halves, uint64_t, rng.half())
FILL(uniforms, double, rng.uniform())
FILL(floats, float, rng.uniform_float())
FILL(normals, double, rng.normal())
FILL(exponentials, double, rng.exponential())
FILL(gammas, double, rng.gamma(about))
FILL(chi_squares, double, rng.chi_square(about))
FILL(below, int64_t, rng.below((int64_t)about))

// Normals of a generator of NumPy's, whatever its kind.
TVS_API void tvs_normals_of(int64_t n, const tvs_generator *generator, double *out) {
    Random rng = Random::of(generator);
    for (int64_t i = 0; i < n; ++i) out[i] = rng.normal();
}

TVS_API void tvs_shuffle(int64_t n, uint64_t *state, int64_t *values) {
    Random rng = Random::stored(state);
    rng.shuffle({values, n});
    rng.store(state);
}

TVS_API int64_t tvs_floats_reaching(int64_t n, uint64_t *state, const float *bounds,
                                    int32_t *found) {
    Random rng = Random::stored(state);
    int64_t n_found = floats_reaching(rng, {bounds, n}, found);
    rng.store(state);
    return n_found;
}

TVS_API void tvs_draw_rows(int64_t n_rows, int64_t n_table, uint64_t *state, int64_t *rows,
                           int64_t *order) {
    Random rng = Random::stored(state);
    draw_rows(rng, n_table, {rows, n_rows}, {order, n_table});
    rng.store(state);
}

TVS_API void tvs_normal_between(int64_t n, const tvs_generator *generator, double mean, double sd,
                                double low, double high, double *out) {
    Random rng = Random::of(generator);
    for (int64_t i = 0; i < n; ++i) out[i] = normal_between(rng, mean, sd, low, high);
}

// ------------------------------------------------------------------ sets of rows

TVS_API int64_t tvs_bit_place(int64_t row) { return bit_place(row); }

TVS_API void tvs_count_ones(int64_t n, const uint64_t *words, int64_t *out) {
    for (int64_t i = 0; i < n; ++i) out[i] = n_ones(words[i]);
}

TVS_API int64_t tvs_rows_at_most(int64_t n_codes, int64_t n_words, int64_t n_leaves,
                                 const uint64_t *codes, int64_t start, int64_t width,
                                 uint64_t *masks, int64_t leaf, int64_t cut, int64_t missing_left,
                                 uint64_t *out) {
    Array<const uint64_t> of_column = Array<const uint64_t>{codes, n_codes}.from(start);
    TVS_CHECK(width * n_words <= of_column.size);
    return rows_at_most(of_column.data, width, {masks, n_words, n_leaves}, leaf, cut,
                        missing_left != 0, {out, n_words});
}

TVS_API double tvs_overlaps(int64_t n_words, int64_t n_leaves, int64_t n_room, uint64_t *masks,
                            int64_t n_sets, uint64_t *rows, const double *weights, int32_t *out) {
    return overlaps({masks, n_words, n_leaves}, n_sets, {rows, n_words}, {weights, n_room},
                    {out, n_room});
}

TVS_API void tvs_spread(int64_t n_rows, const double *values, double *out) {
    spread({values, n_rows}, {out, n_rows});
}

TVS_API double tvs_sum_over(int64_t n_rows, int64_t n_words, const double *values, uint64_t *rows) {
    return sum_over({values, n_rows}, {rows, n_words});
}

// ------------------------------------------------------------------ the shape of trees

TVS_API int64_t tvs_nth_leaf(const tvs_trees *trees, int64_t tree, int64_t rank) {
    return nth_leaf(*trees, tree, rank);
}
TVS_API int64_t tvs_nth_split(const tvs_trees *trees, int64_t tree, int64_t rank) {
    return nth_split(*trees, tree, rank);
}
TVS_API int64_t tvs_is_prunable(const tvs_trees *trees, int64_t tree, int64_t node) {
    return is_prunable(*trees, tree, node);
}
TVS_API int64_t tvs_n_prunable(const tvs_trees *trees, int64_t tree) {
    return n_prunable(*trees, tree);
}
TVS_API int64_t tvs_nth_prunable(const tvs_trees *trees, int64_t tree, int64_t rank) {
    return nth_prunable(*trees, tree, rank);
}
TVS_API int64_t tvs_split_child(const tvs_trees *trees, int64_t tree, int64_t node) {
    return split_child(*trees, tree, node);
}
TVS_API int64_t tvs_n_pairs(const tvs_trees *trees, int64_t tree) { return n_pairs(*trees, tree); }
TVS_API int64_t tvs_nth_pair(const tvs_trees *trees, int64_t tree, int64_t rank) {
    return nth_pair(*trees, tree, rank);
}
TVS_API int64_t tvs_pairs_after(const tvs_trees *trees, int64_t tree, int64_t node) {
    return pairs_after(*trees, tree, node);
}

TVS_API void tvs_open_cuts(const tvs_trees *trees, int64_t tree, int64_t node, int64_t column,
                           int64_t n_cuts, int64_t *range) {
    CutRange open = open_cuts(*trees, tree, node, column, n_cuts);
    range[0] = open.low;
    range[1] = open.high;
}

TVS_API void tvs_draw_pairs(int64_t n_pairs, int64_t n, const tvs_generator *generator,
                            const tvs_pair *pairs, tvs_pair *out) {
    Random rng = Random::of(generator);
    Prior prior{};
    prior.pairs = {pairs, n_pairs};
    for (int64_t i = 0; i < n; ++i) out[i] = draw_pair(rng, prior);
}

TVS_API void tvs_split(const tvs_chain *chain, const tvs_design *design, int64_t tree, int64_t node,
                       int64_t column, int64_t cut, int64_t missing_left) {
    geweke::split_at(*design, *chain, tree, node, column, cut, missing_left != 0);
    count_split(chain->tally, column, 0, 0);
}

TVS_API void tvs_merge(const tvs_chain *chain, int64_t tree, int64_t node) {
    uncount_split(chain->tally, chain->trees.nodes(tree, node).column, 0, 0);
    merge_leaves(chain->trees, chain->leaves, tree, node);
}

// ------------------------------------------------------------------ plays

TVS_API double tvs_quantile_of(int64_t n, double *values, double share) {
    return quantile_of({values, n}, share);
}

TVS_API int64_t tvs_find_pairs(int64_t n_columns, int64_t n_known, int64_t n_room,
                               const int64_t *columns, const tvs_pair *known, tvs_pair *found) {
    return find_pairs({columns, n_columns}, {known, n_known}, {found, n_room});
}

TVS_API int64_t tvs_list_columns(int64_t n_played, int64_t n_room, const tvs_arms *source,
                                 const int32_t *arms, int64_t *found) {
    return list_columns(*source, {arms, n_played}, {found, n_room});
}

TVS_API void tvs_reward_arms(int64_t n_played, int64_t n_columns, const tvs_arms *source,
                             const int32_t *arms, const double *of_columns, uint8_t *rewards) {
    reward_arms(*source, {arms, n_played}, {of_columns, n_columns}, {rewards, n_played});
}

TVS_API void tvs_score_average(int64_t n_columns, int64_t n_rewards, const tvs_tally *tally,
                               int64_t burn, double min_splits, double *scores, double *rewards) {
    score_average(*tally, burn, min_splits, {scores, n_columns}, {rewards, n_rewards});
}

// ------------------------------------------------------------------ loops around the sampler

// Splits, greatest depth, place of theta, splits by column, every `thin` iterations.
TVS_API void tvs_collect_statistics(int64_t n_draws, int64_t n_statistics,
                                    const tvs_generator *generator, const tvs_design *design,
                                    const tvs_prior *prior, const tvs_chain *chain,
                                    const tvs_trace *trace, int64_t thin, double *out) {
    Random rng = Random::of(generator);
    const auto &[trees, leaves, tally, response, proposal] = *chain;
    Matrix<double> rows{out, n_draws, n_statistics};
    for (int64_t r = 0; r < n_draws; ++r) {
        tally.whole->n_done = 0;
        run(rng, *design, *prior, *chain, *trace, thin);
        int64_t depth = 0;
        for (int64_t t = 0; t < trees.splits.size; ++t)
            for (int64_t node = 0; node < 2 * trees.splits[t] + 1; ++node)
                if (trees.nodes(t, node).depth > depth) depth = trees.nodes(t, node).depth;
        rows(r, 0) = (double)tally.whole->n_splits;
        rows(r, 1) = (double)depth;
        rows(r, 2) = (double)tally.whole->concentration;
        for (int64_t j = 0; j < n_statistics - 3; ++j)
            rows(r, 3 + j) = (double)tally.columns[j].count;
    }
}

// A tree as one number: its preorder in digits, 0 for a leaf.
static int64_t key_of(const tvs_trees &trees, int64_t tree, int64_t base) {
    int64_t stack[direct::MOST_NODES] = {0}, top = 1;
    uint64_t key = 1;
    while (top > 0) {
        const tvs_node &node = trees.nodes(tree, stack[--top]);
        int64_t digit = 0;
        if (node.left != 0) {
            digit = 1 + 2 * (node.column * 254 + node.cut) + node.missing_left;
            stack[top++] = node.left + 1;
            stack[top++] = node.left;
        }
        key = key * (uint64_t)base + (uint64_t)digit;
    }
    return (int64_t)key;
}

TVS_API void tvs_collect_shapes(int64_t n_draws, int64_t n_trees, const tvs_generator *generator,
                                const tvs_design *design, const tvs_prior *prior,
                                const tvs_chain *chain, const tvs_trace *trace, int64_t thin,
                                int64_t base, int64_t *out) {
    Random rng = Random::of(generator);
    Matrix<int64_t> rows{out, n_draws, n_trees};
    for (int64_t r = 0; r < n_draws; ++r) {
        chain->tally.whole->n_done = 0;
        run(rng, *design, *prior, *chain, *trace, thin);
        for (int64_t t = 0; t < n_trees; ++t) rows(r, t) = key_of(chain->trees, t, base);
    }
}

TVS_API void tvs_simulate(int64_t n_columns, int64_t n_rows, int64_t n_thetas, int64_t n_draws,
                          int64_t n_trees, const tvs_generator *generator, const uint8_t *codes,
                          const int64_t *n_cuts, const uint8_t *has_missing, const double *thetas,
                          int64_t is_sparse, int64_t min_leaf, double base, double power,
                          const double *column_weights, double leaf_sd, int64_t *theta_index,
                          int64_t *columns, int64_t *cuts, uint8_t *missing_left, int64_t *depths,
                          double *means, int64_t *sizes) {
    Random rng = Random::of(generator);
    direct::Setting setting{{codes, n_columns, n_rows},
                            {n_cuts, n_columns},
                            {has_missing, n_columns},
                            {thetas, n_thetas},
                            is_sparse != 0,
                            min_leaf,
                            base,
                            power,
                            {column_weights, n_columns},
                            leaf_sd};
    direct::draw_forests(
        rng, setting,
        {n_trees, {theta_index, n_draws}, columns, cuts, missing_left, depths, means, sizes});
}

TVS_API void tvs_evaluate(int64_t n_columns, int64_t n_rows, int64_t n_trees, const uint8_t *codes,
                          int64_t *columns, int64_t *cuts, uint8_t *missing_left, double *means,
                          int64_t *sizes, double *out) {
    direct::Forests forests{n_trees,      {nullptr, 0}, columns, cuts,
                            missing_left, columns,      means,   sizes};
    for (int64_t t = 0; t < n_trees; ++t)
        direct::add_tree({codes, n_columns, n_rows}, forests.tree(0, t), sizes[t], {out, n_rows});
}

TVS_API void tvs_replicates(int64_t n_padded, int64_t n_draws, int64_t n_trees,
                            const tvs_generator *generator, const tvs_design *design,
                            const tvs_prior *prior, const tvs_chain *chain, const tvs_trace *trace,
                            int64_t under_test, int64_t n_rounds, double noise_df, double noise_sum,
                            const uint8_t *mask, int64_t *theta_index, int64_t *columns,
                            int64_t *cuts, uint8_t *missing_left, int64_t *depths, double *means,
                            int64_t *sizes, double *fit, double *before, double *after) {
    Random rng = Random::of(generator);
    geweke::replicates(
        rng, *design, *prior, *chain, *trace, under_test, n_rounds, noise_df, noise_sum,
        {n_trees, {theta_index, n_draws}, columns, cuts, missing_left, depths, means, sizes},
        {mask, n_padded}, {fit, n_padded}, {before, n_draws, geweke::N_FUNCTIONS},
        {after, n_draws, geweke::N_FUNCTIONS});
}
}
