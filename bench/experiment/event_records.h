/* A storm of events without a driver. It measures the cost of the records of events, commands, wait
 * lists and queues, for each source of their memory.
 *
 *   An event is created with a command, and with one wait-list node for each of the events that it
 *   depends on: those created last before it. It completes after all events before it. Then its
 *   command and its wait list are freed. The event itself is freed when its last holder releases
 *   it. Its queue holds it until it is complete. An event that waits for it holds it until that
 *   event is complete. Its creator holds it until it has created as many more events as an event
 *   depends on. A fixed number of events are under way.
 *
 *   In a storm of queues a queue is created, given a number of events, and released by its creator.
 *   It has a lock, a list of the events on it, and a part that is the driver's. Each event on it
 *   holds it until it is complete; the last holder to release it destroys it.
 *
 * These are the records that an OpenCL runtime keeps for a command. (PoCL's documentation describes
 * pools for these objects, as a build option.)
 */
#ifndef GAMUT_EXPERIMENT_EVENT_RECORDS_H
#define GAMUT_EXPERIMENT_EVENT_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The source of records. A slab never gives memory back to the host, and hands out first what was
 * given back last, as the pools of PoCL's documentation do. */
enum record_source {
    RECORDS_FIXED,  /* made beforehand, used in turns: the storm's own cost, without allocation */
    RECORDS_MALLOC, /* malloc and free */
    RECORDS_SLAB,   /* a slab for each kind of record, for one thread alone */
    RECORDS_LOCKED, /* the same slabs for all threads, each with a lock, as PoCL's are */
    RECORD_SOURCES
};
extern const char *const record_source_names[RECORD_SOURCES];

enum storm_threads {
    STORM_ALONE,  /* one thread creates and completes all events */
    STORM_EACH,   /* several threads, and each creates and completes its own events */
    STORM_HANDED, /* one thread creates, another completes; either may free an event */
    STORM_THREADS
};
extern const char *const storm_threads_names[STORM_THREADS];

enum { STORM_DEPENDS_MAX = 8 };

struct event_storm {
    enum record_source source; /* not RECORDS_SLAB if `threads` is STORM_HANDED */
    enum storm_threads threads;
    unsigned thread_count; /* for STORM_EACH */
    unsigned depends;      /* events that an event waits for, at most STORM_DEPENDS_MAX */
    uint64_t commands;     /* events on a queue; 0: events without queues */
    uint64_t events, live; /* events that a thread creates; of these, under way at a time (> 0) */
    size_t event_bytes, command_bytes; /* record sizes: multiples of 8, from STORM_RECORD_BYTES */
    size_t queue_bytes;                /* the same for a queue, from STORM_QUEUE_BYTES */
};
enum {
    STORM_RECORD_BYTES = 64,
    STORM_QUEUE_BYTES = 128,
    STORM_NODE_BYTES = 16,
    STORM_DRIVER_BYTES = 64, /* the driver's part of a queue */
};

struct event_storm_result {
    double event_ns; /* wall time of a thread over its events, on warm records */
    double queue_ns; /* the same over its queues; NaN in a storm without queues */
    uint64_t digest; /* digest of the order in which events completed and of what they waited for */
};

/* Runs a storm twice and times the second run. ERR_WRONG if an event completes before one that
 * it waits for or that precedes it on its queue, if a record has lost its content, or if one is
 * never freed. ERR_UNSUPPORTED for RECORDS_SLAB with STORM_HANDED; ERR_HOST_MEMORY where a thread
 * cannot be started. */
int event_storm_run(const struct event_storm *storm, struct event_storm_result *result,
                    struct error *error);

#endif
