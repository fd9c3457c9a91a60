/* Kernel launches: the argument list that generate.h describes, and the geometry. */
#include "run/executor.h"

static enum launch_arg_kind scalar_kind(enum element element)
{
    static const enum launch_arg_kind kinds[] = {
        [ELEMENT_bool] = ARG_BOOL, [ELEMENT_u8] = ARG_U8,   [ELEMENT_i32] = ARG_I32,
        [ELEMENT_u32] = ARG_U32,   [ELEMENT_i64] = ARG_I64, [ELEMENT_f32] = ARG_F32,
        [ELEMENT_f64] = ARG_F64,
    };
    return kinds[element];
}

void launch_add_array(enum launch_arg_kind *kinds, union launch_value *arguments, unsigned *count,
                      const struct array_state *array)
{
    unsigned n = *count;
    kinds[n] = ARG_MEMORY;
    arguments[n++].memory = array->memory;
    kinds[n] = ARG_I64;
    arguments[n++].i64 = array->layout.offset;
    for (unsigned d = 0; d < array->layout.rank; d++) {
        kinds[n] = ARG_I64;
        arguments[n++].i64 = array->layout.stride[d];
    }
    *count = n;
}

void launch_add_scalar(enum launch_arg_kind *kinds, union launch_value *arguments, unsigned *count,
                       enum element element, union scalar value)
{
    kinds[*count] = scalar_kind(element);
    union launch_value *a = &arguments[(*count)++];
    switch (element) {
#define X(name, type, bytes, field)                                                                \
    case ELEMENT_##name:                                                                           \
        a->field = value.field;                                                                    \
        break;
        ELEMENT_LIST(X)
#undef X
    default:
        break;
    }
}

void launch_prepare(struct executor *e, struct step *s)
{
    const struct kernel *k = s->stm->kernel;
    struct step_state *state = s->state;
    unsigned count = k->scalar_count + k->rank;
    for (unsigned i = 0; i < k->array_count; i++) {
        const struct name *n = &e->fun->names[k->arrays[i]];
        count += 2 + n->thread_rank + n->rank;
    }
    state->kernel = execute_find_kernel(e, k->name);
    state->argument_count = count;
    state->kinds = arena_alloc(&e->arena, count * sizeof *state->kinds);
    state->arguments = arena_alloc(&e->arena, count * sizeof *state->arguments);
}

int launch_extents(struct executor *e, unsigned kernel, const int64_t *extents, unsigned rank,
                   unsigned group_items, unsigned argument_count, const enum launch_arg_kind *kinds,
                   const union launch_value *arguments, struct place at)
{
    struct launch launch = {.extent = {1, 1, 1}, .group_items = group_items};
    for (unsigned d = 0; d < rank; d++) {
        if (extents[d] == 0)
            return 0;
        unsigned from_inside = rank - 1 - d;
        unsigned slot = group_items ? 0 : from_inside > 2 ? 2 : from_inside;
        if (extents[d] < 0 || extents[d] > INT32_MAX ||
            __builtin_mul_overflow(launch.extent[slot], extents[d], &launch.extent[slot]) ||
            (slot == 0 && launch.extent[0] > INT32_MAX))
            return execute_fail(e, at,
                                "an index space of %lld in dimension %u; a thread's index "
                                "has 31 bits",
                                (long long)extents[d], d);
    }
    launch.rank = group_items ? 1 : rank > 3 ? 3 : rank;
    trace_begin_command(e->trace);
    int code = e->device->ops->launch(e->device, e->built, kernel, &launch, argument_count, kinds,
                                      arguments, e->error);
    trace_launch(e->trace, kernel, argument_count, kinds, arguments);
    if (code == ERR_OOM) {
        /* A lazy driver finds out only now that a block does not fit: give back what is spare. */
        code = allocator_trim(e->allocator);
        if (!code)
            code = e->device->ops->launch(e->device, e->built, kernel, &launch, argument_count,
                                          kinds, arguments, e->error);
    }
    e->counts.launch_count++;
    if (code)
        error_prefix(e->error, "kernel '%s' (%s:%u): ", e->kernels->names[kernel], e->program->path,
                     at.line);
    return code;
}

/* The place that a result takes over must be the result's own. */
static int check_taken_over(struct executor *e, const struct stm *s, unsigned o)
{
    int taken = s->kernel->taken_over[o];
    if (taken == NO_NAME)
        return 0;
    const struct array_state *from = &e->arrays[taken], *to = &e->arrays[s->outs[o]];
    if (from->memory == to->memory && layout_same_shape(&from->layout, &to->layout) &&
        layout_equal(&from->layout, &to->layout))
        return 0;
    return execute_fail(e, s->at, "'%s' takes over '%s' but does not lie in the same place",
                        e->fun->names[s->outs[o]].text, e->fun->names[taken].text);
}

static int bind_arrays(struct executor *e, const struct stm *s)
{
    const struct kernel *k = s->kernel;
    for (unsigned i = 0; i < k->private_count; i++) {
        /* The layout of a private array has the threads' dimensions in front. */
        int code = execute_bind_array(e, k->privates[i]);
        if (code)
            return code;
    }
    for (unsigned o = 0; o < s->out_count; o++) {
        int code = execute_bind_array(e, s->outs[o]);
        if (!code)
            code = check_taken_over(e, s, o);
        if (code)
            return code;
    }
    return 0;
}

int launch_kernel(struct executor *e, const struct step *s)
{
    const struct kernel *k = s->stm->kernel;
    struct step_state *state = s->state;
    int code = bind_arrays(e, s->stm);
    if (code)
        return code;
    unsigned count = 0;
    for (unsigned i = 0; i < k->array_count; i++)
        launch_add_array(state->kinds, state->arguments, &count, &e->arrays[k->arrays[i]]);
    for (unsigned i = 0; i < k->scalar_count; i++)
        launch_add_scalar(state->kinds, state->arguments, &count,
                          e->fun->names[k->scalars[i]].element, e->values[k->scalars[i]]);
    int64_t extents[RANK_MAX];
    for (unsigned d = 0; d < k->rank; d++) {
        if (e->lacks && unknown_in(e, k->extents[d]))
            return 0; /* how often it runs changes no memory */
        code = execute_size(e, k->extents[d], &extents[d]);
        if (code)
            return code;
        state->kinds[count] = ARG_I64;
        state->arguments[count++].i64 = extents[d];
    }
    return launch_extents(e, state->kernel, extents, k->rank, k->group_items, count, state->kinds,
                          state->arguments, k->at);
}
