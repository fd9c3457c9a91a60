/* Runs the passes of a set and looks at what each of them leaves. */
#include "merge/merge.h"

#include <stdlib.h>
#include <string.h>

#include "merge/list.h"

#define X(text, extensions, help, ...)                                                             \
    {text, help, (const struct merge_ops *const[]){__VA_ARGS__, NULL}, extensions},
const struct merge_set merge_sets[] = {MERGE_SET_LIST(X){NULL, NULL, NULL, 0}};
#undef X

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

const struct merge_set *merge_set_find(const char *name)
{
    for (const struct merge_set *s = merge_sets; s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

void merge_note(struct merge *m, const struct merge_event *event)
{
    if (m->event_count == m->event_capacity) {
        m->event_capacity = m->event_capacity ? 2 * m->event_capacity : 64;
        m->events = must_realloc(m->events, m->event_capacity * sizeof *m->events);
    }
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

static int run_pass(struct merge *m, const struct merge_ops *pass, struct error *error)
{
    m->pass = pass->name;
    int code = pass->run(m, error);
    if (!code)
        code = program_verify(m->program, error);
    if (code && error) {
        error_prefix(error, "the pass '%s' made a program that is not valid: ", pass->name);
        error->code = ERR_INTERNAL;
    }
    return code ? ERR_INTERNAL : 0;
}

int merge_run(const struct fun *fun, const struct merge_set *set,
              const struct merge_options *options, struct merge **merged, struct error *error)
{
    struct merge *m = must_alloc(sizeof *m);
    m->program = program_clone(fun);
    m->fun = &m->program->funs[0];
    m->options = *options;
    m->options.extensions |= set->extensions;
    int code = 0;
    for (const struct merge_ops *const *pass = set->passes; *pass && !code; pass++)
        code = run_pass(m, *pass, error);
    if (code) {
        merge_free(m);
        m = NULL;
    }
    *merged = m;
    return code;
}

void merge_free(struct merge *m)
{
    if (!m)
        return;
    program_free(m->program);
    free(m->events);
    free(m);
}
