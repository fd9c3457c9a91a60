/* Sinking: every allocation goes down to just before the first statement that uses its block.
 *
 * Hoisting moves allocations up, so that arrays made early can be made in them. If none was, the
 * block would be held for longer than before; sinking undoes that. (Today's Futhark lowers
 * allocations again after its merging for the same reason.)
 */
#include "merge/list.h"
#include "merge/outline.h"

struct sinker {
    const struct fun *fun;
    const struct outline *o;
    unsigned *first_use; /* by memory name: the position of the first statement that mentions it */
    struct stm **waiting, ***waiting_end; /* by position: the allocations that go before it */
};

#define UNUSED (~0u)

static void sink_note(struct sinker *k, int memory, unsigned position)
{
    if (memory != NO_NAME && position < k->first_use[memory])
        k->first_use[memory] = position;
}

static void find_uses(struct sinker *k)
{
    const struct outline *o = k->o;
    for (unsigned n = 0; n < k->fun->name_count; n++) {
        const struct name *name = &k->fun->names[n];
        const struct outline_name *at = &o->names[n];
        if (name->kind == NAME_SCALAR || name->local)
            continue;
        int memory = name->kind == NAME_MEMORY ? (int)n : name->memory;
        for (unsigned u = 0; u < at->use_count; u++)
            sink_note(k, memory, o->uses[at->use_begin + u]);
        if (name->kind == NAME_ARRAY)
            sink_note(k, memory, at->definer ? at->definer->first : at->position);
    }
}

/* Takes the allocations out of a body. Each waits at the position of the statement that it will
 * precede. Unused allocations are dropped. */
static void sink_collect(struct sinker *k, unsigned scope)
{
    for (struct stm **link = &k->o->scopes[scope].body->first; *link;) {
        struct stm *s = *link;
        if (s->kind != STM_ALLOC) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        if (k->first_use[s->outs[0]] == UNUSED)
            continue;
        unsigned p = outline_lift(k->o, k->first_use[s->outs[0]], scope, NULL);
        *k->waiting_end[p] = s;
        k->waiting_end[p] = &s->next;
        s->next = NULL;
    }
}

static void put_back(struct sinker *k, unsigned scope)
{
    struct stm **link = &k->o->scopes[scope].body->first;
    for (;;) {
        unsigned p = *link ? (*link)->first : k->o->scopes[scope].end;
        if (k->waiting[p]) {
            *k->waiting_end[p] = *link;
            *link = k->waiting[p];
            link = k->waiting_end[p];
        }
        if (!*link)
            return;
        link = &(*link)->next;
    }
}

int merge_run_sink(struct merge *m)
{
    struct outline *o = outline_new(m->fun);
    struct sinker k = {.fun = m->fun, .o = o};
    k.first_use = arena_alloc(&o->arena, m->fun->name_count * sizeof *k.first_use);
    k.waiting = arena_alloc(&o->arena, o->position_count * sizeof *k.waiting);
    k.waiting_end = arena_alloc(&o->arena, o->position_count * sizeof *k.waiting_end);
    for (unsigned p = 0; p < o->position_count; p++)
        k.waiting_end[p] = &k.waiting[p];
    for (unsigned n = 0; n < m->fun->name_count; n++)
        k.first_use[n] = UNUSED;
    find_uses(&k);
    for (unsigned scope = 0; scope < o->scope_count; scope++)
        sink_collect(&k, scope);
    for (unsigned scope = 0; scope < o->scope_count; scope++)
        put_back(&k, scope);
    outline_free(o);
    return 0;
}
