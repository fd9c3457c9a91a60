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
    uint64_t pool[2]; /* the private pool; 0, 0: the common one */
};

struct pytorch_trace {
    struct import *log;
    struct import_stream *stream;
    uint64_t first_us; /* of the first entry with a time */
    bool began;
};

/* Begins the trace of a device. `settings` (allocator_settings, or NULL) is borrowed. */
int pytorch_begin(struct pytorch_trace *trace, struct import *log, const char *device,
                  const char *source, json_t *settings, struct error *error);
/* Adds an entry; entries come in the order of the history. ERR_PARSE for an unknown action. */
int pytorch_add(struct pytorch_trace *trace, const struct pytorch_entry *entry,
                struct error *error);

#endif
