/* Inputs and reference of nbody.mem.
 *
 * The reference is the simulation in double. To keep it short for many bodies, at most MASSIVE of
 * them have mass, evenly spread; the rest are dust that is pulled and does not pull. The program
 * knows nothing of that and sums over all of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
#endif

enum { MASSIVE = 2048, AXES = 3, QUANTITIES = 3 };

/* Relative to the sum of the terms' sizes. The sum of up to MASSIVE terms in single precision,
 * added one by one, is off by some 1e-6 of it (measured: 1.4e-6); a missing body by 5e-4 on
 * average. */
static const double TOLERANCE = 1e-5;

static const char *const parameters[QUANTITIES][AXES] = {
    {"px0", "py0", "pz0"}, {"vx0", "vy0", "vz0"}, {"ax0", "ay0", "az0"}};

/* ---- inputs -------------------------------------------------------------------------------- */

/* Masses add up to about 1; only every `every`-th body has one, the last among them. */
static void fill_mass(struct host_array *mass, struct random *random)
{
    int64_t n = mass->shape[0], every = (n + MASSIVE - 1) / MASSIVE;
    float *m = mass->data;
    for (int64_t i = 0; i < n; i++) {
        double share = 0.5 + random_unit(random);
        m[i] = (n - 1 - i) % every == 0 ? (float)(share * (double)every / (double)n) : 0;
    }
}

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    (void)arguments;
    if (strcmp(name, "mass") == 0) {
        struct random random = {random_split(seed, 100)};
        fill_mass(array, &random);
        return 0;
    }
    /* Positions in a cube of side 2, velocities a tenth of that; no acceleration yet. */
    static const double reach[QUANTITIES] = {1, 0.1, 0};
    for (int q = 0; q < QUANTITIES; q++)
        for (int axis = 0; axis < AXES; axis++) {
            if (strcmp(name, parameters[q][axis]) != 0)
                continue;
            struct random random = {random_split(seed, (uint64_t)(AXES * q + axis))};
            float *x = array->data;
            for (size_t i = 0; i < array->count; i++)
                x[i] = (float)(reach[q] * (2 * random_unit(&random) - 1));
            return 0;
        }
    return error_set(error, ERR_NOT_FOUND, "nbody: the program has no array named '%s'", name);
}

/* ---- reference ----------------------------------------------------------------------------- */

struct body {
    double value[QUANTITIES][AXES]; /* position, velocity, acceleration */
    double scale[QUANTITIES];       /* the sizes of the terms that were added up to it */
};

struct mass_point {
    double mass, at[AXES];
};

struct system {
    int64_t n, massive;
    double dt, softening;
    const float *mass;
    struct body *bodies;
    struct mass_point *points; /* where the massive bodies are now */
};

static double norm(const double v[AXES])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void gather_points(struct system *s)
{
    s->massive = 0;
    for (int64_t i = 0; i < s->n; i++)
        if (s->mass[i] != 0) {
            struct mass_point *p = &s->points[s->massive++];
            p->mass = s->mass[i];
            memcpy(p->at, s->bodies[i].value[0], sizeof p->at);
        }
}

/* The pull of all points; returns the sum of the sizes of the pulls. */
static double accelerate(const struct system *s, const double at[AXES], double sum[AXES])
{
    double sizes = 0;
    sum[0] = sum[1] = sum[2] = 0;
    for (int64_t j = 0; j < s->massive; j++) {
        const struct mass_point *p = &s->points[j];
        double away[AXES] = {p->at[0] - at[0], p->at[1] - at[1], p->at[2] - at[2]};
        double distance = norm(away);
        double soft = sqrt(distance * distance + s->softening * s->softening);
        double pull = p->mass / (soft * soft * soft);
        for (int axis = 0; axis < AXES; axis++)
            sum[axis] += pull * away[axis];
        sizes += pull * distance;
    }
    return sizes;
}

static void step(struct system *s)
{
    gather_points(s);
    PARALLEL_FOR
    for (int64_t i = 0; i < s->n; i++) {
        struct body *b = &s->bodies[i];
        double *position = b->value[0], *velocity = b->value[1], *acceleration = b->value[2];
        b->scale[2] = accelerate(s, position, acceleration);
        b->scale[0] += s->dt * b->scale[1];
        b->scale[1] += s->dt * b->scale[2];
        for (int axis = 0; axis < AXES; axis++) {
            position[axis] += s->dt * velocity[axis];
            velocity[axis] += s->dt * acceleration[axis];
        }
    }
}

static int system_open(struct system *s, const struct arguments *arguments, struct error *error)
{
    *s = (struct system){.n = argument_i64(arguments, "n"),
                         .dt = argument_f64(arguments, "dt"),
                         .softening = argument_f64(arguments, "softening"),
                         .mass = argument(arguments, "mass")->array.data};
    s->bodies = calloc((size_t)s->n + 1, sizeof *s->bodies);
    s->points = calloc((size_t)s->n + 1, sizeof *s->points);
    if (!s->bodies || !s->points) {
        free(s->bodies);
        free(s->points);
        return error_set(error, ERR_HOST_MEMORY, "nbody: no memory for a reference of %lld bodies",
                         (long long)s->n);
    }
    for (int q = 0; q < QUANTITIES; q++)
        for (int axis = 0; axis < AXES; axis++) {
            const float *first = argument(arguments, parameters[q][axis])->array.data;
            for (int64_t i = 0; i < s->n; i++)
                s->bodies[i].value[q][axis] = first[i];
        }
    for (int64_t i = 0; i < s->n; i++)
        for (int q = 0; q < QUANTITIES; q++)
            s->bodies[i].scale[q] = norm(s->bodies[i].value[q]);
    return 0;
}

static int compare(const struct system *s, int q, int axis, const float *got, double *worst,
                   struct error *error)
{
    static const char *const names[QUANTITIES] = {"position", "velocity", "acceleration"};
    for (int64_t i = 0; i < s->n; i++) {
        const struct body *b = &s->bodies[i];
        double difference = fabs(got[i] - b->value[q][axis]);
        double off = difference > 0 ? difference / b->scale[q] : difference; /* NaN stays */
        if (!(off <= *worst))
            *worst = off;
        if (!(off <= TOLERANCE))
            return error_set(error, ERR_WRONG,
                             "nbody: %s %c of body %lld is %.9g, expected %.9g; the error of %.2g "
                             "of its terms is more than %.0e",
                             names[q], "xyz"[axis], (long long)i, (double)got[i],
                             b -> value[q][axis], off, TOLERANCE);
    }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    int64_t n = argument_i64(arguments, "n"), steps = argument_i64(arguments, "steps");
    *worst_error = 0;
    if (result_count != AXES * QUANTITIES)
        return error_set(error, ERR_WRONG, "nbody: %zu results, expected %d", result_count,
                         AXES * QUANTITIES);
    for (size_t r = 0; r < result_count; r++)
        if (results[r].count != (size_t)n)
            return error_set(error, ERR_WRONG, "nbody: result %zu has %zu numbers, expected %lld",
                             r, results[r].count, (long long)n);
    struct system s;
    int code = system_open(&s, arguments, error);
    if (code)
        return code;
    for (int64_t i = 0; i < steps; i++)
        step(&s);
    for (int q = 0; q < QUANTITIES && !code; q++)
        for (int axis = 0; axis < AXES && !code; axis++)
            code = compare(&s, q, axis, results[AXES * q + axis].data, worst_error, error);
    free(s.bodies);
    free(s.points);
    return code;
}

const struct workload workload_nbody = {.fill = fill, .check = check};
