#include "results/compare/noise.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "results/file/measured.h"
#include "base/tree.h"

/* ---- which cases ---------------------------------------------------------------------------- */

static struct result_case configuration_key(struct arena *arena, const struct result_case *one)
{
    struct result_case as = {.key = one->key};
    char id[13];
    strcpy(as.key.workload, "*");
    strcpy(as.key.dataset, "*");
    case_id(&as.key, id);
    as.id = arena_copy(arena, id, sizeof id - 1);
    return as;
}

struct configuration *configurations_of(struct arena *arena, const struct result_case *const *cases,
                                        size_t count, size_t *configuration_count)
{
    json_t *indices = tree_object(); /* by id */
    struct configuration *all = NULL;
    unsigned n = 0, room = 0;
    for (size_t i = 0; i < count; i++) {
        if (!cases[i])
            continue;
        const struct result_case as = configuration_key(arena, cases[i]);
        const size_t at = tree_index_of(indices, as.id, n);
        if (at == n) {
            all = arena_grow(arena, all, n, &room, sizeof *all);
            all[n++] = (struct configuration){.as = as};
        }
        struct configuration *own = &all[at];
        own->member = arena_grow(arena, own->member, own->count, &own->room, sizeof *own->member);
        own->member[own->count++] = i;
    }
    json_decref(indices);
    *configuration_count = n;
    return all;
}

/* ---- their rounds --------------------------------------------------------------------------- */

size_t configuration_rounds(const struct result_case *const *cases, size_t count,
                            const char *metric, struct arena *arena, double **values)
{
    struct measured_series *series = arena_alloc(arena, count * sizeof *series);
    for (size_t c = 0; c < count; c++)
        series[c] = measured_fastest(arena, cases[c], metric);
    const size_t most = count ? series[0].count : 0;
    size_t *place = arena_alloc(arena, most * sizeof *place), rounds = 0;
    for (size_t r = 0; r < most; r++) {
        bool all_have = true;
        for (size_t c = 1; c < count && all_have; c++)
            all_have = !isnan(measured_in_round(&series[c], series[0].round[r], r));
        if (all_have)
            place[rounds++] = r;
    }
    *values = arena_alloc(arena, count * rounds * sizeof **values);
    for (size_t c = 0; c < count; c++)
        for (size_t r = 0; r < rounds; r++)
            (*values)[c * rounds + r] =
                log(fmax(measured_in_round(&series[c], series[0].round[place[r]], place[r]), 1));
    return rounds;
}
