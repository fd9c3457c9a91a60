#include "tests/device_heap/fake_heap.h"

#include <stdlib.h>

#include "alloc/source_heap.h"
#include "base/arena.h"
#include "device_heap/heap_kernels.h"

struct fake_heap {
    struct fake_heap *next;
    struct host_heap words;
    uint32_t *spare_slots;
    uint32_t spare_count;
};

struct fake_heap *fake_heap_open(struct fake_heaps *heaps, const struct source_heap_options *o)
{
    struct fake_heap *h = must_alloc(sizeof *h);
    uint32_t slots = (uint32_t)o->block_count;
    h->words = (struct host_heap){
        .words = (uint32_t)(o->arena_bytes / 4),
        .capacity = slots + 1,
        .slot_count = slots,
        .policy = o->policy,
        .padding = o->padding,
    };
    h->words.index = must_alloc(heap_index_words(h->words.policy, slots + 1) * 4);
    h->words.arena = must_alloc(o->arena_bytes);
    h->words.slots = must_alloc((uint64_t)slots * SLOT_WORDS * 4);
    h->spare_slots = must_alloc(slots * sizeof *h->spare_slots);
    while (h->spare_count < slots) {
        h->spare_slots[h->spare_count] = h->spare_count;
        h->spare_count++;
    }
    host_heap_init(&h->words);
    h->next = heaps->first;
    heaps->first = h;
    return h;
}

void fake_heap_close(struct fake_heaps *heaps, struct fake_heap *heap)
{
    struct fake_heap **link = &heaps->first;
    while (*link != heap)
        link = &(*link)->next;
    *link = heap->next;
    free(heap->words.index);
    free(heap->words.arena);
    free(heap->words.slots);
    free(heap->spare_slots);
    free(heap);
}

static bool run(struct fake_heap *h, uint32_t what, uint32_t count, uint32_t stride)
{
    const uint32_t command[COMMAND_WORDS] = {what, count, stride};
    uint32_t failed = h->words.index[HEAP_FAILED];
    host_heap_ops(&h->words, command, 1, NULL, 0);
    return h->words.index[HEAP_FAILED] == failed;
}

bool fake_heap_free(struct fake_heap *h, uint64_t block)
{
    h->spare_slots[h->spare_count++] = (uint32_t)block;
    return run(h, (uint32_t)HEAP_FREE | (uint32_t)block, 0, 0);
}

bool fake_heap_alloc(struct fake_heap *h, uint64_t bytes, uint64_t alignment, uint64_t *block,
                     uint64_t *offset)
{
    uint32_t slot = h->spare_slots[--h->spare_count];
    if (!run(h, (uint32_t)HEAP_ALLOC | slot, (uint32_t)((bytes + alignment - 1) / alignment),
             (uint32_t)(alignment / 4))) {
        fake_heap_free(h, slot);
        return false;
    }
    *block = slot;
    *offset = h->words.slots[(size_t)slot * SLOT_WORDS + SLOT_INDEX] * alignment;
    return true;
}

uint64_t fake_heap_check(const struct fake_heap *h)
{
    uint32_t report[REPORT_WORDS];
    uint64_t broken = 0;
    host_heap_check(&h->words, 0, h->words.slot_count, report);
    for (unsigned i = 0; i < REPORT_INVARIANTS; i++)
        broken += report[i];
    return broken;
}
