/* Parts of traces, and differences between two. */
#ifndef GAMUT_TRACE_EDIT_H
#define GAMUT_TRACE_EDIT_H

#include <stdio.h>

#include "trace/trace.h"

/* Writes the events `first` to `last` (from 1 on) to a file of their own. Blocks that live before
 * `first` become held events, and are freed at once if the application had let them go. Phases that began before it begin at its start. ERR_USAGE if there
 * is no such event. */
int trace_cut(struct trace_reader *reader, uint64_t first, uint64_t last, const char *out,
              bool replace, struct trace_totals *totals, struct error *error);

/* Compares two traces event by event, and prints the first `most` events that differ:
 * "-" for the left one, "+" for the right one. Names are compared by their texts. *differences
 * receives the number of events that differ, the longer trace's rest included. */
int trace_diff(struct trace_reader *left, struct trace_reader *right, unsigned most, FILE *out,
               uint64_t *differences, struct error *error);

#endif
