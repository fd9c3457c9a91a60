/* The shadow machine: bodies, branches, loops, parameters and results. */
#include "tests/program/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "tests/program/shadow_machine.h"

/* ---- values on their way -------------------------------------------------------------------- */

struct passed {
    union scalar scalar;
    int block;
    struct shadow_array array;
};

static void pick_up(struct machine *m, int name, struct passed *p)
{
    p->scalar = m->values[name];
    p->block = m->block_of[name];
    p->array = m->arrays[name];
}

static int put_down_array(struct machine *m, int name, const struct passed *p)
{
    TRY(shadow_bind(m, name));
    struct shadow_array *to = &m->arrays[name];
    shadow_same_place(m, name, to, &p->array, "what it receives");
    to->ids = p->array.ids;
    if (to->count != p->array.count)
        return shadow_fail(m, m->fun->names[name].at, "'%s' receives another shape",
                           m->fun->names[name].text);
    return 0;
}

/* Arrays last: their types mention the others. */
static int put_down(struct machine *m, const int *names, const struct passed *passed,
                    unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (m->fun->names[names[i]].kind == NAME_SCALAR)
            m->values[names[i]] = passed[i].scalar;
        if (m->fun->names[names[i]].kind == NAME_MEMORY)
            m->block_of[names[i]] = passed[i].block;
    }
    for (unsigned i = 0; i < count; i++)
        if (m->fun->names[names[i]].kind == NAME_ARRAY)
            TRY(put_down_array(m, names[i], &passed[i]));
    return 0;
}

/* ---- statements ----------------------------------------------------------------------------- */

static int run_body(struct machine *m, const struct body *body);

static int run_if(struct machine *m, const struct stm *s)
{
    union scalar condition;
    TRY(shadow_evaluate(m, s->expr, &condition));
    const struct body *body = condition.u8 ? s->then : s->otherwise;
    TRY(run_body(m, body));
    struct passed *passed = arena_alloc(&m->arena, s->out_count * sizeof *passed);
    for (unsigned i = 0; i < s->out_count; i++)
        pick_up(m, body->results[i], &passed[i]);
    m->line = s->at.line;
    return put_down(m, s->outs, passed, s->out_count);
}

static int begin_loop(struct machine *m, const struct stm *s, struct passed *passed)
{
    const struct loop *l = s->loop;
    for (unsigned i = 0; i < l->param_count; i++)
        if (l->init_exprs[i])
            TRY(shadow_evaluate(m, l->init_exprs[i], &passed[i].scalar));
        else
            pick_up(m, l->init_names[i], &passed[i]);
    return put_down(m, l->params, passed, l->param_count);
}

static int run_loop(struct machine *m, const struct stm *s)
{
    const struct loop *l = s->loop;
    struct passed *passed = arena_alloc(&m->arena, l->param_count * sizeof *passed);
    int64_t bound = 0;
    if (l->bound)
        TRY(shadow_size(m, l->bound, &bound));
    TRY(begin_loop(m, s, passed));
    for (int64_t i = 0; l->counter != NO_NAME ? i < bound : m->values[l->condition].u8; i++) {
        if (m->steps_left == 0)
            return shadow_fail(m, s->at, "a loop of more steps than the shadow machine allows");
        m->steps_left--;
        if (l->counter != NO_NAME)
            m->values[l->counter].i64 = i;
        TRY(run_body(m, &l->body));
        for (unsigned p = 0; p < l->param_count; p++)
            pick_up(m, l->body.results[p], &passed[p]);
        m->line = l->body.results_at.line;
        TRY(put_down(m, l->params, passed, l->param_count));
    }
    for (unsigned i = 0; i < l->param_count; i++)
        pick_up(m, l->params[i], &passed[i]);
    m->line = s->at.line;
    return put_down(m, s->outs, passed, s->out_count);
}

static int run_statement(struct machine *m, const struct stm *s)
{
    union scalar value;
    int64_t bytes;
    switch (s->kind) {
    case STM_SCALAR:
        return shadow_evaluate(m, s->expr, &m->values[s->outs[0]]);
    case STM_ELEMENT:
        return shadow_element_read(m, s);
    case STM_ASSERT:
        TRY(shadow_evaluate(m, s->expr, &value));
        return value.u8 ? 0 : shadow_fail(m, s->at, "this assertion does not hold");
    case STM_ALLOC:
        TRY(shadow_size(m, s->expr, &bytes));
        return shadow_alloc(m, s->outs[0], bytes, s->at);
    case STM_SCRATCH:
    case STM_IOTA:
    case STM_REPLICATE:
        return shadow_fresh(m, s);
    case STM_COPY:
        return shadow_copy(m, s);
    case STM_CONCAT:
        return shadow_concat(m, s);
    case STM_UPDATE:
        return shadow_update(m, s);
    case STM_IF:
        return run_if(m, s);
    case STM_LOOP:
        return run_loop(m, s);
    case STM_KERNEL:
        return shadow_launch(m, s);
    default:
        return shadow_view(m, s);
    }
}

static int run_body(struct machine *m, const struct body *body)
{
    for (const struct stm *s = body->first; s; s = s->next) {
        m->line = s->at.line;
        TRY(run_statement(m, s));
    }
    return 0;
}

/* ---- parameters and results ----------------------------------------------------------------- */

static const struct named_value *find_value(const struct arguments *arguments, const char *name)
{
    for (size_t i = 0; i < arguments->count; i++)
        if (strcmp(arguments->values[i].name, name) == 0)
            return &arguments->values[i];
    return NULL;
}

static int begin_array(struct machine *m, int param, const struct named_value *value)
{
    const struct name *n = &m->fun->names[param];
    TRY(shadow_bind(m, param));
    struct shadow_array *a = &m->arrays[param];
    if (value->array.count != (size_t)a->count)
        return shadow_fail(m, n->at, "'%s' has %lld elements, its value %zu", n->text,
                           (long long)a->count, value->array.count);
    a->ids = shadow_ids(m, a->count);
    size_t bytes = element_bytes(n->element);
    for (int64_t i = 0; i < a->count; i++)
        shadow_write(m, param, i, shadow_element(a, i),
                     (const char *)value->array.data + (size_t)i * bytes,
                     shadow_new_write(m, param));
    return 0;
}

static int begin_param(struct machine *m, int param, const struct arguments *arguments)
{
    const struct name *n = &m->fun->names[param];
    int64_t bytes;
    m->line = n->at.line;
    if (n->kind == NAME_MEMORY) {
        TRY(shadow_size(m, n->bytes, &bytes));
        return shadow_alloc(m, param, bytes, n->at);
    }
    const struct named_value *value = find_value(arguments, n->text);
    if (!value)
        return shadow_fail(m, n->at, "there is no value for '%s'", n->text);
    if (n->kind == NAME_ARRAY)
        return begin_array(m, param, value);
    m->values[param] = value->scalar;
    return 0;
}

static int begin(struct machine *m, const struct arguments *arguments)
{
    for (unsigned pass = 0; pass < 2; pass++) /* scalars first: the others' sizes mention them */
        for (unsigned i = 0; i < m->fun->param_count; i++) {
            bool scalar = m->fun->names[m->fun->params[i]].kind == NAME_SCALAR;
            if (scalar == (pass == 0))
                TRY(begin_param(m, m->fun->params[i], arguments));
        }
    return 0;
}

static void read_result(struct machine *m, int name, struct host_array *to)
{
    const struct name *n = &m->fun->names[name];
    size_t bytes = element_bytes(n->element);
    *to = (struct host_array){.element = n->element, .rank = n->rank, .count = 1};
    if (n->kind == NAME_ARRAY) {
        memcpy(to->shape, m->arrays[name].shape, sizeof to->shape);
        to->count = (size_t)m->arrays[name].count;
    }
    char *data = arena_alloc(&m->out->arena, to->count * bytes);
    to->data = data;
    if (n->kind == NAME_SCALAR)
        memcpy(data, &m->values[name], bytes);
    else
        for (size_t i = 0; i < to->count; i++)
            shadow_read(m, name, (int64_t)i, shadow_element(&m->arrays[name], (int64_t)i),
                        data + i * bytes);
}

/* A parameter that is not unique must be at the end what it was at the beginning. */
static void check_input(struct machine *m, int param)
{
    const struct shadow_array *a = &m->arrays[param];
    size_t bytes = element_bytes(m->fun->names[param].element);
    for (int64_t e = 0; e < a->count; e++) {
        uint32_t *ids;
        bool same = shadow_bytes(m, param, shadow_element(a, e), &ids) != NULL;
        for (size_t i = 0; i < bytes && same; i++)
            same = ids[i] == a->ids[e];
        if (!same) {
            shadow_violate(m, SHADOW_INPUT, param, "element %lld of '%s', which is not unique",
                           (long long)e, m->fun->names[param].text);
            return;
        }
    }
}

static void finish(struct machine *m)
{
    const struct body *body = &m->fun->body;
    m->line = body->results_at.line;
    m->out->results = arena_alloc(&m->out->arena, body->result_count * sizeof *m->out->results);
    m->out->result_count = body->result_count;
    for (unsigned r = 0; r < body->result_count; r++)
        read_result(m, body->results[r], &m->out->results[r]);
    for (unsigned i = 0; i < m->fun->param_count; i++) {
        const struct name *n = &m->fun->names[m->fun->params[i]];
        if (n->kind == NAME_ARRAY && !n->unique)
            check_input(m, m->fun->params[i]);
    }
}

/* ---- a run ---------------------------------------------------------------------------------- */

int shadow_run(const struct fun *fun, const struct arguments *arguments,
               const struct shadow_options *options, struct shadow_outcome *outcome,
               struct error *error)
{
    struct machine m = {
        .fun = fun, .program = fun->program, .options = options, .out = outcome, .error = error};
    *outcome = (struct shadow_outcome){0};
    m.steps_left = options->most_steps ? options->most_steps : 1000000;
    m.values = arena_alloc(&m.arena, fun->name_count * sizeof *m.values);
    m.arrays = arena_alloc(&m.arena, fun->name_count * sizeof *m.arrays);
    m.block_of = arena_alloc(&m.arena, fun->name_count * sizeof *m.block_of);
    for (unsigned n = 0; n < fun->name_count; n++)
        m.block_of[n] = m.arrays[n].block = NO_BLOCK;
    int code = c_read_functions(fun->program, &m.arena, &m.functions, error);
    if (!code)
        code = begin(&m, arguments);
    if (!code)
        code = run_body(&m, &fun->body);
    if (!code)
        finish(&m);
    free(m.blocks);
    free(m.writes);
    arena_free(&m.arena);
    return code;
}

void shadow_free(struct shadow_outcome *outcome)
{
    arena_free(&outcome->arena);
    *outcome = (struct shadow_outcome){0};
}
