#include "run/select/merging.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/clock.h"
#include "run/execute/device_source.h"

/* ---- dry runs -------------------------------------------------------------------------------- */

/* Dry runs use `raw`: every block is a memory of its own, so that no two of them overlap. Without a
 * device spaces make no difference, so one allocator serves all. */
static int dry_run_on(struct executor *e, struct device *device, const struct arguments *scalars,
                      struct run_log *log, struct dry_run *out, struct error *error)
{
    const struct allocator_ops *raw;
    struct option_values options;
    struct allocator allocator;
    int code = allocator_parse("raw", &raw, &options, error);
    struct source source = device_source(device, 0);
    THEN(code, allocator_open(&allocator, raw, &options, &source, error));
    TRY(code);
    struct allocator *allocators[SPACES];
    for (int s = 0; s < SPACES; s++)
        allocators[s] = &allocator;
    executor_record(e, log);
    code = executor_begin(e, allocators, scalars, false, error);
    struct allocator_counts before = allocator.counts;
    THEN(code, executor_run(e, error));
    const struct executor_counts *counts = executor_counts(e);
    *out = (struct dry_run){
        .peak_requested_bytes = allocator.counts.peak_requested_bytes,
        .live_lower_bound_bytes = counts->peak_live_bytes,
        .alloc_count = allocator.counts.alloc_count - before.alloc_count,
        .free_count = allocator.counts.free_count - before.free_count,
    };
    memcpy(out->copy, counts->copy, sizeof out->copy);
    executor_end(e);
    executor_record(e, NULL);
    allocator_close(&allocator);
    return code;
}

int dry_run_told(const struct fun *fun, const struct arguments *scalars, enum release_policy policy,
                 struct run_log *log, struct dry_run *out, struct error *error)
{
    const struct run_log_listener *listener = log ? log->listener : NULL;
    struct device *device;
    TRY(device_null.open("null", &device, error));
    struct executor *executor = executor_open(fun, device, NULL, NULL, policy);
    if (log) {
        run_log_open(log, 0, 0, executor_block_capacity(executor));
        log->listener = listener;
        run_log_restart(log);
    }
    int code = dry_run_on(executor, device, scalars, log, out, error);
    if (log)
        run_log_close(log);
    executor_close(executor);
    device->ops->close(device);
    return code;
}

int dry_run(const struct fun *fun, const struct arguments *scalars, enum release_policy policy,
            struct dry_run *out, struct error *error)
{
    return dry_run_told(fun, scalars, policy, NULL, out, error);
}

/* ---- merging --------------------------------------------------------------------------------- */

bool merging_counts(const char *spec)
{
    const struct merge_set *set;
    struct error ignored;
    unsigned extensions;
    if (merge_parse(spec, &set, &extensions, &ignored))
        return false;
    for (const struct merge_ops *const *pass = set->passes; *pass; pass++)
        if (strcmp((*pass)->name, "best") == 0 || strcmp((*pass)->name, "extended") == 0)
            return true;
    return false;
}

struct copy_counts dry_run_copies(const struct dry_run *run)
{
    struct copy_counts sum = {0};
    for (int k = 0; k < COPY_KINDS; k++) {
        sum.count += run->copy[k].count;
        sum.bytes += run->copy[k].bytes;
        sum.elided_count += run->copy[k].elided_count;
        sum.elided_bytes += run->copy[k].elided_bytes;
    }
    return sum;
}

static bool count_needs(void *scalars, const struct fun *fun, enum merge_hold hold,
                        struct merge_needs *needs)
{
    struct dry_run run;
    struct error ignored;
    if (dry_run(fun, scalars, hold == MERGE_HELD_TO_SCOPE_END ? RELEASE_SCOPE : RELEASE_LAST_USE,
                &run, &ignored))
        return false;
    const struct copy_counts copies = dry_run_copies(&run);
    *needs = (struct merge_needs){.peak_bytes = (int64_t)run.peak_requested_bytes,
                                  .copy_count = (int64_t)copies.count,
                                  .copied_bytes = (int64_t)copies.bytes,
                                  .alloc_count = (int64_t)run.alloc_count};
    return true;
}

int merging_run(const struct fun *fun, const char *spec, const struct arguments *scalars,
                enum release_policy policy, int64_t time_limit_ns, struct merge **merged,
                struct error *error)
{
    const struct merge_set *set;
    struct merge_options options = {.time_limit_ns = time_limit_ns,
                                    .hold = policy == RELEASE_SCOPE ? MERGE_HELD_TO_SCOPE_END
                                                                    : MERGE_HELD_TO_LAST_USE};
    TRY(merge_parse(spec, &set, &options.extensions, error));
    union scalar *values = must_alloc((fun->name_count + 1) * sizeof *values);
    for (unsigned i = 0; scalars && i < fun->param_count; i++) {
        const struct named_value *v = argument(scalars, fun->names[fun->params[i]].text);
        if (v && fun->names[fun->params[i]].kind == NAME_SCALAR)
            values[fun->params[i]] = v->scalar;
    }
    if (scalars) {
        options.values = values;
        options.readings = scalars;
        options.count = count_needs;
        options.count_context = (void *)scalars;
    }
    int code = merge_run(fun, set, &options, merged, error);
    free(values);
    return code;
}

/* ---- the report ------------------------------------------------------------------------------ */

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

/* The unmerged program runs with these scalars, so a merged one that does not run is wrong. */
static int count_row(struct merge_report_row *row, const struct arguments *scalars,
                     struct error *error)
{
    int code = dry_run(row->merge->fun, scalars, RELEASE_LAST_USE, &row->last_use, error);
    THEN(code, dry_run(row->merge->fun, scalars, RELEASE_SCOPE, &row->scope, error));
    if (code) {
        error_prefix(error, "merged by '%s' the program does not run: ", row->set);
        error->code = code = ERR_INTERNAL;
    }
    return code;
}

static int make_row(const struct merge_report *r, struct merge_report_row *row, const char *set,
                    const struct arguments *scalars, int64_t time_limit_ns, struct error *error)
{
    row->set = set;
    uint64_t start = clock_ns();
    int code = merging_run(r->fun, set, scalars, r->policy, time_limit_ns, &row->merge, error);
    row->planning_ns = clock_ns() - start;
    TRY(code);
    row->block_count = count_allocs(&row->merge->fun->body);
    return r->counted ? count_row(row, scalars, error) : 0;
}

uint64_t merge_report_peak(const struct merge_report *r, const struct merge_report_row *row)
{
    return (r->policy == RELEASE_SCOPE ? &row->scope : &row->last_use)->peak_requested_bytes;
}

static int find_best(struct merge_report *r, const struct arguments *scalars, int64_t time_limit_ns,
                     struct error *error)
{
    for (size_t i = 0; i < r->row_count; i++)
        if (strcmp(r->rows[i].set, "best") == 0) {
            r->best_bytes = merge_report_peak(r, &r->rows[i]);
            return 0;
        }
    struct merge_report_row best = {0};
    int code = make_row(r, &best, "best", scalars, time_limit_ns, error);
    r->best_bytes = merge_report_peak(r, &best);
    merge_free(best.merge);
    return code;
}

int merge_report_make(const struct fun *fun, const struct arguments *scalars,
                      const char *const *sets, size_t set_count, enum release_policy policy,
                      int64_t time_limit_ns, struct merge_report *report, struct error *error)
{
    *report = (struct merge_report){.fun = fun, .policy = policy};
    report->rows = must_alloc((set_count + 1) * sizeof *report->rows);
    struct dry_run unmerged;
    report->counted =
        scalars && !dry_run(fun, scalars, RELEASE_LAST_USE, &unmerged, &report->not_counted);
    int code = 0;
    for (size_t i = 0; i < set_count && !code; i++)
        code = make_row(report, &report->rows[report->row_count++], sets[i], scalars, time_limit_ns,
                        error);
    THEN(code, report->counted ? find_best(report, scalars, time_limit_ns, error) : 0);
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
