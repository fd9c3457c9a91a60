#include "run/rounds/memory_log.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "record/facts/latency.h"
#include "base/tree.h"
#include "run/execute/memory_record.h"
#include "run/execute/spaces.h"
#include "run/execute/run_log.h"

/* X(name, help): the histograms. */
#define CALL_LIST(X)                                                                               \
    X(alloc, "calls that allocate a block")                                                        \
    X(free, "calls that give a block back")                                                        \
    X(alloc_driver, "the driver's part of an alloc that called the driver")                        \
    X(free_driver, "the driver's part of a free that called the driver")

struct call_times {
    unsigned runs;
#define X(name, help) struct latency name;
    CALL_LIST(X)
#undef X
};

struct memory_log {
    struct executor *executor;
    struct spaces *spaces;
    struct run_log trace;
    struct run_log_listener listener;
    unsigned block_capacity;
    struct recorded_block *blocks; /* by the executor's number */
    unsigned runs;
    uint64_t step;                  /* number of the current event */
    uint64_t first_steps;           /* events of the first run */
    struct source_counts now, seen; /* after the current event, and after the one before */
    struct memory_record *record;
    struct source_listener source_listener;
    struct call_times cold, warm;
};

static bool is_first_run(const struct memory_log *log)
{
    return log->runs == 1;
}

/* ---- bytes held ------------------------------------------------------------------------------ */

/* Called after a request or a release. More may have been reserved within the call than after it.
 * The source's peak shows that if it was the most so far, which is enough for the log's peak. */
static void note_bytes(struct memory_log *log)
{
    const struct allocator_counts *blocks = spaces_blocks(log->spaces);
    const struct source_counts *driver = &log->now;
    struct timeline_point point = {0};
    if (log->trace.part == LOG_RUN)
        point.at_ns = log->trace.started_ns - log->trace.run_started_ns;
    point.most[TIMELINE_requested] = blocks->requested_bytes;
    point.most[TIMELINE_granted] = blocks->granted_bytes;
    point.most[TIMELINE_reserved] = driver->reserved_bytes;
    point.most[TIMELINE_live] = executor_counts(log->executor)->live_bytes;
    point.most[TIMELINE_spare] = driver->reserved_bytes - blocks->granted_bytes;
    for (int q = 0; q < TIMELINE_QUANTITIES; q++)
        point.least[q] = point.most[q];
    if (driver->peak_reserved_bytes > log->seen.peak_reserved_bytes)
        point.most[TIMELINE_reserved] = driver->peak_reserved_bytes;
    memory_record_bytes(log->record, point);
}

/* ---- where blocks and arrays lie ------------------------------------------------------------- */

static void hear_source(void *context, enum source_event event, uint64_t memory, uint64_t offset,
                        uint64_t bytes)
{
    struct memory_log *log = context;
    if (is_first_run(log) && log->trace.part != LOG_AFTER)
        memory_record_source(log->record, event, memory, offset, bytes);
}

static void hear_array(void *context, unsigned block, const char *name, uint64_t first,
                       uint64_t bytes, bool fresh)
{
    struct memory_log *log = context;
    const struct recorded_block *in = &log->blocks[block];
    if (is_first_run(log) && memory_record_has(log->record, in))
        (fresh ? map_add_array : map_use_array)(&log->record->map, in->row, name, first, bytes,
                                                log->step - 1);
}

/* ---- how long calls take --------------------------------------------------------------------- */

static void note_times(struct memory_log *log, const struct trace_event *event)
{
    struct call_times *times = is_first_run(log) ? &log->cold : &log->warm;
    const struct source_counts *now = &log->now, *seen = &log->seen;
    const bool is_alloc = event->kind == TRACE_alloc;
    uint64_t driver_ns = now->alloc_ns + now->touch_ns + now->free_ns - seen->alloc_ns -
                         seen->touch_ns - seen->free_ns;
    bool asked = now->alloc_count != seen->alloc_count || now->free_count != seen->free_count ||
                 now->map_count != seen->map_count || now->unmap_count != seen->unmap_count ||
                 now->sync_count != seen->sync_count;
    latency_add(is_alloc ? &times->alloc : &times->free, event->call_ns);
    if (asked)
        latency_add(is_alloc ? &times->alloc_driver : &times->free_driver, driver_ns);
}

/* ---- listening ------------------------------------------------------------------------------- */

static void hear_event(void *context, const struct trace_event *event, const struct block *block)
{
    struct memory_log *log = context;
    const bool is_alloc = event->kind == TRACE_alloc, is_free = event->kind == TRACE_free;
    if (log->trace.part == LOG_AFTER)
        return;
    log->now = spaces_counts(log->spaces);
    /* A block of no bytes makes no call. */
    if (log->trace.part == LOG_RUN && (is_alloc || is_free) && log->trace.memory_of[event->slot])
        note_times(log, event);
    spaces_update(log->spaces, NULL); /* a pool's bytes, as far as it reports them */
    log->now = spaces_counts(log->spaces);
    if (is_first_run(log) && (is_alloc || is_free)) {
        memory_record_step(log->record, log->step);
        note_bytes(log);
        if (is_alloc && block)
            log->blocks[event->slot] = memory_record_alloc(log->record, block, event->bytes,
                                                           log->trace.names[event->name]);
        else if (is_free)
            memory_record_free(log->record, &log->blocks[event->slot]);
    }
    log->seen = log->now;
    log->step++;
    if (is_first_run(log))
        log->first_steps = log->step;
}

struct memory_log *memory_log_open(struct executor *executor, struct spaces *spaces)
{
    struct memory_log *log = must_alloc(sizeof *log);
    log->executor = executor;
    log->spaces = spaces;
    log->listener = (struct run_log_listener){log, hear_event, hear_array};
    log->block_capacity = executor_block_capacity(executor);
    log->blocks = must_alloc(log->block_capacity * sizeof *log->blocks);
    log->record = memory_record_open();
    log->source_listener = (struct source_listener){log, hear_source};
    run_log_open(&log->trace, 0, 0, log->block_capacity);
    log->trace.listener = &log->listener;
    executor_record(executor, &log->trace);
    for (int s = 0; s < SPACES; s++)
        spaces->source[s].listener = &log->source_listener;
    return log;
}

void memory_log_close(struct memory_log *log)
{
    if (!log)
        return;
    executor_record(log->executor, NULL);
    for (int s = 0; s < SPACES; s++)
        log->spaces->source[s].listener = NULL;
    run_log_close(&log->trace);
    memory_record_close(log->record);
    free(log->blocks);
    free(log);
}

void memory_log_begin_run(struct memory_log *log)
{
    for (unsigned b = 0; b < log->block_capacity; b++)
        log->blocks[b] = (struct recorded_block){.row = MAP_NONE};
    log->step = 0;
    log->seen = spaces_counts(log->spaces);
    log->runs++;
    (is_first_run(log) ? &log->cold : &log->warm)->runs++;
    run_log_restart(&log->trace, NULL);
}

static json_t *times_to_json(const struct call_times *times)
{
    json_t *json = tree_object();
    tree_put(json, "runs", tree_count(times->runs));
#define X(name, help) tree_put(json, #name, latency_to_json(&times->name));
    CALL_LIST(X)
#undef X
    return json;
}

json_t *memory_log_to_json(struct memory_log *log)
{
    json_t *json = tree_object(), *latency = tree_object();
    tree_put(latency, "cold", times_to_json(&log->cold));
    tree_put(latency, "warm", times_to_json(&log->warm));
    tree_put(json, "timer_ns", tree_count(clock_reading_ns(NULL)));
    memory_record_to_json(log->record, log->first_steps, json);
    tree_put(json, "latency", latency);
    return json;
}
