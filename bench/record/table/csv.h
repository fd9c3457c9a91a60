/* Tidy CSV: one line a case and metric, so that any table tool can group and plot it. */
#ifndef GAMUT_RECORD_CSV_H
#define GAMUT_RECORD_CSV_H

#include <jansson.h>
#include <stdio.h>

/* Columns: schema_version, id, workload, dataset, merge, release, strategy, device, residency,
 * status, metric, unit, kind, value, ci_lo, ci_hi, cold. `value` is the median over rounds of a
 * sampled metric or the warm count of an exact one, `cold` the same of the first run on a fresh
 * allocator. What is unknown is empty. A case that is not ok has one line with an empty metric.
 * Besides the metrics of the counter list there are speedup_over_raw, peak_over_best, floor_ns and
 * of_floor. */
void csv_print(const json_t *root, FILE *out);

#endif
