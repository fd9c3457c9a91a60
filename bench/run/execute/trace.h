/* The trace of a run: what the program asked of the allocator and of the device, in order, how long
 * its own work between two requests took on the host, and each command on the device. It is what
 * the cost model replays (model.h); it says nothing about the strategy it was recorded under.
 *
 * The executor records into memory that was allocated before the run. A trace without room counts
 * the events, so that the next one can have it. A listener is told of each event when it has
 * happened, whether there is room or not: so a run of any length can be followed in bounded memory.
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
    /* Blocks: the executor's number of the block, which another block may have once this one is
     * given back. Commands: those of the blocks that they use, behind `uses`. */
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

/* Who is told what happens. Its own time is in no event's. */
struct trace_listener {
    void *context;
    /* `block` is what a TRACE_ALLOC got, NULL if that failed, and NULL of all others. */
    void (*event)(void *context, const struct trace_event *event, const struct block *block);
    /* By way of `name`, `bytes` from `first` on in a block are used by the event that has just been
     * told; or, if `fresh`, it filled them with new contents. After a statement that moves nothing,
     * because source and destination are the same bytes, that event is an earlier one. */
    void (*array)(void *context, unsigned block, const char *name, uint64_t first, uint64_t bytes,
                  bool fresh);
};

/* Where a run is: inputs come before, what is left after. */
enum trace_part { TRACE_BEFORE, TRACE_RUN, TRACE_AFTER };

struct trace {
    size_t event_count, event_capacity; /* a count above the capacity: only counted */
    struct trace_event *events;
    size_t use_count, use_capacity;
    unsigned *uses;      /* numbers of blocks */
    uint64_t *memory_of; /* by block: where it lies, or lay when its free is told; 0: nowhere */
    unsigned block_capacity;
    size_t run_begin, run_end; /* the events of TRACE_RUN, which are timed */
    enum trace_part part;
    uint64_t run_started_ns;               /* of the host's clock */
    const struct trace_listener *listener; /* NULL: nobody listens */
    struct trace_event unkept;             /* the last for which there was no room */
    struct device *profiled;       /* commands are timed by its profile hooks; NULL: they are not */
    uint64_t started_ns, ended_ns; /* of the host's clock: the call that is made, the one before */
};

/* Room for as many events and uses; `block_capacity` as the executor says. */
void trace_open(struct trace *trace, size_t events, size_t uses, unsigned block_capacity);
void trace_close(struct trace *trace);
/* Forgets what was recorded. Not timed. */
void trace_restart(struct trace *trace, struct device *profiled);

/* Around each call, the second with what it was; `trace` may be NULL: nobody records. */
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
void trace_copy(struct trace *trace, uint64_t to, uint64_t from, uint64_t bytes);
void trace_read(struct trace *trace, uint64_t memory, uint64_t bytes);
void trace_write(struct trace *trace, uint64_t memory, uint64_t bytes);
/* After the event that used or filled them; see trace_listener. */
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

/* Is it a command that keeps the device busy (and an entry of its profile)? */
static inline bool trace_is_command(enum trace_kind kind)
{
    return kind == TRACE_LAUNCH || kind == TRACE_COPY;
}

#endif
