/* The Chrome trace of PyTorch's profiler (Kineto), recorded with profile_memory=True:
 *
 *     {"traceEvents": [
 *       {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "tid": 3649, "ts": 484.547,
 *        "args": {"Total Reserved": 58720256, "Total Allocated": 42849280, "Bytes": 2048000,
 *                 "Device Id": 0, "Device Type": 1, "Addr": 139772408315904}},
 *       {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "ts": 480.1, "dur": 9.2}]}
 *
 * Positive bytes are a request, negative ones a free; "[OutOfMemory]" is a refused request. A free
 * is the call. The events stand by thread, and are sorted by time here. Annotations are phases.
 *
 * On a GPU the size is that of the allocator's block, which is at least the request: CUDACaching-
 * Allocator reports block->size (pytorch/pytorch, c10/cuda/CUDACachingAllocator.cpp). On the CPU it
 * is what was asked for. Streams are not in the log.
 *
 * "Total Allocated" of the first event says what lived before. Of that, what the log never frees is
 * one held block: its parts are not known. A change of "Total Reserved" is one driver call here;
 * there may have been several.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "trace/import.h"

enum { ENTRIES_MOST = 1 << 25, DEVICES_MOST = 64 };

/* A memory event, or a bound of an annotation. */
struct entry {
    double time_us;
    unsigned order; /* in the log */
    enum trace_kind kind;
    unsigned device;  /* a memory event's; index */
    const char *name; /* a phase's */
    int64_t thread;
    uint64_t bytes, address;
    int64_t allocated, reserved; /* totals after the event; -1: unknown */
};

struct device {
    int64_t type, number;
    struct import_stream *stream;
    bool began;
    int64_t before, allocated, reserved; /* before the log; after the last event */
    uint64_t freed_before, jumps; /* held blocks that the log frees; totals that do not add */
};

struct kineto {
    struct import *log;
    struct arena arena;
    struct entry *entries;
    struct device *devices;
    unsigned entry_count, entry_capacity, device_count, device_capacity;
    uint64_t event_count; /* of all kinds */
    /* The scanner's place in the text. */
    unsigned depth;
    bool in_text, escaped, in_events;
    char member[16]; /* the last text at depth 1 */
    size_t member_length;
    struct text event; /* the text of the event that has begun */
};

static bool recognises(const char *start, size_t length)
{
    (void)length;
    return start[strspn(start, " \t\r\n")] == '{' && strstr(start, "\"traceEvents\"");
}

/* ---- events ---- */

static int event_error(const struct kineto *k, struct error *error, const char *expected)
{
    return import_error(k->log, error, "event %" PRIu64 " of traceEvents: expected %s",
                        k->event_count, expected);
}

static int add_entry(struct kineto *k, const struct entry *entry, struct error *error)
{
    if (k->entry_count >= ENTRIES_MOST)
        return import_error(k->log, error, "the log has more than %d memory events", ENTRIES_MOST);
    k->entries = must_grow(k->entries, k->entry_count, &k->entry_capacity, sizeof *k->entries);
    k->entries[k->entry_count] = *entry;
    k->entries[k->entry_count].order = k->entry_count;
    k->entry_count++;
    return 0;
}

/* The index of a device; devices are few. */
static unsigned device_of(struct kineto *k, int64_t type, int64_t number)
{
    for (unsigned i = 0; i < k->device_count; i++)
        if (k->devices[i].type == type && k->devices[i].number == number)
            return i;
    k->devices = must_grow(k->devices, k->device_count, &k->device_capacity, sizeof *k->devices);
    k->devices[k->device_count] = (struct device){.type = type, .number = number, .reserved = -1};
    return k->device_count++;
}

static int64_t total_of(const json_t *args, const char *name)
{
    const json_t *value = json_object_get(args, name);
    const int64_t total = json_integer_value(value);
    return json_is_integer(value) && total >= 0 && total <= (int64_t)TRACE_TOTAL_MOST ? total : -1;
}

static int add_memory(struct kineto *k, const json_t *event, bool refused, struct error *error)
{
    const json_t *args = json_object_get(event, "args"), *bytes = json_object_get(args, "Bytes");
    const json_t *address = json_object_get(args, "Addr"), *ts = json_object_get(event, "ts");
    const json_t *type = json_object_get(args, "Device Type");
    if (!json_is_number(ts) || !json_is_integer(bytes) || !json_is_integer(type))
        return event_error(k, error, "the numbers 'ts', 'Bytes' and 'Device Type'");
    if (!refused && !json_is_integer(address))
        return event_error(k, error, "the number 'Addr', which PyTorch writes from 1.10 on");
    const int64_t size = json_integer_value(bytes);
    if (size > (int64_t)TRACE_TOTAL_MOST || size < -(int64_t)TRACE_TOTAL_MOST)
        return event_error(k, error, "a size below 2^53 bytes");
    const json_t *id = json_object_get(args, "Device Id");
    const struct entry entry = {
        .time_us = json_number_value(ts),
        .kind = refused    ? TRACE_refused
                : size < 0 ? TRACE_free
                           : TRACE_alloc,
        .device = device_of(k, json_integer_value(type), json_integer_value(id)),
        .thread = json_integer_value(json_object_get(event, "tid")),
        .bytes = (uint64_t)(size < 0 ? -size : size),
        .address = (uint64_t)json_integer_value(address),
        .allocated = total_of(args, "Total Allocated"),
        .reserved = total_of(args, "Total Reserved"),
    };
    if (k->device_count > DEVICES_MOST)
        return event_error(k, error, "at most 64 devices");
    return add_entry(k, &entry, error);
}

static int add_annotation(struct kineto *k, const json_t *event, const char *name,
                          struct error *error)
{
    const json_t *ts = json_object_get(event, "ts"), *dur = json_object_get(event, "dur");
    if (!json_is_number(ts) || !(json_number_value(dur) >= 0))
        return event_error(k, error, "the numbers 'ts' and 'dur', which is at least 0");
    struct entry entry = {.time_us = json_number_value(ts),
                          .kind = TRACE_begin,
                          .thread = json_integer_value(json_object_get(event, "tid")),
                          .name = arena_printf(&k->arena, "%.300s", name)};
    TRY(add_entry(k, &entry, error));
    entry.time_us += json_number_value(dur);
    entry.kind = TRACE_end;
    return add_entry(k, &entry, error);
}

/* Most events concern no memory, and are not parsed. */
static int read_event(struct kineto *k, struct error *error)
{
    const char *text = k->event.data;
    k->event_count++;
    if (!strstr(text, "\"[memory]\"") && !strstr(text, "\"[OutOfMemory]\"") &&
        !strstr(text, "\"user_annotation\""))
        return 0;
    json_error_t why;
    json_t *event = json_loadb(text, k->event.length, 0, &why);
    if (!event)
        return import_error(k->log, error, "event %" PRIu64 " of traceEvents: %s", k->event_count,
                            why.text);
    const char *name = json_string_value(json_object_get(event, "name"));
    const char *cat = json_string_value(json_object_get(event, "cat"));
    const bool refused = name && strcmp(name, "[OutOfMemory]") == 0;
    int code = 0;
    if (refused || (name && strcmp(name, "[memory]") == 0))
        code = add_memory(k, event, refused, error);
    else if (name && cat && strcmp(cat, "user_annotation") == 0)
        code = add_annotation(k, event, name, error);
    json_decref(event);
    return code;
}

/* ---- the text ---- */

static void scan_text(struct kineto *k, char c)
{
    if (k->escaped)
        k->escaped = false;
    else if (c == '\\')
        k->escaped = true;
    else if (c == '"')
        k->in_text = false;
    if (k->in_text && k->depth == 1 && k->member_length < sizeof k->member - 1)
        k->member[k->member_length++] = c;
}

static int scan_mark(struct kineto *k, char c, struct error *error)
{
    if (c == '"') {
        k->in_text = true;
        if (k->depth == 1) {
            memset(k->member, 0, sizeof k->member);
            k->member_length = 0;
        }
    } else if (c == '{' || c == '[') {
        k->in_events |= c == '[' && k->depth == 1 && strcmp(k->member, "traceEvents") == 0;
        k->depth++;
    } else if (c == '}' || c == ']') {
        if (k->depth == 0)
            return import_error(k->log, error, "after event %" PRIu64 ": a '%c' too many",
                                k->event_count, c);
        k->depth--;
        k->in_events &= k->depth > 1;
        if (k->in_events && k->depth == 2 && k->event.length) {
            TRY(read_event(k, error));
            k->event.length = 0;
        }
    }
    return 0;
}

/* Keeps the bytes of the event that a piece of the log has, from `from` on. */
static int keep(struct kineto *k, const char *from, const char *to, struct error *error)
{
    if (k->event.length + (size_t)(to - from) > IMPORT_LINE_MOST)
        return import_error(k->log, error, "event %" PRIu64 " has more than 16 MiB",
                            k->event_count + 1);
    text_add_bytes(&k->event, from, (size_t)(to - from));
    return 0;
}

static int scan(struct kineto *k, const char *bytes, size_t length, struct error *error)
{
    const char *from = k->in_events && k->depth > 2 ? bytes : NULL;
    for (const char *c = bytes; c < bytes + length; c++) {
        if (k->in_text) {
            scan_text(k, *c);
            continue;
        }
        if (k->in_events && k->depth == 2 && *c == '{') {
            k->event.length = 0;
            from = c;
        }
        if (k->in_events && k->depth == 3 && *c == '}' && from) {
            TRY(keep(k, from, c + 1, error));
            from = NULL;
        }
        TRY(scan_mark(k, *c, error));
    }
    return from ? keep(k, from, bytes + length, error) : 0;
}

static int read_log(struct kineto *k, struct error *error)
{
    const char *bytes;
    size_t length;
    int code = 0;
    while (!(code = import_peek(k->log, 1, &bytes, &length, error)) && length) {
        TRY(scan(k, bytes, length, error));
        import_take(k->log, length);
    }
    if (!code && k->depth)
        return import_error(k->log, error,
                            "the log ends in the middle, after event %" PRIu64 " of traceEvents",
                            k->event_count);
    return code;
}

/* ---- the trace ---- */

static int by_time(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->time_us != b->time_us)
        return a->time_us < b->time_us ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int open_device(struct kineto *k, struct device *d, struct error *error)
{
    /* c10/core/DeviceType.h */
    static const char *const types[] = {[0] = "cpu", [1] = "cuda", [6] = "hip", [12] = "xpu"};
    struct trace_info info = {.time_unit_ns = 1};
    const char *type = NULL;
    if (d->type >= 0 && d->type < (int64_t)(sizeof types / sizeof *types))
        type = types[d->type];
    if (d->type == 0)
        snprintf(info.device, sizeof info.device, "cpu");
    else if (type)
        snprintf(info.device, sizeof info.device, "%s:%" PRId64, type, d->number);
    else
        snprintf(info.device, sizeof info.device, "type-%" PRId64 ":%" PRId64, d->type, d->number);
    snprintf(info.source, sizeof info.source, "PyTorch profiler%s",
             d->type ? ", sizes as the allocator rounded them" : "");
    info.knows[TRACE_KNOWS_times] = info.knows[TRACE_KNOWS_frees] = true;
    info.knows[TRACE_KNOWS_threads] = info.knows[TRACE_KNOWS_addresses] = true;
    TRY(import_stream(k->log, info.device, &info, &d->stream, error));
    trace_queue(import_writer(d->stream), "0");
    return 0;
}

/* A change of the reserved bytes, before the event that shows it. */
static void add_reserved(struct device *d, const struct entry *entry, const struct trace_event *e)
{
    const int64_t was = d->reserved < 0 ? 0 : d->reserved, grown = entry->reserved - was;
    if (entry->reserved < 0 || d->type == 0)
        return;
    trace_writer_info(import_writer(d->stream))->knows[TRACE_KNOWS_driver] = true;
    if (grown)
        import_event(d->stream, &(struct trace_event){
                                    .kind = grown > 0 ? TRACE_driver_alloc : TRACE_driver_free,
                                    .thread = e->thread,
                                    .time_ns = e->time_ns,
                                    .bytes = (uint64_t)(grown > 0 ? grown : -grown)});
    d->reserved = entry->reserved;
}

/* Checks the total, which shows requests and frees that were not recorded. */
static void check_allocated(struct device *d, const struct entry *entry)
{
    const int64_t change = entry->kind == TRACE_refused ? 0
                           : entry->kind == TRACE_free  ? -(int64_t)entry->bytes
                                                        : (int64_t)entry->bytes;
    if (entry->allocated < 0)
        return;
    if (!d->began)
        d->before = entry->allocated - change;
    else
        d->jumps += d->allocated + change != entry->allocated;
    d->began = true;
    d->allocated = entry->allocated;
}

static void add_event(struct device *d, const struct entry *entry, double first_us)
{
    struct trace_writer *w = import_writer(d->stream);
    char thread[24];
    snprintf(thread, sizeof thread, "%" PRId64, entry->thread);
    struct trace_event e = {.kind = entry->kind,
                            .thread = trace_thread(w, thread),
                            .time_ns = (uint64_t)((entry->time_us - first_us) * 1000 + 0.5),
                            .bytes = entry->bytes,
                            .address = entry->address};
    if (entry->name) {
        e.name = trace_name(w, entry->name);
        trace_writer_info(w)->knows[TRACE_KNOWS_phases] = true;
        import_event(d->stream, &e);
        return;
    }
    check_allocated(d, entry);
    add_reserved(d, entry, &e);
    if (entry->kind == TRACE_alloc) {
        import_alloc(d->stream, entry->address, &e);
    } else if (entry->kind == TRACE_free) {
        if (!import_find(d->stream, entry->address) && d->freed_before < TRACE_TOTAL_MOST)
            d->freed_before += entry->bytes;
        import_free(d->stream, entry->address, &e);
    } else {
        e.address = 0;
        import_event(d->stream, &e);
    }
}

/* What lived before and is never freed, and what the profiler did not record. */
static void end_device(struct device *d)
{
    struct trace_info *info = trace_writer_info(import_writer(d->stream));
    const int64_t rest = d->before - (int64_t)d->freed_before;
    if (rest > 0) {
        info->lost_beginning = true;
        import_alloc(d->stream, UINT64_MAX,
                     &(struct trace_event){.kind = TRACE_held, .bytes = (uint64_t)rest});
    }
    if (d->jumps)
        info->unseen = json_pack("{sI}", "gaps, where Total Allocated changed without an event",
                                 (json_int_t)d->jumps);
}

static int add_traces(struct kineto *k, struct error *error)
{
    if (!k->device_count)
        return import_error(k->log, error,
                            "%" PRIu64 " events, and none of them is a [memory] event of PyTorch's "
                            "profiler: record with torch.profiler.profile(profile_memory=True)",
                            k->event_count);
    qsort(k->entries, k->entry_count, sizeof *k->entries, by_time);
    const double first_us = k->entries[0].time_us;
    if (k->entries[k->entry_count - 1].time_us - first_us > (double)(TRACE_TOTAL_MOST / 1000))
        return import_error(k->log, error, "the times span more than 104 days");
    for (unsigned i = 0; i < k->device_count; i++)
        TRY(open_device(k, &k->devices[i], error));
    for (unsigned i = 0; i < k->entry_count; i++) {
        const struct entry *entry = &k->entries[i];
        const unsigned first = entry->name ? 0 : entry->device;
        const unsigned last = entry->name ? k->device_count - 1 : entry->device;
        for (unsigned d = first; d <= last; d++)
            add_event(&k->devices[d], entry, first_us);
    }
    for (unsigned i = 0; i < k->device_count; i++)
        end_device(&k->devices[i]);
    return 0;
}

static int import_kineto(struct import *log, struct error *error)
{
    struct kineto k = {.log = log};
    int code = read_log(&k, error);
    THEN(code, add_traces(&k, error));
    free(k.entries);
    free(k.devices);
    text_free(&k.event);
    arena_free(&k.arena);
    return code;
}

const struct importer importer_kineto = {
    .name = "kineto",
    .recognises = recognises,
    .import = import_kineto,
};
