/* A case: one point of workload x dataset x merge set x release policy x strategy x device (x
 * residency on a group of devices). A round: the measurements of a case by one process. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "results/facts/counters.h"

/* X(name, help); in the order of severity, best first: a case is as bad as its worst round. */
#define CASE_STATUS_LIST(X)                                                                        \
    X(ok, "every answer was checked and right")                                                    \
    X(skipped, "not run: the device or the build cannot")                                          \
    X(oom, "the device's memory, or the limit that was set, did not suffice")                      \
    X(timeout, "took longer than allowed")                                                         \
    X(error, "a driver, a compiler or the program failed")                                         \
    X(wrong, "the answer differs from the reference")

#define CASE_STATUS(name, ...) CASE_##name,
enum case_status { CASE_STATUS_LIST(CASE_STATUS) CASE_STATUSES };
/* The words by status, then NULL. */
extern const char *const case_status_names[];
/* The word for a status, as in files. */
const char *case_status_name(enum case_status status);
/* The status of a case that ended with an error code (base/error.h); 0 is ok. */
enum case_status case_status_of(int code);

/* X(member): the texts that identify a case within a file and across files. */
#define CASE_KEY_LIST(X) X(workload) X(dataset) X(merge) X(release) X(strategy) X(device)
/* X(member): texts that not every case has; "" is left out of files and of the id. */
#define CASE_KEY_OPTIONAL_LIST(X) X(residency)
#define CASE_KEY_ALL_LIST(X)      CASE_KEY_LIST(X) CASE_KEY_OPTIONAL_LIST(X)
/* The `device` of cases that ran without one: replays that count calls. */
#define CASE_DRY_DEVICE "dry"
struct case_key {
    char workload[64];
    char dataset[32];
    char merge[128];    /* options included: "none", "coalesce:with=views" */
    char release[16];   /* "last-use" or "scope" */
    char strategy[128]; /* as written, options included: "tagged:policy=v4" */
    char device[96];    /* device_info.id */
    char residency[64]; /* groups of devices only, options included: "versioned:grain=memory" */
};

/* The check of an answer. */
enum case_check {
    CHECK_NONE,      /* the program has no reference: nothing checked its answer */
    CHECK_REFERENCE, /* compared with the workload's reference in this round */
    CHECK_DIGEST,    /* the same bits as an answer that was compared with the reference */
    /* a replayed trace has no answer: no block overlapped a live one, and none reached
     * another queue too early */
    CHECK_BLOCKS,
};
/* The words by check, then NULL. */
extern const char *const case_check_names[];

/* X(name, help): the cost model's prediction of a sampled run. Unknown is UNKNOWN_NS here and null
 * in a file. */
#define MODEL_LIST(X)                                                                              \
    X(predicted_ns, "host time of the run, to be compared with wall_ns")                           \
    X(device_ns, "time in which the device's queue works on commands")                             \
    X(driver_ns, "host time in the driver's calls for memory, waiting included")                   \
    X(waiting_ns, "the part of driver_ns in which these calls wait for the device")                \
    X(first_use_ns, "time that commands take longer because memory is used for the first time")    \
    X(allocator_ns, "the strategy's own host time")

struct case_model {
    bool asked; /* false: no prediction was asked for, and the rest means nothing */
    MODEL_LIST(COUNTER)
    char why_not[256]; /* why predicted_ns is unknown, and perhaps others; "" if it is known */
};

struct case_round {
    struct case_key key;
    unsigned round; /* from 0 */
    unsigned slot;  /* position in the shuffled order of the round */
    enum case_status status;
    char reason[1024]; /* "" if ok: a sentence */
    /* A replay without a device: a sentence about requests that the log says were refused; "": it
     * made none. No member of the JSON. */
    char refused[160];
    enum case_check check;
    uint64_t digest; /* digest of all result bytes; 0 unless status is ok or wrong */
    /* Digests of the program as a person writes it and of all its inputs. Two rounds with the same
     * digests did the same work. 0: unknown. */
    uint64_t program_digest, inputs_digest;
    double worst_error;   /* from the workload's check; NaN if unknown */
    double traffic_bytes; /* bytes a run must move at least; NaN if the program does not say */
    /* The rest is meaningful only if status is ok. */
    struct exact_counts cold, warm;
    struct sample cold_sample; /* the run on the fresh allocator; times only */
    size_t sample_count;
    struct sample *samples; /* owned */
    struct case_model model;
    /* {"cold": {"device": {counter: value}, "pinned": …}, "warm": …}: the counters of each memory
     * space. NULL if the program has device memory alone. Owned. */
    json_t *spaces;
};

/* Frees what a round owns. */
void case_round_free(struct case_round *round);

/* ---- as JSON --------------------------------------------------------------------------------- */

extern const struct json_struct case_key_struct, exact_counts_struct;

/* The key as an object, never NULL. The caller owns the reference. */
json_t *case_key_to_json(const struct case_key *key);
/* Reads a key. ERR_PARSE names the text that is missing or too long. */
int case_key_from_json(const json_t *json, struct case_key *key, struct error *error);
/* Writes 12 hexadecimal digits that stand for the key in files: the upper 48 bits of the FNV-1a 64
 * hash of "workload\ndataset\nmerge\nrelease\nstrategy\ndevice\n" and, of a group's case,
 * "residency\n". */
void case_id(const struct case_key *key, char out[13]);
/* Have both the same strategy, release policy and residency? */
bool case_same_but_merge(const struct case_key *a, const struct case_key *b);

/* A round as one object, as a worker sends it to its parent in a line: its members are those of the
 * struct. Unknown numbers are null. Digests are 16 hexadecimal digits, because a reader with
 * doubles for numbers would lose bits of an integer. The caller owns the reference. */
json_t *case_round_to_json(const struct case_round *round);
/* Reads a round. ERR_PARSE names the field that is missing or of another type; then nothing has to
 * be freed. Otherwise the caller calls case_round_free. */
int case_round_from_json(const json_t *json, struct case_round *round, struct error *error);
