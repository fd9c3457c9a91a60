#include "merge/pack/pack_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/sort.h"

_Thread_local uint64_t pack_steps;
_Thread_local bool pack_counts_steps;

uint64_t pack_now(void)
{
    return pack_counts_steps ? pack_steps : clock_ns();
}

static int verify_life(const struct pack_buffer *buffer, size_t number, struct error *error)
{
    for (size_t i = 0; i < pack_interval_count(buffer); i++) {
        const struct pack_interval life = pack_interval_at(buffer, i);
        if (life.upper < life.lower)
            return error_set(error, ERR_USAGE,
                             "buffer %zu: its life ends at %lld, before it starts at %lld", number,
                             (long long)life.upper, (long long)life.lower);
        if (i > 0 && life.lower < pack_interval_at(buffer, i - 1).upper)
            return error_set(error, ERR_USAGE,
                             "buffer %zu: the interval from %lld starts before the one in front of "
                             "it ends; expected disjoint ones in ascending order",
                             number, (long long)life.lower);
    }
    return 0;
}

int pack_verify(const struct pack_buffer *buffers, size_t count, struct error *error)
{
    int64_t sum = 0;
    if (count > UINT32_MAX / 4)
        return error_set(error, ERR_USAGE, "%zu buffers are too many; the most is %u", count,
                         UINT32_MAX / 4);
    for (size_t i = 0; i < count; i++) {
        const struct pack_buffer *b = &buffers[i];
        if (b->size < 0 || b->alignment < 0)
            return error_set(error, ERR_USAGE,
                             "buffer %zu: size %lld, alignment %lld; expected neither negative", i,
                             (long long)b->size, (long long)b->alignment);
        if (b->size > PACK_HEIGHT_MOST || b->alignment > PACK_HEIGHT_MOST ||
            sum + b->size > PACK_HEIGHT_MOST - b->alignment)
            return error_set(error, ERR_USAGE,
                             "buffer %zu: sizes and alignments up to here add up to more than %lld",
                             i, (long long)PACK_HEIGHT_MOST);
        sum += b->size + b->alignment;
        TRY(verify_life(b, i, error));
    }
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct pack_event *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->is_start != b->is_start)
        return a->is_start - b->is_start;
    return a->life < b->life ? -1 : a->life > b->life;
}

static size_t count_intervals(const struct pack_buffer *buffers, size_t count)
{
    size_t intervals = 0;
    for (size_t i = 0; i < count; i++)
        intervals += pack_interval_count(&buffers[i]);
    return intervals;
}

size_t pack_events(const struct pack_buffer *buffers, size_t count, struct pack_event **events)
{
    unsigned lives = 0;
    *events = must_alloc((2 * count_intervals(buffers, count) + 1) * sizeof **events);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; buffers[i].size && k < pack_interval_count(&buffers[i]); k++) {
            const struct pack_interval life = pack_interval_at(&buffers[i], k);
            if (life.lower == life.upper)
                continue;
            (*events)[2 * lives] = (struct pack_event){life.lower, true, lives, i};
            (*events)[2 * lives + 1] = (struct pack_event){life.upper, false, lives, i};
            lives++;
        }
    qsort(*events, 2 * (size_t)lives, sizeof **events, by_time);
    return 2 * (size_t)lives;
}

ORDER_BY_BOTH(by_hull, struct pack_item, hull.first, source)

/* Adds an item for each buffer that takes room, with a range for each of its lives. */
static void add_items(struct pack_model *model, const struct pack_buffer *buffers, size_t count)
{
    model->items = must_alloc((count + 1) * sizeof *model->items);
    model->ranges = must_alloc((count_intervals(buffers, count) + 1) * sizeof *model->ranges);
    const struct pack_range *ranges = model->ranges;
    for (size_t i = 0; i < count; i++) {
        struct pack_item item = {.size = buffers[i].size,
                                 .alignment = buffers[i].alignment ? buffers[i].alignment : 1,
                                 .ranges = ranges,
                                 .source = i};
        for (size_t k = 0; item.size && k < pack_interval_count(&buffers[i]); k++) {
            const struct pack_interval life = pack_interval_at(&buffers[i], k);
            item.range_count += life.lower != life.upper;
            item.duration += (double)life.upper - (double)life.lower;
        }
        ranges += item.range_count;
        if (item.range_count)
            model->items[model->count++] = item;
    }
}

/* A section is complete when the first of its members ends. */
static void number_sections(struct pack_model *model, const struct pack_buffer *buffers,
                            size_t count)
{
    struct pack_event *events;
    const size_t event_count = pack_events(buffers, count, &events);
    bool grew = false;
    for (size_t i = 0; i < event_count; i++) {
        struct pack_range *range = &model->ranges[events[i].life];
        if (events[i].is_start) {
            range->first = model->section_count;
            grew = true;
            continue;
        }
        model->section_count += grew;
        grew = false;
        range->end = model->section_count;
    }
    free(events);
}

static void round_sizes(struct pack_model *model)
{
    int64_t divisor = 0;
    for (unsigned i = 0; i < model->count; i++)
        for (int64_t a = model->items[i].alignment; a;) {
            int64_t rest = divisor % a; /* Euclid: the first 0 % a is 0 and gives a */
            divisor = a;
            a = rest;
        }
    for (unsigned i = 0; i < model->count; i++) {
        struct pack_item *item = &model->items[i];
        item->pad = pack_align(item->size, divisor) - item->size;
        item->size += item->pad;
    }
}

void pack_model_build(struct pack_model *model, const struct pack_buffer *buffers, size_t count)
{
    *model = (struct pack_model){0};
    add_items(model, buffers, count);
    number_sections(model, buffers, count);
    for (unsigned i = 0; i < model->count; i++) {
        struct pack_item *item = &model->items[i];
        item->hull.first = item->ranges[0].first;
        item->hull.end = item->ranges[item->range_count - 1].end;
    }
    qsort(model->items, model->count, sizeof *model->items, by_hull);
    round_sizes(model);
}

void pack_model_free(struct pack_model *model)
{
    free(model->items);
    free(model->ranges);
    *model = (struct pack_model){0};
}

unsigned pack_section_count(const struct pack_item *items, unsigned count)
{
    unsigned sections = 0;
    for (unsigned i = 0; i < count; i++)
        sections = items[i].hull.end > sections ? items[i].hull.end : sections;
    return sections;
}

struct padded {
    int64_t pad;
    unsigned item;
};

ORDER_FROM_MOST(by_pad, struct padded, pad, item)

/* The first section from `s` on that has no pad yet; makes the chain shorter. */
static unsigned next_unpadded(unsigned *next, unsigned s)
{
    while (next[s] != s) {
        next[s] = next[next[s]];
        s = next[s];
    }
    return s;
}

/* The largest pads first, so that each section is written once. */
static void spread_pads(const struct pack_item *items, unsigned count, unsigned sections,
                        int64_t *pad)
{
    struct padded *padded = must_alloc((count + 1) * sizeof *padded);
    unsigned *next = must_alloc((sections + 1) * sizeof *next), padded_count = 0;
    for (unsigned i = 0; i < count; i++)
        if (items[i].pad)
            padded[padded_count++] = (struct padded){items[i].pad, i};
    qsort(padded, padded_count, sizeof *padded, by_pad);
    for (unsigned s = 0; s <= sections; s++)
        next[s] = s;
    for (unsigned i = 0; i < padded_count; i++) {
        const struct pack_item *item = &items[padded[i].item];
        for (unsigned r = 0; r < item->range_count; r++)
            for (unsigned s = next_unpadded(next, item->ranges[r].first); s < item->ranges[r].end;
                 s = next_unpadded(next, s)) {
                pad[s] = item->pad;
                next[s] = s + 1;
            }
    }
    free(padded);
    free(next);
}

void pack_section_loads(const struct pack_item *items, unsigned count, int64_t *total, int64_t *pad)
{
    const unsigned sections = pack_section_count(items, count);
    memset(total, 0, sections * sizeof *total);
    memset(pad, 0, sections * sizeof *pad);
    for (unsigned i = 0; i < count; i++)
        for (unsigned r = 0; r < items[i].range_count; r++) {
            total[items[i].ranges[r].first] += items[i].size;
            if (items[i].ranges[r].end < sections)
                total[items[i].ranges[r].end] -= items[i].size;
        }
    for (unsigned s = 1; s < sections; s++)
        total[s] += total[s - 1];
    spread_pads(items, count, sections, pad);
}

int64_t pack_load_bound(const struct pack_item *items, unsigned count, unsigned *peak)
{
    const unsigned sections = pack_section_count(items, count);
    int64_t *total = must_alloc((sections + 1) * sizeof *total);
    int64_t *pad = must_alloc((sections + 1) * sizeof *pad);
    pack_section_loads(items, count, total, pad);
    int64_t highest = 0;
    for (unsigned s = 0; s < sections; s++) {
        if (peak && total[s] - pad[s] > highest)
            *peak = s;
        highest = pack_max(highest, total[s] - pad[s]);
    }
    free(total);
    free(pad);
    return highest;
}

int64_t pack_clique_bound(const struct pack_item *items, unsigned count)
{
    unsigned *order = must_alloc((count + 1) * sizeof *order);
    const struct pack_item **clique = must_alloc((count + 1) * sizeof *clique);
    unsigned members = 0;
    int64_t sum = 0, pad = 0;
    pack_order_fill(items, count, PACK_SIZE, order);
    for (unsigned i = 0; i < count; i++) {
        const struct pack_item *item = &items[order[i]];
        unsigned met = 0;
        while (met < members && pack_items_meet(item, clique[met]))
            met++;
        if (met < members)
            continue;
        clique[members++] = item;
        sum += item->size;
        pad = pack_max(pad, item->pad);
    }
    free(order);
    free(clique);
    return sum - pad;
}

int64_t pack_height(const struct pack_item *items, unsigned count, const int64_t *offset)
{
    int64_t height = 0;
    for (unsigned i = 0; i < count; i++)
        height = pack_max(height, offset[i] + items[i].size - items[i].pad);
    return height;
}

bool pack_items_meet(const struct pack_item *a, const struct pack_item *b)
{
    for (unsigned i = 0, k = 0; i < a->range_count && k < b->range_count;) {
        if (a->ranges[i].end <= b->ranges[k].first)
            i++;
        else if (b->ranges[k].end <= a->ranges[i].first)
            k++;
        else
            return true;
    }
    return false;
}

/* ---- greedy orders: by size, duration, area (their product) or time; an item goes into the lowest
 * gap that is large enough, or into the smallest one. None is best everywhere. pack_planners.c has
 * the orders of other projects. ---- */

/* The logarithm of the factor from one class of sizes to the next. */
static const double CLASS_STEP = 0.3;

struct keyed {
    double first, second;
    unsigned item;
};

/* Both keys from large to small, then the order of the items. */
static int by_keys(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    if (a->first != b->first)
        return a->first > b->first ? -1 : 1;
    if (a->second != b->second)
        return a->second > b->second ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

void pack_order_fill(const struct pack_item *items, unsigned count, enum pack_order order,
                     unsigned *out)
{
    struct keyed *keyed = must_alloc((count + 1) * sizeof *keyed);
    for (unsigned i = 0; i < count; i++) {
        const double size = (double)items[i].size, duration = items[i].duration;
        const struct keyed keys[] = {
            [PACK_SIZE] = {size, duration, i},
            [PACK_DURATION] = {duration, size, i},
            [PACK_AREA] = {size * duration, size, i},
            [PACK_TIME] = {-(double)items[i].hull.first, size, i},
            [PACK_END] = {-(double)items[i].hull.end, size, i},
            [PACK_CLASS] = {floor(log(size) / CLASS_STEP), -(double)items[i].hull.first, i},
        };
        keyed[i] = keys[order];
    }
    qsort(keyed, count, sizeof *keyed, by_keys);
    for (unsigned i = 0; i < count; i++)
        out[i] = keyed[i].item;
    free(keyed);
}

static const char *const order_names[][PACK_GAP_COUNT] = {
    [PACK_SIZE] = {"size, first gap", "size, best gap"},
    [PACK_DURATION] = {"duration, first gap", "duration, best gap"},
    [PACK_AREA] = {"area, first gap", "area, best gap"},
    [PACK_TIME] = {"time, first gap", "time, best gap"},
    [PACK_CLASS] = {"class of size, first gap", "class of size, best gap"},
};

const char *pack_greedy_name(enum pack_order order, enum pack_gap gap)
{
    return order_names[order][gap];
}
