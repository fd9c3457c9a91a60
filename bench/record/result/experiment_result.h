/* Experiments in a result: measurements that are not cases. An experiment on a device is a table:
 * what was measured once for each combination of its parameters is a row, and a row has rounds as a
 * case has. Of names and numbers alone, like the rest of record/; bench/experiment/ says how the
 * numbers come about, results/README.md what is in the file.
 */
#ifndef GAMUT_RECORD_EXPERIMENT_RESULT_H
#define GAMUT_RECORD_EXPERIMENT_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "record/facts/case.h"
#include "record/facts/counters.h"

/* What tells rows apart. */
struct experiment_parameter {
    const char *name; /* NULL ends a table */
    /* In a file the value is a number if this is set, else a word. */
    bool is_number;
    enum counter_unit unit; /* of a number */
    const char *help;
};

/* An experiment without rows; the caller owns it. `options` (borrowed) is an object of what it was
 * run with: experiments of the same name and options have the same answers. */
json_t *experiment_tree(const char *name, const char *device, const json_t *options,
                        const struct experiment_parameter *parameters,
                        const struct counter_info *metrics, size_t metric_count);

/* The experiment of this name on a device in a result; NULL where there is none. */
json_t *experiment_find(const json_t *root, const char *name, const char *device);

/* ERR_NOT_FOUND, and how to get what the result lacks; `more` follows the name in the command: ""
 * or " -D host". */
int experiment_missing(const char *name, const char *device, const char *more, struct error *error);

/* A row that is to come: it stands where it was first expected, `skipped` until it has a round. */
json_t *experiment_expect_row(json_t *experiment, const json_t *key);

/* A round, which is
 *
 *   {"round", "slot", "status", "reason", "digest", "samples": {metric: [numbers]}}
 *
 * still without `samples` and `digest`, a text that stands for the answer; the caller owns it. */
json_t *experiment_round(unsigned round, size_t slot, enum case_status status, const char *reason);

/* Files a round, which it takes, in the row with this key. Where its digest is not that of the
 * other rows of this experiment with the same options in the result, whatever the device, it
 * becomes `wrong`. A round that is not ok has no samples. */
void experiment_add_round(const json_t *root, json_t *experiment, const json_t *key, json_t *round);

/* Recomputes what follows from the rounds: status, reason, warnings and stats of every row. */
void experiment_summarise(json_t *experiment);

/* ---- reading ---- */

/* The value of a parameter; case_stat (case_tree.h) reads the metrics. */
const char *experiment_word(const json_t *row, const char *parameter);
double experiment_number(const json_t *row, const char *parameter);
/* Adds "method=heap strategy=- spin_ns=5000". */
void experiment_row_words(const json_t *experiment, const json_t *row, struct text *out);
/* Adds a value in its unit for people: "1.20 ms", "3.40 MiB"; "-" for NaN. */
void experiment_value_text(double value, const char *unit, struct text *out);

#endif
