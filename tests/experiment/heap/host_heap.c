/* The kernels' text compiled as C once more, as functions. */
#include "tests/experiment/heap/host_heap.h"

#include <stdlib.h>

#include "base/arena.h"
#include "experiment/heap/host_text.h"

void host_heap_open(struct host_heap *h)
{
    h->index = must_alloc(heap_index_words(h->policy, h->capacity) * sizeof *h->index);
    h->arena = must_alloc((uint64_t)h->words * sizeof *h->arena);
    h->slots = must_alloc((uint64_t)h->slot_count * SLOT_WORDS * sizeof *h->slots);
    host_heap_init(h);
}

void host_heap_close(struct host_heap *h)
{
    free(h->index);
    free(h->arena);
    free(h->slots);
}

void host_heap_init(const struct host_heap *h)
{
    heap_init(h->index, h->arena, h->slots, h->words, h->capacity, h->slot_count, h->policy,
              h->padding);
}

void host_heap_ops(const struct host_heap *h, const uint32_t *commands, uint32_t command_count,
                   const uint32_t *counts, uint32_t counts_words)
{
    heap_ops(h->index, h->arena, h->slots, counts, h->words, h->capacity, h->slot_count, h->policy,
             h->padding, counts_words, command_count, commands, 0);
}

void host_heap_check(const struct host_heap *h, uint32_t report[REPORT_WORDS])
{
    heap_check(h->index, h->arena, h->slots, report, h->words, h->capacity, h->slot_count,
               h->policy, h->padding);
}
