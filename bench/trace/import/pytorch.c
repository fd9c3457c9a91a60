#include "trace/import/pytorch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void pytorch_strategy(const json_t *settings, char *strategy, size_t size)
{
    (void)settings;
    snprintf(strategy, size, "caching");
}

int pytorch_begin(struct pytorch_trace *t, struct import *log, const char *device,
                  const char *source, json_t *settings, struct error *error)
{
    struct trace_info info = {.time_unit_ns = 1000, .settings = settings};
    snprintf(info.source, sizeof info.source, "%s", source);
    snprintf(info.device, sizeof info.device, "%s", device);
    pytorch_strategy(settings, info.allocator, sizeof info.allocator);
    info.knows[TRACE_KNOWS_frees] = info.knows[TRACE_KNOWS_done] = true;
    info.knows[TRACE_KNOWS_queues] = info.knows[TRACE_KNOWS_addresses] = true;
    info.knows[TRACE_KNOWS_driver] = true;
    *t = (struct pytorch_trace){.log = log};
    TRY(import_stream(log, device, &info, &t->stream, error));
    trace_queue(import_writer(t->stream), "0"); /* phases are on the default stream */
    return 0;
}

void pytorch_begin_time(struct pytorch_trace *t, uint64_t time_us)
{
    if (t->began || time_us == 0)
        return;
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

static uint64_t time_of(const struct pytorch_trace *t, uint64_t time_us)
{
    return time_us > t->first_us ? (time_us - t->first_us) * 1000 : 0;
}

static struct trace_event event_of(struct pytorch_trace *t, const struct pytorch_entry *entry,
                                   enum trace_kind kind)
{
    struct trace_writer *w = import_writer(t->stream);
    char stream[24];
    snprintf(stream, sizeof stream, "%" PRIu64, entry->stream);
    if (entry->site)
        trace_writer_info(w)->knows[TRACE_KNOWS_sites] = true;
    const bool ends = kind == TRACE_free || kind == TRACE_done;
    return (struct trace_event){
        .kind = kind,
        .queue = trace_queue(w, stream),
        .bytes = entry->size,
        .address = entry->address,
        .time_ns = entry->has_time ? time_of(t, entry->time_us) : 0,
        .name = entry->site ? trace_name(w, entry->site) : 0,
        .pool = ends ? 0 : entry->pool,
    };
}

void pytorch_add_early(struct pytorch_trace *t, const struct pytorch_entry *entry)
{
    const struct action *action = find_action(entry->action);
    struct trace_event e = event_of(t, entry, action->kind);
    trace_writer_info(import_writer(t->stream))->lost_beginning = true;
    if (action->kind == TRACE_alloc) {
        e.kind = TRACE_held;
        import_alloc(t->stream, entry->address, &e);
    } else {
        import_event(t->stream, &e);
    }
}

void pytorch_add_phase(struct pytorch_trace *t, const char *name, bool begins, uint64_t time_us)
{
    struct trace_writer *w = import_writer(t->stream);
    trace_writer_info(w)->knows[TRACE_KNOWS_phases] = true;
    import_event(t->stream, &(struct trace_event){.kind = begins ? TRACE_begin : TRACE_end,
                                                  .name = trace_name(w, name),
                                                  .time_ns = time_of(t, time_us)});
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
    if (entry->has_time)
        pytorch_begin_time(t, entry->time_us);
    struct trace_event e = event_of(t, entry, action->kind);
    if (action->kind == TRACE_alloc)
        import_alloc(t->stream, entry->address, &e);
    else if (action->kind == TRACE_free || action->kind == TRACE_done)
        import_free(t->stream, entry->address, &e);
    else
        import_event(t->stream, &e);
    return 0;
}
