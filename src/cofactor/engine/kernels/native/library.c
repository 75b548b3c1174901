/* What Python asks before it calls a kernel: which variant suits the machine, and whether the
   library has the structs that it expects. */
#include <stddef.h>
#include "cofactor.h"

#define KIND(type, field) _Generic(((type *)0)->field, int64_t: 'i', double: 'd', default: ' ')
#define STRUCT(type) {#type, 's', 0, sizeof(type)}
#define FIELD(type, field) \
    {#type "." #field, KIND(type, field), offsetof(type, field), sizeof(((type *)0)->field)}

static const layout LAYOUT[] = {
    STRUCT(numbers), FIELD(numbers, data), FIELD(numbers, narrow),
    STRUCT(places), FIELD(places, indices), FIELD(places, start), FIELD(places, first),
        FIELD(places, origin),
    STRUCT(entries), FIELD(entries, at), FIELD(entries, log), FIELD(entries, square),
        FIELD(entries, inverse), FIELD(entries, concave),
    STRUCT(slopes), FIELD(slopes, at), FIELD(slopes, values), FIELD(slopes, F),
        FIELD(slopes, weight),
    STRUCT(by_row), FIELD(by_row, data), FIELD(by_row, count),
    STRUCT(marks), FIELD(marks, data), FIELD(marks, count),
    STRUCT(forms), FIELD(forms, down), FIELD(forms, up), FIELD(forms, scales),
        FIELD(forms, barrier), FIELD(forms, fixed), FIELD(forms, ups), FIELD(forms, grams),
        FIELD(forms, n_forms), FIELD(forms, r),
    STRUCT(slices), FIELD(slices, bounds), FIELD(slices, count),
    STRUCT(factor), FIELD(factor, rows), FIELD(factor, wide),
    STRUCT(descending), FIELD(descending, rounds), FIELD(descending, sweeps),
        FIELD(descending, all_topics), FIELD(descending, tolerance),
    STRUCT(multiplying), FIELD(multiplying, rounds), FIELD(multiplying, has_barrier),
        FIELD(multiplying, tolerance), FIELD(multiplying, epsilon), FIELD(multiplying, ridge),
    STRUCT(noting), FIELD(noting, costs), FIELD(noting, weights), FIELD(noting, split),
    STRUCT(surrogate), FIELD(surrogate, c), FIELD(surrogate, push), FIELD(surrogate, e),
        FIELD(surrogate, u),
    {0},
};

const layout *cofactor_layout(void) { return LAYOUT; }

double cofactor_epsilon(void) { return EPSILON; }

/* The compilers' own __builtin_cpu_supports needs a runtime library that zig does not link into
   shared libraries. */
#if defined(__x86_64__)
static uint32_t cpuid(uint32_t leaf, uint32_t *b, uint32_t *c) {
    uint32_t a = leaf, d;
    *c = 0;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(*b), "+c"(*c), "=d"(d));
    return a;
}

/* Which registers the system saves when it changes threads. */
static uint32_t saved_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Whether all of these bits are set. */
static int has(uint32_t found, uint32_t needed) { return (found & needed) == needed; }

int64_t cofactor_level(void) {
    const uint32_t one = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 29; /* FMA, MOVBE, XSAVE, F16C */
    const uint32_t seven = 1u << 3 | 1u << 5 | 1u << 8;             /* BMI1, AVX2, BMI2 */
    const uint32_t lzcnt = 1u << 5;
    const uint32_t wide = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; /* AVX-512 */
    uint32_t b, c, most = cpuid(0, &b, &c);
    cpuid(1, &b, &c);
    if (most < 7 || !has(c, one) || !has(saved_registers(), 0x06)) return 2;
    cpuid(0x80000001u, &b, &c);
    if (!has(c, lzcnt)) return 2;
    cpuid(7, &b, &c);
    if (!has(b, seven)) return 2;
    return has(b, wide) && has(saved_registers(), 0xE6) ? 4 : 3;
}
#else
int64_t cofactor_level(void) { return 0; }
#endif
