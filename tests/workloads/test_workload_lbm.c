/* The reference of the lattice, against flows that are known by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_lbm;

enum { NX, NY, NZ, STEPS, OMEGA, START, VALUES };
enum { ROWS = 20, FLAG = 19, SIDE = 5, PADDED = SIDE + 4, CELLS = SIDE * SIDE * PADDED };
enum { OBSTACLE = 1, LID = 2 };
enum { MIDDLE = (PADDED / 2 * SIDE + SIDE / 2) * SIDE + SIDE / 2 };

struct run {
    struct named_value values[VALUES];
    struct arguments arguments;
    struct host_array result;
    double start[ROWS * CELLS], end[ROWS * CELLS];
};

static double weight(int row)
{
    return row == 0 ? 1. / 3 : row < 7 ? 1. / 18 : 1. / 36;
}

/* A fluid at rest in all cells. */
static struct run *run_open(int64_t steps)
{
    struct run *run = malloc(sizeof *run);
    assert_non_null(run);
    struct host_array start = {.element = ELEMENT_f64, .rank = 1, .shape = {ROWS * CELLS}};
    start.count = ROWS * CELLS;
    run->result = start;
    start.data = run->start;
    run->result.data = run->end;
    struct named_value values[VALUES] = {
        [NX] = {.name = "nx", .scalar.i64 = SIDE},
        [NY] = {.name = "ny", .scalar.i64 = SIDE},
        [NZ] = {.name = "nz", .scalar.i64 = SIDE},
        [STEPS] = {.name = "steps", .scalar.i64 = steps},
        [OMEGA] = {.name = "omega", .scalar.f64 = 1.5, .array.element = ELEMENT_f64},
        [START] = {.name = "start", .array = start}};
    memcpy(run->values, values, sizeof values);
    run->arguments = (struct arguments){
        .fun = "lbm_f64", .dataset = "test", .count = VALUES, .values = run->values};
    for (int row = 0; row < ROWS; row++)
        for (int cell = 0; cell < CELLS; cell++)
            run->start[row * CELLS + cell] = row == FLAG ? 0 : weight(row);
    memcpy(run->end, run->start, sizeof run->end);
    return run;
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_lbm.check(&run->arguments, &run->result, 1, &worst, &error);
}

static void assert_exactly_right(struct run *run)
{
    assert_int_equal(check(run), 0);
    for (int i = 0; i < ROWS * CELLS; i += 101) {
        double right = run->end[i];
        const double wrong[] = {right + 1e-10, NAN};
        for (int w = 0; w < 2; w++) {
            run->end[i] = wrong[w];
            assert_int_equal(check(run), ERR_WRONG);
        }
        run->end[i] = right;
    }
}

static void a_fluid_at_rest_stays(void **state)
{
    (void)state;
    struct run *run = run_open(3);
    assert_exactly_right(run);
    free(run);
}

/* What flows in a direction arrives in the next cell there; an obstacle throws it back. */
static void obstacles_throw_back(void **state)
{
    (void)state;
    static const int to[6] = {1, -1, SIDE, -SIDE, SIDE * SIDE, -SIDE * SIDE};
    for (int j = 1; j <= 6; j++) {
        struct run *run = run_open(1);
        int opposite = j % 2 ? j + 1 : j - 1, arrives = MIDDLE + to[opposite - 1];
        run->start[FLAG * CELLS + MIDDLE] = run->end[FLAG * CELLS + MIDDLE] = OBSTACLE;
        run->start[j * CELLS + MIDDLE] += 0.25;
        run->end[opposite * CELLS + arrives] += 0.25;
        assert_int_equal(check(run), 0);
        free(run);
    }
}

/* All that collides in one cell goes to the weights of the directions, with omega = 1.5: a mass m
 * more at rest has w m in each direction afterwards, and 1.5 w m - 0.5 m at rest. */
static void mass_spreads(void **state)
{
    (void)state;
    static const int to[ROWS - 1][3] = {
        {0, 0, 0},  {1, 0, 0},   {-1, 0, 0},  {0, 1, 0},  {0, -1, 0}, {0, 0, 1},   {0, 0, -1},
        {1, 1, 0},  {-1, -1, 0}, {1, -1, 0},  {-1, 1, 0}, {1, 0, 1},  {-1, 0, -1}, {1, 0, -1},
        {-1, 0, 1}, {0, 1, 1},   {0, -1, -1}, {0, 1, -1}, {0, -1, 1}};
    struct run *run = run_open(1);
    const double m = 0.1;
    run->start[MIDDLE] += m;
    for (int j = 0; j < FLAG; j++) {
        int arrives = MIDDLE + to[j][0] + SIDE * (to[j][1] + SIDE * to[j][2]);
        run->end[j * CELLS + arrives] += 1.5 * weight(j) * m - (j == 0 ? 0.5 * m : 0);
    }
    assert_exactly_right(run);
    free(run);
}

/* A lid at rest gets the lid's speed. */
static void a_lid_moves(void **state)
{
    (void)state;
    struct run *run = run_open(1);
    const double x = 0.005, y = 0.002, square = x * x + y * y;
    run->start[FLAG * CELLS + MIDDLE] = run->end[FLAG * CELLS + MIDDLE] = LID;
    run->end[MIDDLE] -= 1.5 * weight(0) * 1.5 * square;
    run->end[1 * CELLS + MIDDLE + 1] += 1.5 * weight(1) * (3 * x + 4.5 * x * x - 1.5 * square);
    assert_int_equal(check(run), ERR_WRONG); /* other directions change as well */
    run->end[2 * CELLS + MIDDLE - 1] += 1.5 * weight(2) * (-3 * x + 4.5 * x * x - 1.5 * square);
    run->end[3 * CELLS + MIDDLE + SIDE] += 1.5 * weight(3) * (3 * y + 4.5 * y * y - 1.5 * square);
    run->end[4 * CELLS + MIDDLE - SIDE] += 1.5 * weight(4) * (-3 * y + 4.5 * y * y - 1.5 * square);
    for (int sign = -1; sign <= 1; sign += 2) {
        const int z = sign * SIDE * SIDE, row = sign > 0 ? 0 : 1;
        const double sums[2] = {sign * (x + y), sign * (x - y)};
        run->end[(5 + row) * CELLS + MIDDLE + z] -= 1.5 * weight(5) * 1.5 * square;
        for (int pair = 0; pair < 2; pair++) {
            const double along[3] = {sums[pair], sign * x, sign * y};
            for (int axes = 0; axes < 3; axes++) {
                static const int steps[3][2] = {{1 + SIDE, 1 - SIDE},
                                                {1 + SIDE * SIDE, 1 - SIDE * SIDE},
                                                {SIDE + SIDE * SIDE, SIDE - SIDE * SIDE}};
                int j = 7 + 4 * axes + 2 * pair + row;
                run->end[j * CELLS + MIDDLE + sign * steps[axes][pair]] +=
                    1.5 * weight(j) *
                    (3 * along[axes] + 4.5 * along[axes] * along[axes] - 1.5 * square);
            }
        }
    }
    assert_exactly_right(run);
    free(run);
}

static void inputs_depend_on_the_seed_alone(void **state)
{
    (void)state;
    struct run *one = run_open(1), *same = run_open(1), *other = run_open(1);
    struct run *runs[] = {one, same, other};
    struct error error;
    for (int i = 0; i < 3; i++)
        assert_int_equal(workload_lbm.fill(&runs[i]->arguments, "start",
                                           &runs[i]->values[START].array, i == 2 ? 2 : 1, &error),
                         0);
    assert_memory_equal(one->start, same->start, sizeof one->start);
    assert_memory_not_equal(one->start, other->start, sizeof one->start);
    assert_true(one->start[FLAG * CELLS] == OBSTACLE);
    assert_int_equal(
        workload_lbm.fill(&one->arguments, "end", &one->values[START].array, 1, &error),
        ERR_NOT_FOUND);
    for (int i = 0; i < 3; i++)
        free(runs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fluid_at_rest_stays),
        cmocka_unit_test(obstacles_throw_back),
        cmocka_unit_test(mass_spreads),
        cmocka_unit_test(a_lid_moves),
        cmocka_unit_test(inputs_depend_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
