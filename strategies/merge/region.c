/* Regions of arrays, of their slices, and of many iterations together. */
#include "merge/disjoint.h"
#include "merge/size/size_state.h"

static const struct region unknown = {.known = false};

struct region region_of_array(struct sizes *s, int array)
{
    const struct name *n = &s->fun->names[array];
    const struct kernel *k = sizes_kernel_of(s, array);
    unsigned threads = n->thread_rank;
    if (n->kind != NAME_ARRAY || n->memory == NO_NAME || (threads > 0 && !k))
        return unknown;
    struct region r = {.known = true,
                       .element_bytes = (unsigned)element_bytes(n->element),
                       .offset = sizes_constant(s, 0),
                       .rank = threads + n->rank};
    if (r.rank > REGION_RANK_MAX)
        return unknown;
    if (n->index.offset)
        r.offset = sizes_of(s, n->index.offset);
    const struct poly *stride = sizes_constant(s, 1);
    for (unsigned d = r.rank; d-- > 0;) {
        r.dim[d].extent = sizes_of(s, d < threads ? k->extents[d] : n->shape[d - threads]);
        r.dim[d].stride = n->index.offset ? sizes_of(s, n->index.stride[d]) : stride;
        stride = sizes_multiply(s, stride, r.dim[d].extent);
    }
    return r;
}

struct region region_slice(struct sizes *s, const struct region *whole,
                           const struct slice_dim *slice, unsigned rank)
{
    if (!whole->known || whole->rank != rank)
        return unknown;
    struct region r = *whole;
    r.rank = 0;
    for (unsigned d = 0; d < rank; d++) {
        struct region_dim dim = whole->dim[d];
        if (slice[d].start) {
            const struct poly *skipped = sizes_multiply(s, sizes_of(s, slice[d].start), dim.stride);
            r.offset = sizes_add(s, r.offset, skipped);
            if (!slice[d].fixed)
                dim.extent = sizes_of(s, slice[d].length);
            if (slice[d].step)
                dim.stride = sizes_multiply(s, dim.stride, sizes_of(s, slice[d].step));
        }
        if (!slice[d].fixed)
            r.dim[r.rank++] = dim;
    }
    return r;
}

/* ---- over a counter ------------------------------------------------------------------------- */

struct range {
    struct sizes *s;
    int counter, atom;
    const struct poly *first, *count;
};

/* Is p the same in every iteration? */
static bool is_fixed(const struct range *g, const struct poly *p)
{
    bool otherwise;
    return !sizes_varies(g->s, p, g->counter, &otherwise) && !otherwise;
}

/* p of the next iteration less p; NULL where p depends on the iteration in another way than as a
 * polynomial in the counter. */
static const struct poly *growth(const struct range *g, const struct poly *p)
{
    struct polys *ps = &g->s->polys;
    for (unsigned t = 0; t < p->count; t++)
        for (unsigned i = 0; i < p->terms[t].degree; i++)
            if (p->terms[t].atoms[i] != g->atom &&
                !is_fixed(g, poly_atom(ps, p->terms[t].atoms[i])))
                return NULL;
    const struct poly *next = poly_add(ps, poly_atom(ps, g->atom), 1, sizes_constant(g->s, 1));
    next = poly_substitute(ps, p, g->atom, next);
    return next ? poly_add(ps, next, -1, p) : NULL;
}

/* The largest value that an extent takes: at the last or the first iteration. */
static const struct poly *widest(const struct range *g, const struct poly *extent)
{
    struct polys *ps = &g->s->polys;
    int64_t change;
    if (is_fixed(g, extent))
        return extent;
    const struct poly *delta = growth(g, extent);
    if (!delta || !poly_is_constant(delta, &change))
        return NULL;
    const struct poly *at = g->first;
    if (change > 0)
        at = sizes_subtract(g->s, sizes_add(g->s, g->first, g->count), sizes_constant(g->s, 1));
    return poly_substitute(ps, extent, g->atom, at);
}

struct region region_over(struct sizes *s, const struct region *r, int counter,
                          const struct poly *first, const struct poly *count)
{
    if (!r->known || !sizes_range(s, counter) || r->rank == REGION_RANK_MAX)
        return unknown;
    struct range g = {s, counter, poly_single_atom(sizes_of_name(s, counter)), first, count};
    struct region all = {.known = true, .element_bytes = r->element_bytes, .rank = r->rank + 1};
    all.offset = poly_substitute(&s->polys, r->offset, g.atom, first);
    all.dim[0] = (struct region_dim){count, growth(&g, r->offset)};
    if (!all.offset || !all.dim[0].stride || !is_fixed(&g, all.dim[0].stride))
        return unknown;
    for (unsigned d = 0; d < r->rank; d++) {
        const struct poly *extent = widest(&g, r->dim[d].extent);
        if (!extent || !is_fixed(&g, r->dim[d].stride))
            return unknown;
        all.dim[d + 1] = (struct region_dim){extent, r->dim[d].stride};
    }
    return all;
}

struct region region_over_all(struct sizes *s, const struct region *r, int counter)
{
    const struct poly *count = sizes_range(s, counter);
    return count ? region_over(s, r, counter, sizes_constant(s, 0), count) : unknown;
}
