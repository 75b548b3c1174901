/* What Python asks before it calls a kernel: which variant suits the machine, and whether the
   library has the structs that it expects. */
#include "cofactor.h"

int64_t cofactor_size(int64_t which) {
    const int64_t sizes[] = {
        sizeof(numbers), sizeof(places),     sizeof(entries),     sizeof(slopes),
        sizeof(by_row),  sizeof(marks),      sizeof(forms),      sizeof(slices),      sizeof(factor),
        sizeof(descending), sizeof(multiplying), sizeof(noting), sizeof(surrogate),
    };
    const int64_t count = sizeof(sizes) / sizeof(*sizes);
    return which >= 0 && which < count ? sizes[which] : 0;
}

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
