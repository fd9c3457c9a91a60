/* The blocks of a trace as lifetimes, and the least memory that could have held them: what the
 * offline planner (merge/pack) needs, which knows all requests in advance and may place each block
 * anywhere. No strategy does better than its optimum. */
#pragma once

#include "merge/pack/pack.h"
#include "replay/replay.h"

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
