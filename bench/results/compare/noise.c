#include "results/compare/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "results/file/measured.h"
#include "results/facts/counters.h"
#include "results/statistics/ranks.h"
#include "results/statistics/shared_shift.h"
#include "results/statistics/statistics.h"

static const double part_of_cases = 0.95;

/* ---- measuring ------------------------------------------------------------------------------ */

/* The largest shift between two blocks of consecutive rounds, as a part of the value; NaN where the
 * rounds are too few or too short for the clock. */
static double case_floor(struct rank_table *table, const struct result_case *one,
                         const char *metric)
{
    struct arena arena = {0};
    const struct measured_series medians = measured_medians(&arena, one, metric);
    double *value = medians.value;
    const size_t block = medians.count / NOISE_BLOCKS;
    double floor = block < NOISE_LEAST_ROUNDS ? NAN : 0;
    for (size_t i = 0; i < medians.count; i++) {
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
    arena_free(&arena);
    return expm1(floor);
}

/* The same for all cases of a configuration together (results/statistics/shared_shift.h). */
static double configuration_floor(const struct result *result,
                                  const struct configuration *configuration, const char *metric)
{
    struct arena arena = {0};
    const struct result_case **members =
        arena_alloc(&arena, configuration->count * sizeof *members);
    double *values, floor = 0;
    for (size_t c = 0; c < configuration->count; c++)
        members[c] = &result->cases[configuration->member[c]];
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
static void configuration_floors(struct result *result, const char *device,
                                 struct noise_metric *out)
{
    const size_t most = result->case_count;
    const struct result_case **ok = must_alloc((most + 1) * sizeof *ok);
    struct arena arena = {0};
    size_t count;
    for (size_t i = 0; i < most; i++)
        if (result->cases[i].status == CASE_ok && strcmp(result->cases[i].key.device, device) == 0)
            ok[i] = &result->cases[i];
    struct configuration *all = configurations_of(&arena, ok, most, &count);
    out->by_configuration =
        arena_alloc(&result->arena, (count + 1) * sizeof *out->by_configuration);
    for (size_t w = 0; w < count; w++) {
        const double floor = all[w].count < SHARED_SHIFT_LEAST_CASES
                                 ? NAN
                                 : configuration_floor(result, &all[w], out->name);
        if (!isnan(floor))
            out->by_configuration[out->configuration_count++] = (struct result_number){
                arena_copy(&result->arena, all[w].as.id, strlen(all[w].as.id)), floor};
    }
    arena_free(&arena);
    free(ok);
}

/* The floors of a metric on a device. False where no case of it has one. */
static bool metric_floors(struct rank_table *table, struct result *result, const char *device,
                          struct noise_metric *out)
{
    double *floors = must_alloc((result->case_count + 1) * sizeof *floors);
    out->by_case = arena_alloc(&result->arena, (result->case_count + 1) * sizeof *out->by_case);
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        if (strcmp(one->key.device, device) != 0)
            continue;
        const double floor = case_floor(table, one, out->name);
        if (isnan(floor))
            continue;
        floors[out->case_count] = floor;
        out->by_case[out->case_count++] = (struct result_number){one->id, floor};
    }
    if (out->case_count) {
        statistics_sort(floors, out->case_count);
        out->floor = statistics_quantile(floors, out->case_count, part_of_cases);
        out->cases = out->case_count;
        configuration_floors(result, device, out);
    }
    free(floors);
    return out->case_count;
}

/* False where no case of the device was ok in enough rounds. */
static bool device_noise(struct result *result, const struct record_device *device,
                         struct result_noise *noise)
{
    struct rank_table table = {0};
    size_t count;
    const struct counter_info *list = counter_list(&count);
    *noise = (struct result_noise){
        .device = device->id,
        .name = device->name,
        .driver = *device->driver ? device->driver : NULL,
        .machine_id = result->context.host.machine_id,
        .run = result->run.id,
        .measured_at = result->run.started_at,
        .rounds = result->run.rounds / NOISE_BLOCKS,
        .metrics = arena_alloc(&result->arena, count * sizeof *noise->metrics),
    };
    for (size_t i = 0; i < count; i++) {
        struct noise_metric *metric = &noise->metrics[noise->metric_count];
        *metric = (struct noise_metric){.name = list[i].name};
        if (list[i].kind == KIND_SAMPLED)
            noise->metric_count += metric_floors(&table, result, device->id, metric);
    }
    rank_table_free(&table);
    return noise->metric_count;
}

static const struct result_noise *find_noise(const struct result *result, const char *device)
{
    for (size_t i = 0; i < result->noise_count; i++)
        if (strcmp(result->noise[i].device, device) == 0)
            return &result->noise[i];
    return NULL;
}

/* Makes room for floors of all devices. */
static void make_room(struct result *result)
{
    struct result_noise *all = arena_alloc(
        &result->arena, (result->noise_count + result->context.device_count + 1) * sizeof *all);
    if (result->noise_count)
        memcpy(all, result->noise, result->noise_count * sizeof *all);
    result->noise = all;
}

int noise_measure(struct result *result, struct error *error)
{
    result->noise_count = 0;
    make_room(result);
    for (size_t i = 0; i < result->context.device_count; i++)
        result->noise_count +=
            device_noise(result, &result->context.devices[i], &result->noise[result->noise_count]);
    return result->noise_count ? 0
                               : error_set(error, ERR_USAGE,
                                           "no noise floor: no case was ok in %d rounds and more; "
                                           "see what failed, or use more --rounds",
                                           NOISE_BLOCKS * NOISE_LEAST_ROUNDS);
}

/* ---- what is known -------------------------------------------------------------------------- */

static bool is_of(const struct result_noise *noise, const struct record_device *device,
                  const char *machine)
{
    return noise->name && strcmp(noise->name, device->name) == 0 &&
           strcmp(noise->driver ? noise->driver : "", device->driver) == 0 &&
           strcmp(noise->machine_id, machine) == 0;
}

size_t noise_take(struct result *result, const struct result *other)
{
    const size_t before = result->noise_count;
    make_room(result);
    for (size_t i = 0; i < result->context.device_count; i++) {
        const struct record_device *device = &result->context.devices[i];
        const struct result_noise *noise = find_noise(other, device->id);
        if (!noise || find_noise(result, device->id) ||
            !is_of(noise, device, result->context.host.machine_id))
            continue;
        /* The copy is read from JSON, which the result owns: it does not depend on the other. */
        json_t *json = result_keep(result, json_of_fields(result_noise_struct.fields, noise));
        result->noise_count +=
            json_get_fields_in(&result->arena, json, "noise", result_noise_struct.fields,
                               &result->noise[result->noise_count], NULL) == 0;
    }
    return before;
}

const struct noise_metric *noise_metric_of(const struct result_noise *noise, const char *metric)
{
    for (size_t i = 0; noise && i < noise->metric_count; i++)
        if (strcmp(noise->metrics[i].name, metric) == 0)
            return &noise->metrics[i];
    return NULL;
}

static double number_of(const struct result_number *numbers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(numbers[i].name, name) == 0)
            return numbers[i].value;
    return NAN;
}

double noise_floor(const struct result *result, const struct result_case *one, const char *metric)
{
    const struct noise_metric *known = noise_metric_of(find_noise(result, one->key.device), metric);
    if (!known)
        return NAN;
    const double of_configuration =
        number_of(known->by_configuration, known->configuration_count, one->id);
    return isnan(of_configuration)
               ? fmax(known->floor, number_of(known->by_case, known->case_count, one->id))
               : of_configuration;
}

/* ---- runs that alternated ------------------------------------------------------------------- */

/* Is at most a quarter of the rounds of `of` between two sessions of `other`? Sessions are in the
 * order of time. */
static bool is_interrupted_often(const struct result_run *of, const struct result_run *other)
{
    double all = 0, stretch = 0, longest = 0;
    for (size_t i = 0, j = 0; i < of->session_count; i++) {
        const struct result_session *session = &of->sessions[i];
        for (; j < other->session_count &&
               strcmp(other->sessions[j].started_at, session->started_at) < 0;
             j++)
            stretch = 0;
        stretch += session->rounds;
        longest = fmax(longest, stretch);
        all += session->rounds;
    }
    return longest <= fmax(1, all / 4);
}

bool noise_alternated(const struct result *a, const struct result *b)
{
    return a->run.session_count > 1 && b->run.session_count > 1 &&
           is_interrupted_often(&a->run, &b->run) && is_interrupted_often(&b->run, &a->run);
}
