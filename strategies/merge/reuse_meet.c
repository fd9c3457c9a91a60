/* Where a block and a class of blocks are both alive: which of it does no harm.
 *
 *   1. A kernel writes its result over what it reads: each thread reads only the elements that it
 *      writes, before it does (touch_in_place).
 *   2. A thread's own arrays, one after the other (touch_private).
 *   3. A loop over rows that reads row i of the one before it writes row i of the other.
 *   4. What both may hold by way of a loop is not in both: a loop that begins with the one and goes
 *      on with the other has one value at a time. Then arrays are compared one by one.
 * In each case what is overwritten must not be needed any more, by any later iteration either: its
 * span ends there.
 */
#include <stdlib.h>

#include "merge/reuse.h"

static const struct name *name_at(const struct reuser *r, int name)
{
    return &r->a.m->fun->names[name];
}

/* ---- meetings: positions at which both hold something --------------------------------------- */

/* Is array, or may it be, in a block of the class? */
static bool in_class(const struct reuser *r, const struct block_class *k, int array)
{
    const struct name *n = name_at(r, array);
    if (n->kind != NAME_ARRAY || n->memory == NO_NAME)
        return false;
    const struct memory *of = &r->a.map->of[n->memory];
    for (unsigned a = 0; a < of->actual_count; a++)
        if (r->into[of->actuals[a]] == k->block)
            return true;
    return false;
}

static bool in_block(const struct reuser *r, int block, int array)
{
    const struct name *n = name_at(r, array);
    return n->kind == NAME_ARRAY && n->memory != NO_NAME &&
           memory_may_be(r->a.map, n->memory, block);
}

static enum merge_condition check_privates(struct reuser *r, const struct block_class *k, int block,
                                           const struct stm *s)
{
    const struct kernel *kernel = s->kernel;
    for (unsigned i = 0; i < kernel->private_count; i++)
        for (unsigned j = 0; j < kernel->private_count; j++) {
            int own = kernel->privates[i], other = kernel->privates[j];
            if (!in_block(r, block, own) || !in_class(r, k, other))
                continue;
            enum merge_condition refused =
                touch_private(&r->a.touch, s->first, own, other, &r->detail);
            if (refused)
                return refused;
        }
    return MERGE_ALLOWED;
}

/* A kernel at which the class ends and the block begins. */
static enum merge_condition check_kernel(struct reuser *r, const struct block_class *k, int block,
                                         const struct stm *s)
{
    const struct kernel *kernel = s->kernel;
    bool own_private = false, class_private = false;
    for (unsigned i = 0; i < kernel->private_count; i++) {
        own_private |= in_block(r, block, kernel->privates[i]);
        class_private |= in_class(r, k, kernel->privates[i]);
    }
    int out = NO_NAME;
    for (unsigned o = 0; o < s->out_count; o++) {
        if (in_class(r, k, s->outs[o]))
            return CONDITION_interference;
        if (in_block(r, block, s->outs[o])) {
            if (out != NO_NAME)
                return CONDITION_interference;
            out = s->outs[o];
        }
    }
    int *killed = must_alloc((kernel->array_count + 1) * sizeof *killed);
    unsigned killed_count = 0;
    enum merge_condition refused = MERGE_ALLOWED;
    for (unsigned i = s->out_count; i < kernel->array_count; i++) {
        if (name_at(r, kernel->arrays[i])->thread_rank)
            continue; /* private arrays are among them */
        if (in_class(r, k, kernel->arrays[i]))
            killed[killed_count++] = kernel->arrays[i];
        if (in_block(r, block, kernel->arrays[i]))
            refused = CONDITION_interference;
    }
    if (!refused && own_private && class_private && out == NO_NAME && killed_count == 0)
        refused = check_privates(r, k, block, s);
    else if (!refused && (own_private || class_private || out == NO_NAME))
        refused = CONDITION_interference;
    else if (!refused)
        refused = touch_in_place(&r->a.touch, s->first, out, &name_at(r, out)->index, killed,
                                 killed_count, &r->detail);
    free(killed);
    return refused;
}

/* Is what is overwritten by position `end` needed after it? */
static bool needed_later(const struct reuser *r, const struct block_class *k,
                         const struct span *meeting, unsigned end)
{
    return merge_checks(r->a.m, CONDITION_dies_here) &&
           (meeting->last > end || spans_last(&k->spans, end) > end);
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

/* Looks at the accesses to one block within the loop: all by rows, all reads (or all writes). */
static bool accesses_by_row(const struct reuser *r, int block, const struct stm *loop,
                            enum stm_kind kind, unsigned *first, unsigned *last, int *array)
{
    const struct memory *of = &r->a.map->of[block];
    for (unsigned i = 0; i < of->access_count; i++) {
        const struct access_point *access = &of->accesses[i];
        if (access->position <= loop->first || access->position >= loop->last)
            continue;
        const struct stm *s = r->a.o->at[access->position];
        if (!s || s->kind != kind || !takes_row(r, s, loop) || access->array == s->value ||
            !is_row_major(name_at(r, access->array)))
            return false;
        *first = access->position < *first ? access->position : *first;
        *last = access->position > *last ? access->position : *last;
        *array = access->array;
    }
    return true;
}

static bool same_rows(struct reuser *r, int a, int b, unsigned position)
{
    const struct name *x = name_at(r, a), *y = name_at(r, b);
    bool same = x->rank == y->rank && element_bytes(x->element) == element_bytes(y->element);
    for (unsigned d = 1; d < x->rank && same; d++)
        same = touch_enough_bytes(&r->a.touch, x->shape[d], y->shape[d], position) &&
               touch_enough_bytes(&r->a.touch, y->shape[d], x->shape[d], position);
    return same;
}

static enum merge_condition check_loop(struct reuser *r, const struct block_class *k, int block,
                                       const struct stm *s, const struct span *meeting)
{
    if (s->loop->counter == NO_NAME || meeting->last < s->last - 1)
        return CONDITION_interference;
    unsigned first_read = ~0u, last_read = 0, first_write = ~0u, last_write = 0;
    int read = NO_NAME, written = NO_NAME;
    for (unsigned i = 0; i < k->member_count; i++)
        if (!accesses_by_row(r, k->members[i], s, STM_ELEMENT, &first_read, &last_read, &read))
            return CONDITION_same_index;
    if (!accesses_by_row(r, block, s, STM_UPDATE, &first_write, &last_write, &written) ||
        read == NO_NAME || written == NO_NAME || last_read > first_write ||
        !same_rows(r, read, written, s->first))
        return CONDITION_same_index;
    return needed_later(r, k, meeting, s->last - 1) ? CONDITION_dies_here : MERGE_ALLOWED;
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
            if (list->count == list->capacity) {
                list->capacity = list->capacity ? 2 * list->capacity : 16;
                list->items = must_realloc(list->items, list->capacity * sizeof *list->items);
            }
            list->items[list->count++] = in->arrays[i];
        }
    }
}

/* Two arrays are alive at one position: the loop at which one becomes the other, or a kernel that
 * makes one of them where it reads the other. */
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
           touch_in_place(&r->a.touch, position, out, &name_at(r, out)->index, &killed, 1,
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
    bool allowed = true;
    list_arrays(r, block, &own);
    for (unsigned i = 0; i < k->member_count; i++)
        list_arrays(r, k->members[i], &others);
    for (unsigned i = 0; i < own.count && allowed; i++)
        for (unsigned j = 0; j < others.count && allowed; j++)
            allowed =
                own.items[i] == others.items[j] || arrays_allowed(r, own.items[i], others.items[j]);
    free(own.items);
    free(others.items);
    return allowed ? MERGE_ALLOWED : CONDITION_interference;
}

/* ---- all ------------------------------------------------------------------------------------ */

static enum merge_condition check_meeting(struct reuser *r, const struct block_class *k, int block,
                                          const struct span *meeting)
{
    const struct stm *s = r->a.o->at[meeting->first];
    if (s && s->kind == STM_LOOP && s->first == meeting->first)
        return check_loop(r, k, block, s, meeting);
    if (!s || s->kind != STM_KERNEL)
        return CONDITION_interference;
    enum merge_condition refused = check_kernel(r, k, block, s);
    return !refused && needed_later(r, k, meeting, meeting->first) ? CONDITION_dies_here : refused;
}

enum merge_condition reuse_meetings(struct reuser *r, const struct block_class *k, int block)
{
    struct span meeting;
    if (!merge_checks(r->a.m, CONDITION_interference))
        return MERGE_ALLOWED;
    if (merge_extends(r->a.m, EXTENSION_across) && share_an_existential(r, k, block))
        return check_arrays(r, k, block);
    for (unsigned from = 0; spans_meet(&k->spans, &r->a.map->of[block].spans, from, &meeting);
         from = meeting.last + 1) {
        enum merge_condition refused = check_meeting(r, k, block, &meeting);
        if (refused || !merge_checks(r->a.m, CONDITION_dies_here))
            return refused;
    }
    return MERGE_ALLOWED;
}
