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
#include "base/sort.h"
#include "trace/import.h"

enum { DEVICE_CPU = 0, DEVICE_CUDA = 1 }; /* c10/core/DeviceType.h; ROCm says CUDA too */
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

/* ---- events ---- */

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

/* The index of a device; devices are few. The CPU is one, whatever its number. */
static unsigned device_of(struct kineto *k, int64_t type, int64_t number)
{
    if (type == DEVICE_CPU)
        number = 0;
    for (unsigned i = 0; i < k->device_count; i++)
        if (k->devices[i].type == type && k->devices[i].number == number)
            return i;
    k->devices = must_grow(k->devices, k->device_count, &k->device_capacity, sizeof *k->devices);
    k->devices[k->device_count] = (struct device){.type = type, .number = number, .reserved = -1};
    return k->device_count++;
}

static int add_memory(struct kineto *k, json_t *event, bool refused, json_error_t *why,
                      struct error *error)
{
    json_int_t bytes, type, number = 0, address = 0, allocated = -1, reserved = -1;
    struct entry entry = {.thread = json_integer_value(json_object_get(event, "tid"))};
    if (json_unpack_ex(event, why, 0, "{s:F, s:{s:I, s:I, s?I, s?I, s?I, s?I}}", "ts",
                       &entry.time_us, "args", "Bytes", &bytes, "Device Type", &type, "Device Id",
                       &number, "Addr", &address, "Total Allocated", &allocated, "Total Reserved",
                       &reserved))
        return ERR_PARSE;
    const json_int_t most = TRACE_TOTAL_MOST;
    if (bytes < -most || bytes > most || allocated > most || reserved > most ||
        (!refused && !address)) {
        snprintf(why->text, sizeof why->text,
                 "expected bytes below 2^53, and an address: PyTorch 1.10 and later write 'Addr'");
        return ERR_PARSE;
    }
    entry.kind = refused ? TRACE_refused : bytes < 0 ? TRACE_free : TRACE_alloc;
    entry.device = device_of(k, type, number);
    entry.bytes = (uint64_t)(bytes < 0 ? -bytes : bytes);
    entry.address = (uint64_t)address;
    entry.allocated = allocated;
    entry.reserved = reserved;
    if (k->device_count > DEVICES_MOST)
        return import_error(k->log, error, "the log has more than %d devices", DEVICES_MOST);
    return add_entry(k, &entry, error);
}

static int add_annotation(struct kineto *k, json_t *event, const char *name, json_error_t *why,
                          struct error *error)
{
    double duration_us;
    struct entry entry = {.kind = TRACE_begin,
                          .thread = json_integer_value(json_object_get(event, "tid")),
                          .name = arena_printf(&k->arena, "%.300s", name)};
    if (json_unpack_ex(event, why, 0, "{s:F, s:F}", "ts", &entry.time_us, "dur", &duration_us))
        return ERR_PARSE;
    TRY(add_entry(k, &entry, error));
    entry.time_us += duration_us > 0 ? duration_us : 0;
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
    json_error_t why = {0};
    json_t *event = json_loadb(text, k->event.length, 0, &why);
    const char *name = json_string_value(json_object_get(event, "name"));
    const char *cat = json_string_value(json_object_get(event, "cat"));
    const bool refused = name && strcmp(name, "[OutOfMemory]") == 0;
    int code = event ? 0 : ERR_PARSE;
    if (refused || (name && strcmp(name, "[memory]") == 0))
        code = add_memory(k, event, refused, &why, error);
    else if (name && cat && strcmp(cat, "user_annotation") == 0)
        code = add_annotation(k, event, name, &why, error);
    json_decref(event);
    if (code && *why.text)
        return import_error(k->log, error, "event %" PRIu64 " of traceEvents: %s", k->event_count,
                            why.text);
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

/* Keeps the bytes of an event that a piece of the log has. */
static int keep(struct kineto *k, const char *from, const char *to, struct error *error)
{
    if (k->event.length + (size_t)(to - from) > IMPORT_LINE_MOST)
        return import_error(k->log, error, "event %" PRIu64 " has more than 16 MiB",
                            k->event_count + 1);
    text_add_bytes(&k->event, from, (size_t)(to - from));
    return 0;
}

/* Reads a piece of the log, which may begin and end anywhere. */
static int scan(struct kineto *k, const char *bytes, const char *end, struct error *error)
{
    const char *from = bytes; /* where an event begins, or goes on */
    for (const char *c = bytes; c < end; c++) {
        if (k->in_text) {
            scan_text(k, *c);
        } else if (*c == '"') {
            k->in_text = true;
            if (k->depth == 1)
                k->member_length = 0;
        } else if (*c == '{' || *c == '[') {
            k->member[k->member_length] = 0;
            k->in_events |= k->depth == 1 && strcmp(k->member, "traceEvents") == 0;
            if (k->depth++ == 2) {
                k->event.length = 0;
                from = c;
            }
        } else if (*c == '}' || *c == ']') {
            if (k->depth == 0)
                return import_error(k->log, error, "after event %" PRIu64 ": a '%c' too many",
                                    k->event_count, *c);
            if (k->depth-- == 3 && k->in_events) {
                TRY(keep(k, from, c + 1, error));
                TRY(read_event(k, error));
            }
            k->in_events &= k->depth > 1;
        }
    }
    return k->in_events && k->depth > 2 ? keep(k, from, end, error) : 0;
}

static int read_log(struct kineto *k, struct error *error)
{
    const char *bytes;
    size_t length;
    int code = 0;
    while (!(code = import_peek(k->log, 1, &bytes, &length, error)) && length) {
        TRY(scan(k, bytes, bytes + length, error));
        import_take(k->log, length);
    }
    if (!code && k->depth)
        return import_error(k->log, error,
                            "the log ends in the middle, after event %" PRIu64 " of traceEvents",
                            k->event_count);
    return code;
}

/* ---- the trace ---- */

ORDER_BY_BOTH(by_time, struct entry, time_us, order)

static int open_device(struct kineto *k, struct device *d, struct error *error)
{
    struct trace_info info = {.time_unit_ns = 1};
    if (d->type == DEVICE_CPU)
        snprintf(info.device, sizeof info.device, "cpu");
    else if (d->type == DEVICE_CUDA)
        snprintf(info.device, sizeof info.device, "cuda:%" PRId64, d->number);
    else
        snprintf(info.device, sizeof info.device, "type-%" PRId64 ":%" PRId64, d->type, d->number);
    snprintf(info.source, sizeof info.source, "PyTorch profiler%s",
             d->type != DEVICE_CPU ? ", sizes as the allocator rounded them" : "");
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
    if (entry->reserved < 0 || d->type == DEVICE_CPU)
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

int import_kineto(struct import *log, struct error *error)
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
