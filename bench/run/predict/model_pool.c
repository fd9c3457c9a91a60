#include "run/predict/model_replay.h"

static const char *const releasing_method = "stream:threshold=0";
static const char *const keeping_method = "stream:threshold=max";

/* A pool gets memory from the driver in chunks, multiples of 32 MiB, and gives back chunks that are
 * wholly free: CUDA's, by the reserved bytes that it tells, by where the costs of the atlas begin
 * to rise, and by programs that read back while the pool holds more than their blocks need, and
 * whose next allocation costs no more than before. */
static const uint64_t chunk_bytes = UINT64_C(32) << 20;

/* What goes back lengthens a wait: by what the atlas sees between a wait behind a free of a pool
 * that keeps nothing and of one that keeps everything. */
static double give_back(struct replay *r, uint64_t keep_bytes)
{
    uint64_t bytes = chunks_give_back(&r->pool.chunks, keep_bytes);
    return bytes == 0 ? 0
                      : more_than(replay_cost(r, releasing_method, "free_sync", bytes),
                                  replay_cost(r, keeping_method, "free_sync", bytes));
}

double replay_pool_waited(struct replay *r)
{
    return r->pool.is_open ? give_back(r, r->pool.threshold_bytes) : 0;
}

/* Bytes of the chunk that a pool of this capacity gets for a block; 0: it has no room. */
static uint64_t new_chunk_bytes(const struct model_pool *p, uint64_t needed)
{
    uint64_t bytes = in_steps(needed, chunk_bytes);
    if (!p->capacity_bytes)
        return bytes;
    uint64_t room = p->capacity_bytes - p->chunks.reserved_bytes;
    room -= room % PIECE_BYTES;
    return bytes <= room ? bytes : in_steps(needed, PIECE_BYTES) <= room ? room : 0;
}

/* ---- hooks ---------------------------------------------------------------------------------- */

static int pool_open(void *context, const struct source_pool_options *options, uint64_t most_bytes,
                     uint64_t *pool, struct error *error)
{
    struct replay *r = context;
    (void)error;
    r->pool = (struct model_pool){.is_open = true,
                                  .threshold_bytes = options->release_threshold_bytes,
                                  .capacity_bytes = most_bytes};
    *pool = 1;
    return 0;
}

/* All pieces are free by then, or will never be asked for. */
static int pool_close(void *context, uint64_t pool, struct error *error)
{
    struct model_pool *p = &((struct replay *)context)->pool;
    (void)pool, (void)error;
    chunks_close(&p->chunks);
    p->is_open = false;
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
    struct fit_node *piece = chunks_take(&p->chunks, bytes);
    bool is_spare = piece != NULL;
    if (!is_spare) {
        uint64_t new_bytes = new_chunk_bytes(p, bytes);
        if (new_bytes == 0)
            return error_set(error, ERR_OOM, "the model's pool has reached its capacity");
        piece = chunks_take_new(&p->chunks, bytes, new_bytes);
        if (p->peak_bytes < p->chunks.reserved_bytes)
            p->peak_bytes = p->chunks.reserved_bytes;
    }
    const char *method = is_spare ? keeping_method : releasing_method;
    *replay_add_memory(r, handle) =
        (struct memory){.bytes = bytes, .method = method, .used = is_spare, .piece = piece};
    replay_driver_call(r, method, "alloc", bytes,
                       replay_cost(r, method, is_spare ? "realloc" : "alloc", bytes));
    return 0;
}

static int pool_free(void *context, uint64_t pool, unsigned queue, uint64_t handle, uint64_t bytes,
                     struct error *error)
{
    struct replay *r = context;
    const char *method = r->memories[handle - 1].method;
    (void)pool, (void)queue, (void)error;
    const char *call = atlas_find(r->model->atlas, method, "free_used") ? "free_used" : "free";
    chunks_put_back(r->memories[handle - 1].piece);
    replay_drop_memory(r, handle);
    replay_driver_call(r, method, "free", bytes, replay_cost(r, method, call, bytes));
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
    *bytes = r->pool.chunks.reserved_bytes;
    *peak_bytes = r->pool.peak_bytes;
    return 0;
}

static int pool_reset_peak(void *context, uint64_t pool, struct error *error)
{
    struct replay *r = context;
    (void)pool, (void)error;
    r->pool.peak_bytes = r->pool.chunks.reserved_bytes;
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
