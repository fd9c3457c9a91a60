/* Best: merges where that saves memory, packs where that saves memory, and never needs more than
 * any other set.
 *
 * A merged block is held for as long as any of its arrays is needed, so merging can need more
 * memory than freeing early (backprop on a GPU, Serup 2017: 272.6 MB merged, 205.5 MB unmerged but
 * freed at last use). A packed arena cannot use the caller's blocks, and is never given back in
 * part. So this pass tries several methods. Under a veto, a merge is made only if the most bytes
 * that are alive at once do not increase. The method that needs the least memory is taken; of
 * several, the first. The list is ordered by what else a method saves: copies and allocations.
 *
 * The methods that pack share the time limit; what one leaves is for the next.
 *
 * options.peak_bytes counts what a method needs. If it is NULL or cannot tell for one of the
 * methods, all are compared by an estimate: every block is held from its allocation to its last
 * use. merge->estimated then says so.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "merge/numbers.h"
#include "merge/list.h"
#include "merge/merge.h"

#define PASSES(...) ((const struct merge_ops *const[]){__VA_ARGS__, NULL})
#define COALESCED   &merge_hoist, &merge_coalesce, &merge_spaces_early
#define MERGED      COALESCED, &merge_hoist_sizes, &merge_reuse

static const struct method {
    const char *name;
    const struct merge_ops *const *passes;
    bool veto;
    unsigned extensions;
} methods[] = {
    /* clang-format off */
    {"merged under a veto, then packed", PASSES(MERGED, &merge_plan, &merge_sink), true, MERGE_ALL_EXTENSIONS},
    {"merged, then packed", PASSES(MERGED, &merge_plan, &merge_sink), false, MERGE_ALL_EXTENSIONS},
    {"coalesced under a veto, then packed", PASSES(COALESCED, &merge_plan, &merge_sink), true, MERGE_ALL_EXTENSIONS},
    {"packed", PASSES(&merge_spaces_early, &merge_plan, &merge_sink), false, MERGE_ALL_EXTENSIONS},
    {"merged under a veto", PASSES(MERGED, &merge_sink), true, MERGE_ALL_EXTENSIONS},
    {"coalesced under a veto", PASSES(COALESCED, &merge_sink), true, MERGE_ALL_EXTENSIONS},
    {"merged with all extensions", PASSES(MERGED, &merge_sink), false, MERGE_ALL_EXTENSIONS},
    {"merged", PASSES(MERGED, &merge_sink), false, 0},
    {"coalesced", PASSES(COALESCED, &merge_sink), false, 0},
    {"reused", PASSES(&merge_spaces_early, &merge_hoist_sizes, &merge_reuse), false, 0},
    {"lowered in place", PASSES(&merge_inplace), false, 0},
    {"unchanged", PASSES(NULL), false, 0},
    /* clang-format on */
};

static void hold(int64_t *live, unsigned count, struct span span, int64_t bytes)
{
    for (unsigned p = span.first; p <= span.last && p < count; p++)
        live[p] += bytes;
}

/* The most bytes that are held at once, if every block is held from allocation to last use. */
static int64_t estimate(const struct fun *fun, const union scalar *values)
{
    struct outline *o = outline_new(fun);
    struct memory_map *map = memory_map_new(o, MEMORY_BY_BRANCH);
    struct numbers *numbers = numbers_new(fun, values);
    int64_t *live = must_alloc((o->position_count + 1) * sizeof *live), peak = 0;
    for (unsigned b = 0; b < map->block_count; b++) {
        const struct memory *of = &map->of[map->blocks[b]];
        const struct spans *alive = &of->spans;
        const int64_t bytes = numbers->bytes[map->blocks[b]];
        if (bytes == UNKNOWN_BYTES || !alive->count)
            continue;
        if (of->kind == MEMORY_ALLOCATED)
            hold(live, o->position_count,
                 (struct span){of->position, alive->items[alive->count - 1].last}, bytes);
        for (unsigned i = 0; i < alive->count && of->kind != MEMORY_ALLOCATED; i++)
            hold(live, o->position_count, alive->items[i], bytes);
    }
    for (unsigned p = 0; p < o->position_count; p++)
        peak = live[p] > peak ? live[p] : peak;
    free(live);
    numbers_free(numbers);
    memory_map_free(map);
    outline_free(o);
    return peak;
}

/* The programs that need the least: by what was counted, and by the estimate. */
struct least {
    struct merge *counted, *estimated; /* may be the same */
    int64_t counted_bytes, estimated_bytes;
    bool all_counted;
};

static void free_tried(const struct least *least, struct merge *tried)
{
    if (tried != least->counted && tried != least->estimated)
        merge_free(tried);
}

static void compare(const struct merge *m, struct least *least, struct merge *tried)
{
    const struct merge_options *options = &m->options;
    int64_t counted = -1;
    if (least->all_counted && options->peak_bytes)
        counted = options->peak_bytes(options->peak_context, tried->fun);
    least->all_counted = counted >= 0;
    struct merge *const before[] = {least->counted, least->estimated};
    if (counted >= 0 && (!least->counted || counted < least->counted_bytes)) {
        least->counted = tried;
        least->counted_bytes = counted;
    }
    const int64_t estimated = estimate(tried->fun, options->values);
    if (!least->estimated || estimated < least->estimated_bytes) {
        least->estimated = tried;
        least->estimated_bytes = estimated;
    }
    free_tried(least, before[0]);
    if (before[1] != before[0])
        free_tried(least, before[1]);
    free_tried(least, tried);
}

/* Moves the program and the decisions of `from` into `m`, whose own program is an untouched copy. */
static void adopt(struct merge *m, struct merge *from)
{
    struct merge_options options = m->options;
    const char *pass = m->pass;
    program_free(m->program);
    free(m->events);
    *m = *from;
    m->options = options;
    m->pass = pass;
    free(from);
}

static bool does_pack(const struct method *method)
{
    for (const struct merge_ops *const *pass = method->passes; *pass; pass++)
        if (*pass == &merge_plan)
            return true;
    return false;
}

/* The time that a method may search, of `left_ns` for it and those after it. */
static int64_t search_share(size_t first, int64_t left_ns)
{
    int64_t packing = 0;
    for (size_t w = first; w < sizeof methods / sizeof *methods; w++)
        packing += does_pack(&methods[w]);
    return packing && left_ns > packing ? left_ns / packing : 1;
}

int merge_run_best(struct merge *m, struct error *error)
{
    struct least least = {.all_counted = true};
    int64_t left_ns = m->options.time_limit_ns ? m->options.time_limit_ns : PLAN_TIME_LIMIT_NS;
    if (!m->options.values)
        return 0;
    for (size_t w = 0; w < sizeof methods / sizeof *methods; w++) {
        const struct merge_set set = {methods[w].name, "", methods[w].passes,
                                      methods[w].extensions};
        struct merge_options options = m->options;
        struct merge *tried;
        options.veto = methods[w].veto;
        options.extensions &= ~(unsigned)MERGE_ALL_EXTENSIONS; /* the method's own instead */
        options.time_limit_ns = search_share(w, left_ns);
        const uint64_t start = clock_ns();
        int code = merge_run(m->fun, &set, &options, &tried, error);
        if (code) {
            if (least.estimated != least.counted)
                merge_free(least.estimated);
            merge_free(least.counted);
            return code;
        }
        const int64_t taken_ns = (int64_t)(clock_ns() - start);
        if (does_pack(&methods[w]))
            left_ns -= taken_ns < options.time_limit_ns ? taken_ns : options.time_limit_ns;
        tried->chosen = methods[w].name;
        compare(m, &least, tried);
    }
    struct merge *best = least.all_counted ? least.counted : least.estimated;
    best->estimated = !least.all_counted;
    struct merge *other = least.all_counted ? least.estimated : least.counted;
    if (other != best)
        merge_free(other);
    adopt(m, best);
    return 0;
}
