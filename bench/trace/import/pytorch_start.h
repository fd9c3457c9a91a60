/* The state of PyTorch's allocator when a recording began: the segments and mapped ranges that it
 * had, and the blocks that lived.
 *
 * The entries are looked at once, forwards. The first one that concerns an address says whether
 * something was there: a free without an alloc, a segment_free without a segment_alloc, and an
 * unmap without a map. What the snapshot ends with, and no entry made, was there too. The memory
 * that this takes grows with the distinct addresses, and not with the entries.
 *
 * Entries and frees have requested sizes. The granted size is known of a block that lives at the
 * end, and of one after which another was allocated while it lived: that one began where the free
 * memory did. Not so in an expandable segment, where the free memory may have been unmapped. Others
 * have what the allocator rounds to.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Expandable segments begin 9/8 of the device's memory apart. */
#define PYTORCH_SEGMENT_DISTANCE_BYTES (UINT64_C(16) << 30)

/* Memory from the driver. */
struct start_memory {
    uint64_t address, bytes;
    uint64_t stream;
    unsigned pool;           /* number of the private pool; 0: the common one */
    bool is_expandable;      /* mapped to a range of addresses */
    bool is_small, is_large; /* for blocks of up to 1 MiB, for larger ones; neither: unknown */
    bool was;                /* when the recording began */
};

struct start_block {
    uint64_t address, requested, granted, stream; /* granted 0: unknown */
    uint64_t first, last; /* numbers of its first entry, and of the one that ended it */
    uint64_t latest;      /* number of the latest entry of its address */
    unsigned pool;
    bool was, is_used, lives;
    bool is_within;                  /* after start_find: memory of the start */
    const struct pytorch_call *site; /* borrowed; or NULL */
};

/* All zeros: nothing is known. */
struct start {
    struct start_block *blocks; /* a hash table by address, then sorted */
    uint64_t block_count, block_capacity;
    struct start_memory *memories; /* segments by address; parts of expandable ones */
    unsigned memory_count, memory_capacity;
    uint64_t entry; /* number of the current entry, from 1 on */
    bool is_empty;  /* after start_find: nothing was there */
    /* The first place where the log contradicts itself. */
    struct start_contradiction {
        const char *what;     /* NULL: there is none */
        uint64_t entry;       /* its number; 0: the segments of the end */
        uint64_t other_entry; /* that of the one which it contradicts; 0: the start */
        uint64_t address;
    } contradiction;
};

enum start_act {
    START_ALLOC,   /* a block is allocated */
    START_GIVE,    /* the program gives it up; commands may still use it */
    START_END,     /* it is free */
    START_SEGMENT, /* the driver gives a segment */
    START_RELEASE, /* and takes it back */
    START_MAP,
    START_UNMAP,
    START_NOTHING, /* the entry is none of these */
};

/* The next entry. */
void start_look(struct start *start, enum start_act act, uint64_t address, uint64_t bytes,
                uint64_t stream, unsigned pool);
/* After the entries: a segment of the end, and a block of the end that is not free. */
void start_final_memory(struct start *start, const struct start_memory *memory);
void start_final_block(struct start *start, const struct start_block *block);
/* Finds the state: what has `was` set. Then blocks and memories are in the order of their
 * addresses, and blocks have the stream and pool of the segment that they are in. Before the parts
 * of an expandable segment stands one of 0 bytes, where the segment begins. */
void start_find(struct start *start);
void start_free(struct start *start);
