/* The chart of the isosurface experiment: what each method of getting memory takes and holds. Block 0
 * has a line a row: its place and name; time of a frame, host time blocked in it, bytes reserved
 * and used (NaN where unknown); the first three as texts; and the status if it is not ok. */
#include <math.h>

#include "record/result/case_tree.h"
#include "record/chart/matrix.h"
#include "record/result/experiment.h"
#include "record/chart/gnuplot.h"
#include "base/tree.h"

static const struct {
    const char *metric, *unit;
} numbers[] = {{"frame_ns", "ns"},
               {"blocked_ns", "ns"},
               {"peak_reserved_bytes", "bytes"},
               {"peak_used_bytes", "bytes"}};
enum { NUMBERS = sizeof numbers / sizeof *numbers, TEXTS = 3 };

static void print_row(const json_t *row, size_t place, FILE *out)
{
    const char *strategy = experiment_word(row, "strategy");
    const bool is_ok = case_is_ok(row);
    fprintf(out, "%zu \"%s%s%s\"", place, experiment_word(row, "method"),
            *strategy == '-' ? "" : " ", *strategy == '-' ? "" : strategy);
    for (size_t i = 0; i < NUMBERS; i++)
        data_number(case_stat(row, numbers[i].metric, "median"), out);
    for (size_t i = 0; i < TEXTS; i++) {
        struct text text = {0};
        experiment_value_text(case_stat(row, numbers[i].metric, "median"), numbers[i].unit, &text);
        fprintf(out, " \"%s\"", is_ok ? text.data : "");
        text_free(&text);
    }
    fprintf(out, " \"%s\"\n", is_ok ? "" : tree_get_text(row, "status"));
}

static void add_heading(const json_t *experiment, struct text *out)
{
    const json_t *options = json_object_get(experiment, "options");
    const double window = tree_get_number(options, "window");
    text_add(out, "a window of %.0f x %.0f x %.0f chunks of %.0f^3 cells, a layer a frame", window,
             window, window, tree_get_number(options, "cells"));
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    const json_t *experiment = experiment_find(of->root, "isosurface", of->device);
    struct text heading = {0};
    size_t i, known = 0;
    json_t *row;
    json_array_foreach(json_object_get(experiment, "rows"), i, row) known += case_is_ok(row);
    if (!known)
        return experiment_missing("isosurface", of->device, "", error);
    fprintf(data,
            "# gamut isosurface on %s\n# place name frame_ns blocked_ns reserved_bytes "
            "used_bytes texts status\n",
            of->device);
    json_array_foreach(json_object_get(experiment, "rows"), i, row) print_row(row, i, data);
    add_heading(experiment, &heading);
    gnuplot_variable(variables, "heading", heading.data);
    text_free(&heading);
    return 0;
}

const struct chart chart_isosurface = {
    .name = "isosurface",
    .help =
        "frame time, host time blocked and bytes held by method of getting memory of unknown size",
    .scope = CHART_OF_DEVICE,
    .write = write,
};
