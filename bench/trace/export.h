/* Traces for the viewers of others. */
#ifndef GAMUT_TRACE_EXPORT_H
#define GAMUT_TRACE_EXPORT_H

#include <stdio.h>

#include "trace/trace.h"

/* Writes the trace as JSON of the Chrome trace format, which Perfetto (ui.perfetto.dev) and
 * chrome://tracing read: counters of the requested bytes and of what the recorded allocator held,
 * slices of phases and of calls, instants of driver calls and refused requests. In a trace without
 * times the n-th event is at n µs. ERR_PARSE as trace_next; ERR_IO. */
int trace_export_perfetto(struct trace_reader *reader, FILE *out, struct error *error);
/* ---- a snapshot of PyTorch ---- */

/* Writes what another allocator does with a trace as a snapshot of PyTorch, a pickle, so that
 * PyTorch's viewer (docs.pytorch.org/memory_viz) shows it. Memories get addresses of their own,
 * which do not come twice. */
struct pytorch_snapshot;

/* The allocator that plays the trace of `reader` writes to `out`. */
struct pytorch_snapshot *pytorch_snapshot_begin(const struct trace_reader *reader, FILE *out);

enum pytorch_memory {
    PYTORCH_SEGMENT_ALLOC, /* the driver gave a memory */
    PYTORCH_SEGMENT_FREE,
    PYTORCH_SEGMENT_MAP, /* it mapped a part of a range */
    PYTORCH_SEGMENT_UNMAP,
};
/* The allocator called the driver; it is heard of before the event that it is for. */
void pytorch_snapshot_memory(struct pytorch_snapshot *snapshot, enum pytorch_memory call,
                             uint64_t memory, uint64_t offset, uint64_t bytes);

/* A block, as the allocator placed it. */
struct pytorch_block {
    uint64_t memory, offset, bytes;
};
/* An event was played. `block`: what held and alloc got, or free and done gave back; else NULL. */
void pytorch_snapshot_event(struct pytorch_snapshot *snapshot, const struct trace_event *event,
                            const struct pytorch_block *block);
/* Writes the segments of the last event, and ends the pickle. Frees the snapshot in any case. Driver
 * calls after the last event are left out. ERR_IO. */
int pytorch_snapshot_end(struct pytorch_snapshot *snapshot, struct error *error);

#endif
