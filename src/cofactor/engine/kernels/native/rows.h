/* One row: its entries, the rows of F that they point to, its forms, and scratch memory. */
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cofactor.h"
#include "vector.h"

enum { NO_MEMORY = -1 };

/* ---- scratch memory

   A kernel takes its scratch memory twice: the first time only adds up the sizes. */

typedef struct {
    void *allocated;
    double *base; /* null while the size is being found */
    int64_t used;
} scratch;

INLINE int64_t whole(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

/* Return space for some doubles, which starts at a cache line. */
INLINE double *take(scratch *scratch, int64_t count) {
    double *part = scratch->base ? scratch->base + scratch->used : NULL;
    scratch->used += whole(count, LINE);
    return part;
}

/* Allocate what was taken, filled with zeros; return whether there was enough memory. */
INLINE int allocate(scratch *scratch) {
    const uintptr_t line = LINE * sizeof(double);
    scratch->allocated = calloc((size_t)(scratch->used + LINE), sizeof(double));
    if (!scratch->allocated) return 0;
    scratch->base = (double *)(((uintptr_t)scratch->allocated + line - 1) / line * line);
    scratch->used = 0;
    return 1;
}

INLINE void fill(double *a, int64_t low, int64_t high, double value) {
    for (int64_t k = low; k < high; k++) a[k] = value;
}

/* ---- the entries of a row */

typedef struct {
    int64_t count;        /* number of entries */
    int64_t stride;       /* the same in whole lines */
    const int32_t *index; /* the row of F of each entry */
    const double *v;      /* the row of V */
    const double *F;
    int64_t wide;  /* numbers in a row of V and of F */
    const double *x; /* coefficients of the logarithms */
    double *b;       /* coefficients of the squares; zeros follow them */
    int squares;   /* whether there are squares */
    double *p;     /* fitted values */
    double *q;     /* other numbers of the entries */
    double *scratch; /* for x */
} row;

INLINE int64_t longest_row(const places *at, int64_t low, int64_t high) {
    int64_t longest = 0;
    for (int64_t j = low - at->origin; j < high - at->origin; j++)
        if (at->start[j + 1] - at->start[j] > longest) longest = at->start[j + 1] - at->start[j];
    return longest;
}

INLINE void take_row(row *row, scratch *scratch, int64_t longest) {
    int64_t size = whole(longest, LINE) + LINE;
    row->scratch = take(scratch, size), row->b = take(scratch, size);
    row->p = take(scratch, size), row->q = take(scratch, size);
    row->x = row->scratch;
}

/* Read numbers, beginning at the s-th; a line of zeros follows. */
INLINE void read_numbers(numbers from, int64_t s, int64_t count, double *out) {
    if (from.narrow)
        for (int64_t e = 0; e < count; e++) out[e] = ((const float *)from.data)[s + e];
    else
        memcpy(out, (const double *)from.data + s, (size_t)count * sizeof(double));
    memset(out + count, 0, LINE * sizeof(double));
}

INLINE void find_entries(row *row, const places *at, int64_t i) {
    int64_t j = i - at->origin;
    row->count = at->start[j + 1] - at->start[j];
    row->stride = whole(row->count, LINE);
    row->index = row->count ? at->indices + at->first[j] : NULL;
}

/* Read row i.  Without a copy its x may be those of the caller, and no zeros follow them. */
INLINE void read_row(row *row, const entries *given, int64_t i, int copy) {
    int64_t s = given->at.start[i - given->at.origin];
    find_entries(row, &given->at, i);
    row->squares = given->square.data != NULL;
    if (!copy) row->stride = whole(row->count, LANES);
    if (given->log.data) {
        if (copy || given->log.narrow)
            read_numbers(given->log, s, row->count, row->scratch);
        else
            row->x = (const double *)given->log.data + s;
    }
    if (given->square.data) read_numbers(given->square, s, row->count, row->b);
}

/* ---- products with rows of F

   Hot loops keep pointers in local variables: a store through a vector might change any
   struct, as far as the compiler knows. */

/* The last numbers of a row, and zeros. */
INLINE vec load_last(const double *a, int64_t count) {
    vec some = {0};
    UNROLL for (int j = 0; j < LANES; j++)
        if (j < count) some[j] = a[j];
    return some;
}

/* The rows of F of LANES entries, beginning at the e-th.  The last entry also stands for those
   that fill up a line; their coefficients are zero. */
INLINE void rows_of(const row *row, int64_t e, int beyond, const double *f[LANES]) {
    int64_t last = row->count - 1;
    UNROLL for (int j = 0; j < LANES; j++) {
        int64_t at = beyond && e + j > last ? last : e + j;
        f[j] = row->F + (int64_t)row->index[at] * row->wide;
    }
}

/* f.v for LANES rows of F, which have `wide` numbers */
INLINE vec products(const double *const f[LANES], const double *v, int64_t wide) {
    vec line[LANES][PARTS] = {0};
    UNROLL for (int t = 0; t < PARTS; t++)
        UNROLL for (int j = 0; j < LANES; j++)
            if (t < HALF || wide >= LINE)
                line[j][t] = load(v + t * LANES) * load(f[j] + t * LANES);
    int64_t k = LINE;
    for (; k + LINE <= wide; k += LINE)
        UNROLL for (int t = 0; t < PARTS; t++)
            UNROLL for (int j = 0; j < LANES; j++)
                line[j][t] += load(v + k + t * LANES) * load(f[j] + k + t * LANES);
    if (k < wide)
        UNROLL for (int t = 0; t < HALF; t++)
            UNROLL for (int j = 0; j < LANES; j++)
                line[j][t] += load(v + k + t * LANES) * load(f[j] + k + t * LANES);
    return sum_lines(line);
}

/* p = epsilon + F[index].v */
INLINE void fit(const row *at, double epsilon) {
    const row row = *at;
    const double *f[LANES];
    int64_t e = 0;
    for (; e + LANES <= row.count; e += LANES) {
        rows_of(&row, e, 0, f);
        store(row.p + e, products(f, row.v, row.wide) + epsilon);
    }
    for (; e < row.stride; e += LANES) {
        rows_of(&row, e, 1, f);
        store(row.p + e, products(f, row.v, row.wide) + epsilon);
    }
}

/* out = weight sum of q F[index], `some` vectors of it, beginning at the k-th number. */
INLINE void pull_some(const row *row, const double *q, double weight, double *out, int64_t k,
                      int some) {
    const int32_t *index = row->index;
    const double *F = row->F + k;
    int64_t count = row->count, wide = row->wide;
    vec total[8] = {0};
    for (int64_t e = 0; e < count; e++) {
        const double *f = F + (int64_t)index[e] * wide;
        UNROLL for (int t = 0; t < some; t++) total[t] += q[e] * load(f + t * LANES);
    }
    UNROLL for (int t = 0; t < some; t++) store(out + k + t * LANES, weight * total[t]);
}

/* out = weight sum of q F[index] */
INLINE void pull(const row *row, const double *q, double weight, double *out) {
    int64_t k = 0, wide = row->wide;
    for (; k + 8 * LANES <= wide; k += 8 * LANES) pull_some(row, q, weight, out, k, 8);
    if (k + 4 * LANES <= wide) pull_some(row, q, weight, out, k, 4), k += 4 * LANES;
    if (k + 2 * LANES <= wide) pull_some(row, q, weight, out, k, 2), k += 2 * LANES;
    if (k + LANES <= wide) pull_some(row, q, weight, out, k, 1);
}

/* The same for the cells of row i, which are read where they are unless they are float32. */
INLINE void pull_cells(row *scratch, const slopes *cells, int64_t i, double *out) {
    row row = {.F = cells->F, .wide = scratch->wide};
    int64_t s = cells->at.start[i - cells->at.origin];
    const double *values = scratch->q;
    find_entries(&row, &cells->at, i);
    if (cells->values.narrow)
        read_numbers(cells->values, s, row.count, scratch->q);
    else if (row.count)
        values = (const double *)cells->values.data + s;
    pull(&row, values, cells->weight, out);
}

/* LANES entries of the next function: write their p, and add to the sums. */
INLINE void fit_and_pull_lanes(const double *const f[LANES], const vec *v, vec x, double epsilon,
                               double *p, int some, vec *total) {
    vec line[LANES][PARTS] = {0};
    UNROLL for (int j = 0; j < LANES; j++)
        UNROLL for (int t = 0; t < some; t++) {
            vec product = v[t] * load(f[j] + t * LANES);
            if (t < PARTS)
                line[j][t] = product; /* not 0 + product: that is an addition, too */
            else
                line[j][t % PARTS] += product;
        }
    vec fitted = sum_lines(line) + epsilon, q = x / fitted;
    store(p, fitted);
    UNROLL for (int j = 0; j < LANES; j++)
        UNROLL for (int t = 0; t < some; t++) total[t] += q[j] * load(f[j] + t * LANES);
}

/* The same as below for rows of F of at most 16 numbers: they are read once, and v and the sums
   stay in registers. */
INLINE void fit_and_pull_narrow(const row *at, double epsilon, double *out, int wide) {
    row row = *at;
    vec v[16 / LANES], total[16 / LANES] = {0};
    const double *f[LANES];
    int some = wide / LANES;
    int64_t e = 0;
    row.wide = wide;
    UNROLL for (int t = 0; t < some; t++) v[t] = load(row.v + t * LANES);
    for (; e + LANES <= row.count; e += LANES) {
        rows_of(&row, e, 0, f);
        fit_and_pull_lanes(f, v, load(row.x + e), epsilon, row.p + e, some, total);
    }
    for (; e < row.stride; e += LANES) {
        rows_of(&row, e, 1, f);
        fit_and_pull_lanes(f, v, load_last(row.x + e, row.count - e), epsilon, row.p + e, some,
                           total);
    }
    UNROLL for (int t = 0; t < some; t++) store(out + t * LANES, total[t]);
}

/* p = epsilon + F[index].v and out = sum of x/p F[index] */
INLINE void fit_and_pull(const row *row, double epsilon, double *out) {
    switch (row->wide) {
    case 4: fit_and_pull_narrow(row, epsilon, out, 4); return;
    case 8: fit_and_pull_narrow(row, epsilon, out, 8); return;
    case 12: fit_and_pull_narrow(row, epsilon, out, 12); return;
    case 16: fit_and_pull_narrow(row, epsilon, out, 16); return;
    }
    fit(row, epsilon);
    for (int64_t e = 0; e < row->count; e++) row->q[e] = row->x[e] / row->p[e];
    pull(row, row->q, 1.0, out);
}

/* ---- costs */

/* The sum of -x log p + 1/2 b (p - EPSILON)^2 from one entry to another */
INLINE double cost_between(const row *row, int64_t low, int64_t high) {
    vec total[PARTS] = {0};
    for (int64_t e = low; e < high; e += LINE)
        UNROLL for (int t = 0; t < PARTS; t++) {
            int64_t m = e + t * LANES;
            vec p = load(row->p + m), beyond = p - EPSILON;
            total[t] -= load(row->x + m) * logarithm(p);
            if (row->squares) total[t] += load(row->b + m) * (0.5 * beyond * beyond);
        }
    return sum_line(total);
}

/* The cost of all entries of row i, whose fitted values are known. */
INLINE double cost_of_row(row *row, const entries *given, int64_t i) {
    int64_t s = given->at.start[i - given->at.origin];
    double cost = cost_between(row, 0, row->stride);
    if (!given->inverse.data) return cost;
    vec total[PARTS] = {0};
    read_numbers(given->inverse, s, row->count, row->q);
    for (int64_t e = 0; e < row->stride; e += LANES)
        total[e / LANES % PARTS] += load(row->q + e) / load(row->p + e);
    read_numbers(given->concave, s, row->count, row->q);
    for (int64_t e = 0; e < row->stride; e += LANES)
        total[e / LANES % PARTS] += load(row->q + e) * logarithm(load(row->p + e));
    return cost + sum_line(total);
}

/* ---- the forms of a row */

INLINE const double *of_row(by_row some, int64_t i, int64_t width) {
    return some.data + (some.count > 1 ? i * width : 0);
}

/* Which topics of row i are fixed; null: none. */
INLINE const uint8_t *fixed_topics(const forms *form, int64_t i) {
    if (!form->fixed.count) return NULL;
    return form->fixed.data + (form->fixed.count > 1 ? i * form->r : 0);
}

/* The upward slopes of a row: those of its forms, and its own. */
INLINE void read_up(const forms *form, int64_t i, double *up) {
    const double *scale = of_row(form->scales, i, form->n_forms);
    int64_t r = form->r;
    fill(up, 0, r, 0.0);
    for (int64_t t = 0; t < form->n_forms; t++)
        for (int64_t k = 0; k < r; k++) up[k] += scale[t] * form->ups[t * r + k];
    if (form->up.count) {
        const double *own = of_row(form->up, i, r);
        for (int64_t k = 0; k < r; k++) up[k] += own[k];
    }
}

/* The linear coefficients of a row, up - down. */
INLINE void read_linear(const forms *form, int64_t i, double *linear) {
    read_up(form, i, linear);
    if (form->down.count) {
        const double *down = of_row(form->down, i, form->r);
        for (int64_t k = 0; k < form->r; k++) linear[k] -= down[k];
    }
}

/* The quadratic form of a row, in rows of `wide` numbers. */
INLINE void read_gram(const forms *form, int64_t i, int64_t wide, double *gram) {
    const double *scale = of_row(form->scales, i, form->n_forms);
    int64_t r = form->r;
    fill(gram, 0, r * wide, 0.0);
    for (int64_t t = 0; t < form->n_forms; t++)
        for (int64_t k = 0; k < r; k++)
            for (int64_t m = 0; m < r; m++)
                gram[k * wide + m] += scale[t] * form->grams[(t * r + k) * r + m];
}

/* Whether there is a quadratic form. */
INLINE int has_gram(const forms *form) {
    for (int64_t k = 0; k < form->n_forms * form->r * form->r; k++)
        if (form->grams[k] != 0.0) return 1;
    return 0;
}

/* out = gram v for a symmetric gram, `some` vectors of it, beginning at the m-th number. */
INLINE void bend_some(const double *gram, const double *v, int64_t r, int64_t wide, double *out,
                      int64_t m, int some) {
    vec total[8] = {0};
    for (int64_t k = 0; k < r; k++)
        UNROLL for (int t = 0; t < some; t++)
            total[t] += v[k] * load(gram + k * wide + m + t * LANES);
    UNROLL for (int t = 0; t < some; t++) store(out + m + t * LANES, total[t]);
}

INLINE void bend(const double *gram, const double *v, int64_t r, int64_t wide, double *out) {
    int64_t m = 0;
    for (; m + 4 * LANES <= wide; m += 4 * LANES) bend_some(gram, v, r, wide, out, m, 4);
    for (; m < wide; m += LANES) bend_some(gram, v, r, wide, out, m, 1);
}

/* Raise entries with a barrier to at least EPSILON. */
INLINE void lift(double *v, const double *barrier, int64_t r) {
    for (int64_t k = 0; k < r; k++)
        if (barrier[k] > 0.0) v[k] = larger(v[k], EPSILON);
}
