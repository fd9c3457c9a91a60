/* Sets of bytes against a table with a mark for each byte. */
#include <string.h>

#include "alloc/planned/byte_ranges.h"
#include "base/random.h"
#include "tests/base/cmocka.h"

enum { BYTES = 200, STEPS = 20000 };

/* The bytes of [begin, end) that the table has. */
static uint64_t marked(const bool *table, uint64_t begin, uint64_t end)
{
    uint64_t count = 0;
    for (uint64_t i = begin; i < end; i++)
        count += table[i];
    return count;
}

static uint64_t run_end(const bool *table, uint64_t begin)
{
    while (begin < BYTES && table[begin])
        begin++;
    return begin;
}

/* Where the smallest run of at least `bytes` begins, the lowest of equal ones; BYTES: there is
 * none. */
static uint64_t best_of(const bool *table, uint64_t bytes)
{
    uint64_t best = BYTES, least = UINT64_MAX;
    for (uint64_t i = 0; i < BYTES; i++) {
        const uint64_t end = run_end(table, i);
        if (end - i >= bytes && end - i < least) {
            least = end - i;
            best = i;
        }
        i = end > i ? end : i;
    }
    return best;
}

static void test_set_of_bytes(void **state)
{
    (void)state;
    struct random random = {.state = 1};
    struct byte_ranges set;
    bool table[BYTES] = {0};
    unsigned added = 0, removed = 0;
    byte_ranges_open(&set);
    for (unsigned step = 0; step < STEPS; step++) {
        const uint64_t begin = random_below(&random, BYTES - 1);
        const uint64_t end = begin + 1 + random_below(&random, 12) % (BYTES - begin);
        const uint64_t count = marked(table, begin, end);
        assert_int_equal(byte_ranges_touch(&set, begin, end), count > 0);
        assert_int_equal(byte_ranges_have(&set, begin, end), count == end - begin);
        if (count == 0) {
            byte_ranges_add(&set, begin, end);
            memset(table + begin, true, end - begin);
            added++;
        } else if (count == end - begin) {
            byte_ranges_remove(&set, begin, end);
            memset(table + begin, false, end - begin);
            removed++;
        }
        const uint64_t bytes = 1 + random_below(&random, 20), best = best_of(table, bytes);
        const struct byte_range *found = byte_ranges_best(&set, bytes);
        assert_int_equal(found ? found->begin : BYTES, best);
        assert_true(!found || found->end == run_end(table, best));
        assert_int_equal(set.bytes, marked(table, 0, BYTES));
        assert_int_equal(byte_ranges_check(&set), 0);
    }
    assert_true(added > STEPS / 20 && removed > STEPS / 20);
    byte_ranges_clear(&set);
    assert_false(byte_ranges_touch(&set, 0, BYTES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_set_of_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
