#include "results/file/shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/random.h"
#include "base/tree.h"
#include "results/file/draft.h"

int shard_parse(const char *text, struct shard *shard, struct error *error)
{
    const char *slash = strchr(text, '/');
    char number[24];
    uint64_t k = 0, n = 0;
    snprintf(number, sizeof number, "%.*s", slash ? (int)(slash - text) : 0, text);
    const bool is_shard = slash && text_to_u64(number, &k) && text_to_u64(slash + 1, &n) &&
                          k >= 1 && k <= n && n <= SHARDS_MAX;
    *shard = (struct shard){(unsigned)k, (unsigned)n};
    return is_shard ? 0
                    : error_set(error, ERR_USAGE,
                                "--shard is '%s', expected K/N with K from 1 to N, and N at most "
                                "%d: 3/10",
                                text, SHARDS_MAX);
}

void shard_id(const char *description, char id[13])
{
    snprintf(id, 13, "%012" PRIx64, digest_bytes(0, description, strlen(description)) >> 16);
}

/* ---- the split ------------------------------------------------------------------------------- */

struct unit {
    const struct shard_item **items; /* those of the unit, in the sorted list */
    size_t count;
    uint64_t cost;
};

static int by_unit(const void *a, const void *b)
{
    const struct shard_item *one = *(const struct shard_item *const *)a;
    const struct shard_item *other = *(const struct shard_item *const *)b;
    return strcmp(one->unit, other->unit);
}

/* Largest first. Equal ones are ordered by a hash of their name: neighbours in the alphabet, which
 * often cost as much as each other beyond what is expected, go to different shards. */
static int by_cost(const void *a, const void *b)
{
    const struct unit *one = a, *other = b;
    const char *name = (*one->items)->unit, *other_name = (*other->items)->unit;
    if (one->cost != other->cost)
        return one->cost < other->cost ? 1 : -1;
    const uint64_t hash = digest_bytes(0, name, strlen(name));
    const uint64_t other_hash = digest_bytes(0, other_name, strlen(other_name));
    return hash != other_hash ? (hash < other_hash ? -1 : 1) : strcmp(name, other_name);
}

static size_t make_units(const struct shard_item **sorted, size_t count, struct unit *units)
{
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t cost = sorted[i]->cost ? sorted[i]->cost : 1;
        if (i == 0 || strcmp(sorted[i]->unit, sorted[i - 1]->unit) != 0)
            units[made++] = (struct unit){.items = sorted + i};
        struct unit *unit = &units[made - 1];
        unit->count++;
        unit->cost = unit->cost > UINT64_MAX - cost ? UINT64_MAX : unit->cost + cost;
    }
    qsort(units, made, sizeof *units, by_cost);
    return made;
}

/* Shards as a heap: the one with the least load is at the root, the lowest number first. */
struct load {
    uint64_t cost;
    unsigned number;
};

static bool is_less(const struct load *a, const struct load *b)
{
    return a->cost != b->cost ? a->cost < b->cost : a->number < b->number;
}

static void sink(struct load *heap, size_t count)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_less(&heap[child + 1], &heap[child]))
            child++;
        if (!is_less(&heap[child], &heap[at]))
            return;
        const struct load swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

void shard_split(struct shard shard, const struct shard_item *items, size_t count, bool *own)
{
    const struct shard_item **sorted = must_alloc((count + 1) * sizeof *sorted);
    struct unit *units = must_alloc((count + 1) * sizeof *units);
    struct load *heap = must_alloc((shard.of + 1) * sizeof *heap);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &items[i];
    for (unsigned i = 0; i < shard.of; i++)
        heap[i].number = i + 1;
    memset(own, 0, count * sizeof *own);
    qsort(sorted, count, sizeof *sorted, by_unit);
    const size_t unit_count = make_units(sorted, count, units);
    for (size_t u = 0; u < unit_count; u++) {
        for (size_t i = 0; heap->number == shard.number && i < units[u].count; i++)
            own[units[u].items[i] - items] = true;
        const uint64_t room = UINT64_MAX - heap->cost;
        heap->cost += units[u].cost < room ? units[u].cost : room;
        sink(heap, shard.of);
    }
    free(sorted);
    free(units);
    free(heap);
}

/* ---- in files -------------------------------------------------------------------------------- */

uint64_t shard_list_add(uint64_t list, const char *id)
{
    return list + random_mix(strtoull(id, NULL, 16) + 1);
}

void shard_set(struct result *result, struct shard shard, const struct shard_item *items,
               size_t count, const bool *own)
{
    struct result_shard *out = result->run.shard = arena_alloc(&result->arena, sizeof *out);
    uint64_t list = 0;
    *out = (struct result_shard){.number = shard.number, .of = shard.of, .items = count};
    for (size_t i = 0; i < count; i++) {
        list = shard_list_add(list, items[i].id);
        out->own += own[i];
    }
    out->list = arena_printf(&result->arena, "%016" PRIx64, list);
}

/* A skipped round may be one that lost its device: such a case is tried again. */
static bool is_finished(const struct result_case *one, size_t planned)
{
    const struct result_round *last = &one->rounds[one->round_count - 1];
    return one->round_count && (one->round_count >= planned ||
                                !(last->status == CASE_ok || last->status == CASE_skipped));
}

static void add_done(json_t *done, const json_t *items)
{
    const json_t *one;
    for (size_t i = 0; (one = json_array_get(items, i)); i++)
        tree_put(done, tree_get_text(one, "id"), json_true());
}

json_t *shard_done(const struct result *result)
{
    const size_t planned = result->run.rounds > 1 ? result->run.rounds : 1;
    json_t *done = tree_object();
    for (size_t i = 0; i < result->case_count; i++)
        if (is_finished(&result->cases[i], planned))
            tree_put(done, result->cases[i].id, json_true());
    add_done(done, result->fits);
    add_done(done, result->advice);
    return done;
}

/* Whether an option of a run (run.options) changes nothing about what is measured: it says where
 * results go, how they look, or how many processors work at once. */
static bool option_is_free(const char *name)
{
    static const char *const names[] = {"out",  "force", "format",   "results", "no-save",
                                        "jobs", "shard", "progress", NULL};
    for (const char *const *n = names; *n; n++)
        if (strcmp(*n, name) == 0)
            return true;
    return false;
}

/* ---- files that belong together -------------------------------------------------------------- */

static int check_list(const struct result_shard *a, const struct result_shard *b,
                      struct error *error)
{
    if (a->of == b->of && a->items == b->items && strcmp(a->list, b->list) == 0)
        return 0;
    return error_set(error, ERR_USAGE,
                     "it is of another list: shard %u/%u of %" PRIu64
                     " items, list %s; this one is "
                     "shard %u/%u of %" PRIu64 ", list %s",
                     a->number, a->of, a->items, a->list, b->number, b->of, b->items, b->list);
}

static int check_options(json_t *a, json_t *b, struct error *error)
{
    json_t *all = json_copy(a), *value;
    const char *name;
    int code = 0;
    json_object_update_missing(all, b);
    json_object_foreach(all, name, value)
    {
        const json_t *was = json_object_get(a, name), *is = json_object_get(b, name);
        if (code || option_is_free(name) || json_equal(was, is))
            continue;
        char *was_text = json_dumps(was, JSON_ENCODE_ANY),
             *is_text = json_dumps(is, JSON_ENCODE_ANY);
        code = error_set(error, ERR_USAGE, "it was made with other options: --%s is %s, here %s",
                         name, was_text ? was_text : "not set", is_text ? is_text : "not set");
        free(was_text);
        free(is_text);
    }
    json_decref(all);
    return code;
}

int shard_check_alike(const struct result *theirs, const struct result *ours, struct error *error)
{
    TRY(result_check_tool(&theirs->context.tool, &ours->context.tool, error));
    TRY(check_options(theirs->run.options, ours->run.options, error));
    return check_list(theirs->run.shard, ours->run.shard, error);
}

void shard_machine(const struct result *result, struct text *machine)
{
    const struct result_context *context = &result->context;
    bool is_dry = true;
    for (size_t i = 0; i < context->device_count; i++)
        is_dry = is_dry && strcmp(context->devices[i].id, CASE_DRY_DEVICE) == 0;
    if (is_dry)
        return;
    text_add(machine, "%s", context->host.machine_id);
    for (size_t i = 0; i < context->device_count; i++)
        text_add(machine, "\n%s: %s, %s", context->devices[i].id, context->devices[i].name,
                 context->devices[i].driver);
}

bool shard_same_machine(const struct result *a, const struct result *b)
{
    struct text here = {0}, there = {0};
    shard_machine(a, &here);
    shard_machine(b, &there);
    const bool is_same = strcmp(here.length ? here.data : "", there.length ? there.data : "") == 0;
    text_free(&here);
    text_free(&there);
    return is_same;
}
