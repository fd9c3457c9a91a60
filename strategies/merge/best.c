/* Best: merges where that saves memory, packs where that saves memory, and never needs more than
 * any other set. Extended: coalesces and reuses with all extensions, and never needs more than any
 * set that it contains.
 *
 * A merged block is held for as long as any of its arrays is needed, so merging can need more
 * memory than freeing early (backprop on a GPU, Serup 2017: 272.6 MB merged, 205.5 MB unmerged but
 * freed at last use). A packed arena cannot use the caller's blocks, and is never given back in
 * part. So this pass tries several methods. Under a veto, a merge is made only if the most bytes
 * that are alive at once do not increase. The method that needs the least memory is taken; of
 * several, the one that copies the fewest bytes; of these, the one that would need the least if
 * blocks were freed at the end of their scope, because allocators that keep what was freed need
 * more for many blocks of different sizes (canny, 64 x 90: 16 blocks under `pool` 142 KiB, 6 blocks
 * 89 KiB, both with a peak of 82.5 KiB); of these, the one that allocates the least often; then the
 * first. `extended` tries those that do not pack or veto. Of two that need equally much, it prefers
 * none that makes more copies or copies more bytes.
 *
 * The methods that do not pack are tried first. Those that pack share what is left of the time
 * limit; what one leaves is for the next. Passes with which several methods begin run once: the
 * program that they make is kept, as a *stem*, and each of the methods goes on with a copy of it.
 *
 * options.count counts what a method needs under the release policy of the run. If it is NULL or
 * cannot tell for one of the methods, all are compared by an estimate of the bytes held
 * (held_peak). merge->estimated then says so.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "merge/analysis.h"
#include "merge/list.h"

#define PASSES(...) ((const struct merge_ops *const[]){__VA_ARGS__, NULL})
#define COALESCED   &merge_hoist, &merge_coalesce, &merge_spaces_early
#define MERGED      COALESCED, &merge_hoist_sizes, &merge_reuse

/* Properties of a method, and the sets that try it. */
enum {
    VETO = 1, /* merges that raise the bytes alive at once are refused, else those held at once */
    HELD = 2, /* blocks are held by options.hold; else to the end of their scope */
    EXTENDED = 4,  /* `extended` tries it too */
    CONTAINED = 8, /* so it does if the bytes can be counted: it may copy more than coalescing */
};

static const struct method {
    const char *name;
    const struct merge_ops *const *passes;
    unsigned how, extensions;
} methods[] = {
    /* clang-format off */
    {"merged under a veto, then packed", PASSES(MERGED, &merge_plan, &merge_sink), VETO,
     MERGE_ALL_EXTENSIONS},
    {"merged, then packed", PASSES(MERGED, &merge_plan, &merge_sink), 0, MERGE_ALL_EXTENSIONS},
    {"merged with all extensions, then packed", PASSES(MERGED, &merge_plan, &merge_sink), HELD,
     MERGE_ALL_EXTENSIONS},
    {"coalesced under a veto, then packed", PASSES(COALESCED, &merge_plan, &merge_sink), VETO,
     MERGE_ALL_EXTENSIONS},
    {"packed", PASSES(&merge_spaces_early, &merge_plan, &merge_sink), 0, MERGE_ALL_EXTENSIONS},
    {"merged under a veto", PASSES(MERGED, &merge_sink), VETO, MERGE_ALL_EXTENSIONS},
    {"coalesced under a veto", PASSES(COALESCED, &merge_sink), VETO, MERGE_ALL_EXTENSIONS},
    {"merged with all extensions", PASSES(MERGED, &merge_sink), HELD | EXTENDED,
     MERGE_ALL_EXTENSIONS},
    {"coalesced with all extensions", PASSES(COALESCED, &merge_sink), HELD | EXTENDED,
     MERGE_ALL_EXTENSIONS},
    {"short-circuited, then merged",
     PASSES(MERGE_SHORT_CIRCUIT, &merge_spaces_early, &merge_hoist_sizes, &merge_reuse), HELD,
     SHORT_CIRCUIT_EXTENSIONS},
    {"short-circuited, then merged in kernels", PASSES(MERGE_BOTH), HELD, SHORT_CIRCUIT_EXTENSIONS},
    {"short-circuited", PASSES(MERGE_SHORT_CIRCUIT), HELD, SHORT_CIRCUIT_EXTENSIONS},
    {"merged", PASSES(MERGED, &merge_sink), EXTENDED, 0},
    {"coalesced", PASSES(COALESCED, &merge_sink), EXTENDED, 0},
    {"reused", PASSES(&merge_spaces_early, &merge_hoist_sizes, &merge_reuse), CONTAINED, 0},
    {"merged in kernels",
     PASSES(&merge_spaces_early, &merge_hoist_sizes, &merge_reuse_private), 0, 0},
    {"lowered in place", PASSES(&merge_inplace), CONTAINED, 0},
    {"unchanged", PASSES(NULL), CONTAINED, 0},
    /* clang-format on */
};

enum { METHODS = sizeof methods / sizeof *methods };

/* ---- the passes of a method ------------------------------------------------------------------ */

/* A program that several methods go on with: what the first passes of one of them make. */
struct stem {
    struct stem *next;
    const struct stem *base; /* the stem that it was copied from, or NULL */
    struct merge *merge;
    const struct method *method;
    unsigned pass_count;
};

/* The program that a method makes. It shares expressions with its base and with the bases of
 * that. */
struct candidate {
    struct merge *merge;
    const struct stem *base; /* may be NULL */
    const struct method *method;
    struct merge_needs needs;
    int64_t kept_bytes; /* UNKNOWN_BYTES until they are asked for */
};

struct search {
    const struct merge *m;
    bool extended; /* only methods marked EXTENDED or CONTAINED are tried */
    bool counts;   /* candidates are compared by the bytes counted, not by the estimate */
    struct stem *stems;
    bool tried[METHODS];
    struct candidate best;
};

static bool is_tried(const struct search *s, size_t method)
{
    const unsigned how = methods[method].how;
    return !s->extended || how & EXTENDED || (s->counts && how & CONTAINED);
}

static bool does_pack(const struct method *method)
{
    for (const struct merge_ops *const *pass = method->passes; *pass; pass++)
        if (*pass == &merge_plan)
            return true;
    return false;
}

/* The number of passes with which both methods begin. */
static unsigned begin_alike(const struct method *a, const struct method *b)
{
    unsigned count = 0;
    if ((a->how & (VETO | HELD)) != (b->how & (VETO | HELD)) || a->extensions != b->extensions)
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
        if (is_tried(s, i) && !s->tried[i] && begin_alike(method, &methods[i]) == count) {
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

static int run_passes(struct search *s, struct candidate *c, int64_t time_limit_ns)
{
    c->base = longest_stem(s, c->method);
    c->merge = merge_copy(c->base ? c->base->merge : s->m);
    struct merge_options *options = &c->merge->options;
    options->veto = c->method->how & VETO;
    options->extensions &= ~(unsigned)MERGE_ALL_EXTENSIONS; /* the method's own instead */
    options->extensions |= c->method->extensions;
    options->time_limit_ns = time_limit_ns;
    if (!(c->method->how & HELD))
        options->hold = MERGE_HELD_TO_SCOPE_END;
    unsigned done = c->base ? c->base->pass_count : 0;
    while (c->method->passes[done]) {
        TRY(merge_run_pass(c->merge, c->method->passes[done++], s->m->error));
        if (is_shared(s, c->method, done))
            keep_stem(s, c, done);
    }
    return 0;
}

/* ---- the best of them ------------------------------------------------------------------------ */

static bool take_needs(const struct search *s, const struct merge *m, enum merge_hold hold,
                       struct merge_needs *needs)
{
    if (s->counts)
        return m->options.count(m->options.count_context, m->fun, hold, needs);
    *needs = (struct merge_needs){.peak_bytes = held_peak(m, hold).most};
    return true;
}

/* Bytes held if blocks are freed at the end of their scope. They come nearer to the need of an
 * allocator like `pool`, which keeps freed memory and serves no other size with it. */
static int64_t kept_bytes(const struct search *s, struct candidate *c)
{
    struct merge_needs needs = {0};
    if (c->kept_bytes == UNKNOWN_BYTES) {
        take_needs(s, c->merge, MERGE_HELD_TO_SCOPE_END, &needs);
        c->kept_bytes = needs.peak_bytes;
    }
    return c->kept_bytes;
}

static bool is_better(const struct search *s, struct candidate *a, struct candidate *b)
{
    const struct merge_needs *x = &a->needs, *y = &b->needs;
    if (!b->merge)
        return true;
    if (x->peak_bytes != y->peak_bytes)
        return x->peak_bytes < y->peak_bytes;
    if (s->extended && x->copy_count != y->copy_count)
        return x->copy_count < y->copy_count && x->copied_bytes <= y->copied_bytes;
    if (x->copied_bytes != y->copied_bytes)
        return x->copied_bytes < y->copied_bytes;
    int64_t more = kept_bytes(s, a) - kept_bytes(s, b);
    more = more ? more : x->alloc_count - y->alloc_count;
    return more ? more < 0 : a->method < b->method;
}

/* Sets *uncounted if the bytes cannot be counted. */
static int try_method(struct search *s, size_t method, int64_t time_limit_ns, bool *uncounted)
{
    struct candidate c = {.method = &methods[method], .kept_bytes = UNKNOWN_BYTES};
    s->tried[method] = true;
    const int code = run_passes(s, &c, time_limit_ns);
    *uncounted = !code && !take_needs(s, c.merge, s->m->options.hold, &c.needs);
    if (code || *uncounted || !is_better(s, &c, &s->best)) {
        merge_free(c.merge);
        return code;
    }
    merge_free(s->best.merge);
    s->best = c;
    return 0;
}

static int try_best(struct search *s, uint64_t start_ns, bool *uncounted)
{
    const int64_t limit_ns =
        s->m->options.time_limit_ns ? s->m->options.time_limit_ns : PLAN_TIME_LIMIT_NS;
    int64_t packing = 0;
    int code = 0;
    for (size_t i = 0; i < METHODS && !code && !*uncounted; i++) {
        packing += does_pack(&methods[i]);
        if (!does_pack(&methods[i]))
            code = try_method(s, i, 1, uncounted);
    }
    for (size_t i = 0; i < METHODS && !code && !*uncounted; i++) {
        if (!does_pack(&methods[i]))
            continue;
        const int64_t share = (limit_ns - (int64_t)(clock_ns() - start_ns)) / packing--;
        code = try_method(s, i, share > 0 ? share : 1, uncounted);
    }
    return code;
}

/* Of methods that need equally much, one that copies no more than the first that is tried: without
 * extensions. */
static int try_extended(struct search *s, bool *uncounted)
{
    size_t coalesced = 0;
    while (methods[coalesced].extensions || !is_tried(s, coalesced))
        coalesced++;
    int code = try_method(s, coalesced, 1, uncounted);
    for (size_t i = 0; i < METHODS && !code && !*uncounted; i++)
        if (is_tried(s, i) && i != coalesced)
            code = try_method(s, i, 1, uncounted);
    return code;
}

static int try_methods(struct search *s, uint64_t start_ns, bool *uncounted)
{
    return s->extended ? try_extended(s, uncounted) : try_best(s, start_ns, uncounted);
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

/* "a_mem, b_mem (at most 400 B)": the blocks whose sizes are not known, or NULL. */
static const char *list_uncounted(struct merge *m)
{
    struct analysis a;
    char *list = NULL;
    analysis_open(&a, m, 0);
    for (unsigned b = 0; b < a.map->block_count; b++) {
        const int block = a.map->blocks[b];
        const int64_t bytes = a.numbers->bytes[block];
        char bound[64] = "", size[32];
        if (!a.map->of[block].alloc || !a.numbers->reached[block] ||
            (bytes != UNKNOWN_BYTES && !a.numbers->bounded[block]))
            continue;
        if (bytes != UNKNOWN_BYTES)
            snprintf(bound, sizeof bound, " (at most %s)", text_bytes(size, (uint64_t)bytes));
        list = arena_printf(&m->program->arena, "%s%s%s%s", list ? list : "", list ? ", " : "",
                            m->fun->names[block].text, bound);
    }
    analysis_close(&a);
    return list;
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
    m->estimated = !s->counts && own.options.values;
    m->uncounted = m->estimated ? list_uncounted(m) : NULL;
    *best = own; /* for end_search to free */
}

static int search(struct merge *m, bool extended)
{
    const uint64_t start_ns = clock_ns();
    struct search s = {.m = m, .extended = extended, .counts = m->options.count != NULL};
    bool uncounted = false;
    int code = try_methods(&s, start_ns, &uncounted);
    if (uncounted) {
        end_search(&s);
        s = (struct search){.m = m, .extended = extended};
        uncounted = false;
        code = try_methods(&s, start_ns, &uncounted);
    }
    if (!code)
        adopt(m, &s);
    end_search(&s);
    return code;
}

int merge_run_best(struct merge *m)
{
    return m->options.values ? search(m, false) : 0;
}

int merge_run_extended(struct merge *m)
{
    return search(m, true);
}
