/* A run of a program as a trace, made without a device: every block of the run, from its inputs to
 * its results.
 *
 * The executor runs the program on a device that does nothing (merging.h). What a program asks for
 * depends on its text, its data, its merge set and its release policy, and neither on the device
 * nor on the allocator, so these are the requests and releases of a measured run, in its order. The
 * trace has neither commands nor times.
 */
#pragma once

#include "run/select/merging.h"
#include "trace/trace.h"

struct program_run {
    const struct entry *entry;
    const struct dataset *dataset;
    const char *merge; /* a merge set, as in a case's key */
    enum release_policy policy;
    uint64_t seed; /* of the inputs */
    bool may_run;  /* on the host, if its memory depends on values that it computes */
    /* As the device of the run aligns its memories (struct device_info); blocks are aligned as the
     * executor does it. 0: that of most drivers. */
    uint64_t alignment_bytes;
};

/* Writes the trace of the run to the new file `path`; `info` is its head, in which the facts are
 * set here. *counts receives what the run counts, by which a caller sees whether it is the run of a
 * result. ERR_UNSUPPORTED: a part of the program's memory is not on the device, or a value on which
 * its memory depends is not known without running it; errors of readings_find, merging_run and
 * trace_finish. */
int program_trace(const struct program_run *run, struct trace_info *info, const char *path,
                  struct dry_run *counts, struct error *error);
