#include "record/compare/configuration.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "record/result/result.h"
#include "base/tree.h"

/* ---- which cases ---------------------------------------------------------------------------- */

static bool configuration_key(const json_t *one_case, struct case_key *key, char id[13])
{
    if (!one_case || case_key_from_json(json_object_get(one_case, "key"), key, NULL))
        return false;
    strcpy(key->workload, "*");
    strcpy(key->dataset, "*");
    case_id(key, id);
    return true;
}

static struct configuration new_configuration(const struct case_key *key, const char *id)
{
    struct configuration configuration = {.key = tree_object()};
    tree_put(configuration.key, "id", tree_text(id));
    tree_put(configuration.key, "key", case_key_to_json(key));
    return configuration;
}

static void add_member(struct configuration *configuration, size_t member)
{
    configuration->member = must_grow(configuration->member, configuration->count,
                                      &configuration->room, sizeof *configuration->member);
    configuration->member[configuration->count++] = member;
}

struct configuration *configurations_of(const json_t *const *cases, size_t count,
                                        size_t *configuration_count)
{
    json_t *indices = tree_object(); /* by id */
    struct configuration *configurations = NULL;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        struct case_key key;
        char id[13];
        if (!configuration_key(cases[i], &key, id))
            continue;
        if (!json_object_get(indices, id)) {
            configurations = must_realloc(configurations, (n + 1) * sizeof *configurations);
            configurations[n] = new_configuration(&key, id);
            tree_put(indices, id, tree_count(n++));
        }
        add_member(&configurations[json_integer_value(json_object_get(indices, id))], i);
    }
    json_decref(indices);
    *configuration_count = n;
    return configurations;
}

void configurations_free(struct configuration *configurations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_decref(configurations[i].key);
        free(configurations[i].member);
    }
    free(configurations);
}

/* ---- their rounds --------------------------------------------------------------------------- */

/* The fastest runs of one case by round. */
struct series {
    size_t count;
    double *round, *fastest;
};

static struct series series_of(const json_t *one_case, const char *metric, struct arena *arena)
{
    const size_t most = json_array_size(json_object_get(one_case, "rounds"));
    struct series s = {.round = arena_alloc(arena, most * sizeof(double)),
                       .fastest = arena_alloc(arena, most * sizeof(double))};
    s.count = case_round_fastest(one_case, metric, s.round, s.fastest);
    return s;
}

/* Most rounds have the same index in all cases, so `guess` is tried first. NaN: no such round. */
static double in_round(const struct series *s, double round, size_t guess)
{
    if (guess < s->count && s->round[guess] == round)
        return s->fastest[guess];
    for (size_t i = 0; i < s->count; i++)
        if (s->round[i] == round)
            return s->fastest[i];
    return NAN;
}

size_t configuration_rounds(const json_t *const *cases, size_t count, const char *metric,
                            struct arena *arena, double **values)
{
    struct series *series = arena_alloc(arena, count * sizeof *series);
    for (size_t c = 0; c < count; c++)
        series[c] = series_of(cases[c], metric, arena);
    const size_t most = count ? series[0].count : 0;
    size_t *place = arena_alloc(arena, most * sizeof *place), rounds = 0;
    for (size_t r = 0; r < most; r++) {
        bool all_have = true;
        for (size_t c = 1; c < count && all_have; c++)
            all_have = !isnan(in_round(&series[c], series[0].round[r], r));
        if (all_have)
            place[rounds++] = r;
    }
    *values = arena_alloc(arena, count * rounds * sizeof **values);
    for (size_t c = 0; c < count; c++)
        for (size_t r = 0; r < rounds; r++)
            (*values)[c * rounds + r] =
                log(fmax(in_round(&series[c], series[0].round[place[r]], place[r]), 1));
    return rounds;
}
