/* The pipeline's inputs and reference, against the stages as the program has them. */
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_pipeline;

enum { CHUNKS = 3, N = 7, WORK = 5, CELLS = CHUNKS * N };

struct run {
    uint32_t x[CELLS], key[N], result[CELLS];
    struct named_value values[5];
    struct arguments arguments;
    struct host_array out;
};

static void run_open(struct run *run, uint64_t seed)
{
    struct error error;
    memset(run, 0, sizeof *run);
    run->values[0] = (struct named_value){.name = "chunks", .scalar.i64 = CHUNKS};
    run->values[1] = (struct named_value){.name = "n", .scalar.i64 = N};
    run->values[2] = (struct named_value){.name = "work", .scalar.i64 = WORK};
    run->values[3] = (struct named_value){.name = "x", .array = {.count = CELLS, .data = run->x}};
    run->values[4] = (struct named_value){.name = "key", .array = {.count = N, .data = run->key}};
    run->arguments = (struct arguments){"pipeline", "test", 5, run->values};
    run->out = (struct host_array){.count = CELLS, .data = run->result};
    for (int i = 3; i < 5; i++)
        assert_int_equal(workload_pipeline.fill(&run->arguments, run->values[i].name,
                                                &run->values[i].array, seed, &error),
                         0);
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_pipeline.check(&run->arguments, &run->out, 1, &worst, &error);
}

static uint32_t stirred(uint32_t v)
{
    for (int k = 0; k < WORK; k++)
        v = v * 1664525u + 1013904223u;
    return v;
}

static void stages_one_by_one_are_right(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, 1);
    for (int c = 0; c < CHUNKS; c++)
        for (int i = 0; i < N; i++) {
            int next = (i + 1) % N;
            uint32_t sent = stirred(run.x[c * N + i] + run.key[i]);
            uint32_t beside = stirred(run.x[c * N + next] + run.key[next]);
            run.result[c * N + i] = stirred(stirred((sent ^ beside) + run.key[i]) ^ run.key[i]);
        }
    assert_int_equal(check(&run), 0);
    for (int i = 0; i < CELLS; i++) {
        run.result[i] ^= 1u << i;
        assert_int_equal(check(&run), ERR_WRONG);
        run.result[i] ^= 1u << i;
    }
    run.out.count--;
    assert_int_equal(check(&run), ERR_WRONG);
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b, c;
    run_open(&a, 7);
    run_open(&b, 7);
    run_open(&c, 8);
    assert_memory_equal(a.x, b.x, sizeof a.x);
    assert_memory_equal(a.key, b.key, sizeof a.key);
    assert_memory_not_equal(a.x, c.x, sizeof a.x);
    assert_memory_not_equal(a.key, c.key, sizeof a.key);
    assert_memory_not_equal(a.x, a.x + N, sizeof a.key); /* nor are two chunks alike */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_one_by_one_are_right),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
