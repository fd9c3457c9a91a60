/* The reason of a case that fails: the first one, and what is true besides. */
#include <stdio.h>
#include <string.h>

#include "alloc/source.h"
#include "run/rounds/measure.h"
#include "run/select/device_group.h"
#include "tests/base/cmocka.h"

/* The Makefile puts this function in the place of source_free. */
int __real_source_free(struct source *source, uint64_t memory, uint64_t bytes);
int __wrap_source_free(struct source *source, uint64_t memory, uint64_t bytes);

/* How often memory is given back. */
static unsigned frees = 1;

int __wrap_source_free(struct source *source, uint64_t memory, uint64_t bytes)
{
    if (frees == 2)
        source_set_reserved(source, source->counts.reserved_bytes - bytes);
    return frees ? __real_source_free(source, memory, bytes) : 0;
}

static const char text[] =
    "fun g(n: i64, x: [n]i32) { let y: [n]i32 = kernel k (i < n) { y[i] = 2 * x[i]; } in y }\n"
    "dataset right { n = 4; x = [1, 2, 3, 4]; } expect { y = [2, 4, 6, 8]; }\n"
    "dataset wrong { n = 4; x = [1, 2, 3, 4]; } expect { y = [2, 4, 6, 9]; }\n";

static void a_leak_does_not_replace_a_wrong_answer(void **state)
{
    (void)state;
    static const struct {
        unsigned dataset;
        unsigned frees;
        enum case_status status;
        const char *reason;
    } cases[] = {
        {0, 1, CASE_ok, ""},
        {1, 1, CASE_wrong, "element 3 of 'y' is 8, expected 9"},
        {1, 0, CASE_wrong,
         "element 3 of 'y' is 8, expected 9; and 32 bytes of driver memory were never given back"},
        {0, 0, CASE_error, "32 bytes of driver memory were never given back"},
        {0, 2, CASE_error, "32 bytes more of driver memory were given back than taken"},
    };
    struct program *program;
    struct device *device;
    struct error error = {0};
    if (program_read("t", text, strlen(text), &program, &error) ||
        device_group_open("host", "", &device, &error))
        fail_msg("%s", error.text);
    const struct entry entry = {.name = "g", .program = program, .fun = &program->funs[0]};
    const struct measure_options once = {.least_samples = 1, .most_samples = 1, .seed = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
#ifdef GAMUT_DEBUG
        /* A debug build checks the books of every call, and ends at the first leak. */
        if (cases[i].frees != 1)
            continue;
#endif
        struct measure *m = measure_open(device);
        struct case_round round = {.key = {.strategy = "raw", .release = "last-use"}};
        frees = cases[i].frees;
        assert_int_equal(
            measure_case(m, &entry, &program->datasets[cases[i].dataset], &once, &round), 0);
        frees = 1;
        assert_string_equal(round.reason, cases[i].reason);
        assert_int_equal(round.status, cases[i].status);
        case_round_free(&round);
        measure_close(m);
    }
    device->ops->close(device);
    program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leak_does_not_replace_a_wrong_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
