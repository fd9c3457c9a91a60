/* Reference prices: one option's grid in double precision, its systems eliminated from the other
 * end.
 *
 * The equation is linear in its initial values, and otherwise the same for all options. So
 * the weighted sum of all their prices is the solution that starts from the weighted sum of their
 * payoffs: one more grid checks every element of every option. The first, the middle and the last
 * option are also solved by themselves.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
#endif

/* Relative to the price, or to the sum of the weighted prices, plus the spot; times the root of
 * steps x the longest system. Rounding errors add up at random over steps, and more of them where
 * the grid is fine: its variance is then up to 10^9 times the square of a cell's width. Seen were
 * 3e-7 and less. */
static const double TOLERANCE = 1e-6;
static const double SPOT = 0.03;

struct market {
    int64_t options, nx, ny, steps;
    double drift_x, drift_y;
    double x0, dx, y0, dy, rate;
    double tolerance;
};

static struct market market_of(const struct arguments *arguments)
{
    struct market m = {.options = argument_i64(arguments, "outer"),
                       .nx = argument_i64(arguments, "num_x"),
                       .ny = argument_i64(arguments, "num_y"),
                       .steps = argument_i64(arguments, "steps"),
                       .drift_x = argument_f64(arguments, "drift_x"),
                       .drift_y = argument_f64(arguments, "drift_y")};
    const double years = 5, alpha = 0.2, nu = 0.6;
    m.dx = 20 * alpha * SPOT * sqrt(years) / (double)m.nx;
    m.dy = 10 * nu * sqrt(years) / (double)m.ny;
    m.x0 = SPOT - floor(SPOT / m.dx) * m.dx;
    m.y0 = log(alpha) - (double)(m.ny / 2) * m.dy;
    m.rate = (double)m.steps / years;
    m.tolerance = TOLERANCE * sqrt((double)(m.steps * (m.nx > m.ny ? m.nx : m.ny)));
    return m;
}

static double payoff(const struct market *m, int64_t option, int64_t i)
{
    return fmax(m->x0 + (double)i * m->dx - 0.001 * (double)option, 0);
}

/* The generator at one point of a line: the factors of the value before, here and after. */
struct row {
    double before, here, after;
};

static struct row generator(int64_t i, int64_t count, double drift, double variance, double width)
{
    if (i == 0 || i == count - 1)
        return (struct row){0};
    double bend = variance / 2 / (width * width), slope = drift / 2 / width;
    return (struct row){bend - slope, -2 * bend, bend + slope};
}

static double variance_x(const struct market *m, int64_t i, int64_t j, double time)
{
    const double nu = 0.6, beta = 0.5;
    double x = m->x0 + (double)i * m->dx, y = m->y0 + (double)j * m->dy;
    return x > 0 ? exp(2 * (beta * log(x) + y - 0.5 * nu * nu * time)) : 0;
}

static struct row row_x(const struct market *m, int64_t i, int64_t j, double time)
{
    return generator(i, m->nx, m->drift_x, variance_x(m, i, j, time), m->dx);
}

static struct row row_y(const struct market *m, int64_t j)
{
    return generator(j, m->ny, m->drift_y, 0.6 * 0.6, m->dy);
}

/* Applies the generator to the value at v, whose neighbours in its line are `stride` apart. */
static double apply(struct row row, const double *v, int64_t stride)
{
    if (row.here == 0 && row.before == 0 && row.after == 0)
        return 0;
    return row.before * v[-stride] + row.here * v[0] + row.after * v[stride];
}

/* Solves (rate - generator / 2) v = v in place. rows[] is overwritten with what the elimination
 * from the last unknown on leaves. */
static void solve(struct row *rows, int64_t count, double rate, double *v, int64_t stride)
{
    double lower = 0, right = 0;
    for (int64_t i = count; i-- > 0;) {
        double after = -rows[i].after / 2;
        double pivot = rate - rows[i].here / 2 - after * lower;
        right = (v[i * stride] - after * right) / pivot;
        lower = -rows[i].before / 2 / pivot;
        v[i * stride] = right;
        rows[i].before = lower;
    }
    for (int64_t i = 1; i < count; i++)
        v[i * stride] -= rows[i].before * v[(i - 1) * stride];
}

/* Room for one grid's solution: [nx][ny] each, and rows for the longest line. */
struct grid {
    double *v, *right, *across;
    struct row *rows;
};

static void step_back(const struct market *m, double time, struct grid *g)
{
    for (int64_t i = 0; i < m->nx; i++)
        for (int64_t j = 0; j < m->ny; j++) {
            const double *here = g->v + i * m->ny + j;
            double across = apply(row_y(m, j), here, 1);
            g->across[i * m->ny + j] = across;
            g->right[i * m->ny + j] =
                m->rate * *here + apply(row_x(m, i, j, time), here, m->ny) / 2 + across;
        }
    for (int64_t j = 0; j < m->ny; j++) {
        for (int64_t i = 0; i < m->nx; i++)
            g->rows[i] = row_x(m, i, j, time);
        solve(g->rows, m->nx, m->rate, g->right + j, m->ny);
    }
    for (int64_t i = 0; i < m->nx; i++) {
        double *line = g->v + i * m->ny;
        for (int64_t j = 0; j < m->ny; j++) {
            line[j] = m->rate * g->right[i * m->ny + j] - g->across[i * m->ny + j] / 2;
            g->rows[j] = row_y(m, j);
        }
        solve(g->rows, m->ny, m->rate, line, 1);
    }
}

/* Takes g->v from the payoff at the end to the price today. */
static void solve_back(const struct market *m, struct grid *g)
{
    for (int64_t s = m->steps; s-- > 0;)
        step_back(m, 5.0 * (double)s / (double)m->steps, g);
}

/* ---- comparison ---------------------------------------------------------------------------- */

static int compare(const struct market *m, double got, double expected, double size,
                   const char *what, int64_t i, int64_t j, double *worst, struct error *error)
{
    double off = fabs(got - expected) / (size + SPOT);
    if (!(off <= m->tolerance))
        return error_set(error, ERR_WRONG, "locvolcalib: %s at [%lld, %lld] is %.9g, expected %.9g",
                         what, (long long)i, (long long)j, got, expected);
    *worst = off > *worst ? off : *worst;
    return 0;
}

static int check_option(const struct market *m, int64_t option, const float *prices, struct grid *g,
                        double *worst, struct error *error)
{
    char what[40];
    snprintf(what, sizeof what, "price %lld", (long long)option);
    for (int64_t i = 0; i < m->nx * m->ny; i++)
        g->v[i] = payoff(m, option, i / m->ny);
    solve_back(m, g);
    const float *got = prices + option * m->nx * m->ny;
    int code = 0;
    for (int64_t i = 0; i < m->nx * m->ny && !code; i++)
        code = compare(m, got[i], g->v[i], fabs(g->v[i]), what, i / m->ny, i % m->ny, worst, error);
    return code;
}

/* Values from 1/2 to 1, of either sign. */
static double weight(int64_t option)
{
    uint64_t bits = random_split(17, (uint64_t)option);
    return (0.5 + 0.5 * (double)(bits >> 12) * 0x1p-52) * (bits & 1 ? 1 : -1);
}

static int check_sum(const struct market *m, const float *prices, struct grid *g, double *worst,
                     struct error *error)
{
    int64_t cells = m->nx * m->ny;
    for (int64_t i = 0; i < m->nx; i++) {
        double sum = 0;
        for (int64_t o = 0; o < m->options; o++)
            sum += weight(o) * payoff(m, o, i);
        for (int64_t j = 0; j < m->ny; j++)
            g->v[i * m->ny + j] = sum;
    }
    solve_back(m, g);
    /* right: the sum of the program's prices; across: of their sizes. */
    PARALLEL_FOR
    for (int64_t i = 0; i < m->nx; i++) {
        double *sum = g->right + i * m->ny, *size = g->across + i * m->ny;
        for (int64_t j = 0; j < m->ny; j++)
            sum[j] = size[j] = 0;
        for (int64_t o = 0; o < m->options; o++) {
            const float *line = prices + o * cells + i * m->ny;
            for (int64_t j = 0; j < m->ny; j++) {
                sum[j] += weight(o) * line[j];
                size[j] += fabs(weight(o) * line[j]);
            }
        }
    }
    int code = 0;
    for (int64_t i = 0; i < cells && !code; i++)
        code = compare(m, g->right[i], g->v[i], g->across[i], "the weighted sum of prices",
                       i / m->ny, i % m->ny, worst, error);
    return code;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    struct market m = market_of(arguments);
    size_t cells = (size_t)(m.nx * m.ny);
    *worst_error = 0;
    if (result_count != 1 || results[0].count != cells * (size_t)m.options)
        return error_set(error, ERR_WRONG, "locvolcalib: expected one result of %zu prices",
                         cells * (size_t)m.options);
    int64_t longest = m.nx > m.ny ? m.nx : m.ny;
    struct grid g = {.v = malloc(3 * cells * sizeof *g.v),
                     .rows = malloc((size_t)longest * sizeof *g.rows)};
    int code = 0;
    if (g.v && g.rows) {
        g.right = g.v + cells;
        g.across = g.right + cells;
        const int64_t alone[] = {0, m.options / 2, m.options - 1};
        for (int i = 0; i < 3 && !code; i++)
            code = check_option(&m, alone[i], results[0].data, &g, worst_error, error);
        THEN(code, check_sum(&m, results[0].data, &g, worst_error, error));
    } else {
        code = error_set(error, ERR_HOST_MEMORY, "locvolcalib: no memory for a grid of %zu cells",
                         cells);
    }
    free(g.v);
    free(g.rows);
    return code;
}

const struct workload workload_locvolcalib = {.check = check};
