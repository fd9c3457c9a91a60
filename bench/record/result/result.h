/* The result file: a jansson tree that starts when a run starts and is on disk from then on.
 *
 * results/README.md describes the format, results/schema/ holds its JSON Schema. Printing, charts
 * and comparison read the tree alone, so a file that was loaded and a run that has just ended are
 * the same thing to them.
 */
#ifndef GAMUT_RECORD_RESULT_H
#define GAMUT_RECORD_RESULT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "record/facts/atlas.h"
#include "record/facts/case.h"
#include "record/facts/context.h"
#include "record/statistics/statistics.h"

#define RESULT_SCHEMA_NAME    "gamut.result"
#define RESULT_SCHEMA_VERSION "1.6.0"

/* How a run ended; "partial" until result_finish says otherwise. */
enum run_status { RUN_COMPLETE, RUN_PARTIAL, RUN_INTERRUPTED };

/* A result that is being made. */
struct result {
    json_t *root;
    uint64_t started_ns; /* of clock_ns */
    uint64_t earlier_ns; /* duration of the earlier sessions */
};

struct result_run {
    int argc;
    char *const *argv;
    uint64_t seed;   /* below 2^53, so that every JSON reader gets it whole */
    unsigned rounds; /* planned */
    json_t *options; /* an object of texts, numbers and booleans, or NULL; borrowed */
};

/* A result with its run, tool and environment, without devices and cases. ERR_USAGE for a seed that
 * is too large. */
int result_create(struct result *result, const struct result_run *run, struct error *error);
/* Goes on with a result that was loaded, whose reference it takes: `rounds` more will be added, as
 * another entry of `run.sessions`. ERR_USAGE where this is not the build that made it. */
int result_continue(struct result *result, json_t *root, unsigned rounds, struct error *error);
/* A copy with every case's status and counters, without rounds, what follows from them, and
 * `memory`. The caller owns it. */
json_t *result_without_rounds(json_t *root);
/* How many rounds it has. */
unsigned result_rounds(const json_t *root);
/* Notes that this many rounds of the session are done. */
void result_set_session(struct result *result, unsigned rounds);
/* `devices`: all that were found on the machine; those not marked `used` only count for the
 * machine's id. Call it before the first result_path; a second call replaces the first. */
void result_set_devices(struct result *result, const struct record_device *devices, size_t count);
/* Files a round under its case, which is made at its first round. Copies everything. */
void result_add_round(struct result *result, const struct case_round *round);
/* Files an atlas under its device, in the place of what was known before. */
void result_set_atlas(struct result *result, const struct atlas *atlas);
/* Files an experiment (record/result/experiment_result.h), whose reference it takes, in the place of the one of
 * its name and device. */
void result_set_experiment(struct result *result, json_t *experiment);
void result_finish(struct result *result, enum run_status status);
/* Recomputes what follows from the rounds (result_summarise) and replaces the file at `path`
 * atomically: a reader sees either the old or the new one. Compressed if the name ends in ".gz".
 * Makes missing folders. ERR_IO, ERR_HOST_MEMORY. */
int result_write(struct result *result, const char *path, struct error *error);
void result_free(struct result *result);

/* "<folder>/<machine>/<UTC yyyymmddThhmmssZ>-<rev>[-dirty].json"; rev is "unknown" without git. */
void result_path(const json_t *root, const char *folder, struct text *path);

/* What a compressed file may unpack to: fifty times the largest that was ever made. */
#define RESULT_MOST_BYTES ((size_t)512 << 20)

/* Reads and checks a file, plain or compressed with gzip; the caller owns *root, which is NULL on
 * failure. ERR_IO; ERR_PARSE names the file and the line, or the path of the value that is not as
 * the format says. */
int result_load(const char *path, json_t **root, struct error *error);
/* Likewise, with the file's contents in `text`. `path` is for messages. */
int result_parse(const char *path, const struct text *text, json_t **root, struct error *error);
/* Replaces words of older formats in a tree that was read: before 1.6 "method" was "way", and
 * "sessions" was "parts". result_parse calls it. Accepts any JSON value. */
void result_renew_words(json_t *root);
/* Checks that a tree is a result of major version 1 with everything in it that readers rely on;
 * unknown keys are no fault. */
int result_validate(const json_t *root, struct error *error);

/* Hands out each result file below the folder `results` whose root has this member, newest first by
 * its name, until `take` says that it has all it wants. A file that can't be read is passed over.
 * `root` is borrowed. */
void newest_results(const char *results, const char *member,
                    bool (*take)(void *context, const char *path, const json_t *root),
                    void *context);

/* The worst status of all cases (CASE_ok if there are none), and how many cases have which. */
enum case_status result_worst_status(const json_t *root);
void result_status_counts(const json_t *root, size_t counts[CASE_STATUSES]);

/* Prints the tree as a result file has it: one member, case, curve of an atlas or row of
 * an experiment a line, so that
 * files can be searched and compared by line. */
int result_print(const json_t *root, FILE *out, struct error *error);

/* Computes, from the rounds alone, every case's status, stats and speed-up over raw, and the
 * geometric means in `summary`. Called by result_write; for a tree that is printed without having
 * been written, call it yourself. */
void result_summarise(json_t *root);

#endif
