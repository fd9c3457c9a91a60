/* The host's side of the device heap: its memories, slots and batches of commands. */
#include "experiment/heap/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "experiment/heap/heap_kernels.h"
#include "program/prelude.h"

enum { SLOT_BYTES = SLOT_WORDS * 4, REPORT_BYTES = REPORT_WORDS * 4 };

/* Words of an arena: positions and sizes, and sums of a position and a group's items, must not
 * wrap around. */
static const uint64_t words_most = UINT32_MAX - 1024;

const char *const device_heap_policy_names[DEVICE_HEAP_POLICIES] = {
    [DEVICE_HEAP_LARGER] = "larger",
    [DEVICE_HEAP_SMALLER] = "smaller",
    [DEVICE_HEAP_BEST] = "best",
    [DEVICE_HEAP_TLSF] = "tlsf",
};

/* The size of a command, and the first capacity of a batch. */
enum { COMMAND_BYTES = COMMAND_WORDS * 4, BATCH_COMMANDS = 256 };

struct heap_memory {
    uint64_t handle, bytes;
};

/* An arena with its index, its own slots, and the commands that wait for a submit. */
struct heap_arena {
    struct heap_memory words, index;
    uint32_t first_slot;
    uint32_t *spare_slots; /* a stack */
    uint32_t spare_count;
    uint32_t *batch; /* COMMAND_WORDS words each */
    uint32_t batch_count, batch_capacity;
};

struct device_heap {
    struct device *device;
    const struct device_ops *ops;
    struct device_heap_kernels *kernels;
    bool own_kernels;
    enum device_heap_policy policy;
    enum device_heap_padding padding;
    uint32_t words, capacity, slots_each, slot_count, ring_commands;
    struct heap_memory slots, report, commands, pinned;
    uint32_t *pinned_words; /* the host's address of `pinned`; NULL: there is no pinned memory */
    uint32_t ring_count;    /* commands put into the ring since the last wait */
    uint8_t *taken;         /* by slot */
    uint64_t launches;
    unsigned arena_count;
    struct heap_arena arenas[];
};

static struct heap_arena *arena_of(const struct device_heap *h, uint32_t slot)
{
    return (struct heap_arena *)&h->arenas[slot / h->slots_each];
}

struct device_heap_kernels {
    struct device *device;
    struct device_program *program;
    struct text text; /* must live as long as the program */
};

/* ---- memories ---- */

static int take_memory(struct device_heap *h, struct heap_memory *m, uint64_t bytes,
                       struct error *error)
{
    int code = h->ops->alloc(h->device, bytes, &m->handle, error);
    if (code)
        error_prefix(error, "device heap: ");
    else
        m->bytes = bytes;
    return code;
}

static void give_memory(struct device_heap *h, struct heap_memory *m)
{
    if (m->bytes)
        h->ops->free(h->device, m->handle, m->bytes, NULL);
    *m = (struct heap_memory){0};
}

/* If the device has no pinned memory, commands are written instead, and each write waits. */
static int take_ring(struct device_heap *h, struct error *error)
{
    uint64_t bytes = (uint64_t)h->ring_commands * COMMAND_BYTES;
    int code = take_memory(h, &h->commands, bytes, error);
    if (code || !h->ops->host_memory)
        return code;
    void *host;
    code = h->ops->host_memory->alloc(h->device, MEMORY_PINNED, bytes, &h->pinned.handle, &host,
                                      error);
    if (code)
        return code == ERR_UNSUPPORTED ? 0 : code;
    h->pinned.bytes = bytes;
    h->pinned_words = host;
    return 0;
}

static int take_memories(struct device_heap *h, struct error *error)
{
    int code = take_memory(h, &h->slots, (uint64_t)h->slot_count * SLOT_BYTES, error);
    THEN(code, take_memory(h, &h->report, REPORT_BYTES, error));
    THEN(code, take_ring(h, error));
    for (unsigned i = 0; i < h->arena_count && !code; i++) {
        code = take_memory(h, &h->arenas[i].words, (uint64_t)h->words * 4, error);
        THEN(code, take_memory(h, &h->arenas[i].index, heap_index_words(h->policy, h->capacity) * 4,
                               error));
    }
    return code;
}

/* ---- launches ---- */

/* The arguments of a launch, in the order of its kernel's parameters. */
enum { ARGUMENTS_MAX = 40 };
struct heap_arguments {
    enum launch_arg_kind kinds[ARGUMENTS_MAX];
    union launch_value values[ARGUMENTS_MAX];
    size_t count;
};
static void add_memory(struct heap_arguments *a, uint64_t memory)
{
    a->kinds[a->count] = ARG_MEMORY;
    a->values[a->count++].memory = memory;
}

static void add_word(struct heap_arguments *a, uint32_t word)
{
    a->kinds[a->count] = ARG_U32;
    a->values[a->count++].u32 = word;
}

/* Adds index, arena and slots. */
static void add_memories(struct heap_arguments *a, const struct device_heap *h,
                         const struct heap_arena *arena)
{
    add_memory(a, arena->index.handle);
    add_memory(a, arena->words.handle);
    add_memory(a, h->slots.handle);
}

/* Adds the arguments that every kernel has for heap_begin, in its order. */
static void add_sizes(struct heap_arguments *a, const struct device_heap *h)
{
    add_word(a, h->words);
    add_word(a, h->capacity);
    add_word(a, h->slot_count);
    add_word(a, h->policy);
    add_word(a, h->padding);
}

/* Launches one work-item. */
static int launch(struct device_heap *h, enum heap_kernel kernel, const struct heap_arguments *a,
                  struct error *error)
{
    const struct launch shape = {.extent = {1, 1, 1}, .rank = 1, .group_items = 1};
    h->launches++;
    int code = h->ops->launch(h->device, h->kernels->program, kernel, &shape, a->count, a->kinds,
                              a->values, error);
    if (code)
        error_prefix(error, "device heap: %s: ", heap_kernel_names[kernel]);
    return code;
}

/* ---- open and close ---- */

int device_heap_kernels_build(struct device *device, struct device_heap_kernels **kernels,
                              struct error *error)
{
    enum kernel_language language = device->info->language;
    if (device->info->members > 1)
        return error_set(error, ERR_UNSUPPORTED,
                         "a heap lives on one device, and %s is several: run it on one of them",
                         device->info->id);
    struct device_heap_kernels *k = must_alloc(sizeof *k);
    k->device = device;
    text_add(&k->text, "%s%s", prelude_text(language), kernel_text_device_heap);
    const struct kernel_source source = {
        .name = "device_heap",
        .text = k->text.data,
        .kernel_count = HEAP_KERNELS,
        .kernel_names = heap_kernel_names,
        .host_kernels = language == KERNEL_HOST_C ? heap_host_kernels : NULL,
    };
    int code = device->ops->build(device, &source, &k->program, error);
    if (code)
        device_heap_kernels_free(k);
    else
        *kernels = k;
    return code;
}

void device_heap_kernels_free(struct device_heap_kernels *k)
{
    if (!k)
        return;
    if (k->program)
        k->device->ops->unbuild(k->device, k->program);
    text_free(&k->text);
    free(k);
}

/* The sizes that the options ask for, checked. */
struct plan {
    uint64_t arenas, words, slots_each, capacity;
};

static int plan_arenas(const struct device_info *info, const struct device_heap_options *o,
                       struct plan *p, struct error *error)
{
    uint64_t most = words_most * 4;
    if (info->max_alloc_bytes && info->max_alloc_bytes < most)
        most = info->max_alloc_bytes;
    if (o->arena_most_bytes && o->arena_most_bytes < most)
        most = o->arena_most_bytes;
    if (o->arena_bytes == 0 || o->arena_bytes % 4 || most < 4 || o->slots == 0)
        return error_set(error, ERR_USAGE,
                         "device heap: an arena of %llu bytes (%llu at most in one piece) with %u "
                         "slots: bytes are a multiple of 4, and neither is 0",
                         (unsigned long long)o->arena_bytes, (unsigned long long)most, o->slots);
    p->arenas = o->arena_bytes / most + (o->arena_bytes % most != 0);
    p->words = (o->arena_bytes / 4 + p->arenas - 1) / p->arenas;
    p->slots_each = ((uint64_t)o->slots + p->arenas - 1) / p->arenas;
    p->capacity = p->slots_each + 1;
    if (p->slots_each * p->arenas >= HEAP_SLOTS_MAX || p->capacity > HEAP_SLOTS_MAX)
        return error_set(
            error, ERR_USAGE,
            "device heap: %u slots in %llu arenas and an index of %llu entries: at most %d each",
            o->slots, (unsigned long long)p->arenas, (unsigned long long)p->capacity,
            HEAP_SLOTS_MAX - 1);
    return 0;
}

/* Makes all slots spare. */
static void free_all_slots(struct device_heap *h)
{
    for (unsigned i = 0; i < h->arena_count; i++) {
        struct heap_arena *a = &h->arenas[i];
        a->spare_count = h->slots_each;
        for (uint32_t s = 0; s < h->slots_each; s++) /* the lowest comes first */
            a->spare_slots[s] = a->first_slot + h->slots_each - 1 - s;
    }
}

/* Clears all slots, and enqueues the command that makes each arena one free block. */
static int start(struct device_heap *h, struct error *error)
{
    free_all_slots(h);
    int code = h->ops->fill(h->device, h->slots.handle, 0, 0, h->slots.bytes, error);
    for (unsigned i = 0; i < h->arena_count && !code; i++) {
        const struct heap_arena *arena = &h->arenas[i];
        struct heap_arguments a = {0};
        add_memories(&a, h, arena);
        add_sizes(&a, h);
        code = h->ops->fill(h->device, arena->index.handle, 0, 0, arena->index.bytes, error);
        THEN(code, launch(h, HEAP_KERNEL_INIT, &a, error));
    }
    return code;
}

int device_heap_open(struct device *device, const struct device_heap_options *options,
                     struct device_heap **heap, struct error *error)
{
    struct plan p = {0};
    TRY(plan_arenas(device->info, options, &p, error));
    struct device_heap *h = must_alloc(sizeof *h + p.arenas * sizeof h->arenas[0]);
    *h = (struct device_heap){.device = device,
                              .ops = device->ops,
                              .policy = options->policy,
                              .padding = options->padding,
                              .words = (uint32_t)p.words,
                              .capacity = (uint32_t)p.capacity,
                              .slots_each = (uint32_t)p.slots_each,
                              .slot_count = (uint32_t)(p.slots_each * p.arenas),
                              .ring_commands = options->ring_commands ? options->ring_commands
                                                                      : DEVICE_HEAP_RING_COMMANDS,
                              .kernels = options->kernels,
                              .own_kernels = options->kernels == NULL,
                              .arena_count = (unsigned)p.arenas};
    h->taken = must_alloc(h->slot_count);
    for (unsigned i = 0; i < h->arena_count; i++) {
        h->arenas[i].first_slot = i * h->slots_each;
        h->arenas[i].spare_slots = must_alloc(h->slots_each * sizeof(uint32_t));
        h->arenas[i].batch_capacity = BATCH_COMMANDS;
        h->arenas[i].batch = must_alloc(BATCH_COMMANDS * COMMAND_BYTES);
    }
    int code = take_memories(h, error);
    THEN(code, h->own_kernels ? device_heap_kernels_build(device, &h->kernels, error) : 0);
    THEN(code, start(h, error));
    if (code)
        device_heap_close(h);
    else
        *heap = h;
    return code;
}

void device_heap_close(struct device_heap *h)
{
    if (!h)
        return;
    if (h->pinned.bytes) { /* a command may still read the pinned memory */
        h->ops->sync(h->device, NULL);
        h->ops->host_memory->free(h->device, MEMORY_PINNED, h->pinned.handle, h->pinned.bytes,
                                  NULL);
    }
    give_memory(h, &h->slots);
    give_memory(h, &h->report);
    give_memory(h, &h->commands);
    for (unsigned i = 0; i < h->arena_count; i++) {
        give_memory(h, &h->arenas[i].words);
        give_memory(h, &h->arenas[i].index);
        free(h->arenas[i].spare_slots);
        free(h->arenas[i].batch);
    }
    if (h->own_kernels)
        device_heap_kernels_free(h->kernels);
    free(h->taken);
    free(h);
}

uint64_t device_heap_slots(const struct device_heap *h)
{
    return h->slots.handle;
}

uint64_t device_heap_arena(const struct device_heap *h, uint32_t slot)
{
    return arena_of(h, slot)->words.handle;
}

struct device_heap_parts device_heap_parts(const struct device_heap *h, unsigned arena)
{
    const struct heap_arena *a = &h->arenas[arena];
    return (struct device_heap_parts){.index = a->index.handle,
                                      .arena = a->words.handle,
                                      .words = h->words,
                                      .capacity = h->capacity,
                                      .slot_count = h->slot_count,
                                      .first_slot = a->first_slot,
                                      .end_slot = a->first_slot + h->slots_each};
}

/* ---- a batch ---- */

static void add_command(struct heap_arena *a, uint32_t what, uint32_t count, uint32_t stride)
{
    if (a->batch_count == a->batch_capacity) {
        a->batch_capacity *= 2;
        a->batch = must_realloc(a->batch, (size_t)a->batch_capacity * COMMAND_BYTES);
    }
    uint32_t *command = a->batch + (size_t)a->batch_count++ * COMMAND_WORDS;
    command[COMMAND_DO] = what;
    command[COMMAND_COUNT] = count;
    command[COMMAND_STRIDE] = stride;
}

static int add_alloc(struct device_heap *h, enum device_heap_command what, uint32_t count,
                     uint32_t stride, uint32_t *slot, struct error *error)
{
    struct heap_arena *arena = &h->arenas[0];
    for (unsigned i = 1; i < h->arena_count; i++)
        if (h->arenas[i].spare_count > arena->spare_count)
            arena = &h->arenas[i];
    if (stride == 0)
        return error_set(error, ERR_PROGRAM, "device heap: elements of 0 words were asked for");
    if (arena->spare_count == 0)
        return error_set(error, ERR_OOM,
                         "device heap: all %u slots of the address buffer are taken: open it with "
                         "more, or free first",
                         h->slot_count);
    *slot = arena->spare_slots[--arena->spare_count];
    h->taken[*slot] = 1;
    add_command(arena, (uint32_t)what | *slot, count, stride);
    return 0;
}

int device_heap_alloc(struct device_heap *h, uint32_t count, uint32_t stride, uint32_t *slot,
                      struct error *error)
{
    return add_alloc(h, HEAP_ALLOC, count, stride, slot, error);
}

int device_heap_alloc_counted(struct device_heap *h, uint32_t index, uint32_t stride,
                              uint32_t *slot, struct error *error)
{
    return add_alloc(h, HEAP_ALLOC_COUNTED, index, stride, slot, error);
}

int device_heap_free(struct device_heap *h, uint32_t slot, struct error *error)
{
    if (slot >= h->slot_count || !h->taken[slot])
        return error_set(error, ERR_PROGRAM,
                         "device heap: slot %u is freed, which %s: it was freed before, or never "
                         "handed out",
                         slot, slot < h->slot_count ? "is not taken" : "does not exist");
    struct heap_arena *arena = arena_of(h, slot);
    h->taken[slot] = 0;
    arena->spare_slots[arena->spare_count++] = slot;
    add_command(arena, (uint32_t)HEAP_FREE | slot, 0, 0);
    return 0;
}

/* *room receives the number of commands that fit into the ring, at least 1; waits if it is full. */
static int ring_room(struct device_heap *h, uint32_t *room, struct error *error)
{
    int code = 0;
    if (h->ring_count == h->ring_commands) {
        code = h->pinned_words ? h->ops->sync(h->device, error) : 0;
        h->ring_count = 0;
    }
    *room = h->ring_commands - h->ring_count;
    return code;
}

/* Brings commands to the device, after those in the ring that a kernel may still read. */
static int send_commands(struct device_heap *h, const uint32_t *commands, uint32_t count,
                         struct error *error)
{
    uint64_t offset = (uint64_t)h->ring_count * COMMAND_BYTES,
             bytes = (uint64_t)count * COMMAND_BYTES;
    if (!h->pinned_words)
        return h->ops->write(h->device, h->commands.handle, offset, commands, bytes, error);
    memcpy((char *)h->pinned_words + offset, commands, bytes);
    return h->ops->copy(h->device, h->commands.handle, offset, h->pinned.handle, offset, bytes,
                        error);
}

static void add_batch(struct heap_arguments *a, const struct device_heap *h,
                      const struct heap_arena *arena, uint64_t counts, uint32_t counts_words,
                      uint32_t command_count)
{
    add_memories(a, h, arena);
    add_memory(a, counts);
    add_sizes(a, h);
    add_word(a, counts ? counts_words : 0);
    add_word(a, command_count);
}

static int submit_few(struct device_heap *h, const struct heap_arena *arena, uint64_t counts,
                      uint32_t counts_words, struct error *error)
{
    struct heap_arguments a = {0};
    add_batch(&a, h, arena, counts, counts_words, arena->batch_count);
    for (uint32_t i = 0; i < HEAP_FEW * COMMAND_WORDS; i++)
        add_word(&a, i < arena->batch_count * COMMAND_WORDS ? arena->batch[i] : 0);
    return launch(h, HEAP_KERNEL_FEW, &a, error);
}

static int submit_some(struct device_heap *h, const struct heap_arena *arena,
                       const uint32_t *commands, uint32_t count, uint64_t counts,
                       uint32_t counts_words, struct error *error)
{
    struct heap_arguments a = {0};
    add_batch(&a, h, arena, counts, counts_words, count);
    add_memory(&a, h->commands.handle);
    add_word(&a, h->ring_count);
    int code = send_commands(h, commands, count, error);
    THEN(code, launch(h, HEAP_KERNEL_OPS, &a, error));
    h->ring_count += count;
    return code;
}

static int submit_arena(struct device_heap *h, struct heap_arena *arena, uint64_t counts,
                        uint32_t counts_words, struct error *error)
{
    int code = 0;
    if (arena->batch_count > 0 && arena->batch_count <= HEAP_FEW) {
        code = submit_few(h, arena, counts, counts_words, error);
        arena->batch_count = 0;
        return code;
    }
    for (uint32_t done = 0, count; done < arena->batch_count && !code; done += count) {
        uint32_t room, left = arena->batch_count - done;
        code = ring_room(h, &room, error);
        count = left < room ? left : room;
        THEN(code, submit_some(h, arena, arena->batch + (size_t)done * COMMAND_WORDS, count, counts,
                               counts_words, error));
    }
    arena->batch_count = 0;
    return code;
}

int device_heap_submit(struct device_heap *h, uint64_t counts, uint32_t counts_words,
                       struct error *error)
{
    int code = 0;
    for (unsigned i = 0; i < h->arena_count; i++)
        ALSO(code, submit_arena(h, &h->arenas[i], counts, counts_words, code ? NULL : error));
    return code;
}

/* ---- looking after it ---- */

/* Reads device memory. All submitted commands are done afterwards, so the ring is free. */
static int read_words(struct device_heap *h, uint32_t *words, uint64_t memory, uint64_t offset,
                      uint64_t bytes, struct error *error)
{
    int code = h->ops->read(h->device, words, memory, offset, bytes, error);
    if (!code)
        h->ring_count = 0;
    return code;
}

int device_heap_read_header(struct device_heap *h, uint64_t header[HEAP_HEADER_WORDS],
                            struct error *error)
{
    int code = 0;
    memset(header, 0, HEAP_HEADER_WORDS * sizeof *header);
    for (unsigned i = 0; i < h->arena_count && !code; i++) {
        uint32_t words[HEAP_HEADER_WORDS];
        code = read_words(h, words, h->arenas[i].index.handle, 0, sizeof words, error);
        for (unsigned w = 0; w < HEAP_HEADER_WORDS && !code; w++)
            header[w] =
                w == HEAP_STATUS || w == HEAP_LEVELS ? header[w] | words[w] : header[w] + words[w];
    }
    return code;
}

int device_heap_read_slot(struct device_heap *h, uint32_t slot, uint32_t words[SLOT_WORDS],
                          struct error *error)
{
    return read_words(h, words, h->slots.handle, (uint64_t)slot * SLOT_BYTES, SLOT_BYTES, error);
}

int device_heap_check(struct device_heap *h, uint64_t report[REPORT_WORDS], uint64_t *broken,
                      struct error *error)
{
    int code = 0;
    memset(report, 0, REPORT_WORDS * sizeof *report);
    for (unsigned i = 0; i < h->arena_count && !code; i++) {
        const struct heap_arena *arena = &h->arenas[i];
        uint32_t words[REPORT_WORDS];
        struct heap_arguments a = {0};
        add_memories(&a, h, arena);
        add_memory(&a, h->report.handle);
        add_sizes(&a, h);
        add_word(&a, arena->first_slot);
        add_word(&a, arena->first_slot + h->slots_each);
        code = launch(h, HEAP_KERNEL_CHECK, &a, error);
        THEN(code, read_words(h, words, h->report.handle, 0, sizeof words, error));
        for (unsigned w = 0; w < REPORT_WORDS && !code; w++)
            if (w != REPORT_LARGEST_FREE_WORDS)
                report[w] += words[w];
            else if (words[w] > report[w])
                report[w] = words[w];
    }
    *broken = 0;
    for (unsigned w = 0; w < REPORT_INVARIANTS; w++)
        *broken += report[w];
    return code;
}

const char *device_heap_status_text(char *text, uint32_t status)
{
    static const char *const names[] = {"out of memory", "bad argument", "corrupt",
                                        "index full",    "stale slot",   "empty"};
    strcpy(text, status ? "" : "ok");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (status & 1u << i)
            sprintf(text + strlen(text), "%s%s", *text ? ", " : "", names[i]);
    return text;
}

/* ---- numbers ---- */

uint64_t device_heap_held_bytes(const struct device_heap *h)
{
    uint64_t bytes = h->slots.bytes + h->report.bytes + h->commands.bytes;
    for (unsigned i = 0; i < h->arena_count; i++)
        bytes += h->arenas[i].words.bytes + h->arenas[i].index.bytes;
    return bytes;
}

uint64_t device_heap_launches(const struct device_heap *h)
{
    return h->launches;
}

unsigned device_heap_arena_count(const struct device_heap *h)
{
    return h->arena_count;
}
