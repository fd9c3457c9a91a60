/* The mesh, and the reference against flows whose change is known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_cfd;

enum { N, ITERATIONS, AREAS, NEIGHBOURS, NORMALS, VALUES };
enum { WALL = -1, FREE_STREAM = -2 };

/* A run of cfd: its arguments and the result to be checked. */
struct run {
    struct named_value values[VALUES];
    struct arguments arguments;
    struct host_array flow;
};

static struct host_array new_array(enum element element, int64_t rows, int64_t n)
{
    struct host_array a = {.element = element, .rank = 2, .shape = {rows, n}};
    a.count = (size_t)(rows * n);
    a.data = calloc(a.count, 4);
    assert_non_null(a.data);
    return a;
}

static void run_open(struct run *run, int64_t n, int64_t iterations)
{
    *run = (struct run){
        .values = {[N] = {.name = "n", .scalar.i64 = n},
                   [ITERATIONS] = {.name = "iterations", .scalar.i64 = iterations},
                   [AREAS] = {.name = "areas", .array = new_array(ELEMENT_f32, 1, n)},
                   [NEIGHBOURS] = {.name = "neighbours", .array = new_array(ELEMENT_i32, 4, n)},
                   [NORMALS] = {.name = "normals", .array = new_array(ELEMENT_f32, 12, n)}},
        .flow = new_array(ELEMENT_f32, 5, n)};
    run->arguments =
        (struct arguments){.fun = "cfd", .dataset = "test", .count = VALUES, .values = run->values};
}

static void run_close(struct run *run)
{
    for (int i = AREAS; i < VALUES; i++)
        free(run->values[i].array.data);
    free(run->flow.data);
}

static float *floats(struct run *run, int value)
{
    return run->values[value].array.data;
}
static int32_t *neighbours(struct run *run)
{
    return run->values[NEIGHBOURS].array.data;
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_cfd.check(&run->arguments, &run->flow, 1, &worst, &error);
}

static void assert_exactly_right(struct run *run)
{
    float *flow = run->flow.data;
    assert_int_equal(check(run), 0);
    for (size_t i = 0; i < run->flow.count; i++) {
        float right = flow[i];
        const float wrong[] = {right + 0.001f * (1 + fabsf(right)), NAN};
        for (int w = 0; w < 2; w++) {
            flow[i] = wrong[w];
            assert_int_equal(check(run), ERR_WRONG);
        }
        flow[i] = right;
    }
}

/* Cells in a row along x, of area 1, between free stream at both ends; above and below is `side`.
 * All faces are squares, so normals add up to zero around every cell. */
static void set_row(struct run *run, int32_t side)
{
    int64_t n = run->values[N].scalar.i64;
    for (int64_t i = 0; i < n; i++) {
        floats(run, AREAS)[i] = 1;
        neighbours(run)[i] = i + 1 < n ? (int32_t)i + 1 : FREE_STREAM;
        neighbours(run)[n + i] = i > 0 ? (int32_t)i - 1 : FREE_STREAM;
        neighbours(run)[2 * n + i] = neighbours(run)[3 * n + i] = side;
        floats(run, NORMALS)[i] = -1;               /* x of the face to the east */
        floats(run, NORMALS)[n + i] = 1;            /* x, west */
        floats(run, NORMALS)[(4 + 2) * n + i] = -1; /* y, north */
        floats(run, NORMALS)[(4 + 3) * n + i] = 1;  /* y, south */
    }
}

/* The stream at 1.2 times the speed of sound: density 1.4, pressure 1, sound at 1. */
static const float stream[5] = {1.4f, 1.68f, 0, 0, 3.508f};

static void set_stream(struct run *run)
{
    for (int64_t i = 0; i < (int64_t)run->flow.count; i++)
        ((float *)run->flow.data)[i] = stream[i / run->values[N].scalar.i64];
}

/* A uniform stream stays, between streams and along walls, which it does not run against. */
static void uniform_flow_stays(void **state)
{
    (void)state;
    static const int32_t sides[] = {FREE_STREAM, WALL};
    for (int i = 0; i < 2; i++) {
        struct run run;
        run_open(&run, 4, 3);
        set_row(&run, sides[i]);
        set_stream(&run);
        assert_exactly_right(&run);
        run_close(&run);
    }
}

/* One cell with walls but in the west: what comes in stays, and the state changes by that. The area
 * is so large that the change is small, and the same in all three stages. */
static void wall_stops_the_stream(void **state)
{
    (void)state;
    struct run run;
    const double pace = 0.5 / (1e4 * 2.2), face = 10;
    run_open(&run, 1, 1);
    set_row(&run, WALL);
    floats(&run, AREAS)[0] = 1e8f;
    neighbours(&run)[0] = WALL;
    for (int i = 0; i < 12; i++)
        floats(&run, NORMALS)[i] *= (float)face;
    double volume = pace * face * 1.2;
    float *flow = run.flow.data;
    for (int v = 0; v < 5; v++)
        flow[v] = (float)(stream[v] * (1 + volume));
    flow[4] += (float)volume; /* the work of pressure 1 */
    assert_exactly_right(&run);
    for (int v = 0; v < 5; v++) /* what came in is more than the tolerance */
        flow[v] = stream[v];
    assert_int_equal(check(&run), ERR_WRONG);
    run_close(&run);
}

static int fill_all(struct run *run, uint64_t seed)
{
    struct error error;
    int code = 0;
    for (int i = AREAS; i < VALUES && !code; i++)
        code = workload_cfd.fill(&run->arguments, run->values[i].name, &run->values[i].array,
                                 seed + (uint64_t)i, &error);
    return code;
}

/* Every face is a face of both its cells, with opposite normals; there are walls and free stream,
 * and numbers that are not in order. */
static void faces_are_shared(void **state)
{
    (void)state;
    struct run run;
    const int64_t n = 777;
    int64_t walls = 0, open = 0, jumps = 0;
    run_open(&run, n, 1);
    assert_int_equal(fill_all(&run, 5), 0);
    for (int64_t i = 0; i < n; i++)
        for (int f = 0; f < 4; f++) {
            int32_t j = neighbours(&run)[f * n + i];
            walls += j == WALL;
            open += j == FREE_STREAM;
            jumps += f == 0 && j >= 0 && j != i + 1;
            if (j < 0)
                continue;
            assert_true(j < n && j != i);
            int back = 0;
            while (back < 4 && neighbours(&run)[back * n + j] != i)
                back++;
            assert_true(back < 4);
            for (int a = 0; a < 3; a++)
                assert_true(floats(&run, NORMALS)[(a * 4 + f) * n + i] ==
                            -floats(&run, NORMALS)[(a * 4 + back) * n + j]);
        }
    assert_int_equal(walls, 28); /* the sheet is 28 wide */
    assert_true(open > 28 && jumps > n / 2);
    run_close(&run);
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b;
    run_open(&a, 300, 1);
    run_open(&b, 300, 1);
    assert_int_equal(fill_all(&a, 7), 0);
    assert_int_equal(fill_all(&b, 7), 0);
    for (int i = AREAS; i < VALUES; i++)
        assert_memory_equal(a.values[i].array.data, b.values[i].array.data,
                            a.values[i].array.count * 4);
    assert_int_equal(fill_all(&b, 8), 0);
    assert_memory_not_equal(floats(&a, AREAS), floats(&b, AREAS), 300 * 4);
    assert_memory_not_equal(floats(&a, NORMALS), floats(&b, NORMALS), 12 * 300 * 4);
    run_close(&a);
    run_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_flow_stays),
        cmocka_unit_test(wall_stops_the_stream),
        cmocka_unit_test(faces_are_shared),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
