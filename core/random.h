// Random numbers: what NumPy draws from SFC64, bit for bit.
#pragma once
#include "tvselect.h"
#include <math.h>

#include "ziggurat.inc"

constexpr double NORMAL_TAIL = 3.6541528853610087963519472518;
constexpr double NORMAL_TAIL_INVERSE = 0.27366123732975827203338247596;
constexpr double EXPONENTIAL_TAIL = 7.6971174701310497140446280481;

// Doty-Humphrey's small fast generator, or another one behind NumPy's interface.
struct Random {
    uint64_t a, b, c, count;
    uint64_t left_over; // low half: whether half a word is left over, high half: which
    const tvs_generator *other;

    // Starts from three words of a seed sequence, as SFC64(sequence) does.
    static Random seeded(const uint64_t *seeds) {
        Random rng{seeds[0], seeds[1], seeds[2], 1, 0, nullptr};
        for (int k = 0; k < 12; ++k) rng.word();
        return rng;
    }
    static Random stored(const uint64_t *words) {
        return {words[0], words[1], words[2], words[3], words[4], nullptr};
    }
    static Random of(const tvs_generator *other) { return {0, 0, 0, 0, 0, other}; }
    void store(uint64_t *words) const {
        words[0] = a, words[1] = b, words[2] = c, words[3] = count, words[4] = left_over;
    }
    uint64_t word() {
        if (other) return other->next_uint64(other->state);
        uint64_t value = a + b + count++;
        a = b ^ (b >> 11);
        b = c + (c << 3);
        c = ((c << 24) | (c >> 40)) + value;
        return value;
    }
    // 32 bits: a word is used low half first.
    uint64_t half() {
        if (other) return other->next_uint32(other->state);
        if (left_over & UINT32_MAX) {
            left_over &= ~(uint64_t)UINT32_MAX;
            return left_over >> 32;
        }
        uint64_t value = word();
        left_over = (value & ~(uint64_t)UINT32_MAX) | 1;
        return value & UINT32_MAX;
    }
    double uniform() {
        if (other) return other->next_double(other->state);
        return (double)(word() >> 11) * 0x1p-53;
    }
    float uniform_float() { return (float)(half() >> 8) * 0x1p-24F; }
    double normal() {
        while (true) {
            uint64_t bits = word();
            int layer = (int)(bits & 0xff);
            bool is_negative = (bits >> 8) & 1;
            uint64_t place = (bits >> 9) & 0x000fffffffffffff;
            double x = (double)place * NORMAL_WIDTHS[layer];
            if (is_negative) x = -x;
            if (place < NORMAL_LIMITS[layer]) return x;
            if (layer == 0) return normal_tail((place >> 8) & 1);
            double height = NORMAL_HEIGHTS[layer - 1] - NORMAL_HEIGHTS[layer];
            if (height * uniform() + NORMAL_HEIGHTS[layer] < exp(-0.5 * x * x)) return x;
        }
    }
    double normal_tail(bool is_negative) {
        while (true) {
            double x = -NORMAL_TAIL_INVERSE * log1p(-uniform());
            double y = -log1p(-uniform());
            if (y + y > x * x) return is_negative ? -(NORMAL_TAIL + x) : NORMAL_TAIL + x;
        }
    }
    double exponential() {
        while (true) {
            uint64_t bits = word() >> 3;
            int layer = (int)(bits & 0xff);
            bits >>= 8;
            double x = (double)bits * EXPONENTIAL_WIDTHS[layer];
            if (bits < EXPONENTIAL_LIMITS[layer]) return x;
            if (layer == 0) return EXPONENTIAL_TAIL - log1p(-uniform());
            double height = EXPONENTIAL_HEIGHTS[layer - 1] - EXPONENTIAL_HEIGHTS[layer];
            if (height * uniform() + EXPONENTIAL_HEIGHTS[layer] < exp(-x)) return x;
        }
    }
    // Marsaglia and Tsang (2000).
    double gamma(double shape) {
        if (shape == 1.0) return exponential();
        if (shape < 1.0) return small_gamma(shape);
        double b = shape - 1. / 3., c = 1. / sqrt(9 * b);
        while (true) {
            double x = normal(), v = 1.0 + c * x;
            if (v <= 0.0) continue;
            v = v * v * v;
            double u = uniform();
            if (u < 1.0 - 0.0331 * (x * x) * (x * x)) return b * v;
            if (log(u) < 0.5 * x * x + b * (1. - v + log(v))) return b * v;
        }
    }
    double small_gamma(double shape) {
        while (true) {
            double u = uniform(), v = exponential();
            double y = u <= 1.0 - shape ? 0.0 : -log((1 - u) / shape);
            double x = pow(u <= 1.0 - shape ? u : 1.0 - shape + shape * y, 1. / shape);
            if (x <= v + y) return x;
        }
    }
    double chi_square(double df) { return 2.0 * gamma(df / 2.0); }

    // Generator.integers(n) for n < 2^32, without bias (Lemire 2019).
    int64_t below(int64_t n) {
        if (n == 1) return 0;
        uint64_t bound = (uint64_t)n, product = half() * bound;
        if ((product & UINT32_MAX) < bound) {
            uint64_t least = ((1ULL << 32) - bound) % bound;
            while ((product & UINT32_MAX) < least) product = half() * bound;
        }
        return (int64_t)(product >> 32);
    }

    // Generator.permuted: places are drawn by rejection.
    void shuffle(Array<int64_t> values) {
        uint64_t mask = 1;
        while ((int64_t)mask < values.size - 1) mask = (mask << 1) | 1;
        for (int64_t i = values.size - 1; i > 0; --i) {
            if ((int64_t)(mask >> 1) >= i) mask >>= 1;
            int64_t j = i + 1;
            while (j > i) j = (int64_t)(half() & mask);
            swap(values[i], values[j]);
        }
    }
};

// Slice sampling of a place on a grid, shrinking from the whole grid.
template <class Function>
inline int64_t draw_place(Random &rng, int64_t now, int64_t size, Function log_density) {
    double level = log_density(now) - rng.exponential();
    int64_t low = 0, high = size;
    while (true) {
        int64_t k = low + (int64_t)(rng.uniform() * (double)(high - low));
        if (k == now || log_density(k) >= level) return k;
        if (k < now) low = k + 1;
        else high = k;
    }
}
