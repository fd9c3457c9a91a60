/* Cells and a reference in double precision, variable by variable. Cells repeat, so that the
 * reference computes only some of many; the period is a prime, so that a program that mixes up
 * lanes gives other results. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

enum { PERIOD = 251, PARAMS = 16, STAGES = 13 };

/* Variables stay around 1; a step's rounding errors are damped. */
static const double TOLERANCE = 1e-5;

static int64_t cells_of(const struct arguments *arguments)
{
    return strcmp(arguments->fun, "myocyte_like_cpu") == 0 ? 1 : argument_i64(arguments, "cells");
}

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    int64_t vars = argument_i64(arguments, "vars"), cells = cells_of(arguments);
    float *values = array->data;
    (void)error;
    for (int64_t c = 0; c < cells; c++) {
        uint64_t cell_seed = random_split(seed, (uint64_t)(c % PERIOD));
        if (strcmp(name, "initial") == 0) {
            struct random random = {random_split(cell_seed, 0)};
            for (int64_t v = 0; v < vars; v++)
                values[c * vars + v] = (float)(2 * random_unit(&random) - 1);
        } else {
            struct random random = {random_split(cell_seed, 1)};
            for (int p = 0; p < PARAMS; p++)
                values[p * cells + c] = (float)random_unit(&random);
        }
    }
    return 0;
}

/* ---- reference ----------------------------------------------------------------------------- */

/* Fehlberg's coefficients of order 8, and the weights of the result. */
static const double shares[STAGES + 1][STAGES] = {
    /* clang-format off */
    {0},
    {2. / 27},
    {1. / 36, 1. / 12},
    {1. / 24, 0, 1. / 8},
    {5. / 12, 0, -25. / 16, 25. / 16},
    {1. / 20, 0, 0, 1. / 4, 1. / 5},
    {-25. / 108, 0, 0, 125. / 108, -65. / 27, 125. / 54},
    {31. / 300, 0, 0, 0, 61. / 225, -2. / 9, 13. / 900},
    {2, 0, 0, -53. / 6, 704. / 45, -107. / 9, 67. / 90, 3},
    {-91. / 108, 0, 0, 23. / 108, -976. / 135, 311. / 54, -19. / 60, 17. / 6, -1. / 12},
    {2383. / 4100, 0, 0, -341. / 164, 4496. / 1025, -301. / 82, 2133. / 4100, 45. / 82, 45. / 164, 18. / 41},
    {3. / 205, 0, 0, 0, 0, -6. / 41, -3. / 205, -3. / 41, 3. / 41, 6. / 41},
    {-1777. / 4100, 0, 0, -341. / 164, 4496. / 1025, -289. / 82, 2193. / 4100, 51. / 82, 33. / 164, 12. / 41, 0, 1},
    {0, 0, 0, 0, 0, 34. / 105, 9. / 35, 9. / 35, 9. / 280, 9. / 280, 0, 41. / 840, 41. / 840},
    /* clang-format on */
};

struct cell {
    int64_t vars;
    double params[PARAMS];
    double *state, *speed, *trial, *slopes[STAGES]; /* [vars] each */
};

static double logistic(double x)
{
    return 0.5 + 0.5 * tanh(x / 2);
}

/* The force on variable x, given the driving variable and the one before. */
static double pull_of(double x, double first, double before, double threshold)
{
    double open = logistic(4 * (first - threshold)), lift = logistic(2 * before);
    double size = sqrt(1 + x * x), full = (1 - 1 / (size * size)) / size, keep = x / size;
    double gain = open * (1 - x), loss = (1 - open) * x, flow = (before - x) * lift;
    double swing = cos(first) * (1 - x), load = lift * open;

    double p[] = {gain - loss, flow + 0.1 * full, 0.2 * swing, keep * load,
                  full - keep, load / 2,          gain * flow, loss * swing};
    double q[] = {p[0] + 0.1 * p[6], p[1] - 0.1 * p[7], p[2] * p[5], p[3] + 0.1 * p[4],
                  p[4] * p[5],       p[5] - p[3],       p[6] + p[7]};
    double r[] = {q[0] + 0.05 * q[4], q[1] + 0.1 * q[1] * q[5],
                  q[2] - 0.05 * q[3], 0.3 * q[3],
                  0.2 * q[4],         q[5] * q[6],
                  q[6] - q[4],        q[0] * q[1]};
    return r[0] + 0.1 * r[7] + 0.7 * r[1] + r[4] + r[2] + r[3] + 0.2 * r[5] + 0.1 * r[6];
}

static void set_speeds(struct cell *c)
{
    double factor = c->params[0] > 0.5 ? 4 : 1;
    for (int64_t v = 0; v < c->vars; v++)
        c->speed[v] = isfinite(c->params[1])
                          ? factor * (0.5 + c->params[v % PARAMS]) / (1 + fabs(c->state[v]))
                          : 0;
}

static void step(struct cell *c, double length)
{
    for (int stage = 0; stage <= STAGES; stage++) {
        double *to = stage < STAGES ? c->trial : c->state;
        for (int64_t v = 0; v < c->vars; v++) {
            double sum = 0;
            for (int k = 0; k < stage && k < STAGES; k++)
                if (shares[stage][k] != 0)
                    sum += shares[stage][k] * c->slopes[k][v];
            to[v] = c->state[v] + length * sum;
        }
        if (stage == STAGES)
            return;
        for (int64_t v = 0; v < c->vars; v++) {
            double before = c->trial[v > 0 ? v - 1 : c->vars - 1];
            double threshold = c->params[v % PARAMS] - 0.5;
            c->slopes[stage][v] = c->speed[v] == 0 ? 0
                                                   : c->speed[v] * pull_of(c->trial[v], c->trial[0],
                                                                           before, threshold);
        }
    }
}

/* Computes the cells that may differ; `final`, [cells][vars], receives their last states. */
static int simulate(const struct arguments *arguments, int64_t distinct, double *final,
                    struct error *error)
{
    const float *initial = argument(arguments, "initial")->array.data;
    const float *params = argument(arguments, "params")->array.data;
    int64_t cells = cells_of(arguments);
    struct cell c = {.vars = argument_i64(arguments, "vars")};
    c.speed = malloc((size_t)c.vars * (2 + STAGES) * sizeof *c.speed);
    if (!c.speed)
        return error_set(error, ERR_HOST_MEMORY, "myocyte_like: no memory for a cell");
    c.trial = c.speed + c.vars;
    for (int k = 0; k < STAGES; k++)
        c.slopes[k] = c.trial + (k + 1) * c.vars;
    for (int64_t i = 0; i < distinct; i++) {
        c.state = final + i * c.vars;
        for (int p = 0; p < PARAMS; p++)
            c.params[p] = params[p * cells + i];
        for (int64_t v = 0; v < c.vars; v++)
            c.state[v] = initial[i * c.vars + v];
        set_speeds(&c);
        for (int64_t s = argument_i64(arguments, "steps"); s > 0; s--)
            step(&c, argument_f64(arguments, "step"));
    }
    free(c.speed);
    return 0;
}

static int compare(const float *got, const double *expected, int64_t cells, int64_t vars,
                   double *worst, struct error *error)
{
    for (int64_t c = 0; c < cells; c++)
        for (int64_t v = 0; v < vars; v++) {
            double value = got[c * vars + v], right = expected[c % PERIOD * vars + v];
            double off = fabs(value - right) / (1 + fabs(right));
            if (!(off <= TOLERANCE))
                return error_set(error, ERR_WRONG,
                                 "myocyte_like: final[%lld, %lld] is %.9g, expected %.9g",
                                 (long long)c, (long long)v, value, right);
            *worst = off > *worst ? off : *worst;
        }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    int64_t cells = cells_of(arguments), vars = argument_i64(arguments, "vars");
    int64_t distinct = cells < PERIOD ? cells : PERIOD;
    *worst_error = 0;
    if (result_count != 1 || results[0].count != (size_t)(cells * vars))
        return error_set(error, ERR_WRONG, "myocyte_like: expected one result of %lld variables",
                         (long long)(cells * vars));
    double *expected = malloc((size_t)(distinct * vars) * sizeof *expected);
    if (!expected)
        return error_set(error, ERR_HOST_MEMORY, "myocyte_like: no memory for %lld cells",
                         (long long)distinct);
    int code = simulate(arguments, distinct, expected, error);
    THEN(code, compare(results[0].data, expected, cells, vars, worst_error, error));
    free(expected);
    return code;
}

const struct workload workload_myocyte_like = {.fill = fill, .check = check};
