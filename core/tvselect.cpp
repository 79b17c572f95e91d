// The library: functions of tvselect.h are in the rooms they are about; what it says of itself,
// here.
#include "plays.h"
#include "regression.h"
#include "screen.h"
#include "tables.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

// What the operating system keeps of the registers (XCR0), and what the processor can do with them.
int64_t tvs_level(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (!(c & bit_SSE4_2) || !(c & bit_POPCNT) || !(c & bit_SSSE3)) return 0;
    unsigned v3 = bit_AVX | bit_FMA | bit_F16C | bit_MOVBE | bit_OSXSAVE;
    if ((c & v3) != v3 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 2;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6 || !(b & bit_AVX2) || !(b & bit_BMI) || !(b & bit_BMI2)) return 2;
    unsigned avx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
    bool has_v4 = (b & avx512) == avx512 && (c & bit_AVX512VPOPCNTDQ) && (low & 0xe6) == 0xe6;
    return has_v4 ? 4 : 3;
#else
    return 0;
#endif
}

int64_t tvs_version(void) { return TVS_VERSION; }
int64_t tvs_source(void) { return TVS_SOURCE; }

// Of the structs that hold all others.
int64_t tvs_size_of(const char *name) {
#define SIZE(known)                                                                                \
    if (strcmp(name, #known) == 0) return sizeof(tvs_##known);
    SIZE(reward)
    SIZE(room)
    SIZE(arms)
    SIZE(log)
    SIZE(forest)
    SIZE(regression)
    SIZE(regression_state)
    return 0;
}
