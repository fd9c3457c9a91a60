/* What a dataset may say: the numbers that it gives and expects. */
#include <stdio.h>
#include <string.h>

#include "program/program.h"
#include "run/select/inputs.h"
#include "tests/base/cmocka.h"

/* A fun with a scalar `s` and an array `x` of the type, which is also that of the result `y`. `at`
 * is the position of what is refused; NULL where nothing is. */
static const struct value_case {
    const char *type, *dataset, *at;
} cases[] = {
    {"u8", "s = 255; x = [0, 255]; } expect { y = [255, 0]; }", NULL},
    {"u8", "s = 256; x = [0, 1]; }", "2:34"},
    {"u8", "s = 0; x = [0, 300]; }", "2:45"},
    {"u8", "s = 0; x = [0, -1]; }", "2:45"},
    {"u8", "s = 0; x = [0, 1]; } expect { y = [44, 300]; }", "2:69"},
    {"u8", "s = 0; x = [0, 150 + n * 100]; }", "2:45"},
    {"u8", "s = 0; x = [0, 1.5]; }", "2:45"},
    {"bool", "s = 1; x = [0, 1]; }", NULL},
    {"bool", "s = 0; x = [5, 1]; }", "2:42"},
    {"i32", "s = -2147483648; x = [0, 2147483647]; }", NULL},
    {"i32", "s = 0; x = [3000000000, 0]; }", "2:42"},
    {"i32", "s = -2147483649; x = [0, 0]; }", "2:34"},
    {"u32", "s = 3000000000; x = [4294967295, 0]; }", NULL},
    {"u32", "s = 0; x = [4294967296, 0]; }", "2:42"},
    {"u32", "s = -1; x = [0, 0]; }", "2:34"},
    {"i64", "s = -5; x = [9223372036854775807, 0]; }", NULL},
    {"f32", "s = 16777217; x = [3.4e38, 1e-60]; }", NULL},
    {"f32", "s = 0; x = [0, 3.5e38]; }", "2:45"},
    {"f32", "s = 0; x = [0, 1]; } expect { y = [-1e39, 0]; }", "2:65"},
    {"f64", "s = 0; x = [1e308, 0]; }", NULL},
};

static void numbers_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct value_case *c = &cases[i];
        char text[512], place[32] = "";
        struct program *program;
        struct error error = {0};
        snprintf(text, sizeof text,
                 "fun f(n: i64, s: %s, x: [n]%s) { let y: [n]%s = copy x in y }\n"
                 "dataset smoke { n = 2;       %s\n",
                 c->type, c->type, c->type, c->dataset);
        if (program_read("t", text, strlen(text), &program, &error))
            fail_msg("%s", error.text);
        const struct entry entry = {.name = "f", .program = program, .fun = &program->funs[0]};
        const int code = inputs_check_values(&entry, &program->datasets[0], &error);
        if (c->at)
            snprintf(place, sizeof place, "t:%s: ", c->at);
        if (code != (c->at ? ERR_USAGE : 0) || strncmp(error.text, place, strlen(place)) != 0) {
            print_error("%s, %s: %d, %s\n", c->type, c->dataset, code, error.text);
            failed++;
        }
        struct inputs inputs;
        const bool in_expect = c->at && strstr(c->dataset, "expect");
        const int made = inputs_make(&entry, &program->datasets[0], 1, &inputs, NULL);
        if (!made)
            inputs_free(&inputs);
        if (made != (in_expect ? 0 : code)) {
            print_error("%s, %s: made: %d\n", c->type, c->dataset, made);
            failed++;
        }
        program_free(program);
    }
    assert_int_equal(failed, 0);
}

static void negative_traffic_is_refused(void **state)
{
    (void)state;
    static const char text[] =
        "fun f(n: i64, x: [n]u8)\n  traffic 4 - n { let y: [n]u8 = copy x in y }\n"
        "dataset four { n = 4; } dataset five { n = 5; }\n";
    struct program *program;
    struct error error = {0};
    struct inputs inputs;
    assert_int_equal(program_read("t", text, strlen(text), &program, &error), 0);
    const struct entry entry = {.name = "f", .program = program, .fun = &program->funs[0]};
    assert_int_equal(inputs_make(&entry, &program->datasets[0], 1, &inputs, &error), 0);
    assert_true(inputs.traffic_bytes == 0);
    inputs_free(&inputs);
    assert_int_equal(inputs_make(&entry, &program->datasets[1], 1, &inputs, &error), ERR_USAGE);
    assert_string_equal(strtok(error.text, "\n"),
                        "t:2:13: the traffic of 'f' is -1 bytes with dataset 'five', expected 0 or "
                        "more");
    program_free(program);
}

static void a_dataset_says_what_it_lacks(void **state)
{
    (void)state;
    static const char text[] = "fun f(n: i64, m: i64, x: [n]u8) { let y: [n]u8 = copy x in y }\n"
                               "dataset all { m = 1; n = 2; } dataset some { n = 2; }\n";
    struct program *program;
    assert_int_equal(program_read("t", text, strlen(text), &program, NULL), 0);
    assert_null(inputs_lacking(&program->funs[0], &program->datasets[0]));
    assert_string_equal(inputs_lacking(&program->funs[0], &program->datasets[1]), "m");
    program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_do_not_fit_are_refused),
        cmocka_unit_test(negative_traffic_is_refused),
        cmocka_unit_test(a_dataset_says_what_it_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
