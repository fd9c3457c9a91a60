/* A trace as text: one line an event, the same facts as in the file. `gamut trace import` reads it
 * back, so that tests, diffs and other people's importers can use it.
 *
 *     gamut trace 1
 *     {"source":"by hand","time_unit_ns":1000,"capacity_bytes":null,"lost_beginning":false,
 *      "knows":["times","frees"]}                                           (on one line)
 *     name 1 "model.py:12 forward"
 *     frame 1 0 "model.py:40 main"
 *     frame 2 1 "model.py:12 forward"
 *     queue 0 "default"
 *     alloc b1 131072 q0 @5000 name=1 stack=2 address=0x7f0000000000
 *     launch q0 @9000 name=2 uses=b1rw,b3r
 *     free b1 q0 @12000
 *
 * The info may have limit_least_bytes and limit_most_bytes: see struct trace_info.
 *
 * A frame of a call stack has a number, that of the frame that called it (0: none is known), and a
 * text; "hidden" in place of "frame" says that it belongs to the allocator, the unwinder or the
 * interpreter. The stack of an event is the number of its innermost frame.
 *
 * A line has the kind, the block (b), the bytes, the queue (q), the thread (t), the time in
 * nanoseconds (@) and the optional members, each where the event has it.
 */
#pragma once

#include <stdio.h>

#include "base/text.h"
#include "trace/trace.h"

/* The first line of the text form. Its version is not that of the file. */
#define TRACE_TEXT_HEAD "gamut trace 1"

/* Prints the rest of a trace, from its first event on. ERR_PARSE as trace_next; ERR_IO. */
int trace_print(struct trace_reader *reader, FILE *out, struct error *error);
/* Adds the line of one event, without the line's end. */
void trace_event_text(const struct trace_reader *reader, const struct trace_event *event,
                      struct text *out);
/* Adds " uses=b1rw,b3r", or nothing for an event without uses. */
void trace_uses_text(const struct trace_reader *reader, const struct trace_event *event,
                     struct text *out);
/* A text in double quotes, with escapes for all that is not plain ASCII; the caller frees it. */
char *trace_quoted(const char *text);

/* Writes the trace as JSON of the Chrome trace format, which Perfetto (ui.perfetto.dev) and
 * chrome://tracing read: counters of the requested bytes and of what the recorded allocator held,
 * slices of phases and of calls, instants of driver calls and refused requests. In a trace without
 * times the n-th event is at n µs. ERR_PARSE as trace_next; ERR_IO. */
int trace_export_perfetto(struct trace_reader *reader, FILE *out, struct error *error);
