/* The halo's inputs and reference, against the stencil on the undivided grid. */
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_halo;

enum { ROWS = 5, COLS = 8, STEPS = 9, CELLS = ROWS * COLS };

struct run {
    uint32_t grid[2 * CELLS], result[2 * CELLS];
    struct named_value values[5];
    struct arguments arguments;
    struct host_array out[2];
};

static void run_open(struct run *run, uint64_t seed)
{
    struct error error;
    memset(run, 0, sizeof *run);
    run->values[0] = (struct named_value){.name = "rows", .scalar.i64 = ROWS};
    run->values[1] = (struct named_value){.name = "cols", .scalar.i64 = COLS};
    run->values[2] = (struct named_value){.name = "steps", .scalar.i64 = STEPS};
    for (int half = 0; half < 2; half++) {
        run->values[3 + half] =
            (struct named_value){.name = half ? "bottom" : "top",
                                 .array = {.count = CELLS, .data = run->grid + half * CELLS}};
        run->out[half] = (struct host_array){.count = CELLS, .data = run->result + half * CELLS};
    }
    run->arguments = (struct arguments){"halo", "test", 5, run->values};
    for (int half = 0; half < 2; half++)
        assert_int_equal(workload_halo.fill(&run->arguments, run->values[3 + half].name,
                                            &run->values[3 + half].array,
                                            random_split(seed, (uint64_t)half), &error),
                         0);
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_halo.check(&run->arguments, run->out, 2, &worst, &error);
}

static uint32_t at(const uint32_t *grid, int r, int c)
{
    r = r < 0 ? 0 : r >= 2 * ROWS ? 2 * ROWS - 1 : r;
    c = c < 0 ? 0 : c >= COLS ? COLS - 1 : c;
    return grid[r * COLS + c];
}

static void the_undivided_grid_is_right(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, 1);
    uint32_t grid[2 * CELLS];
    memcpy(grid, run.grid, sizeof grid);
    for (int s = 0; s < STEPS; s++) {
        for (int r = 0; r < 2 * ROWS; r++)
            for (int c = 0; c < COLS; c++)
                run.result[r * COLS + c] = at(grid, r, c) * 4 + at(grid, r - 1, c) +
                                           at(grid, r + 1, c) + at(grid, r, c - 1) * 3 +
                                           at(grid, r, c + 1);
        memcpy(grid, run.result, sizeof grid);
    }
    assert_int_equal(check(&run), 0);
    for (int i = 0; i < 2 * CELLS; i++) {
        run.result[i] ^= 1u << (i % 32);
        assert_int_equal(check(&run), ERR_WRONG);
        run.result[i] ^= 1u << (i % 32);
    }
    run.out[1].count--;
    assert_int_equal(check(&run), ERR_WRONG);
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b, c;
    run_open(&a, 7);
    run_open(&b, 7);
    run_open(&c, 8);
    assert_memory_equal(a.grid, b.grid, sizeof a.grid);
    assert_memory_not_equal(a.grid, c.grid, sizeof a.grid);
    for (int r = 1; r < 2 * ROWS; r++) /* every row is another one */
        assert_memory_not_equal(a.grid, a.grid + r * COLS, COLS * sizeof *a.grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_undivided_grid_is_right),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
