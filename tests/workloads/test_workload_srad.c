/* srad's image and reference, against images whose diffusion is worked out by hand. */
#include <math.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_srad;

enum { PIXELS = 600 };

struct run {
    uint8_t pixels[PIXELS];
    float levels[PIXELS];
    struct named_value values[5];
    struct arguments arguments;
    struct host_array result;
};

static void run_set(struct run *run, int64_t rows, int64_t cols, int64_t steps, float lambda)
{
    memset(run, 0, sizeof *run);
    struct host_array plane = {
        .element = ELEMENT_f32, .rank = 2, .shape = {rows, cols}, .count = (size_t)(rows * cols)};
    run->values[0] = (struct named_value){.name = "rows", .scalar.i64 = rows};
    run->values[1] = (struct named_value){.name = "cols", .scalar.i64 = cols};
    run->values[2] = (struct named_value){.name = "steps", .scalar.i64 = steps};
    run->values[3] = (struct named_value){.name = "lambda", .scalar.f32 = lambda};
    run->values[3].array.element = ELEMENT_f32;
    run->values[4] = (struct named_value){.name = "pixels", .array = plane};
    run->values[4].array.element = ELEMENT_u8;
    run->values[4].array.data = run->pixels;
    run->result = plane;
    run->result.data = run->levels;
    run->arguments =
        (struct arguments){.fun = "srad", .dataset = "test", .count = 5, .values = run->values};
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_srad.check(&run->arguments, &run->result, 1, &worst, &error);
}

static int fill(struct run *run, uint64_t seed)
{
    struct error error;
    return workload_srad.fill(&run->arguments, "pixels", &run->values[4].array, seed, &error);
}

/* Right as it stands; wrong with a pixel off by a hundredth of a level, or no number. */
static void assert_exactly_right(struct run *run)
{
    assert_int_equal(check(run), 0);
    for (size_t i = 0; i < run->result.count; i++) {
        float right = run->levels[i];
        run->levels[i] = right + 0.01f;
        assert_int_equal(check(run), ERR_WRONG);
        run->levels[i] = NAN;
        assert_int_equal(check(run), ERR_WRONG);
        run->levels[i] = right;
    }
    run->result.count--;
    assert_int_equal(check(run), ERR_WRONG);
    run->result.count++;
}

/* One step between two pixels x = exp(first / 255) and y: with d = x - y and the speckle
 * (d / (x + y))^2, the second one's coefficient times lambda / 4 times d goes from x to y. That of
 * the first has no part in it. The coefficients are 0.695266, 0.475320 and 0.432532. */
static void two_pixels_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint8_t pixels[2];
        float lambda, levels[2];
    } cases[] = {
        {{0, 100}, 0.5f, {10.4252833f, 92.7074484f}},
        {{100, 0}, 0.5f, {95.0370600f, 7.1731277f}},
        {{200, 40}, 1.0f, {186.8141004f, 62.9983401f}},
        {{200, 40}, 0.0f, {200, 40}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int64_t rows = 1; rows <= 2; rows++) { /* side by side, then one above the other */
            struct run run;
            run_set(&run, rows, 3 - rows, 1, cases[i].lambda);
            memcpy(run.pixels, cases[i].pixels, sizeof cases[i].pixels);
            memcpy(run.levels, cases[i].levels, sizeof cases[i].levels);
            assert_exactly_right(&run);
        }
}

static void no_steps_change_nothing(void **state)
{
    (void)state;
    struct run run;
    run_set(&run, 20, 30, 0, 0.5f);
    assert_int_equal(fill(&run, 1), 0);
    for (size_t i = 0; i < PIXELS; i++)
        run.levels[i] = run.pixels[i];
    assert_exactly_right(&run);
}

/* The coefficient of the eastern pixel counts, so results do not mirror as their images do. */
static void mirrored_results_are_wrong(void **state)
{
    (void)state;
    struct run run;
    run_set(&run, 1, 2, 1, 0.5f);
    run.pixels[1] = 100;
    run.levels[0] = 7.1731277f;
    run.levels[1] = 95.0370600f;
    assert_int_equal(check(&run), ERR_WRONG);
}

/* Neither flat nor cut off at an end of the range. */
static void filled_images_vary(void **state)
{
    (void)state;
    struct run run;
    unsigned least = 255, most = 0;
    run_set(&run, 20, 30, 1, 0.5f);
    assert_int_equal(fill(&run, 2), 0);
    for (size_t i = 0; i < PIXELS; i++) {
        least = run.pixels[i] < least ? run.pixels[i] : least;
        most = run.pixels[i] > most ? run.pixels[i] : most;
    }
    assert_in_range(least, 1, 100);
    assert_in_range(most, 150, 254);
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b;
    run_set(&a, 20, 30, 1, 0.5f);
    run_set(&b, 20, 30, 1, 0.5f);
    assert_int_equal(fill(&a, 7), 0);
    assert_int_equal(fill(&b, 7), 0);
    assert_memory_equal(a.pixels, b.pixels, sizeof a.pixels);
    assert_int_equal(fill(&b, 8), 0);
    assert_memory_not_equal(a.pixels, b.pixels, sizeof a.pixels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_pixels_by_hand),
        cmocka_unit_test(no_steps_change_nothing),
        cmocka_unit_test(mirrored_results_are_wrong),
        cmocka_unit_test(filled_images_vary),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
