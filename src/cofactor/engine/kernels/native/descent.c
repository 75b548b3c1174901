/* Safe coordinate descent on rows with entries. */
#include "rows.h"

static const double CANCELLED = 1e-3; /* a fitted value below this share of itself is renewed */
static const double REMNANT = 1e-12;  /* entries with less than this share in their row are zero */
static const double FLAT = 1e-10; /* gradients below this share of their parts are zero to rounding */
static const double TINY = 1e-100;

enum {
    TOGETHER = 4,  /* topics whose columns are gathered together */
    ROOM = 1 << 22 /* maximum number of gathered doubles: long rows are swept in groups */
};

typedef struct { /* what a descent knows of the row at hand, beside its entries */
    row row;
    double *v;
    int64_t r;
    int bends; /* whether there is a quadratic form */
    const double *barrier;
    const uint8_t *fixed; /* null: no topic is */
    double *linear, *gram;
    double *bent;        /* gram v, kept up to date */
    double *pull, *push; /* parts of the gradient; then pull is the gradient */
    double *share;       /* of each topic in the row: its entry times the size of its slopes */
    int64_t *active;     /* the topics to sweep */
    int64_t *place;      /* number of each active topic's gathered column */
    int64_t *group;      /* the first of the topics that are gathered together */
    double *columns;
} descent;

/* ---- one coordinate */

/* Return the monotone step d for one coordinate.

   push - pull is the gradient g, where pull = sum log f/p and h = sum log f^2/p^2 describe the
   logarithms; c is the quadratic curvature.  With a model of the logarithms around v' = v + d that
   never overshoots (u = pull/h uphill, u = v downhill), d is the root next to zero of
   (c/u) d^2 + b d + g = 0, written so that nothing cancels when p is tiny or u is huge. */
INLINE double safe_step(double v, double push, double pull, double h, double c) {
    double g = push - pull, inverse, b;
    if (c == 0.0) { /* the same without a root */
        if (g > 0.0) return v < TINY ? -v : -g * v / (h * v + g);
        return push * h > 0.0 ? -g * pull / (push * h) : 0.0;
    }
    if (g <= 0.0) {
        inverse = pull > 0.0 ? h / pull : 0.0;
        b = c + push * inverse;
    } else if (v < TINY) {
        return -v;
    } else {
        inverse = 1.0 / v;
        b = c + h + g * inverse;
    }
    double a = c * inverse, root = sqrt(larger(b * b - 4.0 * a * g, 0.0));
    if (b < 0.0) return a > 0.0 ? (root - b) / (2.0 * a) : 0.0;
    return b + root > 0.0 ? -2.0 * g / (b + root) : 0.0;
}

typedef struct { /* of the logarithms along one topic: sum x f/p and sum x f^2/p^2 */
    double pull, h;
} look;

/* Change the fitted values by step times a topic's column, and look along the next topic's. */
INLINE look move(const row *row, const double *column, double step, const double *next,
                 int *lost) {
    vec pull[PARTS] = {0}, h[PARTS] = {0};
    ivec fell = {0};
    const double *x = row->x;
    double *p = row->p;
    int64_t stride = row->stride;
    for (int64_t e = 0; e < stride; e += LINE)
        UNROLL for (int t = 0; t < PARTS; t++) {
            int64_t m = e + t * LANES;
            vec old = load(p + m);
            vec new = larger_of(old + step * load(column + m), splat(EPSILON));
            fell |= new < CANCELLED * old;
            store(p + m, new);
            vec ratio = load(next + m) / new, part = load(x + m) * ratio;
            pull[t] += part;
            h[t] += part * ratio;
        }
    *lost = any(fell);
    return (look){sum_line(pull), sum_line(h)};
}

/* Add sum b f p to push and sum b f^2 to c. */
INLINE void add_squares(const row *row, const double *f, double *push, double *c) {
    vec slope[PARTS] = {0}, curvature[PARTS] = {0};
    for (int64_t e = 0; e < row->stride; e += LINE)
        UNROLL for (int t = 0; t < PARTS; t++) {
            int64_t m = e + t * LANES;
            vec part = load(row->b + m) * load(f + m);
            slope[t] += part * load(row->p + m);
            curvature[t] += part * load(f + m);
        }
    *push += sum_line(slope), *c += sum_line(curvature);
}

/* Whether the gradient at v = 0, slope - sum x f/p there, is nonnegative. */
INLINE int zero_is_best(const row *row, double old, const double *f, double slope) {
    vec total[PARTS] = {0};
    for (int64_t e = 0; e < row->stride; e += LINE)
        UNROLL for (int t = 0; t < PARTS; t++) {
            int64_t m = e + t * LANES;
            vec there = larger_of(load(row->p + m) - old * load(f + m), splat(EPSILON));
            total[t] += load(row->x + m) * load(f + m) / there;
        }
    return slope - sum_line(total) >= 0.0;
}

/* Return a safe step for topic k, whose gathered column is f. */
INLINE double step_along(const descent *on, int64_t k, const double *f, look seen) {
    double barrier = on->barrier[k], old = on->v[k], pull = seen.pull, h = seen.h;
    double push = on->linear[k] + on->bent[k], c = on->gram[k * on->row.wide + k];
    if (on->row.squares) add_squares(&on->row, f, &push, &c);
    if (barrier > 0.0) {
        old = larger(old, EPSILON);
        pull += barrier / old;
        h += barrier / (old * old);
    }
    if (push > pull) {
        if (old <= 0.0) return 0.0;
        /* Newton would leave the orthant: is zero the minimiser? */
        int crosses = barrier == 0.0 && push - pull >= (h + c) * old;
        if (crosses && zero_is_best(&on->row, old, f, push - c * old)) return -old;
    }
    return larger(safe_step(old, push, pull, h, c), -old);
}

/* ---- which topics to sweep */

/* Whether a coordinate is away from its optimum by more than the tolerance.

   It is at its optimum if the gradient vanishes, or if v is zero and the gradient is not negative.
   A small v counts in proportion to the largest entry of the row. */
INLINE int unbalanced(double v, double largest, double g, double size, double tolerance) {
    int downhill = (g < 0.0) | (largest <= 0.0), at_zero = (v <= 0.0) & (g >= 0.0);
    double away = downhill ? fabs(g) : v * g, limit = downhill ? 1.0 : largest;
    return (size > 0.0) & !at_zero & !(away <= tolerance * size * limit);
}

INLINE double largest_of(const double *v, int64_t r) {
    double top = v[0];
    for (int64_t k = 1; k < r; k++) top = larger(top, v[k]);
    return top;
}

INLINE int is_fixed(const descent *on, int64_t k) { return on->fixed && on->fixed[k]; }

/* Fit the row, and write the gradient to pull and gram v to bent; return how many topics that are
   not fixed are not at their optimum. */
static int64_t find_gradient(descent *on, double tolerance) {
    row *row = &on->row;
    fit_and_pull(row, EPSILON, on->pull);
    if (on->row.squares) {
        for (int64_t e = 0; e < row->count; e++) row->q[e] = row->b[e] * row->p[e];
        pull(row, row->q, 1.0, on->push);
    }
    if (on->bends) bend(on->gram, on->v, on->r, row->wide, on->bent);
    double largest = largest_of(on->v, on->r);
    int64_t count = 0;
    for (int64_t k = 0; k < on->r; k++) {
        double linear = on->linear[k], bent = on->bent[k], pull = on->pull[k], push = on->push[k];
        double g = linear + bent + push - pull;
        double size = fabs(linear) + fabs(bent) + push + pull;
        if (on->barrier[k] > 0.0) {
            g -= on->barrier[k] / on->v[k];
            size += on->barrier[k] / on->v[k];
        }
        count += !is_fixed(on, k) && unbalanced(on->v[k], largest, g, size, tolerance);
        on->share[k] = on->v[k] * size;
        on->pull[k] = g - FLAT * size; /* a gradient that is zero to rounding counts as downhill */
    }
    return count;
}

/* List the topics to sweep, and count them.  The others are set to zero unless they are fixed; they
   are zero already, or a remnant of rounding error, on which the choice of topics must not depend.
   A topic with a barrier is never zero. */
static int64_t activate(descent *on, int all_topics) {
    double largest = largest_of(on->share, on->r);
    int64_t count = 0;
    for (int64_t k = 0; k < on->r; k++) {
        int stays = all_topics | (on->barrier[k] > 0.0) | (on->pull[k] < 0.0) |
                    (on->share[k] > REMNANT * largest);
        if (is_fixed(on, k)) continue;
        on->active[count] = k;
        on->v[k] = stays ? on->v[k] : 0.0;
        count += stays;
    }
    return count;
}

/* ---- sweeps */

/* Choose the next topics to sweep together, beginning at active topic `done`; return where they end. */
static int64_t choose_groups(descent *on, int64_t done, int64_t n_active, int64_t *n_groups) {
    int64_t limit = on->row.stride > 0 ? ROOM / (TOGETHER * on->row.stride) : ROOM;
    int64_t stop = done, last = -1;
    if (limit < 1) limit = 1;
    for (*n_groups = 0; stop < n_active; stop++) {
        int64_t base = on->active[stop] / TOGETHER * TOGETHER;
        if (base != last) {
            if (*n_groups == limit) break;
            on->group[(*n_groups)++] = last = base;
        }
        on->place[stop] = TOGETHER * (*n_groups - 1) + on->active[stop] - base;
    }
    return stop;
}

/* Write the topics' columns of F[index], one after the other. */
static void gather(const descent *on, int64_t n_groups) {
    const row row = on->row;
    const int64_t *group = on->group;
    double *columns = on->columns;
    const double *f[LANES];
    for (int64_t e = 0; e < row.stride; e += LANES) {
        rows_of(&row, e, 1, f);
        for (int64_t g = 0; g < n_groups; g++)
            UNROLL for (int t = 0; t < TOGETHER; t += LANES) {
                double *out = columns + (TOGETHER * g + t) * row.stride + e;
                vec some[LANES];
                UNROLL for (int j = 0; j < LANES; j++) some[j] = load(f[j] + group[g] + t);
                transpose(some);
                UNROLL for (int j = 0; j < LANES; j++) store(out + j * row.stride, some[j]);
            }
    }
}

INLINE const double *column_of(const descent *on, int64_t a) {
    return on->columns + on->place[a] * on->row.stride;
}

/* Update the active topics from `done` to `stop`, one after the other, `sweeps` times.  The pass
   over the entries that moves the fitted values along one topic looks along the next. */
static void sweep(descent *on, int64_t done, int64_t stop, int64_t sweeps) {
    row *row = &on->row;
    const double *f = column_of(on, done);
    int lost;
    look seen = move(row, f, 0.0, f, &lost);
    for (int64_t visit = 0, a = done; visit < sweeps * (stop - done); visit++) {
        int64_t k = on->active[a];
        double step = step_along(on, k, f, seen);
        a = a + 1 < stop ? a + 1 : done;
        const double *next = column_of(on, a);
        on->v[k] = larger(on->v[k] + step, on->barrier[k] > 0.0 ? EPSILON : 0.0);
        seen = move(row, f, step, next, &lost);
        if (lost) {
            fit(row, EPSILON);
            seen = move(row, f, 0.0, next, &lost);
        }
        if (on->bends)
            for (int64_t m = 0; m < row->wide; m++)
                on->bent[m] += step * on->gram[k * row->wide + m];
        f = next;
    }
}

/* ---- rows */

/* Descend on row i; return whether it reached the tolerance. */
static int descend_row(descent *on, int64_t i, const entries *given, const forms *form,
                       const descending *how) {
    int finished = 0;
    on->barrier = of_row(form->barrier, i, on->r);
    on->fixed = fixed_topics(form, i);
    lift(on->v, on->barrier, on->r);
    read_linear(form, i, on->linear);
    if (on->bends && form->scales.count > 1) read_gram(form, i, on->row.wide, on->gram);
    read_row(&on->row, given, i, 1);
    for (int64_t round = 0; round < how->rounds && !finished; round++) {
        finished = find_gradient(on, how->tolerance) == 0;
        int64_t n_active = finished ? 0 : activate(on, how->all_topics != 0), n_groups;
        for (int64_t done = 0, stop; done < n_active; done = stop) {
            stop = choose_groups(on, done, n_active, &n_groups);
            gather(on, n_groups);
            sweep(on, done, stop, how->sweeps);
        }
    }
    lift(on->v, on->barrier, on->r);
    return finished;
}

/* Add the costs of row i to those of its two terms. */
static void note_costs(descent *on, int64_t i, const noting *note, double *out) {
    row *row = &on->row;
    double weight = note->weights ? note->weights[i] : 1.0;
    int64_t middle = row->count;
    while (middle > 0 && row->index[middle - 1] >= note->split) middle--;
    fill(row->p, row->stride, row->stride + LINE, 1.0); /* the last line of the second part */
    double both = cost_between(row, 0, row->stride);
    double second = middle < row->count ? cost_between(row, middle, row->count) : 0.0;
    out[0] += weight * (both - second);
    out[1] += weight * second;
}

static void take_descent(descent *on, scratch *scratch, int64_t longest) {
    int64_t stride = whole(longest, LINE), wide = on->row.wide;
    int64_t most = TOGETHER * stride > ROOM ? TOGETHER * stride : ROOM;
    take_row(&on->row, scratch, longest);
    on->linear = take(scratch, wide), on->bent = take(scratch, wide);
    on->share = take(scratch, wide), on->pull = take(scratch, wide);
    on->push = take(scratch, wide), on->gram = take(scratch, wide * wide);
    on->active = (int64_t *)take(scratch, wide), on->place = (int64_t *)take(scratch, wide);
    on->group = (int64_t *)take(scratch, wide);
    on->columns = take(scratch, stride < most / wide ? wide * stride : most);
}

int64_t cofactor_descend(double *V, const slices *which, const entries *given, const factor *F,
                         const forms *form, const descending *how, const noting *note) {
    int64_t low = which->bounds[0], high = which->bounds[which->count], unfinished = high - low;
    descent on = {.row = {.F = F->rows, .wide = F->wide}, .r = form->r};
    scratch scratch = {0};
    int64_t longest = longest_row(&given->at, low, high);
    on.bends = has_gram(form);
    take_descent(&on, &scratch, longest);
    if (!allocate(&scratch)) return NO_MEMORY;
    take_descent(&on, &scratch, longest);
    if (high > low) read_gram(form, low, F->wide, on.gram);
    for (int64_t t = 0; t < which->count; t++) {
        double *costs = note->costs ? note->costs + 2 * t : NULL;
        if (costs) costs[0] = costs[1] = 0.0;
        for (int64_t i = which->bounds[t]; i < which->bounds[t + 1]; i++) {
            on.row.v = on.v = V + i * F->wide;
            unfinished -= descend_row(&on, i, given, form, how);
            if (costs) note_costs(&on, i, note, costs);
        }
    }
    free(scratch.allocated);
    return unfinished;
}
