/* The halo's inputs and its reference.
 *
 * A cell is F(row) + G(column), with F random and G a hash. A step is linear, so it turns such a
 * sum into another one, F' + G', with
 *
 *   F'(r) = 8 F(r) + F(r - 1) + F(r + 1)
 *   G'(c) = 6 G(c) + 3 G(c - 1) + G(c + 1)
 *
 * where a cell outside has the value at the border. So two lines of numbers are the reference of
 * any grid, and all its rows and columns differ.
 */
#include <stdlib.h>

#include "workload.h"

/* Each half has a seed of its own, so values that both halves share must not depend on it. */
static uint32_t column_at(int64_t c)
{
    return (uint32_t)random_mix((uint64_t)c);
}

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    (void)name, (void)error;
    const int64_t rows = argument_i64(arguments, "rows"), cols = argument_i64(arguments, "cols");
    uint32_t *cells = array->data;
    for (int64_t r = 0; r < rows; r++) {
        const uint32_t row = (uint32_t)random_split(seed, (uint64_t)r);
        for (int64_t c = 0; c < cols; c++)
            cells[r * cols + c] = row + column_at(c);
    }
    return 0;
}

/* Takes `steps` steps of a line: own * here + before * the one before + after * the one after. */
static void step(uint32_t *line, int64_t count, int64_t steps, uint32_t own, uint32_t before,
                 uint32_t after)
{
    for (int64_t s = 0; s < steps; s++) {
        uint32_t left = line[0];
        for (int64_t i = 0; i < count; i++) {
            const uint32_t here = line[i], right = i + 1 < count ? line[i + 1] : here;
            line[i] = own * here + before * left + after * right;
            left = here;
        }
    }
}

static int compare(const uint32_t *got, const uint32_t *f, const uint32_t *g, int64_t rows,
                   int64_t cols, const char *half, struct error *error)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            if (got[r * cols + c] != f[r] + g[c])
                return error_set(error, ERR_WRONG, "halo: %s [%lld, %lld] is %u, expected %u", half,
                                 (long long)r, (long long)c, got[r * cols + c], f[r] + g[c]);
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    const int64_t rows = argument_i64(arguments, "rows"), cols = argument_i64(arguments, "cols");
    const int64_t steps = argument_i64(arguments, "steps");
    const uint32_t *top = argument(arguments, "top")->array.data;
    const uint32_t *bottom = argument(arguments, "bottom")->array.data;
    const size_t cells = (size_t)(rows * cols);
    *worst_error = 0;
    if (result_count != 2 || results[0].count != cells || results[1].count != cells)
        return error_set(error, ERR_WRONG, "halo: %zu results, expected two of %lld x %lld cells",
                         result_count, (long long)rows, (long long)cols);
    uint32_t *f = malloc((size_t)(2 * rows + cols + 1) * sizeof *f), *g = f + 2 * rows;
    if (!f)
        return error_set(error, ERR_HOST_MEMORY, "halo: no memory for %lld numbers",
                         (long long)(2 * rows + cols));
    for (int64_t r = 0; r < rows; r++) {
        f[r] = top[r * cols];
        f[rows + r] = bottom[r * cols];
    }
    for (int64_t c = 0; c < cols; c++)
        g[c] = top[c] - top[0];
    step(f, 2 * rows, steps, 8, 1, 1);
    step(g, cols, steps, 6, 3, 1);
    int code = compare(results[0].data, f, g, rows, cols, "upper", error);
    THEN(code, compare(results[1].data, f + rows, g, rows, cols, "lower", error));
    free(f);
    return code;
}

const struct workload workload_halo = {.fill = fill, .check = check};
