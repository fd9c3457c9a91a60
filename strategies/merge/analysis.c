/* Opens the analyses, and asks kernel texts (access.h) and proofs of disjointness (disjoint.h)
 * about arrays at the places that they have or would get. */
#include "merge/analysis.h"

#include <string.h>

void analysis_open(struct analysis *a, struct merge *m, unsigned how)
{
    *a = (struct analysis){.m = m, .o = outline_new(m->fun)};
    a->map = memory_map_new(a->o, how);
    a->numbers = numbers_new(m->fun, m->options.values, m->options.readings);
    a->sizes = sizes_open(m->program, m->fun, 0);
    numbers_bound(a->numbers, a->map, a->sizes);
    a->kernels = arena_alloc(&a->arena, a->o->position_count * sizeof *a->kernels);
    if (m->options.veto)
        bound_open(&a->bound, a->map, a->numbers);
}

void analysis_close(struct analysis *a)
{
    if (a->m->options.veto)
        bound_close(&a->bound);
    sizes_close(a->sizes);
    text_free(&a->proof);
    arena_free(&a->arena);
    numbers_free(a->numbers);
    memory_map_free(a->map);
    outline_free(a->o);
}

static const struct kernel_access *kernel_at(struct analysis *all, unsigned position)
{
    if (!all->kernels[position])
        all->kernels[position] =
            access_analyse(all->m->program, all->m->fun, all->o->at[position], &all->arena);
    return all->kernels[position];
}

static unsigned sizes_at(struct analysis *all, unsigned position)
{
    const struct stm *s = all->o->at[position];
    return s ? s->size_position : 0;
}

/* ---- in place -------------------------------------------------------------------------------- */

struct comparison {
    struct analysis *all;
    const struct index_function *index; /* the layout of the result */
    unsigned position;
};

static bool same_value(struct analysis *all, const struct expr *a, const struct expr *b,
                       unsigned position)
{
    return expr_equal(a, b) || sizes_equal(all->sizes, sizes_of(all->sizes, a),
                                           sizes_of(all->sizes, b), sizes_at(all, position));
}

static bool same_place(void *context, int out, int killed)
{
    const struct comparison *c = context;
    struct program *program = c->all->m->program;
    struct name x = c->all->m->fun->names[out];
    const struct name *y = &c->all->m->fun->names[killed];
    x.index = *c->index;
    if (x.rank != y->rank || x.thread_rank || y->thread_rank ||
        !same_value(c->all, index_offset(program, &x), index_offset(program, y), c->position))
        return false;
    for (unsigned d = 0; d < x.rank; d++)
        if (!same_value(c->all, x.shape[d], y->shape[d], c->position) ||
            !same_value(c->all, index_stride(program, &x, d), index_stride(program, y, d),
                        c->position))
            return false;
    return true;
}

enum merge_condition analysis_in_place(struct analysis *all, unsigned position, int out,
                                       const struct index_function *index, const int *killed,
                                       unsigned killed_count, const char **detail)
{
    if (all->o->at[position]->kind != STM_KERNEL)
        return CONDITION_interference;
    struct comparison comparison = {all, index, position};
    struct access_question question = {
        .out = out,
        .killed = killed,
        .killed_count = killed_count,
        .rows = merge_extends(all->m, EXTENSION_across),
        .switches = merge_checks(all->m, CONDITION_same_index) ? 0 : ~0u,
        .same_place = same_place,
        .context = &comparison,
    };
    struct access_refusal refusal;
    if (access_in_place(kernel_at(all, position), &question, &refusal))
        return MERGE_ALLOWED;
    if (detail)
        *detail = access_check_sentence(refusal.check);
    return CONDITION_same_index;
}

/* ---- private arrays -------------------------------------------------------------------------- */

/* True if each thread's elements are at its own number modulo the number of threads. Then no two
 * threads share an element of two such arrays, whatever shapes they have. */
static bool interleaved(struct analysis *all, const struct name *array, const struct kernel *kernel,
                        unsigned position)
{
    struct sizes *s = all->sizes;
    const struct poly *threads = sizes_constant(s, 1);
    for (unsigned d = array->thread_rank; d-- > 0;) {
        if (!sizes_equal(s, sizes_of(s, array->index.stride[d]), threads, sizes_at(all, position)))
            return false;
        threads = sizes_multiply(s, threads, sizes_of(s, kernel->extents[d]));
    }
    for (unsigned d = 0; d < array->rank; d++)
        if (!sizes_divide(s, sizes_of(s, array->index.stride[array->thread_rank + d]), threads))
            return false;
    const struct poly *offset = sizes_of(s, array->index.offset);
    return sizes_divide(s, offset, threads) != NULL;
}

static bool same_threads(struct analysis *all, const struct name *a, const struct name *b,
                         const struct kernel *kernel, unsigned position)
{
    if (element_bytes(a->element) != element_bytes(b->element))
        return false;
    if (interleaved(all, a, kernel, position) && interleaved(all, b, kernel, position))
        return true;
    bool same = a->rank == b->rank && same_value(all, a->index.offset, b->index.offset, position);
    for (unsigned d = 0; d < a->rank && same; d++)
        same = same_value(all, a->shape[d], b->shape[d], position);
    for (unsigned d = 0; d < a->rank + a->thread_rank && same; d++)
        same = same_value(all, a->index.stride[d], b->index.stride[d], position);
    return same;
}

enum merge_condition analysis_private(struct analysis *all, unsigned position, int a, int b,
                                      const char **detail)
{
    const struct kernel_access *ka = kernel_at(all, position);
    if (access_private_order(ka, a, b, 0) == ACCESS_OVERLAP) {
        *detail = "a thread uses both at the same time";
        return CONDITION_interference;
    }
    const struct name *names = all->m->fun->names;
    if (merge_checks(all->m, CONDITION_threads) &&
        !same_threads(all, &names[a], &names[b], ka->kernel, position))
        return CONDITION_threads;
    return MERGE_ALLOWED;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

bool analysis_enough_bytes(struct analysis *all, const struct expr *enough,
                           const struct expr *bytes, unsigned at)
{
    if (expr_equal(enough, bytes))
        return true;
    const struct poly *a = sizes_of(all->sizes, enough), *b = sizes_of(all->sizes, bytes);
    return sizes_equal(all->sizes, a, b, sizes_at(all, at)) ||
           sizes_at_least(all->sizes, a, b, sizes_at(all, at));
}

/* ---- other parts of a block ------------------------------------------------------------------ */

/* Moves the part to where a sum begins, and adds a dimension for each of its terms. */
static void add_sum(struct sizes *s, struct region *part, const struct access_sum *sum,
                    const struct poly *stride, const struct kernel *kernel)
{
    const struct poly *start = sizes_of(s, sum->start);
    for (unsigned t = 0; t < sum->count; t++) {
        const struct access_term *term = &sum->terms[t];
        const struct poly *factor = sizes_of(s, term->factor);
        const bool counts = term->index.kind == ACCESS_COUNTER;
        if (counts)
            start = sizes_add(s, start, sizes_multiply(s, factor, sizes_of(s, term->index.first)));
        part->dim[part->rank++] = (struct region_dim){
            sizes_of(s, counts ? term->index.count : kernel->extents[term->index.number]),
            sizes_multiply(s, stride, factor)};
    }
    part->offset = sizes_add(s, part->offset, sizes_multiply(s, start, stride));
}

/* The part of an array that one access of a kernel touches, in all threads together. */
static struct region access_part(struct analysis *all, const struct region *whole,
                                 const struct access_region *access, const struct kernel *kernel)
{
    struct sizes *s = all->sizes;
    struct region part = *whole;
    if (!whole->known || whole->rank != access->rank)
        return *whole;
    part.rank = 0;
    for (unsigned d = 0; d < access->rank; d++) {
        const struct access_index *index = &access->dim[d];
        struct region_dim dim = whole->dim[d];
        const struct poly *start = sizes_constant(s, index->constant);
        if (index->kind == ACCESS_SUM &&
            part.rank + ACCESS_TERMS + access->rank - d <= REGION_RANK_MAX) {
            add_sum(s, &part, index->sum, dim.stride, kernel);
            continue;
        }
        if (index->kind == ACCESS_NAME)
            start = sizes_add(s, start, sizes_of_name(s, index->name));
        if (index->kind == ACCESS_COUNTER) {
            start = sizes_add(s, start, sizes_of(s, index->first));
            dim.extent = sizes_of(s, index->count);
        }
        if (index->kind == ACCESS_THREAD && index->number < kernel->rank)
            dim.extent = sizes_of(s, kernel->extents[index->number]);
        else if (index->kind == ACCESS_THREAD)
            start = sizes_constant(s, 0); /* the item of a group: any place in the dimension */
        if (index->kind != ACCESS_ANY && index->kind != ACCESS_SUM)
            part.offset = sizes_add(s, part.offset, sizes_multiply(s, start, dim.stride));
        if (index->kind != ACCESS_CONSTANT && index->kind != ACCESS_NAME)
            part.dim[part.rank++] = dim;
    }
    return part;
}

/* The union over all iterations of the loops around scope `inner` up to `outer`. */
static struct region over_loops(struct analysis *all, struct region r, unsigned inner,
                                unsigned outer)
{
    for (unsigned scope = inner; scope != outer; scope = all->o->scopes[scope].parent) {
        const struct stm *owner = all->o->scopes[scope].owner;
        if (owner->kind != STM_LOOP)
            continue;
        if (owner->loop->counter == NO_NAME)
            r.known = false;
        else
            r = region_over_all(all->sizes, &r, owner->loop->counter);
    }
    return r;
}

enum { PROOF_BYTES = 2000 };

static bool apart(struct analysis *all, const struct region *part, unsigned position,
                  const struct region *array, unsigned outer)
{
    struct region every = over_loops(all, *part, all->o->scope_at[position], outer);
    struct disjoint_proof proof;
    const bool proved = disjoint_proved(all->sizes, &every, array, sizes_at(all, position), &proof);
    if (all->proof.length > PROOF_BYTES)
        return proved;
    text_add(&all->proof, "\n  (");
    region_print(all->sizes, &every, &all->proof);
    text_add(&all->proof, proved ? ") is apart from (" : ") may meet (");
    region_print(all->sizes, array, &all->proof);
    text_add(&all->proof, "): %s", proof.rule);
    if (proof.stride)
        sizes_print(all->sizes, proof.stride, &all->proof);
    return proved;
}

/* Is what one access touches apart from the array? Of an index that is a sum, all of the dimension
 * may be proved to be apart where the sum is not: if the sign of a factor is not known. */
static bool access_apart(struct analysis *all, unsigned position, const struct region *whole,
                         struct access_region access, const struct region *array, unsigned outer)
{
    const struct kernel *kernel = kernel_at(all, position)->kernel;
    const struct region part = access_part(all, whole, &access, kernel);
    bool sums = false;
    if (apart(all, &part, position, array, outer))
        return true;
    for (unsigned d = 0; d < access.rank; d++)
        if (access.dim[d].kind == ACCESS_SUM) {
            access.dim[d].kind = ACCESS_ANY;
            sums = true;
        }
    return sums && access_apart(all, position, whole, access, array, outer);
}

static bool kernel_apart(struct analysis *all, unsigned position, int touched,
                         const struct region *whole, const struct region *array, unsigned outer)
{
    const struct kernel_access *ka = kernel_at(all, position);
    for (const struct access_fact *f = ka->facts; f < ka->facts + ka->count; f++)
        if (f->access->array == touched &&
            !access_apart(all, position, whole, access_region_of(ka, f), array, outer))
            return false;
    return true;
}

/* The region of an array that `index` lays out. */
static struct region region_at(struct analysis *all, int array, const struct index_function *index)
{
    struct name *name = &all->m->fun->names[array];
    const struct index_function own = name->index;
    name->index = *index;
    const struct region place = region_of_array(all->sizes, array);
    name->index = own;
    return place;
}

bool analysis_elsewhere(struct analysis *all, unsigned position, int touched, int array,
                        const struct index_function *index, unsigned outer)
{
    const struct stm *s = all->o->at[position];
    if (!merge_checks(all->m, CONDITION_elsewhere))
        return true;
    struct region place = region_at(all, array, index);
    place = over_loops(all, place, all->o->names[array].scope, outer);
    struct region whole = region_of_array(all->sizes, touched);
    if (all->proof.length <= PROOF_BYTES)
        text_add(&all->proof, "%sline %u, %s:", all->proof.length ? "\n" : "", s ? s->at.line : 0,
                 all->m->fun->names[touched].text);
    if (!s)
        return apart(all, &whole, position, &place, outer);
    if (s->kind == STM_KERNEL && !all->m->fun->names[touched].thread_rank)
        return kernel_apart(all, position, touched, &whole, &place, outer);
    if ((s->kind == STM_UPDATE && touched != s->value) || s->kind == STM_ELEMENT)
        whole = region_slice(all->sizes, &whole, s->slice, s->slice_rank);
    return apart(all, &whole, position, &place, outer);
}

/* ---- copies between private arrays ----------------------------------------------------------- */

struct access_copies analysis_copies(struct analysis *all, unsigned position)
{
    return access_private_copies(kernel_at(all, position), &all->arena);
}

bool analysis_copied_last(struct analysis *all, unsigned position, const struct access_copy *copy)
{
    const struct kernel_access *ka = kernel_at(all, position);
    bool last = true;
    for (const struct access_fact *f = ka->facts; f < ka->facts + ka->count && last; f++)
        last = f->access->array != copy->source || f == copy->read ||
               access_copy_order(ka, copy, f) == ACCESS_BEFORE;
    return last;
}

bool analysis_copied_inside(struct analysis *all, unsigned position, const struct access_copy *copy)
{
    struct sizes *s = all->sizes;
    const unsigned at = sizes_at(all, position);
    const struct name *source = &all->m->fun->names[copy->source],
                      *destination = &all->m->fun->names[copy->destination];
    bool inside = true;
    for (unsigned e = 0; e < destination->rank && inside; e++) {
        const struct poly *start = sizes_of(s, copy->start[e]);
        const struct poly *extent =
            copy->dim[e] < 0 ? sizes_constant(s, 1) : sizes_of(s, source->shape[copy->dim[e]]);
        inside =
            sizes_nonnegative(s, start, at) &&
            sizes_at_least(s, sizes_of(s, destination->shape[e]), sizes_add(s, start, extent), at);
    }
    return inside;
}

/* Is what one access to a private array touches, in all threads together, apart from `place`? */
static bool private_apart(struct analysis *all, unsigned position, const struct access_fact *fact,
                          const struct region *whole, const struct region *place)
{
    const struct kernel_access *ka = kernel_at(all, position);
    const unsigned threads = kernel_thread_rank(ka->kernel);
    struct access_region touched = access_region_of(ka, fact);
    memmove(touched.dim + threads, touched.dim, touched.rank * sizeof *touched.dim);
    touched.rank += threads;
    for (unsigned t = 0; t < threads; t++)
        touched.dim[t] = (struct access_index){.kind = ACCESS_THREAD, .number = t};
    return access_apart(all, position, whole, touched, place, all->o->scope_at[position]);
}

bool analysis_copied_apart(struct analysis *all, unsigned position, const struct access_copy *copy,
                           const struct index_function *index, int other)
{
    const struct kernel_access *ka = kernel_at(all, position);
    const struct region place = region_at(all, copy->source, index),
                        whole = region_of_array(all->sizes, other);
    if (other != copy->destination)
        return apart(all, &whole, position, &place, all->o->scope_at[position]);
    bool apart = true;
    for (const struct access_fact *f = ka->facts; f < ka->facts + ka->count && apart; f++) {
        if (f->access->array != other || f == copy->write ||
            access_copy_order(ka, copy, f) == ACCESS_AFTER)
            continue;
        apart = private_apart(all, position, f, &whole, &place);
    }
    return apart;
}
