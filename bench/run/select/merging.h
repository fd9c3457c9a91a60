/* Programs without a device: dry runs, merging with the values that a run knows, and a report of
 * what merge sets do to a fun. */
#pragma once

#include "merge/merge.h"
#include "run/execute/execute.h"
#include "run/execute/run_log.h"

/* ---- a dry run: the executor on a device that does nothing ---- */

/* Each member is the counter of this name in results/facts/counters.h; `copy` has all kinds. */
struct dry_run {
    uint64_t peak_requested_bytes, live_lower_bound_bytes;
    uint64_t alloc_count, free_count;
    struct copy_counts copy[COPY_KINDS];
};

/* Runs `fun` and counts. `scalars` has the values, by name, of the fun's scalar parameters and of
 * the scalars that it reads from arrays. Successive reads consume successive values; the last value
 * is used for all further reads. A scalar that only kernels use needs no value; ERR_USAGE names the
 * first other one that is missing. ERR_PROGRAM as in a real run. */
int dry_run(const struct fun *fun, const struct arguments *scalars, enum release_policy policy,
            struct dry_run *out, struct error *error);

/* The same, and log->listener hears the events. The log is {.listener} before and after; in between
 * it has the names and the part of the run. NULL: as dry_run. */
int dry_run_told(const struct fun *fun, const struct arguments *scalars, enum release_policy policy,
                 struct run_log *log, struct dry_run *out, struct error *error);

/* The copies of all kinds. */
struct copy_counts dry_run_copies(const struct dry_run *run);

/* ---- merging ---- */

/* Merges a copy of `fun` by the set `spec` (merge/merge.h) for runs under `policy`. `scalars` are
 * as for dry_run, by which the sets `best` and `extended` choose; NULL: no value is known, and
 * passes that need numbers do nothing. `time_limit_ns` is for the exact planner; 0: its default.
 * The caller frees *merged with merge_free. Returns an error of merge_parse or merge_run. */
int merging_run(const struct fun *fun, const char *spec, const struct arguments *scalars,
                enum release_policy policy, int64_t time_limit_ns, struct merge **merged,
                struct error *error);

/* Does the set `spec` choose by what dry runs count, so that it needs all values on which memory
 * depends (readings.h), and that its choice is for one release policy? */
bool merging_counts(const char *spec);

/* ---- a report: decisions and, for given sizes, bytes and copies ---- */

struct merge_report_row {
    const char *set; /* as the caller named it */
    struct merge *merge;
    unsigned block_count;           /* allocations in the text of the merged program */
    struct dry_run last_use, scope; /* only if the report is `counted` */
    uint64_t planning_ns;
};

struct merge_report {
    const struct fun *fun; /* the unmerged fun */
    size_t row_count;
    struct merge_report_row *rows;
    bool counted;             /* all scalars that runs need were given */
    struct error not_counted; /* if not `counted`: the missing one; "" if `scalars` was NULL */
    enum release_policy policy;
    uint64_t best_bytes; /* peak under the policy and the set `best`; only if counted */
};

/* Reports on each of `sets`, specs of merge/merge.h, merged for runs under `policy`. `scalars` are
 * as for dry_run; NULL: decisions only. `sets`, `fun` and `scalars` must outlive the report.
 * ERR_INTERNAL if a merged program does not run. */
int merge_report_make(const struct fun *fun, const struct arguments *scalars,
                      const char *const *sets, size_t set_count, enum release_policy policy,
                      int64_t time_limit_ns, struct merge_report *report, struct error *error);
/* The row's peak under the report's policy; only if the report is counted. */
uint64_t merge_report_peak(const struct merge_report *report, const struct merge_report_row *row);
/* Frees the rows with their merged programs. */
void merge_report_free(struct merge_report *report);
