/* The allocators of a run: an instance of its strategy for each memory space that the program has
 * memory in, each with a source of its own (as PoCL has a bufalloc region for local memory and one
 * for global). Books are kept of each and of all together. A heap that the device runs is the
 * executor's, and has a source alone.
 */
#ifndef GAMUT_RUN_SPACES_H
#define GAMUT_RUN_SPACES_H

#include <jansson.h>

#include "alloc/allocator.h"
#include "device/device.h"
#include "program/program.h"
#include "record/facts/counters.h"

struct spaces {
    struct allocator *of[SPACES]; /* as the executor takes them; NULL: the program does not ask */
    struct allocator allocator[SPACES];
    struct source source[SPACES];
    bool several;  /* of a program in device memory alone the books are those of one allocator */
    bool has_heap; /* the run takes memory from source[SPACE_HEAP] without an allocator */
    struct allocator_counts blocks; /* else those of all, */
    struct source_total held;       /* with the peaks of their sums, are kept here */
};

/* Has `fun` memory in the space? Device memory is always taken to be used. */
bool spaces_used(const struct fun *fun, enum space space);

/* Opens what `fun` needs; `capacity_bytes` is for all together, 0 leaves it to the driver.
 * ERR_UNSUPPORTED names the space that the device or the strategy does not have. The struct stays
 * where it is until spaces_close, which is called after a failure too. */
int spaces_open(struct spaces *spaces, const struct fun *fun, struct device *device,
                const struct allocator_ops *strategy, const struct option_values *options,
                uint64_t capacity_bytes, bool has_heap, struct error *error);
void spaces_close(struct spaces *spaces);

/* For both `error` may be NULL. All peaks start again from what is live and reserved now. */
int spaces_reset_peaks(struct spaces *spaces, struct error *error);
/* Brings what drivers know better up to date (source_update). */
int spaces_update(struct spaces *spaces, struct error *error);
/* Of all allocators together, */
const struct allocator_counts *spaces_blocks(const struct spaces *spaces);
/* and of their sources: calls, times and bytes. */
struct source_counts spaces_counts(const struct spaces *spaces);

/* The books at the begin or the end of a run. */
struct space_books {
    struct allocator_counts blocks;
    struct source_counts driver;
};
struct spaces_books {
    struct space_books all, of[SPACES];
};
void spaces_books(const struct spaces *spaces, struct spaces_books *books);
/* Peaks at the end, and calls since the begin. */
struct memory_counts spaces_between(const struct space_books *begin, const struct space_books *end);
/* {"device": {counter: value}, "pinned": …}; NULL where the program has device memory alone. */
json_t *spaces_to_json(const struct spaces *spaces, const struct spaces_books *begin,
                       const struct spaces_books *end);

#endif
