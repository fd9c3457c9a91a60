/* gamut's own raw recordings (trace/raw.h): binary, written by a recorder inside an application.
 *
 * The records of all threads are brought into the order of their stamps, and handles become blocks:
 * each block counts its references, and those of the views of its parts. A kernel's arguments are
 * those that were set last; an argument that is a live block's handle is a use.
 *
 * What a recording does not tell: how a kernel uses a block (it counts as read and written), and,
 * but for CUDA's allocations in the order of a stream, the queue that a block belongs to. It gets
 * the one to which its thread gave its last command, as a live server would have to guess too.
 *
 * An event of OpenCL stands for the commands that its queue had when it was made. Commands that
 * wait for an event of the application's own (clCreateUserEvent) are counted as not seen.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/driver_memory.h"
#include "base/slab.h"
#include "base/sort.h"
#include "base/treap.h"
#include "trace/import.h"
#include "trace/import/raw_records.h"

enum {
    CLASS_DEVICE = 100,
    CLASS_SITE,
    ARGUMENTS_MOST = 4096,
};

/* An object to which the application has a handle. */
struct object {
    struct treap_node node;  /* by handle */
    struct treap_node place; /* a block with an address: by its last byte */
    uint64_t last;           /* that byte; 0: the handle is no address */
    bool is_pending;         /* its handle may be another's already */
    uint64_t handle;
    unsigned class; /* enum raw_class, CLASS_DEVICE or CLASS_SITE */
    uint64_t references;
    struct device *device;
    union {
        struct {                  /* a block, or a part of one */
            struct object *whole; /* itself, or the block that it is a part of */
            uint64_t key;
            uint64_t owners; /* a whole block: live parts, and 1 while its own handle lives */
            uint64_t views;  /* a whole block: objects that are parts of it */
            bool gone_follows, has_ended;
            unsigned freed_on; /* number of the queue; 0: its own */
        } block;
        struct {
            unsigned number; /* in the trace, from 1 on; 0: no event has named the queue */
            bool out_of_order;
            uint64_t commands; /* commands that it was given */
        } queue;
        struct {
            struct object *queue; /* NULL: the application completes the event itself */
            uint64_t commands;    /* commands that the queue had then */
            uint64_t begin_ns;    /* begin of the call that gave its command */
        } event;
        struct {
            unsigned count, capacity;
            uint64_t *arguments;
        } kernel;
    } is;
    char *name; /* name of a kernel or a site; owned */
};

/* A device of the application; it has a trace. */
struct device {
    char name[128];
    uint64_t bytes, alignment;
    struct import_stream *stream;
    unsigned queue_count;
    bool has_addresses; /* handles of its blocks are addresses: CUDA */
    struct device *next;
};

struct raw_import {
    struct import *log;
    struct raw_records records;
    const struct raw_record *record; /* the current one */
    const uint64_t *words;
    unsigned thread;
    uint64_t now_ns;
    struct treap objects; /* by handle */
    struct treap places;  /* blocks with addresses */
    struct pending { /* blocks freed in the order of a queue: done when the host waited for it */
        struct object *block, *queue;
        uint64_t commands;
    } * pending;
    unsigned pending_count, pending_capacity;
    struct making { /* the event of a command whose call has not returned */
        uint64_t ticks, handle, commands;
        struct object *queue;
    } * making;
    unsigned making_count, making_capacity;
    struct slab slab;
    struct device *devices;
    uint64_t next_key;
    unsigned kernel_count;
    struct object **queues; /* all that were made */
    unsigned queue_count, queue_capacity;
    struct object **last_queues; /* by thread: the queue of its last command */
    unsigned last_queue_capacity;
    struct trace_use *uses;
    unsigned use_count, use_capacity;
    /* By number of the command, from the first pass: the device's time, and its end; 0: unknown. */
    struct ran {
        uint64_t ns, ended_ns;
    } * ran;
    unsigned ran_capacity;
    bool is_untimed; /* a recording with times in which no command has one */
    uint64_t commands;
    uint64_t unknown[RAW_KINDS]; /* records by kind that name an object that was never made */
    uint64_t own_events;         /* waits for an event that the application completes */
    uint64_t lost_times; /* commands without the device's time, though times were recorded */
    struct phase {
        uint64_t object; /* object of its begin */
        unsigned thread;
        char *name; /* owned */
    } * phases;     /* phases that have not ended, in the order of their begins */
    unsigned phase_count, phase_capacity;
};

/* ---- objects ---- */

static int by_handle(const struct treap_node *left, const struct treap_node *right)
{
    const struct object *a = (const struct object *)left, *b = (const struct object *)right;
    return a->handle < b->handle ? -1 : a->handle > b->handle;
}

static struct object *at_place(const struct treap_node *node)
{
    return node ? (struct object *)((char *)node - offsetof(struct object, place)) : NULL;
}

static int by_place(const struct treap_node *left, const struct treap_node *right)
{
    const struct object *a = at_place(left), *b = at_place(right);
    return a->last < b->last ? -1 : a->last > b->last;
}

/* The block that has the byte at an address, or that comes next. */
static struct object *block_from(const struct raw_import *r, uint64_t address)
{
    const struct object key = {.last = address};
    return at_place(treap_from(&r->places, &key.place));
}

static struct object *find(const struct raw_import *r, uint64_t handle)
{
    const struct object key = {.handle = handle};
    struct object *o = (struct object *)treap_from(&r->objects, &key.node);
    return o && o->handle == handle ? o : NULL;
}

/* An object of this class; NULL, and counted, if the application never made it. */
static struct object *known(struct raw_import *r, uint64_t handle, unsigned class)
{
    struct object *o = find(r, handle);
    if (o && o->class == class)
        return o;
    r->unknown[r->record->kind]++;
    return NULL;
}

static void drop(struct raw_import *r, struct object *o)
{
    struct object *whole = o->class == RAW_CLASS_BLOCK ? o->is.block.whole : NULL;
    if (!o->is_pending)
        treap_remove(&r->objects, &o->node);
    if (o->last)
        treap_remove(&r->places, &o->place);
    if (o->class == RAW_CLASS_KERNEL)
        free(o->is.kernel.arguments);
    free(o->name);
    o->name = NULL;
    /* Events and threads may still know a queue, and parts their block; another object
     * has its handle. */
    if (whole == o)
        o->is.block.has_ended = true;
    if (o->class == RAW_CLASS_QUEUE || (whole == o && o->is.block.views))
        o->handle = 0;
    else
        slab_give(&r->slab, o);
    if (whole && whole != o && --whole->is.block.views == 0 && whole->is.block.has_ended)
        slab_give(&r->slab, whole);
}

static void end_block(struct raw_import *r, struct object *block, bool is_gone);

static void lose_owner(struct raw_import *r, struct object *whole)
{
    if (whole->is.block.owners && --whole->is.block.owners == 0) {
        whole->is.block.owners = 1; /* end_block frees what is owned */
        end_block(r, whole, false);
    }
}

/* A view of a part of a block is given up. */
static void drop_part(struct raw_import *r, struct object *part)
{
    lose_owner(r, part->is.block.whole);
    drop(r, part);
}

/* A new object. One with the same handle has ended without a release that was seen. */
static struct object *add(struct raw_import *r, uint64_t handle, unsigned class)
{
    struct object *o = find(r, handle);
    if (o && o->class == RAW_CLASS_BLOCK && o->is.block.whole == o) {
        if (o->references)
            r->unknown[r->record->kind]++;
        end_block(r, o, true);
    } else if (o && o->class == RAW_CLASS_BLOCK) {
        drop_part(r, o);
    } else if (o) {
        drop(r, o);
    }
    o = slab_take(&r->slab);
    *o = (struct object){.handle = handle, .class = class, .references = 1};
    treap_insert(&r->objects, &o->node);
    return o;
}

/* The text that begins with a word of the record; the caller frees it. */
static char *text_of(const struct raw_import *r, unsigned word)
{
    const size_t length = word < r->record->words ? 8u * (r->record->words - word) : 0;
    return strndup((const char *)(r->words + word), length);
}

/* ---- devices and their traces ---- */

static int open_stream(struct raw_import *r, struct device *device, struct error *error)
{
    const struct raw_head *head = r->records.head;
    struct trace_info info = {
        .time_unit_ns = 1, .capacity_bytes = device->bytes, .alignment_bytes = device->alignment};
    snprintf(info.source, sizeof info.source, "gamut record: %.15s, %.15s", head->api, head->via);
    snprintf(info.application, sizeof info.application, "%.127s", head->application);
    snprintf(info.device, sizeof info.device, "%s", device->name);
    snprintf(info.allocator, sizeof info.allocator, "raw"); /* these are calls to the driver */
    trace_info_begin(&info, head->began_realtime_ns / 1000);
    info.knows[TRACE_KNOWS_times] = info.knows[TRACE_KNOWS_frees] = info.knows[TRACE_KNOWS_done] =
        info.knows[TRACE_KNOWS_queues] = info.knows[TRACE_KNOWS_threads] =
            info.knows[TRACE_KNOWS_uses] = true;
    info.knows[TRACE_KNOWS_addresses] = device->has_addresses;
    info.knows[TRACE_KNOWS_pools] = strcmp(head->via, "serve") == 0;
    info.knows[TRACE_KNOWS_sites] = !head->anonymous && !device->has_addresses;
    info.knows[TRACE_KNOWS_device_times] = info.knows[TRACE_KNOWS_ends] =
        head->timed && !r->is_untimed;
    /* Devices of one name have a trace each. */
    unsigned same = 1;
    for (const struct device *d = device->next; d; d = d->next)
        same += strcmp(d->name, device->name) == 0;
    char name[sizeof device->name + 16];
    snprintf(name, sizeof name, same > 1 ? "%s %u" : "%s", device->name, same);
    return import_stream(r->log, name, &info, &device->stream, error);
}

static void put_phase(struct raw_import *r, const struct device *device, const char *name,
                      enum trace_kind kind);

static int put_device(struct raw_import *r, struct error *error)
{
    if (find(r, r->record->object))
        return 0;
    struct device *device = must_alloc(sizeof *device);
    char *name = text_of(r, 1);
    snprintf(device->name, sizeof device->name, "%s", name);
    free(name);
    device->bytes = r->words[0];
    if (r->record->words > 1 + RAW_DEVICE_NAME_WORDS)
        device->alignment = trace_can_align(r->words[1 + RAW_DEVICE_NAME_WORDS])
                                ? r->words[1 + RAW_DEVICE_NAME_WORDS]
                                : 0;
    device->has_addresses = strcmp(r->records.head->api, "CUDA") == 0;
    device->next = r->devices;
    r->devices = device;
    add(r, r->record->object, CLASS_DEVICE)->device = device;
    TRY(open_stream(r, device, error));
    for (unsigned i = 0; i < r->phase_count; i++)
        put_phase(r, device, r->phases[i].name, TRACE_begin);
    return 0;
}

static struct device *device_of(struct raw_import *r, uint64_t context)
{
    const struct object *o = known(r, context, RAW_CLASS_CONTEXT);
    return o ? o->device : NULL;
}

static void put_context(struct raw_import *r)
{
    const struct object *device = known(r, r->words[0], CLASS_DEVICE);
    if (device)
        add(r, r->record->object, RAW_CLASS_CONTEXT)->device = device->device;
}

static void put_queue(struct raw_import *r)
{
    struct device *device = device_of(r, r->words[0]);
    const struct object *old = find(r, r->record->object);
    if (!device ||
        (r->words[1] & RAW_QUEUE_SEEN && old && old->class == RAW_CLASS_QUEUE && old->references))
        return;
    struct object *queue = add(r, r->record->object, RAW_CLASS_QUEUE);
    queue->device = device;
    queue->is.queue.out_of_order = r->words[1] & RAW_QUEUE_OUT_OF_ORDER;
    r->queues = must_grow(r->queues, r->queue_count, &r->queue_capacity, sizeof *r->queues);
    r->queues[r->queue_count++] = queue;
}

/* The queue's index in the trace. PyTorch and JAX make dozens of queues that they never use: the
 * trace has only those that an event names. */
static unsigned index_of(struct object *queue)
{
    struct device *device = queue->device;
    char name[64];
    if (!queue->is.queue.number) {
        snprintf(name, sizeof name, "%u%s", device->queue_count++,
                 queue->is.queue.out_of_order ? " (out of order)" : "");
        queue->is.queue.number = trace_queue(import_writer(device->stream), name) + 1;
    }
    return queue->is.queue.number - 1;
}

/* ---- events ---- */

static struct trace_event event_of(const struct raw_import *r, const struct device *device,
                                   enum trace_kind kind)
{
    char thread[32];
    snprintf(thread, sizeof thread, "%" PRIu32, r->records.threads[r->thread].number);
    return (struct trace_event){.kind = kind,
                                .time_ns = r->now_ns,
                                .thread = trace_thread(import_writer(device->stream), thread),
                                .call_ns = raw_records_span(&r->records, r->record->duration)};
}

/* ---- blocks ---- */

/* The queue that a new block belongs to: the one that it was asked for on, else that of the
 * thread's last command. */
static unsigned queue_of_block(const struct raw_import *r, const struct device *device)
{
    struct object *queue = find(r, r->words[3]);
    if (!queue || queue->class != RAW_CLASS_QUEUE)
        queue = r->thread < r->last_queue_capacity ? r->last_queues[r->thread] : NULL;
    return queue && queue->device == device ? index_of(queue)
                                            : trace_queue(import_writer(device->stream), "0");
}

static void put_block(struct raw_import *r)
{
    struct device *device = device_of(r, r->words[0]);
    if (!device)
        return;
    const bool refused = r->record->kind == RAW_refused;
    const uint64_t flags = r->words[2], memory = flags & RAW_BLOCK_MEMORY;
    struct trace_event e = event_of(r, device, refused ? TRACE_refused : TRACE_alloc);
    e.bytes = r->words[1];
    e.queue = queue_of_block(r, device);
    const struct object *site = find(r, r->words[3]);
    if (site && site->class == CLASS_SITE && *site->name)
        e.name = trace_name(import_writer(device->stream), site->name);
    e.memory = memory <= MEMORY_MANAGED ? (unsigned)memory : MEMORY_DEVICE;
    if (flags & RAW_BLOCK_ALIGNMENT)
        e.alignment = UINT64_C(1) << ((flags & RAW_BLOCK_ALIGNMENT) >> RAW_BLOCK_ALIGNMENT_SHIFT);
    if (refused) {
        import_event(device->stream, &e);
        return;
    }
    if (flags & RAW_BLOCK_ADDRESS)
        e.address = r->record->object;
    if (r->record->words > 4)
        e.pool = (unsigned)r->words[4];
    struct object *block = add(r, r->record->object, RAW_CLASS_BLOCK);
    block->device = device;
    block->is.block.whole = block;
    block->is.block.key = ++r->next_key;
    block->is.block.owners = 1;
    block->is.block.gone_follows = flags & RAW_BLOCK_GONE_FOLLOWS;
    import_alloc(device->stream, block->is.block.key, &e);
    if (!(flags & RAW_BLOCK_ADDRESS) || !e.address || !e.bytes || e.bytes > UINT64_MAX - e.address)
        return;
    /* Blocks do not overlap: one that is in the way was freed unseen. */
    for (struct object *old;
         (old = block_from(r, e.address)) != NULL && old->handle < e.address + e.bytes;) {
        r->unknown[r->record->kind]++;
        end_block(r, old, true);
    }
    block->last = e.address + e.bytes - 1;
    treap_insert(&r->places, &block->place);
}

static void put_part(struct raw_import *r)
{
    const struct object *of = known(r, r->words[0], RAW_CLASS_BLOCK);
    if (!of || !of->is.block.whole->is.block.owners)
        return;
    struct object *whole = of->is.block.whole;
    whole->is.block.views++;
    struct object *part = add(r, r->record->object, RAW_CLASS_BLOCK); /* may end the whole */
    part->device = whole->device;
    part->is.block.whole = whole;
    whole->is.block.owners += !whole->is.block.has_ended;
}

/* The last handle of a block ended, or the driver says that no command uses it any more. */
static void end_block(struct raw_import *r, struct object *block, bool is_gone)
{
    struct trace_event e = event_of(r, block->device, TRACE_free);
    const bool was_freed = block->is.block.owners == 0;
    const struct import_block *live = import_find(block->device->stream, block->is.block.key);
    e.queue = block->is.block.freed_on ? block->is.block.freed_on - 1 : live ? live->queue : 0;
    block->is.block.owners = 0;
    block->references = 0;
    if (!was_freed)
        import_free(block->device->stream, block->is.block.key, &e);
    if (!is_gone && block->is.block.gone_follows)
        return;
    e.kind = TRACE_done;
    e.call_ns = 0;
    import_free(block->device->stream, block->is.block.key, &e);
    drop(r, block);
}

/* The object that a retain or release names. Of objects that were never made only blocks are
 * missed. */
static struct object *held(struct raw_import *r)
{
    const uint64_t class = r->words[0] & RAW_RELEASE_CLASS;
    struct object *o = find(r, r->record->object);
    if (o && o->class == class)
        return o;
    r->unknown[r->record->kind] += class == RAW_CLASS_BLOCK;
    return NULL;
}

static void retain(struct raw_import *r)
{
    struct object *o = held(r);
    if (!o || o->references++ || o->class != RAW_CLASS_BLOCK)
        return;
    /* The driver handed out the block of a part. */
    o->is.block.owners += o->is.block.whole == o && o->is.block.owners;
}

/* A context or a queue without references may still be handed out by the driver, as that of an
 * event or of a block: it stays until its handle is another's. */
static void release(struct raw_import *r)
{
    const uint64_t class = r->words[0] & RAW_RELEASE_CLASS;
    struct object *o = held(r);
    if (!o || !o->references || --o->references || class == RAW_CLASS_CONTEXT ||
        class == RAW_CLASS_QUEUE)
        return;
    if (class != RAW_CLASS_BLOCK) {
        drop(r, o);
        return;
    }
    if (o->is.block.whole == o)
        lose_owner(r, o);
    else
        drop_part(r, o);
}

/* A block whose memory the queue may use again at once; the host knows when it has waited. */
static void free_in_order(struct raw_import *r, struct object *block, struct object *queue)
{
    block->is.block.gone_follows = true;
    block->is.block.freed_on = index_of(queue) + 1;
    end_block(r, block, false);
    treap_remove(&r->places, &block->place);
    block->last = 0;
    treap_remove(&r->objects, &block->node);
    block->is_pending = true;
    r->pending = must_grow(r->pending, r->pending_count, &r->pending_capacity, sizeof *r->pending);
    r->pending[r->pending_count++] = (struct pending){block, queue, queue->is.queue.commands};
}

/* The host waited for the first `commands` of a queue. */
static void end_pending(struct raw_import *r, const struct object *queue, uint64_t commands)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < r->pending_count; i++) {
        const struct pending p = r->pending[i];
        if (p.queue != queue || p.commands > commands)
            r->pending[kept++] = p;
        else
            end_block(r, p.block, true);
    }
    r->pending_count = kept;
}

static void put_free(struct raw_import *r)
{
    struct object *queue = r->words[0] ? known(r, r->words[0], RAW_CLASS_QUEUE) : NULL, *block;
    const uint64_t first = r->record->object, bytes = r->words[1];
    if (!bytes) {
        block = known(r, first, RAW_CLASS_BLOCK);
        if (block && queue && block->last && block->is.block.owners)
            free_in_order(r, block, queue);
        else if (block && block->is.block.whole == block)
            end_block(r, block, !block->is.block.gone_follows);
        return;
    }
    while ((block = block_from(r, first)) != NULL && block->handle >= first &&
           block->handle - first < bytes)
        end_block(r, block, true);
}

/* A trim, or the begin or end of a pool. */
static void put_of_context(struct raw_import *r)
{
    static const enum trace_kind kinds[RAW_KINDS] = {[RAW_trim] = TRACE_trim,
                                                     [RAW_pool_begin] = TRACE_pool_begin,
                                                     [RAW_pool_end] = TRACE_pool_end};
    const struct device *device = device_of(r, r->record->object);
    if (!device)
        return;
    struct trace_event e = event_of(r, device, kinds[r->record->kind]);
    e.pool = e.kind == TRACE_trim ? 0 : (unsigned)r->words[0];
    import_event(device->stream, &e);
}

static void put_gone(struct raw_import *r)
{
    struct object *block = find(r, r->record->object);
    if (block && block->class == RAW_CLASS_BLOCK && block->is.block.whole == block)
        end_block(r, block, true);
}

static void put_release(struct raw_import *r)
{
    release(r);
    if (r->words[0] & RAW_RELEASE_GONE)
        put_gone(r);
}

static void put_site(struct raw_import *r)
{
    struct object *site = add(r, r->record->object, CLASS_SITE);
    free(site->name);
    site->name = text_of(r, 0);
}

static void put_own_event(struct raw_import *r)
{
    add(r, r->record->object, RAW_CLASS_EVENT);
}

/* ---- kernels ---- */

static void put_kernel(struct raw_import *r)
{
    const struct object *old = find(r, r->record->object);
    char *name = text_of(r, 0), number[32];
    if (old && old->class == RAW_CLASS_KERNEL && strcmp(r->records.head->api, "CUDA") == 0 &&
        (!*name || strcmp(name, old->name) == 0)) { /* another thread has met it */
        free(name);
        return;
    }
    /* Anonymous recordings tell kernels apart by number. */
    snprintf(number, sizeof number, "kernel %u", ++r->kernel_count);
    add(r, r->record->object, RAW_CLASS_KERNEL)->name = strdup(*name ? name : number);
    free(name);
}

static void put_clone(struct raw_import *r)
{
    const struct object *from = known(r, r->words[0], RAW_CLASS_KERNEL);
    if (!from || r->words[0] == r->record->object)
        return;
    const unsigned count = from->is.kernel.count;
    uint64_t *arguments = must_alloc((count + 1) * sizeof *arguments);
    if (count)
        memcpy(arguments, from->is.kernel.arguments, count * sizeof *arguments);
    char *name = strdup(from->name);
    struct object *kernel = add(r, r->record->object, RAW_CLASS_KERNEL);
    kernel->name = name;
    kernel->is.kernel.arguments = arguments;
    kernel->is.kernel.count = kernel->is.kernel.capacity = count;
}

static void put_argument(struct raw_import *r)
{
    struct object *o = known(r, r->record->object, RAW_CLASS_KERNEL);
    if (!o || r->words[0] >= ARGUMENTS_MOST)
        return;
    const unsigned index = (unsigned)r->words[0];
    o->is.kernel.arguments = must_reach(o->is.kernel.arguments, index, &o->is.kernel.capacity,
                                        sizeof *o->is.kernel.arguments);
    o->is.kernel.arguments[index] = r->words[1];
    if (index >= o->is.kernel.count)
        o->is.kernel.count = index + 1;
}

/* ---- commands ---- */

/* A handle that is a live block's is a use. `must`: the application named a block. */
static void add_use(struct raw_import *r, const struct device *device, uint64_t handle,
                    unsigned access, bool must)
{
    const struct object *o = handle ? find(r, handle) : NULL;
    const struct import_block *live = NULL;
    if (!o && device->has_addresses && (o = block_from(r, handle)) != NULL && o->handle > handle)
        o = NULL;
    if (o && o->class == RAW_CLASS_BLOCK && o->device == device)
        live = import_find(device->stream, o->is.block.whole->is.block.key);
    if (!live) {
        r->unknown[r->record->kind] += must;
        return;
    }
    for (unsigned i = 0; i < r->use_count; i++)
        if (r->uses[i].slot == live->slot) {
            r->uses[i].access |= access;
            return;
        }
    r->uses = must_grow(r->uses, r->use_count, &r->use_capacity, sizeof *r->uses);
    r->uses[r->use_count++] = (struct trace_use){live->slot, access};
}

/* The queue's later commands wait for an event. */
static void put_order(struct raw_import *r, struct object *queue, uint64_t handle)
{
    const struct object *event = known(r, handle, RAW_CLASS_EVENT);
    struct object *other = event ? event->is.event.queue : NULL;
    if (event && (!other || other->device != queue->device)) {
        r->own_events++;
        return;
    }
    if (!event || other == queue || !event->is.event.commands)
        return;
    struct trace_event e = event_of(r, queue->device, TRACE_order);
    e.call_ns = 0;
    e.queue = index_of(queue);
    e.other = index_of(other);
    e.behind = other->is.queue.commands - event->is.event.commands;
    import_event(queue->device->stream, &e);
}

static void put_wait(struct raw_import *r, struct object *queue, uint64_t behind, uint64_t call_ns)
{
    end_pending(r, queue, queue->is.queue.commands - behind);
    struct trace_event e = event_of(r, queue->device, TRACE_wait);
    e.queue = index_of(queue);
    e.behind = behind;
    e.call_ns = call_ns;
    import_event(queue->device->stream, &e);
}

enum { READS_AND_WRITES = TRACE_READS | TRACE_WRITES };

/* The commands in a trace, and how each uses its blocks. A copy writes its last one. */
static const struct {
    enum trace_kind kind;
    unsigned access; /* 0: as the flags of the record say */
} traced[RAW_KINDS] = {
    [RAW_launch] = {TRACE_launch, READS_AND_WRITES}, [RAW_copy] = {TRACE_copy, TRACE_READS},
    [RAW_fill] = {TRACE_fill, TRACE_WRITES},         [RAW_write] = {TRACE_write, TRACE_WRITES},
    [RAW_read] = {TRACE_read, TRACE_READS},          [RAW_map] = {TRACE_map, 0},
    [RAW_unmap] = {TRACE_unmap, READS_AND_WRITES},
};

/* The uses of a command; those of a launch of OpenCL are its kernel's arguments. */
static void add_uses(struct raw_import *r, const struct device *device, const struct object *kernel)
{
    const uint64_t *blocks = r->words + RAW_COMMAND_WORDS, count = r->words[RAW_COMMAND_BLOCKS];
    const uint64_t flags = r->words[RAW_COMMAND_FLAGS];
    r->use_count = 0;
    for (uint64_t i = 0; i < count; i++) {
        unsigned access = traced[r->record->kind].access;
        if (r->record->kind == RAW_copy && i + 1 == count)
            access = TRACE_WRITES;
        else if (!access)
            access = (flags & RAW_COMMAND_READS ? TRACE_READS : 0) |
                     (flags & RAW_COMMAND_WRITES ? TRACE_WRITES : 0);
        add_use(r, device, blocks[i], access, !device->has_addresses);
    }
    for (unsigned i = 0; kernel && i < kernel->is.kernel.count; i++)
        add_use(r, device, kernel->is.kernel.arguments[i], READS_AND_WRITES, false);
}

/* A copy between addresses of one of which no block is known is one from or to the host. */
static enum trace_kind kind_by_uses(const struct raw_import *r, enum trace_kind kind)
{
    if (kind != TRACE_copy || r->use_count != 1 || r->uses[0].access == READS_AND_WRITES)
        return kind;
    return r->uses[0].access == TRACE_READS ? TRACE_read : TRACE_write;
}

static void put_command(struct raw_import *r)
{
    struct object *queue = known(r, r->record->object, RAW_CLASS_QUEUE);
    if (!queue)
        return;
    const uint64_t *events = r->words + RAW_COMMAND_WORDS + r->words[RAW_COMMAND_BLOCKS];
    for (uint64_t i = 0; i < r->words[RAW_COMMAND_EVENTS]; i++)
        put_order(r, queue, events[i]);
    if (r->record->kind != RAW_marker) {
        const uint64_t handle = r->words[RAW_COMMAND_KERNEL];
        const struct object *kernel = handle ? known(r, handle, RAW_CLASS_KERNEL) : NULL;
        struct trace_event e = event_of(r, queue->device, traced[r->record->kind].kind);
        e.queue = index_of(queue);
        e.bytes = e.kind == TRACE_launch || e.kind == TRACE_unmap ? 0 : r->words[RAW_COMMAND_BYTES];
        e.name = kernel ? trace_name(import_writer(queue->device->stream), kernel->name) : 0;
        add_uses(r, queue->device, kernel);
        e.kind = kind_by_uses(r, e.kind);
        e.uses = r->uses;
        e.use_count = r->use_count;
        if (r->commands < r->ran_capacity) {
            e.device_ns = r->ran[r->commands].ns;
            e.ended_ns = r->ran[r->commands].ended_ns;
        }
        r->lost_times += r->records.head->timed && trace_lacks_time(&e);
        import_event(queue->device->stream, &e);
        queue->is.queue.commands++;
        if (r->words[RAW_COMMAND_FLAGS] & RAW_COMMAND_BLOCKING)
            put_wait(r, queue, 0, 0);
    }
    r->commands++;
    r->last_queues =
        must_reach(r->last_queues, r->thread, &r->last_queue_capacity, sizeof *r->last_queues);
    r->last_queues[r->thread] = queue;
    if (r->record->result && !(r->record->result & RAW_EVENT_CORRELATION)) {
        r->making = must_grow(r->making, r->making_count, &r->making_capacity, sizeof *r->making);
        r->making[r->making_count++] =
            (struct making){r->record->ticks + r->record->duration, r->record->result,
                            queue->is.queue.commands, queue};
    }
}

/* Calls that have returned at a time have made their events. */
static void make_events(struct raw_import *r, uint64_t ticks)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < r->making_count; i++) {
        const struct making m = r->making[i];
        if (m.ticks > ticks) {
            r->making[kept++] = m;
            continue;
        }
        struct object *event = add(r, m.handle, RAW_CLASS_EVENT);
        event->is.event.queue = m.queue;
        event->is.event.commands = m.commands;
    }
    r->making_count = kept;
}

static void put_host_wait(struct raw_import *r)
{
    uint64_t call_ns = raw_records_span(&r->records, r->record->duration);
    if (r->record->kind == RAW_finish) {
        const struct object *o = find(r, r->record->object);
        const struct device *device = o && o->class == RAW_CLASS_CONTEXT ? o->device : NULL;
        for (unsigned i = 0; i < r->queue_count; i++)
            if (r->queues[i] == o ||
                (device && r->queues[i]->references && r->queues[i]->is.queue.number &&
                 r->queues[i]->device == device)) {
                put_wait(r, r->queues[i], 0, call_ns);
                call_ns = 0;
            }
        return;
    }
    for (unsigned i = 0; i < r->record->words; i++) {
        const struct object *event = known(r, r->words[i], RAW_CLASS_EVENT);
        struct object *queue = event ? event->is.event.queue : NULL;
        if (!queue) {
            r->own_events += event != NULL;
            continue;
        }
        put_wait(r, queue, queue->is.queue.commands - event->is.event.commands, call_ns);
        call_ns = 0;
    }
}

/* ---- phases ---- */

/* A phase is the application's, so each device's trace has it; one without a name is of an
 * anonymous recording. */
static void put_phase(struct raw_import *r, const struct device *device, const char *name,
                      enum trace_kind kind)
{
    struct trace_writer *writer = import_writer(device->stream);
    struct trace_event e = event_of(r, device, kind);
    e.call_ns = 0;
    e.name = *name ? trace_name(writer, name) : 0;
    e.queue = trace_queue(writer, "0"); /* there may be no command */
    trace_writer_info(writer)->knows[TRACE_KNOWS_phases] = true;
    import_event(device->stream, &e);
}

static void put_phase_everywhere(struct raw_import *r, const char *name, enum trace_kind kind)
{
    for (const struct device *d = r->devices; d; d = d->next)
        put_phase(r, d, name, kind);
}

static void begin_phase(struct raw_import *r)
{
    char *name = text_of(r, 0);
    r->phases = must_grow(r->phases, r->phase_count, &r->phase_capacity, sizeof *r->phases);
    r->phases[r->phase_count++] = (struct phase){r->record->object, r->thread, name};
    put_phase_everywhere(r, name, TRACE_begin);
}

/* An end without a begin is of a phase that began before the recorder. */
static void end_phase(struct raw_import *r)
{
    const uint64_t object = r->record->object;
    unsigned at = r->phase_count;
    while (at > 0 && (r->phases[at - 1].object != object ||
                      (!(object & RAW_PHASE_RANGE) && r->phases[at - 1].thread != r->thread)))
        at--;
    if (at == 0)
        return;
    char *name = r->phases[at - 1].name;
    memmove(&r->phases[at - 1], &r->phases[at], (r->phase_count - at) * sizeof *r->phases);
    r->phase_count--;
    put_phase_everywhere(r, name, TRACE_end);
    free(name);
}

/* ---- what the recording lacks ---- */

static void add_unseen(json_t *unseen, uint64_t count, const char *format, const char *name)
{
    char text[160];
    snprintf(text, sizeof text, format, name);
    if (count)
        json_object_set_new(unseen, text, json_integer((json_int_t)(count & INT64_MAX)));
}

static void name_unseen(const struct raw_import *r)
{
    static const char *const kinds[RAW_KINDS] = {RAW_KIND_LIST(TEXT_NAME)};
    const struct raw_head *head = r->records.head;
    json_t *unseen = json_object();
    for (unsigned i = 0; i < RAW_UNSEEN_MOST && head->unseen[i].name[0]; i++) {
        char name[sizeof head->unseen[i].name + 1];
        snprintf(name, sizeof name, "%.*s", (int)sizeof head->unseen[i].name, head->unseen[i].name);
        add_unseen(unseen, head->unseen[i].count, "%s", name);
    }
    for (unsigned kind = 0; kind < RAW_KINDS; kind++)
        add_unseen(unseen, r->unknown[kind], "%s of an object that was never made", kinds[kind]);
    add_unseen(unseen, r->own_events, "waits for %s", "events that the application completes");
    add_unseen(unseen, r->lost_times, "device times of commands (%s)",
               "lost where the application ends by _exit or a signal: let it end by exit");
    add_unseen(unseen, head->lost_records, "records that %s", "could not be written");
    for (const struct device *d = r->devices; d && json_object_size(unseen); d = d->next)
        trace_writer_info(import_writer(d->stream))->unseen = json_incref(unseen);
    json_decref(unseen);
}

/* ---- the whole ---- */

/* Takes the records that are neither commands nor of a device. */
static const struct {
    unsigned least_words;
    void (*put)(struct raw_import *r); /* NULL: nothing */
} records[RAW_KINDS] = {
    [RAW_name] = {0, put_site},
    [RAW_device] = {1, NULL},
    [RAW_context] = {1, put_context},
    [RAW_queue] = {2, put_queue},
    [RAW_block] = {4, put_block},
    [RAW_refused] = {5, put_block},
    [RAW_part] = {4, put_part},
    [RAW_kernel] = {0, put_kernel},
    [RAW_clone] = {1, put_clone},
    [RAW_event] = {0, put_own_event},
    [RAW_retain] = {1, retain},
    [RAW_free] = {2, put_free},
    [RAW_release] = {1, put_release},
    [RAW_gone] = {0, put_gone},
    [RAW_argument] = {2, put_argument},
    [RAW_trim] = {0, put_of_context},
    [RAW_pool_begin] = {1, put_of_context},
    [RAW_pool_end] = {1, put_of_context},
    [RAW_finish] = {0, put_host_wait},
    [RAW_wait] = {0, put_host_wait},
    [RAW_begin] = {0, begin_phase},
    [RAW_end] = {0, end_phase},
    [RAW_ran] = {1, NULL},
};

static bool is_command(unsigned kind)
{
    return kind >= RAW_launch && kind <= RAW_marker;
}

static bool is_whole(const struct raw_record *record, const uint64_t *words)
{
    if (!is_command(record->kind))
        return record->words >= records[record->kind].least_words;
    return record->words >= RAW_COMMAND_WORDS && words[RAW_COMMAND_BLOCKS] <= record->words &&
           words[RAW_COMMAND_EVENTS] <= record->words &&
           RAW_COMMAND_WORDS + words[RAW_COMMAND_BLOCKS] + words[RAW_COMMAND_EVENTS] ==
               record->words;
}

/* Reads the next record: 1, 0 at the end, or ERR_PARSE. */
static int next_record(struct raw_import *r, struct error *error)
{
    const int more = raw_records_next(&r->records, &r->record, &r->thread, error);
    if (more <= 0)
        return more;
    r->words = (const uint64_t *)(r->record + 1);
    if (!is_whole(r->record, r->words))
        return import_error(r->log, error, "the record at byte %td is damaged",
                            (const unsigned char *)r->record - r->records.bytes);
    const uint64_t now_ns = raw_records_time(&r->records, r->record->ticks);
    if (now_ns > r->now_ns)
        r->now_ns = now_ns;
    make_events(r, r->record->ticks);
    return 1;
}

static void read_ran(struct raw_import *r, const struct object *event)
{
    const unsigned number = (unsigned)event->is.event.commands;
    const uint64_t begin_ns = event->is.event.begin_ns;
    const uint64_t to_end_ns = r->record->words > 1 ? smaller(r->words[1], INT64_MAX) : 0,
                   since_ns = r->record->words > 2 ? r->words[2] : 0;
    r->ran = must_reach(r->ran, number, &r->ran_capacity, sizeof *r->ran);
    r->ran[number].ns = smaller(r->words[0], UINT32_MAX);
    if (to_end_ns)
        r->ran[number].ended_ns = begin_ns + to_end_ns;
    else if (since_ns && since_ns < r->now_ns) /* two clocks: not before the call that gave it */
        r->ran[number].ended_ns =
            r->now_ns - since_ns > begin_ns ? r->now_ns - since_ns : begin_ns + 1;
}

/* Finds the device's times of each command: they are recorded after the command was given. */
static int read_device_times(struct raw_import *r, struct error *error)
{
    int more;
    uint64_t commands = 0, timed = 0;
    while ((more = next_record(r, error)) > 0) {
        struct object *event;
        if (is_command(r->record->kind)) {
            if (r->record->result) {
                struct object *made = add(r, r->record->result, RAW_CLASS_EVENT);
                made->is.event.commands = commands;
                made->is.event.begin_ns = r->now_ns;
            }
            commands++;
        } else if (r->record->kind == RAW_ran && (event = find(r, r->record->object)) != NULL &&
                   event->class == RAW_CLASS_EVENT && event->is.event.commands < INT32_MAX) {
            read_ran(r, event);
            drop(r, event);
            timed++;
        }
    }
    while (r->objects.root)
        drop(r, (struct object *)r->objects.root);
    raw_records_rewind(&r->records);
    r->now_ns = 0;
    r->is_untimed = commands && !timed;
    return more;
}

static int put_record(struct raw_import *r, struct error *error)
{
    if (r->record->kind == RAW_device)
        return put_device(r, error);
    if (is_command(r->record->kind))
        put_command(r);
    else if (records[r->record->kind].put)
        records[r->record->kind].put(r);
    return 0;
}

static int import_records(struct raw_import *r, struct error *error)
{
    TRY(raw_records_open(&r->records, import_path(r->log), error));
    if (r->records.head->timed)
        TRY(read_device_times(r, error));
    int more;
    while ((more = next_record(r, error)) > 0)
        TRY(put_record(r, error));
    name_unseen(r);
    return more;
}

int import_raw(struct import *log, struct error *error)
{
    struct raw_import r = {.log = log,
                           .objects.compare = by_handle,
                           .places.compare = by_place,
                           .slab.item_bytes = sizeof(struct object)};
    const int code = import_records(&r, error);
    while (r.objects.root)
        drop(&r, (struct object *)r.objects.root);
    for (struct device *d = r.devices, *next; d; d = next) {
        next = d->next;
        free(d);
    }
    raw_records_close(&r.records);
    slab_free(&r.slab);
    for (unsigned i = 0; i < r.phase_count; i++)
        free(r.phases[i].name);
    free(r.phases);
    free(r.queues);
    free(r.pending);
    free(r.making);
    free(r.last_queues);
    free(r.uses);
    free(r.ran);
    return code;
}
