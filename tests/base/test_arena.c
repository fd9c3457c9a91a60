/* Arenas: items are zeroed and aligned, in chunks of all sizes. */
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "tests/base/cmocka.h"

enum { LINE_BYTES = 64 };

static bool is_zero(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Items of whole lines of the processor's cache begin with one. */
static void test_lines(void **state)
{
    (void)state;
    enum { ITEMS = 200000 };
    struct arena arena = {0};
    for (unsigned i = 0; i < ITEMS; i++) {
        char *item = arena_alloc(&arena, LINE_BYTES);
        assert_int_equal((uintptr_t)item % LINE_BYTES, 0);
        assert_true(is_zero(item, LINE_BYTES));
        memset(item, 1, LINE_BYTES);
    }
    arena_free(&arena);
}

static void test_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 24, 1000, 70000, 3 << 20, 5, 40 << 20, 64};
    struct arena arena = {0}, other = {0};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *item = arena_alloc(i % 2 ? &arena : &other, sizes[i]);
        assert_int_equal((uintptr_t)item % _Alignof(max_align_t), 0);
        assert_true(is_zero(item, sizes[i]));
        memset(item, 1, sizes[i]);
    }
    arena_take(&arena, &other);
    assert_null(other.chunks);
    arena_free(&arena);
    assert_null(arena.chunks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
