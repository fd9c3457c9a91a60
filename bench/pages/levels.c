#include "pages/levels.h"

#include <stdlib.h>

#include "base/arena.h"

/* Nodes have numbers by level, then by moment: the i-th of level l is 2^l - 1 + i. */
#define NO_NODE UINT32_MAX

struct making {
    const struct view_blocks *blocks;
    uint32_t first, last;
    unsigned level_count;
    uint32_t *node_of; /* by block; NO_NODE: none yet */
    unsigned top_count;
    struct candidate {
        double area;
        uint32_t block;
    } top[LEVELS_TOP]; /* a heap, the smallest first */
};

static uint64_t begin_of(const struct making *m, const struct view_block *b)
{
    return b->born > m->first ? b->born - m->first : 0;
}

static uint64_t width_of(const struct making *m, unsigned level)
{
    return (uint64_t)LEVELS_LEAF << (m->level_count - 1 - level);
}

/* ---- the largest of a node ---- */

static bool is_smaller(const struct candidate *a, const struct candidate *b)
{
    return a->area < b->area || (a->area == b->area && a->block > b->block);
}

static void sink(struct making *m)
{
    for (unsigned i = 0;;) {
        unsigned least = i;
        for (unsigned child = 2 * i + 1; child <= 2 * i + 2 && child < m->top_count; child++)
            least = is_smaller(&m->top[child], &m->top[least]) ? child : least;
        if (least == i)
            return;
        const struct candidate moved = m->top[i];
        m->top[i] = m->top[least];
        m->top[least] = moved;
        i = least;
    }
}

static void offer(struct making *m, struct candidate one)
{
    if (m->top_count == LEVELS_TOP) {
        if (is_smaller(&m->top[0], &one)) {
            m->top[0] = one;
            sink(m);
        }
        return;
    }
    unsigned i = m->top_count++;
    for (; i > 0 && is_smaller(&one, &m->top[(i - 1) / 2]); i = (i - 1) / 2)
        m->top[i] = m->top[(i - 1) / 2];
    m->top[i] = one;
}

/* ---- nodes ---- */

/* Takes the blocks of the nodes of a level, of those that no level above has. */
static void take_level(struct making *m, unsigned level)
{
    const uint64_t width = width_of(m, level);
    const bool is_leaf = level + 1 == m->level_count;
    unsigned b = 0;
    while (b < m->blocks->count) {
        const uint64_t index = begin_of(m, &m->blocks->items[b]) / width;
        const uint32_t node = (uint32_t)((UINT64_C(1) << level) - 1 + index);
        m->top_count = 0;
        for (; b < m->blocks->count && begin_of(m, &m->blocks->items[b]) / width == index; b++) {
            const struct view_block *block = &m->blocks->items[b];
            const uint64_t begin = begin_of(m, block);
            const bool is_in_window =
                block->died > block->born && block->died > m->first && block->born <= m->last;
            if (m->node_of[b] != NO_NODE || !is_in_window)
                continue;
            const uint64_t end = (block->died > m->last ? m->last : block->died - 1) - m->first;
            if (is_leaf || begin / (width / 2) != end / (width / 2))
                m->node_of[b] = node;
            else
                offer(m, (struct candidate){(double)block->bytes * (double)(end - begin + 1), b});
        }
        for (unsigned i = 0; i < m->top_count; i++)
            m->node_of[m->top[i].block] = node;
    }
}

/* ---- chunks ---- */

static void end_chunk(struct view_levels *levels, const struct making *m, unsigned level,
                      uint64_t first_node, uint64_t end_node, unsigned begin, unsigned end)
{
    if (begin == end)
        return;
    const uint64_t width = width_of(m, level);
    const uint64_t last = m->first + end_node * width - 1;
    levels->chunks = must_grow(levels->chunks, levels->chunk_count, &levels->chunk_capacity,
                               sizeof *levels->chunks);
    levels->chunks[levels->chunk_count++] =
        (struct view_chunk){.level = level,
                            .first = (uint32_t)(m->first + first_node * width),
                            .last = (uint32_t)(last < m->last ? last : m->last),
                            .begin = begin,
                            .count = end - begin};
}

/* starts[n]: where the blocks of node n begin in the order. */
static void make_chunks(struct view_levels *levels, const struct making *m, const unsigned *starts)
{
    for (unsigned level = 0; level < m->level_count; level++) {
        const uint64_t nodes = UINT64_C(1) << level;
        const unsigned *start = &starts[nodes - 1];
        uint64_t from = 0;
        for (uint64_t i = 0; i < nodes; i++)
            if (start[i + 1] - start[from] >= LEVELS_CHUNK || i + 1 == nodes) {
                end_chunk(levels, m, level, from, i + 1, start[from], start[i + 1]);
                from = i + 1;
            }
    }
}

void levels_make(struct view_levels *levels, const struct view_blocks *blocks, uint32_t first,
                 uint32_t last)
{
    const uint64_t moments = (uint64_t)last - first + 1;
    struct making m = {blocks, first, last, .level_count = 1};
    while (width_of(&m, 0) < moments)
        m.level_count++;
    const size_t nodes = ((size_t)1 << m.level_count) - 1;
    m.node_of = must_alloc((blocks->count + 1) * sizeof *m.node_of);
    for (unsigned b = 0; b < blocks->count; b++)
        m.node_of[b] = NO_NODE;
    for (unsigned level = 0; level < m.level_count; level++)
        take_level(&m, level);
    /* A counting sort by node keeps the order of births. */
    unsigned *starts = must_alloc((nodes + 2) * sizeof *starts);
    *levels = (struct view_levels){.level_count = m.level_count};
    for (unsigned b = 0; b < blocks->count; b++)
        if (m.node_of[b] != NO_NODE)
            starts[m.node_of[b] + 2]++;
    for (size_t n = 2; n < nodes + 2; n++)
        starts[n] += starts[n - 1];
    levels->block_count = starts[nodes + 1];
    levels->order = must_alloc((levels->block_count + 1) * sizeof *levels->order);
    for (unsigned b = 0; b < blocks->count; b++)
        if (m.node_of[b] != NO_NODE)
            levels->order[starts[m.node_of[b] + 1]++] = b;
    make_chunks(levels, &m, starts);
    free(starts);
    free(m.node_of);
}

void levels_free(struct view_levels *levels)
{
    free(levels->chunks);
    free(levels->order);
    *levels = (struct view_levels){0};
}
