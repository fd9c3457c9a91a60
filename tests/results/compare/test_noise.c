/* The noise floor: what it is measured from, who takes it over, and what it does to a verdict. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/compare/compare.h"
#include "results/compare/noise.h"
#include "results/file/draft.h"
#include "base/tree.h"
#include "tests/base/cmocka.h"

enum { BLOCK = 6 };

/* Rounds in which a case takes `ns[round]`. */
static void add_case(struct result_draft *result, const char *workload, const double *ns,
                     unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct sample sample = {.wall_ns = (uint64_t)ns[i], .device_ns = UNKNOWN_NS};
        struct case_round round = {.round = i,
                                   .status = CASE_ok,
                                   .worst_error = NAN,
                                   .traffic_bytes = NAN,
                                   .sample_count = 1,
                                   .samples = &sample};
        snprintf(round.key.workload, sizeof round.key.workload, "%s", workload);
        strcpy(round.key.dataset, "small");
        strcpy(round.key.merge, "none");
        strcpy(round.key.release, "last-use");
        strcpy(round.key.strategy, "pool");
        strcpy(round.key.device, "host");
        draft_add_round(result, &round);
    }
}

static struct result_draft new_result(unsigned rounds)
{
    struct result_draft result;
    const struct result_command run = {.rounds = rounds};
    struct record_device device = {.id = "host", .api = "host", .name = "a CPU", .used = true};
    struct error error = {0};
    assert_int_equal(draft_create(&result, &run, &error), 0);
    draft_set_devices(&result, &device, 1);
    return result;
}

/* A round's time: a little above `level` in one round, a little below it in the next. */
static void fill(double *ns, unsigned count, double level)
{
    for (unsigned i = 0; i < count; i++)
        ns[i] = level * (1 + 0.001 * (i % 3));
}

/* An A/A run of a quiet case, and of one that is 8 % slower in the third of its four blocks. */
static struct result_draft aa_run(void)
{
    struct result_draft result = new_result(NOISE_BLOCKS * BLOCK);
    double ns[NOISE_BLOCKS * BLOCK];
    fill(ns, NOISE_BLOCKS * BLOCK, 1e6);
    add_case(&result, "quiet", ns, NOISE_BLOCKS * BLOCK);
    fill(ns + 2 * BLOCK, BLOCK, 1.08e6);
    add_case(&result, "restless", ns, NOISE_BLOCKS * BLOCK);
    result_summarise(&result.result);
    return result;
}

static const struct result_case *case_named(const struct result *result, const char *workload)
{
    for (size_t i = 0; i < result->case_count; i++)
        if (strcmp(result->cases[i].key.workload, workload) == 0)
            return &result->cases[i];
    fail_msg("no case %s", workload);
    return NULL;
}

static void floor_is_the_largest_shift_between_blocks(void **state)
{
    (void)state;
    struct result_draft result = aa_run();
    struct error error = {0};
    assert_int_equal(noise_measure(&result.result, &error), 0);
    const struct result_noise *noise = &result.result.noise[0];
    const struct noise_metric *wall = noise_metric_of(noise, "wall_ns");
    const struct result_case *quiet = case_named(&result.result, "quiet");
    const struct result_case *restless = case_named(&result.result, "restless");
    assert_int_equal(noise->rounds, BLOCK);
    assert_int_equal(wall->case_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const bool is_quiet = strcmp(wall->by_case[i].name, quiet->id) == 0;
        assert_true(fabs(wall->by_case[i].value - (is_quiet ? 0 : 0.08)) < 0.0022);
    }
    /* 95 % of two cases: between them, nearer to the larger. */
    const double device = wall->floor;
    assert_true(device > 0.07 && device < 0.08);
    assert_true(noise_floor(&result.result, quiet, "wall_ns") == device);
    assert_true(noise_floor(&result.result, restless, "wall_ns") > device);
    assert_true(isnan(noise_floor(&result.result, quiet, "device_ns"))); /* never known */
    draft_free(&result);
}

/* Four cases that share a drift of 1 % in one block, each with noise of its own: a floor of their
 * own for all of them together, which a comparison of the configuration takes. */
static void all_cases_together_have_a_floor_of_their_own(void **state)
{
    (void)state;
    struct result_draft result = new_result(NOISE_BLOCKS * BLOCK);
    static const char *const names[] = {"a", "b", "c", "d"};
    double ns[NOISE_BLOCKS * BLOCK];
    struct error error = {0};
    for (size_t w = 0; w < 4; w++) {
        fill(ns, NOISE_BLOCKS * BLOCK, 1e6);
        fill(ns + BLOCK, BLOCK, 1.01e6);
        for (size_t r = 0; r < NOISE_BLOCKS * BLOCK; r++)
            ns[r] *= (r + w) % 3 == 0 ? 1 : 1.3; /* a third of the rounds is quiet */
        for (size_t r = BLOCK * w; r < BLOCK * (w + 1); r++)
            ns[r] *= r == BLOCK * w ? 1 : 1.5;
        add_case(&result, names[w], ns, NOISE_BLOCKS * BLOCK);
    }
    result_summarise(&result.result);
    assert_int_equal(noise_measure(&result.result, &error), 0);
    const struct result_noise *noise = &result.result.noise[0];
    const struct noise_metric *wall = noise_metric_of(noise, "wall_ns");
    const struct result_case *one = case_named(&result.result, "a");
    struct arena arena = {0};
    size_t count;
    const struct configuration *of_one = configurations_of(&arena, &one, 1, &count);
    const double floor = noise_floor(&result.result, &of_one->as, "wall_ns");
    assert_true(fabs(floor - 0.01) < 0.002);
    assert_true(wall->floor > 0.1);
    assert_int_equal(wall->configuration_count, 1);
    arena_free(&arena);
    draft_free(&result);
}

static void too_few_rounds_have_no_floor(void **state)
{
    (void)state;
    struct result_draft result = new_result(8);
    double ns[8];
    fill(ns, 8, 1e6);
    add_case(&result, "quiet", ns, 8);
    result_summarise(&result.result);
    struct error error = {0};
    assert_int_equal(noise_measure(&result.result, &error), ERR_USAGE);
    assert_non_null(strstr(error.text, "12 rounds"));
    assert_int_equal(result.result.noise_count, 0);
    draft_free(&result);
}

static void a_floor_is_taken_over_on_the_same_machine_only(void **state)
{
    (void)state;
    struct error error = {0};
    for (size_t i = 0; i < 4; i++) {
        struct result_draft known = aa_run(), candidate = new_result(10);
        assert_int_equal(noise_measure(&known.result, &error), 0);
        struct result_noise *noise = &known.result.noise[0];
        const char **const members[] = {NULL, &noise->name, &noise->driver, &noise->machine_id};
        if (members[i])
            *members[i] = "another";
        assert_int_equal(noise_take(&candidate.result, &known.result), 0);
        assert_int_equal(candidate.result.noise_count, i == 0);
        /* What is known stays. */
        if (i == 0)
            assert_int_equal(noise_take(&candidate.result, &known.result), 1);
        draft_free(&known);
        draft_free(&candidate);
    }
}

/* The i-th session of two runs that take turns, of one round. */
static struct result_session session_at(size_t i, char at[64])
{
    snprintf(at, 64, "2026-01-01T00:00:%02zu.000Z", i);
    return (struct result_session){.started_at = at, .rounds = 1};
}

/* `order`: one character a round, which run it belongs to. */
static bool alternated(const char *order)
{
    struct result_session sessions[2][16];
    struct result results[2] = {{.run.sessions = sessions[0]}, {.run.sessions = sessions[1]}};
    char at[16][64];
    for (size_t i = 0; order[i]; i++) {
        const int run = order[i] - 'a';
        sessions[run][results[run].run.session_count++] = session_at(i, at[i]);
    }
    const bool is = noise_alternated(&results[0], &results[1]);
    assert_int_equal(noise_alternated(&results[1], &results[0]), is);
    return is;
}

static void what_alternated_is_told_by_its_sessions(void **state)
{
    (void)state;
    assert_true(alternated("abababababab"));
    assert_true(alternated("abbaabbaabbaabba"));
    assert_false(alternated("aaaaaabbbbbb"));
    assert_false(alternated("aaabbbaaabbb"));
    assert_false(alternated("ababababaaaa"));
    assert_false(alternated("abbbbb"));
    struct result_draft a = new_result(10), b = new_result(10); /* one part each */
    assert_false(noise_alternated(&a.result, &b.result));
    draft_free(&a);
    draft_free(&b);
}

/* A case that is 5 % slower, in ten rounds, where the floor is known in the base, the new file or
 * neither, and where the rounds were made in turns. */
static const char *verdict(bool base_knows, bool candidate_knows, bool in_turns)
{
    struct result_draft aa = aa_run(), runs[2] = {new_result(10), new_result(10)};
    struct result_session sessions[2][10];
    char at[2][10][64];
    struct error error = {0};
    assert_int_equal(noise_measure(&aa.result, &error), 0);
    for (int i = 0; i < 2; i++) {
        double ns[10];
        fill(ns, 10, i ? 1.05e6 : 1e6);
        add_case(&runs[i], "restless", ns, 10);
        if (i ? candidate_knows : base_knows)
            noise_take(&runs[i].result, &aa.result);
        runs[i].result.run.sessions = sessions[i];
        runs[i].result.run.session_count = in_turns ? 10 : 0;
        for (size_t p = 0; p < 10; p++)
            sessions[i][p] = session_at(2 * p + (size_t)i, at[i][p]);
        result_summarise(&runs[i].result);
    }
    const struct compare_file base = {&runs[0].result, "base"},
                              candidate = {&runs[1].result, "new"};
    const struct compare_options options = {.threshold = 0.02, .gates = gates_default(0.02)};
    json_t *comparison;
    assert_int_equal(compare_results(&base, &candidate, 1, &options, &comparison, &error), 0);
    static char text[32];
    const json_t *row;
    for (size_t i = 0; (row = json_array_get(json_object_get(comparison, "rows"), i)); i++)
        if (strcmp(tree_get_text(row, "metric"), "wall_ns") == 0)
            snprintf(text, sizeof text, "%s", tree_get_text(row, "verdict"));
    json_decref(comparison);
    draft_free(&aa);
    draft_free(&runs[0]);
    draft_free(&runs[1]);
    return text;
}

static void below_the_floor_nothing_is_established(void **state)
{
    (void)state;
    assert_string_equal(verdict(false, false, false), "slower");
    assert_string_equal(verdict(true, false, false), "unsure");
    assert_string_equal(verdict(false, true, false), "unsure");
    assert_string_equal(verdict(true, true, true), "slower");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floor_is_the_largest_shift_between_blocks),
        cmocka_unit_test(all_cases_together_have_a_floor_of_their_own),
        cmocka_unit_test(too_few_rounds_have_no_floor),
        cmocka_unit_test(a_floor_is_taken_over_on_the_same_machine_only),
        cmocka_unit_test(what_alternated_is_told_by_its_sessions),
        cmocka_unit_test(below_the_floor_nothing_is_established),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
