/* The answer of results with known times and bytes, as sentences. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "base/text.h"
#include "base/tree.h"
#include "results/file/answer.h"
#include "results/file/baseline.h"
#include "results/file/measured.h"
#include "results/file/standings.h"
#include "results/file/draft.h"
#include "tests/base/cmocka.h"

enum { ROUNDS = 6 };

struct given {
    const char *workload, *merge, *strategy, *device;
    /* by round; 0: the round is not ok, but has `status`. On the
     * device dry, the first is the count of driver calls, and there are no times */
    uint64_t us[ROUNDS];
    uint64_t reserved; /* of a lower bound of 100 bytes */
    enum case_status status;
};

static struct case_round round_of(const struct given *given, unsigned round, struct sample *sample)
{
    struct case_round r = {.round = round, .check = CHECK_REFERENCE, .sample_count = 1};
    snprintf(r.key.workload, sizeof r.key.workload, "%s", given->workload);
    snprintf(r.key.dataset, sizeof r.key.dataset, "small");
    if (given->status == CASE_skipped)
        snprintf(r.reason, sizeof r.reason, "strategy %s could not start: no %s here",
                 given->strategy,
                 strcmp(given->strategy, "odd") == 0 ? given->workload : given->strategy);
    snprintf(r.key.merge, sizeof r.key.merge, "%s", given->merge);
    snprintf(r.key.release, sizeof r.key.release, "last-use");
    snprintf(r.key.strategy, sizeof r.key.strategy, "%s", given->strategy);
    snprintf(r.key.device, sizeof r.key.device, "%s", given->device);
    r.status = given->us[round] ? CASE_ok : given->status;
    r.cold.live_lower_bound_bytes = r.warm.live_lower_bound_bytes = 100;
    r.cold.peak_reserved_bytes = r.warm.peak_reserved_bytes = given->reserved;
    *sample = (struct sample){.wall_ns = 1000 * given->us[round]};
    r.samples = sample;
    if (strcmp(given->device, "dry") == 0) {
        r.sample_count = 0;
        r.cold.driver_alloc_count = given->us[0];
    }
    return r;
}

/* A summarised result of so many rounds. */
static struct result_draft result_of(const struct given *given, size_t count, unsigned rounds,
                                     const char *baseline)
{
    const struct result_command run = {.rounds = rounds};
    struct result_draft result;
    assert_int_equal(draft_create(&result, &run, NULL), 0);
    if (baseline)
        tree_put(result.result.run.options, "baseline", tree_text(baseline));
    for (unsigned round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++) {
            struct sample sample;
            const struct case_round r = round_of(&given[i], round, &sample);
            if (given[i].us[round] || given[i].status != CASE_ok)
                draft_add_round(&result, &r);
        }
    draft_finish(&result, RUN_COMPLETE);
    result_summarise(&result.result);
    return result;
}

static void expect(const struct given *given, size_t count, unsigned rounds, const char *baseline,
                   const char *sentences)
{
    struct result_draft result = result_of(given, count, rounds, baseline);
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    answer_print(&result.result.answer, "", "\n", out);
    fclose(out);
    assert_string_equal(text, sentences);
    free(text);
    draft_free(&result);
}
#define EXPECT(given, rounds, baseline, sentences)                                                 \
    expect(given, sizeof given / sizeof *given, rounds, baseline, sentences)

#define ALL(us)                                                                                    \
    {                                                                                              \
        us, us, us, us, us, us                                                                     \
    }

/* On `a` pool takes a quarter of raw's time and on `b` all of it: the mean is twice as fast. vmm is
 * 1 % slower than pool in every round. */
static void known_numbers(void **state)
{
    (void)state;
    const struct given given[] = {
        {"a", "none", "raw", "host", ALL(4000), 100, CASE_ok},
        {"a", "none", "pool", "host", ALL(1000), 120, CASE_ok},
        {"a", "none", "vmm", "host", ALL(1010), 150, CASE_ok},
        {"a", "none", "tagged", "host", ALL(2000), 100, CASE_ok},
        {"b", "none", "raw", "host", ALL(4000), 100, CASE_ok},
        {"b", "none", "pool", "host", ALL(4000), 120, CASE_ok},
        {"b", "none", "vmm", "host", ALL(4040), 150, CASE_ok},
        {"b", "none", "tagged", "host", ALL(4000), 100, CASE_ok},
    };
    EXPECT(given, 6, NULL,
           "Fastest on host: pool, 2.00× raw [2.00, 2.00]; vmm is within 2 %.\n"
           "Least memory: tagged and raw, 1.00× the lower bound; pool, the fastest, holds 1.20×.\n"
           "2 cases, 6 rounds.\n");
}

/* The first is what ratios are over: the second place has the figure. */
static void raw_is_fastest(void **state)
{
    (void)state;
    const struct given given[] = {
        {"a", "none", "pool", "host", ALL(2000), 100, CASE_ok},
        {"a", "none", "raw", "host", ALL(1000), 100, CASE_ok},
    };
    EXPECT(given, 6, NULL,
           "Fastest on host: raw; next is pool, 0.50× [0.50, 0.50].\n"
           "All hold the same memory, 1.00× the lower bound.\n"
           "1 case, 6 rounds.\n");
}

/* caching is faster in three rounds of six and slower in three, by a tenth. */
static void intervals_that_overlap(void **state)
{
    (void)state;
    const struct given given[] = {
        {"a", "none", "raw", "host", ALL(4000), 100, CASE_ok},
        {"a", "none", "pool", "host", ALL(1000), 120, CASE_ok},
        {"a", "none", "caching", "host", {900, 900, 900, 1100, 1110, 1110}, 120, CASE_ok},
    };
    EXPECT(given, 6, NULL,
           "Fastest on host: caching, 4.04× raw [3.60, 4.44]; pool cannot be told apart from it "
           "(differences up to 12 %).\n"
           "Least memory: raw, 1.00× the lower bound; caching, the fastest, holds 1.20×.\n"
           "1 case, 6 rounds.\n");
}

/* Times that drift from round to round tell strategies apart if they drift alike. */
static void rounds_are_paired(void **state)
{
    (void)state;
    const struct given given[] = {
        {"a", "none", "raw", "host", {1000, 2000, 3000, 4000, 5000, 6000}, 100, CASE_ok},
        {"a", "none", "pool", "host", {900, 1800, 2700, 3600, 4500, 5400}, 100, CASE_ok},
    };
    EXPECT(given, 6, NULL,
           "Fastest on host: pool, 1.11× raw [1.11, 1.11].\n"
           "All hold the same memory, 1.00× the lower bound.\n"
           "1 case, 6 rounds.\n");
}

/* pool's wrong answer takes 1 us. `b` counts for none then, and a strategy that is never right is
 * in no ranking. */
static void a_wrong_answer_has_no_time(void **state)
{
    (void)state;
    const struct given given[] = {
        {"a", "none", "raw", "host", ALL(4000), 100, CASE_ok},
        {"a", "none", "pool", "host", ALL(1000), 120, CASE_ok},
        {"a", "none", "tlsf", "host", {0, 1, 1, 1, 1, 1}, 1, CASE_wrong},
        {"b", "none", "raw", "host", ALL(4000), 100, CASE_ok},
        {"b", "none", "pool", "host", {1, 1, 1, 1, 1, 0}, 1, CASE_wrong},
        {"b", "none", "tlsf", "host", {0, 1, 1, 1, 1, 1}, 1, CASE_wrong},
    };
    EXPECT(given, 6, NULL,
           "not ranked on host: tlsf (wrong)\n"
           "left out of the means on host: b small (wrong under pool)\n"
           "Fastest on host: pool, 4.00× raw [4.00, 4.00].\n"
           "Least memory: raw, 1.00× the lower bound; pool, the fastest, holds 1.20×.\n"
           "1 of 2 cases, 6 rounds.\n");
}

/* A strategy that ran one program of three does not take the other two from all others. */
static void a_strategy_that_lacks_most(void **state)
{
    (void)state;
    const struct given given[] = {
        {"a", "none", "raw", "host", ALL(4000), 100, CASE_ok},
        {"a", "none", "pool", "host", ALL(1000), 120, CASE_ok},
        {"a", "none", "tlsf", "host", ALL(100), 120, CASE_ok},
        {"b", "none", "raw", "host", ALL(4000), 100, CASE_ok},
        {"b", "none", "pool", "host", ALL(1000), 120, CASE_ok},
        {"b", "none", "tlsf", "host", ALL(0), 120, CASE_oom},
        {"c", "none", "raw", "host", ALL(4000), 100, CASE_ok},
        {"c", "none", "pool", "host", ALL(1000), 120, CASE_ok},
        {"c", "none", "tlsf", "host", ALL(0), 120, CASE_timeout},
    };
    EXPECT(given, 6, NULL,
           "not ranked on host: tlsf (ok in 1 of 3 cases)\n"
           "Fastest on host: pool, 4.00× raw [4.00, 4.00].\n"
           "Least memory: raw, 1.00× the lower bound; pool, the fastest, holds 1.20×.\n"
           "3 cases, 6 rounds.\n");
}

static void one_round_has_no_interval(void **state)
{
    (void)state;
    const struct given given[] = {
        {"a", "none", "raw", "host", ALL(4000), 100, CASE_ok},
        {"a", "none", "pool", "host", ALL(1000), 120, CASE_ok},
        {"a", "none", "vmm", "host", ALL(1001), 120, CASE_ok},
    };
    EXPECT(given, 1, NULL,
           "Fastest on host: pool, 4.00× raw.\n"
           "Least memory: raw, 1.00× the lower bound; pool, the fastest, holds 1.20×.\n"
           "1 case, 1 round: too few for intervals, so the order may be chance.\n");
}

/* Without raw ratios are over the fastest, which differs between the devices. */
static void several_devices_without_raw(void **state)
{
    (void)state;
    const struct given given[] = {
        {"a", "none", "pool", "host", ALL(1000), 120, CASE_ok},
        {"a", "none", "tlsf", "host", ALL(2000), 110, CASE_ok},
        {"a", "none", "stream", "host", ALL(0), 0, CASE_skipped},
        {"b", "none", "stream", "host", ALL(0), 0, CASE_skipped},
        {"b", "none", "pool", "host", ALL(1000), 120, CASE_ok},
        {"b", "none", "tlsf", "host", ALL(2000), 110, CASE_ok},
        {"a", "none", "pool", "cuda:0", ALL(3000), 120, CASE_ok},
        {"a", "none", "tlsf", "cuda:0", ALL(2000), 110, CASE_ok},
        {"a", "none", "raw", "opencl:0", ALL(2000), 110, CASE_ok},
    };
    EXPECT(given, 6, NULL,
           "Fastest on cuda:0: tlsf; next is pool, 0.67× [0.67, 0.67].\n"
           "Least memory: tlsf, 1.10× the lower bound.\n"
           "1 case, 6 rounds.\n"
           "not on host: stream (no stream here)\n"
           "Fastest on host: pool; next is tlsf, 0.50× [0.50, 0.50].\n"
           "Least memory: tlsf, 1.10× the lower bound; pool, the fastest, holds 1.20×.\n"
           "2 cases, 6 rounds.\n");
    struct result_draft result = result_of(given, sizeof given / sizeof *given, 6, NULL);
    assert_string_equal(answer_against(&result.result.answer), ANSWER_SEVERAL);
    for (size_t i = 0; i < result.result.case_count; i++)
        assert_int_equal(answer_tells_skipped(&result.result.answer, &result.result.cases[i]),
                         result.result.cases[i].status == CASE_skipped);
    for (size_t i = 0; i < result.result.case_count; i++) {
        const struct result_case *each = &result.result.cases[i];
        const bool is_pool = strcmp(each->key.strategy, "pool") == 0;
        if (strcmp(each->key.device, "cuda:0") == 0)
            assert_float_equal(measured_speedup(each)->median, is_pool ? 2.0 / 3 : 1, 1e-9);
        if (strcmp(each->key.device, "opencl:0") == 0)
            assert_null(each->speedup);
    }
    draft_free(&result);
}

static const struct given merged[] = {
    {"a", "none", "raw", "host", ALL(4000), 200, CASE_ok},
    {"a", "best", "raw", "host", ALL(2000), 100, CASE_ok},
    {"a", "none", "pool", "host", ALL(1000), 220, CASE_ok},
    {"a", "best", "pool", "host", ALL(800), 110, CASE_ok},
};

static void merging_is_compared_with_none(void **state)
{
    (void)state;
    EXPECT(
        merged, 6, NULL,
        "Merging on host under pool, over none: best 1.25× [1.25, 1.25] with 0.50× the memory.\n"
        "Fastest on host: pool (best), 5.00× raw (none) [5.00, 5.00].\n"
        "Least memory: raw (best), 1.00× the lower bound; pool (best), the fastest, holds 1.10×.\n"
        "1 case, 6 rounds.\n");
}

static void a_named_baseline(void **state)
{
    (void)state;
    EXPECT(
        merged, 6, "raw,best",
        "Merging on host under pool, over none: best 1.25× [1.25, 1.25] with 0.50× the memory.\n"
        "Fastest on host: pool (best), 2.50× raw (best) [2.50, 2.50].\n"
        "Least memory: raw (best), 1.00× the lower bound; pool (best), the fastest, holds 1.10×.\n"
        "1 case, 6 rounds.\n");
    /* Of a merge set: each strategy without merging. */
    EXPECT(
        merged, 6, "none",
        "Merging on host under pool, over none: best 1.25× [1.25, 1.25] with 0.50× the memory.\n"
        "Fastest on host: pool (best), 1.25× none [1.25, 1.25].\n"
        "Least memory: raw (best), 1.00× the lower bound; pool (best), the fastest, holds 1.10×.\n"
        "1 case, 6 rounds.\n");
}

/* A round that one case lacks counts for none: its time would have no partner. */
static void only_common_rounds_count(void **state)
{
    (void)state;
    const struct given given[] = {
        {"a", "none", "raw", "host", {4000, 4000, 9000, 4000, 4000, 4000}, 100, CASE_ok},
        {"a", "none", "pool", "host", {1000, 1000, 0, 1000, 1000, 1000}, 100, CASE_skipped},
    };
    EXPECT(given, 6, NULL,
           "Fastest on host: pool, 4.00× raw.\n"
           "All hold the same memory, 1.00× the lower bound.\n"
           "1 case, 5 rounds: too few for intervals, so the order may be chance.\n");
}

static void nothing_to_rank(void **state)
{
    (void)state;
    const struct given alone[] = {{"a", "none", "raw", "host", ALL(4000), 100, CASE_ok}};
    const struct given skipped[] = {
        {"a", "none", "stream", "host", ALL(0), 0, CASE_skipped},
        {"a", "none", "vmm", "host", ALL(0), 0, CASE_skipped},
        {"a", "best", "vmm", "host", ALL(0), 0, CASE_skipped},
    };
    const struct given odd[] = {{"a", "none", "odd", "host", ALL(0), 0, CASE_skipped},
                                {"b", "none", "odd", "host", ALL(0), 0, CASE_skipped}};
    EXPECT(odd, 6, NULL, "not on host: odd\n"); /* for two reasons */
    EXPECT(alone, 6, NULL, "");
    EXPECT(alone, 0, NULL, "");
    EXPECT(skipped, 6, NULL, "not on host: stream (no stream here), vmm (no vmm here)\n");
}

static void baselines_by_name(void **state)
{
    (void)state;
    const struct case_key keys[] = {
        {"a", "small", "none", "last-use", "pool", "host", ""},
        {"a", "small", "best", "scope", "tagged:policy=v4", "host", ""},
    };
    static const struct {
        const char *names, *words, *error;
    } lines[] = {
        {"pool", "pool", NULL},
        {"best,tagged:policy=v4", "tagged:policy=v4, best", NULL},
        {"scope", "scope", NULL},
        {"pol", NULL,
         "--baseline: the run has no strategy or merge set 'pol' (did you mean pool?); there are: "
         "pool, tagged:policy=v4, none, best, last-use, scope"},
        {"none,best", NULL, "--baseline names both none and best: name one of them"},
        {"pool,best", NULL, "--baseline is 'pool,best', which no case of the run has"},
        {"", NULL, "--baseline is '', which no case of the run has"},
        {",", NULL,
         "--baseline: the run has no strategy or merge set ''; there are: pool, tagged:policy=v4, "
         "none, best, last-use, scope"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct case_key baseline;
        struct error error = {0};
        char words[384];
        const int code = baseline_read(lines[i].names, keys, 2, &baseline, &error);
        assert_int_equal(code, lines[i].error ? ERR_USAGE : 0);
        if (lines[i].error)
            assert_string_equal(error.text, lines[i].error);
        else
            assert_string_equal(baseline_words(words, &baseline), lines[i].words);
    }
}

/* Replays have no times: the order is by memory. Each that no other beats in both memory and calls
 * is named; pool is beaten by vmm, and raw by tagged. */
static void counted_and_not_timed(void **state)
{
    (void)state;
    const struct given given[] = {
        {"a", "none", "raw", "dry", {4000}, 100, CASE_ok},
        {"a", "none", "pool", "dry", {400}, 300, CASE_ok},
        {"a", "none", "vmm", "dry", {200}, 105, CASE_ok},
        {"a", "none", "tagged", "dry", {3000}, 100, CASE_ok},
        {"a", "none", "tlsf", "dry", {50}, 120, CASE_ok},
        {"a", "none", "bufalloc", "dry", {9}, 240, CASE_ok},
    };
    EXPECT(given, 1, NULL,
           "Least memory: tagged, 1.00× the lower bound with 3000 driver calls.\n"
           "Fewer driver calls: vmm (200, 1.05×), tlsf (50, 1.20×); fewest: bufalloc (9, 2.40×).\n"
           "1 case.\n");
    const struct given best[] = {
        {"a", "none", "pool", "dry", {4}, 100, CASE_ok},
        {"a", "none", "vmm", "dry", {200}, 105, CASE_ok},
    };
    EXPECT(best, 1, NULL,
           "Least memory: pool, 1.00× the lower bound with the fewest, 4 driver calls.\n"
           "1 case.\n");
}

/* ---- standings: the means of fits ---- */

/* A fit of an optimum of 100 bytes, with ten requests. */
static void add_fit(json_t *fits, const char *trace, const char *strategy, const char *kind,
                    double reserved, double ns)
{
    tree_append(fits, tree_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:i, s:f, s:f, s:i}", "trace",
                                trace, "strategy", strategy, "kind", kind, "capacity_bytes",
                                reserved > 0 ? 110.0 : 0.0, "optimum_bytes", 100.0, "regret",
                                reserved / 100, "driver_ns", ns, "request_count", 10, "hit_share",
                                0.5, "idle_share", 0.25, "driver_calls", 7));
}

static json_t *eight_fits(void)
{
    static const double lean[] = {100, 120, 110, 105, 500, 108, 104, 102};
    json_t *fits = tree_array();
    for (int i = 0; i < 8; i++) {
        const char name[] = {'a', (char)('0' + i), 0};
        const char *kind = i < 6 ? "training" : "data";
        add_fit(fits, name, "lean", kind, lean[i], 10000);
        add_fit(fits, name, "quick", kind, 2 * lean[i], 100);
        add_fit(fits, name, "worse", kind, 3 * lean[i], 200);
        add_fit(fits, name, "broken", kind, i == 3 ? 0 : 100, 100);
    }
    return fits;
}

/* A typical program is not moved by the one with a ratio of 5, which is named; the front has those
 * that no other beats in both. */
static void standings_over_programs(void **state)
{
    struct arena arena = {0};
    json_t *fits = eight_fits();
    const struct standings all = standings_of(fits, NULL, &arena);
    (void)state;
    assert_int_equal(all.program_count, 8);
    assert_int_equal(all.count, 3);
    assert_int_equal(all.left_out_count, 1);
    assert_string_equal(all.left_out[0], "broken (7 of 8)");
    const struct standing *lean = &all.each[0], *quick = &all.each[1], *worse = &all.each[2];
    assert_string_equal(lean->strategy, "lean");
    assert_true(lean->regret.median > 1.05 && lean->regret.median < 1.12);
    assert_true(lean->regret.ci_lo >= 1 && lean->regret.ci_hi > lean->regret.median);
    assert_true(fabs(quick->regret.median / lean->regret.median - 2) < 1e-9);
    assert_string_equal(lean->worst, "a4");
    assert_true(lean->worst_regret == 5);
    assert_true(fabs(lean->capacity.median - 1.1) < 1e-9);
    assert_true(fabs(quick->request_ns.median - 10) < 1e-9);
    assert_true(quick->idle_share == 0.25 && quick->hit_share == 0.5);
    assert_true(quick->driver_calls == 56);
    assert_true(lean->on_front && quick->on_front && !worse->on_front);
    arena_free(&arena);
    json_decref(fits);
}

static void standings_by_kind(void **state)
{
    struct arena arena = {0};
    json_t *fits = eight_fits();
    size_t count;
    const char **kinds = standings_kinds(fits, &count, &arena);
    (void)state;
    assert_int_equal(count, 2);
    assert_string_equal(kinds[1], "data");
    const struct standings data = standings_of(fits, "data", &arena);
    assert_int_equal(data.program_count, 2);
    assert_int_equal(data.count, 4);               /* there the fourth one served all */
    assert_true(isnan(data.each[0].regret.ci_lo)); /* two programs are too few for an interval */
    arena_free(&arena);
    json_decref(fits);
}

/* Without an atlas there are no times, and no front. */
static void standings_without_times(void **state)
{
    struct arena arena = {0};
    json_t *fits = eight_fits(), *fit;
    size_t i;
    (void)state;
    json_array_foreach(fits, i, fit)
    {
        tree_put(fit, "driver_ns", json_null());
    }
    const struct standings all = standings_of(fits, NULL, &arena);
    assert_false(all.has_times);
    assert_true(isnan(all.each[0].request_ns.median) && !all.each[0].on_front);
    const struct standings none = standings_of(NULL, NULL, &arena);
    assert_int_equal(none.count + none.program_count, 0);
    arena_free(&arena);
    json_decref(fits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_numbers),
        cmocka_unit_test(raw_is_fastest),
        cmocka_unit_test(intervals_that_overlap),
        cmocka_unit_test(rounds_are_paired),
        cmocka_unit_test(a_wrong_answer_has_no_time),
        cmocka_unit_test(a_strategy_that_lacks_most),
        cmocka_unit_test(one_round_has_no_interval),
        cmocka_unit_test(several_devices_without_raw),
        cmocka_unit_test(merging_is_compared_with_none),
        cmocka_unit_test(a_named_baseline),
        cmocka_unit_test(only_common_rounds_count),
        cmocka_unit_test(nothing_to_rank),
        cmocka_unit_test(baselines_by_name),
        cmocka_unit_test(counted_and_not_timed),
        cmocka_unit_test(standings_over_programs),
        cmocka_unit_test(standings_by_kind),
        cmocka_unit_test(standings_without_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
