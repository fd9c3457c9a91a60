/* Gates: how much worse a metric may become. Gated metrics decide the verdict of a comparison; all
 * others are printed and decide nothing.
 *
 *   METRIC:LIMIT  METRIC is a name of results/facts/counters.h, a pattern of them ("peak_*_bytes"),
 *                 or "exact" or "sampled" for all of that kind. LIMIT is a percentage ("2%"), "0"
 *                 for nothing at all, a size for metrics in bytes ("4KiB") or a number for counts
 *                 ("2"). Times have percentages only: they are compared as ratios.
 *   none          nothing is gated
 *
 * A later gate replaces an earlier one of the same metric. A metric of which neither more nor less
 * is better has no gate: to name it is an error; a pattern skips it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "results/facts/counters.h"

struct gate {
    bool is_set;
    double part;     /* limit as a part of the base's value: 0.02 for 2 % */
    uint64_t amount; /* bytes or a count; one of the two is 0 */
};

enum { GATES_MAX = 128 };
struct gates {
    struct gate gate[GATES_MAX]; /* in the order of counter_list */
};

/* The default gates: wall_ns at `threshold` (0.02 for 2 %), and 0 for every exact counter that is
 * better lower. Counters that are better higher have none: they also fall when a program makes
 * fewer requests, which is no loss. */
struct gates gates_default(double threshold);

/* Adds one rule as a user writes it. ERR_USAGE says what is wrong and what was expected. */
int gates_add(struct gates *gates, const char *rule, struct error *error);

/* Adds the rules of a file: {"schema": "gamut.gates/1", "gates": {"METRIC": "LIMIT", …}}. ERR_IO,
 * ERR_PARSE or ERR_USAGE names the file and the line or the rule; an unknown key is an error. */
int gates_add_file(struct gates *gates, const char *path, struct error *error);

/* Marks the metrics that METRIC (see above) names, in the order of counter_list. ERR_USAGE if there
 * is none. */
int gates_mark_metric(const char *metric, bool marks[GATES_MAX], struct error *error);

/* Reads a percentage as a part: "2%" -> 0.02, "0.5 %" -> 0.005. Returns false if the text is no
 * percentage below 1000 %. */
bool gate_parse_part(const char *text, double *part);

/* The gates as {"METRIC": "LIMIT"}, which gates_add can read again. The caller owns it. */
json_t *gates_to_json(const struct gates *gates);
