/* Points in blobs, and k-means again in double precision, point by point. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
#endif

/* The program adds up to n / k single precision values for a coordinate in parts; a point more or
 * less in a cluster moves its mean by more than this in all but the largest. */
static const double CENTRE_TOLERANCE = 2e-5;
/* Two centres whose squared distances differ by no more than this part: single precision may find
 * either of them nearest. */
static const double TIE_TOLERANCE = 1e-4;

/* Several blobs a cluster, so that centres wander for some rounds before they settle. */
enum { BLOBS_A_CLUSTER = 6 };
static const double SIDE = 10, BLOB_SIDE = 0.5;

/* ---- input --------------------------------------------------------------------------------- */

/* The first k points are of different blobs: they are the first centres. */
static int64_t blob_of(int64_t point, int64_t k, uint64_t seed)
{
    if (point < k)
        return point;
    return (int64_t)(random_split(seed, (uint64_t)point) % (uint64_t)(k * BLOBS_A_CLUSTER));
}

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    (void)name;
    (void)error;
    int64_t n = argument_i64(arguments, "n"), d = argument_i64(arguments, "d"),
            k = argument_i64(arguments, "k");
    uint64_t blob_seed = random_split(seed, 0), choice_seed = random_split(seed, 1),
             point_seed = random_split(seed, 2);
    float *points = array->data;
    PARALLEL_FOR
    for (int64_t i = 0; i < n; i++) {
        struct random blob = {random_split(blob_seed, (uint64_t)blob_of(i, k, choice_seed))};
        struct random noise = {random_split(point_seed, (uint64_t)i)};
        for (int64_t f = 0; f < d; f++)
            points[i * d + f] =
                (float)(SIDE * random_unit(&blob) + BLOB_SIDE * (random_unit(&noise) - 0.5));
    }
    return 0;
}

/* ---- reference ----------------------------------------------------------------------------- */

struct clustering {
    int64_t n, d, k;
    const float *points;
    int32_t *owner;
    double *centres, *searched; /* [k][d]; `searched` those of the last search */
    double *sums;
    int64_t *counts;
};

static double distance(const struct clustering *c, int64_t point, const double *centre)
{
    double sum = 0;
    for (int64_t f = 0; f < c->d; f++) {
        double off = (double)c->points[point * c->d + f] - centre[f];
        sum += off * off;
    }
    return sum;
}

static int32_t nearest(const struct clustering *c, int64_t point)
{
    int32_t best = 0;
    double least = INFINITY;
    for (int64_t m = 0; m < c->k; m++) {
        double here = distance(c, point, c->searched + m * c->d);
        if (here < least) {
            least = here;
            best = (int32_t)m;
        }
    }
    return best;
}

/* Gives every point to its nearest centre; returns how many points changed theirs. */
static int64_t search(struct clustering *c)
{
    int64_t moved = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(+ : moved)
#endif
    for (int64_t i = 0; i < c->n; i++) {
        int32_t owner = nearest(c, i);
        moved += owner != c->owner[i];
        c->owner[i] = owner;
    }
    return moved;
}

/* Moves every centre to the mean of its points. One without points stays, or, if `return_empty`,
 * goes to the first point. */
static void move_centres(struct clustering *c, bool return_empty)
{
    memset(c->sums, 0, (size_t)(c->k * c->d) * sizeof *c->sums);
    memset(c->counts, 0, (size_t)c->k * sizeof *c->counts);
    for (int64_t i = 0; i < c->n; i++) {
        c->counts[c->owner[i]]++;
        for (int64_t f = 0; f < c->d; f++)
            c->sums[c->owner[i] * c->d + f] += c->points[i * c->d + f];
    }
    for (int64_t m = 0; m < c->k; m++)
        for (int64_t f = 0; f < c->d; f++) {
            double *centre = &c->centres[m * c->d + f];
            if (c->counts[m] > 0)
                *centre = c->sums[m * c->d + f] / (double)c->counts[m];
            else if (return_empty)
                *centre = c->points[f];
        }
}

static void cluster(struct clustering *c, bool return_empty, int64_t threshold,
                    int64_t max_iterations)
{
    for (int64_t i = 0; i < c->n; i++)
        c->owner[i] = (int32_t)(i % c->k);
    for (int64_t i = 0; i < c->k * c->d; i++)
        c->centres[i] = c->points[i];
    int64_t round = 0, moved;
    do {
        memcpy(c->searched, c->centres, (size_t)(c->k * c->d) * sizeof *c->centres);
        moved = search(c);
        move_centres(c, return_empty);
    } while (moved > threshold && ++round < max_iterations);
}

/* ---- comparison ---------------------------------------------------------------------------- */

static int check_membership(const struct clustering *c, const int32_t *found, struct error *error)
{
    for (int64_t i = 0; i < c->n; i++) {
        if (found[i] == c->owner[i])
            continue;
        bool exists = found[i] >= 0 && found[i] < c->k;
        double least = distance(c, i, c->searched + c->owner[i] * c->d);
        double theirs = exists ? distance(c, i, c->searched + found[i] * c->d) : INFINITY;
        if (theirs - least > TIE_TOLERANCE * (1 + least))
            return error_set(error, ERR_WRONG,
                             "kmeans: point %lld is in cluster %d at a squared distance of %g, "
                             "expected cluster %d at %g",
                             (long long)i, (int)found[i], theirs, (int)c->owner[i], least);
    }
    return 0;
}

static int check_centres(const struct clustering *c, const float *middles, double *worst,
                         struct error *error)
{
    for (int64_t i = 0; i < c->k * c->d; i++) {
        double off = fabs((double)middles[i] - c->centres[i]) / (1 + fabs(c->centres[i]));
        if (!(off <= CENTRE_TOLERANCE))
            return error_set(error, ERR_WRONG, "kmeans: centre[%lld, %lld] is %.9g, expected %.9g",
                             (long long)(i / c->d), (long long)(i % c->d), (double)middles[i],
                             c->centres[i]);
        *worst = off > *worst ? off : *worst;
    }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    struct clustering c = {.n = argument_i64(arguments, "n"),
                           .d = argument_i64(arguments, "d"),
                           .k = argument_i64(arguments, "k"),
                           .points = argument(arguments, "points")->array.data};
    size_t cells = (size_t)(c.k * c.d);
    *worst_error = 0;
    if (result_count != 2 || results[0].count != (size_t)c.n || results[1].count != cells)
        return error_set(error, ERR_WRONG, "kmeans: expected %lld memberships and %zu coordinates",
                         (long long)c.n, cells);
    c.owner = malloc((size_t)c.n * sizeof *c.owner);
    c.counts = malloc((size_t)c.k * sizeof *c.counts);
    c.centres = malloc(3 * cells * sizeof *c.centres);
    int code = 0;
    if (c.owner && c.counts && c.centres) {
        c.searched = c.centres + cells;
        c.sums = c.searched + cells;
        cluster(&c, strcmp(arguments->fun, "kmeans_cpu") == 0, argument_i64(arguments, "threshold"),
                argument_i64(arguments, "max_iterations"));
        code = check_membership(&c, results[0].data, error);
        THEN(code, check_centres(&c, results[1].data, worst_error, error));
    } else {
        code = error_set(error, ERR_HOST_MEMORY, "kmeans: no memory for the reference");
    }
    free(c.owner);
    free(c.counts);
    free(c.centres);
    return code;
}

const struct workload workload_kmeans = {.fill = fill, .check = check};
