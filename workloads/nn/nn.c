/* Records on a map, and the nearest of them by double precision.
 *
 * The reference keeps the k least distances in order and looks at each record once. Records whose
 * distances single precision cannot tell apart may come in either order, so it compares distances:
 * the i-th answer must be a record at the i-th distance, and no record may come twice.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

/* Relative to the distance; two products, a sum and a root in single precision. */
static const double TOLERANCE = 2e-6;

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    (void)arguments;
    int north = strcmp(name, "latitudes") == 0;
    if (!north && strcmp(name, "longitudes") != 0)
        return error_set(error, ERR_NOT_FOUND, "nn: the program has no array named '%s'", name);
    struct random random = {random_split(seed, (uint64_t)north)};
    float *values = array->data;
    for (size_t i = 0; i < array->count; i++)
        values[i] = (float)(random_unit(&random) * (north ? 60 : 180));
    return 0;
}

struct map {
    double at[2];
    const float *records[2];
    int64_t n, k;
    double *nearest; /* the k least distances, in order */
};

static double distance(const struct map *map, int64_t record)
{
    double north = map->records[0][record] - map->at[0],
           east = map->records[1][record] - map->at[1];
    return sqrt(north * north + east * east);
}

static void sort_nearest(struct map *map)
{
    for (int64_t i = 0; i < map->k; i++)
        map->nearest[i] = INFINITY;
    for (int64_t r = 0; r < map->n; r++) {
        double d = distance(map, r);
        int64_t i = map->k - 1;
        if (map->k == 0 || d >= map->nearest[i])
            continue;
        for (; i > 0 && map->nearest[i - 1] > d; i--)
            map->nearest[i] = map->nearest[i - 1];
        map->nearest[i] = d;
    }
}

static int compare(const struct map *map, const int32_t *records, const float *distances,
                   double *worst, struct error *error)
{
    for (int64_t i = 0; i < map->k; i++) {
        int64_t record = records[i];
        if (record < 0 || record >= map->n)
            return error_set(error, ERR_WRONG, "nn: record %lld of the answer is %lld, of %lld",
                             (long long)i, (long long)record, (long long)map->n);
        for (int64_t earlier = 0; earlier < i; earlier++)
            if (records[earlier] == record)
                return error_set(error, ERR_WRONG, "nn: record %lld comes twice, as %lld and %lld",
                                 (long long)record, (long long)earlier, (long long)i);
        double expected = map->nearest[i];
        const double got[2] = {distance(map, record), distances[i]};
        for (int g = 0; g < 2; g++) {
            double difference = fabs(got[g] - expected);
            double off = difference > 0 ? difference / expected : difference; /* NaN stays */
            if (!(off <= TOLERANCE))
                return error_set(
                    error, ERR_WRONG, "nn: %s %lld of the answer is %.9g, expected %.9g",
                    g ? "distance" : "the distance of record", (long long)i, got[g], expected);
            *worst = off > *worst ? off : *worst;
        }
    }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    struct map map = {
        .at = {argument_f64(arguments, "latitude"), argument_f64(arguments, "longitude")},
        .records = {argument(arguments, "latitudes")->array.data,
                    argument(arguments, "longitudes")->array.data},
        .n = argument_i64(arguments, "n"),
        .k = argument_i64(arguments, "k")};
    *worst_error = 0;
    if (result_count != 2 || results[0].count != (size_t)map.k || results[1].count != (size_t)map.k)
        return error_set(error, ERR_WRONG, "nn: expected two results of %lld elements",
                         (long long)map.k);
    map.nearest = malloc((size_t)map.k * sizeof *map.nearest + 1);
    if (!map.nearest)
        return error_set(error, ERR_HOST_MEMORY, "nn: no memory for %lld distances",
                         (long long)map.k);
    sort_nearest(&map);
    int code = compare(&map, results[0].data, results[1].data, worst_error, error);
    free(map.nearest);
    return code;
}

const struct workload workload_nn = {.fill = fill, .check = check};
