#include "replay/replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/pytorch_conf.h"
#include "alloc/registry.h"
#include "base/arena.h"
#include "base/sort.h"
#include "base/text.h"
#include "run/execute/spaces.h"
#include "run/predict/player.h"
#include "replay/ages.h"
#include "replay/owners.h"
#include "replay/private_pool.h"

enum {
    PARTS_MAX = 64,        /* the common memory, private pools, and memory not on the device */
    STOP_EVERY = 1 << 16,  /* events between two looks at options.stop */
    CHECK_EVERY = 1 << 12, /* events between two calls of check(), if it is asked for */
};

/* An instance of the strategy, with a source of its own. */
struct part {
    unsigned pool, memory; /* as in struct trace_event */
    bool keeps;            /* a private pool that captured graphs use */
    bool ends;             /* ... no more: when no block of it lives, it has ended */
    bool has_ended;
    uint64_t live_count; /* blocks that the strategy does not have back */
    struct source source;
    struct allocator allocator;
    struct private_pool kept; /* if keeps */
};

/* A live block. */
struct played {
    struct block block;
    uint64_t requested;
    unsigned name;
    unsigned char part;     /* + 1; 0: the slot is free */
    uint64_t let_go;        /* the event that freed it, if it is not done: the strategy does not
                             * have it back yet. 0: it is not freed */
    uint64_t free_ns;       /* of the host in the call that freed it, without the wait */
    struct live_block live; /* on a real device */
};

struct replay {
    const struct replay_options *options;
    const struct replay_listener *listener;
    struct trace_reader *reader;
    struct replay_outcome *outcome;
    struct error *error;
    struct player player;
    /* The log has the calls of this very strategy: they cost what they did. The first one does not
     * count, because it makes the driver ready. */
    bool knows_calls, knows_ends, has_asked;
    /* Inferred: the event after each wait, and how much slower the device is before it than it can
     * be. NULL: none are inferred. */
    double (*waits)[2];
    unsigned wait, wait_count, wait_capacity;
    double *log_ns;  /* now, and when the device has done what came before */
    unsigned queue;  /* of the last request */
    bool frees_wait; /* for the device: an application of CUDA is served in the driver's place */
    /* By the log: when the device had ended what it was given so far, and what the current call
     * took of the host without its wait for that. */
    uint64_t ended_ns, own_ns;
    unsigned part_count;
    struct part *parts[PARTS_MAX];
    struct allocator_counts blocks; /* of all parts */
    struct source_total held;
    struct source_counts gone; /* of parts whose place another has */
    unsigned slot_capacity;
    struct played *slots;
    uint64_t alignment; /* of requests that say none */
    bool free_at_done, tracks_owners, timed;
    struct owners owners;
    struct live *live;     /* NULL: without a device */
    struct live_use *uses; /* of the current event, on a device */
    unsigned use_capacity;
    uint64_t wall_ns;
    uint64_t untimed;            /* commands that lack the device's time, which the trace knows */
    struct source_listener ears; /* hears the sources, if owners must know all memories */
    struct source_pending pending;
    uint64_t event;            /* number of the current event */
    const struct block *moved; /* the block that the current event took or gave back, or NULL */
    uint64_t peak_before;      /* reserved bytes at most, before the current event */
    bool ended;                /* by a refusal or a fault */
    bool is_before_start;      /* the events up to `start` are kept, to be adopted together */
    bool cannot_adopt;
    bool asks_refused;       /* the strategy is asked for requests that the log says were refused */
    const struct ages *ages; /* of the memory at the start */
    struct trace_event *kept;
    unsigned kept_count, kept_capacity, most_kept_slot;
};

/* ---- the end of a replay ---- */

static int fail(struct replay *r, enum case_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int fail(struct replay *r, enum case_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    r->outcome->status = status;
    vsnprintf(r->outcome->reason, sizeof r->outcome->reason, format, arguments);
    va_end(arguments);
    r->ended = true;
    return 0;
}

/* ---- refusals ---- */

static void note_refusal(struct replay *r, const struct trace_event *e, unsigned index)
{
    const struct allocator_ops *s = r->options->strategy;
    const bool has_small = strcmp(s->name, "caching") == 0 || strcmp(s->name, "vmm") == 0;
    struct replay_refusal *refusal = &r->outcome->refusal;
    *refusal = (struct replay_refusal){.event = r->event,
                                       .block = e->block,
                                       .bytes = e->bytes,
                                       .time_ns = e->time_ns,
                                       .requested_bytes = r->blocks.requested_bytes,
                                       .granted_bytes = r->blocks.granted_bytes,
                                       .reserved_bytes = r->held.reserved_bytes,
                                       .limit_bytes = r->options->device.capacity_bytes};
    snprintf(refusal->site, sizeof refusal->site, "%.255s", trace_name_of(r->reader, e->name));
    if (r->options->explain)
        refusal_find_free(refusal, &r->owners, index * ALLOCATOR_QUEUES_MAX + e->queue,
                          has_small ? PYTORCH_SMALL_MOST_BYTES : 0);
}

static void refuse(struct replay *r, const struct trace_event *e, unsigned index)
{
    note_refusal(r, e, index);
    fail(r, CASE_oom, "block b%" PRIu64 ", event %" PRIu64 ": %s", e->block, r->event,
         r->parts[index]->source.error.text);
}

/* ---- parts ---- */

static int open_raw(struct replay *r, struct part *part, uint64_t kind)
{
    const struct allocator_ops *raw;
    struct option_values options;
    TRY(allocator_parse("raw", &raw, &options, r->error));
    options.common[ALLOCATOR_KIND] = kind;
    return allocator_open(&part->allocator, raw, &options, &part->source, r->error);
}

/* A place for a new part: that of one that has ended, or a further one. */
static int find_place(struct replay *r, unsigned pool, unsigned *index)
{
    for (*index = 0; *index < r->part_count; ++*index)
        if (r->parts[*index]->has_ended) {
            source_counts_add(&r->gone, &r->parts[*index]->source.counts);
            free(r->parts[*index]);
            break;
        }
    if (*index == PARTS_MAX)
        return error_set(r->error, ERR_UNSUPPORTED,
                         "%s: event %" PRIu64 " begins private pool %u: a replay has room for %d",
                         trace_reader_path(r->reader), r->event, pool, PARTS_MAX - 1);
    r->part_count += *index == r->part_count;
    r->parts[*index] = must_alloc(sizeof *r->parts[0]);
    return 0;
}

/* Once no block of it lives, a private pool that no graph uses gives its memory back. */
static int end_part(struct replay *r, struct part *part)
{
    if (!part->ends || part->live_count || part->has_ended)
        return 0;
    part->has_ended = true;
    TRY(part->source.ops->sync(part->source.context, r->error));
    return private_pool_close(&part->kept, &part->allocator, r->error);
}

static int open_part(struct replay *r, unsigned pool, unsigned memory, bool keeps, unsigned *index)
{
    TRY(find_place(r, pool, index));
    struct part *part = r->parts[*index];
    part->pool = pool;
    part->memory = memory;
    part->keeps = keeps;
    part->source = r->live ? live_source(r->live) : *dry_source(r->player.dry);
    part->source.total = &r->held;
    part->source.pending = r->pending.settle ? &r->pending : NULL;
    part->source.listener =
        r->tracks_owners || (r->listener && r->listener->source) ? &r->ears : NULL;
    const struct allocator_ops *strategy = r->options->strategy;
    struct option_values options = *r->options->options;
    if (keeps) {
        const int code = private_pool_open(&part->kept, strategy, &options, &part->source,
                                           &part->allocator, r->error);
        part->allocator.total = &r->blocks;
        return code;
    }
    /* No plan knows of memory apart from the program's common one. */
    if ((pool || memory) && strategy->serves_plan)
        TRY(allocator_parse("caching", &strategy, &options, r->error));
    if (r->live && memory)
        options.common[ALLOCATOR_KIND] = live_kind(r->live, memory);
    int code = allocator_open(&part->allocator, strategy, &options, &part->source, r->error);
    /* Pinned memory is no matter of the driver's pool or of virtual memory: applications that use
     * these ask the driver for it. */
    if (code == ERR_UNSUPPORTED && r->live && options.common[ALLOCATOR_KIND] != MEMORY_DEVICE)
        code = open_raw(r, part, options.common[ALLOCATOR_KIND]);
    part->allocator.total = &r->blocks;
    return code;
}

/* All parts of a replay on a device are there before its clock starts. */
static int open_parts(struct replay *r)
{
    const struct schedule *s = r->live ? live_schedule(r->live) : NULL;
    unsigned index;
    for (unsigned i = 0; s && i < s->part_count; i++)
        if (!s->parts[i].keeps)
            TRY(open_part(r, s->parts[i].pool, s->parts[i].memory, false, &index));
    return 0;
}

static int part_of(struct replay *r, const struct trace_event *e, unsigned *index)
{
    for (*index = 0; *index < r->part_count; ++*index)
        if (r->parts[*index]->pool == e->pool && r->parts[*index]->memory == e->memory &&
            !r->parts[*index]->has_ended)
            return 0;
    return open_part(r, e->pool, e->memory, e->kind == TRACE_pool_begin, index);
}

/* ---- blocks ---- */

static struct played *slot_of(struct replay *r, unsigned slot)
{
    if (slot >= r->slot_capacity)
        r->slots = must_reach(r->slots, slot, &r->slot_capacity, sizeof *r->slots);
    return &r->slots[slot];
}

static uint64_t own_ns(const struct replay *r, const struct trace_event *e)
{
    const uint64_t begin_ns = trace_begin_ns(e), end_ns = trace_end_ns(e),
                   from_ns = r->ended_ns > begin_ns ? r->ended_ns : begin_ns;
    return end_ns > from_ns ? end_ns - from_ns : 0;
}

static int give_block(struct replay *r, unsigned slot)
{
    struct played *at = slot_of(r, slot);
    if (!at->part)
        return 0;
    struct part *part = r->parts[at->part - 1];
    if (r->tracks_owners)
        owners_give(&r->owners, &at->block);
    if (r->knows_calls)
        dry_logged(r->player.dry, at->free_ns);
    else if (r->frees_wait)
        dry_wait(r->player.dry, ALLOCATOR_QUEUES_MAX);
    int code = player_free(&r->player, &part->allocator, &at->block,
                           trace_name_of(r->reader, at->name), at->requested);
    at->part = 0;
    part->live_count--;
    r->moved = &at->block;
    return code ? error_set(r->error, code, "event %" PRIu64 ": %s", r->event,
                            part->source.error.text)
                : end_part(r, part);
}

static void tell(struct replay *r, const struct trace_event *e)
{
    for (unsigned i = 0; i < r->part_count; i++)
        source_update(&r->parts[i]->source); /* a driver's pool counts for itself */
    const uint64_t peak = r->held.peak_reserved_bytes;
    const struct replay_state state = {.event = r->event,
                                       .requested_bytes = r->blocks.requested_bytes,
                                       .granted_bytes = r->blocks.granted_bytes,
                                       .reserved_bytes = r->held.reserved_bytes,
                                       .most_reserved_bytes =
                                           peak > r->peak_before ? peak : r->held.reserved_bytes};
    r->listener->event(r->listener->context, e, r->moved, &state);
}

struct let_go {
    uint64_t event;
    unsigned slot;
};
ORDER_BY(by_event, struct let_go, event)

/* The blocks that the application has let go, and the strategy does not have back, the oldest
 * first. The caller frees them. */
static struct let_go *all_let_go(const struct replay *r, size_t *count)
{
    struct let_go *all = must_alloc((r->slot_capacity + 1) * sizeof *all);
    *count = 0;
    for (unsigned slot = 0; slot < r->slot_capacity && r->free_at_done; slot++)
        if (r->slots[slot].part && r->slots[slot].let_go)
            all[(*count)++] = (struct let_go){r->slots[slot].let_go, slot};
    qsort(all, *count, sizeof *all, by_event);
    return all;
}

/* An allocator that is refused waits for the commands that still use such blocks (struct
 * source_pending). */
static int settle(void *context, uint64_t enough_bytes, unsigned *given)
{
    struct replay *r = context;
    uint64_t bytes = 0;
    size_t count;
    struct let_go *all = all_let_go(r, &count);
    int code = 0;
    if (count && r->live)
        code = live_wait(r->live, r->error);
    else if (count)
        dry_wait(r->player.dry, ALLOCATOR_QUEUES_MAX);
    for (size_t i = 0; i < count && bytes < enough_bytes && !code; i++) {
        ++*given;
        bytes += r->slots[all[i].slot].block.size;
        code = give_block(r, all[i].slot);
        if (!code && r->listener)
            tell(r, &(struct trace_event){.kind = TRACE_done, .slot = all[i].slot});
    }
    free(all);
    return code;
}

/* Whether memory comes back to the strategy while commands may use it, and the driver does not wait
 * for them. */
static bool reuses_memory(const struct replay *r)
{
    const struct allocator_ops *s = r->options->strategy;
    return !r->free_at_done && (s->queues != QUEUES_SOURCE || s->opens_pool);
}

/* The application has the block of its slot from a part. */
static int own_block(struct replay *r, const struct trace_event *e, unsigned index)
{
    struct played *at = slot_of(r, e->slot);
    at->let_go = 0;
    at->live =
        (struct live_block){.is_reused = reuses_memory(r), .queue = e->queue, .since = r->event};
    at->requested = e->bytes;
    at->name = e->name;
    at->part = (unsigned char)(index + 1);
    r->parts[index]->live_count++;
    r->moved = &at->block;
    const char *wrong = r->tracks_owners ? owners_take(&r->owners, &at->block,
                                                       index * ALLOCATOR_QUEUES_MAX + e->queue)
                                         : NULL;
    return wrong ? fail(r, CASE_wrong, "block b%" PRIu64 " (event %" PRIu64 ") of %s: %s", e->block,
                        r->event, r->options->strategy->name, wrong)
                 : 0;
}

/* Asks a part for a block. ERR_OOM: it is refused, also when all that was let go has been given. */
static int ask(struct replay *r, const struct trace_event *e, struct block *block, unsigned *index)
{
    *index = 0;
    if (r->part_count == 0 || e->pool || e->memory || r->parts[0]->pool || r->parts[0]->memory)
        TRY(part_of(r, e, index));
    struct part *part = r->parts[*index];
    const struct alloc_request request = {.size = e->bytes,
                                          .alignment = e->alignment ? e->alignment : r->alignment,
                                          .tag = trace_name_of(r->reader, e->name),
                                          .queue = e->queue};
    if (r->knows_calls && r->has_asked)
        dry_logged(r->player.dry, e->call_ns);
    r->has_asked = true;
    int code = player_alloc(&r->player, &part->allocator, &request, block);
    if (code == ERR_OOM) {
        unsigned given = 0;
        TRY(settle(r, UINT64_MAX, &given));
        code = given ? player_alloc(&r->player, &part->allocator, &request, block) : code;
    }
    return code && code != ERR_OOM ? error_set(r->error, code, "%s", part->source.error.text)
                                   : code;
}

static int take_block(struct replay *r, const struct trace_event *e)
{
    unsigned index;
    int code = ask(r, e, &slot_of(r, e->slot)->block, &index);
    if (code != ERR_OOM)
        return code ? code : own_block(r, e, index);
    if (!r->options->can_leave_out || !trace_is_dispensable(r->reader, e))
        refuse(r, e, index);
    return 0;
}

/* A request that the recorded allocator refused. Where it is served, the block is given back at
 * once, because the program did not get it. */
static int ask_refused(struct replay *r, const struct trace_event *e)
{
    struct replay_refused *refused = &r->outcome->refused;
    struct block block;
    unsigned index;
    const bool must_serve = r->options->must_serve_refused;
    const uint64_t most_bytes = r->options->device.memory_bytes;
    if (!r->asks_refused)
        return 0;
    if (must_serve &&
        (trace_is_dispensable(r->reader, e) || e->bytes + r->blocks.requested_bytes > most_bytes))
        return 0;
    int code = ask(r, e, &block, &index);
    if (code && code != ERR_OOM)
        return code;
    if (code && must_serve)
        refuse(r, e, index);
    else if (code && r->options->explain && !trace_is_dispensable(r->reader, e))
        note_refusal(r, e, index);
    refused->count++;
    refused->served_count += !code;
    refused->most_bytes = e->bytes > refused->most_bytes ? e->bytes : refused->most_bytes;
    return code ? 0
                : player_free(&r->player, &r->parts[index]->allocator, &block,
                              trace_name_of(r->reader, e->name), e->bytes);
}

/* The application has what is spare given back; its private pools keep what they have. */
static int trim(struct replay *r, const struct trace_event *e)
{
    for (unsigned i = 0; i < r->part_count; i++) {
        struct part *part = r->parts[i];
        int code = part->pool == e->pool ? allocator_trim(&part->allocator) : 0;
        if (code)
            return error_set(r->error, code, "%s", part->source.error.text);
    }
    return 0;
}

static int end_pool(struct replay *r, const struct trace_event *e)
{
    for (unsigned i = 0; i < r->part_count; i++) {
        struct part *part = r->parts[i];
        if (!part->keeps || part->pool != e->pool)
            continue;
        part->ends = true;
        TRY(end_part(r, part));
    }
    return 0;
}

/* ---- the state at the start ---- */

/* By part and address; memory before its blocks, and the begin of a range before its parts. */
static int by_place(const void *left, const void *right)
{
    const struct trace_event *a = left, *b = right;
    ORDER_STEP(a->pool, b->pool);
    ORDER_STEP(a->memory, b->memory);
    ORDER_STEP(a->address, b->address);
    ORDER_STEP(a->kind == TRACE_held, b->kind == TRACE_held);
    ORDER_STEP(a->bytes, b->bytes);
    return 0;
}

/* The strategy gets a memory, and the blocks that follow it. *next: the place after them. */
static int adopt_memory(struct replay *r, const struct trace_event *kept, unsigned *next)
{
    const struct trace_event *e = &kept[*next];
    struct adopted_memory m = {.address = e->address,
                               .bytes = e->bytes,
                               .queue = e->queue,
                               .is_mapped = e->kind == TRACE_driver_map,
                               .age = ages_of(r->ages, e->address),
                               .part_bytes = e->granted};
    unsigned index, capacity = 0, count = 0;
    if (e->kind != TRACE_driver_alloc && e->kind != TRACE_driver_map)
        return ERR_UNSUPPORTED; /* a block outside of all memory */
    TRY(part_of(r, e, &index));
    bool are_inside = true;
    for (++*next; *next < r->kept_count && kept[*next].kind == TRACE_held &&
                  kept[*next].pool == e->pool && kept[*next].memory == e->memory;
         ++*next) {
        const struct trace_event *b = &kept[*next];
        are_inside &= b->address - e->address < e->bytes && b->queue == e->queue && b->bytes;
        m.blocks = must_grow(m.blocks, count, &capacity, sizeof *m.blocks);
        m.blocks[count++] =
            (struct adopted_block){b->address, b->bytes, b->granted, &slot_of(r, b->slot)->block};
    }
    m.block_count = count;
    if (e->kind == TRACE_driver_alloc)
        dry_expect(r->player.dry, e->bytes, e->address);
    int code = are_inside ? allocator_adopt(&r->parts[index]->allocator, &m) : ERR_UNSUPPORTED;
    free(m.blocks);
    return code;
}

/* All of the state, or none: then `cannot_adopt` is set. */
static int adopt_all(struct replay *r)
{
    struct trace_event *kept = must_alloc((r->kept_count + 1) * sizeof *kept);
    int code = 0;
    if (r->kept_count) {
        memcpy(kept, r->kept, r->kept_count * sizeof *kept);
        qsort(kept, r->kept_count, sizeof *kept, by_place);
        slot_of(r, r->most_kept_slot); /* blocks stay where they are */
    }
    for (unsigned i = 0; i < r->kept_count && !code;)
        code = adopt_memory(r, kept, &i);
    free(kept);
    r->cannot_adopt = code == ERR_UNSUPPORTED || code == ERR_OOM;
    r->ended = r->cannot_adopt;
    return r->cannot_adopt ? 0 : code;
}

/* Plays what was kept: the blocks are there. */
static int begin_adopted(struct replay *r)
{
    r->is_before_start = false;
    TRY(adopt_all(r));
    const uint64_t event = r->event;
    for (unsigned i = 0; i < r->kept_count && !r->ended; i++) {
        const struct trace_event *e = &r->kept[i];
        unsigned index;
        r->event = i + 1;
        r->moved = NULL;
        if (e->kind == TRACE_held) {
            TRY(part_of(r, e, &index));
            TRY(own_block(r, e, index));
        }
        if (r->listener)
            tell(r, e);
    }
    r->event = event;
    r->moved = NULL;
    return 0;
}

/* ---- events ---- */

static uint64_t memory_of(void *context, unsigned slot)
{
    const struct played *at = slot_of(context, slot);
    return at->part ? at->block.memory : 0;
}

/* A command without enough memory ends the replay as a refused request does: drivers make memory at
 * its first use. */
static int play_on_device(struct replay *r, const struct trace_event *e)
{
    unsigned count = 0;
    struct error why = {0};
    for (unsigned i = 0; i < e->use_count; i++) {
        struct played *at = slot_of(r, e->uses[i].slot);
        if (!at->part || !at->block.size)
            continue;
        r->uses = must_grow(r->uses, count, &r->use_capacity, sizeof *r->uses);
        r->uses[count++] = (struct live_use){.block = &at->block,
                                             .slot = e->uses[i].slot,
                                             .requested_bytes = at->requested,
                                             .access = e->uses[i].access,
                                             .state = &at->live};
    }
    const int code = live_command(r->live, e, r->event, r->uses, count, &why);
    if (code == ERR_OOM) {
        r->outcome->refusal = (struct replay_refusal){.event = r->event,
                                                      .time_ns = e->time_ns,
                                                      .requested_bytes = r->blocks.requested_bytes,
                                                      .granted_bytes = r->blocks.granted_bytes,
                                                      .reserved_bytes = r->held.reserved_bytes};
        return fail(r, CASE_oom, "event %" PRIu64 ", %s: %s", r->event, trace_kind_name(e->kind),
                    why.text);
    }
    return code ? error_set(r->error, code, "event %" PRIu64 ", %s: %s", r->event,
                            trace_kind_name(e->kind), why.text)
                : 0;
}

static int play_event(struct replay *r, const struct trace_event *e)
{
    struct played *at;
    unsigned index;
    switch (e->kind) {
    case TRACE_held:
    case TRACE_alloc:
        return take_block(r, e);
    case TRACE_refused:
        return ask_refused(r, e);
    case TRACE_free:
        slot_of(r, e->slot)->let_go = r->event;
        slot_of(r, e->slot)->free_ns = r->own_ns;
        if (r->options->strategy->opens_pool)
            slot_of(r, e->slot)->block.queue = e->queue;
        if (r->free_at_done)
            return 0;
        if (r->live)
            TRY(live_let_go(r->live, &slot_of(r, e->slot)->live, r->event, r->error));
        return give_block(r, e->slot);
    case TRACE_done:
        /* PyTorch frees a block of the driver's pool that other streams use on a stream of its own,
         * which waits for them. In its log `done` follows at once for the blocks that none uses. */
        at = slot_of(r, e->slot);
        if (r->log_ns && at->let_go && at->let_go + 1 < r->event)
            at->block.queue = ALLOCATOR_QUEUES_MAX - 1;
        return give_block(r, e->slot);
    case TRACE_begin:
        for (unsigned i = 0; i < r->part_count; i++)
            allocator_mark(&r->parts[i]->allocator, trace_name_of(r->reader, e->name));
        return 0;
    case TRACE_trim:
        return trim(r, e);
    case TRACE_pool_begin:
        return part_of(r, e, &index);
    case TRACE_pool_end:
        return end_pool(r, e);
    case TRACE_start:
        return r->is_before_start ? begin_adopted(r) : 0;
    case TRACE_driver_alloc:
        if (!r->live)
            dry_expect(r->player.dry, e->bytes, e->address);
        return 0;
    default:
        if (r->live)
            return play_on_device(r, e);
        r->untimed += trace_is_command(e->kind) && trace_lacks_time(e);
        if (r->knows_ends && (e->call_ns || e->kind == TRACE_wait))
            dry_logged(r->player.dry, trace_is_command(e->kind) ? e->call_ns : r->own_ns);
        player_command(&r->player, e, memory_of, r);
        return 0;
    }
}

/* PyTorch's log has no waits, no events between streams, and not when the device is done with what
 * is freed. The host waits where 2 ms pass after a free: pauses after a request are a kernel's
 * first use. A stream that requests after another waits for it. The device begins 8 us after the
 * host and takes 2 us and 1 ns for each 3,000 bytes of a request, or is slower, so that it ends
 * with the wait that comes next. If that is longer than 3 times what the host does before, nothing
 * is done before it. */
#define LEAST_NS(bytes) (2000 + (double)(bytes) / 3000)
static int find_waits(struct replay *r)
{
    struct trace_event e;
    double begin_ns = 0, free_ns = 0, work_ns = 0;
    int more;
    for (uint64_t event = 1; (more = trace_next(r->reader, &e, r->error)) > 0; event++) {
        if (!e.time_ns || (e.kind != TRACE_alloc && e.kind != TRACE_free))
            continue;
        const double ns = e.time_ns, waited_ns = free_ns > 0 ? ns - free_ns : 0;
        if (waited_ns > 2e6 || !r->waits) {
            const double all_ns = ns - begin_ns;
            r->waits = must_reach(r->waits, r->wait_count + 1, &r->wait_capacity, sizeof *r->waits);
            r->waits[r->wait_count][0] = event;
            r->waits[r->wait_count++][1] = waited_ns > 0.75 * all_ns ? INFINITY : all_ns / work_ns;
            begin_ns = ns;
            work_ns = 0;
        }
        work_ns += e.kind == TRACE_alloc ? LEAST_NS(e.bytes) : 0;
        free_ns = e.kind == TRACE_free ? ns : 0;
    }
    return more ? more : trace_rewind(r->reader, r->error);
}

static void infer_waits(struct replay *r, const struct trace_event *e)
{
    if (r->event == r->waits[r->wait][0]) {
        dry_wait(r->player.dry, ALLOCATOR_QUEUES_MAX);
        r->log_ns[1] = 0;
        r->wait++;
    }
    const double slower = fmax(1, r->waits[r->wait][1]);
    r->log_ns[0] = e->time_ns;
    r->log_ns[1] = isinf(slower) ? slower : fmax(r->log_ns[1], r->log_ns[0] + 8000);
    if (e->kind == TRACE_alloc) {
        r->log_ns[1] += LEAST_NS(e->bytes) * slower;
        dry_order(r->player.dry, e->queue, r->queue);
        r->queue = e->queue;
    }
}

static int play(struct replay *r, const struct trace_event *e)
{
    const unsigned queue = e->other > e->queue ? e->other : e->queue;
    if (queue >= ALLOCATOR_QUEUES_MAX)
        return error_set(r->error, ERR_UNSUPPORTED,
                         "%s: event %" PRIu64 " is on queue %u: strategies know %d queues",
                         trace_reader_path(r->reader), r->event, queue + 1, ALLOCATOR_QUEUES_MAX);
    if (r->live)
        live_call(r->live, e);
    else if (r->timed)
        player_gap(&r->player, e);
    if (r->waits && e->time_ns && (e->kind == TRACE_alloc || e->kind == TRACE_free))
        infer_waits(r, e);
    r->own_ns = own_ns(r, e);
    r->ended_ns = e->ended_ns > r->ended_ns ? e->ended_ns : r->ended_ns;
    const int code = play_event(r, e);
    if (r->live)
        live_return(r->live, e);
    return code;
}

static int check_sound(struct replay *r)
{
    unsigned broken = 0;
    for (unsigned i = 0; i < r->part_count && !r->ended; i++)
        broken += allocator_check(&r->parts[i]->allocator);
    return broken ? fail(r, CASE_wrong,
                         "%s has %u broken invariants, or a wrong reserved(), at event %" PRIu64,
                         r->options->strategy->name, broken, r->event)
                  : 0;
}

static int play_all(struct replay *r)
{
    struct trace_event event;
    int more = trace_rewind(r->reader, r->error);
    if (!more && r->log_ns)
        more = find_waits(r);
    if (!more)
        more = open_parts(r);
    if (!more && r->live)
        more = live_begin(r->live, r->error);
    else if (!r->live)
        dry_begin(r->player.dry);
    while (!more && !r->ended && (more = trace_next(r->reader, &event, r->error)) > 0) {
        r->event++;
        r->moved = NULL;
        r->peak_before = r->held.peak_reserved_bytes;
        if (r->is_before_start && event.kind != TRACE_start) {
            r->kept = must_grow(r->kept, r->kept_count, &r->kept_capacity, sizeof *r->kept);
            r->kept[r->kept_count++] = event;
            if (event.kind == TRACE_held && event.slot > r->most_kept_slot)
                r->most_kept_slot = event.slot;
            more = 0;
            continue;
        }
        more = play(r, &event);
        if (!more && !r->ended && r->listener)
            tell(r, &event);
        if (!more && r->options->check && r->event % CHECK_EVERY == 0)
            more = check_sound(r);
        if (r->event % STOP_EVERY == 0 && r->options->stop && *r->options->stop)
            fail(r, CASE_skipped, "interrupted");
    }
    if (r->live) {
        const int ended = live_end(r->live, &r->wall_ns, more ? NULL : r->error);
        more = more ? more : ended;
    }
    return more ? more : check_sound(r);
}

/* ---- the whole ---- */

static void forget(void *context, uint64_t memory, uint64_t offset, uint64_t bytes)
{
    owners_forget(context, memory, offset, bytes);
}

static void hear_source(void *context, enum source_event event, uint64_t memory, uint64_t offset,
                        uint64_t bytes)
{
    struct replay *r = context;
    if (r->tracks_owners && (event == SOURCE_GIVEN_BACK || event == SOURCE_UNMAPPED))
        owners_forget(&r->owners, memory, offset, bytes);
    else if (r->tracks_owners && (event == SOURCE_HANDED_OVER || r->options->explain))
        owners_got(&r->owners, memory, offset, bytes);
    if (r->listener && r->listener->source && event != SOURCE_HANDED_OVER)
        r->listener->source->event(r->listener->source->context, event, memory, offset, bytes);
}

static void count(struct replay *r)
{
    struct source_counts driver = r->gone;
    driver.reserved_bytes = r->held.reserved_bytes;
    driver.peak_reserved_bytes = r->held.peak_reserved_bytes;
    for (unsigned i = 0; i < r->part_count; i++)
        source_counts_add(&driver, &r->parts[i]->source.counts);
    const struct space_snapshot begin = {0}, end = {r->blocks, driver};
    const struct memory_counts counts = spaces_between(&begin, &end);
    struct exact_counts *out = &r->outcome->counts;
    memset(out, 0xff, sizeof *out); /* unknown */
#define X(name, unit, kind, better, help) out->name = counts.name;
    PEAK_LIST(X)
    MEMORY_CALL_LIST(X)
#undef X
    /* Without uses, a block counts as needed until it is freed. */
    const struct trace_totals *totals = trace_reader_totals(r->reader);
    out->live_lower_bound_bytes = totals->peak_bytes;
    memset(&r->outcome->sample, 0xff, sizeof r->outcome->sample);
    if (r->live) {
        r->outcome->sample.wall_ns = r->wall_ns;
        r->outcome->sample.driver_alloc_ns = driver.alloc_ns;
        r->outcome->sample.driver_touch_ns = driver.touch_ns;
        r->outcome->sample.driver_free_ns = driver.free_ns;
    }
    if (trace_reader_info(r->reader)->knows[TRACE_KNOWS_uses])
        out->launch_count = totals->by_kind[TRACE_launch];
    r->outcome->digest = totals->digest;
    r->outcome->least_refused_bytes = r->held.least_refused_bytes;
    r->outcome->most_served_bytes = r->held.most_served_bytes;
    r->outcome->reads_capacity = r->held.capacity_is_read;
}

static void take_times(struct replay *r)
{
    struct case_model *m = &r->outcome->model;
    struct error why = {0};
    if (r->live || !r->options->device.atlas)
        return;
    if (dry_times(r->player.dry, m, &why)) {
        memset(m, 0xff, sizeof *m);
        m->asked = true;
        snprintf(m->why_not, sizeof m->why_not, "%.255s", why.text);
        return;
    }
    m->allocator_ns = UNKNOWN_NS;
    /* The gaps of a log hold the calls of the recorded allocator, and no log of blocks alone says
     * when the device worked. */
    const struct trace_totals *t = trace_reader_totals(r->reader);
    m->why_not[0] = 0;
    if (!trace_reader_info(r->reader)->knows[TRACE_KNOWS_device_times])
        snprintf(m->why_not, sizeof m->why_not,
                 "the trace does not say how long the device worked (gamut record --times)");
    else if (r->untimed)
        snprintf(m->why_not, sizeof m->why_not,
                 "%" PRIu64 " of %" PRIu64 " kernels, copies and fills have no device time",
                 r->untimed,
                 t->by_kind[TRACE_launch] + t->by_kind[TRACE_copy] + t->by_kind[TRACE_fill]);
    if (*m->why_not)
        m->predicted_ns = m->device_ns = m->waiting_ns = UNKNOWN_NS;
}

static void close_parts(struct replay *r)
{
    /* Many strategies keep no list of their blocks: what the log leaves alive would stay on the
     * device. */
    struct error ignored, *const told = r->error;
    r->error = &ignored;
    for (unsigned slot = 0; r->live && slot < r->slot_capacity; slot++)
        give_block(r, slot);
    r->error = told;
    for (unsigned i = 0; i < r->part_count; i++) {
        struct part *part = r->parts[i];
        if (part->keeps && !part->has_ended)
            private_pool_close(&part->kept, &part->allocator, NULL);
        else
            allocator_close(&part->allocator);
        free(part);
    }
}

bool replay_frees_at_done(const struct trace_reader *reader, enum replay_free_at free_at)
{
    const struct trace_info *info = trace_reader_info(reader);
    return info->knows[TRACE_KNOWS_done] &&
           (free_at == FREE_AT_DONE || !info->knows[TRACE_KNOWS_frees]);
}

/* Is the strategy that of the log, so that it can start with its memory? Other settings too: what
 * they had held before is not known, and starts without it are further from what they hold then. */
static bool can_start(struct trace_reader *reader, const struct replay_options *options)
{
    const struct trace_info *info = trace_reader_info(reader);
    const struct allocator_ops *recorded;
    struct trace_totals totals;
    struct option_values values;
    struct error ignored;
    if (options->live || options->places_anew || !options->strategy->adopt || !*info->allocator ||
        !trace_read_totals(reader, &totals) || totals.by_kind[TRACE_start] != 1)
        return false;
    struct text spec = {0}, notes = {0};
    pytorch_recorded(info->allocator, &spec, &notes);
    const bool can =
        !allocator_parse(spec.data, &recorded, &values, &ignored) && recorded == options->strategy;
    text_free(&spec);
    text_free(&notes);
    return can;
}

bool replay_is_of_pytorch(const struct trace_info *info)
{
    return strncmp(info->allocator, "caching", 7) == 0 || strncmp(info->allocator, "vmm", 3) == 0;
}

static int replay_once(struct trace_reader *reader, const struct replay_options *options,
                       const struct replay_listener *listener, const struct ages *ages,
                       bool *adopts, struct replay_outcome *outcome, struct error *error)
{
    const struct trace_info *info = trace_reader_info(reader);
    *outcome = (struct replay_outcome){.status = CASE_ok, .adopted = *adopts};
    if (!info->knows[TRACE_KNOWS_done] && !info->knows[TRACE_KNOWS_frees])
        return error_set(error, ERR_UNSUPPORTED, "%s: the trace has no frees",
                         trace_reader_path(reader));
    struct dry_device device = options->device;
    struct trace_totals totals = {.queues = 2}; /* if they are not known */
    trace_read_totals(reader, &totals);
    const bool is_pytorch = replay_is_of_pytorch(info);
    double log_ns[] = {0, INFINITY};
    if (info->knows[TRACE_KNOWS_times] &&
        (is_pytorch || (totals.by_kind[TRACE_wait] && !device.atlas)))
        device.log_ns = log_ns;
    if (info->alignment_bytes > device.alignment)
        device.alignment = info->alignment_bytes;
    struct replay r = {
        .options = options,
        .listener = listener,
        .reader = reader,
        .outcome = outcome,
        .error = error,
        .live = options->live,
        .player = {.dry = options->live ? NULL : dry_open(&device)},
        .alignment = !options->live && info->alignment_bytes ? info->alignment_bytes : 1,
        .free_at_done = replay_frees_at_done(reader, options->free_at),
        .timed = info->knows[TRACE_KNOWS_times] && options->device.atlas,
        .knows_ends = !options->live && options->device.atlas && info->knows[TRACE_KNOWS_ends],
        .log_ns = is_pytorch && options->strategy->opens_pool && !options->live ? log_ns : NULL,
        .is_before_start = *adopts,
        .asks_refused = !options->live && !options->strategy->serves_plan &&
                        (options->must_serve_refused || device.capacity_bytes),
        .ages = ages};
    const bool is_raw = r.knows_ends && strcmp(info->allocator, "raw") == 0;
    r.knows_calls = is_raw && strcmp(options->strategy->name, "raw") == 0;
    r.frees_wait = is_raw && !r.knows_calls && strstr(info->source, "CUDA");
    owners_open(&r.owners);
    r.ears = (struct source_listener){&r, hear_source};
    /* Only a log of PyTorch says of the blocks that are not done that other queues use them. */
    if (is_pytorch)
        r.pending = (struct source_pending){&r, settle};
    /* On a device the checks would be in its times. */
    r.tracks_owners = options->check || options->explain || (!r.live && totals.queues > 1);
    if (!r.live)
        dry_on_release(r.player.dry, r.tracks_owners ? forget : NULL, &r.owners);
    int code = play_all(&r);
    if (!code) {
        count(&r);
        take_times(&r);
    }
    close_parts(&r);
    if (!r.live)
        dry_close(r.player.dry);
    owners_close(&r.owners);
    free(r.slots);
    free(r.uses);
    free(r.kept);
    free(r.waits);
    *adopts = r.cannot_adopt;
    return code;
}

int replay_trace(struct trace_reader *reader, const struct replay_options *options,
                 const struct replay_listener *listener, struct replay_outcome *outcome,
                 struct error *error)
{
    struct ages own = {0}, *ages = options->ages ? options->ages : &own;
    bool adopts = can_start(reader, options);
    int code = 0;
    if (adopts && !ages->memories &&
        strstr(trace_reader_info(reader)->allocator, "garbage_collection_threshold"))
        code = ages_find(reader, ages, error);
    THEN(code, replay_once(reader, options, listener, ages, &adopts, outcome, error));
    if (!code && adopts) { /* it could not */
        adopts = false;
        code = replay_once(reader, options, listener, ages, &adopts, outcome, error);
    }
    ages_free(&own);
    return code;
}

void replay_add_refused(struct text *out, const struct replay_refused *r)
{
    char bytes[32];
    const uint64_t all = r->count, some = r->served_count;
    if (!all)
        return;
    text_bytes(bytes, r->most_bytes);
    if (all == 1)
        text_add(out, "the request of %s that was refused", bytes);
    else if (some && some < all)
        text_add(out, "%" PRIu64 " of the %" PRIu64 " requests that were refused, of up to %s,",
                 some, all, bytes);
    else
        text_add(out, "the %" PRIu64 " requests that were refused, of up to %s,", all, bytes);
    text_add(out, " %s %s", all == 1 || some == 1 ? "is" : "are", some ? "served" : "refused too");
}

struct dry_device replay_device(uint64_t capacity_bytes, const struct atlas *atlas)
{
    static const uint64_t gpu_bytes = UINT64_C(80) << 30, chunk_bytes = UINT64_C(2) << 20;
    return (struct dry_device){.name = "the dry device",
                               .atlas = atlas,
                               .page_bytes = atlas && strncmp(atlas->device, "cuda", 4) == 0
                                                 ? atlas_step_bytes(atlas, "raw", "alloc")
                                                 : 0,
                               .can_split = true,
                               .has_pool = true,
                               .vm_granularity_bytes = chunk_bytes,
                               .has_addresses = true,
                               .memory_bytes = capacity_bytes ? capacity_bytes : gpu_bytes,
                               .alignment = 512,
                               .capacity_bytes = capacity_bytes};
}
