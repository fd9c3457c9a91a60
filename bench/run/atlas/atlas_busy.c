/* Prices away from rest: of calls while the device works, and of calls whose code and data have
 * left the processor's caches.
 *
 * A memory of each size and method lives once beside queued work, a copy of BUSY_NS:
 *
 *   alloc_busy        made while the copy runs
 *   first_use_busy    launch of the first kernel that uses the memory, while a copy runs
 *   second_use_busy   the same for a second kernel: the part that is no first use
 *   free_busy         made while a copy and a use of the memory are queued, with the wait for them
 *   sync_busy         a wait in the place of that free
 *
 * A kernel that only computes slows no call down; one that moves memory does. So a copy stands for
 * the kernels of programs.
 *
 * A write from the host's memory sweeps the caches, and the calls after it are dearer, the first
 * one most. The method "after_write" has this price; its sizes are those of the write:
 *
 *   launch                      of a kernel that uses memory of before
 *   alloc_K, use_K, free_K      the Kth life of a memory of AFTER_WRITE_BYTES after a write: raw
 *                               allocation, launch of a kernel that uses it, free
 */

#include "run/atlas/atlas_bench.h"

/* ---- while the device works ---- */

enum { BUSY_ALLOC, BUSY_FIRST_USE, BUSY_SECOND_USE, BUSY_FREE, BUSY_SYNC };

/* Long against every call up to 1 GiB. */
enum { BUSY_NS = 300000 };

/* Bytes that the device copies in BUSY_NS, at most what the bench can move. */
int busy_prepare(struct bench *b, struct error *error)
{
    enum { TRIES = 5 };
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < TRIES && !b->is_synchronous; i++) {
        uint64_t began = clock_ns();
        TRY(b->ops->copy(b->device, b->moved[1], 0, b->moved[0], 0, b->moved_bytes, error));
        TRY(bench_sync(b, error));
        const uint64_t ns = bench_end(began);
        least_ns = ns < least_ns ? ns : least_ns;
    }
    b->busy_bytes = b->moved_bytes;
    if (!b->is_synchronous && least_ns > BUSY_NS)
        b->busy_bytes = (uint64_t)((double)b->moved_bytes * BUSY_NS / (double)least_ns);
    return 0;
}

static int queue_copy(struct bench *b, struct error *error)
{
    return b->ops->copy(b->device, b->moved[1], 0, b->moved[0], 0, b->busy_bytes, error);
}

/* Times the launch of a kernel that uses the block while a copy runs; waits afterwards. */
static int launch_busy(struct bench *b, const struct method_block *block, uint64_t *ns,
                       struct error *error)
{
    TRY(queue_copy(b, error));
    uint64_t began = clock_ns();
    TRY(bench_touch(b, block->memory, block->bytes, error));
    *ns = bench_end(began);
    return bench_sync(b, error);
}

/* The uses of a block, and the wait that stands in for its free. A copy and a use are queued when
 * it returns. */
static int use_busy(struct bench *b, const struct method_block *block, uint64_t ns[3],
                    struct error *error)
{
    TRY(launch_busy(b, block, &ns[0], error));
    TRY(launch_busy(b, block, &ns[1], error));
    TRY(queue_copy(b, error));
    TRY(bench_touch(b, block->memory, block->bytes, error));
    uint64_t began = clock_ns();
    TRY(bench_sync(b, error));
    ns[2] = bench_end(began);
    TRY(queue_copy(b, error));
    return bench_touch(b, block->memory, block->bytes, error);
}

static int live_busy(struct bench *b, struct cell *cell, struct error *error)
{
    const struct open_method *o = cell->subject;
    struct method_block block = {.bytes = cell->bytes};
    uint64_t use_ns[3];
    TRY(method_warm_up(b, o, error));
    TRY(queue_copy(b, error));
    TRY(method_alloc(b, o, &block, error));
    const uint64_t alloc_ns = method_ns(&block);
    int code = bench_sync(b, error);
    THEN(code, use_busy(b, &block, use_ns, error));
    ALSO(code, method_free(b, o, &block, code ? NULL : error));
    const uint64_t free_ns = method_ns(&block);
    TRY(code);
    TRY(bench_sync(b, error));
    cell_take(cell, BUSY_ALLOC, alloc_ns);
    cell_take(cell, BUSY_FIRST_USE, use_ns[0]);
    cell_take(cell, BUSY_SECOND_USE, use_ns[1]);
    cell_take_waited(cell, BUSY_FREE, free_ns, use_ns[2]);
    cell_take_waited(cell, BUSY_SYNC, use_ns[2], use_ns[2]);
    return 0;
}

bool busy_cell(const struct bench *b, const struct open_method *open, uint64_t bytes,
               struct cell *cell)
{
    *cell = (struct cell){
        .method = open->method->name,
        .calls = {[BUSY_ALLOC] = "alloc_busy",
                  [BUSY_FIRST_USE] = "first_use_busy",
                  [BUSY_SECOND_USE] = "second_use_busy",
                  [BUSY_FREE] = "free_busy",
                  [BUSY_SYNC] = "sync_busy"},
        .bytes = bytes,
        .run = live_busy,
        .subject = open,
    };
    return !b->is_synchronous && open->method->free_while_used;
}

/* ---- after a write ---- */

static const uint64_t after_write_sizes[] = {4096, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 32 << 20};

static int write_from_host(struct bench *b, uint64_t bytes, struct error *error)
{
    TRY(b->ops->write(b->device, b->moved[0], 0, b->host, bytes, error));
    return bench_sync(b, error);
}

static int launch_after_write(struct bench *b, struct cell *cell, struct error *error)
{
    TRY(write_from_host(b, cell->bytes, error));
    uint64_t began = clock_ns();
    TRY(bench_touch(b, b->moved[1], AFTER_WRITE_BYTES, error));
    cell_take(cell, 0, bench_end(began));
    return bench_sync(b, error);
}

static int life_after_write(struct bench *b, struct cell *cell, size_t call, struct error *error)
{
    struct method_block block = {.bytes = AFTER_WRITE_BYTES};
    TRY(method_alloc(b, cell->subject, &block, error));
    cell_take(cell, call, method_ns(&block));
    uint64_t began = clock_ns();
    int code = bench_touch(b, block.memory, block.bytes, error);
    cell_take(cell, call + 1, bench_end(began));
    ALSO(code, method_free(b, cell->subject, &block, code ? NULL : error));
    cell_take(cell, call + 2, method_ns(&block));
    return code;
}

static int lives_after_write(struct bench *b, struct cell *cell, struct error *error)
{
    TRY(method_warm_up(b, cell->subject, error));
    TRY(launch_after_write(b, cell, error));
    TRY(method_warm_up(b, cell->subject, error));
    TRY(write_from_host(b, cell->bytes, error));
    for (size_t life = 0; life < 3; life++)
        TRY(life_after_write(b, cell, 1 + 3 * life, error));
    return bench_sync(b, error);
}

size_t after_write_cells(const struct bench *b, const struct open_method *raw, struct cell *cells)
{
    size_t count = 0;
    for (size_t i = 0; i < AFTER_WRITES_MAX && !b->is_synchronous; i++)
        if (after_write_sizes[i] <= b->host_bytes && AFTER_WRITE_BYTES <= b->moved_bytes)
            cells[count++] = (struct cell){
                .method = "after_write",
                .calls = {"launch", "alloc_1", "use_1", "free_1", "alloc_2", "use_2", "free_2",
                          "alloc_3", "use_3", "free_3"},
                .bytes = after_write_sizes[i],
                .run = lives_after_write,
                .subject = raw,
                .least_visits = b->options->quick ? 0 : 25, /* a write takes milliseconds */
            };
    return count;
}
