/* How good the offset planner is on full plans, where the least height is known.
 *
 * The family: a rectangle of a number of time steps and 1 MiB, cut into 150 to 450 buffers by
 * random guillotine cuts (pack_check.h says how), 100 of them from fixed seeds. With fewer time
 * steps, more buffers start and end at the same time by chance, and it gets harder.
 *
 * The last family leaves out every twentieth buffer. That has holes, so the least height is not
 * known, and is proved less often.
 *
 * Then many buffers, with the lifetimes of a training run (pack_check.h): the time of the first
 * greedy order, and how far above the bytes alive at once the plan is within ten times the limit.
 *
 *     bench_pack [SECONDS]            the limit for one plan, 1 by default; one thread
 *     bench_pack million [STEPS [KIND SEED]]
 *         kinds of a million buffers, or the one of these numbers from 0 on, as lines of JSON: how
 *         far above the bytes alive at once the plans are after so much work. 4e9 steps, the
 *         default, are about ten seconds of an idle core
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "merge/pack/pack.h"
#include "merge/pack/pack_model.h"
#include "tests/merge/pack/pack_check.h"
#include "results/statistics/statistics.h"

enum { CASES = 100, FEWEST = 150, MORE_EACH = 3, MOST = FEWEST + MORE_EACH * CASES };
static const int64_t HEIGHT = 1 << 20;

static const struct family {
    const char *name;
    int64_t duration;
    uint64_t first_seed;
    size_t left_out; /* every so manieth buffer; 0: none */
} families[] = {
    {"300 steps", 300, 0, 0},
    {"300 steps, other seeds", 300, 1000, 0},
    {"1000 steps", 1000, 0, 0},
    {"100 steps", 100, 0, 0},
    {"300 steps, every 20th left out", 300, 0, 20},
};

static size_t make(const struct family *family, unsigned number, struct pack_buffer *buffers)
{
    const size_t count = FEWEST + MORE_EACH * number;
    size_t kept = 0;
    pack_guillotine(family->first_seed + number, count, family->duration, HEIGHT, buffers);
    for (size_t i = 0; i < count; i++)
        if (!family->left_out || i % family->left_out)
            buffers[kept++] = buffers[i];
    return kept;
}

/* Returns seconds, or a negative number if there is no proof. */
static double solve(const struct pack_buffer *buffers, size_t count, double limit_s)
{
    const struct pack_options options = {.time_limit_ns = (int64_t)(limit_s * 1e9)};
    struct pack_result result;
    struct error error;
    if (pack_solve(buffers, count, &options, &result, &error)) {
        fprintf(stderr, "bench_pack: %s\n", error.text);
        exit(1);
    }
    if (pack_check(buffers, count, result.offset, result.height)) {
        fprintf(stderr, "bench_pack: a plan of %zu buffers is wrong\n", count);
        exit(1);
    }
    const double seconds = (double)result.elapsed_ns / 1e9;
    const bool solved = result.optimal && seconds < limit_s;
    pack_result_free(&result);
    return solved ? seconds : -1;
}

static void search_family(const struct family *family, double limit_s, struct pack_buffer *buffers)
{
    double seconds[CASES];
    size_t solved = 0;
    for (unsigned i = 0; i < CASES; i++) {
        const size_t count = make(family, i, buffers);
        const double s = solve(buffers, count, limit_s);
        if (s >= 0)
            seconds[solved++] = s;
    }
    statistics_sort(seconds, solved);
    const struct statistics of = statistics_of(seconds, solved);
    char median[32], slowest[32];
    printf("%-32s %3zu of %d %12s %12s\n", family->name, solved, CASES,
           text_ns(median, of.median * 1e9), text_ns(slowest, of.max * 1e9));
    fflush(stdout);
}

static void greedy_family(const struct family *family, struct pack_buffer *buffers, int64_t *offset)
{
    for (int o = 0; o < PACK_ORDER_COUNT; o++)
        for (int g = 0; g < PACK_GAP_COUNT; g++) {
            double above[CASES];
            for (unsigned i = 0; i < CASES; i++) {
                const size_t count = make(family, i, buffers);
                const int64_t height =
                    pack_greedy(buffers, count, (enum pack_order)o, (enum pack_gap)g, offset);
                above[i] = 100.0 * (double)(height - HEIGHT) / (double)HEIGHT;
            }
            statistics_sort(above, CASES);
            printf("%-32s %+7.1f %% %+7.1f %% %+7.1f %%\n",
                   pack_greedy_name((enum pack_order)o, (enum pack_gap)g), above[0],
                   statistics_quantile(above, CASES, 0.5), above[CASES - 1]);
        }
}

static const size_t many[] = {10000, 100000, 1000000};

static struct pack_result plan_many(const struct pack_buffer *buffers, size_t count,
                                    struct pack_options options)
{
    struct pack_result result;
    struct error error;
    if (pack_solve(buffers, count, &options, &result, &error) ||
        pack_check(buffers, count, result.offset, result.height)) {
        fprintf(stderr, "bench_pack: a plan of %zu buffers is wrong\n", count);
        exit(1);
    }
    return result;
}

static double above_bound(const struct pack_result *result)
{
    return 100.0 * (double)(result->height - result->lower_bound) / (double)result->lower_bound;
}

static void scale(double limit_s)
{
    printf("\n%-12s %12s %10s %12s %10s  %s\n", "buffers", "first order", "above", "then", "above",
           "by");
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        char first_time[32], time[32];
        struct pack_buffer *buffers = must_alloc(many[i] * sizeof *buffers);
        pack_training(7, many[i], buffers);
        struct pack_result first = plan_many(buffers, many[i], (struct pack_options){0});
        const struct pack_options options = {.time_limit_ns = (int64_t)(limit_s * 1e9)};
        struct pack_result best = plan_many(buffers, many[i], options);
        printf("%-12zu %12s %+8.2f %% %12s %+8.2f %%  %s\n", many[i],
               text_ns(first_time, (double)first.elapsed_ns), above_bound(&first),
               text_ns(time, (double)best.elapsed_ns), above_bound(&best), best.method);
        fflush(stdout);
        pack_result_free(&first);
        pack_result_free(&best);
        free(buffers);
    }
}

/* ---- a million ------------------------------------------------------------------------------- */

enum { MILLION = 1000000, SEEDS = 3, FIRST_SEED = 7 };

static const struct kind {
    const char *name;
    double alive;            /* on average; 0: both ends are random */
    double steps;            /* for each buffer */
    bool is_each;            /* one starts after the other; else at random */
    char life, size;         /* (u)niform, (e)xponential, with uniform (l)ogarithms */
    double unit, most;       /* the size is unit times 1 to most */
    int64_t duration, bytes; /* not 0: a full memory */
} kinds[] = {
    {"400 alive", 400, 4, false, 'u', 'u', 1, 1e9, 0, 0},
    {"4,000 alive", 4000, 4, false, 'u', 'u', 1, 1e9, 0, 0},
    {"1,000 alive, one starts in each step", 1000, 1, true, 'u', 'u', 1, 1e9, 0, 0},
    {"1,000 alive, lives from 1 to 10⁶, logarithms uniform", 1000, 1, false, 'l', 'u', 1, 1e9, 0,
     0},
    {"512 alive, exponential lives, logarithms of sizes uniform", 512, 1, true, 'e', 'l', 512, 1e5,
     0, 0},
    {"1,000 alive, logarithms of sizes uniform from 1 B to 1 GB", 1000, 1, false, 'u', 'l', 1, 1e9,
     0, 0},
    {"both ends at random, 500,000 alive at the peak", 0, 1, false, 'u', 'u', 1, 1e9, 0, 0},
    {"a training run", 0, 0, false, 0, 0, 0, 0, 0, 0},
    {"full memory, 10¹² steps of 10¹² B", 0, 0, false, 0, 0, 0, 0, 1000000000000, 1000000000000},
    {"full memory, 10⁶ steps of 10⁹ B", 0, 0, false, 0, 0, 0, 0, 1000000, 1000000000},
    {"full memory, 10⁵ steps of 1 MiB", 0, 0, false, 0, 0, 0, 0, 100000, 1 << 20},
};

static double draw_life(struct random *random, const struct kind *kind)
{
    const double unit = random_unit(random), mean = kind->alive * kind->steps, most = 1e6;
    return kind->life == 'u'   ? unit * 2 * mean
           : kind->life == 'e' ? -log(1 - unit) * mean
                               : pow(most, unit) * mean * log(most) / (most - 1);
}

static int64_t draw_size(struct random *random, const struct kind *kind)
{
    const double unit = random_unit(random);
    return (int64_t)kind->unit *
           (1 + (int64_t)(kind->size == 'u' ? unit * kind->most : pow(kind->most, unit)));
}

static void make_kind(const struct kind *kind, uint64_t seed, struct pack_buffer *buffers)
{
    const uint64_t steps = (uint64_t)(MILLION * kind->steps);
    struct random random = {seed};
    if (kind->duration)
        pack_guillotine(seed, MILLION, kind->duration, kind->bytes, buffers);
    else if (!steps)
        pack_training(seed, MILLION, buffers);
    for (size_t i = 0; steps && i < MILLION; i++) {
        struct pack_buffer *b = &buffers[i];
        b->lower = (int64_t)(kind->is_each ? (uint64_t)((double)i * kind->steps)
                                           : random_below(&random, steps));
        b->upper = kind->alive > 0 ? b->lower + (int64_t)draw_life(&random, kind)
                                   : (int64_t)random_below(&random, steps);
        const struct pack_interval ends = {pack_min(b->lower, b->upper),
                                           pack_max(b->lower, b->upper) + 1};
        *b = (struct pack_buffer){.lower = ends.lower, .upper = ends.upper};
        b->size = draw_size(&random, kind);
    }
}

/* Prints a line of JSON for each kind and seed, or for one of them. */
static void million(double steps, size_t kind, uint64_t seed)
{
    struct pack_buffer *buffers = must_alloc(MILLION * sizeof *buffers);
    const size_t kind_count = sizeof kinds / sizeof *kinds;
    for (size_t k = 0; k < kind_count * SEEDS; k++) {
        const struct kind *of = &kinds[k / SEEDS];
        if (kind < kind_count && k != kind * SEEDS + seed)
            continue;
        memset(buffers, 0, MILLION * sizeof *buffers);
        make_kind(of, FIRST_SEED + k % SEEDS, buffers);
        const struct pack_options options = {.step_limit = (uint64_t)steps};
        struct pack_result result = plan_many(buffers, MILLION, options);
        printf("{\"kind\": \"%s\", \"seed\": %zu, \"above_percent\": %.5f, \"seconds\": %.2f, "
               "\"by\": \"%s\"}\n",
               of->name, FIRST_SEED + k % SEEDS, above_bound(&result),
               (double)result.elapsed_ns / 1e9, result.method);
        fflush(stdout);
        pack_result_free(&result);
    }
    free(buffers);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "million") == 0) {
        million(argc > 2 ? atof(argv[2]) : 4e9, argc > 4 ? strtoul(argv[3], NULL, 10) : SIZE_MAX,
                argc > 4 ? strtoul(argv[4], NULL, 10) : 0);
        return 0;
    }
    const double limit_s = argc > 1 ? atof(argv[1]) : 1;
    struct pack_buffer *buffers = must_alloc(MOST * sizeof *buffers);
    int64_t *offset = must_alloc(MOST * sizeof *offset);
    clock_print_cost(stdout);
    printf("plans proved optimal in under %g s, and the time of these\n", limit_s);
    printf("%-32s %10s %12s %12s\n", "", "solved", "median", "slowest");
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        search_family(&families[f], limit_s, buffers);
    for (size_t f = 0; f < 3; f += 2) {
        printf("\ngreedy orders above the optimum, %s: least, median, most\n", families[f].name);
        greedy_family(&families[f], buffers, offset);
    }
    free(buffers);
    free(offset);
    scale(10 * limit_s);
    return 0;
}
