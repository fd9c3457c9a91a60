#include "run/execute/executor.h"

int64_t layout_count(const struct layout *l)
{
    int64_t count = 1;
    for (unsigned d = 0; d < l->rank; d++)
        count *= l->shape[d];
    return count;
}

bool layout_same_shape(const struct layout *a, const struct layout *b)
{
    bool same = a->rank == b->rank;
    for (unsigned d = 0; d < a->rank && same; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

void layout_range(const struct layout *l, int64_t *first, int64_t *last)
{
    *first = *last = l->offset;
    for (unsigned d = 0; d < l->rank; d++) {
        int64_t reach = (l->shape[d] - 1) * l->stride[d];
        if (reach < 0)
            *first += reach;
        else
            *last += reach;
    }
}

/* Leaves out dimensions of one element, and joins two if the outer continues the inner. */
static struct layout normalise(const struct layout *l)
{
    struct layout n = {.offset = l->offset};
    for (unsigned d = 0; d < l->rank; d++) {
        if (l->shape[d] == 1)
            continue;
        if (n.rank && n.stride[n.rank - 1] == l->shape[d] * l->stride[d]) {
            n.shape[n.rank - 1] *= l->shape[d];
            n.stride[n.rank - 1] = l->stride[d];
        } else {
            n.shape[n.rank] = l->shape[d];
            n.stride[n.rank++] = l->stride[d];
        }
    }
    return n;
}

bool layout_contiguous(const struct layout *l)
{
    struct layout n = normalise(l);
    return n.rank == 0 || (n.rank == 1 && n.stride[0] == 1);
}

bool layout_equal(const struct layout *a, const struct layout *b)
{
    struct layout x = normalise(a), y = normalise(b);
    if (x.rank != y.rank || x.offset != y.offset)
        return false;
    for (unsigned d = 0; d < x.rank; d++)
        if (x.shape[d] != y.shape[d] || x.stride[d] != y.stride[d])
            return false;
    return true;
}

bool layout_matches(const struct layout *a, const struct layout *b)
{
    return layout_same_shape(a, b) && (layout_count(a) == 0 || layout_equal(a, b));
}

/* ---- overlap -------------------------------------------------------------------------------- */

/* The two share an element iff sum(term.stride * t) = target has a solution with each t within its
 * bounds: a stride of a with t >= 0, of b with t <= 0, of both with either sign. */
struct term {
    int64_t stride, least, most;
};

static unsigned add_term(struct term *terms, unsigned count, int64_t stride, int64_t least,
                         int64_t most)
{
    if (stride < 0) {
        int64_t swap = -least;
        stride = -stride;
        least = -most;
        most = swap;
    }
    if (stride == 0)
        return count;
    unsigned i = 0;
    while (i < count && terms[i].stride > stride)
        i++;
    if (i < count && terms[i].stride == stride) {
        terms[i].least += least;
        terms[i].most += most;
        return count;
    }
    for (unsigned j = count; j > i; j--)
        terms[j] = terms[j - 1];
    terms[i] = (struct term){stride, least, most};
    return count + 1;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && a < 0);
}

/* Takes the largest stride first: the reach of the smaller ones leaves few values for it. */
static bool reachable(const struct term *terms, unsigned count, int64_t target, unsigned *budget)
{
    if (count == 0)
        return target == 0;
    if (*budget == 0)
        return true;
    (*budget)--;
    int64_t low = 0, high = 0;
    for (unsigned i = 1; i < count; i++) {
        low += terms[i].stride * terms[i].least;
        high += terms[i].stride * terms[i].most;
    }
    int64_t stride = terms[0].stride;
    int64_t from = -floor_div(-(target - high), stride), to = floor_div(target - low, stride);
    if (from < terms[0].least)
        from = terms[0].least;
    if (to > terms[0].most)
        to = terms[0].most;
    for (int64_t t = from; t <= to; t++)
        if (reachable(terms + 1, count - 1, target - t * stride, budget))
            return true;
    return false;
}

bool layout_overlap(const struct layout *a, const struct layout *b)
{
    if (layout_count(a) == 0 || layout_count(b) == 0)
        return false;
    int64_t a_first, a_last, b_first, b_last;
    layout_range(a, &a_first, &a_last);
    layout_range(b, &b_first, &b_last);
    if (a_last < b_first || b_last < a_first)
        return false;
    struct term terms[2 * RANK_MAX];
    unsigned count = 0;
    for (unsigned d = 0; d < a->rank; d++)
        count = add_term(terms, count, a->stride[d], 0, a->shape[d] - 1);
    for (unsigned d = 0; d < b->rank; d++)
        count = add_term(terms, count, b->stride[d], 1 - b->shape[d], 0);
    unsigned budget = 100000;
    return reachable(terms, count, b->offset - a->offset, &budget);
}

bool layout_overlaps_itself(const struct layout *l)
{
    struct term terms[RANK_MAX];
    unsigned count = 0, dims = 0;
    for (unsigned d = 0; d < l->rank; d++) {
        dims += l->shape[d] > 1;
        if (l->shape[d] > 1)
            count = add_term(terms, count, l->stride[d], 0, l->shape[d] - 1);
    }
    int64_t reach = 0;
    bool apart = count == dims; /* no stride is 0, no two are the same */
    for (unsigned i = count; i-- > 0; reach += terms[i].stride * (terms[i].most - terms[i].least))
        apart &= terms[i].stride > reach;
    return !apart && layout_count(l) > 0;
}
