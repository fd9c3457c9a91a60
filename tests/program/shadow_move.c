/* Statements that make, move and view arrays. A part of an array is two affine maps of the part's
 * own shape: where its elements lie in the block, and which elements of the whole they are. */
#include <string.h>

#include "tests/program/shadow_machine.h"

struct part {
    struct shadow_array at; /* elements of the block */
    struct shadow_array of; /* row-major numbers of the whole */
};

static struct part whole(const struct shadow_array *a)
{
    struct part p = {*a, *a};
    int64_t stride = 1;
    p.of.offset = 0;
    for (unsigned d = a->rank; d-- > 0; stride *= a->shape[d])
        p.of.stride[d] = stride;
    return p;
}

static void put_dimension(struct part *to, const struct part *from, unsigned d, int64_t length,
                          int64_t step)
{
    unsigned r = to->at.rank++;
    to->of.rank = to->at.rank;
    to->at.shape[r] = to->of.shape[r] = length;
    to->at.stride[r] = step * from->at.stride[d];
    to->of.stride[r] = step * from->of.stride[d];
    to->at.count *= length;
    to->of.count = to->at.count;
}

static struct part empty_part(const struct part *of)
{
    struct part p = {{.block = of->at.block, .offset = of->at.offset, .count = 1},
                     {.offset = of->of.offset, .count = 1}};
    return p;
}

static int slice(struct machine *m, const struct stm *s, const struct part *from, struct part *to)
{
    *to = empty_part(from);
    const bool flat = s->slice_rank > from->at.rank;
    int64_t least = 0, most = 0; /* the elements that the dimensions up to this one reach */
    for (unsigned d = 0; d < s->slice_rank; d++) {
        const struct slice_dim *dim = &s->slice[d];
        const unsigned of = flat ? 0 : d;
        int64_t start = 0, length = dim->fixed ? 1 : from->at.shape[of], step = 1;
        if (dim->start)
            TRY(shadow_size(m, dim->start, &start));
        if (dim->length)
            TRY(shadow_size(m, dim->length, &length));
        if (dim->step)
            TRY(shadow_size(m, dim->step, &step));
        int64_t reach = (length - 1) * step, size = from->at.shape[of];
        if (d == of)
            least = most = start;
        *(reach < 0 ? &least : &most) += reach;
        if (length < 0 || (length > 0 && (least < 0 || most >= size)))
            return shadow_fail(m, s->at,
                               "dimension %u has %lld elements; %lld from %lld do not fit", d,
                               (long long)size, (long long)length, (long long)start);
        if (length > 0) {
            to->at.offset += start * from->at.stride[of];
            to->of.offset += start * from->of.stride[of];
        }
        if (!dim->fixed)
            put_dimension(to, from, of, length, step);
    }
    return 0;
}

static bool same_shape(const struct shadow_array *a, const struct shadow_array *b)
{
    bool same = a->rank == b->rank;
    for (unsigned d = 0; d < a->rank && same; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

static int check_shape(struct machine *m, const struct stm *s, const struct shadow_array *a,
                       const struct shadow_array *b)
{
    return same_shape(a, b) ? 0 : shadow_fail(m, s->at, "the shapes differ");
}

/* ---- views ---------------------------------------------------------------------------------- */

int shadow_view(struct machine *m, const struct stm *s)
{
    int name = s->outs[0];
    TRY(shadow_bind(m, name));
    struct shadow_array *out = &m->arrays[name];
    struct part from = whole(&m->arrays[s->array]), view = from;
    if (s->kind == STM_SLICE)
        TRY(slice(m, s, &from, &view));
    if (s->kind == STM_REARRANGE) {
        view = empty_part(&from);
        for (unsigned d = 0; d < from.at.rank; d++)
            put_dimension(&view, &from, s->permutation[d], from.at.shape[s->permutation[d]], 1);
    }
    if (s->kind != STM_RESHAPE)
        TRY(check_shape(m, s, out, &view.at));
    else if (out->count != view.at.count)
        return shadow_fail(m, s->at, "a reshape of %lld elements to %lld", (long long)view.at.count,
                           (long long)out->count);
    shadow_same_place(m, name, out, &view.at, "what it is a view of");
    out->ids = shadow_ids(m, out->count);
    for (int64_t i = 0; i < out->count; i++)
        out->ids[i] = m->arrays[s->array].ids[shadow_element(&view.of, i)];
    return 0;
}

/* ---- copies --------------------------------------------------------------------------------- */

/* Do the two share elements of their block, and if so, are they the same in the same order? */
static bool overlap(struct machine *m, const struct shadow_array *to,
                    const struct shadow_array *from, int64_t block_elements, bool *same)
{
    *same = to->block == from->block;
    for (int64_t i = 0; i < to->count && *same; i++)
        *same = shadow_element(to, i) == shadow_element(from, i);
    if (to->block != from->block)
        return false;
    bool *used = arena_alloc(&m->arena, (size_t)block_elements * sizeof *used);
    for (int64_t i = 0; i < to->count; i++) {
        int64_t element = shadow_element(from, i);
        if (element >= 0 && element < block_elements)
            used[element] = true;
    }
    for (int64_t i = 0; i < to->count; i++) {
        int64_t element = shadow_element(to, i);
        if (element >= 0 && element < block_elements && used[element])
            return true;
    }
    return false;
}

/* Copies an array into a part of `out`, whose ids are its own. */
static void copy(struct machine *m, int out, const struct part *to, int source)
{
    const struct shadow_array *from = &m->arrays[source];
    uint64_t each = element_bytes(m->fun->names[out].element);
    uint64_t bytes = (uint64_t)from->count * each;
    if (bytes == 0)
        return;
    bool same;
    bool overlaps = overlap(m, &to->at, from, m->blocks[to->at.block].size / (int64_t)each, &same);
    for (int64_t i = 0; i < from->count; i++) {
        if (from->ids[i])
            shadow_compare(m, source, i, shadow_element(from, i));
        m->arrays[out].ids[shadow_element(&to->of, i)] = from->ids[i];
    }
    *(same ? &m->out->elided_count : &m->out->copy_count) += 1;
    *(same ? &m->out->elided_bytes : &m->out->copy_bytes) += bytes;
    if (same)
        return;
    if (overlaps)
        shadow_violate(m, SHADOW_OVERLAP, out, "from '%s' to '%s' in block '%s'",
                       m->fun->names[source].text, m->fun->names[out].text,
                       m->fun->names[m->blocks[from->block].name].text);
    m->launch++;
    const uint32_t *order = shadow_order(m, from->count);
    for (int64_t i = 0; i < from->count; i++) {
        uint32_t *to_ids, *from_ids;
        unsigned char *a = shadow_bytes(m, out, shadow_element(&to->at, order[i]), &to_ids);
        unsigned char *b = shadow_bytes(m, source, shadow_element(from, order[i]), &from_ids);
        if (!a || !b)
            continue;
        memmove(a, b, each);
        memmove(to_ids, from_ids, each * sizeof *to_ids);
    }
}

int shadow_copy(struct machine *m, const struct stm *s)
{
    int out = s->outs[0];
    TRY(shadow_bind(m, out));
    m->arrays[out].ids = shadow_ids(m, m->arrays[out].count);
    struct part to = whole(&m->arrays[out]);
    TRY(check_shape(m, s, &to.at, &m->arrays[s->array]));
    copy(m, out, &to, s->array);
    return 0;
}

int shadow_concat(struct machine *m, const struct stm *s)
{
    int out = s->outs[0];
    TRY(shadow_bind(m, out));
    m->arrays[out].ids = shadow_ids(m, m->arrays[out].count);
    struct part all = whole(&m->arrays[out]);
    int64_t outer = 0;
    for (unsigned i = 0; i < s->piece_count; i++) {
        const struct shadow_array *piece = &m->arrays[s->pieces[i].array];
        struct part to = empty_part(&all);
        to.at.offset += outer * all.at.stride[0];
        to.of.offset += outer * all.of.stride[0];
        for (unsigned d = 0; d < all.at.rank; d++)
            put_dimension(&to, &all, d, d ? all.at.shape[d] : piece->shape[0], 1);
        outer += piece->shape[0];
        if (outer > all.at.shape[0])
            break;
        TRY(check_shape(m, s, &to.at, piece));
        copy(m, out, &to, s->pieces[i].array);
    }
    if (outer != all.at.shape[0])
        return shadow_fail(m, s->at, "the pieces have %lld rows, the result %lld", (long long)outer,
                           (long long)all.at.shape[0]);
    return 0;
}

/* ---- values --------------------------------------------------------------------------------- */

static int fill(struct machine *m, const struct stm *s, const struct part *to)
{
    union scalar value;
    TRY(shadow_evaluate(m, s->expr, &value));
    for (int64_t i = 0; i < to->at.count; i++)
        shadow_write(m, s->outs[0], shadow_element(&to->of, i), shadow_element(&to->at, i), &value,
                     shadow_new_write(m, s->outs[0]));
    return 0;
}

/* The array again and again: a copy into each part of the result that has its shape. */
static int repeat(struct machine *m, const struct stm *s, const struct part *all)
{
    const struct shadow_array *one = &m->arrays[s->array];
    const uint64_t copies = m->out->copy_count, bytes = m->out->copy_bytes;
    const unsigned times = all->at.rank - one->rank;
    int64_t count = 1;
    for (unsigned d = 0; d < times; d++)
        count *= all->at.shape[d];
    for (int64_t i = 0; i < count; i++) {
        struct part to = empty_part(all);
        int64_t rest = i;
        for (unsigned d = times; d-- > 0; rest /= all->at.shape[d]) {
            to.at.offset += rest % all->at.shape[d] * all->at.stride[d];
            to.of.offset += rest % all->at.shape[d] * all->of.stride[d];
        }
        for (unsigned d = times; d < all->at.rank; d++)
            put_dimension(&to, all, d, all->at.shape[d], 1);
        TRY(check_shape(m, s, &to.at, one));
        copy(m, s->outs[0], &to, s->array);
    }
    m->out->copy_count = copies; /* it is none of the copies that merging can elide */
    m->out->copy_bytes = bytes;
    return 0;
}

int shadow_fresh(struct machine *m, const struct stm *s)
{
    int out = s->outs[0];
    TRY(shadow_bind(m, out));
    m->arrays[out].ids = shadow_ids(m, m->arrays[out].count);
    struct part all = whole(&m->arrays[out]);
    if (s->kind == STM_REPLICATE && s->expr)
        return fill(m, s, &all);
    if (s->kind == STM_REPLICATE)
        return repeat(m, s, &all);
    for (int64_t i = 0; i < all.at.count && s->kind == STM_IOTA; i++) {
        union scalar value =
            scalar_convert((union scalar){.i64 = i}, ELEMENT_i64, m->fun->names[out].element);
        shadow_write(m, out, i, shadow_element(&all.at, i), &value, shadow_new_write(m, out));
    }
    return 0;
}

int shadow_update(struct machine *m, const struct stm *s)
{
    int out = s->outs[0];
    TRY(shadow_bind(m, out));
    struct shadow_array *to = &m->arrays[out];
    const struct shadow_array *from = &m->arrays[s->array];
    TRY(check_shape(m, s, to, from));
    shadow_same_place(m, out, to, from, "what it updates");
    to->ids = shadow_ids(m, to->count);
    if (to->count)
        memcpy(to->ids, from->ids, (size_t)to->count * sizeof *to->ids);
    struct part all = whole(to), part;
    TRY(slice(m, s, &all, &part));
    if (s->value == NO_NAME)
        return fill(m, s, &part);
    TRY(check_shape(m, s, &part.at, &m->arrays[s->value]));
    copy(m, out, &part, s->value);
    return 0;
}

int shadow_element_read(struct machine *m, const struct stm *s)
{
    struct part all = whole(&m->arrays[s->array]), part;
    TRY(slice(m, s, &all, &part));
    m->values[s->outs[0]] = (union scalar){.i64 = 0};
    shadow_read(m, s->array, part.of.offset, part.at.offset, &m->values[s->outs[0]]);
    return 0;
}
