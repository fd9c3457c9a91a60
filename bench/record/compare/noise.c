#include "record/compare/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/result/case_tree.h"
#include "record/facts/counters.h"
#include "record/statistics/ranks.h"
#include "record/result/result.h"
#include "record/statistics/shared_shift.h"
#include "record/statistics/statistics.h"
#include "base/tree.h"
#include "record/compare/configuration.h"

static const double part_of_cases = 0.95;

/* ---- measuring ------------------------------------------------------------------------------ */

/* The largest shift between two blocks of consecutive rounds, as a part of the value; NaN where the
 * rounds are too few or too short for the clock. */
static double case_floor(struct rank_table *table, const json_t *one_case, const char *metric)
{
    const size_t most = json_array_size(json_object_get(one_case, "rounds"));
    double *round = must_alloc(2 * most * sizeof *round), *value = round + most;
    const size_t count = case_round_medians(one_case, metric, round, value);
    const size_t block = count / NOISE_BLOCKS;
    double floor = block < NOISE_LEAST_ROUNDS ? NAN : 0;
    for (size_t i = 0; i < count; i++) {
        if (!(value[i] > 0))
            floor = NAN;
        value[i] = log(value[i]);
    }
    for (size_t i = 0; i < NOISE_BLOCKS && !isnan(floor); i++)
        for (size_t j = i + 1; j < NOISE_BLOCKS; j++) {
            const struct rank_shift shift =
                rank_shift_between(table, value + i * block, block, value + j * block, block, 0.05);
            floor = fmax(floor, fabs(shift.estimate));
        }
    free(round);
    return expm1(floor);
}

static const char *device_of(const json_t *one_case)
{
    return tree_get_text(json_object_get(one_case, "key"), "device");
}

/* The same for all cases of a configuration together (record/statistics/shared_shift.h). */
static double configuration_floor(const json_t *cases, const struct configuration *configuration,
                                  const char *metric)
{
    struct arena arena = {0};
    const json_t **members = arena_alloc(&arena, configuration->count * sizeof *members);
    double *values, floor = 0;
    for (size_t c = 0; c < configuration->count; c++)
        members[c] = json_array_get(cases, configuration->member[c]);
    const size_t count =
        configuration_rounds(members, configuration->count, metric, &arena, &values);
    const size_t block = count / NOISE_BLOCKS;
    double *two = arena_alloc(&arena, configuration->count * 2 * block * sizeof *two);
    for (size_t i = 0; i < NOISE_BLOCKS; i++)
        for (size_t j = i + 1; j < NOISE_BLOCKS && block; j++) {
            for (size_t c = 0; c < configuration->count; c++)
                for (size_t r = 0; r < block; r++) {
                    two[c * 2 * block + r] = values[c * count + i * block + r];
                    two[c * 2 * block + block + r] = values[c * count + j * block + r];
                }
            const struct shared_rounds rounds = {configuration->count, block, two};
            floor = fmax(floor, fabs(shared_shift_estimate(&rounds)));
        }
    arena_free(&arena);
    return block < NOISE_LEAST_ROUNDS ? NAN : expm1(floor);
}

/* The floors of a device's configurations with enough cases, by id. The other configurations have
 * the floors of their cases. */
static json_t *configuration_floors(const json_t *cases, const char *device, const char *metric)
{
    const size_t most = json_array_size(cases);
    const json_t **ok = must_alloc(most * sizeof *ok);
    json_t *out = tree_object();
    size_t count;
    for (size_t i = 0; i < most; i++) {
        const json_t *one_case = json_array_get(cases, i);
        if (case_is_ok(one_case) && strcmp(device_of(one_case), device) == 0)
            ok[i] = one_case;
    }
    struct configuration *configurations = configurations_of(ok, most, &count);
    for (size_t w = 0; w < count; w++) {
        const double floor = configurations[w].count < SHARED_SHIFT_LEAST_CASES
                                 ? NAN
                                 : configuration_floor(cases, &configurations[w], metric);
        if (!isnan(floor))
            tree_put(out, tree_get_text(configurations[w].key, "id"), tree_number(floor));
    }
    configurations_free(configurations, count);
    free(ok);
    return out;
}

/* The floors of a metric on a device; NULL where no case of it has one. */
static json_t *metric_floors(struct rank_table *table, const json_t *cases, const char *device,
                             const char *metric)
{
    json_t *by_case = tree_object(), *one_case, *out = NULL;
    double *floors = must_alloc(json_array_size(cases) * sizeof *floors);
    size_t i, count = 0;
    json_array_foreach((json_t *)cases, i, one_case)
    {
        if (strcmp(device_of(one_case), device) != 0)
            continue;
        const double floor = case_floor(table, one_case, metric);
        if (isnan(floor))
            continue;
        floors[count++] = floor;
        tree_put(by_case, tree_get_text(one_case, "id"), tree_number(floor));
    }
    if (count) {
        statistics_sort(floors, count);
        out = tree_object();
        tree_put(out, "floor", tree_number(statistics_quantile(floors, count, part_of_cases)));
        tree_put(out, "cases", tree_count(count));
        tree_put(out, "by_case", json_incref(by_case));
        tree_put(out, "by_configuration", configuration_floors(cases, device, metric));
    }
    json_decref(by_case);
    free(floors);
    return out;
}

static const char *machine_of(const json_t *root)
{
    return tree_get_text(json_object_get(json_object_get(root, "context"), "host"), "machine_id");
}

/* NULL where no case of the device was ok in enough rounds. */
static json_t *device_noise(const json_t *root, const json_t *device)
{
    const json_t *run = json_object_get(root, "run");
    json_t *metrics = tree_object(), *noise = NULL;
    struct rank_table table = {0};
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        if (list[i].kind != KIND_SAMPLED)
            continue;
        json_t *floors = metric_floors(&table, json_object_get(root, "cases"),
                                       tree_get_text(device, "id"), list[i].name);
        if (floors)
            tree_put(metrics, list[i].name, floors);
    }
    rank_table_free(&table);
    if (json_object_size(metrics)) {
        noise = tree_object();
        tree_put(noise, "device", tree_share(device, "id"));
        tree_put(noise, "name", tree_share(device, "name"));
        tree_put(noise, "driver", tree_share(device, "driver"));
        tree_put(noise, "machine_id", tree_text(machine_of(root)));
        tree_put(noise, "run", tree_share(run, "id"));
        tree_put(noise, "measured_at", tree_share(run, "started_at"));
        tree_put(noise, "rounds",
                 tree_count((uint64_t)tree_get_number(run, "rounds") / NOISE_BLOCKS));
        tree_put(noise, "metrics", json_incref(metrics));
    }
    json_decref(metrics);
    return noise;
}

static json_t *find_noise(const json_t *all, const char *device)
{
    json_t *noise;
    for (size_t i = 0; (noise = json_array_get(all, i)); i++)
        if (strcmp(tree_get_text(noise, "device"), device) == 0)
            return noise;
    return NULL;
}

int noise_measure(json_t *root, struct error *error)
{
    json_t *all = tree_array(), *device;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(root, "context"), "devices"), i, device)
    {
        json_t *noise = device_noise(root, device);
        if (noise)
            tree_append(all, noise);
    }
    const bool is_empty = json_array_size(all) == 0;
    if (is_empty)
        json_decref(all);
    else
        tree_put(root, "noise", all);
    return is_empty ? error_set(error, ERR_USAGE,
                                "no noise floor: no case was ok in %d rounds and more; see what "
                                "failed, or use more --rounds",
                                NOISE_BLOCKS * NOISE_LEAST_ROUNDS)
                    : 0;
}

/* ---- what is known -------------------------------------------------------------------------- */

static bool is_of(const json_t *noise, const json_t *device, const char *machine)
{
    return json_equal(json_object_get(noise, "name"), json_object_get(device, "name")) &&
           json_equal(json_object_get(noise, "driver"), json_object_get(device, "driver")) &&
           strcmp(tree_get_text(noise, "machine_id"), machine) == 0;
}

size_t noise_take(json_t *root, const json_t *other)
{
    json_t *all = json_object_get(root, "noise"), *device;
    const size_t before = json_array_size(all);
    size_t i;
    json_array_foreach(json_object_get(json_object_get(root, "context"), "devices"), i, device)
    {
        const char *id = tree_get_text(device, "id");
        json_t *noise = find_noise(json_object_get(other, "noise"), id);
        if (!noise || find_noise(all, id) || !is_of(noise, device, machine_of(root)))
            continue;
        if (!all) {
            all = tree_array();
            tree_put(root, "noise", all);
        }
        tree_append(all, json_incref(noise));
    }
    return before;
}

double noise_floor(const json_t *root, const json_t *one_case, const char *metric)
{
    const json_t *noise = find_noise(json_object_get(root, "noise"), device_of(one_case));
    const json_t *known = json_object_get(json_object_get(noise, "metrics"), metric);
    const char *id = tree_get_text(one_case, "id");
    const double of_configuration = tree_get_number(json_object_get(known, "by_configuration"), id);
    return isnan(of_configuration) ? fmax(tree_get_number(known, "floor"),
                                          tree_get_number(json_object_get(known, "by_case"), id))
                                   : of_configuration;
}

/* ---- runs that alternated ------------------------------------------------------------------- */

static const json_t *sessions_of(const json_t *root)
{
    return json_object_get(json_object_get(root, "run"), "sessions");
}

/* Is at most a quarter of the rounds of `of` between two sessions of `other`? Sessions are in the
 * order of time. */
static bool is_interrupted_often(const json_t *of, const json_t *other)
{
    const json_t *part, *next = json_array_get(other, 0);
    double all = 0, stretch = 0, longest = 0;
    for (size_t i = 0, j = 0; (part = json_array_get(of, i)); i++) {
        const char *start = tree_get_text(part, "started_at");
        while (next && strcmp(tree_get_text(next, "started_at"), start) < 0) {
            stretch = 0;
            next = json_array_get(other, ++j);
        }
        stretch += tree_get_number(part, "rounds");
        longest = fmax(longest, stretch);
        all += tree_get_number(part, "rounds");
    }
    return longest <= fmax(1, all / 4);
}

bool noise_alternated(const json_t *a, const json_t *b)
{
    const json_t *x = sessions_of(a), *y = sessions_of(b);
    return json_array_size(x) > 1 && json_array_size(y) > 1 && is_interrupted_often(x, y) &&
           is_interrupted_often(y, x);
}
