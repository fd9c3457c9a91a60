/* Prices beside other threads: each of them allocates and frees raw memories of the same size as fast as
 * it can. Drivers serve the threads of a process one after the other, behind a lock.
 *
 *   alloc_beside_N, free_beside_N    beside N other threads
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "run/atlas/atlas_bench.h"

enum { OTHERS_MAX = 3, PAIRS = 12, UNTIMED_PAIRS = 2 };

/* What the threads share. */
struct others {
    struct device *device;
    uint64_t bytes;
    atomic_uint asking; /* threads that have got their first memory */
    atomic_bool stop;
    atomic_bool failed; /* a thread got no memory and asks no more */
};

static void *ask(void *context)
{
    struct others *o = context;
    bool is_first = true;
    while (!atomic_load(&o->stop)) {
        uint64_t memory;
        const int code = o->device->ops->alloc(o->device, o->bytes, &memory, NULL);
        if (!code)
            o->device->ops->free(o->device, memory, o->bytes, NULL);
        if (is_first)
            atomic_fetch_add(&o->asking, 1);
        is_first = false;
        if (code) {
            atomic_store(&o->failed, true);
            break;
        }
    }
    return NULL;
}

/* The first pairs, which find the driver's code cold, are not timed. */
static int time_pairs(struct bench *b, struct cell *cell, struct error *error)
{
    for (int i = 0; i < PAIRS; i++) {
        struct method_block block = {.bytes = cell->bytes};
        TRY(method_alloc(b, cell->subject, &block, error));
        const uint64_t alloc_ns = method_ns(&block);
        TRY(method_free(b, cell->subject, &block, error));
        if (i < UNTIMED_PAIRS)
            continue;
        cell_take(cell, 0, alloc_ns);
        cell_take(cell, 1, method_ns(&block));
    }
    return 0;
}

static int run_beside(struct bench *b, struct cell *cell, unsigned count, struct error *error)
{
    struct others others = {.device = b->device, .bytes = cell->bytes};
    pthread_t threads[OTHERS_MAX];
    unsigned started = 0;
    while (started < count && pthread_create(&threads[started], NULL, ask, &others) == 0)
        started++;
    while (atomic_load(&others.asking) < started)
        ;
    int code = started == count ? time_pairs(b, cell, error)
                                : error_set(error, ERR_INTERNAL, "no more threads can be started");
    atomic_store(&others.stop, true);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (!code && atomic_load(&others.failed))
        code = error_set(error, ERR_OOM, "another thread got no memory");
    return code;
}

static int beside_one(struct bench *b, struct cell *cell, struct error *error)
{
    return run_beside(b, cell, 1, error);
}

static int beside_three(struct bench *b, struct cell *cell, struct error *error)
{
    return run_beside(b, cell, OTHERS_MAX, error);
}

size_t others_cells(const struct bench *b, const struct open_method *raw, struct cell *cells)
{
    static const uint64_t sizes[OTHERS_CELLS_MAX / 2] = {4096, 4 << 20, 64 << 20};
    size_t count = 0;
    for (size_t i = 0; i < OTHERS_CELLS_MAX / 2 && !b->is_synchronous && !b->ops->touch; i++) {
        const struct cell beside = {.method = raw->method->name, .bytes = sizes[i], .subject = raw};
        for (int others = 0; others < 2; others++) {
            struct cell *cell = &cells[count++];
            *cell = beside;
            cell->calls[0] = others ? "alloc_beside_3" : "alloc_beside_1";
            cell->calls[1] = others ? "free_beside_3" : "free_beside_1";
            cell->run = others ? beside_three : beside_one;
        }
    }
    return count;
}
