#include "run/execute/device_source.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/source_heap.h"
#include "base/arena.h"
#include "device_heap/heap.h"
#include "device_heap/heap_kernels.h"

/* ---- plain memory ---- */

static int alloc(void *context, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct device *d = context;
    return d->ops->alloc(d, bytes, memory, error);
}

static int touch(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct device *d = context;
    return d->ops->touch(d, memory, bytes, error);
}

static int release(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct device *d = context;
    return d->ops->free(d, memory, bytes, error);
}

static int sync_device(void *context, struct error *error)
{
    struct device *d = context;
    return d->ops->sync(d, error);
}

/* ---- heaps on the device, and where it is asked for a mirror of each on the host ---- */

enum { RING_COMMANDS = 1024, WORD_BYTES = 4 };

struct source_heap {
    struct device_heap *heap;
    unsigned queue;
    bool has_mirror;
    struct host_heap mirror;
};

static int heap_begin(void *context, uint64_t *kernels, struct error *error)
{
    struct device_heap_kernels *k;
    const struct device_info *info = device_info(context);
    if (info->members > 1)
        return error_set(error, ERR_UNSUPPORTED,
                         "a heap on the device is that of one device, %s is a group of %u",
                         info->id, info->members);
    int code = device_heap_kernels_build(context, &k, error);
    if (!code)
        *kernels = (uint64_t)(uintptr_t)k;
    return code;
}

static void heap_end(void *context, uint64_t kernels)
{
    (void)context;
    device_heap_kernels_free((struct device_heap_kernels *)(uintptr_t)kernels);
}

static struct source_heap *heap_of(uint64_t heap)
{
    return (struct source_heap *)(uintptr_t)heap;
}

/* Commands go to the heap's queue; others go to the first one. */
static int use_queue(struct device *d, unsigned queue, struct error *error)
{
    return d->ops->queues ? d->ops->queues->use(d, queue, error) : 0;
}

static int leave_queue(struct device *d, const struct source_heap *h, int code, struct error *error)
{
    int left = h->queue ? use_queue(d, 0, code ? NULL : error) : 0;
    return code ? code : left;
}

/* The arena's words are zeros that no page is taken for until a tag is written there. */
static void open_mirror(struct source_heap *h, const struct device_heap_options *o)
{
    struct device_heap_parts parts = device_heap_parts(h->heap, 0);
    h->has_mirror = true;
    h->mirror = (struct host_heap){
        .words = parts.words,
        .capacity = parts.capacity,
        .slot_count = parts.slot_count,
        .policy = o->policy,
        .padding = o->padding,
    };
    host_heap_open(&h->mirror);
}

static int heap_open(void *context, uint64_t kernels, uint64_t memory, unsigned queue,
                     const struct source_heap_options *options, uint64_t *heap,
                     uint64_t *index_bytes, struct error *error)
{
    const struct device_heap_options o = {
        .policy = options->policy,
        .padding = options->padding,
        .arena_bytes = options->arena_bytes,
        .slots = (uint32_t)options->block_count,
        .ring_commands = RING_COMMANDS,
        .arena = memory,
        .kernels = (struct device_heap_kernels *)(uintptr_t)kernels,
    };
    struct source_heap *h = must_alloc(sizeof *h);
    h->queue = queue;
    int code = queue ? use_queue(context, queue, error) : 0;
    if (!code)
        code = device_heap_open(context, &o, &h->heap, error);
    code = leave_queue(context, h, code, error);
    if (code) {
        device_heap_close(h->heap);
        free(h);
        return code;
    }
    if (options->mirror)
        open_mirror(h, &o);
    *heap = (uint64_t)(uintptr_t)h;
    *index_bytes = device_heap_held_bytes(h->heap);
    return 0;
}

static int heap_close(void *context, uint64_t heap, struct error *error)
{
    (void)context, (void)error;
    struct source_heap *h = heap_of(heap);
    device_heap_close(h->heap);
    host_heap_close(&h->mirror);
    free(h);
    return 0;
}

static void mirror_command(struct source_heap *h, uint32_t what, uint32_t count, uint32_t stride)
{
    const uint32_t command[COMMAND_WORDS] = {
        [COMMAND_DO] = what, [COMMAND_COUNT] = count, [COMMAND_STRIDE] = stride};
    if (h->has_mirror)
        host_heap_ops(&h->mirror, command, 1, NULL, 0);
}

static int give_free(struct source_heap *h, uint32_t slot, struct error *error)
{
    int code = device_heap_free(h->heap, slot, error);
    if (!code)
        mirror_command(h, (uint32_t)HEAP_FREE | slot, 0, 0);
    return code;
}

/* Finds the block of a slot. */
static int learn_place(struct source_heap *h, uint32_t slot, uint32_t words[SLOT_WORDS],
                       struct error *error)
{
    if (!h->has_mirror)
        return device_heap_read_slot(h->heap, slot, words, error);
    memcpy(words, h->mirror.slots + (size_t)slot * SLOT_WORDS, SLOT_WORDS * WORD_BYTES);
    return 0;
}

static int give_alloc(struct source_heap *h, uint64_t bytes, uint64_t alignment, uint64_t *block,
                      uint64_t *offset, struct error *error)
{
    uint32_t slot, words[SLOT_WORDS], stride = (uint32_t)(alignment / WORD_BYTES);
    uint32_t count = (uint32_t)((bytes + alignment - 1) / alignment);
    TRY(device_heap_alloc(h->heap, count, stride, &slot, error));
    mirror_command(h, (uint32_t)HEAP_ALLOC | slot, count, stride);
    int code = device_heap_submit(h->heap, 0, 0, error);
    if (!code)
        code = learn_place(h, slot, words, error);
    if (code || words[SLOT_BLOCK] == 0) {
        int freed = give_free(h, slot, code ? NULL : error);
        return code ? code
               : freed
                   ? freed
                   : error_set(error, ERR_OOM, "the heap on the device has no room for %llu bytes",
                               (unsigned long long)bytes);
    }
    *block = slot;
    *offset = (uint64_t)words[SLOT_INDEX] * alignment;
    return 0;
}

static int heap_alloc(void *context, uint64_t heap, uint64_t bytes, uint64_t alignment,
                      uint64_t *block, uint64_t *offset, struct error *error)
{
    struct source_heap *h = heap_of(heap);
    int code = h->queue ? use_queue(context, h->queue, error) : 0;
    if (!code)
        code = give_alloc(h, bytes, alignment, block, offset, error);
    return leave_queue(context, h, code, error);
}

static int heap_free(void *context, uint64_t heap, uint64_t block, struct error *error)
{
    (void)context;
    return give_free(heap_of(heap), (uint32_t)block, error);
}

/* Submits all commands before the host looks at the heap. */
static int heap_check(void *context, uint64_t heap, uint64_t *broken, struct error *error)
{
    struct source_heap *h = heap_of(heap);
    uint64_t report[REPORT_WORDS], header[HEAP_HEADER_WORDS];
    *broken = 0;
    int code = h->queue ? use_queue(context, h->queue, error) : 0;
    if (!code)
        code = device_heap_submit(h->heap, 0, 0, error);
    if (!code)
        code = device_heap_check(h->heap, report, broken, error);
    if (!code)
        code = device_heap_read_header(h->heap, header, error);
    for (unsigned w = 0; w < HEAP_HEADER_WORDS && !code && h->has_mirror; w++)
        *broken += header[w] != h->mirror.index[w];
    if (!code)
        *broken += (header[HEAP_STATUS] & DEVICE_HEAP_FAILURES & ~DEVICE_HEAP_OUT_OF_MEMORY) != 0;
    return leave_queue(context, h, code, error);
}

static const struct source_heap_ops heap_ops = {
    .begin = heap_begin,
    .end = heap_end,
    .open = heap_open,
    .close = heap_close,
    .alloc = heap_alloc,
    .free = heap_free,
    .check = heap_check,
};

/* ---- the source ---- */

struct source device_source(struct device *device, uint64_t capacity_bytes)
{
    static const struct source_ops lazy = {
        .alloc = alloc, .touch = touch, .free = release, .sync = sync_device};
    static const struct source_ops resident = {
        .alloc = alloc, .free = release, .sync = sync_device};
    const struct device_ops *ops = device->ops;
    const struct device_info *info = device_info(device);
    return (struct source){.ops = ops->touch ? &lazy : &resident,
                           .kinds = ops->host_memory,
                           .sub_buffers = ops->sub_buffers,
                           .pools = ops->pools,
                           .vm = ops->vm,
                           .heaps = &heap_ops,
                           .context = device,
                           .name = info->id,
                           .alignment = info->alignment_bytes,
                           .can_split = info->can_split,
                           .capacity_bytes = capacity_bytes};
}
