#include "merge/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

/* ---- spans ---------------------------------------------------------------------------------- */

void spans_free(struct spans *s)
{
    free(s->items);
    *s = (struct spans){0};
}

/* The first span that ends at or after `position`. */
static unsigned find_span(const struct spans *s, unsigned position)
{
    unsigned i;
    FIND_PLACE(i, s->count, s->items[i].last < position);
    return i;
}

void spans_add(struct spans *s, unsigned first, unsigned last)
{
    unsigned from = find_span(s, first), to = from;
    for (; to < s->count && s->items[to].first <= last; to++) {
        if (s->items[to].first < first)
            first = s->items[to].first;
        if (s->items[to].last > last)
            last = s->items[to].last;
    }
    if (from == to)
        s->items = must_grow(s->items, s->count, &s->capacity, sizeof *s->items);
    memmove(s->items + from + 1, s->items + to, (s->count - to) * sizeof *s->items);
    s->items[from] = (struct span){first, last};
    s->count = s->count - (to - from) + 1;
}

void spans_join(struct spans *to, const struct spans *from)
{
    for (unsigned i = 0; i < from->count; i++)
        spans_add(to, from->items[i].first, from->items[i].last);
}

bool spans_meet(const struct spans *a, const struct spans *b, unsigned from, struct span *meeting)
{
    unsigned i = find_span(a, from), j = find_span(b, from);
    while (i < a->count && j < b->count) {
        const struct span *x = &a->items[i], *y = &b->items[j];
        unsigned first = x->first > y->first ? x->first : y->first;
        unsigned last = x->last < y->last ? x->last : y->last;
        if (first < from)
            first = from;
        if (first <= last) {
            *meeting = (struct span){first, last};
            return true;
        }
        if (x->last < y->last)
            i = find_span(a, y->first);
        else
            j = find_span(b, x->first);
    }
    return false;
}

unsigned spans_last(const struct spans *s, unsigned position)
{
    unsigned i = find_span(s, position);
    return i < s->count && s->items[i].first <= position ? s->items[i].last : 0;
}

/* ---- when arrays are alive ------------------------------------------------------------------ */

struct live {
    const struct outline *o;
    bool by_branch;
    struct spans *spans;
};

/* Adds the span of a value that exists from position `start` of `scope` and is used at uses[0] to
 * uses[count - 1], all of them in the scope. */
static void live_in(const struct live *l, unsigned scope, unsigned start, const unsigned *uses,
                    unsigned count)
{
    const struct outline *o = l->o;
    unsigned inside, last = outline_lift(o, uses[count - 1], scope, &inside);
    if (inside == scope) {
        spans_add(l->spans, start, last);
        return;
    }
    const struct stm *s = o->at[last];
    if (s->kind == STM_LOOP || !l->by_branch) {
        spans_add(l->spans, start, s->last - 1);
        return;
    }
    spans_add(l->spans, start, s->first);
    for (unsigned i = count; i > 0;) {
        unsigned branch, end = i;
        if (uses[i - 1] <= s->first || outline_lift(o, uses[i - 1], scope, &branch) != last)
            break;
        while (i > 0 && uses[i - 1] >= o->scopes[branch].begin)
            i--;
        live_in(l, branch, o->scopes[branch].begin, uses + i, end - i);
    }
}

void memory_array_spans(const struct memory_map *m, int array, struct spans *spans)
{
    const struct outline_name *n = &m->outline->names[array];
    const struct live l = {m->outline, m->by_branch, spans};
    const unsigned *uses = m->outline->uses + n->use_begin;
    unsigned start = n->position;
    bool empty = n->definer && n->definer->kind == STM_SCRATCH; /* nothing of value in it yet */
    if (empty && n->use_count)
        start = outline_lift(m->outline, uses[0], n->scope, NULL);
    if (n->use_count)
        live_in(&l, n->scope, start, uses, n->use_count);
    else if (!empty)
        spans_add(spans, start, start);
}

/* ---- which blocks there are ----------------------------------------------------------------- */

/* The memories that an existential receives: calls visit for each. */
static void received(const struct outline *o, int e, void (*visit)(void *context, int memory),
                     void *context)
{
    const struct outline_name *n = &o->names[e];
    if (n->binder) {
        const struct loop *l = n->binder->loop;
        for (unsigned i = 0; i < l->param_count; i++)
            if (l->params[i] == e) {
                visit(context, l->init_names[i]);
                visit(context, l->body.results[i]);
            }
        return;
    }
    const struct stm *s = n->definer;
    for (unsigned i = 0; i < s->out_count; i++) {
        if (s->outs[i] != e)
            continue;
        if (s->kind == STM_LOOP) {
            visit(context, s->loop->params[i]);
        } else {
            visit(context, s->then->results[i]);
            visit(context, s->otherwise->results[i]);
        }
    }
}

struct closure {
    const struct memory_map *m;
    unsigned *seen; /* by name: the number of the closure that saw it */
    unsigned number, count, capacity;
    int *found;
};

static void close_over(void *context, int memory)
{
    struct closure *c = context;
    if (c->seen[memory] == c->number)
        return;
    c->seen[memory] = c->number;
    if (c->m->of[memory].kind == MEMORY_EXISTENTIAL) {
        received(c->m->outline, memory, close_over, c);
        return;
    }
    c->found = must_grow(c->found, c->count, &c->capacity, sizeof *c->found);
    c->found[c->count++] = memory;
}

static int by_number(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void find_actuals(struct memory_map *m)
{
    const struct fun *fun = m->outline->fun;
    struct closure c = {.m = m, .seen = must_alloc(fun->name_count * sizeof *c.seen)};
    for (unsigned n = 0; n < fun->name_count; n++) {
        if (fun->names[n].kind != NAME_MEMORY)
            continue;
        c.number = n + 1;
        c.count = 0;
        close_over(&c, (int)n);
        qsort(c.found, c.count, sizeof *c.found, by_number);
        m->of[n].actual_count = c.count;
        m->of[n].actuals = arena_alloc(&m->arena, c.count * sizeof *c.found);
        if (c.count)
            memcpy(m->of[n].actuals, c.found, c.count * sizeof *c.found);
    }
    free(c.found);
    free(c.seen);
}

static void find_existentials(struct memory_map *m)
{
    const struct fun *fun = m->outline->fun;
    for (unsigned n = 0; n < fun->name_count; n++) {
        const struct memory *of = &m->of[n];
        if (fun->names[n].kind != NAME_MEMORY || of->kind != MEMORY_EXISTENTIAL)
            continue;
        for (unsigned a = 0; a < of->actual_count; a++) {
            struct memory *block = &m->of[of->actuals[a]];
            block->existentials =
                arena_grow(&m->arena, block->existentials, block->existential_count,
                           &block->existential_capacity, sizeof *block->existentials);
            block->existentials[block->existential_count++] = (int)n;
        }
    }
}

bool memory_may_be(const struct memory_map *m, int e, int b)
{
    const struct memory *of = &m->of[e];
    return bsearch(&b, of->actuals, of->actual_count, sizeof b, by_number) != NULL;
}

static void find_kinds(struct memory_map *m, unsigned flags)
{
    const struct outline *o = m->outline;
    const struct fun *fun = o->fun;
    for (unsigned n = 0; n < fun->name_count; n++) {
        struct memory *of = &m->of[n];
        of->scope = o->names[n].scope;
        of->position = o->names[n].position;
        if (o->names[n].definer && o->names[n].definer->kind == STM_ALLOC) {
            of->kind = MEMORY_ALLOCATED;
            of->alloc = o->names[n].definer;
        } else if (o->names[n].definer || o->names[n].binder) {
            of->kind = MEMORY_EXISTENTIAL;
        } else {
            of->kind = MEMORY_PARAMETER;
        }
    }
    for (unsigned i = 0; i < fun->param_count; i++) {
        const struct name *p = &fun->names[fun->params[i]];
        if (p->kind == NAME_ARRAY && !p->unique && !(flags & MEMORY_ALL_OURS))
            m->of[p->memory].foreign = true;
    }
}

/* A block escapes if a loop passes it to its next iteration, which allocates it again. */
static void find_escapes(struct memory_map *m)
{
    const struct outline *o = m->outline;
    for (unsigned scope = 1; scope < o->scope_count; scope++) {
        const struct stm *owner = o->scopes[scope].owner;
        if (owner->kind != STM_LOOP)
            continue;
        const struct body *body = o->scopes[scope].body;
        for (unsigned r = 0; r < body->result_count; r++) {
            if (o->fun->names[body->results[r]].kind != NAME_MEMORY)
                continue;
            const struct memory *of = &m->of[body->results[r]];
            for (unsigned a = 0; a < of->actual_count; a++)
                if (outline_encloses(o, scope, m->of[of->actuals[a]].scope))
                    m->of[of->actuals[a]].escapes = true;
        }
    }
}

/* ---- what is in them ------------------------------------------------------------------------ */

static void list_arrays(struct memory_map *m)
{
    const struct fun *fun = m->outline->fun;
    for (unsigned n = 0; n < fun->name_count; n++) {
        const struct name *array = &fun->names[n];
        if (array->kind != NAME_ARRAY || array->memory == NO_NAME || array->local)
            continue;
        struct memory *of = &m->of[array->memory];
        const unsigned bound = m->outline->names[n].position;
        if (of->array_count == 0 || bound < of->first_bound)
            of->first_bound = bound;
        of->arrays = arena_grow(&m->arena, of->arrays, of->array_count, &of->array_capacity,
                                sizeof *of->arrays);
        of->arrays[of->array_count++] = (int)n;
    }
}

static void find_spans(struct memory_map *m)
{
    const struct outline *o = m->outline;
    struct spans spans = {0};
    for (unsigned n = 0; n < o->fun->name_count; n++) {
        const struct memory *of = &m->of[n];
        for (unsigned i = 0; i < of->array_count; i++) {
            spans.count = 0;
            memory_array_spans(m, of->arrays[i], &spans);
            for (unsigned a = 0; a < of->actual_count; a++)
                spans_join(&m->of[of->actuals[a]].spans, &spans);
        }
    }
    spans_free(&spans);
    for (unsigned n = 0; n < o->fun->name_count; n++)
        if (o->fun->names[n].kind == NAME_MEMORY && m->of[n].foreign)
            spans_add(&m->of[n].spans, 0, o->position_count);
}

struct accesses {
    struct memory_map *m;
    unsigned position;
};

static void note_access(void *context, int array)
{
    struct accesses *a = context;
    const struct name *n = &a->m->outline->fun->names[array];
    if (n->kind != NAME_ARRAY || n->memory == NO_NAME)
        return;
    const struct memory *of = &a->m->of[n->memory];
    for (unsigned i = 0; i < of->actual_count; i++) {
        struct memory *block = &a->m->of[of->actuals[i]];
        block->accesses = arena_grow(&a->m->arena, block->accesses, block->access_count,
                                     &block->access_capacity, sizeof *block->accesses);
        block->accesses[block->access_count++] = (struct access_point){a->position, array};
    }
}

static void find_accesses(struct memory_map *m)
{
    const struct outline *o = m->outline;
    struct accesses a = {.m = m};
    for (unsigned p = 0; p < o->position_count; p++) {
        const struct stm *s = o->at[p];
        if (!s || s->first != p)
            continue;
        a.position = p;
        switch (s->kind) {
        case STM_IF:
        case STM_LOOP:
        case STM_ALIAS:
        case STM_RESHAPE:
        case STM_REARRANGE:
        case STM_SLICE:
        case STM_SCRATCH:
            break; /* these touch no element */
        default:
            outline_operands(o->fun, s, note_access, &a);
            for (unsigned i = 0; i < s->out_count; i++)
                note_access(&a, s->outs[i]);
            for (unsigned i = 0; s->kernel && i < s->kernel->private_count; i++)
                note_access(&a, s->kernel->privates[i]);
        }
    }
    a.position = o->scopes[0].end;
    for (unsigned r = 0; r < o->fun->body.result_count; r++)
        note_access(&a, o->fun->body.results[r]);
}

static void order_blocks(struct memory_map *m)
{
    const struct outline *o = m->outline;
    /* By first use: the positions are small numbers, so they are sorted by counting. */
    unsigned *next = must_alloc((o->position_count + 2) * sizeof *next);
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned n = 0; n < o->fun->name_count; n++) {
            const struct memory *of = &m->of[n];
            if (o->fun->names[n].kind != NAME_MEMORY || of->kind == MEMORY_EXISTENTIAL)
                continue;
            unsigned first = of->spans.count ? of->spans.items[0].first : o->position_count;
            if (pass == 0)
                next[first + 1]++;
            else
                m->blocks[next[first]++] = (int)n;
            m->block_count += pass == 0;
        }
        if (pass == 0) {
            m->blocks = arena_alloc(&m->arena, m->block_count * sizeof *m->blocks);
            for (unsigned p = 0; p <= o->position_count; p++)
                next[p + 1] += next[p];
        }
    }
    free(next);
}

struct memory_map *memory_map_new(const struct outline *o, unsigned flags)
{
    struct memory_map *m = must_alloc(sizeof *m);
    m->outline = o;
    m->by_branch = flags & MEMORY_BY_BRANCH;
    m->of = arena_alloc(&m->arena, o->fun->name_count * sizeof *m->of);
    find_kinds(m, flags);
    find_actuals(m);
    find_existentials(m);
    find_escapes(m);
    list_arrays(m);
    find_spans(m);
    find_accesses(m);
    order_blocks(m);
    return m;
}

void memory_map_free(struct memory_map *m)
{
    if (!m)
        return;
    for (unsigned n = 0; n < m->outline->name_count; n++)
        spans_free(&m->of[n].spans);
    arena_free(&m->arena);
    free(m);
}
