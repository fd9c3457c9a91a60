/* A result that is being made. It is on disk from the start of a run on, and is read like any
 * other: tables, charts and comparisons see no difference between a loaded file and a run that has
 * just ended. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "results/facts/atlas.h"
#include "results/file/result.h"

struct result_draft {
    struct result result;
    uint64_t started_ns; /* clock_ns at the start of this session, or when it was written last */
    uint64_t earlier_ns; /* duration of the run up to then */
};

struct result_command {
    int argc;
    char *const *argv;
    uint64_t seed;   /* below 2^53: JSON readers that use doubles lose no bits of it */
    unsigned rounds; /* planned */
    json_t *options; /* an object of texts, numbers and booleans, or NULL; borrowed */
};

/* Makes a result with its run, tool and environment, without devices and cases. ERR_USAGE for a
 * seed that is too large. The caller calls draft_free. */
int draft_create(struct result_draft *draft, const struct result_command *run, struct error *error);
/* Continues a loaded result, which it takes: adds a session, in which `rounds` more rounds are
 * planned. ERR_USAGE if another build made the result. */
int draft_continue(struct result_draft *draft, struct result *loaded, unsigned rounds,
                   struct error *error);
/* A copy with every case's status and counters, but without rounds and statistics. The caller calls
 * draft_free before it frees the draft. */
struct result_draft draft_without_rounds(struct result_draft *draft);
/* Sets how many rounds the result is to have. */
void draft_plan_rounds(struct result *result, unsigned rounds);
/* Sets how many rounds of the newest session are done. */
void draft_set_session(struct result_draft *draft, unsigned rounds);
/* Sets the atlases that the newest session's cases are predicted by: an array of objects with the
 * `device`, the name of the `file` that has its atlas, and the id (`run`) and `started_at` of the
 * run that measured it. */
void draft_set_atlases(struct result_draft *draft, const json_t *sources);
/* Sets the devices. `devices` are all that were found on the machine: those that are not `used`
 * only count for the machine's id. To be called before the first result_path; a second call
 * replaces what the first has set. */
void draft_set_devices(struct result_draft *draft, const struct record_device *devices,
                       size_t count);
/* Adds a round to its case, and the case with its first round. Copies everything. */
void draft_add_round(struct result_draft *draft, const struct case_round *round);
/* Sets the atlas of a device; replaces the one that the result has. Copies it. */
void draft_set_atlas(struct result_draft *draft, const struct atlas *atlas);
/* Sets run.status. */
void draft_finish(struct result_draft *draft, enum run_status status);
/* Calls result_summarise and replaces the file at `path` atomically: a reader sees either the old
 * or the new file. Compresses it if the name ends in ".gz". Makes missing folders. ERR_IO,
 * ERR_HOST_MEMORY. */
int draft_write(struct result_draft *draft, const char *path, struct error *error);
/* The same, with `only_new` and `held` as in gzip_write_file. ERR_EXISTS too. */
int draft_write_held(struct result_draft *draft, const char *path, bool only_new, int *held,
                     struct error *error);
void draft_free(struct result_draft *draft);

/* ---- changes of any result ---- */

/* Removes the rounds that no session has counted as done (draft_set_session), and cases without any
 * other: those of a round that was interrupted. Returns the number of the next round. */
unsigned result_drop_unfinished(struct result *result);
/* Puts the cases in the order of their keys, in which draft_add_round keeps them. */
void result_sort_cases(struct result *result);
/* Adds a copy of a round to a case or a row. */
void result_add_to_rounds(struct result *result, struct result_case *one,
                          const struct result_round *round);
/* Computes from the rounds alone every case's status, statistics and speed-ups, the geometric means
 * in `summary`, and the `answer` (results/file/answer.h). draft_write calls it; the caller does so
 * before it prints a result that was never written. */
void result_summarise(struct result *result);

/* ---- what it says ---- */

/* ERR_USAGE where two builds differ says in what: "it" is theirs, "this one" ours. */
int result_check_tool(const struct record_tool *theirs, const struct record_tool *ours,
                      struct error *error);
/* One more than the highest round number of any case. */
unsigned result_rounds(const struct result *result);
/* Adds "<folder>/<machine>/<UTC yyyymmddThhmmssZ>-<rev>[-dirty].json" to `path`; rev is "unknown"
 * if the tool was built without git. */
void result_path(const struct result *result, const char *folder, struct text *path);
/* The result as JSON; the caller owns it. */
json_t *result_to_json(const struct result *result);
/* Prints it as a file: one member, case, curve of an atlas or row of an experiment a line, so that
 * files can be searched and compared by line. ERR_IO. */
int result_print(const struct result *result, FILE *out, struct error *error);
/* The same for other objects: comparisons, lists. */
int result_print_json(const json_t *root, FILE *out, struct error *error);
