#include "tests/experiment/heap/heap_oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"

static const uint32_t guard = 0xdeadbeef;

static bool wrong(struct heap_oracle *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool wrong(struct heap_oracle *o, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = snprintf(o->message, sizeof o->message, "after %u commands: ", o->ops);
    vsnprintf(o->message + length, sizeof o->message - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- memories ---- */

static uint32_t *guarded(uint64_t words, uint32_t **inside)
{
    uint32_t *all = must_alloc((words + 2 * GUARD_WORDS) * 4);
    for (uint64_t i = 0; i < GUARD_WORDS; i++)
        all[i] = all[GUARD_WORDS + words + i] = guard;
    *inside = all + GUARD_WORDS;
    return all;
}

static bool guards_stand(const uint32_t *all, uint64_t words)
{
    for (uint64_t i = 0; i < GUARD_WORDS; i++)
        if (all[i] != guard || all[GUARD_WORDS + words + i] != guard)
            return false;
    return true;
}

bool oracle_guards(struct heap_oracle *o)
{
    const struct host_heap *h = &o->heap;
    if (!guards_stand(o->index_guarded, o->index_words))
        return wrong(o, "a word beside the index was written");
    if (!guards_stand(o->arena_guarded, h->words))
        return wrong(o, "a word beside the arena was written");
    if (!guards_stand(o->slots_guarded, (uint64_t)h->slot_count * SLOT_WORDS))
        return wrong(o, "a word beside the slots was written");
    return true;
}

void oracle_open(struct heap_oracle *o, enum device_heap_policy policy,
                 enum device_heap_padding padding, uint32_t words, uint32_t capacity,
                 uint32_t slot_count)
{
    *o = (struct heap_oracle){.heap = {.words = words,
                                       .capacity = capacity,
                                       .slot_count = slot_count,
                                       .policy = policy,
                                       .padding = padding}};
    struct host_heap *h = &o->heap;
    o->index_words = heap_index_words(policy, capacity);
    o->index_guarded = guarded(o->index_words, &h->index);
    o->arena_guarded = guarded(words, &h->arena);
    o->slots_guarded = guarded((uint64_t)slot_count * SLOT_WORDS, &h->slots);
    o->owner = must_alloc((uint64_t)words * 4 + 4);
    o->slots = must_alloc(slot_count * sizeof *o->slots);
    struct random random = {words};
    for (uint32_t i = 0; i < words; i++)
        h->arena[i] = (uint32_t)random_u64(&random);
    for (uint32_t i = 0; i < 3 && words >= 6; i++)
        o->owner[i] = o->owner[words - 1 - i] = OWNER_END;
    host_heap_init(h);
}

void oracle_close(struct heap_oracle *o)
{
    free(o->index_guarded);
    free(o->arena_guarded);
    free(o->slots_guarded);
    free(o->owner);
    free(o->slots);
}

/* ---- the map ---- */

/* The next maximal run of free words at or behind `from`: its length, 0 at the end. A run is a
 * block with its tags, because two free blocks are never neighbours. */
static uint32_t next_run(const struct heap_oracle *o, uint32_t *from)
{
    uint32_t begin = *from, words = o->heap.words;
    while (begin < words && o->owner[begin] != 0)
        begin++;
    uint32_t end = begin;
    while (end < words && o->owner[end] == 0)
        end++;
    *from = begin;
    return end - begin;
}

uint32_t oracle_largest_free(const struct heap_oracle *o)
{
    uint32_t largest = 0;
    for (uint32_t at = 0, length; (length = next_run(o, &at)) != 0; at += length)
        largest = length - 3 > largest ? length - 3 : largest;
    return largest;
}

/* The payload of the smallest free block that has `need` words; 0: there is none. */
static uint32_t smallest_that_fits(const struct heap_oracle *o, uint64_t need)
{
    uint32_t best = 0;
    for (uint32_t at = 0, length; (length = next_run(o, &at)) != 0; at += length)
        if (length - 3 >= need && (best == 0 || length - 3 < best))
            best = length - 3;
    return best;
}

static uint32_t run_around(const struct heap_oracle *o, uint32_t word)
{
    uint32_t begin = word, end = word;
    while (begin > 0 && o->owner[begin - 1] == 0)
        begin--;
    while (end < o->heap.words && o->owner[end] == 0)
        end++;
    return end - begin;
}

static bool own(struct heap_oracle *o, uint32_t slot, uint32_t block, uint32_t size)
{
    for (uint64_t i = (uint64_t)block - 2; i <= (uint64_t)block + size; i++) {
        if (i >= o->heap.words || o->owner[i] != 0)
            return wrong(o, "slot %u got word %llu of block %u + %u, which is %s", slot,
                         (unsigned long long)i, block, size,
                         i >= o->heap.words ? "outside" : "another's");
        o->owner[i] = slot + 1;
    }
    return true;
}

static void disown(struct heap_oracle *o, uint32_t slot, uint32_t block)
{
    for (uint32_t i = block - 2; i < o->heap.words && o->owner[i] == slot + 1; i++)
        o->owner[i] = 0;
}

/* ---- commands ---- */

static bool same_counters(struct heap_oracle *o)
{
    const uint32_t *index = o->heap.index;
    const struct {
        const char *name;
        uint32_t expected, found;
    } counters[] = {
        {"status", o->status, index[HEAP_STATUS]},
        {"live blocks", o->live_blocks, index[HEAP_LIVE_BLOCKS]},
        {"live words", o->live_words, index[HEAP_LIVE_WORDS]},
        {"peak live words", o->peak_live_words, index[HEAP_PEAK_LIVE_WORDS]},
        {"ops", o->ops, index[HEAP_OPS]},
        {"failed", o->failed, index[HEAP_FAILED]},
        {"empty ops", o->empty_ops, index[HEAP_EMPTY_OPS]},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (counters[i].expected != counters[i].found)
            return wrong(o, "%s: %u, not %u", counters[i].name, counters[i].found,
                         counters[i].expected);
    return true;
}

static void run(struct heap_oracle *o, uint32_t what, uint32_t slot, uint32_t count,
                uint32_t stride)
{
    const uint32_t command[COMMAND_WORDS] = {
        [COMMAND_DO] = what | slot, [COMMAND_COUNT] = count, [COMMAND_STRIDE] = stride};
    host_heap_ops(&o->heap, command, 1, NULL, 0);
    o->ops++;
}

static bool refused(struct heap_oracle *o, uint32_t status)
{
    o->status |= status;
    o->failed++;
    return same_counters(o);
}

/* The smallest and the largest payload that a request may be given where it lies. */
static bool size_is_right(struct heap_oracle *o, const struct oracle_slot *s, uint32_t index,
                          uint32_t size)
{
    uint64_t data = (uint64_t)s->count * s->stride, begin = (uint64_t)index * s->stride;
    uint64_t used =
        o->heap.padding == DEVICE_HEAP_SEED ? data + s->stride : begin - s->block + data;
    if (begin < s->block || begin - s->block >= s->stride)
        return wrong(o, "element 0 is at word %llu of block %u, stride %u",
                     (unsigned long long)begin, s->block, s->stride);
    if (size < used || size > used + 3)
        return wrong(o, "a block of %u words for %llu", size, (unsigned long long)used);
    return true;
}

static bool granted(struct heap_oracle *o, uint32_t slot, uint32_t fit)
{
    struct oracle_slot *s = &o->slots[slot];
    const uint32_t *words = o->heap.slots + (size_t)slot * SLOT_WORDS;
    s->block = words[SLOT_BLOCK];
    if (s->block < 5 || s->block >= o->heap.words || words[SLOT_COUNT] != s->count ||
        words[SLOT_STRIDE] != s->stride)
        return wrong(o, "slot %u for %u x %u holds %u %u %u %u", slot, s->count, s->stride,
                     words[0], words[1], words[2], words[3]);
    uint32_t from = run_around(o, s->block) - 3, size = o->heap.arena[s->block - 1];
    if (o->heap.policy == DEVICE_HEAP_BEST && from != fit)
        return wrong(o, "cut from a block of %u words; one of %u is the best fit", from, fit);
    if (!size_is_right(o, s, words[SLOT_INDEX], size) || !own(o, slot, s->block, size))
        return false;
    o->live_blocks++;
    o->live_words += size;
    if (o->live_words > o->peak_live_words)
        o->peak_live_words = o->live_words;
    return same_counters(o);
}

bool oracle_alloc(struct heap_oracle *o, uint32_t slot, uint32_t count, uint32_t stride)
{
    bool seed = o->heap.padding == DEVICE_HEAP_SEED;
    uint64_t need = (uint64_t)count * stride + (seed ? stride : stride - 1);
    run(o, HEAP_ALLOC, slot, count, stride);
    if (slot >= o->heap.slot_count || stride == 0)
        return refused(o, DEVICE_HEAP_BAD_ARGUMENT);
    if (o->slots[slot].taken)
        return refused(o, DEVICE_HEAP_STALE_SLOT);
    o->slots[slot] = (struct oracle_slot){.taken = true, .count = count, .stride = stride};
    if (count == 0) {
        o->status |= DEVICE_HEAP_EMPTY;
        o->empty_ops++;
        return same_counters(o);
    }
    uint32_t fit = smallest_that_fits(o, need);
    if (fit)
        return granted(o, slot, fit);
    o->slots[slot].count = 0;
    return refused(o, need <= UINT32_MAX ? DEVICE_HEAP_OUT_OF_MEMORY : DEVICE_HEAP_BAD_ARGUMENT);
}

bool oracle_free(struct heap_oracle *o, uint32_t slot)
{
    bool exists = slot < o->heap.slot_count;
    uint32_t size = exists && o->slots[slot].block ? o->heap.arena[o->slots[slot].block - 1] : 0;
    run(o, HEAP_FREE, slot, 0, 0);
    if (!exists)
        return refused(o, DEVICE_HEAP_BAD_ARGUMENT);
    struct oracle_slot *s = &o->slots[slot];
    if (!s->taken)
        return refused(o, DEVICE_HEAP_STALE_SLOT);
    if (s->block) {
        disown(o, slot, s->block);
        o->live_blocks--;
        o->live_words -= size;
    }
    *s = (struct oracle_slot){0};
    return same_counters(o);
}

/* ---- the invariants ---- */

static bool entry_is(const struct heap_oracle *o, uint32_t p, uint32_t block, uint32_t size)
{
    const struct host_heap *h = &o->heap;
    if (p == 0 || p > h->capacity)
        return false;
    const uint32_t *entry = h->policy >= DEVICE_HEAP_BEST
                                ? h->index + TLSF_ENTRIES + (p - 1) * TLSF_ENTRY_WORDS
                                : h->index + HEAP_HEADER_WORDS + p * HEAP_ENTRY_WORDS;
    return entry[0] == block && entry[1] == size;
}

/* I1, I3, I4: every run of free words is one block with an entry; returns how many there are. */
static bool walk_free(struct heap_oracle *o, uint32_t *count)
{
    const uint32_t *arena = o->heap.arena;
    *count = 0;
    for (uint32_t at = 0, length; (length = next_run(o, &at)) != 0; at += length) {
        uint32_t block = at + 2, size = length - 3;
        ++*count;
        if (length < 4 || arena[block - 1] != size || arena[block + size] != size)
            return wrong(o, "I1: free words %u + %u have tags %u and %u", at, length,
                         arena[block - 1], arena[at + length - 1]);
        if (!entry_is(o, arena[block - 2], block, size))
            return wrong(o, "I4: entry %u is not the free block %u + %u", arena[block - 2], block,
                         size);
    }
    return true;
}

/* I5, and that there are no more entries than free blocks. */
static bool walk_heap(struct heap_oracle *o)
{
    const uint32_t *size = o->heap.index + HEAP_HEADER_WORDS + 1;
    for (uint32_t p = 2; p <= o->heap.index[HEAP_FREE_BLOCKS]; p++)
        if (size[p / 2 * HEAP_ENTRY_WORDS] < size[p * HEAP_ENTRY_WORDS])
            return wrong(o, "I5: entry %u is larger than its parent", p);
    return true;
}

/* The bin by the definition: powers of two in 32 parts. */
static uint32_t bin_of(uint32_t size)
{
    uint32_t power = 5;
    if (size < 32)
        return size;
    while (size >> power > 1)
        power++;
    return (power - 4) * 32 + (uint32_t)(((uint64_t)size * 32 >> power) - 32);
}

static bool walk_lists(struct heap_oracle *o, uint32_t free_blocks)
{
    const uint32_t *index = o->heap.index;
    uint32_t listed = 0;
    for (uint32_t bin = 0; bin < TLSF_LEVELS * TLSF_BINS; bin++) {
        bool bit = index[TLSF_MASKS + bin / TLSF_BINS] >> bin % TLSF_BINS & 1;
        bool level = index[HEAP_LEVELS] >> bin / TLSF_BINS & 1;
        uint32_t p = index[TLSF_LISTS + bin];
        if (bit != (p != 0) || (bit && !level) || (level && !index[TLSF_MASKS + bin / TLSF_BINS]))
            return wrong(o, "I5: the bits of list %u are wrong", bin);
        for (; p != 0; p = index[TLSF_ENTRIES + (p - 1) * TLSF_ENTRY_WORDS + 2])
            if (bin_of(index[TLSF_ENTRIES + (p - 1) * TLSF_ENTRY_WORDS + 1]) != bin ||
                ++listed > free_blocks)
                return wrong(o, "I5: entry %u does not belong in list %u", p, bin);
    }
    return listed == free_blocks ||
           wrong(o, "I5: %u entries in lists, %u free blocks", listed, free_blocks);
}

/* I1, I8 for allocated blocks; I6. */
static bool walk_slots(struct heap_oracle *o)
{
    const struct host_heap *h = &o->heap;
    uint32_t blocks = 0, words = 0;
    for (uint32_t slot = 0; slot < h->slot_count; slot++) {
        const struct oracle_slot *s = &o->slots[slot];
        const uint32_t *found = h->slots + (size_t)slot * SLOT_WORDS;
        if (found[SLOT_BLOCK] != s->block || found[SLOT_COUNT] != s->count ||
            found[SLOT_STRIDE] != s->stride)
            return wrong(o, "I8: slot %u holds %u %u %u, not %u %u %u", slot, found[SLOT_BLOCK],
                         found[SLOT_COUNT], found[SLOT_STRIDE], s->block, s->count, s->stride);
        if (s->block == 0)
            continue;
        uint32_t size = h->arena[s->block - 1];
        if (o->owner[s->block + size] != slot + 1 || h->arena[s->block + size] != size ||
            h->arena[s->block - 2] != (HEAP_ALLOCATED | slot))
            return wrong(o, "I1: block %u + %u of slot %u has wrong tags", s->block, size, slot);
        blocks++;
        words += size;
    }
    return (blocks == o->live_blocks && words == o->live_words) ||
           wrong(o, "I6: %u blocks of %u words are live, not %u of %u", blocks, words,
                 o->live_blocks, o->live_words);
}

/* I2: owned runs and free runs are what is there, because the map covers every word; each owned
 * block's end was checked against the map above. */
bool oracle_walk(struct heap_oracle *o)
{
    const struct host_heap *h = &o->heap;
    uint32_t free_blocks, report[REPORT_WORDS];
    if (!walk_free(o, &free_blocks) || !walk_slots(o) || !same_counters(o))
        return false;
    if (free_blocks != h->index[HEAP_FREE_BLOCKS])
        return wrong(o, "I4: %u free blocks, the index has %u", free_blocks,
                     h->index[HEAP_FREE_BLOCKS]);
    if (free_blocks > o->live_blocks + 1)
        return wrong(o, "I7: %u free blocks beside %u live ones", free_blocks, o->live_blocks);
    if (h->policy >= DEVICE_HEAP_BEST ? !walk_lists(o, free_blocks) : !walk_heap(o))
        return false;
    host_heap_check(h, report);
    for (uint32_t i = 0; i < REPORT_INVARIANTS; i++)
        if (report[i])
            return wrong(o, "heap_check finds I%u broken where nothing is", i + 1);
    if (report[REPORT_BLOCKS] != o->live_blocks || report[REPORT_FREE_BLOCKS] != free_blocks ||
        report[REPORT_LARGEST_FREE_WORDS] != oracle_largest_free(o))
        return wrong(o, "heap_check counts otherwise");
    return oracle_guards(o);
}
