/* The charts of experiments. Each shows the rows of one experiment on a device that are ok, and
 * most have a panel for each value of one parameter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/chart/gnuplot.h"
#include "record/chart/rows.h"
#include "record/result/experiment_result.h"

/* A chart's `detail`: the experiment that it shows. */
struct shown {
    const char *name;    /* "heap-ops" */
    const char *options; /* options of the command that runs it: "" or " -D host" */
};

static const json_t *experiment_of(const struct chart *chart, const struct chart_subject *of)
{
    return experiment_find(of->root, ((const struct shown *)chart->detail)->name, of->device);
}

/* 0, or ERR_NOT_FOUND where the chart has no row to show. */
static int check_any(const struct chart *chart, const struct chart_subject *of, size_t count,
                     struct error *error)
{
    const struct shown *shown = chart->detail;
    return count ? 0 : experiment_missing(shown->name, of->device, shown->options, error);
}

/* The first row from the *i-th on that is ok; NULL after the last. *i becomes the next index. */
static const json_t *next_row(const json_t *experiment, size_t *i)
{
    const json_t *row;
    while ((row = json_array_get(json_object_get(experiment, "rows"), (*i)++)))
        if (case_is_ok(row))
            return row;
    return NULL;
}

/* The name of a row in a chart: one or two of its parameters. */
struct name_of {
    const char *first, *second; /* the second may be NULL */
};

/* Adds "64", "pool readback". Left out: the strategy "-" of a row without one, and the padding
 * "tight", which is the usual one. */
static void add_name(const json_t *row, struct name_of name, struct text *out)
{
    const char *const parameters[] = {name.first, name.second};
    const size_t begin = out->length;
    for (size_t i = 0; i < 2 && parameters[i]; i++) {
        const double number = experiment_number(row, parameters[i]);
        const char *word = experiment_word(row, parameters[i]);
        const char *before = out->length > begin ? " " : "";
        if (!isnan(number))
            text_add(out, "%s%.0f", before, number);
        else if (strcmp(word, "-") != 0 && strcmp(word, "tight") != 0)
            text_add(out, "%s%s", before, word);
    }
    text_add(out, "%s", ""); /* data must not be NULL */
}

/* The names of all rows, each once. */
static struct labels names_of(const json_t *experiment, struct name_of name)
{
    struct labels names = {0};
    const json_t *row;
    for (size_t i = 0; (row = next_row(experiment, &i));) {
        struct text text = {0};
        add_name(row, name, &text);
        labels_add(&names, text.data);
        text_free(&text);
    }
    return names;
}

static bool has_name(const json_t *row, struct name_of name, const char *expected)
{
    struct text text = {0};
    add_name(row, name, &text);
    const bool is_it = strcmp(text.data, expected) == 0;
    text_free(&text);
    return is_it;
}

/* Prints the median of each metric of the row, and a line feed; NaN for a row that is NULL. */
static void print_medians(const json_t *row, const char *const metrics[], size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++)
        gnuplot_data(case_stat(row, metrics[i], "median"), out);
    fputc('\n', out);
}

/* ---- stall: time of a frame over the longer of what the host and the device do in it ----------
 *
 * A row (rows.h) for each amount of the host's work and of queued work. The reference is the longer of the two,
 * which is what a frame takes that never waits. The mark is the claim for a read-back: the sum of both. */

/* "pool readback", or "heap" where no strategy takes part: the colour is the strategy's. */
static const struct name_of stall_series = {"strategy", "method"};

/* The values of a parameter, each once, in ascending order. */
struct values {
    size_t count;
    double *value;
};

static struct values values_of(const json_t *experiment, const char *parameter)
{
    struct values all = {0};
    const json_t *row;
    for (size_t i = 0; (row = next_row(experiment, &i));) {
        const double value = experiment_number(row, parameter);
        size_t at = 0;
        while (at < all.count && all.value[at] < value)
            at++;
        if (at < all.count && all.value[at] == value)
            continue;
        all.value = must_realloc(all.value, (all.count + 1) * sizeof value);
        memmove(all.value + at + 1, all.value + at, (all.count++ - at) * sizeof value);
        all.value[at] = value;
    }
    return all;
}

static const json_t *stall_row(const json_t *experiment, const char *series, double work_ns,
                               double spin_ns)
{
    const json_t *row;
    for (size_t i = 0; (row = json_array_get(json_object_get(experiment, "rows"), i)); i++)
        if (has_name(row, stall_series, series) &&
            experiment_number(row, "host_work_ns") == work_ns &&
            experiment_number(row, "spin_ns") == spin_ns)
            return row;
    return NULL;
}

static void stall_numbers(const json_t *row, double longer_ns, struct row_numbers *numbers)
{
    *numbers = (struct row_numbers){.measure = {{case_stat(row, "frame_ns", "median") / longer_ns,
                                                 case_stat(row, "frame_ns", "ci_lo") / longer_ns,
                                                 case_stat(row, "frame_ns", "ci_hi") / longer_ns}},
                                    .reference = longer_ns,
                                    .mark = NAN};
}

/* The cells of one row of the chart. */
static void stall_cells(const json_t *experiment, const struct labels *series, double work_ns,
                        double spin_ns, struct row_numbers *numbers, const json_t **status)
{
    double claim = NAN;
    for (size_t s = 0; s < series->count; s++) {
        status[s] = stall_row(experiment, series->name[s], work_ns, spin_ns);
        stall_numbers(status[s], fmax(work_ns, spin_ns), &numbers[s]);
        claim = fmax(claim, case_stat(status[s], "claim_ns", "median"));
    }
    for (size_t s = 0; s < series->count; s++)
        numbers[s].mark = claim / fmax(work_ns, spin_ns);
}

static int stall_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                       struct text *variables, struct error *error)
{
    static const struct rows_style style = {
        .measures = 1, .less_is_better = true, .in_order = true, .reference_text = text_ns};
    const json_t *experiment = experiment_of(chart, of);
    struct labels series = names_of(experiment, stall_series), names = {0};
    struct values spins = values_of(experiment, "spin_ns");
    struct values works = values_of(experiment, "host_work_ns");
    const size_t most = works.count * spins.count * series.count;
    struct row_numbers *cell = must_alloc((most + 1) * sizeof *cell);
    const json_t **status = must_alloc((most + 1) * sizeof *status);
    for (size_t w = 0; w < works.count; w++)
        for (size_t s = 0; s < spins.count; s++) {
            const double work_ns = works.value[w], spin_ns = spins.value[s];
            char work[32], spin[32], name[80];
            if (fmax(work_ns, spin_ns) <= 0)
                continue;
            snprintf(name, sizeof name, "host %s, queued %s",
                     work_ns ? text_ns(work, work_ns) : "0",
                     spin_ns ? text_ns(spin, spin_ns) : "0");
            const size_t row = labels_add(&names, name);
            stall_cells(experiment, &series, work_ns, spin_ns, &cell[row * series.count],
                        &status[row * series.count]);
        }
    gnuplot_comment(data, "gamut stall on %s", of->device);
    const struct rows_table table = {.style = &style,
                                     .rows = &names,
                                     .columns = &series,
                                     .row_count = names.count,
                                     .cell = cell,
                                     .status = status};
    int code = check_any(chart, of, names.count ? series.count : 0, error);
    if (code == 0)
        code = rows_print(chart->name, of->device, &table, data, variables, error);
    labels_free(&names);
    labels_free(&series);
    free(spins.value);
    free(works.value);
    free(cell);
    free(status);
    return code;
}

const struct chart chart_stall = {
    .name = "stall",
    .help = "frame time with a read-back and with a heap on the device, and the claimed times",
    .scope = CHART_OF_DEVICE,
    .write = stall_write,
    .detail = &(const struct shown){"stall", ""},
};

/* ---- isosurface: time and bytes of each method of getting memory -----------------------------
 *
 * A line a row of the experiment: its number and name; time of a frame, host time blocked in it,
 * bytes reserved and used (NaN where unknown); the first three as texts; and the status if it is
 * not ok. */

static void print_isosurface_row(const json_t *row, size_t number, FILE *out)
{
    static const char *const metrics[] = {"frame_ns", "blocked_ns", "peak_reserved_bytes",
                                          "peak_used_bytes"};
    static const char *const units[] = {"ns", "ns",
                                        "bytes"}; /* units of those that are printed as texts too */
    const bool is_ok = case_is_ok(row);
    struct text name = {0};
    add_name(row, (struct name_of){"method", "strategy"}, &name);
    fprintf(out, "%zu", number);
    gnuplot_data_text(name.data, out);
    text_free(&name);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        gnuplot_data(case_stat(row, metrics[i], "median"), out);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct text text = {0};
        experiment_value_text(case_stat(row, metrics[i], "median"), units[i], &text);
        gnuplot_data_text(is_ok ? text.data : "", out);
        text_free(&text);
    }
    gnuplot_data_text(is_ok ? "" : tree_get_text(row, "status"), out);
    fputc('\n', out);
}

static int isosurface_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                            struct text *variables, struct error *error)
{
    const json_t *experiment = experiment_of(chart, of), *row;
    const json_t *options = json_object_get(experiment, "options");
    const double window = tree_get_number(options, "window");
    struct text heading = {0};
    size_t first = 0;
    gnuplot_comment(data, "gamut isosurface on %s", of->device);
    gnuplot_comment(data, "place name frame_ns blocked_ns reserved_bytes used_bytes texts status");
    for (size_t i = 0; (row = json_array_get(json_object_get(experiment, "rows"), i)); i++)
        print_isosurface_row(row, i, data);
    text_add(&heading, "a window of %.0f × %.0f × %.0f chunks of %.0f³ cells, a layer a frame",
             window, window, window, tree_get_number(options, "cells"));
    gnuplot_variable(variables, "heading", heading.data);
    text_free(&heading);
    return check_any(chart, of, next_row(experiment, &first) != NULL, error);
}

const struct chart chart_isosurface = {
    .name = "isosurface",
    .help =
        "frame time, host time blocked and bytes held by method of getting memory of unknown size",
    .scope = CHART_OF_DEVICE,
    .write = isosurface_write,
    .detail = &(const struct shown){"isosurface", ""},
};

/* ---- overflow: how often a pool is too small against its size --------------------------------
 *
 * A panel for each number of chunks that share the pool, a block a panel: percent of the mean
 * demand, then the chance of an overflow: measured, with sizes drawn one by one, with separate
 * buffers, and as claimed. */

static const struct name_of overflow_chunks = {"chunks", NULL};

static int overflow_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                          struct text *variables, struct error *error)
{
    static const char *const metrics[] = {"overflow_ratio", "drawn_ratio", "separate_ratio",
                                          "claim_ratio"};
    const json_t *experiment = experiment_of(chart, of), *row;
    struct labels chunks = names_of(experiment, overflow_chunks);
    gnuplot_comment(data, "gamut overflow on %s", of->device);
    gnuplot_comment(data, "percent overflow_ratio drawn_ratio separate_ratio claim_ratio");
    for (size_t c = 0; c < chunks.count; c++) {
        fputs(c ? "\n\n" : "", data);
        for (size_t i = 0; (row = next_row(experiment, &i));)
            if (has_name(row, overflow_chunks, chunks.name[c])) {
                fprintf(data, "%.0f", experiment_number(row, "percent"));
                print_medians(row, metrics, sizeof metrics / sizeof *metrics, data);
            }
    }
    gnuplot_labels(variables, "chunks", &chunks);
    const int code = check_any(chart, of, chunks.count, error);
    labels_free(&chunks);
    return code;
}

const struct chart chart_overflow = {
    .name = "overflow",
    .help = "how often a shared pool is too small against its size, measured and as claimed",
    .scope = CHART_OF_DEVICE,
    .write = overflow_write,
    .detail = &(const struct shown){"overflow", ""},
};

/* ---- heap_ops: time of an operation of the device heap against the size of a batch ------------
 *
 * A panel for each number of live blocks. For each panel and each policy a block: number of the
 * batch on the axis, and time of an operation. */

static const struct name_of heap_live = {"live_blocks", NULL}, heap_policy = {"policy", NULL};

/* The metrics op_N_ns are of batches of N commands: their names and the sizes. */
static void find_batches(const json_t *experiment, struct labels *metrics, struct labels *batches)
{
    const char *name;
    json_t *metric;
    json_object_foreach(json_object_get(experiment, "metrics"), name, metric)
    {
        unsigned long commands;
        char batch[32], expected[48];
        if (sscanf(name, "op_%lu", &commands) != 1)
            continue;
        snprintf(batch, sizeof batch, "%lu", commands);
        snprintf(expected, sizeof expected, "op_%s_ns", batch);
        if (strcmp(name, expected) != 0)
            continue;
        labels_add(batches, batch);
        labels_add(metrics, name);
    }
}

static const json_t *heap_ops_row(const json_t *experiment, const char *live, const char *policy)
{
    const json_t *row;
    for (size_t i = 0; (row = json_array_get(json_object_get(experiment, "rows"), i)); i++)
        if (has_name(row, heap_live, live) && has_name(row, heap_policy, policy))
            return row;
    return NULL;
}

static int heap_ops_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                          struct text *variables, struct error *error)
{
    const json_t *experiment = experiment_of(chart, of);
    struct labels live = names_of(experiment, heap_live), metrics = {0}, batches = {0};
    struct labels policies = names_of(experiment, heap_policy);
    find_batches(experiment, &metrics, &batches);
    gnuplot_comment(data, "gamut heap-ops on %s", of->device);
    for (size_t l = 0; l < live.count; l++)
        for (size_t p = 0; p < policies.count; p++) {
            const json_t *row = heap_ops_row(experiment, live.name[l], policies.name[p]);
            gnuplot_comment(data, "live_blocks %s, %s: place op_ns", live.name[l],
                            policies.name[p]);
            for (size_t i = 0; i < batches.count; i++) {
                fprintf(data, "%zu", i);
                print_medians(row, (const char *const *)&metrics.name[i], 1, data);
            }
            fputs("\n\n", data);
        }
    gnuplot_labels(variables, "series", &policies);
    gnuplot_labels(variables, "live", &live);
    gnuplot_labels(variables, "batches", &batches);
    const int code = check_any(chart, of, batches.count ? policies.count : 0, error);
    struct labels *all[] = {&live, &policies, &metrics, &batches};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        labels_free(all[i]);
    return code;
}

const struct chart chart_heap_ops = {
    .name = "heap_ops",
    .help = "time of an operation of the device heap against the size of a batch, by live blocks",
    .scope = CHART_OF_DEVICE,
    .write = heap_ops_write,
    .detail = &(const struct shown){"heap-ops", ""},
};

/* ---- heap_utilisation: how full an arena of the device heap gets ------------------------------
 *
 * A panel for each distribution of sizes, a bar for each policy. A block a panel: number of the
 * policy, the mean share that is filled, and the least. */

static const struct name_of heap_sizes = {"sizes", NULL};
static const struct name_of heap_padded_policy = {"policy", "padding"}; /* "tlsf", "tlsf seed" */

static int heap_utilisation_write(const struct chart *chart, const struct chart_subject *of,
                                  FILE *data, struct text *variables, struct error *error)
{
    static const char *const metrics[] = {"filled_ratio", "least_filled_ratio"};
    const json_t *experiment = experiment_of(chart, of), *row;
    struct labels sizes = names_of(experiment, heap_sizes);
    struct labels series = names_of(experiment, heap_padded_policy);
    gnuplot_comment(data, "gamut heap-utilisation on %s", of->device);
    for (size_t s = 0; s < sizes.count; s++) {
        gnuplot_comment(data, "%s: place filled_ratio least_filled_ratio", sizes.name[s]);
        for (size_t i = 0; (row = next_row(experiment, &i));) {
            struct text name = {0};
            if (!has_name(row, heap_sizes, sizes.name[s]))
                continue;
            add_name(row, heap_padded_policy, &name);
            fprintf(data, "%zu", labels_find(&series, name.data));
            print_medians(row, metrics, 2, data);
            text_free(&name);
        }
        fputs("\n\n", data);
    }
    gnuplot_labels(variables, "sizes", &sizes);
    gnuplot_labels(variables, "series", &series);
    const int code = check_any(chart, of, sizes.count, error);
    labels_free(&sizes);
    labels_free(&series);
    return code;
}

const struct chart chart_heap_utilisation = {
    .name = "heap_utilisation",
    .help = "how full an arena of the device heap gets before a request fails, by policy",
    .scope = CHART_OF_DEVICE,
    .write = heap_utilisation_write,
    .detail = &(const struct shown){"heap-utilisation", " -D host"},
};
