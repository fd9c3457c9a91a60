/* Inputs and reference of fluid.mem.
 *
 * The reference is the same scheme in double, with one function for each of Stam's steps: cells
 * between the walls first, then the walls. Inputs are sums of a few long waves: the place that
 * smoke comes from is off by some 1e-7 of the side in single precision, which must not change the
 * smoke much.
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

enum { WAVES = 3, FIELDS = 3 };

static const double pi = 3.14159265358979323846;

/* Relative to the largest value of a field. The place that flow comes from is a number of up to
 * `side`, off in single precision by up to 6e-8 of it in each of two multiplications, and next to a
 * wall velocity turns round within one cell. Measured: 7e-7 on 18 cells a side, 1.3e-5 on 1026,
 * 5.4e-5 on 4098. */
static double tolerance(int64_t side)
{
    return 2e-5 + 1e-7 * (double)side;
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* The wave of number k with its phase, at cell i of side. */
static double wave(int k, double phase, int64_t i, int64_t side)
{
    return cos(2 * pi * (k * (double)i / (double)side + phase));
}

/* Velocities of up to 1 either way, the side being 1 long; density from 0 to 1. */
static int fill_field(struct host_array *array, double middle, double amplitude, uint64_t seed,
                      struct error *error)
{
    const int64_t side = array->shape[0];
    double *along = malloc((size_t)side * WAVES * sizeof *along);
    if (!along)
        return error_set(error, ERR_HOST_MEMORY, "fluid: no memory for rows of %lld cells",
                         (long long)side);
    struct random random = {seed};
    double phase[WAVES], height[WAVES];
    for (int k = 0; k < WAVES; k++) {
        phase[k] = random_unit(&random);
        height[k] = amplitude * (0.5 + 0.5 * random_unit(&random)) / WAVES;
        double turned = random_unit(&random);
        for (int64_t j = 0; j < side; j++)
            along[k * side + j] = wave(WAVES - k, turned, j, side);
    }
    float *cells = array->data;
    PARALLEL_FOR
    for (int64_t i = 0; i < side; i++) {
        double down[WAVES];
        for (int k = 0; k < WAVES; k++)
            down[k] = height[k] * wave(k + 1, phase[k], i, side);
        for (int64_t j = 0; j < side; j++) {
            double sum = middle;
            for (int k = 0; k < WAVES; k++)
                sum += down[k] * along[k * side + j];
            cells[i * side + j] = (float)sum;
        }
    }
    free(along);
    return 0;
}

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    (void)arguments;
    if (strcmp(name, "u0") == 0 || strcmp(name, "v0") == 0)
        return fill_field(array, 0, 1, seed, error);
    if (strcmp(name, "d0") == 0)
        return fill_field(array, 0.5, 0.5, seed, error);
    return error_set(error, ERR_NOT_FOUND, "fluid: the program has no array named '%s'", name);
}

/* ---- reference ----------------------------------------------------------------------------- */

/* The change of a field at walls: MIRROR_ROWS is for the velocity down, which stops at rows 0 and
 * last. */
enum wall { CONTINUE, MIRROR_ROWS, MIRROR_COLUMNS };

struct fluid {
    int64_t side, solver_steps;
    double dt, diffusion, viscosity;
    double *u, *v, *d;
    double *spare[5];
};

static void set_walls(int64_t side, double *x, enum wall wall)
{
    const int64_t last = side - 1;
    double rows = wall == MIRROR_ROWS ? -1 : 1, columns = wall == MIRROR_COLUMNS ? -1 : 1;
    for (int64_t k = 1; k < last; k++) {
        x[k] = rows * x[side + k];
        x[last * side + k] = rows * x[(last - 1) * side + k];
        x[k * side] = columns * x[k * side + 1];
        x[k * side + last] = columns * x[k * side + last - 1];
    }
    x[0] = (x[1] + x[side]) / 2;
    x[last] = (x[last - 1] + x[side + last]) / 2;
    x[last * side] = (x[last * side + 1] + x[(last - 1) * side]) / 2;
    x[last * side + last] = (x[last * side + last - 1] + x[(last - 1) * side + last]) / 2;
}

/* Takes f->solver_steps Jacobi steps towards diagonal * x - a * (the sum of x's neighbours) = b.
 * Returns the one of x and y that holds the result. */
static double *solve(const struct fluid *f, const double *b, double a, double diagonal,
                     enum wall wall, double *x, double *y)
{
    const int64_t side = f->side;
    memset(x, 0, (size_t)(side * side) * sizeof *x);
    for (int64_t s = 0; s < f->solver_steps; s++) {
        PARALLEL_FOR
        for (int64_t i = 1; i < side - 1; i++)
            for (int64_t c = i * side + 1; c < i * side + side - 1; c++)
                y[c] = (b[c] + a * (x[c - side] + x[c + side] + x[c - 1] + x[c + 1])) / diagonal;
        set_walls(side, y, wall);
        double *next = y;
        y = x;
        x = next;
    }
    return x;
}

static void diffuse(struct fluid *f, double **x, double rate, enum wall wall)
{
    double cells = (double)(f->side - 2), a = f->dt * rate * cells * cells;
    double *result = solve(f, *x, a, 1 + 4 * a, wall, f->spare[0], f->spare[1]);
    if (result == f->spare[0])
        f->spare[0] = *x;
    else
        f->spare[1] = *x;
    *x = result;
}

/* Takes the gradient out of the velocity that makes it diverge. */
static void project(struct fluid *f)
{
    const int64_t side = f->side;
    double *u = f->u, *v = f->v, *divergence = f->spare[2], cells = (double)(side - 2);
    PARALLEL_FOR
    for (int64_t i = 1; i < side - 1; i++)
        for (int64_t c = i * side + 1; c < i * side + side - 1; c++)
            divergence[c] = -(u[c + side] - u[c - side] + v[c + 1] - v[c - 1]) / (2 * cells);
    const double *p = solve(f, divergence, 1, 4, CONTINUE, f->spare[0], f->spare[1]);
    PARALLEL_FOR
    for (int64_t i = 1; i < side - 1; i++)
        for (int64_t c = i * side + 1; c < i * side + side - 1; c++) {
            u[c] -= cells * (p[c + side] - p[c - side]) / 2;
            v[c] -= cells * (p[c + 1] - p[c - 1]) / 2;
        }
    set_walls(side, u, MIRROR_ROWS);
    set_walls(side, v, MIRROR_COLUMNS);
}

/* The value of field x at a place, interpolated from the four cells around it. */
static double carried(const struct fluid *f, const double *x, double row, double column)
{
    double end = (double)f->side - 1.5;
    row = fmin(fmax(row, 0.5), end);
    column = fmin(fmax(column, 0.5), end);
    int64_t i = (int64_t)row, j = (int64_t)column;
    double lower = row - (double)i, right = column - (double)j;
    const double *at = x + i * f->side + j;
    return (1 - lower) * ((1 - right) * at[0] + right * at[1]) +
           lower * ((1 - right) * at[f->side] + right * at[f->side + 1]);
}

static void advect(const struct fluid *f, const double *x, const double *u, const double *v,
                   enum wall wall, double *result)
{
    const int64_t side = f->side;
    double cells = f->dt * (double)(side - 2);
    PARALLEL_FOR
    for (int64_t i = 1; i < side - 1; i++)
        for (int64_t j = 1; j < side - 1; j++) {
            int64_t c = i * side + j;
            result[c] = carried(f, x, (double)i - cells * u[c], (double)j - cells * v[c]);
        }
    set_walls(side, result, wall);
}

static void exchange(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

/* Density moves with the velocity from before the step. */
static void step(struct fluid *f)
{
    diffuse(f, &f->d, f->diffusion, CONTINUE);
    advect(f, f->d, f->u, f->v, CONTINUE, f->spare[3]);
    exchange(&f->d, &f->spare[3]);
    diffuse(f, &f->u, f->viscosity, MIRROR_ROWS);
    diffuse(f, &f->v, f->viscosity, MIRROR_COLUMNS);
    project(f);
    advect(f, f->u, f->u, f->v, MIRROR_ROWS, f->spare[3]);
    advect(f, f->v, f->u, f->v, MIRROR_COLUMNS, f->spare[4]);
    exchange(&f->u, &f->spare[3]);
    exchange(&f->v, &f->spare[4]);
    project(f);
}

/* Largest size in a field, for the errors to be relative to; never 0. */
static double largest(const double *x, int64_t count)
{
    double most = 0;
    for (int64_t c = 0; c < count; c++)
        most = fmax(most, fabs(x[c]));
    return most > 0 ? most : 1;
}

static int compare(const struct fluid *f, const char *name, const double *expected,
                   const float *got, double *worst, struct error *error)
{
    double scale = largest(expected, f->side * f->side);
    for (int64_t c = 0; c < f->side * f->side; c++) {
        double off = fabs(got[c] - expected[c]) / scale;
        if (!(off <= *worst))
            *worst = off;
        if (!(off <= tolerance(f->side))) /* also for NaN */
            return error_set(error, ERR_WRONG,
                             "fluid: %s[%lld, %lld] is %.9g, expected %.9g; the field's largest "
                             "value is %.3g",
                             name, (long long)(c / f->side), (long long)(c % f->side),
                             (double)got[c], expected[c], scale);
    }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    static const char *const inputs[FIELDS] = {"u0", "v0", "d0"};
    struct fluid f = {.side = argument_i64(arguments, "side"),
                      .solver_steps = argument_i64(arguments, "solver_steps"),
                      .dt = argument_f64(arguments, "dt"),
                      .diffusion = argument_f64(arguments, "diffusion"),
                      .viscosity = argument_f64(arguments, "viscosity")};
    size_t count = (size_t)(f.side * f.side);
    *worst_error = 0;
    for (size_t r = 0; r < FIELDS; r++)
        if (result_count != FIELDS || results[r].count != count)
            return error_set(error, ERR_WRONG, "fluid: expected three results of %lld x %lld cells",
                             (long long)f.side, (long long)f.side);
    double *memory = calloc(8 * count, sizeof *memory);
    if (!memory)
        return error_set(error, ERR_HOST_MEMORY, "fluid: no memory for a reference of %zu cells",
                         8 * count);
    double **fields[FIELDS] = {&f.u, &f.v, &f.d};
    for (size_t r = 0; r < FIELDS; r++) {
        const float *first = argument(arguments, inputs[r])->array.data;
        *fields[r] = memory + r * count;
        for (size_t c = 0; c < count; c++)
            (*fields[r])[c] = first[c];
    }
    for (size_t i = 0; i < 5; i++)
        f.spare[i] = memory + (FIELDS + i) * count;
    for (int64_t i = 0; i < argument_i64(arguments, "steps"); i++)
        step(&f);
    int code = compare(&f, "u", f.u, results[0].data, worst_error, error);
    THEN(code, compare(&f, "v", f.v, results[1].data, worst_error, error));
    THEN(code, compare(&f, "d", f.d, results[2].data, worst_error, error));
    free(memory);
    return code;
}

const struct workload workload_fluid = {.fill = fill, .check = check};
