/* A fake device of several in-order queues over one simulated memory, for tests of what allocators
 * may hand to whom and when.
 *
 * Commands wait in their queues until the test lets one run, from any queue: every order that a
 * real device could choose can happen. Beside what happens, a clock per queue says what must: a
 * granule given to a queue has to be free of commands of other queues that nobody has waited for. A
 * breach is counted even where the commands happened to run in a harmless order.
 *
 * Addresses are never given out twice, so that a command finds the memory that was meant for it,
 * whoever else has it by then. Memory given back is handed out again as soon as it may be, lowest
 * address first, so that whoever gives it back too early is found. The release of a chunk of
 * virtual memory waits for nothing, whatever the driver does otherwise. The pool hands what was
 * freed to it out again in the order of that queue, and to others when the commands before the free
 * are done.
 */
#ifndef GAMUT_TESTS_FAKE_QUEUES_H
#define GAMUT_TESTS_FAKE_QUEUES_H

#include <stddef.h>

#include "alloc/source.h"
#include "base/random.h"
#include "tests/device_heap/fake_heap.h"

enum { FAKE_QUEUE_COUNT = 3, FAKE_GRANULE_BYTES = 256, FAKE_PENDING_MOST = 64 };

/* What the driver does with memory given back while commands still use it. */
enum fake_release {
    RELEASE_WAITS,  /* it waits for all queues, as cuMemFree does */
    RELEASE_DEFERS, /* it keeps the memory until they are done, as clReleaseMemObject does */
    RELEASE_UNSAFE, /* neither: the test has to notice */
};

struct fake_command {
    size_t first, count; /* granules by address */
    uint32_t stamp;
    bool writes; /* the stamp into all granules; else all of them must still hold it */
};

struct fake_queue {
    struct fake_command pending[FAKE_PENDING_MOST]; /* a ring */
    uint32_t issued, done;
    uint32_t known; /* done for sure: somebody waited */
};

struct fake_granule { /* of the memory itself */
    uint32_t stamp;
    uint32_t last_use[FAKE_QUEUE_COUNT]; /* number of the last command that uses it */
};

struct fake_range {
    uint64_t handle, bytes;
    size_t first, count; /* granules of the memory */
    bool dying;          /* given back, and still used */
    unsigned pool_queue; /* 1 + the queue in whose order it was given to the pool; 0: it was not */
};

struct fake_queues {
    struct source source;
    struct fake_heaps heaps; /* their commands are carried out when they are given: places are the
                              * same as in their turn */
    enum fake_release release;
    struct fake_queue queues[FAKE_QUEUE_COUNT];
    struct fake_granule *granules;
    size_t granule_count;
    uint32_t *memory_at; /* by address, in granules: the granule of the memory plus 1; 0: nothing */
    size_t next_address;
    struct fake_range *ranges; /* by address */
    size_t range_count, range_capacity;
    unsigned corrupted_count; /* commands that found another's stamp, or no memory */
    unsigned unordered_count; /* blocks given while another queue may still use them */
    unsigned misuse_count;    /* frees of what is not live */
};

void fake_queues_open(struct fake_queues *fake, uint64_t bytes, enum fake_release release);
void fake_queues_close(struct fake_queues *fake);

/* The address, in granules, of a place in a live memory; the test fails where there is none. */
size_t fake_queues_address(const struct fake_queues *fake, uint64_t memory, uint64_t offset);

/* Notes that a queue is given granules, and whether another queue may still use them. */
void fake_queues_granted(struct fake_queues *fake, unsigned queue, size_t first, size_t count);

/* Appends a command; runs the queue's oldest where the ring is full. */
void fake_queues_submit(struct fake_queues *fake, unsigned queue, struct fake_command command);
/* Runs the oldest command of a queue, if it has one. */
void fake_queues_run_one(struct fake_queues *fake, unsigned queue);
/* The host waits for a queue. */
void fake_queues_sync(struct fake_queues *fake, unsigned queue);

#endif
