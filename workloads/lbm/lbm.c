/* A cavity with obstacles, and the flow in it again in double precision.
 *
 * In the program a cell gathers from its neighbours and collides. In the reference a cell collides
 * and scatters: what leaves it in a direction arrives in the next cell there.
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

enum { DIRECTIONS = 19, ROWS = DIRECTIONS + 1, PADDING = 2 };
enum flag { FLUID, OBSTACLE, LID };

/* Five steps of single precision stay within 3e-6 of double, relative to a direction's weight. */
static const double TOLERANCE_F32 = 3e-5, TOLERANCE_F64 = 1e-12;

/* Rest, the six sides, then the edges of a cube; opposite directions follow each other. */
static const int ways[DIRECTIONS][3] = {
    {0, 0, 0},  {1, 0, 0},   {-1, 0, 0},  {0, 1, 0},  {0, -1, 0}, {0, 0, 1},   {0, 0, -1},
    {1, 1, 0},  {-1, -1, 0}, {1, -1, 0},  {-1, 1, 0}, {1, 0, 1},  {-1, 0, -1}, {1, 0, -1},
    {-1, 0, 1}, {0, 1, 1},   {0, -1, -1}, {0, 1, -1}, {0, -1, 1}};

struct lattice {
    int64_t nx, ny, cells, planes; /* planes: with the padding */
    double omega;
    double *now, *next; /* [cell][DIRECTIONS] */
    const unsigned char *flags;
};

/* By how many axes a direction has: none, one or two. */
static double weight(int direction)
{
    return direction == 0 ? 1. / 3 : direction < 7 ? 1. / 18 : 1. / 36;
}

static struct lattice lattice_of(const struct arguments *arguments)
{
    struct lattice l = {.nx = argument_i64(arguments, "nx"),
                        .ny = argument_i64(arguments, "ny"),
                        .planes = argument_i64(arguments, "nz") + 2 * PADDING};
    l.cells = l.nx * l.ny * l.planes;
    return l;
}

static double get(const struct host_array *a, int64_t i)
{
    return a->element == ELEMENT_f32 ? (double)((const float *)a->data)[i]
                                     : ((const double *)a->data)[i];
}

/* ---- input --------------------------------------------------------------------------------- */

/* Walls at all sides, one obstacle in sixteen cells, and a lid below the topmost wall. */
static enum flag flag_of(const struct lattice *l, int64_t cell, uint64_t random)
{
    int64_t x = cell % l->nx, y = cell / l->nx % l->ny, z = cell / l->nx / l->ny;
    if (x == 0 || x == l->nx - 1 || y == 0 || y == l->ny - 1 || z <= PADDING ||
        z >= l->planes - PADDING - 1)
        return OBSTACLE;
    if (z == l->planes - PADDING - 2)
        return LID;
    return random % 16 == 0 ? OBSTACLE : FLUID;
}

/* Nearly at rest: each direction has its weight, give or take 2 %. */
static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    struct lattice l = lattice_of(arguments);
    if (strcmp(name, "start") != 0)
        return error_set(error, ERR_NOT_FOUND, "lbm: the program has no array named '%s'", name);
    PARALLEL_FOR
    for (int64_t cell = 0; cell < l.cells; cell++) {
        struct random random = {random_split(seed, (uint64_t)cell)};
        enum flag flag = flag_of(&l, cell, random_split(random.state, 1));
        for (int j = 0; j < ROWS; j++) {
            double value = flag;
            if (j < DIRECTIONS)
                value = weight(j) * (0.98 + 0.04 * random_unit(&random));
            if (array->element == ELEMENT_f32)
                ((float *)array->data)[j * l.cells + cell] = (float)value;
            else
                ((double *)array->data)[j * l.cells + cell] = value;
        }
    }
    return 0;
}

/* ---- reference ----------------------------------------------------------------------------- */

static int in_padding(const struct lattice *l, int64_t cell)
{
    int64_t z = cell / l->nx / l->ny;
    return z < PADDING || z >= l->planes - PADDING;
}

/* What leaves a cell in each direction. */
static void collide(const struct lattice *l, int64_t cell, double *leaves)
{
    const double *f = l->now + cell * DIRECTIONS;
    double mass = 0, speed[3] = {0, 0, 0}, square = 0;
    if (l->flags[cell] == OBSTACLE) {
        leaves[0] = f[0];
        for (int j = 1; j < DIRECTIONS; j += 2) {
            leaves[j] = f[j + 1];
            leaves[j + 1] = f[j];
        }
        return;
    }
    for (int j = 0; j < DIRECTIONS; j++)
        mass += f[j];
    for (int k = 0; k < 3; k++) {
        static const double lid_speed[3] = {0.005, 0.002, 0};
        for (int j = 0; j < DIRECTIONS; j++)
            speed[k] += ways[j][k] * f[j];
        speed[k] = l->flags[cell] == LID ? lid_speed[k] : speed[k] / mass;
        square += speed[k] * speed[k];
    }
    for (int j = 0; j < DIRECTIONS; j++) {
        double along = ways[j][0] * speed[0] + ways[j][1] * speed[1] + ways[j][2] * speed[2];
        double rest = weight(j) * mass * (1 + 3 * along + 4.5 * along * along - 1.5 * square);
        leaves[j] = (1 - l->omega) * f[j] + l->omega * rest;
    }
}

/* The cell itself, or where nothing arrives from: a direction arrives in the padding from nowhere,
 * so it keeps its own. */
static void step(struct lattice *l)
{
    PARALLEL_FOR
    for (int64_t cell = 0; cell < l->cells; cell++) {
        double leaves[DIRECTIONS];
        const double *f = l->now + cell * DIRECTIONS;
        if (in_padding(l, cell)) {
            memcpy(l->next + cell * DIRECTIONS, f, sizeof leaves);
            memcpy(leaves, f, sizeof leaves);
        } else
            collide(l, cell, leaves);
        for (int j = 0; j < DIRECTIONS; j++) {
            int64_t to = cell + ways[j][0] + (ways[j][1] + ways[j][2] * l->ny) * l->nx;
            if (to >= 0 && to < l->cells && !in_padding(l, to))
                l->next[to * DIRECTIONS + j] = leaves[j];
        }
    }
    double *now = l->now;
    l->now = l->next;
    l->next = now;
}

static int compare(const struct lattice *l, const struct host_array *got, double *worst,
                   struct error *error)
{
    double tolerance = got->element == ELEMENT_f32 ? TOLERANCE_F32 : TOLERANCE_F64;
    for (int j = 0; j < ROWS; j++)
        for (int64_t cell = 0; cell < l->cells; cell++) {
            double value = get(got, j * l->cells + cell);
            double expected = j == DIRECTIONS ? l->flags[cell] : l->now[cell * DIRECTIONS + j];
            double off = fabs(value - expected) / (j == DIRECTIONS ? 1 : weight(j));
            if (!(off <= tolerance))
                return error_set(error, ERR_WRONG,
                                 "lbm: row %d of cell %lld is %.17g, expected %.17g", j,
                                 (long long)cell, value, expected);
            *worst = off > *worst ? off : *worst;
        }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    struct lattice l = lattice_of(arguments);
    const struct host_array *start = &argument(arguments, "start")->array;
    l.omega = argument_f64(arguments, "omega");
    *worst_error = 0;
    if (result_count != 1 || results[0].count != (size_t)(ROWS * l.cells))
        return error_set(error, ERR_WRONG, "lbm: expected one result of %lld numbers",
                         (long long)(ROWS * l.cells));
    size_t size = (size_t)(l.cells * DIRECTIONS) * sizeof *l.now;
    double *first = malloc(size), *second = malloc(size);
    unsigned char *flags = malloc((size_t)l.cells);
    int code = 0;
    if (first && second && flags) {
        for (int64_t cell = 0; cell < l.cells; cell++) {
            flags[cell] = (unsigned char)get(start, DIRECTIONS * l.cells + cell);
            for (int j = 0; j < DIRECTIONS; j++)
                first[cell * DIRECTIONS + j] = get(start, j * l.cells + cell);
        }
        l.now = first;
        l.next = second;
        l.flags = flags;
        for (int64_t s = argument_i64(arguments, "steps"); s > 0; s--)
            step(&l);
        code = compare(&l, &results[0], worst_error, error);
    } else
        code = error_set(error, ERR_HOST_MEMORY, "lbm: no memory for a reference of %lld cells",
                         (long long)l.cells);
    free(first);
    free(second);
    free(flags);
    return code;
}

const struct workload workload_lbm = {.fill = fill, .check = check};
