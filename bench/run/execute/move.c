/* Statements that move data. A copy between the same bytes in the same order is left out and
 * counted; one between places that overlap otherwise is an error; the rest is the driver's plain
 * copy where both sides are contiguous, and a kernel where they are not. */
#include <string.h>

#include "run/execute/executor.h"

static size_t bytes_of(const struct executor *e, int array)
{
    return element_bytes(e->fun->names[array].element);
}

unsigned move_find_kernel(const struct executor *e, const struct stm *s)
{
    char name[KERNEL_NAME_MAX];
    const struct name *out = &e->fun->names[s->outs[0]];
    unsigned kept = 0;
    switch (s->kind) {
    case STM_COPY:
    case STM_CONCAT:
        kernel_copy_name(name, out->rank, element_bytes(out->element));
        break;
    case STM_REPLICATE:
        kernel_fill_name(name, out->element, out->rank);
        break;
    case STM_IOTA:
        kernel_iota_name(name, out->element);
        break;
    default: /* STM_UPDATE */
        for (unsigned d = 0; d < s->slice_rank; d++)
            kept += !s->slice[d].fixed;
        if (s->value != NO_NAME)
            kernel_copy_name(name, kept, element_bytes(out->element));
        else
            kernel_fill_name(name, out->element, kept ? kept : 1);
    }
    return execute_find_kernel(e, name);
}

int move_launch(struct executor *e, unsigned kernel, enum element element,
                const struct array_state *to, const struct array_state *from,
                const union scalar *value, struct place at)
{
    enum launch_arg_kind kinds[5 + 3 * RANK_MAX];
    union launch_value arguments[5 + 3 * RANK_MAX];
    unsigned count = 0, bytes = (unsigned)element_bytes(element);
    const struct launched_array arrays[] = {
        {.state = to, .element_bytes = bytes, .written = true, .fresh = true},
        {.state = from, .element_bytes = bytes}};
    struct launch_array used[2];
    launch_add_array(e, kinds, arguments, &count, &arrays[0]);
    if (from)
        launch_add_array(e, kinds, arguments, &count, &arrays[1]);
    if (value)
        launch_add_scalar(kinds, arguments, &count, element, *value);
    for (unsigned d = 0; d < to->layout.rank; d++) {
        kinds[count] = ARG_I64;
        arguments[count++].i64 = to->layout.shape[d];
    }
    struct kernel_call call = {.kernel = kernel,
                               .rank = to->layout.rank,
                               .array_count = from ? 2 : 1,
                               .arrays = arrays,
                               .used = e->is_device_group ? used : NULL,
                               .member = MEMBER_OF_CONTENTS,
                               .argument_count = count,
                               .kinds = kinds,
                               .arguments = arguments,
                               .at = at};
    memcpy(call.extents, to->layout.shape, sizeof call.extents);
    return launch_call(e, &call);
}

static int launch_mover(struct executor *e, const struct step *s, const struct array_state *to,
                        const struct array_state *from, const union scalar *value)
{
    const struct step_state *state = s->state;
    return move_launch(e, state->kernel, e->fun->names[s->stm->outs[0]].element, to, from, value,
                       s->stm->at);
}

static int plain_copy(struct executor *e, const struct array_state *to,
                      const struct array_state *from, size_t each, uint64_t bytes)
{
    trace_begin_command(e->trace);
    int code =
        e->device->ops->copy(e->device, to->memory, (uint64_t)to->layout.offset * each,
                             from->memory, (uint64_t)from->layout.offset * each, bytes, e->error);
    trace_copy(e->trace, to->memory, from->memory, bytes);
    return code;
}

static int move(struct executor *e, const struct step *s, enum copy_kind kind,
                const struct array_state *to, const struct array_state *from)
{
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
                       struct place at, const char *what)
{
    if (layout_same_shape(a, b))
        return 0;
    return execute_fail(e, at, "%s: the shapes differ (%lld elements and %lld)", what,
                        (long long)layout_count(a), (long long)layout_count(b));
}

int move_copy(struct executor *e, const struct step *s)
{
    const struct stm *stm = s->stm;
    int code = execute_bind_array(e, stm->outs[0]);
    if (code)
        return code;
    struct array_state *to = &e->arrays[stm->outs[0]], *from = &e->arrays[stm->array];
    code = check_shape(e, &to->layout, &from->layout, stm->at, "copy");
    if (code)
        return code;
    enum copy_kind kind = stm->loop_carried                  ? COPY_loop_carried
                          : layout_contiguous(&from->layout) ? COPY_defensive
                                                             : COPY_layout;
    return move(e, s, kind, to, from);
}

int move_concat(struct executor *e, const struct step *s)
{
    const struct stm *stm = s->stm;
    int out = stm->outs[0];
    int code = execute_bind_array(e, out);
    struct array_state part = e->arrays[out];
    int64_t outer = 0;
    for (unsigned i = 0; i < stm->piece_count && !code; i++) {
        const struct array_state *piece = &e->arrays[stm->pieces[i].array];
        part.layout.shape[0] = piece->layout.shape[0];
        part.layout.offset = e->arrays[out].layout.offset + outer * part.layout.stride[0];
        outer += piece->layout.shape[0];
        if (outer > e->arrays[out].layout.shape[0])
            break;
        code = check_shape(e, &part.layout, &piece->layout, stm->at, "concat");
        if (!code)
            code = move(e, s, COPY_concat, &part, piece);
    }
    if (!code && outer != e->arrays[out].layout.shape[0])
        code = execute_fail(e, stm->at,
                            "concat: the pieces have %lld or more rows together, '%s' "
                            "has %lld",
                            (long long)outer, e->fun->names[out].text,
                            (long long)e->arrays[out].layout.shape[0]);
    return code;
}

int move_slice_layout(struct executor *e, const struct stm *stm, const struct layout *whole,
                      struct layout *part)
{
    *part = (struct layout){.offset = whole->offset};
    for (unsigned d = 0; d < stm->slice_rank; d++) {
        const struct slice_dim *dim = &stm->slice[d];
        int64_t start = 0, length = whole->shape[d], step = 1;
        int code = dim->start ? execute_size(e, dim->start, &start) : 0;
        if (!code && dim->fixed)
            length = 1;
        if (!code && dim->length)
            code = execute_size(e, dim->length, &length);
        if (!code && dim->step)
            code = execute_size(e, dim->step, &step);
        if (code)
            return code;
        int64_t reach;
        bool outside = length < 0 || __builtin_mul_overflow(length - 1, step, &reach) ||
                       __builtin_add_overflow(start, reach, &reach);
        if (!outside && length > 0)
            outside =
                start < 0 || start >= whole->shape[d] || reach < 0 || reach >= whole->shape[d];
        if (outside)
            return execute_fail(e, stm->at,
                                "dimension %u has %lld elements; from %lld, %lld of them "
                                "by steps of %lld, are not all inside",
                                d, (long long)whole->shape[d], (long long)start, (long long)length,
                                (long long)step);
        part->offset += length > 0 ? start * whole->stride[d] : 0;
        if (!dim->fixed) {
            part->shape[part->rank] = length;
            part->stride[part->rank++] = step * whole->stride[d];
        }
    }
    return 0;
}

static int fill(struct executor *e, const struct step *s, const struct array_state *to)
{
    union scalar value = {.i64 = 0};
    bool unknown = e->lacks && dry_scalar_in(e, s->stm->expr);
    int code = unknown ? 0 : execute_evaluate(e, s->stm->expr, &value);
    return code ? code : launch_mover(e, s, to, NULL, &value);
}

int move_update(struct executor *e, const struct step *s)
{
    const struct stm *stm = s->stm;
    int code = execute_bind_array(e, stm->outs[0]);
    if (code)
        return code;
    struct array_state part = {.memory = e->arrays[stm->outs[0]].memory};
    const struct array_state *whole = &e->arrays[stm->array];
    if (whole->memory != part.memory ||
        !layout_equal(&whole->layout, &e->arrays[stm->outs[0]].layout))
        return execute_fail(e, stm->at,
                            "'%s' is updated in place but does not lie in the place of "
                            "'%s'",
                            e->fun->names[stm->outs[0]].text, e->fun->names[stm->array].text);
    code = move_slice_layout(e, stm, &whole->layout, &part.layout);
    if (code)
        return code;
    if (stm->value != NO_NAME) {
        const struct array_state *value = &e->arrays[stm->value];
        code = check_shape(e, &part.layout, &value->layout, stm->at, "with");
        return code ? code : move(e, s, COPY_in_place, &part, value);
    }
    if (part.layout.rank == 0) { /* one element: a space of one thread */
        part.layout.rank = 1;
        part.layout.shape[0] = part.layout.stride[0] = 1;
    }
    return fill(e, s, &part);
}

int move_fill(struct executor *e, const struct step *s)
{
    int code = execute_bind_array(e, s->stm->outs[0]);
    return code ? code : fill(e, s, &e->arrays[s->stm->outs[0]]);
}

int move_iota(struct executor *e, const struct step *s)
{
    int code = execute_bind_array(e, s->stm->outs[0]);
    return code ? code : launch_mover(e, s, &e->arrays[s->stm->outs[0]], NULL, NULL);
}

/* In pinned memory it is the host's to load once the device has been waited for. */
static bool is_loaded(const struct executor *e, int array)
{
    return e->spaces[e->fun->names[array].memory] == SPACE_PINNED;
}

static int read_element(struct executor *e, const struct stm *stm, size_t bytes, bool *deferred)
{
    const struct device_ops *ops = e->device->ops;
    const struct array_state *array = &e->arrays[stm->array];
    struct layout element;
    int code = move_slice_layout(e, stm, &array->layout, &element);
    if (code)
        return code;
    union scalar value = {.i64 = 0};
    if (e->deferred)
        code = e->deferred->ops->read(e, stm, array->memory, element.offset, deferred);
    if (code || *deferred)
        return code;
    trace_begin_call(e->trace);
    code = (is_loaded(e, stm->array) ? ops->load : ops->read)(
        e->device, &value, array->memory, (uint64_t)element.offset * bytes, bytes, e->error);
    trace_read(e->trace, array->memory, bytes);
    e->values[stm->outs[0]] = value;
    return code;
}

int move_element(struct executor *e, const struct step *s)
{
    const struct stm *stm = s->stm;
    size_t bytes = bytes_of(e, stm->array);
    bool deferred = false;
    int code = 0;
    if (e->lacks)
        dry_scalar_read(e, stm->outs[0]);
    else
        code = read_element(e, stm, bytes, &deferred);
    if (code || deferred)
        return code;
    if (is_loaded(e, stm->array))
        e->counts.readback_count++;
    else
        execute_count_readback(e, bytes);
    return 0;
}
