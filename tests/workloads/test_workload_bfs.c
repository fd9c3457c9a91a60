/* bfs's graphs, and the check of its distances against distances that are known. */
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_bfs;

enum { NODES = 300, EDGES = 3000, LEAST = 2, MOST = 40 };

struct run {
    int32_t offsets[NODES + 1], dest[EDGES], cost[NODES];
    struct named_value values[6];
    struct arguments arguments;
    struct host_array result;
};

static struct host_array array_of(int32_t *data, int64_t count)
{
    return (struct host_array){
        .element = ELEMENT_i32, .rank = 1, .shape = {count}, .count = (size_t)count, .data = data};
}

static void run_set(struct run *run, int64_t n, int64_t e, int64_t least, int64_t most)
{
    memset(run, 0, sizeof *run);
    run->values[0] = (struct named_value){.name = "n", .scalar.i64 = n};
    run->values[1] = (struct named_value){.name = "e", .scalar.i64 = e};
    run->values[2] = (struct named_value){.name = "least", .scalar.i64 = least};
    run->values[3] = (struct named_value){.name = "most", .scalar.i64 = most};
    run->values[4] =
        (struct named_value){.name = "offsets", .array = array_of(run->offsets, n + 1)};
    run->values[5] = (struct named_value){.name = "dest", .array = array_of(run->dest, e)};
    run->result = array_of(run->cost, n);
    run->arguments =
        (struct arguments){.fun = "bfs", .dataset = "test", .count = 6, .values = run->values};
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_bfs.check(&run->arguments, &run->result, 1, &worst, &error);
}

static int fill(struct run *run, uint64_t seed)
{
    struct error error;
    int code = workload_bfs.fill(&run->arguments, "offsets", &run->values[4].array, seed, &error);
    return code ? code
                : workload_bfs.fill(&run->arguments, "dest", &run->values[5].array, seed + 1,
                                    &error);
}

/* Right as it stands, wrong with any one distance off by one, and with one distance too few. */
static void assert_exactly_right(struct run *run)
{
    assert_int_equal(check(run), 0);
    for (size_t i = 0; i < run->result.count; i++) {
        run->cost[i]++;
        assert_int_equal(check(run), ERR_WRONG);
        run->cost[i]--;
    }
    run->result.count--;
    assert_int_equal(check(run), ERR_WRONG);
    run->result.count++;
}

static void graphs_by_hand(void **state)
{
    (void)state;
    static const struct {
        int64_t n, e;
        int32_t offsets[7], dest[8], cost[6];
    } cases[] = {
        {1, 0, {0, 0}, {0}, {0}},                            /* alone */
        {1, 1, {0, 1}, {0}, {0}},                            /* with an edge to itself */
        {4, 3, {0, 1, 2, 3, 3}, {1, 2, 3}, {0, 1, 2, 3}},    /* a path */
        {4, 3, {0, 0, 1, 2, 3}, {0, 1, 2}, {0, -1, -1, -1}}, /* the same backwards */
        {4, 4, {0, 2, 3, 4, 4}, {1, 2, 3, 3}, {0, 1, 1, 2}}, /* two ways to one node */
        {4, 4, {0, 2, 3, 4, 4}, {3, 1, 2, 3}, {0, 1, 2, 1}}, /* a long way and a short */
        {6, 8, {0, 3, 3, 4, 4, 6, 8}, {2, 2, 4, 0, 1, 4, 3, 0}, {0, 2, 1, -1, 1, -1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        run_set(&run, cases[i].n, cases[i].e, 0, 3);
        memcpy(run.offsets, cases[i].offsets, sizeof cases[i].offsets);
        memcpy(run.dest, cases[i].dest, sizeof cases[i].dest);
        memcpy(run.cost, cases[i].cost, sizeof cases[i].cost);
        assert_exactly_right(&run);
    }
}

/* Relaxes all edges until nothing changes: no queue, no levels. */
static void relax(const struct run *run, int32_t *cost)
{
    for (int i = 0; i < NODES; i++)
        cost[i] = i ? NODES : 0;
    for (int again = 1; again;) {
        again = 0;
        for (int i = 0; i < NODES; i++)
            for (int32_t j = run->offsets[i]; j < run->offsets[i + 1]; j++)
                if (cost[run->dest[j]] > cost[i] + 1) {
                    cost[run->dest[j]] = cost[i] + 1;
                    again = 1;
                }
    }
    for (int i = 0; i < NODES; i++)
        cost[i] = cost[i] == NODES ? -1 : cost[i];
}

static void filled_graphs_have_distances(void **state)
{
    (void)state;
    static struct run run;
    for (uint64_t seed = 0; seed < 5; seed++) {
        run_set(&run, NODES, EDGES, LEAST, MOST);
        assert_int_equal(fill(&run, seed), 0);
        relax(&run, run.cost);
        assert_exactly_right(&run);
    }
}

static void graphs_are_as_asked_for(void **state)
{
    (void)state;
    static const int64_t edges[] = {NODES * 2, 777, EDGES};
    static struct run run;
    for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
        int32_t fewest = MOST, most = 0;
        run_set(&run, NODES, edges[k], LEAST, MOST);
        assert_int_equal(fill(&run, 9), 0);
        assert_int_equal(run.offsets[0], 0);
        assert_int_equal(run.offsets[NODES], edges[k]);
        for (int i = 0; i < NODES; i++) {
            int32_t degree = run.offsets[i + 1] - run.offsets[i];
            fewest = degree < fewest ? degree : fewest;
            most = degree > most ? degree : most;
        }
        assert_true(fewest >= LEAST && most <= MOST);
        assert_true(edges[k] == NODES * 2 || most > 2 * fewest); /* uneven, unless all are least */
        for (int64_t j = 0; j < edges[k]; j++)
            assert_true(run.dest[j] >= 0 && run.dest[j] < NODES);
    }
}

static void impossible_graphs_are_refused(void **state)
{
    (void)state;
    static const int64_t impossible[][4] = {
        {10, 19, 2, 4}, {10, 41, 2, 4}, {10, 30, 4, 2}, {10, 30, -1, 4}, {0, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        static struct run run;
        struct error error;
        run_set(&run, impossible[i][0], impossible[i][1], impossible[i][2], impossible[i][3]);
        assert_int_equal(
            workload_bfs.fill(&run.arguments, "offsets", &run.values[4].array, 1, &error),
            ERR_USAGE);
        assert_non_null(strstr(error.text, "cannot have"));
    }
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    static struct run a, b;
    run_set(&a, NODES, EDGES, LEAST, MOST);
    run_set(&b, NODES, EDGES, LEAST, MOST);
    assert_int_equal(fill(&a, 7), 0);
    assert_int_equal(fill(&b, 7), 0);
    assert_memory_equal(a.offsets, b.offsets, sizeof a.offsets);
    assert_memory_equal(a.dest, b.dest, sizeof a.dest);
    assert_int_equal(fill(&b, 8), 0);
    assert_memory_not_equal(a.offsets, b.offsets, sizeof a.offsets);
    assert_memory_not_equal(a.dest, b.dest, sizeof a.dest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_by_hand),
        cmocka_unit_test(filled_graphs_have_distances),
        cmocka_unit_test(graphs_are_as_asked_for),
        cmocka_unit_test(impossible_graphs_are_refused),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
