// Sets of rows as bits: 64 rows to a word, and codes of columns in 1, 2 or 8 bits. A column takes
// as many words for 64 rows as its codes have bits. Of eight, the bytes of eight words are the
// codes. Of two (codes 0, 1, 2 and missing, as genotypes have), the first word says which rows have
// at least 1 and the second which have 2; a missing one is in the second alone. Of one, the word
// says which rows have 1.
//
// Order of the bits: row 64 w + 8 b + i is bit 8 i + b of word w, and byte 8 i + b of a column of
// eight bits. Rows past the end of the table are never in any set.
#pragma once
#include "tvselect.h"
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// Vectors of eight numbers. GCC and clang lower them to whatever the target has, so that every
// instruction set computes the same, in the same order; the rest is written for each of them.
constexpr int64_t LANES = 8;
typedef double Reals __attribute__((vector_size(64)));
typedef uint64_t Words __attribute__((vector_size(64)));
typedef int32_t Counts __attribute__((vector_size(32)));
typedef double FourReals __attribute__((vector_size(32)));
typedef float Floats __attribute__((vector_size(32)));

template <class Vector, class T> inline Vector load(const T *from) {
    Vector values;
    memcpy(&values, from, sizeof(Vector));
    return values;
}
template <class Vector, class T> inline void store(T *to, Vector values) {
    memcpy(to, &values, sizeof(Vector));
}

inline FourReals lower(Reals values) { return __builtin_shufflevector(values, values, 0, 1, 2, 3); }
inline FourReals upper(Reals values) { return __builtin_shufflevector(values, values, 4, 5, 6, 7); }

// The values in lanes where the bits have one of the others, 0 elsewhere.
inline Reals where(Words bits, Words others, Reals values) {
#if defined(__AVX512F__)
    __mmask8 has_one = _mm512_test_epi64_mask((__m512i)bits, (__m512i)others);
    return (Reals)_mm512_maskz_mov_pd(has_one, (__m512d)values);
#else
    return (Reals)((Words)values & ((bits & others) != 0));
#endif
}

inline Reals as_reals(Counts counts) { return __builtin_convertvector(counts, Reals); }

// Number of ones of every word.
inline Words n_ones(Words words) {
#if defined(__AVX512VPOPCNTDQ__)
    return (Words)_mm512_popcnt_epi64((__m512i)words);
#elif defined(__AVX2__)
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1,
                                           2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15);
    __m256i halves[2];
    memcpy(halves, &words, 64);
    for (__m256i &half : halves) {
        __m256i ones = _mm256_shuffle_epi8(table, _mm256_and_si256(half, low));
        __m256i upper = _mm256_and_si256(_mm256_srli_epi16(half, 4), low);
        ones = _mm256_add_epi8(ones, _mm256_shuffle_epi8(table, upper));
        half = _mm256_sad_epu8(ones, _mm256_setzero_si256());
    }
    memcpy(&words, halves, 64);
    return words;
#else
    for (int64_t k = 0; k < LANES; ++k) words[k] = (uint64_t)__builtin_popcountll(words[k]);
    return words;
#endif
}

inline bool all_zero(Words words) {
    uint64_t any = 0;
    for (int64_t k = 0; k < LANES; ++k) any |= words[k];
    return any == 0;
}

#if defined(__AVX2__)
typedef uint8_t Bytes __attribute__((vector_size(32)));
inline uint64_t signs(Bytes bytes) { return (uint32_t)_mm256_movemask_epi8((__m256i)bytes); }
#elif defined(__x86_64__)
typedef uint8_t Bytes __attribute__((vector_size(16)));
inline uint64_t signs(Bytes bytes) { return (uint32_t)_mm_movemask_epi8((__m128i)bytes); }
#endif

// Which of 64 bytes, after `more` is added to each of them, are at most `bound`: a bit for each.
inline uint64_t bytes_at_most(const uint64_t *words, uint8_t more, uint8_t bound) {
    const uint8_t *bytes = (const uint8_t *)words;
#if defined(__AVX512BW__)
    __m512i values = _mm512_add_epi8(_mm512_loadu_si512(bytes), _mm512_set1_epi8((char)more));
    return _mm512_cmple_epu8_mask(values, _mm512_set1_epi8((char)bound));
#elif defined(__x86_64__)
    uint64_t found = 0;
    for (uint64_t k = 0; k < 64; k += sizeof(Bytes))
        found |= signs((Bytes)(load<Bytes>(bytes + k) + more <= bound)) << k;
    return found;
#elif defined(__aarch64__)
    const uint8x16_t places = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t at_most[4];
    for (int64_t k = 0; k < 4; ++k) {
        uint8x16_t values = vaddq_u8(vld1q_u8(bytes + 16 * k), vdupq_n_u8(more));
        at_most[k] = vandq_u8(vcleq_u8(values, vdupq_n_u8(bound)), places);
    }
    uint8x16_t pairs =
        vpaddq_u8(vpaddq_u8(at_most[0], at_most[1]), vpaddq_u8(at_most[2], at_most[3]));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)), 0);
#else
    uint64_t found = 0;
    for (int k = 0; k < 64; ++k) {
        uint8_t value = (uint8_t)((uint8_t)(words[k / 8] >> (8 * (k % 8))) + more);
        found |= (uint64_t)(value <= bound) << k;
    }
    return found;
#endif
}

constexpr int64_t WIDE = 8; // bits of a code that may be any
constexpr int64_t MISSING = 255;

// Place of a row in the order of the bits.
inline int64_t bit_place(int64_t row) {
    return (row & ~(int64_t)63) + 8 * (row & 7) + ((row >> 3) & 7);
}

// The next multiple of eight: loops to there need no code for a rest.
inline int64_t whole_eights(int64_t size) { return (size + 7) & ~(int64_t)7; }

// Which of 64 rows a split sends left, by codes of one or two bits.
inline uint64_t few_bits_at_most(const uint64_t *codes, int64_t width, int64_t cut, bool missing) {
    uint64_t at_least_1 = codes[0], at_least_2 = codes[width - 1]; // of one bit: the same
    if (cut == 0) return ~(missing ? at_least_1 : at_least_1 | at_least_2);
    return ~(missing ? at_least_1 & at_least_2 : at_least_2);
}

// Rows of a leaf that a split sends left, and how many: those of a code up to `cut`, and missing
// ones (255) if `missing_left` is true. Both are (code + m) mod 256 <= cut + m.
inline int64_t rows_at_most(const uint64_t *codes, int64_t width, Matrix<uint64_t> masks,
                            int64_t leaf, int64_t cut, bool missing_left, Array<uint64_t> out) {
    uint8_t more = missing_left, bound = (uint8_t)(cut + more);
    int64_t n_left = 0;
    for (int64_t w = 0; w < masks.n_rows; ++w, codes += width) {
        uint64_t left = width == WIDE ? bytes_at_most(codes, more, bound)
                                      : few_bits_at_most(codes, width, cut, missing_left);
        out[w] = masks(w, leaf) & left;
        n_left += __builtin_popcountll(out[w]);
    }
    return n_left;
}

inline double total(Floats sums) {
    return (((double)sums[0] + sums[4]) + ((double)sums[1] + sums[5])) +
           (((double)sums[2] + sums[6]) + ((double)sums[3] + sums[7]));
}
inline double total(FourReals sums) { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }

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
        if (n_sets - k >= 4) sums += lower(weighted);
        if (n_sets - k >= 8) sums += upper(weighted);
    }
    for (int64_t k = n_sets - n_sets % 4; k < n_sets; ++k) sums[0] += (double)out[k] * weights[k];
    return total(sums);
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
        sums = sums + lower(low) + upper(low) + lower(high) + upper(high);
    }
    return total(sums);
}
