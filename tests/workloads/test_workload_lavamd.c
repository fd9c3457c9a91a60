/* The reference of the particles in boxes, against charges whose potential and force are known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_lavamd;

enum { BOXES, ALPHA, NEIGHBOURS, COUNT, RV, RX, RY, RZ, CHARGE, VALUES };
enum { PARTICLES = 100, RESULTS = 4 };

struct run {
    struct named_value values[VALUES];
    struct arguments arguments;
    struct host_array results[RESULTS];
};

static struct host_array new_array(enum element element, int64_t rows, int64_t columns)
{
    struct host_array a = {.element = element, .rank = 2, .shape = {rows, columns}};
    a.count = (size_t)(rows * columns);
    a.data = calloc(a.count, 4);
    assert_non_null(a.data);
    return a;
}

/* The exponent is minus the square of the distance: 2 alpha^2 = 2 of half of it. */
static void run_open(struct run *run, int64_t boxes)
{
    static const char *const names[VALUES] = {"boxes", "alpha", "neighbours", "count", "rv",
                                              "rx",    "ry",    "rz",         "charge"};
    *run = (struct run){.values = {[BOXES] = {.scalar.i64 = boxes},
                                   [ALPHA] = {.scalar.f32 = 1, .array.element = ELEMENT_f32},
                                   [NEIGHBOURS] = {.array = new_array(ELEMENT_i32, 26, boxes)},
                                   [COUNT] = {.array = new_array(ELEMENT_i32, 1, boxes)}}};
    for (int v = RV; v <= CHARGE; v++)
        run->values[v].array = new_array(ELEMENT_f32, boxes, PARTICLES);
    for (int v = 0; v < VALUES; v++)
        run->values[v].name = names[v];
    for (int r = 0; r < RESULTS; r++)
        run->results[r] = new_array(ELEMENT_f32, boxes, PARTICLES);
    run->arguments = (struct arguments){
        .fun = "lavamd", .dataset = "test", .count = VALUES, .values = run->values};
}

static void run_close(struct run *run)
{
    for (int v = NEIGHBOURS; v < VALUES; v++)
        free(run->values[v].array.data);
    for (int r = 0; r < RESULTS; r++)
        free(run->results[r].data);
}

static float *floats(struct run *run, int value)
{
    return run->values[value].array.data;
}
static int32_t *integers(struct run *run, int value)
{
    return run->values[value].array.data;
}
static float *result(struct run *run, int r)
{
    return run->results[r].data;
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_lavamd.check(&run->arguments, run->results, RESULTS, &worst, &error);
}

static void place(struct run *run, int64_t particle, float x, float y, float z)
{
    floats(run, RX)[particle] = x;
    floats(run, RY)[particle] = y;
    floats(run, RZ)[particle] = z;
    floats(run, RV)[particle] = (x * x + y * y + z * z) / 2;
}

/* What a charge of 3 at (1, 0, 0) does at the origin: potential 3/e, and a force away from it. */
static void one_charge_is_felt_next_door(void **state)
{
    (void)state;
    struct run run;
    const int64_t boxes = 27, charged = 7;
    run_open(&run, boxes);
    place(&run, charged, 1, 0, 0);
    floats(&run, CHARGE)[charged] = 3;
    for (int64_t i = 0; i < boxes * PARTICLES; i++) {
        int64_t box = i / PARTICLES;
        if (box % 3 == 2 || box / 3 % 3 == 2 || box / 9 == 2)
            continue; /* two boxes away */
        result(&run, 0)[i] = i == charged ? 3 : 3 * expf(-1);
        result(&run, 1)[i] = i == charged ? 0 : -2 * 3 * expf(-1);
    }
    assert_int_equal(check(&run), 0);
    for (int r = 0; r < RESULTS; r++)
        for (int64_t i = r; i < boxes * PARTICLES; i += 37) {
            float right = result(&run, r)[i];
            const float wrong[] = {right + 1e-4f, NAN};
            for (int w = 0; w < 2; w++) {
                result(&run, r)[i] = wrong[w];
                assert_int_equal(check(&run), ERR_WRONG);
            }
            result(&run, r)[i] = right;
        }
    run_close(&run);
}

static void fill_all(struct run *run, uint64_t seed)
{
    struct error error;
    for (int v = NEIGHBOURS; v < VALUES; v++)
        assert_int_equal(workload_lavamd.fill(&run->arguments, run->values[v].name,
                                              &run->values[v].array, seed, &error),
                         0);
    assert_int_equal(
        workload_lavamd.fill(&run->arguments, "x", &run->values[RX].array, seed, &error),
        ERR_NOT_FOUND);
}

static void inputs_depend_on_the_seed_alone(void **state)
{
    (void)state;
    struct run one, same, other;
    run_open(&one, 11);
    run_open(&same, 11);
    run_open(&other, 11);
    fill_all(&one, 1);
    fill_all(&same, 1);
    fill_all(&other, 2);
    for (int v = NEIGHBOURS; v < VALUES; v++) {
        size_t size = one.values[v].array.count * 4;
        assert_memory_equal(floats(&one, v), floats(&same, v), size);
        if (v >= RV)
            assert_memory_not_equal(floats(&one, v), floats(&other, v), size);
    }
    run_close(&one);
    run_close(&same);
    run_close(&other);
}

/* Every box is its neighbours' neighbour; a corner has 7, the middle 26. */
static void neighbours_are_mutual(void **state)
{
    (void)state;
    struct run run;
    const int64_t boxes = 27;
    run_open(&run, boxes);
    fill_all(&run, 1);
    const int32_t *count = integers(&run, COUNT), *list = integers(&run, NEIGHBOURS);
    assert_int_equal(count[0], 7);
    assert_int_equal(count[13], 26);
    for (int64_t b = 0; b < boxes; b++)
        for (int32_t k = 0; k < count[b]; k++) {
            int64_t beside = list[k * boxes + b];
            int mutual = 0;
            assert_true(beside >= 0 && beside < boxes && beside != b);
            for (int32_t m = 0; m < count[beside]; m++)
                mutual += list[m * boxes + beside] == b;
            assert_int_equal(mutual, 1);
        }
    run_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_charge_is_felt_next_door),
        cmocka_unit_test(inputs_depend_on_the_seed_alone),
        cmocka_unit_test(neighbours_are_mutual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
