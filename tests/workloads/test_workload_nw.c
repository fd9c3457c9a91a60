/* nw's inputs and scores, against two sequences whose alignment is known. */
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_nw;

enum { Q = 3, W = 64 * Q + 1, PENALTY = 10 };

struct run {
    int32_t scores[W * W], similarity[W * W], result[W * W];
    struct named_value values[4];
    struct arguments arguments;
    struct host_array answer;
};

static void run_set(struct run *run)
{
    struct host_array cells = {
        .element = ELEMENT_i32, .rank = 1, .shape = {W * W}, .count = W * W, .data = run->result};
    memset(run, 0, sizeof *run);
    run->values[0] = (struct named_value){.name = "q", .scalar.i64 = Q};
    run->values[1] = (struct named_value){.name = "penalty", .scalar.i32 = PENALTY};
    run->answer = cells;
    cells.data = run->scores;
    run->values[2] = (struct named_value){.name = "scores", .array = cells};
    cells.data = run->similarity;
    run->values[3] = (struct named_value){.name = "similarity", .array = cells};
    run->arguments =
        (struct arguments){.fun = "nw", .dataset = "test", .count = 4, .values = run->values};
}

static void fill(struct run *run, uint64_t seed)
{
    struct error error;
    for (int i = 2; i < 4; i++)
        assert_int_equal(workload_nw.fill(&run->arguments, run->values[i].name,
                                          &run->values[i].array, seed, &error),
                         0);
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_nw.check(&run->arguments, &run->answer, 1, &worst, &error);
}

/* Equal sequences of one letter: an element scores 3, and each that is left over costs a gap. */
static void equal_letters_score_alike(void **state)
{
    (void)state;
    static struct run run;
    run_set(&run);
    fill(&run, 1);
    for (int r = 0; r < W; r++)
        for (int c = 0; c < W; c++) {
            int both = r < c ? r : c, more = r + c - 2 * both;
            run.similarity[r * W + c] = 3;
            run.result[r * W + c] = 3 * both - PENALTY * more;
        }
    assert_int_equal(check(&run), 0);
    for (int i = 0; i < W * W; i += 997) {
        run.result[i]++;
        assert_int_equal(check(&run), ERR_WRONG);
        run.result[i]--;
    }
    run.answer.count--;
    assert_int_equal(check(&run), ERR_WRONG);
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    static struct run a, b;
    run_set(&a);
    run_set(&b);
    fill(&a, 7);
    fill(&b, 7);
    assert_memory_equal(a.similarity, b.similarity, sizeof a.similarity);
    fill(&b, 8);
    assert_memory_not_equal(a.similarity, b.similarity, sizeof a.similarity);
    assert_memory_equal(a.scores, b.scores, sizeof a.scores);
    int32_t least = 0, most = 0;
    for (int i = 0; i < W * W; i++) {
        least = a.similarity[i] < least ? a.similarity[i] : least;
        most = a.similarity[i] > most ? a.similarity[i] : most;
    }
    assert_int_equal(least, -4);
    assert_int_equal(most, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_letters_score_alike),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
