/* tagged: the free list of Futhark's run-time system, in five versions from 2018 to 2022.
 *
 * A request names its allocation site, the tag. A freed block goes into a list of entries (memory,
 * size, tag) instead of back to the driver.
 *
 *   v1   (1) Only the entry with the request's own tag is looked at. It is taken if it is between
 *            once and twice as big as the request; if not, it is released and the driver asked.
 *        (2) free releases the entry that its tag already has, so there is at most one a tag.
 *        (3) If the driver is out of memory, the request fails.
 *   v1c  As v1, but any entry that is big enough is taken. Sizes are at least 4 bytes. If the
 *        driver is out of memory, entries are released one at a time, lowest slot first, and the
 *        driver asked again after each.
 *   v2   As v1c; a tag that has no entry takes one of exactly its size, whatever its tag: of
 *        several the one in the last slot, because the search goes on after a match of sizes.
 *   v3   The smallest entry that is big enough, of equals the one in the first slot; tags ignored.
 *        The list is unbounded. Sizes are at least 4 bytes.
 *   v4   As v3, but an entry is acceptable only if it is below 4096 bytes, has the request's tag,
 *        or is less than twice as big as the request.
 *
 * With release=yes, v1 releases entries as v1c does when the driver is out of memory. With
 * steal=yes, v1, v1c and v2 take the first entry of another tag that their size rule accepts before
 * they ask the driver. Both were named as improvements when v1 was published. By default v1 keeps
 * its weakness: it fails with memory in its list. release changes nothing from v1c on, and steal
 * nothing from v3 on.
 *
 * Why: in a compiled array program a tag says nearly everything about a block, so a request finds
 * the block that its site used last. Source: "How Futhark manages GPU memory" (Henriksen, 2018),
 * and diku-dk/futhark, rts/c/free_list.h: v1 8efaaca8e, v1c c4cffb8cf, v2 4fedd7191, v3 a74a30dd7,
 * v4 f2a91022a. The least size of v1c and later is of 330308c00, five days after v1.
 *
 * The published code walks all slots. Here a table finds the entry of a tag, and from v2 on an
 * index by size and slot finds the entry of a size. If the smallest entry that is big enough wastes
 * too much for v4, all larger ones do, and only those with the request's tag are acceptable. For
 * these v4 makes a second index, by tag, size and slot, the first time. The same entry is chosen,
 * and the same calls reach the driver. steal=yes walks.
 *
 * Queues: a block may be handed out while commands of its last owner still run. They come first,
 * because both are on one in-order queue: each queue has an instance of its own. The source's free
 * makes released memory safe.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>
#include <string.h>

#include "alloc/allocator.h"
#include "alloc/piece_index.h"
#include "alloc/tag_table.h"
#include "base/arena.h"

enum policy { POLICY_V1, POLICY_V1C, POLICY_V2, POLICY_V3, POLICY_V4 };

struct entry {
    uint64_t size, memory;
    const char *tag;
};

struct tagged {
    struct source *source;
    enum policy policy;
    bool one_entry_per_tag, release_on_failure, steal, has_by_tag;

    struct entry *entries;
    uint64_t *valid; /* bit i: entries[i] holds a block */
    uint32_t capacity, used;
    uint32_t first_open_word; /* all slots of the words of `valid` before this one are valid */

    /* By tag that was freed at least once. With one_entry_per_tag: the slot of its entry, plus 1;
     * 0: it has none. v4: the number of the tag. v3 does not use it. */
    struct tag_table tags;

    /* The items are slots plus 1, cast to pointers. */
    struct piece_index by_size; /* from v2 on: all entries by size_key */
    struct piece_index by_tag;  /* v4: all entries by tag_key, from the first search in it on */
    struct slab nodes;

    uint64_t held_bytes, live_bytes;
};

enum {
    FIRST_CAPACITY = 30, /* as published: "picked arbitrarily" */
    LEAST_BYTES = 4,     /* v1c and later: sizeof(int) */
    SMALL_BYTES = 4096,  /* v4: waste in entries below this does not matter */
};
#define NO_SLOT UINT32_MAX

enum { OPTION_POLICY, OPTION_RELEASE, OPTION_STEAL };
static const struct option_spec tagged_options[] = {
    [OPTION_POLICY] = {"policy", OPTION_CHOICE, "v1", "v1|v1c|v2|v3|v4", 0, 0,
                       "version of the free list: commits 8efaaca8e (2018-01), c4cffb8cf "
                       "(2018-07), 4fedd7191 and a74a30dd7 (2020-06), f2a91022a (2022-07)"},
    [OPTION_RELEASE] = {"release", OPTION_CHOICE, "no", "no|yes", 0, 0,
                        "v1: release entries and ask again when the driver is out of memory"},
    [OPTION_STEAL] = {"steal", OPTION_CHOICE, "no", "no|yes", 0, 0,
                      "v1, v1c, v2: take another tag's entry before asking the driver"},
    {0},
};

static uint32_t words_for(uint32_t capacity)
{
    return (capacity + 63) / 64;
}

static int tagged_init(struct source *source, const struct option_values *options, void **state)
{
    struct tagged *t = must_alloc(sizeof *t);
    t->source = source;
    t->policy = (enum policy)options->value[OPTION_POLICY];
    t->one_entry_per_tag = t->policy <= POLICY_V2;
    t->release_on_failure = t->policy >= POLICY_V1C || options->value[OPTION_RELEASE];
    t->steal = options->value[OPTION_STEAL];
    t->capacity = FIRST_CAPACITY;
    t->entries = must_alloc(t->capacity * sizeof *t->entries);
    t->valid = must_alloc(words_for(t->capacity) * sizeof *t->valid);
    t->nodes.item_bytes = sizeof(struct index_node);
    t->by_size.nodes = t->by_tag.nodes = &t->nodes;
    *state = t;
    return 0;
}

static struct tag_cell *cell_of_tag(struct tagged *t, const char *tag)
{
    const uint32_t number = t->tags.count;
    struct tag_cell *cell = tag_table_find(&t->tags, tag);
    if (!cell) {
        cell = tag_table_add(&t->tags, tag);
        cell->value = number;
    }
    return cell;
}

/* The first valid slot at or after `slot`, or NO_SLOT. */
static inline uint32_t next_valid(const struct tagged *t, uint32_t slot)
{
    uint32_t words = words_for(t->capacity), word = slot / 64;
    if (word >= words)
        return NO_SLOT;
    uint64_t bits = t->valid[word] & UINT64_MAX << (slot % 64);
    while (bits == 0) {
        if (++word == words)
            return NO_SLOT;
        bits = t->valid[word];
    }
    return word * 64 + (uint32_t)__builtin_ctzll(bits);
}

static uint32_t slot_of_tag(const struct tagged *t, const char *tag)
{
    const struct tag_cell *cell = tag_table_find(&t->tags, tag);
    return cell ? cell->value - 1 : NO_SLOT; /* the value 0 is NO_SLOT, too */
}

/* v2 takes the last slot of a size, v3 and v4 the first. */
static struct index_key size_key(const struct tagged *t, uint64_t size, uint32_t slot)
{
    return (struct index_key){size, t->policy == POLICY_V2 ? UINT32_MAX - slot : slot};
}

/* 128 bits: the tag's number, the size, the slot. */
static struct index_key tag_key(uint32_t tag_number, uint64_t size, uint32_t slot)
{
    return (struct index_key){(uint64_t)tag_number << 32 | size >> 32, size << 32 | slot};
}

/* The slot of the first entry at or after a key, or NO_SLOT. */
static uint32_t first_from(const struct piece_index *index, struct index_key key)
{
    return (uint32_t)(uintptr_t)index_from(index, key) - 1; /* NULL becomes NO_SLOT */
}

static void grow_entries(struct tagged *t)
{
    uint32_t old_words = words_for(t->capacity);
    t->capacity *= 2;
    t->entries = must_realloc(t->entries, t->capacity * sizeof *t->entries);
    t->valid = must_realloc(t->valid, words_for(t->capacity) * sizeof *t->valid);
    memset(t->valid + old_words, 0, (words_for(t->capacity) - old_words) * sizeof *t->valid);
}

static uint32_t first_open_slot(struct tagged *t)
{
    if (t->used == t->capacity)
        grow_entries(t);
    while (t->valid[t->first_open_word] == UINT64_MAX)
        t->first_open_word++;
    return t->first_open_word * 64 + (uint32_t)__builtin_ctzll(~t->valid[t->first_open_word]);
}

static void index_by_tag(struct tagged *t, uint32_t slot)
{
    const struct entry *e = &t->entries[slot];
    index_put(&t->by_tag, tag_key(cell_of_tag(t, e->tag)->value, e->size, slot),
              (void *)((uintptr_t)slot + 1));
}

static void insert_entry(struct tagged *t, const struct block *block, const char *tag)
{
    uint32_t slot = first_open_slot(t);
    t->entries[slot] = (struct entry){.size = block->size, .memory = block->memory, .tag = tag};
    t->valid[slot / 64] |= UINT64_C(1) << (slot % 64);
    t->used++;
    t->held_bytes += block->size;
    if (t->one_entry_per_tag)
        cell_of_tag(t, tag)->value = slot + 1;
    if (t->policy >= POLICY_V2)
        index_put(&t->by_size, size_key(t, block->size, slot), (void *)((uintptr_t)slot + 1));
    if (t->has_by_tag)
        index_by_tag(t, slot);
}

static struct entry take_entry(struct tagged *t, uint32_t slot)
{
    struct entry entry = t->entries[slot];
    t->valid[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
    if (slot / 64 < t->first_open_word)
        t->first_open_word = slot / 64;
    t->used--;
    t->held_bytes -= entry.size;
    if (t->one_entry_per_tag)
        cell_of_tag(t, entry.tag)->value = 0;
    if (t->policy >= POLICY_V2)
        index_take(&t->by_size, size_key(t, entry.size, slot));
    if (t->has_by_tag)
        index_take(&t->by_tag, tag_key(cell_of_tag(t, entry.tag)->value, entry.size, slot));
    return entry;
}

static int release_entry(struct tagged *t, uint32_t slot)
{
    struct entry entry = take_entry(t, slot);
    return source_free(t->source, entry.memory, entry.size);
}

static uint64_t least_size(const struct tagged *t, uint64_t size)
{
    return size < LEAST_BYTES && t->policy != POLICY_V1 ? LEAST_BYTES : size;
}

/* The size rule of v1, v1c and v2. */
static bool fits(const struct tagged *t, uint64_t held, uint64_t wanted)
{
    return held >= wanted && (t->policy != POLICY_V1 || held - wanted <= wanted);
}

/* v2: the last entry of this size. */
static uint32_t find_exact(const struct tagged *t, uint64_t size)
{
    uint32_t slot = first_from(&t->by_size, (struct index_key){size, 0});
    return slot != NO_SLOT && t->entries[slot].size == size ? slot : NO_SLOT;
}

static uint32_t find_stolen(const struct tagged *t, uint64_t size)
{
    uint32_t i = next_valid(t, 0);
    while (i != NO_SLOT && !fits(t, t->entries[i].size, size))
        i = next_valid(t, i + 1);
    return i;
}

/* From v3 on: the smallest acceptable entry, the first one of equals. */
static uint32_t find_best(struct tagged *t, uint64_t size, const char *tag)
{
    uint32_t slot = first_from(&t->by_size, (struct index_key){size, 0});
    if (t->policy == POLICY_V3 || slot == NO_SLOT || t->entries[slot].size < SMALL_BYTES ||
        t->entries[slot].size - size < size)
        return slot;
    for (uint32_t i = t->has_by_tag ? NO_SLOT : next_valid(t, 0); i != NO_SLOT;
         i = next_valid(t, i + 1))
        index_by_tag(t, i);
    t->has_by_tag = true;
    const struct tag_cell *cell = tag_table_find(&t->tags, tag);
    slot = cell ? first_from(&t->by_tag, tag_key(cell->value, size, 0)) : NO_SLOT;
    return slot != NO_SLOT && t->entries[slot].tag == tag ? slot : NO_SLOT;
}

/* *slot receives the slot to take, or NO_SLOT. The tag's own entry may be released. */
static int choose(struct tagged *t, uint64_t size, const char *tag, uint32_t *slot)
{
    if (!t->one_entry_per_tag) {
        *slot = find_best(t, size, tag);
        return 0;
    }
    *slot = slot_of_tag(t, tag);
    if (*slot == NO_SLOT) {
        if (t->policy == POLICY_V2)
            *slot = find_exact(t, size);
    } else if (!fits(t, t->entries[*slot].size, size)) {
        TRY(release_entry(t, *slot));
        *slot = NO_SLOT;
    }
    if (*slot == NO_SLOT && t->steal)
        *slot = find_stolen(t, size);
    return 0;
}

static int ask_driver(struct tagged *t, uint64_t size, uint64_t *memory)
{
    int code = source_alloc(t->source, size, SOURCE_LAZY, memory);
    while (code == ERR_OOM && t->release_on_failure && t->used > 0) {
        code = release_entry(t, next_valid(t, 0));
        THEN(code, source_alloc(t->source, size, SOURCE_LAZY, memory));
    }
    return code;
}

static int tagged_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct tagged *t = state;
    struct entry entry = {.size = least_size(t, request->size)};
    uint32_t slot;
    TRY(choose(t, entry.size, request->tag, &slot));
    if (slot != NO_SLOT)
        entry = take_entry(t, slot);
    else
        TRY(ask_driver(t, entry.size, &entry.memory));
    *block = (struct block){.memory = entry.memory, .size = entry.size};
    t->live_bytes += entry.size;
    return 0;
}

static int tagged_free(void *state, const struct block *block, const char *tag)
{
    struct tagged *t = state;
    const uint32_t existing = t->one_entry_per_tag ? slot_of_tag(t, tag) : NO_SLOT;
    const int code = existing == NO_SLOT ? 0 : release_entry(t, existing);
    insert_entry(t, block, tag);
    t->live_bytes -= block->size;
    return code;
}

static int tagged_trim(void *state)
{
    struct tagged *t = state;
    int first_failure = 0;
    for (uint32_t i = next_valid(t, 0); i != NO_SLOT; i = next_valid(t, i + 1))
        ALSO(first_failure, release_entry(t, i));
    return first_failure;
}

static unsigned check_tags(const struct tagged *t)
{
    unsigned broken = 0;
    uint32_t known = 0, filled = 0;
    for (size_t i = 0; t->tags.cells && i < (size_t)1 << t->tags.bits; i++) {
        const struct tag_cell *cell = &t->tags.cells[i];
        known += cell->known;
        broken += t->policy == POLICY_V4 && cell->known && cell->value >= t->tags.count;
        if (!cell->known || cell->value == 0 || !t->one_entry_per_tag)
            continue;
        uint32_t slot = cell->value - 1;
        filled++;
        broken +=
            slot >= t->capacity || next_valid(t, slot) != slot || t->entries[slot].tag != cell->tag;
    }
    broken += known != t->tags.count;
    broken += filled != (t->one_entry_per_tag ? t->used : 0);
    return broken;
}

static unsigned check_indices(const struct tagged *t)
{
    uint64_t by_size, by_tag;
    unsigned broken = index_check(&t->by_size, &by_size) + index_check(&t->by_tag, &by_tag);
    broken += by_size != (t->policy >= POLICY_V2 ? t->used : 0);
    broken += by_tag != (t->has_by_tag ? t->used : 0);
    return broken;
}

static unsigned tagged_check(const void *state)
{
    const struct tagged *t = state;
    unsigned broken = check_tags(t) + check_indices(t);
    uint32_t used = 0;
    uint64_t bytes = 0;
    for (uint32_t i = next_valid(t, 0); i != NO_SLOT; i = next_valid(t, i + 1)) {
        if (i >= t->capacity)
            return broken + 1;
        const struct entry *e = &t->entries[i];
        used++;
        bytes += e->size;
        broken += e->size != least_size(t, e->size) || e->memory == 0;
        broken += t->one_entry_per_tag && slot_of_tag(t, e->tag) != i;
        broken += t->by_size.root && first_from(&t->by_size, size_key(t, e->size, i)) != i;
        const struct tag_cell *cell = tag_table_find(&t->tags, e->tag);
        broken += t->has_by_tag &&
                  (!cell || first_from(&t->by_tag, tag_key(cell->value, e->size, i)) != i);
        for (uint32_t j = next_valid(t, 0); j < i; j = next_valid(t, j + 1))
            broken += t->entries[j].memory == e->memory;
    }
    for (uint32_t word = 0; word < t->first_open_word; word++)
        broken += t->valid[word] != UINT64_MAX;
    broken += used != t->used;
    broken += bytes != t->held_bytes;
    return broken;
}

static uint64_t tagged_reserved(const void *state)
{
    const struct tagged *t = state;
    return t->held_bytes + t->live_bytes;
}

static void tagged_fini(void *state)
{
    struct tagged *t = state;
    tagged_trim(t);
    tag_table_free(&t->tags);
    slab_free(&t->nodes);
    free(t->valid);
    free(t->entries);
    free(t);
}

static const struct allocator_origin tagged_origins[] = {
    {"Futhark's free list: v1", "diku-dk/futhark", "rts/c/free_list.h", "8efaaca8e", 2018},
    {"v1c", "diku-dk/futhark", "rts/c/free_list.h", "c4cffb8cf", 2018},
    {"the least size from v1c on", "diku-dk/futhark", NULL, "330308c00", 2018},
    {"v2", "diku-dk/futhark", "rts/c/free_list.h", "4fedd7191c32", 2020},
    {"v3", "diku-dk/futhark", "rts/c/free_list.h", "a74a30dd7391", 2020},
    {"v4", "diku-dk/futhark", "rts/c/free_list.h", "f2a91022a", 2022},
    {0},
};

const struct allocator_ops allocator_tagged = {
    .version = ALLOCATOR_API_VERSION,
    .name = "tagged",
    .summary = "a free list that remembers the allocation site of each block",
    .origins = tagged_origins,
    .options = tagged_options,
    .queues = QUEUES_APART,
    .init = tagged_init,
    .alloc = tagged_alloc,
    .free = tagged_free,
    .trim = tagged_trim,
    .check = tagged_check,
    .reserved = tagged_reserved,
    .fini = tagged_fini,
};
