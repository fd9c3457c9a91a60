/* A judge of the device heap that shares no code with it. It keeps a map of which slot owns which
 * word of the arena, and checks the invariants in the heap's memories one by one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tests/experiment/heap/host_heap.h"

/* The contents that a slot must have. */
struct oracle_slot {
    bool taken;
    uint32_t block, count, stride; /* block 0: nothing was granted */
};

struct heap_oracle {
    struct host_heap heap; /* with guards of GUARD_WORDS words around each memory */
    uint32_t *index_guarded, *arena_guarded, *slots_guarded;
    uint64_t index_words;
    uint32_t *owner; /* for each word: 0 (free), slot + 1 (also of tags), or OWNER_END */
    struct oracle_slot *slots;
    uint32_t live_blocks, live_words, peak_live_words, ops, failed, empty_ops, status;
    char message[300]; /* the first mistake */
};
enum { GUARD_WORDS = 64 };
#define OWNER_END UINT32_MAX

/* Opens an initialised heap, whose arena held random words before. */
void oracle_open(struct heap_oracle *o, enum device_heap_policy policy,
                 enum device_heap_padding padding, uint32_t words, uint32_t capacity,
                 uint32_t slot_count);
void oracle_close(struct heap_oracle *o);

/* The heap carries out one command, which is then judged: false if anything else happened than
 * must, and `message` says what. */
bool oracle_alloc(struct heap_oracle *o, uint32_t slot, uint32_t count, uint32_t stride);
bool oracle_free(struct heap_oracle *o, uint32_t slot);

/* Checks the invariants I1 to I9 in full. */
bool oracle_walk(struct heap_oracle *o);
/* True if no word outside of the heap's memories was written. */
bool oracle_guards(struct heap_oracle *o);

/* The words of the largest free block's payload by the map; 0: none. */
uint32_t oracle_largest_free(const struct heap_oracle *o);
