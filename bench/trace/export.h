/* Traces for the viewers of others. */
#pragma once

#include <stdio.h>

#include "trace/trace.h"

/* Writes the trace as JSON of the Chrome trace format, which Perfetto (ui.perfetto.dev) and
 * chrome://tracing read: counters of the requested bytes and of what the recorded allocator held,
 * slices of phases and of calls, instants of driver calls and refused requests. In a trace without
 * times the n-th event is at n µs. ERR_PARSE as trace_next; ERR_IO. */
int trace_export_perfetto(struct trace_reader *reader, FILE *out, struct error *error);
