/* How the work of a pair of free and alloc grows with the number of live blocks, of which half as
 * many are free (used_heap.h). Work is counted, not timed: the strategies are compiled so that each
 * part of a function that runs without a branch calls a function of this file. */

#include "tests/base/cmocka.h"
#include "used_heap.h"

enum { FEW_LIVE = 1000, MANY_LIVE = 32 * FEW_LIVE, PAIRS = 1000 };

static uint64_t step_count;
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    step_count++;
}

static double steps_a_pair(const char *spec, size_t live_count)
{
    struct used_heap heap;
    assert_true(used_heap_open(&heap, spec, HEAP_MIXED, live_count, UINT64_MAX));
    for (unsigned i = 0; i < PAIRS; i++)
        used_heap_step(&heap);
    const uint64_t before = step_count;
    for (unsigned i = 0; i < PAIRS; i++)
        used_heap_step(&heap);
    const uint64_t steps = step_count - before;
    used_heap_close(&heap);
    return (double)steps / PAIRS;
}

/* Steps with 32 times as many blocks, over those with a thousand. */
static void assert_growth(const char *const *specs, size_t count, double least, double most)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const double few = steps_a_pair(specs[i], FEW_LIVE);
        const double many = steps_a_pair(specs[i], MANY_LIVE);
        const bool is_wrong = few < 1 || many < least * few || many > most * few;
        wrong += is_wrong;
        print_message("%s%-28s %8.1f %10.1f %6.2f\n", is_wrong ? "WRONG " : "", specs[i], few, many,
                      many / few);
    }
    assert_int_equal(wrong, 0);
}

static void test_indexed_work_hardly_grows(void **state)
{
    (void)state;
    static const char *const specs[] = {"null",
                                        "raw",
                                        "pool",
                                        "tagged",
                                        "tagged:policy=v1c",
                                        "tagged:policy=v2",
                                        "tagged:policy=v3",
                                        "tagged:policy=v4",
                                        "tlsf",
                                        "tlsf:strategy=min_time",
                                        "tlsf:strategy=min_memory",
                                        "caching",
                                        "vmm"};
    assert_growth(specs, sizeof specs / sizeof *specs, 0, 2);
}

/* These search what they hold, as published: what is said of their cost would be wrong if they did
 * not. */
static void test_searches_grow(void **state)
{
    (void)state;
    static const char *const specs[] = {"bufalloc", "bufalloc:strategy=tight"};
    assert_growth(specs, sizeof specs / sizeof *specs, 2.5, 64);
}

int main(void)
{
#ifdef GAMUT_DEBUG
    print_message(
        "skipped: this build checks the strategies after each operation, which are steps too\n");
    return 0;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indexed_work_hardly_grows),
        cmocka_unit_test(test_searches_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
