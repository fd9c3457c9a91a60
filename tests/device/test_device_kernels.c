/* Devices: building and launching kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/device/device_subjects.h"

/* ---- kernels, by hand for each language ----
 *
 * points  out[at + (z * ny + y) * nx + x] = scale * (x + 1000 * y + 100000 * z)
 * turn    every group of 64 items writes its own numbers, turned around through local memory
 * kinds   one argument of every kind, as 64-bit integers
 */
enum { POINTS, TURN, KINDS, KERNELS, GROUP = 64 };
static const char *const kernel_names[KERNELS] = {"points", "turn", "kinds"};

#define GPU_KERNELS                                                                                \
    "KERNEL void points(GLOBAL int *out, i64 at, int nx, int ny, int nz, int scale)\n"             \
    "{\n"                                                                                          \
    "    int x = INDEX(0, x);\n"                                                                   \
    "    if (x < nx)\n"                                                                            \
    "        for (int z = INDEX(2, z); z < nz; z += TOTAL(2, z))\n"                                \
    "            for (int y = INDEX(1, y); y < ny; y += TOTAL(1, y))\n"                            \
    "                out[at + ((i64)z * ny + y) * nx + x] = scale * (x + 1000 * y + 100000 * "     \
    "z);\n"                                                                                        \
    "}\n"                                                                                          \
    "KERNEL void turn(GLOBAL int *out, i64 at)\n"                                                  \
    "{\n"                                                                                          \
    "    LOCAL int s[64];\n"                                                                       \
    "    int l = ITEM, g = GROUP;\n"                                                               \
    "    s[l] = g * 64 + l;\n"                                                                     \
    "    BARRIER;\n"                                                                               \
    "    out[at + g * 64 + l] = s[63 - l];\n"                                                      \
    "}\n"                                                                                          \
    "KERNEL void kinds(GLOBAL i64 *out, GLOBAL int *nothing, int a, unsigned b, i64 c,\n"          \
    "                  unsigned char d, unsigned char e, float f, double g)\n"                     \
    "{\n"                                                                                          \
    "    if (INDEX(0, x) == 0) {\n"                                                                \
    "        out[0] = a; out[1] = b; out[2] = c; out[3] = d;\n"                                    \
    "        out[4] = e; out[5] = (i64)(f * 16.0f); out[6] = (i64)(g * 1e12);\n"                   \
    "        out[7] = nothing == 0;\n"                                                             \
    "    }\n"                                                                                      \
    "}\n"

static const char opencl_text[] = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                                  "typedef long i64;\n"
                                  "#define KERNEL kernel\n"
                                  "#define GLOBAL global\n"
                                  "#define LOCAL local\n"
                                  "#define INDEX(n, c) (int)get_global_id(n)\n"
                                  "#define TOTAL(n, c) (int)get_global_size(n)\n"
                                  "#define ITEM (int)get_local_id(0)\n"
                                  "#define GROUP (int)get_group_id(0)\n"
                                  "#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)\n" GPU_KERNELS;

static const char cuda_text[] = "typedef long long i64;\n"
                                "#define KERNEL extern \"C\" __global__\n"
                                "#define GLOBAL\n"
                                "#define LOCAL __shared__\n"
                                "#define INDEX(n, c) (int)(blockIdx.c * blockDim.c + threadIdx.c)\n"
                                "#define TOTAL(n, c) (int)(gridDim.c * blockDim.c)\n"
                                "#define ITEM (int)threadIdx.x\n"
                                "#define GROUP (int)blockIdx.x\n"
                                "#define BARRIER __syncthreads()\n" GPU_KERNELS;

/* The host's kernels twice from one text: as functions of this file and as a text to compile. */
#define HOST_KERNELS(X)                                                                            \
    X(                                                                                             \
        void gamut_host_points(const union launch_value *a, int64_t begin, int64_t end);           \
        void gamut_host_points(const union launch_value *a, int64_t begin, int64_t end) {          \
            int *out = (int *)(uintptr_t)a[0].memory + a[1].i64;                                   \
            int nx = a[2].i32, ny = a[3].i32, nz = a[4].i32, scale = a[5].i32;                     \
            if (ny == 1 && nz == 1) {                                                              \
                for (int64_t x = begin; x < end; x++)                                              \
                    out[x] = scale * (int)x;                                                       \
                return;                                                                            \
            }                                                                                      \
            for (int64_t yz = begin; yz < end; yz++)                                               \
                for (int x = 0; x < nx; x++)                                                       \
                    out[yz * nx + x] =                                                             \
                        scale * (x + 1000 * (int)(yz % ny) + 100000 * (int)(yz / ny));             \
        } void gamut_host_turn(const union launch_value *a, int64_t begin, int64_t end);           \
        void gamut_host_turn(const union launch_value *a, int64_t begin, int64_t end) {            \
            int *out = (int *)(uintptr_t)a[0].memory + a[1].i64;                                   \
            for (int64_t g = begin; g < end; g++)                                                  \
                for (int l = 0; l < 64; l++)                                                       \
                    out[g * 64 + l] = (int)g * 64 + 63 - l;                                        \
        } void gamut_host_kinds(const union launch_value *a, int64_t begin, int64_t end);          \
        void gamut_host_kinds(const union launch_value *a, int64_t begin, int64_t end) {           \
            int64_t *out = (int64_t *)(uintptr_t)a[0].memory;                                      \
            if (begin > 0 || end == 0)                                                             \
                return;                                                                            \
            out[0] = a[2].i32;                                                                     \
            out[1] = a[3].u32;                                                                     \
            out[2] = a[4].i64;                                                                     \
            out[3] = a[5].u8;                                                                      \
            out[4] = a[6].boolean;                                                                 \
            out[5] = (int64_t)(a[7].f32 * 16.0f);                                                  \
            out[6] = (int64_t)(a[8].f64 * 1e12);                                                   \
            out[7] = a[1].memory == 0;                                                             \
        })

#define AS_CODE(...) __VA_ARGS__
#define AS_TEXT(...) #__VA_ARGS__
HOST_KERNELS(AS_CODE)
static const char host_text[] =
    "#include <stdint.h>\n"
    "union launch_value { uint64_t memory; int32_t i32; uint32_t u32; int64_t i64; uint8_t u8;\n"
    "                     uint8_t boolean; float f32; double f64; };\n" HOST_KERNELS(AS_TEXT);

static const struct host_kernel host_kernels[KERNELS] = {
    {"points", gamut_host_points}, {"turn", gamut_host_turn}, {"kinds", gamut_host_kinds}};

static const char *text_for(enum kernel_language language)
{
    return language == KERNEL_HOST_C     ? host_text
           : language == KERNEL_OPENCL_C ? opencl_text
                                         : cuda_text;
}

static struct device_program *build(struct subject *s)
{
    const struct kernel_source source = {
        .name = "test",
        .text = text_for(s->device->info->language),
        .kernel_count = KERNELS,
        .kernel_names = kernel_names,
        .host_kernels = s->built_in ? host_kernels : NULL,
    };
    struct device_program *program = NULL;
    ok(s, s->ops->build(s->device, &source, &program, &s->error));
    return program;
}

static void launch_points(struct subject *s, struct device_program *p, uint64_t out, int64_t at,
                          const struct launch *l, int scale)
{
    const enum launch_arg_kind kinds[] = {ARG_MEMORY, ARG_I64, ARG_I32, ARG_I32, ARG_I32, ARG_I32};
    const union launch_value values[] = {
        {.memory = out},
        {.i64 = at},
        {.i32 = (int32_t)l->extent[0]},
        {.i32 = (int32_t)l->extent[1]},
        {.i32 = (int32_t)l->extent[2]},
        {.i32 = scale},
    };
    ok(s, s->ops->launch(s->device, p, POINTS, l, 6, kinds, values, &s->error));
}

/* Every point is written once, and nothing else. */
static void expect_points(struct subject *s, uint64_t out, uint64_t out_ints, int64_t at,
                          const struct launch *l, int scale)
{
    int *got = malloc(out_ints * sizeof *got);
    assert_non_null(got);
    ok(s, s->ops->read(s->device, got, out, 0, out_ints * sizeof *got, &s->error));
    int64_t nx = l->extent[0], ny = l->extent[1], nz = l->extent[2];
    for (int64_t i = 0; i < (int64_t)out_ints; i++) {
        int64_t k = i - at, x = k % nx, y = k / nx % ny, z = k / nx / ny;
        bool inside = k >= 0 && k < nx * ny * nz;
        int expected = inside ? scale * (int)(x + 1000 * y + 100000 * z) : -1;
        if (got[i] != expected)
            fail_msg("%s: %lld x %lld x %lld, place %lld: %d, expected %d", s->device->info->id,
                     (long long)nx, (long long)ny, (long long)nz, (long long)i, got[i], expected);
    }
    free(got);
}

static void check_points(struct subject *s)
{
    static const struct launch launches[] = {
        {.extent = {1, 1, 1}, .rank = 1},     {.extent = {255, 1, 1}, .rank = 1},
        {.extent = {256, 1, 1}, .rank = 1},   {.extent = {100003, 1, 1}, .rank = 1},
        {.extent = {5, 3, 1}, .rank = 2},     {.extent = {300, 9, 1}, .rank = 2},
        {.extent = {1, 70000, 1}, .rank = 2}, {.extent = {33, 8, 1}, .rank = 2},
        {.extent = {2, 3, 4}, .rank = 3},     {.extent = {140, 9, 5}, .rank = 3},
    };
    struct device_program *p = build(s);
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++) {
        const struct launch *l = &launches[i];
        uint64_t ints = (uint64_t)(l->extent[0] * l->extent[1] * l->extent[2]) + 300;
        uint64_t bytes = ints * sizeof(int);
        uint64_t out = allocate(s, bytes);
        for (int again = 1; again <= 2; again++) { /* the same arguments, then others */
            ok(s, s->ops->fill(s->device, out, 0, 0xff, bytes, &s->error));
            launch_points(s, p, out, 17 * again, l, 3 * again);
            expect_points(s, out, ints, 17 * again, l, 3 * again);
        }
        ok(s, s->ops->free(s->device, out, bytes, &s->error));
    }
    s->ops->unbuild(s->device, p);
}

static void plain_kernels_run_every_point_once(void **state)
{
    (void)state;
    on_each_device(check_points);
}

static void check_groups(struct subject *s)
{
    enum { GROUPS = 1001, INTS = GROUPS * GROUP };
    const enum launch_arg_kind kinds[] = {ARG_MEMORY, ARG_I64};
    const struct launch l = {.extent = {GROUPS, 1, 1}, .rank = 1, .group_items = GROUP};
    struct device_program *p = build(s);
    int *got = malloc(INTS * sizeof *got);
    assert_non_null(got);
    uint64_t out = allocate(s, INTS * sizeof *got);
    const union launch_value values[] = {{.memory = out}, {.i64 = 0}};
    ok(s, s->ops->launch(s->device, p, TURN, &l, 2, kinds, values, &s->error));
    ok(s, s->ops->read(s->device, got, out, 0, INTS * sizeof *got, &s->error));
    for (int i = 0; i < INTS; i++)
        assert_int_equal(got[i], i / GROUP * GROUP + GROUP - 1 - i % GROUP);
    ok(s, s->ops->free(s->device, out, INTS * sizeof *got, &s->error));
    free(got);
    s->ops->unbuild(s->device, p);
}

static void groups_share_local_memory(void **state)
{
    (void)state;
    on_each_device(check_groups);
}

static void check_kinds(struct subject *s)
{
    const enum launch_arg_kind kinds[] = {ARG_MEMORY, ARG_MEMORY, ARG_I32, ARG_U32, ARG_I64,
                                          ARG_U8,     ARG_BOOL,   ARG_F32, ARG_F64};
    const struct launch l = {.extent = {1, 1, 1}, .rank = 1};
    struct device_program *p = build(s);
    uint64_t out = allocate(s, 64);
    for (int sign = 1; sign >= -1; sign -= 2) {
        const union launch_value values[] = {{.memory = out},
                                             {.memory = 0},
                                             {.i32 = sign * 7},
                                             {.u32 = 4000000000u},
                                             {.i64 = sign * 5000000000},
                                             {.u8 = 200},
                                             {.boolean = sign > 0},
                                             {.f32 = (float)sign * 1.25f},
                                             {.f64 = sign * 0.000123456789}};
        const int64_t expected[] = {sign * 7, 4000000000, sign * 5000000000, 200,
                                    sign > 0, sign * 20,  sign * 123456789,  1};
        int64_t got[8] = {0};
        ok(s, s->ops->launch(s->device, p, KINDS, &l, 9, kinds, values, &s->error));
        ok(s, s->ops->read(s->device, got, out, 0, sizeof got, &s->error));
        for (int i = 0; i < 8; i++)
            assert_int_equal(got[i], expected[i]);
    }
    ok(s, s->ops->free(s->device, out, 64, &s->error));
    s->ops->unbuild(s->device, p);
}

static void every_kind_of_argument_arrives(void **state)
{
    (void)state;
    on_each_device(check_kinds);
}

static void check_new_memory(struct subject *s)
{
    const struct launch l = {.extent = {1000, 1, 1}, .rank = 1};
    struct device_program *p = build(s);
    for (int i = 1; i < 20; i++) { /* the driver is free to hand out the same handle again */
        uint64_t out = allocate(s, 4000);
        launch_points(s, p, out, 0, &l, i);
        expect_points(s, out, 1000, 0, &l, i);
        ok(s, s->ops->free(s->device, out, 4000, &s->error));
    }
    s->ops->unbuild(s->device, p);
}

static void a_handle_may_name_new_memory(void **state)
{
    (void)state;
    on_each_device(check_new_memory);
}

static void check_host_memory(struct subject *s)
{
    const struct launch l = {.extent = {1000, 1, 1}, .rank = 1};
    if (!s->ops->host_memory)
        return;
    struct device_program *p = build(s);
    for (int kind = MEMORY_PINNED; kind <= MEMORY_MANAGED; kind++)
        for (int i = 1; i < 4; i++) {
            uint64_t out;
            int code = s->ops->host_memory->alloc(s->device, (enum driver_memory)kind, 4000, &out,
                                                  NULL, &s->error);
            if (code == ERR_UNSUPPORTED)
                continue;
            ok(s, code);
            launch_points(s, p, out, 0, &l, i);
            expect_points(s, out, 1000, 0, &l, i);
            launch_points(s, p, out, 0, &l, i); /* freed while in use */
            ok(s, s->ops->host_memory->free(s->device, (enum driver_memory)kind, out, 4000,
                                            &s->error));
        }
    s->ops->unbuild(s->device, p);
}

static void kernels_use_memory_of_every_kind(void **state)
{
    (void)state;
    on_each_device(check_host_memory);
}

static void check_build_error(struct subject *s)
{
    struct text t = {0};
    text_add(&t, "%s\nint broken(int x) { return x + no_such_name; }\n",
             text_for(s->device->info->language));
    unsigned line = 0;
    for (const char *c = t.data; c < strstr(t.data, "no_such_name"); c++)
        line += *c == '\n';
    const struct kernel_source source = {
        .name = "broken", .text = t.data, .kernel_count = 1, .kernel_names = kernel_names};
    struct device_program *program = NULL;
    assert_int_equal(s->ops->build(s->device, &source, &program, &s->error), ERR_BUILD);
    char colon[32], bracket[32]; /* clang and gcc: "file:12:"; NVRTC: "file(12):" */
    snprintf(colon, sizeof colon, ":%u:", line + 1);
    snprintf(bracket, sizeof bracket, "(%u)", line + 1);
    if (!strstr(s->error.text, "no_such_name") ||
        (!strstr(s->error.text, colon) && !strstr(s->error.text, bracket)))
        fail_msg("line %u is not named: %s", line + 1, s->error.text);
    text_free(&t);
}

static void a_build_error_shows_the_log(void **state)
{
    (void)state;
    on_each_device(check_build_error);
}

static void check_missing_kernel(struct subject *s)
{
    const char *const names[] = {"points", "absent"};
    const struct kernel_source source = {.name = "test",
                                         .text = text_for(s->device->info->language),
                                         .kernel_count = 2,
                                         .kernel_names = names};
    struct device_program *program = NULL;
    assert_true(s->ops->build(s->device, &source, &program, &s->error) < 0);
    assert_non_null(strstr(s->error.text, "absent"));
}

static void a_missing_kernel_is_named(void **state)
{
    (void)state;
    on_each_device(check_missing_kernel);
}

static void host_without_a_compiler_says_so(void **state)
{
    (void)state;
    struct subject s = {0};
    ok(&s, device_open("host", &s.device, &s.error));
    const struct kernel_source source = {
        .name = "test", .text = host_text, .kernel_count = 1, .kernel_names = kernel_names};
    struct device_program *program = NULL;
    const char *cc = getenv("CC");
    char *before = cc ? strdup(cc) : NULL;
    setenv("CC", "/nowhere/no-such-compiler -O2", 1);
    int code = s.device->ops->build(s.device, &source, &program, &s.error);
    if (before)
        setenv("CC", before, 1);
    else
        unsetenv("CC");
    free(before);
    assert_int_equal(code, ERR_UNSUPPORTED);
    assert_non_null(strstr(s.error.text, "no-such-compiler"));
    s.device->ops->close(s.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_kernels_run_every_point_once),
        cmocka_unit_test(groups_share_local_memory),
        cmocka_unit_test(every_kind_of_argument_arrives),
        cmocka_unit_test(a_handle_may_name_new_memory),
        cmocka_unit_test(kernels_use_memory_of_every_kind),
        cmocka_unit_test(a_build_error_shows_the_log),
        cmocka_unit_test(a_missing_kernel_is_named),
        cmocka_unit_test(host_without_a_compiler_says_so),
    };
    print_missing_devices();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
