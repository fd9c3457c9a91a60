/* Charts of a result: the numbers as a data file, and gnuplot run on it. How a chart looks is in
 * plots/<name>.gp alone; what is in it is decided here. */
#ifndef GAMUT_RECORD_CHART_H
#define GAMUT_RECORD_CHART_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"

/* X(name, help) */
#define CHART_LIST(X)                                                                              \
    X(speedup, "wall time of raw over that of each strategy, by workload, with intervals")         \
    X(peak_memory, "peak reserved memory over the live lower bound, by workload")                  \
    X(merging, "time and peak requested bytes of each merge set over those of none, by workload")

/* The name of the i-th chart; NULL after the last. */
const char *chart_name(size_t i);

/* Some charts are of one strategy each: the i-th that the device has cases of, NULL after the last.
 * Others show them all: NULL for i = 0. */
bool chart_is_of_one_strategy(const char *chart);
const char *chart_strategy(const json_t *root, const char *device, size_t i);

/* Writes the data of one chart for one device (a case key's `device`), and for one strategy where
 * the chart is of one (else `strategy` is NULL). Blocks are separated by two blank lines, as
 * gnuplot's `index` wants it. Block 0: the position and label of each cluster. Then one block a way
 * to run of which not all cases were skipped, a line a cluster, its own position first:
 *
 *   speedup      x speedup ci_lo ci_hi status
 *   peak_memory  x reserved/bound requested/bound reserved_bytes bound_bytes status
 *   merging      x time ci_lo ci_hi peak status
 *
 * NaN stands for what is not known; status is ok, n/a or the case's status in capitals.
 * ERR_NOT_FOUND for an unknown chart, or where the device has no case the chart could show. */
int chart_write(const json_t *root, const char *chart, const char *device, const char *strategy,
                FILE *out, struct error *error);

/* Writes <folder>/<chart>-<device>[-<strategy>].dat and has gnuplot make .svg and .png beside it
 * with <scripts>/<chart>.gp; adds their common name without the suffix to `made` (may be NULL).
 * Makes the folder. Without gnuplot: ERR_UNSUPPORTED with what to do; the data file stays. */
int chart_draw(const json_t *root, const char *chart, const char *device, const char *strategy,
               const char *scripts, const char *folder, struct text *made, struct error *error);

#endif
