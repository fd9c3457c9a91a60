#include "merge/outline.h"

#include <stdlib.h>

/* ---- counting ------------------------------------------------------------------------------- */

static void count_body(const struct body *body, unsigned *positions, unsigned *scopes)
{
    (*scopes)++;
    (*positions) += 2;
    for (const struct stm *s = body->first; s; s = s->next) {
        *positions += 2;
        if (s->kind == STM_IF) {
            count_body(s->then, positions, scopes);
            count_body(s->otherwise, positions, scopes);
        } else if (s->kind == STM_LOOP) {
            count_body(&s->loop->body, positions, scopes);
        }
    }
}

/* ---- what statements use -------------------------------------------------------------------- */

void outline_operands(const struct fun *fun, const struct stm *s,
                      void (*visit)(void *context, int name), void *context)
{
    if (s->array != NO_NAME && s->kind != STM_ALLOC)
        visit(context, s->array);
    if (s->kind == STM_UPDATE && s->value != NO_NAME)
        visit(context, s->value);
    for (unsigned i = 0; i < s->piece_count; i++)
        visit(context, s->pieces[i].array);
    if (s->kind == STM_LOOP)
        for (unsigned i = 0; i < s->loop->param_count; i++)
            if (s->loop->init_names[i] != NO_NAME)
                visit(context, s->loop->init_names[i]);
    if (s->kind == STM_KERNEL) {
        for (unsigned i = s->out_count; i < s->kernel->array_count; i++)
            if (!fun->names[s->kernel->arrays[i]].thread_rank) /* private: made here, not used */
                visit(context, s->kernel->arrays[i]);
        for (unsigned o = 0; o < s->out_count; o++)
            if (s->kernel->taken_over[o] != NO_NAME)
                visit(context, s->kernel->taken_over[o]);
    }
}

/* ---- the walk ------------------------------------------------------------------------------- */

struct walk {
    struct outline *o;
    unsigned position; /* the position of the statement being visited */
    unsigned *fill;    /* by name: where its next use goes; NULL while counting */
};

static void note_use(void *context, int name)
{
    struct walk *w = context;
    if (!w->fill)
        w->o->names[name].use_count++;
    else
        w->o->uses[w->fill[name]++] = w->position;
}

static void bind(struct outline *o, int name, struct stm *definer, struct stm *binder,
                 unsigned scope, unsigned position)
{
    struct outline_name *n = &o->names[name];
    n->definer = definer;
    n->binder = binder;
    n->scope = scope;
    n->position = position;
}

static void place_statement(struct outline *o, unsigned position, struct stm *s, unsigned scope)
{
    o->at[position] = s;
    o->scope_at[position] = scope;
}

static void walk_body(struct walk *w, struct body *body, struct stm *owner, unsigned parent);

static void walk_stm(struct walk *w, struct stm *s, unsigned scope)
{
    struct outline *o = w->o;
    s->first = o->position_count++;
    place_statement(o, s->first, s, scope);
    w->position = s->first;
    outline_operands(o->fun, s, note_use, w);
    if (s->kind == STM_IF) {
        walk_body(w, s->then, s, scope);
        walk_body(w, s->otherwise, s, scope);
    } else if (s->kind == STM_LOOP) {
        struct loop *l = s->loop;
        for (unsigned i = 0; i < l->param_count; i++)
            bind(o, l->params[i], NULL, s, o->scope_count, s->first);
        if (l->counter != NO_NAME)
            bind(o, l->counter, NULL, s, o->scope_count, s->first);
        walk_body(w, &l->body, s, scope);
    } else if (s->kind == STM_KERNEL) {
        for (unsigned i = 0; i < s->kernel->private_count; i++)
            bind(o, s->kernel->privates[i], s, NULL, scope, s->first);
    }
    s->last = s->first;
    if (s->kind == STM_IF || s->kind == STM_LOOP) {
        s->last = o->position_count++;
        place_statement(o, s->last, s, scope);
    }
    for (unsigned i = 0; i < s->out_count; i++)
        bind(o, s->outs[i], s, NULL, scope, s->last);
}

static void walk_body(struct walk *w, struct body *body, struct stm *owner, unsigned parent)
{
    struct outline *o = w->o;
    unsigned number = o->scope_count++;
    struct outline_scope *scope = &o->scopes[number];
    *scope = (struct outline_scope){.body = body, .owner = owner, .parent = parent};
    scope->depth = owner ? o->scopes[parent].depth + 1 : 0;
    scope->begin = o->position_count++;
    place_statement(o, scope->begin, NULL, number);
    for (struct stm *s = body->first; s; s = s->next)
        walk_stm(w, s, number);
    scope->end = o->position_count++;
    place_statement(o, scope->end, NULL, number);
    w->position = scope->end;
    for (unsigned r = 0; r < body->result_count; r++)
        note_use(w, body->results[r]);
}

static void walk_fun(struct walk *w)
{
    struct outline *o = w->o;
    o->position_count = o->scope_count = 0;
    for (unsigned i = 0; i < o->fun->param_count; i++)
        bind(o, o->fun->params[i], NULL, NULL, 0, 0);
    walk_body(w, (struct body *)&o->fun->body, NULL, 0);
}

struct outline *outline_new(const struct fun *fun)
{
    struct outline *o = must_alloc(sizeof *o);
    unsigned positions = 0, scopes = 0;
    o->fun = fun;
    o->name_count = fun->name_count;
    count_body(&fun->body, &positions, &scopes);
    o->at = arena_alloc(&o->arena, positions * sizeof *o->at);
    o->scope_at = arena_alloc(&o->arena, positions * sizeof *o->scope_at);
    o->scopes = arena_alloc(&o->arena, scopes * sizeof *o->scopes);
    o->names = arena_alloc(&o->arena, fun->name_count * sizeof *o->names);
    struct walk w = {.o = o};
    walk_fun(&w);
    unsigned total = 0;
    w.fill = must_alloc(fun->name_count * sizeof *w.fill);
    for (unsigned n = 0; n < fun->name_count; n++) {
        w.fill[n] = o->names[n].use_begin = total;
        total += o->names[n].use_count;
    }
    o->uses = arena_alloc(&o->arena, total * sizeof *o->uses);
    walk_fun(&w);
    free(w.fill);
    return o;
}

void outline_free(struct outline *o)
{
    if (!o)
        return;
    arena_free(&o->arena);
    free(o);
}

/* ---- questions ------------------------------------------------------------------------------ */

bool outline_encloses(const struct outline *o, unsigned outer, unsigned inner)
{
    while (o->scopes[inner].depth > o->scopes[outer].depth)
        inner = o->scopes[inner].parent;
    return inner == outer;
}

unsigned outline_lift(const struct outline *o, unsigned p, unsigned outer, unsigned *inside)
{
    unsigned scope = o->scope_at[p], below = outer;
    while (scope != outer) {
        below = scope;
        p = o->scopes[scope].owner->first;
        scope = o->scopes[scope].parent;
    }
    if (inside)
        *inside = below;
    return p;
}

bool outline_known(const struct outline *o, const struct expr *e, unsigned scope, unsigned p)
{
    switch (e->op) {
    case EXPR_CONSTANT:
        return true;
    case EXPR_NAME:
        return o->names[e->name].position <= p &&
               outline_encloses(o, o->names[e->name].scope, scope);
    default:
        return outline_known(o, e->arg[0], scope, p) &&
               (!e->arg[1] || outline_known(o, e->arg[1], scope, p));
    }
}
