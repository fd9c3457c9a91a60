/* What the launch of a kernel may take for granted. */
#include "run/execute/executor.h"

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

enum kernel_form form_of_launch(const struct executor *e, const struct launch *launch,
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
