#include "trace/import.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/gzip_file.h"
#include "base/random.h"

enum { BUFFER_BYTES = 1 << 18 };

struct import_stream {
    struct import_stream *next;
    struct import *log;
    struct trace_writer *writer;
    struct text device, path;
    uint64_t moved_frees, dropped_frees;
    /* Live blocks by key, in an open hash table; `owed` counts frees that were moved. */
    struct entry {
        bool used;
        unsigned owed;
        struct import_block block;
        bool live;
    } * entries;
    uint64_t entry_count, entry_capacity; /* used entries; a power of two */
};

struct import {
    const char *path, *out;
    gzFile in;
    char *buffer; /* [begin, end) is not delivered yet */
    size_t begin, end, capacity;
    bool at_end;
    uint64_t line_number;
    struct import_stream *streams, **last;
};

/* ---- the log's bytes ---- */

int import_error(const struct import *log, struct error *error, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (log->line_number)
        return error_set(error, ERR_PARSE, "%s:%llu: %s", log->path,
                         (unsigned long long)log->line_number, message);
    return error_set(error, ERR_PARSE, "%s: %s", log->path, message);
}

const char *import_path(const struct import *log)
{
    return log->path;
}

/* Reads more bytes to the end of the buffer. */
static int fill(struct import *log, struct error *error)
{
    if (log->begin) {
        memmove(log->buffer, log->buffer + log->begin, log->end - log->begin);
        log->end -= log->begin;
        log->begin = 0;
    }
    if (log->capacity - log->end < BUFFER_BYTES) {
        log->capacity = 2 * log->capacity + BUFFER_BYTES;
        log->buffer = must_realloc(log->buffer, log->capacity + 1);
    }
    const int n = gzread(log->in, log->buffer + log->end, BUFFER_BYTES);
    if (n <= 0)
        TRY(gzip_error(log->in, log->path, error));
    log->at_end = n <= 0;
    log->end += log->at_end ? 0 : (size_t)n;
    log->buffer[log->end] = 0;
    return 0;
}

int import_line(struct import *log, char **line, struct error *error)
{
    size_t seen = 0;
    for (;;) {
        char *start = log->buffer + log->begin;
        const size_t length = log->end - log->begin;
        char *end = length > seen ? memchr(start + seen, '\n', length - seen) : NULL;
        if (!end && log->at_end && length)
            end = start + length;
        if (end) {
            const size_t taken = (size_t)(end - start) + (end < log->buffer + log->end);
            *end = 0;
            if (end > start && end[-1] == '\r')
                end[-1] = 0;
            log->begin += taken;
            log->line_number++;
            *line = start;
            if (strlen(start) != (size_t)(end - start) &&
                !(end > start && strlen(start) == (size_t)(end - start) - 1))
                return import_error(log, error, "the line has a NUL: this is no text");
            return 1;
        }
        if (log->at_end)
            return 0;
        seen = length;
        if (length > IMPORT_LINE_MOST)
            return import_error(log, error, "a line has more than 16 MiB: this is no such log");
        TRY(fill(log, error));
    }
}

int import_rewind(struct import *log, struct error *error)
{
    if (gzrewind(log->in) < 0)
        return error_set(error, ERR_IO, "%s: the log cannot be read a second time: give a file",
                         log->path);
    log->begin = log->end = log->line_number = 0;
    log->at_end = false;
    return fill(log, error);
}

int import_rest(struct import *log, size_t most, struct text *bytes, struct error *error)
{
    for (;;) {
        if (log->end - log->begin + bytes->length > most)
            return import_error(log, error, "the log has more than %zu MiB", most >> 20);
        text_add_bytes(bytes, log->buffer + log->begin, log->end - log->begin);
        log->begin = log->end;
        if (log->at_end)
            return 0;
        TRY(fill(log, error));
    }
}

int import_peek(struct import *log, size_t least, const char **bytes, size_t *length,
                struct error *error)
{
    while (!log->at_end && log->end - log->begin < least)
        TRY(fill(log, error));
    *bytes = log->buffer + log->begin;
    *length = log->end - log->begin;
    return 0;
}

void import_take(struct import *log, size_t count)
{
    log->begin += count;
}

int import_scratch_error(const struct import *log, struct error *error)
{
    return error_set(error, ERR_IO, "a file for the entries of %s, in the folder of %s: %s",
                     log->path, log->out, strerror(errno));
}

int import_scratch(const struct import *log, int *file, struct error *error)
{
    struct text path = {0};
    text_add(&path, "%s-XXXXXX", log->out);
    *file = mkstemp(path.data);
    if (*file >= 0)
        unlink(path.data);
    text_free(&path);
    return *file < 0 ? import_scratch_error(log, error) : 0;
}

/* ---- blocks by key ---- */

static struct entry *entry_of(struct import_stream *s, uint64_t key)
{
    for (uint64_t at = random_mix(key);; at++) {
        struct entry *e = &s->entries[at & (s->entry_capacity - 1)];
        if (!e->used || e->block.key == key)
            return e;
    }
}

/* Keeps half of the table empty. Keys without a live block are dropped. */
static void make_room(struct import_stream *s)
{
    if (2 * s->entry_count < s->entry_capacity)
        return;
    struct entry *old = s->entries;
    const uint64_t old_capacity = s->entry_capacity;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < old_capacity; i++)
        kept += old[i].used && (old[i].live || old[i].owed);
    s->entry_capacity = 64;
    while (s->entry_capacity < 4 * kept)
        s->entry_capacity *= 2;
    s->entries = must_alloc(s->entry_capacity * sizeof *s->entries);
    s->entry_count = kept;
    for (uint64_t i = 0; i < old_capacity; i++)
        if (old[i].used && (old[i].live || old[i].owed))
            *entry_of(s, old[i].block.key) = old[i];
    free(old);
}

const struct import_block *import_find(const struct import_stream *s, uint64_t key)
{
    if (!s->entry_capacity)
        return NULL;
    const struct entry *e = entry_of((struct import_stream *)s, key);
    return e->used && e->live ? &e->block : NULL;
}

static bool knows_done(const struct import_stream *s)
{
    return trace_writer_info(s->writer)->knows[TRACE_KNOWS_done];
}

static void end_block(struct import_stream *s, struct entry *e, struct trace_event *event)
{
    event->slot = e->block.slot;
    struct trace_event end = *event; /* size, address and pool are those of its block */
    end.bytes = end.address = end.pool = 0;
    trace_put(s->writer, &end);
    e->block.let_go = true;
    if (event->kind == TRACE_free && knows_done(s))
        return;
    e->live = false;
    trace_give_slot(s->writer, e->block.slot);
}

void import_alloc(struct import_stream *s, uint64_t key, struct trace_event *event)
{
    make_room(s);
    struct entry *e = entry_of(s, key);
    if (!e->used) {
        *e = (struct entry){.used = true, .block.key = key};
        s->entry_count++;
    }
    if (e->live) {
        struct trace_event end = {.kind = e->block.let_go ? TRACE_done : TRACE_free,
                                  .queue = e->block.queue,
                                  .thread = e->block.thread,
                                  .time_ns = event->time_ns};
        if (end.kind == TRACE_free && knows_done(s)) {
            end_block(s, e, &end);
            e->owed++;
            end.kind = TRACE_done;
        }
        end_block(s, e, &end);
        e->owed++;
        s->moved_frees++;
    }
    e->block.slot =
        event->kind == TRACE_held ? trace_new_slot(s->writer) : trace_take_slot(s->writer);
    e->block.bytes = event->bytes;
    e->block.queue = event->queue;
    e->block.thread = event->thread;
    e->block.let_go = false;
    e->live = true;
    event->slot = e->block.slot;
    if (event->kind == TRACE_held)
        trace_put_held(s->writer, event);
    else
        trace_put(s->writer, event);
}

void import_free(struct import_stream *s, uint64_t key, struct trace_event *event)
{
    make_room(s);
    struct entry *e = entry_of(s, key);
    if (e->used && e->owed) {
        e->owed--;
        return;
    }
    if (!e->used || !e->live) {
        trace_writer_info(s->writer)->lost_beginning = true;
        if (event->bytes == 0) {
            s->dropped_frees++;
            return;
        }
        struct trace_event held = {.kind = TRACE_held,
                                   .bytes = event->bytes,
                                   .queue = event->queue,
                                   .address = event->address,
                                   .pool = event->pool};
        import_alloc(s, key, &held);
        e = entry_of(s, key);
    }
    if (event->kind == TRACE_free && e->block.let_go) {
        s->dropped_frees++;
        return;
    }
    end_block(s, e, event);
}

void import_event(struct import_stream *s, const struct trace_event *event)
{
    trace_put(s->writer, event);
}

/* ---- streams ---- */

static bool path_is_taken(const struct import *log, const struct text *path)
{
    for (const struct import_stream *s = log->streams; s; s = s->next)
        if (strcmp(s->path.data, path->data) == 0)
            return true;
    return false;
}

/* OUT-DEVICE.trace; a log must not choose another folder. Of devices whose names become the same,
 * the second has OUT-DEVICE-2.trace. */
static void path_of_device(const struct import *log, const char *device, struct text *path)
{
    text_add_bytes(path, log->out, trace_stem(log->out));
    text_add(path, "-");
    for (const char *c = device; *c; c++)
        text_add(path, "%c", isalnum((unsigned char)*c) || strchr("_-.", *c) ? *c : '_');
    const size_t without_number = path->length;
    text_add(path, "%s", TRACE_SUFFIX);
    for (unsigned n = 2; path_is_taken(log, path); n++) {
        path->length = without_number;
        text_add(path, "-%u%s", n, TRACE_SUFFIX);
    }
}

int import_stream(struct import *log, const char *device, const struct trace_info *info,
                  struct import_stream **stream, struct error *error)
{
    unsigned count = 0;
    for (struct import_stream *s = log->streams; s; s = s->next, count++)
        if (strcmp(s->device.data, device) == 0) {
            *stream = s;
            return 0;
        }
    if (count >= IMPORT_DEVICES_MOST)
        return import_error(log, error, "the log has more than %d devices", IMPORT_DEVICES_MOST);
    struct import_stream *s = must_alloc(sizeof *s);
    s->log = log;
    text_add(&s->device, "%s", device);
    path_of_device(log, device, &s->path);
    *log->last = s;
    log->last = &s->next;
    *stream = s;
    return trace_create(s->path.data, info, &s->writer, error);
}

struct trace_writer *import_writer(struct import_stream *s)
{
    return s->writer;
}

/* ---- the whole ---- */

/* Copies a pipe to a file, so that it can be read twice. */
static int spool(const struct import *log, int *file, struct error *error)
{
    char bytes[1 << 16];
    ssize_t n = 0;
    int copy;
    TRY(import_scratch(log, &copy, error));
    int code = 0;
    while (!code && (n = read(*file, bytes, sizeof bytes)) > 0)
        for (ssize_t at = 0, w; at < n && !code; at += w)
            if ((w = write(copy, bytes + at, (size_t)(n - at))) <= 0)
                code = import_scratch_error(log, error);
    if (!code && n < 0)
        code = error_set(error, ERR_IO, "%s: %s", log->path, strerror(errno));
    if (!code)
        lseek(copy, 0, SEEK_SET);
    close(*file);
    *file = copy;
    return code;
}

int import_open(const char *path, const char *out, struct import **opened, struct error *error)
{
    *opened = NULL;
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status))
        return error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    struct import *log = must_alloc(sizeof *log);
    *log = (struct import){.path = path, .out = out};
    log->last = &log->streams;
    int code = S_ISFIFO(status.st_mode) ? spool(log, &file, error) : 0;
    log->in = must_have(gzdopen(file, "r"));
    THEN(code, fill(log, error));
    if (code)
        import_close(log);
    else
        *opened = log;
    return code;
}

int import_finish(struct import *log, bool replace, struct import_report *report,
                  struct error *error)
{
    int code = 0;
    unsigned capacity = 0;
    struct import_stream *first = log->streams;
    if (!first)
        return import_error(log, error, "the log has no events");
    if (!first->next) {
        first->path.length = 0;
        text_add(&first->path, "%s", log->out);
        trace_set_path(first->writer, log->out);
    }
    for (struct import_stream *s = first; s && !code; s = s->next) {
        report->traces =
            must_grow(report->traces, report->trace_count, &capacity, sizeof *report->traces);
        struct imported *made = &report->traces[report->trace_count];
        *made = (struct imported){.moved_frees = s->moved_frees, .dropped_frees = s->dropped_frees};
        snprintf(made->path, sizeof made->path, "%s", s->path.data);
        snprintf(made->device, sizeof made->device, "%s", s->device.data);
        code = trace_finish(s->writer, replace, &made->totals, error);
        s->writer = NULL;
        report->trace_count += !code;
    }
    return code;
}

void import_close(struct import *log)
{
    for (struct import_stream *s = log->streams, *next; s; s = next) {
        next = s->next;
        trace_abandon(s->writer);
        text_free(&s->device);
        text_free(&s->path);
        free(s->entries);
        free(s);
    }
    gzclose_r(log->in);
    free(log->buffer);
    free(log);
}

void import_report_free(struct import_report *report)
{
    free(report->traces);
    *report = (struct import_report){0};
}
