/* Slots, batches of commands, and launches. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "device_heap/state.h"

void heap_free_all_slots(struct device_heap *h)
{
    memset(h->taken, 0, h->slot_count);
    for (unsigned i = 0; i < h->arena_count; i++) {
        struct heap_arena *a = &h->arenas[i];
        a->batch_count = 0;
        a->spare_count = h->slots_each;
        for (uint32_t s = 0; s < h->slots_each; s++) /* the lowest comes first */
            a->spare_slots[s] = a->first_slot + h->slots_each - 1 - s;
    }
}

/* ---- launches ---- */

void heap_add_memory(struct heap_arguments *a, uint64_t memory)
{
    a->kinds[a->count] = ARG_MEMORY;
    a->values[a->count++].memory = memory;
}

void heap_add_word(struct heap_arguments *a, uint32_t word)
{
    a->kinds[a->count] = ARG_U32;
    a->values[a->count++].u32 = word;
}

void heap_add_memories(struct heap_arguments *a, const struct device_heap *h,
                       const struct heap_arena *arena)
{
    heap_add_memory(a, arena->index.handle);
    heap_add_memory(a, arena->words.handle);
    heap_add_memory(a, h->slots.handle);
}

void heap_add_sizes(struct heap_arguments *a, const struct device_heap *h)
{
    heap_add_word(a, h->words);
    heap_add_word(a, h->capacity);
    heap_add_word(a, h->slot_count);
    heap_add_word(a, h->policy);
    heap_add_word(a, h->padding);
}

int heap_launch(struct device_heap *h, enum heap_kernel kernel, unsigned items,
                const struct heap_arguments *a, struct error *error)
{
    const struct launch shape = {.extent = {1, 1, 1}, .rank = 1, .group_items = items};
    h->launches++;
    int code = h->ops->launch(h->device, h->kernels->program, kernel, &shape, a->count, a->kinds,
                              a->values, error);
    if (code)
        error_prefix(error, "device heap: %s: ", heap_kernel_names[kernel]);
    return code;
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
    struct heap_arena *arena = heap_arena_of(h, slot);
    h->taken[slot] = 0;
    arena->spare_slots[arena->spare_count++] = slot;
    add_command(arena, (uint32_t)HEAP_FREE | slot, 0, 0);
    return 0;
}

/* Room in the ring for as many as fit, at least one. */
static int ring_room(struct device_heap *h, uint32_t *room, struct error *error)
{
    int code = 0;
    if (h->ring_count == h->ring_commands) {
        code = h->pinned_words ? h->ops->sync(h->device, error) : 0;
        h->waits += h->pinned_words != NULL;
        h->ring_count = 0;
    }
    *room = h->ring_commands - h->ring_count;
    return code;
}

/* Brings commands to the device: behind those that may still be read. */
static int send(struct device_heap *h, const uint32_t *commands, uint32_t count,
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
    heap_add_memories(a, h, arena);
    heap_add_memory(a, counts);
    heap_add_sizes(a, h);
    heap_add_word(a, counts ? counts_words : 0);
    heap_add_word(a, command_count);
}

static int submit_few(struct device_heap *h, const struct heap_arena *arena, uint64_t counts,
                      uint32_t counts_words, struct error *error)
{
    struct heap_arguments a = {0};
    add_batch(&a, h, arena, counts, counts_words, arena->batch_count);
    for (uint32_t i = 0; i < HEAP_FEW * COMMAND_WORDS; i++)
        heap_add_word(&a, i < arena->batch_count * COMMAND_WORDS ? arena->batch[i] : 0);
    return heap_launch(h, HEAP_KERNEL_FEW, 1, &a, error);
}

static int submit_some(struct device_heap *h, const struct heap_arena *arena,
                       const uint32_t *commands, uint32_t count, uint64_t counts,
                       uint32_t counts_words, struct error *error)
{
    struct heap_arguments a = {0};
    add_batch(&a, h, arena, counts, counts_words, count);
    heap_add_memory(&a, h->commands.handle);
    heap_add_word(&a, h->ring_count);
    int code = send(h, commands, count, error);
    if (!code)
        code = heap_launch(h, HEAP_KERNEL_OPS, 1, &a, error);
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
        if (!code)
            code = submit_some(h, arena, arena->batch + (size_t)done * COMMAND_WORDS, count, counts,
                               counts_words, error);
    }
    arena->batch_count = 0;
    return code;
}

int device_heap_submit(struct device_heap *h, uint64_t counts, uint32_t counts_words,
                       struct error *error)
{
    int code = 0;
    for (unsigned i = 0; i < h->arena_count; i++) {
        int failed = submit_arena(h, &h->arenas[i], counts, counts_words, code ? NULL : error);
        code = code ? code : failed;
    }
    return code;
}
