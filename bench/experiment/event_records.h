/* A storm of events without a driver: what the records of events, commands, wait lists and queues
 * cost by where their memory comes from.
 *
 *   An event is created with a command and one wait-list node for each of the events that it
 *   depends on, those created last before it. It completes when all before it have; then its
 *   command and its wait list go, and the event itself once nobody holds it: its queue until it is
 *   complete, who waits for it until that is complete, its creator until it has created as many
 *   more as an event depends on. A fixed number of events are under way.
 *
 *   In a storm of queues a queue is created, given so many events, and released by its creator. It
 *   has a lock, a list of what is on it, and a part that is the driver's; each event on it holds it
 *   until it is complete, and whoever lets it go last destroys it.
 *
 * That is what an OpenCL runtime keeps for a command (PoCL, whose document has pools for these
 * objects, as a build option).
 */
#ifndef GAMUT_EXPERIMENT_EVENT_RECORDS_H
#define GAMUT_EXPERIMENT_EVENT_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "experiment/record_source.h"

enum storm_threads {
    STORM_ALONE,  /* one thread creates and completes */
    STORM_EACH,   /* several threads do, each its own events */
    STORM_HANDED, /* one thread creates, another completes; either may be the last that holds one */
    STORM_THREADS
};
extern const char *const storm_threads_names[STORM_THREADS];

enum { STORM_DEPENDS_MAX = 8 };

struct event_storm {
    enum record_source source; /* RECORDS_SLAB not with STORM_HANDED */
    enum storm_threads threads;
    unsigned thread_count;             /* of STORM_EACH */
    unsigned depends;                  /* at most STORM_DEPENDS_MAX */
    uint64_t commands;                 /* events of a queue; 0: events without queues */
    uint64_t events, live;             /* of a thread; live > 0 */
    size_t event_bytes, command_bytes; /* multiples of 8, at least STORM_RECORD_BYTES */
    size_t queue_bytes;                /* a multiple of 8, at least STORM_QUEUE_BYTES */
};
enum {
    STORM_RECORD_BYTES = 64,
    STORM_QUEUE_BYTES = 128,
    STORM_NODE_BYTES = 16,
    STORM_DRIVER_BYTES = 64, /* of a queue */
};

struct event_storm_result {
    double event_ns; /* wall time over the events of a thread, on warm records */
    double queue_ns; /* likewise over its queues; NaN in a storm without */
    uint64_t digest; /* of what completed in which order, behind what */
};

/* ERR_WRONG where an event completes before one that it waits for or that is before it on its
 * queue, a record is not what was written into it, or one is left over. */
int event_storm_run(const struct event_storm *storm, struct event_storm_result *result,
                    struct error *error);

#endif
