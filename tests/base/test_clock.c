/* Spans: when the processor's counter is refused, and what it says where it is not. */
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "tests/base/cmocka.h"

static void test_when_the_counter_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *reason; /* NULL: it is taken */
        bool exists, is_invariant;
        const char *kernel_source;
        double first_rate, second_rate, counter_ns;
    } cases[] = {
        {NULL, true, true, "tsc", 0.4, 0.4003, 8},
        {"no counter", false, false, "tsc", 0, 0, 0},
        {"at one rate", true, false, "tsc", 0.4, 0.4, 8},
        {"another clock source", true, true, "hpet", 0.4, 0.4, 8},
        {"another clock source", true, true, "kvm-clock", 0.4, 0.4, 8},
        {"does not say", true, true, "", 0.4, 0.4, 8},
        {"rate differ", true, true, "tsc", 0.4, 0.41, 8},
        {"rate differ", true, true, "tsc", 0.4, 0.39, 8},
        {"rate differ", true, true, "tsc", 0, 0, 8},
        {"no less time", true, true, "tsc", 0.4, 0.4, 900},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *expected = cases[i].reason;
        const char *reason =
            clock_refusal(&(struct clock_facts){.exists = cases[i].exists,
                                                .is_invariant = cases[i].is_invariant,
                                                .counter_source = "tsc",
                                                .kernel_source = cases[i].kernel_source,
                                                .first_rate = cases[i].first_rate,
                                                .second_rate = cases[i].second_rate,
                                                .counter_ns = cases[i].counter_ns,
                                                .system_ns = 20});
        if ((reason == NULL) != (expected == NULL) || (reason && !strstr(reason, expected)))
            fail_msg("case %zu: %s, expected '%s'", i, reason ? reason : "it is taken",
                     expected ? expected : "it is taken");
    }
}

static void wait_ns(uint64_t ns)
{
    const uint64_t start = clock_ns();
    while (clock_ns() - start < ns)
        ;
}

/* The span's share of the same time on the system's clock; the best of a few, as something else may
 * run between the readings. `move`: the thread goes to another core meanwhile. */
static double worst_case_share(bool move)
{
    double best = 10;
    for (unsigned i = 0; i < 10; i++) {
        cpu_set_t one, all;
        sched_getaffinity(0, sizeof all, &all);
        const uint64_t system = clock_ns(), start = clock_start();
        wait_ns(5000000);
        for (unsigned cpu = 0; move && cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &all)) {
                CPU_ZERO(&one);
                CPU_SET(cpu, &one);
                sched_setaffinity(0, sizeof one, &one);
                wait_ns(100000);
            }
        const uint64_t span = clock_since(start), whole = clock_ns() - system;
        sched_setaffinity(0, sizeof all, &all);
        const double share = (double)span / (double)whole;
        if ((share > 1 ? share - 1 : 1 - share) < (best > 1 ? best - 1 : 1 - best))
            best = share;
    }
    return best;
}

static void test_a_span_has_the_time_of_the_system(void **state)
{
    (void)state;
    for (int move = 0; move <= 1; move++) {
        const double share = worst_case_share(move);
        if (!(share > 0.999 && share < 1.001))
            fail_msg("%s: a span is %.6f of the system's time", move ? "moved" : "still", share);
    }
}

static void test_a_span_is_never_below_0(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 1000000; i++)
        assert_true(clock_since(clock_start()) < UINT64_C(10000000000));
    if (clock_prepare() == CLOCK_COUNTER)
        assert_int_equal(clock_since(UINT64_MAX), 0); /* a counter that started anew */
}

/* Only a cheaper clock is taken, and what it costs is known. */
static void test_what_it_costs(void **state)
{
    (void)state;
    struct clock_cost cost;
    unsigned tries = 0; /* what else runs may disturb one */
    do {
        clock_measure_cost(&cost);
    } while (cost.counter && cost.span_ns >= 1.5 * cost.system_span_ns && ++tries < 50);
    assert_true(cost.span_ns > 0 && cost.system_span_ns > 0);
    assert_true((cost.counter == NULL) == (cost.why_not != NULL));
    assert_true((cost.counter != NULL) == (clock_prepare() == CLOCK_COUNTER));
    if (cost.counter)
        assert_true(cost.span_ns < 1.5 * cost.system_span_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when_the_counter_is_refused),
        cmocka_unit_test(test_a_span_has_the_time_of_the_system),
        cmocka_unit_test(test_a_span_is_never_below_0),
        cmocka_unit_test(test_what_it_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
