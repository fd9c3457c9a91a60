/* Blocks of random sizes that come and go in a device heap on the host, ever more of them at a
 * time, until one finds no room: how much of an arena a policy can use, and what it costs. */
#ifndef GAMUT_EXPERIMENT_HEAP_CHURN_H
#define GAMUT_EXPERIMENT_HEAP_CHURN_H

#include <stdint.h>

#include "base/random.h"
#include "device_heap/heap_layout.h"

enum heap_sizes { SIZES_UNIFORM, SIZES_LOGNORMAL, SIZES_BIMODAL, SIZES_SAME, SIZES_KINDS };
extern const char *const heap_size_names[SIZES_KINDS];

/* A size in words, at least 1. uniform: up to twice the scale; lognormal: sigma 1.2, the mean is
 * the scale; bimodal: half of them up to a 64th of the scale, 4 in 10 up to the scale, the others
 * up to 8 times it; same: the scale. */
uint32_t heap_random_words(struct random *random, enum heap_sizes sizes, uint32_t scale_words);

struct heap_churn {
    enum device_heap_policy policy;
    enum device_heap_padding padding;
    enum heap_sizes sizes;
    uint32_t scale_words, arena_words;
    uint32_t stride_words; /* of an element; requests are whole elements */
    uint64_t seed;
};

struct heap_churn_result {
    double utilisation;   /* words asked for and live at the first failure, of the arena's */
    double ns_per_op;     /* of an allocation or a free, at the loads that went before */
    double visits_per_op; /* entries of the index looked at */
    uint32_t live_blocks; /* at the first failure */
};

/* Half of the arena is asked for; then blocks that are picked at random are freed and others asked
 * for, and every 20000 commands another 0.5% is asked for on top. */
struct heap_churn_result heap_churn_run(const struct heap_churn *churn);

#endif
