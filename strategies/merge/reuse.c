/* Reuse: an array takes the block of arrays that are dead when it is made.
 *
 *   let a = kernel …            b is made when a is not needed: if a's block is as large, or
 *   let s = kernel … a …        can be made as large where it is allocated, b goes there.
 *   let b = kernel …
 *
 * Serup 2017, chapter 5: one walk over the blocks in the order of their first use, after linear
 * scan register allocation. The blocks that were merged are a class; a new block joins the first
 * class in which it fits, or begins one. It fits if
 *
 *   R7  the class is not the caller's (a unique parameter's block may be taken, never resized)
 *   R6  the new block is one block at a time: no loop passes it on while allocating the next
 *   R1  it is never alive at the same time as the class, except that
 *         - a kernel may write an array where it reads one that dies there, if every thread reads
 *           only the elements that it writes, before it does (R2), and nothing of it is read later,
 *           in this iteration or the next (R3)
 *         - a thread's own arrays may share if their uses do not overlap, and if no thread's array
 *           reaches into another thread's (R4)
 *   R5  sizes: equal, or smaller, or the class's first allocation can have the maximum (the max
 *       trick), for which the size must be known there. Neither size may be a mere number (the
 *       thesis's rule): else a few bytes would take a large block from the next large array.
 *   R8  both are in one memory space.
 *
 * The thesis keeps one read slice of each array and looks at reads in the same body only; both let
 * wrong merges pass. Here the access analysis sees all reads, and the spans of a block (memory.h)
 * cover later iterations.
 *
 * With `by_bytes` a block of any size does not join the first class in which it fits, but the one
 * that it enlarges least and, of these, the one with the least to spare. If the values of
 * parameters are known, it joins no class where a run could need more memory for it: because it
 * would enlarge a block for a branch that may not be taken; because the smaller of two blocks is
 * held for longer than the larger one was; or because a block that is freed at its last use would
 * be held until the next.
 *
 * `reuse_private` merges as the artefact of 2022 does: only arrays of threads, and only those of
 * one kernel.
 */
#include <stdlib.h>

#include "merge/analysis.h"
#include "merge/list.h"

struct block_class {
    int block;            /* the block whose allocation all members use */
    struct spans spans;   /* when it is alive */
    struct spans moments; /* the same, for the veto */
    struct span held;     /* when its memory is held */
    struct expr *bytes;
    bool resized;
    int64_t known_bytes; /* the value of `bytes`, or UNKNOWN_BYTES */
    unsigned member_count, member_capacity;
    int *members; /* `block` is the first */
};

/* A class that a block does not join. */
struct near_miss {
    enum merge_condition refused;
    int block; /* block of the class */
    const char *detail;
};

struct reuser {
    struct analysis a;
    int *into; /* by memory name: the block of its class */
    struct block_class *classes;
    unsigned class_count;
    bool own_only;     /* `reuse_private` */
    bool holds;        /* is `held` kept? */
    struct bound held; /* the bytes held */
    const char *detail;
    unsigned miss_count; /* the classes that refused the block */
    struct near_miss *misses;
};

static const struct name *reuse_name(const struct reuser *r, int name)
{
    return &r->a.m->fun->names[name];
}

static struct expr *bytes_of(const struct reuser *r, int block)
{
    const struct memory *of = &r->a.map->of[block];
    return of->kind == MEMORY_PARAMETER ? reuse_name(r, block)->bytes : of->alloc->expr;
}

/* ---- meetings: positions at which both hold something --------------------------------------- */

/* The cases in which a block and a class of blocks may both be alive at a position.
 *
 *   1. A kernel writes its result over what it reads: each thread reads only the elements that it
 *      writes, before it does (analysis_in_place).
 *   2. A thread uses its own arrays one after the other (analysis_private).
 *   3. A loop over rows that reads row i of the one before it writes row i of the other.
 *   4. A loop that begins with the one and continues with the other holds its value in one of them
 *      at a time. Then arrays are compared one by one.
 *
 * In each case the overwritten values must not be needed later, nor in any later iteration: their
 * span ends there.
 */

/* May the array be in a block of the class? */
static bool in_class(const struct reuser *r, const struct block_class *k, int array)
{
    const struct name *n = reuse_name(r, array);
    if (n->kind != NAME_ARRAY || n->memory == NO_NAME)
        return false;
    const struct memory *of = &r->a.map->of[n->memory];
    for (unsigned a = 0; a < of->actual_count; a++)
        if (r->into[of->actuals[a]] == k->block)
            return true;
    return false;
}

static enum merge_condition check_privates(struct reuser *r, const struct block_class *x,
                                           const struct block_class *y, const struct stm *s)
{
    const struct kernel *kernel = s->kernel;
    for (unsigned i = 0; i < kernel->private_count; i++)
        for (unsigned j = 0; j < kernel->private_count; j++) {
            int own = kernel->privates[i], other = kernel->privates[j];
            if (!in_class(r, x, own) || !in_class(r, y, other))
                continue;
            TRY(analysis_private(&r->a, s->first, own, other, &r->detail));
        }
    return MERGE_ALLOWED;
}

/* A kernel at which the class `dying` ends and the class `made` begins. */
static enum merge_condition check_kernel(struct reuser *r, const struct block_class *dying,
                                         const struct block_class *made, const struct stm *s)
{
    const struct kernel *kernel = s->kernel;
    bool dying_private = false, made_private = false;
    for (unsigned i = 0; i < kernel->private_count; i++) {
        dying_private |= in_class(r, dying, kernel->privates[i]);
        made_private |= in_class(r, made, kernel->privates[i]);
    }
    int out = NO_NAME;
    for (unsigned o = 0; o < s->out_count; o++) {
        if (in_class(r, dying, s->outs[o]))
            return CONDITION_interference;
        if (in_class(r, made, s->outs[o])) {
            if (out != NO_NAME)
                return CONDITION_interference;
            out = s->outs[o];
        }
    }
    int *killed = must_alloc((kernel->array_count + 1) * sizeof *killed);
    unsigned killed_count = 0;
    enum merge_condition refused = MERGE_ALLOWED;
    for (unsigned i = s->out_count; i < kernel->array_count; i++) {
        if (reuse_name(r, kernel->arrays[i])->thread_rank)
            continue; /* private arrays are among them */
        if (in_class(r, dying, kernel->arrays[i]))
            killed[killed_count++] = kernel->arrays[i];
        if (in_class(r, made, kernel->arrays[i]))
            refused = CONDITION_interference;
    }
    if (!refused && dying_private && made_private && out == NO_NAME && killed_count == 0)
        refused = check_privates(r, made, dying, s);
    else if (!refused && (dying_private || made_private || out == NO_NAME))
        refused = CONDITION_interference;
    else if (!refused)
        refused = analysis_in_place(&r->a, s->first, out, &reuse_name(r, out)->index, killed,
                                    killed_count, &r->detail);
    free(killed);
    return refused;
}

/* Are the values that are overwritten by position `end` needed after it? */
static bool needed_later(const struct reuser *r, const struct block_class *dying,
                         const struct span *meeting, unsigned end)
{
    return merge_checks(r->a.m, CONDITION_dies_here) &&
           (meeting->last > end || spans_last(&dying->spans, end) > end);
}

/* ---- loops ---------------------------------------------------------------------------------- */

/* Is the statement in the loop's own body, and is its first index the loop's counter? */
static bool takes_row(const struct reuser *r, const struct stm *s, const struct stm *loop)
{
    const struct slice_dim *first = &s->slice[0];
    return s->slice_rank > 0 && first->fixed && first->start && first->start->op == EXPR_NAME &&
           first->start->name == loop->loop->counter &&
           r->a.o->scopes[r->a.o->scope_at[s->first]].owner == loop;
}

static bool is_row_major(const struct name *array)
{
    return array->index.offset == NULL && array->rank > 0;
}

/* Do all accesses to the class in the loop take rows, and are all of them of this kind? Sets the
 * first and last position, and an array accessed. */
static bool accesses_by_row(const struct reuser *r, const struct block_class *k,
                            const struct stm *loop, enum stm_kind kind, unsigned *first,
                            unsigned *last, int *array)
{
    *first = ~0u;
    *last = 0;
    *array = NO_NAME;
    for (unsigned m = 0; m < k->member_count; m++) {
        const struct memory *of = &r->a.map->of[k->members[m]];
        for (unsigned i = 0; i < of->access_count; i++) {
            const struct access_point *access = &of->accesses[i];
            if (access->position <= loop->first || access->position >= loop->last)
                continue;
            const struct stm *s = r->a.o->at[access->position];
            if (!s || s->kind != kind || !takes_row(r, s, loop) || access->array == s->value ||
                !is_row_major(reuse_name(r, access->array)))
                return false;
            *first = access->position < *first ? access->position : *first;
            *last = access->position > *last ? access->position : *last;
            *array = access->array;
        }
    }
    return *array != NO_NAME;
}

static bool same_rows(struct reuser *r, int a, int b, unsigned position)
{
    const struct name *x = reuse_name(r, a), *y = reuse_name(r, b);
    bool same = x->rank == y->rank && element_bytes(x->element) == element_bytes(y->element);
    for (unsigned d = 1; d < x->rank && same; d++)
        same = analysis_enough_bytes(&r->a, x->shape[d], y->shape[d], position) &&
               analysis_enough_bytes(&r->a, y->shape[d], x->shape[d], position);
    return same;
}

/* A loop in which rows of `dying` are read and rows of `made` are written. */
static enum merge_condition check_loop(struct reuser *r, const struct block_class *dying,
                                       const struct block_class *made, const struct stm *s,
                                       const struct span *meeting)
{
    if (s->loop->counter == NO_NAME || meeting->last < s->last - 1)
        return CONDITION_interference;
    unsigned first_read, last_read, first_write, last_write;
    int read, written;
    if (!accesses_by_row(r, dying, s, STM_ELEMENT, &first_read, &last_read, &read) ||
        !accesses_by_row(r, made, s, STM_UPDATE, &first_write, &last_write, &written) ||
        last_read > first_write || !same_rows(r, read, written, s->first))
        return CONDITION_same_index;
    return needed_later(r, dying, meeting, s->last - 1) ? CONDITION_dies_here : MERGE_ALLOWED;
}

/* ---- what both may hold --------------------------------------------------------------------- */

struct array_list {
    unsigned count, capacity;
    int *items;
};

static void list_arrays(const struct reuser *r, int block, struct array_list *list)
{
    const struct memory *of = &r->a.map->of[block];
    for (unsigned e = 0; e <= of->existential_count; e++) {
        const struct memory *in = e ? &r->a.map->of[of->existentials[e - 1]] : of;
        for (unsigned i = 0; i < in->array_count; i++) {
            list->items = must_grow(list->items, list->count, &list->capacity, sizeof *list->items);
            list->items[list->count++] = in->arrays[i];
        }
    }
}

/* May two arrays both be alive at `position`? Yes at a loop in which one becomes the other, and at
 * a kernel that makes one of them where it reads the other. */
static bool pair_allowed(struct reuser *r, int a, int b, unsigned position)
{
    const struct stm *s = r->a.o->at[position];
    if (s && s->kind == STM_LOOP)
        for (unsigned i = 0; i < s->loop->param_count; i++)
            if ((s->loop->init_names[i] == a && s->loop->params[i] == b) ||
                (s->loop->init_names[i] == b && s->loop->params[i] == a))
                return true;
    if (!s || s->kind != STM_KERNEL)
        return false;
    int out = r->a.o->names[a].definer == s ? a : b, killed = out == a ? b : a;
    return r->a.o->names[out].definer == s &&
           analysis_in_place(&r->a, position, out, &reuse_name(r, out)->index, &killed, 1,
                             &r->detail) == MERGE_ALLOWED;
}

static bool arrays_allowed(struct reuser *r, int a, int b)
{
    struct spans x = {0}, y = {0};
    struct span meeting;
    memory_array_spans(r->a.map, a, &x);
    memory_array_spans(r->a.map, b, &y);
    bool allowed = true;
    for (unsigned from = 0; allowed && spans_meet(&x, &y, from, &meeting); from = meeting.last + 1)
        allowed = meeting.first == meeting.last && pair_allowed(r, a, b, meeting.first);
    spans_free(&x);
    spans_free(&y);
    return allowed;
}

static bool share_an_existential(const struct reuser *r, const struct block_class *k, int block)
{
    const struct memory *of = &r->a.map->of[block];
    for (unsigned e = 0; e < of->existential_count; e++)
        for (unsigned i = 0; i < k->member_count; i++)
            if (memory_may_be(r->a.map, of->existentials[e], k->members[i]))
                return true;
    return false;
}

static enum merge_condition check_arrays(struct reuser *r, const struct block_class *k, int block)
{
    struct array_list own = {0}, others = {0};
    struct span meeting;
    bool allowed = true;
    list_arrays(r, block, &own);
    for (unsigned i = 0; i < k->member_count; i++)
        if (spans_meet(&r->a.map->of[k->members[i]].spans, &r->a.map->of[block].spans, 0, &meeting))
            list_arrays(r, k->members[i], &others);
    for (unsigned i = 0; i < own.count && allowed; i++)
        for (unsigned j = 0; j < others.count && allowed; j++)
            allowed =
                own.items[i] == others.items[j] || arrays_allowed(r, own.items[i], others.items[j]);
    free(own.items);
    free(others.items);
    return allowed ? MERGE_ALLOWED : CONDITION_interference;
}

/* May `made` be written where the two meet, over what is in `dying`? */
static enum merge_condition check_meeting(struct reuser *r, const struct block_class *dying,
                                          const struct block_class *made,
                                          const struct span *meeting)
{
    const struct stm *s = r->a.o->at[meeting->first];
    if (s && s->kind == STM_LOOP && s->first == meeting->first)
        return check_loop(r, dying, made, s, meeting);
    if (!s || s->kind != STM_KERNEL)
        return CONDITION_interference;
    enum merge_condition refused = check_kernel(r, dying, made, s);
    return !refused && needed_later(r, dying, meeting, meeting->first) ? CONDITION_dies_here
                                                                       : refused;
}

/* A larger number: two blocks were nearer to becoming one, by the condition that refused it. */
static unsigned nearness(enum merge_condition c)
{
    static const unsigned nearness[CONDITION_COUNT] = {
        [CONDITION_interference] = 1, [CONDITION_threads] = 2, [CONDITION_same_index] = 2,
        [CONDITION_dies_here] = 3,    [CONDITION_size] = 4,    [CONDITION_no_gain] = 5,
    };
    return nearness[c];
}

/* Either may be the one that dies. Both are refused for the reason of that which came nearer. */
static enum merge_condition check_both_ways(struct reuser *r, const struct block_class *k,
                                            const struct block_class *own,
                                            const struct span *meeting)
{
    enum merge_condition refused = check_meeting(r, k, own, meeting);
    if (!refused)
        return MERGE_ALLOWED;
    const char *detail = r->detail;
    r->detail = NULL;
    enum merge_condition other = check_meeting(r, own, k, meeting);
    if (!other || nearness(other) > nearness(refused))
        return other;
    r->detail = detail;
    return refused;
}

/* May `block` join class `k`? Wherever both are alive at once, a kernel must write one exactly
 * where it has finished reading the other. */
static enum merge_condition reuse_meetings(struct reuser *r, const struct block_class *k, int block)
{
    const struct spans *spans = &r->a.map->of[block].spans;
    const struct block_class own = {
        .block = block, .spans = *spans, .member_count = 1, .members = &block};
    struct span meeting;
    if (!merge_checks(r->a.m, CONDITION_interference))
        return MERGE_ALLOWED;
    if (merge_extends(r->a.m, EXTENSION_across) && share_an_existential(r, k, block))
        return check_arrays(r, k, block);
    for (unsigned from = 0; spans_meet(&k->spans, spans, from, &meeting); from = meeting.last + 1) {
        enum merge_condition refused = check_both_ways(r, k, &own, &meeting);
        if (refused || !merge_checks(r->a.m, CONDITION_dies_here))
            return refused;
    }
    return MERGE_ALLOWED;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* Is the size a number, whatever the parameters are? */
static bool is_number(struct reuser *r, const struct expr *bytes)
{
    return poly_is_constant(sizes_of(r->a.sizes, bytes), NULL);
}

/* Is the class large enough, or can it be made so? *grows says whether it must be. */
static bool size_fits(struct reuser *r, const struct block_class *k, int block, bool *grows)
{
    const struct memory *first = &r->a.map->of[k->block];
    struct expr *bytes = bytes_of(r, block);
    *grows = false;
    if (analysis_enough_bytes(&r->a, k->bytes, bytes, r->a.map->of[block].position))
        return true;
    *grows = true;
    if (!merge_extends(r->a.m, EXTENSION_by_bytes) &&
        (is_number(r, bytes) || is_number(r, k->bytes)))
        return false;
    return first->kind == MEMORY_ALLOCATED &&
           outline_known(r->a.o, bytes, first->scope, first->position);
}

/* Tries the bytes alive if a block becomes part of a class: changes them only where the block is
 * alive, and where the class grows. */
static void try_together(struct bound *b, const struct spans *class_spans, int64_t bytes,
                         const struct spans *block_spans, int64_t own)
{
    const int64_t more = own > bytes ? own : bytes;
    struct span meeting;
    bound_add(b, class_spans, more - bytes);
    bound_add(b, block_spans, more - own);
    /* These two count the larger block twice where both are alive. */
    for (unsigned from = 0; spans_meet(class_spans, block_spans, from, &meeting);
         from = meeting.last + 1)
        bound_add(b, &(struct spans){.count = 1, .items = &meeting}, -more);
}

/* When the block is held where `other` is allocated. */
static struct span held_in(const struct reuser *r, int block, int other)
{
    return held_span(r->a.map, block, r->a.map->of[other].scope, r->a.m->options.hold);
}

/* When the class is held if the block joins it: also between the uses of the two. */
static struct span held_with(const struct reuser *r, const struct block_class *k, int block)
{
    const struct span own = held_in(r, block, k->block);
    return (struct span){k->held.first < own.first ? k->held.first : own.first,
                         k->held.last > own.last ? k->held.last : own.last};
}

/* Tries the bytes that are held with the block in the class. */
static void try_held(struct reuser *r, const struct block_class *k, int block)
{
    const int64_t own = r->a.numbers->bytes[block], bytes = k->known_bytes;
    bound_begin(&r->held);
    if (own == UNKNOWN_BYTES || bytes == UNKNOWN_BYTES)
        return;
    bound_add_span(&r->held, k->held, -bytes);
    bound_add_span(&r->held, held_in(r, block, block), -own);
    bound_add_span(&r->held, held_with(r, k, block), own > bytes ? own : bytes);
}

/* May a run need more memory if the block joins the class? */
static bool holds_more(struct reuser *r, const struct block_class *k, int block, bool grows)
{
    if (!r->holds)
        return false;
    try_held(r, k, block);
    return (grows && r->a.numbers->reached[block] == REACHED_NEVER) || !bound_fits(&r->held);
}

/* The kernel whose threads have an array of their own in the block; NULL if there is none. */
static const struct stm *kernel_of_threads(const struct reuser *r, int block)
{
    const struct memory *of = &r->a.map->of[block];
    return of->array_count && reuse_name(r, of->arrays[0])->thread_rank
               ? r->a.o->names[of->arrays[0]].definer
               : NULL;
}

static enum merge_condition class_fits(struct reuser *r, const struct block_class *k, int block,
                                       bool *grows)
{
    const struct memory *first = &r->a.map->of[k->block], *own = &r->a.map->of[block];
    if (reuse_name(r, k->block)->space != reuse_name(r, block)->space &&
        merge_checks(r->a.m, CONDITION_space))
        return CONDITION_space;
    if (!outline_encloses(r->a.o, first->scope, own->scope)) {
        r->detail = "that block is allocated in another branch or loop";
        return CONDITION_branches;
    }
    if (r->own_only && kernel_of_threads(r, k->block) != kernel_of_threads(r, block)) {
        r->detail = "that block has the arrays of another kernel's threads";
        return CONDITION_branches;
    }
    if (first->position >= own->first_bound)
        return CONDITION_allocation;
    TRY(reuse_meetings(r, k, block));
    if (!size_fits(r, k, block, grows) && merge_checks(r->a.m, CONDITION_size))
        return CONDITION_size;
    return holds_more(r, k, block, *grows) ? CONDITION_no_gain : MERGE_ALLOWED;
}

/* The veto: tries the bytes alive with the block in the class. If a size is not known, only blocks
 * of one size share. */
static bool reuse_pays(struct reuser *r, const struct block_class *k, int block)
{
    int64_t own = r->a.numbers->bytes[block], bytes = k->known_bytes;
    if (!r->a.m->options.veto)
        return true;
    if (own == UNKNOWN_BYTES || bytes == UNKNOWN_BYTES)
        return expr_equal(k->bytes, bytes_of(r, block));
    bound_begin(&r->a.bound);
    try_together(&r->a.bound, &k->moments, bytes, &r->a.bound.moments->of[block], own);
    return bound_keep(&r->a.bound);
}

/* ---- classes -------------------------------------------------------------------------------- */

static void add_member(const struct reuser *r, struct block_class *k, int block)
{
    k->members = must_grow(k->members, k->member_count, &k->member_capacity, sizeof *k->members);
    k->members[k->member_count++] = block;
    spans_join(&k->spans, &r->a.map->of[block].spans);
    if (r->a.m->options.veto)
        spans_join(&k->moments, &r->a.bound.moments->of[block]);
}

static void begin_class(struct reuser *r, int block)
{
    struct block_class *k = &r->classes[r->class_count++];
    *k = (struct block_class){
        .block = block, .bytes = bytes_of(r, block), .known_bytes = r->a.numbers->bytes[block]};
    k->held = held_in(r, block, block);
    add_member(r, k, block);
}

static void join_class(struct reuser *r, struct block_class *k, int block, bool grows)
{
    int64_t bytes = r->a.numbers->bytes[block];
    if (r->holds) {
        try_held(r, k, block);
        bound_keep(&r->held);
        k->held = held_with(r, k, block);
    }
    add_member(r, k, block);
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

/* Less is better: how much the class would grow, then how much of it would lie idle. */
static int64_t reuse_cost(const struct reuser *r, const struct block_class *k, int block,
                          bool grows)
{
    int64_t bytes = r->a.numbers->bytes[block];
    if (bytes == UNKNOWN_BYTES || k->known_bytes == UNKNOWN_BYTES)
        return grows;
    return bytes > k->known_bytes ? (bytes - k->known_bytes) * 2 : k->known_bytes - bytes;
}

static void add_miss(struct reuser *r, enum merge_condition refused, int block)
{
    r->misses[r->miss_count++] = (struct near_miss){refused, block, r->detail};
}

/* The class that the block joins: the first that fits, or with `by_bytes` the one of least cost.
 * NULL: none fits. Adds the classes that refused it to r->misses. */
static struct block_class *find_class(struct reuser *r, int block, bool *grows)
{
    struct block_class *best = NULL;
    for (unsigned i = 0; i < r->class_count; i++) {
        struct block_class *k = &r->classes[i];
        bool enlarges;
        r->detail = NULL;
        enum merge_condition refused = class_fits(r, k, block, &enlarges);
        if (refused)
            add_miss(r, refused, k->block);
        if (refused ||
            (best && reuse_cost(r, k, block, enlarges) >= reuse_cost(r, best, block, *grows)))
            continue;
        best = k;
        *grows = enlarges;
        if (!merge_extends(r->a.m, EXTENSION_by_bytes))
            break;
    }
    if (best && !reuse_pays(r, best, block)) {
        r->detail = NULL;
        add_miss(r, CONDITION_no_gain, best->block);
        best = NULL;
    }
    return best;
}

/* The miss that came nearest to fitting; of several, the first. */
static unsigned nearest(const struct reuser *r)
{
    unsigned best = 0;
    for (unsigned i = 1; i < r->miss_count; i++)
        if (nearness(r->misses[i].refused) > nearness(r->misses[best].refused))
            best = i;
    return best;
}

static void note_reuse(struct reuser *r, int block, const struct near_miss *decision, bool further)
{
    const struct memory *of = &r->a.map->of[block];
    merge_note(r->a.m, &(struct merge_event){.action = MERGE_REUSED,
                                             .refused = decision->refused,
                                             .at = of->alloc->at,
                                             .array = of->array_count ? of->arrays[0] : NO_NAME,
                                             .from = block,
                                             .into = decision->block,
                                             .detail = decision->detail,
                                             .further = further});
}

static void assign_block(struct reuser *r, int block)
{
    struct block_class *k = NULL;
    bool grows = false;
    r->miss_count = 0;
    if (r->a.map->of[block].escapes && merge_checks(r->a.m, CONDITION_escapes))
        note_reuse(r, block, &(struct near_miss){CONDITION_escapes, NO_NAME, NULL}, false);
    else
        k = find_class(r, block, &grows);
    if (k)
        note_reuse(r, block,
                   &(struct near_miss){MERGE_ALLOWED, k->block, grows ? "enlarged" : NULL}, false);
    for (unsigned i = 0, first = nearest(r); i < r->miss_count; i++)
        note_reuse(r, block, &r->misses[i], k || i != first);
    if (k)
        join_class(r, k, block, grows);
    else
        begin_class(r, block);
}

static void resize(struct reuser *r)
{
    for (unsigned i = 0; i < r->class_count; i++)
        if (r->classes[i].resized && r->a.map->of[r->classes[i].block].alloc)
            r->a.map->of[r->classes[i].block].alloc->expr = r->classes[i].bytes;
}

static int run_reuse(struct merge *m, bool own_only)
{
    struct reuser r = {.own_only = own_only};
    analysis_open(&r.a, m,
                  (merge_extends(m, EXTENSION_by_branch) ? MEMORY_BY_BRANCH : 0u) |
                      (merge_checks(m, CONDITION_foreign) ? 0u : MEMORY_ALL_OURS));
    r.into = must_alloc((m->fun->name_count + 1) * sizeof *r.into);
    r.classes = must_alloc((r.a.map->block_count + 1) * sizeof *r.classes);
    r.misses = must_alloc((r.a.map->block_count + 1) * sizeof *r.misses);
    for (unsigned n = 0; n < m->fun->name_count; n++)
        r.into[n] = (int)n;
    r.holds = merge_extends(m, EXTENSION_by_bytes) && m->options.values && !m->options.veto;
    if (r.holds)
        bound_open_held(&r.held, r.a.map, r.a.numbers, m->options.hold);
    for (unsigned b = 0; b < r.a.map->block_count; b++) {
        int block = r.a.map->blocks[b];
        const struct memory *of = &r.a.map->of[block];
        if (of->spans.count == 0 || (of->foreign && merge_checks(m, CONDITION_foreign)) ||
            (own_only && !kernel_of_threads(&r, block)))
            continue;
        if (of->kind == MEMORY_PARAMETER)
            begin_class(&r, block);
        else
            assign_block(&r, block);
    }
    resize(&r);
    merge_replace_blocks(m, r.into);
    for (unsigned i = 0; i < r.class_count; i++) {
        spans_free(&r.classes[i].spans);
        spans_free(&r.classes[i].moments);
        free(r.classes[i].members);
    }
    if (r.holds)
        bound_close(&r.held);
    free(r.classes);
    free(r.misses);
    free(r.into);
    analysis_close(&r.a);
    return 0;
}

int merge_run_reuse(struct merge *m)
{
    return run_reuse(m, false);
}

int merge_run_reuse_private(struct merge *m)
{
    return run_reuse(m, true);
}
