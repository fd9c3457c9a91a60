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
} conditions[CONDITION_COUNT] = {
    [MERGE_OK] = {"ok", "", ""},
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
