/* Measures the part of an arena that each placement policy fills before a request finds no room,
 * and the cost of an operation on the host. Blocks lie at the same offsets on every device, word
 * for word (the tests check that), so this is measured on the host, where it takes seconds. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "experiment/heap/heap.h"
#include "experiment/heap_churn.h"
#include "experiment/list.h"

enum { UTILISATION_WORDS, UTILISATION_STRIDE, UTILISATION_SEEDS };
static const struct option_spec options[] = {
    [UTILISATION_WORDS] = {"arena_words", OPTION_COUNT, "8388608", NULL, 1 << 16, 1 << 30,
                           "words of the arena"},
    [UTILISATION_STRIDE] = {"stride", OPTION_COUNT, "1", NULL, 1, 4096,
                            "words of an element; from 2 on, both paddings are measured"},
    [UTILISATION_SEEDS] = {"seeds", OPTION_COUNT, "5", NULL, 1, 1000,
                           "number of repetitions, each with its own random numbers"},
    {NULL, OPTION_COUNT, NULL, NULL, 0, 0, NULL},
};

enum { PARAMETER_SIZES, PARAMETER_POLICY, PARAMETER_PADDING };
static const struct experiment_parameter parameters[] = {
    [PARAMETER_SIZES] = {"sizes", false, UNIT_COUNT, "uniform, lognormal, bimodal"},
    [PARAMETER_POLICY] = {"policy", false, UNIT_COUNT, "larger, smaller, best, tlsf"},
    [PARAMETER_PADDING] = {"padding", false, UNIT_COUNT, "seed, tight"},
    {NULL, false, UNIT_COUNT, NULL},
};
static const char *const padding_names[] = {
    [DEVICE_HEAP_SEED] = "seed", [DEVICE_HEAP_TIGHT] = "tight"};

/* clang-format off */
#define METRIC_LIST(X)                                                                             \
    X(filled_ratio, RATIO, EXACT, HIGHER, "mean over seeds: requested words that are live at the first failure, over the arena's words") \
    X(least_filled_ratio, RATIO, EXACT, HIGHER, "the same, the least of all seeds")                  \
    X(live_block_count, COUNT, EXACT, HIGHER, "mean over seeds: live blocks at the first failure")   \
    X(visit_count, COUNT, EXACT, LOWER, "index entries that 1000 operations look at")         \
    X(op_ns, NS, SAMPLED, LOWER, "time of an operation; one sample a seed")
/* clang-format on */
EXPERIMENT_METRICS(METRIC_LIST);

/* Scales that give each distribution a few thousand live blocks in the default arena. */
static const uint32_t scale_words[] = {
    [SIZES_UNIFORM] = 2048, [SIZES_LOGNORMAL] = 829, [SIZES_BIMODAL] = 4096};
enum { SIZES = sizeof scale_words / sizeof *scale_words };

struct utilisation_state {
    struct experiment_settings settings;
    bool is_host;
};

static int utilisation_open(struct device *device, const struct experiment_settings *settings,
                            void **state, struct error *error)
{
    struct utilisation_state *s = must_alloc(sizeof *s);
    (void)error;
    *s = (struct utilisation_state){.settings = *settings,
                                    .is_host = device->info->language == KERNEL_HOST_C};
    *state = s;
    return 0;
}

static int utilisation_measure(void *state, const struct experiment_row *row,
                               struct experiment_record *record, struct error *error)
{
    const struct utilisation_state *s = state;
    const struct experiment_settings *settings = &s->settings;
    const uint64_t seeds = settings->options.value[UTILISATION_SEEDS];
    struct heap_churn churn = {
        .sizes = experiment_find_word(heap_size_names, row->word[PARAMETER_SIZES]),
        .policy = experiment_find_word(device_heap_policy_names, row->word[PARAMETER_POLICY]),
        .padding = experiment_find_word(padding_names, row->word[PARAMETER_PADDING]),
        .arena_words = (uint32_t)settings->options.value[UTILISATION_WORDS],
        .stride_words = (uint32_t)settings->options.value[UTILISATION_STRIDE],
    };
    double filled = 0, least = 1, live = 0, visits = 0;
    if (!s->is_host)
        return error_set(error, ERR_UNSUPPORTED,
                         "blocks lie at the same places on every device: see the host's rows");
    churn.scale_words = scale_words[churn.sizes];
    for (uint64_t i = 0; i < seeds; i++) {
        churn.seed = random_split(settings->seed, i);
        struct heap_churn_result r = heap_churn_run(&churn);
        if (r.broken)
            return error_set(error, ERR_INTERNAL,
                             "%u invariants of the heap are broken with seed %llu", r.broken,
                             (unsigned long long)churn.seed);
        filled += r.utilisation;
        least = r.utilisation < least ? r.utilisation : least;
        live += r.live_blocks;
        visits += r.visits_per_op;
        experiment_take(record, METRIC_op_ns, r.ns_per_op);
    }
    experiment_take(record, METRIC_filled_ratio, filled / (double)seeds);
    experiment_take(record, METRIC_least_filled_ratio, least);
    experiment_take(record, METRIC_live_block_count, (double)(uint64_t)(live / (double)seeds));
    experiment_take(record, METRIC_visit_count, (double)(uint64_t)(1000 * visits / (double)seeds));
    return 0;
}

static int utilisation_plan(const struct experiment_settings *settings, struct experiment_plan *out,
                            struct error *error)
{
    const bool both = settings->options.value[UTILISATION_STRIDE] > 1;
    (void)error;
    for (unsigned sizes = 0; sizes < SIZES; sizes++)
        for (unsigned policy = 0; policy < DEVICE_HEAP_POLICIES; policy++)
            for (unsigned padding = both ? DEVICE_HEAP_SEED : DEVICE_HEAP_TIGHT;
                 padding <= DEVICE_HEAP_TIGHT; padding++) {
                struct experiment_row *row = experiment_add_row(out);
                experiment_put_word(row, PARAMETER_SIZES, heap_size_names[sizes]);
                experiment_put_word(row, PARAMETER_POLICY, device_heap_policy_names[policy]);
                experiment_put_word(row, PARAMETER_PADDING, padding_names[padding]);
            }
    return 0;
}

const struct experiment experiment_heap_utilisation = {
    .name = "heap-utilisation",
    .summary = "how full an arena of the device heap gets before a request fails",
    .options = options,
    .parameters = parameters,
    .metrics = metrics,
    .metric_count = METRICS,
    .plan = utilisation_plan,
    .open = utilisation_open,
    .measure = utilisation_measure,
    .close = free,
};
