/* Vectors of doubles, in the notation that GCC and Clang share.

   A line is eight doubles: PARTS vectors of LANES.  Sums run over the eight places of a line and
   are folded in one order, so that machines with narrow and with wide vectors get the same bits. */
#pragma once
#include <stdint.h>

#if defined(__AVX__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
enum { LINE = 8, PARTS = LINE / LANES, HALF = PARTS / 2 };

/* Rows may begin anywhere, so vectors are aligned like doubles. */
typedef double vec __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int64_t ivec __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef uint64_t bits __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

#if defined(__clang__)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (ivec){__VA_ARGS__})
#endif

INLINE vec load(const double *a) { return *(const vec *)a; }

INLINE void store(double *a, vec x) { *(vec *)a = x; }

INLINE vec splat(double x) { return x - (vec){0}; }

INLINE bits splat_bits(uint64_t x) { return x - (bits){0}; }

INLINE double larger(double a, double b) { return a > b ? a : b; }

INLINE vec choose(ivec mask, vec yes, vec no) {
    return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

INLINE vec absolute(vec x) { return (vec)((bits)x & splat_bits(INT64_MAX)); }

INLINE vec larger_of(vec a, vec b) {
    UNROLL for (int j = 0; j < LANES; j++) a[j] = larger(a[j], b[j]);
    return a;
}

INLINE int any(ivec x) {
    int64_t all = 0;
    UNROLL for (int j = 0; j < LANES; j++) all |= x[j];
    return all != 0;
}

/* The sum over a line: places four apart first, then neighbours, then their sums. */
INLINE double sum_line(const vec part[PARTS]) {
#if defined(__AVX__)
    vec x = part[0] + part[1];
    return (x[0] + x[1]) + (x[2] + x[3]);
#else
    vec x = part[0] + part[2], y = part[1] + part[3];
    return (x[0] + x[1]) + (y[0] + y[1]);
#endif
}

/* The sums over LANES lines, in the same order. */
INLINE vec sum_lines(vec line[LANES][PARTS]) {
#if defined(__AVX__)
    vec a = line[0][0] + line[0][1], b = line[1][0] + line[1][1];
    vec c = line[2][0] + line[2][1], d = line[3][0] + line[3][1];
    vec ab = SHUFFLE(a, b, 0, 4, 2, 6) + SHUFFLE(a, b, 1, 5, 3, 7);
    vec cd = SHUFFLE(c, d, 0, 4, 2, 6) + SHUFFLE(c, d, 1, 5, 3, 7);
    return SHUFFLE(ab, cd, 0, 1, 4, 5) + SHUFFLE(ab, cd, 2, 3, 6, 7);
#else
    vec a = line[0][0] + line[0][2], b = line[1][0] + line[1][2];
    vec c = line[0][1] + line[0][3], d = line[1][1] + line[1][3];
    vec low = SHUFFLE(a, b, 0, 2) + SHUFFLE(a, b, 1, 3);
    return low + (SHUFFLE(c, d, 0, 2) + SHUFFLE(c, d, 1, 3));
#endif
}

/* Rows become columns, in place. */
INLINE void transpose(vec row[LANES]) {
#if defined(__AVX__)
    vec a = SHUFFLE(row[0], row[1], 0, 4, 2, 6), b = SHUFFLE(row[0], row[1], 1, 5, 3, 7);
    vec c = SHUFFLE(row[2], row[3], 0, 4, 2, 6), d = SHUFFLE(row[2], row[3], 1, 5, 3, 7);
    row[0] = SHUFFLE(a, c, 0, 1, 4, 5), row[1] = SHUFFLE(b, d, 0, 1, 4, 5);
    row[2] = SHUFFLE(a, c, 2, 3, 6, 7), row[3] = SHUFFLE(b, d, 2, 3, 6, 7);
#else
    vec a = SHUFFLE(row[0], row[1], 0, 2);
    row[1] = SHUFFLE(row[0], row[1], 1, 3), row[0] = a;
#endif
}

/* log p for positive normal p, to full precision.

   log p = power log 2 + 2 atanh(s), s = (m - 1)/(m + 1), with the mantissa m in [1/sqrt 2, sqrt 2];
   the polynomial in s^2 has the least error there (below 2^-58); the C library uses the same. */
INLINE vec logarithm(vec p) {
    const bits root_half = splat_bits(0x3FE6A09E667F3BCDu), bias = splat_bits(1024);
    bits biased = ((bits)p - root_half + (bias << 52)) >> 52; /* the power of two, plus 1024 */
    vec m = (vec)((bits)p - ((biased - bias) << 52));
    vec power = (vec)(biased | (bits)splat(0x1p52)) - splat(0x1p52 + 1024.0);
    vec s = (m - 1.0) / (m + 1.0), q = s * s;
    vec series = q * 0.14798198605116586 + 0.15313837699209373;
    series = q * series + 0.1818357216161805;
    series = q * series + 0.22222198432149784;
    series = q * series + 0.2857142874366239;
    series = q * series + 0.3999999999940942;
    series = q * series + 0.6666666666666735;
    series = q * series + 2.0;
    vec rest = s * series, nothing = p - p; /* nan for nan and infinity */
    return power * 0.6931471805599453 + rest + nothing;
}
