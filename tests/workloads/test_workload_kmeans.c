/* K-means' points and reference, against clusterings that can be done by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_kmeans;

enum { N, D, K, THRESHOLD, MAX_ITERATIONS, POINTS, VALUES };

/* A run of k-means: its arguments and the results to be checked. */
struct run {
    struct named_value values[VALUES];
    struct arguments arguments;
    struct host_array results[2];
};

static struct host_array new_array(enum element element, unsigned rank, int64_t rows, int64_t cols)
{
    struct host_array a = {.element = element, .rank = rank, .shape = {rows, cols}};
    a.count = (size_t)(rows * cols);
    a.data = calloc(a.count, 4);
    assert_non_null(a.data);
    return a;
}

static void run_open(struct run *run, const char *fun, int64_t n, int64_t d, int64_t k,
                     int64_t max_iterations)
{
    *run = (struct run){
        .values = {[N] = {.name = "n", .scalar.i64 = n},
                   [D] = {.name = "d", .scalar.i64 = d},
                   [K] = {.name = "k", .scalar.i64 = k},
                   [THRESHOLD] = {.name = "threshold"},
                   [MAX_ITERATIONS] = {.name = "max_iterations", .scalar.i64 = max_iterations},
                   [POINTS] = {.name = "points", .array = new_array(ELEMENT_f32, 2, n, d)}},
        .results = {new_array(ELEMENT_i32, 1, n, 1), new_array(ELEMENT_f32, 2, k, d)}};
    run->arguments =
        (struct arguments){.fun = fun, .dataset = "test", .count = VALUES, .values = run->values};
}

static void run_close(struct run *run)
{
    free(run->values[POINTS].array.data);
    free(run->results[0].data);
    free(run->results[1].data);
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_kmeans.check(&run->arguments, run->results, 2, &worst, &error);
}

/* Right as it stands, and wrong with any point in another cluster or any centre a little off. */
static void assert_exactly_right(struct run *run)
{
    int32_t *found = run->results[0].data;
    float *middles = run->results[1].data;
    const int32_t wrong[] = {0, 1, -1, 1000};
    assert_int_equal(check(run), 0);
    for (size_t i = 0; i < run->results[0].count; i++) {
        int32_t right = found[i];
        for (int w = 0; w < 4; w++) {
            found[i] = wrong[w];
            assert_int_equal(check(run), wrong[w] == right ? 0 : ERR_WRONG);
        }
        found[i] = right;
    }
    for (size_t i = 0; i < run->results[1].count; i++) {
        float right = middles[i];
        const float off[] = {right + 0.001f * (1 + fabsf(right)), NAN};
        for (int w = 0; w < 2; w++) {
            middles[i] = off[w];
            assert_int_equal(check(run), ERR_WRONG);
        }
        middles[i] = right;
    }
    assert_int_equal(check(run), 0);
}

/* Two clusters on a line, from the first two points on. */
static void clusterings_by_hand(void **state)
{
    (void)state;
    static const struct {
        int64_t n, max_iterations;
        float points[6];
        int32_t found[6];
        float middles[2];
    } table[] = {
        {4, 10, {0, 10, 1, 11}, {0, 1, 0, 1}, {0.5f, 10.5f}},
        {2, 10, {3, 5}, {0, 1}, {3, 5}},
        /* One round: 6 is nearer to 10 than to 1. */
        {6, 1, {1, 10, 2, 3, 6, 4}, {0, 1, 0, 0, 1, 0}, {2.5f, 8}},
        /* Round one takes {0}, {1, 2, 3, 30}; two {0, 1, 2, 3}, {30}; that stays. */
        {5, 1, {0, 1, 2, 3, 30}, {0, 1, 1, 1, 1}, {0, 9}},
        {5, 2, {0, 1, 2, 3, 30}, {0, 0, 0, 0, 1}, {1.5f, 30}},
        {5, 3, {0, 1, 2, 3, 30}, {0, 0, 0, 0, 1}, {1.5f, 30}},
    };
    static const char *const funs[] = {"kmeans", "kmeans_cpu"};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int f = 0; f < 2; f++) {
            struct run run;
            run_open(&run, funs[f], table[i].n, 1, 2, table[i].max_iterations);
            size_t bytes = (size_t)table[i].n * 4;
            memcpy(run.values[POINTS].array.data, table[i].points, bytes);
            memcpy(run.results[0].data, table[i].found, bytes);
            memcpy(run.results[1].data, table[i].middles, sizeof table[i].middles);
            assert_exactly_right(&run);
            run_close(&run);
        }
}

/* Equal first points: the second centre has no points. `kmeans` leaves it where it is, `kmeans_cpu`
 * takes it to the first point, which is elsewhere once the first centre has moved. */
static void a_centre_without_points(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, "kmeans", 4, 2, 3, 1);
    static const float points[] = {1, 1, 9, 9, 9, 9, 3, 1};
    static const float middles[] = {2, 1, 9, 9, 9, 9};
    memcpy(run.values[POINTS].array.data, points, sizeof points);
    memcpy(run.results[0].data, (int32_t[]){0, 1, 1, 0}, 16);
    memcpy(run.results[1].data, middles, sizeof middles);
    assert_int_equal(check(&run), 0);
    run.arguments.fun = "kmeans_cpu";
    assert_int_equal(check(&run), ERR_WRONG);
    ((float *)run.results[1].data)[4] = ((float *)run.results[1].data)[5] = 1;
    assert_int_equal(check(&run), 0);
    run_close(&run);
}

/* A point as near to either centre may be found in either, if the centres follow. */
static void ties_may_fall_either_way(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, "kmeans", 30003, 1, 2, 1);
    float *points = run.values[POINTS].array.data, *middles = run.results[1].data;
    int32_t *found = run.results[0].data;
    for (int i = 0; i < 30003; i++) {
        points[i] = i == 30002 ? 0 : i % 2 ? 0.01f : -0.01f;
        found[i] = i == 30002 ? 0 : i % 2;
    }
    middles[0] = -0.01f, middles[1] = 0.01f;
    assert_int_equal(check(&run), 0);
    found[30002] = 1;
    assert_int_equal(check(&run), 0);
    found[30001] = 1 - found[30001];
    assert_int_equal(check(&run), ERR_WRONG);
    run_close(&run);
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b;
    struct error error;
    run_open(&a, "kmeans", 500, 3, 4, 5);
    run_open(&b, "kmeans_cpu", 500, 3, 4, 5);
    struct host_array *first = &a.values[POINTS].array, *second = &b.values[POINTS].array;
    assert_int_equal(workload_kmeans.fill(&a.arguments, "points", first, 7, &error), 0);
    assert_int_equal(workload_kmeans.fill(&b.arguments, "points", second, 7, &error), 0);
    assert_memory_equal(first->data, second->data, first->count * 4);
    assert_int_equal(workload_kmeans.fill(&b.arguments, "points", second, 8, &error), 0);
    assert_memory_not_equal(first->data, second->data, first->count * 4);
    run_close(&a);
    run_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusterings_by_hand),
        cmocka_unit_test(a_centre_without_points),
        cmocka_unit_test(ties_may_fall_either_way),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
