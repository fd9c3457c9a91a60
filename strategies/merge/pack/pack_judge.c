/* Judges a plan from elsewhere: a sweep over time with the live buffers in a tree. While no two
 * overlap, the order of their ends is that of their offsets. So a buffer that starts overlaps one
 * if and only if it overlaps the first that ends above its offset. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/treap.h"
#include "merge/pack/pack_model.h"

struct live {
    struct treap_node node; /* first, so that a node's address is the live buffer's */
    int64_t end;
    size_t buffer;
};

static int by_end(const struct treap_node *left, const struct treap_node *right)
{
    const struct live *a = (const struct live *)left, *b = (const struct live *)right;
    return (a->end > b->end) - (a->end < b->end);
}

static bool is_misplaced(const struct pack_buffer *b, int64_t offset)
{
    return offset < 0 || offset > PACK_HEIGHT_MOST - b->size ||
           pack_align(offset, b->alignment ? b->alignment : 1) != offset;
}

static void find_overlap(const struct pack_buffer *buffers, const int64_t *offset, size_t count,
                         struct pack_judgement *judgement)
{
    struct live *live = must_alloc((count + 1) * sizeof *live);
    struct treap alive = {.compare = by_end};
    struct pack_event *events;
    const size_t event_count = pack_events(buffers, count, &events);
    for (size_t i = 0; i < event_count && judgement->verdict == PACK_VALID; i++) {
        const size_t number = events[i].buffer;
        struct live *l = &live[number];
        if (!events[i].is_start) {
            treap_remove(&alive, &l->node);
            continue;
        }
        *l = (struct live){.end = offset[number], .buffer = number};
        const struct live *above = (const struct live *)treap_after(&alive, &l->node);
        l->end += buffers[number].size;
        judgement->height = pack_max(judgement->height, l->end);
        if (above && offset[above->buffer] < l->end)
            *judgement =
                (struct pack_judgement){PACK_OVERLAP, 0, above->buffer, number, events[i].time};
        else
            treap_insert(&alive, &l->node);
    }
    free(events);
    free(live);
}

struct pack_judgement pack_judge(const struct pack_buffer *buffers, size_t count,
                                 const int64_t *offset)
{
    struct pack_judgement judgement = {.verdict = PACK_VALID};
    for (size_t i = 0; i < count; i++)
        if (is_misplaced(&buffers[i], offset[i]))
            return (struct pack_judgement){PACK_MISPLACED, 0, i, i, 0};
    find_overlap(buffers, offset, count, &judgement);
    return judgement;
}
