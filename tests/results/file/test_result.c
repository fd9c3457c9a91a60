/* Result files: what is made of rounds, and what is refused when a file is read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "results/file/draft.h"
#include "base/tree.h"
#include "tests/base/cmocka.h"
#include "tests/results/file/experiment_fixture.h"
#include "tests/results/file/record_fixture.h"

static const json_t *find_case(const json_t *root, const char *workload, const char *strategy)
{
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(root, "cases"), i, each)
    {
        const json_t *key = json_object_get(each, "key");
        if (strcmp(tree_get_text(key, "workload"), workload) == 0 &&
            strcmp(tree_get_text(key, "strategy"), strategy) == 0)
            return each;
    }
    fail();
    return NULL;
}

static bool has_times(const json_t *one_case)
{
    bool any = json_object_size(json_object_get(one_case, "stats")) > 0 ||
               json_is_object(json_object_get(one_case, "model"));
    for (size_t i = 0; i < json_array_size(json_object_get(one_case, "rounds")); i++) {
        const json_t *round = json_array_get(json_object_get(one_case, "rounds"), i);
        any |= json_is_object(json_object_get(round, "samples")) ||
               json_is_object(json_object_get(round, "cold_sample")) ||
               json_is_object(json_object_get(round, "model"));
    }
    return any;
}

static void a_case_is_as_bad_as_its_worst_round(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    const json_t *wrong = find_case(result.root, "stencil", "bufalloc");
    const json_t *oom = find_case(result.root, "canny", "pool");
    assert_string_equal(tree_get_text(wrong, "status"), "wrong");
    assert_non_null(strstr(tree_get_text(wrong, "reason"), "instead of"));
    assert_int_equal(json_object_size(json_object_get(wrong, "stats")), 0);
    assert_false(has_times(wrong)); /* its first round alone is wrong */
    assert_string_equal(tree_get_text(oom, "status"), "oom");
    assert_true(has_times(oom));
    size_t counts[CASE_STATUSES];
    result_status_counts(result_tree_read(result.root), counts);
    assert_int_equal(counts[CASE_ok], 6);
    assert_int_equal(counts[CASE_oom], 1);
    assert_int_equal(counts[CASE_wrong], 1);
    result_tree_free(&result);
}

/* As if its program had memory in two spaces, of which one grows from round to round. */
static void spaces_that_vary_are_named(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(1);
    struct case_round round = {.key = {"spaced", "small", "none", "last-use", "raw", "host", ""}};
    round.check = CHECK_REFERENCE;
    struct result_draft draft = result_tree_draft(result.root);
    for (round.round = 0; round.round < 2; round.round++) {
        round.spaces = json_pack("{s:{s:{s:i}, s:{s:i}}}", "warm", "device", "alloc_count", 1,
                                 "pinned", "alloc_count", round.round ? 3 : 2);
        draft_add_round(&draft, &round);
        json_decref(round.spaces);
    }
    result_tree_put(result.root, &draft);
    const json_t *spaced = find_case(result.root, "spaced", "raw");
    const json_t *warning = json_array_get(json_object_get(spaced, "warnings"), 0);
    assert_int_equal(json_array_size(json_object_get(spaced, "warnings")), 1);
    assert_string_equal(tree_get_text(warning, "code"), "not-deterministic");
    assert_string_equal(tree_get_text(warning, "subject"), "spaces");
    assert_non_null(json_object_get(spaced, "spaces"));
    assert_null(json_object_get(json_array_get(json_object_get(spaced, "rounds"), 0), "spaces"));
    result_tree_free(&result);
}

static void counters_that_vary_are_named(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    const json_t *varies = find_case(result.root, "canny", "tagged");
    const json_t *warnings = json_object_get(varies, "warnings");
    assert_int_equal(json_array_size(warnings), 2);
    const json_t *first = json_array_get(warnings, 0);
    assert_string_equal(tree_get_text(first, "code"), "not-deterministic");
    assert_string_equal(tree_get_text(first, "subject"), "cold.peak_reserved_bytes");
    const json_t *cold = json_object_get(json_object_get(varies, "counters"), "cold");
    assert_true(tree_get_number(cold, "peak_reserved_bytes") == 24 << 20);
    const json_t *steady = find_case(result.root, "canny", "raw");
    assert_int_equal(json_array_size(json_object_get(steady, "warnings")), 0);
    result_tree_free(&result);
}

/* The fixture's median sample of round r is ns + r * (ns / 1000) + 1. */
static void stats_are_over_rounds(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    const json_t *raw = find_case(result.root, "canny", "raw");
    const json_t *wall = json_object_get(json_object_get(raw, "stats"), "wall_ns");
    assert_true(tree_get_number(wall, "median") == 800000 + 800 * 2.5 + 1);
    assert_true(tree_get_number(wall, "ci_lo") == 800001);
    assert_true(tree_get_number(wall, "ci_hi") == 804001);
    assert_true(tree_get_number(wall, "ci_level") == 0.96875);
    assert_true(tree_get_number(wall, "samples") == 18);
    assert_true(tree_get_number(wall, "min") == 800000);
    assert_true(tree_get_number(wall, "max") == 804002);
    assert_true(tree_get_number(wall, "cold_median") == 1600000);
    assert_null(json_object_get(json_object_get(raw, "stats"), "device_ns")); /* never known */
    result_tree_free(&result);
}

static void speedups_are_paired_and_averaged(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    const json_t *raw = find_case(result.root, "stencil", "raw");
    const json_t *pool = find_case(result.root, "stencil", "pool");
    const json_t *speedup = json_object_get(pool, "speedup_over_raw");
    assert_string_equal(tree_get_text(speedup, "baseline"), tree_get_text(raw, "id"));
    assert_true(tree_get_number(speedup, "rounds") == 6);
    assert_true(fabs(tree_get_number(speedup, "median") - 3) < 1e-5);
    assert_true(
        json_is_null(json_object_get(find_case(result.root, "canny", "pool"), "speedup_over_raw")));
    size_t i;
    json_t *mean;
    bool found = false;
    json_array_foreach(json_object_get(result.root, "summary"), i, mean)
    {
        if (strcmp(tree_get_text(mean, "strategy"), "tagged") != 0)
            continue;
        found = true;
        assert_true(fabs(tree_get_number(mean, "median") - sqrt(2 * 80.0 / 99)) < 1e-5);
        assert_true(tree_get_number(mean, "cases") == 2);
        assert_true(tree_get_number(mean, "missing") == 0);
    }
    assert_true(found);
    result_tree_free(&result);
}

/* Whatever the order of the rounds, the file has one order. */
static void cases_are_in_the_order_of_their_keys(void **state)
{
    (void)state;
    static const char *const expected[] = {"raw",      "pool", "tagged", "raw",
                                           "bufalloc", "pool", "tagged", "raw"};
    struct result_tree result = record_fixture(1);
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(result.root, "cases"), i, each)
        assert_string_equal(tree_get_text(json_object_get(each, "key"), "strategy"), expected[i]);
    assert_int_equal(i, sizeof expected / sizeof *expected);
    result_tree_free(&result);
}

static void a_file_comes_back_as_it_was(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    struct error error = {0};
    struct text path = {0};
    char folder[] = "/tmp/gamut-test-XXXXXX", command[512];
    json_t *loaded;
    assert_non_null(mkdtemp(folder));
    result_path(result_tree_read(result.root), folder, &path);
    const char *machine = tree_get_text(
        json_object_get(json_object_get(result.root, "context"), "host"), "machine_id");
    assert_memory_equal(path.data + strlen(folder) + 1, machine, 8);
    assert_string_equal(path.data + strlen(folder) + 10,
                        "20260102T030405Z-0123456789ab-dirty.json");
    for (int i = 0; i < 2; i++) { /* new, and over an old one */
        assert_int_equal(result_tree_write(result.root, path.data, &error), 0);
        assert_int_equal(result_tree_load(path.data, &loaded, &error), 0);
        json_object_del(json_object_get(result.root, "run"), "duration_ns");
        json_object_del(json_object_get(loaded, "run"), "duration_ns");
        /* Reals have 12 digits in a file, so texts are compared, not trees. */
        char *a, *b;
        size_t length;
        FILE *out = open_memstream(&a, &length);
        result_print_json(result.root, out, &error);
        fclose(out);
        out = open_memstream(&b, &length);
        result_print_json(loaded, out, &error);
        fclose(out);
        assert_string_equal(a, b);
        free(a);
        free(b);
        json_decref(loaded);
    }
    /* Nothing but the file is left: no temporary one. */
    snprintf(command, sizeof command, "test $(ls %s/* | wc -l) = 1 && rm -r %s", folder, folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(result_tree_write(result.root, "/proc/no/such/place.json", &error), ERR_IO);
    assert_non_null(strstr(error.text, "/proc/no"));
    text_free(&path);
    result_tree_free(&result);
}

static bool count_rooted(void *context, const char *path, const struct result *result)
{
    char **seen = context;
    assert_true(json_is_array(result->fits));
    while (*seen)
        seen++;
    *seen = strdup(strrchr(path, '/') + 1);
    return false;
}

/* Compressed or not: written, loaded, and found among the newest. */
static void files_may_be_compressed(void **state)
{
    (void)state;
    static const char *const names[] = {"20260101T000000Z-a.json", "20260301T000000Z-c.json",
                                        "20260201T000000Z-b.json.gz"};
    struct result_tree result = record_fixture(2);
    struct error error = {0};
    char folder[] = "/tmp/gamut-test-XXXXXX", path[128], command[64];
    char *seen[4] = {NULL};
    assert_non_null(mkdtemp(folder));
    tree_put(result.root, "fits", json_pack("[{s:s, s:s}]", "id", "a", "trace", "t"));
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/machine/%s", folder, names[i]);
        assert_int_equal(result_tree_write(result.root, path, &error), 0);
    }
    json_t *plain, *packed;
    struct text text = {0};
    assert_int_equal(text_read_file(&text, path, &error), 0);
    assert_memory_equal(text.data, "\x1f\x8b", 2);
    text_free(&text);
    assert_int_equal(result_tree_load(path, &packed, &error), 0);
    snprintf(path, sizeof path, "%s/machine/%s", folder, names[0]);
    assert_int_equal(result_tree_load(path, &plain, &error), 0);
    json_object_del(json_object_get(plain, "run"), "duration_ns");
    json_object_del(json_object_get(packed, "run"), "duration_ns");
    assert_true(json_equal(plain, packed));
    json_decref(plain);
    json_decref(packed);

    newest_results(folder, "fits", count_rooted, seen);
    const char *const newest_first[] = {names[1], names[2], names[0]};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(seen[i], newest_first[i]);
        free(seen[i]);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    result_tree_free(&result);
}

static void bad_files_are_refused_with_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *pointer; /* steps of names and positions to a value */
        const char *value;   /* NULL: removed */
        const char *message;
    } cases[] = {
        {"schema/name", "\"other\"", "not a gamut result"},
        {"schema/version", "\"1.10.0\"", "schema.version: \"1.10.0\" is another format than 2.x"},
        {"schema/version", "\"one\"", "not a version"},
        {"schema/version", "\"2.-1.0\"", "not a version"},
        {"schema/version", "\"2.\"", "not a version"},
        {"schema/version", "\"2.2x\"", "not a version"},
        {"run/seed", "\"x\"", "run.seed: expected a count below 2^53, found a text"},
        {"run/seed", NULL, "run.seed: expected a count below 2^53, found nothing"},
        {"context/devices", "{}", "context.devices: expected an array, found an object"},
        {"context/devices/1/name", NULL, "context.devices[1].name"},
        {"metrics/wall_ns/unit", "1", "metrics.wall_ns.unit"},
        {"cases", NULL, "cases: expected an array, found nothing"},
        {"cases/2/status", "\"fine\"", "cases[2].status: \"fine\""},
        {"cases/2/key/merge", NULL, "cases[2].key.merge"},
        {"cases/2/key/merge", "\"reuse\"", "cases[2].id"},
        {"cases/0/counters/cold/hit_count", "1.5", "cases[0].counters.cold.hit_count"},
        {"cases/0/rounds/3/samples/wall_ns/1", "\"fast\"", "cases[0].rounds[3].samples.wall_ns[1]"},
        {"cases/0/rounds/3/status", "\"fine\"",
         "cases[0].rounds[3].status: \"fine\" is none of ok, skipped, oom, timeout, error, wrong"},
        {"cases/0/rounds/3/status", "\"wrong\"",
         "cases[0].status: \"ok\", but a round is \"wrong\""},
        {"cases/0/rounds/3/round", "2", "cases[0].rounds[3].round: expected more than 2, found 2"},
        {"cases/0/rounds/3/round", "-3", "cases[0].rounds[3].round: expected a count below 2^53"},
        {"cases/0/rounds/3/round", "2147483648",
         "cases[0].rounds[3].round: expected a count below 2^20, found 2147483648"},
        {"cases/0/rounds/3/samples/wall_ns/1", "-5", "cases[0].rounds[3].samples.wall_ns[1]"},
        {"cases/0/rounds/3/cold_sample/wall_ns", "-5", "cases[0].rounds[3].cold_sample.wall_ns"},
        {"cases/0/stats/wall_ns/median", "-0.5",
         "cases[0].stats.wall_ns.median: expected a number from 0 up, or null"},
        {"cases/0/counters/warm/hit_count", "-1", "cases[0].counters.warm.hit_count"},
        {"cases/0/traffic_bytes", "-1", "cases[0].traffic_bytes"},
        {"run/rounds", "-1", "run.rounds: expected a count below 2^53, found -1"},
        {"run/status", "\"done\"",
         "run.status: \"done\" is none of complete, partial, interrupted"},
        {"metrics/wall_ns/better", "\"sideways\"",
         "metrics.wall_ns.better: \"sideways\" is none of lower, higher, neither"},
        {"cases", "[]", "summary[0].cases: expected at most 0, the number of cases, found "},
    };
    struct result_tree result = record_fixture(6);
    struct error error = {0};
    assert_int_equal(result_tree_check(result.root, &error), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char steps[128], *rest = steps, *step, *last = NULL;
        json_t *root = json_deep_copy(result.root), *at = root;
        snprintf(steps, sizeof steps, "%s", cases[i].pointer);
        while ((step = strtok_r(rest, "/", &rest))) {
            if (last)
                at = json_is_array(at) ? json_array_get(at, (size_t)atoi(last))
                                       : json_object_get(at, last);
            last = step;
        }
        json_t *value = cases[i].value ? json_loads(cases[i].value, JSON_DECODE_ANY, NULL) : NULL;
        if (json_is_array(at))
            json_array_set_new(at, (size_t)atoi(last), value);
        else if (value)
            tree_put(at, last, value);
        else
            assert_int_equal(json_object_del(at, last), 0);
        assert_int_equal(result_tree_check(root, &error), ERR_PARSE);
        if (!strstr(error.text, cases[i].message))
            fail_msg("%s: \"%s\" does not contain %s", cases[i].pointer, error.text,
                     cases[i].message);
        json_decref(root);
    }
    json_array_append(json_object_get(result.root, "cases"),
                      json_array_get(json_object_get(result.root, "cases"), 0));
    assert_int_equal(result_tree_check(result.root, &error), ERR_PARSE);
    assert_non_null(strstr(error.text, "cases[0] has the same"));
    result_tree_free(&result);
}

static void files_that_are_no_json(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        int code;
    } cases[] = {
        {"{\n\"schema\": {]", ":2:", ERR_PARSE},
        {"{\"a\": 1, \"a\": 2}", "duplicate", ERR_PARSE},
        {"[]", "expected an object", ERR_PARSE},
        {"", ":1:", ERR_PARSE},
    };
    char path[] = "/tmp/gamut-test-XXXXXX";
    struct error error = {0};
    json_t *root;
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(cases[i].text, file);
        fclose(file);
        assert_int_equal(result_tree_load(path, &root, &error), cases[i].code);
        assert_null(root);
        assert_non_null(strstr(error.text, path));
        assert_non_null(strstr(error.text, cases[i].message));
    }
    unlink(path);
    assert_int_equal(result_tree_load(path, &root, &error), ERR_IO);
    assert_non_null(strstr(error.text, path));
}

static void a_seed_that_readers_would_round_is_refused(void **state)
{
    (void)state;
    struct result_draft result;
    struct error error = {0};
    const struct result_command run = {.seed = (uint64_t)1 << 53};
    assert_int_equal(draft_create(&result, &run, &error), ERR_USAGE);
}

static void ids(void **state)
{
    (void)state;
    char a[13], b[13];
    struct case_key key = {"stencil", "small", "none", "last-use", "raw", "host", ""};
    case_id(&key, a);
    /* FNV-1a 64 of "stencil\nsmall\nnone\nlast-use\nraw\nhost\n", computed elsewhere. */
    assert_string_equal(a, "aa6c8c3d2bf5");
    strcpy(key.workload, "stencils");
    strcpy(key.dataset, "mall");
    case_id(&key, b);
    assert_string_not_equal(a, b);
}

/* What may change without the machine changing must not change its id. */
static void the_machine_id_is_stable(void **state)
{
    (void)state;
    const uint64_t gib = (uint64_t)1 << 30;
    struct record_device gpu = {
        .name = "G", .api = "cuda", .kind = "gpu", .memory_bytes = 16 * gib};
    struct record_device again = gpu, other = gpu, cpu = gpu;
    strcpy(again.api, "opencl");
    again.memory_bytes -= gib / 4;
    strcpy(other.name, "H");
    strcpy(cpu.kind, "cpu");
    strcpy(cpu.name, "C");
    const struct record_device sets[][3] = {
        {gpu, again, cpu}, {cpu, again, gpu}, {gpu, other, cpu}};
    char id[9], same[9];
    context_machine_id("C", 64 * gib, &gpu, 1, id);
    assert_int_equal(strlen(id), 8);
    context_machine_id("C", 64 * gib - gib, &gpu, 1, same);
    assert_string_equal(id, same);
    context_machine_id("C", 64 * gib, sets[0], 3, same);
    assert_string_equal(id, same);
    context_machine_id("C", 64 * gib, sets[1], 3, same);
    assert_string_equal(id, same);
    context_machine_id("C", 64 * gib, sets[2], 3, same);
    assert_string_not_equal(id, same);
    context_machine_id("D", 64 * gib, &gpu, 1, same);
    assert_string_not_equal(id, same);
    context_machine_id("C", 96 * gib, &gpu, 1, same);
    assert_string_not_equal(id, same);
}

static void settings_of_a_gpu_are_recorded(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(1);
    const json_t *devices = json_object_get(json_object_get(result.root, "context"), "devices");
    const json_t *settings = json_object_get(json_array_get(devices, 1), "settings");
    assert_true(json_is_null(json_object_get(json_array_get(devices, 0), "settings")));
    assert_int_equal(json_integer_value(json_object_get(settings, "ecc")), 1);
    assert_int_equal(json_integer_value(json_object_get(settings, "mig")), 0);
    assert_int_equal(json_integer_value(json_object_get(settings, "power_limit_mw")), 700000);
    assert_true(json_is_null(json_object_get(settings, "sm_most_mhz")));
    result_tree_free(&result);
}

static void only_allowed_variables_are_recorded(void **state)
{
    (void)state;
    setenv("OMP_NUM_THREADS", "2", 1);
    setenv("SECRET_TOKEN", "x", 1);
    json_t *env = context_env();
    assert_string_equal(tree_get_text(env, "OMP_NUM_THREADS"), "2");
    assert_null(json_object_get(env, "SECRET_TOKEN"));
    assert_null(json_object_get(env, "PATH"));
    json_decref(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_case_is_as_bad_as_its_worst_round),
        cmocka_unit_test(counters_that_vary_are_named),
        cmocka_unit_test(spaces_that_vary_are_named),
        cmocka_unit_test(stats_are_over_rounds),
        cmocka_unit_test(speedups_are_paired_and_averaged),
        cmocka_unit_test(cases_are_in_the_order_of_their_keys),
        cmocka_unit_test(a_file_comes_back_as_it_was),
        cmocka_unit_test(files_may_be_compressed),
        cmocka_unit_test(bad_files_are_refused_with_the_place),
        cmocka_unit_test(files_that_are_no_json),
        cmocka_unit_test(a_seed_that_readers_would_round_is_refused),
        cmocka_unit_test(ids),
        cmocka_unit_test(the_machine_id_is_stable),
        cmocka_unit_test(settings_of_a_gpu_are_recorded),
        cmocka_unit_test(only_allowed_variables_are_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
