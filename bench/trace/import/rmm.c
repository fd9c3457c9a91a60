/* The log of RMM's logging_resource_adaptor:
 *
 *     Thread,Time,Action,Pointer,Size,Stream
 *     2342727,15:47:02.841961,allocate,0x10012400000,1048576,0
 *     2342727,15:47:02.841977,free,0x10012400000,1048576,0
 *     2342727,15:47:03.100000,allocate failure,(nil),99999999999,0
 *
 * The time is that of a wall clock without a date, or in seconds. A free is the call; when the
 * stream had ended its commands is not known. RMM's sources write the action free; its user guide
 * (rapidsai/rmm, docs/user_guide/logging.md) shows deallocate and seconds since 1970.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/import.h"

#define DAY_NS UINT64_C(86400000000000)

static const char head[] = "Thread,Time,Action,Pointer,Size,Stream";

struct rmm {
    struct import *log;
    struct import_stream *stream;
    uint64_t first_ns, last_ns, days_ns;
    bool began;
};

struct row {
    const char *thread, *action, *stream;
    uint64_t time_ns, pointer, size;
};

/* "15:47:02.841961" or "15:47:02:841961" or "1634567890.123456" */
static bool to_time(const char *text, uint64_t *ns)
{
    unsigned hour, minute;
    char second[16], fraction[16] = "";
    if (sscanf(text, "%2u:%2u:%2[0-9]%*1[.:]%9[0-9]", &hour, &minute, second, fraction) < 3) {
        hour = minute = 0;
        if (sscanf(text, "%11[0-9].%9[0-9]", second, fraction) < 1)
            return false;
    }
    *ns = (hour * UINT64_C(3600) + minute * UINT64_C(60)) * 1000000000;
    *ns += strtoull(second, NULL, 10) * 1000000000;
    char nanoseconds[10] = "000000000";
    memcpy(nanoseconds, fraction, strnlen(fraction, 9));
    *ns += strtoull(nanoseconds, NULL, 10);
    return true;
}

static bool to_pointer(const char *text, uint64_t *pointer)
{
    char *end;
    errno = 0;
    *pointer = strcmp(text, "(nil)") == 0 ? 0 : strtoull(text, &end, 16);
    return strcmp(text, "(nil)") == 0 || (end > text && *end == 0 && *text != '-' && errno == 0);
}

static int read_row(const struct rmm *r, char *line, struct row *row, struct error *error)
{
    char *fields[6], *rest = line;
    for (int i = 0; i < 6; i++)
        if (!(fields[i] = strsep(&rest, ",")))
            return import_error(r->log, error, "expected the six fields %s", head);
    if (rest)
        return import_error(r->log, error, "expected the six fields %s, found more", head);
    *row = (struct row){.thread = fields[0], .action = fields[2], .stream = fields[5]};
    if (!to_time(fields[1], &row->time_ns))
        return import_error(r->log, error, "expected a time as 15:47:02.841961, found '%.40s'",
                            fields[1]);
    if (!to_pointer(fields[3], &row->pointer))
        return import_error(r->log, error, "expected a pointer as 0x10012400000, found '%.40s'",
                            fields[3]);
    if (!text_to_u64(fields[4], &row->size))
        return import_error(r->log, error, "expected a size in bytes, found '%.40s'", fields[4]);
    return 0;
}

/* Time since the first row. The clock has no date: it went past midnight if it falls by hours. */
static uint64_t since_first(struct rmm *r, uint64_t time_ns)
{
    if (!r->began)
        r->first_ns = r->last_ns = time_ns;
    r->began = true;
    if (r->last_ns > time_ns && r->last_ns - time_ns > DAY_NS / 2)
        r->days_ns += DAY_NS;
    r->last_ns = time_ns;
    time_ns += r->days_ns;
    return time_ns > r->first_ns ? time_ns - r->first_ns : 0;
}

static int add_row(struct rmm *r, const struct row *row, struct error *error)
{
    struct trace_writer *w = import_writer(r->stream);
    struct trace_event e = {.queue = trace_queue(w, row->stream),
                            .thread = trace_thread(w, row->thread),
                            .time_ns = since_first(r, row->time_ns),
                            .bytes = row->size,
                            .address = row->pointer};
    if (strcmp(row->action, "allocate") == 0) {
        e.kind = TRACE_alloc;
        import_alloc(r->stream, row->pointer, &e);
    } else if (strcmp(row->action, "free") == 0 || strcmp(row->action, "deallocate") == 0) {
        e.kind = TRACE_free;
        import_free(r->stream, row->pointer, &e);
    } else if (strcmp(row->action, "allocate failure") == 0) {
        e.kind = TRACE_refused;
        e.address = 0;
        import_event(r->stream, &e);
    } else {
        return import_error(r->log, error,
                            "expected the action allocate, free, deallocate or allocate failure, "
                            "found '%.40s'",
                            row->action);
    }
    return 0;
}

int import_rmm(struct import *log, struct error *error)
{
    struct rmm r = {.log = log};
    struct trace_info info = {.source = "RMM log", .time_unit_ns = 1000};
    info.knows[TRACE_KNOWS_times] = info.knows[TRACE_KNOWS_frees] = true;
    info.knows[TRACE_KNOWS_queues] = info.knows[TRACE_KNOWS_threads] = true;
    info.knows[TRACE_KNOWS_addresses] = true;
    TRY(import_stream(log, "", &info, &r.stream, error));
    char *line;
    int more = import_line(log, &line, error), code = more < 0 ? more : 0;
    while (!code && (more = import_line(log, &line, error)) != 0) {
        struct row row;
        /* Processes that share a file repeat the head. */
        if (more > 0 && (*line == 0 || strcmp(line, head) == 0))
            continue;
        code = more < 0 ? more : read_row(&r, line, &row, error);
        THEN(code, add_row(&r, &row, error));
    }
    return code;
}
