/* Random commands for the device heap: sizes, orders and mistakes of several kinds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "tests/experiment/heap/heap_churn.h"

enum heap_order { ORDER_RANDOM, ORDER_LIFO, ORDER_FIFO, ORDER_KINDS };

struct heap_profile {
    enum heap_sizes sizes;
    enum heap_order order;
    uint32_t scale_words; /* scale of the sizes */
    bool steps;           /* sizes are 1 plus 0 to 3 times the scale, so that holes fit again */
    bool strides;         /* strides are 1 to 64 words; else always 1 */
    bool mistakes;        /* one command in 50 is wrong in some way */
};

struct heap_command {
    bool is_free;
    uint32_t slot, count, stride;
};

struct heap_stream {
    struct heap_profile profile;
    struct random random;
    uint32_t slot_count;
    uint32_t *taken;     /* slots in the order of their allocation */
    uint32_t first, end; /* first and end of `taken`, a ring of slot_count */
    uint32_t *spare;
    uint32_t spare_count;
    bool growing;
    uint32_t left; /* commands until growing turns into shrinking, or back */
};

void heap_stream_open(struct heap_stream *s, const struct heap_profile *profile,
                      uint32_t slot_count, uint64_t seed);
void heap_stream_close(struct heap_stream *s);
/* The next command. For a while there are more allocations than frees, then more frees, and so on.
 * A slot is freed once and taken again later. A mistaken command does not change the stream's
 * state. */
struct heap_command heap_stream_next(struct heap_stream *s);
/* The next free of a taken slot; false if no slot is taken. */
bool heap_stream_drain(struct heap_stream *s, struct heap_command *command);
