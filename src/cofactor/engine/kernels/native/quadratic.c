/* Coordinate descent on quadratic rows, in transposed batches. */
#include "rows.h"

enum { BATCH = 64 }; /* rows of a batch */

typedef struct { /* arrays of a batch: topic by topic, or one number for each row */
    int64_t r, n_forms;
    int shared; /* whether all rows have the same form */
    double *Vt, *Ct, *inverse; /* entries; minus the linear coefficients; inverse curvatures */
    double *moves;             /* 1, or 0 for entries that are fixed */
    double *scale;             /* of each form */
    double *gram;              /* the form of all rows, if they share one */
    double *g;                 /* minus the gradient of one topic */
    double *part, *live, *off, *top, *linear;
} batch;

static void read_batch(batch *on, const double *V, int64_t wide, const forms *form, int64_t low,
                       int64_t count) {
    for (int64_t j = 0; j < count; j++) {
        const double *scale = of_row(form->scales, low + j, on->n_forms);
        const uint8_t *fixed = fixed_topics(form, low + j);
        read_linear(form, low + j, on->linear);
        for (int64_t t = 0; t < on->n_forms; t++) on->scale[t * BATCH + j] = scale[t];
        for (int64_t k = 0; k < on->r; k++) {
            on->Ct[k * BATCH + j] = -on->linear[k];
            on->moves[k * BATCH + j] = fixed && fixed[k] ? 0.0 : 1.0;
            on->Vt[k * BATCH + j] = V[(low + j) * wide + k];
        }
    }
}

static void write_batch(const batch *on, double *V, int64_t wide, int64_t low, int64_t count) {
    for (int64_t j = 0; j < count; j++)
        for (int64_t k = 0; k < on->r; k++) V[(low + j) * wide + k] = on->Vt[k * BATCH + j];
}

static void invert_diagonal(batch *on, const forms *form) {
    for (int64_t k = 0; k < on->r; k++)
        for (int64_t j = 0; j < BATCH; j++) {
            double total = 0.0;
            for (int64_t t = 0; t < on->n_forms; t++)
                total += on->scale[t * BATCH + j] * form->grams[(t * on->r + k) * on->r + k];
            on->inverse[k * BATCH + j] = total > 0.0 ? 1.0 / total : 0.0;
        }
}

/* out = from - a row of a quadratic form times Vt, eight vectors at a time */
INLINE void subtract_product(const double *from, const double *gram, int64_t r, const double *Vt,
                             double *out) {
    for (int64_t j = 0; j < BATCH; j += 8 * LANES) {
        vec total[8];
        UNROLL for (int t = 0; t < 8; t++) total[t] = load(from + j + t * LANES);
        for (int64_t m = 0; m < r; m++)
            UNROLL for (int t = 0; t < 8; t++)
                total[t] -= gram[m] * load(Vt + m * BATCH + j + t * LANES);
        UNROLL for (int t = 0; t < 8; t++) store(out + j + t * LANES, total[t]);
    }
}

/* Write minus the gradient of topic k for each row of the batch. */
static void find_slopes(batch *on, const forms *form, int64_t k) {
    int64_t r = on->r;
    const double *c = on->Ct + k * BATCH;
    if (on->shared) {
        subtract_product(c, on->gram + k * r, r, on->Vt, on->g);
        return;
    }
    for (int64_t j = 0; j < BATCH; j++) on->g[j] = c[j];
    for (int64_t t = 0; t < on->n_forms; t++) {
        fill(on->part, 0, BATCH, 0.0);
        subtract_product(on->part, form->grams + (t * r + k) * r, r, on->Vt, on->part);
        for (int64_t j = 0; j < BATCH; j++) on->g[j] += on->scale[t * BATCH + j] * on->part[j];
    }
}

/* Move topic k of every live row to its minimum, unless it is fixed; raise `off` above 0 where it
   was not there.

   It was there if the slope g is at most `tolerance` of its parts, c and c - g.  A small v counts
   in proportion to the largest entry of the row, as in the descent on rows with entries. */
static void step_along(batch *on, int64_t k, double tolerance) {
    double *v = on->Vt + k * BATCH, *off = on->off;
    const double *c = on->Ct + k * BATCH, *inverse = on->inverse + k * BATCH;
    const double *slope = on->g, *live = on->live, *top = on->top, *moves = on->moves + k * BATCH;
    const vec zero = {0};
    for (int64_t j = 0; j < BATCH; j += LANES) {
        vec old = load(v + j), g = load(slope + j), curved = load(inverse + j);
        vec size = tolerance * (absolute(load(c + j)) + absolute(load(c + j) - g));
        vec away = larger_of(g - size, -g * old - size * load(top + j));
        store(off + j, larger_of(load(off + j), away * load(moves + j)));
        /* no curvature: only the slope counts, and a rising one sends v to zero */
        vec d = choose((curved == zero) & (g < zero), -old, g * curved);
        store(v + j, old + larger_of(d, -old) * (load(live + j) * load(moves + j)));
    }
}

/* Write the largest entry of each row. */
static void find_largest(batch *on) {
    fill(on->top, 0, BATCH, 0.0);
    for (int64_t k = 0; k < on->r; k++)
        for (int64_t j = 0; j < BATCH; j++)
            on->top[j] = larger(on->top[j], on->Vt[k * BATCH + j]);
}

/* Freeze the rows at their minimum; return the number of the others. */
static int64_t freeze(batch *on) {
    int64_t left = 0;
    for (int64_t j = 0; j < BATCH; j++) {
        if (!(on->off[j] > 0.0)) on->live[j] = 0.0;
        left += on->live[j] > 0.0;
    }
    return left;
}

/* Descend on a batch that has been read; return how many of its rows are not frozen. */
static int64_t descend_batch(batch *on, int64_t count, const forms *form, const descending *how) {
    int64_t left = count;
    for (int64_t j = 0; j < BATCH; j++) on->live[j] = j < count ? 1.0 : 0.0;
    for (int64_t sweep = 0; sweep < how->sweeps && left > 0; sweep++) {
        fill(on->off, 0, BATCH, 0.0);
        find_largest(on);
        for (int64_t k = 0; k < on->r; k++) {
            find_slopes(on, form, k);
            step_along(on, k, how->tolerance);
        }
        left = freeze(on);
    }
    return left;
}

static void take_batch(batch *on, scratch *scratch) {
    int64_t r = on->r;
    on->Vt = take(scratch, r * BATCH), on->Ct = take(scratch, r * BATCH);
    on->moves = take(scratch, r * BATCH);
    on->inverse = take(scratch, r * BATCH), on->scale = take(scratch, on->n_forms * BATCH);
    on->g = take(scratch, BATCH), on->part = take(scratch, BATCH);
    on->live = take(scratch, BATCH), on->off = take(scratch, BATCH);
    on->top = take(scratch, BATCH);
    on->linear = take(scratch, r), on->gram = take(scratch, r * r);
}

int64_t cofactor_descend_quadratic(double *V, int64_t wide, const slices *which, const forms *form,
                                   const descending *how) {
    int64_t first = which->bounds[0], end = which->bounds[which->count], unfinished = 0;
    batch on = {.r = form->r, .n_forms = form->n_forms, .shared = form->scales.count <= 1};
    scratch scratch = {0};
    take_batch(&on, &scratch);
    if (!allocate(&scratch)) return NO_MEMORY;
    take_batch(&on, &scratch);
    if (end > first) read_gram(form, first, on.r, on.gram);
    for (int64_t low = first; low < end; low += BATCH) {
        int64_t count = end - low < BATCH ? end - low : BATCH;
        read_batch(&on, V, wide, form, low, count);
        if (low == first || !on.shared) invert_diagonal(&on, form);
        unfinished += descend_batch(&on, count, form, how);
        write_batch(&on, V, wide, low, count);
    }
    free(scratch.allocated);
    return unfinished;
}
