#include "run/model_replay.h"

static const char *const releasing_way = "stream:threshold=0";
static const char *const keeping_way = "stream:threshold=max";

/* A pool gets memory from the driver in steps of 32 MiB: CUDA's, by the reserved bytes that it
 * tells and by where the costs of the atlas begin to rise. */
static const uint64_t step_bytes = UINT64_C(32) << 20;

static uint64_t steps(uint64_t bytes)
{
    return bytes + (step_bytes - bytes % step_bytes) % step_bytes;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The way of the atlas that is like this pool: does it hold, at its most, more than it may keep? */
static const char *way_of(const struct replay *r)
{
    return r->pool.threshold_bytes < r->pool.most_reserved_bytes ? releasing_way : keeping_way;
}

static void hold(struct replay *r, uint64_t bytes)
{
    struct model_pool *p = &r->pool;
    p->reserved_bytes = bytes;
    p->peak_bytes = most(p->peak_bytes, bytes);
    p->most_reserved_bytes = most(p->most_reserved_bytes, bytes);
}

/* What goes back lengthens a wait: by what the atlas sees between a wait behind a free of a pool
 * that keeps nothing and of one that keeps everything. */
static double give_back(struct replay *r, uint64_t keep_bytes)
{
    struct model_pool *p = &r->pool;
    uint64_t kept = most(steps(p->live_bytes), keep_bytes);
    if (p->reserved_bytes <= kept)
        return 0;
    uint64_t bytes = p->reserved_bytes - kept;
    p->reserved_bytes = kept;
    return more_than(replay_cost(r, releasing_way, "free_sync", bytes),
                     replay_cost(r, keeping_way, "free_sync", bytes));
}

double replay_pool_waited(struct replay *r)
{
    return r->pool.is_open ? give_back(r, r->pool.threshold_bytes) : 0;
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

static int pool_close(void *context, uint64_t pool, struct error *error)
{
    struct replay *r = context;
    (void)pool, (void)error;
    r->pool.is_open = false;
    return 0;
}

/* What the pool has spare is taken to be of one piece, and is the next one's without a wait: the
 * order of the queue takes care of it. Anything else is mapped, which the atlas has seen where a
 * pool keeps nothing. */
static int pool_alloc(void *context, uint64_t pool, unsigned queue, uint64_t bytes,
                      uint64_t *handle, struct error *error)
{
    struct replay *r = context;
    struct model_pool *p = &r->pool;
    (void)pool, (void)queue;
    uint64_t needed = p->live_bytes + bytes;
    if (p->capacity_bytes && needed > p->capacity_bytes)
        return error_set(error, ERR_OOM, "the model's pool has reached its capacity");
    bool is_spare = needed <= p->reserved_bytes;
    if (!is_spare) {
        uint64_t reserved = steps(needed);
        bool is_above = p->capacity_bytes && reserved > p->capacity_bytes;
        hold(r, is_above ? p->capacity_bytes : reserved);
    }
    p->live_bytes = needed;
    const char *way = is_spare ? way_of(r) : releasing_way;
    *replay_add_memory(r, handle) = (struct memory){.bytes = bytes, .way = way, .again = is_spare};
    replay_driver_call(r, way, "alloc", bytes,
                       replay_cost(r, way, is_spare ? "realloc" : "alloc", bytes));
    return 0;
}

static int pool_free(void *context, uint64_t pool, unsigned queue, uint64_t handle, uint64_t bytes,
                     struct error *error)
{
    struct replay *r = context;
    const char *way = way_of(r);
    (void)pool, (void)queue, (void)error;
    const char *call = atlas_find(r->model->atlas, way, "free_used") ? "free_used" : "free";
    r->pool.live_bytes -= bytes;
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
