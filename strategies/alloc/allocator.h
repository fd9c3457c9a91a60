/* The interface of an allocator strategy, and the service through which the harness calls one.
 *
 * A strategy is one file that uses this header, the source*.h headers and bench/base/ alone, so
 * that it can be lifted into a runtime: its head comment names the files that it needs. It fills in
 * one `const struct allocator_ops` and has a line in list.h. registry.h finds it by name.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "alloc/source.h"
#include "base/error.h"
#include "base/options.h"

enum { ALLOCATOR_API_VERSION = 7, ALLOCATOR_QUEUES_MAX = 32 };

/* Memory handed out: `size` bytes at `offset` of a memory of the source. */
struct block {
    uint64_t memory; /* the source's handle; 0 in a block of no bytes */
    uint64_t offset; /* bytes; 0 unless the source can split */
    uint64_t size;   /* bytes granted, at least the requested size */
    void *node;      /* belongs to the strategy alone */
    /* allocator_alloc fills in these two; a runtime that calls a strategy directly may ignore them.
     */
    unsigned queue;      /* the queue of the request */
    uint64_t sub_buffer; /* the handle that the source has made for the block; 0: none */
};

/* Commands name a block by (block_memory, block_offset): its sub-buffer and 0, or else its memory
 * and the offset in it. */
static inline uint64_t block_memory(const struct block *block)
{
    return block->sub_buffer ? block->sub_buffer : block->memory;
}
static inline uint64_t block_offset(const struct block *block)
{
    return block->sub_buffer ? 0 : block->offset;
}

/* The most bytes of a request: 1 EiB, which no device has. Below it no sum of a few sizes and no
 * rounding up overflows 64 bits, so strategies need not check theirs. */
#define ALLOCATOR_MOST_BYTES (UINT64_C(1) << 60)

/* allocator_alloc refuses a request that does not keep these bounds; a runtime that calls a
 * strategy directly keeps them itself. */
struct alloc_request {
    uint64_t size;      /* bytes, from 1 to ALLOCATOR_MOST_BYTES */
    uint64_t alignment; /* alignment of the block's offset, in bytes: a power of two, at most the
                         * source's */
    const char *tag;    /* the statically unique label of the allocation site; compare by pointer */
    unsigned queue;     /* the in-order queue whose commands use the block; below
                         * ALLOCATOR_QUEUES_MAX. A caller that lets another queue use it waits for
                         * that queue before the free. */
};

/* A block is freed while commands of its queue may still use it. The next owner on the same queue
 * comes after them; commands of other queues are not ordered with them. So freed memory must not
 * reach another queue without a wait. How a strategy ensures that: */
enum queue_safety {
    QUEUES_APART,  /* each queue has an instance of the strategy, which knows of one queue only.
                    * Its memory reaches another queue through the source alone */
    QUEUES_WITHIN, /* one instance, which hands a block out again only on the queue it came from */
    QUEUES_SOURCE, /* one instance, which holds nothing. All freed memory goes to the source, which
                    * waits for commands that use it, defers the release, or keeps the order */
    QUEUES_UNSAFE, /* not safe across queues; only for harness_only strategies */
};

/* A block that lives when a strategy starts in the middle of a program. */
struct adopted_block {
    uint64_t address, requested;
    uint64_t granted;    /* 0: unknown */
    struct block *block; /* filled in */
};

/* Memory of the driver then, and its blocks in the order of their addresses. */
struct adopted_memory {
    uint64_t address, bytes;
    unsigned queue;
    bool is_mapped;      /* to a range of addresses; of 0 bytes: where such a range begins */
    uint64_t age;        /* searches for which it had been free; 0: unknown, or blocks live in it */
    uint64_t part_bytes; /* of a begin: the bytes that are mapped at a time */
    struct adopted_block *blocks;
    size_t block_count;
};

/* The source of a policy, or of a part of it. A field that is not known is NULL, or 0. */
struct allocator_origin {
    const char *what; /* required: the policy's name, and which part of it */
    const char *repository, *file,
        *commit;   /* the revision that was followed: "owner/name", a path */
    unsigned year; /* of the commit, or of the publication */
};

struct allocator_ops {
    int version;                            /* ALLOCATOR_API_VERSION */
    const char *name;                       /* as on the command line */
    const char *summary;                    /* one line for `gamut list` */
    const struct allocator_origin *origins; /* whose policy this is; ends with an empty one */
    const struct option_spec *options;      /* NULL-terminated table, or NULL */
    enum queue_safety queues; /* the default, QUEUES_APART, is safe for any strategy */
    bool when_named;          /* (optional) runs of programs that choose no strategy leave it out */
    bool harness_only;        /* (optional) measures the harness; runs only when it is named */
    /* (optional) alloc does not give back spare memory when the source refuses. Instead all
     * instances are trimmed, those of other queues too, and alloc is asked once more. */
    bool trims_together;
    bool opens_pool; /* (optional) all memory of its source comes from a pool that it opens */
    /* (optional) It needs a plan of its caller's (planned/plans.h); runs only when it is named. */
    bool serves_plan;

    /* Required. Creates the strategy's state over a source that outlives it and that only instances
     * of the same strategy share. On failure the reason is in source->error. */
    int (*init)(struct source *source, const struct option_values *options, void **state);
    /* Required. 0 or a negative code. When the source returns ERR_OOM, the strategy gives back its
     * spare memory and asks again before it fails, unless it trims_together. Live blocks stay as
     * they are. */
    int (*alloc)(void *state, const struct alloc_request *request, struct block *block);
    /* Required. Takes back a block that alloc filled in; `tag` is that of the request. 0, or the
     * driver's failure; the block is gone either way. */
    int (*free)(void *state, const struct block *block, const char *tag);
    /* (optional) The program begins a phase of this name, such as an iteration. */
    void (*mark)(void *state, const char *name);
    /* (optional) Before the first request: takes a memory from the source, and has its blocks live.
     * The memories come in the order of their addresses. ERR_UNSUPPORTED: the strategy never has
     * such a state; the caller ends it. */
    int (*adopt)(void *state, const struct adopted_memory *memory);
    /* Required. Gives spare memory back to the source. */
    int (*trim)(void *state);
    /* Required. The number of broken invariants: 0 in a sound state. Not timed, may be slow. */
    unsigned (*check)(const void *state);
    /* Required. The bytes that the strategy holds from the source by its own count, live blocks
     * included. Not timed. */
    uint64_t (*reserved)(const void *state);
    /* Required. Gives everything back; blocks still live are the caller's leak. */
    void (*fini)(void *state);
};

/* The counts that allocator.c keeps for every strategy. */
struct allocator_counts {
    uint64_t alloc_count, free_count;
    uint64_t hit_count;                             /* served without asking the source */
    uint64_t miss_count;                            /* had to ask the source */
    uint64_t requested_bytes, peak_requested_bytes; /* requested sizes of the live blocks */
    uint64_t granted_bytes, peak_granted_bytes;     /* granted sizes of the live blocks */
};

struct allocator {
    const struct allocator_ops *ops;
    struct option_values options;
    struct source *source;
    bool makes_sub_buffers; /* each block gets a handle of its own */
    /* Instances by queue, each made at the queue's first request; only [0] unless QUEUES_APART. */
    void *states[ALLOCATOR_QUEUES_MAX];
    struct allocator_counts counts;
    /* Sums over the allocators of one program, which has one for each of its memory spaces; NULL:
     * the allocator is alone. */
    struct allocator_counts *total;
};

/* The options that every strategy has, in the order of option_values.common. */
enum allocator_option { ALLOCATOR_KIND, ALLOCATOR_HANDLE };

/* ERR_INTERNAL, and the reason, for a strategy that has another version of this interface, lacks a
 * required hook, has more than OPTIONS_MAX options, or is unsafe and not harness_only. */
int allocator_check_ops(const struct allocator_ops *ops, struct error *error);

/* Opens `allocator` over `source`, which must outlive it. First applies the common options (kind,
 * handle) to the source; ERR_UNSUPPORTED if it cannot satisfy them. options == NULL: all zero. */
int allocator_open(struct allocator *allocator, const struct allocator_ops *ops,
                   const struct option_values *options, struct source *source, struct error *error);
/* Ends all instances, which give their memory back. */
void allocator_close(struct allocator *allocator);

/* Fills in *block. A request of 0 bytes gets a block without memory and does not reach the
 * strategy; neither does one of more than ALLOCATOR_MOST_BYTES (ERR_OOM) or with an alignment that
 * the source does not have (ERR_UNSUPPORTED). When the queue's instance is out of memory, the
 * others are trimmed and it is asked again. 0, ERR_OOM or another negative code; the source's error
 * then says why. */
int allocator_alloc(struct allocator *allocator, const struct alloc_request *request,
                    struct block *block);
/* Starts with a memory, before the first request; several come in the order of their addresses.
 * Their blocks count as live, and not as requests. ERR_UNSUPPORTED: the strategy cannot. */
int allocator_adopt(struct allocator *allocator, const struct adopted_memory *memory);
/* Frees a block; `tag` and `requested_bytes` are those of its request. The block is gone even if
 * the driver reports a failure. */
int allocator_free(struct allocator *allocator, const struct block *block, const char *tag,
                   uint64_t requested_bytes);
/* Tells all instances that a phase of the program begins. */
void allocator_mark(struct allocator *allocator, const char *name);
/* Gives the spare memory of all instances back to the source. */
int allocator_trim(struct allocator *allocator);
/* The number of broken invariants of all instances, plus 1 if the bytes that they hold are not
 * those that the source counts. */
unsigned allocator_check(const struct allocator *allocator);
