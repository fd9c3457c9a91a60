#include "alloc/segregated_fit.h"

struct list_index {
    unsigned first, second;
};

/* The list that a free node of this size is in. */
static inline struct list_index list_of(uint64_t size)
{
    if (size < FIT_SECOND_LEVELS)
        return (struct list_index){0, (unsigned)size};
    unsigned shift = 63 - (unsigned)__builtin_clzll(size) - FIT_SECOND_BITS;
    return (struct list_index){shift + 1, (unsigned)(size >> shift) - FIT_SECOND_LEVELS};
}

/* The first list all of whose nodes have at least this size. */
static inline struct list_index list_for(uint64_t size)
{
    if (size >= FIT_SECOND_LEVELS)
        size += (UINT64_C(1) << (63 - __builtin_clzll(size) - FIT_SECOND_BITS)) - 1;
    return list_of(size);
}

static void insert_free(struct fit_node *n)
{
    struct fit_range *r = n->range;
    struct list_index at = list_of(n->size);
    struct fit_node **head = &r->lists[at.first][at.second];
    n->is_free = true;
    n->prev_free = NULL;
    n->next_free = *head;
    if (*head)
        (*head)->prev_free = n;
    *head = n;
    r->first_level |= UINT64_C(1) << at.first;
    r->second_level[at.first] |= UINT32_C(1) << at.second;
}

static void remove_free(struct fit_node *n)
{
    struct fit_range *r = n->range;
    struct list_index at = list_of(n->size);
    if (n->next_free)
        n->next_free->prev_free = n->prev_free;
    if (n->prev_free) {
        n->prev_free->next_free = n->next_free;
        return;
    }
    r->lists[at.first][at.second] = n->next_free;
    if (n->next_free)
        return;
    r->second_level[at.first] &= ~(UINT32_C(1) << at.second);
    if (r->second_level[at.first] == 0)
        r->first_level &= ~(UINT64_C(1) << at.first);
}

/* The head of the first list that is not empty, from `at` on. */
static struct fit_node *first_from(const struct fit_range *r, struct list_index at)
{
    uint32_t second = r->second_level[at.first] & UINT32_MAX << at.second;
    if (second == 0) {
        uint64_t first = r->first_level & (UINT64_MAX - 1) << at.first;
        if (first == 0)
            return NULL;
        at.first = (unsigned)__builtin_ctzll(first);
        second = r->second_level[at.first];
    }
    return r->lists[at.first][__builtin_ctz(second)];
}

static struct fit_node *walk_own_list(const struct fit_range *r, uint64_t size)
{
    struct list_index at = list_of(size);
    struct fit_node *n = r->lists[at.first][at.second];
    while (n && n->size < size)
        n = n->next_free;
    return n;
}

struct fit_node *fit_find(const struct fit_range *r, enum fit_order order, uint64_t size)
{
    if (r->free < size)
        return NULL;
    struct fit_node *n =
        order == FIT_TIGHT ? walk_own_list(r, size) : first_from(r, list_for(size));
    if (!n && r->tail->size >= size)
        n = r->tail;
    if (!n)
        n = order == FIT_TIGHT ? first_from(r, list_for(size)) : walk_own_list(r, size);
    return n;
}

static struct fit_node *new_node(struct fit_range *r, uint64_t start, uint64_t size)
{
    struct fit_node *n = slab_take(r->nodes);
    *n = (struct fit_node){.range = r, .start = start, .size = size};
    return n;
}

static void link_before(struct fit_node *n, struct fit_node *next)
{
    n->prev = next->prev;
    n->next = next;
    if (n->prev)
        n->prev->next = n;
    next->prev = n;
}

struct fit_node *fit_cut(struct fit_node *n, uint64_t size)
{
    struct fit_range *r = n->range;
    r->free -= size;
    if (n == r->tail) {
        n = new_node(r, r->tail->start, size);
        link_before(n, r->tail);
        r->tail->start += size;
        r->tail->size -= size;
        return n;
    }
    remove_free(n);
    n->is_free = false;
    if (n->size > size) {
        struct fit_node *rest = new_node(r, n->start + size, n->size - size);
        n->size = size;
        link_before(rest, n->next);
        insert_free(rest);
    }
    return n;
}

/* Adds `n`, which is in no list, to the node after it. */
static struct fit_node *join_node(struct fit_node *n)
{
    struct fit_node *next = n->next;
    next->start = n->start;
    next->size += n->size;
    next->prev = n->prev;
    if (n->prev)
        n->prev->next = next;
    slab_give(n->range->nodes, n);
    return next;
}

void fit_put_back(struct fit_node *n)
{
    struct fit_range *r = n->range;
    r->free += n->size;
    if (n->prev && n->prev->is_free) {
        remove_free(n->prev);
        n = join_node(n->prev);
    }
    if (n->next->is_free) {
        if (n->next != r->tail)
            remove_free(n->next);
        n = join_node(n);
    }
    if (n != r->tail)
        insert_free(n);
}

void fit_open(struct fit_range *r, uint64_t size, struct slab *nodes)
{
    *r = (struct fit_range){.size = size, .free = size, .nodes = nodes};
    r->tail = new_node(r, 0, size);
    r->tail->is_free = true;
}

void fit_close(struct fit_range *r)
{
    slab_give(r->nodes, r->tail);
}

/* Checks the nodes by address: no gap, and no two free ones side by side. *free_count receives the
 * number of free nodes before the tail. */
static unsigned check_nodes(const struct fit_range *r, uint64_t *free_count)
{
    unsigned broken = r->tail->next != NULL || !r->tail->is_free;
    uint64_t end = r->size, free = 0;
    const struct fit_node *next = NULL;
    *free_count = 0;
    for (const struct fit_node *n = r->tail; n; next = n, n = n->prev) {
        broken += n->range != r || n->next != next;
        broken += n->size > end || n->start != end - n->size;
        broken += n->size == 0 && n != r->tail;
        broken += n->is_free && next && next->is_free;
        free += n->is_free ? n->size : 0;
        *free_count += n->is_free && n != r->tail;
        end = n->start;
    }
    return broken + (end != 0) + (free != r->free);
}

static unsigned check_lists(const struct fit_range *r, uint64_t *listed_count)
{
    unsigned broken = 0;
    *listed_count = 0;
    for (unsigned f = 0; f < FIT_FIRST_LEVELS; f++) {
        broken += (r->first_level >> f & 1) != (r->second_level[f] != 0);
        for (unsigned s = 0; s < FIT_SECOND_LEVELS; s++) {
            const struct fit_node *prev = NULL;
            broken += (r->second_level[f] >> s & 1) != (r->lists[f][s] != NULL);
            for (const struct fit_node *n = r->lists[f][s]; n; prev = n, n = n->next_free) {
                struct list_index at = list_of(n->size);
                broken += at.first != f || at.second != s;
                broken += !n->is_free || n->range != r || n->prev_free != prev || n == r->tail;
                ++*listed_count;
            }
        }
    }
    return broken;
}

unsigned fit_check(const struct fit_range *r)
{
    uint64_t free_count, listed_count;
    unsigned broken = check_nodes(r, &free_count) + check_lists(r, &listed_count);
    return broken + (free_count != listed_count);
}
