/* tlsf: two-level segregated fit over big parents, with its lists outside the memory.
 *
 *   1. A parent is one memory of the source, cut into nodes in the order of their addresses. The
 *      last node, the tail, was never cut or has become free up to the end. Sizes and offsets are
 *      multiples of the unit, the source's alignment.
 *   2. A parent's free nodes, except the tail, are in lists by size: exact below 32 units, above
 *      that in 32 steps between two powers of two. Two levels of bitmaps find the next list that
 *      has any.
 *   3. A request goes to the first list all of whose nodes fit, and takes the node freed last. The
 *      rest of the node stays free. If there is no such list, the tail is cut. If that is too
 *      small, the list of the request's own size is walked for a node that fits.
 *   4. free joins the node with free neighbours; one that touches the tail becomes the tail.
 *   5. A new parent has `parent` bytes, or 1/8 of the capacity where that is at most 1 GiB. The
 *      first ones have 1/8, 1/4, 1/2 of that, while larger than any before and twice the request.
 *   6. A request above half a parent is dedicated: a memory of its own, given back when freed.
 *   7. One empty parent is kept. A second one goes back.
 *   8. Parents are nearly sorted by free bytes: one step of a bubble sort an operation.
 *   9. strategy=balanced tries the fullest parent first; min_time the emptiest; min_memory the
 *      fullest, and walks the list of the request's own size first.
 *  10. If the source refuses a parent, empty ones are released and it is asked again; then for 1/2,
 *      1/4, 1/8 of a parent; then for a dedicated memory. If it refuses a dedicated memory, the
 *      parents are tried; then empty ones are released, and the source is asked again.
 *  11. follow=vma is VMA as it runs. Rule 3 begins at the list after the request's own, even if
 *      all nodes of its own fit; min_memory goes there before the tail, if its own list is empty.
 *      A free in another parent gives back the last parent if that is empty. The step of rule 8
 *      is that of the first two parents out of order. Rule 10 releases none, and a refused
 *      dedicated memory is followed by a parent, if the request fits into one.
 *  12. follow=vma_linear is VMA's linear pool. The last parent alone serves: behind its last block,
 *      or, where no room is left there, from its start on, in front of its first block. From then
 *      on it is a ring, and serves at its start until all blocks behind are free. A place between
 *      two blocks is not used. Rules 2 to 4, 8 and 9 do not apply; rule 11 does.
 *  13. follow=vma_linear:upper=n has one parent, of `parent` bytes, and no dedicated memory.
 *      Requests of n bytes and more are taken from its upper end downwards. While one of them
 *      lives, the parent is no ring; while it is a ring, they are refused.
 *
 * Why: within a parent alloc and free take constant time however many blocks live, neighbours join
 * at once, and little is lost to fit. Sources: M. Masmano, I. Ripoll, A. Crespo, J. Real, "TLSF: a
 * new dynamic memory allocator for real-time systems" (ECRTS 2004); rules 2 to 4 with the numbers
 * of M. Conte's tlsf; the tail and rules 5 to 13 from the Vulkan Memory Allocator (VMA).
 *
 * Departures: Conte's heads lie inside the memory, whose blocks end below 4 GiB; here there is no
 * bound, and no byte is lost to heads. Conte never walks a list, and fails. VMA is told the size of
 * the heap, and holds at most 80 % of it where it can; here the 1/8 of rule 5 needs a capacity.
 * In VMA the program says which requests are for the upper end; no trace does, and rule 13 has a
 * size instead. dedicated=never gives a request above `parent` bytes a parent of its own size,
 * which rule 7 may keep; `empty` is the number that rule 7 keeps. Rule 8 makes balanced and
 * min_memory linear in the number of full parents.
 *
 * Queues: a node may be handed out while commands of its last owner still run. They come first,
 * because both are on one in-order queue: each queue has an instance of its own. The source's free
 * makes released memory safe.
 *
 * Needs: alloc/segregated_fit.c alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c
 * base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/allocator.h"
#include "alloc/segregated_fit.h"
#include "base/slab.h"
#include "base/sort.h"

enum { HALVINGS_MOST = 3 }; /* 1/8 of a parent is the smallest */
enum { FOLLOW_CONTE, FOLLOW_VMA, FOLLOW_VMA_LINEAR };
static const uint64_t small_capacity_bytes = UINT64_C(1) << 30;

struct parent {
    struct fit_range range; /* first: a node's range is its parent */
    uint64_t memory;
    size_t position; /* in the allocator's parents */
    /* follow=vma_linear: live nodes, in the order in which they were taken. The second are those at
     * the ring's start, or those at the upper end. */
    struct nodes {
        struct fit_node *head, *tail;
    } first, second;
};

struct tlsf {
    struct source *source;
    unsigned unit_bits;    /* a unit has 2^unit_bits bytes */
    uint64_t parent_bytes; /* before they are rounded up to units */
    unsigned order;        /* enum fit_order */
    bool fullest_first, dedicate, as_vma, is_linear;
    uint64_t upper_bytes; /* 0: none come from the upper end */
    uint64_t keep_empty_count, empty_count;
    uint64_t dedicated_bytes;
    struct parent **parents;
    unsigned parent_count, parent_capacity;
    struct slab nodes, spare_parents;
};

enum {
    OPTION_PARENT,
    OPTION_STRATEGY,
    OPTION_DEDICATED,
    OPTION_EMPTY,
    OPTION_FOLLOW,
    OPTION_UPPER
};
static const struct option_spec tlsf_options[] = {
    [OPTION_PARENT] = {"parent", OPTION_BYTES, "256MiB", NULL, 4096, UINT64_C(1) << 40,
                       "bytes of a parent; the first ones are smaller"},
    [OPTION_STRATEGY] =
        {"strategy", OPTION_CHOICE, "balanced", "balanced|min_time|min_memory", 0, 0,
         "which parent first: the fullest, the emptiest, or the fullest and its tightest fit"},
    [OPTION_DEDICATED] =
        {"dedicated", OPTION_CHOICE, "half", "half|never", 0, 0,
         "half: requests above half a parent get a memory of their own; never: none do"},
    [OPTION_EMPTY] = {"empty", OPTION_COUNT, "1", NULL, 0, 1 << 20,
                      "number of empty parents that are kept"},
    [OPTION_FOLLOW] = {"follow", OPTION_CHOICE, "conte", "conte|vma|vma_linear", 0, 0,
                       "whose fit: Conte's tlsf, VMA with its rules of empty parents, or VMA's "
                       "linear pool"},
    [OPTION_UPPER] = {"upper", OPTION_BYTES, "0", NULL, 0, ALLOCATOR_MOST_BYTES,
                      "follow=vma_linear: one parent, and requests from this size on come from its "
                      "upper end; 0: many parents, and none do"},
    {0},
};

static int tlsf_init(struct source *source, const struct option_values *options, void **state)
{
    TRY(source_requires_split(source, "tlsf"));
    struct tlsf *t = must_alloc(sizeof *t);
    t->source = source;
    t->unit_bits = (unsigned)__builtin_ctzll(source->alignment);
    t->parent_bytes = options->value[OPTION_PARENT];
    const uint64_t most = source->capacity_bytes;
    if (most && most <= small_capacity_bytes && most / 8 < t->parent_bytes)
        t->parent_bytes = source_read_capacity(source) / 8;
    t->fullest_first = options->value[OPTION_STRATEGY] != 1;
    t->order = options->value[OPTION_STRATEGY] == 2 ? FIT_TIGHT : FIT_QUICK;
    t->as_vma = options->value[OPTION_FOLLOW] != FOLLOW_CONTE;
    t->is_linear = options->value[OPTION_FOLLOW] == FOLLOW_VMA_LINEAR;
    t->upper_bytes = t->is_linear ? options->value[OPTION_UPPER] : 0;
    t->order |= t->as_vma ? FIT_NEXT : 0;
    t->dedicate = options->value[OPTION_DEDICATED] == 0 && !t->upper_bytes;
    t->keep_empty_count = options->value[OPTION_EMPTY];
    t->nodes.item_bytes = sizeof(struct fit_node);
    t->spare_parents.item_bytes = sizeof(struct parent);
    *state = t;
    return 0;
}

static inline uint64_t to_units(const struct tlsf *t, uint64_t bytes)
{
    return (bytes >> t->unit_bits) + ((bytes & ((UINT64_C(1) << t->unit_bits) - 1)) != 0);
}

/* ---- parents ---- */

static void place_parent(struct tlsf *t, struct parent *p, size_t position)
{
    t->parents[position] = p;
    p->position = position;
}

static bool is_out_of_order(const struct tlsf *t, size_t at)
{
    return t->parents[at - 1]->range.free > t->parents[at]->range.free;
}

/* One step towards the order of free bytes, least first: of the parent at `at`. VMA's is that of
 * the first two that are out of order. */
static void sort_step(struct tlsf *t, size_t at)
{
    if (t->is_linear)
        return;
    for (size_t i = 1; t->as_vma && i < t->parent_count; i++)
        if (is_out_of_order(t, at = i))
            break;
    if (at + 1 < t->parent_count && is_out_of_order(t, at + 1) && !t->as_vma)
        at++;
    if (at == 0 || at >= t->parent_count || !is_out_of_order(t, at))
        return;
    struct parent *p = t->parents[at];
    place_parent(t, t->parents[at - 1], at);
    place_parent(t, p, at - 1);
}

/* Releases a parent without live nodes, which no longer counts as empty. */
static int release_parent(struct tlsf *t, struct parent *p)
{
    uint64_t memory = p->memory, bytes = p->range.size << t->unit_bits;
    t->parent_count--;
    for (size_t i = p->position; i < t->parent_count; i++)
        place_parent(t, t->parents[i + 1], i);
    fit_close(&p->range);
    slab_give(&t->spare_parents, p);
    return source_free(t->source, memory, bytes);
}

static int tlsf_trim(void *state)
{
    struct tlsf *t = state;
    int first_failure = 0;
    for (size_t i = t->parent_count; i-- > 0;) {
        if (!fit_is_empty(&t->parents[i]->range))
            continue;
        t->empty_count--;
        ALSO(first_failure, release_parent(t, t->parents[i]));
    }
    return first_failure;
}

/* Bytes of the next parent, and how often the full size was halved for them. */
static uint64_t next_parent_bytes(const struct tlsf *t, uint64_t least, unsigned *halvings)
{
    uint64_t bytes = t->parent_bytes, largest = 0;
    for (size_t i = 0; i < t->parent_count; i++)
        largest = larger(largest, t->parents[i]->range.size << t->unit_bits);
    *halvings = t->upper_bytes ? HALVINGS_MOST : 0;
    for (; *halvings < HALVINGS_MOST; ++*halvings) {
        if (bytes / 2 <= largest || bytes / 2 < 2 * least)
            break;
        bytes /= 2;
    }
    return bytes;
}

static int ask_driver(struct tlsf *t, uint64_t least, uint64_t *memory, uint64_t *size)
{
    unsigned halvings;
    uint64_t bytes = larger(next_parent_bytes(t, least, &halvings), least);
    *size = to_units(t, bytes);
    int code = source_alloc(t->source, *size << t->unit_bits, SOURCE_LAZY, memory);
    if (code == ERR_OOM && t->empty_count > 0 && !t->as_vma) {
        code = tlsf_trim(t);
        THEN(code, source_alloc(t->source, *size << t->unit_bits, SOURCE_LAZY, memory));
    }
    while (code == ERR_OOM && halvings++ < HALVINGS_MOST && bytes / 2 >= least) {
        bytes /= 2;
        *size = to_units(t, bytes);
        code = source_alloc(t->source, *size << t->unit_bits, SOURCE_LAZY, memory);
    }
    return code;
}

/* A parent with room for `size` units, the last of the parents. */
static int add_parent(struct tlsf *t, uint64_t size)
{
    uint64_t memory, parent_size;
    if (t->upper_bytes && (t->parent_count || size << t->unit_bits > t->parent_bytes))
        return error_set(
            &t->source->error, ERR_OOM, "no place for %llu bytes in the one parent of %llu",
            (unsigned long long)(size << t->unit_bits), (unsigned long long)t->parent_bytes);
    TRY(ask_driver(t, size << t->unit_bits, &memory, &parent_size));
    t->parents = must_grow(t->parents, t->parent_count, &t->parent_capacity, sizeof *t->parents);
    struct parent *p = slab_take(&t->spare_parents);
    p->memory = memory;
    fit_open(&p->range, parent_size, &t->nodes);
    p->first = p->second = (struct nodes){0};
    place_parent(t, p, t->parent_count++);
    t->empty_count++;
    return 0;
}

/* ---- follow=vma_linear ---- */

static uint64_t end_of(const struct fit_node *n)
{
    return n ? n->start + n->size : 0;
}

static bool is_ring(const struct parent *p)
{
    return p->second.tail && p->first.head && p->second.tail->start < p->first.head->start;
}

/* Rules 12 and 13. NULL if the parent has no place. */
static struct fit_node *linear_take(struct tlsf *t, struct parent *p, uint64_t size)
{
    const bool ring = is_ring(p),
               is_upper = t->upper_bytes && size << t->unit_bits >= t->upper_bytes;
    struct nodes *nodes = &p->first;
    uint64_t start = end_of(p->first.tail);
    uint64_t end = p->second.tail ? p->second.tail->start : p->range.size;
    if (is_upper && ring)
        return NULL;
    if (is_upper) {
        nodes = &p->second;
    } else if (ring || (end - start < size && !p->second.tail && p->first.head)) {
        nodes = &p->second;
        start = end_of(p->second.tail);
        end = p->first.head->start;
    }
    if (end - start < size)
        return NULL;
    struct fit_node *n = slab_take(&t->nodes);
    *n = (struct fit_node){.prev = nodes->tail,
                           .range = &p->range,
                           .start = is_upper ? end - size : start,
                           .size = size};
    *(n->prev ? &n->prev->next : &nodes->head) = n;
    nodes->tail = n;
    p->range.free -= size;
    return n;
}

static void linear_put_back(struct fit_node *n)
{
    struct parent *p = (struct parent *)n->range;
    const bool ring = is_ring(p), is_first = p->first.head == n || p->first.tail == n;
    struct nodes *nodes = is_first ? &p->first : &p->second;
    *(n->prev ? &n->prev->next : &nodes->head) = n->next;
    *(n->next ? &n->next->prev : &nodes->tail) = n->prev;
    p->range.free += n->size;
    slab_give(p->range.nodes, n);
    if (ring && !p->first.head) {
        p->first = p->second;
        p->second = (struct nodes){0};
    }
}

static unsigned linear_check(const struct parent *p)
{
    uint64_t free = p->range.size;
    unsigned broken = 0;
    for (const struct fit_node *n = p->first.head; n; free -= n->size, n = n->next)
        broken += n->next ? n->next->start < end_of(n) : n != p->first.tail;
    for (const struct fit_node *n = p->second.head; n; free -= n->size, n = n->next)
        broken += n->next ? n->next->prev != n : n != p->second.tail;
    return broken + (free != p->range.free);
}

/* ---- the hooks ---- */

static int dedicated(struct tlsf *t, uint64_t bytes, struct block *block)
{
    uint64_t memory;
    TRY(source_alloc(t->source, bytes, SOURCE_LAZY, &memory));
    t->dedicated_bytes += bytes;
    *block = (struct block){.memory = memory, .size = bytes};
    return 0;
}

static inline bool from_parent(struct tlsf *t, struct parent *p, uint64_t size, struct block *block)
{
    const bool was_empty = fit_is_empty(&p->range);
    struct fit_node *n =
        t->is_linear ? linear_take(t, p, size) : fit_take(&p->range, t->order, size);
    if (!n)
        return false;
    if (was_empty)
        t->empty_count--;
    if (t->parent_count > 1)
        sort_step(t, p->position);
    *block = (struct block){.memory = p->memory,
                            .offset = n->start << t->unit_bits,
                            .size = size << t->unit_bits,
                            .node = n};
    return true;
}

static inline bool from_parents(struct tlsf *t, uint64_t size, struct block *block)
{
    if (t->is_linear)
        return t->parent_count > 0 && from_parent(t, t->parents[t->parent_count - 1], size, block);
    for (size_t i = 0; i < t->parent_count; i++) {
        struct parent *p = t->parents[t->fullest_first ? i : t->parent_count - 1 - i];
        if (fit_may_have(&p->range, size) && from_parent(t, p, size, block))
            return true;
    }
    return false;
}

static int from_new_parent(struct tlsf *t, uint64_t size, struct block *block)
{
    TRY(add_parent(t, size));
    from_parent(t, t->parents[t->parent_count - 1], size, block);
    return 0;
}

static int alloc_dedicated(struct tlsf *t, uint64_t bytes, struct block *block)
{
    int code = dedicated(t, bytes, block);
    if (code != ERR_OOM || from_parents(t, to_units(t, bytes), block))
        return code == ERR_OOM ? 0 : code;
    if (t->as_vma)
        return bytes > t->parent_bytes ? code : from_new_parent(t, to_units(t, bytes), block);
    if (t->empty_count == 0)
        return code;
    code = tlsf_trim(t);
    return code ? code : dedicated(t, bytes, block);
}

static int tlsf_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct tlsf *t = state;
    if (t->dedicate && request->size > t->parent_bytes / 2)
        return alloc_dedicated(t, request->size, block);
    uint64_t size = to_units(t, request->size);
    if (from_parents(t, size, block))
        return 0;
    const int code = from_new_parent(t, size, block);
    return code == ERR_OOM && !t->upper_bytes ? dedicated(t, request->size, block) : code;
}

static int tlsf_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct tlsf *t = state;
    struct fit_node *n = block->node;
    if (!n) {
        t->dedicated_bytes -= block->size;
        return source_free(t->source, block->memory, block->size);
    }
    struct parent *p = (struct parent *)n->range, *goes = NULL;
    struct parent *last = t->parents[t->parent_count - 1];
    (t->is_linear ? linear_put_back : fit_put_back)(n);
    if (!fit_is_empty(&p->range)) {
        if (t->as_vma && fit_is_empty(&last->range)) {
            goes = last;
            t->empty_count--;
        }
    } else if (t->empty_count >= t->keep_empty_count) {
        goes = p;
    } else {
        t->empty_count++;
    }
    const int code = goes ? release_parent(t, goes) : 0;
    sort_step(t, goes == p ? t->parent_count : p->position);
    return code;
}

static unsigned tlsf_check(const void *state)
{
    const struct tlsf *t = state;
    unsigned broken = 0;
    uint64_t empty_count = 0;
    for (size_t i = 0; i < t->parent_count; i++) {
        broken += t->is_linear ? linear_check(t->parents[i]) : fit_check(&t->parents[i]->range);
        broken += t->parents[i]->position != i;
        empty_count += fit_is_empty(&t->parents[i]->range);
    }
    return broken + (empty_count != t->empty_count) + (empty_count > t->keep_empty_count);
}

static uint64_t tlsf_reserved(const void *state)
{
    const struct tlsf *t = state;
    uint64_t bytes = t->dedicated_bytes;
    for (size_t i = 0; i < t->parent_count; i++)
        bytes += t->parents[i]->range.size << t->unit_bits;
    return bytes;
}

static void tlsf_fini(void *state)
{
    struct tlsf *t = state;
    while (t->parent_count > 0)
        release_parent(t, t->parents[t->parent_count - 1]);
    slab_free(&t->nodes);
    slab_free(&t->spare_parents);
    free(t->parents);
    free(t);
}

static const struct allocator_origin tlsf_origins[] = {
    {"TLSF: Masmano, Ripoll, Crespo and Real, at ECRTS", NULL, NULL, NULL, 2004},
    {.what = "Conte's tlsf: rules 2 to 4",
     .repository = "mattconte/tlsf",
     .file = "tlsf.c",
     .commit = "deff9ab",
     .year = 2020},
    {"the Vulkan Memory Allocator: the tail and rules 5 to 13",
     "GPUOpen-LibrariesAndSDKs/VulkanMemoryAllocator", "include/vk_mem_alloc.h", "e386068", 2026},
    {0},
};

const struct allocator_ops allocator_tlsf = {
    .version = ALLOCATOR_API_VERSION,
    .name = "tlsf",
    .summary = "two-level segregated fit over big parents, in constant time",
    .origins = tlsf_origins,
    .options = tlsf_options,
    .queues = QUEUES_APART,
    .init = tlsf_init,
    .alloc = tlsf_alloc,
    .free = tlsf_free,
    .trim = tlsf_trim,
    .check = tlsf_check,
    .reserved = tlsf_reserved,
    .fini = tlsf_fini,
};
