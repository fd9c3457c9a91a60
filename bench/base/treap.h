/* An ordered set of things that carry their own links: a search tree by key that is a heap by
 * random priority (Aragon, Seidel 1989). Expected logarithmic time, and nothing is allocated. The
 * same operations in the same order make the same tree on every machine. */
#ifndef GAMUT_BASE_TREAP_H
#define GAMUT_BASE_TREAP_H

#include <stdint.h>

struct treap_node { /* a member of the things */
    struct treap_node *left, *right;
    uint64_t priority;
};

/* Below, at or above 0 as a is before, at or behind b; two members of a set are never at 0. */
typedef int treap_compare(const struct treap_node *a, const struct treap_node *b);

struct treap {
    treap_compare *compare; /* set by the user; the rest starts as zeros */
    struct treap_node *root;
    uint64_t insert_count;
};

void treap_insert(struct treap *t, struct treap_node *node);
/* `node` must be a member. */
void treap_remove(struct treap *t, struct treap_node *node);

/* The first member, or the last; NULL where the set is empty. */
struct treap_node *treap_first(const struct treap *t);
struct treap_node *treap_last(const struct treap *t);
/* The first member at or behind a key, or behind it; NULL where there is none. */
struct treap_node *treap_from(const struct treap *t, const struct treap_node *key);
struct treap_node *treap_after(const struct treap *t, const struct treap_node *key);

/* The number of breaches of order; *count receives that of the members. */
unsigned treap_check(const struct treap *t, uint64_t *count);

#endif
