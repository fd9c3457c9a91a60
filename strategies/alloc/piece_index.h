/* Pieces of memory in order of two numbers, such as size and place: a B-tree. It looks at a node of
 * neighbouring keys where a binary tree looks at one piece after another, each in another line of
 * the cache: with half a million pieces that is four nodes instead of 26 pieces.
 *
 * A node is given back when it is empty, and never joined with another (T. Johnson, D. Shasha,
 * "B-trees with inserts and deletes: why free-at-empty is better than merge-at-half", 1993).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/slab.h"

enum { INDEX_FANOUT = 24, INDEX_HEIGHT_MOST = 20 };

struct index_key {
    uint64_t major, minor;
};

struct index_node {
    unsigned count; /* at least 1, except of a root without inner nodes */
    struct index_key keys[INDEX_FANOUT];
    /* In a leaf the pieces. In an inner node [i] has the keys from keys[i] on, below keys[i +
     * 1]. */
    void *items[INDEX_FANOUT];
};

struct piece_index {
    struct slab *nodes; /* the user sets it, items: struct index_node; the rest starts as zeros */
    struct index_node *root; /* NULL: no piece was ever put */
    unsigned height;         /* inner nodes above each leaf */
};

static inline bool index_before(struct index_key a, struct index_key b)
{
    return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

/* The number of keys of a node before a key. */
static inline unsigned index_rank(const struct index_node *n, struct index_key key)
{
    unsigned first = 0, count = n->count;
    while (count > 0) {
        unsigned half = count / 2;
        bool before = index_before(n->keys[first + half], key);
        first = before ? first + half + 1 : first;
        count = before ? count - half - 1 : half;
    }
    return first;
}

/* The child of an inner node where a key belongs. */
static inline unsigned index_child(const struct index_node *n, struct index_key key)
{
    unsigned rank = index_rank(n, key);
    bool is_there = rank < n->count && !index_before(key, n->keys[rank]);
    return is_there || rank == 0 ? rank : rank - 1;
}

static inline struct index_node *index_below(const struct index_node *n, unsigned at)
{
    return (struct index_node *)n->items[at];
}

static inline void index_open_gap(struct index_node *n, unsigned at, struct index_key key,
                                  void *item)
{
    memmove(&n->keys[at + 1], &n->keys[at], (n->count - at) * sizeof *n->keys);
    memmove(&n->items[at + 1], &n->items[at], (n->count - at) * sizeof *n->items);
    n->keys[at] = key;
    n->items[at] = item;
    n->count++;
}

static inline void index_close_gap(struct index_node *n, unsigned at)
{
    n->count--;
    memmove(&n->keys[at], &n->keys[at + 1], (n->count - at) * sizeof *n->keys);
    memmove(&n->items[at], &n->items[at + 1], (n->count - at) * sizeof *n->items);
}

static inline struct index_node *index_new_node(const struct piece_index *index)
{
    struct index_node *n = (struct index_node *)slab_take(index->nodes);
    n->count = 0;
    return n;
}

/* Moves the second half of a full child into a new one after it. */
static inline void index_split(struct piece_index *index, struct index_node *parent, unsigned at)
{
    enum { KEPT = INDEX_FANOUT / 2, MOVED = INDEX_FANOUT - KEPT };
    struct index_node *full = index_below(parent, at), *half = index_new_node(index);
    memcpy(half->keys, &full->keys[KEPT], MOVED * sizeof *half->keys);
    memcpy(half->items, &full->items[KEPT], MOVED * sizeof *half->items);
    half->count = MOVED;
    full->count = KEPT;
    index_open_gap(parent, at + 1, half->keys[0], half);
}

/* Puts a piece. Its key must not be there. */
static inline void index_put(struct piece_index *index, struct index_key key, void *piece)
{
    if (!index->root)
        index->root = index_new_node(index);
    if (index->root->count == INDEX_FANOUT) {
        struct index_node *above = index_new_node(index);
        index_open_gap(above, 0, index->root->keys[0], index->root);
        index->root = above;
        index->height++;
        index_split(index, above, 0);
    }
    struct index_node *n = index->root;
    for (unsigned level = index->height; level > 0; level--) {
        unsigned at = index_child(n, key);
        if (index_before(key, n->keys[0]))
            n->keys[0] = key;
        if (index_below(n, at)->count == INDEX_FANOUT) {
            index_split(index, n, at);
            at += !index_before(key, n->keys[at + 1]);
        }
        n = index_below(n, at);
    }
    index_open_gap(n, index_rank(n, key), key, piece);
}

/* Takes a piece out by its key, which must be there. */
static inline void index_take(struct piece_index *index, struct index_key key)
{
    struct index_node *path[INDEX_HEIGHT_MOST], *n = index->root;
    unsigned places[INDEX_HEIGHT_MOST], level = index->height;
    for (; level > 0; level--) {
        path[level] = n;
        places[level] = index_child(n, key);
        n = index_below(n, places[level]);
    }
    index_close_gap(n, index_rank(n, key));
    while (n->count == 0 && level++ < index->height) {
        slab_give(index->nodes, n);
        n = path[level];
        index_close_gap(n, places[level]);
    }
    for (; index->height > 0 && index->root->count == 1; index->height--) {
        n = index->root;
        index->root = index_below(n, 0);
        slab_give(index->nodes, n);
    }
}

/* The first piece at or after a key; NULL if there is none. */
static inline void *index_from(const struct piece_index *index, struct index_key key)
{
    const struct index_node *n = index->root, *next = NULL; /* next: all of it is after the key */
    unsigned next_level = 0;
    if (!n)
        return NULL;
    for (unsigned level = index->height; level > 0; level--) {
        unsigned at = index_child(n, key);
        if (at + 1 < n->count) {
            next = index_below(n, at + 1);
            next_level = level - 1;
        }
        n = index_below(n, at);
    }
    unsigned at = index_rank(n, key);
    if (at < n->count)
        return n->items[at];
    for (; next && next_level > 0; next_level--)
        next = index_below(next, 0);
    return next ? next->items[0] : NULL;
}

/* The first piece after a key; NULL if there is none. */
static inline void *index_after(const struct piece_index *index, struct index_key key)
{
    return index_from(index, (struct index_key){key.major, key.minor + 1});
}

static inline void *index_first(const struct piece_index *index)
{
    return index_from(index, (struct index_key){0, 0});
}

/* The last piece; NULL if there is none. */
static inline void *index_last(const struct piece_index *index)
{
    const struct index_node *n = index->root;
    for (unsigned level = index->height; level > 0; level--)
        n = index_below(n, n->count - 1);
    return n && n->count > 0 ? n->items[n->count - 1] : NULL;
}

/* Adds the number of pieces below a node to *count. Returns the number of keys in wrong places:
 * they ascend, and none is before `least` or after `most`. */
static inline unsigned index_check_node(const struct index_node *n, unsigned level,
                                        struct index_key least, struct index_key most,
                                        uint64_t *count)
{
    unsigned broken = n->count == 0 || n->count > INDEX_FANOUT;
    *count += level == 0 ? n->count : 0;
    for (unsigned i = 0; i < n->count; i++) {
        struct index_key next = i + 1 < n->count ? n->keys[i + 1] : most;
        broken += index_before(n->keys[i], least) || index_before(next, n->keys[i]);
        broken += i > 0 && !index_before(n->keys[i - 1], n->keys[i]);
        if (level > 0)
            broken += index_check_node(index_below(n, i), level - 1, n->keys[i], next, count);
    }
    return broken;
}

/* The number of broken invariants; *count receives the number of pieces. */
static inline unsigned index_check(const struct piece_index *index, uint64_t *count)
{
    const struct index_key least = {0, 0}, most = {UINT64_MAX, UINT64_MAX};
    *count = 0;
    if (!index->root || (index->height == 0 && index->root->count == 0))
        return 0;
    return index_check_node(index->root, index->height, least, most, count);
}
