/* The words that host and kernels of the device heap agree on. This text is also part of the
 * kernels' source in every language: enumerators alone, no types, no other headers.
 *
 * Everything is stored in 32-bit words. Positions in an arena are words from its start. A block
 * with payload [a, a + S) has three words of tags around it:
 *
 *     a - 2   its number in the index while it is free; HEAP_ALLOCATED | its slot while it is not
 *     a - 1   S
 *     a + S   S
 *
 * so the next block begins at a + S + 3, and the one before ends at a - 3. The arena begins and
 * ends with an allocated block of no payload that has no owner.
 */
#pragma once

/* The choice of a free block for a request; see the kernels' text. */
enum device_heap_policy {
    DEVICE_HEAP_LARGER,
    DEVICE_HEAP_SMALLER,
    DEVICE_HEAP_BEST,
    DEVICE_HEAP_TLSF,
    DEVICE_HEAP_POLICIES
};

/* The number of words of a request of count elements of stride words. */
enum device_heap_padding {
    DEVICE_HEAP_SEED, /* (count + 1) * stride, wherever the block lies */
    DEVICE_HEAP_TIGHT /* count * stride, and the words that align the block where it lies */
};

/* The status word. Bits stay set. */
enum device_heap_status {
    DEVICE_HEAP_OUT_OF_MEMORY = 1, /* no free block was large enough */
    DEVICE_HEAP_BAD_ARGUMENT = 2,  /* no such slot, command or count; a stride of 0; too many
                                    * elements for 32 bits; an arena too small to hold a block */
    DEVICE_HEAP_CORRUPT = 4,       /* tags were overwritten: a kernel wrote out of bounds */
    DEVICE_HEAP_INDEX_FULL = 8,    /* no entry was left for a free block: it stays allocated */
    DEVICE_HEAP_STALE_SLOT =
        16,                 /* a free of a slot that holds nothing, an alloc into a taken one */
    DEVICE_HEAP_EMPTY = 32, /* a count of 0: granted, without memory. No failure */
    DEVICE_HEAP_FAILURES = 31
};

/* A slot of the address buffer. The block's data are its count elements from word index * stride
 * of the arena on; block is 0 where there are none. */
enum device_heap_slot_word {
    SLOT_BLOCK,  /* start of the payload */
    SLOT_INDEX,  /* index of the first element, if the arena is an array of elements */
    SLOT_COUNT,  /* elements asked for */
    SLOT_STRIDE, /* words an element; 0: the slot is not in use */
    SLOT_WORDS
};

/* The words of a command: COMMAND_DO is its kind and slot, the others are an allocation's. */
enum device_heap_command_word { COMMAND_DO, COMMAND_COUNT, COMMAND_STRIDE, COMMAND_WORDS };
enum device_heap_command {
    HEAP_FREE = 1 << 28,
    HEAP_ALLOC = 2 << 28,         /* COMMAND_COUNT elements */
    HEAP_ALLOC_COUNTED = 3 << 28, /* the number is word COMMAND_COUNT of the array of counts */
    HEAP_COMMAND_BITS = 7 << 28,
    HEAP_SLOTS_MAX = 1 << 28,
    HEAP_ALLOCATED = 1 << 30 /* in a block's first tag */
};

/* An arena is at least the two blocks at its ends and one of a word between them. */
enum { HEAP_ARENA_LEAST_WORDS = 10, HEAP_FIRST_BLOCK = 5, HEAP_TAG_WORDS = 3 };

/* The words of the index that are counters. Counts of 32 bits wrap. */
enum device_heap_header_word {
    HEAP_STATUS,
    HEAP_FREE_BLOCKS,
    HEAP_LIVE_BLOCKS,
    HEAP_LIVE_WORDS, /* payload of allocated blocks: padding is in it, tags are not */
    HEAP_PEAK_LIVE_WORDS,
    HEAP_OPS,    /* commands carried out or refused */
    HEAP_FAILED, /* commands refused */
    HEAP_EMPTY_OPS,
    HEAP_VISITS, /* entries of the index that were looked at or moved: the cost of operations */
    HEAP_SPARE,  /* lists: the first entry that was given back; 0: none */
    HEAP_FRESH,  /* lists: number of entries that were ever in use */
    HEAP_LEVELS, /* lists: bit f is set where a list of level f has blocks */
    HEAP_HEADER_WORDS = 16
};

/* The binary heap of `larger` and `smaller`: entry p, from 1 on, is (block, size). */
enum { HEAP_ENTRY_WORDS = 2 };

/* The lists of `best` and `tlsf`: a word of bits and a list for each of the bins of each level;
 * entry p, from 1 on, is (block, size, next, previous). */
enum {
    TLSF_BIN_BITS = 5,
    TLSF_BINS = 1 << TLSF_BIN_BITS,
    TLSF_LEVELS = 32 - TLSF_BIN_BITS + 1,
    TLSF_MASKS = HEAP_HEADER_WORDS,
    TLSF_LISTS = TLSF_MASKS + TLSF_LEVELS,
    TLSF_ENTRIES = TLSF_LISTS + TLSF_LEVELS * TLSF_BINS,
    TLSF_ENTRY_WORDS = 4
};

/* The words that heap_check writes: how often each invariant is broken, and what the walk met. */
enum device_heap_report_word {
    REPORT_TAGS,     /* I1: a block's two sizes are equal */
    REPORT_WALK,     /* I2: blocks follow on each other from the first to the last word */
    REPORT_ADJACENT, /* I3: no two free blocks are neighbours */
    REPORT_ENTRIES,  /* I4: free blocks and entries of the index are each other's */
    REPORT_ORDER,    /* I5: no entry is larger than its parent; bits and bins are right */
    REPORT_COUNTS,   /* I6: live blocks and words are counted right */
    REPORT_FREE,     /* I7: at most one free block more than live ones */
    REPORT_SLOTS,    /* I8: slots and allocated blocks are each other's; data lie inside */
    REPORT_INVARIANTS,
    REPORT_BLOCKS = REPORT_INVARIANTS, /* allocated ones */
    REPORT_FREE_BLOCKS,
    REPORT_FREE_WORDS, /* payload of free blocks */
    REPORT_LARGEST_FREE_WORDS,
    REPORT_WORDS
};
