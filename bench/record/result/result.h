/* The result file. In memory it is a jansson tree; it is on disk from the start of a run on.
 *
 * results/README.md describes the format and results/schema/ holds its JSON Schema. Tables, charts
 * and comparisons read only the tree: a loaded file and a run that has just ended look the same to
 * them.
 */
#ifndef GAMUT_RECORD_RESULT_RESULT_H
#define GAMUT_RECORD_RESULT_RESULT_H

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
#define RESULT_SCHEMA_VERSION "1.10.0"

/* How a run ended. A result is "partial" until result_finish is called. */
enum run_status { RUN_COMPLETE, RUN_PARTIAL, RUN_INTERRUPTED };

/* A result that is being made. */
struct result_draft {
    json_t *root;
    uint64_t started_ns; /* clock_ns at the start of this session, or when it was written last */
    uint64_t earlier_ns; /* duration of the run up to then */
    size_t session;      /* position of this session in run.sessions */
    unsigned planned;    /* rounds of this session, done or not */
    json_t *unsaved;     /* rounds since result_continue or result_rejoin; NULL in a new result */
};

struct result_command {
    int argc;
    char *const *argv;
    uint64_t seed;   /* below 2^53: JSON readers that use doubles lose no bits of it */
    unsigned rounds; /* planned */
    json_t *options; /* an object of texts, numbers and booleans, or NULL; borrowed */
};

/* Makes a result with its run, tool and environment, without devices and cases. ERR_USAGE for a
 * seed that is too large. The caller calls result_free. */
int result_create(struct result_draft *result, const struct result_command *run,
                  struct error *error);
/* Continues a loaded result, whose reference it takes: adds a session, in which `rounds` more
 * rounds are planned. ERR_USAGE if another build made the result. */
int result_continue(struct result_draft *result, json_t *root, unsigned rounds,
                    struct error *error);
/* Goes on in `root`, whose reference it takes: the file of a continued result, with what other
 * sessions have added to it meanwhile. This session's rounds that it lacks get the numbers after
 * those that it has. ERR_USAGE if it is the file of another run; then `result` is as before. */
int result_rejoin(struct result_draft *result, json_t *root, struct error *error);
/* A copy with every case's status and counters, but without rounds and statistics. The
 * caller owns it. */
json_t *result_without_rounds(json_t *root);
/* ERR_USAGE where two builds (context.tool) differ says in what: "it" is theirs, "this one" ours. */
int result_check_tool(const json_t *theirs, const json_t *ours, struct error *error);
/* Removes the rounds that no session has counted as done (result_set_session), and cases without any
 * other: those of a round that was interrupted. Returns the number of the next round. */
unsigned result_drop_unfinished(json_t *root);
/* Puts the cases in the order of their keys, in which result_add_round keeps them. */
void result_sort_cases(json_t *root);
/* One more than the highest round number of any case. */
unsigned result_rounds(const json_t *root);
/* Records how many rounds of the newest session are done. */
void result_set_session(struct result_draft *result, unsigned rounds);
/* Records the atlases that the newest session's cases are predicted by: an array of objects with the `device`, the
 * name of the `file` that has its atlas, and the id (`run`) and `started_at` of the run that measured it. */
void result_set_atlases(struct result_draft *result, const json_t *sources);
/* Sets the devices. `devices` are all that were found on the machine: those that are not `used`
 * only count for the machine's id. To be called before the first result_path; a second call
 * replaces what the first has set. */
void result_set_devices(struct result_draft *result, const struct record_device *devices,
                        size_t count);
/* Adds a round to its case, and the case with its first round. Copies everything. */
void result_add_round(struct result_draft *result, const struct case_round *round);
/* Sets the atlas of a device; replaces the one that the result has. Copies it. */
void result_set_atlas(struct result_draft *result, const struct atlas *atlas);
/* Adds an experiment (record/result/experiment_result.h), whose reference it takes; replaces the
 * one with this name and device. */
void result_set_experiment(struct result_draft *result, json_t *experiment);
/* Sets run.status. */
void result_finish(struct result_draft *result, enum run_status status);
/* Calls result_summarise and replaces the file at `path` atomically: a reader sees either the old
 * or the new file. Compresses it if the name ends in ".gz". Makes missing folders. ERR_IO,
 * ERR_HOST_MEMORY. */
int result_write(struct result_draft *result, const char *path, struct error *error);
/* The same, with `only_new` and `held` as in gzip_write_file. ERR_EXISTS too. */
int result_write_held(struct result_draft *result, const char *path, bool only_new, int *held,
                      struct error *error);
/* Frees the tree. */
void result_free(struct result_draft *result);

/* Adds "<folder>/<machine>/<UTC yyyymmddThhmmssZ>-<rev>[-dirty].json" to `path`; rev is "unknown"
 * if the tool was built without git. */
void result_path(const json_t *root, const char *folder, struct text *path);

/* Reads and checks a file, plain or compressed with gzip. The caller owns *root, which is NULL on
 * failure. ERR_IO; ERR_PARSE names the file and the line, or the path of the wrong value. */
int result_load(const char *path, json_t **root, struct error *error);
/* The same for contents that were read before; `path` is for messages. */
int result_parse(const char *path, const struct text *text, json_t **root, struct error *error);
/* Replaces words of older formats in a tree that was read: before 1.6 "method" was "way", and
 * "sessions" was "parts". result_parse calls it. Accepts any JSON value. */
void result_renew_words(json_t *root);
/* Checks that a tree is a result of major version 1 and has everything that readers rely on.
 * Unknown keys are allowed. ERR_PARSE. */
int result_validate(const json_t *root, struct error *error);

/* Calls `take` with each result file below the folder `results` whose root has this member, the
 * newest first (by name), until `take` returns true. Files that cannot be read are skipped. `root`
 * is borrowed. */
void newest_results(const char *results, const char *member,
                    bool (*take)(void *context, const char *path, const json_t *root),
                    void *context);

/* Counts the cases by status. */
void result_status_counts(const json_t *root, size_t counts[CASE_STATUSES]);

/* Prints the tree as a result file: one member, case, curve of an atlas or row of an experiment a
 * line, so that files can be searched and compared by line. ERR_IO. */
int result_print(const json_t *root, FILE *out, struct error *error);

/* Computes from the rounds alone every case's status, statistics and speed-ups, the geometric means
 * in `summary`, and the `answer` (record/result/answer.h). result_write calls it; the caller does so before it prints a tree
 * that was never written. */
void result_summarise(json_t *root);

#endif
