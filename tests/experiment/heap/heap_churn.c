#include "tests/experiment/heap/heap_churn.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "tests/experiment/heap/host_heap.h"

enum { BATCH = 256, STEP_COMMANDS = 20000 };

const char *const heap_size_names[SIZES_KINDS] = {"uniform", "lognormal", "bimodal", "same"};

static double random_normal(struct random *random)
{
    double radius = sqrt(-2 * log(1 - random_unit(random)));
    return radius * cos(6.283185307179586 * random_unit(random));
}

uint32_t heap_random_words(struct random *random, enum heap_sizes sizes, uint32_t scale_words)
{
    double scale = scale_words, words = scale;
    if (sizes == SIZES_UNIFORM) {
        words = 1 + (double)random_below(random, 2 * (uint64_t)scale_words);
    } else if (sizes == SIZES_LOGNORMAL) {
        words = scale * exp(1.2 * random_normal(random) - 0.72); /* -sigma^2/2 keeps the mean */
    } else if (sizes == SIZES_BIMODAL) {
        double kind = random_unit(random), u = random_unit(random);
        words = kind < 0.5 ? scale / 64 * u : kind < 0.9 ? scale * u : scale * (1 + 7 * u);
    }
    return words < 1 ? 1 : (uint32_t)words;
}

struct churn {
    struct host_heap heap;
    struct random random;
    uint32_t *live, *spare, *words; /* slots in use, spare slots; requested words by slot */
    uint32_t live_count, spare_count;
    uint64_t live_words;
    uint32_t commands[BATCH * COMMAND_WORDS];
    uint64_t ns, ops;
};

static void churn_open(struct churn *c, const struct heap_churn *settings)
{
    uint32_t slots = settings->arena_words / 8;
    *c = (struct churn){.heap = {.words = settings->arena_words,
                                 .capacity = slots + 1,
                                 .slot_count = slots,
                                 .policy = settings->policy,
                                 .padding = settings->padding},
                        .random = {settings->seed},
                        .spare_count = slots};
    c->live = must_alloc(slots * sizeof *c->live);
    c->spare = must_alloc(slots * sizeof *c->spare);
    c->words = must_alloc(slots * sizeof *c->words);
    for (uint32_t i = 0; i < slots; i++)
        c->spare[i] = slots - 1 - i;
    host_heap_open(&c->heap);
}

static void churn_close(struct churn *c)
{
    host_heap_close(&c->heap);
    free(c->live);
    free(c->spare);
    free(c->words);
}

static void put_command(uint32_t *command, uint32_t what, uint32_t count, uint32_t stride)
{
    command[COMMAND_DO] = what;
    command[COMMAND_COUNT] = count;
    command[COMMAND_STRIDE] = stride;
}

/* One free or one allocation, whichever brings the load to `target_words`. */
static void choose_command(struct churn *c, const struct heap_churn *settings,
                           uint64_t target_words, uint32_t *command)
{
    if (c->live_words < target_words && c->spare_count > 0) {
        uint32_t slot = c->spare[--c->spare_count], stride = settings->stride_words;
        uint32_t words = heap_random_words(&c->random, settings->sizes, settings->scale_words);
        uint32_t count = (words + stride - 1) / stride;
        c->words[slot] = count * stride;
        c->live[c->live_count++] = slot;
        c->live_words += c->words[slot];
        put_command(command, (uint32_t)HEAP_ALLOC | slot, count, stride);
    } else {
        uint32_t i = (uint32_t)random_below(&c->random, c->live_count), slot = c->live[i];
        c->live[i] = c->live[--c->live_count];
        c->spare[c->spare_count++] = slot;
        c->live_words -= c->words[slot];
        put_command(command, (uint32_t)HEAP_FREE | slot, 0, 0);
    }
}

/* False once a command has failed. */
static bool run_batch(struct churn *c)
{
    uint64_t start = clock_ns();
    host_heap_ops(&c->heap, c->commands, BATCH, NULL, 0);
    c->ns += clock_ns() - start;
    c->ops += BATCH;
    return c->heap.index[HEAP_FAILED] == 0;
}

static uint32_t count_broken(const struct churn *c)
{
    uint32_t report[REPORT_WORDS], broken = 0;
    host_heap_check(&c->heap, report);
    for (unsigned i = 0; i < REPORT_INVARIANTS; i++)
        broken += report[i];
    return broken;
}

struct heap_churn_result heap_churn_run(const struct heap_churn *settings)
{
    struct churn c;
    double share = 0.5;
    uint64_t before = 0;
    churn_open(&c, settings);
    for (bool good = true; good; share = c.ops % STEP_COMMANDS < BATCH ? share + 0.005 : share) {
        uint64_t target_words = (uint64_t)(share * settings->arena_words);
        before = c.live_words;
        for (unsigned i = 0; i < BATCH; i++)
            choose_command(&c, settings, target_words, c.commands + (size_t)i * COMMAND_WORDS);
        good = run_batch(&c);
    }
    struct heap_churn_result result = {
        .utilisation = (double)before / settings->arena_words,
        .ns_per_op = (double)c.ns / (double)c.ops,
        .visits_per_op = (double)c.heap.index[HEAP_VISITS] / (double)c.ops,
        .live_blocks = c.heap.index[HEAP_LIVE_BLOCKS],
        .broken = count_broken(&c),
    };
    churn_close(&c);
    return result;
}
