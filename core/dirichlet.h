// Which columns are split on: uniform, or DART's Dirichlet prior with s integrated out.
//
// With s ~ Dirichlet(theta/q, ..., theta/q) and s integrated out, the column of a split given all
// other splits of the forest is a Polya urn: column j has probability
// (theta/q + n_j) / (theta + N). theta needs only the counts:
//
//     p(counts | theta) = Gamma(theta) / Gamma(theta + N)
//                         prod_j Gamma(theta/q + n_j) / Gamma(theta/q)
//
// and the product is prod_m (theta/q + m)^ladder[m], where ladder[m] columns have more than m
// splits. Nothing here costs more when there are more columns.
#pragma once

#include "structure.h"

namespace tvselect {
namespace {

constexpr double LARGE_THETA = 1e8;

// Column of one of the splits of the forest, counted through the trees.
inline int64_t column_of_split(const Trees &trees, int64_t rank) {
    int64_t tree = 0;
    while (rank >= trees.splits[tree]) rank -= trees.splits[tree++];
    return trees.nodes(tree, nth_split(trees, tree, rank)).column;
}

// Draws the column of a new split given the other splits.
inline int64_t draw_column(Random &rng, const Trees &trees, const Tally &tally,
                           const Design &design, const Prior &prior, int64_t iteration) {
    double q = (double)design.columns.size;
    if (iteration >= prior.sparse_from) {
        double theta = q * prior.shares[tally.whole->concentration];
        double n_splits = (double)tally.whole->n_splits;
        double ball = rng.uniform() * (theta + n_splits);
        if (ball < n_splits) return column_of_split(trees, (int64_t)ball);
    }
    return (int64_t)(rng.uniform() * q);
}

// Probability that draw_column draws a column, given its splits and all splits.
inline double chance_of_column(const Tally &tally, const Prior &prior, int64_t q, int64_t iteration,
                               int64_t n_on_it, int64_t n_splits) {
    if (iteration < prior.sparse_from) return 1.0 / (double)q;
    double share = prior.shares[tally.whole->concentration];
    return (share + (double)n_on_it) / ((double)q * share + (double)n_splits);
}

// Adds the draws since a column's count last changed to its totals.
inline void close_span(const Tally &tally, int64_t column, int64_t iteration, int64_t burn) {
    tvs_column_count &entry = tally.columns[column];
    int64_t span = iteration - (entry.since > burn ? entry.since : burn);
    if (span > 0) {
        entry.total += span * entry.count;
        if (entry.count > 0) entry.present += span;
    }
    entry.since = iteration;
}

// Splits of a column per forest, over the draws after burn-in; 0 when there is none yet.
inline double mean_splits(const Tally &tally, int64_t column, int64_t burn) {
    const tvs_column_count &entry = tally.columns[column];
    int64_t n_done = tally.whole->n_done;
    int64_t total = entry.total;
    int64_t span = n_done - (entry.since > burn ? entry.since : burn);
    if (entry.count > 0 && span > 0) total += span * entry.count;
    return (double)total / (double)(n_done - burn > 1 ? n_done - burn : 1);
}

// Enters a new split on a column in the counts.
inline void count_split(const Tally &tally, int64_t column, int64_t iteration, int64_t burn) {
    close_span(tally, column, iteration, burn);
    tally.ladder[tally.columns[column].count] += 1;
    tally.columns[column].count += 1;
    tally.whole->n_splits += 1;
    tally.whole->accepted += 1;
}

// Takes a removed split on a column out of the counts.
inline void uncount_split(const Tally &tally, int64_t column, int64_t iteration, int64_t burn) {
    close_span(tally, column, iteration, burn);
    tally.columns[column].count -= 1;
    tally.ladder[tally.columns[column].count] -= 1;
    tally.whole->n_splits -= 1;
    tally.whole->accepted += 1;
}

// Log probability of the counts when theta is at grid point k.
inline double log_counts_given(const Tally &tally, const Prior &prior, int64_t q, int64_t k) {
    double theta = (double)q * prior.shares[k];
    double n_splits = (double)tally.whole->n_splits;
    double value;
    if (theta > LARGE_THETA)
        value = -n_splits * (log(theta) + 0.5 * (n_splits - 1.0) / theta);
    else
        value = lgamma(theta) - lgamma(theta + n_splits);
    for (int64_t m = 0; tally.ladder[m] > 0; ++m) {
        double log_share = m < prior.log_shares.n_columns ? prior.log_shares(k, m)
                                                          : log(prior.shares[k] + (double)m);
        value += (double)tally.ladder[m] * log_share;
    }
    return value;
}

// Slice sampling of theta on its grid, shrinking from the whole grid.
inline void draw_concentration(Random &rng, const Tally &tally, const Prior &prior, int64_t q) {
    int64_t now = tally.whole->concentration;
    double level = log_counts_given(tally, prior, q, now) - rng.exponential();
    int64_t low = 0, high = prior.shares.size;
    while (true) {
        int64_t k = low + (int64_t)(rng.uniform() * (double)(high - low));
        if (k == now || log_counts_given(tally, prior, q, k) >= level) {
            tally.whole->concentration = k;
            return;
        }
        if (k < now)
            low = k + 1;
        else
            high = k;
    }
}

} // namespace
} // namespace tvselect
