#include "tests/experiment/heap/heap_stream.h"

#include <stdlib.h>

#include "base/arena.h"

void heap_stream_open(struct heap_stream *s, const struct heap_profile *profile,
                      uint32_t slot_count, uint64_t seed)
{
    *s = (struct heap_stream){
        .profile = *profile, .random = {seed}, .slot_count = slot_count, .spare_count = slot_count};
    s->taken = must_alloc((slot_count + 1) * sizeof *s->taken);
    s->spare = must_alloc(slot_count * sizeof *s->spare);
    for (uint32_t i = 0; i < slot_count; i++)
        s->spare[i] = slot_count - 1 - i;
}

void heap_stream_close(struct heap_stream *s)
{
    free(s->taken);
    free(s->spare);
}

static uint32_t taken_count(const struct heap_stream *s)
{
    return s->slot_count - s->spare_count;
}

/* Removes one of the taken slots. */
static uint32_t pick(struct heap_stream *s)
{
    uint32_t ring = s->slot_count + 1, slot;
    if (s->profile.order == ORDER_FIFO) {
        slot = s->taken[s->first];
        s->first = (s->first + 1) % ring;
        return slot;
    }
    s->end = (s->end + ring - 1) % ring;
    if (s->profile.order == ORDER_RANDOM) {
        uint32_t i = (s->first + (uint32_t)random_below(&s->random, taken_count(s))) % ring;
        slot = s->taken[i];
        s->taken[i] = s->taken[s->end];
        return slot;
    }
    return s->taken[s->end];
}

static struct heap_command free_one(struct heap_stream *s)
{
    uint32_t slot = pick(s);
    s->spare[s->spare_count++] = slot;
    return (struct heap_command){.is_free = true, .slot = slot};
}

static uint32_t random_stride(struct heap_stream *s)
{
    static const uint32_t strides[] = {1, 1, 2, 3, 4, 6, 12, 64};
    return s->profile.strides ? strides[random_below(&s->random, 8)] : 1;
}

static struct heap_command take_one(struct heap_stream *s)
{
    uint32_t slot = s->spare[--s->spare_count], stride = random_stride(s);
    uint32_t words = s->profile.steps
                         ? 1 + (uint32_t)random_below(&s->random, 4) * s->profile.scale_words
                         : heap_random_words(&s->random, s->profile.sizes, s->profile.scale_words);
    s->taken[s->end] = slot;
    s->end = (s->end + 1) % (s->slot_count + 1);
    return (struct heap_command){.slot = slot,
                                 .count = random_below(&s->random, 100) == 0 ? 0
                                          : words < stride                   ? 1
                                                                             : words / stride,
                                 .stride = stride};
}

/* A command that must be refused, or must do nothing. */
static struct heap_command mistake(struct heap_stream *s)
{
    struct random *r = &s->random;
    uint32_t spare = s->spare_count ? s->spare[random_below(r, s->spare_count)] : UINT32_C(1) << 27;
    uint32_t ring = s->slot_count + 1;
    uint32_t taken = taken_count(s) ? s->taken[(s->first + random_below(r, taken_count(s))) % ring]
                                    : s->slot_count;
    switch (random_below(r, 5)) {
    case 0:
        return (struct heap_command){.is_free = true, .slot = spare}; /* twice */
    case 1:
        return (struct heap_command){.is_free = true,
                                     .slot = s->slot_count + (uint32_t)random_below(r, 1 << 20)};
    case 2:
        return (struct heap_command){.slot = spare, .count = 3, .stride = 0};
    case 3:
        return (struct heap_command){.slot = taken, .count = 1, .stride = 1};
    default:
        return (struct heap_command){.slot = s->slot_count, .count = 1, .stride = 1};
    }
}

struct heap_command heap_stream_next(struct heap_stream *s)
{
    if (s->profile.mistakes && random_below(&s->random, 50) == 0)
        return mistake(s);
    if (s->left-- == 0) {
        s->growing = !s->growing;
        s->left = 1 + (uint32_t)random_below(&s->random, s->slot_count);
    }
    bool grow = random_below(&s->random, 8) < (s->growing ? 6 : 2);
    if (s->spare_count == 0 || (!grow && taken_count(s) > 0))
        return free_one(s);
    struct heap_command c = take_one(s);
    /* Far too much, up to what does not fit in 32 bits: the slot is taken all the same. */
    if (s->profile.mistakes && random_below(&s->random, 100) == 0)
        c.count = UINT32_MAX - (uint32_t)random_below(
                                   &s->random, UINT32_C(1) << (1 + random_below(&s->random, 31)));
    return c;
}

bool heap_stream_drain(struct heap_stream *s, struct heap_command *command)
{
    if (taken_count(s) == 0)
        return false;
    *command = free_one(s);
    return true;
}
