#include "run/predict/stream_pool.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/sort.h"

static const uint64_t unit_bytes = 512, step_bytes = UINT64_C(32) << 20;

struct stream_step {
    bool is_mapped;
    unsigned blocks; /* and pieces that are of a queue, that lie in it, in whole or in part */
};

/* ---- free pieces ----------------------------------------------------------------------------- */

static unsigned steps_to(uint64_t end)
{
    return (unsigned)((end + step_bytes - 1) / step_bytes);
}

static void use(struct stream_pool *p, const struct stream_piece *piece, unsigned more)
{
    for (unsigned i = (unsigned)(piece->start / step_bytes);
         i < steps_to(piece->start + piece->size); i++)
        p->steps[i].blocks += more;
}

static void leave(struct stream_pool *p, struct stream_piece *piece)
{
    if (piece->among)
        index_take(piece->among, piece->key);
    if (piece->among && piece->among != &p->free_for_all)
        use(p, piece, -1u);
    piece->among = NULL;
}

static void swallow_next(struct stream_pool *p, struct stream_piece *piece)
{
    struct stream_piece *next = piece->next;
    leave(p, next);
    piece->size += next->size;
    piece->freed = larger(piece->freed, next->freed);
    piece->done_ns = fmax(piece->done_ns, next->done_ns);
    piece->next = next->next;
    if (piece->next)
        piece->next->prev = piece;
    slab_give(&p->pieces, next);
}

/* Puts a piece among others, joined with its neighbours there. What is free for all is joined with
 * the end. */
static void put(struct stream_pool *p, struct stream_piece *piece, struct piece_index *among)
{
    if (piece->prev && piece->prev->among == among) {
        piece = piece->prev;
        leave(p, piece);
        swallow_next(p, piece);
    }
    if (piece->next->among == among)
        swallow_next(p, piece);
    if (piece->next == p->end && among == &p->free_for_all) {
        p->end = piece;
        swallow_next(p, piece);
        return;
    }
    among->nodes = &p->nodes;
    piece->among = among;
    piece->key = (struct index_key){piece->size, p->clock++};
    index_put(among, piece->key, piece);
    if (among != &p->free_for_all)
        use(p, piece, 1);
}

static bool is_done(const struct stream_pool *p, unsigned queue, const struct stream_piece *piece)
{
    return (p->has_asked[queue] ? piece->done_ns : p->last_done_ns[queue]) <= p->now_ns;
}

/* What a queue has freed, up to a free, becomes free for all if it is done, the last at first. */
static void let_go(struct stream_pool *p, unsigned queue, uint64_t until)
{
    const struct piece_index *from = &p->freed[queue];
    const struct index_key least = {0};
    struct stream_piece *piece = index_from(from, least);
    p->order.nodes = &p->nodes;
    for (; piece; piece = index_after(from, piece->key))
        if (piece->freed <= until && is_done(p, queue, piece))
            index_put(&p->order, (struct index_key){UINT64_MAX - piece->freed, 0}, piece);
    while ((piece = index_from(&p->order, least))) {
        index_take(&p->order, (struct index_key){UINT64_MAX - piece->freed, 0});
        leave(p, piece);
        put(p, piece, &p->free_for_all);
    }
}

void stream_pool_wait(struct stream_pool *p, unsigned queue)
{
    p->now_ns = INFINITY;
    for (unsigned each = 0; each < ALLOCATOR_QUEUES_MAX; each++)
        let_go(p, each,
               queue == each || queue == ALLOCATOR_QUEUES_MAX ? UINT64_MAX
                                                              : p->before[queue][each]);
}

void stream_pool_order(struct stream_pool *p, unsigned queue, unsigned other)
{
    for (unsigned each = 0; each < ALLOCATOR_QUEUES_MAX; each++)
        p->before[queue][each] = larger(p->before[queue][each], p->before[other][each]);
    p->before[queue][other] = p->frees;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* How many steps of a range are not mapped. */
static unsigned unmapped(const struct stream_pool *p, uint64_t start, uint64_t bytes)
{
    unsigned count = 0;
    for (unsigned i = (unsigned)(start / step_bytes); i < steps_to(start + bytes); i++)
        count += i >= p->step_count || !p->steps[i].is_mapped;
    return count;
}

/* Takes the memory of the uppermost step that is mapped and wholly free, from *below down. */
static bool unmap(struct stream_pool *p, unsigned *below)
{
    while (*below > 0) {
        struct stream_step *step = &p->steps[--*below];
        if (step->is_mapped && !step->blocks) {
            step->is_mapped = false;
            return true;
        }
    }
    return false;
}

/* How many steps outside of a range are mapped and wholly free: those within it are no help. */
static unsigned spare_steps(const struct stream_pool *p, unsigned from, unsigned to)
{
    unsigned count = 0;
    for (unsigned i = 0; i < p->step_count; i++)
        count += (i < from || i >= to) && p->steps[i].is_mapped && !p->steps[i].blocks;
    return count;
}

uint64_t stream_pool_release(struct stream_pool *p, uint64_t keep_bytes)
{
    const uint64_t before = p->reserved_bytes;
    unsigned below = p->step_count;
    while (p->reserved_bytes > keep_bytes && unmap(p, &below))
        p->reserved_bytes -= step_bytes;
    return before - p->reserved_bytes;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static struct stream_piece *new_piece(struct stream_pool *p)
{
    p->pieces.item_bytes = sizeof(struct stream_piece);
    p->nodes.item_bytes = sizeof(struct index_node);
    struct stream_piece *piece = slab_take(&p->pieces);
    *piece = (struct stream_piece){0};
    return piece;
}

static struct stream_piece *of_others(struct stream_pool *p, unsigned queue, uint64_t bytes,
                                      bool is_ordered)
{
    struct stream_piece *piece = NULL;
    for (unsigned other = 0; other < ALLOCATOR_QUEUES_MAX && !piece; other++) {
        piece = index_from(&p->freed[other], (struct index_key){bytes, 0});
        while (piece &&
               (is_ordered ? piece->freed > p->before[queue][other] : !is_done(p, other, piece)))
            piece = index_after(&p->freed[other], piece->key);
    }
    return piece;
}

static struct stream_piece *choose(struct stream_pool *p, unsigned queue, uint64_t bytes)
{
    const struct index_key least = {bytes, 0};
    struct stream_piece *piece = index_from(&p->freed[queue], least);
    if (piece)
        return piece;
    piece = index_from(&p->free_for_all, least);
    while (piece && unmapped(p, piece->start, piece->size))
        piece = index_after(&p->free_for_all, piece->key);
    piece = piece ? piece : of_others(p, queue, bytes, true);
    piece = piece ? piece : of_others(p, queue, bytes, false);
    if (piece)
        return piece;
    for (unsigned each = 0; each < ALLOCATOR_QUEUES_MAX; each++)
        let_go(p, each, UINT64_MAX);
    piece = index_from(&p->free_for_all, least);
    return piece ? piece : p->end;
}

/* Makes the first bytes of a free piece a block. The rest stays among those that it was among, as
 * the one that became free last. */
static struct stream_piece *cut(struct stream_pool *p, struct stream_piece *piece, uint64_t bytes)
{
    struct piece_index *among = piece->among;
    if (piece != p->end && piece->size == bytes) {
        leave(p, piece);
        return piece;
    }
    struct stream_piece *block = new_piece(p);
    leave(p, piece);
    *block = (struct stream_piece){
        .prev = piece->prev, .next = piece, .start = piece->start, .size = bytes};
    *(piece->prev ? &piece->prev->next : &p->first) = block;
    piece->prev = block;
    piece->start += bytes;
    piece->size -= bytes;
    if (among)
        put(p, piece, among);
    return block;
}

uint64_t stream_pool_take(struct stream_pool *p, unsigned queue, uint64_t bytes, uint64_t most,
                          struct stream_piece **taken)
{
    bytes = (bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
    if (!p->end) {
        p->first = p->end = new_piece(p);
        p->end->size = UINT64_MAX / 2;
    }
    p->has_asked[queue] = true;
    struct stream_piece *piece = choose(p, queue, bytes);
    const unsigned first = (unsigned)(piece->start / step_bytes),
                   last = steps_to(piece->start + bytes);
    const unsigned lacking = unmapped(p, piece->start, bytes);
    const unsigned spare = lacking ? spare_steps(p, first, last) : 0;
    const unsigned fresh = lacking > spare ? lacking - spare : 0;
    if (most && (p->block_bytes + bytes > most ||
                 (fresh && p->reserved_bytes / step_bytes + fresh > steps_to(most))))
        return UINT64_MAX;
    while (p->step_count < last) {
        p->steps = must_grow(p->steps, p->step_count, &p->step_capacity, sizeof *p->steps);
        p->steps[p->step_count++] = (struct stream_step){0};
    }
    *taken = piece = cut(p, piece, bytes);
    use(p, piece, 1);
    unsigned below = p->step_count;
    for (unsigned i = fresh; i < lacking; i++)
        unmap(p, &below);
    for (unsigned i = first; i < last; i++)
        p->steps[i].is_mapped = true;
    p->reserved_bytes += fresh * step_bytes;
    p->block_bytes += bytes;
    return fresh * step_bytes;
}

void stream_pool_give(struct stream_pool *p, unsigned queue, struct stream_piece *piece,
                      double done_ns)
{
    use(p, piece, -1u);
    p->block_bytes -= piece->size;
    piece->freed = ++p->frees;
    piece->done_ns = p->last_done_ns[queue] = done_ns;
    put(p, piece, &p->freed[queue]);
}

void stream_pool_free(struct stream_pool *p)
{
    slab_free(&p->pieces);
    slab_free(&p->nodes);
    free(p->steps);
    *p = (struct stream_pool){0};
}
