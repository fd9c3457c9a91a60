/* What a run of a program counts, found out without a device: the executor on a device that does
 * nothing. */
#ifndef GAMUT_RUN_DRY_RUN_H
#define GAMUT_RUN_DRY_RUN_H

#include "run/execute/execute.h"

/* Each as the counter of its name in record/facts/counters.h; of copies those of all kinds. */
struct dry_run {
    uint64_t peak_requested_bytes, live_lower_bound_bytes;
    uint64_t alloc_count, free_count;
    struct copy_counts copy[COPY_KINDS];
};

/* `scalars` are the values of the fun's scalar parameters and of scalars that it reads from arrays,
 * by name; of those as many as it reads, or the last for all that follow. Those that only feed
 * kernels need none; of all others that are missing ERR_USAGE names the first. ERR_PROGRAM as in a
 * real run. */
int dry_run(const struct fun *fun, const struct arguments *scalars, enum release_policy policy,
            struct dry_run *out, struct error *error);

#endif
