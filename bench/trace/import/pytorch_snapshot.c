/* A snapshot of PyTorch's CUDA allocator, as torch.cuda.memory._dump_snapshot writes it (a pickle),
 * or as JSON (json.dump of torch.cuda.memory._snapshot()):
 *
 *     {"segments": [{"device", "address", "total_size", "stream", "segment_pool_id",
 *                    "is_expandable", "blocks": [{"address", "size", "requested_size", "state",
 *                    "frames"}]}],
 *      "device_traces": [[{"action", "addr", "size", "stream", "time_us", "frames"}]],
 *      "external_annotations": [{"stage": "START", "name", "device", "time_us"}],
 *      "allocator_settings": {...}}
 *
 * A history is larger than memory at times, so its entries are read one by one (pytorch_entries.h).
 * It is a ring, and recording may begin late. What lived before it is found in two ways:
 * the history frees it, or it still lives at the end and stands in a segment.
 *
 * A private pool of a graph is known of segments, and of entries only in newer versions.
 * pytorch_pools.h says how the others are found. Where the segment of a block was released, the
 * trace does not know the pools: they are guesses.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "trace/import/pytorch_pools.h"
#include "trace/import/pytorch_sites.h"
#include "trace/import/value.h"

enum { SNAPSHOT_MOST_MIB = 4096 };

#define HOW_TO_DUMP                                                                                \
    ". Something changed the file; torch.cuda.memory._dump_snapshot(FILE) writes it anew"

struct pools {
    unsigned count, capacity;
    struct pool_id {
        uint64_t id[2];
    } * ids; /* in the order of their numbers, from 1 on */
};

struct snapshot {
    struct import *log;
    struct device_history {
        struct pytorch_entries entries;
        struct pools pools; /* that its entries name */
        bool has_alloc, has_segment, has_free_requested, has_free_completed;
    } * devices;
    unsigned device_count, device_capacity;
    struct trace_names names; /* texts of entries, and the frames of call stacks */
    unsigned call_capacity;
    struct pytorch_call **calls; /* by the innermost frame */
    struct arena arena;
    struct value root;
    struct pools pools;
    struct pytorch_site site;
    struct text frame;
    bool has_python, has_native; /* frames */
};

/* The history of one device. */
struct history {
    struct snapshot *snapshot;
    unsigned device;
    struct pytorch_entries *entries;
    const struct pools *pools;     /* that its entries name */
    struct pool_segment *segments; /* of the end, by address */
    unsigned segment_count, segment_capacity;
    struct pytorch_pools found;
    const struct value **phases; /* annotations of the device, in the order of the snapshot */
    unsigned phase_count, phase_capacity, next_phase;
    struct pytorch_trace trace;
};

/* ---- members ---- */

static int member_error(const struct snapshot *s, const char *list, uint64_t index,
                        const char *member, const char *expected, struct error *error)
{
    return import_error(s->log, error, "%s[%" PRIu64 "]: expected %s for '%s'", list, index,
                        expected, member);
}

static uint64_t count_or_0(const struct value *dict, const char *key)
{
    uint64_t number = 0;
    return value_count_of(value_get(dict, key), &number) ? number : 0;
}

static unsigned number_of_pool(struct pools *known, struct pool_id pool)
{
    if (pool.id[0] == 0 && pool.id[1] == 0)
        return 0;
    for (unsigned i = 0; i < known->count; i++)
        if (memcmp(&known->ids[i], &pool, sizeof pool) == 0)
            return i + 1;
    known->ids = must_grow(known->ids, known->count, &known->capacity, sizeof *known->ids);
    known->ids[known->count++] = pool;
    return known->count;
}

/* The number of a private pool; 0: the common one. */
static unsigned pool_of(struct pools *pools, const struct value *pair)
{
    const struct value_list *list = value_list_of(pair);
    struct pool_id pool = {{0, 0}};
    for (unsigned i = 0; i < 2 && i < list->count; i++)
        value_count_of(&list->items[i], &pool.id[i]);
    return number_of_pool(pools, pool);
}

/* ---- sites ---- */

/* The same text as one that lives as long as the snapshot. */
static const char *one_text(struct snapshot *s, const char *text)
{
    const unsigned index = trace_names_add(&s->names, text);
    return s->names.items[index].text;
}

static const char *label_of(struct snapshot *s, const struct value_list *frames)
{
    pytorch_site_begin(&s->site);
    for (unsigned i = 0; i < frames->count; i++) {
        const struct value *frame = &frames->items[i];
        pytorch_site_add(&s->site, value_text_of(value_get(frame, "filename")),
                         value_text_of(value_get(frame, "name")), count_or_0(frame, "line"));
    }
    pytorch_site_end(&s->site);
    s->has_python |= s->site.has_python;
    s->has_native |= s->site.has_native;
    return s->site.text.length ? one_text(s, s->site.text.data) : NULL;
}

/* The call of these frames, the innermost first; NULL: there are none, or no site. */
static const struct pytorch_call *call_of(struct snapshot *s, const struct value *frames)
{
    if (!frames || frames->type != VALUE_LIST || frames->list->count == 0)
        return NULL;
    struct value_list *list = frames->list;
    if (!list->call) {
        unsigned stack = 0;
        for (unsigned i = list->count < TRACE_STACK_MOST ? list->count : TRACE_STACK_MOST;
             i-- > 0;) {
            const struct value *frame = &list->items[i];
            s->frame.length = 0;
            const bool is_hidden = pytorch_frame_text(value_text_of(value_get(frame, "filename")),
                                                      value_text_of(value_get(frame, "name")),
                                                      count_or_0(frame, "line"), &s->frame);
            stack = trace_names_add_frame(&s->names, stack, s->frame.data, is_hidden);
        }
        s->calls = must_reach(s->calls, stack, &s->call_capacity, sizeof *s->calls);
        if (!s->calls[stack]) {
            s->calls[stack] = arena_alloc(&s->arena, sizeof **s->calls);
            *s->calls[stack] = (struct pytorch_call){label_of(s, list), stack};
        }
        list->call = s->calls[stack];
    }
    return list->call->label ? list->call : NULL;
}

/* ---- segments ---- */

ORDER_BY(by_address, struct pool_segment, address)

/* Refuses segments that overlap. The allocator lists segments that lie apart, and the blocks of
 * each side by side, in the order of their addresses (c10/cuda/CUDACachingAllocator.cpp, snapshot).
 * A file from which blocks were left out contradicts nothing. */
static int find_overlap(const struct history *h, struct error *error)
{
    const struct pool_segment *last = NULL;
    for (unsigned i = 0; i < h->segment_count; i++) {
        const struct pool_segment *s = &h->segments[i];
        if (s->bytes && last && s->address - last->address < last->bytes)
            return import_error(h->snapshot->log, error,
                                "the snapshot contradicts itself: segments[%u], at address "
                                "0x%" PRIx64 ", overlaps segments[%u], %" PRIu64
                                " bytes at 0x%" PRIx64 HOW_TO_DUMP,
                                s->index, s->address, last->index, last->bytes, last->address);
        last = s->bytes ? s : last;
    }
    return 0;
}

/* Checks block number k of a segment, [granted] bytes at [place] in it. [end]: where the block
 * before it ends. */
static int check_block(const struct history *h, const struct pool_segment *s, unsigned k,
                       uint64_t place, uint64_t granted, uint64_t end, struct error *error)
{
    const bool is_within = place <= s->bytes && granted <= s->bytes - place;
    if (is_within && place >= end)
        return 0;
    return import_error(h->snapshot->log, error,
                        "the snapshot contradicts itself: blocks[%u] of segments[%u], %" PRIu64
                        " bytes at address 0x%" PRIx64 ", %s 0x%" PRIx64 HOW_TO_DUMP,
                        k, s->index, granted, s->address + place,
                        is_within ? "overlaps the block before it, which ends at"
                                  : "lies outside of its segment, which ends at",
                        s->address + (is_within ? end : s->bytes));
}

static int read_segments(struct history *h, struct error *error)
{
    const struct value_list *all = value_list_of(value_get(&h->snapshot->root, "segments"));
    for (unsigned i = 0; i < all->count; i++) {
        const struct value *value = &all->items[i];
        struct pool_segment segment = {.value = value, .index = i};
        if (count_or_0(value, "device") != h->device)
            continue;
        if (!value_count_of(value_get(value, "address"), &segment.address))
            return member_error(h->snapshot, "segments", i, "address", "a number", error);
        segment.bytes = count_or_0(value, "total_size");
        segment.stream = count_or_0(value, "stream");
        segment.pool = pool_of(&h->snapshot->pools, value_get(value, "segment_pool_id"));
        const struct value *expandable = value_get(value, "is_expandable");
        segment.is_expandable =
            expandable && expandable->type == VALUE_BOOLEAN && expandable->integer;
        h->segments =
            must_grow(h->segments, h->segment_count, &h->segment_capacity, sizeof *h->segments);
        h->segments[h->segment_count++] = segment;
    }
    if (h->segment_count)
        qsort(h->segments, h->segment_count, sizeof *h->segments, by_address);
    return find_overlap(h, error);
}

static bool is_action(const struct pytorch_entry *entry, const char *action)
{
    return strcmp(entry->action, action) == 0;
}

/* Tells the start what is there at the end. */
static int add_final(struct history *h, const struct pool_segment *s, struct error *error)
{
    const char *type = value_text_of(value_get(s->value, "segment_type"));
    const struct start_memory memory = {.address = s->address,
                                        .bytes = s->bytes,
                                        .stream = s->stream,
                                        .pool = s->pool,
                                        .is_expandable = s->is_expandable,
                                        .is_small = type && strcmp(type, "small") == 0,
                                        .is_large = type && strcmp(type, "large") == 0};
    const struct value_list *blocks = value_list_of(value_get(s->value, "blocks"));
    uint64_t address = s->address;
    if (blocks->count && blocks->is_taken)
        return import_error(h->snapshot->log, error,
                            "the snapshot contradicts itself: the blocks of segments[%u] are those "
                            "of another segment" HOW_TO_DUMP,
                            s->index);
    if (blocks->count)
        value_get(s->value, "blocks")->list->is_taken = true;
    start_final_memory(&h->trace.start, &memory);
    for (unsigned k = 0; k < blocks->count; k++) {
        const struct value *value = &blocks->items[k];
        const char *state = value_text_of(value_get(value, "state"));
        struct start_block block = {.granted = count_or_0(value, "size"),
                                    .stream = s->stream,
                                    .pool = s->pool,
                                    .site = call_of(h->snapshot, value_get(value, "frames"))};
        block.requested = block.granted;
        block.address = address;
        value_count_of(value_get(value, "address"), &block.address);
        value_count_of(value_get(value, "requested_size"), &block.requested);
        TRY(check_block(h, s, k, block.address - s->address, block.granted, address - s->address,
                        error));
        if (state && strncmp(state, "active_", 7) == 0 && block.requested)
            start_final_block(&h->trace.start, &block);
        address = block.address + block.granted;
    }
    return 0;
}

/* ---- phases ---- */

static void find_phases(struct history *h)
{
    const struct value_list *all =
        value_list_of(value_get(&h->snapshot->root, "external_annotations"));
    for (unsigned i = 0; i < all->count; i++) {
        const struct value *a = &all->items[i];
        if (count_or_0(a, "device") != h->device || !value_text_of(value_get(a, "name")))
            continue;
        h->phases = must_grow(h->phases, h->phase_count, &h->phase_capacity, sizeof *h->phases);
        h->phases[h->phase_count++] = a;
    }
}

static bool is_start(const struct value *annotation)
{
    const char *stage = value_text_of(value_get(annotation, "stage"));
    return stage && strcmp(stage, "START") == 0;
}

/* Forgets phases that ended before the history begins. */
static void drop_early_phases(struct history *h, uint64_t first_us)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < h->phase_count; i++) {
        const struct value *a = h->phases[i];
        const char *name = value_text_of(value_get(a, "name"));
        unsigned begin = kept;
        if (count_or_0(a, "time_us") < first_us && !is_start(a)) {
            while (begin > 0 &&
                   !(is_start(h->phases[begin - 1]) &&
                     strcmp(value_text_of(value_get(h->phases[begin - 1], "name")), name) == 0))
                begin--;
            if (begin > 0)
                memmove(&h->phases[begin - 1], &h->phases[begin],
                        (--kept - (begin - 1)) * sizeof *h->phases);
            continue;
        }
        h->phases[kept++] = a;
    }
    h->phase_count = kept;
}

/* Adds the phases that begin or end up to this time. */
static void add_phases(struct history *h, uint64_t time_us)
{
    for (; h->next_phase < h->phase_count; h->next_phase++) {
        const struct value *a = h->phases[h->next_phase];
        const uint64_t at = count_or_0(a, "time_us");
        if (at > time_us)
            return;
        pytorch_add_phase(&h->trace, value_text_of(value_get(a, "name")), is_start(a), at);
    }
}

/* ---- entries ---- */

/* The pool of an entry: its own, or that of its segment. */
static unsigned pool_of_entry(struct history *h, const struct pytorch_entry *entry)
{
    if (!entry->has_pool)
        return h->found.lives[entry->pool].pool;
    return entry->pool ? number_of_pool(&h->snapshot->pools, h->pools->ids[entry->pool - 1]) : 0;
}

static bool is_pool_known(const struct history *h, const struct pytorch_entry *entry)
{
    const bool is_block = is_action(entry, "alloc") || strncmp(entry->action, "free", 4) == 0;
    return !is_block || entry->has_pool || (entry->pool && h->found.lives[entry->pool].is_known);
}

static int add_entry(struct history *h, unsigned i, struct error *error)
{
    static const struct pytorch_call no_python = {PYTORCH_SITE_NO_PYTHON, 0};
    struct pytorch_entry entry = *pytorch_entry_at(h->entries, i);
    if (!is_pool_known(h, &entry))
        trace_writer_info(import_writer(h->trace.stream))->knows[TRACE_KNOWS_pools] = false;
    entry.pool = pool_of_entry(h, &entry);
    if (!entry.site && h->snapshot->has_python && !h->snapshot->has_native &&
        is_action(&entry, "alloc"))
        entry.site = &no_python;
    if (entry.has_time)
        add_phases(h, entry.time_us);
    return pytorch_add(&h->trace, &entry, error);
}

/* Reads an entry of a device's history. */
static int take_entry(void *user, unsigned device, const struct value *value, struct error *error)
{
    struct snapshot *s = user;
    if (device >= IMPORT_DEVICES_MOST)
        return import_error(s->log, error, "the snapshot has more than %d devices",
                            IMPORT_DEVICES_MOST);
    s->devices = must_reach(s->devices, device, &s->device_capacity, sizeof *s->devices);
    s->device_count = device >= s->device_count ? device + 1 : s->device_count;
    struct device_history *d = &s->devices[device];
    const struct value *action = NULL, *address = NULL, *size = NULL, *stream = NULL, *time = NULL,
                       *frames = NULL, *pool = NULL, *segment_pool = NULL, *device_free = NULL;
    const struct {
        const char *key;
        const struct value **value;
    } members[] = {{"action", &action},
                   {"addr", &address},
                   {"size", &size},
                   {"stream", &stream},
                   {"time_us", &time},
                   {"frames", &frames},
                   {"pool_id", &pool},
                   {"segment_pool_id", &segment_pool},
                   {"device_free", &device_free}};
    const struct value_list *list = value->type == VALUE_DICT ? value->list : value_list_of(NULL);
    for (unsigned i = 0; i + 1 < list->count; i += 2)
        for (unsigned k = 0; k < sizeof members / sizeof *members; k++)
            if (list->items[i].type == VALUE_TEXT &&
                strcmp(list->items[i].text, members[k].key) == 0)
                *members[k].value = &list->items[i + 1];
    char name[32];
    snprintf(name, sizeof name, "device_traces[%u]", device);
    if (!value_text_of(action))
        return member_error(s, name, d->entries.count, "action", "a text", error);
    struct pytorch_entry entry = {.action = one_text(s, action->text)};
    const bool is_oom = is_action(&entry, "oom"); /* no address, but device_free */
    if (!value_count_of(address, &entry.address) && !is_oom)
        return member_error(s, name, d->entries.count, "addr", "a number", error);
    if (!value_count_of(size, &entry.size))
        return member_error(s, name, d->entries.count, "size", "a number", error);
    value_count_of(stream, &entry.stream);
    if (is_oom)
        value_count_of(device_free, &entry.device_free);
    entry.has_time = value_count_of(time, &entry.time_us);
    entry.site = call_of(s, frames);
    pool = pool ? pool : segment_pool;
    entry.has_pool = pool != NULL;
    entry.pool = pool ? pool_of(&d->pools, pool) : 0;
    d->has_alloc |= is_action(&entry, "alloc");
    d->has_segment |= is_action(&entry, "segment_alloc");
    d->has_free_requested |= is_action(&entry, "free_requested");
    d->has_free_completed |= is_action(&entry, "free_completed");
    return pytorch_entries_add(&d->entries, &entry, s->log, error);
}

/* A program can leave actions out (skip_actions of _record_memory_history). The snapshot does not
 * say which, but one action comes with another. */
static int find_skipped(struct history *h, struct error *error)
{
    const struct device_history *d = &h->snapshot->devices[h->device];
    bool *knows = trace_writer_info(import_writer(h->trace.stream))->knows;
    if (d->has_segment && (d->has_free_requested || d->has_free_completed) && !d->has_alloc)
        return import_error(h->snapshot->log, error,
                            "device_traces[%u] has segments and frees, but no alloc: the program "
                            "records without it. Leave skip_actions out of "
                            "torch.cuda.memory._record_memory_history()",
                            h->device);
    if (d->has_free_completed && !d->has_free_requested)
        knows[TRACE_KNOWS_frees] = false;
    if (d->has_free_requested && !d->has_free_completed)
        knows[TRACE_KNOWS_done] = false;
    return 0;
}

static int read_history(struct history *h, struct error *error)
{
    static const struct pytorch_call before = {PYTORCH_SITE_BEFORE, 0};
    uint64_t first_us = 0;
    if (h->entries->count)
        first_us = pytorch_entry_at(h->entries, 0)->time_us;
    TRY(find_skipped(h, error));
    TRY(read_segments(h, error));
    pytorch_pools_find(&h->found, h->entries, h->segments, h->segment_count,
                       h->snapshot->pools.count);
    find_phases(h);
    drop_early_phases(h, first_us);
    pytorch_begin_time(&h->trace, first_us);
    trace_writer_info(import_writer(h->trace.stream))->knows[TRACE_KNOWS_pools] = true;
    for (unsigned i = 0; i < h->entries->count; i++) {
        struct pytorch_entry entry = *pytorch_entry_at(h->entries, i);
        entry.pool = pool_of_entry(h, &entry);
        pytorch_look(&h->trace, &entry);
    }
    for (unsigned i = 0; i < h->segment_count; i++)
        TRY(add_final(h, &h->segments[i], error));
    TRY(pytorch_check_start(&h->trace, error));
    h->trace.site_before = h->snapshot->has_python || h->snapshot->has_native ? &before : NULL;
    h->trace.frames = &h->snapshot->names;
    pytorch_add_start(&h->trace);
    for (unsigned i = 0; i < h->entries->count; i++)
        TRY(add_entry(h, i, error));
    add_phases(h, UINT64_MAX);
    /* Newer versions say whether the ring was full. */
    const struct value_list *full =
        value_list_of(value_get(&h->snapshot->root, "trace_alloc_overflowed"));
    if (h->device < full->count && full->items[h->device].type == VALUE_BOOLEAN)
        trace_writer_info(import_writer(h->trace.stream))->lost_beginning |=
            full->items[h->device].integer != 0;
    return 0;
}

static int import_device(struct snapshot *s, unsigned device, json_t *settings, struct error *error)
{
    struct history h = {.snapshot = s,
                        .device = device,
                        .entries = &s->devices[device].entries,
                        .pools = &s->devices[device].pools};
    char name[32];
    snprintf(name, sizeof name, "cuda%u", device);
    int code = pytorch_begin(&h.trace, s->log, name, "PyTorch snapshot", settings, error);
    if (!code) {
        snprintf(trace_writer_info(import_writer(h.trace.stream))->device, 32, "cuda:%u", device);
        code = read_history(&h, error);
        pytorch_end(&h.trace);
    }
    pytorch_pools_free(&h.found);
    free(h.segments);
    free(h.phases);
    return code;
}

/* ---- the whole ---- */

/* Says what was found in place of a snapshot with a history. torch.cuda.memory_snapshot() gives the
 * segments alone, as a list. */
static int refuse_root(const struct snapshot *s, struct error *error)
{
    const struct value *segments = value_get(&s->root, "segments");
    const struct value_list *list = value_list_of(segments ? segments : &s->root);
    if (list->count && value_get(&list->items[0], "total_size"))
        return import_error(
            s->log, error,
            "this is a list of segments (%u), as torch.cuda.memory_snapshot() gives: "
            "the state at one moment, without the history that a trace needs. Call "
            "torch.cuda.memory._record_memory_history() before the program runs, "
            "then torch.cuda.memory._dump_snapshot(FILE)",
            list->count);
    static const char *const types[] = {"nothing", "a boolean", "a number", "a real number",
                                        "a text",  "a list",    "a dict"};
    return import_error(s->log, error,
                        "expected a snapshot of PyTorch with 'device_traces', found %s without "
                        "them; torch.cuda.memory._dump_snapshot(FILE) writes one",
                        types[s->root.type]);
}

static int import_snapshot(struct snapshot *s, struct error *error)
{
    const struct value *traces = value_get(&s->root, "device_traces");
    if (!traces || traces->type != VALUE_LIST)
        return refuse_root(s, error);
    /* What stands in the tree: JSON, and lists that the pickle makes in another way. */
    for (unsigned d = 0; d < traces->list->count; d++) {
        const struct value_list *entries = value_list_of(&traces->list->items[d]);
        for (unsigned i = 0; i < entries->count; i++)
            TRY(take_entry(s, d, &entries->items[i], error));
    }
    if (!s->device_count)
        return import_error(s->log, error,
                            "the snapshot has segments (%u), but no history: call "
                            "torch.cuda.memory._record_memory_history() before the program runs, "
                            "and take the snapshot with its traces (include_traces=True)",
                            value_list_of(value_get(&s->root, "segments"))->count);
    const struct value *settings = value_get(&s->root, "allocator_settings");
    json_t *json = settings && settings->type == VALUE_DICT ? value_to_json(settings) : NULL;
    int code = 0;
    if (settings && settings->type == VALUE_DICT && !json)
        code = import_error(s->log, error,
                            "allocator_settings have more than 64 KiB, where PyTorch writes less "
                            "than a KiB" HOW_TO_DUMP);
    for (unsigned d = 0; d < s->device_count && !code; d++)
        if (s->devices[d].entries.count)
            code = import_device(s, d, json, error);
    json_decref(json);
    return code;
}

static void free_snapshot(struct snapshot *s)
{
    for (unsigned d = 0; d < s->device_count; d++) {
        pytorch_entries_free(&s->devices[d].entries);
        free(s->devices[d].pools.ids);
    }
    free(s->devices);
    trace_names_free(&s->names);
    free(s->calls);
    arena_free(&s->arena);
    text_free(&s->site.text);
    text_free(&s->frame);
    free(s->pools.ids);
}

int import_pytorch(struct import *log, struct error *error)
{
    struct snapshot s = {.log = log};
    const struct pickle_sink sink = {"device_traces", take_entry, &s};
    int code = pickle_read(log, &s.arena, &sink, &s.root, error);
    THEN(code, import_snapshot(&s, error));
    free_snapshot(&s);
    return code;
}

int import_pytorch_json(struct import *log, struct error *error)
{
    struct snapshot s = {.log = log};
    struct text bytes = {0};
    int code = import_rest(log, (size_t)SNAPSHOT_MOST_MIB << 20, &bytes, error);
    if (!code) {
        json_error_t where;
        json_t *json = json_loadb(bytes.data, bytes.length, 0, &where);
        if (json)
            s.root = value_from_json(&s.arena, json);
        else
            code = import_error(log, error, "line %d, column %d: %s", where.line, where.column,
                                where.text);
        json_decref(json);
    }
    text_free(&bytes);
    THEN(code, import_snapshot(&s, error));
    free_snapshot(&s);
    return code;
}
