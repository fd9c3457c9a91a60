/* Inputs and references of thesis.mem. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

/* ---- canny ---------------------------------------------------------------------------------- */

/* Noise: about a fifth of its pixels are steeper than their neighbours on both sides. */
static void fill_pixels(struct host_array *array, uint64_t seed)
{
    int32_t *pixels = array->data;
    size_t columns = (size_t)array->shape[1];
    for (size_t r = 0; r < (size_t)array->shape[0]; r++) {
        uint64_t row = random_split(seed, r);
        for (size_t c = 0; c < columns; c++)
            pixels[r * columns + c] = (int32_t)(random_split(row, c) & 0xffffff);
    }
}

/* An image whose border is continued outside. */
struct image {
    int64_t h, w;
    const int32_t *pixels;
};

static int clamp(int64_t v, int64_t end)
{
    return (int)(v < 0 ? 0 : v >= end ? end - 1 : v);
}

static int grey_at(const struct image *g, int64_t r, int64_t c)
{
    uint32_t p = (uint32_t)g->pixels[clamp(r, g->h) * g->w + clamp(c, g->w)];
    return (int)((77 * (p % 256) + 150 * (p / 256 % 256) + 29 * (p / 65536 % 256)) / 16);
}

/* Blurs pixel by pixel, along the row first, as the program does in two steps over the image. */
static int smooth_at(const struct image *g, int64_t r, int64_t c)
{
    int rows[3];
    for (int d = -1; d <= 1; d++) {
        int64_t row = clamp(clamp(r, g->h) + d, g->h), column = clamp(c, g->w);
        rows[d + 1] = (grey_at(g, row, column - 1) + 2 * grey_at(g, row, column) +
                       grey_at(g, row, column + 1)) /
                      4;
    }
    return (rows[0] + 2 * rows[1] + rows[2]) / 4;
}

/* The squared gradient and its direction, as a step to the pixel before it on its line. */
static int gradient_at(const int32_t *smooth, const struct image *g, int64_t r, int64_t c,
                       int step[2])
{
#define AT(row, column) smooth[clamp(row, g->h) * g->w + clamp(column, g->w)]
    int dx = AT(r, c + 1) - AT(r, c - 1);
    int dy = AT(r + 1, c) - AT(r - 1, c);
#undef AT
    step[0] = step[1] = 1;
    if (5 * abs(dy) < 2 * abs(dx))
        step[0] = 0;
    else if (5 * abs(dx) < 2 * abs(dy))
        step[1] = 0;
    else if ((dx < 0) != (dy < 0))
        step[0] = -1;
    return (dx * dx + dy * dy) / 16;
}

/* The expected list, of at most `most` entries; returns how many. */
static int64_t list_edges(const struct image *g, int32_t low, int32_t high, int64_t most,
                          int32_t *list)
{
    int32_t *smooth = malloc((size_t)(g->h * g->w) * sizeof *smooth);
    int64_t count = 0;
    if (!smooth)
        return -1;
    for (int64_t r = 0; r < g->h; r++)
        for (int64_t c = 0; c < g->w; c++)
            smooth[r * g->w + c] = smooth_at(g, r, c);
    for (int64_t i = 0; i < g->h * g->w && count < most; i++) {
        int64_t r = i / g->w, c = i % g->w;
        int step[2], unused[2];
        int here = gradient_at(smooth, g, r, c, step);
        if (here < high || here < low)
            continue;
        int64_t r1 = clamp(r + step[0], g->h), r2 = clamp(r - step[0], g->h);
        int64_t c1 = clamp(c + step[1], g->w), c2 = clamp(c - step[1], g->w);
        if (here >= gradient_at(smooth, g, r1, c1, unused) &&
            here >= gradient_at(smooth, g, r2, c2, unused))
            list[count++] = (int32_t)i;
    }
    free(smooth);
    return count;
}

static int check_canny(const struct arguments *arguments, const struct host_array *result,
                       struct error *error)
{
    const struct image g = {argument_i64(arguments, "h"), argument_i64(arguments, "w"),
                            argument(arguments, "pixels")->array.data};
    int64_t most = argument_i64(arguments, "edges");
    int32_t *expected = malloc((size_t)(most + 1) * sizeof *expected);
    int64_t count = -1;
    if (expected)
        count = list_edges(&g, argument(arguments, "low")->scalar.i32,
                           argument(arguments, "high")->scalar.i32, most, expected);
    int code = 0;
    if (count < 0)
        code = error_set(error, ERR_HOST_MEMORY, "thesis: no memory for the reference");
    else if (result->count != (size_t)count)
        code = error_set(error, ERR_WRONG, "the list has %zu entries, expected %lld", result->count,
                         (long long)count);
    const int32_t *list = result->data;
    for (int64_t i = 0; i < count && !code; i++)
        if (list[i] != expected[i])
            code = error_set(error, ERR_WRONG, "entry %lld of the list is %d, expected %d",
                             (long long)i, list[i], expected[i]);
    free(expected);
    return code;
}

/* ---- stencil_3d ----------------------------------------------------------------------------- */

/* Sums of positive numbers: each of 8 steps rounds by no more than 8 times 6e-8. */
static const double STENCIL_TOLERANCE = 1e-5;

/* All positive, so that nothing cancels out. */
static void fill_plane(struct host_array *array, uint64_t seed)
{
    float *plane = array->data;
    for (int64_t j = 0; j < array->shape[0]; j++) {
        struct random random = {random_split(seed, (uint64_t)j)};
        for (int64_t k = 0; k < array->shape[1]; k++)
            plane[j * array->shape[1] + k] = (float)(0.5 + random_unit(&random));
    }
}

struct grid {
    int64_t planes, ny, nz;
};

/* One step from `a` to `b`, which agree at the border. */
static void step_grid(const struct grid *g, const double *a, double *b)
{
    const int64_t row = g->nz, area = g->ny * g->nz;
    for (int64_t i = 1; i + 1 < g->planes; i++)
        for (int64_t j = 1; j + 1 < g->ny; j++)
            for (int64_t k = 1; k + 1 < g->nz; k++) {
                const int64_t c = i * area + j * row + k;
                b[c] = a[c] / 6 +
                       (a[c - 1] + a[c + 1] + a[c - row] + a[c + row] + a[c - area] + a[c + area]) /
                           36;
            }
}

static int compare_plane(const char *what, const struct host_array *result, const double *expected,
                         double tolerance, double *worst, struct error *error)
{
    const float *got = result->data;
    for (size_t c = 0; c < result->count; c++) {
        const double off = fabs(got[c] / expected[c] - 1);
        if (!(off <= tolerance)) /* also for NaN */
            return error_set(error, ERR_WRONG, "%s: element %zu is %.7g, expected %.7g", what, c,
                             got[c], expected[c]);
        *worst = fmax(*worst, off);
    }
    return 0;
}

/* In double precision. Plane 1 depends on no plane beyond steps + 1, so further ones are left out:
 * what is wrong for lack of them comes one plane closer in each step. */
static int check_stencil(const struct arguments *arguments, const struct host_array *results,
                         double *worst, struct error *error)
{
    const float *plane = argument(arguments, "plane")->array.data;
    const int64_t steps = argument_i64(arguments, "steps"), nx = argument_i64(arguments, "nx");
    struct grid g = {nx < steps + 2 ? nx : steps + 2, argument_i64(arguments, "ny"),
                     argument_i64(arguments, "nz")};
    const int64_t area = g.ny * g.nz, cells = g.planes * area;
    if (results[0].count != (size_t)area || results[1].count != (size_t)area)
        return error_set(error, ERR_WRONG,
                         "stencil_3d: %zu and %zu elements, expected %lld of both",
                         results[0].count, results[1].count, (long long)area);
    double *a = malloc((size_t)cells * 2 * sizeof *a), *b = a + cells;
    if (!a)
        return error_set(error, ERR_HOST_MEMORY, "thesis: no memory for the reference");
    for (int64_t c = 0; c < cells; c++)
        a[c] = b[c] = plane[c % area];
    double *now = a, *next = b;
    for (int64_t s = 0; s < steps; s++) {
        step_grid(&g, now, next);
        double *old = now;
        now = next;
        next = old;
    }
    int code = compare_plane("rim", &results[0], now, 0, worst, error);
    THEN(code, compare_plane("inner", &results[1], now + area, STENCIL_TOLERANCE, worst, error));
    free(a);
    return code;
}

/* ---- the workload --------------------------------------------------------------------------- */

static int thesis_fill(const struct arguments *arguments, const char *name,
                       struct host_array *array, uint64_t seed, struct error *error)
{
    (void)arguments;
    if (strcmp(name, "pixels") == 0)
        fill_pixels(array, seed);
    else if (strcmp(name, "plane") == 0)
        fill_plane(array, seed);
    else
        return error_set(error, ERR_INTERNAL, "thesis: no input is called '%s'", name);
    return 0;
}

static int thesis_check(const struct arguments *arguments, const struct host_array *results,
                        size_t result_count, double *worst_error, struct error *error)
{
    const bool is_stencil = strcmp(arguments->fun, "stencil_3d") == 0;
    *worst_error = 0;
    if (result_count != 1u + is_stencil)
        return error_set(error, ERR_WRONG, "thesis: %zu results, expected %d", result_count,
                         1 + is_stencil);
    if (is_stencil)
        return check_stencil(arguments, results, worst_error, error);
    return check_canny(arguments, &results[0], error);
}

const struct workload workload_thesis = {.fill = thesis_fill, .check = thesis_check};
