/* The broadcast's table, and its reference: element by element through all steps, while the program
 * goes step by step through all elements. */
#include "workload.h"

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
#endif

enum { STREAM_ELEMENTS = 4096 };

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    (void)arguments, (void)name, (void)error;
    uint32_t *values = array->data;
    const int64_t count = (int64_t)array->count;
    PARALLEL_FOR
    for (int64_t begin = 0; begin < count; begin += STREAM_ELEMENTS) {
        struct random random = {random_split(seed, (uint64_t)begin)};
        for (int64_t i = begin; i < begin + STREAM_ELEMENTS && i < count; i++)
            values[i] = (uint32_t)(random_u64(&random) >> 32);
    }
    return 0;
}

static uint32_t expected_of(uint32_t table, int64_t steps)
{
    uint64_t here = 0, there = 0, value = table;
    for (int64_t s = 0; s < steps; s++) {
        value = (value * 1664525 + 1013904223) % 4294967296;
        here = ((here + value / 65536) % 4294967296) ^ (value / 256);
        there = ((there + value % 65536) % 4294967296) ^ (value * 256 % 4294967296);
    }
    return (uint32_t)((here * 31 + there) % 4294967296);
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    const int64_t n = argument_i64(arguments, "n"), steps = argument_i64(arguments, "steps");
    const uint32_t *table = argument(arguments, "table")->array.data;
    *worst_error = 0;
    if (result_count != 1 || results[0].count != (size_t)n)
        return error_set(error, ERR_WRONG, "broadcast: %zu results, expected one of %lld elements",
                         result_count, (long long)n);
    const uint32_t *got = results[0].data;
    int64_t wrong_count = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(+ : wrong_count)
#endif
    for (int64_t i = 0; i < n; i++)
        wrong_count += got[i] != expected_of(table[i], steps);
    for (int64_t i = 0; i < n && wrong_count; i++)
        if (got[i] != expected_of(table[i], steps))
            return error_set(error, ERR_WRONG,
                             "broadcast: [%lld] is %u, expected %u; %lld are wrong", (long long)i,
                             got[i], expected_of(table[i], steps), (long long)wrong_count);
    return 0;
}

const struct workload workload_broadcast = {.fill = fill, .check = check};
