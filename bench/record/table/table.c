#include "record/table/table.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "record/facts/case.h"
#include "record/result/answer.h"
#include "record/result/case_tree.h"
#include "record/result/result.h"
#include "record/table/export.h"
#include "record/table/suite_table.h"
#include "record/table/table_grid.h"
#include "base/tree.h"

/* Prints what was run, on which devices, and what is the same in every row. */
static void print_preface(const json_t *root, const struct text_grid *grid, const char *line_end,
                          FILE *out)
{
    const json_t *run = json_object_get(root, "run"), *context = json_object_get(root, "context");
    const json_t *tool = json_object_get(context, "tool"), *device;
    const char *rev = tree_get_text(tool, "git_rev");
    char rounds[48];
    fprintf(out, "gamut %s, rev %.12s%s, %s, %s, seed %.0f, run %s%s",
            tree_get_text(tool, "version"), *rev ? rev : "unknown",
            json_is_true(json_object_get(tool, "git_dirty")) ? "-dirty" : "",
            tree_get_text(run, "started_at"),
            text_count(rounds, tree_get_number(run, "rounds"), "round"),
            tree_get_number(run, "seed"), tree_get_text(run, "status"), line_end);
    for (size_t i = 0; (device = json_array_get(json_object_get(context, "devices"), i)); i++) {
        double rate = tree_get_number(device, "copy_bytes_per_second");
        const char *driver = tree_get_text(device, "driver");
        fprintf(out, "%s: %s%s%s", tree_get_text(device, "id"), tree_get_text(device, "name"),
                *driver ? ", driver " : "", driver);
        if (!isnan(rate))
            fprintf(out, ", copies %.1f GB/s", rate / 1e9);
        fputs(line_end, out);
    }
    text_grid_print_once(grid, line_end, out);
}

static void print_warnings(const json_t *root, FILE *out)
{
    size_t i, j;
    json_t *one_case, *warning;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        char name[512];
        case_words(name, one_case);
        if (case_is_ok(one_case) &&
            strcmp(tree_get_text(one_case, "check"), case_check_name(CHECK_NONE)) == 0)
            fprintf(out, "! %s: unchecked: no reference says whether the answer is right\n", name);
        json_array_foreach(json_object_get(one_case, "warnings"), j, warning)
            fprintf(out, "! %s: %s: %s\n", name, tree_get_text(warning, "code"),
                    tree_get_text(warning, "detail"));
    }
}

/* Short runs do not count: they are mostly noise. */
void table_print_model(const json_t *root, FILE *out)
{
    const double long_ns = 200e3, close = 0.10, near = 0.15;
    size_t i, count = 0, close_count = 0, near_count = 0, explained_count = 0, with_interval = 0;
    json_t *one_case;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        double error = tree_get_number(json_object_get(one_case, "model"), "error");
        double unexplained = case_model_unexplained(one_case);
        if (isnan(error) || !(case_stat(one_case, "wall_ns", "median") > long_ns))
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
static void print_unpredicted(const json_t *root, FILE *out)
{
    const size_t most = 8;
    size_t i;
    const char *why_not, *name;
    json_t *one_case, *reasons = tree_object(), *names, *is_there;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        why_not = tree_get_text(json_object_get(one_case, "model"), "why_not");
        if (!*why_not || !case_is_ok(one_case))
            continue;
        names = json_object_get(reasons, why_not);
        if (!names)
            tree_put(reasons, why_not, names = tree_object());
        tree_put(names, tree_get_text(json_object_get(one_case, "key"), "workload"), json_true());
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

static void print_verdict(const json_t *root, FILE *out)
{
    size_t counts[CASE_STATUSES], total = json_array_size(json_object_get(root, "cases"));
    double rounds = tree_get_number(json_object_get(root, "run"), "rounds");
    const char *before = "";
    result_status_counts(root, counts);
    fprintf(out, "%zu case%s: ", total, total == 1 ? "" : "s");
    for (size_t s = 0; s < CASE_STATUSES; s++)
        if (counts[s] > 0) {
            fprintf(out, "%s%zu %s", before, counts[s], case_status_name((enum case_status)s));
            before = ", ";
        }
    fputs(total ? "\n" : "none was run\n", out);
    table_print_model(root, out);
    print_unpredicted(root, out);
    if (rounds < 6 && (total == 0 || case_some_has_time(root, NULL)))
        fprintf(out, "No intervals: they need at least 6 rounds.\n");
}

/* "raw", or "tlsf on host, pool on opencl:0" */
static void print_against(const json_t *answer, FILE *out)
{
    const char *common = answer_against(answer), *before = "";
    size_t i;
    json_t *device;
    if (strcmp(common, ANSWER_SEVERAL) != 0)
        fputs(common, out);
    json_array_foreach((json_t *)answer, i, device)
    {
        if (strcmp(common, ANSWER_SEVERAL) != 0 || !*tree_get_text(device, "against"))
            continue;
        fprintf(out, "%s%s on %s", before, tree_get_text(device, "against"),
                tree_get_text(device, "device"));
        before = ", ";
    }
}

/* Says what the ratios are: the two times beside them have another ratio. */
static void print_footnote(const json_t *root, const json_t *answer, FILE *out)
{
    const json_t *cases = json_object_get(root, "cases"), *one_case;
    bool has_ratio = false;
    for (size_t i = 0; !has_ratio && (one_case = json_array_get(cases, i)); i++)
        has_ratio = tree_get_number(case_speedup(one_case), "rounds") > 1;
    if (!has_ratio)
        return;
    fputs("vs ", out);
    print_against(answer, out);
    fputs(": paired by round, so not the ratio of the two medians\n", out);
}

static void print_people(const json_t *root, enum table_format format, FILE *out)
{
    const bool markdown = format == TABLE_MARKDOWN;
    struct text_grid grid = table_grid_of(root, markdown ? SHAPE_FLAT : SHAPE_GROUPED);
    json_t *answer = answer_of(root, NULL);
    struct terminal_page page;
    terminal_page_open(&page, out);
    print_preface(root, &grid, markdown ? "  \n" : "\n", page.out);
    fputc('\n', page.out);
    if (markdown || grid.row_count)
        text_grid_print(&grid, format, &page.terminal, page.out);
    fputc('\n', page.out);
    print_footnote(root, answer, page.out);
    print_warnings(root, page.out);
    print_verdict(root, page.out);
    terminal_page_close(&page);
    suite_table_print(root, format, out);
    terminal_page_open(&page, out);
    answer_print(answer, markdown ? "\n" : "", "\n", page.out);
    terminal_page_close(&page);
    json_decref(answer);
    text_grid_free(&grid);
}

/* ---- CSV: one line a case and metric, so that any table tool can group and plot it ---------- */

static const char *const key_members[] = {
#define X(member) #member,
    CASE_KEY_ALL_LIST(X)
#undef X
};

static void add_row(struct text_grid *grid, const json_t *root, const json_t *one_case,
                    const char *metric, const char *unit, const char *kind)
{
    const json_t *key = json_object_get(one_case, "key");
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", tree_get_text(json_object_get(root, "schema"), "version"));
    text_grid_add(grid, "%s", tree_get_text(one_case, "id"));
    for (size_t i = 0; i < sizeof key_members / sizeof *key_members; i++)
        text_grid_add(grid, "%s", tree_get_text(key, key_members[i]));
    text_grid_add(grid, "%s", tree_get_text(one_case, "status"));
    text_grid_add(grid, "%s", metric);
    text_grid_add(grid, "%s", unit);
    text_grid_add(grid, "%s", kind);
}

static void add_interval(struct text_grid *grid, const json_t *stats)
{
    text_grid_add_json(grid, json_object_get(stats, "median"));
    text_grid_add_json(grid, json_object_get(stats, "ci_lo"));
    text_grid_add_json(grid, json_object_get(stats, "ci_hi"));
}

static void add_metric(struct text_grid *grid, const json_t *root, const json_t *one_case,
                       const char *name, const json_t *metric)
{
    const char *kind = tree_get_text(metric, "kind");
    const json_t *stats = json_object_get(json_object_get(one_case, "stats"), name);
    const json_t *counters = json_object_get(one_case, "counters");
    add_row(grid, root, one_case, name, tree_get_text(metric, "unit"), kind);
    if (strcmp(kind, "sampled") == 0) {
        add_interval(grid, stats);
        text_grid_add_json(grid, json_object_get(stats, "cold_median"));
    } else {
        text_grid_add_json(grid, json_object_get(json_object_get(counters, "warm"), name));
        text_grid_skip(grid, 2);
        text_grid_add_json(grid, json_object_get(json_object_get(counters, "cold"), name));
    }
}

static void add_case(struct text_grid *grid, const json_t *root, const json_t *one_case)
{
    static const char *const predictions[][2] = {
#define X(name, help) {#name, "model." #name},
        MODEL_LIST(X)
#undef X
    };
    static const struct {
        const char *name, *unit, *kind;
    } others[] = {{"peak_over_best", "ratio", "exact"},
                  {"floor_ns", "ns", "sampled"},
                  {"of_floor", "ratio", "sampled"}};
    const json_t *model = json_object_get(one_case, "model");
    const char *name;
    json_t *metric;
    if (!case_is_ok(one_case)) {
        add_row(grid, root, one_case, "", "", "");
        return;
    }
    json_object_foreach(json_object_get(root, "metrics"), name, metric)
        add_metric(grid, root, one_case, name, metric);
    for (size_t i = 0; i < sizeof predictions / sizeof *predictions && json_is_object(model); i++) {
        add_row(grid, root, one_case, predictions[i][1], "ns", "sampled");
        text_grid_add_json(grid, json_object_get(model, predictions[i][0]));
    }
    if (json_object_get(one_case, "speedup")) {
        add_row(grid, root, one_case, "speedup", "ratio", "sampled");
        add_interval(grid, json_object_get(one_case, "speedup"));
    }
    add_row(grid, root, one_case, "speedup_over_raw", "ratio", "sampled");
    add_interval(grid, json_object_get(one_case, "speedup_over_raw"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add_row(grid, root, one_case, others[i].name, others[i].unit, others[i].kind);
        text_grid_add_json(grid, json_object_get(one_case, others[i].name));
    }
}

/* Columns: schema_version, id, workload, dataset, merge, release, strategy, device, residency,
 * status, metric, unit, kind, value, ci_lo, ci_hi, cold. `value` is the median over rounds of a
 * sampled metric or the warm count of an exact one, `cold` the same of the first run on a fresh
 * allocator. What is unknown is empty. A case that is not ok has one line with an empty metric.
 * Besides the metrics of the counter list there are speedup_over_raw, peak_over_best, floor_ns and
 * of_floor, and `speedup` where ratios are over another baseline. */
static void csv_print(const json_t *root, FILE *out)
{
#define X(member) "|" #member
    struct text_grid grid = text_grid_of(
        "schema_version|id" CASE_KEY_ALL_LIST(X) "|status|metric|unit|kind|value|ci_lo|ci_hi|cold");
#undef X
    size_t i;
    json_t *one_case;
    json_array_foreach(json_object_get(root, "cases"), i, one_case) add_case(&grid, root, one_case);
    text_grid_print(&grid, TABLE_CSV, NULL, out);
    text_grid_free(&grid);
}

/* ---- all formats ----------------------------------------------------------------------------- */

int table_print_history(const json_t *const *roots, size_t count, FILE *out, struct error *error)
{
    export_otava(roots, count, out);
    return text_flush(out, error);
}

int table_print(const json_t *root, enum table_format format, FILE *out, struct error *error)
{
    int code = 0;
    switch (format) {
    case TABLE_TEXT:
    case TABLE_MARKDOWN:
        print_people(root, format, out);
        break;
    case TABLE_CSV:
        csv_print(root, out);
        break;
    case TABLE_JSON:
        code = result_print(root, out, error);
        break;
    case TABLE_JSON_LINES:
        export_lines(root, out);
        break;
    case TABLE_GOOGLE_BENCHMARK:
        export_google_benchmark(root, out);
        break;
    case TABLE_BMF:
        export_bmf(root, out);
        break;
    case TABLE_OTAVA:
        export_otava(&root, 1, out);
        break;
    case TABLE_FORMATS:
        return error_set(error, ERR_INTERNAL, "there is no such format");
    }
    return code ? code : text_flush(out, error);
}
