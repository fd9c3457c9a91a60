/* Kernel launches: the argument list that generate.h describes, the index space, and the variant of
 * the kernel, which is chosen by how large its indices get and whether its arrays overlap. */
#include "run/execute/executor.h"

static enum launch_arg_kind scalar_kind(enum element element)
{
    static const enum launch_arg_kind kinds[] = {
        [ELEMENT_bool] = ARG_BOOL, [ELEMENT_u8] = ARG_U8,   [ELEMENT_i32] = ARG_I32,
        [ELEMENT_u32] = ARG_U32,   [ELEMENT_i64] = ARG_I64, [ELEMENT_f32] = ARG_F32,
        [ELEMENT_f64] = ARG_F64,
    };
    return kinds[element];
}

void launch_add_array(const struct executor *e, enum launch_arg_kind *kinds,
                      union launch_value *arguments, unsigned *count,
                      const struct launched_array *launched)
{
    const struct array_state *array = launched->state;
    const int64_t offset = array->layout.offset - (launched->in_heap ? array->heap.base : 0);
    uint64_t added =
        e->adds_offsets && array->memory ? (uint64_t)offset * launched->element_bytes : 0;
    unsigned n = *count;
    kinds[n] = ARG_MEMORY;
    arguments[n++].memory = array->memory + added;
    kinds[n] = ARG_I64;
    arguments[n++].i64 = e->adds_offsets ? 0 : offset;
    for (unsigned d = 0; d < array->layout.rank; d++) {
        kinds[n] = ARG_I64;
        arguments[n++].i64 = array->layout.stride[d];
    }
    if (launched->in_heap) {
        const struct heap_view *heap = &e->deferred->heap;
        kinds[n] = ARG_MEMORY;
        arguments[n++].memory = heap->slots;
        kinds[n] = ARG_I64;
        arguments[n++].i64 = (int64_t)array->heap.slot * KERNEL_SLOT_WORDS;
        kinds[n] = ARG_MEMORY;
        arguments[n++].memory = heap->index;
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

static bool is_written(const struct kernel *k, int array)
{
    for (unsigned i = 0; i < k->access_count; i++)
        if (k->accesses[i].array == array && k->accesses[i].written)
            return true;
    return false;
}

/* Does the kernel make a new array of it? */
static bool is_fresh(const struct executor *e, const struct stm *s, int array)
{
    for (unsigned o = 0; o < s->out_count; o++)
        if (s->outs[o] == array)
            return s->kernel->taken_over[o] == NO_NAME;
    return e->fun->names[array].thread_rank > 0;
}

void launch_prepare(struct executor *e, struct step *s)
{
    const struct kernel *k = s->stm->kernel;
    struct step_state *state = s->state;
    unsigned count = k->scalar_count + k->rank;
    for (unsigned i = 0; i < k->array_count; i++) {
        const struct name *n = &e->fun->names[k->arrays[i]];
        count += 2 + n->thread_rank + n->rank;
        if (blocks_in_heap(e, n->memory)) {
            count += KERNEL_SLOT_ARGUMENTS;
            state->uses_heap = true;
        }
    }
    state->kernel = execute_find_kernel(e, k->name);
    state->argument_count = count;
    state->kinds = arena_alloc(&e->arena, count * sizeof *state->kinds);
    state->arguments = arena_alloc(&e->arena, count * sizeof *state->arguments);
    state->launched = arena_alloc(&e->arena, k->array_count * sizeof *state->launched);
    if (e->is_device_group)
        state->used = arena_alloc(&e->arena, k->array_count * sizeof *state->used);
    for (unsigned i = 0; i < k->array_count; i++)
        state->launched[i] = (struct launched_array){
            .state = &e->arrays[k->arrays[i]],
            .element_bytes = (unsigned)element_bytes(e->fun->names[k->arrays[i]].element),
            .thread_rank = e->fun->names[k->arrays[i]].thread_rank,
            .written = is_written(k, k->arrays[i]),
            .fresh = is_fresh(e, s->stm, k->arrays[i]),
            .in_heap = blocks_in_heap(e, e->fun->names[k->arrays[i]].memory)};
}

/* ---- which variant of a kernel runs ----------------------------------------------------------- */

/* The layout of an array of a launch over these extents (outermost first), which complete that of a
 * private array: `room` is for that. */
static const struct layout *launched_layout(const struct launched_array *array,
                                            const int64_t *extents, struct layout *room)
{
    if (!array->thread_rank)
        return &array->state->layout;
    *room = array->state->layout;
    for (unsigned d = 0; d < array->thread_rank; d++)
        room->shape[d] = extents[d];
    return room;
}

/* Do all sums of an offset and indices * strides fit 31 bits, also those that leave out some
 * dimensions? */
static bool is_near(const struct layout *l, int64_t offset)
{
    int64_t reach = offset;
    if (offset > INT32_MAX)
        return false;
    for (unsigned d = 0; d < l->rank; d++) {
        int64_t stride = l->stride[d] < 0 ? -l->stride[d] : l->stride[d], term;
        if (l->shape[d] < 2)
            continue;
        if (stride > INT32_MAX || __builtin_mul_overflow(l->shape[d] - 1, stride, &term) ||
            __builtin_add_overflow(reach, term, &reach) || reach > INT32_MAX)
            return false;
    }
    return true;
}

static bool share_memory(const struct launched_array *a, const struct launched_array *b,
                         const int64_t *extents)
{
    int64_t a_first, a_last, b_first, b_last;
    struct layout a_room, b_room;
    if (a->state->memory != b->state->memory || a->state->heap.slot != b->state->heap.slot)
        return false;
    if (a->state->heap.rows.serial || b->state->heap.rows.serial)
        return true; /* in one block, and how far they reach is unknown */
    const struct layout *la = launched_layout(a, extents, &a_room);
    const struct layout *lb = launched_layout(b, extents, &b_room);
    if (layout_count(la) == 0 || layout_count(lb) == 0)
        return false;
    layout_range(la, &a_first, &a_last);
    layout_range(lb, &b_first, &b_last);
    int64_t a_bytes = a->element_bytes, b_bytes = b->element_bytes;
    return a_first * a_bytes < (b_last + 1) * b_bytes && b_first * b_bytes < (a_last + 1) * a_bytes;
}

static bool are_apart(const struct launched_array *arrays, const int64_t *extents, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; arrays[i].written && j < count; j++)
            if (i != j && share_memory(&arrays[i], &arrays[j], extents))
                return false;
    return true;
}

enum kernel_form launch_variant(const struct executor *e, const struct launch *launch,
                                const int64_t *extents, const struct launched_array *arrays,
                                unsigned count)
{
    if (launch->extent[0] > NEAR_X_MAX || launch->extent[1] > NEAR_Y_MAX ||
        launch->extent[2] > NEAR_Z_MAX)
        return KERNEL_ANY;
    for (unsigned i = 0; i < count; i++) {
        struct layout room;
        const struct layout *l = launched_layout(&arrays[i], extents, &room);
        const struct heap_array *heap = &arrays[i].state->heap;
        const int64_t base = arrays[i].in_heap ? heap->base : 0;
        if (heap->rows.serial ? e->deferred->heap.bytes / arrays[i].element_bytes > INT32_MAX
                              : !is_near(l, e->adds_offsets ? 0 : l->offset - base))
            return KERNEL_ANY;
    }
    return are_apart(arrays, extents, count) ? KERNEL_APART : KERNEL_NEAR;
}

/* ---- launching ------------------------------------------------------------------------------ */

static int set_extents(struct executor *e, const struct kernel_call *call, struct launch *launch)
{
    for (unsigned d = 0; d < call->rank; d++) {
        int64_t extent = call->extents[d];
        unsigned from_inside = call->rank - 1 - d;
        unsigned slot = call->group_items ? 0 : from_inside > 2 ? 2 : from_inside;
        if (extent < 0 || extent > INT32_MAX ||
            __builtin_mul_overflow(launch->extent[slot], extent, &launch->extent[slot]) ||
            (slot == 0 && launch->extent[0] > INT32_MAX))
            return execute_fail(e, call->at,
                                "an index space of %lld in dimension %u; a thread's index "
                                "has 31 bits",
                                (long long)extent, d);
    }
    launch->rank = call->group_items ? 1 : call->rank > 3 ? 3 : call->rank;
    return 0;
}

/* Where the arrays of a launch lie, for a group of devices. */
static void say_what_is_used(const struct kernel_call *call, struct launch *launch)
{
    unsigned argument = 0;
    for (unsigned i = 0; i < call->array_count; i++) {
        const struct launched_array *array = &call->arrays[i];
        struct layout room;
        const struct layout *l = launched_layout(array, call->extents, &room);
        int64_t first, last, count = layout_count(l);
        if (count > 0 && array->state->memory) {
            layout_range(l, &first, &last);
            /* Between the elements of one that does not fill its range others may lie. */
            bool replaces = array->fresh && last - first + 1 == count;
            call->used[launch->array_count++] =
                (struct launch_array){.argument = argument,
                                      .memory = array->state->memory,
                                      .offset = (uint64_t)first * array->element_bytes,
                                      .bytes = (uint64_t)(last - first + 1) * array->element_bytes,
                                      .use = !array->written ? USE_READS
                                             : replaces      ? USE_REPLACES
                                                             : USE_CHANGES};
        }
        argument += 2 + l->rank;
    }
    launch->arrays = call->used;
    launch->member = call->member;
}

static int enqueue(struct executor *e, const struct kernel_call *call, const struct launch *launch)
{
    return e->device->ops->launch(e->device, e->built, call->kernel, launch, call->argument_count,
                                  call->kinds, call->arguments, e->error);
}

int launch_call(struct executor *e, const struct kernel_call *call)
{
    struct launch launch = {.extent = {1, 1, 1}, .group_items = call->group_items};
    for (unsigned d = 0; d < call->rank; d++)
        if (call->extents[d] == 0)
            return 0;
    int code = set_extents(e, call, &launch);
    if (code)
        return code;
    if (e->has_variants)
        launch.form = launch_variant(e, &launch, call->extents, call->arrays, call->array_count);
    launch.batch = launch.form == KERNEL_APART ? e->kernels->batches[call->kernel] : 1;
    if (call->used)
        say_what_is_used(call, &launch);
    trace_begin_command(e->trace);
    code = enqueue(e, call, &launch);
    trace_launch(e->trace, call->kernel, call->array_count, call->arrays);
    if (code == ERR_OOM) {
        /* A lazy driver finds out only now that a block does not fit: give back what is spare. */
        code = blocks_trim(e);
        if (!code)
            code = enqueue(e, call, &launch);
    }
    e->counts.launch_count++;
    if (code)
        error_prefix(e->error, "kernel '%s' (%s:%u): ", e->kernels->names[call->kernel],
                     e->program->path, call->at.line);
    return code;
}

/* The place that a result takes over must be the result's own. */
static int check_taken_over(struct executor *e, const struct stm *s, unsigned o)
{
    int taken = s->kernel->taken_over[o];
    if (taken == NO_NAME)
        return 0;
    bool same;
    int code = execute_same_place(e, &e->arrays[s->outs[o]], &e->arrays[taken], &same);
    if (code || same)
        return code;
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
        int code = execute_bind_passed(e, s->outs[o]);
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
    if (!code && e->deferred)
        code = e->deferred->ops->launch(e, s);
    if (code)
        return code;
    unsigned count = 0;
    for (unsigned i = 0; i < k->array_count; i++)
        launch_add_array(e, state->kinds, state->arguments, &count, &state->launched[i]);
    for (unsigned i = 0; i < k->scalar_count; i++)
        launch_add_scalar(state->kinds, state->arguments, &count,
                          e->fun->names[k->scalars[i]].element, e->values[k->scalars[i]]);
    struct kernel_call call = {.kernel = state->kernel,
                               .rank = k->rank,
                               .group_items = k->group_items,
                               .array_count = k->array_count,
                               .arrays = state->launched,
                               .used = state->used,
                               .member = (int)k->on,
                               .kinds = state->kinds,
                               .arguments = state->arguments,
                               .at = k->at};
    for (unsigned d = 0; d < k->rank; d++) {
        if (e->lacks && dry_scalar_in(e, k->extents[d]))
            return 0; /* how often it runs changes no memory */
        code = execute_size(e, k->extents[d], &call.extents[d]);
        if (code)
            return code;
        state->kinds[count] = ARG_I64;
        state->arguments[count++].i64 = call.extents[d];
    }
    call.argument_count = count;
    return launch_call(e, &call);
}
