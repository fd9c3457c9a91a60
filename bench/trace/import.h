/* Importers: they read the log of another tool and write traces.
 *
 * An importer is a file in bench/trace/import/ with one function, and a line in
 * import/list.h; importers.c chooses the one that base/file_kind.c names for the log's contents.
 * Logs name blocks by address; the functions here find the block of an address, and what lived
 * before the log began.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "trace/import/list.h"
#include "trace/trace.h"

/* A log that is being read, plain or compressed with gzip. */
struct import;

/* Reads a log: makes streams, and adds all events. ERR_PARSE with the place. */
#define X(function, name) int import_##function(struct import *log, struct error *error);
IMPORTER_LIST(X)
#undef X

enum { IMPORT_LINE_MOST = 1 << 24 }; /* bytes; a longer line is refused */

/* Reads the next line, without its end: 1, 0 at the end of the log, or a negative code. Valid until
 * the next call. */
int import_line(struct import *log, char **line, struct error *error);
/* Goes back to the first line. ERR_IO. */
int import_rewind(struct import *log, struct error *error);
/* The same for all bytes that are left, at most `most`: for logs that are no lines. */
int import_rest(struct import *log, size_t most, struct text *bytes, struct error *error);
/* The next bytes, at least `least` of them unless the log ends before, with a NUL after them. They
 * are valid until the next call, and import_take moves past them. */
int import_peek(struct import *log, size_t least, const char **bytes, size_t *length,
                struct error *error);
void import_take(struct import *log, size_t count);
/* A file without a name in the folder of the traces, for what does not fit memory; the caller
 * closes it. ERR_IO. import_scratch_error is what is said when it cannot be written. */
int import_scratch(const struct import *log, int *file, struct error *error);
int import_scratch_error(const struct import *log, struct error *error);
/* The file of the log, for importers that map it. */
const char *import_path(const struct import *log);
/* ERR_PARSE: "FILE:LINE: message". */
int import_error(const struct import *log, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A trace that is being made. */
struct import_stream;

enum { IMPORT_DEVICES_MOST = 1024 };

/* The trace of a device, as the log names it; a new one gets the info, which is copied. With one
 * device the trace has the name that was asked for, with several that of each device at its end,
 * and a number where the names of two become the same file. ERR_PARSE for too many devices. */
int import_stream(struct import *log, const char *device, const struct trace_info *info,
                  struct import_stream **stream, struct error *error);
/* Its writer, for names, queues and events that concern no block. */
struct trace_writer *import_writer(struct import_stream *stream);

/* A block that an address names. */
struct import_block {
    uint64_t key;
    unsigned slot, queue, thread; /* those of its alloc */
    uint64_t bytes;
    bool let_go; /* freed, but not done */
};
/* The live block with this key; NULL: there is none. Valid until the next alloc or free. */
const struct import_block *import_find(const struct import_stream *stream, uint64_t key);
/* A block: event->kind is alloc or held, and the rest of the event is set but for the slot. A log
 * that several threads write may have the next owner of an address before the free of the last
 * one: the free is moved in front, to the block's own queue and thread, and counted. */
void import_alloc(struct import_stream *stream, uint64_t key, struct trace_event *event);
/* The end of a block: event->kind is free or done. A block that the log never made lived before:
 * it is added as held, in event->pool, if event->bytes has its size, else the event is dropped and
 * counted. */
void import_free(struct import_stream *stream, uint64_t key, struct trace_event *event);
/* Any other event. */
void import_event(struct import_stream *stream, const struct trace_event *event);

/* The result of an import, to be shown to the user. */
struct import_report {
    const char *importer; /* "rmm" */
    unsigned trace_count;
    struct imported {
        char path[4096], device[128];
        struct trace_totals totals;
        uint64_t moved_frees;   /* frees that stood after the next owner of their address */
        uint64_t dropped_frees; /* frees of unknown blocks of unknown size */
    } * traces;
};

/* The steps of import_log. Opens a log and reads its start, which is plain text or bytes; ERR_IO,
 * ERR_PARSE. */
int import_open(const char *path, const char *out, struct import **log, struct error *error);
/* Writes the traces and adds them to the report. ERR_PARSE if there is none, ERR_IO, ERR_USAGE. */
int import_finish(struct import *log, bool replace, struct import_report *report,
                  struct error *error);
/* Drops the traces that are not finished. */
void import_close(struct import *log);

/* Imports a log to `out`; with several devices to OUT-DEVICE.trace each. `format`: the importer's
 * name, or NULL: by contents. ERR_PARSE, ERR_IO, ERR_USAGE if a file is there. The caller calls
 * import_report_free in any case. */
int import_log(const char *path, const char *format, const char *out, bool replace,
               struct import_report *report, struct error *error);
void import_report_free(struct import_report *report);
