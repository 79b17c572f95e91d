// Which columns are split on: uniform, or DART's Dirichlet prior with s integrated out.
//
// With s ~ Dirichlet(theta/q, ..., theta/q), the column of a split given all other splits of the
// forest is a Polya urn: column j has probability (theta/q + n_j) / (theta + N). theta needs only
// the counts:
//
//     p(counts | theta) = Gamma(theta) / Gamma(theta + N)
//                         prod_j Gamma(theta/q + n_j) / Gamma(theta/q)
//
// and the product is prod_m (theta/q + m)^ladder[m], where ladder[m] columns have more than m
// splits. Nothing here costs more when there are more columns.
#pragma once
#include "structure.h"

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

// Enters a new split on a column in the counts (1), or takes one out of them (-1).
inline void count_split(const Tally &tally, int64_t column, int64_t more, int64_t iteration,
                        int64_t burn) {
    close_span(tally, column, iteration, burn);
    int64_t &count = tally.columns[column].count;
    tally.ladder[more > 0 ? count : count - 1] += more;
    count += more;
    tally.whole->n_splits += more;
    tally.whole->accepted += 1;
}

// Log probability of the counts when theta is at grid point k.
inline double log_counts_given(const Tally &tally, const Prior &prior, int64_t q, int64_t k) {
    double theta = (double)q * prior.shares[k], n_splits = (double)tally.whole->n_splits;
    double value = theta > 1e8 ? -n_splits * (log(theta) + 0.5 * (n_splits - 1.0) / theta)
                               : lgamma(theta) - lgamma(theta + n_splits);
    for (int64_t m = 0; tally.ladder[m] > 0; ++m) {
        bool is_known = m < prior.log_shares.n_columns;
        double log_share = is_known ? prior.log_shares(k, m) : log(prior.shares[k] + (double)m);
        value += (double)tally.ladder[m] * log_share;
    }
    return value;
}

inline void draw_concentration(Random &rng, const Tally &tally, const Prior &prior, int64_t q) {
    auto log_density = [&](int64_t k) { return log_counts_given(tally, prior, q, k); };
    tally.whole->concentration =
        draw_place(rng, tally.whole->concentration, prior.shares.size, log_density);
}
