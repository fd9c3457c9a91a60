#include "inside/server.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slab.h"
#include "run/execute/spaces.h"
#include "replay/owners.h"
#include "replay/private_pool.h"
#include "inside/block_table.h"

enum {
    GUARD_BYTES = 512, /* after each block, in the debug mode */
    GUARD_BYTE = 0xfd,
    NEW_BYTE = 0xcb, /* what a new block is filled with */
    OLD_BYTE = 0xdd, /* and a freed one */
    BUSY_MOST = 8, /* queues that are remembered as not done, in one pass over the waiting blocks */
};

/* A queue that used a block which is not its own; the mark is made when the block is freed. */
struct other {
    uint64_t queue, mark;
    bool is_marked, has_passed;
};

/* A block that the application has, or that waits for other queues. */
struct served {
    struct block_entry entry;  /* first: in server.blocks */
    struct served *next;       /* that waits */
    struct instance *instance; /* NULL: the driver itself served it */
    struct block block;
    const char *tag;
    uint64_t bytes; /* requested by the application */
    uint64_t asked; /* of the strategy: the same, and a guard in the debug mode */
    uint64_t queue;
    unsigned number; /* of the queue */
    bool has_guard;
    uint8_t *guard; /* NULL, or what is read of it, until its mark is passed */
    uint64_t guard_mark;
    unsigned other_count, other_capacity;
    struct other *others;
};

/* An instance of the strategy: the common one, or a private pool. */
struct instance {
    struct instance *next;
    struct serve_pool name;
    uint64_t capture; /* not 0: the pool has no name, and serves this capture */
    int64_t uses;     /* times entered, less the times released */
    bool is_released;
    bool is_captured; /* commands of a capture have used it: other queues do not */
    uint64_t live_count;
    struct source source;
    struct allocator allocator;
    unsigned number; /* in the recording; 0: the common one */
    struct private_pool pool;
};

/* A thread whose requests come from a pool. */
struct pool_user {
    pthread_t thread;
    struct serve_pool pool;
};

struct queue_place {
    uint64_t queue, live_count, last_used;
};

struct server {
    pthread_mutex_t lock;
    struct serve_driver driver;
    struct serve_options options;
    unsigned device; /* number of the device, in the recording */
    struct instance common;
    struct source direct; /* of what the driver itself serves */
    struct instance *pools;
    struct source_total held;
    struct allocator_counts counts;
    struct serve_counts serve;
    unsigned queue_count;
    struct queue_place queues[ALLOCATOR_QUEUES_MAX];
    uint64_t clock; /* requests, for last_used */
    struct block_table blocks;
    struct slab served;
    struct served *waiting, **waiting_end; /* in the order of their frees */
    unsigned captured_count;
    uint64_t captured[ALLOCATOR_QUEUES_MAX]; /* queues that were seen to be captured */
    unsigned user_count, user_capacity;
    struct pool_user *users;
    struct owners owners; /* in the debug mode */
    struct source_listener source_listener;
};

/* ---- faults ---- */

/* A strategy, or the application, did what no program survives. */
static _Noreturn void fault(const struct server *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static _Noreturn void fault(const struct server *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "gamut: serving %s under %s: ", s->driver.id, s->options.strategy->name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

static void check(const struct server *s, const struct instance *instance)
{
    const unsigned broken = s->options.debug ? allocator_check(&instance->allocator) : 0;
    if (broken)
        fault(s, "%u invariants of the strategy are broken", broken);
}

static void hear_source(void *context, enum source_event event, uint64_t memory, uint64_t offset,
                        uint64_t bytes)
{
    if (event != SOURCE_HELD && event != SOURCE_MAPPED)
        owners_forget(context, memory, offset, bytes);
}

/* Fills in the queue's order; false: it has none. What is captured would be filled at each launch
 * of the graph. */
static bool fill(struct server *s, const struct served *b, uint64_t offset, uint8_t byte,
                 uint64_t bytes)
{
    struct error error;
    const int code = s->driver.fill(s->driver.context, b->queue, block_memory(&b->block),
                                    block_offset(&b->block) + offset, byte, bytes, &error);
    if (code && code != ERR_UNSUPPORTED)
        fault(s, "a block could not be filled: %s", error.text);
    return !code;
}

static void begin_debug(struct server *s, struct served *b)
{
    const char *wrong = owners_take(&s->owners, &b->block, b->number);
    if (wrong)
        fault(s, "the block of %llu bytes at %#llx: %s", (unsigned long long)b->bytes,
              (unsigned long long)b->entry.address, wrong);
    check(s, b->instance);
    b->has_guard = !s->captured_count && fill(s, b, 0, NEW_BYTE, b->bytes) &&
                   fill(s, b, b->bytes, GUARD_BYTE, GUARD_BYTES);
}

/* Begins to read the guard; false: there is none to be read. */
static bool read_guard(struct server *s, struct served *b)
{
    struct error error;
    if (!b->has_guard || s->captured_count)
        return false;
    b->guard = must_alloc(GUARD_BYTES);
    const int code = s->driver.read(s->driver.context, b->queue, block_memory(&b->block),
                                    block_offset(&b->block) + b->bytes, b->guard, GUARD_BYTES,
                                    &b->guard_mark, &error);
    if (code && code != ERR_UNSUPPORTED)
        fault(s, "a guard could not be read: %s", error.text);
    return !code;
}

/* Checks the guard of a freed block, and fills the block. 1; 0: the queue is not there yet; or a
 * negative code. */
static int check_guard(struct server *s, struct served *b, struct error *error)
{
    if (!b->guard && !read_guard(s, b))
        return 1;
    const int passed =
        b->guard_mark ? s->driver.passed(s->driver.context, b->guard_mark, error) : 1;
    if (passed != 1)
        return passed;
    if (b->guard_mark)
        s->driver.unmark(s->driver.context, b->guard_mark);
    for (unsigned i = 0; i < GUARD_BYTES; i++)
        if (b->guard[i] != GUARD_BYTE)
            fault(s, "byte %u after the block of %llu bytes at %#llx was overwritten", i,
                  (unsigned long long)b->bytes, (unsigned long long)b->entry.address);
    fill(s, b, 0, OLD_BYTE, b->bytes);
    return 1;
}

/* ---- queues ---- */

/* The number of a queue; false: all are taken by queues that have blocks. */
static bool number_of(struct server *s, uint64_t queue, unsigned *number)
{
    unsigned at = 0, oldest = ALLOCATOR_QUEUES_MAX;
    for (; at < s->queue_count && s->queues[at].queue != queue; at++)
        if (!s->queues[at].live_count && (oldest == ALLOCATOR_QUEUES_MAX ||
                                          s->queues[at].last_used < s->queues[oldest].last_used))
            oldest = at;
    if (at == s->queue_count) {
        s->serve.queue_count++;
        if (s->queue_count < ALLOCATOR_QUEUES_MAX) {
            s->queue_count++;
        } else {
            /* Memory of the old queue may be in use until the device is idle. */
            if (oldest == ALLOCATOR_QUEUES_MAX || s->captured_count ||
                !s->driver.source.ops->sync || source_sync(&s->common.source))
                return false;
            at = oldest;
            s->serve.queue_taken_count++;
        }
        s->queues[at] = (struct queue_place){.queue = queue};
        if (s->driver.name_queue)
            s->driver.name_queue(s->driver.context, at, queue);
    }
    s->queues[at].last_used = ++s->clock;
    *number = at;
    return true;
}

/* ---- parts ---- */

static int open_pool(struct server *s, struct instance *instance, struct error *error)
{
    instance->number = ++s->serve.pool_count;
    instance->source = s->driver.source;
    instance->source.total = &s->held;
    instance->source.listener = s->options.debug ? &s->source_listener : NULL;
    instance->source.capacity_bytes = s->options.capacity_bytes;
    const int code = private_pool_open(&instance->pool, s->options.strategy, &s->options.values,
                                       &instance->source, &instance->allocator, error);
    instance->allocator.total = &s->counts;
    if (!code && s->options.records)
        serve_record_pool(s->device, instance->number, true);
    return code;
}

static bool is_same(struct serve_pool a, struct serve_pool b)
{
    return a.first == b.first && a.second == b.second;
}

static struct instance *find_pool(struct server *s, const struct serve_pool *name, uint64_t capture)
{
    struct instance *instance = s->pools;
    while (instance && !(name ? !instance->capture && is_same(instance->name, *name)
                              : instance->capture == capture))
        instance = instance->next;
    return instance;
}

static int pool_of(struct server *s, const struct serve_pool *name, uint64_t capture,
                   struct instance **pool, struct error *error)
{
    *pool = find_pool(s, name, capture);
    if (*pool)
        return 0;
    struct instance *instance = must_alloc(sizeof *instance);
    instance->capture = name ? 0 : capture;
    instance->name = name ? *name : (struct serve_pool){0};
    const int code = open_pool(s, instance, error);
    if (code) {
        free(instance);
        return code;
    }
    instance->next = s->pools;
    *pool = s->pools = instance;
    return 0;
}

static const struct serve_pool *pool_of_thread(const struct server *s)
{
    for (unsigned i = s->user_count; i-- > 0;)
        if (pthread_equal(s->users[i].thread, pthread_self()))
            return &s->users[i].pool;
    return NULL;
}

/* Gives back what a released pool holds, once no block of it lives. */
static int end_pool(struct server *s, struct instance *instance, struct error *error)
{
    const struct source *driver = &s->driver.source;
    struct instance **at = &s->pools;
    if (!instance->is_released || instance->live_count || s->captured_count)
        return 0;
    TRY(driver->ops->sync(driver->context, error));
    while (*at != instance)
        at = &(*at)->next;
    *at = instance->next;
    const int code = private_pool_close(&instance->pool, &instance->allocator, error);
    source_counts_add(&s->common.source.counts, &instance->source.counts);
    if (s->options.records)
        serve_record_pool(s->device, instance->number, false);
    free(instance);
    return code;
}

/* ---- captures ---- */

/* Forgets the captures that have ended. */
static int look_at_captures(struct server *s, struct error *error)
{
    const unsigned before = s->captured_count;
    for (unsigned i = 0; i < s->captured_count;) {
        uint64_t capture = 0;
        TRY(s->driver.capture(s->driver.context, s->captured[i], &capture, error));
        if (capture)
            i++;
        else
            s->captured[i] = s->captured[--s->captured_count];
    }
    if (!before || s->captured_count)
        return 0;
    for (struct instance *instance = s->pools, *next; instance; instance = next) {
        next = instance->next;
        TRY(end_pool(s, instance, error));
    }
    return s->driver.capturing(s->driver.context, false, error);
}

/* *capture: the one that the queue is part of, or 0. */
static int capture_of(struct server *s, uint64_t queue, uint64_t *capture, struct error *error)
{
    *capture = 0;
    if (!s->driver.capture)
        return 0;
    TRY(look_at_captures(s, error));
    TRY(s->driver.capture(s->driver.context, queue, capture, error));
    for (unsigned i = 0; i < s->captured_count; i++)
        if (s->captured[i] == queue)
            return 0;
    if (!*capture)
        return 0;
    if (s->captured_count == ALLOCATOR_QUEUES_MAX)
        return error_set(error, ERR_UNSUPPORTED, "more than %d queues are captured at once",
                         ALLOCATOR_QUEUES_MAX);
    s->captured[s->captured_count++] = queue;
    return s->driver.capturing(s->driver.context, true, error);
}

/* The instance that serves a request. */
static int instance_of(struct server *s, uint64_t queue, struct instance **instance,
                       struct error *error)
{
    uint64_t capture;
    TRY(capture_of(s, queue, &capture, error));
    const struct serve_pool *pool = s->user_count ? pool_of_thread(s) : NULL;
    if (capture && !pool && s->user_count)
        pool = &s->users[s->user_count - 1].pool;
    *instance = &s->common;
    if (!capture && !pool)
        return 0;
    struct instance *private;
    TRY(pool_of(s, pool, capture, &private, error));
    private->is_captured |= capture != 0;
    if (private->is_captured && !capture)
        return 0;
    s->serve.captured_count++;
    *instance = private;
    return 0;
}

/* ---- the end of a block ---- */

/* The strategy has the block back. */
static int give_back(struct server *s, struct served *b, struct error *error)
{
    struct instance *instance = b->instance;
    int code = 0;
    if (instance && s->options.debug)
        owners_give(&s->owners, &b->block);
    if (s->options.records)
        serve_record_gone(b->entry.address);
    if (!instance) {
        code = source_free(&s->direct, b->block.memory, b->block.size);
        if (code)
            error_set(error, code, "%s", s->direct.error.text);
    } else {
        code = allocator_free(&instance->allocator, &b->block, b->tag, b->asked);
        if (code)
            error_set(error, code, "%s", instance->source.error.text);
        check(s, instance);
        s->queues[b->number].live_count--;
        instance->live_count--;
    }
    free(b->guard);
    free(b->others);
    slab_give(&s->served, b);
    ALSO(code, instance && instance->is_released ? end_pool(s, instance, code ? NULL : error) : 0);
    return code;
}

/* Marks the ends of the queues that used the block. A mark in a captured queue would be part of the
 * graph: it waits for the capture's end. */
static int mark_others(struct server *s, struct served *b, struct error *error)
{
    if (s->captured_count)
        return 0;
    for (unsigned i = 0; i < b->other_count; i++) {
        struct other *o = &b->others[i];
        if (!o->is_marked)
            TRY(s->driver.mark(s->driver.context, o->queue, &o->mark, error));
        o->is_marked = true;
    }
    return 0;
}

/* Queues that were seen not to be done, in one look. */
struct busy {
    unsigned count;
    uint64_t queues[BUSY_MOST];
};

static bool is_busy(const struct busy *busy, uint64_t queue)
{
    for (unsigned i = 0; i < busy->count; i++)
        if (busy->queues[i] == queue)
            return true;
    return false;
}

/* Are all queues done with a block? 1, 0 or a negative code. */
static int has_passed(struct server *s, struct served *b, struct busy *busy, struct error *error)
{
    TRY(mark_others(s, b, error));
    bool all = true;
    for (unsigned i = 0; i < b->other_count; i++) {
        struct other *o = &b->others[i];
        if (o->has_passed)
            continue;
        int passed = 0;
        if (o->is_marked && !is_busy(busy, o->queue))
            passed = s->driver.passed(s->driver.context, o->mark, error);
        if (passed < 0)
            return passed;
        if (passed) {
            s->driver.unmark(s->driver.context, o->mark);
            o->has_passed = true;
        } else if (busy->count < BUSY_MOST) {
            busy->queues[busy->count++] = o->queue;
        }
        all &= o->has_passed;
    }
    return all;
}

/* Gives back the waiting blocks that all queues have passed. */
static int look_at_waiting(struct server *s, struct error *error)
{
    struct busy busy = {0};
    for (struct served **at = &s->waiting; *at;) {
        struct served *b = *at;
        int passed = has_passed(s, b, &busy, error);
        if (passed == 1)
            passed = check_guard(s, b, error);
        if (passed < 0)
            return passed;
        if (!passed) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        if (!*at)
            s->waiting_end = at;
        s->serve.held_bytes -= b->block.size;
        TRY(give_back(s, b, error));
    }
    return 0;
}

static void hold(struct server *s, struct served *b)
{
    b->next = NULL;
    *s->waiting_end = b;
    s->waiting_end = &b->next;
    s->serve.held_count++;
    s->serve.held_bytes += b->block.size;
    if (s->serve.held_bytes > s->serve.peak_held_bytes)
        s->serve.peak_held_bytes = s->serve.held_bytes;
}

/* Names the block's further queue; false: it is known. */
static bool add_other(struct served *b, uint64_t queue)
{
    if (queue == b->queue || queue == SERVE_OWN_QUEUE)
        return false;
    for (unsigned i = 0; i < b->other_count; i++)
        if (b->others[i].queue == queue)
            return false;
    b->others = must_grow(b->others, b->other_count, &b->other_capacity, sizeof *b->others);
    b->others[b->other_count++] = (struct other){.queue = queue};
    return true;
}

/* Makes the block's own queue wait for the others. 1: it does; 0: the block has to wait. */
static int join_others(struct server *s, const struct served *b, struct error *error)
{
    if (!s->driver.join)
        return !b->other_count;
    for (unsigned i = 0; i < b->other_count; i++)
        if (b->others[i].queue == SERVE_ALL_QUEUES)
            return 0;
    for (unsigned i = 0; i < b->other_count; i++) {
        const int joined = s->driver.join(s->driver.context, b->queue, b->others[i].queue, error);
        if (joined != 1)
            return joined;
    }
    return 1;
}

/* ---- requests ---- */

/* The driver itself serves what has no number of a queue: its free waits for all commands. */
static int ask_driver(struct server *s, struct served *b, struct error *error)
{
    uint64_t memory = 0;
    const int code = source_alloc(&s->direct, b->bytes, SOURCE_RESIDENT, &memory);
    if (code)
        return error_set(error, code, "%s", s->direct.error.text);
    b->block = (struct block){.memory = memory, .size = b->bytes};
    s->serve.direct_count++;
    return 0;
}

static int ask(struct server *s, struct served *b, struct error *error)
{
    const struct alloc_request request = {
        .size = b->asked, .alignment = s->driver.alignment, .tag = b->tag, .queue = b->number};
    int code = allocator_alloc(&b->instance->allocator, &request, &b->block);
    if (code == ERR_OOM && s->waiting && !s->captured_count && s->driver.source.ops->sync) {
        TRY(source_sync(&s->common.source)
                ? error_set(error, ERR_DEVICE, "%s", s->common.source.error.text)
                : 0);
        TRY(look_at_waiting(s, error));
        code = allocator_alloc(&b->instance->allocator, &request, &b->block);
        s->serve.retried_count += !code;
    }
    /* The spare memory of the common instance may be all that is left. */
    if (code == ERR_OOM && b->instance != &s->common && !s->captured_count) {
        TRY(allocator_trim(&s->common.allocator));
        code = allocator_alloc(&b->instance->allocator, &request, &b->block);
    }
    return code ? error_set(error, code, "%s", b->instance->source.error.text) : 0;
}

static int serve(struct server *s, struct served *b, struct error *error)
{
    TRY(instance_of(s, b->queue, &b->instance, error));
    if (s->waiting)
        TRY(look_at_waiting(s, error));
    const bool of_thread = s->driver.of_thread && s->driver.of_thread(s->driver.context, b->queue);
    if (of_thread || !number_of(s, b->queue, &b->number))
        b->instance = NULL;
    b->asked = b->bytes + (s->options.debug ? GUARD_BYTES : 0);
    TRY(b->instance ? ask(s, b, error) : ask_driver(s, b, error));
    b->entry.address = block_memory(&b->block) + block_offset(&b->block);
    if (block_table_add(&s->blocks, &b->entry))
        fault(s, "the block at %#llx was handed out twice", (unsigned long long)b->entry.address);
    if (!b->instance)
        return 0;
    s->queues[b->number].live_count++;
    b->instance->live_count++;
    if (s->options.debug)
        begin_debug(s, b);
    return 0;
}

static void enter(struct server *s)
{
    pthread_mutex_lock(&s->lock);
}

static int leave(struct server *s, int code)
{
    if (s->driver.leave)
        s->driver.leave(s->driver.context);
    pthread_mutex_unlock(&s->lock);
    return code;
}

/* Waits without the lock: what the host waits for may need it, such as a callback that frees a
 * block. */
static int wait_and_serve(struct server *s, struct served *b, struct error *error)
{
    leave(s, 0);
    s->driver.wait(s->driver.context);
    enter(s);
    const int code = serve(s, b, error);
    s->serve.retried_count += !code;
    return code;
}

int server_alloc(struct server *s, uint64_t bytes, uint64_t queue, const char *tag,
                 uint64_t *address, struct error *error)
{
    *address = 0;
    if (!bytes)
        return 0;
    enter(s);
    struct served *b = slab_take(&s->served);
    *b = (struct served){.bytes = bytes, .queue = queue, .tag = tag};
    int code = serve(s, b, error);
    if (code == ERR_OOM && s->driver.wait)
        code = wait_and_serve(s, b, error);
    if (!code)
        *address = b->entry.address;
    else
        slab_give(&s->served, b);
    s->serve.refused_count += code != 0;
    if (s->options.records)
        serve_record_block(s->device, *address, bytes, s->driver.alignment, queue,
                           !code && b->instance ? b->instance->number : 0);
    return leave(s, code);
}

static struct served *find(struct server *s, uint64_t address)
{
    return (struct served *)block_table_find(&s->blocks, address);
}

static int unknown(const struct server *s, uint64_t address, struct error *error)
{
    return error_set(error, ERR_NOT_FOUND, "no live block of %s has the address %#llx",
                     s->driver.id, (unsigned long long)address);
}

int server_free(struct server *s, uint64_t address, uint64_t queue, struct error *error)
{
    if (!address)
        return 0;
    enter(s);
    struct served *b = (struct served *)block_table_remove(&s->blocks, address);
    s->serve.unknown_count += !b;
    if (!b)
        return leave(s, unknown(s, address, error));
    if (s->options.records)
        serve_record_free(address);
    add_other(b, queue);
    int code = s->captured_count ? look_at_captures(s, error) : 0;
    int joined = join_others(s, b, code ? NULL : error);
    if (joined == 1) {
        b->other_count = 0; /* they are waited for */
        joined = check_guard(s, b, code ? NULL : error);
    }
    code = code ? code : joined < 0 ? joined : 0;
    if (joined != 1) {
        hold(s, b);
        ALSO(code, mark_others(s, b, code ? NULL : error));
    } else {
        ALSO(code, give_back(s, b, code ? NULL : error));
    }
    return leave(s, code);
}

int server_use(struct server *s, uint64_t address, uint64_t queue, struct error *error)
{
    enter(s);
    struct served *b = find(s, address);
    if (!b)
        return leave(s, unknown(s, address, error));
    s->serve.used_elsewhere_count += queue != b->queue;
    const int joined = add_other(b, queue) && s->driver.join
                           ? s->driver.join(s->driver.context, queue, b->queue, error)
                           : 0;
    return leave(s, joined < 0 ? joined : 0);
}

int server_base(struct server *s, uint64_t address, uint64_t *base, uint64_t *bytes)
{
    enter(s);
    const struct served *b = find(s, address);
    if (b) {
        *base = b->block.memory;
        *bytes = block_offset(&b->block) + b->block.size;
    }
    return leave(s, b ? 0 : ERR_NOT_FOUND);
}

int server_trim(struct server *s, struct error *error)
{
    enter(s);
    int code = s->driver.capture ? look_at_captures(s, error) : 0;
    THEN(code, look_at_waiting(s, error));
    if (!code && !s->captured_count) {
        if (s->options.records)
            serve_record_trim(s->device);
        code = allocator_trim(&s->common.allocator);
        if (code)
            error_set(error, code, "%s", s->common.source.error.text);
        check(s, &s->common);
    }
    return leave(s, code);
}

void server_limit(struct server *s, uint64_t bytes)
{
    enter(s);
    s->options.capacity_bytes = s->common.source.capacity_bytes = bytes;
    s->direct.capacity_bytes = bytes;
    for (struct instance *instance = s->pools; instance; instance = instance->next)
        instance->source.capacity_bytes = bytes;
    leave(s, 0);
}

void server_mark(struct server *s, const char *name)
{
    enter(s);
    allocator_mark(&s->common.allocator, name);
    leave(s, 0);
}

/* ---- private pools ---- */

void server_enter_pool(struct server *s, struct serve_pool pool)
{
    struct instance *instance;
    enter(s);
    s->users = must_grow(s->users, s->user_count, &s->user_capacity, sizeof *s->users);
    s->users[s->user_count++] = (struct pool_user){pthread_self(), pool};
    if (!pool_of(s, &pool, 0, &instance, NULL)) {
        instance->uses++;
        instance->is_released = false;
    }
    leave(s, 0);
}

/* The capture may end in another thread than the one that began it. */
void server_leave_pool(struct server *s, struct serve_pool pool)
{
    enter(s);
    for (unsigned i = s->user_count; i-- > 0;) {
        if (!is_same(s->users[i].pool, pool))
            continue;
        s->user_count--;
        memmove(&s->users[i], &s->users[i + 1], (s->user_count - i) * sizeof *s->users);
        break;
    }
    leave(s, 0);
}

int server_release_pool(struct server *s, struct serve_pool pool, struct error *error)
{
    enter(s);
    struct instance *instance = find_pool(s, &pool, 0);
    int code = instance ? look_at_captures(s, error) : 0;
    if (instance && --instance->uses <= 0) {
        instance->is_released = true;
        THEN(code, end_pool(s, instance, error));
    }
    return leave(s, code);
}

/* ---- the whole ---- */

int server_open(const struct serve_driver *driver, const struct serve_options *options,
                struct server **server, struct error *error)
{
    struct server *s = must_alloc(sizeof *s);
    *s = (struct server){.driver = *driver,
                         .options = *options,
                         .device = options->device,
                         .served.item_bytes = sizeof(struct served)};
    pthread_mutex_init(&s->lock, NULL);
    s->waiting_end = &s->waiting;
    owners_open(&s->owners);
    s->source_listener = (struct source_listener){&s->owners, hear_source};
    s->common.source = driver->source;
    s->common.source.total = &s->held;
    s->common.source.listener = options->debug ? &s->source_listener : NULL;
    s->common.source.capacity_bytes = options->capacity_bytes;
    s->direct = s->common.source;
    enter(s);
    int code = allocator_open(&s->common.allocator, options->strategy, &options->values,
                              &s->common.source, error);
    s->common.allocator.total = &s->counts;
    if (options->records && !code)
        serve_record_device(s->device, driver->name, driver->memory_bytes, driver->alignment);
    leave(s, 0);
    if (code)
        free(s);
    else
        *server = s;
    return code;
}

void server_state(struct server *s, bool checks, struct serve_state *state)
{
    enter(s);
    if (checks && s->options.debug) /* the last guards */
        look_at_waiting(s, NULL);
    *state = (struct serve_state){.serve = s->serve, .live_count = s->blocks.count};
    source_update(&s->common.source);
    source_counts_add(&state->driver, &s->common.source.counts);
    source_counts_add(&state->driver, &s->direct.counts);
    if (checks)
        state->broken = allocator_check(&s->common.allocator);
    for (const struct instance *instance = s->pools; instance; instance = instance->next) {
        source_counts_add(&state->driver, &instance->source.counts);
        if (checks)
            state->broken += allocator_check(&instance->allocator);
    }
    state->is_planned = s->common.allocator.ops == &allocator_planned;
    for (unsigned q = 0; state->is_planned && q < ALLOCATOR_QUEUES_MAX; q++)
        if (s->common.allocator.states[q])
            planned_count(s->common.allocator.states[q], &state->planned);
    state->driver.reserved_bytes = s->held.reserved_bytes;
    state->driver.peak_reserved_bytes = s->held.peak_reserved_bytes;
    state->blocks = s->counts;
    if (s->driver.state)
        s->driver.state(s->driver.context, state);
    leave(s, 0);
}
