#include "tests/device/fake_devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { MEMORIES_MAX = 4096, ARGUMENTS_MAX = 16 };

struct fake_memory {
    char *data;
    uint64_t bytes;
    bool live;
};

struct fake_event {
    uint64_t recorded, reached; /* how often */
};

enum fake_kind { FAKE_COPY, FAKE_FILL, FAKE_LAUNCH, FAKE_RECORD, FAKE_WAIT, FAKE_TAKE, FAKE_GIVE };

/* All of a memory that is away while a part of it is copied. */
struct fake_taken {
    struct fake_memory *memory;
    char *data;
};

struct fake_command {
    struct fake_command *next;
    enum fake_kind kind;

    uint64_t to, from, bytes; /* addresses */
    uint8_t byte;
    host_kernel_function *run;
    size_t argument_count;
    enum launch_arg_kind kinds[ARGUMENTS_MAX];
    union launch_value arguments[ARGUMENTS_MAX];
    struct fake_event *event;
    uint64_t generation;
    struct fake_taken *taken;
};

struct fake_queue {
    struct fake_command *first, **last;
};

struct fake_device {
    struct device base;
    struct device_info info;
    struct fake_world *world;
    struct fake_behaviour behaviour;
    struct fake_queue queues[FAKE_DEVICE_QUEUES];
    unsigned queue;
    size_t memory_count;
    struct fake_memory *memories[MEMORIES_MAX];
    uint64_t held_bytes;
    struct fake_counts counts;
};

static struct fake_device *self(struct device *device)
{
    return (struct fake_device *)device;
}

/* The memory that an address lies in; a handle is the address of its first byte. */
static struct fake_memory *memory_of(const struct fake_world *w, uint64_t address)
{
    for (unsigned d = 0; d < w->count; d++)
        for (size_t i = 0; i < w->devices[d]->memory_count; i++) {
            struct fake_memory *m = w->devices[d]->memories[i];
            uint64_t begin = (uint64_t)(uintptr_t)m->data;
            if (address >= begin && address < begin + m->bytes)
                return m;
        }
    return NULL;
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static void noise(struct fake_world *w, char *data, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        data[i] = (char)random_u64(&w->random);
}

static int alive(struct fake_device *d, struct error *error)
{
    if (d->behaviour.lost_after && --d->behaviour.lost_after == 0)
        d->behaviour.lost = true;
    return d->behaviour.lost ? error_set(error, ERR_DEVICE_LOST, "fakeCall: FAKE_ERROR_GONE (700)")
                             : 0;
}

/* ---- running -------------------------------------------------------------------------------- */

static bool is_ready(const struct fake_command *c)
{
    return c && (c->kind != FAKE_WAIT || c->event->reached >= c->generation);
}

/* Bytes that a command is about to use. */
static bool is_there(struct fake_world *w, uint64_t address, uint64_t bytes)
{
    const struct fake_memory *m = memory_of(w, address);
    bool there = m && m->live && address + bytes <= (uint64_t)(uintptr_t)m->data + m->bytes;
    w->misuse_count += !there;
    return there;
}

static void run_now(struct fake_world *w, struct fake_command *c)
{
    bool there = true;
    switch (c->kind) {
    case FAKE_COPY:
        if (is_there(w, c->to, c->bytes) && is_there(w, c->from, c->bytes))
            memmove(pointer(c->to), pointer(c->from), c->bytes);
        break;
    case FAKE_FILL:
        if (is_there(w, c->to, c->bytes))
            memset(pointer(c->to), c->byte, c->bytes);
        break;
    case FAKE_LAUNCH:
        for (size_t i = 0; i < c->argument_count; i++)
            if (c->kinds[i] == ARG_MEMORY)
                there &= is_there(w, c->arguments[i].memory, 1);
        if (there)
            c->run(c->arguments, 0, 1);
        break;
    case FAKE_RECORD:
        if (c->generation > c->event->reached)
            c->event->reached = c->generation;
        break;
    case FAKE_WAIT:
        break;
    case FAKE_TAKE: /* and what is not there can't be used */
        if (is_there(w, c->to, c->bytes) && is_there(w, c->from, c->bytes))
            memmove(pointer(c->to), pointer(c->from), c->bytes);
        c->taken->memory = memory_of(w, c->from);
        c->taken->data = must_alloc(c->taken->memory->bytes);
        memcpy(c->taken->data, c->taken->memory->data, c->taken->memory->bytes);
        noise(w, c->taken->memory->data, c->taken->memory->bytes);
        break;
    case FAKE_GIVE:
        memcpy(c->taken->memory->data, c->taken->data, c->taken->memory->bytes);
        free(c->taken->data);
        free(c->taken);
        break;
    }
}

static void run_head(struct fake_device *d, unsigned queue)
{
    struct fake_queue *q = &d->queues[queue];
    struct fake_command *c = q->first;
    struct fake_world *w = d->world;
    run_now(w, c);
    q->first = c->next;
    if (!q->first)
        q->last = &q->first;
    free(c);
}

/* Runs one command of some queue that can go on; false where none can. */
static bool run_some(struct fake_world *w)
{
    unsigned places = w->count * FAKE_DEVICE_QUEUES;
    unsigned start = (unsigned)random_below(&w->random, places);
    for (unsigned i = 0; i < places; i++) {
        unsigned at = (start + i) % places;
        struct fake_device *d = w->devices[at / FAKE_DEVICE_QUEUES];
        if (is_ready(d->queues[at % FAKE_DEVICE_QUEUES].first)) {
            run_head(d, at % FAKE_DEVICE_QUEUES);
            return true;
        }
    }
    return false;
}

void fake_world_run(struct fake_world *world, unsigned count)
{
    while (count-- > 0 && run_some(world))
        ;
}

unsigned fake_device_run(struct device *device, unsigned most)
{
    struct fake_device *d = self(device);
    unsigned launches = 0;
    for (bool went_on = true; went_on;) {
        went_on = false;
        for (unsigned q = 0; q < FAKE_DEVICE_QUEUES; q++) {
            const struct fake_command *head = d->queues[q].first;
            bool is_launch = head && head->kind == FAKE_LAUNCH;
            if (!is_ready(head) || (is_launch && launches == most))
                continue;
            run_head(d, q);
            launches += is_launch;
            went_on = true;
        }
    }
    return launches;
}

/* Others may run in the meantime, and have to where the queue waits for them. */
static void drain(struct fake_device *d, unsigned queue)
{
    d->world->wait_count += d->queues[queue].first != NULL;
    while (d->queues[queue].first) {
        if (is_ready(d->queues[queue].first) && random_below(&d->world->random, 2))
            run_head(d, queue);
        else if (!run_some(d->world)) {
            d->world->stuck_count++;
            return;
        }
    }
}

static void drain_all(struct fake_device *d)
{
    for (unsigned q = 0; q < FAKE_DEVICE_QUEUES; q++)
        drain(d, q);
}

static int submit(struct fake_device *d, const struct fake_command *command)
{
    struct fake_command *c = must_alloc(sizeof *c);
    *c = *command;
    *d->queues[d->queue].last = c;
    d->queues[d->queue].last = &c->next;
    if (!d->world->has_queues)
        drain(d, d->queue);
    return 0;
}

/* ---- memory --------------------------------------------------------------------------------- */

static int fake_alloc(struct device *device, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct fake_device *d = self(device);
    int code = alive(d, error);
    if (code)
        return code;
    if (d->memory_count == MEMORIES_MAX ||
        (d->behaviour.capacity_bytes && d->held_bytes + bytes > d->behaviour.capacity_bytes))
        return error_set(error, ERR_OOM, "fakeAlloc: FAKE_ERROR_FULL (2), asked for %llu bytes",
                         (unsigned long long)bytes);
    struct fake_memory *m = must_alloc(sizeof *m);
    *m = (struct fake_memory){.data = must_alloc(bytes), .bytes = bytes, .live = true};
    noise(d->world, m->data, bytes);
    d->memories[d->memory_count++] = m;
    d->held_bytes += bytes;
    *memory = (uint64_t)(uintptr_t)m->data;
    return 0;
}

/* Waits for this device's queues alone. */
static int fake_free(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct fake_device *d = self(device);
    struct fake_memory *m = memory_of(d->world, memory);
    drain_all(d);
    if (!m || !m->live || m->bytes != bytes) {
        d->world->misuse_count++;
        return 0;
    }
    noise(d->world, m->data, m->bytes);
    m->live = false;
    d->held_bytes -= bytes;
    return alive(d, error);
}

static int fake_read(struct device *device, void *host, uint64_t memory, uint64_t offset,
                     uint64_t bytes, struct error *error)
{
    struct fake_device *d = self(device);
    int code = alive(d, error);
    if (code)
        return code;
    drain(d, d->queue);
    d->counts.reads++;
    if (is_there(d->world, memory + offset, bytes))
        memcpy(host, pointer(memory + offset), bytes);
    return 0;
}

static int fake_write(struct device *device, uint64_t memory, uint64_t offset, const void *host,
                      uint64_t bytes, struct error *error)
{
    struct fake_device *d = self(device);
    int code = alive(d, error);
    if (code)
        return code;
    drain(d, d->queue);
    d->counts.writes++;
    if (is_there(d->world, memory + offset, bytes))
        memcpy(pointer(memory + offset), host, bytes);
    return 0;
}

static int fake_copy(struct device *device, uint64_t to, uint64_t to_offset, uint64_t from,
                     uint64_t from_offset, uint64_t bytes, struct error *error)
{
    struct fake_device *d = self(device);
    int code = alive(d, error);
    return code ? code
                : submit(d, &(struct fake_command){.kind = FAKE_COPY,
                                                   .to = to + to_offset,
                                                   .from = from + from_offset,
                                                   .bytes = bytes});
}

static int fake_peer_copy(struct device *device, uint64_t to, uint64_t to_offset, struct device *of,
                          uint64_t from, uint64_t from_offset, uint64_t bytes, struct error *error)
{
    self(device)->world->misuse_count += self(of)->world != self(device)->world;
    self(device)->counts.peer_copies++;
    int code = self(of)->behaviour.lost ? alive(self(of), error) : 0;
    if (code || !self(device)->info.peers_whole)
        return code ? code : fake_copy(device, to, to_offset, from, from_offset, bytes, error);
    struct fake_taken *taken = must_alloc(sizeof *taken);
    submit(self(device), &(struct fake_command){.kind = FAKE_TAKE,
                                                .to = to + to_offset,
                                                .from = from + from_offset,
                                                .bytes = bytes,
                                                .taken = taken});
    return submit(self(device), &(struct fake_command){.kind = FAKE_GIVE, .taken = taken});
}

static int fake_fill(struct device *device, uint64_t memory, uint64_t offset, uint8_t byte,
                     uint64_t bytes, struct error *error)
{
    struct fake_device *d = self(device);
    int code = alive(d, error);
    return code ? code
                : submit(d, &(struct fake_command){.kind = FAKE_FILL,
                                                   .to = memory + offset,
                                                   .byte = byte,
                                                   .bytes = bytes});
}

static uint64_t fake_free_bytes(struct device *device)
{
    (void)device;
    return 0;
}

/* ---- kernels -------------------------------------------------------------------------------- */

struct device_program {
    const struct host_kernel *kernels;
};

static int fake_build(struct device *device, const struct kernel_source *source,
                      struct device_program **program, struct error *error)
{
    (void)error;
    *program = must_alloc(sizeof **program);
    (*program)->kernels = source->host_kernels;
    (void)device;
    return 0;
}

static void fake_unbuild(struct device *device, struct device_program *program)
{
    (void)device;
    free(program);
}

static int fake_launch(struct device *device, struct device_program *program, size_t kernel,
                       const struct launch *launch, size_t argument_count,
                       const enum launch_arg_kind *kinds, const union launch_value *arguments,
                       struct error *error)
{
    struct fake_device *d = self(device);
    struct fake_command c = {
        .kind = FAKE_LAUNCH, .run = program->kernels[kernel].run, .argument_count = argument_count};
    (void)launch;
    int code = alive(d, error);
    if (code)
        return code;
    memcpy(c.kinds, kinds, argument_count * sizeof *kinds);
    memcpy(c.arguments, arguments, argument_count * sizeof *arguments);
    return submit(d, &c);
}

/* ---- queues and events ---------------------------------------------------------------------- */

static int fake_sync(struct device *device, struct error *error)
{
    drain_all(self(device));
    return alive(self(device), error);
}

static int fake_sync_queue(struct device *device, unsigned queue, struct error *error)
{
    drain(self(device), queue);
    return alive(self(device), error);
}

static int fake_use_queue(struct device *device, unsigned queue, struct error *error)
{
    self(device)->queue = queue;
    return alive(self(device), error);
}

static int fake_event_create(struct device *device, uint64_t *event, struct error *error)
{
    *event = (uint64_t)(uintptr_t)must_alloc(sizeof(struct fake_event));
    return alive(self(device), error);
}

static void fake_event_destroy(struct device *device, uint64_t event)
{
    drain_all(self(device));
    free((struct fake_event *)(uintptr_t)event);
}

static int fake_event_record(struct device *device, uint64_t event, struct error *error)
{
    struct fake_event *e = (struct fake_event *)(uintptr_t)event;
    int code = alive(self(device), error);
    return code ? code
                : submit(self(device), &(struct fake_command){.kind = FAKE_RECORD,
                                                              .event = e,
                                                              .generation = ++e->recorded});
}

static int fake_event_wait(struct device *device, struct device *of, uint64_t event,
                           struct error *error)
{
    struct fake_event *e = (struct fake_event *)(uintptr_t)event;
    self(device)->world->misuse_count += self(of)->world != self(device)->world;
    int code = alive(self(device), error);
    return code ? code
                : submit(self(device), &(struct fake_command){.kind = FAKE_WAIT,
                                                              .event = e,
                                                              .generation = e->recorded});
}

static int fake_mark(struct device *device, enum device_mark which, struct error *error)
{
    (void)which;
    return alive(self(device), error);
}

static int fake_elapsed_ns(struct device *device, uint64_t *ns, struct error *error)
{
    (void)device, (void)error;
    *ns = 1;
    return 0;
}

/* ---- opening and closing -------------------------------------------------------------------- */

static void fake_close(struct device *device)
{
    struct fake_device *d = self(device);
    drain_all(d);
    for (size_t i = 0; i < d->memory_count; i++) {
        free(d->memories[i]->data);
        free(d->memories[i]);
    }
    d->memory_count = 0;
    d->world = NULL; /* the world's list frees it */
}

static const struct device_peer_ops fake_peers = {.copy = fake_peer_copy};
static const struct device_queue_ops fake_queues = {.use = fake_use_queue, .sync = fake_sync_queue};
static const struct device_event_ops fake_events = {.create = fake_event_create,
                                                    .destroy = fake_event_destroy,
                                                    .record = fake_event_record,
                                                    .wait = fake_event_wait};

#define REQUIRED                                                                                   \
    .name = "fake", .close = fake_close, .free_bytes = fake_free_bytes, .alloc = fake_alloc,       \
    .free = fake_free, .read = fake_read, .write = fake_write, .copy = fake_copy,                  \
    .fill = fake_fill, .build = fake_build, .unbuild = fake_unbuild, .launch = fake_launch,        \
    .sync = fake_sync, .mark = fake_mark, .elapsed_ns = fake_elapsed_ns, .peers = &fake_peers

static const struct device_ops without_queues = {REQUIRED};
static const struct device_ops with_queues = {REQUIRED, .queues = &fake_queues,
                                              .events = &fake_events};

void fake_world_open(struct fake_world *world, uint64_t seed, bool has_queues)
{
    *world = (struct fake_world){.random = {seed}, .has_queues = has_queues};
}

void fake_world_close(struct fake_world *world)
{
    for (unsigned i = 0; i < world->count; i++)
        free(world->devices[i]);
    world->count = 0;
}

struct device *fake_world_add(struct fake_world *world)
{
    struct fake_device *d = must_alloc(sizeof *d);
    d->base = (struct device){world->has_queues ? &with_queues : &without_queues, &d->info};
    d->world = world;
    d->info = (struct device_info){.api = "fake",
                                   .name = "fake",
                                   .language = KERNEL_HOST_C,
                                   .memory_bytes = 1 << 30,
                                   .max_alloc_bytes = 1 << 30,
                                   .alignment_bytes = 16,
                                   .can_split = true,
                                   .peers_whole = world->peers_whole,
                                   .adds_offsets = true};
    snprintf(d->info.id, sizeof d->info.id, "fake:%u", world->count);
    for (unsigned q = 0; q < FAKE_DEVICE_QUEUES; q++)
        d->queues[q].last = &d->queues[q].first;
    return &(world->devices[world->count++] = d)->base;
}

struct fake_behaviour *fake_behaviour_of(struct device *device)
{
    return &self(device)->behaviour;
}

const struct fake_counts *fake_counts_of(const struct device *device)
{
    return &((const struct fake_device *)device)->counts;
}
