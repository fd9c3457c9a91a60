/* Charts of a result: the numbers as a data file, a script, and gnuplot run on both.
 *
 * A chart is a writer, in a file record/chart_*.c, which decides what is in it, a script of the
 * same name, plots/<name>.gp, which alone decides how it looks, and a line in the list below. */
#ifndef GAMUT_RECORD_CHART_H
#define GAMUT_RECORD_CHART_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"

/* What one picture is of. Each has a device; those of a workload mean one dataset of it. */
enum chart_scope { CHART_OF_DEVICE, CHART_OF_STRATEGY, CHART_OF_WORKLOAD, CHART_OF_CASE };

/* One such thing. Everything is borrowed from the result. */
struct chart_subject {
    const json_t *root;             /* the result */
    const char *device;             /* a case key's `device` */
    const char *strategy;           /* from CHART_OF_STRATEGY and _OF_CASE, else NULL */
    const char *workload, *dataset; /* from CHART_OF_WORKLOAD and _OF_CASE, else NULL */
    const json_t *one_case;         /* from CHART_OF_CASE, else NULL */
};

struct chart {
    const char *name; /* of the chart, of plots/<name>.gp, and what its files begin with */
    const char *help; /* one line */
    enum chart_scope scope;
    bool on_request; /* only drawn when asked for by name: there would be too many */
    /* Writes the data, and adds gnuplot_variable()s that the script reads; `note`, if set, is added
     * to the caption. ERR_NOT_FOUND: the result has nothing for it to show, and what it lacks;
     * ERR_USAGE: more than can be read in one picture, and how to choose. */
    int (*write)(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error);
};

/* The charts, in the order in which they are listed and drawn. */
#define CHART_LIST(X)                                                                              \
    X(speedup)                                                                                     \
    X(peak_memory)                                                                                 \
    X(peak_reduction)                                                                              \
    X(merging)                                                                                     \
    X(time)                                                                                        \
    X(matrix)                                                                                      \
    X(matrix_memory)                                                                               \
    X(pareto)                                                                                      \
    X(stability)                                                                                   \
    X(atlas)                                                                                       \
    X(cost)                                                                                        \
    X(isosurface)                                                                                  \
    X(stall)                                                                                       \
    X(overflow)                                                                                    \
    X(heap_ops)                                                                                    \
    X(heap_utilisation)                                                                            \
    X(memory_timeline)                                                                             \
    X(address_map)                                                                                 \
    X(latency)

#define X(name) extern const struct chart chart_##name;
CHART_LIST(X)
#undef X

/* The i-th chart; NULL after the last. */
const struct chart *chart_at(size_t i);
/* ERR_NOT_FOUND names the nearest one and what there is. */
int chart_find(const char *name, const struct chart **chart, struct error *error);

/* The subjects of a chart in a result, in its order; the caller frees *subjects. Every device of
 * the result is one, with or without cases. */
size_t chart_subjects(const struct chart *chart, const json_t *root,
                      struct chart_subject **subjects);

/* Writes the data and the variables of a chart, as chart_draw has them in its files, to `data` and
 * `variables`. Also ERR_IO. */
int chart_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                struct text *variables, struct error *error);

struct chart_options {
    const char *scripts;   /* the folder plots/ */
    const char *folder;    /* where the files go; made if it is missing */
    const char *terminals; /* "svg png dumb" or fewer of them, separated by spaces */
    unsigned columns;      /* of the text terminal, for dumb */
};

/* Writes <folder>/<chart>-<device>[-…].dat and .gp, which `gnuplot <name>.gp` draws again there,
 * and has gnuplot make the images beside them; a dumb chart goes to stdout, and if nothing else is
 * asked for, no file is left. Adds the files' common path without a suffix to `made` (may be NULL).
 * Without gnuplot: ERR_UNSUPPORTED with what to do; data and script stay. */
int chart_draw(const struct chart *chart, const struct chart_subject *of,
               const struct chart_options *options, struct text *made, struct error *error);

#endif
