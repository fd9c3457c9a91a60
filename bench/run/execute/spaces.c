#include "run/execute/spaces.h"

#include "base/tree.h"
#include "run/execute/device_source.h"

bool spaces_used(const struct fun *fun, enum space space)
{
    bool used = space == SPACE_DEVICE;
    for (unsigned n = 0; n < fun->name_count && !used; n++)
        used = fun->names[n].kind == NAME_MEMORY && fun->names[n].space == space;
    return used;
}

static int open_space(struct spaces *s, enum space space, struct device *device,
                      const struct allocator_ops *strategy, const struct option_values *options,
                      uint64_t capacity_bytes, struct error *error)
{
    struct option_values own = *options;
    /* If all memory is the host's, there is no other kind, nor a need for one. */
    if (space == SPACE_PINNED && !(device->ops->load && !device->ops->host_memory))
        own.common[ALLOCATOR_KIND] = MEMORY_PINNED;
    s->source[space] = device_source(device, capacity_bytes);
    s->source[space].total = s->several ? &s->held : NULL;
    TRY(allocator_open(&s->allocator[space], strategy, &own, &s->source[space], error));
    s->allocator[space].total = s->several ? &s->blocks : NULL;
    s->of[space] = &s->allocator[space];
    return 0;
}

int spaces_open(struct spaces *s, const struct fun *fun, struct device *device,
                const struct allocator_ops *strategy, const struct option_values *options,
                uint64_t capacity_bytes, struct error *error)
{
    *s = (struct spaces){0};
    for (int i = SPACE_DEVICE + 1; i < SPACES; i++)
        s->several |= spaces_used(fun, (enum space)i);
    for (int i = 0; i < SPACES; i++) {
        enum space space = (enum space)i;
        if (!spaces_used(fun, space))
            continue;
        int code = open_space(s, space, device, strategy, options, capacity_bytes, error);
        if (code && space != SPACE_DEVICE)
            error_prefix(error, "%s memory, which the program uses: ", space_name(space));
        TRY(code);
    }
    return 0;
}

void spaces_close(struct spaces *s)
{
    for (int i = 0; i < SPACES; i++)
        if (s->of[i]) {
            allocator_close(s->of[i]);
            s->of[i] = NULL;
        }
}

/* Updates all sources; the error is that of the first one that fails. */
static int of_all(struct spaces *s, int (*ask)(struct source *source), struct error *error)
{
    int first_failure = 0;
    for (int i = 0; i < SPACES; i++) {
        int code = s->of[i] ? ask(&s->source[i]) : 0;
        if (code && !first_failure && error)
            *error = s->source[i].error;
        ALSO(first_failure, code);
    }
    return first_failure;
}

static void reset_peaks(struct allocator_counts *blocks)
{
    blocks->peak_requested_bytes = blocks->requested_bytes;
    blocks->peak_granted_bytes = blocks->granted_bytes;
}

int spaces_reset_peaks(struct spaces *s, struct error *error)
{
    reset_peaks(&s->blocks);
    for (int i = 0; i < SPACES; i++)
        reset_peaks(&s->allocator[i].counts);
    return of_all(s, source_reset_peak, error);
}

int spaces_update(struct spaces *s, struct error *error)
{
    return of_all(s, source_update, error);
}

const struct allocator_counts *spaces_blocks(const struct spaces *s)
{
    return s->several ? &s->blocks : &s->allocator[SPACE_DEVICE].counts;
}

void source_counts_add(struct source_counts *sum, const struct source_counts *c)
{
    sum->alloc_count += c->alloc_count;
    sum->alloc_ns += c->alloc_ns;
    sum->touch_count += c->touch_count;
    sum->touch_ns += c->touch_ns;
    sum->free_count += c->free_count;
    sum->free_ns += c->free_ns;
    sum->map_count += c->map_count;
    sum->unmap_count += c->unmap_count;
    sum->sync_count += c->sync_count;
    sum->refused_count += c->refused_count;
}

struct source_counts spaces_counts(const struct spaces *s)
{
    if (!s->several)
        return s->source[SPACE_DEVICE].counts;
    struct source_counts sum = {.reserved_bytes = s->held.reserved_bytes,
                                .peak_reserved_bytes = s->held.peak_reserved_bytes};
    for (int i = 0; i < SPACES; i++)
        source_counts_add(&sum, &s->source[i].counts);
    return sum;
}

void spaces_snapshot(const struct spaces *s, struct spaces_snapshot *snapshot)
{
    snapshot->all = (struct space_snapshot){*spaces_blocks(s), spaces_counts(s)};
    for (int i = 0; i < SPACES; i++)
        snapshot->of[i] = (struct space_snapshot){s->allocator[i].counts, s->source[i].counts};
}

struct memory_counts spaces_between(const struct space_snapshot *begin,
                                    const struct space_snapshot *end)
{
    const struct allocator_counts *a = &begin->blocks, *b = &end->blocks;
    const struct source_counts *c = &begin->driver, *d = &end->driver;
    return (struct memory_counts){
        .peak_requested_bytes = b->peak_requested_bytes,
        .peak_granted_bytes = b->peak_granted_bytes,
        .peak_reserved_bytes = d->peak_reserved_bytes,
        .alloc_count = b->alloc_count - a->alloc_count,
        .free_count = b->free_count - a->free_count,
        .hit_count = b->hit_count - a->hit_count,
        .miss_count = b->miss_count - a->miss_count,
        .driver_alloc_count = d->alloc_count - c->alloc_count,
        .driver_touch_count = d->touch_count - c->touch_count,
        .driver_free_count = d->free_count - c->free_count,
        .driver_map_count = d->map_count - c->map_count,
        .driver_unmap_count = d->unmap_count - c->unmap_count,
        .driver_sync_count = d->sync_count - c->sync_count,
        .driver_refused_count = d->refused_count - c->refused_count,
    };
}

static json_t *counts_to_json(const struct memory_counts *counts)
{
    json_t *json = tree_object();
#define X(name, unit, kind, better, help) tree_put(json, #name, tree_count(counts->name));
    PEAK_LIST(X)
    MEMORY_CALL_LIST(X)
#undef X
    return json;
}

json_t *spaces_to_json(const struct spaces *s, const struct spaces_snapshot *begin,
                       const struct spaces_snapshot *end)
{
    if (!s->several)
        return NULL;
    json_t *json = tree_object();
    for (int i = 0; i < SPACES; i++) {
        struct memory_counts counts = spaces_between(&begin->of[i], &end->of[i]);
        if (s->of[i])
            tree_put(json, space_name((enum space)i), counts_to_json(&counts));
    }
    return json;
}
