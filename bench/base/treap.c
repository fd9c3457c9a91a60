#include "base/treap.h"

#include <stddef.h>

#include "base/random.h"

/* Parts a tree at a key, which is not in it. */
static void split(const struct treap *t, struct treap_node *tree, const struct treap_node *key,
                  struct treap_node **before, struct treap_node **after)
{
    while (tree) {
        if (t->compare(tree, key) < 0) {
            *before = tree;
            before = &tree->right;
            tree = tree->right;
        } else {
            *after = tree;
            after = &tree->left;
            tree = tree->left;
        }
    }
    *before = *after = NULL;
}

/* Joins two trees, all of the first before all of the second. */
static struct treap_node *join(struct treap_node *first, struct treap_node *second)
{
    struct treap_node *root, **at = &root;
    while (first && second) {
        if (first->priority > second->priority) {
            *at = first;
            at = &first->right;
            first = first->right;
        } else {
            *at = second;
            at = &second->left;
            second = second->left;
        }
    }
    *at = first ? first : second;
    return root;
}

void treap_insert(struct treap *t, struct treap_node *node)
{
    struct treap_node **at = &t->root;
    node->priority = random_mix(++t->insert_count);
    while (*at && (*at)->priority > node->priority)
        at = t->compare(node, *at) < 0 ? &(*at)->left : &(*at)->right;
    split(t, *at, node, &node->left, &node->right);
    *at = node;
}

void treap_remove(struct treap *t, struct treap_node *node)
{
    struct treap_node **at = &t->root;
    while (*at != node)
        at = t->compare(node, *at) < 0 ? &(*at)->left : &(*at)->right;
    *at = join(node->left, node->right);
}

struct treap_node *treap_first(const struct treap *t)
{
    struct treap_node *node = t->root;
    while (node && node->left)
        node = node->left;
    return node;
}

/* The first member that compares with the key at `least` or above. */
static struct treap_node *find(const struct treap *t, const struct treap_node *key, int least)
{
    struct treap_node *found = NULL, *node = t->root;
    while (node) {
        if (t->compare(node, key) >= least) {
            found = node;
            node = node->left;
        } else {
            node = node->right;
        }
    }
    return found;
}

struct treap_node *treap_from(const struct treap *t, const struct treap_node *key)
{
    return find(t, key, 0);
}

struct treap_node *treap_after(const struct treap *t, const struct treap_node *key)
{
    return find(t, key, 1);
}
