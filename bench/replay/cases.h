/* Replays as cases: each trace under each strategy, several at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "alloc/planned/plans.h"
#include "base/text.h"
#include "replay/replay.h"
#include "results/facts/case.h"
#include "run/rounds/items.h"

/* The key's members that are not the trace's or the strategy's. */
#define REPLAY_DATASET "recorded"
#define REPLAY_NO_GAPS "no-gaps" /* on a device, without the recorded gaps between calls */
#define REPLAY_DEVICE  CASE_DRY_DEVICE

struct replay_case {
    struct case_key key; /* `strategy` is parsed; `release` is "let-go" or "done" */
    const char *path;    /* of the trace; borrowed */
};

struct replay_cases {
    size_t count;
    const struct replay_case *cases;
    unsigned jobs;             /* replays at once, each in a thread; 0: one for each processor */
    uint64_t capacity_bytes;   /* of the dry device; 0: the limit inferred from the trace */
    const struct atlas *atlas; /* prices, or NULL */
    struct allocator_plans *plans; /* those of the strategies, which were parsed before */
    bool check;
};

/* The name of a trace in a key: that of its file without folder and ending. ERR_USAGE if it is too
 * long. */
int replay_trace_name(const char *path, char name[64], struct error *error);

/* Replays all cases. `ended` is called for each, in the order in which they end, never twice at
 * once; the caller calls case_round_free. SIGINT, SIGTERM and SIGHUP end the replays early:
 * *interrupted is set, and the cases that have not ended are `skipped`. The first error of a trace
 * ends all. */
int replay_cases(const struct replay_cases *cases,
                 void (*ended)(void *context, size_t index, const struct case_round *round),
                 void *context, bool *interrupted, struct error *error);

struct live_case_options {
    uint64_t capacity_bytes; /* of the device; 0: the driver decides */
    uint64_t least_ns;       /* replays are made until they took this long together */
    unsigned most_samples;   /* or there are so many; at least 1 */
    struct allocator_plans *plans;
};

/* Replays round->key on a device, each time with a fresh allocator, and fills in the round: a
 * sample for each replay but the first. That one checks where blocks lie and has no gaps; drivers
 * load and compile kernels in it. *notes receives one line for each kind of difference from the
 * recording. A failure of the case is in round->status. The caller frees the round and the
 * notes. Returns 0 or ERR_DEVICE_LOST. */
int replay_case_live(struct device *device, const char *path,
                     const struct live_case_options *options, struct case_round *round,
                     struct text *notes);

/* The duration of the recorded calls, from the begin of the first to the end of the last; 0: the
 * trace does not say. ERR_IO, ERR_PARSE. */
int replay_recorded_ns(const char *path, uint64_t *ns, struct error *error);

/* Replays on devices, in rounds (items.h): each round is a fresh process that replays every
 * case. */
struct replays_options {
    unsigned rounds;
    unsigned first_round; /* its number: how many the result already has */
    uint64_t timeout_ns;  /* limit for one case in one round */
    uint64_t seed;        /* of the order of the cases */
    struct live_case_options live;
};

/* Called in the parent. All hooks are required. */
struct replays_watcher {
    void *context;
    /* A case starts, or has run for another half second. */
    void (*working)(void *context, const struct items_state *state, size_t index);
    /* It has ended. `round` is borrowed. `notes`: lines, or NULL. */
    void (*ended)(void *context, const struct items_state *state, size_t index,
                  const struct case_round *round, const char *notes);
    /* All cases of the round have ended. A negative code ends the run with that error. */
    int (*round_ended)(void *context, const struct items_state *state, struct error *error);
};

/* Replays all cases on the devices of their keys; ends as items_run does. */
int replays_run(const struct replay_case *cases, size_t count,
                const struct replays_options *options, const struct replays_watcher *watcher,
                bool *interrupted, struct error *error);

/* The worker's side: the worker_job of the kind "replays". */
int replays_work(const json_t *job, FILE *out, struct error *error);
