/* The executor: bodies, branches and loops. */
#include "run/execute/execute.h"

#include <stdlib.h>
#include <string.h>

#include "run/execute/executor.h"

/* ---- values on their way -------------------------------------------------------------------- */

static inline void pick_up_scalar(const struct executor *e, int name, struct passed *p)
{
    p->scalar = e->values[name];
    if (e->lacks)
        p->lacks = e->lacks[name];
}

static inline void put_down_scalar(const struct executor *e, int name, const struct passed *p)
{
    e->values[name] = p->scalar;
    if (e->lacks)
        e->lacks[name] = p->lacks;
}

static void pick_up(struct executor *e, int name, struct passed *p)
{
    switch (e->kinds[name]) {
    case NAME_SCALAR:
        pick_up_scalar(e, name, p);
        break;
    case NAME_ARRAY:
        p->array = e->arrays[name];
        break;
    case NAME_MEMORY:
        p->block = e->block_of[name];
        blocks_add_reference(e, p->block);
        break;
    }
}

/* Binds a name to a passed value; memories must come before the arrays in them. */
static int put_down(struct executor *e, int name, const struct passed *p, struct source_position at)
{
    if (e->kinds[name] == NAME_MEMORY) {
        blocks_hold(e, name, p->block);
        return 0;
    }
    TRY(execute_bind_array(e, name));
    if (array_same_place(&e->arrays[name], &p->array))
        return 0;
    return execute_fail(e, at, "what '%s' receives has another shape or index function than '%s'",
                        e->fun->names[name].text, e->fun->names[name].text);
}

static int put_down_all(struct executor *e, const int *names, const struct step_state *state,
                        unsigned count, struct source_position at)
{
    /* Arrays come last, because their types mention the others. */
    for (unsigned pass = 0; pass < 1u + state->passes_arrays; pass++)
        for (unsigned i = 0; i < count; i++)
            if (e->kinds[names[i]] == NAME_SCALAR) /* the loop that only counts: no call for it */
                put_down_scalar(e, names[i], &state->passed[i]);
            else if ((e->kinds[names[i]] == NAME_ARRAY) == (pass == 1))
                TRY(put_down(e, names[i], &state->passed[i], at));
    return 0;
}

/* `release` is blocks_last_use or blocks_release. */
static inline int release_all(struct executor *e, const struct names_list *list,
                              int (*release)(struct executor *e, int name))
{
    for (unsigned i = 0; i < list->count; i++)
        if (blocks_holds(e, list->names[i]))
            TRY(release(e, list->names[i]));
    return 0;
}

static int last_use_all(struct executor *e, const struct names_list *list)
{
    return release_all(e, list, blocks_last_use);
}

/* ---- statements ----------------------------------------------------------------------------- */

static int run_steps(struct executor *e, const struct scope *scope);

/* Runs a body and leaves its results in `passed`. */
static int run_body(struct executor *e, const struct scope *scope, struct passed *passed)
{
    TRY(last_use_all(e, &scope->unused));
    TRY(run_steps(e, scope));
    for (unsigned i = 0; i < scope->body->result_count; i++)
        if (e->kinds[scope->body->results[i]] == NAME_SCALAR)
            pick_up_scalar(e, scope->body->results[i], &passed[i]);
        else
            pick_up(e, scope->body->results[i], &passed[i]);
    TRY(last_use_all(e, &scope->entrusted));
    return release_all(e, &scope->bound, blocks_release);
}

static int run_if(struct executor *e, const struct step *s)
{
    union scalar condition;
    struct step_state *state = s->state;
    TRY(execute_evaluate(e, s->stm->expr, &condition));
    TRY(run_body(e, condition.u8 ? s->then : s->otherwise, state->passed));
    return put_down_all(e, s->stm->outs, state, s->stm->out_count, s->stm->at);
}

static int run_iterations(struct executor *e, const struct step *s, int64_t bound)
{
    const struct loop *l = s->stm->loop;
    struct step_state *state = s->state;
    for (int64_t i = 0;; i++) {
        TRY(e->lacks ? dry_iteration(e, s->stm) : 0);
        if (l->counter != NO_NAME ? i >= bound : !e->values[l->condition].u8)
            return 0;
        if (l->counter != NO_NAME)
            e->values[l->counter].i64 = i;
        TRY(run_body(e, s->then, state->passed));
        TRY(put_down_all(e, l->params, state, l->param_count, l->body.results_at));
    }
}

static int run_scalar(struct executor *e, const struct stm *stm)
{
    const int out = stm->outs[0];
    if (e->lacks && dry_scalar_follows(e, out, stm->expr))
        return 0;
    return execute_evaluate(e, stm->expr, &e->values[out]);
}

static int run_loop(struct executor *e, const struct step *s)
{
    const struct loop *l = s->stm->loop;
    struct step_state *state = s->state;
    int64_t bound = 0;
    TRY(l->bound ? execute_size(e, l->bound, &bound) : 0);
    for (unsigned i = 0; i < l->param_count; i++) {
        if (l->init_exprs[i]) {
            const struct expr *unknown = e->lacks ? dry_scalar_in(e, l->init_exprs[i]) : NULL;
            state->passed[i].lacks = unknown ? e->lacks[unknown->name] : NO_NAME;
            if (!unknown)
                TRY(execute_evaluate(e, l->init_exprs[i], &state->passed[i].scalar));
        } else
            pick_up(e, l->init_names[i], &state->passed[i]);
    }
    TRY(put_down_all(e, l->params, state, l->param_count, s->stm->at));
    TRY(last_use_all(e, &s->moved));
    TRY(run_iterations(e, s, bound));
    for (unsigned i = 0; i < l->param_count; i++)
        pick_up(e, l->params[i], &state->passed[i]);
    TRY(release_all(e, &s->then->bound, blocks_release));
    return put_down_all(e, s->stm->outs, state, s->stm->out_count, s->stm->at);
}

/* Checks that the shape that a view declares is that of its operation. */
static int run_view(struct executor *e, const struct step *s)
{
    const struct stm *stm = s->stm;
    TRY(execute_bind_array(e, stm->outs[0]));
    const struct layout *out = &e->arrays[stm->outs[0]].layout;
    const struct layout *from = &e->arrays[stm->array].layout;
    bool fits = true;
    switch (stm->kind) {
    case STM_RESHAPE:
        fits = layout_count(out) == layout_count(from);
        break;
    case STM_REARRANGE:
        for (unsigned d = 0; d < out->rank; d++)
            fits &= out->shape[d] == from->shape[stm->permutation[d]];
        break;
    case STM_ALIAS:
        fits = layout_same_shape(out, from);
        break;
    default: {
        struct layout part;
        TRY(execute_slice(e, stm, from, &part));
        fits = layout_same_shape(out, &part);
    }
    }
    return fits ? 0
                : execute_fail(e, stm->at,
                               "the declared shape of '%s' is not the shape of the result",
                               e->fun->names[stm->outs[0]].text);
}

static int run_assert(struct executor *e, const struct stm *s)
{
    union scalar value;
    if (e->lacks && dry_scalar_in(e, s->expr))
        return 0; /* a dry run assumes that it holds */
    int code = execute_evaluate(e, s->expr, &value);
    return code || value.u8 ? code : execute_fail(e, s->at, "this assertion does not hold");
}

static int run_step(struct executor *e, const struct step *s)
{
    const struct stm *stm = s->stm;
    switch (stm->kind) {
    case STM_SCALAR:
        return run_scalar(e, stm);
    case STM_ALLOC:
        return blocks_alloc(e, stm->outs[0], stm->expr, stm->at);
    case STM_SCRATCH:
        return execute_bind_array(e, stm->outs[0]);
    case STM_IF:
        return run_if(e, s);
    case STM_LOOP:
        return run_loop(e, s);
    case STM_ASSERT:
        return run_assert(e, stm);
    case STM_ALIAS:
    case STM_RESHAPE:
    case STM_REARRANGE:
    case STM_SLICE:
        return run_view(e, s);
    default:
        return launch_statement(e, s);
    }
}

static int run_steps(struct executor *e, const struct scope *scope)
{
    for (const struct step *s = scope->first; s; s = s->next) {
        TRY(run_step(e, s));
        TRY(last_use_all(e, &s->released));
    }
    return 0;
}

/* ---- opening and closing -------------------------------------------------------------------- */

static void prepare_scope(struct executor *e, struct scope *scope)
{
    if (!scope)
        return;
    for (struct step *s = scope->first; s; s = s->next) {
        struct step_state *state = s->state = arena_alloc(&e->arena, sizeof *state);
        const struct stm *stm = s->stm;
        unsigned values = stm->kind == STM_LOOP ? stm->loop->param_count : stm->out_count;
        launch_prepare(e, s);
        if (stm->kind != STM_IF && stm->kind != STM_LOOP)
            continue;
        state->passed = arena_alloc(&e->arena, values * sizeof *state->passed);
        for (unsigned i = 0; i < stm->out_count; i++)
            state->passes_arrays |= e->fun->names[stm->outs[i]].kind == NAME_ARRAY;
        prepare_scope(e, s->then);
        prepare_scope(e, s->otherwise);
    }
}

struct executor *executor_open(const struct fun *fun, struct device *device,
                               const struct kernels *kernels, struct device_program *built,
                               enum release_policy policy)
{
    struct executor *e = must_alloc(sizeof *e);
    *e = (struct executor){.fun = fun,
                           .program = fun->program,
                           .device = device,
                           .kernels = kernels,
                           .has_variants = device->info->kind == DEVICE_GPU,
                           .adds_offsets = device->info->adds_offsets,
                           .is_device_group = device->info->members > 1,
                           .built = built,
                           .policy = policy};
    uint64_t alignment = device->info->alignment_bytes;
    e->block_alignment = alignment < 256 ? alignment : 256;
    unsigned names = fun->name_count, memories = 0;
    e->values = arena_alloc(&e->arena, names * sizeof *e->values);
    e->arrays = arena_alloc(&e->arena, names * sizeof *e->arrays);
    e->block_of = arena_alloc(&e->arena, names * sizeof *e->block_of);
    e->use_of = arena_alloc(&e->arena, names * sizeof *e->use_of);
    e->kinds = arena_alloc(&e->arena, names);
    e->spaces = arena_alloc(&e->arena, names);
    e->has_arrays = arena_alloc(&e->arena, names * sizeof *e->has_arrays);
    if (!kernels) {
        e->lacks = arena_alloc(&e->arena, names * sizeof *e->lacks);
        e->reads = arena_alloc(&e->arena, names * sizeof *e->reads);
    }
    for (unsigned n = 0; n < names; n++) {
        e->kinds[n] = (unsigned char)fun->names[n].kind;
        e->spaces[n] = (unsigned char)fun->names[n].space;
        memories += fun->names[n].kind == NAME_MEMORY;
        if (fun->names[n].memory != NO_NAME)
            e->has_arrays[fun->names[n].memory] = true;
    }
    /* A name holds one block at most, and a value on its way between two names one more. */
    e->block_capacity = 2 * memories + 1;
    e->blocks = arena_alloc(&e->arena, e->block_capacity * sizeof *e->blocks);
    e->root = liveness_analyse(fun, &e->arena);
    prepare_scope(e, e->root);
    blocks_free_all(e);
    return e;
}

void executor_close(struct executor *e)
{
    if (!e)
        return;
    arena_free(&e->arena);
    free(e);
}

void executor_record(struct executor *e, struct run_log *trace)
{
    e->trace = trace;
}

void executor_tell_reads(struct executor *e, const struct read_listener *listener)
{
    e->read_listener = listener;
}

unsigned executor_block_capacity(const struct executor *e)
{
    return e->block_capacity;
}

const struct executor_counts *executor_counts(const struct executor *e)
{
    return &e->counts;
}

/* ---- a run ---------------------------------------------------------------------------------- */

static int begin_param(struct executor *e, int param, const struct arguments *arguments)
{
    const struct name *n = &e->fun->names[param];
    if (n->kind == NAME_MEMORY)
        return blocks_alloc(e, param, n->bytes, n->at);
    const struct named_value *value = argument(arguments, n->text);
    if (!value && e->lacks && n->kind == NAME_SCALAR) {
        e->lacks[param] = param;
        return 0;
    }
    if (!value && !e->lacks)
        return error_set(e->error, ERR_USAGE, "%s needs a value for '%s'", e->fun->name, n->text);
    if (n->kind == NAME_SCALAR) {
        e->values[param] = value->scalar;
        return 0;
    }
    TRY(execute_bind_array(e, param));
    const struct array_state *a = &e->arrays[param];
    if (!layout_contiguous(&a->layout))
        return execute_fail(e, n->at, "the parameter '%s' must be row-major", n->text);
    size_t bytes = element_bytes(n->element);
    if (!e->lacks && value->array.count != (size_t)layout_count(&a->layout))
        return execute_fail(e, n->at, "'%s' has %lld elements, its value %zu", n->text,
                            (long long)layout_count(&a->layout), value->array.count);
    if (!n->unique) { /* the caller keeps it, so it lives as long as the run */
        int b = e->block_of[n->memory];
        blocks_add_reference(e, b);
    }
    if (e->lacks)
        return 0;
    run_log_begin_call(e->trace);
    int code = e->device->ops->write(e->device, a->memory, (uint64_t)a->layout.offset * bytes,
                                     value->array.data, value->array.count * bytes, e->error);
    run_log_transfer(e->trace, TRACE_write, a->memory, 0, value->array.count * bytes);
    return code;
}

int executor_begin(struct executor *e, struct allocator *const allocators[SPACES],
                   const struct arguments *arguments, bool poison, struct error *error)
{
    memcpy(e->allocators, allocators, sizeof e->allocators);
    e->poison = poison;
    e->error = error;
    e->counts = (struct executor_counts){0};
    e->arguments = arguments;
    e->dry_iterations = 0;
    for (unsigned n = 0; e->lacks && n < e->fun->name_count; n++) {
        e->lacks[n] = NO_NAME;
        e->reads[n] = 0;
    }
    /* Scalars come first, because the sizes of the others mention them. */
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < e->fun->param_count; i++) {
            bool scalar = e->fun->names[e->fun->params[i]].kind == NAME_SCALAR;
            if (scalar == (pass == 0))
                TRY(begin_param(e, e->fun->params[i], arguments));
        }
    return 0;
}

int executor_run(struct executor *e, struct error *error)
{
    e->error = error;
    run_log_begin_run(e->trace);
    int code = last_use_all(e, &e->root->unused);
    THEN(code, run_steps(e, e->root));
    run_log_end_run(e->trace);
    return code;
}

/* Reads all elements between the first and the last and picks out those of the array. */
static int read_array(struct executor *e, int name, struct host_array *out)
{
    const struct layout *l = &e->arrays[name].layout;
    size_t bytes = element_bytes(e->fun->names[name].element);
    out->count = (size_t)layout_count(l);
    out->data = must_alloc(out->count * bytes);
    if (out->count == 0)
        return 0;
    int64_t first, last;
    layout_range(l, &first, &last);
    if (layout_contiguous(l))
        return e->device->ops->read(e->device, out->data, e->arrays[name].memory,
                                    (uint64_t)first * bytes, out->count * bytes, e->error);
    char *all = must_alloc((size_t)(last - first + 1) * bytes);
    int code = e->device->ops->read(e->device, all, e->arrays[name].memory, (uint64_t)first * bytes,
                                    (size_t)(last - first + 1) * bytes, e->error);
    for (size_t i = 0; i < out->count && !code; i++) {
        int64_t rest = (int64_t)i, element = l->offset;
        for (unsigned d = l->rank; d-- > 0; rest /= l->shape[d])
            element += rest % l->shape[d] * l->stride[d];
        memcpy((char *)out->data + i * bytes, all + (size_t)(element - first) * bytes, bytes);
    }
    free(all);
    return code;
}

int executor_results(struct executor *e, struct host_array *results, struct error *error)
{
    e->error = error;
    const struct body *body = &e->fun->body;
    int code = 0;
    for (unsigned r = 0; r < body->result_count; r++) {
        int name = body->results[r];
        const struct name *n = &e->fun->names[name];
        struct host_array *out = &results[r];
        *out = (struct host_array){.element = n->element, .rank = n->rank, .count = 1};
        if (code)
            continue;
        if (n->kind == NAME_ARRAY) {
            memcpy(out->shape, e->arrays[name].layout.shape, sizeof out->shape);
            code = read_array(e, name, out);
        } else {
            out->data = must_alloc(sizeof(union scalar));
            memcpy(out->data, &e->values[name], element_bytes(n->element));
        }
    }
    return code;
}

void executor_end(struct executor *e)
{
    blocks_free_all(e);
}
