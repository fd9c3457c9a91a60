/* The broadcast's table and reference, against its steps one by one. */
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_broadcast;

enum { N = 9001, STEPS = 6 }; /* more than two streams of the table */

struct run {
    uint32_t table[N], result[N];
    struct named_value values[3];
    struct arguments arguments;
    struct host_array out;
};

static void run_open(struct run *run, uint64_t seed)
{
    struct error error;
    memset(run, 0, sizeof *run);
    run->values[0] = (struct named_value){.name = "n", .scalar.i64 = N};
    run->values[1] = (struct named_value){.name = "steps", .scalar.i64 = STEPS};
    run->values[2] =
        (struct named_value){.name = "table", .array = {.count = N, .data = run->table}};
    run->arguments = (struct arguments){"broadcast", "test", 3, run->values};
    run->out = (struct host_array){.count = N, .data = run->result};
    assert_int_equal(
        workload_broadcast.fill(&run->arguments, "table", &run->values[2].array, seed, &error), 0);
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_broadcast.check(&run->arguments, &run->out, 1, &worst, &error);
}

static void steps_one_by_one_are_right(void **state)
{
    (void)state;
    static struct run run;
    static uint32_t t[N], here[N], there[N];
    run_open(&run, 1);
    memcpy(t, run.table, sizeof t);
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < N; i++) {
            t[i] = t[i] * 1664525u + 1013904223u;
            here[i] = (here[i] + (t[i] >> 16)) ^ (t[i] >> 8);
            there[i] = (there[i] + (t[i] & 65535u)) ^ (t[i] << 8);
        }
    for (int i = 0; i < N; i++)
        run.result[i] = here[i] * 31u + there[i];
    assert_int_equal(check(&run), 0);
    for (int i = 0; i < N; i += N / 7) {
        run.result[i] ^= 1u << (i % 32);
        assert_int_equal(check(&run), ERR_WRONG);
        run.result[i] ^= 1u << (i % 32);
    }
    run.out.count--;
    assert_int_equal(check(&run), ERR_WRONG);
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    static struct run a, b, c;
    run_open(&a, 7);
    run_open(&b, 7);
    run_open(&c, 8);
    assert_memory_equal(a.table, b.table, sizeof a.table);
    assert_memory_not_equal(a.table, c.table, sizeof a.table);
    assert_memory_not_equal(a.table, a.table + 4096, 4096); /* nor are two streams alike */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_one_by_one_are_right),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
