#include "base/clock.h"

#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "base/sort.h"

uint64_t clock_reading_ns(void)
{
    enum { READINGS = 1001 };
    uint64_t ns[READINGS];
    for (size_t i = 0; i < READINGS; i++) {
        uint64_t start = clock_ns();
        ns[i] = clock_ns() - start;
    }
    sort_u64(ns, READINGS);
    return ns[READINGS / 2];
}

/* ---- the counter ---- */

enum clock_kind clock_spans;
uint64_t clock_tick_scale;
static const char *why_not;

/* The names by which we and the kernel call the counter. */
#if defined(__x86_64__)
static const char counter_name[] = "tsc", counter_source[] = "tsc";
#elif defined(__aarch64__)
static const char counter_name[] = "cntvct", counter_source[] = "arch_sys_counter";
#else
static const char counter_name[] = "", counter_source[] = "";
#endif

const char *clock_refusal(const struct clock_facts *f)
{
    if (!f->exists)
        return "this build knows no counter of the processor";
    if (!f->is_invariant)
        return "the processor does not say that its counter ticks at one rate";
    if (strcmp(f->kernel_source, f->counter_source) != 0)
        return *f->kernel_source ? "the kernel keeps time by another clock source"
                                 : "the kernel does not say by what it keeps time";
    if (!(f->first_rate > 0) || !(f->second_rate < 1.001 * f->first_rate) ||
        !(f->first_rate < 1.001 * f->second_rate))
        return "two measurements of the counter's rate differ";
    if (!(f->counter_ns < f->system_ns))
        return "reading the counter takes no less time than the system's clock";
    return NULL;
}

static bool is_invariant(void)
{
#ifdef __x86_64__
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
#else
    return true;
#endif
}

/* A moment on both clocks. */
struct moment {
    uint64_t ticks, ns;
};

/* Of many readings the one that took the fewest ticks: nothing interrupted it. */
static struct moment read_both(void)
{
    struct moment best = {0};
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < 50; i++) {
        const uint64_t before = clock_ticks(), ns = clock_ns(), after = clock_ticks();
        if (after - before < least) {
            least = after - before;
            best = (struct moment){before + least / 2, ns};
        }
    }
    return best;
}

static double rate(struct moment from, struct moment to)
{
    return to.ticks > from.ticks ? (double)(to.ns - from.ns) / (double)(to.ticks - from.ticks) : 0;
}

static struct moment wait_and_read(uint64_t ns)
{
    const uint64_t start = clock_ns();
    while (clock_ns() - start < ns)
        ;
    return read_both();
}

static void kernel_source(char *out, size_t size)
{
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (!file || !fgets(out, (int)size, file))
        *out = 0;
    out[strcspn(out, "\n")] = 0;
    if (file)
        fclose(file);
}

/* The least time that reading a clock a hundred times took, for one reading. */
#define LEAST_READING_NS(read)                                                                     \
    double least = 1e18;                                                                           \
    for (unsigned repeat = 0; repeat < 20; repeat++) {                                             \
        const uint64_t start = clock_ns();                                                         \
        for (unsigned i = 0; i < 100; i++)                                                         \
            (void)(read);                                                                          \
        const double ns = (double)(clock_ns() - start) / 100;                                      \
        least = ns < least ? ns : least;                                                           \
    }                                                                                              \
    return least

static double ticks_reading_ns(void)
{
    LEAST_READING_NS(clock_ticks());
}

static double system_reading_ns(void)
{
    LEAST_READING_NS(clock_ns());
}

static double span_ns(void)
{
    LEAST_READING_NS(clock_since(clock_start()));
}

static void find_out(void)
{
    enum { HALF_NS = 1000000 };
    char source[64];
    kernel_source(source, sizeof source);
    struct clock_facts facts = {.exists = *counter_name,
                                .is_invariant = is_invariant(),
                                .counter_source = counter_source,
                                .kernel_source = source};
    double ns_per_tick = 0;
    if (facts.exists) {
        const struct moment first = read_both(), middle = wait_and_read(HALF_NS),
                            last = wait_and_read(HALF_NS);
        facts.first_rate = rate(first, middle);
        facts.second_rate = rate(middle, last);
        facts.counter_ns = ticks_reading_ns();
        facts.system_ns = system_reading_ns();
        ns_per_tick = rate(first, last);
    }
    why_not = clock_refusal(&facts);
    clock_tick_scale = why_not ? 0 : (uint64_t)(ns_per_tick * 0x1p32);
    __atomic_store_n(&clock_spans, why_not ? CLOCK_SYSTEM : CLOCK_COUNTER, __ATOMIC_RELEASE);
}

enum clock_kind clock_prepare(void)
{
    static bool busy;
    while (__atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE))
        ; /* another thread finds out */
    if (clock_spans == CLOCK_UNKNOWN)
        find_out();
    __atomic_store_n(&busy, false, __ATOMIC_RELEASE);
    return clock_spans;
}

/* ---- what it costs ---- */

void clock_measure_cost(struct clock_cost *cost)
{
    const bool has_counter = clock_prepare() == CLOCK_COUNTER;
    *cost = (struct clock_cost){.counter = has_counter ? counter_name : NULL,
                                .why_not = why_not,
                                .span_ns = span_ns(),
                                .system_span_ns = 2 * system_reading_ns()};
}

void clock_print_cost(FILE *out)
{
    struct clock_cost cost;
    clock_measure_cost(&cost);
    if (cost.counter)
        fprintf(out,
                "the harness: a timed call of the driver has %.1f ns for reading %s in it; "
                "clock_gettime takes %.1f\n",
                cost.span_ns, cost.counter, cost.system_span_ns);
    else
        fprintf(out,
                "the harness: a timed call of the driver has %.1f ns for clock_gettime in it: "
                "%s\n",
                cost.span_ns, cost.why_not);
}
