/* Square roots in generated kernels are those of IEEE 754, although the prelude has its own for
 * NVIDIA's compilers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device/device_subjects.h"
#include "program/generate.h"

/* Every exponent and sign, with many significands: a prime step through all numbers. */
enum { NUMBERS = 1 << 20, STEP = 4093, SPECIALS = 8 };
_Static_assert((uint64_t)(NUMBERS - SPECIALS) * STEP > (1ull << 32) - 4 * (1 << 20),
               "the step reaches the last numbers");

static const char text[] = "fun roots(n: i64, x: [n]f32) {\n"
                           "  let y: [n]f32 = kernel roots_step (i < n) { y[i] = sqrtf(x[i]); }\n"
                           "  in y\n"
                           "}\n";

static float number(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void fill(float *x)
{
    static const uint32_t specials[SPECIALS] = {0,          0x80000000, 1,          0x007fffff,
                                                0x00800000, 0x0d800000, 0x7f7fffff, 0x7f800000};
    for (uint32_t i = 0; i < NUMBERS; i++)
        x[i] = number(i < SPECIALS ? specials[i] : (i - SPECIALS) * STEP);
}

static void launch_roots(struct subject *s, const struct kernels *kernels, uint64_t x, uint64_t y)
{
    const struct kernel_source source = {.name = "roots",
                                         .text = kernels->text,
                                         .kernel_count = kernels->count,
                                         .kernel_names = kernels->names};
    const enum launch_arg_kind kinds[] = {ARG_MEMORY, ARG_I64, ARG_I64, ARG_MEMORY,
                                          ARG_I64,    ARG_I64, ARG_I64};
    const union launch_value values[] = {{.memory = y}, {.i64 = 0}, {.i64 = 1},      {.memory = x},
                                         {.i64 = 0},    {.i64 = 1}, {.i64 = NUMBERS}};
    const struct launch launch = {.extent = {NUMBERS, 1, 1}, .rank = 1};
    struct device_program *program = NULL;
    ok(s, s->ops->build(s->device, &source, &program, &s->error));
    ok(s, s->ops->launch(s->device, program, kernels_find(kernels, "roots_step"), &launch, 7, kinds,
                         values, &s->error));
    ok(s, s->ops->sync(s->device, &s->error));
    s->ops->unbuild(s->device, program);
}

static void check_roots(struct subject *s)
{
    const struct device_info *info = s->device->info;
    if (info->language == KERNEL_HOST_C)
        return; /* the C library's */
    struct program *program;
    struct kernels kernels;
    ok(s, program_read("roots.mem", text, sizeof text - 1, &program, &s->error));
    program_generate(program, info->language, &kernels);
    float *x = malloc(NUMBERS * sizeof *x), *got = malloc(NUMBERS * sizeof *got);
    assert_non_null(x);
    assert_non_null(got);
    fill(x);
    uint64_t from = allocate(s, NUMBERS * sizeof *x), to = allocate(s, NUMBERS * sizeof *got);
    ok(s, s->ops->write(s->device, from, 0, x, NUMBERS * sizeof *x, &s->error));
    launch_roots(s, &kernels, from, to);
    ok(s, s->ops->read(s->device, got, to, 0, NUMBERS * sizeof *got, &s->error));
    for (uint32_t i = 0; i < NUMBERS; i++) {
        float expected = sqrtf(x[i]);
        if (isnan(expected) ? !isnan(got[i]) : memcmp(&got[i], &expected, sizeof expected) != 0)
            fail_msg("%s: the root of %a is %a, expected %a", info->id, (double)x[i],
                     (double)got[i], (double)expected);
    }
    ok(s, s->ops->free(s->device, from, NUMBERS * sizeof *x, &s->error));
    ok(s, s->ops->free(s->device, to, NUMBERS * sizeof *got, &s->error));
    free(x);
    free(got);
    kernels_free(&kernels);
    program_free(program);
}

static void roots_are_rounded_correctly(void **state)
{
    (void)state;
    print_missing_devices();
    on_each_device(check_roots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(roots_are_rounded_correctly)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
