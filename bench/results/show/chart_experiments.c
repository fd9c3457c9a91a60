/* The charts of experiments. Each shows the rows of one experiment on a device that are ok. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "results/show/gnuplot.h"
#include "results/file/experiment_result.h"
#include "results/file/measured.h"

enum { METRICS_MOST = 4 };

/* The name of a row in a chart: one or two of its parameters. */
struct name_of {
    const char *first,
        *second; /* the second may be NULL; both: there is one name for all rows, "" */
};

/* A chart's `detail`: the experiment that it shows, and which of its numbers are lines. */
struct shown {
    const char *name; /* "heap-ops" */
    struct name_of panel,
        series; /* a panel for each value of these parameters; in it, a line for each */
    const char
        *x; /* parameter along the axis; NULL: N of the metrics op_N_ns, the sizes of batches */
    const char *metrics[METRICS_MOST + 1]; /* with x; then NULL */
};

/* An experiment without rows if the result has none of this name. */
static const struct result_experiment *experiment_of(const struct chart *chart,
                                                     const struct chart_subject *of)
{
    static const struct result_experiment none;
    const char *name = ((const struct shown *)chart->detail)->name;
    const struct result_experiment *found = result_experiment_of(of->result, name, of->device);
    return found ? found : &none;
}

/* 0, or ERR_NOT_FOUND where the chart has no row to show. */
static int check_any(const struct chart *chart, const struct chart_subject *of, size_t count,
                     struct error *error)
{
    const char *name = ((const struct shown *)chart->detail)->name;
    return count
               ? 0
               : error_set(error, ERR_NOT_FOUND,
                           "the result has no %s experiment of %s: `gamut experiment %s` makes one",
                           name, of->device, name);
}

/* The first row from the *i-th on that is ok; NULL after the last. *i becomes the next index. */
static const struct result_case *next_row(const struct result_experiment *experiment, size_t *i)
{
    while (*i < experiment->row_count) {
        const struct result_case *row = &experiment->rows[(*i)++];
        if (row->status == CASE_ok)
            return row;
    }
    return NULL;
}

/* Adds "64", "pool readback". Left out: the strategy "-" of a row without one. */
static void add_name(const struct result_case *row, struct name_of name, struct text *out)
{
    const char *const parameters[] = {name.first, name.second};
    const size_t begin = out->length;
    for (size_t i = 0; i < 2 && parameters[i]; i++) {
        const double number = experiment_number(row, parameters[i]);
        const char *word = experiment_word(row, parameters[i]);
        const char *before = out->length > begin ? " " : "";
        if (!isnan(number))
            text_add(out, "%s%.0f", before, number);
        else if (strcmp(word, "-") != 0)
            text_add(out, "%s%s", before, word);
    }
    text_add(out, "%s", ""); /* data must not be NULL */
}

/* The names of all rows, each once. */
static struct labels names_of(const struct result_experiment *experiment, struct name_of name)
{
    struct labels names = {0};
    const struct result_case *row;
    for (size_t i = 0; (row = next_row(experiment, &i));) {
        struct text text = {0};
        add_name(row, name, &text);
        labels_add(&names, text.data);
        text_free(&text);
    }
    return names;
}

static bool has_name(const struct result_case *row, struct name_of name, const char *expected)
{
    struct text text = {0};
    add_name(row, name, &text);
    const bool is_it = strcmp(text.data, expected) == 0;
    text_free(&text);
    return is_it;
}

/* ---- lines: a panel for each value of a parameter --------------------------------------------
 *
 * For each panel and each series a block, a line a point: its place on the axis, its value there,
 * and the medians of the metrics. */

/* The numbers N of the metrics op_N_ns, which are of batches of N commands. */
static struct labels batches_of(const struct result_experiment *experiment)
{
    struct labels batches = {0};
    for (size_t i = 0; i < experiment->metric_count; i++) {
        const char *name = experiment->metrics[i].name;
        unsigned long commands;
        char batch[32], expected[48];
        if (sscanf(name, "op_%lu", &commands) != 1)
            continue;
        snprintf(batch, sizeof batch, "%lu", commands);
        snprintf(expected, sizeof expected, "op_%s_ns", batch);
        if (strcmp(name, expected) == 0)
            labels_add(&batches, batch);
    }
    return batches;
}

static void print_point(const struct shown *shown, const struct result_case *row,
                        const struct labels *places, size_t place, FILE *out)
{
    fprintf(out, "%zu %s", place, places->name[place]);
    for (size_t m = 0; shown->x && shown->metrics[m]; m++)
        gnuplot_data(measured_stat(row, shown->metrics[m])->over.median, out);
    if (!shown->x) {
        char metric[48];
        snprintf(metric, sizeof metric, "op_%.32s_ns", places->name[place]);
        gnuplot_data(measured_stat(row, metric)->over.median, out);
    }
    fputc('\n', out);
}

static void print_row(const struct shown *shown, const struct result_case *row,
                      const struct labels *places, FILE *out)
{
    struct text name = {0};
    if (shown->x) {
        add_name(row, (struct name_of){shown->x, NULL}, &name);
        print_point(shown, row, places, labels_find(places, name.data), out);
        text_free(&name);
        return;
    }
    for (size_t place = 0; place < places->count; place++)
        print_point(shown, row, places, place, out);
}

static int lines_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                       struct text *variables, struct error *error)
{
    const struct shown *shown = chart->detail;
    const struct result_experiment *experiment = experiment_of(chart, of);
    const struct result_case *row;
    struct labels panels = names_of(experiment, shown->panel);
    struct labels series = names_of(experiment, shown->series);
    struct labels places =
        shown->x ? names_of(experiment, (struct name_of){shown->x, NULL}) : batches_of(experiment);
    gnuplot_comment(data, "gamut %s on %s", shown->name, of->device);
    for (size_t p = 0; p < panels.count; p++)
        for (size_t s = 0; s < series.count; s++) {
            gnuplot_comment(data, "%s %s, %s: place value medians", shown->panel.first,
                            panels.name[p], series.name[s]);
            for (size_t i = 0; (row = next_row(experiment, &i));)
                if (has_name(row, shown->panel, panels.name[p]) &&
                    has_name(row, shown->series, series.name[s]))
                    print_row(shown, row, &places, data);
            fputs("\n\n", data);
        }
    gnuplot_labels(variables, "panel_names", &panels);
    gnuplot_labels(variables, "series", &series);
    gnuplot_labels(variables, "place_names", &places);
    const int code = check_any(chart, of, places.count ? panels.count : 0, error);
    labels_free(&panels);
    labels_free(&series);
    labels_free(&places);
    return code;
}

const struct chart chart_stall = {
    .name = "stall",
    .help = "frame time with a read-back and with a heap on the device, and the claimed times",
    .scope = CHART_OF_DEVICE,
    .write = lines_write,
    /* "pool readback", or "heap" where no strategy takes part: the colour is the strategy's. */
    .detail = &(const struct shown){.name = "stall",
                                    .panel = {"host_work_ns", NULL},
                                    .series = {"strategy", "method"},
                                    .x = "spin_ns",
                                    .metrics = {"frame_ns", "claim_ns"}},
};

const struct chart chart_overflow = {
    .name = "overflow",
    .help = "how often a shared pool is too small against its size, measured and as claimed",
    .scope = CHART_OF_DEVICE,
    .write = lines_write,
    .detail = &(const struct shown){.name = "overflow",
                                    .panel = {"chunks", NULL},
                                    .x = "percent",
                                    .metrics = {"overflow_ratio", "drawn_ratio", "separate_ratio",
                                                "claim_ratio"}},
};

const struct chart chart_heap_ops = {
    .name = "heap_ops",
    .help = "time of an operation of the device heap against the size of a batch, by live blocks",
    .scope = CHART_OF_DEVICE,
    .write = lines_write,
    .detail = &(const struct shown){.name = "heap-ops",
                                    .panel = {"live_blocks", NULL},
                                    .series = {"policy", NULL}},
};

/* ---- isosurface: time and bytes of each method of getting memory -----------------------------
 *
 * A line a row of the experiment: its number and name; time of a frame, host time blocked in it,
 * bytes reserved and used (NaN where unknown); the first three as texts; and the status if it is
 * not ok. */

static void print_isosurface_row(const struct result_case *row, size_t number, FILE *out)
{
    static const char *const metrics[] = {"frame_ns", "blocked_ns", "peak_reserved_bytes",
                                          "peak_used_bytes"};
    static const enum counter_unit units[] = {
        UNIT_NS, UNIT_NS, UNIT_BYTES}; /* units of those that are printed as texts too */
    const bool is_ok = row->status == CASE_ok;
    struct text name = {0};
    add_name(row, (struct name_of){"method", "strategy"}, &name);
    fprintf(out, "%zu", number);
    gnuplot_data_text(name.data, out);
    text_free(&name);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        gnuplot_data(measured_stat(row, metrics[i])->over.median, out);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct text text = {0};
        experiment_value_text(measured_stat(row, metrics[i])->over.median, units[i], &text);
        gnuplot_data_text(is_ok ? text.data : "", out);
        text_free(&text);
    }
    gnuplot_data_text(is_ok ? "" : case_status_name(row->status), out);
    fputc('\n', out);
}

static int isosurface_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                            struct text *variables, struct error *error)
{
    const struct result_experiment *experiment = experiment_of(chart, of);
    const json_t *options = experiment->options;
    const double window = tree_get_number(options, "window");
    struct text heading = {0};
    size_t first = 0;
    gnuplot_comment(data, "gamut isosurface on %s", of->device);
    gnuplot_comment(data, "place name frame_ns blocked_ns reserved_bytes used_bytes texts status");
    for (size_t i = 0; i < experiment->row_count; i++)
        print_isosurface_row(&experiment->rows[i], i, data);
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
    .detail = &(const struct shown){.name = "isosurface"},
};
