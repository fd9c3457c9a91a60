/* `gamut plan --lifetimes`: offsets for the buffers of a CSV file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct lifetimes_options {
    const char *path; /* the format is that of trace/lifetime_table.h */
    bool has_capacity;
    uint64_t capacity; /* any plan within it will do */
    uint64_t time_limit_ns;
    bool as_json;
};

/* Writes the file's rows with an offset each, or JSON, to `out`. Writes to stderr how high the plan
 * is and whether it is proved to be the lowest, and what the offsets are worth that the file has.
 * Returns 0, or ERR_OOM if no plan fits into the capacity, or none was found in time; nothing is
 * written then. ERR_WRONG if the file's offsets are no plan, after everything is written. Or an
 * error of lifetime_table_read_file. */
int plan_lifetimes(const struct lifetimes_options *options, FILE *out, struct error *error);
