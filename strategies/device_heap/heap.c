/* The host's side of the device heap: its memories, and looking after it. */
#include "device_heap/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "device_heap/state.h"
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

/* ---- memories ---- */

static int take(struct device_heap *h, struct heap_memory *m, uint64_t bytes, struct error *error)
{
    int code = h->ops->alloc(h->device, bytes, &m->handle, error);
    if (code)
        error_prefix(error, "device heap: ");
    else
        m->bytes = bytes;
    return code;
}

static void give(struct device_heap *h, struct heap_memory *m)
{
    if (m->bytes)
        h->ops->free(h->device, m->handle, m->bytes, NULL);
    *m = (struct heap_memory){0};
}

/* A device that cannot pin memory has commands written instead, which waits. */
static int take_ring(struct device_heap *h, struct error *error)
{
    uint64_t bytes = (uint64_t)h->ring_commands * COMMAND_BYTES;
    int code = take(h, &h->commands, bytes, error);
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

static int take_memories(struct device_heap *h, uint64_t arena, struct error *error)
{
    int code = take(h, &h->slots, (uint64_t)h->slot_count * SLOT_BYTES, error);
    if (!code)
        code = take(h, &h->report, REPORT_BYTES, error);
    if (!code)
        code = take_ring(h, error);
    for (unsigned i = 0; i < h->arena_count && !code; i++) {
        if (arena)
            h->arenas[i].words.handle = arena; /* of no bytes: not ours to give back */
        else
            code = take(h, &h->arenas[i].words, (uint64_t)h->words * 4, error);
        if (!code)
            code =
                take(h, &h->arenas[i].index, heap_index_words(h->policy, h->capacity) * 4, error);
    }
    return code;
}

/* ---- open and close ---- */

int device_heap_kernels_build(struct device *device, struct device_heap_kernels **kernels,
                              struct error *error)
{
    enum kernel_language language = device_info(device)->language;
    if (device_info(device)->members > 1)
        return error_set(error, ERR_UNSUPPORTED,
                         "a heap lives on one device, and %s is several: run it on one of them",
                         device_info(device)->id);
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

/* Sizes of what is asked for, checked. */
struct plan {
    uint64_t arenas, words, slots_each, capacity;
};

static int plan(const struct device_info *info, const struct device_heap_options *o, struct plan *p,
                struct error *error)
{
    uint64_t most = words_most * 4;
    if (info->max_alloc_bytes && info->max_alloc_bytes < most)
        most = info->max_alloc_bytes;
    if (o->arena_most_bytes && o->arena_most_bytes < most)
        most = o->arena_most_bytes;
    if (o->arena) /* it is there, in one piece */
        most = o->arena_bytes < words_most * 4 ? o->arena_bytes : 0;
    if (o->arena_bytes == 0 || o->arena_bytes % 4 || most < 4 || o->slots == 0)
        return error_set(error, ERR_USAGE,
                         "device heap: an arena of %llu bytes (%llu at most in one piece) with %u "
                         "slots: bytes are a multiple of 4, and neither is 0",
                         (unsigned long long)o->arena_bytes, (unsigned long long)most, o->slots);
    p->arenas = (o->arena_bytes + most - 1) / most;
    p->words = (o->arena_bytes / 4 + p->arenas - 1) / p->arenas;
    p->slots_each = ((uint64_t)o->slots + p->arenas - 1) / p->arenas;
    p->capacity = o->index_capacity ? o->index_capacity : p->slots_each + 1;
    if (p->slots_each * p->arenas >= HEAP_SLOTS_MAX || p->capacity > HEAP_SLOTS_MAX)
        return error_set(error, ERR_USAGE,
                         "device heap: %u slots and an index of %llu entries: at most %d each",
                         o->slots, (unsigned long long)p->capacity, HEAP_SLOTS_MAX - 1);
    return 0;
}

int device_heap_open(struct device *device, const struct device_heap_options *options,
                     struct device_heap **heap, struct error *error)
{
    struct plan p = {0};
    int code = plan(device_info(device), options, &p, error);
    if (code)
        return code;
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
    code = take_memories(h, options->arena, error);
    if (!code && h->own_kernels)
        code = device_heap_kernels_build(device, &h->kernels, error);
    if (!code)
        code = device_heap_reset(h, error);
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
    if (h->pinned.bytes) { /* pinned memory must not go while a command reads it */
        h->ops->sync(h->device, NULL);
        h->ops->host_memory->free(h->device, MEMORY_PINNED, h->pinned.handle, h->pinned.bytes,
                                  NULL);
    }
    give(h, &h->slots);
    give(h, &h->report);
    give(h, &h->commands);
    for (unsigned i = 0; i < h->arena_count; i++) {
        give(h, &h->arenas[i].words);
        give(h, &h->arenas[i].index);
        free(h->arenas[i].spare_slots);
        free(h->arenas[i].batch);
    }
    if (h->own_kernels)
        device_heap_kernels_free(h->kernels);
    free(h->taken);
    free(h);
}

/* ---- a new start ---- */

int device_heap_reset(struct device_heap *h, struct error *error)
{
    heap_free_all_slots(h);
    int code = h->ops->fill(h->device, h->slots.handle, 0, 0, h->slots.bytes, error);
    for (unsigned i = 0; i < h->arena_count && !code; i++) {
        const struct heap_arena *arena = &h->arenas[i];
        struct heap_arguments a = {0};
        heap_add_memories(&a, h, arena);
        heap_add_sizes(&a, h);
        code = h->ops->fill(h->device, arena->index.handle, 0, 0, arena->index.bytes, error);
        if (!code)
            code = heap_launch(h, HEAP_KERNEL_INIT, 1, &a, error);
    }
    return code;
}

uint64_t device_heap_slots(const struct device_heap *h)
{
    return h->slots.handle;
}

uint64_t device_heap_arena(const struct device_heap *h, uint32_t slot)
{
    return heap_arena_of(h, slot)->words.handle;
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

/* ---- looking after it ---- */

int device_heap_compact(struct device_heap *h, struct error *error)
{
    const struct device_info *info = device_info(h->device);
    unsigned items = info->language == KERNEL_HOST_C                        ? 1
                     : info->max_group_items && info->max_group_items < 256 ? info->max_group_items
                                                                            : 256;
    int code = 0;
    for (unsigned i = 0; i < h->arena_count && !code; i++) {
        struct heap_arguments a = {0};
        heap_add_memories(&a, h, &h->arenas[i]);
        heap_add_sizes(&a, h);
        heap_add_word(&a, items);
        code = heap_launch(h, HEAP_KERNEL_COMPACT, items, &a, error);
    }
    return code;
}

/* Reads; what was submitted is done then, and the ring is free. */
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
        heap_add_memories(&a, h, arena);
        heap_add_memory(&a, h->report.handle);
        heap_add_sizes(&a, h);
        heap_add_word(&a, arena->first_slot);
        heap_add_word(&a, arena->first_slot + h->slots_each);
        code = heap_launch(h, HEAP_KERNEL_CHECK, 1, &a, error);
        if (!code)
            code = read_words(h, words, h->report.handle, 0, sizeof words, error);
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

uint64_t device_heap_waits(const struct device_heap *h)
{
    return h->waits;
}

unsigned device_heap_arena_count(const struct device_heap *h)
{
    return h->arena_count;
}
