#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "trace/text.h"

/* Tracks of the one process: phases, the driver, then the threads. */
enum { TRACK_PHASES = 1, TRACK_DRIVER, TRACK_THREADS };

struct export
{
    struct trace_reader *reader;
    FILE *out;
    bool has_times;
    uint64_t written;
    uint64_t held_bytes; /* by the recorded allocator */
    /* The counters at one time: the highest value and the last one. */
    struct counter {
        const char *name;
        uint64_t time_ns, highest, last, shown;
        bool waits, is_shown;
    } requested, held;
    unsigned *open, open_capacity; /* by name: how many phases have begun and not ended */
    bool *named;                   /* threads */
    unsigned named_capacity;
};

/* ---- records ---- */

static void print_text(FILE *out, const char *text)
{
    char *quoted = trace_quoted(text);
    fputs(quoted, out);
    free(quoted);
}

static void begin_record(struct export *x, const char *name, const char *phase, uint64_t time_ns,
                         unsigned track)
{
    fputs(x->written++ ? ",\n{\"name\":" : "\n{\"name\":", x->out);
    print_text(x->out, name);
    fprintf(x->out, ",\"ph\":\"%s\",\"ts\":%" PRIu64 ".%03u,\"pid\":1,\"tid\":%u", phase,
            time_ns / 1000, (unsigned)(time_ns % 1000), track);
}

static void end_record(struct export *x)
{
    fputc('}', x->out);
}

static void name_track(struct export *x, const char *kind, unsigned track, const char *name)
{
    begin_record(x, kind, "M", 0, track);
    fputs(",\"args\":{\"name\":", x->out);
    print_text(x->out, name);
    fputc('}', x->out);
    end_record(x);
}

/* ---- counters ---- */

static void print_counter(struct export *x, struct counter *c, uint64_t value)
{
    if (c->is_shown && c->shown == value)
        return;
    begin_record(x, c->name, "C", c->time_ns, 0);
    fprintf(x->out, ",\"args\":{\"bytes\":%" PRIu64 "}", value);
    end_record(x);
    c->shown = value;
    c->is_shown = true;
}

static void flush_counter(struct export *x, struct counter *c)
{
    if (!c->waits)
        return;
    print_counter(x, c, c->highest);
    print_counter(x, c, c->last);
    c->waits = false;
}

/* All changes at one time make one value, the highest of them, so that no peak is lost. */
static void set_counter(struct export *x, struct counter *c, uint64_t time_ns, uint64_t value)
{
    if (c->waits && c->time_ns != time_ns)
        flush_counter(x, c);
    c->highest = c->waits && c->highest > value ? c->highest : value;
    c->last = value;
    c->time_ns = time_ns;
    c->waits = true;
}

/* ---- events ---- */

/* Phases may overlap without being nested, so each is a slice of its own. */
static void add_phase(struct export *x, const struct trace_event *e, uint64_t time_ns)
{
    x->open = must_reach(x->open, e->name, &x->open_capacity, sizeof *x->open);
    if (e->kind == TRACE_end && !x->open[e->name])
        return;
    x->open[e->name] += e->kind == TRACE_begin ? 1u : -1u;
    begin_record(x, trace_name_of(x->reader, e->name), e->kind == TRACE_begin ? "b" : "e", time_ns,
                 TRACK_PHASES);
    fprintf(x->out, ",\"cat\":\"phase\",\"id\":%u", e->name + 1);
    end_record(x);
}

/* A call is a slice if it is known how long it took, else an instant. */
static void add_call(struct export *x, const struct trace_event *e, uint64_t time_ns,
                     unsigned track)
{
    const char *name = trace_name_of(x->reader, e->name);
    begin_record(x, trace_is_command(e->kind) && *name ? name : trace_kind_name(e->kind),
                 e->call_ns ? "X" : "i", time_ns, track);
    if (e->call_ns)
        fprintf(x->out, ",\"dur\":%" PRIu64 ".%03u", e->call_ns / 1000,
                (unsigned)(e->call_ns % 1000));
    else
        fputs(",\"s\":\"t\"", x->out);
    fprintf(x->out, ",\"args\":{\"bytes\":%" PRIu64, e->bytes);
    if (e->device_ns)
        fprintf(x->out, ",\"device_ns\":%" PRIu64, e->device_ns);
    fputs(",\"queue\":", x->out);
    print_text(x->out, trace_queue_of(x->reader, e->queue));
    fputc('}', x->out);
    end_record(x);
}

static void name_thread(struct export *x, unsigned thread)
{
    x->named = must_reach(x->named, thread, &x->named_capacity, sizeof *x->named);
    if (x->named[thread])
        return;
    const char *name = trace_thread_of(x->reader, thread);
    name_track(x, "thread_name", TRACK_THREADS + thread, *name ? name : "application");
    x->named[thread] = true;
}

static void add_event(struct export *x, const struct trace_event *e, uint64_t time_ns)
{
    switch (e->kind) {
    case TRACE_held:
    case TRACE_alloc:
    case TRACE_free:
        set_counter(x, &x->requested, time_ns, trace_live_bytes(x->reader));
        break;
    case TRACE_done:
        break;
    case TRACE_begin:
    case TRACE_end:
        add_phase(x, e, time_ns);
        break;
    case TRACE_driver_alloc:
    case TRACE_driver_free:
    case TRACE_driver_map:
    case TRACE_driver_unmap:
        trace_hold(&x->held_bytes, e);
        set_counter(x, &x->held, time_ns, x->held_bytes);
        add_call(x, e, time_ns, TRACK_DRIVER);
        break;
    default:
        name_thread(x, e->thread);
        add_call(x, e, x->has_times ? trace_begin_ns(e) : time_ns, TRACK_THREADS + e->thread);
    }
}

int trace_export_perfetto(struct trace_reader *reader, FILE *out, struct error *error)
{
    const struct trace_info *info = trace_reader_info(reader);
    struct export x = {.reader = reader,
                       .out = out,
                       .has_times = info->knows[TRACE_KNOWS_times],
                       .requested.name = "requested bytes",
                       .held.name = "held by the recorded allocator"};
    struct trace_event e;
    uint64_t number = 0;
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"time\":\"%s\"},\"traceEvents\":[",
            x.has_times ? "since the trace began" : "1 us an event: the trace has no times");
    name_track(&x, "process_name", 0, *info->application ? info->application : info->source);
    name_track(&x, "thread_name", TRACK_PHASES, "phases");
    name_track(&x, "thread_name", TRACK_DRIVER, "driver calls of the recorded allocator");
    int more = trace_rewind(reader, error);
    while (!more && (more = trace_next(reader, &e, error)) > 0) {
        more = 0;
        number++;
        add_event(&x, &e, x.has_times ? e.time_ns : number * 1000);
        if (ferror(out))
            more = error_set(error, ERR_IO, "the export could not be written: %s", strerror(errno));
    }
    flush_counter(&x, &x.requested);
    flush_counter(&x, &x.held);
    fputs("\n]}\n", out);
    free(x.open);
    free(x.named);
    return more;
}
