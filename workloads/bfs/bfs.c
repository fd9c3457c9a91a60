/* Graphs for bfs.mem and the check of its distances: a search with a queue on one processor. */
#include <stdlib.h>
#include <string.h>

#include "workload.h"

/* ---- inputs -------------------------------------------------------------------------------- */

/* Degrees are even between `least` and `most`. Then the first nodes get one edge more or one less,
 * until there are e edges in all. */
static int fill_offsets(const struct arguments *arguments, int32_t *offsets, uint64_t seed,
                        struct error *error)
{
    const int64_t n = argument_i64(arguments, "n"), e = argument_i64(arguments, "e");
    const int64_t least = argument_i64(arguments, "least"), most = argument_i64(arguments, "most");
    if (n < 1 || n > INT32_MAX || e > INT32_MAX || least < 0 || least > most || e < n * least ||
        e > n * most)
        return error_set(error, ERR_USAGE,
                         "bfs: %lld nodes with %lld to %lld edges each cannot have %lld edges",
                         (long long)n, (long long)least, (long long)most, (long long)e);
    int32_t *degree = offsets + 1;
    int64_t sum = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        struct random random = {random_split(seed, (uint64_t)i)};
        degree[i] = (int32_t)(least + (int64_t)random_below(&random, (uint64_t)(most - least + 1)));
        sum += degree[i];
    }
    for (int64_t i = 0; sum != e; i = (i + 1) % n) {
        const int32_t step = sum < e ? degree[i] < most : -(degree[i] > least);
        degree[i] += step;
        sum += step;
    }
    for (int64_t i = 0; i < n; i++)
        offsets[i + 1] += offsets[i];
    return 0;
}

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    int32_t *elements = array->data;
    if (strcmp(name, "offsets") == 0)
        return fill_offsets(arguments, elements, seed, error);
    const uint64_t n = (uint64_t)argument_i64(arguments, "n");
    struct random random = {seed};
    for (size_t j = 0; j < array->count; j++)
        elements[j] = (int32_t)random_below(&random, n);
    return 0;
}

/* ---- reference ----------------------------------------------------------------------------- */

/* Distances from node 0. `queue` has room for n nodes. */
static void search(const int32_t *offsets, const int32_t *dest, int64_t n, int32_t *distance,
                   int32_t *queue)
{
    size_t head = 0, tail = 0;
    for (int64_t i = 0; i < n; i++)
        distance[i] = -1;
    distance[0] = 0;
    queue[tail++] = 0;
    while (head < tail) {
        const int32_t node = queue[head++];
        for (int32_t j = offsets[node]; j < offsets[node + 1]; j++) {
            const int32_t neighbour = dest[j];
            if (distance[neighbour] >= 0)
                continue;
            distance[neighbour] = distance[node] + 1;
            queue[tail++] = neighbour;
        }
    }
}

static int compare(const int32_t *got, const int32_t *expected, int64_t n, struct error *error)
{
    for (int64_t i = 0; i < n; i++)
        if (got[i] != expected[i])
            return error_set(error, ERR_WRONG, "bfs: the distance of node %lld is %d, expected %d",
                             (long long)i, got[i], expected[i]);
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    const int64_t n = argument_i64(arguments, "n");
    *worst_error = 0;
    if (result_count != 1 || results[0].count != (size_t)n)
        return error_set(error, ERR_WRONG, "bfs: %zu results, expected one of %lld distances",
                         result_count, (long long)n);
    int32_t *distance = malloc((size_t)n * sizeof *distance);
    int32_t *queue = malloc((size_t)n * sizeof *queue);
    int code;
    if (distance && queue) {
        search(argument(arguments, "offsets")->array.data, argument(arguments, "dest")->array.data,
               n, distance, queue);
        code = compare(results[0].data, distance, n, error);
    } else {
        code = error_set(error, ERR_HOST_MEMORY, "bfs: no memory for a queue of %lld nodes",
                         (long long)n);
    }
    free(distance);
    free(queue);
    return code;
}

const struct workload workload_bfs = {.fill = fill, .check = check};
