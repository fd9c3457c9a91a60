/* The objects of a storm: events, their commands and wait lists, and queues, as a runtime keeps
 * them. One worker or two create and complete events; event_records.h says when what is let go. */
#ifndef GAMUT_EXPERIMENT_EVENT_OBJECTS_H
#define GAMUT_EXPERIMENT_EVENT_OBJECTS_H

#include "experiment/event_records.h"
#include "experiment/record_source.h"

struct event;
struct queue;

/* One thread's part of a storm. */
struct worker {
    const struct event_storm *storm;
    struct records *records;
    struct event *recent[STORM_DEPENDS_MAX]; /* held by their creator, as is the queue */
    struct queue *queue;                     /* that events are put on; NULL: none yet */
    uint64_t taken, given;                   /* records of all kinds */
    uint64_t digest;                         /* of the events completed, and behind what */
    uint64_t wrong_count;
};

/* The records of this storm, to be opened. */
struct records event_records_of(const struct event_storm *storm);

/* The next event, `number` from 0. */
struct event *event_create(struct worker *w, uint64_t number);
/* All that were created before it are complete. It may be another worker's. */
void event_complete(struct worker *w, struct event *e);
/* The creator lets go of what it holds. */
void events_let_go(struct worker *w);

#endif
