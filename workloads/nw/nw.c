/* nw's inputs, and its scores row by row. */
#include <stdlib.h>

#include "workload.h"

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
#endif

/* The first row and column cost a gap an element; the rest of the scores is not read. Similarities
 * are as those of amino acids: from -4 to 11. */
static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    int64_t w = 64 * argument_i64(arguments, "q") + 1;
    int32_t penalty = argument(arguments, "penalty")->scalar.i32, *cells = array->data;
    (void)error;
    PARALLEL_FOR
    for (int64_t r = 0; r < w; r++) {
        uint64_t row = random_split(seed, (uint64_t)r);
        for (int64_t c = 0; c < w; c++)
            if (name[1] == 'i') /* similarity */
                cells[r * w + c] = (int32_t)(random_split(row, (uint64_t)c) >> 60) - 4;
            else
                cells[r * w + c] = r == 0 || c == 0 ? (int32_t) - (r + c) * penalty : 0;
    }
    return 0;
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    int64_t w = 64 * argument_i64(arguments, "q") + 1;
    const int32_t *scores = argument(arguments, "scores")->array.data;
    const int32_t *similarity = argument(arguments, "similarity")->array.data;
    int32_t penalty = argument(arguments, "penalty")->scalar.i32;
    *worst_error = 0;
    if (result_count != 1 || results[0].count != (size_t)(w * w))
        return error_set(error, ERR_WRONG, "nw: %zu results, expected one of %lld scores",
                         result_count, (long long)(w * w));
    const int32_t *got = results[0].data;
    int32_t *row = malloc((size_t)w * sizeof *row);
    int code = 0;
    if (!row)
        return error_set(error, ERR_HOST_MEMORY, "nw: no memory for a row of %lld scores",
                         (long long)w);
    for (int64_t r = 0; r < w && !code; r++) {
        int32_t diagonal = 0;
        for (int64_t c = 0; c < w && !code; c++) {
            int32_t up = r > 0 ? row[c] : 0;
            if (r == 0 || c == 0)
                row[c] = scores[r * w + c];
            else
                row[c] = larger(diagonal + similarity[r * w + c], larger(row[c - 1], up) - penalty);
            diagonal = up;
            if (got[r * w + c] != row[c])
                code = error_set(error, ERR_WRONG, "nw: score [%lld, %lld] is %d, expected %d",
                                 (long long)r, (long long)c, got[r * w + c], row[c]);
        }
    }
    free(row);
    return code;
}

const struct workload workload_nw = {.fill = fill, .check = check};
