/* What two runs have to have in common: digests of programs and of inputs. */
#include <stdio.h>
#include <string.h>

#include "program/program.h"
#include "run/select/inputs.h"
#include "tests/base/cmocka.h"

static const char written[] =
    "fun twice(n: i64, f: f32, x: [n]f32) {\n"
    "  let y: [n]f32 = kernel twice_step (i < n) { y[i] = 2.0f * x[i] * f; }\n"
    "  in y\n"
    "}\n"
    "dataset small { n = 4; f = 0.5; x = [1, 2, 3, 4]; } expect { y = [1, 2, 3, 4]; }\n";

static struct program *read_program(const char *text)
{
    struct program *program;
    struct error error = {0};
    if (program_read("test.mem", text, strlen(text), &program, &error))
        fail_msg("%s", error.text);
    return program;
}

static uint64_t digest_of(const char *text)
{
    struct program *program = read_program(text);
    const uint64_t digest = program_digest(&program->funs[0]);
    program_free(program);
    return digest;
}

/* `written` with a part replaced. */
static const char *with(char out[1024], const char *part, const char *other)
{
    const char *at = strstr(written, part);
    assert_non_null(at);
    snprintf(out, 1024, "%.*s%s%s", (int)(at - written), written, other, at + strlen(part));
    return out;
}

static void programs_are_told_apart_by_what_they_do(void **state)
{
    (void)state;
    static const struct {
        const char *part, *other;
        bool is_same;
    } table[] = {
        {"fun twice", "-- it doubles\nfun twice", true},
        {"  let y", "\n      let y", true},
        {"n = 4; f = 0.5; x = [1, 2, 3, 4]", "n = 2; f = 1; x = [1, 2]", true},
        {"2.0f * x", "3.0f * x", false},
        {"f: f32", "f: f64", false},
        {"i < n", "i < n - 1", false},
    };
    const uint64_t digest = digest_of(written);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[1024];
        assert_int_equal(digest_of(with(text, table[i].part, table[i].other)) == digest,
                         table[i].is_same);
    }
}

static uint64_t inputs_of(const char *text, uint64_t seed)
{
    struct program *program = read_program(text);
    const struct entry entry = {.name = "twice", .program = program, .fun = &program->funs[0]};
    struct inputs inputs;
    struct error error = {0};
    if (inputs_make(&entry, &program->datasets[0], seed, &inputs, &error))
        fail_msg("%s", error.text);
    const uint64_t digest = inputs_digest(entry.fun, &inputs);
    inputs_free(&inputs);
    program_free(program);
    return digest;
}

static void inputs_are_told_apart_by_every_value(void **state)
{
    (void)state;
    char text[1024], random[1024];
    const uint64_t digest = inputs_of(written, 1);
    assert_true(inputs_of(written, 2) == digest); /* nothing of them is random */
    assert_true(inputs_of(with(text, "2.0f * x", "3.0f * x"), 1) == digest);
    assert_true(inputs_of(with(text, "f = 0.5", "f = 0.25"), 1) != digest);
    assert_true(inputs_of(with(text, "2, 3, 4]; } expect", "2, 3, 5]; } expect"), 1) != digest);
    with(random, " x = [1, 2, 3, 4]; } expect { y = [1, 2, 3, 4]; }", " }");
    assert_true(inputs_of(random, 1) == inputs_of(random, 1));
    assert_true(inputs_of(random, 1) != inputs_of(random, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_told_apart_by_what_they_do),
        cmocka_unit_test(inputs_are_told_apart_by_every_value),
    };
    return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
