/* A timeline of a few quantities over the events of a run, in bounded memory.
 *
 * Every point stands for `stride` events and keeps the least and the most of each quantity among
 * them (an envelope): no peak is lost, however many events there are. When all points are taken,
 * each pair of neighbours becomes one and the stride doubles. So an event costs constant time on
 * average, and nothing is ever allocated. The idea is that of RRDtool's consolidated archives
 * (Oetiker), with a stride that adapts to the number of events.
 */
#ifndef GAMUT_RECORD_FACTS_TIMELINE_H
#define GAMUT_RECORD_FACTS_TIMELINE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, help): the quantities, in bytes. */
#define TIMELINE_LIST(X)                                                                           \
    X(requested, "asked for by the program and not given back")                                    \
    X(granted, "in the blocks handed out")                                                         \
    X(reserved, "held from the driver")                                                            \
    X(live, "asked for and still to be used: the lower bound")                                     \
    X(spare, "held from the driver and in no block")

enum timeline_quantity {
#define X(name, help) TIMELINE_##name,
    TIMELINE_LIST(X)
#undef X
        TIMELINE_QUANTITIES
};

/* Even. A chart is some thousand pixels wide; a file has hundreds of cases. */
enum { TIMELINE_POINTS = 192 };

struct timeline_point {
    uint64_t step;  /* number of its first event */
    uint64_t at_ns; /* host time of its first event, from the start of the run */
    uint64_t least[TIMELINE_QUANTITIES], most[TIMELINE_QUANTITIES];
};

/* All zeros but `stride` 1: nothing has happened. */
struct timeline {
    size_t event_count;
    size_t stride; /* events a point; the last may have fewer */
    size_t count;
    struct timeline_point points[TIMELINE_POINTS];
};

/* Adds an event, given as a point for it alone. */
void timeline_add(struct timeline *timeline, const struct timeline_point *event);

/* {"events", "stride", "step": [...], "at_ns": [...], "requested_bytes": [...], …, and, where the
 * stride is above 1, "least_requested_bytes": [...], …}; the columns without "least" have the most.
 * The caller owns it. */
json_t *timeline_to_json(const struct timeline *timeline);

#endif
