#include "trace/import/pytorch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int pytorch_begin(struct pytorch_trace *t, struct import *log, const char *device,
                  const char *source, json_t *settings, struct error *error)
{
    struct trace_info info = {.time_unit_ns = 1000, .settings = settings};
    snprintf(info.source, sizeof info.source, "%s", source);
    snprintf(info.device, sizeof info.device, "%s", device);
    snprintf(info.allocator, sizeof info.allocator, "caching");
    info.knows[TRACE_KNOWS_frees] = info.knows[TRACE_KNOWS_done] = true;
    info.knows[TRACE_KNOWS_queues] = info.knows[TRACE_KNOWS_addresses] = true;
    info.knows[TRACE_KNOWS_driver] = true;
    *t = (struct pytorch_trace){.log = log};
    return import_stream(log, device, &info, &t->stream, error);
}

static void begin_time(struct pytorch_trace *t, uint64_t time_us)
{
    struct trace_info *info = trace_writer_info(import_writer(t->stream));
    const time_t seconds = (time_t)(time_us / 1000000);
    struct tm utc;
    t->began = true;
    t->first_us = time_us;
    info->knows[TRACE_KNOWS_times] = true;
    char day[24];
    if (gmtime_r(&seconds, &utc) && strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc))
        snprintf(info->began, sizeof info->began, "%.19s.%06uZ", day,
                 (unsigned)(time_us % 1000000));
}

/* The actions of the history that are events of a trace. */
static const struct action {
    const char *name;
    enum trace_kind kind;
} actions[] = {
    {"alloc", TRACE_alloc},
    {"free_requested", TRACE_free},
    {"free_completed", TRACE_done},
    {"free", TRACE_done},
    {"oom", TRACE_refused},
    {"segment_alloc", TRACE_driver_alloc},
    {"segment_free", TRACE_driver_free},
    {"segment_map", TRACE_driver_map},
    {"segment_unmap", TRACE_driver_unmap},
};
/* A snapshot that is taken, and what concerns the recorder itself. */
static const char *const ignored_actions[] = {"snapshot", "user_defined", "workspace_snapshot"};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

static bool is_ignored(const char *name)
{
    for (size_t i = 0; i < sizeof ignored_actions / sizeof *ignored_actions; i++)
        if (strcmp(ignored_actions[i], name) == 0)
            return true;
    return false;
}

int pytorch_add(struct pytorch_trace *t, const struct pytorch_entry *entry, struct error *error)
{
    const struct action *action = find_action(entry->action);
    if (!action && is_ignored(entry->action))
        return 0;
    if (!action)
        return import_error(t->log, error,
                            "'%.40s' is no action of an allocator history that gamut knows",
                            entry->action);
    if (entry->has_time && !t->began)
        begin_time(t, entry->time_us);
    struct trace_writer *w = import_writer(t->stream);
    char stream[24];
    snprintf(stream, sizeof stream, "%" PRIu64, entry->stream);
    struct trace_event e = {.kind = action->kind,
                            .queue = trace_queue(w, stream),
                            .bytes = entry->size,
                            .address = entry->address};
    if (entry->has_time && entry->time_us > t->first_us)
        e.time_ns = (entry->time_us - t->first_us) * 1000;
    if (entry->site)
        e.name = trace_name(w, entry->site);
    if (action->kind == TRACE_alloc)
        import_alloc(t->stream, entry->address, &e);
    else if (action->kind == TRACE_free || action->kind == TRACE_done)
        import_free(t->stream, entry->address, &e);
    else
        import_event(t->stream, &e);
    return 0;
}
