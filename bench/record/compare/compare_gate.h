/* Gates: how much worse a metric may become. What is gated decides the verdict of a comparison;
 * everything else is printed and decides nothing.
 *
 *   METRIC:LIMIT   METRIC is a name of record/facts/counters.h, a pattern of them ("peak_*_bytes"), or
 *                  "exact" or "sampled" for all of that kind. LIMIT is a percentage ("2%"), "0" for
 *                  nothing at all, a size for metrics in bytes ("4KiB") or a number for counts
 *                  ("2"). Times have percentages only: they are compared as ratios.
 *   none           nothing is gated
 *
 * A later gate replaces an earlier one of the same metric. A metric that is neither better lower
 * nor better higher has no gate: naming it is an error, a pattern passes it over.
 */
#ifndef GAMUT_RECORD_COMPARE_GATE_H
#define GAMUT_RECORD_COMPARE_GATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "record/facts/counters.h"

struct gate {
    bool is_set;
    double part;     /* limit as a part of the base's value: 0.02 for 2 % */
    uint64_t amount; /* bytes or a count; one of the two is 0 */
};

enum { GATES_MAX = 128 };
struct gates {
    struct gate gate[GATES_MAX]; /* in the order of counter_list */
};

/* wall_ns at `threshold` (0.02 for 2 %), and 0 for every exact counter that is better lower. Those
 * that are better higher have none: they fall with the requests they count, which is no loss. */
struct gates gates_default(double threshold);

/* Adds one rule as a user writes it. ERR_USAGE says what is wrong and what was expected. */
int gates_add(struct gates *gates, const char *rule, struct error *error);

/* Adds the rules of a file: {"schema": "gamut.gates/1", "gates": {"METRIC": "LIMIT", …}}. ERR_IO,
 * ERR_PARSE or ERR_USAGE with the file and the line or the rule; an unknown key is an error. */
int gates_add_file(struct gates *gates, const char *path, struct error *error);

/* Marks the metrics that are meant by METRIC as above; ERR_USAGE if there is none. */
int gates_mark_metric(const char *metric, bool marks[GATES_MAX], struct error *error);

/* A part of a whole, "2%" or "0.5 %" -> 0.02, 0.005; false if it is not one, or not below 1000 %.
 */
bool gate_parse_part(const char *text, double *part);

/* The gates as {"METRIC": "LIMIT"}, to be read again by gates_add; the caller owns it. */
json_t *gates_to_json(const struct gates *gates);

#endif
