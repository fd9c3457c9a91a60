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
 * A strategy may serve a trace under one capacity and refuse it under a larger one: a hole. From
 * what was found, the search goes up from change to change, for FIT_ABOVE_REPLAYS replays, and
 * begins anew above a hole. It serves the trace under `capacity_bytes`, and refuses a request under
 * `refused_bytes`, which is at most FIT_STEP_BYTES less. The lowest capacity that serves is found
 * from the lower bound up, from change to change, for FIT_BELOW_REPLAYS replays, which end at the
 * first refused request.
 *
 * Under each capacity that a strategy reads (tlsf, up to 1 GiB; arena) it is another one. It is
 * then tried at even distances below, and still less may serve, and more may not: reads_capacity.
 *
 * A request that the log says was refused must be served too, and is given back at once. Then the
 * search is repeated for what the program needs at least: where a dispensable request
 * (trace_is_dispensable) is refused, the replay goes on without its block. The smaller one that the
 * program then asks for is not in the log and does not count.
 */
#pragma once

#include "alloc/planned/plans.h"
#include "merge/pack/pack.h"
#include "replay/replay.h"

/* What the blocks of a trace ask for. */
struct demand {
    uint64_t peak_bytes; /* the most that live at once, with the refused that a device can have */
    uint64_t refused_count; /* requests that the log says were refused, dispensable ones aside */
    bool ends_refused;      /* none follows the last: what the program would need is not known */
    /* Dispensable requests that were served (trace_is_dispensable), and the peak without them. */
    uint64_t dispensable_count, dispensable_most_bytes, needed_peak_bytes;
};

/* The blocks of a trace as lifetimes, and the least memory that could have held them: what the
 * offline planner (merge/pack) needs, which knows all requests in advance and may place each block
 * anywhere. No strategy does better than its optimum. */
struct lifetimes {
    size_t count;
    struct pack_buffer *buffers; /* times are numbers of events; by start */
    uint64_t request_count;      /* those of no bytes included */
    struct demand demand;
};

/* Reads a trace. A block lives until the application lets it go, or until it is done in a log that
 * knows only that: an allocator that is refused waits for the blocks in between. A request that was
 * refused is a block that lives for a moment. ERR_PARSE, ERR_IO. The caller frees the lifetimes in
 * any case. */
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

enum { FIT_STEP_BYTES = 512, FIT_ABOVE_REPLAYS = 32, FIT_BELOW_REPLAYS = 100 };

/* X(name, sentence): why a request is refused. */
#define FIT_CAUSE_LIST(X)                                                                          \
    X(none, "nothing is refused")                                                                  \
    X(demand, "the live blocks and the request are larger than the capacity")                      \
    X(rounding, "they would fit, and most of the rest is lost by rounding blocks up")              \
    X(fragmentation, "they would fit, and most of the rest is free, in pieces that do not serve")

#define FIT_CAUSE(name, ...) FIT_##name,
enum fit_cause { FIT_CAUSE_LIST(FIT_CAUSE) };
const char *fit_cause_name(enum fit_cause cause);

struct fit_options {
    const char *strategy; /* with options: "pool:leading_bits=2" */
    struct allocator_plans *plans;
    enum replay_free_at free_at;
    const struct atlas *atlas;         /* prices of the driver's calls without a limit, or NULL */
    struct demand demand;              /* of the trace: lifetimes.demand */
    const volatile sig_atomic_t *stop; /* or NULL */
    /* Optional. Called after each replay: the trace is served with `served` bytes and not with
     * `refused`. */
    void (*step)(void *context, unsigned replays, uint64_t refused, uint64_t served);
    void *context;
};

struct fit {
    enum case_status status; /* CASE_ok: the rest is set */
    char reason[1024];
    uint64_t capacity_bytes; /* serves the trace, as do all that were tried above */
    uint64_t refused_bytes;  /* does not; below the lower bound no capacity does */
    uint64_t lowest_bytes;   /* the lowest that serves; below refused_bytes: a hole */
    bool reads_capacity;     /* the strategy does: what was not tried is not known */
    uint64_t unserved_count; /* refused requests that no plan has, or that exceed the device */
    bool knows_needed;       /* the log names dispensable requests */
    uint64_t needed_bytes;   /* serves all but dispensable requests that it refuses */
    struct exact_counts unlimited, limited; /* without a limit, and with the capacity */
    struct case_model times;                /* without a limit; asked: only with an atlas */
    /* What the program had asked for when, without a limit, the most was reserved first. */
    uint64_t requested_at_peak_bytes;
    enum fit_cause cause; /* at refused_bytes */
    struct replay_refusal refusal;
    unsigned replays;
};

/* ERR_PARSE, ERR_IO: of the trace. ERR_USAGE: of the strategy's text. A strategy that cannot play
 * the trace at all is a fit that is not CASE_ok. */
int fit_trace(struct trace_reader *reader, const struct fit_options *options, struct fit *fit,
              struct error *error);
