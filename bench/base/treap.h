/* An ordered set whose members carry their own links: a search tree by key that is a heap by random
 * priority (Aragon, Seidel 1989). Operations take expected logarithmic time and allocate nothing.
 * The same operations in the same order make the same tree on every machine.
 */
#pragma once

#include <stdint.h>

struct treap_node { /* part of each member */
    struct treap_node *left, *right;
    uint64_t priority;
};

/* Negative, 0 or positive if a comes before, at or after b. It is never 0 for two members. */
typedef int treap_compare(const struct treap_node *a, const struct treap_node *b);

struct treap {
    treap_compare *compare; /* the user sets it; the rest starts as zeros */
    struct treap_node *root;
    uint64_t insert_count;
};

/* Adds a node, which the caller owns and which must not be a member. */
void treap_insert(struct treap *t, struct treap_node *node);
/* Removes a node, which must be a member. */
void treap_remove(struct treap *t, struct treap_node *node);

/* The first member; NULL if the set is empty. */
struct treap_node *treap_first(const struct treap *t);
/* The first member at or after a key; NULL if there is none. */
struct treap_node *treap_from(const struct treap *t, const struct treap_node *key);
/* The first member after a key; NULL if there is none. */
struct treap_node *treap_after(const struct treap *t, const struct treap_node *key);
