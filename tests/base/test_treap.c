/* Compares the ordered set with an array that is searched from end to end. */
#include <stdbool.h>

#include "base/random.h"
#include "base/treap.h"
#include "tests/base/cmocka.h"

enum { KEY_COUNT = 200, STEP_COUNT = 20000 };

struct item {
    struct treap_node node; /* first */
    unsigned key;
};

static int by_key(const struct treap_node *a, const struct treap_node *b)
{
    unsigned left = ((const struct item *)a)->key, right = ((const struct item *)b)->key;
    return left < right ? -1 : left > right;
}

/* The first member from `from` on. */
static struct treap_node *first_member(struct item *items, const bool *member, unsigned from)
{
    while (from < KEY_COUNT && !member[from])
        from++;
    return from < KEY_COUNT ? &items[from].node : NULL;
}

static unsigned check_tree(const struct treap *t, const struct treap_node *node,
                           const struct treap_node **previous, uint64_t *count)
{
    if (!node)
        return 0;
    unsigned broken = 0;
    broken += node->left && node->left->priority > node->priority;
    broken += node->right && node->right->priority > node->priority;
    broken += check_tree(t, node->left, previous, count);
    broken += *previous && t->compare(*previous, node) >= 0;
    *previous = node;
    ++*count;
    return broken + check_tree(t, node->right, previous, count);
}

/* Returns the number of nodes in wrong places; *count receives the number of members. */
static unsigned treap_check(const struct treap *t, uint64_t *count)
{
    const struct treap_node *previous = NULL;
    *count = 0;
    return check_tree(t, t->root, &previous, count);
}

static void test_beside_an_array(void **state)
{
    (void)state;
    static struct item items[KEY_COUNT];
    bool member[KEY_COUNT] = {false};
    uint64_t member_count = 0;
    for (unsigned key = 0; key < KEY_COUNT; key++)
        items[key].key = key;
    struct treap set = {.compare = by_key};
    struct random random = {3};
    for (unsigned step = 0; step < STEP_COUNT; step++) {
        unsigned key = (unsigned)random_below(&random, KEY_COUNT);
        bool fill = random_below(&random, 10) < (step / 1000 % 2 ? 2 : 8);
        if (fill && !member[key])
            treap_insert(&set, &items[key].node);
        else if (!fill && member[key])
            treap_remove(&set, &items[key].node);
        member_count += (fill && !member[key]) - (!fill && member[key]);
        member[key] = fill;

        struct item probe = {.key = (unsigned)random_below(&random, KEY_COUNT)};
        assert_ptr_equal(treap_first(&set), first_member(items, member, 0));
        assert_ptr_equal(treap_from(&set, &probe.node), first_member(items, member, probe.key));
        assert_ptr_equal(treap_after(&set, &probe.node),
                         first_member(items, member, probe.key + 1));
        uint64_t count;
        assert_int_equal(treap_check(&set, &count), 0);
        assert_int_equal(count, member_count);
    }
}

static unsigned depth_of(const struct treap_node *node)
{
    if (!node)
        return 0;
    unsigned left = depth_of(node->left), right = depth_of(node->right);
    return 1 + (left > right ? left : right);
}

/* Keys in order would make a list of a tree that is not balanced. */
static void test_it_is_balanced(void **state)
{
    (void)state;
    enum { COUNT = 1 << 14 };
    static struct item items[COUNT];
    struct treap set = {.compare = by_key};
    for (unsigned key = 0; key < COUNT; key++) {
        items[key].key = key;
        treap_insert(&set, &items[key].node);
    }
    assert_in_range(depth_of(set.root), 14, 4 * 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_an_array),
        cmocka_unit_test(test_it_is_balanced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
