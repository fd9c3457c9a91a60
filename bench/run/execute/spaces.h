/* The allocators of a run. Each memory space that the program uses has an instance of the strategy and
 * a source of its own (as PoCL has a bufalloc region for local memory and one for global). Counts are
 * kept for each space and for all together. A heap that the device runs has a source alone. */
#ifndef GAMUT_RUN_SPACES_H
#define GAMUT_RUN_SPACES_H

#include <jansson.h>

#include "alloc/allocator.h"
#include "device/device.h"
#include "program/program.h"
#include "record/facts/counters.h"

struct spaces {
    struct allocator
        *of[SPACES]; /* as the executor takes them; NULL: the program does not use it */
    struct allocator allocator[SPACES];
    struct source source[SPACES];
    bool several;  /* the program uses more than one space */
    bool has_heap; /* the run takes memory from source[SPACE_HEAP] without an allocator */
    /* Counts summed over the spaces, and the peaks of those sums; used only if `several`. */
    struct allocator_counts blocks;
    struct source_total held;
};

/* Has `fun` memory in the space? True for device memory, whatever the fun. */
bool spaces_used(const struct fun *fun, enum space space);

/* Opens what `fun` needs; `capacity_bytes` is for all together, 0 leaves it to the driver.
 * ERR_UNSUPPORTED names the space that the device or the strategy does not have. The struct may not
 * move until spaces_close, which the caller calls after a failure too. `has_heap`: the run also takes
 * memory from source[SPACE_HEAP]. */
int spaces_open(struct spaces *spaces, const struct fun *fun, struct device *device,
                const struct allocator_ops *strategy, const struct option_values *options,
                uint64_t capacity_bytes, bool has_heap, struct error *error);
void spaces_close(struct spaces *spaces);

/* All peaks start again from what is live and reserved now. `error` may be NULL, here and below. */
int spaces_reset_peaks(struct spaces *spaces, struct error *error);
/* Updates the counts that drivers keep themselves (source_update). */
int spaces_update(struct spaces *spaces, struct error *error);
/* The counts of all allocators together. */
const struct allocator_counts *spaces_blocks(const struct spaces *spaces);
/* The counts of all sources together: calls, times and bytes. */
struct source_counts spaces_counts(const struct spaces *spaces);

/* All counts, as they were at the begin or the end of a run. */
struct space_books {
    struct allocator_counts blocks;
    struct source_counts driver;
};
struct spaces_books {
    struct space_books all, of[SPACES];
};
void spaces_books(const struct spaces *spaces, struct spaces_books *books);
/* The peaks at the end, and the calls between the two. */
struct memory_counts spaces_between(const struct space_books *begin, const struct space_books *end);
/* {"device": {counter: value}, "pinned": …}, or NULL if the program uses device memory alone. The
 * caller owns it. */
json_t *spaces_to_json(const struct spaces *spaces, const struct spaces_books *begin,
                       const struct spaces_books *end);

#endif
