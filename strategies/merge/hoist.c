/* Hoisting: allocations go up, so that arrays that are made before them can be made in them.
 *
 * An annotated program allocates a block just before the array that it is for. To make the source
 * of a copy in the copy's block, the block must be there when the source is made (condition C2 of
 * coalescing), and so must the scalars that its size and the place in it are made of (C5). Serup
 * 2017, chapter 7: within its body, each wanted statement goes to just after the last statement
 * that it needs; what it needs goes up in the same way. Four kinds of statement move: allocations,
 * scalars, reads of elements, and arrays that are filled from nothing or by a copy (scratch,
 * replicate, iota, copy, a kernel that reads no array). These arrays and reads move only if they
 * stand between an array and the one that it is put into later.
 *
 * Barriers: other kernels, loops and branches stay where they are. Moving them would need an
 * analysis of its own, and a kernel that moves up would keep all that it reads and all that it
 * writes alive at the same time (figure 7.10 of the thesis). No read goes up past an assertion,
 * which may be about its index.
 *
 * Statements do not move out of loops: a block that is allocated in every iteration is held for
 * less time, and no array from outside of the loop can be made in it anyway.
 */
#include <string.h>

#include "merge/list.h"
#include "merge/outline.h"

struct hoister {
    struct merge *m;
    struct outline *o;
    bool *wanted;     /* by position: should this statement go up? */
    unsigned *anchor; /* by position of a wanted statement: the statement that it follows */
    /* by position: the statements that follow it; [true]: those that make arrays, or need what
     * these make, so that all blocks are there when the first array is made */
    struct stm **following[2], ***following_end[2];
    bool *late;            /* by position of a wanted statement: it is one of [true] */
    unsigned *first_array; /* by memory name: the position of the first array in it */
    /* by array name: the first position at which it, or an array that is put into it, is made */
    unsigned *made;
    unsigned source; /* where the array is made that should go into the wanted block */
};

/* A kernel that reads no array. */
static bool is_fill(const struct stm *s)
{
    const struct kernel *k = s->kernel;
    return s->kind == STM_KERNEL && s->out_count == 1 && k->array_count == 1 &&
           k->private_count == 0 && k->taken_over[0] == NO_NAME;
}

static bool moves(const struct stm *s)
{
    switch (s->kind) {
    case STM_SCALAR:
    case STM_ALLOC:
    case STM_SCRATCH:
    case STM_REPLICATE:
    case STM_IOTA:
    case STM_COPY:
    case STM_ELEMENT:
        return true;
    default:
        return is_fill(s);
    }
}

/* ---- what a statement needs ----------------------------------------------------------------- */

struct needs {
    struct hoister *h;
    void (*visit)(struct hoister *h, struct needs *n, int name);
    unsigned scope, last; /* scope of the statement; the greatest anchor so far */
    bool late;            /* does it need a late statement? */
};

static void need_expr(struct needs *n, const struct expr *e)
{
    if (!e || e->op == EXPR_CONSTANT)
        return;
    if (e->op == EXPR_NAME) {
        n->visit(n->h, n, e->name);
        return;
    }
    need_expr(n, e->arg[0]);
    need_expr(n, e->arg[1]);
}

static void need_array(struct needs *n, int array)
{
    const struct name *a = &n->h->m->fun->names[array];
    n->visit(n->h, n, a->memory);
    for (unsigned d = 0; d < a->rank; d++)
        need_expr(n, a->shape[d]);
    need_expr(n, a->index.offset);
    for (unsigned d = 0; a->index.offset && d < a->rank; d++)
        need_expr(n, a->index.stride[d]);
}

static void need_statement(struct needs *n, const struct stm *s)
{
    need_expr(n, s->expr);
    if (s->kind == STM_SCALAR || s->kind == STM_ALLOC)
        return;
    if (s->array != NO_NAME)
        n->visit(n->h, n, s->array);
    for (unsigned d = 0; d < s->slice_rank; d++)
        need_expr(n, s->slice[d].start);
    if (s->kind == STM_ELEMENT)
        return;
    need_array(n, s->outs[0]);
    if (s->kind != STM_KERNEL)
        return;
    for (unsigned d = 0; d < s->kernel->rank; d++)
        need_expr(n, s->kernel->extents[d]);
    for (unsigned i = 0; i < s->kernel->scalar_count; i++)
        n->visit(n->h, n, s->kernel->scalars[i]);
}

/* ---- what is wanted ------------------------------------------------------------------------- */

static void want(struct hoister *h, struct stm *s);

static void want_name(struct hoister *h, struct needs *n, int name)
{
    const struct outline_name *at = &h->o->names[name];
    if (at->definer && at->scope == n->scope && moves(at->definer))
        want(h, at->definer);
}

static struct needs needs_of(struct hoister *h, const struct stm *s,
                             void (*visit)(struct hoister *h, struct needs *n, int name))
{
    unsigned scope = h->o->scope_at[s->first];
    return (struct needs){h, visit, scope, h->o->scopes[scope].begin, false};
}

/* Is the array the first in a block of its own body? Then nothing is overwritten too early. */
static bool is_fresh(const struct hoister *h, const struct stm *s)
{
    const int memory = h->m->fun->names[s->outs[0]].memory;
    const struct outline_name *block = &h->o->names[memory];
    return block->definer && block->definer->kind == STM_ALLOC &&
           block->scope == h->o->scope_at[s->first] && h->first_array[memory] >= s->first;
}

static unsigned *first_arrays(struct outline *o)
{
    unsigned *first = arena_alloc(&o->arena, o->name_count * sizeof *first);
    for (unsigned n = 0; n < o->name_count; n++)
        first[n] = ~0u;
    for (unsigned n = 0; n < o->name_count; n++) {
        const struct name *array = &o->fun->names[n];
        if (array->kind == NAME_ARRAY && array->memory != NO_NAME &&
            o->names[n].position < first[array->memory])
            first[array->memory] = o->names[n].position;
    }
    return first;
}

static bool makes_array(const struct stm *s)
{
    return s->kind != STM_SCALAR && s->kind != STM_ALLOC && s->kind != STM_ELEMENT;
}

static void want(struct hoister *h, struct stm *s)
{
    const bool waits = s->kind == STM_ELEMENT || s->kind == STM_KERNEL;
    if (h->wanted[s->first] || (waits && s->first < h->source) ||
        (makes_array(s) && !is_fresh(h, s)))
        return;
    h->wanted[s->first] = true;
    struct needs n = needs_of(h, s, want_name);
    need_statement(&n, s);
}

/* The statement that made the array's elements, found through views and updates. */
static struct stm *origin(const struct hoister *h, int array)
{
    struct stm *s = h->o->names[array].definer;
    while (s && (s->kind == STM_UPDATE || s->kind == STM_ALIAS || s->kind == STM_RESHAPE ||
                 s->kind == STM_REARRANGE || s->kind == STM_SLICE))
        s = h->o->names[s->array].definer;
    return s;
}

static void want_block(struct hoister *h, int array)
{
    struct stm *alloc = h->o->names[h->m->fun->names[array].memory].definer;
    if (alloc && alloc->kind == STM_ALLOC)
        want(h, alloc);
}

static void want_for_update(struct hoister *h, const struct stm *s)
{
    struct needs n = needs_of(h, s, want_name);
    want_block(h, s->outs[0]);
    for (unsigned d = 0; d < s->slice_rank; d++) {
        need_expr(&n, s->slice[d].start);
        need_expr(&n, s->slice[d].length);
        need_expr(&n, s->slice[d].step);
    }
    struct stm *target = origin(h, s->array);
    if (target && moves(target) && h->made[s->value] < target->first &&
        h->o->scope_at[target->first] == h->o->scope_at[s->first])
        want(h, target);
}

/* The first position at which an array is made that a copy, concat or update puts into its result,
 * or that was put into one of these before. */
static unsigned first_source(const struct hoister *h, const struct stm *s)
{
    unsigned first = ~0u;
    const unsigned count = s->kind == STM_CONCAT ? s->piece_count : 1;
    for (unsigned i = 0; i < count; i++) {
        const int array = s->kind == STM_CONCAT   ? s->pieces[i].array
                          : s->kind == STM_UPDATE ? s->value
                                                  : s->array;
        if (array != NO_NAME && h->made[array] < first)
            first = h->made[array];
    }
    return first;
}

/* Statements are visited in order, so the arrays that this one takes are known. A slice is never
 * made elsewhere, and so nothing has to be there before its array is made. */
static void find_made(struct hoister *h, const struct stm *s)
{
    const bool takes = s->kind == STM_COPY || s->kind == STM_CONCAT || s->kind == STM_UPDATE ||
                       s->kind == STM_ALIAS || s->kind == STM_RESHAPE || s->kind == STM_REARRANGE;
    unsigned first = s->first;
    if (takes && h->source < first)
        first = h->source;
    if (takes && s->array != NO_NAME && h->made[s->array] < first)
        first = h->made[s->array];
    for (unsigned i = 0; i < s->out_count; i++)
        h->made[s->outs[i]] = first;
}

static void find_wanted(struct hoister *h)
{
    for (unsigned p = 0; p < h->o->position_count; p++) {
        const struct stm *s = h->o->at[p];
        if (!s || s->first != p)
            continue;
        h->source = first_source(h, s);
        find_made(h, s);
        if (s->kind == STM_UPDATE && s->value != NO_NAME)
            want_for_update(h, s);
        if (s->kind == STM_COPY || s->kind == STM_CONCAT)
            want_block(h, s->outs[0]);
    }
}

static void find_wanted_sizes(struct hoister *h)
{
    h->source = ~0u;
    for (unsigned p = 0; p < h->o->position_count; p++) {
        struct stm *s = h->o->at[p];
        if (!s || s->kind != STM_ALLOC)
            continue;
        struct needs n = needs_of(h, s, want_name);
        need_expr(&n, s->expr);
    }
}

/* ---- moving --------------------------------------------------------------------------------- */

static void raise_anchor(struct hoister *h, struct needs *n, int name)
{
    const struct outline_name *at = &h->o->names[name];
    if (at->scope != n->scope || at->position == 0)
        return;
    unsigned p = at->position;
    if (at->definer && h->wanted[at->definer->first]) {
        n->late |= h->late[p];
        p = h->anchor[p];
    }
    if (p > n->last)
        n->last = p;
}

/* Statements are visited in order, so those that one needs have their anchors already. */
static void move_body(struct hoister *h, unsigned scope)
{
    struct body *body = h->o->scopes[scope].body;
    const unsigned begin = h->o->scopes[scope].begin;
    unsigned asserted = begin; /* the last assertion so far */
    for (struct stm **link = &body->first; *link;) {
        struct stm *s = *link;
        if (s->kind == STM_ASSERT)
            asserted = s->first;
        if (!h->wanted[s->first]) {
            link = &s->next;
            continue;
        }
        struct needs n = needs_of(h, s, raise_anchor);
        need_statement(&n, s);
        if (s->kind == STM_ELEMENT && asserted > n.last)
            n.last = asserted;
        const bool late = h->late[s->first] = n.late || makes_array(s);
        h->anchor[s->first] = n.last;
        *link = s->next;
        *h->following_end[late][n.last] = s;
        h->following_end[late][n.last] = &s->next;
        s->next = NULL;
    }
    struct stm **link = &body->first;
    unsigned p = begin;
    for (;;) {
        for (unsigned late = 0; late < 2; late++)
            if (h->following[late][p]) {
                *h->following_end[late][p] = *link;
                *link = h->following[late][p];
                link = h->following_end[late][p];
            }
        if (!*link)
            return;
        p = (*link)->last;
        link = &(*link)->next;
    }
}

static void note_moves(struct hoister *h)
{
    for (unsigned p = 0; p < h->o->position_count; p++) {
        const struct stm *s = h->o->at[p];
        if (!s || s->kind != STM_ALLOC || !h->wanted[p])
            continue;
        bool moved = false; /* past anything that stays? */
        for (unsigned q = h->anchor[p] + 1; q < p && !moved; q++)
            moved = h->o->at[q] && !h->wanted[h->o->at[q]->first];
        if (moved)
            merge_note(h->m, &(struct merge_event){.action = MERGE_HOISTED,
                                                   .at = s->at,
                                                   .array = NO_NAME,
                                                   .from = s->outs[0],
                                                   .into = NO_NAME});
    }
}

static int hoist(struct merge *m, void (*find)(struct hoister *h))
{
    struct outline *o = outline_new(m->fun);
    struct hoister h = {.m = m, .o = o, .first_array = first_arrays(o)};
    h.made = arena_alloc(&o->arena, o->name_count * sizeof *h.made);
    memset(h.made, 0xff, o->name_count * sizeof *h.made); /* parameters and variables of loops */
    h.wanted = arena_alloc(&o->arena, o->position_count);
    h.anchor = arena_alloc(&o->arena, o->position_count * sizeof *h.anchor);
    h.late = arena_alloc(&o->arena, o->position_count);
    for (unsigned late = 0; late < 2; late++) {
        h.following[late] = arena_alloc(&o->arena, o->position_count * sizeof *h.following[late]);
        h.following_end[late] =
            arena_alloc(&o->arena, o->position_count * sizeof *h.following_end[late]);
        for (unsigned p = 0; p < o->position_count; p++)
            h.following_end[late][p] = &h.following[late][p];
    }
    find(&h);
    for (unsigned scope = 0; scope < o->scope_count; scope++)
        move_body(&h, scope);
    note_moves(&h);
    outline_free(o);
    return 0;
}

int merge_run_hoist(struct merge *m)
{
    return hoist(m, find_wanted);
}

int merge_run_hoist_sizes(struct merge *m)
{
    return hoist(m, find_wanted_sizes);
}
