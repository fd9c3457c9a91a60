/* Compares the index of pieces with an array that is searched from end to end. */

#include "alloc/piece_index.h"
#include "base/random.h"
#include "tests/base/cmocka.h"

enum { MINORS = 60, KEYS = 50 * MINORS, STEPS = 60000 };

static struct index_key key_of(unsigned i)
{
    return (struct index_key){i / MINORS, i % MINORS};
}

/* The first piece from i on, and the last one: pieces are their own flags of membership. */
static char *first_from(char *pieces, unsigned i)
{
    while (i < KEYS && !pieces[i])
        i++;
    return i < KEYS ? &pieces[i] : NULL;
}

static char *last_of(char *pieces)
{
    unsigned i = KEYS;
    while (i > 0 && !pieces[i - 1])
        i--;
    return i > 0 ? &pieces[i - 1] : NULL;
}

/* Fills the index nearly, empties it nearly, and again; every second time in the order of keys. */
static void test_beside_an_array(void **state)
{
    (void)state;
    static char pieces[KEYS];
    struct slab nodes = {.item_bytes = sizeof(struct index_node)};
    struct piece_index index = {.nodes = &nodes};
    struct random random = {3};
    uint64_t members = 0, counted;
    unsigned highest = 0;
    assert_null(index_first(&index));
    assert_null(index_last(&index));
    for (unsigned step = 0; step < STEPS; step++) {
        const bool in_order = step / 20000 % 2, fills = step / 10000 % 2 == 0;
        const unsigned i = in_order ? step % KEYS : (unsigned)random_below(&random, KEYS);
        if (pieces[i] != fills && random_below(&random, 20) > 0) {
            if (fills)
                index_put(&index, key_of(i), &pieces[i]);
            else
                index_take(&index, key_of(i));
            pieces[i] = fills;
            members += fills ? 1 : -1;
        }
        highest = index.height > highest ? index.height : highest;
        const unsigned probe = (unsigned)random_below(&random, KEYS);
        assert_ptr_equal(index_first(&index), first_from(pieces, 0));
        assert_ptr_equal(index_last(&index), last_of(pieces));
        assert_ptr_equal(index_from(&index, key_of(probe)), first_from(pieces, probe));
        assert_ptr_equal(index_after(&index, key_of(probe)), first_from(pieces, probe + 1));
        if (step % 64 == 0) {
            assert_int_equal(index_check(&index, &counted), 0);
            assert_int_equal(counted, members);
        }
    }
    assert_int_equal(highest, 2);
    for (unsigned i = 0; i < KEYS; i++)
        if (pieces[i])
            index_take(&index, key_of(i));
    assert_null(index_first(&index));
    assert_int_equal(index.height, 0);
    slab_free(&nodes);
}

/* Nodes that are not full are never joined. A million pieces come and go while a thousand stay: the
 * nodes do not become many. */
static void test_nodes_stay_few(void **state)
{
    (void)state;
    enum { MEMBERS = 1000, TURNS = 1000000 };
    static struct index_key keys[MEMBERS];
    struct slab nodes = {.item_bytes = sizeof(struct index_node)};
    struct piece_index index = {.nodes = &nodes};
    struct random random = {4};
    for (unsigned i = 0; i < TURNS; i++) {
        struct index_key *key = &keys[i % MEMBERS];
        if (i >= MEMBERS)
            index_take(&index, *key);
        *key = (struct index_key){random_below(&random, 20), random_u64(&random) / 2};
        index_put(&index, *key, key);
    }
    uint64_t counted, node_count = 0;
    assert_int_equal(index_check(&index, &counted), 0);
    assert_int_equal(counted, MEMBERS);
    assert_int_equal(index.height, 2);
    for (unsigned i = 0; i < index.root->count; i++)
        node_count += ((struct index_node *)index.root->items[i])->count;
    assert_in_range(node_count, MEMBERS / INDEX_FANOUT, 4 * MEMBERS / INDEX_FANOUT);
    slab_free(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_an_array),
        cmocka_unit_test(test_nodes_stay_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
