/* vmm: expandable segments on virtual memory: addresses first, memory mapped as it is needed.
 *
 *   1. Sizes are rounded up to 512 bytes (or the source's alignment, if that is more), and to
 *      `divisions` between two powers of two (divisions.h). Up to
 *      `small` bytes (1 MiB) a request belongs to the small class, else to the large one. A class
 *      has a segment: a range of addresses 9/8 as large as the device's memory, or as `reserve`
 *      says, into which chunks of `small_chunk` (2 MiB) or `large_chunk` (20 MiB) are mapped.
 *      Classes share nothing but the device. A class that runs out of addresses gets another
 *      segment.
 *   2. A segment is cut into pieces: live, free (mapped), unmapped. Neighbours that are both
 *      free or both unmapped are one.
 *   3. alloc takes the smallest free piece that is large enough, of equals the lowest. A piece with
 *      unmapped addresses after it counts as large as it could expand to, so that the end of the
 *      segment is broken into last: as long as the next larger piece counts as less, it is taken
 *      instead. The rest of the piece stays free. max_split=m: as in `caching`, a request below m
 *      gets no piece of m or more, and others none that exceeds them by `rounding` or more; rule 4
 *      may then still take that piece. All pieces may be cut. proposal=193400: max_split has no
 *      effect here, as all pieces may be cut (pytorch/pytorch#193400).
 *   4. If none fits, chunks are mapped at the lowest addresses where adjacent free and unmapped
 *      pieces are large enough: gaps are filled before the segment grows.
 *   5. free joins the piece with free neighbours. Nothing is unmapped.
 *   6. trim unmaps and releases every chunk that is wholly free, those of the large class first,
 *      smallest piece first; a chunk is never cut. It waits for all queues first: an unmap waits
 *      for nothing, and commands may still use freed pieces.
 *   7. limit=mapped: the source refuses a chunk beyond its capacity, as a device that is full.
 *      limit=fraction: PyTorch's per-process fraction is one of requests. A request that reaches
 *      rule 4 is refused if what is held and a segment of `caching` for it exceed the capacity. The
 *      chunks that it then maps may be fewer bytes, or more, and no chunk is refused: less than one
 *      chunk beyond the capacity is held.
 *   8. If the driver is out of memory, the chunks that the attempt had mapped go back. Then rule 6
 *      is applied to the pieces of all queues, and if it released anything, the request is tried
 *      once more.
 *
 * Why: memory that lies scattered in free chunks can be mapped anew in one piece, so a program
 * whose sizes change does not die of fragmentation; and a growing request grows in place. The price
 * is a driver call or three a chunk. Source: pytorch/pytorch, c10/cuda/CUDACachingAllocator.cpp
 * (001074d) with expandable_segments, its sizes and its lookup. Departures: where a run has several
 * gaps and the device is full in a later one, the gaps before it stay mapped there; here all go
 * back. There a segment that is wholly unmapped gives its addresses back. GMLake maps the chunks of
 * free blocks a second time elsewhere instead of moving them; here a chunk has one place.
 *
 * Queues: a piece may be handed out while commands of its last owner still run. They come first,
 * because both are on one in-order queue: each queue has an instance, and segments, of its own.
 * Chunks reach another queue only by rules 6 and 8, after a wait for all queues.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/adopted.h"
#include "alloc/allocator.h"
#include "alloc/divisions.h"
#include "alloc/mapped_range.h"
#include "alloc/piece_index.h"
#include "alloc/pytorch_conf.h"
#include "base/slab.h"
#include "base/sort.h"

/* With limit=fraction the capacity is a share of the device's memory: of which one is not known. */
enum { ROUNDING_BYTES = 512, FRACTION_OF = 16 };

enum piece_state { FREE, UNMAPPED, LIVE, PIECE_STATES };
enum { SET_COUNT = LIVE }; /* live pieces are in no set */

struct piece {
    struct piece *prev, *next; /* by address */
    struct segment *segment;
    uint64_t start, size;
    enum piece_state state;
};

struct segment {
    struct size_class *class;
    struct segment *next;
    uint64_t place;   /* bytes of the older segments of its class */
    uint64_t address; /* where it began, if it was adopted */
    struct piece *first;
    struct mapped_range range;
};

struct size_class {
    uint64_t chunk_bytes;
    struct segment *segments;           /* the newest first */
    struct piece_index sets[SET_COUNT]; /* free pieces by size and place, unmapped ones by place */
};

struct vmm {
    struct source *source;
    uint64_t unit_bytes, memory_bytes, divisions;
    uint64_t range_bytes; /* of a segment */
    uint64_t small_most_bytes;
    uint64_t max_split_bytes; /* UINT64_MAX: no limit */
    uint64_t rounding_bytes;
    bool limits_requests; /* limit=fraction */
    struct size_class small, large;
    struct segment *adopting; /* the range whose parts are adopted */
    struct slab pieces, index_nodes;
};

enum {
    OPTION_CONF,
    OPTION_VERSION,
    OPTION_DIVISIONS,
    OPTION_MAX_SPLIT,
    OPTION_ROUNDING,
    OPTION_SMALL,
    OPTION_SMALL_CHUNK,
    OPTION_LARGE_CHUNK,
    OPTION_LIMIT,
    OPTION_RESERVE,
    OPTION_PROPOSAL
};
enum { LIMIT_MAPPED, LIMIT_FRACTION }; /* in the order of the choices */
static const struct option_spec vmm_options[] = {
    [OPTION_CONF] = PYTORCH_CONF_OPTION,
    [OPTION_VERSION] = PYTORCH_VERSION_OPTION,
    [OPTION_DIVISIONS] = DIVISIONS_OPTION,
    [OPTION_MAX_SPLIT] = {"max_split", OPTION_BYTES, "0", NULL, 0, 0,
                          "smaller requests get no piece of this size and above; 0: all may"},
    [OPTION_ROUNDING] = {"rounding", OPTION_BYTES, "0", NULL, 0, 0,
                         "a request of max_split and above gets no piece that exceeds it by so "
                         "much; 0: large_chunk"},
    [OPTION_SMALL] = {"small", OPTION_BYTES, "1MiB", NULL, 0, 0,
                      "requests up to this size belong to the small class"},
    [OPTION_SMALL_CHUNK] =
        {"small_chunk", OPTION_BYTES, "2MiB", NULL, 1, UINT64_C(1) << 40,
         "memory mapped at a time in the small class, rounded up to the device's granularity"},
    [OPTION_LARGE_CHUNK] = {"large_chunk", OPTION_BYTES, "20MiB", NULL, 1, UINT64_C(1) << 40,
                            "memory mapped at a time in the large class"},
    [OPTION_LIMIT] =
        {"limit", OPTION_CHOICE, "mapped", "mapped|fraction", 0, 0,
         "what a memory limit counts: mapped chunks, as a device of that size, or requests, as "
         "set_per_process_memory_fraction, under which less than one chunk may exceed it"},
    [OPTION_RESERVE] = {.name = "reserve",
                        .type = OPTION_OWN,
                        .fallback = "0",
                        .expected = "a share of the device's memory such as 0.5, or 40G",
                        .parse = pytorch_reserve_parse,
                        .help = "addresses of a segment: a share of the device's memory or "
                                "gibibytes, such as 40G; 0: 1.125, "
                                "which is the most"},
    [OPTION_PROPOSAL] =
        PYTORCH_PROPOSAL_OPTION("193400", "193400: requests get pieces of max_split and above"),
    {0},
};

static uint64_t end_of(const struct piece *p)
{
    return p->start + p->size;
}

/* ---- pieces ---- */

static struct index_key key_of(const struct piece *p)
{
    return (struct index_key){p->state == FREE ? p->size : 0, p->segment->place + p->start};
}

static void put(struct piece *p)
{
    index_put(&p->segment->class->sets[p->state], key_of(p), p);
}

static void take(struct piece *p)
{
    index_take(&p->segment->class->sets[p->state], key_of(p));
}

static struct piece *first_of(const struct size_class *c, enum piece_state state)
{
    return index_first(&c->sets[state]);
}

static struct piece *after(const struct piece *p)
{
    return index_after(&p->segment->class->sets[p->state], key_of(p));
}

/* Cuts a piece, which is in no set, to `size` bytes. The rest is put into the set of its state. */
static void cut(struct vmm *v, struct piece *p, uint64_t size)
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
    put(rest);
}

/* Cuts [start, start + size) out of a piece. It is then in no set. */
static struct piece *cut_out(struct vmm *v, struct piece *p, uint64_t start, uint64_t size)
{
    take(p);
    if (p->start < start) {
        cut(v, p, start - p->start);
        put(p);
        p = p->next;
        take(p);
    }
    cut(v, p, size);
    return p;
}

/* The next piece, which is in no set, becomes a part of this one. */
static void swallow_next(struct vmm *v, struct piece *p)
{
    struct piece *next = p->next;
    p->size += next->size;
    p->next = next->next;
    if (p->next)
        p->next->prev = p;
    slab_give(&v->pieces, next);
}

/* Joins a piece, which is in no set, with neighbours of its state, and puts it into its set.
 * Returns the joined piece, which stands in place of all. */
static struct piece *join_and_put(struct vmm *v, struct piece *p)
{
    if (p->next && p->next->state == p->state) {
        take(p->next);
        swallow_next(v, p);
    }
    if (p->prev && p->prev->state == p->state) {
        p = p->prev;
        take(p);
        swallow_next(v, p);
    }
    put(p);
    return p;
}

/* ---- chunks ---- */

/* The wholly free chunks of a piece: [*start, *end); false if there are none. */
static bool whole_chunks(const struct piece *p, uint64_t *start, uint64_t *end)
{
    uint64_t chunk_bytes = p->segment->class->chunk_bytes;
    *start = vm_round_up(p->start, chunk_bytes);
    *end = end_of(p) / chunk_bytes * chunk_bytes;
    return *start < *end;
}

static bool can_release(const struct size_class *c)
{
    uint64_t start, end;
    for (const struct piece *p = first_of(c, FREE); p; p = after(p))
        if (whole_chunks(p, &start, &end))
            return true;
    return false;
}

static int release_free_chunks(struct vmm *v, struct size_class *c)
{
    int first_failure = 0;
    for (struct piece *p = first_of(c, FREE), *next; p; p = next) {
        next = after(p);
        uint64_t start, end;
        if (!whole_chunks(p, &start, &end))
            continue;
        ALSO(first_failure, mapped_range_unmap(&p->segment->range, start, end));
        p = cut_out(v, p, start, end - start);
        p->state = UNMAPPED;
        join_and_put(v, p);
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
    int code = release_free_chunks(v, &v->large);
    ALSO(code, release_free_chunks(v, &v->small));
    return code;
}

/* ---- looking for a place ---- */

static uint64_t expandable_bytes(const struct piece *p)
{
    return p->size + (p->next && p->next->state == UNMAPPED ? p->next->size : 0);
}

static bool may_serve(const struct vmm *v, uint64_t piece, uint64_t size)
{
    if (size < v->max_split_bytes)
        return piece < v->max_split_bytes;
    return piece - size < v->rounding_bytes;
}

/* Rule 3. */
static struct piece *best_fit(const struct vmm *v, const struct size_class *c, uint64_t size)
{
    struct piece *p = index_from(&c->sets[FREE], (struct index_key){size, 0}), *next;
    while (p && (next = after(p)) && expandable_bytes(next) < expandable_bytes(p))
        p = next;
    return p && may_serve(v, p->size, size) ? p : NULL;
}

/* Rule 4: the first piece of the lowest run of pieces that are not live and have `size` bytes. */
static struct piece *lowest_run(const struct size_class *c, uint64_t size)
{
    for (struct piece *p = first_of(c, UNMAPPED); p; p = after(p)) {
        struct piece *first = p->prev && p->prev->state == FREE ? p->prev : p;
        uint64_t bytes = 0;
        for (const struct piece *q = first; q && q->state != LIVE && bytes < size; q = q->next)
            bytes += q->size;
        if (bytes >= size)
            return first;
    }
    return NULL;
}

/* The number of bytes to map of an unmapped piece, if `missing` bytes are still needed. */
static uint64_t bytes_to_map(const struct piece *p, uint64_t missing)
{
    uint64_t bytes = vm_round_up(missing, p->segment->class->chunk_bytes);
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
        int code = mapped_range_map(&s->range, p->start, p->start + bytes_to_map(p, size - found));
        if (code == 0)
            continue;
        for (struct piece *q = first; q != p; q = q->next)
            if (q->state == UNMAPPED) {
                int undone = mapped_range_unmap(&s->range, q->start, end_of(q));
                code = undone ? undone : code;
            }
        return code;
    }
    /* All are mapped: record it in the pieces. */
    for (p = first; p->state != FREE || p->size < size;) {
        struct piece *unmapped = p->state == UNMAPPED ? p : p->next;
        uint64_t found = p->state == UNMAPPED ? 0 : p->size;
        take(unmapped);
        cut(v, unmapped, bytes_to_map(unmapped, size - found));
        unmapped->state = FREE;
        p = join_and_put(v, unmapped);
    }
    return 0;
}

/* A segment's table of chunks is as long as its addresses, so none is made for a request that the
 * device cannot hold. */
static int add_segment(struct vmm *v, struct size_class *c, uint64_t size)
{
    uint64_t bytes = vm_round_up(v->range_bytes, c->chunk_bytes);
    struct mapped_range range = {.admits = v->limits_requests};
    if (size > bytes)
        return error_set(&v->source->error, ERR_OOM,
                         "asked for %llu bytes of a device that has %llu, and a segment %llu",
                         (unsigned long long)size, (unsigned long long)v->memory_bytes,
                         (unsigned long long)bytes);
    TRY(mapped_range_open(&range, v->source, bytes, c->chunk_bytes));
    struct segment *s = must_alloc(sizeof *s);
    *s = (struct segment){.class = c,
                          .next = c->segments,
                          .place = c->segments ? c->segments->place + bytes : 0,
                          .range = range};
    c->segments = s;
    s->first = slab_take(&v->pieces);
    *s->first = (struct piece){.segment = s, .size = bytes, .state = UNMAPPED};
    put(s->first);
    return 0;
}

/* Finds, or makes, a free piece of at least `size` bytes. */
static int expand(struct vmm *v, struct size_class *c, uint64_t size, struct piece **piece)
{
    if (v->limits_requests)
        TRY(source_check_capacity(
            v->source, pytorch_segment_bytes(size, v->small.chunk_bytes, v->large.chunk_bytes)));
    struct piece *first = lowest_run(c, size);
    if (!first) {
        TRY(add_segment(v, c, size));
        first = lowest_run(c, size);
    }
    /* map_run keeps the first piece: no free piece is before a run that it could join. */
    *piece = first;
    return map_run(v, first, size);
}

/* ---- the strategy ---- */

/* The addresses of a segment: what `reserve` says, and no more than 9/8 of the memory. */
static uint64_t range_bytes(uint64_t reserve, uint64_t memory_bytes)
{
    const uint64_t most = memory_bytes / 8 * 9;
    const double share = (double)reserve / PYTORCH_SHARE_PARTS;
    const uint64_t bytes = reserve & PYTORCH_RESERVE_IS_BYTES ? reserve & ~PYTORCH_RESERVE_IS_BYTES
                           : share < 1.125 ? (uint64_t)(share * (double)memory_bytes)
                                           : most;
    return bytes && bytes < most ? bytes : most;
}

static int vmm_init(struct source *source, const struct option_values *options, void **state)
{
    struct driver_vm_info info;
    TRY(source_vm_info(source, &info));
    TRY(source_requires_split(source, "vmm"));
    struct vmm *v = must_alloc(sizeof *v);
    v->source = source;
    v->divisions = options->value[OPTION_DIVISIONS];
    v->max_split_bytes = options->value[OPTION_MAX_SPLIT] && !options->value[OPTION_PROPOSAL]
                             ? options->value[OPTION_MAX_SPLIT]
                             : UINT64_MAX;
    v->rounding_bytes = options->value[OPTION_ROUNDING] ? options->value[OPTION_ROUNDING]
                                                        : options->value[OPTION_LARGE_CHUNK];
    for (unsigned set = 0; set < SET_COUNT; set++)
        v->small.sets[set].nodes = v->large.sets[set].nodes = &v->index_nodes;
    v->unit_bytes = larger(source->alignment, ROUNDING_BYTES);
    v->limits_requests = options->value[OPTION_LIMIT] == LIMIT_FRACTION;
    v->memory_bytes = info.memory_bytes;
    if (v->limits_requests && v->memory_bytes < UINT64_MAX / 8 / FRACTION_OF)
        v->memory_bytes *= FRACTION_OF;
    v->range_bytes = range_bytes(options->value[OPTION_RESERVE], v->memory_bytes);
    v->small_most_bytes = options->value[OPTION_SMALL];
    uint64_t granularity = vm_round_up(info.granularity_bytes, v->unit_bytes);
    v->small.chunk_bytes = vm_round_up(options->value[OPTION_SMALL_CHUNK], granularity);
    v->large.chunk_bytes = vm_round_up(options->value[OPTION_LARGE_CHUNK], granularity);
    v->pieces.item_bytes = sizeof(struct piece);
    v->index_nodes.item_bytes = sizeof(struct index_node);
    *state = v;
    return 0;
}

static int vmm_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct vmm *v = state;
    uint64_t size = divisions_round(v->divisions, request->size, v->unit_bytes);
    struct size_class *c = size <= v->small_most_bytes ? &v->small : &v->large;
    struct piece *p = best_fit(v, c, size);
    if (!p)
        TRY(expand(v, c, size, &p));
    take(p);
    cut(v, p, size);
    p->state = LIVE;
    *block = (struct block){
        .memory = p->segment->range.address, .offset = p->start, .size = p->size, .node = p};
    return 0;
}

static int vmm_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct piece *p = block->node;
    p->state = FREE;
    join_and_put(state, p);
    return 0;
}

static uint64_t adopted_bytes(const struct vmm *v, const struct adopted_memory *m, size_t k)
{
    const struct adopted_block *b = &m->blocks[k];
    const uint64_t size = divisions_round(v->divisions, b->requested, v->unit_bytes);
    const uint64_t room = adopted_room(m, k);
    return b->granted ? b->granted : size < room ? size : room;
}

/* May a part of a range, or its begin, be adopted? Each class has one range, and its parts are
 * chunks. */
static bool can_adopt(const struct vmm *v, const struct adopted_memory *m)
{
    const struct segment *s = v->adopting;
    if (!m->is_mapped || (m->bytes && !s))
        return false;
    if (m->bytes == 0)
        return true;
    const uint64_t offset = m->address - s->address;
    bool can = offset % s->class->chunk_bytes == 0 && m->bytes % s->class->chunk_bytes == 0 &&
               offset + m->bytes <= s->range.bytes;
    for (size_t k = 0; can && k < m->block_count; k++)
        can = adopted_fits(m, k, adopted_bytes(v, m, k), v->unit_bytes);
    return can;
}

static int adopt_begin(struct vmm *v, const struct adopted_memory *m)
{
    struct size_class *c = m->part_bytes <= v->small.chunk_bytes ? &v->small : &v->large;
    if (c->segments)
        return ERR_UNSUPPORTED;
    TRY(add_segment(v, c, 0));
    v->adopting = c->segments;
    v->adopting->address = m->address;
    return 0;
}

static int vmm_adopt(void *state, const struct adopted_memory *m)
{
    struct vmm *v = state;
    if (!can_adopt(v, m))
        return ERR_UNSUPPORTED;
    if (m->bytes == 0)
        return adopt_begin(v, m);
    struct segment *s = v->adopting;
    const uint64_t start = m->address - s->address;
    struct piece *p = s->first;
    while (end_of(p) <= start)
        p = p->next;
    if (p->state != UNMAPPED || end_of(p) < start + m->bytes)
        return ERR_UNSUPPORTED;
    TRY(mapped_range_map(&s->range, start, start + m->bytes));
    p = cut_out(v, p, start, m->bytes);
    p->state = FREE;
    p = join_and_put(v, p);
    for (size_t k = 0; k < m->block_count; k++) {
        const struct adopted_block *b = &m->blocks[k];
        p = cut_out(v, p, start + (b->address - m->address), adopted_bytes(v, m, k));
        p->state = LIVE;
        *b->block = (struct block){
            .memory = s->range.address, .offset = p->start, .size = p->size, .node = p};
        p = p->next;
    }
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
    /* An unmapped piece may be most of a device's addresses: only its ends are looked at. */
    const uint64_t first = p->start / chunk_bytes, last = (end_of(p) - 1) / chunk_bytes;
    const uint64_t step = p->state == UNMAPPED && last > first ? last - first : 1;
    for (uint64_t at = first; p->size && at <= last; at += step)
        broken += (s->range.chunks[at] == 0) != (p->state == UNMAPPED);
    return broken;
}

static unsigned check_class(const struct size_class *c)
{
    unsigned broken = 0;
    uint64_t in_segments[PIECE_STATES] = {0}, in_set;
    for (const struct segment *s = c->segments; s; s = s->next) {
        const struct piece *prev = NULL;
        uint64_t end = 0, mapped_bytes = s->range.bytes;
        for (const struct piece *p = s->first; p; prev = p, p = p->next) {
            broken += check_piece(s, p, prev, end);
            in_segments[p->state]++;
            mapped_bytes -= p->state == UNMAPPED ? p->size : 0;
            end = end_of(p);
        }
        broken += end != s->range.bytes;
        broken += mapped_bytes != s->range.held_bytes;
    }
    for (unsigned state = 0; state < SET_COUNT; state++) {
        broken += index_check(&c->sets[state], &in_set);
        for (const struct piece *p = first_of(c, state); p; p = after(p))
            broken += p->state != (enum piece_state)state || p->segment->class != c;
        broken += in_set != in_segments[state];
    }
    return broken;
}

static unsigned vmm_check(const void *state)
{
    const struct vmm *v = state;
    return check_class(&v->small) + check_class(&v->large);
}

static uint64_t vmm_reserved(const void *state)
{
    const struct vmm *v = state;
    uint64_t bytes = 0;
    for (const struct segment *s = v->small.segments; s; s = s->next)
        bytes += s->range.held_bytes;
    for (const struct segment *s = v->large.segments; s; s = s->next)
        bytes += s->range.held_bytes;
    return bytes;
}

static void close_class(struct size_class *c)
{
    for (struct segment *s = c->segments, *next; s; s = next) {
        next = s->next;
        mapped_range_close(&s->range);
        free(s);
    }
}

static void vmm_fini(void *state)
{
    struct vmm *v = state;
    if (vmm_reserved(v) > 0)
        source_sync(v->source);
    close_class(&v->small);
    close_class(&v->large);
    slab_free(&v->pieces);
    slab_free(&v->index_nodes);
    free(v);
}

static const struct allocator_origin vmm_origins[] = {
    {"PyTorch's expandable segments", "pytorch/pytorch", "c10/cuda/CUDACachingAllocator.cpp",
     "001074d25084", 2024},
    {"proposal=193400", "pytorch/pytorch", "pull request 193400, open; from its description", NULL,
     2026},
    PYTORCH_OPTION_ORIGINS,
    {0},
};

const struct allocator_ops allocator_vmm = {
    .version = ALLOCATOR_API_VERSION,
    .name = "vmm",
    .summary = "addresses reserved once, memory mapped chunk by chunk; CUDA and host",
    .origins = vmm_origins,
    .options = vmm_options,
    .queues = QUEUES_APART,
    .trims_together = true,
    .init = vmm_init,
    .alloc = vmm_alloc,
    .free = vmm_free,
    .adopt = vmm_adopt,
    .trim = vmm_trim,
    .check = vmm_check,
    .reserved = vmm_reserved,
    .fini = vmm_fini,
};
