/* For how long memory had been free when a recording of PyTorch's allocator began, in searches: by
 * that age garbage_collection_threshold chooses what it releases.
 *
 * The recording does not say it, but shows what was collected: wholly free large segments that are
 * at least as old as their average (strategies/alloc/caching.c, rule 7). What was released of those
 * that had been free since the start was older than the average, and what was left was younger. The
 * ages are the least that agree with every collection; of what was never collected, none. So they
 * are a guess until the calls of a replay are those of the log.
 */
#pragma once

#include "trace/trace.h"

struct ages {
    /* Memory of the start, by address. */
    struct ages_memory {
        uint64_t address, age;
    } * memories;
    unsigned count;
};

/* Reads the trace from its beginning. Afterwards `memories` is not NULL. The caller frees the ages
 * in any case. */
int ages_find(struct trace_reader *reader, struct ages *ages, struct error *error);
/* 0: unknown, or none. */
uint64_t ages_of(const struct ages *ages, uint64_t address);
void ages_free(struct ages *ages);
