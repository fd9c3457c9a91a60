/* What a launch takes for granted, by where its arrays lie; and the grids of GPUs. */

#include "run/execute/executor.h"
#include "tests/base/cmocka.h"

enum { BIG = 1 << 30 };

/* Layouts: of elements in a row, and row-major of two dimensions. */
#define ROW(count, offset, stride)                                                                 \
    {                                                                                              \
        1, {count}, offset,                                                                        \
        {                                                                                          \
            stride                                                                                 \
        }                                                                                          \
    }
#define SQUARE(rows, columns, stride)                                                              \
    {                                                                                              \
        2, {rows, columns}, 0,                                                                     \
        {                                                                                          \
            columns, stride                                                                        \
        }                                                                                          \
    }

static void test_variants(void **state)
{
    (void)state;
    static const struct launch plain = {.extent = {100, 100, 1}, .rank = 2};
    static const struct launch wide = {.extent = {BIG + 1, 1, 1}, .rank = 1};
    static const struct launch tall = {.extent = {1, NEAR_Y_MAX + 1, 1}, .rank = 2};
    static const struct launch deep = {.extent = {1, 1, NEAR_Z_MAX + 1}, .rank = 3};
    /* Arrays of one memory: a of 4 bytes an element, which is written, and b, which is read. */
    // clang-format off
    static const struct {
        const char *what;
        const struct launch *launch;
        unsigned b_memory, b_bytes;
        struct layout a, b;
        bool adds_offsets;
        enum kernel_variant variant;
    } rows[] = {
        {"two memories",          &plain, 2, 4, SQUARE(10, 10, 1), SQUARE(10, 10, 1), false, KERNEL_APART},
        {"one after the other",   &plain, 1, 4, ROW(10, 0, 1),     ROW(10, 10, 1),    false, KERNEL_APART},
        {"by one element",        &plain, 1, 4, ROW(11, 0, 1),     ROW(10, 10, 1),    false, KERNEL_NEAR},
        {"elements of 1 byte end in the other's first",
                                  &plain, 1, 1, ROW(10, 10, 1),    ROW(41, 0, 1),     false, KERNEL_NEAR},
        {"elements of 1 byte end before",
                                  &plain, 1, 1, ROW(10, 10, 1),    ROW(40, 0, 1),     false, KERNEL_APART},
        {"the same place",        &plain, 1, 4, ROW(10, 0, 1),     ROW(10, 0, 1),     false, KERNEL_NEAR},
        {"backwards",             &plain, 1, 4, ROW(10, 9, -1),    ROW(10, 10, 1),    false, KERNEL_APART},
        {"nothing in it",         &plain, 1, 4, ROW(0, 0, 1),      ROW(10, 0, 1),     false, KERNEL_APART},
        {"2^31 elements",         &plain, 2, 4, SQUARE(2, BIG, 1), ROW(10, 0, 1),     false, KERNEL_APART},
        {"one more",              &plain, 2, 4, {2, {2, BIG + 1}, 0, {BIG, 1}}, ROW(10, 0, 1), false, KERNEL_ANY},
        {"far apart rows",        &plain, 2, 4, ROW(2, 0, (int64_t)BIG * 2), ROW(10, 0, 1), false, KERNEL_ANY},
        {"a stride that no index takes",
                                  &plain, 2, 4, ROW(1, 0, (int64_t)BIG * 2), ROW(10, 0, 1), false, KERNEL_APART},
        {"there and back",        &plain, 2, 4, {2, {3, 3}, 0, {BIG, -BIG}}, ROW(10, 0, 1), false, KERNEL_ANY},
        {"far into its memory",   &plain, 2, 4, ROW(10, INT32_MAX, 1), ROW(10, 0, 1), false, KERNEL_ANY},
        {"the same, where the address has it",
                                  &plain, 2, 4, ROW(10, INT32_MAX, 1), ROW(10, 0, 1), true,  KERNEL_APART},
        {"wide",                  &wide,  2, 4, ROW(10, 0, 1),     ROW(10, 0, 1),     false, KERNEL_ANY},
        {"tall",                  &tall,  2, 4, ROW(10, 0, 1),     ROW(10, 0, 1),     false, KERNEL_ANY},
        {"deep",                  &deep,  2, 4, ROW(10, 0, 1),     ROW(10, 0, 1),     false, KERNEL_ANY},
    };
    // clang-format on
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct executor e = {.adds_offsets = rows[i].adds_offsets};
        const struct array_state a = {.memory = 1, .layout = rows[i].a};
        const struct array_state b = {.memory = rows[i].b_memory, .layout = rows[i].b};
        struct launched_array arrays[] = {{.state = &a, .element_bytes = 4, .written = true},
                                          {.state = &b, .element_bytes = rows[i].b_bytes}};
        enum kernel_variant variant =
            launch_variant(&e, rows[i].launch, rows[i].launch->extent, arrays, 2);
        if (variant != rows[i].variant)
            fail_msg("%s: variant %d instead of %d", rows[i].what, (int)variant,
                     (int)rows[i].variant);
        if (variant != KERNEL_NEAR)
            continue;
        arrays[0].written = false; /* both may be read wherever they are */
        assert_int_equal(launch_variant(&e, rows[i].launch, rows[i].launch->extent, arrays, 2),
                         KERNEL_APART);
    }
}

/* Two private arrays of 4 elements for each of so many threads, in one memory, one behind the other
 * or in each other's place. */
static void test_private_arrays(void **state)
{
    (void)state;
    static const struct {
        int64_t threads, apart; /* elements from one to the other */
        enum kernel_variant variant;
    } rows[] = {
        {100, 400, KERNEL_APART},
        {100, 399, KERNEL_NEAR},
        {100, 0, KERNEL_NEAR},
        {BIG / 4, BIG, KERNEL_APART},
        {BIG / 2, (int64_t)BIG * 2, KERNEL_ANY}, /* the last element is beyond 31 bits */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct executor e = {.adds_offsets = false};
        const struct launch launch = {.extent = {rows[i].threads, 1, 1}, .rank = 1};
        const struct array_state a = {.memory = 1, .layout = {2, {0, 4}, 0, {4, 1}}};
        const struct array_state b = {.memory = 1, .layout = {2, {0, 4}, rows[i].apart, {4, 1}}};
        const struct launched_array arrays[] = {
            {.state = &a, .element_bytes = 4, .thread_rank = 1, .written = true},
            {.state = &b, .element_bytes = 4, .thread_rank = 1, .written = true}};
        assert_int_equal(launch_variant(&e, &launch, launch.extent, arrays, 2), rows[i].variant);
    }
}

static void test_grids(void **state)
{
    (void)state;
    static const struct {
        struct launch launch;
        size_t items_max;
        struct launch_grid grid;
    } rows[] = {
        {{.extent = {1000, 1, 1}, .rank = 1}, 1024, {{256, 1, 1}, {4, 1, 1}}},
        {{.extent = {1025, 1, 1}, .rank = 1, .batch = 4}, 1024, {{256, 1, 1}, {2, 1, 1}}},
        {{.extent = {1000, 1000, 1}, .rank = 2}, 1024, {{64, 4, 1}, {16, 250, 1}}},
        {{.extent = {1000, 1001, 1}, .rank = 2, .batch = 4}, 1024, {{64, 4, 1}, {16, 63, 1}}},
        {{.extent = {3, 1000, 1}, .rank = 2}, 1024, {{4, 64, 1}, {1, 16, 1}}},
        {{.extent = {1, 1000, 7}, .rank = 3}, 1024, {{1, 256, 1}, {1, 4, 7}}},
        {{.extent = {1000, 1000, 1}, .rank = 2}, 100, {{64, 1, 1}, {16, 1000, 1}}},
        {{.extent = {1000, 1, 1}, .rank = 1}, 1, {{1, 1, 1}, {1000, 1, 1}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct launch_grid g = launch_gpu_grid(&rows[i].launch, rows[i].items_max);
        for (unsigned d = 0; d < 3; d++)
            if (g.items[d] != rows[i].grid.items[d] || g.groups[d] != rows[i].grid.groups[d])
                fail_msg("row %zu, dimension %u: %u items, %lld groups", i, d, g.items[d],
                         (long long)g.groups[d]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_variants),
                                       cmocka_unit_test(test_private_arrays),
                                       cmocka_unit_test(test_grids)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
