/* The kernels on drawn rows, without Python: prints a digest of the bits of all results.
   Compiled with -DLOADED, it runs those of a library that its argument names. */
#include <stdio.h>
#include <stdlib.h>
#include "cofactor.h"

#ifdef LOADED
#ifdef _WIN32
#include <windows.h>
#define open_library LoadLibraryA
#define find(name) (void *)GetProcAddress(library, name)
static HMODULE library;
#else
#include <dlfcn.h>
#define open_library(path) dlopen(path, RTLD_NOW)
#define find(name) dlsym(library, name)
static void *library;
#endif
#define FOUND(name) ((__typeof__(&name))find(#name))
#define cofactor_costs FOUND(cofactor_costs)
#define cofactor_cross FOUND(cofactor_cross)
#define cofactor_descend FOUND(cofactor_descend)
#define cofactor_descend_quadratic FOUND(cofactor_descend_quadratic)
#define cofactor_gram FOUND(cofactor_gram)
#define cofactor_inner FOUND(cofactor_inner)
#define cofactor_multiply FOUND(cofactor_multiply)
#define cofactor_multiply_known FOUND(cofactor_multiply_known)
#define cofactor_sums FOUND(cofactor_sums)
#define cofactor_surrogate FOUND(cofactor_surrogate)
#endif

static uint64_t state = 1;

static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static uint64_t digest = 14695981039346656037u;

static void note(const double *a, int64_t count) {
    for (int64_t i = 0; i < count * 8; i++)
        digest = (digest ^ ((const uint8_t *)a)[i]) * 1099511628211u;
}

/* Numbers that are positive, or zero with a chance. */
static double *draw(int64_t count, double zeros) {
    double *a = calloc((size_t)count + 1, sizeof *a);
    for (int64_t i = 0; i < count; i++) a[i] = uniform() < zeros ? 0.0 : uniform() + 1e-3;
    return a;
}

static double *draw_factor(int64_t n, int64_t r, int64_t wide, double zeros) {
    double *rows = draw(n * wide, zeros);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = r; k < wide; k++) rows[i * wide + k] = 0.0;
    return rows;
}

static double *copy_of(const double *a, int64_t count) {
    double *b = calloc((size_t)count + 1, sizeof *b);
    for (int64_t i = 0; i < count; i++) b[i] = a[i];
    return b;
}

static void run(int64_t n, int64_t m, int64_t r, int64_t each, int squares, int inverses) {
    int64_t wide = (r + 3) / 4 * 4, size = n * each, bounds[3] = {0, n / 3, n};
    double *F = draw_factor(m, r, wide, 0.5), *V = draw_factor(n, r, wide, 0.0), *W, *new;
    double *log = draw(size, 0.2), *square = draw(size, 0.2), *inverse = draw(size, 0.2);
    double *ups = draw(r, 0.0), *grams = draw(r * r, 0.0), *one = draw(1, 0.0), costs[4] = {0};
    double *barrier = draw(r, 0.7), *zero = draw(r, 1.0), *gram = draw(2 * r * r, 0.0);
    double *weights = draw(n, 0.0);
    double *parts[4];
    int32_t *indices = malloc((size_t)size * sizeof *indices);
    int64_t *start = malloc((size_t)(n + 1) * sizeof *start);
    for (int64_t e = 0; e < size; e++) indices[e] = (int32_t)(uniform() * (double)m);
    for (int64_t i = 0; i <= n; i++) start[i] = i * each;
    for (int64_t k = 0; k < r; k++)
        for (int64_t l = 0; l < k; l++) grams[k * r + l] = grams[l * r + k];
    for (int64_t k = 0; k < r; k++) grams[k * r + k] += (double)r;
    entries given = {.at = {indices, start, start, 0}, .log = {log, 0}};
    if (squares) given.square = (numbers){square, 0};
    forms form = {.scales = {one, 1}, .barrier = {zero, 1}, .ups = ups, .grams = grams,
                  .n_forms = 1, .r = r};
    slices which = {bounds, 2};
    factor other = {F, wide}, own = {V, wide};
    slopes two[2] = {{.at = given.at, .values = {square, 0}, .F = F, .weight = 0.7}};
    W = copy_of(V, n * wide);
    cofactor_descend(W, &which, &given, &other, &form, &(descending){3, 2, 0, 1e-9},
                     &(noting){costs, NULL, m / 2});
    note(W, n * wide), note(costs, 4);
    cofactor_descend_quadratic(W, wide, &which, &form, &(descending){1, 3, 1, 1e-9});
    note(W, n * wide);
    if (inverses) given.inverse = (numbers){inverse, 0}, given.concave = (numbers){square, 0};
    form.barrier.data = barrier;
    new = copy_of(V, n * wide);
    cofactor_multiply(V, new, &which, &given, &other, &form, two,
                      &(multiplying){3, 1, 1e-9, 1e-12, 0.0});
    note(new, n * wide);
    for (int s = 0; s < 4; s++) parts[s] = draw(n * r, 1.0);
    surrogate found = {parts[0], parts[1], parts[2], parts[3]};
    cofactor_surrogate(V, &which, &given, &other, r, 1e-9, &found, costs);
    for (int s = 0; s < 4; s++) note(parts[s], n * r);
    cofactor_multiply_known(V, new, wide, &which, &found, &form, &(multiplying){1, 1, 0, 0, 0});
    note(new, n * wide), note(costs, 2);
    cofactor_costs(V, &which, &given, &other, NULL, costs), note(costs, 2);
    cofactor_gram(&own, &which, weights, r, gram), note(gram, 2 * r * r);
    cofactor_sums(&own, &which, NULL, r, gram), note(gram, 2 * r);
    cofactor_inner(&own, &which, parts[0], weights, r, costs), note(costs, 2);
    cofactor_cross(two, wide, 0, n, r, parts[0]), note(parts[0], n * r);
    for (int s = 0; s < 4; s++) free(parts[s]);
    free(F), free(V), free(W), free(new), free(log), free(square), free(inverse), free(ups);
    free(grams), free(one), free(barrier), free(zero), free(gram), free(weights);
    free(indices), free(start);
}

int main(int count, char **arguments) {
#ifdef LOADED
    library = open_library(arguments[count - 1]);
    if (!library) return 1;
#else
    (void)count, (void)arguments;
#endif
    run(1, 1, 1, 1, 0, 0), run(7, 9, 3, 5, 1, 0), run(9, 9, 5, 0, 0, 0), run(8, 30, 4, 17, 1, 1);
    run(70, 100, 13, 31, 0, 1), run(90, 60, 12, 9, 1, 0), run(20, 200, 50, 77, 0, 0);
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
