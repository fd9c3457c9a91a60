/* Allocates and frees blocks of random sizes in a device heap on the host, under a growing load,
 * until a request finds no room. That shows how much of an arena a policy can use, and the cost of
 * an operation. */
#pragma once

#include <stdint.h>

#include "base/random.h"
#include "experiment/heap/heap_layout.h"

enum heap_sizes { SIZES_UNIFORM, SIZES_LOGNORMAL, SIZES_BIMODAL, SIZES_SAME, SIZES_KINDS };
extern const char *const heap_size_names[SIZES_KINDS];

/* Draws a size in words, at least 1. uniform: up to twice the scale; lognormal: sigma 1.2, the mean
 * is the scale; bimodal: half of the sizes up to a 64th of the scale, 4 in 10 up to the scale, the
 * others up to 8 times the scale; same: the scale. */
uint32_t heap_random_words(struct random *random, enum heap_sizes sizes, uint32_t scale_words);

struct heap_churn {
    enum device_heap_policy policy;
    enum device_heap_padding padding;
    enum heap_sizes sizes;
    uint32_t scale_words, arena_words;
    uint32_t stride_words; /* words of an element; requests are whole elements */
    uint64_t seed;
};

struct heap_churn_result {
    double utilisation;   /* requested live words at the first failure, over the arena's words */
    double ns_per_op;     /* time of an allocation or a free, at all loads before that */
    double visits_per_op; /* entries of the index that an operation looks at */
    uint32_t live_blocks; /* live blocks at the first failure */
    uint32_t broken;      /* broken invariants of the heap at the end; 0 in a sound one */
};

/* Fills half of the arena; then frees random blocks and allocates others, and raises the load by
 * 0.5 % of the arena every 20000 commands. */
struct heap_churn_result heap_churn_run(const struct heap_churn *churn);
