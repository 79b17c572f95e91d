// Screening: what columns have to do with the outcome by themselves.
#pragma once
#include "bits.h"
#include <math.h>

void tvs_correlate(Matrix<const uint8_t> codes, Array<const double> outcome,
                   Array<double> correlations, Array<int64_t> n_present) {
    for (int64_t j = 0; j < codes.n_rows; ++j) {
        int64_t n = 0, x_sum = 0, xx_sum = 0;
        double y_sum = 0.0, yy_sum = 0.0, xy_sum = 0.0;
        for (int64_t i = 0; i < outcome.size; ++i) {
            int64_t x = codes(j, i);
            if (x == MISSING) continue;
            double y = outcome[i];
            n += 1;
            x_sum += x;
            xx_sum += x * x;
            y_sum += y;
            yy_sum += y * y;
            xy_sum += (double)x * y;
        }
        n_present[j] = n;
        correlations[j] = 0.0;
        int64_t x_spread = n * xx_sum - x_sum * x_sum;
        double y_spread = (double)n * yy_sum - y_sum * y_sum;
        if (x_spread > 0 && y_spread > 1e-9)
            correlations[j] =
                ((double)n * xy_sum - (double)x_sum * y_sum) / sqrt((double)x_spread * y_spread);
    }
}

// To list the rows that are not 0 first spares the processor most of its wrong guesses.
void tvs_add_by_value(Matrix<const uint8_t> values, Matrix<const double> outcomes,
                      Matrix<int64_t> counts, Matrix<double> sums, Array<int64_t> others) {
    for (int64_t j = 0; j < values.n_rows; ++j) {
        int64_t n_others = 0;
        for (int64_t i = 0; i < values.n_columns; ++i) {
            others.data[n_others] = i;
            n_others += values(j, i) != 0;
        }
        counts(j, 0) = values.n_columns - n_others;
        for (int64_t i : others.first(n_others)) {
            int64_t value = values(j, i) < 3 ? values(j, i) : 3;
            counts(j, value) += 1;
            double *sum = sums.data + (4 * j + value) * outcomes.n_columns;
            for (int64_t k = 0; k < outcomes.n_columns; ++k) sum[k] += outcomes(i, k);
        }
    }
}

void tvs_count_genotypes(Matrix<const uint8_t> stored, Matrix<int64_t> counts) {
    constexpr int64_t VALUES[4] = {2, 3, 1, 0};
    for (int64_t j = 0; j < stored.n_rows; ++j) {
        int64_t of_byte[256] = {0};
        for (uint8_t byte : stored[j]) of_byte[byte] += 1;
        for (int64_t byte = 0; byte < 256; ++byte)
            for (int k = 0; k < 4; ++k) counts(j, VALUES[(byte >> (2 * k)) & 3]) += of_byte[byte];
    }
}

// Rows are bits; the product of three columns' signs and the row's is minus where an odd number of
// them is. Only triples that go far enough in the first two words are looked at in all of them.
void tvs_screen_triples(Matrix<const uint64_t> halves, Array<const uint64_t> signs, int64_t n_rows,
                        double least, Array<uint64_t> room, Array<int64_t> furthest,
                        Matrix<int64_t> partners) {
    typedef int64_t Integers __attribute__((vector_size(64)));
    int64_t n_ahead = signs.size < 2 ? signs.size : 2;
    int64_t rows_ahead = n_rows < 64 * n_ahead ? n_rows : 64 * n_ahead;
    int64_t bound = (int64_t)(least * sqrt((double)rows_ahead));
    auto look_at = [&](int64_t i, int64_t j, int64_t k) {
        int64_t n_odd = 0;
        for (int64_t w = 0; w < signs.size; ++w)
            n_odd += __builtin_popcountll(room[w] ^ halves(w, k));
        if (__builtin_llabs(n_rows - 2 * n_odd) <= __builtin_llabs(furthest[i])) return;
        furthest[i] = n_rows - 2 * n_odd;
        partners(i, 0) = j;
        partners(i, 1) = k;
    };
    for (int64_t i = 0; i < furthest.size; ++i)
        for (int64_t j = i + 1; j < furthest.size; ++j) {
            for (int64_t w = 0; w < signs.size; ++w)
                room[w] = signs[w] ^ halves(w, i) ^ halves(w, j);
            for (int64_t k = (j + 1) & ~(LANES - 1); k < furthest.size; k += LANES) {
                Words n_odd = {};
                for (int64_t w = 0; w < n_ahead; ++w)
                    n_odd += n_ones(room[w] ^ load<Words>(&halves(w, k)));
                Integers sums = rows_ahead - 2 * (Integers)n_odd;
                Words is_far = (Words)((sums > bound) | (sums < -bound));
                if (all_zero(is_far)) continue;
                for (int64_t lane = 0; lane < LANES; ++lane)
                    if (is_far[lane] && k + lane > j && k + lane < furthest.size)
                        look_at(i, j, k + lane);
            }
        }
}

// The LASSO by coordinate descent. A sweep looks at a parabola through the loss. For two classes it
// has the curvature at hand and, whenever moves grow, twice as much as before, up to the largest
// there is: with that every sweep goes downhill, but where a class is rare it is hundreds of times
// the one at hand. Coefficients at zero are looked at again when the others have come to rest.
// Moves are measured by what they are worth: along a flat parabola even a long one changes little.
void tvs_descend(Matrix<const double> x, Array<const double> y, Array<const double> weight,
                 int64_t is_binary, double alpha, int64_t max_iter, Array<const int64_t> places,
                 Array<double> coef, Array<double> eta, Array<double> curvature,
                 Array<double> pull) {
    constexpr double TOLERANCE = 1e-5, FLATTEST = 1e-4;
    double steepest = is_binary ? 0.25 : 1.0, care = 1.0;
    // Puts a parabola through the loss and moves the intercept; how much that is worth.
    auto meet_loss = [&] {
        double total = 0.0, gain = 0.0;
        for (int64_t i = 0; i < y.size; ++i) {
            double mean = is_binary ? 1.0 / (1.0 + exp(-eta[i])) : eta[i];
            curvature[i] = weight[i];
            if (is_binary) {
                double flat = mean * (1.0 - mean);
                double careful = care * (flat > FLATTEST ? flat : FLATTEST);
                curvature[i] *= careful < steepest ? careful : steepest;
            }
            pull[i] = weight[i] * (y[i] - mean);
            total += curvature[i];
            gain += pull[i];
        }
        double move = gain / total;
        for (int64_t i = 0; i < y.size; ++i) {
            pull[i] -= move * curvature[i];
            eta[i] += move;
        }
        return sqrt(total / steepest) * fabs(move);
    };
    // Moves a coefficient to where the parabola is lowest; how much that is worth.
    auto move_coefficient = [&](int64_t j) {
        Array<const double> column = x[j];
        double size = 0.0, gain = 0.0;
        for (int64_t i = 0; i < y.size; ++i) {
            size += curvature[i] * column[i] * column[i];
            gain += pull[i] * column[i];
        }
        if (size == 0.0) return 0.0;
        gain += coef[j] * size;
        double shrunk = fabs(gain) > alpha ? fabs(gain) - alpha : 0.0;
        double move = (gain > 0.0 ? shrunk : -shrunk) / size - coef[j];
        if (move == 0.0) return 0.0;
        coef[j] += move;
        for (int64_t i = 0; i < y.size; ++i) {
            pull[i] -= move * curvature[i] * column[i];
            eta[i] += move * column[i];
        }
        return sqrt(size / steepest) * fabs(move);
    };
    bool everything = true;
    double before = __builtin_inf();
    for (int64_t sweep = 0; sweep < max_iter; ++sweep) {
        double largest = meet_loss();
        for (int64_t j : places) {
            if (coef[j] == 0.0 && !everything) continue;
            double worth = move_coefficient(j);
            largest = worth > largest ? worth : largest;
        }
        if (largest < TOLERANCE && everything) break;
        if (largest > before) care *= 2.0;
        everything = largest < TOLERANCE;
        before = largest;
    }
}
