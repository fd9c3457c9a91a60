/* The charts of experiments. Each shows the rows of one experiment on a device that are ok. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "results/show/gnuplot.h"
#include "results/file/experiment_result.h"
#include "results/file/measured.h"

/* The name of a row in a chart: one or two of its parameters; the second may be NULL. */
struct name_of {
    const char *first, *second;
};

/* The experiment of the chart's name; without rows if the result has none. */
static const struct result_experiment *experiment_of(const struct chart *chart,
                                                     const struct chart_subject *of)
{
    static const struct result_experiment none;
    const struct result_experiment *found =
        result_experiment_of(of->result, chart->name, of->device);
    return found ? found : &none;
}

/* 0, or ERR_NOT_FOUND where the chart has no row to show. */
static int check_any(const struct chart *chart, const struct chart_subject *of, size_t count,
                     struct error *error)
{
    return count
               ? 0
               : error_set(error, ERR_NOT_FOUND,
                           "the result has no %s experiment of %s: `gamut experiment %s` makes one",
                           chart->name, of->device, chart->name);
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

/* ---- stall: a panel for each amount of host work -----------------------------------------------
 *
 * For each panel and each series a block, a line a point: its place on the axis, its value there,
 * and the medians of the metrics. */

static const struct name_of panel_name = {"host_work_ns", NULL};
/* "pool readback", or "heap" where no strategy takes part: the colour is the strategy's. */
static const struct name_of series_name = {"strategy", "method"};
static const struct name_of place_name = {"spin_ns", NULL};

static void print_point(const struct result_case *row, const struct labels *places, FILE *out)
{
    struct text name = {0};
    add_name(row, place_name, &name);
    fprintf(out, "%zu %s", labels_find(places, name.data), name.data);
    gnuplot_data(measured_stat(row, "frame_ns")->over.median, out);
    gnuplot_data(measured_stat(row, "claim_ns")->over.median, out);
    fputc('\n', out);
    text_free(&name);
}

static int stall_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                       struct text *variables, struct error *error)
{
    const struct result_experiment *experiment = experiment_of(chart, of);
    const struct result_case *row;
    struct labels panels = names_of(experiment, panel_name);
    struct labels series = names_of(experiment, series_name);
    struct labels places = names_of(experiment, place_name);
    gnuplot_comment(data, "gamut stall on %s", of->device);
    for (size_t p = 0; p < panels.count; p++)
        for (size_t s = 0; s < series.count; s++) {
            gnuplot_comment(data, "%s %s, %s: place value medians", panel_name.first,
                            panels.name[p], series.name[s]);
            for (size_t i = 0; (row = next_row(experiment, &i));)
                if (has_name(row, panel_name, panels.name[p]) &&
                    has_name(row, series_name, series.name[s]))
                    print_point(row, &places, data);
            fputs("\n\n", data);
        }
    gnuplot_labels(variables, "panel_names", &panels);
    gnuplot_labels(variables, "series", &series);
    gnuplot_labels(variables, "place_names", &places);
    const int code = check_any(chart, of, panels.count, error);
    labels_free(&panels);
    labels_free(&series);
    labels_free(&places);
    return code;
}

const struct chart chart_stall = {
    .name = "stall",
    .help = "frame time with a read-back and with a heap on the device, and the claimed times",
    .scope = CHART_OF_DEVICE,
    .write = stall_write,
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
};
