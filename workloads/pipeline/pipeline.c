/* The pipeline's inputs and its reference: all steps of a congruence at once, as one step of
 * another congruence, whose factor and summand are found by squaring. */
#include <string.h>

#include "workload.h"

struct congruence {
    uint32_t factor, summand;
};

/* The congruence that applies `first`, then `second`. */
static struct congruence after(struct congruence first, struct congruence second)
{
    return (struct congruence){first.factor * second.factor,
                               first.summand * second.factor + second.summand};
}

static struct congruence repeated(struct congruence once, int64_t times)
{
    struct congruence all = {1, 0};
    for (; times > 0; times >>= 1) {
        if (times & 1)
            all = after(all, once);
        once = after(once, once);
    }
    return all;
}

static uint32_t apply(struct congruence c, uint32_t value)
{
    return c.factor * value + c.summand;
}

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    (void)error;
    const int64_t n = argument_i64(arguments, "n"), rows = (int64_t)array->count / (n > 0 ? n : 1);
    uint32_t *values = array->data;
    for (int64_t r = 0; r < rows; r++) {
        uint64_t stream = strcmp(name, "key") == 0 ? 0 : 1 + (uint64_t)r;
        struct random random = {random_split(seed, stream)};
        for (int64_t i = 0; i < n; i++)
            values[r * n + i] = (uint32_t)(random_u64(&random) >> 32);
    }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    const int64_t n = argument_i64(arguments, "n"), chunks = argument_i64(arguments, "chunks");
    const uint32_t *x = argument(arguments, "x")->array.data;
    const uint32_t *key = argument(arguments, "key")->array.data;
    const struct congruence stage =
        repeated((struct congruence){1664525, 1013904223}, argument_i64(arguments, "work"));
    *worst_error = 0;
    if (result_count != 1 || results[0].count != (size_t)(chunks * n))
        return error_set(error, ERR_WRONG, "pipeline: %zu results, expected one of %lld elements",
                         result_count, (long long)(chunks * n));
    const uint32_t *got = results[0].data;
    for (int64_t c = 0; c < chunks; c++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t next = (i + 1) % n;
            const uint32_t sent = apply(stage, x[c * n + i] + key[i]);
            const uint32_t beside = apply(stage, x[c * n + next] + key[next]);
            const uint32_t expected = apply(stage, apply(stage, (sent ^ beside) + key[i]) ^ key[i]);
            if (got[c * n + i] != expected)
                return error_set(error, ERR_WRONG, "pipeline: [%lld, %lld] is %u, expected %u",
                                 (long long)c, (long long)i, got[c * n + i], expected);
        }
    return 0;
}

const struct workload workload_pipeline = {.fill = fill, .check = check};
