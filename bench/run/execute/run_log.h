/* The log of a run: the program's requests to the allocator and its commands for the device, as
 * events of a trace (trace/event.h), in memory. The time of an event is that of the program's own
 * work and of its calls before it. The cost model replays it (model.h). It does not depend on the
 * strategy of the recorded run.
 *
 * Of the members of an event these are set: time_ns and call_ns; for alloc and free the slot, which
 * is the executor's number of the block; for an alloc bytes, alignment and the name, an index of
 * run_log.names; for a launch the name, which is the kernel's number in the program; for a copy, a
 * write and a read, which waits, the bytes; for commands and transfers the uses, and device_ns
 * where the device was asked for it.
 *
 * The executor records into memory that was allocated before the run. A log without room counts
 * the events, so that the next log can be opened with enough. A listener is called for every
 * event, whether there is room or not, so it can follow a run of any length in bounded memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

struct block; /* alloc/allocator.h */

/* Called after each event. No event's times include the listener's own. */
struct run_log_listener {
    void *context;
    void (*event)(void *context, const struct trace_event *event);
};

/* The part of a run: inputs are written before it, and the remaining blocks are freed after it. */
enum run_log_part { LOG_BEFORE, LOG_RUN, LOG_AFTER };

struct run_log {
    size_t event_count, event_capacity; /* events beyond the capacity are only counted */
    struct trace_event *events;
    size_t use_count, use_capacity;
    struct trace_use *uses;
    const char **names;  /* of requests: their tags */
    uint64_t *memory_of; /* memory of a block, or 0; still set when its free is reported */
    unsigned block_capacity;
    size_t run_begin, run_end; /* the events of LOG_RUN, which are timed */
    enum run_log_part part;
    const struct run_log_listener *listener; /* NULL: there is none */
    struct trace_event unkept;               /* the last event for which there was no room */
    struct device *profiled; /* its profile hooks time the commands; NULL: they are not timed */
    uint64_t time_ns;        /* of the program, until the call before ended */
    uint64_t started_ns;     /* start of the current call, on the host's clock */
    uint64_t ended_ns;       /* end of the call before, on the same clock */
};

/* Opens a trace with room for `events` events and `uses` uses; `block_capacity` is that of
 * executor_block_capacity. */
void run_log_open(struct run_log *trace, size_t events, size_t uses, unsigned block_capacity);
/* Frees its memory. */
void run_log_close(struct run_log *trace);
/* Drops all recorded events. The commands that follow are not timed, unless `profiled` is set. */
void run_log_restart(struct run_log *trace);

/* The executor calls run_log_begin_call before a call of the allocator and run_log_begin_command
 * before a command. After it, it calls the matching trace_KIND below. All do nothing if `trace` is
 * NULL. */
void run_log_begin_call(struct run_log *trace);
void run_log_begin_command(struct run_log *trace);
struct alloc_request; /* alloc/allocator.h */
/* Records an alloc; `got` is NULL if the allocator failed. */
void run_log_alloc(struct run_log *trace, unsigned block, const struct block *got,
                   const struct alloc_request *request);
/* Records a free, by the executor's number of the block. */
void run_log_free(struct run_log *trace, unsigned block);
struct launched_array; /* executor.h */
/* Records a launch; its uses are the blocks of `arrays`. */
void run_log_launch(struct run_log *trace, unsigned kernel, unsigned array_count,
                    const struct launched_array *arrays);
/* Records a copy, read or write of `bytes`. `to` and `from` are memories; 0: a side on the host. */
void run_log_transfer(struct run_log *trace, enum trace_kind kind, uint64_t to, uint64_t from,
                      uint64_t bytes);
/* The timed part LOG_RUN begins here. */
void run_log_begin_run(struct run_log *trace);
/* It ends here. */
void run_log_end_run(struct run_log *trace);

/* Had the trace room for all events and uses? */
static inline bool run_log_fits(const struct run_log *trace)
{
    return trace->event_count <= trace->event_capacity && trace->use_count <= trace->use_capacity;
}
