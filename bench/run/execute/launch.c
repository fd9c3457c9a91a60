/* Launches the kernels of the program, and runs the statements that move data.
 *
 * A launch has the argument list that generate.h describes, and runs the fastest variant of its
 * kernel: which one depends on how large its indices get and on whether its arrays overlap.
 *
 * A copy between the same bytes in the same order is left out and counted. One between places that
 * overlap otherwise is an error. All others are the driver's plain copy if both sides are
 * contiguous, and a kernel if not. */
#include <string.h>

#include "run/execute/executor.h"

/* ---- arguments ------------------------------------------------------------------------------ */

/* A kernel about to be launched. */
struct kernel_call {
    unsigned kernel; /* its number */
    unsigned rank, group_items;
    int64_t extents[RANK_MAX]; /* outermost first */
    unsigned array_count;
    const struct launched_array *arrays;
    struct launch_array *used; /* array_count entries, or NULL */
    int member;                /* as in struct launch */
    unsigned argument_count;   /* arguments filled in so far */
    enum launch_arg_kind *kinds;
    union launch_value *arguments;
    struct source_position at;
};

static void add_i64(struct kernel_call *call, int64_t value)
{
    call->kinds[call->argument_count] = ARG_I64;
    call->arguments[call->argument_count++].i64 = value;
}

/* Adds the arguments of an array: memory, offset and strides. */
static void add_array(const struct executor *e, struct kernel_call *call,
                      const struct launched_array *launched)
{
    const struct array_state *array = launched->state;
    const int64_t offset = array->layout.offset;
    const uint64_t bytes = (uint64_t)offset * launched->element_bytes;
    call->kinds[call->argument_count] = ARG_MEMORY;
    call->arguments[call->argument_count++].memory =
        array->memory + (e->adds_offsets && array->memory ? bytes : 0);
    add_i64(call, e->adds_offsets ? 0 : offset);
    for (unsigned d = 0; d < array->layout.rank; d++)
        add_i64(call, array->layout.stride[d]);
}

static void add_scalar(struct kernel_call *call, enum element element, union scalar value)
{
    static const enum launch_arg_kind kinds[] = {
        [ELEMENT_bool] = ARG_BOOL, [ELEMENT_u8] = ARG_U8,   [ELEMENT_i32] = ARG_I32,
        [ELEMENT_u32] = ARG_U32,   [ELEMENT_i64] = ARG_I64, [ELEMENT_f32] = ARG_F32,
        [ELEMENT_f64] = ARG_F64,
    };
    call->kinds[call->argument_count] = kinds[element];
    memcpy(&call->arguments[call->argument_count++], &value, element_bytes(element));
}

/* ---- which variant of a kernel runs ---------------------------------------------------------- */

/* The layout of an array in a launch over these extents (outermost first). The extents complete the
 * layout of a private array, which is then in `room`. */
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
    if (a->state->memory != b->state->memory)
        return false;
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

enum kernel_variant launch_variant(const struct executor *e, const struct launch *launch,
                                   const int64_t *extents, const struct launched_array *arrays,
                                   unsigned count)
{
    if (launch->extent[0] > NEAR_X_MAX || launch->extent[1] > NEAR_Y_MAX ||
        launch->extent[2] > NEAR_Z_MAX)
        return KERNEL_ANY;
    for (unsigned i = 0; i < count; i++) {
        struct layout room;
        const struct layout *l = launched_layout(&arrays[i], extents, &room);
        if (!is_near(l, e->adds_offsets ? 0 : l->offset))
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

/* For a device group: lists the bytes of each array of a launch. */
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
            /* An array that does not fill its range may have others between its elements. */
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

/* Launches the kernel, unless an extent is 0. */
static int launch_call(struct executor *e, const struct kernel_call *call)
{
    struct launch launch = {.extent = {1, 1, 1}, .group_items = call->group_items};
    for (unsigned d = 0; d < call->rank; d++)
        if (call->extents[d] == 0)
            return 0;
    TRY(set_extents(e, call, &launch));
    if (e->has_variants)
        launch.variant = launch_variant(e, &launch, call->extents, call->arrays, call->array_count);
    launch.batch = launch.variant == KERNEL_APART ? e->kernels->batches[call->kernel] : 1;
    if (call->used)
        say_what_is_used(call, &launch);
    run_log_begin_command(e->trace);
    int code = enqueue(e, call, &launch);
    run_log_launch(e->trace, call->kernel, call->array_count, call->arrays);
    if (code == ERR_OOM) {
        /* A lazy driver finds out only here that a block does not fit: spare memory is given
         * back. */
        code = blocks_trim(e);
        THEN(code, enqueue(e, call, &launch));
    }
    e->counts.launch_count++;
    if (code)
        error_prefix(e->error, "kernel '%s' (%s:%u): ", e->kernels->names[call->kernel],
                     e->program->path, call->at.line);
    return code;
}

/* ---- kernels of the program ------------------------------------------------------------------ */

static bool is_written(const struct kernel *k, int array)
{
    for (unsigned i = 0; i < k->access_count; i++)
        if (k->accesses[i].array == array && k->accesses[i].written)
            return true;
    return false;
}

/* Is the array a new one that the kernel makes? */
static bool is_fresh(const struct executor *e, const struct stm *s, int array)
{
    for (unsigned o = 0; o < s->out_count; o++)
        if (s->outs[o] == array)
            return s->kernel->taken_over[o] == NO_NAME;
    return e->fun->names[array].thread_rank > 0;
}

static void prepare_kernel(struct executor *e, struct step *s)
{
    const struct kernel *k = s->stm->kernel;
    struct step_state *state = s->state;
    unsigned count = k->scalar_count + k->rank;
    for (unsigned i = 0; i < k->array_count; i++) {
        const struct name *n = &e->fun->names[k->arrays[i]];
        count += 2 + n->thread_rank + n->rank;
    }
    state->kernel = e->kernels ? kernels_find(e->kernels, k->name) : 0;
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
            .fresh = is_fresh(e, s->stm, k->arrays[i])};
}

/* Checks that the place that a result takes over is the result's own. */
static int check_taken_over(struct executor *e, const struct stm *s, unsigned o)
{
    int taken = s->kernel->taken_over[o];
    if (taken == NO_NAME || array_same_place(&e->arrays[s->outs[o]], &e->arrays[taken]))
        return 0;
    return execute_fail(e, s->at, "'%s' takes over '%s' but does not lie in the same place",
                        e->fun->names[s->outs[o]].text, e->fun->names[taken].text);
}

static int bind_arrays(struct executor *e, const struct stm *s)
{
    const struct kernel *k = s->kernel;
    /* The layout of a private array has the threads' dimensions in front. */
    for (unsigned i = 0; i < k->private_count; i++)
        TRY(execute_bind_array(e, k->privates[i]));
    for (unsigned o = 0; o < s->out_count; o++) {
        TRY(execute_bind_array(e, s->outs[o]));
        TRY(check_taken_over(e, s, o));
    }
    return 0;
}

static int launch_kernel(struct executor *e, const struct step *s)
{
    const struct kernel *k = s->stm->kernel;
    struct step_state *state = s->state;
    TRY(bind_arrays(e, s->stm));
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
    for (unsigned i = 0; i < k->array_count; i++)
        add_array(e, &call, &state->launched[i]);
    for (unsigned i = 0; i < k->scalar_count; i++)
        add_scalar(&call, e->fun->names[k->scalars[i]].element, e->values[k->scalars[i]]);
    for (unsigned d = 0; d < k->rank; d++) {
        if (e->lacks && dry_scalar_in(e, k->extents[d]))
            return 0; /* the number of its threads changes no memory */
        TRY(execute_size(e, k->extents[d], &call.extents[d]));
        add_i64(&call, call.extents[d]);
    }
    if (k->item != NO_NAME && k->rank < RANK_MAX)
        call.extents[k->rank] = k->group_items;
    return launch_call(e, &call);
}

/* ---- statements that move data --------------------------------------------------------------- */

static size_t bytes_of(const struct executor *e, int array)
{
    return element_bytes(e->fun->names[array].element);
}

static int launch_mover(struct executor *e, const struct step *s, const struct array_state *to,
                        const struct array_state *from, const union scalar *value)
{
    enum launch_arg_kind kinds[5 + 3 * RANK_MAX];
    union launch_value arguments[5 + 3 * RANK_MAX];
    const enum element element = e->fun->names[s->stm->outs[0]].element;
    const unsigned bytes = (unsigned)element_bytes(element);
    const struct launched_array arrays[] = {
        {.state = to, .element_bytes = bytes, .written = true, .fresh = true},
        {.state = from, .element_bytes = bytes}};
    struct launch_array used[2];
    struct kernel_call call = {.kernel = ((const struct step_state *)s->state)->kernel,
                               .rank = to->layout.rank,
                               .array_count = from ? 2 : 1,
                               .arrays = arrays,
                               .used = e->is_device_group ? used : NULL,
                               .member = MEMBER_OF_CONTENTS,
                               .kinds = kinds,
                               .arguments = arguments,
                               .at = s->stm->at};
    for (unsigned i = 0; i < call.array_count; i++)
        add_array(e, &call, &arrays[i]);
    if (value)
        add_scalar(&call, element, *value);
    for (unsigned d = 0; d < to->layout.rank; d++)
        add_i64(&call, to->layout.shape[d]);
    memcpy(call.extents, to->layout.shape, sizeof call.extents);
    return launch_call(e, &call);
}

static int plain_copy(struct executor *e, const struct array_state *to,
                      const struct array_state *from, size_t each, uint64_t bytes)
{
    run_log_begin_command(e->trace);
    int code =
        e->device->ops->copy(e->device, to->memory, (uint64_t)to->layout.offset * each,
                             from->memory, (uint64_t)from->layout.offset * each, bytes, e->error);
    run_log_transfer(e->trace, TRACE_copy, to->memory, from->memory, bytes);
    return code;
}

/* Puts the dimensions of both in the order that those of `to` have in memory, so that threads that
 * are neighbours write neighbours. */
static void order_dimensions(struct layout *to, struct layout *from)
{
    const struct layout wrote = *to, read = *from;
    for (unsigned d = 0, i; d < to->rank; d++) {
        int64_t stride = wrote.shape[d] == 1 ? INT64_MAX : llabs(wrote.stride[d]);
        for (i = d; i > 0 && to->shape[i - 1] != 1 && llabs(to->stride[i - 1]) < stride; i--) {
            to->shape[i] = from->shape[i] = to->shape[i - 1];
            to->stride[i] = to->stride[i - 1];
            from->stride[i] = from->stride[i - 1];
        }
        to->shape[i] = from->shape[i] = wrote.shape[d];
        to->stride[i] = wrote.stride[d];
        from->stride[i] = read.stride[d];
    }
}

static int move(struct executor *e, const struct step *s, enum copy_kind kind,
                const struct array_state *written, const struct array_state *read)
{
    struct array_state there = *written, here = *read, *to = &there, *from = &here;
    order_dimensions(&to->layout, &from->layout);
    struct copy_counts *counts = &e->counts.copy[kind];
    size_t each = bytes_of(e, s->stm->outs[0]);
    uint64_t bytes = (uint64_t)layout_count(&to->layout) * each;
    if (bytes == 0)
        return 0;
    if (to->memory == from->memory) {
        if (layout_equal(&to->layout, &from->layout)) {
            counts->elided_count++;
            counts->elided_bytes += bytes;
            return 0;
        }
        if (layout_overlap(&to->layout, &from->layout))
            return execute_fail(e, s->stm->at, "a copy between two places that overlap");
    }
    counts->count++;
    counts->bytes += bytes;
    if (layout_contiguous(&to->layout) && layout_contiguous(&from->layout))
        return plain_copy(e, to, from, each, bytes);
    return launch_mover(e, s, to, from, NULL);
}

static int check_shape(struct executor *e, const struct layout *a, const struct layout *b,
                       struct source_position at, const char *what)
{
    if (layout_same_shape(a, b))
        return 0;
    return execute_fail(e, at, "%s: the shapes differ (%lld elements and %lld)", what,
                        (long long)layout_count(a), (long long)layout_count(b));
}

static int move_copy(struct executor *e, const struct step *s)
{
    const struct stm *stm = s->stm;
    TRY(execute_bind_array(e, stm->outs[0]));
    struct array_state *to = &e->arrays[stm->outs[0]], *from = &e->arrays[stm->array];
    TRY(check_shape(e, &to->layout, &from->layout, stm->at, "copy"));
    enum copy_kind kind = stm->loop_carried                  ? COPY_loop_carried
                          : layout_contiguous(&from->layout) ? COPY_defensive
                                                             : COPY_layout;
    return move(e, s, kind, to, from);
}

static int move_concat(struct executor *e, const struct step *s)
{
    const struct stm *stm = s->stm;
    int out = stm->outs[0];
    TRY(execute_bind_array(e, out));
    struct array_state part = e->arrays[out];
    int64_t outer = 0;
    for (unsigned i = 0; i < stm->piece_count; i++) {
        const struct array_state *piece = &e->arrays[stm->pieces[i].array];
        part.layout.shape[0] = piece->layout.shape[0];
        part.layout.offset = e->arrays[out].layout.offset + outer * part.layout.stride[0];
        outer += piece->layout.shape[0];
        if (outer > e->arrays[out].layout.shape[0])
            break;
        TRY(check_shape(e, &part.layout, &piece->layout, stm->at, "concat"));
        TRY(move(e, s, COPY_concat, &part, piece));
    }
    if (outer == e->arrays[out].layout.shape[0])
        return 0;
    return execute_fail(
        e, stm->at, "concat: the pieces have %lld or more rows together, '%s' has %lld",
        (long long)outer, e->fun->names[out].text, (long long)e->arrays[out].layout.shape[0]);
}

static int fill(struct executor *e, const struct step *s, const struct array_state *to)
{
    union scalar value = {.i64 = 0};
    bool unknown = e->lacks && dry_scalar_in(e, s->stm->expr);
    TRY(unknown ? 0 : execute_evaluate(e, s->stm->expr, &value));
    return launch_mover(e, s, to, NULL, &value);
}

static int move_update(struct executor *e, const struct step *s)
{
    const struct stm *stm = s->stm;
    TRY(execute_bind_array(e, stm->outs[0]));
    struct array_state part = {.memory = e->arrays[stm->outs[0]].memory};
    const struct array_state *whole = &e->arrays[stm->array];
    if (whole->memory != part.memory ||
        !layout_equal(&whole->layout, &e->arrays[stm->outs[0]].layout))
        return execute_fail(e, stm->at,
                            "'%s' is updated in place but does not lie in the place of "
                            "'%s'",
                            e->fun->names[stm->outs[0]].text, e->fun->names[stm->array].text);
    TRY(execute_slice(e, stm, &whole->layout, &part.layout));
    if (layout_overlaps_itself(&part.layout))
        return execute_fail(e, stm->at,
                            "elements that are put in might lie on each other: each distance must "
                            "be more than what the smaller ones reach together");
    if (stm->value != NO_NAME) {
        const struct array_state *value = &e->arrays[stm->value];
        TRY(check_shape(e, &part.layout, &value->layout, stm->at, "with"));
        return move(e, s, COPY_in_place, &part, value);
    }
    if (part.layout.rank == 0) { /* one element: a space of one thread */
        part.layout.rank = 1;
        part.layout.shape[0] = part.layout.stride[0] = 1;
    }
    return fill(e, s, &part);
}

static int move_fill(struct executor *e, const struct step *s)
{
    TRY(execute_bind_array(e, s->stm->outs[0]));
    return fill(e, s, &e->arrays[s->stm->outs[0]]);
}

/* Every element is read as often as the array is repeated: by steps of 0 along those dimensions. */
static int move_repeated(struct executor *e, const struct step *s)
{
    const struct stm *stm = s->stm;
    TRY(execute_bind_array(e, stm->outs[0]));
    const struct array_state *to = &e->arrays[stm->outs[0]];
    struct array_state from = e->arrays[stm->array];
    const struct layout one = from.layout;
    const unsigned times = to->layout.rank - one.rank;
    from.layout = to->layout;
    from.layout.offset = one.offset;
    for (unsigned d = 0; d < to->layout.rank; d++) {
        from.layout.stride[d] = d < times ? 0 : one.stride[d - times];
        from.layout.shape[d] = d < times ? to->layout.shape[d] : one.shape[d - times];
    }
    TRY(check_shape(e, &to->layout, &from.layout, stm->at, "replicate"));
    if (layout_count(&to->layout) == 0)
        return 0;
    if (to->memory == from.memory && layout_overlap(&to->layout, &from.layout))
        return execute_fail(e, stm->at, "an array is repeated into a place that overlaps its own");
    return launch_mover(e, s, to, &from, NULL);
}

static int move_iota(struct executor *e, const struct step *s)
{
    TRY(execute_bind_array(e, s->stm->outs[0]));
    return launch_mover(e, s, &e->arrays[s->stm->outs[0]], NULL, NULL);
}

/* Is the array in pinned memory, so that the host can load its elements after a wait? */
static bool is_loaded(const struct executor *e, int array)
{
    return e->spaces[e->fun->names[array].memory] == SPACE_PINNED;
}

static int read_element(struct executor *e, const struct stm *stm, size_t bytes)
{
    const struct device_ops *ops = e->device->ops;
    const struct array_state *array = &e->arrays[stm->array];
    struct layout element;
    TRY(execute_slice(e, stm, &array->layout, &element));
    union scalar value = {.i64 = 0};
    run_log_begin_call(e->trace);
    int code = (is_loaded(e, stm->array) ? ops->load : ops->read)(
        e->device, &value, array->memory, (uint64_t)element.offset * bytes, bytes, e->error);
    run_log_transfer(e->trace, TRACE_read, 0, array->memory, bytes);
    e->values[stm->outs[0]] = value;
    if (!code && e->read_listener)
        e->read_listener->read(e->read_listener->context, stm->outs[0], value);
    return code;
}

/* Are all indices of the slice known in a dry run? */
static bool slice_known(const struct executor *e, const struct stm *stm)
{
    for (unsigned d = 0; d < stm->slice_rank; d++)
        if (dry_scalar_in(e, stm->slice[d].start))
            return false;
    return true;
}

/* In a dry run: reads the element of an argument. Nothing changes a parameter's contents as long as
 * its name may be used, so the arguments have what a run would read. */
static int read_argument(struct executor *e, const struct stm *stm, size_t bytes)
{
    const struct named_value *array = argument(e->arguments, e->fun->names[stm->array].text);
    const struct layout *whole = &e->arrays[stm->array].layout;
    struct layout element;
    union scalar value = {.i64 = 0};
    if (!array || !array->array.data || !slice_known(e, stm))
        return 0;
    TRY(execute_slice(e, stm, whole, &element));
    const size_t at = (size_t)(element.offset - whole->offset);
    if (at >= array->array.count)
        return 0;
    memcpy(&value, (const char *)array->array.data + at * bytes, bytes);
    e->values[stm->outs[0]] = value;
    e->lacks[stm->outs[0]] = NO_NAME;
    return 0;
}

static int move_element(struct executor *e, const struct step *s)
{
    const struct stm *stm = s->stm;
    size_t bytes = bytes_of(e, stm->array);
    if (!e->lacks)
        TRY(read_element(e, stm, bytes));
    else if (!dry_scalar_read(e, stm->outs[0]))
        TRY(read_argument(e, stm, bytes));
    e->counts.readback_count++;
    if (is_loaded(e, stm->array))
        return 0;
    e->counts.copy[COPY_host_device].count++;
    e->counts.copy[COPY_host_device].bytes += bytes;
    return 0;
}

/* ---- all of them ---------------------------------------------------------------------------- */

void launch_prepare(struct executor *e, struct step *s)
{
    char name[KERNEL_NAME_MAX];
    struct step_state *state = s->state;
    if (s->stm->kind == STM_KERNEL)
        prepare_kernel(e, s);
    else if (e->kernels && kernel_mover_name(name, e->fun, s->stm))
        state->kernel = kernels_find(e->kernels, name);
}

int launch_statement(struct executor *e, const struct step *s)
{
    switch (s->stm->kind) {
    case STM_KERNEL:
        return launch_kernel(e, s);
    case STM_ELEMENT:
        return move_element(e, s);
    case STM_COPY:
        return move_copy(e, s);
    case STM_CONCAT:
        return move_concat(e, s);
    case STM_UPDATE:
        return move_update(e, s);
    case STM_REPLICATE:
        return s->stm->expr ? move_fill(e, s) : move_repeated(e, s);
    default:
        return move_iota(e, s);
    }
}
