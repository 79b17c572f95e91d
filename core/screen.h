// Screening: what columns have to do with the outcome by themselves.
#pragma once

#include "bits.h"
#include <math.h>

namespace tvselect {
namespace {

constexpr double SMALL_SPREAD = 1e-9;

// Correlation of every column's codes with the outcome over the rows where it is present.
inline void correlate(Matrix<const uint8_t> codes, Array<const double> outcome,
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
        if (x_spread > 0 && y_spread > SMALL_SPREAD)
            correlations[j] =
                ((double)n * xy_sum - (double)x_sum * y_sum) / sqrt((double)x_spread * y_spread);
    }
}

// Counts the values 0, 1, 2 and missing (3) of columns, and adds up outcomes by the last three. To
// list the rows that are not 0 first spares the processor most of its wrong guesses.
inline void add_by_value(Matrix<const uint8_t> values, Matrix<const double> outcomes,
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
            Array<double> sum = sums[4 * j + value];
            for (int64_t k = 0; k < sum.size; ++k) sum[k] += outcomes(i, k);
        }
    }
}

// Counts what the pairs of bits of each column of a .bed file stand for: copies of the first
// allele, 3 for missing.
inline void count_genotypes(Matrix<const uint8_t> stored, Matrix<int64_t> counts) {
    constexpr int64_t VALUES[4] = {2, 3, 1, 0};
    for (int64_t j = 0; j < stored.n_rows; ++j) {
        int64_t of_byte[256] = {0};
        for (uint8_t byte : stored[j]) of_byte[byte] += 1;
        for (int64_t byte = 0; byte < 256; ++byte)
            for (int k = 0; k < 4; ++k) counts(j, VALUES[(byte >> (2 * k)) & 3]) += of_byte[byte];
    }
}

} // namespace
} // namespace tvselect
