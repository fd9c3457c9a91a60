/* The device heap on the host: what an operation costs, and how much of an arena each policy fills
 * before the first request that finds no room. */
#include <stdio.h>

#include "base/clock.h"
#include "experiment/heap/heap.h"
#include "tests/experiment/heap/heap_churn.h"

enum { SEEDS = 5, ARENA_WORDS = 8 << 20 };

static const struct {
    enum heap_sizes sizes;
    uint32_t scale_words;
} loads[] = {{SIZES_UNIFORM, 2048}, {SIZES_LOGNORMAL, 829}, {SIZES_BIMODAL, 4096}};

int main(void)
{
    clock_print_cost(stdout);
    printf("%-10s %-8s %10s %8s %10s %10s %10s\n", "sizes", "policy", "filled", "least", "live",
           "visits/op", "ns/op");
    for (unsigned l = 0; l < sizeof loads / sizeof *loads; l++)
        for (unsigned policy = 0; policy < DEVICE_HEAP_POLICIES; policy++) {
            double sum = 0, least = 1, ns = 1e9, visits = 0, live = 0;
            for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                const struct heap_churn churn = {.policy = policy,
                                                 .padding = DEVICE_HEAP_TIGHT,
                                                 .sizes = loads[l].sizes,
                                                 .scale_words = loads[l].scale_words,
                                                 .stride_words = 1,
                                                 .arena_words = ARENA_WORDS,
                                                 .seed = seed};
                struct heap_churn_result r = heap_churn_run(&churn);
                sum += r.utilisation;
                least = r.utilisation < least ? r.utilisation : least;
                ns = r.ns_per_op < ns ? r.ns_per_op : ns;
                visits += r.visits_per_op;
                live += r.live_blocks;
            }
            printf("%-10s %-8s %9.1f%% %7.1f%% %10.0f %10.1f %10.1f\n",
                   heap_size_names[loads[l].sizes], device_heap_policy_names[policy],
                   100 * sum / SEEDS, 100 * least, live / SEEDS, visits / SEEDS, ns);
            fflush(stdout);
        }
    return 0;
}
