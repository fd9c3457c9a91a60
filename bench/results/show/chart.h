/* Charts of a result. For each, gamut writes a data file and a script, and runs gnuplot on them.
 *
 * A chart is made of three things: a writer, in one of the files chart_*.c, which decides what
 * numbers it shows; a script of the chart's name, plots/<name>.gp, which alone decides how it
 * looks; and a line in the list below. */
#pragma once

#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "results/file/result.h"

/* The scope of one picture of a chart: a device, or a strategy on a device. */
enum chart_scope { CHART_OF_DEVICE, CHART_OF_STRATEGY };

/* The subject of one picture. Everything is borrowed from the result. */
struct chart_subject {
    const struct result *result;
    const char *device;   /* a case key's `device` */
    const char *strategy; /* for CHART_OF_STRATEGY, else NULL */
};

struct chart {
    const char *name; /* also the name of its script, and the beginning of its files' names */
    const char *help; /* one line, the title of the chart in lists and reports */
    enum chart_scope scope;
    /* Writes the data, and adds the variables that the script reads (gnuplot.h); the script puts
     * the variable `note` after the caption. ERR_NOT_FOUND if the result has nothing to show:
     * the message says what it lacks. ERR_USAGE if one picture cannot show everything: the message
     * says how to choose. */
    int (*write)(const struct chart *chart, const struct chart_subject *of, FILE *data,
                 struct text *variables, struct error *error);
    const void *detail; /* settings of this chart, for a writer of several charts; else NULL */
};

/* The charts, in the order in which they are listed and drawn. */
#define CHART_LIST(X)                                                                              \
    X(speedup)                                                                                     \
    X(peak_memory)                                                                                 \
    X(held)                                                                                        \
    X(merging)                                                                                     \
    X(time)                                                                                        \
    X(pareto)                                                                                      \
    X(atlas)                                                                                       \
    X(cost)                                                                                        \
    X(isosurface)                                                                                  \
    X(capacity)                                                                                    \
    X(regret)

#define X(name) extern const struct chart chart_##name;
CHART_LIST(X)
#undef X

/* The chart with index i, from 0; NULL after the last. */
const struct chart *chart_at(size_t i);
/* Finds a chart by its name. The message of ERR_NOT_FOUND names the nearest one and all others. */
int chart_find(const char *name, const struct chart **chart, struct error *error);

/* Lists the subjects that a result has for a chart, in the order of the result, and returns their
 * count; the caller frees *subjects. `device`: only those of this device; NULL: all. A chart of a
 * device has every device of the result as a subject, with or without cases. */
size_t chart_subjects(const struct chart *chart, const struct result *result, const char *device,
                      struct chart_subject **subjects);

/* Writes the data of a chart to `data` and adds its variables to `variables`, as chart_draw puts
 * them into its files. The errors of the chart's `write`, and ERR_IO. */
int chart_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                struct text *variables, struct error *error);

struct chart_options {
    const char *scripts;   /* the folder plots/ */
    const char *folder;    /* for the files; chart_draw makes it if it is missing */
    const char *terminals; /* any of "svg", "png" and "dumb", separated by spaces */
    unsigned columns;      /* width of the text terminal, for dumb */
};

/* Writes <folder>/<chart>-<device>[-…].dat and .gp and runs gnuplot, which puts the images into the
 * same folder; `gnuplot <name>.gp` draws them there again. A dumb chart goes to stdout, and if
 * nothing else is asked for, no file is left. Adds the files' common path without a suffix to
 * `made` (may be NULL). Without gnuplot: ERR_UNSUPPORTED with what to do; data and script stay. */
int chart_draw(const struct chart *chart, const struct chart_subject *of,
               const struct chart_options *options, struct text *made, struct error *error);
