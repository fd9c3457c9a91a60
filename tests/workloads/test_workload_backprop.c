/* backprop's direction numbers and reference, against a training step worked out by hand. */
#include <math.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_backprop;

/* One input, one hidden unit. */
struct run {
    uint32_t directions[30];
    float output_error[1], hidden_error[1], weights[4], hidden_weights[4];
    struct named_value values[3];
    struct arguments arguments;
    struct host_array results[4];
};

static void run_set(struct run *run)
{
    memset(run, 0, sizeof *run);
    float *data[4] = {run->output_error, run->hidden_error, run->weights, run->hidden_weights};
    run->values[0] = (struct named_value){.name = "in_count", .scalar.i64 = 1};
    run->values[1] = (struct named_value){.name = "hidden", .scalar.i64 = 1};
    run->values[2] = (struct named_value){
        .name = "directions",
        .array = {.element = ELEMENT_u32, .rank = 1, .shape = {30}, .count = 30}};
    run->values[2].array.data = run->directions;
    for (int i = 0; i < 4; i++)
        run->results[i] = (struct host_array){
            .element = ELEMENT_f32, .rank = 1, .count = i < 2 ? 1 : 4, .data = data[i]};
    run->arguments =
        (struct arguments){.fun = "backprop", .dataset = "test", .count = 3, .values = run->values};
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_backprop.check(&run->arguments, run->results, 4, &worst, &error);
}

static int fill(struct run *run, uint64_t seed)
{
    struct error error;
    return workload_backprop.fill(&run->arguments, "directions", &run->values[2].array, seed,
                                  &error);
}

/* With one bit in each direction number the points are 1/2 3/4 1/4 3/8, 7/8 5/8 1/8 3/16, 11/16
 * (times 2^30 / (2^30 + 1)). Weights are 16 times the distance of the first four from 1/2:
 *   constant 0, 4; input -4, -2       with column 0, which is not used, in front;
 * the hidden layer's are those of the next four; the input is 11/16. So the hidden unit is
 * squash(4 - 2 * 11/16) = 0.9324533, the output squash(0.125 - 0.3125 * 0.9324533) = 0.4584978, its
 * delta 0.4584978 * 0.5415022 * (0.1 - 0.4584978), and the hidden one's
 * -0.3125 * -0.0890070 * 0.9324533 * 0.0675467. */
static void set_known_step(struct run *run)
{
    static const float weights[4] = {-7.45e-9f, 4.00052555f, -4, -1.99963868f};
    static const float hidden_weights[4] = {0.375f, 0.0982979114f, -0.375f, -0.33739845f};
    run_set(run);
    for (int b = 0; b < 30; b++)
        run->directions[b] = 1u << (29 - b);
    run->output_error[0] = 0.0890069601f;
    run->hidden_error[0] = 0.00175188329f;
    memcpy(run->weights, weights, sizeof weights);
    memcpy(run->hidden_weights, hidden_weights, sizeof hidden_weights);
}

static void a_step_by_hand(void **state)
{
    (void)state;
    struct run run;
    set_known_step(&run);
    assert_int_equal(check(&run), 0);
    for (int i = 0; i < 4; i++) {
        float *values = run.results[i].data;
        for (size_t k = 0; k < run.results[i].count; k++) {
            float right = values[k], size = i < 2 ? right : i == 2 ? 4 : 0.375f;
            values[k] = right + 1e-5f * size;
            assert_int_equal(check(&run), ERR_WRONG);
            values[k] = NAN;
            assert_int_equal(check(&run), ERR_WRONG);
            values[k] = right;
        }
        run.results[i].count--;
        assert_int_equal(check(&run), ERR_WRONG);
        run.results[i].count++;
    }
    assert_int_equal(check(&run), 0);
}

/* Weights as they were before the step, 1e-4 away of 4. */
static void learning_nothing_is_wrong(void **state)
{
    (void)state;
    struct run run;
    set_known_step(&run);
    run.weights[1] = 4;
    run.weights[3] = -2;
    assert_int_equal(check(&run), ERR_WRONG);
}

/* Direction number b has bit 29 - b and none above: then 2^k points visit all 2^k intervals. */
static void directions_make_a_sobol_sequence(void **state)
{
    (void)state;
    struct run run;
    run_set(&run);
    assert_int_equal(fill(&run, 9), 0);
    for (int b = 0; b < 30; b++)
        assert_int_equal(run.directions[b] >> (29 - b), 1);
    unsigned char visited[64] = {0};
    for (uint32_t n = 0, point = 0; n < 64; n++) {
        point = 0;
        for (int b = 0; b < 30; b++)
            point ^= (n ^ n >> 1) >> b & 1 ? run.directions[b] : 0;
        visited[point >> 24]++;
    }
    for (int i = 0; i < 64; i++)
        assert_int_equal(visited[i], 1);
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b;
    run_set(&a);
    run_set(&b);
    assert_int_equal(fill(&a, 7), 0);
    assert_int_equal(fill(&b, 7), 0);
    assert_memory_equal(a.directions, b.directions, sizeof a.directions);
    assert_int_equal(fill(&b, 8), 0);
    assert_memory_not_equal(a.directions, b.directions, sizeof a.directions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_by_hand),
        cmocka_unit_test(learning_nothing_is_wrong),
        cmocka_unit_test(directions_make_a_sobol_sequence),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
