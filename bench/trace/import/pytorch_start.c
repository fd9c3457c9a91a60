#include "trace/import/pytorch_start.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/pytorch_conf.h"
#include "base/arena.h"
#include "base/random.h"
#include "base/sort.h"

/* ---- blocks by address ---- */

static struct start_block *place_of(struct start_block *table, uint64_t capacity, uint64_t address)
{
    for (uint64_t at = random_mix(address);; at++) {
        struct start_block *b = &table[at & (capacity - 1)];
        if (!b->is_used || b->address == address)
            return b;
    }
}

/* The block that first was at an address; *is_new: none was known there. */
static struct start_block *block_at(struct start *s, uint64_t address, bool *is_new)
{
    if (2 * s->block_count >= s->block_capacity) {
        const uint64_t capacity = s->block_capacity ? 2 * s->block_capacity : 256;
        struct start_block *table = must_alloc(capacity * sizeof *table);
        for (uint64_t i = 0; i < s->block_capacity; i++)
            if (s->blocks[i].is_used)
                *place_of(table, capacity, s->blocks[i].address) = s->blocks[i];
        free(s->blocks);
        s->blocks = table;
        s->block_capacity = capacity;
    }
    struct start_block *b = place_of(s->blocks, s->block_capacity, address);
    *is_new = !b->is_used;
    if (*is_new) {
        *b = (struct start_block){
            .address = address, .is_used = true, .first = s->entry, .last = UINT64_MAX};
        s->block_count++;
    }
    return b;
}

/* ---- memory ---- */

static uint64_t end_of(const struct start_memory *m)
{
    return m->address + m->bytes;
}

/* The first memory that ends after an address. */
static unsigned memory_from(const struct start *s, uint64_t address)
{
    unsigned i;
    FIND_PLACE(i, s->memory_count, end_of(&s->memories[i]) <= address);
    return i;
}

static void insert(struct start *s, unsigned i, const struct start_memory *m)
{
    s->memories = must_grow(s->memories, s->memory_count, &s->memory_capacity, sizeof *s->memories);
    memmove(s->memories + i + 1, s->memories + i, (s->memory_count++ - i) * sizeof *s->memories);
    s->memories[i] = *m;
}

/* Adds the parts of a memory about which nothing is known yet. */
static void add_memory(struct start *s, const struct start_memory *m)
{
    uint64_t at = m->address;
    for (unsigned i = memory_from(s, at); at < end_of(m); i++) {
        const bool is_last = i == s->memory_count || s->memories[i].address >= end_of(m);
        const uint64_t end = is_last ? end_of(m) : s->memories[i].address;
        if (end > at) {
            struct start_memory part = *m;
            part.address = at;
            part.bytes = end - at;
            insert(s, i++, &part);
        }
        if (is_last)
            return;
        s->memories[i].is_small |= m->is_small;
        s->memories[i].is_large |= m->is_large;
        at = end_of(&s->memories[i]);
    }
}

static void contradict(struct start *s, uint64_t entry, const struct start_block *b,
                       const char *what)
{
    if (!s->contradiction.what)
        s->contradiction = (struct start_contradiction){
            .what = what, .entry = entry, .other_entry = b->latest, .address = b->address};
}

void start_look(struct start *s, enum start_act act, uint64_t address, uint64_t bytes,
                uint64_t stream, unsigned pool)
{
    s->entry++;
    if (act > START_END) {
        struct start_memory m = {
            .address = address,
            .bytes = bytes < UINT64_MAX - address ? bytes : 0,
            .stream = stream,
            .pool = pool,
            .is_expandable = act >= START_MAP,
            .is_small = act == START_MAP && bytes == PYTORCH_SMALL_SEGMENT_BYTES,
            .is_large = act == START_MAP && bytes != PYTORCH_SMALL_SEGMENT_BYTES,
            .was = act == START_RELEASE || act == START_UNMAP};
        add_memory(s, &m);
        return;
    }
    bool is_new;
    struct start_block *b = block_at(s, address, &is_new);
    if (!is_new && act == START_ALLOC && b->lives)
        contradict(s, s->entry, b, "allocates a block where one lives");
    if (!is_new && act != START_ALLOC && !b->lives)
        contradict(s, s->entry, b, "frees a block that is free");
    b->lives = act != START_END;
    b->latest = s->entry;
    if (is_new) {
        b->was = act != START_ALLOC;
        b->requested = bytes;
        b->stream = stream;
        b->pool = pool;
    }
    if (act == START_END && b->last == UINT64_MAX)
        b->last = s->entry;
}

void start_final_memory(struct start *s, const struct start_memory *memory)
{
    struct start_memory m = *memory;
    m.was = true;
    add_memory(s, &m);
    for (unsigned i = memory_from(s, m.address);
         i < s->memory_count && s->memories[i].address < end_of(&m); i++)
        if (s->memories[i].is_expandable) /* older entries do not say it */
            s->memories[i].pool = m.pool;
}

void start_final_block(struct start *s, const struct start_block *block)
{
    bool is_new;
    struct start_block *b = block_at(s, block->address, &is_new);
    if (!is_new && !b->lives)
        contradict(s, 0, b, "has a block that is free");
    if (is_new) {
        *b = *block;
        b->is_used = b->was = true;
        b->first = b->last = UINT64_MAX;
    } else if (b->was && b->last == UINT64_MAX) { /* given up, and not yet free */
        b->granted = block->granted;
    }
}

/* ---- the whole ---- */

ORDER_BY(by_address, struct start_block, address)

/* Moves the blocks to the front of their table, and sorts them. */
static void sort_blocks(struct start *s)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < s->block_capacity; i++)
        if (s->blocks[i].is_used)
            s->blocks[count++] = s->blocks[i];
    if (count)
        qsort(s->blocks, count, sizeof *s->blocks, by_address);
}

/* The memory that has an address; NULL: none has. */
static struct start_memory *memory_of(struct start *s, uint64_t address)
{
    const unsigned at = memory_from(s, address);
    return at < s->memory_count && s->memories[at].address <= address ? &s->memories[at] : NULL;
}

/* The lowest block that was allocated after a block in its memory, while that one lived, began
 * where the block ended. */
static void find_granted(struct start *s, uint64_t i)
{
    struct start_block *b = &s->blocks[i];
    const struct start_memory *m = memory_of(s, b->address);
    for (uint64_t k = i + 1; m && k < s->block_count && !s->blocks[k].was; k++) {
        const struct start_block *next = &s->blocks[k];
        if (next->address >= end_of(m))
            return;
        if (next->first < b->last && next->address - b->address >= b->requested) {
            b->granted = next->address - b->address;
            return;
        }
    }
}

/* The place after the parts of the expandable segment of which [first] is the lowest part. */
static unsigned range_end(const struct start *s, unsigned first)
{
    unsigned end = first + 1;
    while (end < s->memory_count && s->memories[end].is_expandable &&
           s->memories[end].stream == s->memories[first].stream &&
           s->memories[end].address - end_of(&s->memories[end - 1]) <=
               PYTORCH_SEGMENT_DISTANCE_BYTES)
        end++;
    return end;
}

/* Entries of parts do not say the pool: all of an expandable segment is of one. */
static void spread_pools(struct start *s)
{
    for (unsigned i = 0, end; i < s->memory_count; i = end) {
        unsigned pool = 0;
        end = i + 1;
        if (!s->memories[i].is_expandable)
            continue;
        end = range_end(s, i);
        for (unsigned k = i; k < end; k++)
            pool = s->memories[k].pool ? s->memories[k].pool : pool;
        for (unsigned k = i; k < end; k++)
            s->memories[k].pool = pool;
    }
}

/* Parts of an expandable segment that lie side by side are one: a block may be in both. */
static void join_parts(struct start *s)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < s->memory_count; i++) {
        const struct start_memory *m = &s->memories[i];
        struct start_memory *last = kept ? &s->memories[kept - 1] : NULL;
        if (last && last->is_expandable && m->is_expandable && last->was == m->was &&
            end_of(last) == m->address && last->stream == m->stream && last->pool == m->pool) {
            last->bytes += m->bytes;
            last->is_small |= m->is_small;
            last->is_large |= m->is_large;
        } else {
            s->memories[kept++] = *m;
        }
    }
    s->memory_count = kept;
}

static void place_blocks(struct start *s)
{
    for (uint64_t i = 0; i < s->block_count; i++) {
        struct start_block *b = &s->blocks[i];
        struct start_memory *m = memory_of(s, b->address);
        if (!m)
            continue;
        m->is_small |= m->is_expandable && b->requested <= PYTORCH_SMALL_MOST_BYTES;
        m->is_large |= m->is_expandable && b->requested > PYTORCH_SMALL_MOST_BYTES;
        if (!b->was || !m->was)
            continue;
        b->is_within = true;
        b->stream = m->stream;
        b->pool = m->pool;
        if (!b->granted && !m->is_expandable)
            find_granted(s, i);
    }
}

/* Says of each expandable segment where it begins, and what it is for. */
static void find_begins(struct start *s)
{
    for (unsigned i = 0; i < s->memory_count; i++) {
        struct start_memory begin = s->memories[i];
        if (!begin.is_expandable)
            continue;
        const unsigned end = range_end(s, i);
        begin.bytes = 0;
        for (unsigned k = i; k < end; k++) {
            begin.is_small |= s->memories[k].is_small;
            begin.is_large |= s->memories[k].is_large;
            begin.was |= s->memories[k].was;
        }
        insert(s, i, &begin);
        i = end;
    }
}

void start_find(struct start *s)
{
    sort_blocks(s);
    spread_pools(s);
    join_parts(s);
    place_blocks(s);
    find_begins(s);
    s->is_empty = true;
    for (uint64_t i = 0; i < s->block_count; i++)
        s->is_empty &= !s->blocks[i].was;
    for (unsigned i = 0; i < s->memory_count; i++)
        s->is_empty &= !s->memories[i].was;
}

void start_free(struct start *s)
{
    free(s->blocks);
    free(s->memories);
}
