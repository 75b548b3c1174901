/* Multiplicative updates of rows: new entry = old entry times t.

   In t the surrogate of a row is q t^2/2 + slope t - c log t + e/t for each topic; it lies above the
   objective and touches it at t = 1.  q = bent + push, slope = up + u - down.  All are divided
   by v. */
#include "rows.h"

typedef struct { /* what an update knows of the row at hand */
    row row;
    int64_t r;
    const forms *form;
    const multiplying *how;
    const uint8_t *fixed;     /* topics that keep their entries; null: none */
    double *c, *push, *e, *u; /* the entries' parts of the surrogate */
    double *bent, *up, *down, *gram, *t, *other;
    int bends;       /* whether there is a quadratic form */
    int curved;      /* whether any part is neither a logarithm nor a slope */
    int logarithmic; /* whether any part is neither a square nor a slope */
} update;

static void take_update(update *on, scratch *scratch, int64_t longest) {
    int64_t wide = on->row.wide;
    take_row(&on->row, scratch, longest);
    on->c = take(scratch, wide), on->push = take(scratch, wide), on->e = take(scratch, wide);
    on->u = take(scratch, wide), on->bent = take(scratch, wide), on->up = take(scratch, wide);
    on->down = take(scratch, wide), on->t = take(scratch, wide), on->other = take(scratch, wide);
    on->gram = take(scratch, wide * on->r);
}

/* Note which parts occur, and take scratch memory for rows of up to `longest` entries. */
static int start_update(update *on, scratch *scratch, int64_t longest, int logs, int squares,
                        int inverses) {
    on->bends = on->form && has_gram(on->form);
    on->curved = on->bends || squares || inverses;
    on->logarithmic = on->how->has_barrier || logs || inverses;
    take_update(on, scratch, longest);
    if (!allocate(scratch)) return 0;
    take_update(on, scratch, longest);
    return 1;
}

/* ---- the coefficients of a row's surrogate */

/* Write what row i's entries add: c = sum log/p F[index], and so on. */
static void find_parts(update *on, const entries *given, int64_t i, double epsilon) {
    row *row = &on->row;
    int64_t s = given->at.start[i - given->at.origin];
    if (given->log.data)
        fit_and_pull(row, epsilon, on->c);
    else
        fit(row, epsilon);
    if (given->square.data) {
        for (int64_t m = 0; m < row->count; m++) row->q[m] = row->b[m] * (row->p[m] - epsilon);
        pull(row, row->q, 1.0, on->push);
    }
    if (given->inverse.data) {
        read_numbers(given->inverse, s, row->count, row->q);
        for (int64_t m = 0; m < row->count; m++) row->q[m] /= row->p[m] * row->p[m];
        pull(row, row->q, 1.0, on->e);
        read_numbers(given->concave, s, row->count, row->q);
        for (int64_t m = 0; m < row->count; m++) row->q[m] /= row->p[m];
        pull(row, row->q, 1.0, on->u);
    }
}

/* Write a row's downward slopes, the sum of two terms'. */
static void find_down(update *on, const slopes *two, int64_t i) {
    if (!two[0].values.data) return;
    pull_cells(&on->row, two, i, on->down);
    if (!two[1].values.data) return;
    pull_cells(&on->row, two + 1, i, on->other);
    for (int64_t k = 0; k < on->row.wide; k += LANES)
        store(on->down + k, load(on->down + k) + load(on->other + k));
}

/* Read the upward slopes and the quadratic form, unless the row before had the same. */
static void find_forms(update *on, int64_t i, int first) {
    const forms *form = on->form;
    on->fixed = fixed_topics(form, i);
    if (first || form->scales.count > 1 || form->up.count > 1) read_up(form, i, on->up);
    if (on->bends && (first || form->scales.count > 1))
        read_gram(form, i, on->row.wide, on->gram);
}

/* ---- the minimum of the surrogate */

/* The positive root of q t^2 + slope t - c = 0 (q, c >= 0), without cancellation. */
INLINE double positive_root(double q, double slope, double c) {
    double root = sqrt(slope * slope + 4.0 * q * c);
    if (slope >= 0.0) return slope + root > 0.0 ? 2.0 * c / (slope + root) : 0.0;
    return q > 0.0 ? (root - slope) / (2.0 * q) : 1.0;
}

/* A power of two that is at least the cube root of a positive number. */
INLINE double above_cube_root(double x) {
    int power = 0; /* stays 0 where x is not finite */
    frexp(x, &power);
    return ldexp(1.0, power > 0 ? (power + 2) / 3 : power / 3);
}

/* The positive root of q t^3 + slope t^2 - c t - e = 0 (q, e > 0, c >= 0).  The cubic is convex and
   increasing to the right of its largest root: Newton from above never overshoots. */
static double cubic_root(double q, double slope, double c, double e) {
    double t = larger(larger(1.0, -slope / q), sqrt(c / q)) + above_cube_root(e / q);
    while (((q * t + slope) * t - c) * t - e < 0.0) t *= 2.0;
    for (int step = 0; step < 200; step++) {
        double f = ((q * t + slope) * t - c) * t - e, d = (3.0 * q * t + 2.0 * slope) * t - c;
        double new = d > 0.0 ? t - f / d : t;
        if (!(new < t)) break;
        t = new;
    }
    return t;
}

INLINE double surrogate_root(double q, double slope, double c, double e) {
    if (q <= 0.0 && slope <= 0.0) return 1.0;
    if (e <= 0.0) return positive_root(q, slope, c);
    if (q <= 0.0) return (c + sqrt(c * c + 4.0 * slope * e)) / (2.0 * slope);
    return cubic_root(q, slope, c, e);
}

/* Write the ratio of each topic; a single kind of loss has a closed form. */
static void find_ratios(const update *on) {
    const double *up = on->up, *down = on->down, *c = on->c, *e = on->e, *u = on->u;
    const double *bent = on->bent, *push = on->push, ridge = on->how->ridge;
    const vec zero = {0}, one = splat(1.0);
    double *t = on->t;
    int64_t wide = on->row.wide;
    if (ridge > 0.0) /* the paper's, literally */
        for (int64_t k = 0; k < wide; k += LANES) {
            vec divisor = load(bent + k) + load(push + k) + load(up + k) + load(u + k) + ridge;
            store(t + k, (load(down + k) + load(c + k) + load(e + k)) / divisor);
        }
    else if (!on->curved)
        for (int64_t k = 0; k < wide; k += LANES) {
            vec slope = load(up + k) + load(u + k) - load(down + k);
            store(t + k, choose(slope > zero, load(c + k) / slope, one));
        }
    else if (!on->logarithmic)
        for (int64_t k = 0; k < wide; k += LANES) {
            vec slope = load(up + k) - load(down + k), q = load(bent + k) + load(push + k);
            vec ratio = larger_of(-slope, zero) / choose(q > zero, q, one);
            store(t + k, choose((q > zero) | (slope > zero), ratio, one));
        }
    else
        for (int64_t k = 0; k < on->r; k++)
            t[k] = surrogate_root(bent[k] + push[k], up[k] + u[k] - down[k], c[k], e[k]);
}

/* Multiply a row by its ratios; return whether it moved by at most the tolerance. */
static int apply_ratios(const update *on, const double *v, double *new) {
    const double *t = on->t;
    int64_t wide = on->row.wide;
    if (on->how->tolerance == 0.0) {
        for (int64_t k = 0; k < wide; k += LANES) store(new + k, load(v + k) * load(t + k));
        return 0;
    }
    double moved = 0.0, total = 0.0;
    for (int64_t k = 0; k < wide; k++) {
        double product = v[k] * t[k];
        moved += fabs(product - v[k]), total += product;
        new[k] = product;
    }
    return moved <= on->how->tolerance * total;
}

/* Update a row whose entries' parts are known; return whether it moved by at most the tolerance. */
INLINE int update_row(update *on, const double *barrier, const double *v, double *new) {
    if (barrier)
        for (int64_t k = 0; k < on->r; k++)
            if (barrier[k] > 0.0) on->c[k] += barrier[k] / v[k];
    if (on->bends) bend(on->gram, v, on->r, on->row.wide, on->bent);
    find_ratios(on);
    if (on->fixed)
        for (int64_t k = 0; k < on->r; k++)
            if (on->fixed[k]) on->t[k] = 1.0;
    int rests = apply_ratios(on, v, new);
    if (barrier) lift(new, barrier, on->r);
    return rests;
}

/* Return the barrier of row i, if any row has one, and a row that is positive where it has one. */
INLINE const double *lifted(update *on, int64_t i, const double **v, double *new) {
    if (!on->how->has_barrier) return NULL;
    const double *barrier = of_row(on->form->barrier, i, on->r);
    memcpy(new, *v, (size_t)on->row.wide * sizeof(double));
    lift(new, barrier, on->r);
    *v = new;
    return barrier;
}

/* ---- kernels */

/* Update row i in up to `rounds` rounds; return whether it reached the tolerance. */
static int multiply_row(update *on, int64_t i, const entries *given, const double *v,
                        double *new) {
    const double *barrier = lifted(on, i, &v, new);
    int listed = given->log.data || given->square.data || given->inverse.data, rests = 0;
    if (listed) read_row(&on->row, given, i, 0);
    for (int64_t round = 0; round < on->how->rounds && !rests; round++) {
        if (barrier) fill(on->c, 0, on->row.wide, 0.0);
        on->row.v = v;
        if (listed) find_parts(on, given, i, on->how->epsilon);
        rests = update_row(on, barrier, v, new);
        v = new;
    }
    return rests;
}

/* Update each row of V in up to `rounds` rounds, to `better`.

   ridge = 0: t minimises the surrogate, which never raises the objective.  ridge > 0: the paper's
   ratio t = (down + c)/(q + up + ridge), literally, with e beside c for the divergence that the
   paper does not have.  The downward slopes are those of `two` terms; form->down is not used.  A
   row is finished at the update that moves it by at most `tolerance` of its sum. */
int64_t cofactor_multiply(const double *V, double *better, const slices *which,
                          const entries *given, const factor *F, const forms *form,
                          const slopes *two, const multiplying *how) {
    int64_t low = which->bounds[0], high = which->bounds[which->count], unfinished = high - low;
    update on = {.row = {.F = F->rows, .wide = F->wide}, .r = form->r, .form = form, .how = how};
    scratch scratch = {0};
    int64_t longest = longest_row(&given->at, low, high);
    for (int t = 0; t < 2; t++)
        if (two[t].values.data && longest_row(&two[t].at, low, high) > longest)
            longest = longest_row(&two[t].at, low, high);
    if (!start_update(&on, &scratch, longest, given->log.data != NULL, given->square.data != NULL,
                      given->inverse.data != NULL))
        return NO_MEMORY;
    for (int64_t i = low; i < high; i++) {
        find_forms(&on, i, i == low);
        find_down(&on, two, i);
        unfinished -= multiply_row(&on, i, given, V + i * F->wide, better + i * F->wide);
    }
    free(scratch.allocated);
    return unfinished;
}

/* Write the coefficients of each row's surrogate to `out`, and its costs to those of its slice. */
int64_t cofactor_surrogate(const double *V, const slices *which, const entries *given,
                           const factor *F, int64_t r, double epsilon, const surrogate *out,
                           double *costs) {
    const multiplying how = {.epsilon = epsilon};
    update on = {.row = {.F = F->rows, .wide = F->wide}, .r = r, .how = &how};
    scratch scratch = {0};
    int64_t longest = longest_row(&given->at, which->bounds[0], which->bounds[which->count]);
    if (!start_update(&on, &scratch, longest, 1, 1, 1)) return NO_MEMORY;
    double *to[] = {out->c, out->push, out->e, out->u}, *from[] = {on.c, on.push, on.e, on.u};
    for (int64_t t = 0; t < which->count; t++) {
        if (costs) costs[t] = 0.0;
        for (int64_t i = which->bounds[t]; i < which->bounds[t + 1]; i++) {
            on.row.v = V + i * F->wide;
            read_row(&on.row, given, i, costs != NULL);
            find_parts(&on, given, i, epsilon);
            for (int s = 0; s < 4; s++)
                if (to[s]) memcpy(to[s] + i * r, from[s], (size_t)r * sizeof(double));
            if (!costs) continue;
            for (int64_t m = 0; m < on.row.stride; m++) on.row.p[m] += EPSILON - epsilon;
            costs[t] += cost_of_row(&on.row, given, i);
        }
    }
    free(scratch.allocated);
    return 0;
}

/* Update each row of V once from known coefficients of the surrogate; form->down is used. */
int64_t cofactor_multiply_known(const double *V, double *better, int64_t wide,
                                const slices *which, const surrogate *known, const forms *form,
                                const multiplying *how) {
    int64_t low = which->bounds[0], high = which->bounds[which->count], r = form->r;
    update on = {.row = {.wide = wide}, .r = r, .form = form, .how = how};
    scratch scratch = {0};
    if (!start_update(&on, &scratch, 0, known->c != NULL, known->push != NULL, known->e != NULL))
        return NO_MEMORY;
    const double *from[] = {known->c, known->push, known->e, known->u};
    double *to[] = {on.c, on.push, on.e, on.u};
    for (int64_t i = low; i < high; i++) {
        const double *v = V + i * wide;
        const double *barrier = lifted(&on, i, &v, better + i * wide);
        find_forms(&on, i, i == low);
        if (barrier) fill(on.c, 0, wide, 0.0);
        for (int s = 0; s < 4; s++)
            if (from[s]) memcpy(to[s], from[s] + i * r, (size_t)r * sizeof(double));
        if (form->down.count)
            memcpy(on.down, of_row(form->down, i, r), (size_t)r * sizeof(double));
        update_row(&on, barrier, v, better + i * wide);
    }
    free(scratch.allocated);
    return 0;
}
