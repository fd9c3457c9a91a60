#include "trace/import/pytorch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/divisions.h"
#include "alloc/pytorch_conf.h"
#include "alloc/registry.h"
#include "base/arena.h"
#include "base/sort.h"
#include "trace/import/pytorch_sites.h"

static const uint64_t round_bytes = 512;

/* Adds "WORD:VALUE" to the words of a conf. */
static void add_word(struct text *words, const char *word, const char *value)
{
    text_add(words, "%s%s:%s", words->length ? "," : "", word, value);
}

/* Adds roundup_power2_divisions: an object of numbers by MiB, from 1 to 32768. */
static void add_divisions(struct text *words, const json_t *by_mib)
{
    struct text list = {0};
    const char *mib;
    json_t *number;
    bool divides = false;
    json_object_foreach((json_t *)by_mib, mib, number)
    {
        divides |= json_integer_value(number) > 1;
        text_add(&list, "%s%s:%" JSON_INTEGER_FORMAT, list.length ? "," : "[", mib,
                 json_integer_value(number));
    }
    text_add(&list, "]");
    if (divides)
        add_word(words, "roundup_power2_divisions", list.data);
    text_free(&list);
}

/* The settings without the text that set them: a program may have changed them. */
static void add_settings(struct text *words, const json_t *settings)
{
    const json_int_t max_split = json_integer_value(json_object_get(settings, "max_split_size"));
    const double threshold =
        json_number_value(json_object_get(settings, "garbage_collection_threshold"));
    char number[32];
    if (json_is_true(json_object_get(settings, "expandable_segments")))
        add_word(words, "expandable_segments", "True");
    snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, max_split >> 20);
    if (max_split > 0)
        add_word(words, "max_split_size_mb", number);
    snprintf(number, sizeof number, "%g", threshold);
    if (threshold > 0)
        add_word(words, "garbage_collection_threshold", number);
    add_divisions(words, json_object_get(settings, "roundup_power2_divisions"));
}

void pytorch_strategy(const json_t *settings, char *strategy, size_t size)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:,.[]> ";
    const char *conf = json_string_value(json_object_get(settings, "PYTORCH_CUDA_ALLOC_CONF"));
    struct text words = {0};
    if (conf && !conf[strspn(conf, allowed)] && strlen(conf) + strlen("caching:conf={}") < size)
        text_add(&words, "%s", conf);
    if (words.length == 0)
        add_settings(&words, settings);
    if (words.length && words.length + strlen("caching:conf={}") < size)
        snprintf(strategy, size, "caching:conf={%s}", words.data);
    else
        snprintf(strategy, size, "caching");
    text_free(&words);
}

static uint64_t option_of(const struct allocator_ops *strategy, const struct option_values *values,
                          const char *name)
{
    for (unsigned i = 0; strategy->options && strategy->options[i].name; i++)
        if (strcmp(strategy->options[i].name, name) == 0)
            return values->value[i];
    return 0;
}

/* The rules that the recorded setting gives the allocator. vmm collects nothing by age. */
static void read_rules(struct pytorch_trace *t, const char *recorded)
{
    const struct allocator_ops *strategy;
    struct option_values values;
    struct text spec = {0}, notes = {0};
    pytorch_recorded(recorded, &spec, &notes);
    if (allocator_parse(spec.data, &strategy, &values, NULL) == 0) {
        const bool expands = strcmp(strategy->name, "vmm") == 0;
        const uint64_t max_split = option_of(strategy, &values, "max_split");
        const uint64_t large =
            option_of(strategy, &values, expands ? "large_chunk" : "large_segment");
        t->is_expandable = expands;
        t->divisions = option_of(strategy, &values, "divisions");
        t->max_split_bytes = max_split ? max_split : t->max_split_bytes;
        t->large_segment_bytes = large ? large : t->large_segment_bytes;
        t->collect_share = (double)option_of(strategy, &values, "gc") / PYTORCH_SHARE_PARTS;
    }
    text_free(&spec);
    text_free(&notes);
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
    *t = (struct pytorch_trace){.log = log,
                                .max_split_bytes = UINT64_MAX,
                                .large_segment_bytes = UINT64_C(20) << 20,
                                .collect_most_bytes = UINT64_MAX,
                                .least_run_bytes = INT64_MAX};
    read_rules(t, info.allocator);
    TRY(import_stream(log, device, &info, &t->stream, error));
    trace_queue(import_writer(t->stream), "0"); /* phases are on the default stream */
    return 0;
}

void pytorch_begin_time(struct pytorch_trace *t, uint64_t time_us)
{
    if (t->began || time_us == 0)
        return;
    struct trace_info *info = trace_writer_info(import_writer(t->stream));
    t->began = true;
    t->first_us = time_us;
    info->knows[TRACE_KNOWS_times] = true;
    trace_info_begin(info, time_us);
}

/* The actions of the history that are events of a trace. */
static const struct action {
    const char *name;
    enum trace_kind kind;
    enum start_act act;
} actions[] = {
    {"alloc", TRACE_alloc, START_ALLOC},
    {"free_requested", TRACE_free, START_GIVE},
    {"free_completed", TRACE_done, START_END},
    {"free", TRACE_done, START_END},
    {"oom", TRACE_refused, START_NOTHING},
    {"segment_alloc", TRACE_driver_alloc, START_SEGMENT},
    {"segment_free", TRACE_driver_free, START_RELEASE},
    {"segment_map", TRACE_driver_map, START_MAP},
    {"segment_unmap", TRACE_driver_unmap, START_UNMAP},
    /* A snapshot that is taken, and what concerns the recorder itself. */
    {"snapshot", TRACE_KINDS, START_NOTHING},
    {"user_defined", TRACE_KINDS, START_NOTHING},
    {"workspace_snapshot", TRACE_KINDS, START_NOTHING},
};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

static uint64_t time_of(const struct pytorch_trace *t, uint64_t time_us)
{
    return time_us > t->first_us ? (time_us - t->first_us) * 1000 : 0;
}

static unsigned queue_of(struct pytorch_trace *t, uint64_t stream)
{
    char name[24];
    snprintf(name, sizeof name, "%" PRIu64, stream);
    const unsigned queue = trace_queue(import_writer(t->stream), name);
    for (; t->stream_count <= queue; t->stream_count++) {
        t->streams =
            must_grow(t->streams, t->stream_count, &t->stream_capacity, sizeof *t->streams);
        t->streams[t->stream_count] = t->stream_count == queue ? stream : 0;
    }
    return queue;
}

static struct trace_event event_of(struct pytorch_trace *t, const struct pytorch_entry *entry,
                                   enum trace_kind kind)
{
    struct trace_writer *w = import_writer(t->stream);
    unsigned stack = 0;
    if (entry->site) {
        trace_writer_info(w)->knows[TRACE_KNOWS_sites] = true;
        stack = trace_copy_frame(w, t->frames->items, entry->site->stack, &t->known);
    }
    return (struct trace_event){
        .kind = kind,
        .queue = queue_of(t, entry->stream),
        .bytes = entry->size,
        .address = entry->address,
        .time_ns = entry->has_time ? time_of(t, entry->time_us) : 0,
        .name = entry->site ? trace_name(w, entry->site->label) : 0,
        .stack = stack,
        .pool = entry->pool,
    };
}

/* ---- segments ---- */

/* The first segment that ends after an address. */
static unsigned segment_from(const struct pytorch_trace *t, uint64_t address)
{
    unsigned i;
    FIND_PLACE(i, t->segment_count, t->segments[i].address + t->segments[i].bytes <= address);
    return i;
}

static struct pytorch_segment *segment_of(struct pytorch_trace *t, uint64_t address)
{
    const unsigned i = segment_from(t, address);
    return i < t->segment_count && t->segments[i].address <= address ? &t->segments[i] : NULL;
}

static void add_segment(struct pytorch_trace *t, const struct trace_event *e)
{
    const unsigned i = segment_from(t, e->address);
    t->segments =
        must_grow(t->segments, t->segment_count, &t->segment_capacity, sizeof *t->segments);
    memmove(t->segments + i + 1, t->segments + i, (t->segment_count++ - i) * sizeof *t->segments);
    t->segments[i] = (struct pytorch_segment){
        .address = e->address, .bytes = e->bytes, .pool = e->pool, .name = e->name};
}

static void drop_segment(struct pytorch_trace *t, uint64_t address)
{
    struct pytorch_segment *s = segment_of(t, address);
    if (s)
        memmove(s, s + 1, (size_t)(t->segments + --t->segment_count - s) * sizeof *s);
}

/* Less than a chunk of an expandable segment may be held beyond PyTorch's limit. */
static uint64_t beyond(const struct pytorch_trace *t, enum trace_kind kind)
{
    return kind == TRACE_driver_map ? t->large_segment_bytes - 1 : 0;
}

void pytorch_look(struct pytorch_trace *t, const struct pytorch_entry *entry)
{
    const struct action *action = find_action(entry->action);
    if (!action || action->act == START_NOTHING) {
        t->start.entry++;
        return;
    }
    start_look(&t->start, action->act, entry->address, entry->size, entry->stream, entry->pool);
    if (!trace_is_driver_call(action->kind)) {
        t->look_in_run = false;
        return;
    }
    /* What is given back before it was given was there at the start: the most is of the rise. */
    const bool gives = action->kind == TRACE_driver_alloc || action->kind == TRACE_driver_map;
    const int64_t run_bytes = t->run_risen_bytes + (int64_t)(entry->size + beyond(t, action->kind));
    if (gives && t->look_in_run && !entry->pool && run_bytes < t->least_run_bytes)
        t->least_run_bytes = run_bytes;
    if (!gives && !t->look_in_run)
        t->run_risen_bytes = t->risen_bytes;
    t->look_in_run = !gives;
    t->risen_bytes += gives ? (int64_t)entry->size : -(int64_t)entry->size;
    t->most_risen_bytes =
        t->risen_bytes > t->most_risen_bytes ? t->risen_bytes : t->most_risen_bytes;
}

/* ---- runs of releases ---- */

static bool is_small(const struct trace_event *e)
{
    return e->bytes == PYTORCH_SMALL_SEGMENT_BYTES;
}

/* May a trim release `b` after `a`? The common pool comes first. Queues are compared by the
 * addresses that name them. */
static bool is_in_order(struct pytorch_trace *t, const struct trace_event *a,
                        const struct trace_event *b)
{
    if (a->pool != b->pool)
        return b->pool != 0;
    if (is_small(a) != is_small(b))
        return is_small(b);
    if (a->queue != b->queue)
        return t->streams[a->queue] < t->streams[b->queue];
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
}

/* The bytes of the segment that PyTorch compares with its limit for a request. */
static uint64_t segment_for(const struct pytorch_trace *t, uint64_t bytes)
{
    return pytorch_segment_bytes(divisions_round(t->divisions, bytes, round_bytes),
                                 PYTORCH_SMALL_SEGMENT_BYTES, t->large_segment_bytes);
}

/* The bytes that an event asked the driver for; 0: it did not ask. A refused event has the size of
 * the request, so this is the most that is asked for it. */
static uint64_t asked_of(const struct pytorch_trace *t, const struct trace_event *e)
{
    if (e->kind == TRACE_driver_alloc || e->kind == TRACE_driver_map)
        return e->bytes;
    if (e->kind != TRACE_refused || e->bytes > TRACE_TOTAL_MOST)
        return 0;
    const uint64_t large = t->large_segment_bytes;
    return (e->bytes + large - 1) / large * large;
}

/* May the request after the run have made it? Then all releases have its call stack, or none. */
static bool may_be_made_by(const struct pytorch_trace *t, const struct trace_event *next)
{
    for (unsigned i = 0; i < t->run_count; i++)
        if (t->run[i].name != next->name)
            return false;
    return true;
}

static bool is_made_by(const struct pytorch_trace *t, const struct trace_event *next)
{
    return next->name && may_be_made_by(t, next);
}

/* Do the releases have a call stack of their own: one for all, and not that of the request after
 * them? Without one, PyTorch gives each release the stack that made its segment. */
static bool has_own_stack(struct pytorch_trace *t, const struct trace_event *next)
{
    bool differs = false;
    for (unsigned i = 0; i < t->run_count; i++) {
        const struct pytorch_segment *s = segment_of(t, t->run[i].address);
        if (t->run[i].name == 0 || t->run[i].name != t->run->name)
            return false;
        differs |= s && s->name && s->name != t->run->name;
    }
    return differs && t->run->name != next->name;
}

/* Was the run made because the driver refused the request after it? In a capture the allocator does
 * not retry. A setting's collection by age has the request's call stack too. Where the program
 * trims right before requests that were surely not refused, it may have done so before any. */
static bool is_retry(struct pytorch_trace *t, const struct trace_event *next)
{
    const uint64_t asked = next && !next->pool ? asked_of(t, next) : 0;
    if (!asked || has_own_stack(t, next))
        return false;
    if (t->collect_share == 0 && is_made_by(t, next))
        return true;
    return t->held_bytes + asked + beyond(t, next->kind) > t->peak_bytes &&
           (t->collect_share > 0 || !t->trims_before_requests);
}

/* Notes that the allocator could not hold more than this. */
static void limit(struct pytorch_trace *t, uint64_t most_bytes)
{
    struct trace_info *info = trace_writer_info(import_writer(t->stream));
    if (t->has_early && t->is_expandable)
        return; /* it is not known what was mapped */
    info->limit_least_bytes = t->is_expandable ? t->granted_bytes : t->peak_bytes;
    if (!info->limit_most_bytes || most_bytes < info->limit_most_bytes)
        info->limit_most_bytes = most_bytes;
}

/* The block of a request for which an expandable segment was mapped. PyTorch compares its limit
 * with what is held and a segment for the request together, no matter how much is mapped. */
static void end_request(struct pytorch_trace *t, uint64_t bytes)
{
    const struct pytorch_request r = t->request;
    t->request = (struct pytorch_request){0};
    if (!r.is_open || bytes > TRACE_TOTAL_MOST)
        return;
    const uint64_t asked = segment_for(t, bytes);
    if (r.held_bytes + asked > t->granted_bytes)
        t->granted_bytes = r.held_bytes + asked;
    if (r.refused_bytes)
        limit(t, r.refused_bytes + asked - 1);
}

/* Would memory of the run have served the request after it? Then the allocator did not release it
 * for that request: it first looks for a free block. max_split_size keeps larger blocks for larger
 * requests. */
static bool would_have_served(struct pytorch_trace *t, const struct trace_event *next)
{
    const bool maps = t->run->kind == TRACE_driver_unmap;
    if (!next || next->kind != (maps ? TRACE_driver_map : TRACE_driver_alloc) ||
        (maps && is_small(next)) || next->bytes >= t->max_split_bytes)
        return false;
    for (unsigned i = 0; i < t->run_count; i++) {
        const struct trace_event *e = &t->run[i];
        const struct pytorch_segment *s = segment_of(t, e->address);
        if (e->queue == next->queue && e->bytes >= next->bytes && e->bytes < t->max_split_bytes &&
            is_small(e) == is_small(next) && (s ? s->pool : e->pool) == next->pool)
            return true;
    }
    return false;
}

static bool is_whole(const struct pytorch_segment *s, bool large_only)
{
    return s && s->blocks == 0 && s->pool == 0 &&
           !(large_only && s->bytes == PYTORCH_SMALL_SEGMENT_BYTES);
}

/* The wholly free segments of the common pool that the run leaves. */
static unsigned left_whole(struct pytorch_trace *t, bool large_only)
{
    unsigned whole = 0;
    for (unsigned i = 0; i < t->segment_count; i++)
        whole += is_whole(&t->segments[i], large_only);
    for (unsigned i = 0; i < t->run_count; i++)
        whole -= is_whole(segment_of(t, t->run[i].address), large_only);
    return whole;
}

/* Does a release of the run come after one that neither a trim nor a retry makes before it? */
static bool begins_round(struct pytorch_trace *t, unsigned i)
{
    return t->run[i - 1].bytes < t->max_split_bytes && !is_in_order(t, &t->run[i - 1], &t->run[i]);
}

static bool has_rounds(struct pytorch_trace *t)
{
    for (unsigned i = 1; i < t->run_count; i++)
        if (begins_round(t, i))
            return true;
    return false;
}

/* Is the run a collection by age? It goes before a segment_alloc and takes large segments alone.
 * It leaves some that are wholly free or takes them in several rounds, which a retry does not; of
 * oversize ones a retry may. Or a collection is due, because more is held than was before another.
 * Or the call stacks say that the request made it, and nothing can have refused that. */
static bool is_collection(struct pytorch_trace *t, const struct trace_event *next)
{
    if (t->collect_share == 0 || t->has_early || !next || next->kind != TRACE_driver_alloc ||
        would_have_served(t, next))
        return false;
    for (unsigned i = 0; i < t->run_count; i++)
        if (is_small(&t->run[i]) || t->run[i].kind != TRACE_driver_free || t->run[i].pool)
            return false;
    return left_whole(t, false) > 0 ||
           (may_be_made_by(t, next) &&
            (has_rounds(t) || t->held_bytes > t->collect_most_bytes ||
             (next->name && t->held_bytes + next->bytes <= t->peak_bytes)));
}

/* What a segment_alloc shows of the bytes above which free segments are collected: less than was
 * held before each round of a collection; at least what was held where wholly free large ones were
 * left. A release that is out of order begins a round, and one of an oversize segment is of a
 * collection, if nothing can have been refused before. */
static void learn_from_collection(struct pytorch_trace *t, const struct trace_event *next)
{
    uint64_t left_bytes = t->held_bytes;
    if (t->collect_share == 0 || t->has_early || next->kind != TRACE_driver_alloc)
        return;
    const bool is_collected = t->run_count && is_collection(t, next);
    for (unsigned i = 0; i < t->run_count; i++) {
        const bool may_be_refused = left_bytes + next->bytes > t->peak_bytes;
        const bool is_above = i ? begins_round(t, i) && !may_be_refused
                                : t->run[0].bytes < t->max_split_bytes || !may_be_refused;
        if (is_collected && is_above && left_bytes - 1 < t->collect_most_bytes)
            t->collect_most_bytes = left_bytes - 1;
        left_bytes -= t->run[i].bytes;
    }
    if (left_whole(t, true) && left_bytes > t->collect_least_bytes)
        t->collect_least_bytes = left_bytes;
}

/* Notes what a retry shows. A collection by age may have gone before it. */
static void note_retry(struct pytorch_trace *t, const struct trace_event *next)
{
    if (t->collect_share > 0 || next->kind == TRACE_refused)
        return;
    if (next->kind == TRACE_driver_alloc)
        limit(t, t->held_bytes + asked_of(t, next) - 1);
    else
        t->request = (struct pytorch_request){.refused_bytes = t->held_bytes};
}

/* A replay does not know that a retry may take from a private pool: a trim before it does. */
static bool releases_private(const struct pytorch_trace *t)
{
    for (unsigned i = 0; i < t->run_count; i++)
        if (t->run[i].pool)
            return true;
    return false;
}

/* Is a run a trim? `next`: the event after it, or NULL. The segments of the run are still there. */
static bool is_trim(struct pytorch_trace *t, const struct trace_event *next)
{
    const struct trace_event *run = t->run;
    if (would_have_served(t, next))
        return true;
    if (is_collection(t, next))
        return false;
    if (is_retry(t, next)) {
        note_retry(t, next);
        return t->has_waited || releases_private(t);
    }
    if (next && asked_of(t, next) && has_own_stack(t, next))
        return true;
    const bool is_asked = next && !next->pool && asked_of(t, next);
    if (is_asked && t->collect_share > 0 && (t->has_early || is_made_by(t, next)))
        return false; /* a collection by age goes before a request; see pytorch.h */
    if (run->kind == TRACE_driver_unmap)
        return true;
    for (unsigned i = 1; i < t->run_count; i++)
        if (!is_in_order(t, &run[i - 1], &run[i]))
            return false;
    if (t->has_early) /* it is not known which segments are wholly free */
        return true;
    return left_whole(t, false) == 0;
}

/* A trim of the common pool, if the run is one, and of each private pool that the run releases
 * from: its graphs are gone. */
static void add_trims(struct pytorch_trace *t, bool of_common)
{
    struct trace_event trim = {
        .kind = TRACE_trim, .queue = t->run->queue, .time_ns = t->run->time_ns};
    if (of_common)
        import_event(t->stream, &trim);
    for (unsigned i = 0; i < t->run_count; i++) {
        trim.pool = t->run[i].pool;
        if (trim.pool && (i == 0 || t->run[i - 1].pool != trim.pool))
            import_event(t->stream, &trim);
    }
}

/* Adds the run that was held back, and the trim before it. */
static void end_run(struct pytorch_trace *t, const struct trace_event *next)
{
    if (t->run_count == 0)
        return;
    add_trims(t, is_trim(t, next));
    for (unsigned i = 0; i < t->run_count; i++) {
        import_event(t->stream, &t->run[i]);
        trace_hold(&t->held_bytes, &t->run[i]);
        if (t->run[i].kind == TRACE_driver_free)
            drop_segment(t, t->run[i].address);
    }
    t->run_count = 0;
}

static void add_driver_call(struct pytorch_trace *t, const struct trace_event *e)
{
    if (e->kind == TRACE_driver_free || e->kind == TRACE_driver_unmap) {
        if (t->run_count && t->run->kind != e->kind)
            end_run(t, e);
        t->run = must_grow(t->run, t->run_count, &t->run_capacity, sizeof *t->run);
        t->run[t->run_count++] = *e;
        return;
    }
    learn_from_collection(t, e);
    end_run(t, e);
    if (e->kind == TRACE_driver_map && !t->request.is_open) {
        t->request.is_open = true;
        t->request.held_bytes = t->held_bytes;
    }
    trace_hold(&t->held_bytes, e);
    if (e->kind == TRACE_driver_alloc)
        add_segment(t, e);
    import_event(t->stream, e);
}

static void add_block_event(struct pytorch_trace *t, struct trace_event *e)
{
    end_run(t, e);
    struct pytorch_segment *s = segment_of(t, e->address);
    t->has_waited = e->kind == TRACE_done && e->address != t->given_address;
    t->given_address = e->kind == TRACE_free ? e->address : 0;
    if (e->kind == TRACE_alloc) {
        end_request(t, e->bytes);
        import_alloc(t->stream, e->address, e);
        if (s)
            s->blocks++;
        return;
    }
    if (s && e->kind == TRACE_done && s->blocks)
        s->blocks--;
    import_free(t->stream, e->address, e);
}

/* The driver had `device_free` bytes left (0: unknown). If the request fits into them, a fraction
 * that the program set refused it. */
static void add_refusal(struct pytorch_trace *t, const struct trace_event *e, uint64_t device_free)
{
    uint64_t asked = asked_of(t, e);
    if (asked && (!t->is_expandable || device_free >= e->bytes))
        asked = segment_for(t, e->bytes);
    if (asked && t->held_bytes)
        limit(t, t->held_bytes + (device_free && device_free < e->bytes ? device_free : asked - 1));
    import_event(t->stream, e);
}

/* Free segments are collected above a share of what may be held. */
static void limit_by_collections(struct pytorch_trace *t)
{
    struct trace_info *info = trace_writer_info(import_writer(t->stream));
    const double most = ((double)t->collect_most_bytes + 1) / t->collect_share,
                 least = (double)t->collect_least_bytes / t->collect_share;
    if (t->collect_most_bytes == UINT64_MAX || !(most < (double)TRACE_TOTAL_MOST))
        return;
    limit(t, (uint64_t)most - 1);
    if ((uint64_t)least > info->limit_least_bytes)
        info->limit_least_bytes = (uint64_t)least;
}

void pytorch_end(struct pytorch_trace *t)
{
    end_run(t, NULL);
    limit_by_collections(t);
    start_free(&t->start);
    free(t->segments);
    free(t->run);
    free(t->streams);
    free(t->known.index);
}

/* ---- the start ---- */

static void add_start_memory(struct pytorch_trace *t, const struct start_memory *m)
{
    const bool is_begin = m->is_expandable && m->bytes == 0;
    struct trace_event e = {.kind = m->is_expandable ? TRACE_driver_map : TRACE_driver_alloc,
                            .queue = queue_of(t, m->stream),
                            .address = m->address,
                            .bytes = m->bytes,
                            .pool = m->pool};
    if (is_begin)
        e.granted = m->is_large ? t->large_segment_bytes : PYTORCH_SMALL_SEGMENT_BYTES;
    import_event(t->stream, &e);
    trace_hold(&t->held_bytes, &e);
    if (e.kind == TRACE_driver_alloc)
        add_segment(t, &e);
}

static void add_start_block(struct pytorch_trace *t, const struct start_block *b)
{
    struct trace_event e =
        event_of(t,
                 &(struct pytorch_entry){.address = b->address,
                                         .size = b->requested,
                                         .stream = b->stream,
                                         .pool = b->pool,
                                         .site = b->site ? b->site : t->site_before},
                 TRACE_held);
    e.granted = b->granted;
    import_alloc(t->stream, b->address, &e);
    struct pytorch_segment *s = segment_of(t, b->address);
    if (s)
        s->blocks++;
    t->has_early |= !b->is_within;
}

int pytorch_check_start(const struct pytorch_trace *t, struct error *error)
{
    const struct start_contradiction *c = &t->start.contradiction;
    char here[48] = "the list of segments", there[48] = "the start";
    if (!c->what)
        return 0;
    if (c->entry)
        snprintf(here, sizeof here, "entry %" PRIu64, c->entry - 1);
    if (c->other_entry)
        snprintf(there, sizeof there, "entry %" PRIu64, c->other_entry - 1);
    return import_error(t->log, error,
                        "the snapshot contradicts itself: %s %s, by %s, at address 0x%" PRIx64
                        ". Entries are missing, as with skip_actions, or in another order",
                        here, c->what, there, c->address);
}

void pytorch_add_start(struct pytorch_trace *t)
{
    start_find(&t->start);
    t->peak_bytes = (uint64_t)t->most_risen_bytes;
    t->trims_before_requests = t->least_run_bytes <= t->most_risen_bytes;
    if (t->start.is_empty)
        return;
    trace_writer_info(import_writer(t->stream))->lost_beginning = true;
    for (unsigned i = 0; i < t->start.memory_count; i++)
        if (t->start.memories[i].was)
            add_start_memory(t, &t->start.memories[i]);
    for (uint64_t i = 0; i < t->start.block_count; i++)
        if (t->start.blocks[i].was)
            add_start_block(t, &t->start.blocks[i]);
    t->peak_bytes += t->held_bytes;
    import_event(t->stream, &(struct trace_event){.kind = TRACE_start});
}

void pytorch_add_phase(struct pytorch_trace *t, const char *name, bool begins, uint64_t time_us)
{
    struct trace_writer *w = import_writer(t->stream);
    trace_writer_info(w)->knows[TRACE_KNOWS_phases] = true;
    end_run(t, NULL);
    import_event(t->stream, &(struct trace_event){.kind = begins ? TRACE_begin : TRACE_end,
                                                  .name = trace_name(w, name),
                                                  .time_ns = time_of(t, time_us)});
}

int pytorch_add(struct pytorch_trace *t, const struct pytorch_entry *entry, struct error *error)
{
    const struct action *action = find_action(entry->action);
    if (action && action->kind == TRACE_KINDS)
        return 0;
    if (!action)
        return import_error(t->log, error,
                            "'%.40s' is no action of an allocator history that gamut knows",
                            entry->action);
    if (entry->has_time)
        pytorch_begin_time(t, entry->time_us);
    struct trace_event e = event_of(t, entry, action->kind);
    if (action->kind == TRACE_alloc || action->kind == TRACE_free || action->kind == TRACE_done) {
        add_block_event(t, &e);
    } else if (trace_is_driver_call(action->kind)) {
        add_driver_call(t, &e);
    } else {
        end_run(t, &e);
        add_refusal(t, &e, entry->device_free);
    }
    return 0;
}
