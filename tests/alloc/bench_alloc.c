/* The cost of an alloc/free pair on the host, by strategy and number of live blocks.
 *
 * Each step frees a random live block and asks for the same size at the same allocation site again,
 * so pool, tagged and bufalloc answer from what they hold. The driver is a counter, so raw shows
 * the cost of the wrapper and of the source's own clock. `held` blocks were freed before the
 * loop and stay free during it, where the strategy keeps them: no other block has their sizes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "alloc/registry.h"
#include "alloc/source_vm.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"

/* Many short repeats: the best one is likely to have had a core to itself. */
enum { REPEATS = 60, STEP_COUNT = 20000, LIVE_MOST = 100000, HELD_MOST = 100 };

static const char *const specs[] = {"null",
                                    "raw",
                                    "pool",
                                    "tagged",
                                    "tagged:policy=v4",
                                    "bufalloc",
                                    "bufalloc:strategy=tight",
                                    "tlsf",
                                    "tlsf:strategy=min_time",
                                    "tlsf:strategy=min_memory",
                                    "caching",
                                    "vmm"};

static const struct setting {
    size_t live_count, held_count;
} settings[] = {{100, 0}, {100, HELD_MOST}, {10000, 0}, {LIVE_MOST, 0}};
enum { SETTING_COUNT = sizeof settings / sizeof *settings };

static int counter_alloc(void *context, uint64_t bytes, uint64_t *memory, struct error *error)
{
    (void)bytes, (void)error;
    *memory = ++*(uint64_t *)context;
    return 0;
}

static int counter_free(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    (void)context, (void)memory, (void)bytes, (void)error;
    return 0;
}

static int vm_info(void *context, struct driver_vm_info *info, struct error *error)
{
    (void)context, (void)error;
    *info =
        (struct driver_vm_info){.granularity_bytes = 2 << 20, .memory_bytes = UINT64_C(16) << 30};
    return 0;
}

static int vm_reserve(void *context, uint64_t bytes, uint64_t *range, struct error *error)
{
    return counter_alloc(context, bytes, range, error);
}

static int vm_map(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
                  struct error *error)
{
    (void)context, (void)range, (void)offset, (void)chunk, (void)bytes, (void)error;
    return 0;
}

static int vm_part(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                   struct error *error)
{
    (void)context, (void)range, (void)offset, (void)bytes, (void)error;
    return 0;
}

static int counter_sync(void *context, struct error *error)
{
    (void)context, (void)error;
    return 0;
}

static const struct driver_vm_ops counter_vm = {.info = vm_info,
                                                .reserve = vm_reserve,
                                                .unreserve = counter_free,
                                                .create = counter_alloc,
                                                .release = counter_free,
                                                .map = vm_map,
                                                .access = vm_part,
                                                .unmap = vm_part};

/* Every block has an allocation site of its own; a live one has one of 61 sizes up to 15.3 KiB. */
static const char tags[HELD_MOST + LIVE_MOST];
static uint64_t size_of(size_t i)
{
    return 256 * (1 + i % 61) + (i < HELD_MOST ? 128 : 0);
}

static void get(struct allocator *allocator, size_t i, struct block *block)
{
    struct alloc_request request = {.size = size_of(i), .alignment = 1, .tag = &tags[i]};
    int code = allocator_alloc(allocator, &request, block);
    if (code) {
        fprintf(stderr, "bench_alloc: %s\n", allocator->source->error.text);
        exit(1);
    }
}

static void put(struct allocator *allocator, size_t i, const struct block *block)
{
    allocator_free(allocator, block, &tags[i], size_of(i));
}

static void open_allocator(struct allocator *allocator, const char *spec, struct source *source)
{
    const struct allocator_ops *ops;
    struct option_values options;
    struct error error = {0};
    if (allocator_parse(spec, &ops, &options, &error) ||
        allocator_open(allocator, ops, &options, source, &error)) {
        fprintf(stderr, "bench_alloc: %s\n", error.text);
        exit(1);
    }
}

/* ns a step, the best of the repeats. */
static double pair_ns(const char *spec, const struct setting *setting, struct block *blocks)
{
    static const struct source_ops counter_ops = {
        .alloc = counter_alloc, .free = counter_free, .sync = counter_sync};
    uint64_t handles = 0;
    struct source source = {.ops = &counter_ops,
                            .vm = &counter_vm,
                            .context = &handles,
                            .alignment = 256,
                            .can_split = true};
    struct allocator allocator;
    open_allocator(&allocator, spec, &source);
    const size_t first_live = HELD_MOST;
    for (size_t i = first_live - setting->held_count; i < first_live + setting->live_count; i++)
        get(&allocator, i, &blocks[i]);
    for (size_t i = first_live - setting->held_count; i < first_live; i++)
        put(&allocator, i, &blocks[i]);

    double best = 0;
    for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
        struct random random = {repeat};
        uint64_t start = clock_ns();
        for (size_t step = 0; step < STEP_COUNT; step++) {
            size_t i = first_live + random_below(&random, setting->live_count);
            put(&allocator, i, &blocks[i]);
            get(&allocator, i, &blocks[i]);
        }
        double ns = (double)(clock_ns() - start) / STEP_COUNT;
        best = repeat == 0 || ns < best ? ns : best;
    }
    for (size_t i = first_live; i < first_live + setting->live_count; i++)
        put(&allocator, i, &blocks[i]);
    allocator_close(&allocator);
    return best;
}

/* The same loop around nothing: what picking a random block costs. */
static double loop_ns(const struct setting *setting, struct block *blocks)
{
    double best = 0;
    for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
        struct random random = {repeat};
        uint64_t start = clock_ns();
        for (size_t step = 0; step < STEP_COUNT; step++) {
            volatile struct block *block = &blocks[random_below(&random, setting->live_count)];
            block->size++;
        }
        double ns = (double)(clock_ns() - start) / STEP_COUNT;
        best = repeat == 0 || ns < best ? ns : best;
    }
    return best;
}

int main(void)
{
    struct block *blocks = must_alloc((LIVE_MOST + HELD_MOST) * sizeof *blocks);
    printf("ns per alloc/free pair, best of %d; the loop's own cost is in every number\n", REPEATS);
    printf("%-24s", "live (held)");
    for (size_t s = 0; s < SETTING_COUNT; s++)
        printf(" %7zu (%3zu)", settings[s].live_count, settings[s].held_count);
    printf("\n%-24s", "the loop alone");
    for (size_t s = 0; s < SETTING_COUNT; s++)
        printf(" %13.1f", loop_ns(&settings[s], blocks));
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        printf("\n%-24s", specs[i]);
        for (size_t s = 0; s < SETTING_COUNT; s++) {
            printf(" %13.1f", pair_ns(specs[i], &settings[s], blocks));
            fflush(stdout);
        }
    }
    printf("\n");
    free(blocks);
    return 0;
}
