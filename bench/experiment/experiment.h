/* An experiment: a measurement that no .mem program can express, because only the device knows a
 * size, or because the host works while the device does. It uses device, allocators and its own
 * kernels directly. It measures a table: a row for each combination of its parameters.
 *
 * An experiment is one file (or a few) that fills in one `const struct experiment` and is listed in
 * list.h. The harness does the rest: options, devices, rounds in fresh processes, an order of rows
 * that is shuffled for each round, the result file, the table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"
#include "device/device.h"
#include "results/file/experiment_result.h"

enum {
    EXPERIMENT_PARAMETERS_MAX = 6,
    EXPERIMENT_METRICS_MAX = 24,
    EXPERIMENT_WORD_MAX = 128,
};

struct experiment_settings {
    struct option_values options; /* values for the experiment's own table */
    const char *strategies;       /* allocators, "raw,pool:leading_bits=2"; checked */
    uint64_t seed;
    uint64_t capacity_bytes; /* sources refuse beyond this; 0: the driver decides */
};

/* The key of a row: a value for each parameter, in the order of experiment->parameters. */
struct experiment_row {
    char word[EXPERIMENT_PARAMETERS_MAX][EXPERIMENT_WORD_MAX];
};

struct experiment_plan {
    size_t count;
    struct experiment_row *rows; /* owned */
};

/* The samples of one row in one round. */
struct experiment_record {
    struct experiment_values {
        unsigned count, room;
        double *values;
    } metric[EXPERIMENT_METRICS_MAX];
    char digest[17]; /* digest of the answer, hexadecimal; "" for none: see experiment_add_round */
};

/* For a list of metrics X(name, unit, kind, better, help) defines their table `metrics` and their
 * numbers METRIC_name, of which there are METRICS. */
#define EXPERIMENT_METRIC_NUMBER(name, unit, kind, better, help) METRIC_##name,
#define EXPERIMENT_METRIC_INFO(name, unit, kind, better, help)                                     \
    {#name, UNIT_##unit, KIND_##kind, BETTER_##better, help},
#define EXPERIMENT_METRICS(LIST)                                                                   \
    enum metric { LIST(EXPERIMENT_METRIC_NUMBER) METRICS };                                        \
    _Static_assert((int)METRICS <= EXPERIMENT_METRICS_MAX, "there is no room for all metrics");    \
    static const struct counter_info metrics[] = {LIST(EXPERIMENT_METRIC_INFO)}

struct experiment {
    const char *name;                              /* as on the command line */
    const char *summary;                           /* one line for `gamut list` */
    const struct option_spec *options;             /* up to a NULL name, or NULL */
    const struct experiment_parameter *parameters; /* up to a NULL name; at least one */
    /* At most EXPERIMENT_METRICS_MAX. KIND_EXACT: every round has the same value. */
    const struct counter_info *metrics;
    size_t metric_count;

    /* Adds the rows for these settings: the same rows at every call. No device is open. */
    int (*plan)(const struct experiment_settings *settings, struct experiment_plan *plan,
                struct error *error);
    /* Prepares a device: kernels, calibration. On failure nothing is held. */
    int (*open)(struct device *device, const struct experiment_settings *settings, void **state,
                struct error *error);
    /* Measures a row and checks its answer. ERR_UNSUPPORTED: the row is skipped, for the reason in
     * the message; ERR_WRONG; ERR_OOM; any other code is an error. Samples taken before a failure
     * are dropped. Rows come in any order. Each must leave the device as `open` left it. */
    int (*measure)(void *state, const struct experiment_row *row, struct experiment_record *record,
                   struct error *error);
    void (*close)(void *state); /* frees `state` */
};

/* All experiments, in the order of list.h; *count receives their number. */
const struct experiment *const *experiment_list(size_t *count);

/* Finds the experiment of "isosurface:cells=32:frames=500" and reads its options. ERR_USAGE for
 * an unknown name lists the known ones. */
int experiment_parse(const char *spec, const struct experiment **experiment,
                     struct option_values *options, struct error *error);

/* ---- for plan ---- */

/* Adds a row whose key is empty; the pointer is valid until the next call. */
struct experiment_row *experiment_add_row(struct experiment_plan *plan);
/* Sets the word of a parameter. */
void experiment_put_word(struct experiment_row *row, size_t parameter, const char *word);
/* Frees the rows. */
void experiment_plan_free(struct experiment_plan *plan);
/* Copies the i-th strategy of the settings to `out`; if no allocator is used there is one, "-".
 * False after the last. */
bool experiment_strategy(const struct experiment_settings *settings, bool uses_allocator, size_t i,
                         char out[EXPERIMENT_WORD_MAX]);

/* ---- for measure ---- */

/* Files a sample of a metric, by its number in the table. NaN (unknown) is dropped; a metric
 * without samples is unknown. */
void experiment_take(struct experiment_record *record, size_t metric, double value);
/* Frees the samples. */
void experiment_record_free(struct experiment_record *record);

/* ---- for result files ---- */

/* {"cells": 32, …, "strategies": "raw,pool", "capacity_bytes", "seed"}; the caller owns it. */
json_t *experiment_options_to_json(const struct experiment *experiment,
                                   const struct experiment_settings *settings);
/* {"method": "heap", "strategy": "-"}; the caller owns it. */
json_t *experiment_key_to_json(const struct experiment *experiment,
                               const struct experiment_row *row);
