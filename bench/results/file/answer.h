/* The answer that a result gives: on each device, which configuration is the fastest, by how much,
 * which ones are as fast within the noise, and which ones hold the least memory.
 *
 * A configuration is a case's key without workload, dataset and device. Configurations are ranked
 * over the programs that all of them ran with a right answer, so every mean is over the same cases.
 * A configuration is left out if it was skipped everywhere, or never right. While fewer than half
 * of the programs are shared, the configuration that lacks most of them is left out too.
 *
 * Times: one geometric mean of the programs' medians a round; all ratios are paired by round. With
 * their interval over rounds, a configuration is, compared with the fastest,
 *
 *   within   slower or faster by at most ANSWER_CLOSE, as its whole interval is
 *   unsure   not told apart: the interval contains 1, and values beyond ANSWER_CLOSE
 *   slower   else
 *
 * Memory: the geometric mean of the peak of reserved bytes over the lower bound of the program, the
 * least one of the ranked configurations if merging changes it. It is exact, so equal is equal.
 *
 * Without times, as of replays, configurations are ranked by memory, and the sentence also names
 * those that need fewer driver calls: each that no other beats in both.
 *
 * It is computed from rounds and counters alone (results/README.md, `answer`).
 */
#pragma once

#include <stdio.h>

#include "base/arena.h"
#include "results/file/result.h"

#define ANSWER_CLOSE 0.02

/* An element for each device that has cases; the arena owns it, and the result must outlive it.
 * `baseline` names what ratios are over (results/file/baseline.h). NULL: what the run's --baseline
 * named, or `raw`. A device without a ranked baseline has its fastest configuration instead. */
struct answer answer_of(const struct result *result, const char *baseline, struct arena *arena);

/* Fills in the `sentences` of a device's element. The first of them, `omission_count`, are about
 * what the device could not run, and what is not ranked or not in the means. */
void answer_write(struct answer_device *device, struct arena *arena);

/* Prints the sentences of all devices, each between `before` and `after`. */
void answer_print(const struct answer *answer, const char *before, const char *after, FILE *out);

/* The element of a device; NULL if there is none. */
const struct answer_device *answer_find(const struct answer *answer, const char *device);

/* Does the answer name the case's strategy, and the reason, among those that its device lacks? */
bool answer_tells_skipped(const struct answer *answer, const struct result_case *one);

/* Was the configuration judged so: "fastest", "within", "unsure", "slower"? */
bool answer_has_verdict(const struct answer_ranked *one, const char *verdict);

/* The baseline of the ratios: "raw"; ANSWER_SEVERAL if that is not the same on all devices. */
#define ANSWER_SEVERAL "baseline"
const char *answer_against(const struct answer *answer);

/* Marks the members of a key in which two keys differ: strategy, merge, release, residency. */
void answer_varies(bool varies[4], const struct case_key *a, const struct case_key *b);
/* "pool", or with what else varies "pool (best, scope)". */
const char *answer_name(struct arena *arena, const bool varies[4], const struct case_key *key);
