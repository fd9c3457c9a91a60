/* vmm: expandable segments on virtual memory: addresses first, memory mapped as it is needed.
 *
 *   1. Sizes are rounded up to 512 bytes (or the source's alignment, if that is more). Up to
 *      `small` bytes (1 MiB) a request belongs to the small class, else to the large one. A class
 *      has a segment: a range of addresses 9/8 as large as the device's memory, into which
 *      chunks of `small_chunk` (2 MiB) or `large_chunk` (20 MiB) are mapped. Classes share
 *      nothing but the device. A class that runs out of addresses gets another segment.
 *   2. A segment is cut into pieces: live, free (mapped), unmapped. Neighbours that are both
 *      free or both unmapped are one.
 *   3. alloc takes the free piece that fits best. A piece with unmapped addresses after it counts
 *      as large as it could expand to, so that the end of the segment is broken into last. The
 *      rest of the piece stays free.
 *   4. If none fits, chunks are mapped at the lowest addresses where adjacent free and unmapped
 *      pieces are large enough: gaps are filled before the segment grows.
 *   5. free joins the piece with free neighbours. Nothing is unmapped.
 *   6. trim unmaps and releases every chunk that is wholly free; a chunk is never cut. It waits for
 *      all queues first: an unmap waits for nothing, and commands may still use freed pieces.
 *   7. If the driver is out of memory, the chunks that the attempt had mapped go back. Then rule 6
 *      is applied, and if it released anything, the request is tried once more.
 *
 * Why: memory that lies scattered in free chunks can be mapped anew in one piece, so a program
 * whose sizes change does not die of fragmentation; and a growing request grows in place. The price
 * is a driver call or three a chunk. Source: PyTorch's CUDACachingAllocator with
 * expandable_segments, its sizes and its lookup. Departures: there the search for the best fit
 * stops at the first piece that is no better; here it sees all of them. There a chunk that could
 * not be mapped leaves those before it mapped; here all go back. GMLake maps the chunks of free
 * blocks a second time elsewhere instead of moving them; here a chunk has one place.
 *
 * Queues: a piece may be handed out while commands of its last owner still run. They come first,
 * because both are on one in-order queue: each queue has an instance, and segments, of its own.
 * Chunks reach another queue only by rules 6 and 7, after a wait for all queues.
 *
 * Needs: alloc/source.c base/arena.c base/error.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/allocator.h"
#include "alloc/source_vm.h"
#include "base/arena.h"
#include "base/slab.h"

enum { ROUNDING_BYTES = 512 };

enum piece_state { LIVE, FREE, UNMAPPED, PIECE_STATES };

struct piece {
    struct piece *prev, *next;           /* by address */
    struct piece *list_prev, *list_next; /* among those of its class in its state */
    struct segment *segment;
    uint64_t start, size;
    enum piece_state state;
};

struct segment {
    struct size_class *class;
    struct segment *next;
    unsigned number; /* in its class, lower is older */
    uint64_t range, bytes;
    struct piece *first;
    uint64_t chunks[]; /* the chunk that is mapped at chunk_bytes * i; 0: none */
};

struct size_class {
    uint64_t chunk_bytes;
    uint64_t mapped_bytes;
    struct segment *segments; /* the newest first */
    struct piece *lists[PIECE_STATES];
};

struct vmm {
    struct source *source;
    uint64_t unit_bytes, memory_bytes;
    uint64_t small_most_bytes;
    struct size_class small, large;
    struct slab pieces;
};

enum { OPTION_SMALL, OPTION_SMALL_CHUNK, OPTION_LARGE_CHUNK };
static const struct option_spec vmm_options[] = {
    [OPTION_SMALL] = {.name = "small",
                      .type = OPTION_BYTES,
                      .fallback = "1MiB",
                      .help = "requests up to this size belong to the small class"},
    [OPTION_SMALL_CHUNK] = {.name = "small_chunk",
                            .type = OPTION_BYTES,
                            .fallback = "2MiB",
                            .least = 1,
                            .most = UINT64_C(1) << 40,
                            .help = "memory mapped at a time in the small class, rounded up to "
                                    "the device's granularity"},
    [OPTION_LARGE_CHUNK] = {.name = "large_chunk",
                            .type = OPTION_BYTES,
                            .fallback = "20MiB",
                            .least = 1,
                            .most = UINT64_C(1) << 40,
                            .help = "memory mapped at a time in the large class"},
    {0},
};

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static uint64_t end_of(const struct piece *p)
{
    return p->start + p->size;
}

/* ---- pieces ---- */

static void list_add(struct piece *p)
{
    struct piece **list = &p->segment->class->lists[p->state];
    p->list_prev = NULL;
    p->list_next = *list;
    if (*list)
        (*list)->list_prev = p;
    *list = p;
}

static void list_remove(struct piece *p)
{
    if (p->list_prev)
        p->list_prev->list_next = p->list_next;
    else
        p->segment->class->lists[p->state] = p->list_next;
    if (p->list_next)
        p->list_next->list_prev = p->list_prev;
}

static void set_state(struct piece *p, enum piece_state state)
{
    list_remove(p);
    p->state = state;
    list_add(p);
}

/* Cuts a piece in two of the same state; the second one begins `size` bytes into it. */
static void split_piece(struct vmm *v, struct piece *p, uint64_t size)
{
    if (size == p->size)
        return;
    struct piece *rest = slab_take(&v->pieces);
    *rest = (struct piece){.prev = p,
                           .next = p->next,
                           .segment = p->segment,
                           .start = p->start + size,
                           .size = p->size - size,
                           .state = p->state};
    if (p->next)
        p->next->prev = rest;
    p->next = rest;
    p->size = size;
    list_add(rest);
}

/* The next piece becomes a part of this one. */
static void swallow_next(struct vmm *v, struct piece *p)
{
    struct piece *next = p->next;
    list_remove(next);
    p->size += next->size;
    p->next = next->next;
    if (p->next)
        p->next->prev = p;
    slab_give(&v->pieces, next);
}

/* Joins a piece with neighbours of its state; the result stands in its place. */
static struct piece *join_piece(struct vmm *v, struct piece *p)
{
    if (p->next && p->next->state == p->state)
        swallow_next(v, p);
    if (p->prev && p->prev->state == p->state) {
        p = p->prev;
        swallow_next(v, p);
    }
    return p;
}

/* ---- chunks ---- */

/* Unmaps and releases the chunks of [start, end). All count as released, whatever the driver
 * returns; the first failure is returned. */
static int unmap_chunks(struct vmm *v, struct segment *s, uint64_t start, uint64_t end)
{
    uint64_t bytes = s->class->chunk_bytes;
    int first_failure = 0;
    for (uint64_t at = start; at < end; at += bytes) {
        uint64_t *chunk = &s->chunks[at / bytes];
        int code = source_vm_unmap(v->source, s->range, at, bytes);
        first_failure = first_failure ? first_failure : code;
        code = source_vm_release(v->source, *chunk, bytes);
        first_failure = first_failure ? first_failure : code;
        *chunk = 0;
        s->class->mapped_bytes -= bytes;
    }
    return first_failure;
}

static int map_chunk(struct vmm *v, struct segment *s, uint64_t at)
{
    uint64_t bytes = s->class->chunk_bytes, chunk;
    TRY(source_vm_create(v->source, bytes, &chunk));
    int code = source_vm_map(v->source, s->range, at, chunk, bytes);
    if (code) {
        int released = source_vm_release(v->source, chunk, bytes);
        return released ? released : code;
    }
    s->chunks[at / bytes] = chunk;
    s->class->mapped_bytes += bytes;
    return 0;
}

/* Maps chunks over [start, end), or none. The chunks are new, so undoing it needs no wait. */
static int map_chunks(struct vmm *v, struct segment *s, uint64_t start, uint64_t end)
{
    uint64_t at = start;
    int code = 0;
    for (; at < end && !code; at += code ? 0 : s->class->chunk_bytes)
        code = map_chunk(v, s, at);
    if (!code)
        code = source_vm_access(v->source, s->range, start, end - start);
    if (code) {
        int undone = unmap_chunks(v, s, start, at);
        return undone ? undone : code;
    }
    return 0;
}

/* The wholly free chunks of a piece: [*start, *end); false if there are none. */
static bool whole_chunks(const struct piece *p, uint64_t *start, uint64_t *end)
{
    uint64_t chunk_bytes = p->segment->class->chunk_bytes;
    *start = round_up(p->start, chunk_bytes);
    *end = end_of(p) / chunk_bytes * chunk_bytes;
    return *start < *end;
}

static bool can_release(const struct size_class *c)
{
    uint64_t start, end;
    for (const struct piece *p = c->lists[FREE]; p; p = p->list_next)
        if (whole_chunks(p, &start, &end))
            return true;
    return false;
}

static int release_free_chunks(struct vmm *v, struct size_class *c)
{
    int first_failure = 0;
    for (struct piece *p = c->lists[FREE], *next; p; p = next) {
        next = p->list_next;
        uint64_t start, end;
        if (!whole_chunks(p, &start, &end))
            continue;
        int code = unmap_chunks(v, p->segment, start, end);
        first_failure = first_failure ? first_failure : code;
        if (p->start < start) {
            split_piece(v, p, start - p->start);
            p = p->next;
        }
        split_piece(v, p, end - start);
        set_state(p, UNMAPPED);
        join_piece(v, p);
    }
    return first_failure;
}

/* Rule 6. */
static int vmm_trim(void *state)
{
    struct vmm *v = state;
    if (!can_release(&v->small) && !can_release(&v->large))
        return 0;
    TRY(source_sync(v->source));
    int code = release_free_chunks(v, &v->small);
    int second = release_free_chunks(v, &v->large);
    return code ? code : second;
}

/* ---- looking for a place ---- */

static bool is_lower(const struct piece *a, const struct piece *b)
{
    unsigned m = a->segment->number, n = b->segment->number;
    return m != n ? m < n : a->start < b->start;
}

static uint64_t expandable_bytes(const struct piece *p)
{
    return p->size + (p->next && p->next->state == UNMAPPED ? p->next->size : 0);
}

/* Rule 3; the lowest of equals. */
static struct piece *best_fit(const struct size_class *c, uint64_t size)
{
    struct piece *best = NULL;
    uint64_t best_bytes = 0;
    for (struct piece *p = c->lists[FREE]; p; p = p->list_next) {
        if (p->size < size)
            continue;
        uint64_t bytes = expandable_bytes(p);
        if (!best || bytes < best_bytes || (bytes == best_bytes && is_lower(p, best))) {
            best = p;
            best_bytes = bytes;
        }
    }
    return best;
}

/* Rule 4: the first piece of the lowest run of pieces that are not live and have `size` bytes. */
static struct piece *lowest_run(const struct size_class *c, uint64_t size)
{
    struct piece *lowest = NULL;
    for (struct piece *p = c->lists[UNMAPPED]; p; p = p->list_next) {
        struct piece *first = p->prev && p->prev->state == FREE ? p->prev : p;
        if (lowest && !is_lower(first, lowest))
            continue;
        uint64_t bytes = 0;
        for (const struct piece *q = first; q && q->state != LIVE && bytes < size; q = q->next)
            bytes += q->size;
        if (bytes >= size)
            lowest = first;
    }
    return lowest;
}

/* The number of bytes to map of an unmapped piece, if `missing` bytes are still needed. */
static uint64_t bytes_to_map(const struct piece *p, uint64_t missing)
{
    uint64_t bytes = round_up(missing, p->segment->class->chunk_bytes);
    return bytes < p->size ? bytes : p->size;
}

/* Maps the unmapped parts of the first `size` bytes of a run, all or nothing. */
static int map_run(struct vmm *v, struct piece *first, uint64_t size)
{
    struct segment *s = first->segment;
    struct piece *p = first;
    for (uint64_t found = 0; found < size; found += p->size, p = p->next) {
        if (p->state != UNMAPPED)
            continue;
        int code = map_chunks(v, s, p->start, p->start + bytes_to_map(p, size - found));
        if (code == 0)
            continue;
        for (struct piece *q = first; q != p; q = q->next)
            if (q->state == UNMAPPED) {
                int undone = unmap_chunks(v, s, q->start, end_of(q));
                code = undone ? undone : code;
            }
        return code;
    }
    /* All are mapped: record it in the pieces. */
    for (p = first; p->state != FREE || p->size < size;) {
        struct piece *unmapped = p->state == UNMAPPED ? p : p->next;
        uint64_t found = p->state == UNMAPPED ? 0 : p->size;
        split_piece(v, unmapped, bytes_to_map(unmapped, size - found));
        set_state(unmapped, FREE);
        p = join_piece(v, unmapped);
    }
    return 0;
}

/* A segment's table of chunks is as long as its addresses, so none is made for a request that the
 * device cannot hold. */
static int add_segment(struct vmm *v, struct size_class *c, uint64_t size)
{
    uint64_t bytes = round_up(v->memory_bytes / 8 * 9, c->chunk_bytes), range;
    if (size > bytes)
        return error_set(&v->source->error, ERR_OOM,
                         "asked for %llu bytes of a device that has %llu", (unsigned long long)size,
                         (unsigned long long)v->memory_bytes);
    TRY(source_vm_reserve(v->source, bytes, &range));
    struct segment *s = must_alloc(sizeof *s + bytes / c->chunk_bytes * sizeof *s->chunks);
    *s = (struct segment){.class = c,
                          .next = c->segments,
                          .number = c->segments ? c->segments->number + 1 : 0,
                          .range = range,
                          .bytes = bytes};
    c->segments = s;
    s->first = slab_take(&v->pieces);
    *s->first = (struct piece){.segment = s, .size = bytes, .state = UNMAPPED};
    list_add(s->first);
    return 0;
}

/* Finds, or makes, a free piece of at least `size` bytes. */
static int expand(struct vmm *v, struct size_class *c, uint64_t size, struct piece **piece)
{
    struct piece *first = lowest_run(c, size);
    if (!first) {
        int code = add_segment(v, c, size);
        if (code)
            return code;
        first = lowest_run(c, size);
    }
    int code = map_run(v, first, size);
    /* map_run keeps the first piece: no free piece is before a run that it could join. */
    *piece = first;
    return code;
}

/* ---- the strategy ---- */

static int vmm_init(struct source *source, const struct option_values *options, void **state)
{
    struct driver_vm_info info;
    TRY(source_vm_info(source, &info));
    TRY(source_requires_split(source, "vmm"));
    struct vmm *v = must_alloc(sizeof *v);
    v->source = source;
    v->unit_bytes = source->alignment > ROUNDING_BYTES ? source->alignment : ROUNDING_BYTES;
    v->memory_bytes = info.memory_bytes;
    v->small_most_bytes = options->value[OPTION_SMALL];
    uint64_t granularity = round_up(info.granularity_bytes, v->unit_bytes);
    v->small.chunk_bytes = round_up(options->value[OPTION_SMALL_CHUNK], granularity);
    v->large.chunk_bytes = round_up(options->value[OPTION_LARGE_CHUNK], granularity);
    v->pieces.item_bytes = sizeof(struct piece);
    *state = v;
    return 0;
}

static int vmm_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct vmm *v = state;
    uint64_t size = round_up(request->size, v->unit_bytes);
    struct size_class *c = request->size <= v->small_most_bytes ? &v->small : &v->large;
    struct piece *p = best_fit(c, size);
    if (!p) {
        int code = expand(v, c, size, &p);
        if (code == ERR_OOM && (can_release(&v->small) || can_release(&v->large))) {
            code = vmm_trim(v);
            if (code == 0)
                code = expand(v, c, size, &p);
        }
        if (code)
            return code;
    }
    split_piece(v, p, size);
    set_state(p, LIVE);
    *block =
        (struct block){.memory = p->segment->range, .offset = p->start, .size = p->size, .node = p};
    return 0;
}

static int vmm_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct piece *p = block->node;
    set_state(p, FREE);
    join_piece(state, p);
    return 0;
}

static unsigned check_piece(const struct segment *s, const struct piece *p,
                            const struct piece *prev, uint64_t end)
{
    unsigned broken = p->segment != s || p->prev != prev || p->start != end || p->size == 0;
    broken += p->state != LIVE && prev && prev->state == p->state;
    uint64_t chunk_bytes = s->class->chunk_bytes;
    if (p->state == UNMAPPED)
        broken += p->start % chunk_bytes != 0 || p->size % chunk_bytes != 0;
    for (uint64_t at = p->start / chunk_bytes; at * chunk_bytes < end_of(p); at++)
        broken += (s->chunks[at] == 0) != (p->state == UNMAPPED);
    return broken;
}

static unsigned check_class(const struct size_class *c)
{
    unsigned broken = 0;
    uint64_t mapped_bytes = 0, in_segments[PIECE_STATES] = {0}, in_lists[PIECE_STATES] = {0};
    for (const struct segment *s = c->segments; s; s = s->next) {
        const struct piece *prev = NULL;
        uint64_t end = 0;
        for (const struct piece *p = s->first; p; prev = p, p = p->next) {
            broken += check_piece(s, p, prev, end);
            in_segments[p->state]++;
            end = end_of(p);
        }
        broken += end != s->bytes;
        for (uint64_t i = 0; i < s->bytes / c->chunk_bytes; i++)
            mapped_bytes += s->chunks[i] ? c->chunk_bytes : 0;
    }
    for (unsigned state = 0; state < PIECE_STATES; state++) {
        for (const struct piece *p = c->lists[state]; p; p = p->list_next) {
            broken += p->state != (enum piece_state)state || p->segment->class != c;
            in_lists[state]++;
        }
        broken += in_lists[state] != in_segments[state];
    }
    return broken + (mapped_bytes != c->mapped_bytes);
}

static unsigned vmm_check(const void *state)
{
    const struct vmm *v = state;
    return check_class(&v->small) + check_class(&v->large);
}

static uint64_t vmm_reserved(const void *state)
{
    const struct vmm *v = state;
    return v->small.mapped_bytes + v->large.mapped_bytes;
}

static void close_class(struct vmm *v, struct size_class *c)
{
    for (struct segment *s = c->segments, *next; s; s = next) {
        next = s->next;
        for (uint64_t at = 0; at < s->bytes; at += c->chunk_bytes)
            if (s->chunks[at / c->chunk_bytes])
                unmap_chunks(v, s, at, at + c->chunk_bytes);
        source_vm_unreserve(v->source, s->range, s->bytes);
        free(s);
    }
}

static void vmm_fini(void *state)
{
    struct vmm *v = state;
    if (vmm_reserved(v) > 0)
        source_sync(v->source);
    close_class(v, &v->small);
    close_class(v, &v->large);
    slab_free(&v->pieces);
    free(v);
}

const struct allocator_ops allocator_vmm = {
    .version = ALLOCATOR_API_VERSION,
    .name = "vmm",
    .summary = "addresses reserved once, memory mapped chunk by chunk; CUDA and host",
    .origin = "PyTorch's expandable segments",
    .options = vmm_options,
    .queues = QUEUES_APART,
    .init = vmm_init,
    .alloc = vmm_alloc,
    .free = vmm_free,
    .trim = vmm_trim,
    .check = vmm_check,
    .reserved = vmm_reserved,
    .fini = vmm_fini,
};
