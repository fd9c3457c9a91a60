#include <stdlib.h>

#include "run/model_replay.h"

static const char *const releasing_way = "stream:threshold=0";
static const char *const keeping_way = "stream:threshold=max";

/* A pool gets memory from the driver in chunks, multiples of 32 MiB, and gives back chunks that are
 * wholly free: CUDA's, by the reserved bytes that it tells, by where the costs of the atlas begin
 * to rise, and by programs that read back while the pool holds more than their blocks need, and
 * whose next allocation costs no more than before. Pieces are multiples of
 * 512 bytes. */
static const uint64_t chunk_bytes = UINT64_C(32) << 20;
enum { PIECE_BYTES = 512 };

static uint64_t in_steps(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) / step * step;
}

static uint64_t bytes_of(const struct fit_range *chunk)
{
    return chunk->size * PIECE_BYTES;
}

static void drop_chunk(struct model_pool *p, struct fit_range *chunk)
{
    p->reserved_bytes -= bytes_of(chunk);
    fit_close(chunk);
    free(chunk);
}

/* Gives back chunks that are wholly free, the latest first, while more is held than may be kept.
 * That lengthens a wait: by what the atlas sees between a wait behind a free of a pool that keeps
 * nothing and of one that keeps everything. */
static double give_back(struct replay *r, uint64_t keep_bytes)
{
    struct model_pool *p = &r->pool;
    uint64_t before = p->reserved_bytes;
    for (size_t i = p->chunk_count; i-- > 0 && p->reserved_bytes > keep_bytes;)
        if (fit_is_empty(p->chunks[i])) {
            drop_chunk(p, p->chunks[i]);
            p->chunks[i] = NULL;
        }
    size_t kept = 0;
    for (size_t i = 0; i < p->chunk_count; i++)
        if (p->chunks[i])
            p->chunks[kept++] = p->chunks[i];
    p->chunk_count = kept;
    uint64_t bytes = before - p->reserved_bytes;
    return bytes == 0 ? 0
                      : more_than(replay_cost(r, releasing_way, "free_sync", bytes),
                                  replay_cost(r, keeping_way, "free_sync", bytes));
}

double replay_pool_waited(struct replay *r)
{
    return r->pool.is_open ? give_back(r, r->pool.threshold_bytes) : 0;
}

static struct fit_node *find_spare(const struct model_pool *p, uint64_t units)
{
    for (size_t i = 0; i < p->chunk_count; i++) {
        struct fit_node *node = fit_find(p->chunks[i], FIT_TIGHT, units);
        if (node)
            return node;
    }
    return NULL;
}

/* A chunk of at least so many units; NULL where the capacity has no room for it. */
static struct fit_range *get_chunk(struct model_pool *p, uint64_t units)
{
    uint64_t needed = units * PIECE_BYTES, bytes = in_steps(needed, chunk_bytes);
    if (p->capacity_bytes && bytes > p->capacity_bytes - p->reserved_bytes) {
        bytes = (p->capacity_bytes - p->reserved_bytes) / PIECE_BYTES * PIECE_BYTES;
        if (needed > bytes)
            return NULL;
    }
    if (p->chunk_count == p->chunk_capacity) {
        p->chunk_capacity = p->chunk_capacity ? 2 * p->chunk_capacity : 16;
        p->chunks = must_realloc(p->chunks, p->chunk_capacity * sizeof(struct fit_range *));
    }
    struct fit_range *chunk = must_alloc(sizeof *chunk);
    fit_open(chunk, bytes / PIECE_BYTES, &p->nodes);
    p->chunks[p->chunk_count++] = chunk;
    p->reserved_bytes += bytes;
    if (p->peak_bytes < p->reserved_bytes)
        p->peak_bytes = p->reserved_bytes;
    return chunk;
}

/* ---- hooks ---------------------------------------------------------------------------------- */

static int pool_open(void *context, const struct source_pool_options *options, uint64_t most_bytes,
                     uint64_t *pool, struct error *error)
{
    struct replay *r = context;
    (void)error;
    r->pool = (struct model_pool){.is_open = true,
                                  .threshold_bytes = options->release_threshold_bytes,
                                  .capacity_bytes = most_bytes,
                                  .nodes = {.item_bytes = sizeof(struct fit_node)}};
    *pool = 1;
    return 0;
}

/* All pieces are free by then, or will never be asked for. */
static int pool_close(void *context, uint64_t pool, struct error *error)
{
    struct model_pool *p = &((struct replay *)context)->pool;
    (void)pool, (void)error;
    for (size_t i = 0; i < p->chunk_count; i++)
        free(p->chunks[i]);
    free(p->chunks);
    slab_free(&p->nodes);
    *p = (struct model_pool){.is_open = false};
    return 0;
}

/* A piece that is spare is the next one's without a wait: the order of the queue takes care of it,
 * and no command finds it used for the first time. A new chunk is mapped, which the atlas has seen
 * where a pool keeps nothing. */
static int pool_alloc(void *context, uint64_t pool, unsigned queue, uint64_t bytes,
                      uint64_t *handle, struct error *error)
{
    struct replay *r = context;
    struct model_pool *p = &r->pool;
    (void)pool, (void)queue;
    uint64_t units = in_steps(bytes, PIECE_BYTES) / PIECE_BYTES;
    struct fit_node *node = find_spare(p, units);
    bool is_spare = node != NULL;
    if (!is_spare) {
        struct fit_range *chunk = get_chunk(p, units);
        if (!chunk)
            return error_set(error, ERR_OOM, "the model's pool has reached its capacity");
        node = fit_find(chunk, FIT_TIGHT, units);
    }
    const char *way = is_spare ? keeping_way : releasing_way;
    *replay_add_memory(r, handle) = (struct memory){
        .bytes = bytes, .way = way, .used = is_spare, .piece = fit_cut(node, units)};
    replay_driver_call(r, way, "alloc", bytes,
                       replay_cost(r, way, is_spare ? "realloc" : "alloc", bytes));
    return 0;
}

static int pool_free(void *context, uint64_t pool, unsigned queue, uint64_t handle, uint64_t bytes,
                     struct error *error)
{
    struct replay *r = context;
    const char *way = r->memories[handle - 1].way;
    (void)pool, (void)queue, (void)error;
    const char *call = atlas_find(r->model->atlas, way, "free_used") ? "free_used" : "free";
    fit_put_back(r->memories[handle - 1].piece);
    replay_drop_memory(r, handle);
    replay_driver_call(r, way, "free", bytes, replay_cost(r, way, call, bytes));
    return 0;
}

static int pool_trim(void *context, uint64_t pool, uint64_t keep_bytes, struct error *error)
{
    struct replay *r = context;
    (void)pool, (void)error;
    double ns = give_back(r, keep_bytes);
    r->host_ns += ns;
    r->driver_ns += ns;
    return 0;
}

static int pool_reserved(void *context, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                         struct error *error)
{
    const struct replay *r = context;
    (void)pool, (void)error;
    *bytes = r->pool.reserved_bytes;
    *peak_bytes = r->pool.peak_bytes;
    return 0;
}

static int pool_reset_peak(void *context, uint64_t pool, struct error *error)
{
    struct replay *r = context;
    (void)pool, (void)error;
    r->pool.peak_bytes = r->pool.reserved_bytes;
    return 0;
}

const struct source_pool_ops replay_pool_ops = {
    .open = pool_open,
    .close = pool_close,
    .alloc = pool_alloc,
    .free = pool_free,
    .trim = pool_trim,
    .reserved = pool_reserved,
    .reset_peak = pool_reset_peak,
};
