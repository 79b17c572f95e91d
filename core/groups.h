// Groups of rows with a random intercept: y = forest + b[group] + noise, b ~ N(0, rho sigma^2).
//
// The intercepts are integrated out wherever trees, noise and rho are drawn: given them, a column
// that differs between groups alone could hardly be split on. The covariance of rows is then
// sigma^2 (I + rho J) within a group, and sums of products over the rows become
//
//     <u, v> = sum_i u_i v_i - sum_g w_g u_g v_g,    w_g = rho / (1 + rho n_g),
//
// with u_g the sum over a group of n_g rows: for a leaf how many of them it has, for the residuals
// `rest`. Leaves of one tree do not share rows but groups, so that a split integrates out the means
// of its own two leaves given all others. Without groups all this is zero.
#pragma once
#include "bits.h"
#include "random.h"

using Groups = tvs_groups;

inline double weighted(const Groups &groups, Array<const double> u, Array<const double> v) {
    FourReals sums = {};
    for (int64_t g = 0; g < u.size; g += 4)
        sums +=
            load<FourReals>(&groups.weights[g]) * load<FourReals>(&u[g]) * load<FourReals>(&v[g]);
    return total(sums);
}

// Rows and residual sum of a leaf, and its mean, which is not part of the residuals.
struct LeafData {
    double n, sum, mean;

    void subtract(double of_rows, double of_rest) {
        n = n > of_rows ? n - of_rows : 0.0;
        sum -= of_rest;
    }
    void integrate_out(const Groups &groups, Array<const double> rows) {
        double of_rows = weighted(groups, rows, rows);
        subtract(of_rows, weighted(groups, rows, groups.rest) + mean * of_rows);
    }
};

// Two leaves of a tree, and their product, which they have by groups alone.
struct PairData {
    LeafData left, right;
    double both = 0.0;

    void integrate_out(const Groups &groups, Array<const double> rows_left,
                       Array<const double> rows_right) {
        if (groups.rest.size == 0) return;
        FourReals sums[5] = {};
        for (int64_t g = 0; g < groups.rest.size; g += 4) {
            FourReals u = load<FourReals>(&rows_left[g]), v = load<FourReals>(&rows_right[g]);
            FourReals w = load<FourReals>(&groups.weights[g]), wu = w * u, wv = w * v;
            FourReals rest = load<FourReals>(&groups.rest[g]);
            sums[0] += wu * u;
            sums[1] += wu * v;
            sums[2] += wv * v;
            sums[3] += wu * rest;
            sums[4] += wv * rest;
        }
        double uu = total(sums[0]), vv = total(sums[2]), uv = total(sums[1]);
        left.subtract(uu, total(sums[3]) + (left.mean * uu + right.mean * uv));
        right.subtract(vv, total(sums[4]) + (left.mean * uv + right.mean * vv));
        both = -uv;
    }
};

// Counts the rows of a proposed left child by group; the right child has the rest of the leaf's.
inline void count_by_group(const Groups &groups, Array<const uint64_t> rows_left, int64_t leaf) {
    if (groups.sizes.size == 0) return;
    Array<double> left = groups.of_split[0], right = groups.of_split[1], both = groups.rows[leaf];
    left.fill(0.0);
    for (const tvs_part &part : groups.parts.first(groups.whole->n_parts))
        left[part.group] += (double)__builtin_popcountll(rows_left[part.word] & part.rows);
    for (int64_t g = 0; g < left.size; ++g) right[g] = both[g] - left[g];
}

// Calls take(place, group) for every row.
template <class Function> inline void for_rows_of_groups(const Groups &groups, Function take) {
    for (const tvs_part &part : groups.parts.first(groups.whole->n_parts))
        for (uint64_t rows = part.rows; rows != 0; rows &= rows - 1)
            take(64 * part.word + __builtin_ctzll(rows), part.group);
}

inline void set_ratio(const Groups &groups, Array<const double> ratios, int64_t place) {
    groups.whole->ratio = place;
    for (int64_t g = 0; g < groups.sizes.size; ++g)
        groups.weights[g] = ratios[place] / (1.0 + ratios[place] * groups.sizes[g]);
}

// Draws rho from its grid given the residuals, which are normal with the covariance above; where
// the likelihood is switched off there are none.
inline void draw_ratio(Random &rng, Array<const double> ratios, const Groups &groups,
                       double precision) {
    auto log_density = [&](int64_t place) {
        double ratio = ratios[place], product = 1.0, log_det = 0.0;
        FourReals squares = {};
        for (int64_t g = 0; g < groups.sizes.size && precision > 0.0; g += 4) {
            FourReals rest = load<FourReals>(&groups.rest[g]);
            FourReals v = 1.0 + ratio * load<FourReals>(&groups.sizes[g]);
            squares += rest * rest / v;
            product *= (v[0] * v[1]) * (v[2] * v[3]);
            if (product < 1e200) continue;
            log_det += log(product);
            product = 1.0;
        }
        return 0.5 * (precision * ratio * total(squares) - log_det - log(product));
    };
    set_ratio(groups, ratios, draw_place(rng, groups.whole->ratio, ratios.size, log_density));
}

// Adds intercepts drawn from their normal law given the residuals to the values of the rows.
inline void add_intercepts(Random &rng, const Groups &groups, double precision,
                           Array<double> values) {
    Array<double> intercepts = groups.of_split[0];
    for (int64_t g = 0; g < groups.sizes.size; ++g) {
        double weight = groups.weights[g];
        intercepts[g] = weight * groups.rest[g] + sqrt(weight / precision) * rng.normal();
    }
    for_rows_of_groups(groups, [&](int64_t i, int64_t group) { values[i] += intercepts[group]; });
}
