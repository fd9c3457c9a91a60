/* Plays a trace under a strategy, without a device or on one (live.h).
 *
 * The requests of the trace go to a fresh instance of the strategy, over the source of a dry device
 * (run/predict/dry.h) or of the real one. A private pool of the recorded allocator, and memory that
 * does not live on the device, get an instance and a source of their own.
 *
 * When a freed block may be used again is the strategy's matter, as in a run: it gets the block
 * back at `free` (let-go) or at `done`, and its rule for queues (enum queue_safety) says who may
 * have it next. PyTorch hands a block out again at `done`: a block that other streams use is done
 * only when they are. The replay checks that no block overlaps a live one, and that memory reaches
 * another queue through the source alone; only traces with several queues need the second check.
 *
 * A trace that begins in the middle of a program has the blocks and the memory of the start (the
 * events before `start`). The recorded strategy adopts them as they are, with any settings. Others
 * get requests for the blocks, in the order of the trace: the order makes next to no difference.
 *
 * A replay answers what the application did, not what it would have done: if a request is refused,
 * the replay ends there. One that the recorded allocator refused is made again under a limit: an
 * allocator that refuses gives back what it has spare. The replay goes on either way, without the
 * block.
 */
#pragma once

#include <signal.h>

#include "alloc/allocator.h"
#include "base/text.h"
#include "results/facts/case.h"
#include "run/predict/dry.h"
#include "replay/live.h"
#include "replay/refusal.h"
#include "trace/trace.h"

struct ages;

/* When the strategy gets a freed block back. */
enum replay_free_at { FREE_AT_LET_GO, FREE_AT_DONE };

struct replay_options {
    const struct allocator_ops *strategy;
    const struct option_values *options;
    struct dry_device device;
    struct live *live; /* a real device, prepared for this trace, instead of `device`; or NULL */
    enum replay_free_at free_at;
    /* Requests that the log says were refused must be served, also without a limit. Dispensable
     * ones are not asked for, nor those that exceed the device's memory with the live blocks.
     * Without this, all are asked for under a limit, and may be refused. Plans and devices are not
     * asked. */
    bool must_serve_refused;
    bool places_anew; /* no strategy adopts the state at the start */
    /* Dispensable requests (trace_is_dispensable) that are refused are left out. */
    bool can_leave_out;
    struct ages *ages; /* found once for several replays of a trace, which the caller frees; NULL */
    bool check;        /* the checks above also for one queue, and the strategy's check() often */
    bool explain;      /* find the free pieces at a refusal, also of the log's; slows the replay */
    const volatile sig_atomic_t *stop; /* becomes true: end early (or NULL) */
};

/* The state after an event, for a listener. */
struct replay_state {
    uint64_t event; /* number, from 1 on */
    uint64_t requested_bytes, granted_bytes, reserved_bytes;
    uint64_t most_reserved_bytes; /* within the event, if that is the most so far; else as above */
};

struct replay_listener {
    void *context;
    /* Called after each event that was played. `block`: what a held or alloc event got, and a free
     * or done event gave back; else NULL. */
    void (*event)(void *context, const struct trace_event *event, const struct block *block,
                  const struct replay_state *state);
    const struct source_listener *source; /* hears the driver's calls; NULL: none does */
};

/* The requests that were refused in the log and made again; 0: none were. */
struct replay_refused {
    uint64_t count, served_count;
    uint64_t most_bytes; /* of the largest */
};

struct replay_outcome {
    enum case_status status;
    char reason[1024]; /* "" if ok */
    bool adopted;      /* it began with the recorded allocator's state at the start */
    struct exact_counts counts;
    struct case_model model;       /* asked: only with an atlas */
    struct sample sample;          /* the times on a real device; UNKNOWN_NS without one */
    struct replay_refusal refusal; /* that ended it; else, with `explain`, the last of the log */
    struct replay_refused refused;
    /* As in struct source_total. The result is the same for every capacity from this one up to (not
     * including) least_refused_bytes. A capacity of most_served_bytes is enough for the requests
     * that were served. 0: unknown. */
    uint64_t least_refused_bytes, most_served_bytes;
    bool reads_capacity; /* then both hold for this capacity alone: source_read_capacity */
    uint64_t digest;     /* of the trace, if all of it was read */
};

/* Plays the trace from its first event. Whatever the strategy does is in the outcome; an error is
 * one of the trace (ERR_PARSE, ERR_IO), or ERR_USAGE for options or a trace that the strategy
 * cannot serve. `listener` may be NULL. */
int replay_trace(struct trace_reader *reader, const struct replay_options *options,
                 const struct replay_listener *listener, struct replay_outcome *outcome,
                 struct error *error);

/* Adds "the request of 753 MiB that was refused is served", if there was one. */
void replay_add_refused(struct text *out, const struct replay_refused *refused);

/* Whether it is a log of PyTorch, which has no waits and does not say when the device is done. */
bool replay_is_of_pytorch(const struct trace_info *info);
/* Whether a replay of this trace frees blocks at `done`: a log that knows one stamp only has it. */
bool replay_frees_at_done(const struct trace_reader *reader, enum replay_free_at free_at);

/* A dry device like an NVIDIA GPU of this capacity (0: 80 GiB, and no limit). Its costs are those
 * of `atlas`, or none. */
struct dry_device replay_device(uint64_t capacity_bytes, const struct atlas *atlas);
