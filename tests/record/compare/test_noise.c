/* The noise floor: what it is measured from, who takes it over, and what it does to a verdict. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/compare/compare.h"
#include "record/compare/noise.h"
#include "record/result/result.h"
#include "base/tree.h"
#include "record/compare/configuration.h"

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
        result_add_round(result, &round);
    }
}

static struct result_draft new_result(unsigned rounds)
{
    struct result_draft result;
    const struct result_command run = {.rounds = rounds};
    struct record_device device = {.id = "host", .api = "host", .name = "a CPU", .used = true};
    struct error error = {0};
    assert_int_equal(result_create(&result, &run, &error), 0);
    result_set_devices(&result, &device, 1);
    return result;
}

/* A round's time: around `level`, by turns a little more and less. */
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
    result_summarise(result.root);
    return result;
}

static const json_t *case_named(const json_t *root, const char *workload)
{
    const json_t *one_case;
    for (size_t i = 0; (one_case = json_array_get(json_object_get(root, "cases"), i)); i++)
        if (strcmp(tree_get_text(json_object_get(one_case, "key"), "workload"), workload) == 0)
            return one_case;
    fail_msg("no case %s", workload);
    return NULL;
}

static void floor_is_the_largest_shift_between_blocks(void **state)
{
    (void)state;
    struct result_draft result = aa_run();
    struct error error = {0};
    assert_int_equal(noise_measure(result.root, &error), 0);
    assert_int_equal(result_validate(result.root, &error), 0);
    const json_t *noise = json_array_get(json_object_get(result.root, "noise"), 0);
    const json_t *wall = json_object_get(json_object_get(noise, "metrics"), "wall_ns");
    const json_t *by_case = json_object_get(wall, "by_case");
    const json_t *quiet = case_named(result.root, "quiet");
    const json_t *restless = case_named(result.root, "restless");
    assert_true(tree_get_number(noise, "rounds") == BLOCK);
    assert_true(tree_get_number(by_case, tree_get_text(quiet, "id")) < 0.0011);
    assert_true(fabs(tree_get_number(by_case, tree_get_text(restless, "id")) - 0.08) < 0.0022);
    /* 95 % of two cases: between them, nearer to the larger. */
    const double device = tree_get_number(wall, "floor");
    assert_true(device > 0.07 && device < 0.08);
    assert_true(noise_floor(result.root, quiet, "wall_ns") == device);
    assert_true(noise_floor(result.root, restless, "wall_ns") > device);
    assert_true(isnan(noise_floor(result.root, quiet, "device_ns"))); /* never known */
    result_free(&result);
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
    result_summarise(result.root);
    assert_int_equal(noise_measure(result.root, &error), 0);
    assert_int_equal(result_validate(result.root, &error), 0);
    const json_t *noise = json_array_get(json_object_get(result.root, "noise"), 0);
    const json_t *wall = json_object_get(json_object_get(noise, "metrics"), "wall_ns");
    const json_t *one = case_named(result.root, "a");
    size_t count;
    struct configuration *configurations = configurations_of(&one, 1, &count);
    const double floor = noise_floor(result.root, configurations[0].key, "wall_ns");
    assert_true(fabs(floor - 0.01) < 0.002);
    assert_true(tree_get_number(wall, "floor") > 0.1);
    assert_int_equal(json_object_size(json_object_get(wall, "by_configuration")), 1);
    json_object_del((json_t *)wall, "by_configuration"); /* as in files before 1.4 */
    assert_true(noise_floor(result.root, configurations[0].key, "wall_ns") ==
                tree_get_number(wall, "floor"));
    configurations_free(configurations, count);
    result_free(&result);
}

static void too_few_rounds_have_no_floor(void **state)
{
    (void)state;
    struct result_draft result = new_result(8);
    double ns[8];
    fill(ns, 8, 1e6);
    add_case(&result, "quiet", ns, 8);
    result_summarise(result.root);
    struct error error = {0};
    assert_int_equal(noise_measure(result.root, &error), ERR_USAGE);
    assert_non_null(strstr(error.text, "12 rounds"));
    assert_null(json_object_get(result.root, "noise"));
    result_free(&result);
}

static void a_floor_is_taken_over_on_the_same_machine_only(void **state)
{
    (void)state;
    struct error error = {0};
    static const char *const other[] = {"", "name", "driver", "machine_id"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        struct result_draft known = aa_run(), candidate = new_result(10);
        assert_int_equal(noise_measure(known.root, &error), 0);
        json_t *noise = json_array_get(json_object_get(known.root, "noise"), 0);
        if (*other[i])
            tree_put(noise, other[i], tree_text("another"));
        assert_int_equal(noise_take(candidate.root, known.root), 0);
        assert_int_equal(json_array_size(json_object_get(candidate.root, "noise")), i == 0);
        /* What is known stays. */
        if (i == 0)
            assert_int_equal(noise_take(candidate.root, known.root), 1);
        result_free(&known);
        result_free(&candidate);
    }
}

static void add_part(json_t *root, const char *at, unsigned rounds)
{
    json_t *part = tree_object();
    tree_put(part, "started_at", tree_text(at));
    tree_put(part, "rounds", tree_count(rounds));
    tree_append(json_object_get(json_object_get(root, "run"), "sessions"), part);
}

/* `order`: one character a round, which run it belongs to. */
static bool alternated(const char *order)
{
    json_t *root[2];
    for (int i = 0; i < 2; i++) {
        json_t *run = tree_object();
        tree_put(run, "sessions", tree_array());
        root[i] = tree_object();
        tree_put(root[i], "run", run);
    }
    for (size_t i = 0; order[i]; i++) {
        char at[64];
        snprintf(at, sizeof at, "2026-01-01T00:00:%02zu.000Z", i);
        add_part(root[order[i] - 'a'], at, 1);
    }
    const bool is = noise_alternated(root[0], root[1]);
    assert_int_equal(noise_alternated(root[1], root[0]), is);
    json_decref(root[0]);
    json_decref(root[1]);
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
    assert_false(noise_alternated(a.root, b.root));
    result_free(&a);
    result_free(&b);
}

/* A case that is 5 % slower, in ten rounds, where the floor is known in the base, the new file or
 * neither, and where the rounds were made in turns. */
static const char *verdict(bool base_knows, bool candidate_knows, bool in_turns)
{
    struct result_draft aa = aa_run(), runs[2] = {new_result(10), new_result(10)};
    struct error error = {0};
    assert_int_equal(noise_measure(aa.root, &error), 0);
    for (int i = 0; i < 2; i++) {
        double ns[10];
        fill(ns, 10, i ? 1.05e6 : 1e6);
        add_case(&runs[i], "restless", ns, 10);
        if (i ? candidate_knows : base_knows)
            noise_take(runs[i].root, aa.root);
        json_array_clear(json_object_get(json_object_get(runs[i].root, "run"), "sessions"));
        for (int p = 0; in_turns && p < 10; p++) {
            char at[64];
            snprintf(at, sizeof at, "2026-01-01T00:00:%02d.000Z", 2 * p + i);
            add_part(runs[i].root, at, 1);
        }
        result_summarise(runs[i].root);
    }
    const struct compare_file base = {runs[0].root, "base"}, candidate = {runs[1].root, "new"};
    const struct compare_options options = {.threshold = 0.02, .gates = gates_default(0.02)};
    json_t *comparison;
    assert_int_equal(compare_results(&base, &candidate, 1, &options, &comparison, &error), 0);
    static char text[32];
    const json_t *row;
    for (size_t i = 0; (row = json_array_get(json_object_get(comparison, "rows"), i)); i++)
        if (strcmp(tree_get_text(row, "metric"), "wall_ns") == 0)
            snprintf(text, sizeof text, "%s", tree_get_text(row, "verdict"));
    json_decref(comparison);
    result_free(&aa);
    result_free(&runs[0]);
    result_free(&runs[1]);
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
