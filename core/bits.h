// Sets of rows as bits: 64 rows to a word, and codes of columns in 1, 2 or 8 bits.
//
// A column takes as many words for 64 rows as its codes have bits. Of eight, the bytes of eight
// words are the codes. Of two (codes 0, 1, 2 and missing, as genotypes have), the first word says
// which rows have at least 1 and the second which have 2; a missing one is in the second alone. Of
// one, the word says which rows have 1.
//
// Order of the bits: row 64 w + 8 b + i is bit 8 i + b of word w, and byte 8 i + b of a column of
// eight bits. Rows past the end of the table are never in any set.
#pragma once

#include "arrays.h"
#include "simd.h"

namespace tvselect {
namespace {

constexpr int64_t WIDE = 8; // bits of a code that may be any
constexpr int64_t MISSING = 255;

// Place of a row in the order of the bits.
inline int64_t bit_place(int64_t row) {
    return (row & ~(int64_t)63) + 8 * (row & 7) + ((row >> 3) & 7);
}

inline int64_t n_ones(uint64_t word) { return __builtin_popcountll(word); }

// The next multiple of eight: loops to there need no code for a rest.
inline int64_t whole_eights(int64_t size) { return (size + 7) & ~(int64_t)7; }

inline int64_t few_bits_at_most(const uint64_t *codes, int64_t width, Matrix<uint64_t> masks,
                                int64_t leaf, int64_t cut, bool missing_left, Array<uint64_t> out) {
    int64_t n_left = 0;
    for (int64_t w = 0; w < masks.n_rows; ++w) {
        uint64_t at_least_1 = codes[width * w];
        uint64_t at_least_2 = codes[width * w + width - 1]; // of one bit: the same
        uint64_t right;
        if (cut == 0)
            right = missing_left ? at_least_1 : at_least_1 | at_least_2;
        else
            right = missing_left ? at_least_1 & at_least_2 : at_least_2;
        out[w] = masks(w, leaf) & ~right;
        n_left += n_ones(out[w]);
    }
    return n_left;
}

// Rows of a leaf that a split sends left; returns how many.
//
// A row goes left when its code is at most `cut`, or is 255 (missing) and `missing_left` is true:
// both are (code + m) mod 256 <= cut + m.
inline int64_t rows_at_most(const uint64_t *codes, int64_t width, Matrix<uint64_t> masks,
                            int64_t leaf, int64_t cut, bool missing_left, Array<uint64_t> out) {
    if (width < WIDE) return few_bits_at_most(codes, width, masks, leaf, cut, missing_left, out);
    uint8_t more = missing_left;
    uint8_t bound = (uint8_t)(cut + more);
    int64_t n_left = 0;
    for (int64_t w = 0; w < masks.n_rows; ++w) {
        out[w] = masks(w, leaf) & bytes_at_most(codes + WIDE * w, more, bound);
        n_left += n_ones(out[w]);
    }
    return n_left;
}

// How many of `rows` lie in each of the first n_sets sets, and the sum of these counts times
// weights; there is room for a multiple of eight.
inline double overlaps(Matrix<uint64_t> masks, int64_t n_sets, Array<uint64_t> rows,
                       Array<const double> weights, Array<int32_t> out) {
    TVS_CHECK(whole_eights(n_sets) <= masks.n_columns && whole_eights(n_sets) <= out.size);
    FourReals sums = {};
    for (int64_t k = 0; k < n_sets; k += LANES) {
        Words words = {};
        for (int64_t w = 0; w < rows.size; ++w)
            words += n_ones(load<Words>(&masks(w, k)) & rows[w]);
        Counts counts = __builtin_convertvector(words, Counts);
        store(&out[k], counts);
        Reals weighted = as_reals(counts) * load<Reals>(&weights[k]);
        int64_t n_left = n_sets - k;
        if (n_left >= 4) sums += lower(weighted);
        if (n_left >= 8) sums += upper(weighted);
    }
    for (int64_t k = n_sets - n_sets % 4; k < n_sets; ++k) sums[0] += (double)out[k] * weights[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The values in the order in which sum_over reads them: of each 64 first those whose place has the
// rest 0 when divided by four, then 1, 2 and 3.
inline void spread(Array<const double> values, Array<double> out) {
    for (int64_t i = 0; i < values.size; ++i)
        out[(i & ~(int64_t)63) + 16 * (i & 3) + ((i & 63) >> 2)] = values[i];
}

// Sum of spread values over a set of rows: first of four neighbours each, then of every fourth of
// these, then of what is left.
inline double sum_over(Array<const double> values, Array<uint64_t> rows) {
    constexpr Words FIRST = {1, 1 << 4, 1 << 8, 1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 28};
    FourReals sums = {};
    for (int64_t w = 0; w < rows.size; ++w) {
        if (rows[w] == 0) continue;
        const double *of_word = &values[64 * w];
        Reals low = {}, high = {};
        for (int64_t b = 0; b < 4; ++b) {
            low += where(rows[w] - Words{}, FIRST << b, load<Reals>(of_word + 16 * b));
            high += where(rows[w] - Words{}, FIRST << (32 + b), load<Reals>(of_word + 16 * b + 8));
        }
        sums += lower(low);
        sums += upper(low);
        sums += lower(high);
        sums += upper(high);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

} // namespace
} // namespace tvselect
