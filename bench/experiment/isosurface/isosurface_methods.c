/* The methods of getting memory for triangles of which only the device knows how many there are.
 *
 *   worst     room for the most triangles that a chunk can have, from the start
 *   readback  read how many, ask an allocator for each chunk, emit into that
 *   scratch   emit into room for the most that a layer can have, read how many, ask an allocator
 *             for each chunk, copy
 *   batch     sum up the layer on the device, read one number, ask an allocator once, emit
 *   heap      a heap on the device takes the sizes from there: isosurface_heap.c
 *
 * The first three are those of an account of a memory heap in shader code, which gives no numbers
 * (worst-case buffers, reading back, "copy to a maximum tolerance buffer"), and so is heap; batch
 * is what programs that generate work on a GPU do, a scan and one read-back.
 */
#include <string.h>

#include "base/text.h"
#include "experiment/isosurface/isosurface_march.h"

/* What is too large for the device is not tried: a driver may grant what it can't back. */
static int has_room(struct march *m, uint64_t each_bytes, uint64_t count, struct error *error)
{
    const struct marcher *r = m->marcher;
    const struct device_info *info = device_info(r->device);
    uint64_t left = r->ops->free_bytes(r->device);
    char each[32], needed[32], available[32], most[32];
    if (m->source.capacity_bytes && (!left || m->source.capacity_bytes < left))
        left = m->source.capacity_bytes;
    if (each_bytes <= info->max_alloc_bytes && (!left || each_bytes * count <= left / 10 * 9))
        return 0;
    return error_set(error, ERR_UNSUPPORTED,
                     "the worst case is %s, %llu times %s; the device has %s free and gives %s at "
                     "once at most",
                     text_bytes(needed, each_bytes * count), (unsigned long long)count,
                     text_bytes(each, each_bytes), text_bytes(available, left),
                     text_bytes(most, info->max_alloc_bytes));
}

/* Memory beside the allocator's, whose books are those of its source; a limit is for both. */
static int take_memory(struct march *m, uint64_t bytes, uint64_t *memory, struct error *error)
{
    const struct marcher *r = m->marcher;
    int code = r->ops->alloc(r->device, bytes, memory, error);
    if (code)
        return code;
    m->held_bytes += bytes;
    if (m->source.capacity_bytes)
        m->source.capacity_bytes -= bytes;
    return 0;
}

static void give_memory(struct march *m, uint64_t bytes, uint64_t memory)
{
    const struct marcher *r = m->marcher;
    if (memory)
        r->ops->free(r->device, memory, bytes, NULL);
}

/* A chunk has memory of its own where, and only where, it has triangles. */
static int locate_own(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                      uint64_t *memory, uint64_t *offset_words, struct error *error)
{
    const struct chunk *own = march_chunk(m, layer, chunk);
    if (own->bytes != (uint64_t)counts[chunk] * TRIANGLE_BYTES)
        return error_set(error, ERR_WRONG, "chunk %u of layer %u has %llu bytes for %u triangles",
                         chunk, layer, (unsigned long long)own->bytes, counts[chunk]);
    *memory = block_memory(&own->block);
    *offset_words = block_offset(&own->block) / 4;
    return 0;
}

static int destroy_own(struct march *m, uint32_t layer, struct error *error)
{
    int code = 0;
    for (uint32_t c = 0; c < march_chunks(m) && !code; c++)
        code = march_free(m, march_chunk(m, layer, c), error);
    return code;
}

static int read_counts(struct march *m, uint32_t layer, struct error *error)
{
    const uint32_t chunks = march_chunks(m);
    return march_read(m, m->counts, m->marcher->counts, (uint64_t)layer * chunks, chunks, error);
}

/* ---- worst ----------------------------------------------------------------------------------- */

/* A layer is a memory, and a chunk always has the same part of it. */
static uint64_t layer_bytes(const struct march *m)
{
    return march_worst_bytes(m) * march_chunks(m);
}

static int worst_open(struct march *m, struct error *error)
{
    int code = has_room(m, layer_bytes(m), m->window, error);
    for (uint32_t layer = 0; layer < m->window && !code; layer++) {
        struct chunk *first = march_chunk(m, layer, 0);
        code = take_memory(m, layer_bytes(m), &first->block.memory, error);
    }
    return code;
}

static int worst_create(struct march *m, uint32_t layer, struct error *error)
{
    return march_emit(m, march_chunk(m, layer, 0)->block.memory, 0, march_worst_bytes(m) / 4,
                      m->marcher->zeros, layer, 0, march_chunks(m), error);
}

static int worst_destroy(struct march *m, uint32_t layer, struct error *error)
{
    (void)m, (void)layer, (void)error;
    return 0;
}

static int worst_locate(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                        uint64_t *memory, uint64_t *offset_words, struct error *error)
{
    (void)counts, (void)error;
    *memory = march_chunk(m, layer, 0)->block.memory;
    *offset_words = chunk * march_worst_bytes(m) / 4;
    return 0;
}

static void worst_close(struct march *m)
{
    for (uint32_t layer = 0; layer < m->window; layer++)
        give_memory(m, layer_bytes(m), march_chunk(m, layer, 0)->block.memory);
}

static const struct isosurface_method worst = {
    .name = "worst",
    .help = "room for the most triangles that each chunk can have",
    .open = worst_open,
    .create = worst_create,
    .destroy = worst_destroy,
    .locate = worst_locate,
    .close = worst_close,
};

/* ---- readback -------------------------------------------------------------------------------- */

static int readback_create(struct march *m, uint32_t layer, struct error *error)
{
    int code = read_counts(m, layer, error);
    for (uint32_t c = 0; c < march_chunks(m) && !code; c++) {
        struct chunk *chunk = march_chunk(m, layer, c);
        if (!m->counts[c])
            continue;
        code = march_alloc(m, chunk, (uint64_t)m->counts[c] * TRIANGLE_BYTES, error);
        if (!code)
            code = march_emit(m, block_memory(&chunk->block), block_offset(&chunk->block) / 4, 0,
                              m->marcher->zeros, layer, c, 1, error);
    }
    return code;
}

static const struct isosurface_method readback = {
    .name = "readback",
    .help = "read sizes back, ask an allocator for each chunk",
    .uses_allocator = true,
    .create = readback_create,
    .destroy = destroy_own,
    .locate = locate_own,
};

/* ---- scratch --------------------------------------------------------------------------------- */

static int scratch_open(struct march *m, struct error *error)
{
    int code = has_room(m, layer_bytes(m), 1, error);
    return code ? code : take_memory(m, layer_bytes(m), &m->memory, error);
}

static int scratch_create(struct march *m, uint32_t layer, struct error *error)
{
    const struct marcher *r = m->marcher;
    const uint64_t worst_bytes = march_worst_bytes(m);
    int code =
        march_emit(m, m->memory, 0, worst_bytes / 4, r->zeros, layer, 0, march_chunks(m), error);
    if (!code)
        code = read_counts(m, layer, error);
    for (uint32_t c = 0; c < march_chunks(m) && !code; c++) {
        struct chunk *chunk = march_chunk(m, layer, c);
        const uint64_t bytes = (uint64_t)m->counts[c] * TRIANGLE_BYTES;
        if (!bytes)
            continue;
        code = march_alloc(m, chunk, bytes, error);
        if (!code)
            code = r->ops->copy(r->device, block_memory(&chunk->block), block_offset(&chunk->block),
                                m->memory, c * worst_bytes, bytes, error);
        m->copy_bytes += bytes;
    }
    return code;
}

static void scratch_close(struct march *m)
{
    give_memory(m, layer_bytes(m), m->memory);
}

static const struct isosurface_method scratch = {
    .name = "scratch",
    .help = "emit into a worst case, read sizes back, ask an allocator, copy",
    .uses_allocator = true,
    .open = scratch_open,
    .create = scratch_create,
    .destroy = destroy_own,
    .locate = locate_own,
    .close = scratch_close,
};

/* ---- batch ----------------------------------------------------------------------------------- */

static int batch_create(struct march *m, uint32_t layer, struct error *error)
{
    const struct marcher *r = m->marcher;
    const int64_t chunks = march_chunks(m);
    const union launch_value take[] = {
        {.memory = r->bases}, {.memory = r->counts}, {.i64 = chunks * layer}};
    const union launch_value scan[] = {
        {.memory = r->bases}, {.memory = r->totals}, {.i64 = layer}, {.u32 = (uint32_t)chunks}};
    struct chunk *all = march_chunk(m, layer, 0);
    uint32_t total;
    int code = march_launch(m, MARCH_TAKE, chunks, take, error);
    if (!code)
        code = march_launch(m, MARCH_SCAN, 1, scan, error);
    if (!code)
        code = march_read(m, &total, r->totals, layer, 1, error);
    if (code || !total)
        return code;
    code = march_alloc(m, all, (uint64_t)total * TRIANGLE_BYTES, error);
    return code ? code
                : march_emit(m, block_memory(&all->block), block_offset(&all->block) / 4, 0,
                             r->bases, layer, 0, (uint32_t)chunks, error);
}

static int batch_destroy(struct march *m, uint32_t layer, struct error *error)
{
    return march_free(m, march_chunk(m, layer, 0), error);
}

static int batch_locate(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                        uint64_t *memory, uint64_t *offset_words, struct error *error)
{
    const struct chunk *all = march_chunk(m, layer, 0);
    uint64_t before = 0, total = 0;
    for (uint32_t c = 0; c < march_chunks(m); c++) {
        before += c < chunk ? counts[c] : 0;
        total += counts[c];
    }
    if (all->bytes != total * TRIANGLE_BYTES)
        return error_set(error, ERR_WRONG, "layer %u has %llu bytes for %llu triangles", layer,
                         (unsigned long long)all->bytes, (unsigned long long)total);
    *memory = block_memory(&all->block);
    *offset_words = block_offset(&all->block) / 4 + before * TRIANGLE_WORDS;
    return 0;
}

static const struct isosurface_method batch = {
    .name = "batch",
    .help = "sum up a layer, read one size back, ask an allocator once",
    .uses_allocator = true,
    .create = batch_create,
    .destroy = batch_destroy,
    .locate = batch_locate,
};

/* ---- the list -------------------------------------------------------------------------------- */

const struct isosurface_method *const isosurface_methods[] = {&worst, &readback,        &scratch,
                                                              &batch, &isosurface_heap, NULL};

const struct isosurface_method *isosurface_find_method(const char *name)
{
    for (const struct isosurface_method *const *method = isosurface_methods; *method; method++)
        if (strcmp((*method)->name, name) == 0)
            return *method;
    return NULL;
}
