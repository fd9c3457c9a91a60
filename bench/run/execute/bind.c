/* Binds arrays: computes their layouts in numbers, and checks that they stay in their blocks. */
#include "run/execute/executor.h"

/* A private array's threads come first, and their extents are not known here, so that shape[] of
 * them stays 0. */
static int execute_layout(struct executor *e, const struct name *n, struct layout *l)
{
    unsigned threads = n->thread_rank;
    *l = (struct layout){.rank = threads + n->rank};
    for (unsigned d = 0; d < n->rank; d++) {
        TRY(execute_size(e, n->shape[d], &l->shape[threads + d]));
        if (l->shape[threads + d] < 0)
            return execute_fail(e, n->at, "dimension %u of '%s' has size %lld", d, n->text,
                                (long long)l->shape[threads + d]);
    }
    if (n->index.offset)
        TRY(execute_size(e, n->index.offset, &l->offset));
    int64_t stride = 1;
    for (unsigned d = l->rank; d-- > 0;) {
        l->stride[d] = stride;
        if (n->index.offset)
            TRY(execute_size(e, n->index.stride[d], &l->stride[d]));
        else if (__builtin_mul_overflow(stride, l->shape[d], &stride))
            return execute_fail(e, n->at, "'%s' has more elements than 64 bits can count", n->text);
    }
    return 0;
}

int execute_slice(struct executor *e, const struct stm *stm, const struct layout *whole,
                  struct layout *part)
{
    *part = (struct layout){.offset = whole->offset};
    int64_t first = 0, last = 0; /* the elements of a dimension that all up to d reach */
    bool empty = false;
    for (unsigned d = 0; d < stm->slice_rank; d++) {
        const struct slice_dim *dim = &stm->slice[d];
        const unsigned over = slice_over(stm->slice, d);
        int64_t start = 0, length = whole->shape[over], step = 1, reach;
        TRY(dim->start ? execute_size(e, dim->start, &start) : 0);
        if (dim->fixed)
            length = 1;
        TRY(dim->length ? execute_size(e, dim->length, &length) : 0);
        TRY(dim->step ? execute_size(e, dim->step, &step) : 0);
        if (over == d) {
            first = last = start;
            empty = false;
        }
        empty |= length == 0;
        int64_t *end = step < 0 ? &first : &last;
        bool outside = length < 0 || __builtin_mul_overflow(length - 1, step, &reach) ||
                       __builtin_add_overflow(*end, empty ? 0 : reach, end);
        if (!outside && !empty)
            outside = first < 0 || last >= whole->shape[over];
        if (outside)
            return execute_fail(e, stm->at,
                                "dimension %u has %lld elements; from %lld, %lld of them "
                                "by steps of %lld, are not all inside",
                                over, (long long)whole->shape[over], (long long)start,
                                (long long)length, (long long)step);
        part->offset += length > 0 ? start * whole->stride[over] : 0;
        if (!dim->fixed) {
            part->shape[part->rank] = length;
            part->stride[part->rank++] = step * whole->stride[over];
        }
    }
    return 0;
}

int execute_bind_array(struct executor *e, int name)
{
    const struct name *n = &e->fun->names[name];
    struct array_state *a = &e->arrays[name];
    TRY(execute_layout(e, n, &a->layout));
    int b = e->block_of[n->memory];
    if (b == NO_BLOCK)
        return execute_fail(e, n->at, "'%s' is in block '%s', which is not allocated", n->text,
                            e->fun->names[n->memory].text);
    const struct held_block *block = &e->blocks[b];
    int64_t bytes = (int64_t)element_bytes(n->element), first, last;
    if (!n->thread_rank && layout_count(&a->layout) > 0) {
        layout_range(&a->layout, &first, &last);
        if (first < 0 || last >= (int64_t)(block->requested / (uint64_t)bytes))
            return execute_fail(e, n->at,
                                "'%s' reaches from element %lld to %lld of block '%s', "
                                "which has %llu bytes",
                                n->text, (long long)first, (long long)last,
                                e->fun->names[n->memory].text,
                                (unsigned long long)block->requested);
    }
    a->memory = block_memory(&block->block);
    a->layout.offset += (int64_t)block_offset(&block->block) / bytes;
    return 0;
}

bool array_same_place(const struct array_state *a, const struct array_state *b)
{
    return a->memory == b->memory && layout_matches(&a->layout, &b->layout);
}
