/* The cost of a pair of free and alloc on the host, by strategy, use and number of live blocks
 * (used_heap.h). The driver is a counter, so a call of it costs the wrapper's two clock readings.
 *
 * A strategy that searches all it holds may take milliseconds a pair. No figure takes longer than
 * its budget; where the budget allows too few pairs, there is none. Where it allows fewer pairs
 * before the figure than blocks live, the figure has a star: the heap still has much of the order
 * in which it was made. A search through it is then shorter than later: bufalloc takes 4 us a pair
 * at a million live after 1 % as many pairs, and 265 us after 28 %.
 *
 * "null" is the harness itself: it comes first in each table. "two reads" is what the processor's
 * cache costs at the least where blocks are joined with their neighbours: the record of the freed
 * block, and then that of a neighbour, whose place only the first one says. A record is a line of
 * the cache, and there are half as many again as live blocks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/sort.h"
#include "used_heap.h"

static const char *const every_spec[] = {"raw",
                                         "pool",
                                         "tagged",
                                         "tagged:policy=v1c",
                                         "tagged:policy=v2",
                                         "tagged:policy=v3",
                                         "tagged:policy=v4",
                                         "bufalloc",
                                         "bufalloc:strategy=tight",
                                         "tlsf",
                                         "tlsf:strategy=min_time",
                                         "tlsf:strategy=min_memory",
                                         "caching",
                                         "vmm"};
enum { TEN, THOUSAND, HUNDRED_THOUSAND, MILLION, LIVE_COUNTS };
static const size_t live_counts[] = {10, 1000, 100000, 1000000};
static const char *const titles[] = {
    [HEAP_REPEATS] = "the same size at the same site again",
    [HEAP_MIXED] = "another size at another site; half as many blocks are free as live"};

enum {
    BATCHES_MOST = 41,
    PAIRS_LEAST = 32, /* below this there is no figure */
    BATCH_PAIRS_MOST = 1 << 16
};
static const uint64_t open_budget_ns = 10000000000, use_budget_ns = 2000000000,
                      budget_ns = 300000000, batch_ns = 5000000;

/* Processor time, because other programs may want the processor too. */
static uint64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct figure {
    double ns, calls; /* of a pair; ns < 0: the budget allowed no figure */
    bool is_early;    /* fewer pairs came before it than blocks live */
};

static uint64_t call_count(const struct used_heap *h)
{
    return h->source.counts.alloc_count + h->source.counts.free_count;
}

static uint64_t batch(struct used_heap *h, size_t pairs)
{
    uint64_t start = processor_ns();
    for (size_t i = 0; i < pairs; i++)
        used_heap_step(h);
    return processor_ns() - start;
}

/* The median batch. The pairs before, as many as blocks live if time allows, are not counted: they
 * end what is left of the order in which the blocks were made. */
static struct figure measure(struct used_heap *h)
{
    const uint64_t start = processor_ns();
    size_t pairs = 1, before = 1, batches = 0;
    while (batch(h, pairs) < batch_ns && pairs < BATCH_PAIRS_MOST)
        before += pairs *= 2;
    for (; before < h->live_count && processor_ns() - start < use_budget_ns; before += pairs)
        batch(h, pairs);
    const uint64_t used = processor_ns();
    uint64_t ns[BATCHES_MOST];
    const uint64_t calls = call_count(h);
    while (batches < BATCHES_MOST && processor_ns() - used < budget_ns)
        ns[batches++] = batch(h, pairs);
    if (batches * pairs < PAIRS_LEAST)
        return (struct figure){.ns = -1};
    sort_u64(ns, batches);
    return (struct figure){.ns = (double)ns[batches / 2] / (double)pairs,
                           .calls = (double)(call_count(h) - calls) / (double)(batches * pairs),
                           .is_early = before < h->live_count};
}

static struct figure figure_of(const char *spec, enum heap_use use, size_t live_count)
{
    struct used_heap heap;
    struct figure figure = {.ns = -1};
    if (used_heap_open(&heap, spec, use, live_count, clock_ns() + open_budget_ns))
        figure = measure(&heap);
    used_heap_close(&heap);
    return figure;
}

struct record {
    _Alignas(64) struct record *next;
};

/* Two reads of records that are linked in one random circle. */
static double two_reads_ns(size_t live_count)
{
    const size_t count = live_count + live_count / 2;
    struct arena arena = {0};
    struct random random = {0};
    struct record *records = arena_alloc(&arena, count * sizeof *records);
    for (size_t i = 0; i < count; i++)
        records[i].next = &records[i];
    for (size_t i = count - 1; i > 0; i--) { /* Sattolo's shuffle has one cycle */
        struct record **a = &records[i].next, **b = &records[random_below(&random, i)].next;
        struct record *swapped = *a;
        *a = *b;
        *b = swapped;
    }
    struct record *at = records;
    uint64_t ns[BATCHES_MOST];
    for (size_t b = 0; b < BATCHES_MOST; b++) {
        const uint64_t start = processor_ns();
        for (size_t i = 0; i < BATCH_PAIRS_MOST; i++) {
            at = at->next->next;
            __asm__ volatile("" : "+r"(at)); /* or the loop would go, whose result nothing uses */
        }
        ns[b] = processor_ns() - start;
    }
    arena_free(&arena);
    sort_u64(ns, BATCHES_MOST);
    return (double)ns[BATCHES_MOST / 2] / BATCH_PAIRS_MOST;
}

static void print_ns(double ns, bool is_early)
{
    char text[32];
    snprintf(text, sizeof text,
             ns < 0     ? "null"
             : ns < 100 ? "%.1f%s"
                        : "%.0f%s",
             ns, is_early ? "*" : "");
    printf(" %11s", text);
    fflush(stdout);
}

static void print_row(const char *spec, enum heap_use use)
{
    struct figure figures[LIVE_COUNTS];
    printf("%-24s", spec);
    for (size_t l = 0; l < LIVE_COUNTS; l++) {
        figures[l] = figure_of(spec, use, live_counts[l]);
        print_ns(figures[l].ns, figures[l].is_early);
    }
    if (figures[THOUSAND].ns > 0 && figures[MILLION].ns > 0)
        printf(" %7.1f", figures[MILLION].ns / figures[THOUSAND].ns);
    else
        printf(" %7s", "null");
    printf(" %7.2f\n", figures[THOUSAND].calls);
}

static void print_reads(void)
{
    double ns[LIVE_COUNTS];
    printf("%-24s", "two reads");
    for (size_t l = 0; l < LIVE_COUNTS; l++)
        print_ns(ns[l] = two_reads_ns(live_counts[l]), false);
    printf(" %7.1f\n", ns[MILLION] / ns[THOUSAND]);
}

static void print_table(enum heap_use use, const char *const *specs, size_t count)
{
    printf("\n%s\n%-24s", titles[use], "live");
    for (size_t l = 0; l < LIVE_COUNTS; l++)
        printf(" %11zu", live_counts[l]);
    printf(" %7s %7s\n", "growth", "calls");
    print_row("null", use);
    if (use == HEAP_MIXED)
        print_reads();
    for (size_t i = 0; i < count; i++)
        print_row(specs[i], use);
}

/* bench_alloc [STRATEGY...]: all of the list above unless some are named. */
int main(int argc, char **argv)
{
    const size_t all = sizeof every_spec / sizeof *every_spec;
    const char *const *specs = argc > 1 ? (const char *const *)argv + 1 : every_spec;
    const size_t count = argc > 1 ? (size_t)argc - 1 : all;
    clock_print_cost(stdout);
    printf("ns of processor time a pair of free and alloc; growth: at a million live, over that at "
           "a thousand;\ncalls of the driver a pair, at a thousand; null: fewer than %d pairs in "
           "%.1f s;\n*: after fewer pairs than blocks live\n",
           PAIRS_LEAST, (double)budget_ns * 1e-9);
    print_table(HEAP_REPEATS, specs, count);
    print_table(HEAP_MIXED, specs, count);
    return 0;
}
