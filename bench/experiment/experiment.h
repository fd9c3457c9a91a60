/* An experiment: a measurement that no .mem program can express, because sizes are known to the
 * device alone, or the host works beside a queue. It uses device, allocators and kernels of its own
 * directly. What it measures is a table: a row for each combination of its parameters.
 *
 * An experiment is one file (or a few) that fills in one `const struct experiment` and stands in
 * list.h. The harness does the rest: options, devices, rounds in fresh processes, rows in an order
 * shuffled anew for each round, the result file, the table.
 */
#ifndef GAMUT_EXPERIMENT_EXPERIMENT_H
#define GAMUT_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"
#include "base/text.h"
#include "device/device.h"
#include "record/result/experiment_result.h"

enum { EXPERIMENT_API_VERSION = 1 };

enum {
    EXPERIMENT_PARAMETERS_MAX = 6,
    EXPERIMENT_METRICS_MAX = 24,
    EXPERIMENT_WORD_MAX = 128,
};

/* What it is run with. */
struct experiment_settings {
    struct option_values options; /* by the experiment's own table */
    const char *strategies;       /* allocators, "raw,pool:leading_bits=2"; checked */
    uint64_t seed;
    uint64_t capacity_bytes; /* sources refuse beyond this; 0: the driver decides */
};

/* A value for each parameter, in the order of the experiment's table. */
struct experiment_row {
    char word[EXPERIMENT_PARAMETERS_MAX][EXPERIMENT_WORD_MAX]; /* "" where it is a number */
    uint64_t number[EXPERIMENT_PARAMETERS_MAX];
};

struct experiment_plan {
    size_t count;
    struct experiment_row *rows; /* owned */
};

/* What one row gives in one round. */
struct experiment_record {
    size_t metric_count;
    struct {
        size_t count, room;
        double *values;
    } metric[EXPERIMENT_METRICS_MAX];
    char digest[17]; /* hexadecimal, of the answer; "" for none: see experiment_add_round */
};

/* Of a list of metrics X(name, unit, kind, better, help): `metrics`, their table, and their numbers
 * METRIC_name, of which there are METRICS. */
#define EXPERIMENT_METRIC_NUMBER(name, unit, kind, better, help) METRIC_##name,
#define EXPERIMENT_METRIC_INFO(name, unit, kind, better, help)                                     \
    {#name, UNIT_##unit, KIND_##kind, BETTER_##better, help},
#define EXPERIMENT_METRICS(LIST)                                                                   \
    enum metric { LIST(EXPERIMENT_METRIC_NUMBER) METRICS };                                        \
    static const struct counter_info metrics[] = {LIST(EXPERIMENT_METRIC_INFO)}

struct experiment {
    int version;
    const char *name;                              /* as on the command line */
    const char *summary;                           /* one line for `gamut list` */
    const struct option_spec *options;             /* up to a NULL name, or NULL */
    const struct experiment_parameter *parameters; /* up to a NULL name; at least one */
    /* KIND_EXACT: the same in every round. At most EXPERIMENT_METRICS_MAX. */
    const struct counter_info *metrics;
    size_t metric_count;

    /* Adds the rows for these settings, always the same ones. No device is open. */
    int (*plan)(const struct experiment_settings *settings, struct experiment_plan *plan,
                struct error *error);
    /* Prepares a device: kernels, calibration. On failure it leaves nothing behind. */
    int (*open)(struct device *device, const struct experiment_settings *settings, void **state,
                struct error *error);
    /* Measures a row and checks its answer. 0; ERR_UNSUPPORTED: the row is skipped, and why;
     * ERR_WRONG; ERR_OOM; other codes: an error. What was taken before a failure is dropped. Rows
     * come in any order, and each finds the device as open left it. */
    int (*measure)(void *state, const struct experiment_row *row, struct experiment_record *record,
                   struct error *error);
    void (*close)(void *state);
};

/* The experiments that exist, in the order of list.h. */
const struct experiment *const *experiment_list(size_t *count);

/* "isosurface:cells=32:frames=500". ERR_USAGE with what there is. */
int experiment_parse(const char *spec, const struct experiment **experiment,
                     struct option_values *options, struct error *error);

/* ---- for plan ---- */

/* A new row, all zeros; valid until the next call. */
struct experiment_row *experiment_add_row(struct experiment_plan *plan);
void experiment_plan_free(struct experiment_plan *plan);
/* The i-th strategy of the settings, copied to `out`. False after the last. */
bool experiment_strategy(const struct experiment_settings *settings, size_t i,
                         char out[EXPERIMENT_WORD_MAX]);

/* ---- for measure ---- */

/* Files a sample of a metric, by its place in the table; NaN (unknown) is dropped. A metric of
 * which nothing was taken is unknown. */
void experiment_take(struct experiment_record *record, size_t metric, double value);
void experiment_record_free(struct experiment_record *record);

/* ---- as a result has it ---- */

/* {"cells": 32, …, "strategies": "raw,pool", "capacity_bytes", "seed"}; the caller owns it. */
json_t *experiment_options_to_json(const struct experiment *experiment,
                                   const struct experiment_settings *settings);
json_t *experiment_key_to_json(const struct experiment *experiment,
                               const struct experiment_row *row);

#endif
