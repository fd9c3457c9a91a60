/* What merge sets do to a fun: decisions and, for given sizes, bytes and copies. No device. */
#ifndef GAMUT_RUN_MERGE_REPORT_H
#define GAMUT_RUN_MERGE_REPORT_H

#include "merge/merge.h"
#include "run/select/dry_run.h"

struct merge_report_row {
    const char *set; /* as it was asked for */
    struct merge *merge;
    unsigned block_count;           /* allocations in the text of the merged program */
    struct dry_run last_use, scope; /* where the report is `counted` */
    uint64_t planning_ns;
};

struct merge_report {
    const struct fun *fun; /* as it is written */
    size_t row_count;
    struct merge_report_row *rows;
    bool counted;             /* were the scalars known that runs need? */
    struct error not_counted; /* else: which one is not; "" where none was given at all */
    uint64_t best_bytes;      /* peak at last use under the set `best`; only where counted */
};

/* `sets` are specs of merge/merge.h; they, `fun` and `scalars` outlive the report. `scalars` NULL:
 * decisions only. */
int merge_report_make(const struct fun *fun, const struct arguments *scalars,
                      const char *const *sets, size_t set_count, int64_t time_limit_ns,
                      struct merge_report *report, struct error *error);
void merge_report_free(struct merge_report *report);

#endif
