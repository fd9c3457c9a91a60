/* Hotspot's inputs and its reference.
 *
 * Up to REFERENCE_CELL_STEPS the reference is the simulation again, in double precision and in flux
 * form: heat flows between neighbours that exist, so the border needs no cases. Beyond, that would
 * take longer than the run it checks, and the input is an eigenmode of the discrete operator
 * instead: without power, T = ambient + A cos(pi kx (c + 1/2) / cols) cos(pi ky (r + 1/2) / rows)
 * keeps its shape, and every step multiplies its distance from ambient by one factor.
 */
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

static const double pi = 3.14159265358979323846;
static const double ambient = 80;
static const int64_t REFERENCE_CELL_STEPS = 100000000;

/* 360 steps of single precision stay within 2e-6; one step too few is off by 1e-4 and more. */
static const double TOLERANCE = 1e-5;

struct grid {
    int64_t rows, cols, steps;
    double per_watt; /* what a watt in a cell warms it in one step */
    double x, y,
        z; /* the part of a difference to a neighbour (z: to ambient) that one step evens */
};

/* Rodinia's chip: 16 x 16 x 0.5 mm of silicon, half of its capacity, a heat-up of at most 3 MW/m2.
 */
static struct grid grid_of(const struct arguments *arguments)
{
    struct grid g = {.rows = argument_i64(arguments, "rows"),
                     .cols = argument_i64(arguments, "cols"),
                     .steps = argument_i64(arguments, "steps")};
    const double thickness = 0.0005, conductivity = 100, volume_heat = 0.5 * 1.75e6, side = 0.016;
    double height = side / (double)g.rows, width = side / (double)g.cols;
    double capacity = volume_heat * thickness * width * height;
    double x = conductivity * 2 * thickness * height / width;
    double y = conductivity * 2 * thickness * width / height;
    double z = conductivity * width * height / thickness;
    double seconds =
        fmin(0.001 * volume_heat * thickness / 3.0e6, 0.75 * capacity / (2 * x + 2 * y + z));
    g.per_watt = seconds / capacity;
    g.x = x * g.per_watt;
    g.y = y * g.per_watt;
    g.z = z * g.per_watt;
    return g;
}

static bool is_simulated(const struct grid *g)
{
    return g->rows * g->cols <= REFERENCE_CELL_STEPS / (g->steps > 0 ? g->steps : 1);
}

/* Waves along each side of the eigenmode: enough of them that 360 steps halve it at any size. */
static double waves_x(const struct grid *g)
{
    return fmax(1, (double)(g->cols * 3 / 128));
}
static double waves_y(const struct grid *g)
{
    return fmax(1, (double)(g->rows * 5 / 256));
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* A cell of an array in single or double precision. */
static double cell_of(const struct host_array *array, int64_t i)
{
    return array->element == ELEMENT_f64 ? ((const double *)array->data)[i]
                                         : ((const float *)array->data)[i];
}
static void set_cell(struct host_array *array, int64_t i, double value)
{
    if (array->element == ELEMENT_f64)
        ((double *)array->data)[i] = value;
    else
        ((float *)array->data)[i] = (float)value;
}

static void fill_random(const struct grid *g, struct host_array *array, uint64_t seed, double least,
                        double range)
{
    PARALLEL_FOR
    for (int64_t r = 0; r < g->rows; r++) {
        struct random random = {random_split(seed, (uint64_t)r)};
        for (int64_t c = 0; c < g->cols; c++)
            set_cell(array, r * g->cols + c, least + range * random_unit(&random));
    }
}

static int fill_eigenmode(const struct grid *g, struct host_array *array, uint64_t seed,
                          struct error *error)
{
    struct random random = {seed};
    double amplitude = 20 + 20 * random_unit(&random);
    double *along = malloc((size_t)g->cols * sizeof *along);
    if (!along)
        return error_set(error, ERR_HOST_MEMORY, "stencil: no memory for a row of %lld cells",
                         (long long)g->cols);
    for (int64_t c = 0; c < g->cols; c++)
        along[c] = cos(pi * waves_x(g) * ((double)c + 0.5) / (double)g->cols);
    PARALLEL_FOR
    for (int64_t r = 0; r < g->rows; r++) {
        double down = amplitude * cos(pi * waves_y(g) * ((double)r + 0.5) / (double)g->rows);
        for (int64_t c = 0; c < g->cols; c++)
            set_cell(array, r * g->cols + c, ambient + down * along[c]);
    }
    free(along);
    return 0;
}

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    struct grid g = grid_of(arguments);
    bool is_power = strcmp(name, "power") == 0;
    if (is_simulated(&g)) {
        /* The chip's power is the same at every resolution: some 2 kW in all. */
        if (is_power)
            fill_random(&g, array, random_split(seed, 1), 0, 4096.0 / (double)array->count);
        else
            fill_random(&g, array, random_split(seed, 0), 320, 10);
        return 0;
    }
    if (is_power) {
        memset(array->data, 0, array->count * element_bytes(array->element));
        return 0;
    }
    return fill_eigenmode(&g, array, random_split(seed, 0), error);
}

/* ---- reference ----------------------------------------------------------------------------- */

/* The expected temperatures; in `cells` lie the first, in `spare` is room for as many. Returns
 * which of the two holds the result. */
static double *simulate(const struct grid *g, const struct host_array *power, double *cells,
                        double *spare)
{
    const int64_t cols = g->cols;
    for (int64_t step = 0; step < g->steps; step++) {
        PARALLEL_FOR
        for (int64_t r = 0; r < g->rows; r++)
            for (int64_t c = 0; c < cols; c++) {
                const double *t = cells + r * cols + c;
                double change = cell_of(power, r * cols + c) * g->per_watt + (ambient - *t) * g->z;
                if (r > 0)
                    change += (t[-cols] - *t) * g->y;
                if (r + 1 < g->rows)
                    change += (t[cols] - *t) * g->y;
                if (c > 0)
                    change += (t[-1] - *t) * g->x;
                if (c + 1 < cols)
                    change += (t[1] - *t) * g->x;
                spare[r * cols + c] = *t + change;
            }
        double *next = spare;
        spare = cells;
        cells = next;
    }
    return cells;
}

/* The factor by which the eigenmode has shrunk after all steps. */
static double decay(const struct grid *g)
{
    double bend_x = 2 - 2 * cos(pi * waves_x(g) / (double)g->cols);
    double bend_y = 2 - 2 * cos(pi * waves_y(g) / (double)g->rows);
    return pow(1 - g->x * bend_x - g->y * bend_y - g->z, (double)g->steps);
}

/* Compares a cell and keeps the larger error; false where it is too large. */
static bool is_near(double got, double expected, double *worst)
{
    double off = fabs(got - expected) / fabs(expected);
    if (off > *worst)
        *worst = off;
    return off <= TOLERANCE; /* also false for NaN */
}

static int wrong_cell(const struct grid *g, int64_t cell, double got, double expected,
                      struct error *error)
{
    return error_set(error, ERR_WRONG, "stencil: cell [%lld, %lld] is %.9g, expected %.9g",
                     (long long)(cell / g->cols), (long long)(cell % g->cols), got, expected);
}

static int check_simulated(const struct grid *g, const struct host_array *temp,
                           const struct host_array *power, const struct host_array *result,
                           double *worst, struct error *error)
{
    int64_t count = g->rows * g->cols;
    double *cells = malloc((size_t)count * 2 * sizeof *cells);
    if (!cells)
        return error_set(error, ERR_HOST_MEMORY,
                         "stencil: no memory for the reference's %lld cells",
                         (long long)(2 * count));
    for (int64_t i = 0; i < count; i++)
        cells[i] = cell_of(temp, i);
    const double *expected = simulate(g, power, cells, cells + count);
    int code = 0;
    for (int64_t i = 0; i < count && !code; i++)
        if (!is_near(cell_of(result, i), expected[i], worst))
            code = wrong_cell(g, i, cell_of(result, i), expected[i], error);
    free(cells);
    return code;
}

static int check_eigenmode(const struct grid *g, const struct host_array *temp,
                           const struct host_array *result, double *worst, struct error *error)
{
    double left = decay(g);
    for (int64_t i = 0; i < g->rows * g->cols; i++) {
        double expected = ambient + left * (cell_of(temp, i) - ambient);
        if (!is_near(cell_of(result, i), expected, worst))
            return wrong_cell(g, i, cell_of(result, i), expected, error);
    }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    struct grid g = grid_of(arguments);
    const struct host_array *temp = &argument(arguments, "temp")->array;
    const struct host_array *power = &argument(arguments, "power")->array;
    *worst_error = 0;
    if (result_count != 1 || results[0].count != (size_t)(g.rows * g.cols))
        return error_set(error, ERR_WRONG,
                         "stencil: %zu results, expected one of %lld x %lld cells", result_count,
                         (long long)g.rows, (long long)g.cols);
    if (is_simulated(&g))
        return check_simulated(&g, temp, power, &results[0], worst_error, error);
    return check_eigenmode(&g, temp, &results[0], worst_error, error);
}

const struct workload workload_stencil = {.fill = fill, .check = check};
