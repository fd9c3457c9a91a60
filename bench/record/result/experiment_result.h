/* Experiments in a result: measurements that are not cases. An experiment on a device is a table
 * with a row for each combination of its parameters. A row has rounds, like a case.
 * bench/experiment/ makes the numbers; results/README.md describes the file.
 */
#ifndef GAMUT_RECORD_RESULT_EXPERIMENT_RESULT_H
#define GAMUT_RECORD_RESULT_EXPERIMENT_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "record/facts/case.h"
#include "record/facts/counters.h"

/* A parameter: rows differ in the values of their parameters. */
struct experiment_parameter {
    const char *name;       /* NULL ends a table */
    bool is_number;         /* false: in a file the value is a word */
    enum counter_unit unit; /* the number's unit */
    const char *help;
};

/* An experiment without rows; the caller owns it. `options` is an object with the options of the
 * run (borrowed): experiments with the same name and options have the same answers. */
json_t *experiment_tree(const char *name, const char *device, const json_t *options,
                        const struct experiment_parameter *parameters,
                        const struct counter_info *metrics, size_t metric_count);

/* The experiment with this name on a device in a result; NULL if there is none. */
json_t *experiment_find(const json_t *root, const char *name, const char *device);

/* The row of an experiment with this key, borrowed; NULL if there is none, or no experiment. */
json_t *experiment_row(const json_t *experiment, const json_t *key);

/* The number of rows of all experiments of a result. */
size_t experiment_row_count(const json_t *root);

/* Returns the row with this key (borrowed). Adds it, with the status `skipped`, if it is new: rows
 * stand in the order in which they were first expected. */
json_t *experiment_expect_row(json_t *experiment, const json_t *key);

/* A round:
 *
 *   {"round", "slot", "status", "reason", "digest", "samples": {metric: [numbers]}}
 *
 * `samples` and `digest`, a text that stands for the answer, are null: the caller, who owns the
 * round, sets them. */
json_t *experiment_round(unsigned round, size_t slot, enum case_status status, const char *reason);

/* Adds a round, whose reference it takes, to the row with this key. The round becomes `wrong` if
 * its digest differs from that of other rows of this experiment with the same options, on any
 * device of the result. A round that is not ok loses its samples. */
void experiment_add_round(const json_t *root, json_t *experiment, const json_t *key, json_t *round);

/* Computes status, reason, warnings and stats of every row from its rounds. */
void experiment_summarise(json_t *experiment);

/* ---- reading ---- */

/* The value of a parameter that is a word; "" if the row has none. case_stat (case_tree.h) reads
 * the metrics. */
const char *experiment_word(const json_t *row, const char *parameter);
/* The value of a parameter that is a number; NaN if the row has none. */
double experiment_number(const json_t *row, const char *parameter);
/* Adds "method=heap strategy=- spin_ns=5000". */
void experiment_row_words(const json_t *experiment, const json_t *row, struct text *out);
/* Adds a value with its unit for people: "1.20 ms", "3.40 MiB"; "-" for NaN. */
void experiment_value_text(double value, const char *unit, struct text *out);

#endif
