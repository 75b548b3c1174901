/* Sums over rows: costs of entries, matrix products and Gram matrices. */
#include "rows.h"

/* out[t] = the weighted cost of the entries of slice t */
int64_t cofactor_costs(const double *V, const slices *which, const entries *given, const factor *F,
                       const double *weights, double *out) {
    row row = {.F = F->rows, .wide = F->wide};
    scratch scratch = {0};
    int64_t longest = longest_row(&given->at, which->bounds[0], which->bounds[which->count]);
    take_row(&row, &scratch, longest);
    if (!allocate(&scratch)) return NO_MEMORY;
    take_row(&row, &scratch, longest);
    for (int64_t t = 0; t < which->count; t++) {
        out[t] = 0.0;
        for (int64_t i = which->bounds[t]; i < which->bounds[t + 1]; i++) {
            row.v = V + i * F->wide;
            read_row(&row, given, i, 1);
            fit(&row, EPSILON);
            out[t] += (weights ? weights[i] : 1.0) * cost_of_row(&row, given, i);
        }
    }
    free(scratch.allocated);
    return 0;
}

/* out[i] = sum_e values[e] F[index_e] for the rows from low to high */
int64_t cofactor_cross(const slopes *cells, int64_t wide, int64_t low, int64_t high, int64_t r,
                       double *out) {
    row row = {.wide = wide};
    scratch scratch = {0};
    int64_t longest = whole(longest_row(&cells->at, low, high), LINE) + LINE;
    double *whole_row = take(&scratch, wide);
    row.q = take(&scratch, longest);
    if (!allocate(&scratch)) return NO_MEMORY;
    whole_row = take(&scratch, wide), row.q = take(&scratch, longest);
    for (int64_t i = low; i < high; i++) {
        pull_cells(&row, cells, i, whole_row);
        memcpy(out + i * r, whole_row, (size_t)r * sizeof(double));
    }
    free(scratch.allocated);
    return 0;
}

/* out[k + t, c ...] = sum_i weight_i F[i, k + t] F[i, c ...] for t = 0..3, `some` vectors of it:
   enough sums that none waits for its own last addition. */
INLINE void gram_some(const factor *F, const double *weights, int64_t low, int64_t high, int64_t k,
                      int64_t c, int some, double *out) {
    vec total[4][3] = {0};
    for (int64_t i = low; i < high; i++) {
        const double *f = F->rows + i * F->wide;
        UNROLL for (int t = 0; t < 4; t++) {
            double left = weights ? weights[i] * f[k + t] : f[k + t];
            UNROLL for (int s = 0; s < some; s++) total[t][s] += left * load(f + c + s * LANES);
        }
    }
    UNROLL for (int t = 0; t < 4; t++)
        UNROLL for (int s = 0; s < some; s++)
            store(out + (k + t) * F->wide + c + s * LANES, total[t][s]);
}

/* The upper triangle of F' diag(weights) F, including the diagonal. */
INLINE void gram_rows(const factor *F, const double *weights, int64_t low, int64_t high,
                      double *out) {
    for (int64_t k = 0; k < F->wide; k += 4) {
        int64_t c = k;
        for (; c + 3 * LANES <= F->wide; c += 3 * LANES)
            gram_some(F, weights, low, high, k, c, 3, out);
        if (c + 2 * LANES == F->wide) gram_some(F, weights, low, high, k, c, 2, out);
        if (c + LANES == F->wide) gram_some(F, weights, low, high, k, c, 1, out);
    }
}

/* out[t] = F' diag(weights) F over slice t */
int64_t cofactor_gram(const factor *F, const slices *which, const double *weights, int64_t r,
                      double *out) {
    scratch scratch = {0};
    take(&scratch, F->wide * F->wide);
    if (!allocate(&scratch)) return NO_MEMORY;
    double *all = take(&scratch, F->wide * F->wide);
    for (int64_t t = 0; t < which->count; t++, out += r * r) {
        int64_t low = which->bounds[t], high = which->bounds[t + 1];
        if (weights)
            gram_rows(F, weights, low, high, all);
        else
            gram_rows(F, NULL, low, high, all); /* a separate loop without the test */
        for (int64_t k = 0; k < r; k++)
            for (int64_t m = k; m < r; m++)
                out[k * r + m] = out[m * r + k] = all[k * F->wide + m];
    }
    free(scratch.allocated);
    return 0;
}

/* out[t] = weights.F over slice t */
int64_t cofactor_sums(const factor *F, const slices *which, const double *weights, int64_t r,
                      double *out) {
    for (int64_t t = 0; t < which->count; t++, out += r) {
        fill(out, 0, r, 0.0);
        for (int64_t i = which->bounds[t]; i < which->bounds[t + 1]; i++) {
            const double weight = weights ? weights[i] : 1.0, *f = F->rows + i * F->wide;
            for (int64_t k = 0; k < r; k++) out[k] += weight * f[k];
        }
    }
    return 0;
}

/* out[t] = sum of weights F other over slice t; rows of `other` have r numbers */
int64_t cofactor_inner(const factor *F, const slices *which, const double *other,
                       const double *weights, int64_t r, double *out) {
    for (int64_t t = 0; t < which->count; t++) {
        out[t] = 0.0;
        for (int64_t i = which->bounds[t]; i < which->bounds[t + 1]; i++) {
            double product = 0.0;
            for (int64_t k = 0; k < r; k++) product += F->rows[i * F->wide + k] * other[i * r + k];
            out[t] += weights ? weights[i] * product : product;
        }
    }
    return 0;
}
