#include "merge/pack/pack_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"

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
        int code = verify_life(b, i, error);
        if (code)
            return code;
    }
    return 0;
}

struct event {
    int64_t time;
    bool is_start;
    unsigned item, range;
};

/* In time order. At one time ends precede starts, because a life excludes its upper end. */
static int by_time(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->is_start != b->is_start)
        return a->is_start - b->is_start;
    return a->range < b->range ? -1 : a->range > b->range;
}

static int by_hull(const void *left, const void *right)
{
    const struct pack_item *a = left, *b = right;
    if (a->hull.first != b->hull.first)
        return a->hull.first < b->hull.first ? -1 : 1;
    return a->source < b->source ? -1 : a->source > b->source;
}

/* Adds an item for each buffer that takes room; returns the events of their lives. */
static struct event *collect_events(struct pack_model *model, const struct pack_buffer *buffers,
                                    size_t count, size_t *event_count)
{
    size_t intervals = 0;
    for (size_t i = 0; i < count; i++)
        intervals += pack_interval_count(&buffers[i]);
    model->items = must_alloc((count + 1) * sizeof *model->items);
    model->ranges = must_alloc((intervals + 1) * sizeof *model->ranges);
    struct event *events = must_alloc((2 * intervals + 1) * sizeof *events);
    unsigned ranges = 0;
    for (size_t i = 0; i < count; i++) {
        struct pack_item item = {.size = buffers[i].size,
                                 .alignment = buffers[i].alignment ? buffers[i].alignment : 1,
                                 .ranges = &model->ranges[ranges],
                                 .source = i};
        for (size_t k = 0; item.size && k < pack_interval_count(&buffers[i]); k++) {
            struct pack_interval life = pack_interval_at(&buffers[i], k);
            if (life.lower == life.upper)
                continue;
            item.range_count++;
            item.duration += (double)life.upper - (double)life.lower;
            events[2 * ranges] = (struct event){life.lower, true, model->count, ranges};
            events[2 * ranges + 1] = (struct event){life.upper, false, model->count, ranges};
            ranges++;
        }
        if (item.range_count)
            model->items[model->count++] = item;
    }
    *event_count = 2 * (size_t)ranges;
    return events;
}

/* A section is complete when the first of its members ends. */
static void number_sections(struct pack_model *model, struct event *events, size_t event_count)
{
    qsort(events, event_count, sizeof *events, by_time);
    bool grew = false;
    for (size_t i = 0; i < event_count; i++) {
        struct pack_range *range = &model->ranges[events[i].range];
        if (events[i].is_start) {
            range->first = model->section_count;
            grew = true;
            continue;
        }
        model->section_count += grew;
        grew = false;
        range->end = model->section_count;
    }
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
    size_t event_count;
    struct event *events = collect_events(model, buffers, count, &event_count);
    number_sections(model, events, event_count);
    free(events);
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

void pack_section_loads(const struct pack_item *items, unsigned count, int64_t *total, int64_t *pad)
{
    const unsigned sections = pack_section_count(items, count);
    memset(total, 0, sections * sizeof *total);
    memset(pad, 0, sections * sizeof *pad);
    for (unsigned i = 0; i < count; i++)
        for (unsigned r = 0; r < items[i].range_count; r++)
            for (unsigned s = items[i].ranges[r].first; s < items[i].ranges[r].end; s++) {
                total[s] += items[i].size;
                pad[s] = pack_max(pad[s], items[i].pad);
            }
}

int64_t pack_load_bound(const struct pack_item *items, unsigned count)
{
    const unsigned sections = pack_section_count(items, count);
    int64_t *total = must_alloc((sections + 1) * sizeof *total);
    int64_t *pad = must_alloc((sections + 1) * sizeof *pad);
    pack_section_loads(items, count, total, pad);
    int64_t highest = 0;
    for (unsigned s = 0; s < sections; s++)
        highest = pack_max(highest, total[s] - pad[s]);
    free(total);
    free(pad);
    return highest;
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

/* ---- greedy orders --------------------------------------------------------------------------- */

/* Greedy offset planning: sort, then put each buffer into a gap between those already placed.
 *
 * By size, duration, area (their product) or time; into the lowest gap that is large enough or the
 * smallest one. Size with the best gap is XLA's heap simulator; size with the first gap is
 * TensorFlow Lite Micro's planner; planners that walk the graph once use time order. None is best
 * everywhere. All are cheap: O(n^2) with two compares a step.
 */
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
        const struct keyed keys[PACK_ORDER_COUNT] = {
            [PACK_SIZE] = {size, duration, i},
            [PACK_DURATION] = {duration, size, i},
            [PACK_AREA] = {size * duration, size, i},
            [PACK_TIME] = {-(double)items[i].hull.first, size, i},
        };
        keyed[i] = keys[order];
    }
    qsort(keyed, count, sizeof *keyed, by_keys);
    for (unsigned i = 0; i < count; i++)
        out[i] = keyed[i].item;
    free(keyed);
}

/* So many items are placed in less than a millisecond: small problems always have a greedy plan. */
enum { CLOCK_EVERY = 256 };

/* Where an item fits among the placed ones, which are in ascending order of offset. */
static int64_t find_gap(const struct pack_item *items, const unsigned *placed, unsigned count,
                        const int64_t *offset, unsigned item, enum pack_gap gap)
{
    int64_t end = 0, best = -1, best_room = INT64_MAX; /* end: the end of all items met so far */
    for (unsigned i = 0; i < count; i++) {
        const unsigned other = placed[i];
        if (!pack_items_meet(&items[item], &items[other]))
            continue;
        const int64_t at = pack_align(end, items[item].alignment), room = offset[other] - end;
        if (at + items[item].size <= offset[other] && room < best_room) {
            best = at;
            best_room = room;
            if (gap == PACK_FIRST_GAP)
                return at;
        }
        end = pack_max(end, offset[other] + items[other].size);
    }
    return best >= 0 ? best : pack_align(end, items[item].alignment);
}

int64_t pack_place(const struct pack_item *items, unsigned count, const unsigned *order,
                   enum pack_gap gap, uint64_t deadline_ns, int64_t *offset)
{
    unsigned *placed = must_alloc((count + 1) * sizeof *placed);
    int64_t height = 0;
    for (unsigned i = 0; i < count && height != INT64_MAX; i++) {
        const unsigned item = order[i];
        const int64_t at = find_gap(items, placed, i, offset, item, gap);
        offset[item] = at;
        height = pack_max(height, at + items[item].size - items[item].pad);
        if (i % CLOCK_EVERY == CLOCK_EVERY - 1 && deadline_ns && clock_ns() > deadline_ns)
            height = INT64_MAX;
        unsigned slot = i;
        for (; slot > 0 && offset[placed[slot - 1]] > at; slot--)
            placed[slot] = placed[slot - 1];
        placed[slot] = item;
    }
    free(placed);
    return height;
}

/* Free room, in ascending order; the last gap has no end. */
struct gaps {
    struct pack_interval *gap;
    unsigned count;
};

static void gap_insert(struct gaps *gaps, unsigned at, int64_t lower, int64_t upper)
{
    memmove(&gaps->gap[at + 1], &gaps->gap[at], (gaps->count++ - at) * sizeof *gaps->gap);
    gaps->gap[at] = (struct pack_interval){lower, upper};
}

static void gap_remove(struct gaps *gaps, unsigned at)
{
    memmove(&gaps->gap[at], &gaps->gap[at + 1], (--gaps->count - at) * sizeof *gaps->gap);
}

/* Takes room from the lowest gap that is large enough. */
static int64_t gap_take(struct gaps *gaps, const struct pack_item *item)
{
    unsigned i = 0;
    while (pack_align(gaps->gap[i].lower, item->alignment) + item->size > gaps->gap[i].upper)
        i++;
    const int64_t at = pack_align(gaps->gap[i].lower, item->alignment);
    if (gaps->gap[i].lower < at) {
        gap_insert(gaps, i, gaps->gap[i].lower, at);
        i++;
    }
    gaps->gap[i].lower = at + item->size;
    if (gaps->gap[i].lower == gaps->gap[i].upper)
        gap_remove(gaps, i);
    return at;
}

static void gap_give(struct gaps *gaps, int64_t lower, int64_t upper)
{
    unsigned low = 0, high = gaps->count - 1; /* the first gap above */
    while (low < high) {
        const unsigned middle = low + (high - low) / 2;
        if (gaps->gap[middle].lower >= upper)
            high = middle;
        else
            low = middle + 1;
    }
    gap_insert(gaps, low, lower, upper);
    for (unsigned i = low + 1; i >= low && i > 0; i--)
        if (gaps->gap[i - 1].upper == gaps->gap[i].lower) {
            gaps->gap[i - 1].upper = gaps->gap[i].upper;
            gap_remove(gaps, i);
        }
}

int64_t pack_sweep(const struct pack_item *items, unsigned count, int64_t *offset)
{
    struct keyed *ends = must_alloc((count + 1) * sizeof *ends);
    unsigned *starts = must_alloc((count + 1) * sizeof *starts), ended = 0;
    /* An item makes at most one gap more where it starts, and one where it ends. */
    struct gaps gaps = {must_alloc((2 * (size_t)count + 2) * sizeof *gaps.gap), 0};
    int64_t height = 0;
    gap_insert(&gaps, 0, 0, INT64_MAX);
    pack_order_fill(items, count, PACK_TIME, starts);
    for (unsigned i = 0; i < count; i++)
        ends[i] = (struct keyed){-(double)items[i].hull.end, 0, i};
    qsort(ends, count, sizeof *ends, by_keys);
    for (unsigned i = 0; i < count; i++) {
        const struct pack_item *item = &items[starts[i]];
        for (; items[ends[ended].item].hull.end <= item->hull.first; ended++) {
            const unsigned over = ends[ended].item;
            gap_give(&gaps, offset[over], offset[over] + items[over].size);
        }
        offset[starts[i]] = gap_take(&gaps, item);
        height = pack_max(height, offset[starts[i]] + item->size - item->pad);
    }
    free(gaps.gap);
    free(starts);
    free(ends);
    return height;
}

static const char *const order_names[PACK_ORDER_COUNT][PACK_GAP_COUNT] = {
    [PACK_SIZE] = {"size, first gap", "size, best gap"},
    [PACK_DURATION] = {"duration, first gap", "duration, best gap"},
    [PACK_AREA] = {"area, first gap", "area, best gap"},
    [PACK_TIME] = {"time, first gap", "time, best gap"},
};

const char *pack_greedy_name(enum pack_order order, enum pack_gap gap)
{
    return order_names[order][gap];
}

/* Moves one of the items that reach `height` to a random earlier place in the order. */
static void disturb(const struct pack_item *items, unsigned count, const int64_t *offset,
                    int64_t height, struct random *random, unsigned *order)
{
    unsigned chosen = 0, tops = 0;
    for (unsigned i = 0; i < count; i++) {
        const unsigned item = order[i];
        if (offset[item] + items[item].size - items[item].pad == height &&
            random_below(random, ++tops) == 0)
            chosen = i;
    }
    const unsigned item = order[chosen], target = (unsigned)random_below(random, chosen + 1);
    memmove(&order[target + 1], &order[target], (chosen - target) * sizeof *order);
    order[target] = item;
}

int64_t pack_climb(const struct pack_item *items, unsigned count, enum pack_gap gap,
                   unsigned attempts, int64_t enough, uint64_t deadline_ns, unsigned *order,
                   int64_t *offset, int64_t height)
{
    struct random random = {1};
    unsigned *new_order = must_alloc(count * sizeof *new_order);
    int64_t *new_offset = must_alloc(count * sizeof *new_offset);
    for (unsigned i = 0; i < attempts && height > enough && clock_ns() < deadline_ns; i++) {
        memcpy(new_order, order, count * sizeof *order);
        disturb(items, count, offset, height, &random, new_order);
        const int64_t new_height =
            pack_place(items, count, new_order, gap, deadline_ns, new_offset);
        if (new_height > height)
            continue;
        height = new_height;
        memcpy(order, new_order, count * sizeof *order);
        memcpy(offset, new_offset, count * sizeof *offset);
    }
    free(new_order);
    free(new_offset);
    return height;
}
