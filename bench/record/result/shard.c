#include "record/result/shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/random.h"
#include "base/tree.h"
#include "record/result/case_tree.h"
#include "record/result/result.h"

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

json_t *shard_to_json(struct shard shard, const struct shard_item *items, size_t count,
                      const bool *own)
{
    uint64_t list = 0;
    size_t own_count = 0;
    char digest[17];
    for (size_t i = 0; i < count; i++) {
        list = shard_list_add(list, items[i].id);
        own_count += own[i];
    }
    snprintf(digest, sizeof digest, "%016" PRIx64, list);
    return tree_pack("{s:i, s:i, s:o, s:o, s:s}", "number", (int)shard.number, "of", (int)shard.of,
                     "own", tree_count(own_count), "items", tree_count(count), "list", digest);
}

/* A skipped round may be one that lost its device: such a case is tried again. */
static bool is_finished(const json_t *one, size_t planned)
{
    const json_t *rounds = json_object_get(one, "rounds");
    const size_t count = json_array_size(rounds);
    const json_t *last = count ? json_array_get(rounds, count - 1) : NULL;
    return last && (count >= planned || !(case_is_ok(last) || case_is_skipped(last)));
}

json_t *shard_done(const json_t *root)
{
    const double rounds = tree_get_number(json_object_get(root, "run"), "rounds");
    const size_t planned = rounds > 1 ? (size_t)rounds : 1;
    json_t *done = tree_object(), *one, *row;
    size_t i, k;
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        if (is_finished(one, planned))
            tree_put(done, tree_get_text(one, "id"), json_true());
    }
    json_array_foreach(json_object_get(root, "experiments"), i, one)
    {
        bool all = json_array_size(json_object_get(one, "rows")) > 0;
        json_array_foreach(json_object_get(one, "rows"), k, row)
        {
            all = all && is_finished(row, planned);
        }
        if (all)
            tree_put(done, tree_get_text(one, "id"), json_true());
    }
    static const char *const others[] = {"fits", "advice"};
    for (size_t o = 0; o < sizeof others / sizeof *others; o++)
        json_array_foreach(json_object_get(root, others[o]), i, one)
        {
            tree_put(done, tree_get_text(one, "id"), json_true());
        }
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

static int check_list(const json_t *theirs, const json_t *ours, struct error *error)
{
    static const char *const facts[] = {"of", "items", "list"};
    const json_t *a = json_object_get(json_object_get(theirs, "run"), "shard");
    const json_t *b = json_object_get(json_object_get(ours, "run"), "shard");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!json_equal(json_object_get(a, facts[i]), json_object_get(b, facts[i])))
            return error_set(error, ERR_USAGE,
                             "it is of another list: shard %.0f/%.0f of %.0f items, list %s; this "
                             "one is shard %.0f/%.0f of %.0f, list %s",
                             tree_get_number(a, "number"), tree_get_number(a, "of"),
                             tree_get_number(a, "items"), tree_get_text(a, "list"),
                             tree_get_number(b, "number"), tree_get_number(b, "of"),
                             tree_get_number(b, "items"), tree_get_text(b, "list"));
    return 0;
}

static int check_options(const json_t *theirs, const json_t *ours, struct error *error)
{
    json_t *a = json_object_get(json_object_get(theirs, "run"), "options");
    json_t *b = json_object_get(json_object_get(ours, "run"), "options");
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

int shard_check_alike(const json_t *theirs, const json_t *ours, struct error *error)
{
    TRY(result_check_tool(json_object_get(json_object_get(theirs, "context"), "tool"),
                          json_object_get(json_object_get(ours, "context"), "tool"), error));
    TRY(check_options(theirs, ours, error));
    return check_list(theirs, ours, error);
}

void shard_machine(const json_t *root, struct text *machine)
{
    const json_t *context = json_object_get(root, "context"), *device;
    const json_t *devices = json_object_get(context, "devices");
    bool is_dry = true;
    for (size_t i = 0; (device = json_array_get(devices, i)); i++)
        is_dry = is_dry && strcmp(tree_get_text(device, "id"), CASE_DRY_DEVICE) == 0;
    if (is_dry)
        return;
    text_add(machine, "%s", tree_get_text(json_object_get(context, "host"), "machine_id"));
    for (size_t i = 0; (device = json_array_get(devices, i)); i++)
        text_add(machine, "\n%s: %s, %s", tree_get_text(device, "id"),
                 tree_get_text(device, "name"), tree_get_text(device, "driver"));
}
