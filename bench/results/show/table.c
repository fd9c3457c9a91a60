#include "results/show/table.h"
#include "results/show/text_grid.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "results/file/answer.h"
#include "results/file/draft.h"
#include "results/file/measured.h"
#include "base/tree.h"

/* Prints what was run, on which devices, and what is the same in every row. */
static void print_preface(const struct result *result, const struct text_grid *grid,
                          const char *line_end, FILE *out)
{
    const struct result_run *run = &result->run;
    const struct record_tool *tool = &result->context.tool;
    char rounds[48];
    fprintf(out, "gamut %s, rev %.12s%s, %s, %s, seed %" PRIu64 ", run %s%s", tool->version,
            tool->git_rev ? tool->git_rev : "unknown", tool->git_dirty > 0 ? "-dirty" : "",
            run->started_at, text_count(rounds, run->rounds, "round"), run->seed,
            run_status_name(run->status), line_end);
    for (size_t i = 0; i < result->context.device_count; i++) {
        const struct record_device *device = &result->context.devices[i];
        fprintf(out, "%s: %s%s%s", device->id, device->name, *device->driver ? ", driver " : "",
                device->driver);
        if (!isnan(device->copy_bytes_per_second))
            fprintf(out, ", copies %.1f GB/s", device->copy_bytes_per_second / 1e9);
        fputs(line_end, out);
    }
    text_grid_print_once(grid, line_end, out);
}

static void print_warnings(const struct result *result, FILE *out)
{
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        char name[MEASURED_WORDS];
        measured_words(name, one);
        if (one->status == CASE_ok && one->check == CHECK_NONE)
            fprintf(out, "! %s: unchecked: no reference says whether the answer is right\n", name);
        for (size_t w = 0; w < one->warning_count; w++)
            fprintf(out, "! %s: %s: %s\n", name, one->warnings[w].code, one->warnings[w].detail);
    }
}

/* Short runs do not count: they are mostly noise. */
void table_print_model(const struct result *result, FILE *out)
{
    const double long_ns = 200e3, close = 0.10, near = 0.15;
    size_t count = 0, close_count = 0, near_count = 0, explained_count = 0, with_interval = 0;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        const double error = one->model ? one->model->error : NAN;
        const double unexplained = measured_unexplained(one);
        if (isnan(error) || !(measured_wall_ns(one) > long_ns))
            continue;
        count++;
        close_count += fabs(error) <= close;
        near_count += fabs(error) <= near;
        with_interval += !isnan(unexplained);
        explained_count += fabs(error) > close && unexplained == 0;
    }
    if (!count)
        return;
    fprintf(out, "cost model: of %zu cases above 200 µs %zu within 10 %%, %zu within 15 %%", count,
            close_count, near_count);
    if (with_interval)
        fprintf(out, "; %zu more within the interval of their rounds", explained_count);
    fputs("\n", out);
}

/* A line for each reason why cases have no prediction though one was asked for. */
static void print_unpredicted(const struct result *result, FILE *out)
{
    const size_t most = 8;
    const char *why_not, *name;
    json_t *reasons = tree_object(), *names, *is_there;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        if (!one->model || !one->model->why_not || one->status != CASE_ok)
            continue;
        names = json_object_get(reasons, one->model->why_not);
        if (!names)
            tree_put(reasons, one->model->why_not, names = tree_object());
        tree_put(names, one->key.workload, json_true());
    }
    json_object_foreach(reasons, why_not, names)
    {
        const char *before = "not predicted: ";
        if (json_object_size(names) > most)
            fprintf(out, "%s%zu workloads", before, json_object_size(names));
        else
            json_object_foreach(names, name, is_there)
            {
                fprintf(out, "%s%s", before, name);
                before = ", ";
            }
        fprintf(out, ": %s\n", why_not);
    }
    json_decref(reasons);
}

static void print_verdict(const struct result *result, FILE *out)
{
    size_t counts[CASE_STATUSES], total = result->case_count;
    const char *before = "";
    result_status_counts(result, counts);
    fprintf(out, "%zu case%s: ", total, total == 1 ? "" : "s");
    for (size_t s = 0; s < CASE_STATUSES; s++)
        if (counts[s] > 0) {
            fprintf(out, "%s%zu %s", before, counts[s], case_status_name((enum case_status)s));
            before = ", ";
        }
    fputs(total ? "\n" : "none was run\n", out);
    table_print_model(result, out);
    print_unpredicted(result, out);
    if (result->run.rounds < 6 && (total == 0 || result_has_times(result, NULL)))
        fprintf(out, "No intervals: they need at least 6 rounds.\n");
}

/* "raw", or "tlsf on host, pool on opencl:0" */
static void print_against(const struct answer *answer, FILE *out)
{
    const char *common = answer_against(answer), *before = "";
    const bool has_common = strcmp(common, ANSWER_SEVERAL) != 0;
    if (has_common)
        fputs(common, out);
    for (size_t i = 0; i < answer->device_count && !has_common; i++) {
        if (!*answer->devices[i].against)
            continue;
        fprintf(out, "%s%s on %s", before, answer->devices[i].against, answer->devices[i].device);
        before = ", ";
    }
}

/* Says what the ratios are: the two times beside them have another ratio. */
static void print_footnote(const struct result *result, FILE *out)
{
    bool has_ratio = false;
    for (size_t i = 0; !has_ratio && i < result->case_count; i++)
        has_ratio = measured_speedup(&result->cases[i])->count > 1;
    if (!has_ratio)
        return;
    fputs("vs ", out);
    print_against(&result->answer, out);
    fputs(": paired by round, so not the ratio of the two medians\n", out);
}

static void print_people(const struct result *result, enum table_format format,
                         enum table_show show, FILE *out)
{
    const bool markdown = format == TABLE_MARKDOWN;
    struct text_grid grid = table_grid_of(result, markdown ? SHAPE_FLAT : SHAPE_GROUPED, show);
    struct terminal_page page;
    terminal_page_open(&page, out);
    print_preface(result, &grid, markdown ? "  \n" : "\n", page.out);
    fputc('\n', page.out);
    if (markdown || grid.row_count)
        text_grid_print(&grid, format, &page.terminal, page.out);
    fputc('\n', page.out);
    print_footnote(result, page.out);
    print_warnings(result, page.out);
    print_verdict(result, page.out);
    terminal_page_close(&page);
    suite_table_print(result, format, out);
    terminal_page_open(&page, out);
    answer_print(&result->answer, markdown ? "\n" : "", "\n", page.out);
    terminal_page_close(&page);
    text_grid_free(&grid);
}

/* ---- CSV: one line a case and metric, so that any table tool can group and plot it ---------- */

static void add_row(struct text_grid *grid, const struct result *result,
                    const struct result_case *one, const char *metric, const char *unit,
                    const char *kind)
{
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", result->version);
    text_grid_add(grid, "%s", one->id);
#define X(member) text_grid_add(grid, "%s", one->key.member);
    CASE_KEY_ALL_LIST(X)
#undef X
    text_grid_add(grid, "%s", case_status_name(one->status));
    text_grid_add(grid, "%s", metric);
    text_grid_add(grid, "%s", unit);
    text_grid_add(grid, "%s", kind);
}

static void add_interval(struct text_grid *grid, const struct statistics *s)
{
    text_grid_add_exact(grid, s->median);
    text_grid_add_exact(grid, s->ci_lo);
    text_grid_add_exact(grid, s->ci_hi);
}

static void add_metric(struct text_grid *grid, const struct result *result,
                       const struct result_case *one, const struct counter_info *metric)
{
    const struct result_stat *stat = measured_stat(one, metric->name);
    const bool is_sampled = metric->kind == KIND_SAMPLED;
    add_row(grid, result, one, metric->name, counter_unit_name(metric->unit),
            is_sampled ? "sampled" : "exact");
    if (is_sampled) {
        add_interval(grid, &stat->over);
        text_grid_add_exact(grid, stat->cold_median);
    } else {
        text_grid_add_exact(grid, counter_value(measured_warm(one), metric->name));
        text_grid_skip(grid, 2);
        text_grid_add_exact(grid, counter_value(measured_cold(one), metric->name));
    }
}

static void add_number(struct text_grid *grid, const struct result *result,
                       const struct result_case *one, const char *metric, const char *unit,
                       const char *kind, double value)
{
    add_row(grid, result, one, metric, unit, kind);
    text_grid_add_exact(grid, value);
}

static void add_case(struct text_grid *grid, const struct result *result,
                     const struct result_case *one)
{
    if (one->status != CASE_ok) {
        add_row(grid, result, one, "", "", "");
        return;
    }
    for (size_t i = 0; i < result->metric_count; i++)
        add_metric(grid, result, one, &result->metrics[i]);
#define X(name, help)                                                                              \
    if (one->model)                                                                                \
        add_number(grid, result, one, "model." #name, "ns", "sampled", one->model->name);
    MODEL_LIST(X)
#undef X
    if (one->speedup) {
        add_row(grid, result, one, "speedup", "ratio", "sampled");
        add_interval(grid, &one->speedup->over);
    }
    add_row(grid, result, one, "speedup_over_raw", "ratio", "sampled");
    add_interval(grid, &one->speedup_over_raw.over);
    add_number(grid, result, one, "peak_over_best", "ratio", "exact", one->peak_over_best);
    add_number(grid, result, one, "floor_ns", "ns", "sampled", one->floor_ns);
    add_number(grid, result, one, "of_floor", "ratio", "sampled", one->of_floor);
}

/* Columns: schema_version, id, workload, dataset, merge, release, strategy, device, residency,
 * status, metric, unit, kind, value, ci_lo, ci_hi, cold. `value` is the median over rounds of a
 * sampled metric or the warm count of an exact one, `cold` the same of the first run on a fresh
 * allocator. What is unknown is empty. A case that is not ok has one line with an empty metric.
 * Besides the metrics of the counter list there are speedup_over_raw, peak_over_best, floor_ns and
 * of_floor, and `speedup` where ratios are over another baseline. */
static void csv_print(const struct result *result, FILE *out)
{
#define X(member) "|" #member
    struct text_grid grid = text_grid_of(
        "schema_version|id" CASE_KEY_ALL_LIST(X) "|status|metric|unit|kind|value|ci_lo|ci_hi|cold");
#undef X
    for (size_t i = 0; i < result->case_count; i++)
        add_case(&grid, result, &result->cases[i]);
    text_grid_print(&grid, TABLE_CSV, NULL, out);
    text_grid_free(&grid);
}

/* ---- all formats ----------------------------------------------------------------------------- */

int table_print_history(const struct result *results, size_t count, FILE *out, struct error *error)
{
    export_otava(results, count, out);
    return text_flush(out, error);
}

int table_print(const struct result *result, enum table_format format, enum table_show show,
                FILE *out, struct error *error)
{
    int code = 0;
    switch (format) {
    case TABLE_TEXT:
    case TABLE_MARKDOWN:
        print_people(result, format, show, out);
        break;
    case TABLE_CSV:
        csv_print(result, out);
        break;
    case TABLE_JSON:
        code = result_print(result, out, error);
        break;
    case TABLE_JSON_LINES:
        export_lines(result, out);
        break;
    case TABLE_GOOGLE_BENCHMARK:
        export_google_benchmark(result, out);
        break;
    case TABLE_BMF:
        export_bmf(result, out);
        break;
    case TABLE_OTAVA:
        export_otava(result, 1, out);
        break;
    case TABLE_FORMATS:
        return error_set(error, ERR_INTERNAL, "there is no such format");
    }
    return code ? code : text_flush(out, error);
}
