/* What PyTorch's allocator history says, in any form: the snapshot (pickle or JSON) and the CSV. */
#ifndef GAMUT_TRACE_IMPORT_PYTORCH_H
#define GAMUT_TRACE_IMPORT_PYTORCH_H

#include "trace/import.h"

/* An entry of `device_traces`; torch/cuda/memory.py, _snapshot, describes them. Texts are
 * borrowed. */
struct pytorch_entry {
    const char *action;
    uint64_t address, size, stream;
    uint64_t time_us; /* wall clock, if has_time */
    bool has_time;
    const char *site; /* the call site, or NULL */
    unsigned pool;    /* number of the private pool; 0: the common one */
};

struct pytorch_trace {
    struct import *log;
    struct import_stream *stream;
    uint64_t first_us; /* of the first entry with a time */
    bool began;
};

/* The strategy of gamut that works as PyTorch's allocator does under these settings
 * (allocator_settings of a snapshot; NULL: the default). */
void pytorch_strategy(const json_t *settings, char *strategy, size_t size);

/* Begins the trace of a device. `settings` (allocator_settings, or NULL) is borrowed. */
int pytorch_begin(struct pytorch_trace *trace, struct import *log, const char *device,
                  const char *source, json_t *settings, struct error *error);
/* Begins the trace's time, if no entry has begun it; 0: unknown. */
void pytorch_begin_time(struct pytorch_trace *trace, uint64_t time_us);
/* Adds a block that lived before the history began, or memory that the driver had given: an entry
 * with the action alloc, segment_alloc or segment_map. Memory has to come before other entries. */
void pytorch_add_early(struct pytorch_trace *trace, const struct pytorch_entry *entry);
/* Adds the begin or the end of a phase. */
void pytorch_add_phase(struct pytorch_trace *trace, const char *name, bool begins,
                       uint64_t time_us);
/* Adds an entry; entries come in the order of the history. ERR_PARSE for an unknown action. */
int pytorch_add(struct pytorch_trace *trace, const struct pytorch_entry *entry,
                struct error *error);

#endif
