/* Regions of arrays, of their slices, and of many iterations together; and proofs that two of them
 * share no element. */
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
    if (!whole->known || whole->rank != slice_array_rank(slice, rank))
        return unknown;
    struct region r = *whole;
    r.rank = 0;
    for (unsigned d = 0; d < rank; d++) {
        struct region_dim dim = whole->dim[slice_over(slice, d)];
        if (slice[d].start) {
            const struct poly *skipped = sizes_multiply(s, sizes_of(s, slice[d].start), dim.stride);
            r.offset = sizes_add(s, r.offset, skipped);
        }
        if (slice[d].length)
            dim.extent = sizes_of(s, slice[d].length);
        if (slice[d].step)
            dim.stride = sizes_multiply(s, dim.stride, sizes_of(s, slice[d].step));
        if (!slice[d].fixed)
            r.dim[r.rank++] = dim;
    }
    return r;
}

void region_print(const struct sizes *s, const struct region *r, struct text *text)
{
    if (!r->known) {
        text_add(text, "unknown");
        return;
    }
    sizes_print(s, r->offset, text);
    for (unsigned d = 0; d < r->rank; d++) {
        text_add(text, "; ");
        sizes_print(s, r->dim[d].extent, text);
        text_add(text, " by ");
        sizes_print(s, r->dim[d].stride, text);
    }
}

/* ---- over a counter -------------------------------------------------------------------------- */

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

/* p in the next iteration less p in this one. NULL if p is not a polynomial in the counter, or
 * depends on the iteration in another way. */
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

/* ---- disjointness ---------------------------------------------------------------------------- */

/* A common element of a and b is a solution of one equation in whole numbers: the difference of the
 * two addresses is 0,
 *
 *     distance + sum over k of stride_k * z_k = 0,     low_k <= z_k <= high_k,
 *
 * where the dimensions of both regions that have the same stride are one z: i of a in
 * [0, extent - 1] and -i of b in [1 - extent, 0] add up. To prove that there is none:
 *
 *   1. Divisors: the strides have a common divisor that does not divide the distance.
 *   2. The distance is spread over the strides, largest first: a part q * stride_k moves
 *      the interval of z_k by q; the remainder becomes a dimension of stride 1.
 *   3. From the outermost dimension inwards: if all values of the remaining sum are above 0, or
 *      all below, there is no solution. Otherwise, if the inner dimensions together stay within
 *      stride_k - 1 of 0, only z_k = 0 is possible, and the next dimension follows.
 *   4. If they stay within 2 * stride_k - 1, z_k is -1, 0 or 1, and each is a smaller equation.
 *
 * An empty region shares nothing, so every extent is taken to be at least 1.
 */
enum { EQUATION_DIMS = 2 * REGION_RANK_MAX + 4, SPLIT_DEPTH = 3 };

struct dim {
    const struct poly *stride, *low, *high;
};

struct equation {
    struct sizes *s;
    unsigned position;
    unsigned assumed_count;
    const struct poly *assumed[2 * REGION_RANK_MAX];
    struct disjoint_proof *proof;
};

static bool because(const struct equation *e, bool proved, const char *rule,
                    const struct poly *stride)
{
    *e->proof = (struct disjoint_proof){rule, stride};
    return proved;
}

static bool proved(const struct equation *e, const struct poly *p)
{
    return p && sizes_nonnegative_given(e->s, p, e->position, e->assumed_count, e->assumed);
}

/* a + factor * b; NULL if that does not fit or an operand is NULL. */
static const struct poly *plus(const struct equation *e, const struct poly *a, int64_t factor,
                               const struct poly *b)
{
    return a && b ? poly_add(&e->s->polys, a, factor, b) : NULL;
}

static const struct poly *times(const struct equation *e, const struct poly *a,
                                const struct poly *b)
{
    return a && b ? poly_multiply(&e->s->polys, a, b) : NULL;
}

static const struct poly *number(const struct equation *e, int64_t value)
{
    return sizes_constant(e->s, value);
}

/* p >= 1, p <= -1 */
static bool above_zero(const struct equation *e, const struct poly *p)
{
    return proved(e, plus(e, p, -1, number(e, 1)));
}
static bool below_zero(const struct equation *e, const struct poly *p)
{
    return proved(e, plus(e, number(e, -1), -1, p));
}

/* ---- the equation of two regions ------------------------------------------------------------- */

/* Adds i * stride for i in [0, last], or its opposite; false if the stride's sign is not known. */
static bool add_dim(struct equation *e, struct dim dims[], unsigned *count,
                    const struct poly *stride, const struct poly *last, bool opposite)
{
    const struct poly *zero = number(e, 0), *minus = plus(e, zero, -1, stride);
    if (!proved(e, stride)) {
        if (!proved(e, minus))
            return because(e, false, "the sign is not known of stride ", stride);
        stride = minus;
        opposite = !opposite;
    }
    unsigned k = 0;
    while (k < *count && dims[k].stride != stride)
        k++;
    if (k == *count)
        dims[(*count)++] = (struct dim){stride, zero, zero};
    if (opposite)
        dims[k].low = plus(e, dims[k].low, -1, last);
    else
        dims[k].high = plus(e, dims[k].high, 1, last);
    return dims[k].low && dims[k].high;
}

static bool add_region(struct equation *e, struct dim dims[], unsigned *count,
                       const struct region *r, bool opposite)
{
    for (unsigned d = 0; d < r->rank; d++) {
        const struct poly *stride = sizes_normal(e->s, r->dim[d].stride, e->position);
        const struct poly *extent = sizes_normal(e->s, r->dim[d].extent, e->position);
        const struct poly *last = plus(e, extent, -1, number(e, 1));
        if (!last)
            return false;
        if (stride->count > 0 && last->count > 0 &&
            !add_dim(e, dims, count, stride, last, opposite))
            return false;
    }
    return true;
}

/* Extents are at least 1; true: one is certainly not. */
static bool assume_not_empty(struct equation *e, const struct region *r)
{
    for (unsigned d = 0; d < r->rank; d++) {
        int64_t value;
        const struct poly *extent = sizes_normal(e->s, r->dim[d].extent, e->position);
        const struct poly *last = plus(e, extent, -1, number(e, 1));
        if (poly_is_constant(extent, &value)) {
            if (value <= 0)
                return true;
        } else if (last) {
            e->assumed[e->assumed_count++] = last;
        }
    }
    return false;
}

/* ---- divisors -------------------------------------------------------------------------------- */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static int64_t divisor_of(const struct poly *p)
{
    int64_t constant = poly_constant_term(p);
    return constant == INT64_MIN ? 1 : common_divisor(poly_content(p), constant);
}

static bool divisors_prove(const struct equation *e, const struct region *a, const struct region *b,
                           const struct poly *distance)
{
    int64_t divisor = poly_content(distance), constant = poly_constant_term(distance);
    for (unsigned d = 0; d < a->rank; d++)
        divisor =
            common_divisor(divisor, divisor_of(sizes_normal(e->s, a->dim[d].stride, e->position)));
    for (unsigned d = 0; d < b->rank; d++)
        divisor =
            common_divisor(divisor, divisor_of(sizes_normal(e->s, b->dim[d].stride, e->position)));
    return divisor == 0 ? constant != 0 : constant % divisor != 0;
}

/* ---- intervals ------------------------------------------------------------------------------- */

static bool comes_before(const struct equation *e, const struct poly *a, const struct poly *b)
{
    unsigned degree_a = a->count ? a->terms[0].degree : 0;
    unsigned degree_b = b->count ? b->terms[0].degree : 0;
    if (degree_a != degree_b)
        return degree_a > degree_b;
    return !proved(e, plus(e, b, -1, a));
}

/* Any order is sound; large strides first proves the most. */
static void sort_dims(const struct equation *e, struct dim dims[], unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = i; k > 0 && comes_before(e, dims[k].stride, dims[k - 1].stride); k--) {
            struct dim other = dims[k];
            dims[k] = dims[k - 1];
            dims[k - 1] = other;
        }
}

/* Step 2; false if something does not fit. `dims` has room for one more. */
static bool spread_distance(const struct equation *e, struct dim dims[], unsigned *count,
                            const struct poly *distance)
{
    for (unsigned k = 0; k < *count && distance; k++) {
        const struct poly *rest;
        const struct poly *q = poly_divide(&e->s->polys, distance, dims[k].stride, &rest);
        if (!q || q->count == 0)
            continue;
        dims[k].low = plus(e, dims[k].low, 1, q);
        dims[k].high = plus(e, dims[k].high, 1, q);
        distance = rest;
        if (!dims[k].low || !dims[k].high)
            return false;
    }
    if (distance->count > 0)
        dims[(*count)++] = (struct dim){number(e, 1), distance, distance};
    return true;
}

static bool no_solution(const struct equation *e, const struct dim outer[], unsigned count,
                        const struct poly *distance, unsigned depth);

/* Step 4 for z_k, where low and high are the ends of the inner sum. */
static bool split_dim(const struct equation *e, const struct dim dims[], unsigned count, unsigned k,
                      const struct poly *low, const struct poly *high, unsigned depth)
{
    const struct poly *stride = dims[k].stride;
    const struct poly *reach = plus(e, plus(e, stride, 1, stride), -1, number(e, 1));
    if (depth == 0 || !proved(e, plus(e, reach, 1, low)) || !proved(e, plus(e, reach, -1, high)))
        return because(e, false, "smaller strides together may reach beyond stride ", stride);
    for (int z = -1; z <= 1; z++) {
        const struct poly *value = number(e, z);
        if (!above_zero(e, plus(e, dims[k].low, -1, value)) &&
            !below_zero(e, plus(e, dims[k].high, -1, value)) &&
            !no_solution(e, dims + k + 1, count - k - 1, times(e, stride, value), depth - 1))
            return false;
    }
    return true;
}

static bool no_solution(const struct equation *e, const struct dim outer[], unsigned count,
                        const struct poly *distance, unsigned depth)
{
    struct dim dims[EQUATION_DIMS];
    const struct poly *low[EQUATION_DIMS + 1], *high[EQUATION_DIMS + 1];
    for (unsigned k = 0; k < count; k++)
        dims[k] = outer[k];
    if (!distance || count == EQUATION_DIMS || !spread_distance(e, dims, &count, distance))
        return because(e, false, "their distance is too long a sum", NULL);
    low[count] = high[count] = number(e, 0); /* ends of the sum of dimensions k and further in */
    for (unsigned k = count; k-- > 0;) {
        low[k] = plus(e, low[k + 1], 1, times(e, dims[k].stride, dims[k].low));
        high[k] = plus(e, high[k + 1], 1, times(e, dims[k].stride, dims[k].high));
    }
    for (unsigned k = 0; k < count; k++) {
        if (above_zero(e, low[k]) || below_zero(e, high[k]))
            return because(e, true, "one ends before the other begins, counted in stride ",
                           dims[k].stride);
        const struct poly *reach = plus(e, dims[k].stride, -1, number(e, 1));
        if (!proved(e, plus(e, reach, 1, low[k + 1])) ||
            !proved(e, plus(e, reach, -1, high[k + 1])))
            return split_dim(e, dims, count, k, low[k + 1], high[k + 1], depth);
    }
    return because(e, false, "they may have an element in common", NULL); /* all z may be 0 */
}

/* ---- the question ---------------------------------------------------------------------------- */

/* The region in bytes, for a comparison with one of another element size. */
static bool in_bytes(struct sizes *s, const struct region *r, struct region *bytes)
{
    const struct poly *size = sizes_constant(s, r->element_bytes);
    if (r->rank == REGION_RANK_MAX)
        return false;
    *bytes = *r;
    bytes->element_bytes = 1;
    bytes->offset = sizes_multiply(s, r->offset, size);
    for (unsigned d = 0; d < r->rank; d++)
        bytes->dim[d].stride = sizes_multiply(s, r->dim[d].stride, size);
    bytes->dim[bytes->rank++] = (struct region_dim){size, sizes_constant(s, 1)};
    return true;
}

bool disjoint_proved(struct sizes *s, const struct region *a, const struct region *b,
                     unsigned position, struct disjoint_proof *proof)
{
    struct region bytes_a, bytes_b;
    struct disjoint_proof own;
    struct equation e = {.s = s, .position = position, .proof = proof ? proof : &own};
    because(&e, false, "where they lie is not known", NULL);
    if (!a->known || !b->known)
        return false;
    if (a->element_bytes != b->element_bytes) {
        if (!in_bytes(s, a, &bytes_a) || !in_bytes(s, b, &bytes_b))
            return false;
        a = &bytes_a;
        b = &bytes_b;
    }
    if (assume_not_empty(&e, a) || assume_not_empty(&e, b))
        return because(&e, true, "one is empty", NULL);
    const struct poly *distance = plus(&e, a->offset, -1, b->offset);
    if (!distance)
        return false;
    distance = sizes_normal(s, distance, position);
    if (divisors_prove(&e, a, b, distance))
        return because(&e, true, "a divisor of all strides does not divide the distance", NULL);
    struct dim dims[EQUATION_DIMS];
    unsigned count = 0;
    if (!add_region(&e, dims, &count, a, false) || !add_region(&e, dims, &count, b, true))
        return false;
    sort_dims(&e, dims, count);
    return no_solution(&e, dims, count, distance, SPLIT_DEPTH);
}
