#include "experiment/isosurface/isosurface_march.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"

#include "alloc/registry.h"
#include "device_heap/layout.h"
#include "experiment/isosurface/isosurface.kernel"

/* ---- kernels --------------------------------------------------------------------------------- */

#define FOR_ITEMS for (int64_t item = begin; item < end; item++)
#define MEMORY(i) kernel_memory(a[i])

static void host_field(const union launch_value *a, int64_t begin, int64_t end)
{
    FOR_ITEMS field_item(item, MEMORY(0), a[1].u32, a[2].u32, a[3].u32, a[4].u32, a[5].i32,
                         a[6].i32, a[7].u32);
}

static void host_count(const union launch_value *a, int64_t begin, int64_t end)
{
    FOR_ITEMS count_item(item, MEMORY(0), MEMORY(1), MEMORY(2), a[3].u32);
}

static void host_rows(const union launch_value *a, int64_t begin, int64_t end)
{
    FOR_ITEMS rows_item(item, MEMORY(0), MEMORY(1), a[2].u32);
}

static void host_scan(const union launch_value *a, int64_t begin, int64_t end)
{
    FOR_ITEMS scan_item(item, MEMORY(0), MEMORY(1), a[2].i64, a[3].u32);
}

static void host_take(const union launch_value *a, int64_t begin, int64_t end)
{
    FOR_ITEMS take_item(item, MEMORY(0), MEMORY(1), a[2].i64);
}

static void host_emit(const union launch_value *a, int64_t begin, int64_t end)
{
    FOR_ITEMS emit_item(item, MEMORY(0), a[1].i64, a[2].i64, MEMORY(3), MEMORY(4), MEMORY(5),
                        MEMORY(6), MEMORY(7), MEMORY(8), a[9].u32, a[10].u32, a[11].u32, a[12].u32);
}

static void host_emit_slots(const union launch_value *a, int64_t begin, int64_t end)
{
    FOR_ITEMS emit_slots_item(item, MEMORY(0), MEMORY(1), MEMORY(2), a[3].i64, MEMORY(4), MEMORY(5),
                              MEMORY(6), MEMORY(7), MEMORY(8), a[9].u32, a[10].u32, a[11].u32);
}

static void host_hash(const union launch_value *a, int64_t begin, int64_t end)
{
    FOR_ITEMS hash_item(item, MEMORY(0), MEMORY(1), a[2].i64, a[3].i64, a[4].i64);
}

static const struct source_kernel kernels[MARCH_KERNELS] = {
    [MARCH_FIELD] = {"field",
                     "i32 *field, u32 layer, u32 window, u32 cells, u32 top, i32 middle, "
                     "i32 slope, u32 seed",
                     host_field},
    [MARCH_COUNT] = {"count", "i32 *field, u8 *table, u8 *cell_counts, u32 cells", host_count},
    [MARCH_ROWS] = {"rows", "u8 *cell_counts, u32 *row_counts, u32 cells", host_rows},
    [MARCH_SCAN] = {"scan", "u32 *counts, u32 *sums, i64 first, u32 length", host_scan},
    [MARCH_TAKE] = {"take", "u32 *counts, u32 *from, i64 first", host_take},
    [MARCH_EMIT] = {"emit",
                    "i32 *block, i64 offset, i64 stride, u32 *bases, i32 *field, u8 *table, "
                    "u8 *cell_counts, u32 *row_counts, u32 *slabs, u32 layer, u32 window, "
                    "u32 cells, u32 first",
                    host_emit},
    [MARCH_EMIT_SLOTS] = {"emit_slots",
                          "u32 *slots, i32 *arena, u32 *numbers, i64 first, i32 *field, u8 *table, "
                          "u8 *cell_counts, u32 *row_counts, u32 *slabs, u32 layer, u32 window, "
                          "u32 cells",
                          host_emit_slots},
    [MARCH_HASH] = {"hash", "u64 *sums, i32 *block, i64 offset, i64 count, i64 step", host_hash},
};

int march_launch(struct march *m, enum march_kernel kernel, int64_t items,
                 const union launch_value *arguments, struct error *error)
{
    m->launch_count++;
    return kernels_launch(&m->marcher->built, kernel, items, arguments, error);
}

/* ---- the memories ---------------------------------------------------------------------------- */

enum { MEMORIES = 10 };

struct memory {
    uint64_t *handle, bytes;
};

static void list_memories(struct marcher *r, struct memory list[MEMORIES])
{
    const uint64_t chunks = (uint64_t)r->window * r->window, cells = r->cells, points = cells + 1;
    const struct memory all[MEMORIES] = {
        {&r->table, TABLE_BYTES},
        {&r->field, chunks * points * points * points * 4},
        {&r->cell_counts, chunks * cells * cells * cells},
        {&r->rows, chunks * cells * cells * 4},
        {&r->slabs, chunks * cells * 4},
        {&r->counts, chunks * r->layers * 4},
        {&r->bases, chunks * 4},
        {&r->zeros, chunks * 4},
        {&r->totals, (uint64_t)r->layers * 4},
        {&r->sums, HASH_ITEMS * 8},
    };
    memcpy(list, all, sizeof all);
}

int marcher_open(struct device *device, uint32_t window, uint32_t cells, uint32_t layers,
                 struct marcher *r, struct error *error)
{
    struct memory list[MEMORIES];
    uint8_t table[TABLE_BYTES];
    *r = (struct marcher){
        .device = device, .ops = device->ops, .window = window, .cells = cells, .layers = layers};
    list_memories(r, list);
    int code = kernels_build(device, "isosurface", kernel_text_isosurface, kernels, MARCH_KERNELS,
                             &r->built, error);
    for (size_t i = 0; i < MEMORIES && !code; i++) {
        code = r->ops->alloc(device, list[i].bytes, list[i].handle, error);
        if (!code)
            code = r->ops->fill(device, *list[i].handle, 0, 0, list[i].bytes, error);
    }
    isosurface_tables(table);
    if (!code)
        code = r->ops->write(device, r->table, 0, table, sizeof table, error);
    if (code)
        marcher_close(r);
    return code;
}

void marcher_close(struct marcher *r)
{
    struct memory list[MEMORIES];
    list_memories(r, list);
    for (size_t i = 0; i < MEMORIES; i++)
        if (*list[i].handle)
            r->ops->free(r->device, *list[i].handle, list[i].bytes, NULL);
    if (r->built.program)
        kernels_unbuild(&r->built);
}

/* ---- a march --------------------------------------------------------------------------------- */

int march_open(struct marcher *marcher, const struct isosurface_method *method,
               const char *strategy, const struct isosurface_field *field, uint32_t window,
               uint32_t layers, struct march *m, struct error *error)
{
    const struct allocator_ops *ops;
    struct option_values values;
    int code = 0;
    *m = (struct march){.marcher = marcher,
                        .field = *field,
                        .window = window,
                        .cells = marcher->cells,
                        .layers = layers,
                        .method = method};
    m->source = device_source(marcher->device, marcher->capacity_bytes);
    m->chunks = must_alloc((size_t)window * window * window * sizeof *m->chunks);
    m->counts = must_alloc((size_t)window * window * sizeof *m->counts);
    if (method->uses_allocator) {
        code = allocator_parse(strategy, &ops, &values, error);
        if (!code)
            code = allocator_open(&m->allocator, ops, &values, &m->source, error);
        if (code)
            m->allocator.ops = NULL;
    }
    return code || !method->open ? code : method->open(m, error);
}

void march_close(struct march *m)
{
    if (m->allocator.ops)
        for (uint32_t i = 0; i < m->window * march_chunks(m); i++)
            march_free(m, &m->chunks[i], NULL);
    if (m->method->close)
        m->method->close(m);
    if (m->allocator.ops)
        allocator_close(&m->allocator);
    free(m->chunks);
    free(m->counts);
    m->chunks = NULL;
    m->counts = NULL;
}

/* Field, triangles of each cell, and from them upwards where those of each row and slab of cells
 * begin, and how many a chunk has. */
static int count_layer(struct march *m, uint32_t layer, struct error *error)
{
    const struct marcher *r = m->marcher;
    const uint32_t cells = m->cells, points = cells + 1;
    const int64_t chunks = march_chunks(m), first = chunks * layer;
    const union launch_value field[] = {
        {.memory = r->field},    {.u32 = layer},         {.u32 = m->window},
        {.u32 = cells},          {.u32 = m->field.top},  {.i32 = m->field.middle},
        {.i32 = m->field.slope}, {.u32 = m->field.seed},
    };
    const union launch_value count[] = {
        {.memory = r->field}, {.memory = r->table}, {.memory = r->cell_counts}, {.u32 = cells}};
    const union launch_value rows[] = {
        {.memory = r->cell_counts}, {.memory = r->rows}, {.u32 = cells}};
    const union launch_value slabs[] = {
        {.memory = r->rows}, {.memory = r->slabs}, {.i64 = 0}, {.u32 = cells}};
    const union launch_value sums[] = {
        {.memory = r->slabs}, {.memory = r->counts}, {.i64 = first}, {.u32 = cells}};
    int code = march_launch(m, MARCH_FIELD, chunks * points * points * points, field, error);
    if (!code)
        code = march_launch(m, MARCH_COUNT, chunks * cells * cells * cells, count, error);
    if (!code)
        code = march_launch(m, MARCH_ROWS, chunks * cells * cells, rows, error);
    if (!code)
        code = march_launch(m, MARCH_SCAN, chunks * cells, slabs, error);
    return code ? code : march_launch(m, MARCH_SCAN, chunks, sums, error);
}

int march_frame(struct march *m, uint32_t layer, struct error *error)
{
    m->readback_ns = m->memory_ns = 0;
    int code = layer < m->window ? 0 : m->method->destroy(m, layer - m->window, error);
    if (!code)
        code = count_layer(m, layer, error);
    return code ? code : m->method->create(m, layer, error);
}

int march_emit(struct march *m, uint64_t memory, uint64_t offset_words, uint64_t stride_words,
               uint64_t bases, uint32_t layer, uint32_t first, uint32_t count, struct error *error)
{
    const struct marcher *r = m->marcher;
    const union launch_value arguments[] = {
        {.memory = memory},
        {.i64 = (int64_t)offset_words},
        {.i64 = (int64_t)stride_words},
        {.memory = bases},
        {.memory = r->field},
        {.memory = r->table},
        {.memory = r->cell_counts},
        {.memory = r->rows},
        {.memory = r->slabs},
        {.u32 = layer},
        {.u32 = m->window},
        {.u32 = m->cells},
        {.u32 = first},
    };
    const int64_t volume = (int64_t)m->cells * m->cells * m->cells;
    return march_launch(m, MARCH_EMIT, count * volume, arguments, error);
}

int march_read(struct march *m, uint32_t *words, uint64_t memory, uint64_t first, uint32_t count,
               struct error *error)
{
    const struct marcher *r = m->marcher;
    const uint64_t began = clock_ns();
    int code = r->ops->read(r->device, words, memory, first * 4, count * 4ull, error);
    m->readback_ns += clock_ns() - began;
    return code;
}

static const char chunk_tag[] = "chunk";

int march_alloc(struct march *m, struct chunk *chunk, uint64_t bytes, struct error *error)
{
    const uint64_t alignment = m->source.alignment < 256 ? m->source.alignment : 256;
    const struct alloc_request request = {.size = bytes, .alignment = alignment, .tag = chunk_tag};
    const uint64_t began = clock_ns();
    int code = allocator_alloc(&m->allocator, &request, &chunk->block);
    m->memory_ns += clock_ns() - began;
    if (code)
        return error_set(error, code, "%s", m->source.error.text);
    chunk->bytes = bytes;
    return 0;
}

int march_free(struct march *m, struct chunk *chunk, struct error *error)
{
    const uint64_t began = clock_ns(), bytes = chunk->bytes;
    if (!bytes)
        return 0;
    chunk->bytes = 0;
    int code = allocator_free(&m->allocator, &chunk->block, chunk_tag, bytes);
    m->memory_ns += clock_ns() - began;
    return code ? error_set(error, code, "%s", m->source.error.text) : 0;
}

/* ---- checks ---------------------------------------------------------------------------------- */

int march_hash_layer(struct march *m, uint32_t layer, uint32_t *counts, struct error *error)
{
    struct marcher *r = m->marcher;
    const uint32_t chunks = march_chunks(m);
    int code =
        r->ops->read(r->device, counts, r->counts, (uint64_t)layer * chunks * 4, chunks * 4, error);
    for (uint32_t c = 0; c < chunks && !code; c++) {
        uint64_t memory = 0, offset_words = 0;
        code = m->method->locate(m, layer, c, counts, &memory, &offset_words, error);
        const union launch_value arguments[] = {{.memory = r->sums},
                                                {.memory = memory},
                                                {.i64 = (int64_t)offset_words},
                                                {.i64 = counts[c]},
                                                {.i64 = HASH_ITEMS}};
        if (!code && counts[c])
            code = march_launch(m, MARCH_HASH, HASH_ITEMS, arguments, error);
    }
    return code;
}

int march_take_hash(struct marcher *r, uint64_t *hash, struct error *error)
{
    uint64_t sums[HASH_ITEMS];
    int code = r->ops->read(r->device, sums, r->sums, 0, sizeof sums, error);
    if (!code)
        code = r->ops->fill(r->device, r->sums, 0, 0, sizeof sums, error);
    *hash = 0;
    for (size_t i = 0; i < HASH_ITEMS && !code; i++)
        *hash += sums[i];
    return code;
}

int march_read_chunk(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                     int32_t *triangles, struct error *error)
{
    struct marcher *r = m->marcher;
    uint64_t memory = 0, offset_words = 0;
    int code = m->method->locate(m, layer, chunk, counts, &memory, &offset_words, error);
    return code || !counts[chunk] ? code
                                  : r->ops->read(r->device, triangles, memory, offset_words * 4,
                                                 (uint64_t)counts[chunk] * TRIANGLE_BYTES, error);
}
