/* A fake device of several in-order queues over one simulated memory, for tests of which memory
 * allocators may give to which queue, and when.
 *
 * Commands wait in their queues until the test lets one run, from any queue: every order that a
 * real device could choose can happen. In addition, a clock per queue says what must hold: if a
 * granule is given to a queue, the host must have waited for all commands of other queues that use
 * it. A breach is counted even if the commands happen to run in a harmless order.
 *
 * An address is never given out twice, so a command finds the memory that was meant for it even if
 * another block has that memory by then. Memory given back is handed out again as soon as it may
 * be, lowest address first, so that an allocator which gives it back too early is found. The
 * release of a chunk of virtual memory waits for nothing, whatever the driver does otherwise. The
 * pool hands freed memory out again at once in the queue that freed it, and to other queues when
 * the commands before the free are done.
 */
#pragma once

#include <stddef.h>

#include "alloc/source.h"
#include "base/random.h"

enum { FAKE_QUEUE_COUNT = 3, FAKE_GRANULE_BYTES = 256, FAKE_PENDING_MOST = 64 };

/* What the driver does with memory given back while commands still use it. */
enum fake_release {
    RELEASE_WAITS,  /* it waits for all queues, as cuMemFree does */
    RELEASE_DEFERS, /* it keeps the memory until they are done, as clReleaseMemObject does */
    RELEASE_UNSAFE, /* it does neither, which the test must notice */
};

struct fake_command {
    size_t first, count; /* granules by address */
    uint32_t stamp;
    bool writes; /* writes the stamp into all granules; else all of them must still hold it */
};

struct fake_queue {
    struct fake_command pending[FAKE_PENDING_MOST]; /* a ring */
    uint32_t issued, done;
    uint32_t known; /* number of commands that the host has waited for */
};

/* A granule of the memory itself. */
struct fake_granule {
    uint32_t stamp;
    uint32_t last_use[FAKE_QUEUE_COUNT]; /* number of the last command that uses it */
};

struct fake_range {
    uint64_t handle, bytes;
    size_t first, count; /* granules of the memory */
    bool dying;          /* given back, but still used */
    unsigned pool_queue; /* 1 + the queue in whose order it was given to the pool; 0: it was not */
};

struct fake_queues {
    struct source source;
    enum fake_release release;
    struct fake_queue queues[FAKE_QUEUE_COUNT];
    struct fake_granule *granules;
    size_t granule_count;
    uint32_t *memory_at; /* by address in granules: index of the memory's granule plus 1; 0: none */
    size_t next_address;
    struct fake_range *ranges; /* by address */
    size_t range_count, range_capacity;
    unsigned corrupted_count; /* commands that found another command's stamp, or no memory */
    unsigned unordered_count; /* blocks given while another queue may still use them */
    unsigned misuse_count;    /* frees of memory that is not live */
};

/* Opens a fake with this much memory. It must stay where it is until it is closed. */
void fake_queues_open(struct fake_queues *fake, uint64_t bytes, enum fake_release release);
/* Frees what fake_queues_open made. */
void fake_queues_close(struct fake_queues *fake);

/* The address, in granules, of `offset` in a live memory. The test fails if there is none. */
size_t fake_queues_address(const struct fake_queues *fake, uint64_t memory, uint64_t offset);

/* Records that a queue is given granules; counts them as unordered if another queue may still use
 * them. */
void fake_queues_granted(struct fake_queues *fake, unsigned queue, size_t first, size_t count);

/* Appends a command to a queue. If the ring is full, runs the queue's oldest command first. */
void fake_queues_submit(struct fake_queues *fake, unsigned queue, struct fake_command command);
/* Runs the oldest command of a queue, if it has one. */
void fake_queues_run_one(struct fake_queues *fake, unsigned queue);
/* The host waits for a queue. */
void fake_queues_sync(struct fake_queues *fake, unsigned queue);
