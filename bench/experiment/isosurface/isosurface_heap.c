/* The method `heap`: a heap on the device is told to take the sizes from where the device has put
 * them, and the kernel that emits looks up where its blocks have come to lie. The host never waits,
 * and never learns either. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "device_heap/device_heap.h"
#include "experiment/isosurface/isosurface_march.h"

/* The slots of the chunks of all layers, as emit_slots is told them. They travel through pinned
 * memory, each layer through words of its own, so that nothing waits. */
struct heap {
    struct device_heap *heap;
    uint64_t numbers, bytes; /* device memory */
    uint64_t pinned;         /* handle; 0: the device has none, and numbers are written */
    uint32_t *words;         /* the host's address of it, or plain memory */
};

static int take_numbers(struct march *m, struct heap *h, struct error *error)
{
    const struct marcher *r = m->marcher;
    void *host = NULL;
    h->bytes = (uint64_t)m->layers * march_chunks(m) * 4;
    int code = r->ops->alloc(r->device, h->bytes, &h->numbers, error);
    if (code)
        return code;
    if (r->ops->host_alloc)
        code = r->ops->host_alloc(r->device, HOST_PINNED, h->bytes, &h->pinned, &host, error);
    if (code == ERR_UNSUPPORTED)
        code = 0;
    h->words = host ? host : must_alloc(h->bytes);
    return code;
}

static int heap_open(struct march *m, struct error *error)
{
    const struct marcher *r = m->marcher;
    struct heap *h = m->heap = must_alloc(sizeof *h);
    const struct device_heap_options options = {
        .policy = DEVICE_HEAP_TLSF,
        .padding = DEVICE_HEAP_TIGHT,
        .arena_bytes = r->heap_bytes,
        .slots = (m->window + 1) * march_chunks(m),
    };
    char bytes[32];
    *h = (struct heap){0};
    int code = device_heap_open(r->device, &options, &h->heap, error);
    if (!code && device_heap_arena_count(h->heap) != 1)
        code = error_set(error, ERR_UNSUPPORTED,
                         "%s are more than one arena on this device: ask for a smaller heap",
                         text_bytes(bytes, r->heap_bytes));
    if (!code)
        code = take_numbers(m, h, error);
    if (!code)
        m->held_bytes = device_heap_held_bytes(h->heap) + h->bytes;
    return code;
}

static void heap_close(struct march *m)
{
    struct heap *h = m->heap;
    const struct marcher *r = m->marcher;
    r->ops->sync(r->device, NULL); /* pinned memory must not go while a command reads it */
    if (h->pinned)
        r->ops->host_free(r->device, HOST_PINNED, h->pinned, h->bytes, NULL);
    else
        free(h->words);
    if (h->numbers)
        r->ops->free(r->device, h->numbers, h->bytes, NULL);
    device_heap_close(h->heap);
    free(h);
}

static int send_numbers(struct march *m, uint32_t layer, struct error *error)
{
    const struct heap *h = m->heap;
    const struct marcher *r = m->marcher;
    const uint64_t bytes = march_chunks(m) * 4, offset = layer * bytes;
    return h->pinned ? r->ops->copy(r->device, h->numbers, offset, h->pinned, offset, bytes, error)
                     : r->ops->write(r->device, h->numbers, offset, (char *)h->words + offset,
                                     bytes, error);
}

static int emit(struct march *m, uint32_t layer, struct error *error)
{
    const struct heap *h = m->heap;
    const struct marcher *r = m->marcher;
    const int64_t chunks = march_chunks(m), volume = (int64_t)m->cells * m->cells * m->cells;
    const union launch_value arguments[] = {
        {.memory = device_heap_slots(h->heap)},
        {.memory = device_heap_arena(h->heap, 0)},
        {.memory = h->numbers},
        {.i64 = layer * chunks},
        {.memory = r->field},
        {.memory = r->table},
        {.memory = r->cell_counts},
        {.memory = r->rows},
        {.memory = r->slabs},
        {.u32 = layer},
        {.u32 = m->window},
        {.u32 = m->cells},
    };
    return march_launch(m, MARCH_EMIT_SLOTS, chunks * volume, arguments, error);
}

static int heap_create(struct march *m, uint32_t layer, struct error *error)
{
    struct heap *h = m->heap;
    const uint32_t chunks = march_chunks(m);
    const uint64_t launches = device_heap_launches(h->heap);
    int code = 0;
    for (uint32_t c = 0; c < chunks && !code; c++) {
        struct chunk *chunk = march_chunk(m, layer, c);
        code = device_heap_alloc_counted(h->heap, layer * chunks + c, TRIANGLE_WORDS, &chunk->slot,
                                         error);
        h->words[layer * chunks + c] = chunk->slot;
    }
    if (!code)
        code = send_numbers(m, layer, error);
    if (!code)
        code = device_heap_submit(h->heap, m->marcher->counts, (layer + 1) * chunks, error);
    m->launch_count += device_heap_launches(h->heap) - launches;
    return code ? code : emit(m, layer, error);
}

/* Goes to the device with the allocations that follow. */
static int heap_destroy(struct march *m, uint32_t layer, struct error *error)
{
    struct heap *h = m->heap;
    int code = 0;
    for (uint32_t c = 0; c < march_chunks(m) && !code; c++)
        code = device_heap_free(h->heap, march_chunk(m, layer, c)->slot, error);
    return code;
}

static int heap_locate(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                       uint64_t *memory, uint64_t *offset_words, struct error *error)
{
    const struct heap *h = m->heap;
    uint32_t slot[SLOT_WORDS];
    char bytes[32];
    int code = device_heap_read_slot(h->heap, march_chunk(m, layer, chunk)->slot, slot, error);
    if (code)
        return code;
    if (counts[chunk] && !slot[SLOT_BLOCK])
        return error_set(error, ERR_OOM,
                         "the heap of %s had no room for %u triangles of chunk %u of layer %u: "
                         "give the option heap more",
                         text_bytes(bytes, m->marcher->heap_bytes), counts[chunk], chunk, layer);
    if (!counts[chunk] != !slot[SLOT_BLOCK] || counts[chunk] != slot[SLOT_COUNT])
        return error_set(error, ERR_WRONG,
                         "chunk %u of layer %u has %u triangles, its slot says %u in block %u",
                         chunk, layer, counts[chunk], slot[SLOT_COUNT], slot[SLOT_BLOCK]);
    *memory = device_heap_arena(h->heap, 0);
    *offset_words = (uint64_t)slot[SLOT_INDEX] * slot[SLOT_STRIDE];
    return 0;
}

const struct isosurface_method isosurface_heap = {
    .name = "heap",
    .help = "a heap on the device takes the sizes from there",
    .open = heap_open,
    .create = heap_create,
    .destroy = heap_destroy,
    .locate = heap_locate,
    .close = heap_close,
};
