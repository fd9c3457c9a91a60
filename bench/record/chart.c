#include "record/chart.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "record/case.h"
#include "record/gnuplot.h"
#include "record/result.h"
#include "record/tree.h"

enum chart { CHART_SPEEDUP, CHART_PEAK_MEMORY, CHART_MERGING, CHARTS };

static const char *const chart_names[] = {
#define X(name, help) #name,
    CHART_LIST(X)
#undef X
};

const char *chart_name(size_t i)
{
    return i < CHARTS ? chart_names[i] : NULL;
}

/* A list of different texts, in the order in which they were first seen. */
struct names {
    size_t count;
    char **name;
};

/* Its number, or the number of names. */
static size_t find_name(const struct names *names, const char *name)
{
    size_t i = 0;
    while (i < names->count && strcmp(names->name[i], name) != 0)
        i++;
    return i;
}

static size_t add_name(struct names *names, const char *name)
{
    size_t found = find_name(names, name);
    if (found < names->count)
        return found;
    names->name = must_realloc(names->name, (names->count + 1) * sizeof *names->name);
    names->name[names->count] = must_alloc(strlen(name) + 1);
    strcpy(names->name[names->count], name);
    return names->count++;
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->name[i]);
    free(names->name);
    *names = (struct names){0};
}

/* What a chart shows: clusters on the x axis, and a series of bars for each way to run. A cell is a
 * case, for the last cluster of a speed-up chart a geometric mean, or NULL; that of a merging chart
 * is made of the others. */
struct plan {
    enum chart chart;
    const json_t *root;
    const char *strategy; /* the only one that is shown, or NULL: all */
    struct names clusters, series;
    struct names skipped; /* ways to run of which some case was skipped */
    const json_t **cell;  /* [cluster * series.count + series] */
};

static const json_t *plan_cell(const struct plan *plan, size_t cluster, size_t series)
{
    return plan->cell[cluster * plan->series.count + series];
}

static bool varies(const json_t *root, const char *device, const char *name)
{
    const char *first = NULL;
    size_t i;
    json_t *one_case;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        const json_t *key = json_object_get(one_case, "key");
        if (strcmp(tree_get_text(key, "device"), device) != 0)
            continue;
        if (first && strcmp(first, tree_get_text(key, name)) != 0)
            return true;
        first = tree_get_text(key, name);
    }
    return false;
}

/* Which parts of a key are worth naming: those that differ between cases of the device. */
struct naming {
    bool dataset, merge, release;
};

static void cluster_name(const struct naming *naming, const json_t *key, struct text *out)
{
    text_add(out, "%s", tree_get_text(key, "workload"));
    if (naming->dataset)
        text_add(out, " %s", tree_get_text(key, "dataset"));
}

static void series_name(const struct plan *plan, const struct naming *naming, const json_t *key,
                        struct text *out)
{
    text_add(out, "%s", tree_get_text(key, plan->strategy ? "merge" : "strategy"));
    if (naming->merge && !plan->strategy)
        text_add(out, " %s", tree_get_text(key, "merge"));
    if (naming->release)
        text_add(out, " %s", tree_get_text(key, "release"));
}

static bool is_ok(const json_t *one_case)
{
    return strcmp(tree_get_text(one_case, "status"), case_status_name(CASE_ok)) == 0;
}

static bool is_skipped(const json_t *one_case)
{
    return strcmp(tree_get_text(one_case, "status"), case_status_name(CASE_skipped)) == 0;
}

static bool is_unmerged(const json_t *one_case)
{
    return strcmp(tree_get_text(json_object_get(one_case, "key"), "merge"), "none") == 0;
}

/* The bars of what everything is compared with would all be of height 1. */
static bool is_baseline(const struct plan *plan, const json_t *one_case)
{
    if (plan->chart == CHART_PEAK_MEMORY)
        return false;
    if (plan->chart == CHART_MERGING)
        return is_unmerged(one_case);
    const json_t *speedup = json_object_get(one_case, "speedup_over_raw");
    return strcmp(tree_get_text(speedup, "baseline"), tree_get_text(one_case, "id")) == 0;
}

/* Calls `use` with the place of each case of the device, or of each mean if `means`. */
typedef void use_cell(struct plan *plan, const json_t *cell, const char *cluster,
                      const char *series);

static void each_cell(struct plan *plan, const json_t *root, const char *device, bool means,
                      use_cell *use)
{
    const struct naming naming = {varies(root, device, "dataset"), varies(root, device, "merge"),
                                  varies(root, device, "release")};
    size_t i;
    json_t *cell;
    json_array_foreach(json_object_get(root, means ? "summary" : "cases"), i, cell)
    {
        const json_t *key = means ? cell : json_object_get(cell, "key");
        struct text cluster = {0}, series = {0};
        if (strcmp(tree_get_text(key, "device"), device) != 0 ||
            (plan->strategy && strcmp(tree_get_text(key, "strategy"), plan->strategy) != 0))
            continue;
        if (means)
            text_add(&cluster, "geometric mean");
        else
            cluster_name(&naming, key, &cluster);
        series_name(plan, &naming, key, &series);
        use(plan, cell, cluster.data, series.data);
        text_free(&cluster);
        text_free(&series);
    }
}

static void collect(struct plan *plan, const json_t *cell, const char *cluster, const char *series)
{
    add_name(&plan->clusters, cluster);
    if (!is_baseline(plan, cell))
        add_name(is_skipped(cell) ? &plan->skipped : &plan->series, series);
}

static void place(struct plan *plan, const json_t *cell, const char *cluster, const char *series)
{
    size_t known = plan->series.count, s = find_name(&plan->series, series);
    if (s < known)
        plan->cell[add_name(&plan->clusters, cluster) * known + s] = cell;
}

static struct plan plan_of(const json_t *root, enum chart chart, const char *device,
                           const char *strategy)
{
    struct plan plan = {.chart = chart, .root = root, .strategy = strategy};
    each_cell(&plan, root, device, false, collect);
    bool with_means = chart != CHART_PEAK_MEMORY && plan.clusters.count > 1;
    if (with_means)
        add_name(&plan.clusters, "geometric mean");
    plan.cell = must_alloc(plan.clusters.count * plan.series.count * sizeof(json_t *));
    each_cell(&plan, root, device, false, place);
    if (with_means && chart == CHART_SPEEDUP)
        each_cell(&plan, root, device, true, place);
    return plan;
}

static void free_plan(struct plan *plan)
{
    free_names(&plan->clusters);
    free_names(&plan->series);
    free_names(&plan->skipped);
    free(plan->cell);
}

static void print_number(double value, FILE *out)
{
    if (isnan(value))
        fputs(" NaN", out);
    else
        fprintf(out, " %.12g", value);
}

static void print_status(const json_t *cell, double value, FILE *out)
{
    const char *status = tree_get_text(cell, "status");
    if (!isnan(value)) {
        fputs(" ok\n", out);
    } else if (!*status || is_ok(cell)) {
        fputs(" n/a\n", out);
    } else {
        fputc(' ', out);
        for (; *status; status++)
            fputc(toupper((unsigned char)*status), out);
        fputc('\n', out);
    }
}

static void print_speedup(const json_t *cell, FILE *out)
{
    /* A mean is its own interval; a case carries one. */
    const json_t *speedup = json_object_get(cell, "speedup_over_raw");
    const json_t *interval = json_is_object(speedup) ? speedup : cell;
    print_number(tree_get_number(interval, "median"), out);
    print_number(tree_get_number(interval, "ci_lo"), out);
    print_number(tree_get_number(interval, "ci_hi"), out);
    print_status(cell, tree_get_number(interval, "median"), out);
}

/* The most of the cold and the warm run; NaN where it is not known. */
static double peak_of(const json_t *cell, const char *name)
{
    const json_t *counters = is_ok(cell) ? json_object_get(cell, "counters") : NULL;
    return fmax(tree_get_number(json_object_get(counters, "cold"), name),
                tree_get_number(json_object_get(counters, "warm"), name));
}

static void print_peaks(const json_t *cell, FILE *out)
{
    static const char *const names[] = {"peak_reserved_bytes", "peak_requested_bytes",
                                        "live_lower_bound_bytes"};
    double peak[3];
    for (int i = 0; i < 3; i++)
        peak[i] = peak_of(cell, names[i]);
    double bound = peak[2] > 0 ? peak[2] : NAN;
    print_number(peak[0] / bound, out);
    print_number(peak[1] / bound, out);
    print_number(peak[0], out);
    print_number(bound, out);
    print_status(cell, peak[0] / bound, out);
}

/* ---- merging: a case over the one that differs from it in the merge set alone ---------------- */

static const json_t *unmerged_of(const json_t *root, const json_t *one_case)
{
    static const char *const same[] = {"device", "workload", "dataset", "release", "strategy"};
    const json_t *key = json_object_get(one_case, "key");
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(root, "cases"), i, other)
    {
        bool found = is_unmerged(other);
        for (size_t s = 0; s < sizeof same / sizeof *same; s++)
            found &= strcmp(tree_get_text(key, same[s]),
                            tree_get_text(json_object_get(other, "key"), same[s])) == 0;
        if (found)
            return other;
    }
    return NULL;
}

static double peak_over(const json_t *cell, const json_t *unmerged)
{
    static const char requested[] = "peak_requested_bytes";
    const double bytes = peak_of(unmerged, requested);
    return bytes > 0 ? peak_of(cell, requested) / bytes : NAN;
}

static void print_merging(const struct plan *plan, const json_t *cell, FILE *out)
{
    const json_t *unmerged = unmerged_of(plan->root, cell);
    const struct statistics time = result_ratio(cell, unmerged);
    print_number(time.median, out);
    print_number(time.ci_lo, out);
    print_number(time.ci_hi, out);
    print_number(peak_over(cell, unmerged), out);
    print_status(cell, time.median, out);
}

/* Geometric means over the clusters that have both numbers. */
static void print_merging_mean(const struct plan *plan, size_t series, FILE *out)
{
    double *times = must_alloc(plan->clusters.count * sizeof *times);
    double *peaks = must_alloc(plan->clusters.count * sizeof *peaks);
    size_t count = 0;
    for (size_t c = 0; c + 1 < plan->clusters.count; c++) {
        const json_t *cell = plan_cell(plan, c, series);
        const json_t *unmerged = cell ? unmerged_of(plan->root, cell) : NULL;
        times[count] = result_ratio(cell, unmerged).median;
        peaks[count] = peak_over(cell, unmerged);
        count += !isnan(times[count]) && !isnan(peaks[count]);
    }
    const double time = statistics_geometric_mean(times, count);
    print_number(time, out);
    fputs(" NaN NaN", out);
    print_number(statistics_geometric_mean(peaks, count), out);
    print_status(NULL, time, out);
    free(times);
    free(peaks);
}

static void print_plan(const struct plan *plan, const char *device, FILE *out)
{
    static const char *const columns[CHARTS] = {
        "x speedup ci_lo ci_hi status",
        "x reserved/bound requested/bound reserved_bytes bound_bytes status",
        "x time ci_lo ci_hi peak status",
    };
    size_t series_count = plan->series.count;
    fprintf(out, "# gamut %s on %s%s%s\n# x label\n", chart_names[plan->chart], device,
            plan->strategy ? " under " : "", plan->strategy ? plan->strategy : "");
    for (size_t c = 0; c < plan->clusters.count; c++)
        fprintf(out, "%zu \"%s\"\n", c, plan->clusters.name[c]);
    for (size_t s = 0; s < series_count; s++) {
        fprintf(out, "\n\n# %s\n# %s\n", plan->series.name[s], columns[plan->chart]);
        for (size_t c = 0; c < plan->clusters.count; c++) {
            /* The bars of a cluster fill 0.8 of its place. */
            double offset = ((double)s - (double)(series_count - 1) / 2) * 0.8;
            fprintf(out, "%.6g", (double)c + offset / (double)series_count);
            const json_t *cell = plan_cell(plan, c, s);
            if (plan->chart == CHART_SPEEDUP)
                print_speedup(cell, out);
            else if (plan->chart == CHART_MERGING && c > 0 && c + 1 == plan->clusters.count)
                print_merging_mean(plan, s, out);
            else if (plan->chart == CHART_MERGING)
                print_merging(plan, cell, out);
            else
                print_peaks(cell, out);
        }
    }
}

static int find_chart(const char *name, enum chart *chart, struct error *error)
{
    for (int i = 0; i < CHARTS; i++)
        if (strcmp(name, chart_names[i]) == 0) {
            *chart = (enum chart)i;
            return 0;
        }
    struct text all = {0};
    for (int i = 0; i < CHARTS; i++)
        text_add(&all, "%s%s", i ? ", " : "", chart_names[i]);
    int rc =
        error_set(error, ERR_NOT_FOUND, "there is no chart \"%s\": there are %s", name, all.data);
    text_free(&all);
    return rc;
}

bool chart_is_of_one_strategy(const char *chart)
{
    return strcmp(chart, chart_names[CHART_MERGING]) == 0;
}

const char *chart_strategy(const json_t *root, const char *device, size_t i)
{
    struct names names = {0};
    const char *found = NULL;
    size_t c;
    json_t *one_case;
    json_array_foreach(json_object_get(root, "cases"), c, one_case)
    {
        const json_t *key = json_object_get(one_case, "key");
        if (strcmp(tree_get_text(key, "device"), device) == 0 &&
            add_name(&names, tree_get_text(key, "strategy")) == i && !found)
            found = tree_get_text(key, "strategy");
    }
    free_names(&names);
    return found;
}

static int make_plan(const json_t *root, const char *name, const char *device, const char *strategy,
                     struct plan *plan, struct error *error)
{
    enum chart chart = CHART_SPEEDUP;
    int rc = find_chart(name, &chart, error);
    if (rc)
        return rc;
    *plan = plan_of(root, chart, device, strategy);
    if (plan->series.count == 0) {
        free_plan(plan);
        return error_set(error, ERR_NOT_FOUND,
                         "the result has no case on %s for the chart %s to show", device, name);
    }
    return 0;
}

int chart_write(const json_t *root, const char *chart, const char *device, const char *strategy,
                FILE *out, struct error *error)
{
    struct plan plan;
    int rc = make_plan(root, chart, device, strategy, &plan, error);
    if (rc)
        return rc;
    print_plan(&plan, device, out);
    free_plan(&plan);
    if (fflush(out) != 0 || ferror(out))
        return error_set(error, ERR_IO, "the data of %s could not be written: %s", chart,
                         strerror(errno));
    return 0;
}

static int write_data(const struct plan *plan, const char *device, const char *path,
                      struct error *error)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return error_set(error, ERR_IO, "%s could not be made: %s", path, strerror(errno));
    print_plan(plan, device, file);
    bool failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return error_set(error, ERR_IO, "%s could not be written: %s", path, strerror(errno));
    return 0;
}

/* "; skipped: stream, vmm": what is no series, because none of its cases was run. */
static void add_skipped(const struct plan *plan, struct text *out)
{
    const char *before = "; skipped: ";
    for (size_t i = 0; i < plan->skipped.count; i++)
        if (find_name(&plan->series, plan->skipped.name[i]) == plan->series.count) {
            text_add(out, "%s%s", before, plan->skipped.name[i]);
            before = ", ";
        }
}

int chart_draw(const json_t *root, const char *chart, const char *device, const char *strategy,
               const char *scripts, const char *folder, struct text *made, struct error *error)
{
    struct plan plan;
    struct text name = {0}, data = {0}, script = {0}, variables = {0}, series = {0}, below = {0};
    int rc = make_plan(root, chart, device, strategy, &plan, error);
    if (rc)
        return rc;
    gnuplot_name(folder, chart, device, strategy, &name);
    text_add(&data, "%s.dat", name.data);
    text_add(&script, "%s/%s.gp", scripts, chart);
    for (size_t i = 0; i < plan.series.count; i++)
        text_add(&series, "\"%s\" ", plan.series.name[i]);
    gnuplot_caption(root, device, &below);
    add_skipped(&plan, &below);
    gnuplot_variable(&variables, "data", data.data);
    gnuplot_variable(&variables, "out", name.data);
    gnuplot_variable(&variables, "scripts", scripts);
    gnuplot_variable(&variables, "series", series.data);
    gnuplot_variable(&variables, "caption", below.data);
    gnuplot_variable(&variables, "strategy", strategy ? strategy : "");

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        rc = error_set(error, ERR_IO, "the folder %s could not be made: %s", folder,
                       strerror(errno));
    if (rc == 0)
        rc = write_data(&plan, device, data.data, error);
    if (rc == 0)
        rc = gnuplot_run(variables.data, script.data, data.data, error);
    if (rc == 0 && made)
        text_add(made, "%s", name.data);
    free_plan(&plan);
    struct text *texts[] = {&name, &data, &script, &variables, &series, &below};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_free(texts[i]);
    return rc;
}
