/* lud's matrix and the check of its factors, against factors that are known. */
#include <math.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_lud;

enum { SIDE = 40 };

/* A matrix and its factors, L below the diagonal (its ones left out) and U. */
struct run {
    float mat[SIDE * SIDE], lu[SIDE * SIDE];
    struct named_value values[2];
    struct arguments arguments;
    struct host_array result;
};

static void run_set(struct run *run, int64_t n)
{
    memset(run, 0, sizeof *run);
    struct host_array square = {
        .element = ELEMENT_f32, .rank = 2, .shape = {n, n}, .count = (size_t)(n * n)};
    run->values[0] = (struct named_value){.name = "n", .scalar.i64 = n};
    run->values[1] = (struct named_value){.name = "mat", .array = square};
    run->values[1].array.data = run->mat;
    run->result = square;
    run->result.data = run->lu;
    run->arguments =
        (struct arguments){.fun = "lud", .dataset = "test", .count = 2, .values = run->values};
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_lud.check(&run->arguments, &run->result, 1, &worst, &error);
}

static int fill(struct run *run, uint64_t seed)
{
    struct error error;
    return workload_lud.fill(&run->arguments, "mat", &run->values[1].array, seed, &error);
}

/* Right as it stands; wrong with any one element off by a thousandth of `size`, or no number. */
static void assert_exactly_right(struct run *run, float size)
{
    assert_int_equal(check(run), 0);
    for (size_t i = 0; i < run->result.count; i++) {
        float right = run->lu[i];
        run->lu[i] = right + 0.001f * size;
        assert_int_equal(check(run), ERR_WRONG);
        run->lu[i] = NAN;
        assert_int_equal(check(run), ERR_WRONG);
        run->lu[i] = right;
    }
    run->result.count--;
    assert_int_equal(check(run), ERR_WRONG);
    run->result.count++;
}

static void factors_by_hand(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        float mat[9], lu[9];
    } cases[] = {
        {1, {-3}, {-3}},
        {2, {2, 4, 1, 5}, {2, 4, 0.5f, 3}},
        {3, {1, 0, 0, 0, 2, 0, 0, 0, 3}, {1, 0, 0, 0, 2, 0, 0, 0, 3}},
        {3, {2, 1, 1, 4, 5, 3, 6, 9, 9}, {2, 1, 1, 2, 3, 1, 3, 2, 4}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        run_set(&run, cases[i].n);
        memcpy(run.mat, cases[i].mat, sizeof cases[i].mat);
        memcpy(run.lu, cases[i].lu, sizeof cases[i].lu);
        assert_exactly_right(&run, 1);
    }
}

/* The transposed matrix has other factors. */
static void transposed_factors_are_wrong(void **state)
{
    (void)state;
    static const float mat[4] = {2, 4, 1, 5}, transposed[4] = {2, 0.5f, 4, 3};
    struct run run;
    run_set(&run, 2);
    memcpy(run.mat, mat, sizeof mat);
    memcpy(run.lu, transposed, sizeof transposed);
    assert_int_equal(check(&run), ERR_WRONG);
}

/* Row by row in double precision: Doolittle's order. */
static void decompose(const float *mat, float *lu, int n)
{
    double rows[SIDE][SIDE];
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) {
            double rest = mat[r * n + c];
            for (int k = 0; k < (r < c ? r : c); k++)
                rest -= rows[r][k] * rows[k][c];
            rows[r][c] = c < r ? rest / rows[c][c] : rest;
            lu[r * n + c] = (float)rows[r][c];
        }
}

static void filled_matrices_have_factors(void **state)
{
    (void)state;
    for (int n = 1; n <= SIDE; n += 13) {
        struct run run;
        run_set(&run, n);
        assert_int_equal(fill(&run, 5), 0);
        decompose(run.mat, run.lu, n);
        for (int r = 0; r < n; r++)
            assert_true(run.lu[r * n + r] > 1); /* no pivot near 0 */
        assert_exactly_right(&run, 1 / sqrtf((float)n));
    }
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b;
    run_set(&a, SIDE);
    run_set(&b, SIDE);
    assert_int_equal(fill(&a, 7), 0);
    assert_int_equal(fill(&b, 7), 0);
    assert_memory_equal(a.mat, b.mat, sizeof a.mat);
    assert_int_equal(fill(&b, 8), 0);
    assert_memory_not_equal(a.mat, b.mat, sizeof a.mat);
}

/* The matrix of lud_blocks: the elements of the other, and ones on the diagonal beyond it. */
static void blocks_hold_the_same_matrix(void **state)
{
    (void)state;
    enum { BLOCKS = 2, BLOCKED = 32 * BLOCKS };
    static float mat[BLOCKED * BLOCKED], lu[BLOCKED * BLOCKED];
    static const struct host_array blocked = {.element = ELEMENT_f32,
                                              .rank = 4,
                                              .shape = {BLOCKS, BLOCKS, 32, 32},
                                              .count = BLOCKED * BLOCKED};
    struct run run;
    run_set(&run, SIDE);
    assert_int_equal(fill(&run, 5), 0);
    decompose(run.mat, run.lu, SIDE);
    run.values[1].array = run.result = blocked;
    run.values[1].array.data = mat;
    run.result.data = lu;
    assert_int_equal(fill(&run, 5), 0);
    for (int r = 0; r < BLOCKED; r++)
        for (int c = 0; c < BLOCKED; c++) {
            int at = ((r / 32 * BLOCKS + c / 32) * 32 + r % 32) * 32 + c % 32;
            int inside = r < SIDE && c < SIDE;
            assert_true(mat[at] == (inside ? run.mat[r * SIDE + c] : r == c ? 1 : 0));
            lu[at] = inside ? run.lu[r * SIDE + c] : r == c ? 1 : 0;
        }
    assert_int_equal(check(&run), 0);
    for (int at = 0; at < BLOCKED * BLOCKED; at += 67) {
        lu[at] += 0.01f;
        assert_int_equal(check(&run), ERR_WRONG);
        lu[at] -= 0.01f;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_by_hand),
        cmocka_unit_test(transposed_factors_are_wrong),
        cmocka_unit_test(filled_matrices_have_factors),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
        cmocka_unit_test(blocks_hold_the_same_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
