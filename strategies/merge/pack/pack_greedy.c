/* Greedy offset planning: sort, then put each buffer into a gap between those already placed.
 *
 * By size, duration, area (their product) or time; into the lowest gap that is large enough or the
 * smallest one. Size with the best gap is XLA's heap simulator, size with the first gap is
 * TensorFlow Lite Micro's planner, time order is what planners that walk the graph once do. None is
 * best everywhere, all are cheap: O(n^2) with two compares a step.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "merge/pack/pack_model.h"

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

/* Where an item fits among the placed ones, which are in ascending order of offset. */
static int64_t find_gap(const struct pack_item *items, const unsigned *placed, unsigned count,
                        const int64_t *offset, unsigned item, enum pack_gap gap)
{
    int64_t end = 0, best = -1, best_room = INT64_MAX; /* end: of everything met so far */
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
                   enum pack_gap gap, int64_t *offset)
{
    unsigned *placed = must_alloc((count + 1) * sizeof *placed);
    int64_t height = 0;
    for (unsigned i = 0; i < count; i++) {
        const unsigned item = order[i];
        const int64_t at = find_gap(items, placed, i, offset, item, gap);
        offset[item] = at;
        height = pack_max(height, at + items[item].size - items[item].pad);
        unsigned slot = i;
        for (; slot > 0 && offset[placed[slot - 1]] > at; slot--)
            placed[slot] = placed[slot - 1];
        placed[slot] = item;
    }
    free(placed);
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

int64_t pack_greedy(const struct pack_buffer *buffers, size_t count, enum pack_order order,
                    enum pack_gap gap, int64_t *offset)
{
    struct pack_model model;
    pack_model_build(&model, buffers, count);
    unsigned *numbers = must_alloc((model.count + 1) * sizeof *numbers);
    int64_t *at = must_alloc((model.count + 1) * sizeof *at);
    pack_order_fill(model.items, model.count, order, numbers);
    const int64_t height = pack_place(model.items, model.count, numbers, gap, at);
    memset(offset, 0, count * sizeof *offset);
    for (unsigned i = 0; i < model.count; i++)
        offset[model.items[i].source] = at[i];
    free(numbers);
    free(at);
    pack_model_free(&model);
    return height;
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
        const int64_t new_height = pack_place(items, count, new_order, gap, new_offset);
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
