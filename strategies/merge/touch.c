#include "merge/touch.h"

#include <stdlib.h>
#include <string.h>

void touch_open(struct touch *t, struct merge *m, const struct outline *o)
{
    *t = (struct touch){.m = m, .o = o};
    t->sizes = sizes_open(m->program, m->fun, 0);
    t->kernels = arena_alloc(&t->arena, o->position_count * sizeof *t->kernels);
}

void touch_close(struct touch *t)
{
    sizes_close(t->sizes);
    arena_free(&t->arena);
}

static const struct kernel_access *kernel_at(struct touch *t, unsigned position)
{
    if (!t->kernels[position])
        t->kernels[position] =
            access_analyse(t->m->program, t->m->fun, t->o->at[position], &t->arena);
    return t->kernels[position];
}

static unsigned sizes_at(struct touch *t, unsigned position)
{
    const struct stm *s = t->o->at[position];
    return s ? sizes_position(t->sizes, s) : 0;
}

/* ---- in place ------------------------------------------------------------------------------- */

struct comparison {
    struct touch *t;
    const struct index_function *index; /* of the result */
    unsigned position;
};

static bool same_value(struct touch *t, const struct expr *a, const struct expr *b,
                       unsigned position)
{
    return expr_equal(a, b) || sizes_equal(t->sizes, sizes_of(t->sizes, a), sizes_of(t->sizes, b),
                                           sizes_at(t, position));
}

static bool same_place(void *context, int out, int killed)
{
    const struct comparison *c = context;
    struct program *program = c->t->m->program;
    struct name x = c->t->m->fun->names[out];
    const struct name *y = &c->t->m->fun->names[killed];
    x.index = *c->index;
    if (x.rank != y->rank || x.thread_rank || y->thread_rank ||
        !same_value(c->t, index_offset(program, &x), index_offset(program, y), c->position))
        return false;
    for (unsigned d = 0; d < x.rank; d++)
        if (!same_value(c->t, x.shape[d], y->shape[d], c->position) ||
            !same_value(c->t, index_stride(program, &x, d), index_stride(program, y, d),
                        c->position))
            return false;
    return true;
}

enum merge_condition touch_in_place(struct touch *t, unsigned position, int out,
                                    const struct index_function *index, const int *killed,
                                    unsigned killed_count, const char **detail)
{
    if (t->o->at[position]->kind != STM_KERNEL)
        return CONDITION_interference;
    struct comparison comparison = {t, index, position};
    struct access_question question = {
        .out = out,
        .killed = killed,
        .killed_count = killed_count,
        .rows = merge_extends(t->m, EXTENSION_across),
        .switches = merge_checks(t->m, CONDITION_same_index) ? 0 : ~0u,
        .same_place = same_place,
        .context = &comparison,
    };
    struct access_refusal refusal;
    if (access_in_place(kernel_at(t, position), &question, &refusal))
        return MERGE_ALLOWED;
    if (detail)
        *detail = access_check_sentence(refusal.check);
    return CONDITION_same_index;
}

/* ---- private arrays ------------------------------------------------------------------------- */

/* Each thread's elements are those at its own number modulo the number of threads: then arrays with
 * the same strides for threads keep apart whatever their own shapes. */
static bool interleaved(struct touch *t, const struct name *array, const struct kernel *kernel,
                        unsigned position)
{
    struct sizes *s = t->sizes;
    const struct poly *threads = sizes_constant(s, 1);
    for (unsigned d = array->thread_rank; d-- > 0;) {
        if (!sizes_equal(s, sizes_of(s, array->index.stride[d]), threads, sizes_at(t, position)))
            return false;
        threads = sizes_multiply(s, threads, sizes_of(s, kernel->extents[d]));
    }
    for (unsigned d = 0; d < array->rank; d++)
        if (!sizes_divide(s, sizes_of(s, array->index.stride[array->thread_rank + d]), threads))
            return false;
    const struct poly *offset = sizes_of(s, array->index.offset);
    return sizes_divide(s, offset, threads) != NULL;
}

static bool same_threads(struct touch *t, const struct name *a, const struct name *b,
                         const struct kernel *kernel, unsigned position)
{
    if (element_bytes(a->element) != element_bytes(b->element))
        return false;
    if (interleaved(t, a, kernel, position) && interleaved(t, b, kernel, position))
        return true;
    bool same = a->rank == b->rank && same_value(t, a->index.offset, b->index.offset, position);
    for (unsigned d = 0; d < a->rank && same; d++)
        same = same_value(t, a->shape[d], b->shape[d], position);
    for (unsigned d = 0; d < a->rank + a->thread_rank && same; d++)
        same = same_value(t, a->index.stride[d], b->index.stride[d], position);
    return same;
}

enum merge_condition touch_private(struct touch *t, unsigned position, int a, int b,
                                   const char **detail)
{
    const struct kernel_access *ka = kernel_at(t, position);
    if (access_private_order(ka, a, b, 0) == ACCESS_OVERLAP) {
        *detail = "a thread uses both at the same time";
        return CONDITION_interference;
    }
    const struct name *names = t->m->fun->names;
    if (merge_checks(t->m, CONDITION_threads) &&
        !same_threads(t, &names[a], &names[b], ka->kernel, position))
        return CONDITION_threads;
    return MERGE_ALLOWED;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

bool touch_enough_bytes(struct touch *t, const struct expr *enough, const struct expr *bytes,
                        unsigned at)
{
    return expr_equal(enough, bytes) || sizes_at_least(t->sizes, sizes_of(t->sizes, enough),
                                                       sizes_of(t->sizes, bytes), sizes_at(t, at));
}

bool touch_elsewhere(struct touch *t, unsigned position, int touched, int array,
                     const struct index_function *index)
{
    (void)t, (void)position, (void)touched, (void)array, (void)index;
    return false;
}
