/* A case round as one JSON object: what a worker process and its parent say to each other, one
 * object a line, and what a result file keeps of a round.
 *
 *   {"key": {"workload", "dataset", "merge", "release", "strategy", "device"[, "residency"]},
 *    "round", "slot", "status", "reason", "check", "digest", "program_digest", "inputs_digest",
 *    "worst_error", "traffic_bytes",
 *    "cold": {counter: value}, "warm": {counter: value},
 *    "cold_sample": {metric: value}, "samples": {metric: [values in the order of measurement]},
 *    "model": {name of MODEL_LIST: value, "why_not"} or null,
 *    "spaces": {…}                        (only where there are several; record/facts/case.h)
 *    "memory": {…}}                       (only where somebody looked; run/rounds/memory_log.h)
 *
 * Unknown numbers are null. Digests are 16 hexadecimal digits, because a reader with doubles for
 * numbers would lose bits of an integer.
 */
#ifndef GAMUT_RECORD_CASE_JSON_H
#define GAMUT_RECORD_CASE_JSON_H

#include <jansson.h>

#include "base/error.h"
#include "record/facts/case.h"

/* Every field of the round, whatever its status. The caller owns the reference. */
json_t *case_round_to_json(const struct case_round *round);
/* The reverse. ERR_PARSE names the field that is missing or of another type; then nothing has to be
 * freed. The caller calls case_round_free. */
int case_round_from_json(const json_t *json, struct case_round *round, struct error *error);

/* The caller owns the reference; never NULL. */
json_t *case_key_to_json(const struct case_key *key);
/* ERR_PARSE names the text that is missing or too long. */
int case_key_from_json(const json_t *json, struct case_key *key, struct error *error);
/* 12 hexadecimal digits that stand for the key in files: the upper 48 bits of the FNV-1a 64 hash of
 * "workload\ndataset\nmerge\nrelease\nstrategy\ndevice\n" and, of a group's case, "residency\n". */
void case_id(const struct case_key *key, char out[13]);

#endif
