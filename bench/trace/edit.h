/* Parts of traces, and differences between two. */
#pragma once

#include <stdio.h>

#include "trace/trace.h"

/* A part of a trace. */
struct trace_part {
    uint64_t first, last; /* numbers of its events, from 1 on */
    bool only_named;      /* without blocks from before that nothing in it uses or frees */
};

/* The part from the begin to the end of the first phase of this name. ERR_USAGE if there is
 * none. */
int trace_find_phase(struct trace_reader *reader, const char *name, struct trace_part *part,
                     struct error *error);

/* Writes a part to a file of its own. Blocks that live before its first event become held events,
 * and are freed at once if the application had freed them. Phases that began before it begin at
 * its start. ERR_USAGE if there is no such event. */
int trace_cut(struct trace_reader *reader, const struct trace_part *part, const char *out,
              bool replace, struct trace_totals *totals, struct error *error);

/* The facts that trace_diff compares. */
enum trace_view {
    TRACE_VIEW_ALL, /* each event, names by their texts, without call stacks */
    /* The application's actions without their times: kind, bytes and kind of memory of each
     * request; the block of each free; queue, bytes and uses of each command; waits and orders.
     * Queues have numbers in the order of their first use, and a held block is one that was
     * requested. The queue of a request or free is left out: most drivers have none, and importers
     * guess it. */
    TRACE_VIEW_ACTIONS,
};

/* Compares two traces event by event, and prints the first `most` events that differ:
 * "-" for the left one, "+" for the right one. *differences
 * receives the number of events that differ, the longer trace's rest included. */
int trace_diff(struct trace_reader *left, struct trace_reader *right, enum trace_view view,
               unsigned most, FILE *out, uint64_t *differences, struct error *error);
