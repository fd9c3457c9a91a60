#include "run/select/merge_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/select/merging.h"

static unsigned count_allocs(const struct body *body)
{
    unsigned count = 0;
    for (const struct stm *s = body->first; s; s = s->next) {
        count += s->kind == STM_ALLOC;
        if (s->kind == STM_IF)
            count += count_allocs(s->then) + count_allocs(s->otherwise);
        else if (s->kind == STM_LOOP)
            count += count_allocs(&s->loop->body);
    }
    return count;
}

/* The program as it is written runs with these scalars, so a merged one that does not is wrong. */
static int count_row(struct merge_report_row *row, const struct arguments *scalars,
                     struct error *error)
{
    int code = dry_run(row->merge->fun, scalars, RELEASE_LAST_USE, &row->last_use, error);
    if (!code)
        code = dry_run(row->merge->fun, scalars, RELEASE_SCOPE, &row->scope, error);
    if (code) {
        error_prefix(error, "merged by '%s' the program does not run: ", row->set);
        error->code = code = ERR_INTERNAL;
    }
    return code;
}

static int make_row(struct merge_report_row *row, const struct fun *fun, const char *set,
                    const struct arguments *scalars, bool counted, int64_t time_limit_ns,
                    struct error *error)
{
    row->set = set;
    uint64_t start = clock_ns();
    int code = merging_run(fun, set, scalars, time_limit_ns, &row->merge, error);
    row->planning_ns = clock_ns() - start;
    if (code)
        return code;
    row->block_count = count_allocs(&row->merge->fun->body);
    return counted ? count_row(row, scalars, error) : 0;
}

static int find_best(struct merge_report *r, const struct arguments *scalars, int64_t time_limit_ns,
                     struct error *error)
{
    for (size_t i = 0; i < r->row_count; i++)
        if (strcmp(r->rows[i].set, "best") == 0) {
            r->best_bytes = r->rows[i].last_use.peak_requested_bytes;
            return 0;
        }
    struct merge_report_row best = {0};
    int code = make_row(&best, r->fun, "best", scalars, true, time_limit_ns, error);
    r->best_bytes = best.last_use.peak_requested_bytes;
    merge_free(best.merge);
    return code;
}

int merge_report_make(const struct fun *fun, const struct arguments *scalars,
                      const char *const *sets, size_t set_count, int64_t time_limit_ns,
                      struct merge_report *report, struct error *error)
{
    *report = (struct merge_report){.fun = fun};
    report->rows = must_alloc((set_count + 1) * sizeof *report->rows);
    struct dry_run unmerged;
    report->counted =
        scalars && !dry_run(fun, scalars, RELEASE_LAST_USE, &unmerged, &report->not_counted);
    int code = 0;
    for (size_t i = 0; i < set_count && !code; i++)
        code = make_row(&report->rows[report->row_count++], fun, sets[i], scalars, report->counted,
                        time_limit_ns, error);
    if (!code && report->counted)
        code = find_best(report, scalars, time_limit_ns, error);
    if (code)
        merge_report_free(report);
    return code;
}

void merge_report_free(struct merge_report *report)
{
    for (size_t i = 0; i < report->row_count; i++)
        merge_free(report->rows[i].merge);
    free(report->rows);
    *report = (struct merge_report){0};
}
