/* radix_sort's keys and reference, against keys whose order is known. */
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_radix_sort;

enum { MANY = 5000 };

struct run {
    uint32_t keys[MANY], sorted[MANY];
    struct named_value values[2];
    struct arguments arguments;
    struct host_array result;
};

static void run_set(struct run *run, size_t n)
{
    memset(run, 0, sizeof *run);
    struct host_array list = {.element = ELEMENT_u32, .rank = 1, .shape = {(int64_t)n}, .count = n};
    run->values[0] = (struct named_value){.name = "n", .scalar.i64 = (int64_t)n};
    run->values[1] = (struct named_value){.name = "keys", .array = list};
    run->values[1].array.data = run->keys;
    run->result = list;
    run->result.data = run->sorted;
    run->arguments = (struct arguments){
        .fun = "radix_sort", .dataset = "test", .count = 2, .values = run->values};
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_radix_sort.check(&run->arguments, &run->result, 1, &worst, &error);
}

static int fill(struct run *run, uint64_t seed)
{
    struct error error;
    return workload_radix_sort.fill(&run->arguments, "keys", &run->values[1].array, seed, &error);
}

static void order_by_hand(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        uint32_t keys[6], sorted[6];
    } cases[] = {
        {0, {0}, {0}},
        {1, {7}, {7}},
        {3, {5, 5, 5}, {5, 5, 5}},
        {4, {3, 1, 0, 2}, {0, 1, 2, 3}},
        {5,
         {0x80000000u, 1, 0xffffffffu, 0, 0x7fffffffu},
         {0, 1, 0x7fffffffu, 0x80000000u, 0xffffffffu}},
        {6,
         {0x10000u, 0xffffu, 0x10000u, 2, 0x20001u, 0x10001u},
         {2, 0xffffu, 0x10000u, 0x10000u, 0x10001u, 0x20001u}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        run_set(&run, cases[i].n);
        memcpy(run.keys, cases[i].keys, sizeof cases[i].keys);
        memcpy(run.sorted, cases[i].sorted, sizeof cases[i].sorted);
        assert_int_equal(check(&run), 0);
        for (size_t k = 0; k < cases[i].n; k++) {
            run.sorted[k]++;
            assert_int_equal(check(&run), ERR_WRONG);
            run.sorted[k]--;
        }
        run.result.count++;
        assert_int_equal(check(&run), ERR_WRONG);
    }
}

/* In order, but not the keys that were given. */
static void lost_keys_are_wrong(void **state)
{
    (void)state;
    struct run run;
    run_set(&run, 3);
    memcpy(run.keys, (uint32_t[]){9, 4, 4}, 3 * sizeof *run.keys);
    memcpy(run.sorted, (uint32_t[]){4, 9, 9}, 3 * sizeof *run.sorted);
    assert_int_equal(check(&run), ERR_WRONG);
}

/* Some equal, spread over all bits, and not in order as they come. */
static void filled_keys_need_sorting(void **state)
{
    (void)state;
    struct run run;
    uint32_t ones = 0, zeros = 0;
    size_t equal = 0, falls = 0;
    run_set(&run, MANY);
    assert_int_equal(fill(&run, 3), 0);
    for (size_t i = 0; i < MANY; i++) {
        ones |= run.keys[i];
        zeros |= ~run.keys[i];
        equal += i > 0 && run.keys[i] == run.keys[i - 1];
        falls += i > 0 && run.keys[i] < run.keys[i - 1];
    }
    assert_true(ones == 0xffffffffu && zeros == 0xffffffffu);
    assert_in_range(equal, MANY / 16, MANY / 4);
    assert_in_range(falls, MANY / 4, 3 * MANY / 4);
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b;
    run_set(&a, MANY);
    run_set(&b, MANY);
    assert_int_equal(fill(&a, 7), 0);
    assert_int_equal(fill(&b, 7), 0);
    assert_memory_equal(a.keys, b.keys, sizeof a.keys);
    assert_int_equal(fill(&b, 8), 0);
    assert_memory_not_equal(a.keys, b.keys, sizeof a.keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_by_hand),
        cmocka_unit_test(lost_keys_are_wrong),
        cmocka_unit_test(filled_keys_need_sorting),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
