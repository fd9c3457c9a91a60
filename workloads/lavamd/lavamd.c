/* Boxes full of particles, and what they feel, again in double precision.
 *
 * The program reads which boxes are neighbours from lists. The reference walks over the cube
 * instead, and skips particles without a charge. The two agree only if the lists are those of the
 * cube.
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

enum { PARTICLES = 100, QUANTITIES = 4, MOST_NEIGHBOURS = 26, CHARGED_BOXES = 1000 };

/* Relative to the sum of the terms' sizes. Sums of up to 2,700 terms in single precision are off by
 * some 1e-6 of that. */
static const double TOLERANCE = 1e-5;

/* ---- inputs -------------------------------------------------------------------------------- */

/* The boxes of a cube are numbered row by row; the last layers of a number that is no cube stay
 * empty. */
static int64_t side_of(int64_t boxes)
{
    int64_t side = 1;
    while (side * side * side < boxes)
        side++;
    return side;
}

/* The box at a step of -1, 0 or 1 in each direction from another; -1: there is none. */
static int64_t box_beside(int64_t box, int64_t side, int64_t boxes, const int64_t step[3])
{
    int64_t at[3] = {box % side, box / side % side, box / side / side};
    for (int k = 0; k < 3; k++) {
        at[k] += step[k];
        if (at[k] < 0 || at[k] >= side)
            return -1;
    }
    int64_t beside = (at[2] * side + at[1]) * side + at[0];
    return beside < boxes ? beside : -1;
}

/* `list` may be NULL: only the number is needed. */
static int32_t neighbours_of(int64_t box, int64_t side, int64_t boxes, int32_t *list)
{
    int32_t count = 0;
    for (int64_t i = 0; i < 27; i++) {
        int64_t step[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
        int64_t beside = box_beside(box, side, boxes, step);
        if (beside < 0 || beside == box)
            continue;
        if (list)
            list[count * boxes + box] = (int32_t)beside;
        count++;
    }
    return count;
}

/* Of more than CHARGED_BOXES boxes' worth of particles only every `every`-th has a charge. */
static void fill_box(float *values, int64_t box, const char *name, int64_t boxes, uint64_t seed)
{
    struct random random = {random_split(seed, (uint64_t)box)};
    int64_t every = (boxes + CHARGED_BOXES - 1) / CHARGED_BOXES;
    for (int64_t i = box * PARTICLES; i < (box + 1) * PARTICLES; i++) {
        double share = 0.1 + 0.9 * random_unit(&random);
        values[i] = strcmp(name, "charge") == 0 && i % every != 0 ? 0 : (float)share;
    }
}

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    static const char *const particles[] = {"rv", "rx", "ry", "rz", "charge"};
    int64_t boxes = argument_i64(arguments, "boxes"), side = side_of(boxes);
    int32_t *numbers = array->data;
    if (strcmp(name, "neighbours") == 0) {
        memset(numbers, 0, array->count * sizeof *numbers);
        for (int64_t b = 0; b < boxes; b++)
            neighbours_of(b, side, boxes, numbers);
        return 0;
    }
    if (strcmp(name, "count") == 0) {
        for (int64_t b = 0; b < boxes; b++)
            numbers[b] = neighbours_of(b, side, boxes, NULL);
        return 0;
    }
    for (size_t p = 0; p < sizeof particles / sizeof *particles; p++)
        if (strcmp(name, particles[p]) == 0) {
            for (int64_t b = 0; b < boxes; b++)
                fill_box(array->data, b, name, boxes, random_split(seed, p));
            return 0;
        }
    return error_set(error, ERR_NOT_FOUND, "lavamd: the program has no array named '%s'", name);
}

/* ---- reference ----------------------------------------------------------------------------- */

struct cube {
    int64_t boxes, side;
    double steepness; /* 2 alpha^2 */
    const float *of[QUANTITIES], *charge;
    double *felt; /* [particle][QUANTITIES], and the size of the terms */
};

/* Adds what particle j does to particle i. */
static void feel(const struct cube *cube, int64_t i, int64_t j)
{
    double *felt = cube->felt + i * (QUANTITIES + 1);
    double away[QUANTITIES - 1], exponent = (double)cube->of[0][i] + cube->of[0][j];
    for (int k = 1; k < QUANTITIES; k++) {
        away[k - 1] = (double)cube->of[k][i] - cube->of[k][j];
        exponent -= (double)cube->of[k][i] * cube->of[k][j];
    }
    double potential = cube->charge[j] / exp(cube->steepness * exponent);
    felt[0] += potential;
    for (int k = 1; k < QUANTITIES; k++)
        felt[k] += 2 * potential * away[k - 1];
    felt[QUANTITIES] += fabs(potential);
}

static void feel_all(const struct cube *cube, int64_t box)
{
    for (int64_t i = 0; i < 27; i++) {
        int64_t step[3] = {1 - i % 3, 1 - i / 3 % 3, 1 - i / 9};
        int64_t from = box_beside(box, cube->side, cube->boxes, step);
        for (int64_t j = from * PARTICLES; from >= 0 && j < (from + 1) * PARTICLES; j++)
            for (int64_t p = box * PARTICLES; cube->charge[j] != 0 && p < (box + 1) * PARTICLES;
                 p++)
                feel(cube, p, j);
    }
}

static int compare(const struct cube *cube, int quantity, const float *got, double *worst,
                   struct error *error)
{
    for (int64_t i = 0; i < cube->boxes * PARTICLES; i++) {
        const double *felt = cube->felt + i * (QUANTITIES + 1);
        double difference = fabs(got[i] - felt[quantity]);
        double off = difference > 0 ? difference / felt[QUANTITIES] : difference; /* NaN stays */
        if (!(off <= *worst))
            *worst = off;
        if (!(off <= TOLERANCE))
            return error_set(error, ERR_WRONG,
                             "lavamd: %c of particle %lld in box %lld is %.9g, expected %.9g; the "
                             "error of %.2g of its terms is more than %.0e",
                             "vxyz"[quantity], (long long)(i % PARTICLES),
                             (long long)(i / PARTICLES), (double)got[i], felt[quantity], off,
                             TOLERANCE);
    }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    static const char *const names[QUANTITIES] = {"rv", "rx", "ry", "rz"};
    struct cube cube = {.boxes = argument_i64(arguments, "boxes"),
                        .charge = argument(arguments, "charge")->array.data};
    double alpha = argument_f64(arguments, "alpha");
    cube.side = side_of(cube.boxes);
    cube.steepness = 2 * alpha * alpha;
    size_t particles = (size_t)(cube.boxes * PARTICLES);
    *worst_error = 0;
    if (result_count != QUANTITIES)
        return error_set(error, ERR_WRONG, "lavamd: %zu results, expected %d", result_count,
                         QUANTITIES);
    for (int k = 0; k < QUANTITIES; k++) {
        cube.of[k] = argument(arguments, names[k])->array.data;
        if (results[k].count != particles)
            return error_set(error, ERR_WRONG, "lavamd: result %d has %zu numbers, expected %zu", k,
                             results[k].count, particles);
    }
    cube.felt = calloc(particles * (QUANTITIES + 1) + 1, sizeof *cube.felt);
    if (!cube.felt)
        return error_set(error, ERR_HOST_MEMORY, "lavamd: no memory for what %zu particles feel",
                         particles);
    PARALLEL_FOR
    for (int64_t box = 0; box < cube.boxes; box++)
        feel_all(&cube, box);
    int code = 0;
    for (int k = 0; k < QUANTITIES && !code; k++)
        code = compare(&cube, k, results[k].data, worst_error, error);
    free(cube.felt);
    return code;
}

const struct workload workload_lavamd = {.fill = fill, .check = check};
