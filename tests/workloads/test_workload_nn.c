/* The reference of the nearest neighbours, against records whose order is known. */
#include <math.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_nn;

enum { N_VALUE, K_VALUE, LATITUDE, LONGITUDE, LATITUDES, LONGITUDES, VALUES };
enum { N = 20, K = 6 };

struct run {
    struct named_value values[VALUES];
    struct arguments arguments;
    struct host_array results[2];
    float latitudes[N], longitudes[N], distances[K];
    int32_t records[K];
};

static struct host_array array_of(enum element element, void *data, int64_t count)
{
    return (struct host_array){
        .element = element, .rank = 1, .shape = {count}, .count = (size_t)count, .data = data};
}

/* Record i is 3 s to the north and 4 s to the east, 5 s away, with s = 1 + 7 i modulo 20: the i-th
 * nearest is record 3 i modulo 20, for 7 * 3 is 1 modulo 20. */
static void run_open(struct run *run)
{
    *run =
        (struct run){.values = {[N_VALUE] = {.name = "n", .scalar.i64 = N},
                                [K_VALUE] = {.name = "k", .scalar.i64 = K},
                                [LATITUDE] = {.name = "latitude", .array.element = ELEMENT_f32},
                                [LONGITUDE] = {.name = "longitude", .array.element = ELEMENT_f32},
                                [LATITUDES] = {.name = "latitudes"},
                                [LONGITUDES] = {.name = "longitudes"}},
                     .results = {array_of(ELEMENT_i32, run->records, K),
                                 array_of(ELEMENT_f32, run->distances, K)}};
    run->values[LATITUDE].scalar.f32 = 10;
    run->values[LONGITUDE].scalar.f32 = 20;
    run->values[LATITUDES].array = array_of(ELEMENT_f32, run->latitudes, N);
    run->values[LONGITUDES].array = array_of(ELEMENT_f32, run->longitudes, N);
    run->arguments =
        (struct arguments){.fun = "nn", .dataset = "test", .count = VALUES, .values = run->values};
    for (int i = 0; i < N; i++) {
        int scale = 1 + 7 * i % N;
        run->latitudes[i] = (float)(10 + 3 * scale);
        run->longitudes[i] = (float)(20 + 4 * scale);
    }
    for (int i = 0; i < K; i++) {
        run->records[i] = 3 * i % N;
        run->distances[i] = (float)(5 * (i + 1));
    }
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_nn.check(&run->arguments, run->results, 2, &worst, &error);
}

static void one_wrong_element_is_found(void **state)
{
    (void)state;
    struct run run;
    run_open(&run);
    assert_int_equal(check(&run), 0);
    for (int i = 0; i < K; i++) {
        int32_t record = run.records[i];
        for (int32_t wrong = -1; wrong <= N; wrong++) {
            run.records[i] = wrong;
            assert_int_equal(check(&run), wrong == record ? 0 : ERR_WRONG);
        }
        run.records[i] = record;
        float right = run.distances[i];
        const float wrong[] = {right + 0.001f, right - 0.001f, NAN};
        for (int w = 0; w < 3; w++) {
            run.distances[i] = wrong[w];
            assert_int_equal(check(&run), ERR_WRONG);
        }
        run.distances[i] = right;
    }
}

/* Two records at one distance may come in either order, but neither twice. */
static void ties_may_come_in_either_order(void **state)
{
    (void)state;
    struct run run;
    run_open(&run);
    run.latitudes[3] = run.latitudes[0]; /* the second is as near as the first */
    run.longitudes[3] = run.longitudes[0];
    run.distances[1] = run.distances[0];
    assert_int_equal(check(&run), 0);
    run.records[0] = 3;
    assert_int_equal(check(&run), ERR_WRONG);
    run.records[1] = 0;
    assert_int_equal(check(&run), 0);
}

static void inputs_depend_on_the_seed_alone(void **state)
{
    (void)state;
    struct run one, same, other;
    struct run *runs[] = {&one, &same, &other};
    struct error error;
    for (int i = 0; i < 3; i++) {
        run_open(runs[i]);
        for (int v = LATITUDES; v <= LONGITUDES; v++)
            assert_int_equal(workload_nn.fill(&runs[i]->arguments, runs[i]->values[v].name,
                                              &runs[i]->values[v].array, i == 2 ? 2 : 1, &error),
                             0);
    }
    assert_memory_equal(one.latitudes, same.latitudes, sizeof one.latitudes);
    assert_memory_equal(one.longitudes, same.longitudes, sizeof one.longitudes);
    assert_memory_not_equal(one.latitudes, other.latitudes, sizeof one.latitudes);
    assert_memory_not_equal(one.latitudes, one.longitudes, sizeof one.latitudes);
    assert_int_equal(workload_nn.fill(&one.arguments, "n", &one.values[LATITUDES].array, 1, &error),
                     ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_wrong_element_is_found),
        cmocka_unit_test(ties_may_come_in_either_order),
        cmocka_unit_test(inputs_depend_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
