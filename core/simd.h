// Eight numbers at a time. GCC and clang lower these vectors to whatever the target has, so that
// every instruction set computes the same, in the same order; only what they cannot express is
// written for each of them.
#pragma once

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace tvselect {
namespace {

constexpr int64_t LANES = 8;
typedef double Reals __attribute__((vector_size(64)));
typedef uint64_t Words __attribute__((vector_size(64)));
typedef int64_t Wholes __attribute__((vector_size(64)));
typedef int32_t Counts __attribute__((vector_size(32)));
typedef double FourReals __attribute__((vector_size(32)));

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

// Which of 64 bytes, after `more` is added to each of them, are at most `bound`: a bit for each.
inline uint64_t bytes_at_most(const uint64_t *bytes, uint8_t more, uint8_t bound) {
#if defined(__AVX512BW__)
    __m512i values = _mm512_add_epi8(_mm512_loadu_si512(bytes), _mm512_set1_epi8((char)more));
    return _mm512_cmple_epu8_mask(values, _mm512_set1_epi8((char)bound));
#elif defined(__AVX2__)
    uint64_t found = 0;
    for (int64_t k = 0; k < 2; ++k) {
        __m256i values = _mm256_loadu_si256((const __m256i *)(bytes + 4 * k));
        values = _mm256_add_epi8(values, _mm256_set1_epi8((char)more));
        __m256i smaller = _mm256_min_epu8(values, _mm256_set1_epi8((char)bound));
        uint32_t bits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(smaller, values));
        found |= (uint64_t)bits << (32 * k);
    }
    return found;
#elif defined(__x86_64__)
    uint64_t found = 0;
    for (int64_t k = 0; k < 4; ++k) {
        __m128i values = _mm_loadu_si128((const __m128i *)(bytes + 2 * k));
        values = _mm_add_epi8(values, _mm_set1_epi8((char)more));
        __m128i smaller = _mm_min_epu8(values, _mm_set1_epi8((char)bound));
        uint32_t bits = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(smaller, values));
        found |= (uint64_t)bits << (16 * k);
    }
    return found;
#elif defined(__aarch64__)
    const uint8x16_t places = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t at_most[4];
    for (int64_t k = 0; k < 4; ++k) {
        uint8x16_t values = vaddq_u8(vld1q_u8((const uint8_t *)bytes + 16 * k), vdupq_n_u8(more));
        at_most[k] = vandq_u8(vcleq_u8(values, vdupq_n_u8(bound)), places);
    }
    uint8x16_t pairs =
        vpaddq_u8(vpaddq_u8(at_most[0], at_most[1]), vpaddq_u8(at_most[2], at_most[3]));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)), 0);
#else
    uint64_t found = 0;
    for (int k = 0; k < 64; ++k) {
        uint8_t value = (uint8_t)((uint8_t)(bytes[k / 8] >> (8 * (k % 8))) + more);
        found |= (uint64_t)(value <= bound) << k;
    }
    return found;
#endif
}

} // namespace
} // namespace tvselect
