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
 * limit; what one leaves is for the next. Passes with which several methods begin run once: the
 * program that they make is kept, as a *stem*, and each of the methods goes on with a copy of it.
 *
 * options.peak_bytes counts what a method needs. If it is NULL or cannot tell for one of the
 * methods, all are compared by an estimate: every block is held from its allocation to its last
 * use. merge->estimated then says so.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "merge/numbers.h"
#include "merge/list.h"

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

/* `change`, by position: how many more bytes are held there than at the position before. */
static void hold(int64_t *change, unsigned count, struct span span, int64_t bytes)
{
    change[span.first] += bytes;
    change[span.last < count ? span.last + 1 : count] -= bytes;
}

/* The most bytes that are held at once, if every block is held from allocation to last use. */
static int64_t estimate(const struct fun *fun, const union scalar *values)
{
    struct outline *o = outline_new(fun);
    struct memory_map *map = memory_map_new(o, MEMORY_BY_BRANCH);
    struct numbers *numbers = numbers_new(fun, values);
    int64_t *change = must_alloc((o->position_count + 1) * sizeof *change), live = 0, peak = 0;
    for (unsigned b = 0; b < map->block_count; b++) {
        const struct memory *of = &map->of[map->blocks[b]];
        const struct spans *alive = &of->spans;
        const int64_t bytes = numbers->bytes[map->blocks[b]];
        if (bytes == UNKNOWN_BYTES || !alive->count)
            continue;
        if (of->kind == MEMORY_ALLOCATED)
            hold(change, o->position_count,
                 (struct span){of->position, alive->items[alive->count - 1].last}, bytes);
        for (unsigned i = 0; i < alive->count && of->kind != MEMORY_ALLOCATED; i++)
            hold(change, o->position_count, alive->items[i], bytes);
    }
    for (unsigned p = 0; p < o->position_count; p++) {
        live += change[p];
        peak = live > peak ? live : peak;
    }
    free(change);
    numbers_free(numbers);
    memory_map_free(map);
    outline_free(o);
    return peak;
}

/* ---- the passes of a method ------------------------------------------------------------------ */

/* A program that several methods go on with: what the first passes of one of them make. */
struct stem {
    struct stem *next;
    const struct stem *base; /* the stem that it was copied from, or NULL */
    struct merge *merge;
    const struct method *method;
    unsigned pass_count;
};

/* What a method makes. It shares expressions with its base and with the bases of that. */
struct candidate {
    struct merge *merge;
    const struct stem *base; /* may be NULL */
    const struct method *method;
    int64_t bytes;
};

struct search {
    const struct merge *m;
    bool counts; /* candidates are compared by the bytes counted, not by the estimate */
    struct stem *stems;
    bool tried[METHODS];
    struct candidate best;
};

/* How many passes do both methods begin with? */
static unsigned begin_alike(const struct method *a, const struct method *b)
{
    unsigned count = 0;
    if (a->veto != b->veto || a->extensions != b->extensions)
        return 0;
    while (a->passes[count] && a->passes[count] == b->passes[count])
        count++;
    return count;
}

/* The stem with the most passes of those that the method begins with, or NULL. */
static const struct stem *longest_stem(const struct search *s, const struct method *method)
{
    const struct stem *longest = NULL;
    for (const struct stem *stem = s->stems; stem; stem = stem->next)
        if (begin_alike(stem->method, method) >= stem->pass_count &&
            (!longest || stem->pass_count > longest->pass_count))
            longest = stem;
    return longest;
}

/* Will another method go on after the first `count` passes of this one? */
static bool is_shared(const struct search *s, const struct method *method, unsigned count)
{
    for (size_t i = 0; i < METHODS; i++)
        if (!s->tried[i] && begin_alike(method, &methods[i]) == count) {
            const struct stem *stem = longest_stem(s, &methods[i]);
            if (!stem || stem->pass_count < count)
                return true;
        }
    return false;
}

/* Keeps the candidate's program as a stem, and goes on with a copy. */
static void keep_stem(struct search *s, struct candidate *c, unsigned pass_count)
{
    struct stem *stem = must_alloc(sizeof *stem);
    *stem = (struct stem){s->stems, c->base, c->merge, c->method, pass_count};
    s->stems = stem;
    c->base = stem;
    c->merge = merge_copy(stem->merge);
}

static int run_passes(struct search *s, struct candidate *c, int64_t time_limit_ns,
                      struct error *error)
{
    c->base = longest_stem(s, c->method);
    c->merge = merge_copy(c->base ? c->base->merge : s->m);
    struct merge_options *options = &c->merge->options;
    options->veto = c->method->veto;
    options->extensions &= ~(unsigned)MERGE_ALL_EXTENSIONS; /* the method's own instead */
    options->extensions |= c->method->extensions;
    options->time_limit_ns = time_limit_ns;
    unsigned done = c->base ? c->base->pass_count : 0;
    while (c->method->passes[done]) {
        const int code = merge_run_pass(c->merge, c->method->passes[done++], error);
        if (code)
            return code;
        if (is_shared(s, c->method, done))
            keep_stem(s, c, done);
    }
    return 0;
}

/* ---- the best of them ------------------------------------------------------------------------ */

static bool is_better(const struct candidate *a, const struct candidate *b)
{
    return !b->merge || a->bytes < b->bytes || (a->bytes == b->bytes && a->method < b->method);
}

/* Sets *uncounted if the bytes cannot be counted. */
static int try_method(struct search *s, size_t method, int64_t time_limit_ns, bool *uncounted,
                      struct error *error)
{
    const struct merge_options *options = &s->m->options;
    struct candidate c = {.method = &methods[method]};
    s->tried[method] = true;
    const int code = run_passes(s, &c, time_limit_ns, error);
    if (!code)
        c.bytes = s->counts ? options->peak_bytes(options->peak_context, c.merge->fun)
                            : estimate(c.merge->fun, options->values);
    *uncounted = !code && c.bytes < 0;
    if (code || *uncounted || !is_better(&c, &s->best)) {
        merge_free(c.merge);
        return code;
    }
    merge_free(s->best.merge);
    s->best = c;
    return 0;
}

static bool does_pack(const struct method *method)
{
    for (const struct merge_ops *const *pass = method->passes; *pass; pass++)
        if (*pass == &merge_plan)
            return true;
    return false;
}

static int try_methods(struct search *s, uint64_t start_ns, bool *uncounted, struct error *error)
{
    const int64_t limit_ns =
        s->m->options.time_limit_ns ? s->m->options.time_limit_ns : PLAN_TIME_LIMIT_NS;
    int64_t packing = 0;
    int code = 0;
    for (size_t i = 0; i < METHODS && !code && !*uncounted; i++) {
        packing += does_pack(&methods[i]);
        if (!does_pack(&methods[i]))
            code = try_method(s, i, 1, uncounted, error);
    }
    for (size_t i = 0; i < METHODS && !code && !*uncounted; i++) {
        if (!does_pack(&methods[i]))
            continue;
        const int64_t share = (limit_ns - (int64_t)(clock_ns() - start_ns)) / packing--;
        code = try_method(s, i, share > 0 ? share : 1, uncounted, error);
    }
    return code;
}

static void end_search(struct search *s)
{
    merge_free(s->best.merge);
    while (s->stems) {
        struct stem *next = s->stems->next;
        merge_free(s->stems->merge);
        free(s->stems);
        s->stems = next;
    }
}

/* Moves the program and the decisions of the best into `m`, whose own program is an untouched copy,
 * with all that the program shares with its bases. */
static void adopt(struct merge *m, struct search *s)
{
    const struct merge own = *m;
    struct merge *best = s->best.merge;
    for (const struct stem *stem = s->best.base; stem; stem = stem->base)
        arena_take(&best->program->arena, &stem->merge->program->arena);
    *m = *best;
    m->options = own.options;
    m->pass = own.pass;
    m->chosen = s->best.method->name;
    m->estimated = !s->counts;
    *best = own; /* for end_search to free */
}

int merge_run_best(struct merge *m, struct error *error)
{
    const uint64_t start_ns = clock_ns();
    struct search s = {.m = m, .counts = m->options.peak_bytes != NULL};
    bool uncounted = false;
    if (!m->options.values)
        return 0;
    int code = try_methods(&s, start_ns, &uncounted, error);
    if (uncounted) {
        end_search(&s);
        s = (struct search){.m = m};
        uncounted = false;
        code = try_methods(&s, start_ns, &uncounted, error);
    }
    if (!code)
        adopt(m, &s);
    end_search(&s);
    return code;
}
