#include "merge/pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- names ---------------------------------------------------------------------------------- */

static const struct {
    const char *name, *label, *sentence;
} conditions[CONDITION_COUNT] = {[MERGE_ALLOWED] = {"ok", "", ""},
#define X(name, label, sentence) [CONDITION_##name] = {#name, label, sentence},
                                 MERGE_CONDITION_LIST(X)
#undef X
};

const char *merge_condition_name(enum merge_condition c)
{
    return conditions[c].name;
}

const char *merge_condition_label(enum merge_condition c)
{
    return conditions[c].label;
}

const char *merge_condition_sentence(enum merge_condition c)
{
    return conditions[c].sentence;
}

static const struct {
    const char *name, *sentence;
} extension_list[EXTENSION_COUNT] = {MERGE_EXTENSION_LIST(TEXT_BOTH)};

const char *merge_extension_name(unsigned extension)
{
    return extension < EXTENSION_COUNT ? extension_list[extension].name : NULL;
}

const char *merge_extension_sentence(unsigned extension)
{
    return extension < EXTENSION_COUNT ? extension_list[extension].sentence : "";
}

/* ---- running one ---------------------------------------------------------------------------- */

int merge_run_pass(struct merge *m, const struct merge_ops *pass, struct error *error)
{
    m->pass = pass->name;
    m->error = error;
    int code = pass->run(m);
    THEN(code, program_verify(m->program, error));
    if (code && error) {
        error_prefix(error, "the pass '%s' made a program that is not valid: ", pass->name);
        error->code = ERR_INTERNAL;
    }
    return code ? ERR_INTERNAL : 0;
}

struct merge *merge_copy(const struct merge *from)
{
    struct merge *m = must_alloc(sizeof *m);
    *m = *from;
    m->program = program_clone(from->fun);
    m->fun = &m->program->funs[0];
    m->events = must_alloc(from->event_capacity * sizeof *m->events);
    if (from->event_count)
        memcpy(m->events, from->events, from->event_count * sizeof *m->events);
    return m;
}

void merge_free(struct merge *m)
{
    if (!m)
        return;
    program_free(m->program);
    free(m->events);
    free(m);
}

/* ---- what passes do alike ------------------------------------------------------------------- */

void merge_note(struct merge *m, const struct merge_event *event)
{
    m->events = must_grow(m->events, m->event_count, &m->event_capacity, sizeof *m->events);
    m->events[m->event_count] = *event;
    m->events[m->event_count++].pass = m->pass;
}

bool merge_checks(const struct merge *m, enum merge_condition c)
{
    return !(m->options.unchecked >> c & 1);
}

bool merge_extends(const struct merge *m, enum merge_extension e)
{
    return m->options.extensions >> e & 1;
}

static int end_of(const int *into, int name)
{
    while (into[name] != name)
        name = into[name];
    return name;
}

static void replace_in_list(const struct fun *fun, int *list, unsigned count, const int *into)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i] != NO_NAME && fun->names[list[i]].kind == NAME_MEMORY)
            list[i] = end_of(into, list[i]);
}

static void replace_in_body(const struct fun *fun, struct body *body, const int *into)
{
    replace_in_list(fun, body->results, body->result_count, into);
    for (struct stm **link = &body->first; *link;) {
        struct stm *s = *link;
        if (s->kind == STM_ALLOC && into[s->outs[0]] != s->outs[0]) {
            *link = s->next;
            continue;
        }
        if (s->kind == STM_IF) {
            replace_in_body(fun, s->then, into);
            replace_in_body(fun, s->otherwise, into);
        } else if (s->kind == STM_LOOP) {
            replace_in_list(fun, s->loop->init_names, s->loop->param_count, into);
            replace_in_body(fun, &s->loop->body, into);
        }
        link = &s->next;
    }
}

void merge_replace_blocks(struct merge *m, const int *into)
{
    for (unsigned n = 0; n < m->fun->name_count; n++)
        if (m->fun->names[n].kind == NAME_ARRAY && m->fun->names[n].memory != NO_NAME)
            m->fun->names[n].memory = end_of(into, m->fun->names[n].memory);
    replace_in_body(m->fun, &m->fun->body, into);
}
