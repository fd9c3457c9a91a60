#include "alloc/planned/byte_ranges.h"

void byte_ranges_open(struct byte_ranges *r)
{
    *r = (struct byte_ranges){.ranges.item_bytes = sizeof(struct byte_range),
                              .nodes.item_bytes = sizeof(struct index_node)};
    r->by_end.nodes = r->by_size.nodes = &r->nodes;
}

void byte_ranges_clear(struct byte_ranges *r)
{
    slab_free(&r->ranges);
    slab_free(&r->nodes);
    byte_ranges_open(r);
}

/* Ranges do not overlap, so the order of their ends is that of their beginnings, too. */
static struct index_key end_key(const struct byte_range *range)
{
    return (struct index_key){range->end, 0};
}

static struct index_key size_key(const struct byte_range *range)
{
    return (struct index_key){range->end - range->begin, range->begin};
}

struct byte_range *byte_ranges_from(const struct byte_ranges *r, uint64_t end)
{
    return index_from(&r->by_end, (struct index_key){end, 0});
}

static void put(struct byte_ranges *r, uint64_t begin, uint64_t end)
{
    struct byte_range *range = slab_take(&r->ranges);
    *range = (struct byte_range){begin, end};
    index_put(&r->by_end, end_key(range), range);
    index_put(&r->by_size, size_key(range), range);
    r->bytes += end - begin;
}

static void take_out(struct byte_ranges *r, struct byte_range *range)
{
    index_take(&r->by_end, end_key(range));
    index_take(&r->by_size, size_key(range));
    r->bytes -= range->end - range->begin;
    slab_give(&r->ranges, range);
}

/* By its end the range stays where it is. */
static void move_begin(struct byte_ranges *r, struct byte_range *range, uint64_t begin)
{
    index_take(&r->by_size, size_key(range));
    r->bytes += range->begin - begin;
    range->begin = begin;
    index_put(&r->by_size, size_key(range), range);
}

void byte_ranges_add(struct byte_ranges *r, uint64_t begin, uint64_t end)
{
    struct byte_range *before = byte_ranges_from(r, begin), *after = before;
    if (before && before->end == begin) {
        after = index_after(&r->by_end, end_key(before));
        begin = before->begin;
        take_out(r, before);
    }
    if (after && after->begin == end)
        move_begin(r, after, begin);
    else
        put(r, begin, end);
}

void byte_ranges_remove(struct byte_ranges *r, uint64_t begin, uint64_t end)
{
    struct byte_range *range = byte_ranges_from(r, end);
    const uint64_t first = range->begin;
    if (end < range->end)
        move_begin(r, range, end);
    else
        take_out(r, range);
    if (first < begin)
        put(r, first, begin);
}

bool byte_ranges_have(const struct byte_ranges *r, uint64_t begin, uint64_t end)
{
    const struct byte_range *range = byte_ranges_from(r, end);
    return range && range->begin <= begin;
}

bool byte_ranges_touch(const struct byte_ranges *r, uint64_t begin, uint64_t end)
{
    const struct byte_range *range = byte_ranges_from(r, begin + 1);
    return range && range->begin < end;
}

const struct byte_range *byte_ranges_best(const struct byte_ranges *r, uint64_t bytes)
{
    return index_from(&r->by_size, (struct index_key){bytes, 0});
}

const struct byte_range *byte_ranges_next(const struct byte_ranges *r, const struct byte_range *one)
{
    return index_after(&r->by_size, size_key(one));
}

unsigned byte_ranges_check(const struct byte_ranges *r)
{
    uint64_t ends, sizes, count = 0, bytes = 0, last = 0;
    unsigned broken = index_check(&r->by_end, &ends) + index_check(&r->by_size, &sizes);
    for (const struct byte_range *range = index_first(&r->by_end); range;
         range = index_after(&r->by_end, end_key(range))) {
        broken += range->begin >= range->end || (count > 0 && range->begin <= last);
        broken += index_from(&r->by_size, size_key(range)) != range;
        last = range->end;
        bytes += range->end - range->begin;
        count++;
    }
    return broken + (ends != count) + (sizes != count) + (bytes != r->bytes);
}
