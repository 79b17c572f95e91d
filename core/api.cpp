// The C interface, as tvselect.h declares it: arrays become views, and the work is done elsewhere.
#include "tvselect.h"

#include "forest.h"
#include "plays.h"
#include "regression.h"
#include "screen.h"
#include "tables.h"
#include <stddef.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace tvselect;

void tvs_copy_sample(int64_t n_padded, const tvs_design *design, const double *observed,
                     const tvs_draw *draw, const tvs_sample *sample) {
    copy_sample(*design, {observed, 2, n_padded}, *draw, *sample);
}

void tvs_begin(int64_t n_words, int64_t n_padded, const tvs_chain *chain, const tvs_design *design,
               const tvs_prior *prior, const uint64_t *mask, const double *observed,
               double precision) {
    begin(*chain, *design, *prior, {mask, n_words}, {observed, 2, n_padded}, precision);
}

void tvs_run(const tvs_generator *rng, const tvs_design *design, const tvs_prior *prior,
             const tvs_chain *chain, const tvs_trace *trace, int64_t stop) {
    Random random = Random::of(rng);
    run(random, *design, *prior, *chain, *trace, stop);
}

void tvs_plan(const tvs_reward *reward, int64_t n_columns, int64_t *sizes) {
    Schedule plan = schedule(*reward, n_columns);
    sizes[0] = plan.n_in_play;
    sizes[1] = plan.n_copies;
    sizes[2] = plan.n_iterations;
}

int64_t tvs_score(const tvs_generator *rng, const tvs_reward *reward, tvs_room *room) {
    Random random = Random::of(rng);
    return score(random, *reward, *room);
}

int64_t tvs_choose(const tvs_arms *arms, tvs_log *log, int64_t n) {
    int64_t status = TVS_DONE;
    while (status == TVS_DONE && log->n_chosen < n) status = choose(*arms, *log);
    return status;
}

int64_t tvs_score_chosen(const tvs_reward *reward, const tvs_arms *arms, tvs_log *log,
                         tvs_room *room) {
    return score_chosen(*reward, *arms, *log, *room);
}

int64_t tvs_learn(const tvs_arms *arms, tvs_log *log) { return learn(*arms, *log); }

int64_t tvs_play(const tvs_reward *reward, const tvs_arms *arms, tvs_log *log, tvs_room *room,
                 int64_t n) {
    return play(*reward, *arms, *log, *room, n);
}

int64_t tvs_join_partners(int64_t n_pairs, int64_t n_room, const int32_t *pairs, int32_t *arms,
                          int64_t n) {
    return join_partners({pairs, n_pairs, 2}, {arms, n_room}, n);
}

void tvs_evaluate_forest(int64_t n_columns, int64_t n_padded, int64_t n_rows,
                         const tvs_forest *forest, const uint8_t *codes, double *out) {
    evaluate_forest(*forest, {codes, n_columns, n_padded}, {out, n_rows});
}

void tvs_evaluate_at_points(int64_t n_columns, int64_t n_padded, int64_t n_set, int64_t n_nodes,
                            int64_t n_rows, int64_t n_points, const tvs_forest *forest,
                            const uint8_t *codes, int64_t first, const int64_t *below,
                            int64_t *nodes, int64_t *points_of, double *out) {
    evaluate_at_points(*forest, {codes, n_columns, n_padded}, first, {below, n_set, MISSING},
                       {nodes, n_nodes}, {points_of, n_nodes}, {out, n_rows, n_points});
}

void tvs_find_cuts(int64_t n_columns, int64_t n_rows, int64_t max_cuts, const double *values,
                   const int64_t *bits, int64_t *seen, uint8_t *n_cuts, double *low, double *step,
                   int64_t *sizes, double *halfway, int64_t *n_missing, uint8_t *infinite) {
    int64_t n = n_columns;
    CutPoints cuts{{n_cuts, n}, {low, n}, {step, n}, {sizes, n}, {halfway, n, max_cuts}};
    find_cuts({values, n, n_rows}, {bits, n, n_rows}, {seen, HASH_SIZE, 2}, cuts, {n_missing, n},
              {infinite, n});
}

void tvs_encode_columns(int64_t n_columns, int64_t n_rows, int64_t n_halfway, int64_t n_padded,
                        const double *values, const uint8_t *n_cuts, const double *low,
                        const double *step, const int64_t *starts, const double *halfway,
                        uint8_t *codes) {
    int64_t n = n_columns;
    encode_columns({values, n, n_rows}, {n_cuts, n}, {low, n}, {step, n}, {starts, n + 1},
                   {halfway, n_halfway}, {codes, n, n_padded});
}

void tvs_transpose_codes(int64_t n_codes, const uint8_t *codes, uint8_t *out) {
    transpose_codes(codes, n_codes / 64, out);
}

void tvs_find_crowded(int64_t n_columns, int64_t n_rows, int64_t n_padded, const double *values,
                      const uint8_t *codes, const double *step, int64_t width, uint8_t *crowded) {
    find_crowded({values, n_columns, n_rows}, {codes, n_columns, n_padded}, {step, n_columns},
                 width, {crowded, n_columns});
}

void tvs_rank_codes(int64_t n_columns, int64_t n_rows, const uint8_t *codes, double *ranks) {
    rank_codes({codes, n_columns, n_rows}, {ranks, n_columns, n_rows});
}

void tvs_rank_columns(int64_t n_columns, int64_t n_rows, const double *values, const int64_t *order,
                      double *ranks) {
    rank_columns({values, n_columns, n_rows}, {order, n_columns, n_rows},
                 {ranks, n_columns, n_rows});
}

void tvs_find_cells(int64_t n_seen, int64_t n_columns, int64_t n_rows, const double *seen,
                    const int64_t *starts, const double *values, const int64_t *order, double *low,
                    double *high) {
    find_cells({seen, n_seen}, {starts, n_columns + 1}, {values, n_columns, n_rows},
               {order, n_columns, n_rows}, {low, n_columns, n_rows}, {high, n_columns, n_rows});
}

void tvs_look_up(int64_t n_seen, int64_t n_columns, int64_t n_rows, const double *seen,
                 const int64_t *starts, const double *shares, double *found) {
    look_up({seen, n_seen}, {starts, n_columns + 1}, {shares, n_rows, n_columns},
            {found, n_rows, n_columns});
}

void tvs_correlate(int64_t n_columns, int64_t n_padded, int64_t n_rows, const uint8_t *codes,
                   const double *outcome, double *correlations, int64_t *n_present) {
    correlate({codes, n_columns, n_padded}, {outcome, n_rows}, {correlations, n_columns},
              {n_present, n_columns});
}

void tvs_add_by_value(int64_t n_columns, int64_t n_rows, int64_t n_outcomes, const uint8_t *values,
                      const double *outcomes, int64_t *counts, double *sums, int64_t *others) {
    add_by_value({values, n_columns, n_rows}, {outcomes, n_rows, n_outcomes},
                 {counts, n_columns, 4}, {sums, 4 * n_columns, n_outcomes}, {others, n_rows});
}

void tvs_count_genotypes(int64_t n_columns, int64_t n_bytes, const uint8_t *stored,
                         int64_t *counts) {
    count_genotypes({stored, n_columns, n_bytes}, {counts, n_columns, 4});
}

void tvs_descend(int64_t n_columns, int64_t n_rows, int64_t n_places, const double *x,
                 const double *y, const double *weight, int64_t is_binary, double alpha,
                 int64_t max_iter, const int64_t *places, double *coef, double *eta,
                 double *curvature, double *pull) {
    Lasso lasso{{x, n_columns, n_rows}, {y, n_rows},   {weight, n_rows},    is_binary != 0, alpha,
                {coef, n_columns},      {eta, n_rows}, {curvature, n_rows}, {pull, n_rows}};
    lasso.descend({places, n_places}, max_iter);
}

// What the operating system keeps of the registers (XCR0), and what the processor can do with them.
int64_t tvs_level(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    bool has_v2 = (c & bit_SSE4_2) && (c & bit_POPCNT) && (c & bit_SSSE3);
    if (!has_v2) return 0;
    bool has_v3 =
        (c & bit_AVX) && (c & bit_FMA) && (c & bit_F16C) && (c & bit_MOVBE) && (c & bit_OSXSAVE);
    if (!has_v3 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 2;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6 || !(b & bit_AVX2) || !(b & bit_BMI) || !(b & bit_BMI2)) return 2;
    unsigned avx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
    bool has_v4 = (b & avx512) == avx512 && (c & bit_AVX512VPOPCNTDQ) && (low & 0xe6) == 0xe6;
    return has_v4 ? 4 : 3;
#else
    return 0;
#endif
}

namespace {

// The size of a struct and the offsets of its fields, under its name.
struct Layout {
    const char *name;
    int64_t n_fields;
    int64_t size;
    int64_t offsets[20];
};

// Applies AT to every field of a struct.
#define AGAIN ()
#define EXPAND(...) EXPAND_1(EXPAND_1(EXPAND_1(__VA_ARGS__)))
#define EXPAND_1(...) EXPAND_2(EXPAND_2(EXPAND_2(__VA_ARGS__)))
#define EXPAND_2(...) EXPAND_3(EXPAND_3(EXPAND_3(__VA_ARGS__)))
#define EXPAND_3(...) __VA_ARGS__
#define OFFSETS(type, field, ...)                                                                  \
    (int64_t)offsetof(type, field) __VA_OPT__(, OFFSETS_AGAIN AGAIN(type, __VA_ARGS__))
#define OFFSETS_AGAIN() OFFSETS
#define LAYOUT(name, n_fields, ...)                                                                \
    {                                                                                              \
        #name, n_fields, sizeof(tvs_##name), { EXPAND(OFFSETS(tvs_##name, __VA_ARGS__)) }          \
    }

constexpr Layout LAYOUTS[] = {
    LAYOUT(design, 7, codes, starts, widths, n_cuts, has_missing, columns, n_rows),
    LAYOUT(prior, 17, split_log_odds, min_leaf, leaf_precision, noise_df, noise_sum, free_noise,
           latent, cuts, burn, sparse_from, shares, log_shares, column_log_weights, pair_share,
           pairs, latent_sweeps, cut_steps),
    LAYOUT(trees, 2, nodes, splits),
    LAYOUT(leaves, 7, size, owners, masks, gram, sums, means, fitted),
    LAYOUT(tally, 3, columns, ladder, whole),
    LAYOUT(response, 6, values, observed, fit, cuts, spread, real),
    LAYOUT(proposal, 2, rows, shared),
    LAYOUT(chain, 5, trees, leaves, tally, response, proposal),
    LAYOUT(trace, 3, precision, theta, n_splits),
    LAYOUT(draw, 3, rows, shadows, shuffled),
    LAYOUT(sample, 6, codes, starts, widths, n_cuts, has_missing, observed),
    LAYOUT(rules, 11, n_candidates, n_seen, n_forests, last_forest, n_trees, n_iterations, n_burn,
           proposals_per_column, penalty, shadows, min_splits),
    LAYOUT(reward, 6, table, observed, prior, precision, evidence, rules),
    LAYOUT(room, 15, chain, trace, sample, draw, mask, order, columns, places, log_weights, scores,
           rewards, pairs, play, is_started, n_columns),
    LAYOUT(posteriors, 8, successes, failures, chance_below, passing, table, prior_a, prior_b,
           threshold),
    LAYOUT(arms, 6, posteriors, pairs, n_candidates, starts, columns, always),
    LAYOUT(log, 8, arms, rewards, ends, random, n_chosen, next, n_learned, n_unchanged),
    LAYOUT(forest, 6, starts, left, column, cut, missing_left, value),
};

} // namespace

int64_t tvs_version(void) { return TVS_VERSION; }

int64_t tvs_source(void) { return TVS_SOURCE; }

const int64_t *tvs_layout(const char *name) {
    for (const Layout &layout : LAYOUTS)
        if (strcmp(layout.name, name) == 0) return &layout.n_fields;
    return nullptr;
}
