// Latent normals, forest + noise, of which only bounds, a grade or a class are known.
//
// Two classes, counts and censored times say between which bounds the latent lies; so do grades,
// whose bounds are drawn as well. With three or more classes every class has a forest of its own,
// and the largest latent is that of the class seen.
#pragma once
#include "leaves.h"

constexpr double INFINITE = __builtin_inf();
constexpr double ROOT_HALF = 0.707106781186547572737310929369414225220;
enum { LOWER, UPPER, LEVEL };

// Draws from N(mean, 1) given that it is positive. Plain rejection where half of the draws or so
// succeed, else Robert's (1995) exponential envelope of the tail.
inline double positive_normal(Random &rng, double mean) {
    while (mean > -0.4) {
        double value = mean + rng.normal();
        if (value > 0.0) return value;
    }
    double rate = 0.5 * (sqrt(mean * mean + 4.0) - mean);
    while (true) {
        double value = rng.exponential() / rate;
        double miss = value - mean - rate;
        if (rng.uniform() <= exp(-0.5 * miss * miss)) return value;
    }
}

// Draws from N(0, 1) given finite bounds, the upper one at least as far from 0 as the lower.
// Rejection (Robert 1995) from the normal itself, from its tail, or from a uniform law where the
// bounds are close.
inline double standard_between(Random &rng, double low, double high) {
    constexpr double ROOT_OF_TWO_PI = 2.506628274631000241612355239340104162693;
    while (low <= 0.0 && high - low > ROOT_OF_TWO_PI) {
        double value = rng.normal();
        if (low <= value && value <= high) return value;
    }
    while (low * (high - low) > 1.0) {
        double value = low + positive_normal(rng, -low);
        if (value <= high) return value;
    }
    double nearest = low > 0.0 ? low : 0.0;
    while (true) {
        double value = low + (high - low) * rng.uniform();
        if (rng.uniform() <= exp(0.5 * (nearest * nearest - value * value))) return value;
    }
}

// Draws from N(mean, sd^2) given that it lies between two bounds, infinite or not.
inline double normal_between(Random &rng, double mean, double sd, double low, double high) {
    if (high == INFINITE) {
        if (low == -INFINITE) return mean + sd * rng.normal();
        return low + sd * positive_normal(rng, (mean - low) / sd);
    }
    if (low == -INFINITE) return high - sd * positive_normal(rng, (high - mean) / sd);
    if (low + high < 2.0 * mean) { // mirrored, so that the upper bound is the farther one
        double value = standard_between(rng, (mean - high) / sd, (mean - low) / sd);
        return clamped(mean - sd * value, low, high);
    }
    double value = standard_between(rng, (low - mean) / sd, (high - mean) / sd);
    return clamped(mean + sd * value, low, high);
}

// Value of the forest at every row (and zero at the padding).
inline void forest_at_rows(const Leaves &leaves, Array<double> out) {
    out.fill(0.0);
    for (int64_t w = 0; w < leaves.masks.n_rows; ++w) {
        double *values = out.between(64 * w, 64 * w + 64).data;
        for (int64_t k = 0; k < *leaves.size; ++k) {
            uint64_t rows = leaves.masks(w, k);
            if (rows == 0) continue;
            for (int64_t b = 0; b < 64; b += LANES) {
                Reals means = where((rows >> b) - Words{}, Words{1, 2, 4, 8, 16, 32, 64, 128},
                                    leaves.means[k] + Reals{});
                store(values + b, load<Reals>(values + b) + means);
            }
        }
    }
}

// Probability of the standard normal law between two bounds.
inline double chance(double low, double high) {
    double from = low > 0.0 ? -high : low, to = low > 0.0 ? -low : high; // where erfc is exact
    double found = 0.5 * (erfc(-ROOT_HALF * to) - erfc(-ROOT_HALF * from));
    return found > 1e-300 ? found : 1e-300;
}

// Moves every cut point between grades once, and puts the bounds of the rows where they are now. A
// priori cut points are independent standard normals put in order, which makes all shares of the
// grades equally likely where the forest is zero. Each is moved by a Metropolis step given the
// forest, with the latents integrated out; these are drawn anew afterwards.
inline void draw_cut_points(Random &rng, const Prior &prior, const Response &response) {
    int64_t n_cuts = prior.cuts.size;
    auto bound = [&](int64_t k) {
        return k < 0 ? -INFINITE : k < n_cuts ? response.cuts[k] : INFINITE;
    };
    for (int64_t k = 0; k < n_cuts; ++k) {
        double old = response.cuts[k], low = bound(k - 1), high = bound(k + 1);
        double cut = old + prior.cut_steps[k] * rng.normal();
        if (!(low < cut && cut < high)) continue;
        double log_ratio = 0.5 * (old * old - cut * cut);
        for (int64_t i = 0; i < response.fit.size; ++i) {
            double level = response.observed(LEVEL, i), fit = response.fit[i];
            if (level == (double)k)
                log_ratio += log(chance(low - fit, cut - fit) / chance(low - fit, old - fit));
            else if (level == (double)(k + 1))
                log_ratio += log(chance(cut - fit, high - fit) / chance(old - fit, high - fit));
        }
        if (log(rng.uniform()) < log_ratio) response.cuts[k] = cut;
    }
    for (int64_t i = 0; i < response.fit.size; ++i) {
        int64_t level = (int64_t)response.observed(LEVEL, i);
        if (level < 0) continue;
        response.observed(LOWER, i) = bound(level - 1);
        response.observed(UPPER, i) = bound(level);
    }
}

// Draws the latents of every row of several classes, that of its class first, each given the
// others, relative to the offsets of the classes. The rows stand in the chain once for every class,
// one block after the other, and the trees of a class see its block alone, so that the rest of the
// sampler need not know. Splits are counted over all classes, which share the prior of the columns.
inline void draw_class_latents(Random &rng, const Prior &prior, const Response &response,
                               int64_t n_rows) {
    Array<const double> offsets = prior.cuts;
    int64_t n_classes = offsets.size, block = n_rows / n_classes;
    for (int64_t i = 0; i < block; ++i) {
        int64_t seen = (int64_t)response.observed(LEVEL, bit_place(i));
        double highest = -INFINITE;
        for (int64_t k = 0; k < n_classes; ++k) {
            double latent = offsets[k] + response.values[bit_place(k * block + i)];
            if (k != seen && latent > highest) highest = latent;
        }
        auto draw = [&](int64_t k, double low, double high) {
            int64_t place = bit_place(k * block + i);
            double latent = normal_between(rng, offsets[k] + response.fit[place], 1.0, low, high);
            response.values[place] = latent - offsets[k];
            return latent;
        };
        double largest = draw(seen, highest, INFINITE);
        for (int64_t k = 0; k < n_classes; ++k)
            if (k != seen) draw(k, -INFINITE, largest);
    }
}

// Draws the latent normals given what was observed and makes them the response.
inline void draw_latents(Random &rng, const Prior &prior, const Chain &chain, int64_t n_rows) {
    const Response &response = chain.response;
    forest_at_rows(chain.leaves, response.fit);
    add_intercepts(rng, chain.groups, response.real->precision, response.fit);
    if (prior.latent == TVS_GRADES) draw_cut_points(rng, prior, response);
    if (prior.latent == TVS_CLASSES) draw_class_latents(rng, prior, response, n_rows);
    double sd = 1.0 / sqrt(response.real->precision);
    for (int64_t i = 0; i < response.values.size; ++i) { // those that lie between bounds
        double low = response.observed(LOWER, i), high = response.observed(UPPER, i);
        if (low < high) response.values[i] = normal_between(rng, response.fit[i], sd, low, high);
    }
    use_response(chain);
}
