#include "alloc/segregated_fit.h"

#include "base/sort.h"

struct list_index {
    unsigned first, second;
};

/* The power of two between the steps of the list of this size, as a shift; 0 for exact lists. */
static inline unsigned step_bits(uint64_t size)
{
    return (63 ^ (unsigned)__builtin_clzll(size | FIT_SECOND_LEVELS)) - FIT_SECOND_BITS;
}

/* The list that a free node of this size is in. Without branches: sizes below and above
 * FIT_SECOND_LEVELS follow each other in no order that a processor could predict. */
static inline struct list_index list_of(uint64_t size)
{
    const unsigned bits = step_bits(size);
    return (struct list_index){bits + (size >= FIT_SECOND_LEVELS),
                               (unsigned)(size >> bits) % FIT_SECOND_LEVELS};
}

/* The first list all of whose nodes have at least this size; FIT_NEXT: the one after its own. */
static inline struct list_index list_for(uint64_t size, unsigned order)
{
    return list_of(size + (UINT64_C(1) << step_bits(size)) - !(order & FIT_NEXT));
}

static inline void insert_free(struct fit_range *r, struct fit_node *n)
{
    const struct list_index at = list_of(n->size);
    struct fit_node **head = &r->lists[at.first][at.second], *next = *head;
    n->next_free = next;
    if (next)
        next->prev_free = n;
    *head = n;
    r->first_level |= UINT64_C(1) << at.first;
    r->second_level[at.first] |= UINT32_C(1) << at.second;
}

static inline void remove_head(struct fit_range *r, struct list_index at, struct fit_node *head)
{
    struct fit_node *next = head->next_free;
    r->lists[at.first][at.second] = next;
    if (next)
        return;
    r->second_level[at.first] &= ~(UINT32_C(1) << at.second);
    if (r->second_level[at.first] == 0)
        r->first_level &= ~(UINT64_C(1) << at.first);
}

static inline void remove_free(struct fit_range *r, struct fit_node *n, uint64_t size)
{
    const struct list_index at = list_of(size);
    if (r->lists[at.first][at.second] == n) {
        remove_head(r, at, n);
        return;
    }
    n->prev_free->next_free = n->next_free;
    if (n->next_free)
        n->next_free->prev_free = n->prev_free;
}

/* Removes the head of the first list that is not empty, from that of `size` on: NULL if there is
 * none. */
static inline struct fit_node *take_from_lists(struct fit_range *r, unsigned order, uint64_t size)
{
    struct list_index at = list_for(size, order);
    uint32_t second = r->second_level[at.first] & UINT32_MAX << at.second;
    if (second == 0) {
        const uint64_t first = r->first_level & (UINT64_MAX - 1) << at.first;
        if (first == 0)
            return NULL;
        at.first = (unsigned)__builtin_ctzll(first);
        second = r->second_level[at.first];
    }
    at.second = (unsigned)__builtin_ctz(second);
    struct fit_node *n = r->lists[at.first][at.second];
    remove_head(r, at, n);
    return n;
}

static struct fit_node *take_from_own_list(struct fit_range *r, unsigned order, uint64_t size)
{
    const struct list_index at = list_of(size);
    struct fit_node *n = r->lists[at.first][at.second];
    if (!n && order & FIT_NEXT)
        return take_from_lists(r, order, size);
    while (n && n->size < size)
        n = n->next_free;
    if (n)
        remove_free(r, n, n->size);
    return n;
}

static inline struct fit_node *new_node(struct fit_range *r, uint64_t start, uint64_t size)
{
    struct fit_node *n = slab_take(r->nodes);
    n->range = r;
    n->start = start;
    n->size = size;
    return n;
}

static inline void link_nodes(struct fit_node *prev, struct fit_node *next)
{
    if (prev)
        prev->next = next;
    next->prev = prev;
}

static struct fit_node *take_from_tail(struct fit_range *r, uint64_t size)
{
    struct fit_node *tail = r->tail;
    if (tail->size < size)
        return NULL;
    struct fit_node *n = new_node(r, tail->start, size);
    n->is_free = false;
    n->free_before = n->free_after = 0;
    link_nodes(tail->prev, n);
    link_nodes(n, tail);
    tail->start += size;
    tail->size -= size;
    return n;
}

/* Keeps the first `size` units of a node that was taken from a list; the rest stays free. */
static inline void keep_first(struct fit_range *r, struct fit_node *n, uint64_t size)
{
    const uint64_t rest_size = n->size - size;
    n->is_free = false;
    n->free_before = 0;
    n->free_after = rest_size;
    if (n->prev)
        n->prev->free_after = 0;
    n->next->free_before = rest_size;
    if (rest_size == 0)
        return;
    struct fit_node *rest = new_node(r, n->start + size, rest_size);
    n->size = size;
    rest->is_free = true;
    link_nodes(rest, n->next);
    link_nodes(n, rest);
    insert_free(r, rest);
}

struct fit_node *fit_take(struct fit_range *r, unsigned order, uint64_t size)
{
    struct fit_node *n =
        order & FIT_TIGHT ? take_from_own_list(r, order, size) : take_from_lists(r, order, size);
    if (!n) {
        struct fit_node *cut = take_from_tail(r, size);
        if (cut) {
            r->free -= size;
            return cut;
        }
        n = order & FIT_TIGHT ? take_from_lists(r, order, size)
                              : take_from_own_list(r, order, size);
        if (!n) {
            r->most = size - 1; /* until a larger node becomes free */
            return NULL;
        }
    }
    r->free -= size;
    keep_first(r, n, size);
    return n;
}

/* Adds a node that is in no list to the tail, which follows it. */
static void join_tail(struct fit_range *r, struct fit_node *n)
{
    r->tail->start = n->start;
    r->tail->size += n->size;
    link_nodes(n->prev, r->tail);
    if (n->prev)
        n->prev->free_after = 0;
    r->most = larger(r->most, r->tail->size);
    slab_give(r->nodes, n);
}

void fit_put_back(struct fit_node *n)
{
    struct fit_range *r = n->range;
    struct fit_node *prev = n->prev, *next = n->next;
    const uint64_t before = n->free_before, after = n->free_after;
    r->free += n->size;
    n->start -= before;
    n->size += before + after;
    if (before) {
        remove_free(r, prev, before);
        link_nodes(prev->prev, n);
        slab_give(r->nodes, prev);
    }
    if (after) {
        remove_free(r, next, after);
        link_nodes(n, next->next);
        slab_give(r->nodes, next);
    }
    if (n->next == r->tail) {
        join_tail(r, n);
        return;
    }
    n->is_free = true;
    r->most = larger(r->most, n->size);
    if (n->prev)
        n->prev->free_after = n->size;
    n->next->free_before = n->size;
    insert_free(r, n);
}

void fit_open(struct fit_range *r, uint64_t size, struct slab *nodes)
{
    *r = (struct fit_range){.size = size, .free = size, .most = size, .nodes = nodes};
    r->tail = new_node(r, 0, size);
    r->tail->prev = r->tail->next = NULL;
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
        broken +=
            !n->is_free && n->free_before != (n->prev && n->prev->is_free ? n->prev->size : 0);
        broken +=
            !n->is_free && n->free_after != (next->is_free && next != r->tail ? next->size : 0);
        broken += n->is_free && n->size > r->most;
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
                broken +=
                    !n->is_free || n->range != r || n == r->tail || (prev && n->prev_free != prev);
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
