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
 * The methods that do not pack are tried first. Those that pack share what is left of the time
 * limit; what one leaves is for the next.
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

enum { METHODS = sizeof methods / sizeof *methods };

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

/* The program that needs the least of those tried, and the number of its method. */
struct candidate {
    struct merge *merge;
    int64_t bytes;
    size_t method;
};

struct least {
    struct candidate counted, estimated; /* may be the same program */
    bool all_counted;
};

static bool is_better(const struct candidate *a, const struct candidate *b)
{
    return !b->merge || a->bytes < b->bytes || (a->bytes == b->bytes && a->method < b->method);
}

static void free_tried(const struct least *least, struct merge *tried)
{
    if (tried != least->counted.merge && tried != least->estimated.merge)
        merge_free(tried);
}

static void compare(const struct merge *m, struct least *least, struct merge *tried, size_t method)
{
    const struct merge_options *options = &m->options;
    struct candidate counted = {tried, -1, method};
    const struct candidate estimated = {tried, estimate(tried->fun, options->values), method};
    if (least->all_counted && options->peak_bytes)
        counted.bytes = options->peak_bytes(options->peak_context, tried->fun);
    least->all_counted = counted.bytes >= 0;
    struct merge *const before[] = {least->counted.merge, least->estimated.merge};
    if (least->all_counted && is_better(&counted, &least->counted))
        least->counted = counted;
    if (is_better(&estimated, &least->estimated))
        least->estimated = estimated;
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

static int try_method(const struct merge *m, size_t method, int64_t time_limit_ns,
                      struct least *least, struct error *error)
{
    const struct merge_set set = {methods[method].name, "", methods[method].passes,
                                  methods[method].extensions};
    struct merge_options options = m->options;
    struct merge *tried;
    options.veto = methods[method].veto;
    options.extensions &= ~(unsigned)MERGE_ALL_EXTENSIONS; /* the method's own instead */
    options.time_limit_ns = time_limit_ns;
    const int code = merge_run(m->fun, &set, &options, &tried, error);
    if (code)
        return code;
    tried->chosen = methods[method].name;
    compare(m, least, tried, method);
    return 0;
}

static int try_methods(const struct merge *m, struct least *least, struct error *error)
{
    const int64_t limit_ns =
        m->options.time_limit_ns ? m->options.time_limit_ns : PLAN_TIME_LIMIT_NS;
    const uint64_t start = clock_ns();
    int64_t packing = 0;
    int code = 0;
    for (size_t i = 0; i < METHODS && !code; i++) {
        packing += does_pack(&methods[i]);
        if (!does_pack(&methods[i]))
            code = try_method(m, i, 1, least, error);
    }
    for (size_t i = 0; i < METHODS && !code; i++) {
        if (!does_pack(&methods[i]))
            continue;
        const int64_t share = (limit_ns - (int64_t)(clock_ns() - start)) / packing--;
        code = try_method(m, i, share > 0 ? share : 1, least, error);
    }
    return code;
}

int merge_run_best(struct merge *m, struct error *error)
{
    struct least least = {.all_counted = true};
    if (!m->options.values)
        return 0;
    const int code = try_methods(m, &least, error);
    struct merge *best = least.all_counted ? least.counted.merge : least.estimated.merge;
    struct merge *other = least.all_counted ? least.estimated.merge : least.counted.merge;
    if (other != best)
        merge_free(other);
    if (code) {
        merge_free(best);
        return code;
    }
    best->estimated = !least.all_counted;
    adopt(m, best);
    return 0;
}
