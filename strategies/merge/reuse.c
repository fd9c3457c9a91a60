/* Reuse: an array takes the block of arrays that are dead when it is made.
 *
 *   let a = kernel …            b is made when a is no longer needed: if a's block is as large, or
 *   let s = kernel … a …        can be made as large where it is allocated, b goes there.
 *   let b = kernel …
 *
 * Serup 2017, chapter 5: one walk over the blocks in the order of their first use, after linear
 * scan register allocation. The blocks that were merged are a class; a new block joins the first
 * class in which it fits, or begins one. It fits if
 *
 *   R7  the class is not the caller's (a unique parameter's block may be taken, never resized)
 *   R6  the new block is one block at a time: no loop passes it on while allocating the next
 *   R1  it is never alive while something in the class is, except that
 *         - a kernel may write an array where it reads one that dies there, if every thread reads
 *           only the elements that it writes, before it does (R2), and nothing of it is read later,
 *           in this iteration or the next (R3)
 *         - a thread's own arrays may share if their uses do not overlap, and if no thread's array
 *           reaches into another thread's (R4)
 *   R5  sizes: equal, or smaller, or the class's first allocation can have the maximum (the max
 *       trick), for which the size must be known there.
 *   R8  both are in one memory space.
 *
 * The thesis keeps one read slice of each array and looks at reads in the same body only; both let
 * wrong merges pass. Here the access analysis sees all reads, and the spans of a block (memory.h)
 * cover later iterations.
 *
 * With `by_bytes` a block does not join the first class in which it fits, but the one that it
 * enlarges least and, of these, the one with the least to spare.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/list.h"
#include "merge/reuse.h"

static const struct name *name_at(const struct reuser *r, int name)
{
    return &r->a.m->fun->names[name];
}

static struct expr *bytes_of(const struct reuser *r, int block)
{
    const struct memory *of = &r->a.map->of[block];
    return of->kind == MEMORY_PARAMETER ? name_at(r, block)->bytes : of->alloc->expr;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* Is the class large enough, or can it be made so? *grows says whether it must be. */
static bool size_fits(struct reuser *r, const struct block_class *k, int block, bool *grows)
{
    const struct memory *first = &r->a.map->of[k->block];
    struct expr *bytes = bytes_of(r, block);
    *grows = false;
    if (touch_enough_bytes(&r->a.touch, k->bytes, bytes, r->a.map->of[block].position))
        return true;
    *grows = true;
    return first->kind == MEMORY_ALLOCATED &&
           outline_known(r->a.o, bytes, first->scope, first->position);
}

static enum merge_condition fits(struct reuser *r, const struct block_class *k, int block,
                                 bool *grows)
{
    const struct memory *first = &r->a.map->of[k->block], *own = &r->a.map->of[block];
    if (name_at(r, k->block)->space != name_at(r, block)->space &&
        merge_checks(r->a.m, CONDITION_space))
        return CONDITION_space;
    if (first->position >= own->first_bound || !outline_encloses(r->a.o, first->scope, own->scope))
        return CONDITION_allocation;
    enum merge_condition refused = reuse_meetings(r, k, block);
    if (refused)
        return refused;
    if (!size_fits(r, k, block, grows) && merge_checks(r->a.m, CONDITION_size))
        return CONDITION_size;
    return MERGE_ALLOWED;
}

/* What is alive when, with the block in the class. Kept if it is asked for and pays. */
static bool pays(struct reuser *r, const struct block_class *k, int block)
{
    int64_t own = r->a.numbers->bytes[block], bytes = k->known_bytes;
    if (!r->a.m->options.veto || own == UNKNOWN_BYTES || bytes == UNKNOWN_BYTES)
        return true;
    struct spans together = {0};
    bound_begin(&r->a.bound);
    bound_add(&r->a.bound, &k->spans, -bytes);
    bound_add(&r->a.bound, &r->a.map->of[block].spans, -own);
    spans_join(&together, &k->spans);
    spans_join(&together, &r->a.map->of[block].spans);
    bound_add(&r->a.bound, &together, own > bytes ? own : bytes);
    spans_free(&together);
    return bound_keep(&r->a.bound);
}

/* ---- classes -------------------------------------------------------------------------------- */

static void add_member(struct block_class *k, int block)
{
    if (k->member_count == k->member_capacity) {
        k->member_capacity = k->member_capacity ? 2 * k->member_capacity : 4;
        k->members = must_realloc(k->members, k->member_capacity * sizeof *k->members);
    }
    k->members[k->member_count++] = block;
}

static void begin_class(struct reuser *r, int block)
{
    struct block_class *k = &r->classes[r->class_count++];
    *k = (struct block_class){
        .block = block, .bytes = bytes_of(r, block), .known_bytes = r->a.numbers->bytes[block]};
    spans_join(&k->spans, &r->a.map->of[block].spans);
    add_member(k, block);
}

static void join_class(struct reuser *r, struct block_class *k, int block, bool grows)
{
    int64_t bytes = r->a.numbers->bytes[block];
    spans_join(&k->spans, &r->a.map->of[block].spans);
    add_member(k, block);
    r->into[block] = k->block;
    if (!grows)
        return;
    k->resized = true;
    k->bytes = expr_binary(r->a.m->program, EXPR_MAX, k->bytes, bytes_of(r, block));
    if (bytes == UNKNOWN_BYTES || k->known_bytes == UNKNOWN_BYTES)
        k->known_bytes = UNKNOWN_BYTES;
    else if (bytes > k->known_bytes)
        k->known_bytes = bytes;
}

/* Why a block stays alone is the reason that came nearest to fitting. */
static unsigned nearness(enum merge_condition c)
{
    switch (c) {
    case CONDITION_size:
        return 4;
    case CONDITION_dies_here:
        return 3;
    case CONDITION_same_index:
    case CONDITION_threads:
        return 2;
    case CONDITION_interference:
        return 1;
    default:
        return 0;
    }
}

/* Less is better: how much the class would grow, then how much of it would lie idle. */
static int64_t cost(const struct reuser *r, const struct block_class *k, int block, bool grows)
{
    int64_t bytes = r->a.numbers->bytes[block];
    if (bytes == UNKNOWN_BYTES || k->known_bytes == UNKNOWN_BYTES)
        return grows;
    return bytes > k->known_bytes ? (bytes - k->known_bytes) * 2 : k->known_bytes - bytes;
}

static void place_block(struct reuser *r, int block)
{
    const struct memory *of = &r->a.map->of[block];
    struct block_class *best = NULL;
    bool best_grows = false;
    enum merge_condition nearest = CONDITION_interference;
    int nearest_block = NO_NAME;
    const char *detail = NULL;
    if (of->escapes && merge_checks(r->a.m, CONDITION_escapes)) {
        nearest = CONDITION_escapes;
        goto alone;
    }
    for (unsigned i = 0; i < r->class_count; i++) {
        struct block_class *k = &r->classes[i];
        bool grows;
        r->detail = NULL;
        enum merge_condition refused = fits(r, k, block, &grows);
        if (refused && (nearest_block == NO_NAME || nearness(refused) > nearness(nearest))) {
            nearest = refused;
            nearest_block = k->block;
            detail = r->detail;
        }
        if (refused || (best && cost(r, k, block, grows) >= cost(r, best, block, best_grows)))
            continue;
        best = k;
        best_grows = grows;
        if (!merge_extends(r->a.m, EXTENSION_by_bytes))
            break;
    }
    if (best && !pays(r, best, block)) {
        nearest = CONDITION_no_gain;
        nearest_block = best->block;
        detail = NULL;
        best = NULL;
    }
alone:
    if (!best && nearest_block == NO_NAME && nearest != CONDITION_escapes) {
        begin_class(r, block); /* the first of all */
        return;
    }
    merge_note(r->a.m,
               &(struct merge_event){.action = MERGE_REUSED,
                                     .refused = best ? MERGE_ALLOWED : nearest,
                                     .at = of->alloc->at,
                                     .array = of->array_count ? of->arrays[0] : NO_NAME,
                                     .from = block,
                                     .into = best ? best->block : nearest_block,
                                     .detail = best ? (best_grows ? "enlarged" : NULL) : detail});
    if (best)
        join_class(r, best, block, best_grows);
    else
        begin_class(r, block);
}

static void resize(struct reuser *r)
{
    for (unsigned i = 0; i < r->class_count; i++)
        if (r->classes[i].resized && r->a.map->of[r->classes[i].block].alloc)
            r->a.map->of[r->classes[i].block].alloc->expr = r->classes[i].bytes;
}

static int run(struct merge *m, struct error *error)
{
    struct reuser r = {0};
    (void)error;
    analysis_open(&r.a, m,
                  (merge_extends(m, EXTENSION_by_branch) ? MEMORY_BY_BRANCH : 0u) |
                      (merge_checks(m, CONDITION_foreign) ? 0u : MEMORY_ALL_OURS));
    r.into = must_alloc((m->fun->name_count + 1) * sizeof *r.into);
    r.classes = must_alloc((r.a.map->block_count + 1) * sizeof *r.classes);
    for (unsigned n = 0; n < m->fun->name_count; n++)
        r.into[n] = (int)n;
    for (unsigned b = 0; b < r.a.map->block_count; b++) {
        int block = r.a.map->blocks[b];
        const struct memory *of = &r.a.map->of[block];
        if (of->spans.count == 0 || (of->foreign && merge_checks(m, CONDITION_foreign)))
            continue;
        if (of->kind == MEMORY_PARAMETER)
            begin_class(&r, block);
        else
            place_block(&r, block);
    }
    resize(&r);
    merge_replace_blocks(m, r.into);
    for (unsigned i = 0; i < r.class_count; i++) {
        spans_free(&r.classes[i].spans);
        free(r.classes[i].members);
    }
    free(r.classes);
    free(r.into);
    analysis_close(&r.a);
    return 0;
}

const struct merge_ops merge_reuse = {
    .version = MERGE_VERSION,
    .name = "reuse",
    .help = "puts arrays into the blocks of dead ones",
    .run = run,
};
