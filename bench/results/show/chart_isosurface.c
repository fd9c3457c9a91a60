/* The chart of the isosurface experiment: time and bytes of each method of getting memory.
 *
 * A line a row of the experiment: its number and name; time of a frame, host time blocked in it,
 * bytes reserved and used (NaN where unknown); the first three as texts; and the status if it is
 * not ok. */

#include <string.h>

#include "base/tree.h"
#include "results/show/gnuplot.h"
#include "results/file/experiment_result.h"
#include "results/file/measured.h"

/* Adds "pool readback". Left out: the strategy "-" of a row without one. */
static void add_name(const struct result_case *row, struct text *out)
{
    const char *strategy = experiment_word(row, "strategy");
    text_add(out, "%s", experiment_word(row, "method"));
    if (strcmp(strategy, "-") != 0)
        text_add(out, "%s%s", out->length ? " " : "", strategy);
}

static void print_row(const struct result_case *row, size_t number, FILE *out)
{
    static const char *const metrics[] = {"frame_ns", "blocked_ns", "peak_reserved_bytes",
                                          "peak_used_bytes"};
    static const enum counter_unit units[] = {
        UNIT_NS, UNIT_NS, UNIT_BYTES}; /* units of those that are printed as texts too */
    const bool is_ok = row->status == CASE_ok;
    struct text name = {0};
    add_name(row, &name);
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
    const struct result_experiment *experiment =
        result_experiment_of(of->result, chart->name, of->device);
    bool is_any = false;
    for (size_t i = 0; experiment && i < experiment->row_count; i++)
        is_any |= experiment->rows[i].status == CASE_ok;
    if (!is_any)
        return error_set(error, ERR_NOT_FOUND,
                         "the result has no %s experiment of %s: `gamut experiment %s` makes one",
                         chart->name, of->device, chart->name);
    const double window = tree_get_number(experiment->options, "window");
    struct text heading = {0};
    gnuplot_comment(data, "gamut isosurface on %s", of->device);
    gnuplot_comment(data, "place name frame_ns blocked_ns reserved_bytes used_bytes texts status");
    for (size_t i = 0; i < experiment->row_count; i++)
        print_row(&experiment->rows[i], i, data);
    text_add(&heading, "a window of %.0f × %.0f × %.0f chunks of %.0f³ cells, a layer a frame",
             window, window, window, tree_get_number(experiment->options, "cells"));
    gnuplot_variable(variables, "heading", heading.data);
    text_free(&heading);
    return 0;
}

const struct chart chart_isosurface = {
    .name = "isosurface",
    .help =
        "frame time, host time blocked and bytes held by method of getting memory of unknown size",
    .scope = CHART_OF_DEVICE,
    .write = isosurface_write,
};
