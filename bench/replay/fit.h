/* The least capacity under which a strategy serves a trace.
 *
 * It is found by bisection with replays, so that the strategy refuses, releases and asks again as
 * it does on a device. Two facts shorten the search. A replay that is served goes the same way
 * under every smaller capacity that serves the same requests to the source. A replay that is
 * refused goes the same way under every larger capacity that refuses the same ones (struct
 * source_total). So the search steps from one capacity at which something changes to the next, and
 * ends where the two meet. Both ends are then replayed; where the facts do not hold, plain
 * bisection goes on.
 *
 * A strategy may serve a trace under one capacity and refuse it under a larger one. What holds
 * nevertheless: it serves the trace under `capacity_bytes`, and refuses a request under
 * `refused_bytes`, which is at most FIT_STEP_BYTES less.
 */
#pragma once

#include "alloc/planned/plans.h"
#include "merge/pack/pack.h"
#include "replay/replay.h"

/* The blocks of a trace as lifetimes, and the least memory that could have held them: what the
 * offline planner (merge/pack) needs, which knows all requests in advance and may place each block
 * anywhere. No strategy does better than its optimum. */
struct lifetimes {
    size_t count;
    struct pack_buffer *buffers; /* times are numbers of events; by start */
    uint64_t peak_bytes;         /* the most requested bytes that live at once */
    uint64_t request_count;      /* those of no bytes included */
};

/* Reads a trace. A block lives until the application lets it go, or until it is done in a log that
 * knows only that: an allocator that is refused waits for the blocks in between. ERR_PARSE, ERR_IO.
 * The caller frees the lifetimes in any case. */
int lifetimes_read(struct trace_reader *reader, struct lifetimes *lifetimes, struct error *error);
void lifetimes_free(struct lifetimes *lifetimes);

struct optimum {
    bool known;
    uint64_t bytes;       /* the height of the plan */
    uint64_t bound_bytes; /* no plan is lower */
    bool proven;          /* both are equal */
    char why_not[256];    /* "" if known */
};

/* Plans the lifetimes for up to `time_ns`. The plan is the same on every machine unless the time
 * runs out. */
void lifetimes_optimum(const struct lifetimes *lifetimes, int64_t time_ns, struct optimum *optimum);

enum { FIT_STEP_BYTES = 512 };

/* X(name, sentence): why a request is refused. */
#define FIT_CAUSE_LIST(X)                                                                          \
    X(none, "nothing is refused")                                                                  \
    X(demand, "the live blocks and the request are larger than the capacity")                      \
    X(rounding, "they would fit, and most of the rest is lost by rounding blocks up")              \
    X(fragmentation, "they would fit, and most of the rest is free, in pieces that do not serve")

enum fit_cause {
#define X(name, sentence) FIT_##name,
    FIT_CAUSE_LIST(X)
#undef X
};
const char *fit_cause_name(enum fit_cause cause);

struct fit_options {
    const char *strategy; /* with options: "pool:leading_bits=2" */
    struct allocator_plans *plans;
    enum replay_free_at free_at;
    uint64_t lower_bound_bytes;        /* of the trace: lifetimes.peak_bytes */
    const volatile sig_atomic_t *stop; /* or NULL */
    /* Optional. Called after each replay: the trace is served with `served` bytes and not with
     * `refused`. */
    void (*step)(void *context, unsigned replays, uint64_t refused, uint64_t served);
    void *context;
};

struct fit {
    enum case_status status; /* CASE_ok: the rest is set */
    char reason[1024];
    uint64_t capacity_bytes;                /* serves the trace */
    uint64_t refused_bytes;                 /* does not; below the lower bound no capacity does */
    struct exact_counts unlimited, limited; /* without a limit, and with the capacity */
    enum fit_cause cause;                   /* at refused_bytes */
    struct replay_refusal refusal;
    unsigned replays;
};

/* ERR_PARSE, ERR_IO: of the trace. ERR_USAGE: of the strategy's text. A strategy that cannot play
 * the trace at all is a fit that is not CASE_ok. */
int fit_trace(struct trace_reader *reader, const struct fit_options *options, struct fit *fit,
              struct error *error);
