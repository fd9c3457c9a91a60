/* Experiments in a result: measurements that are not cases. An experiment on a device is a table
 * with a row for each combination of its parameters. A row has rounds, like a case.
 * bench/experiment/ makes the numbers; results/README.md describes the file.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "results/facts/case.h"
#include "results/facts/counters.h"
#include "results/file/result.h"

/* A parameter: rows differ in the values of their parameters. */
struct experiment_parameter {
    const char *name;       /* NULL ends a table */
    bool is_number;         /* false: in a file the value is a word */
    enum counter_unit unit; /* the number's unit */
    const char *help;
};

/* Adds an experiment without rows to a result, and replaces the one with this name and device. The
 * result keeps a copy of `options`, an object with the options of the run: experiments with the
 * same name and options have the same answers. Valid until the next one is added. */
struct result_experiment *experiment_add(struct result *result, const char *name,
                                         const char *device, const json_t *options,
                                         const struct experiment_parameter *parameters,
                                         const struct counter_info *metrics, size_t metric_count);

/* The row of an experiment with this key; NULL if there is none, or no experiment. */
const struct result_case *experiment_row(const struct result_experiment *experiment,
                                         const json_t *key);

/* The number of rows of all experiments of a result. */
size_t experiment_row_count(const struct result *result);

/* Returns the index of the row with this key. Adds it, with the status `skipped`, if it is new:
 * rows stand in the order in which they were first expected. Keeps a reference to the key. */
size_t experiment_expect_row(struct result *result, struct result_experiment *experiment,
                             json_t *key);

/* A round without samples as JSON, as a worker sends it; the caller owns it:
 *
 *   {"round", "slot", "status", "reason", "digest", "samples": {metric: [numbers]}}
 *
 * `samples` and `digest`, a text that stands for the answer, are null: the caller sets them. */
json_t *experiment_round(unsigned round, size_t slot, enum case_status status, const char *reason);

/* Adds a round, whose reference it takes, to a row. The round becomes `wrong` if its digest differs
 * from that of other rows of this experiment with the same options, on any device of the result. A
 * round that is not ok loses its samples. Returns the round's status. */
enum case_status experiment_add_round(struct result *result, struct result_experiment *experiment,
                                      size_t row, json_t *round);

/* Computes status, reason, warnings and stats of every row from its rounds. */
void experiment_summarise(struct result *result, struct result_experiment *experiment);

/* ---- reading ---- */

/* The value of a parameter that is a word; "" if the row has none. */
const char *experiment_word(const struct result_case *row, const char *parameter);
/* The value of a parameter that is a number; NaN if the row has none. */
double experiment_number(const struct result_case *row, const char *parameter);
/* Adds "method=heap strategy=- spin_ns=5000". */
void experiment_row_words(const struct result_experiment *experiment, const struct result_case *row,
                          struct text *out);
/* Adds a value with its unit for people: "1.20 ms", "3.40 MiB"; "-" for NaN. */
void experiment_value_text(double value, enum counter_unit unit, struct text *out);
