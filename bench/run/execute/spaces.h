/* The allocators of a run. Each memory space that the program uses has an instance of the strategy
 * and a source of its own (as PoCL has a bufalloc region for local memory and one for global).
 * Counts are kept for each space and for all together. */
#pragma once

#include <jansson.h>

#include "alloc/allocator.h"
#include "device/device.h"
#include "program/program.h"
#include "results/facts/counters.h"

struct spaces {
    struct allocator
        *of[SPACES]; /* for executor_begin; NULL: the program does not use this space */
    struct allocator allocator[SPACES];
    struct source source[SPACES];
    bool several; /* the program uses more than one space */
    /* Counts summed over the spaces, and the peaks of those sums; used only if `several`. */
    struct allocator_counts blocks;
    struct source_total held;
};

/* Does `fun` have memory in the space? Always true for device memory. */
bool spaces_used(const struct fun *fun, enum space space);

/* Opens the allocators that `fun` needs. `capacity_bytes` limits all together; 0: the driver
 * decides. ERR_UNSUPPORTED names the space that the device or the strategy does not have. The
 * struct may not move until spaces_close, which the caller calls after a failure too. */
int spaces_open(struct spaces *spaces, const struct fun *fun, struct device *device,
                const struct allocator_ops *strategy, const struct option_values *options,
                uint64_t capacity_bytes, struct error *error);
/* Closes all allocators and sources. */
void spaces_close(struct spaces *spaces);

/* Starts all peaks again from the bytes that are live and reserved. `error` may be NULL, here and
 * below. */
int spaces_reset_peaks(struct spaces *spaces, struct error *error);
/* Updates the counts that drivers keep themselves (source_update). */
int spaces_update(struct spaces *spaces, struct error *error);
/* The counts of all allocators together. */
const struct allocator_counts *spaces_blocks(const struct spaces *spaces);
/* The counts of all sources together: calls, times and bytes. */
struct source_counts spaces_counts(const struct spaces *spaces);
/* Adds the calls and times of one source to a sum; not the bytes held. */
void source_counts_add(struct source_counts *sum, const struct source_counts *counts);

/* A copy of all counts, taken at the beginning or the end of a run. */
struct space_snapshot {
    struct allocator_counts blocks;
    struct source_counts driver;
};
struct spaces_snapshot {
    struct space_snapshot all, of[SPACES];
};
/* Copies all counts to *snapshot. */
void spaces_snapshot(const struct spaces *spaces, struct spaces_snapshot *snapshot);
/* The peaks at `end`, and the calls between `begin` and `end`. */
struct memory_counts spaces_between(const struct space_snapshot *begin,
                                    const struct space_snapshot *end);
/* {"device": {counter: value}, "pinned": …}, or NULL if the program uses device memory alone. The
 * caller owns it. */
json_t *spaces_to_json(const struct spaces *spaces, const struct spaces_snapshot *begin,
                       const struct spaces_snapshot *end);
