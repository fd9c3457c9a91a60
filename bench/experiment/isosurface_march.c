/* The march of the window on a device, and the methods of getting memory for triangles whose number
 * only the device knows:
 *
 *   worst     room for the most triangles that a chunk can have, from the start
 *   readback  read the counts, ask an allocator for each chunk, emit into that
 *   scratch   emit into room for the most that a layer can have, read the counts, ask an allocator
 *             for each chunk, copy
 *   batch     sum up the layer on the device, read one number, ask an allocator once, emit
 *   heap      a heap on the device takes the sizes from device memory, and the kernel that emits
 *             looks up the places of its blocks; the host never waits, and learns neither sizes
 *             nor places
 *
 * worst, readback, scratch and heap come from an account of a memory heap in shader code, which
 * gives no numbers (worst-case buffers, reading back, "copy to a maximum tolerance buffer"). batch
 * is the way of programs that generate work on a GPU: a scan and one read-back.
 */
#include "experiment/isosurface.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/text.h"
#include "experiment/heap/heap.h"

#include "experiment/heap/heap_layout.h"
#include "experiment/isosurface.kernel"

/* ---- kernels --------------------------------------------------------------------------------- */

#define M(i) kernel_memory(a[i])
KERNEL_ON_HOST(field, M(0), a[1].u32, a[2].u32, a[3].u32, a[4].u32, a[5].i32, a[6].i32, a[7].u32)
KERNEL_ON_HOST(count, M(0), M(1), M(2), a[3].u32)
KERNEL_ON_HOST(rows, M(0), M(1), a[2].u32)
KERNEL_ON_HOST(scan, M(0), M(1), a[2].i64, a[3].u32)
KERNEL_ON_HOST(take, M(0), M(1), a[2].i64)
KERNEL_ON_HOST(emit, M(0), a[1].i64, a[2].i64, M(3), M(4), M(5), M(6), M(7), M(8), a[9].u32,
               a[10].u32, a[11].u32, a[12].u32)
KERNEL_ON_HOST(emit_slots, M(0), M(1), M(2), a[3].i64, M(4), M(5), M(6), M(7), M(8), a[9].u32,
               a[10].u32, a[11].u32)
KERNEL_ON_HOST(hash, M(0), M(1), a[2].i64, a[3].i64, a[4].i64)
#undef M

/* Kernels of the source file, in its order. */
enum march_kernel {
    MARCH_FIELD,
    MARCH_COUNT,
    MARCH_ROWS,
    MARCH_SCAN,
    MARCH_TAKE,
    MARCH_EMIT,
    MARCH_EMIT_SLOTS,
    MARCH_HASH,
    MARCH_KERNELS
};
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

static int march_launch(struct march *m, enum march_kernel kernel, int64_t items,
                        const union launch_value *arguments, struct error *error)
{
    m->launch_count++;
    return kernels_launch(&m->marcher->built, kernel, items, arguments, error);
}

/* ---- the tables of marching tetrahedra, computed rather than written down -------------------- */

enum { TETRAHEDRA = 6, CORNERS = 4, CASES = 16, CASE_BYTES = 16 };

struct point {
    int x, y, z;
};

/* Twice the place of a corner of the unit cube, so that middles of edges are whole. */
static struct point corner_point(unsigned corner)
{
    return (struct point){2 * (int)(corner & 1), 2 * (int)(corner >> 1 & 1),
                          2 * (int)(corner >> 2)};
}

/* A tetrahedron for each order of the axes: from corner 0 along the first, the second, the
 * third. */
static void write_corners(uint8_t *out)
{
    for (unsigned a = 0; a < 3; a++)
        for (unsigned b = 0; b < 3; b++) {
            if (a == b)
                continue;
            *out++ = 0;
            *out++ = (uint8_t)(1 << a);
            *out++ = (uint8_t)(1 << a | 1 << b);
            *out++ = 7;
        }
}

/* An edge of a tetrahedron between two of its corners, and its middle. */
struct edge {
    uint8_t low, high; /* corners of the cell */
    struct point middle;
};

static struct edge edge_of(const uint8_t *corners, unsigned v, unsigned w)
{
    const uint8_t a = corners[v], b = corners[w];
    const struct point p = corner_point(a), q = corner_point(b);
    return (struct edge){
        a < b ? a : b, a < b ? b : a, {(p.x + q.x) / 2, (p.y + q.y) / 2, (p.z + q.z) / 2}};
}

/* Positive if the triangle turns anticlockwise when seen from `from`. */
static int side(const struct edge *a, const struct edge *b, const struct edge *c, struct point from)
{
    const struct point u = {b->middle.x - a->middle.x, b->middle.y - a->middle.y,
                            b->middle.z - a->middle.z};
    const struct point v = {c->middle.x - a->middle.x, c->middle.y - a->middle.y,
                            c->middle.z - a->middle.z};
    const struct point w = {from.x - a->middle.x, from.y - a->middle.y, from.z - a->middle.z};
    return (u.y * v.z - u.z * v.y) * w.x + (u.z * v.x - u.x * v.z) * w.y +
           (u.x * v.y - u.y * v.x) * w.z;
}

/* `outside`: a corner that the triangle is seen from. */
static void add_triangle(uint8_t *row, struct edge a, struct edge b, struct edge c,
                         struct point outside)
{
    const bool is_turned = side(&a, &b, &c, outside) < 0;
    const struct edge corners[3] = {a, is_turned ? c : b, is_turned ? b : c};
    uint8_t *out = row + 1 + 6 * row[0]++;
    for (unsigned i = 0; i < 3; i++) {
        *out++ = corners[i].low;
        *out++ = corners[i].high;
    }
}

static void write_case(const uint8_t *corners, unsigned inside, uint8_t *row)
{
    unsigned in[CORNERS], out[CORNERS], in_count = 0, out_count = 0;
    for (unsigned v = 0; v < CORNERS; v++)
        if (inside >> v & 1)
            in[in_count++] = v;
        else
            out[out_count++] = v;
    memset(row, 0, CASE_BYTES);
    if (!in_count || !out_count)
        return;
    const struct point outside = corner_point(corners[out[0]]);
    if (in_count == 2) {
        const struct edge ac = edge_of(corners, in[0], out[0]);
        const struct edge ad = edge_of(corners, in[0], out[1]);
        const struct edge bc = edge_of(corners, in[1], out[0]);
        const struct edge bd = edge_of(corners, in[1], out[1]);
        add_triangle(row, ac, ad, bd, outside);
        add_triangle(row, ac, bd, bc, outside);
        return;
    }
    const unsigned *apart = in_count == 1 ? in : out, *others = in_count == 1 ? out : in;
    add_triangle(row, edge_of(corners, apart[0], others[0]), edge_of(corners, apart[0], others[1]),
                 edge_of(corners, apart[0], others[2]), outside);
}

void isosurface_tables(uint8_t table[TABLE_BYTES])
{
    write_corners(table);
    for (unsigned t = 0; t < TETRAHEDRA; t++)
        for (unsigned inside = 0; inside < CASES; inside++)
            write_case(table + CORNERS * t, inside,
                       table + TETRAHEDRA * CORNERS + (t * CASES + inside) * CASE_BYTES);
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
        THEN(code, r->ops->fill(device, *list[i].handle, 0, 0, list[i].bytes, error));
    }
    isosurface_tables(table);
    THEN(code, r->ops->write(device, r->table, 0, table, sizeof table, error));
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

/* ---- services of the methods ----------------------------------------------------------------- */

/* A chunk's memory. */
struct march_chunk {
    struct block block;
    uint64_t bytes; /* requested; 0: it has no memory */
    uint32_t slot;  /* in a device heap */
};

static struct march_chunk *chunk_at(struct march *m, uint32_t layer, uint32_t chunk)
{
    return &m->chunks[(layer % m->window) * march_chunks(m) + chunk];
}

/* Emits the triangles of `count` chunks of a layer from `first` on. The kernel's first four
 * arguments are the destination. */
static int launch_emit(struct march *m, enum march_kernel kernel, const union launch_value to[4],
                       uint32_t layer, uint32_t first, uint32_t count, struct error *error)
{
    const struct marcher *r = m->marcher;
    const union launch_value arguments[] = {
        to[0],
        to[1],
        to[2],
        to[3],
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
    return march_launch(m, kernel, (int64_t)count * m->cells * m->cells * m->cells, arguments,
                        error);
}

/* The triangles of chunk c go to word offset + c * stride + 9 * bases[c] of a memory. */
static int march_emit(struct march *m, uint64_t memory, uint64_t offset_words,
                      uint64_t stride_words, uint64_t bases, uint32_t layer, uint32_t first,
                      uint32_t count, struct error *error)
{
    const union launch_value to[4] = {{.memory = memory},
                                      {.i64 = (int64_t)offset_words},
                                      {.i64 = (int64_t)stride_words},
                                      {.memory = bases}};
    return launch_emit(m, MARCH_EMIT, to, layer, first, count, error);
}

/* Likewise, one chunk after the other from the start of a block. */
static int emit_block(struct march *m, const struct block *block, uint64_t bases, uint32_t layer,
                      uint32_t first, uint32_t count, struct error *error)
{
    return march_emit(m, block_memory(block), block_offset(block) / 4, 0, bases, layer, first,
                      count, error);
}

/* Reads words of a device memory and waits for them; timed as a read-back. */
static int march_read(struct march *m, uint32_t *words, uint64_t memory, uint64_t first,
                      uint32_t count, struct error *error)
{
    const struct marcher *r = m->marcher;
    const uint64_t began = clock_ns();
    int code = r->ops->read(r->device, words, memory, first * 4, count * 4ull, error);
    m->readback_ns += clock_ns() - began;
    return code;
}

static const char chunk_tag[] = "chunk";

/* Asks the allocator for a chunk's memory; adds the time to memory_ns. */
static int march_alloc(struct march *m, struct march_chunk *chunk, uint64_t bytes,
                       struct error *error)
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

/* Gives a chunk's memory back, if it has any; adds the time to memory_ns. */
static int march_free(struct march *m, struct march_chunk *chunk, struct error *error)
{
    const uint64_t began = clock_ns(), bytes = chunk->bytes;
    if (!bytes)
        return 0;
    chunk->bytes = 0;
    int code = allocator_free(&m->allocator, &chunk->block, chunk_tag, bytes);
    m->memory_ns += clock_ns() - began;
    return code ? error_set(error, code, "%s", m->source.error.text) : 0;
}

/* ---- a march --------------------------------------------------------------------------------- */

int march_open(struct marcher *marcher, const struct isosurface_method *method,
               const char *strategy, const struct isosurface_field *field, struct march *m,
               struct error *error)
{
    const uint32_t window = marcher->window;
    int code = 0;
    *m = (struct march){.marcher = marcher,
                        .field = *field,
                        .window = window,
                        .cells = marcher->cells,
                        .layers = marcher->layers,
                        .method = method};
    m->source = device_source(marcher->device, marcher->capacity_bytes);
    m->chunks = must_alloc((size_t)window * window * window * sizeof *m->chunks);
    m->counts = must_alloc((size_t)window * window * sizeof *m->counts);
    if (method->uses_allocator) {
        const struct allocator_ops *ops;
        struct option_values values;
        code = allocator_parse(strategy, &ops, &values, error);
        THEN(code, allocator_open(&m->allocator, ops, &values, &m->source, error));
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

/* Computes the field and the triangles of each cell; then, level by level, where those of each row
 * and each slab of cells begin, and how many a chunk has. */
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
    TRY(march_launch(m, MARCH_FIELD, chunks * points * points * points, field, error));
    TRY(march_launch(m, MARCH_COUNT, chunks * cells * cells * cells, count, error));
    TRY(march_launch(m, MARCH_ROWS, chunks * cells * cells, rows, error));
    TRY(march_launch(m, MARCH_SCAN, chunks * cells, slabs, error));
    return march_launch(m, MARCH_SCAN, chunks, sums, error);
}

int march_frame(struct march *m, uint32_t layer, struct error *error)
{
    m->readback_ns = m->memory_ns = 0;
    TRY(layer < m->window ? 0 : m->method->destroy(m, layer - m->window, error));
    TRY(count_layer(m, layer, error));
    return m->method->create(m, layer, error);
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
        THEN(code, counts[c] ? march_launch(m, MARCH_HASH, HASH_ITEMS, arguments, error) : 0);
    }
    return code;
}

int march_take_hash(struct marcher *r, uint64_t *hash, struct error *error)
{
    uint64_t sums[HASH_ITEMS];
    int code = r->ops->read(r->device, sums, r->sums, 0, sizeof sums, error);
    THEN(code, r->ops->fill(r->device, r->sums, 0, 0, sizeof sums, error));
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

/* ---- what methods share ---------------------------------------------------------------------- */

/* ERR_UNSUPPORTED if the worst case is too large for the device. It is not tried: a driver may
 * grant memory that it cannot back. */
static int has_room(struct march *m, uint64_t each_bytes, uint64_t count, struct error *error)
{
    const struct marcher *r = m->marcher;
    const struct device_info *info = r->device->info;
    uint64_t left = r->ops->free_bytes(r->device);
    char each[64], needed[64], available[64], most[64];
    if (m->source.capacity_bytes && (!left || m->source.capacity_bytes < left))
        left = m->source.capacity_bytes;
    if (each_bytes <= info->max_alloc_bytes && (!left || each_bytes * count <= left / 10 * 9))
        return 0;
    return error_set(error, ERR_UNSUPPORTED,
                     "the worst case is %s, %llu times %s; the device has %s free and gives %s at "
                     "once at most",
                     text_bytes_exact(needed, each_bytes * count), (unsigned long long)count,
                     text_bytes_exact(each, each_bytes), text_bytes_exact(available, left),
                     text_bytes_exact(most, info->max_alloc_bytes));
}

/* Takes memory in addition to the allocator's. The capacity of the source is a limit for both. */
static int take_memory(struct march *m, uint64_t bytes, uint64_t *memory, struct error *error)
{
    const struct marcher *r = m->marcher;
    TRY(r->ops->alloc(r->device, bytes, memory, error));
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

/* For methods in which each chunk with triangles, and no other, has a memory of its own. */
static int locate_own(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                      uint64_t *memory, uint64_t *offset_words, struct error *error)
{
    const struct march_chunk *own = chunk_at(m, layer, chunk);
    if (own->bytes != (uint64_t)counts[chunk] * TRIANGLE_BYTES)
        return error_set(error, ERR_WRONG, "chunk %u of layer %u has %llu bytes for %u triangles",
                         chunk, layer, (unsigned long long)own->bytes, counts[chunk]);
    *memory = block_memory(&own->block);
    *offset_words = block_offset(&own->block) / 4;
    return 0;
}

static int destroy_own(struct march *m, uint32_t layer, struct error *error)
{
    for (uint32_t c = 0; c < march_chunks(m); c++)
        TRY(march_free(m, chunk_at(m, layer, c), error));
    return 0;
}

static int read_counts(struct march *m, uint32_t layer, struct error *error)
{
    const uint32_t chunks = march_chunks(m);
    return march_read(m, m->counts, m->marcher->counts, (uint64_t)layer * chunks, chunks, error);
}

/* ---- worst ----------------------------------------------------------------------------------- */

/* A layer is one memory, of which each chunk has a fixed part. */
static uint64_t layer_bytes(const struct march *m)
{
    return march_worst_bytes(m) * march_chunks(m);
}

static int worst_open(struct march *m, struct error *error)
{
    int code = has_room(m, layer_bytes(m), m->window, error);
    for (uint32_t layer = 0; layer < m->window && !code; layer++) {
        struct march_chunk *first = chunk_at(m, layer, 0);
        code = take_memory(m, layer_bytes(m), &first->block.memory, error);
    }
    return code;
}

static int worst_create(struct march *m, uint32_t layer, struct error *error)
{
    return march_emit(m, chunk_at(m, layer, 0)->block.memory, 0, march_worst_bytes(m) / 4,
                      m->marcher->zeros, layer, 0, march_chunks(m), error);
}

static int worst_destroy(struct march *m, uint32_t layer, struct error *error)
{
    return 0;
}

static int worst_locate(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                        uint64_t *memory, uint64_t *offset_words, struct error *error)
{
    *memory = chunk_at(m, layer, 0)->block.memory;
    *offset_words = chunk * march_worst_bytes(m) / 4;
    return 0;
}

static void worst_close(struct march *m)
{
    for (uint32_t layer = 0; layer < m->window; layer++)
        give_memory(m, layer_bytes(m), chunk_at(m, layer, 0)->block.memory);
}

static const struct isosurface_method worst = {
    .name = "worst",
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
        struct march_chunk *chunk = chunk_at(m, layer, c);
        if (!m->counts[c])
            continue;
        code = march_alloc(m, chunk, (uint64_t)m->counts[c] * TRIANGLE_BYTES, error);
        THEN(code, emit_block(m, &chunk->block, m->marcher->zeros, layer, c, 1, error));
    }
    return code;
}

static const struct isosurface_method readback = {
    .name = "readback",
    .uses_allocator = true,
    .create = readback_create,
    .destroy = destroy_own,
    .locate = locate_own,
};

/* ---- scratch --------------------------------------------------------------------------------- */

static int scratch_open(struct march *m, struct error *error)
{
    TRY(has_room(m, layer_bytes(m), 1, error));
    return take_memory(m, layer_bytes(m), &m->memory, error);
}

static int scratch_create(struct march *m, uint32_t layer, struct error *error)
{
    const struct marcher *r = m->marcher;
    const uint64_t worst_bytes = march_worst_bytes(m);
    int code =
        march_emit(m, m->memory, 0, worst_bytes / 4, r->zeros, layer, 0, march_chunks(m), error);
    THEN(code, read_counts(m, layer, error));
    for (uint32_t c = 0; c < march_chunks(m) && !code; c++) {
        struct march_chunk *chunk = chunk_at(m, layer, c);
        const uint64_t bytes = (uint64_t)m->counts[c] * TRIANGLE_BYTES;
        if (!bytes)
            continue;
        code = march_alloc(m, chunk, bytes, error);
        THEN(code, r->ops->copy(r->device, block_memory(&chunk->block), block_offset(&chunk->block),
                                m->memory, c * worst_bytes, bytes, error));
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
    struct march_chunk *all = chunk_at(m, layer, 0);
    uint32_t total;
    int code = march_launch(m, MARCH_TAKE, chunks, take, error);
    THEN(code, march_launch(m, MARCH_SCAN, 1, scan, error));
    THEN(code, march_read(m, &total, r->totals, layer, 1, error));
    if (code || !total)
        return code;
    code = march_alloc(m, all, (uint64_t)total * TRIANGLE_BYTES, error);
    return code ? code : emit_block(m, &all->block, r->bases, layer, 0, (uint32_t)chunks, error);
}

static int batch_destroy(struct march *m, uint32_t layer, struct error *error)
{
    return march_free(m, chunk_at(m, layer, 0), error);
}

static int batch_locate(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                        uint64_t *memory, uint64_t *offset_words, struct error *error)
{
    const struct march_chunk *all = chunk_at(m, layer, 0);
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
    .uses_allocator = true,
    .create = batch_create,
    .destroy = batch_destroy,
    .locate = batch_locate,
};

/* ---- heap ------------------------------------------------------------------------------------ */

/* The numbers of the slots of all chunks of all layers, for the kernel emit_slots. They travel
 * through pinned memory, each layer through words of its own, so that the host never waits. */
struct heap {
    struct device_heap *heap;
    uint64_t numbers, bytes; /* device memory */
    uint64_t pinned;         /* handle; 0: the device has no pinned memory */
    uint32_t *words;         /* pinned memory as the host addresses it, or plain memory */
};

static int take_numbers(struct march *m, struct heap *h, struct error *error)
{
    const struct marcher *r = m->marcher;
    void *host = NULL;
    h->bytes = (uint64_t)m->layers * march_chunks(m) * 4;
    TRY(r->ops->alloc(r->device, h->bytes, &h->numbers, error));
    int code = 0;
    if (r->ops->host_memory)
        code = r->ops->host_memory->alloc(r->device, MEMORY_PINNED, h->bytes, &h->pinned, &host,
                                          error);
    if (code == ERR_UNSUPPORTED)
        code = 0;
    h->words = host ? host : must_alloc(h->bytes);
    return code;
}

static int heap_open(struct march *m, struct error *error)
{
    const struct marcher *r = m->marcher;
    struct heap *h = m->heap = must_alloc(sizeof *h);
    const struct device_heap_options options = {
        .policy = DEVICE_HEAP_TLSF,
        .padding = DEVICE_HEAP_TIGHT,
        .arena_bytes = r->heap_bytes,
        .slots = (m->window + 1) * march_chunks(m),
    };
    *h = (struct heap){0};
    int code = device_heap_open(r->device, &options, &h->heap, error);
    THEN(code, take_numbers(m, h, error));
    if (!code)
        m->held_bytes = device_heap_held_bytes(h->heap) + h->bytes;
    return code;
}

static void heap_close(struct march *m)
{
    struct heap *h = m->heap;
    const struct marcher *r = m->marcher;
    r->ops->sync(r->device, NULL); /* a command may still read the pinned memory */
    if (h->pinned)
        r->ops->host_memory->free(r->device, MEMORY_PINNED, h->pinned, h->bytes, NULL);
    else
        free(h->words);
    if (h->numbers)
        r->ops->free(r->device, h->numbers, h->bytes, NULL);
    device_heap_close(h->heap);
    free(h);
}

static int send_numbers(struct march *m, uint32_t layer, struct error *error)
{
    const struct heap *h = m->heap;
    const struct marcher *r = m->marcher;
    const uint64_t bytes = march_chunks(m) * 4, offset = layer * bytes;
    return h->pinned ? r->ops->copy(r->device, h->numbers, offset, h->pinned, offset, bytes, error)
                     : r->ops->write(r->device, h->numbers, offset, (char *)h->words + offset,
                                     bytes, error);
}

static int heap_create(struct march *m, uint32_t layer, struct error *error)
{
    struct heap *h = m->heap;
    const uint32_t chunks = march_chunks(m);
    const uint64_t launches = device_heap_launches(h->heap);
    int code = 0;
    for (uint32_t c = 0; c < chunks && !code; c++) {
        struct march_chunk *chunk = chunk_at(m, layer, c);
        code = device_heap_alloc_counted(h->heap, layer * chunks + c, TRIANGLE_WORDS, &chunk->slot,
                                         error);
        h->words[layer * chunks + c] = chunk->slot;
    }
    THEN(code, send_numbers(m, layer, error));
    THEN(code, device_heap_submit(h->heap, m->marcher->counts, (layer + 1) * chunks, error));
    m->launch_count += device_heap_launches(h->heap) - launches;
    const union launch_value to[4] = {{.memory = device_heap_slots(h->heap)},
                                      {.memory = device_heap_arena(h->heap)},
                                      {.memory = h->numbers},
                                      {.i64 = (int64_t)layer * chunks}};
    return code ? code : launch_emit(m, MARCH_EMIT_SLOTS, to, layer, 0, chunks, error);
}

/* The frees are submitted with the allocations that follow. */
static int heap_destroy(struct march *m, uint32_t layer, struct error *error)
{
    struct heap *h = m->heap;
    for (uint32_t c = 0; c < march_chunks(m); c++)
        TRY(device_heap_free(h->heap, chunk_at(m, layer, c)->slot, error));
    return 0;
}

static int heap_locate(struct march *m, uint32_t layer, uint32_t chunk, const uint32_t *counts,
                       uint64_t *memory, uint64_t *offset_words, struct error *error)
{
    const struct heap *h = m->heap;
    uint32_t slot[SLOT_WORDS];
    char bytes[32];
    TRY(device_heap_read_slot(h->heap, chunk_at(m, layer, chunk)->slot, slot, error));
    if (counts[chunk] && !slot[SLOT_BLOCK])
        return error_set(error, ERR_OOM,
                         "the heap of %s had no room for %u triangles of chunk %u of layer %u: "
                         "give the option heap more",
                         text_bytes(bytes, m->marcher->heap_bytes), counts[chunk], chunk, layer);
    if (!counts[chunk] != !slot[SLOT_BLOCK] || counts[chunk] != slot[SLOT_COUNT])
        return error_set(error, ERR_WRONG,
                         "chunk %u of layer %u has %u triangles, its slot says %u in block %u",
                         chunk, layer, counts[chunk], slot[SLOT_COUNT], slot[SLOT_BLOCK]);
    *memory = device_heap_arena(h->heap);
    *offset_words = (uint64_t)slot[SLOT_INDEX] * slot[SLOT_STRIDE];
    return 0;
}

static const struct isosurface_method heap = {
    .name = "heap",
    .open = heap_open,
    .create = heap_create,
    .destroy = heap_destroy,
    .locate = heap_locate,
    .close = heap_close,
};

/* ---- the list -------------------------------------------------------------------------------- */

const struct isosurface_method *const isosurface_methods[] = {&worst, &readback, &scratch,
                                                              &batch, &heap,     NULL};

const struct isosurface_method *isosurface_find_method(const char *name)
{
    for (const struct isosurface_method *const *method = isosurface_methods; *method; method++)
        if (strcmp((*method)->name, name) == 0)
            return *method;
    return NULL;
}
