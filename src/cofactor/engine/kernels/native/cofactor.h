/* The kernels as Python sees them: plain structs and functions.

   Every kernel works on rows of one factor V and takes a step on a row problem of this kind:

       min_{v >= 0}  (up - down).v + 1/2 sum_t s_t v'G_t v + sum_t s_t ups_t.v
                     + sum_e [ -log_e log p_e + 1/2 square_e p_e^2 + inverse_e/p_e
                               + concave_e log p_e ]
                     - barrier.log v                      with p_e = EPSILON + F[index_e].v

   The descent knows no inverse and concave parts, the quadratic descent no entries and barriers.

   Factors are float64, and their rows are padded: they have `wide` numbers, a multiple of four, of
   which the first r are topics and the others are zero.  Coefficients of entries may be float32.
   Nothing is checked here: kernels/arguments.py checks all that it passes. */
#pragma once
#include <stdint.h>

typedef struct { /* coefficients of entries; null: they play no part */
    const void *data;
    int64_t narrow; /* whether they are float32, not float64 */
} numbers;

typedef struct { /* where the entries of some rows stand */
    const int32_t *indices; /* rows of F */
    const int64_t *start;   /* numbers start[j] to start[j + 1] belong to row origin + j */
    const int64_t *first;   /* its indices begin at first[j]; rows of dense data share theirs */
    int64_t origin;         /* the first of these rows */
} places;

typedef struct { /* entries: one coefficient for each kind of cost */
    places at;
    numbers log, square, inverse, concave;
} entries;

typedef struct { /* cells whose sum is a downward slope: sum_e weight values_e F[index_e] */
    places at;
    numbers values; /* no data: no slope */
    const double *F;
    double weight;
} slopes;

typedef struct { /* one run of numbers for each row (count > 1), for all rows (1), or none (0) */
    const double *data;
    int64_t count;
} by_row;

typedef struct { /* which entries of V stay as they are, for rows as above; none: all may change */
    const uint8_t *data;
    int64_t count;
} marks;

typedef struct { /* linear, quadratic and barrier parts, and which topics are fixed */
    by_row down, up, scales, barrier;
    marks fixed;
    const double *ups;   /* n_forms x r */
    const double *grams; /* n_forms x r x r */
    int64_t n_forms, r;
} forms;

typedef struct { /* the rows to work on: slice t has rows bounds[t] to bounds[t + 1] */
    const int64_t *bounds;
    int64_t count;
} slices;

typedef struct { /* a factor that entries point to */
    const double *rows;
    int64_t wide;
} factor;

typedef struct {
    int64_t rounds, sweeps;
    int64_t all_topics; /* whether topics that seem to stay at zero are swept, too */
    double tolerance;
} descending;

typedef struct {
    int64_t rounds, has_barrier;
    double tolerance;
    double epsilon; /* added to fitted values */
    double ridge;   /* added to the divisors of the paper's ratios; 0: minimise the surrogate */
} multiplying;

typedef struct { /* where the costs of entries go; no costs: nowhere */
    double *costs;         /* two for each slice */
    const double *weights; /* of all rows; null: ones */
    int64_t split;         /* entries with this index or a larger one, which come last in a row,
                              belong to the second term */
} noting;

typedef struct { /* coefficients of the surrogate for each row, divided by v; null: absent */
    double *c, *push, *e, *u;
} surrogate;

#if defined(_WIN32)
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

/* The level of x86-64 that this machine has: 2, 3 or 4; 0 elsewhere. */
PUBLIC int64_t cofactor_level(void);

/* A struct above as it was compiled, or one of its fields. */
typedef struct {
    const char *name; /* such as "numbers" and "numbers.data" */
    int64_t kind;     /* 's' for a struct; 'i' for an int64_t, 'd' for a double, ' ' for the rest */
    int64_t offset, size;
} layout;

/* All structs, each followed by its fields; the last name is null. */
PUBLIC const layout *cofactor_layout(void);

/* Added to fitted values under a logarithm or a division; data are at most about 1. */
#define EPSILON 1e-12
PUBLIC double cofactor_epsilon(void);

/* The functions below return how many rows did not reach the tolerance, or 0 without a tolerance;
   less than 0: there was not enough memory. */

PUBLIC int64_t cofactor_descend(double *V, const slices *which, const entries *given,
                                const factor *F, const forms *form, const descending *how,
                                const noting *note);
PUBLIC int64_t cofactor_descend_quadratic(double *V, int64_t wide, const slices *which,
                                          const forms *form, const descending *how);
PUBLIC int64_t cofactor_multiply(const double *V, double *better, const slices *which,
                                 const entries *given, const factor *F, const forms *form,
                                 const slopes *two, const multiplying *how);
PUBLIC int64_t cofactor_multiply_known(const double *V, double *better, int64_t wide,
                                       const slices *which, const surrogate *known,
                                       const forms *form, const multiplying *how);
PUBLIC int64_t cofactor_surrogate(const double *V, const slices *which, const entries *given,
                                  const factor *F, int64_t r, double epsilon,
                                  const surrogate *out, double *costs);
PUBLIC int64_t cofactor_costs(const double *V, const slices *which, const entries *given,
                              const factor *F, const double *weights, double *out);
PUBLIC int64_t cofactor_cross(const slopes *cells, int64_t wide, int64_t low, int64_t high,
                              int64_t r, double *out);
PUBLIC int64_t cofactor_gram(const factor *F, const slices *which, const double *weights,
                             int64_t r, double *out);
PUBLIC int64_t cofactor_sums(const factor *F, const slices *which, const double *weights,
                             int64_t r, double *out);
PUBLIC int64_t cofactor_inner(const factor *F, const slices *which, const double *other,
                              const double *weights, int64_t r, double *out);
