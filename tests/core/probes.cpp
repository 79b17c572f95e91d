// What tests need of the core's inside, as functions that are called like those of its interface.
#include "geweke.h"
#include "plays.h"

extern "C" {

// ------------------------------------------------------------------ random numbers
// `state` are the five words of a generator: it goes on from there.

TVS_API void tvs_seed(const uint64_t *seeds, uint64_t *state) {
    Random::seeded(seeds).store(state);
}

#define FILL(name, type, draw)                                                                     \
    TVS_API void tvs_fill_##name(uint64_t *state, double about, Array<type> out) {                 \
        (void)about;                                                                               \
        Random rng = Random::stored(state);                                                        \
        for (type &value : out) value = (type)(draw);                                              \
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
TVS_API void tvs_normals_of(const tvs_generator *generator, Array<double> out) {
    Random rng = Random::of(generator);
    for (double &value : out) value = rng.normal();
}

TVS_API void tvs_shuffle(uint64_t *state, Array<int64_t> values) {
    Random rng = Random::stored(state);
    rng.shuffle(values);
    rng.store(state);
}

TVS_API int64_t tvs_floats_reaching(uint64_t *state, Array<const float> bounds,
                                    Array<int32_t> found) {
    Random rng = Random::stored(state);
    int64_t n_found = floats_reaching(rng, bounds, found.data);
    rng.store(state);
    return n_found;
}

TVS_API void tvs_draw_rows(uint64_t *state, Array<int64_t> rows, Array<int64_t> order) {
    Random rng = Random::stored(state);
    draw_rows(rng, order.size, rows, order);
    rng.store(state);
}

TVS_API void tvs_normal_between(const tvs_generator *generator, double mean, double sd, double low,
                                double high, Array<double> out) {
    Random rng = Random::of(generator);
    for (double &value : out) value = normal_between(rng, mean, sd, low, high);
}

// ------------------------------------------------------------------ sets of rows

TVS_API int64_t tvs_bit_place(int64_t row) { return bit_place(row); }

TVS_API int64_t tvs_rows_at_most(Array<const uint64_t> codes, int64_t start, int64_t width,
                                 Matrix<uint64_t> masks, int64_t leaf, int64_t cut,
                                 int64_t missing_left, Array<uint64_t> out) {
    Array<const uint64_t> of_column = codes.from(start);
    TVS_CHECK(width * out.size <= of_column.size);
    return rows_at_most(of_column.data, width, masks, leaf, cut, missing_left != 0, out);
}

TVS_API double tvs_overlaps(Matrix<uint64_t> masks, int64_t n_sets, Array<uint64_t> rows,
                            Array<const double> weights, Array<int32_t> out) {
    return overlaps(masks, n_sets, rows, weights, out);
}

TVS_API void tvs_spread(Array<const double> values, Array<double> out) { spread(values, out); }

TVS_API double tvs_sum_over(Array<const double> values, Array<uint64_t> rows) {
    return sum_over(values, rows);
}

// ------------------------------------------------------------------ the shape of trees

#define NTH(kind)                                                                                  \
    TVS_API int64_t tvs_nth_##kind(const tvs_trees *trees, int64_t tree, int64_t rank) {           \
        return nth<is_##kind>({*trees, tree}, rank);                                               \
    }                                                                                              \
    TVS_API int64_t tvs_n_##kind(const tvs_trees *trees, int64_t tree) {                           \
        return count<is_##kind>({*trees, tree});                                                   \
    }

NTH(leaf)
NTH(split)
NTH(prunable)
NTH(pair)

TVS_API int64_t tvs_is_prunable(const tvs_trees *trees, int64_t tree, int64_t node) {
    return is_prunable({*trees, tree}, node);
}
TVS_API int64_t tvs_split_child(const tvs_trees *trees, int64_t tree, int64_t node) {
    return split_child({*trees, tree}, node);
}
TVS_API int64_t tvs_pairs_after(const tvs_trees *trees, int64_t tree, int64_t node) {
    return pairs_after({*trees, tree}, node);
}

TVS_API void tvs_open_cuts(const tvs_trees *trees, int64_t tree, int64_t node, int64_t column,
                           int64_t n_cuts, tvs_pair *range) {
    *range = open_cuts({*trees, tree}, node, column, n_cuts);
}

TVS_API void tvs_draw_pairs(const tvs_generator *generator, Array<const tvs_pair> pairs,
                            Array<tvs_pair> out) {
    Random rng = Random::of(generator);
    Prior prior{};
    prior.pairs = pairs;
    for (tvs_pair &pair : out) pair = draw_pair(rng, prior);
}

TVS_API void tvs_split(const tvs_chain *chain, const tvs_design *design, int64_t tree, int64_t node,
                       int64_t column, int64_t cut, int64_t missing_left) {
    geweke::split_at(*design, *chain, tree, node, column, cut, missing_left != 0);
    count_split(chain->tally, column, 1, 0, 0);
}

TVS_API void tvs_merge(const tvs_chain *chain, int64_t tree, int64_t node) {
    count_split(chain->tally, chain->trees.nodes(tree, node).column, -1, 0, 0);
    merge_leaves(*chain, tree, node);
}

// ------------------------------------------------------------------ plays

TVS_API double tvs_quantile_of(Array<double> values, double share) {
    return quantile_of(values, share);
}

TVS_API int64_t tvs_find_pairs(Array<const int64_t> columns, Array<const tvs_pair> known,
                               Array<tvs_pair> found) {
    return find_pairs(columns, known, found);
}

// ------------------------------------------------------------------ loops around the sampler

// Splits, greatest depth, place of theta, splits by column, every `thin` iterations.
TVS_API void tvs_collect_statistics(const tvs_generator *generator, const tvs_design *design,
                                    const tvs_prior *prior, const tvs_chain *chain,
                                    const tvs_trace *trace, int64_t thin, Matrix<double> out) {
    Random rng = Random::of(generator);
    const auto &[trees, leaves, tally, response, proposal, groups] = *chain;
    for (int64_t r = 0; r < out.n_rows; ++r) {
        tally.whole->n_done = 0;
        run(rng, *design, *prior, *chain, *trace, thin);
        int64_t depth = 0;
        for (int64_t t = 0; t < trees.splits.size; ++t)
            for (int64_t node = 0; node < 2 * trees.splits[t] + 1; ++node)
                if (trees.nodes(t, node).depth > depth) depth = trees.nodes(t, node).depth;
        out(r, 0) = (double)tally.whole->n_splits;
        out(r, 1) = (double)depth;
        out(r, 2) = (double)tally.whole->concentration;
        for (int64_t j = 3; j < out.n_columns; ++j) out(r, j) = (double)tally.columns[j - 3].count;
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

TVS_API void tvs_collect_shapes(const tvs_generator *generator, const tvs_design *design,
                                const tvs_prior *prior, const tvs_chain *chain,
                                const tvs_trace *trace, int64_t thin, int64_t base,
                                Matrix<int64_t> out) {
    Random rng = Random::of(generator);
    for (int64_t r = 0; r < out.n_rows; ++r) {
        chain->tally.whole->n_done = 0;
        run(rng, *design, *prior, *chain, *trace, thin);
        for (int64_t t = 0; t < out.n_columns; ++t) out(r, t) = key_of(chain->trees, t, base);
    }
}

// Arrays of forests are (draws, trees, nodes): of the last the core knows how many there are.
TVS_API void tvs_simulate(const tvs_generator *generator, Matrix<const uint8_t> codes,
                          Array<const int64_t> n_cuts, Array<const uint8_t> has_missing,
                          Array<const double> thetas, int64_t is_sparse, int64_t min_leaf,
                          double base, double power, Array<const double> column_weights,
                          double leaf_sd, Array<int64_t> theta_index, Matrix<int64_t> columns,
                          Matrix<int64_t> cuts, Matrix<uint8_t> missing_left,
                          Matrix<int64_t> depths, Matrix<double> means, Matrix<int64_t> sizes) {
    Random rng = Random::of(generator);
    direct::Setting setting{codes,    n_cuts, has_missing, thetas,         is_sparse != 0,
                            min_leaf, base,   power,       column_weights, leaf_sd};
    direct::draw_forests(rng, setting,
                         {sizes.n_columns, theta_index, columns.data, cuts.data, missing_left.data,
                          depths.data, means.data, sizes.data});
}

TVS_API void tvs_evaluate(Matrix<const uint8_t> codes, Array<int64_t> columns, Array<int64_t> cuts,
                          Array<uint8_t> missing_left, Array<double> means, Array<int64_t> sizes,
                          Array<double> out) {
    direct::Forests forests{sizes.size,        {nullptr, 0}, columns.data, cuts.data,
                            missing_left.data, columns.data, means.data,   sizes.data};
    for (int64_t t = 0; t < sizes.size; ++t)
        direct::add_tree(codes, forests.tree(0, t), sizes[t], out);
}

TVS_API void tvs_replicates(const tvs_generator *generator, const tvs_design *design,
                            const tvs_prior *prior, const tvs_chain *chain, const tvs_trace *trace,
                            int64_t under_test, int64_t n_rounds, double noise_df, double noise_sum,
                            Array<const uint8_t> mask, Array<int64_t> theta_index,
                            Matrix<int64_t> columns, Matrix<int64_t> cuts,
                            Matrix<uint8_t> missing_left, Matrix<int64_t> depths,
                            Matrix<double> means, Matrix<int64_t> sizes, Array<double> fit,
                            Matrix<double> before, Matrix<double> after) {
    Random rng = Random::of(generator);
    geweke::replicates(rng, *design, *prior, *chain, *trace, under_test, n_rounds, noise_df,
                       noise_sum,
                       {sizes.n_columns, theta_index, columns.data, cuts.data, missing_left.data,
                        depths.data, means.data, sizes.data},
                       mask, fit, before, after);
}
}
