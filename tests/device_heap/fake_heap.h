/* A device heap for fake sources: its kernels run on the host, over words that stand for the memory
 * of the fake. */
#ifndef GAMUT_TESTS_DEVICE_HEAP_FAKE_HEAP_H
#define GAMUT_TESTS_DEVICE_HEAP_FAKE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct source_heap_options;

/* The heaps of a fake source, as a list. Zero-initialise it. */
struct fake_heaps {
    struct fake_heap *first;
    unsigned begun; /* batches that were begun and not ended */
};

struct fake_heap *fake_heap_open(struct fake_heaps *heaps, const struct source_heap_options *o);
void fake_heap_close(struct fake_heaps *heaps, struct fake_heap *heap);
/* Allocates a block; false if there is no room. */
bool fake_heap_alloc(struct fake_heap *heap, uint64_t bytes, uint64_t alignment, uint64_t *block,
                     uint64_t *offset);
/* Frees a block; false if the heap refuses. */
bool fake_heap_free(struct fake_heap *heap, uint64_t block);
uint64_t fake_heap_check(const struct fake_heap *heap);

#endif
