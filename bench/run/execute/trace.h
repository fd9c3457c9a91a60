/* The trace of a run: what the program asked of the allocator and of the device, in order, how long
 * its own work between two requests took on the host, and each command on the device. It is what
 * the cost model replays (model.h); it says nothing about the strategy it was recorded under.
 *
 * The executor records into memory that was allocated before the run. A trace without room counts
 * the events, so that the next trace can be opened with enough. A listener hears of every event,
 * whether there is room or not: so a run of any length can be followed in bounded memory.
 */
#ifndef GAMUT_RUN_TRACE_H
#define GAMUT_RUN_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "device/device.h"

enum trace_kind {
    TRACE_ALLOC,  /* a block is asked for */
    TRACE_FREE,   /* and given back */
    TRACE_LAUNCH, /* commands: a kernel */
    TRACE_COPY,   /* a copy within the device */
    TRACE_WRITE,  /* from the host, which waits */
    TRACE_READ,   /* to the host, which waits */
};

struct block; /* alloc/allocator.h */

struct trace_event {
    enum trace_kind kind;
    /* Of an alloc or free: the executor's number of the block, which another block may have once this
     * one is freed. A command has the numbers of the blocks that it uses in trace.uses. */
    unsigned block;
    unsigned first_use, use_count;
    unsigned kernel;    /* of a launch: its number in the program */
    uint64_t bytes;     /* asked for, copied, read or written */
    uint64_t alignment; /* of a block */
    const char *tag;    /* of a block */
    uint64_t before_ns; /* host: between the event before and this one, the program's own work */
    uint64_t call_ns;   /* host: in the call */
    uint64_t device_ns; /* of a launch or copy: how long it kept the device busy */
};

/* Hears of each event after it has happened. The listener's own time is in no event's. */
struct trace_listener {
    void *context;
    /* `block` is what a TRACE_ALLOC got; NULL if it failed, and for all other kinds. */
    void (*event)(void *context, const struct trace_event *event, const struct block *block);
    /* The event before used the `bytes` from `first` on in a block, as the array `name`; if `fresh`,
     * it filled them with new contents. A statement may move nothing, because source and
     * destination are the same bytes; the event before is then that of an earlier statement. */
    void (*array)(void *context, unsigned block, const char *name, uint64_t first, uint64_t bytes,
                  bool fresh);
};

/* Where a run is: inputs are written before it, and what is left is freed after it. */
enum trace_part { TRACE_BEFORE, TRACE_RUN, TRACE_AFTER };

struct trace {
    size_t event_count, event_capacity; /* events beyond the capacity are only counted */
    struct trace_event *events;
    size_t use_count, use_capacity;
    unsigned *uses; /* numbers of blocks */
    uint64_t
        *memory_of; /* by block: its memory, still while the listener hears of its free; or 0 */
    unsigned block_capacity;
    size_t run_begin, run_end; /* the events of TRACE_RUN, which are timed */
    enum trace_part part;
    uint64_t run_started_ns;               /* on the host's clock */
    const struct trace_listener *listener; /* NULL: there is none */
    struct trace_event unkept;             /* the last event for which there was no room */
    struct device *profiled; /* its profile hooks time the commands; NULL: they are not timed */
    uint64_t started_ns;     /* on the host's clock: when the current call began */
    uint64_t ended_ns;       /* and when the one before ended */
};

/* With room for `events` events and `uses` uses; `block_capacity` is executor_block_capacity's. */
void trace_open(struct trace *trace, size_t events, size_t uses, unsigned block_capacity);
void trace_close(struct trace *trace);
/* Forgets what was recorded. Not timed. */
void trace_restart(struct trace *trace, struct device *profiled);

/* The executor calls trace_begin_* before, and the matching trace_KIND after, each call. Both do
 * nothing if `trace` is NULL. */
void trace_begin_call(struct trace *trace);
void trace_begin_command(struct trace *trace);
struct alloc_request; /* alloc/allocator.h */
/* `got` is NULL if the allocator failed. */
void trace_alloc(struct trace *trace, unsigned block, const struct block *got,
                 const struct alloc_request *request);
void trace_free(struct trace *trace, unsigned block);
struct launched_array; /* executor.h */
void trace_launch(struct trace *trace, unsigned kernel, unsigned array_count,
                  const struct launched_array *arrays);
/* A copy, read or write of `bytes`; 0 for a side that is no memory of the device. */
void trace_transfer(struct trace *trace, enum trace_kind kind, uint64_t to, uint64_t from,
                    uint64_t bytes);
/* After the event that used or filled the bytes; see trace_listener. */
void trace_array(struct trace *trace, unsigned block, const char *name, uint64_t first,
                 uint64_t bytes, bool fresh);
/* The timed part begins or ends here. */
void trace_begin_run(struct trace *trace);
void trace_end_run(struct trace *trace);

static inline bool trace_has_listener(const struct trace *trace)
{
    return trace && trace->listener;
}

static inline bool trace_fits(const struct trace *trace)
{
    return trace->event_count <= trace->event_capacity && trace->use_count <= trace->use_capacity;
}

/* Does an event of this kind keep the device busy, and so have an entry in its profile? */
static inline bool trace_is_command(enum trace_kind kind)
{
    return kind == TRACE_LAUNCH || kind == TRACE_COPY;
}

#endif
