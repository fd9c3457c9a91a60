/* What files may differ in: which facts drop cases, which leave times out, which are noted
 * alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "tests/base/cmocka.h"
#include "tests/results/compare/compare_fixture.h"

/* Puts a fact into a part of a result: "host", "tool", "device", "settings" or "case" (canny's). */
static void put_fact(json_t *root, const char *part, const char *member, json_t *value)
{
    json_t *context = json_object_get(root, "context"), *one_case;
    json_t *device = json_array_get(json_object_get(context, "devices"), 0);
    size_t i;
    if (strcmp(part, "settings") == 0 && !json_is_object(json_object_get(device, part)))
        tree_put(device, part, tree_object());
    if (strcmp(part, "case") == 0)
        json_array_foreach(json_object_get(root, "cases"), i, one_case)
        {
            if (strcmp(tree_get_text(json_object_get(one_case, "key"), "workload"), "canny") == 0)
                tree_put(one_case, member, json_incref(value));
        }
    else
        tree_put(strcmp(part, "device") == 0     ? device
                 : strcmp(part, "settings") == 0 ? json_object_get(device, part)
                                                 : json_object_get(context, part),
                 member, json_incref(value));
    json_decref(value);
}

/* A value of the type that the member has. */
static json_t *value_of(const char *member, unsigned number)
{
    static const char *const texts[] = {"kernel",     "cflags", "OMP_NUM_THREADS", "driver",
                                        "machine_id", "build",  "program_digest",  "inputs_digest"};
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(member, texts[i]) == 0)
            return tree_text(text);
    return strcmp(member, "can_split") == 0 ? json_boolean(number % 2) : tree_count(number);
}

static json_t *compare_with(const char *part, const char *member, json_t *before, json_t *after,
                            bool force)
{
    struct compare_options options = default_options();
    json_t *base = compare_fixture(&(struct spec){0});
    json_t *candidate = compare_fixture(&(struct spec){.reserved_bytes = 1 << 20});
    options.force = force;
    put_fact(base, part, member, before);
    put_fact(candidate, part, member, after);
    return compare_roots(base, candidate, &options);
}

static const json_t *difference_of(const json_t *comparison, const char *member)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(comparison, "context_diff"), i, one)
    {
        const char *end = strrchr(tree_get_text(one, "subject"), ' ');
        if (end && strcmp(end + 1, member) == 0)
            return one;
    }
    return NULL;
}

static bool has_note(const json_t *comparison, const char *words)
{
    size_t i;
    json_t *note;
    json_array_foreach(json_object_get(comparison, "notes"), i, note)
    {
        if (strstr(json_string_value(note), words))
            return true;
    }
    return false;
}

static bool has_row(const json_t *comparison, const char *workload, const char *metric)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(comparison, "rows"), i, row)
    {
        if (strcmp(tree_get_text(row, "workload"), workload) == 0 &&
            strcmp(tree_get_text(row, "metric"), metric) == 0)
            return true;
    }
    return false;
}

/* In every line canny has fewer bytes and the same time; the fact differs. */
static void each_fact_matters_for_what_it_says(void **state)
{
    (void)state;
    static const struct {
        const char *part, *member, *matters;
        size_t pairs, dropped;
        bool has_bytes, has_time; /* are they compared? */
    } table[] = {
        {"device", "memory_bytes", "nothing", 2, 0, true, true},
        {"device", "memory_free_start_bytes", "nothing", 2, 0, true, true},
        {"device", "max_alloc_bytes", "nothing", 2, 0, true, true},
        {"device", "copy_bytes_per_second", "nothing", 2, 0, true, true},
        {"settings", "persistence", "nothing", 2, 0, true, true},
        {"host", "memory_bytes", "nothing", 2, 0, true, true},
        {"host", "memory_available_bytes", "nothing", 2, 0, true, true},
        {"host", "memory_limit_bytes", "nothing", 2, 0, true, true},
        {"host", "load1", "nothing", 2, 0, true, true},
        {"host", "kernel", "nothing", 2, 0, true, true},
        {"tool", "cflags", "nothing", 2, 0, true, true},
        {"env", "OMP_NUM_THREADS", "nothing", 2, 0, true, true},
        {"device", "driver", "times", 2, 0, true, false},
        {"device", "compute_units", "times", 2, 0, true, false},
        {"settings", "sm_application_mhz", "times", 2, 0, true, false},
        {"host", "machine_id", "times", 2, 0, true, false},
        {"host", "cpus", "times", 2, 0, true, false},
        {"host", "cpu_quota", "times", 2, 0, true, false},
        {"tool", "build", "times", 2, 0, true, false},
        {"case", "program_digest", "everything", 1, 1, false, false},
        {"case", "inputs_digest", "everything", 1, 1, false, false},
        {"case", "traffic_bytes", "everything", 1, 1, false, false},
        {"device", "alignment_bytes", "everything", 0, 2, false, false},
        {"device", "can_split", "everything", 0, 2, false, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *member = table[i].member;
        json_t *comparison = compare_with(table[i].part, member, value_of(member, 1000),
                                          value_of(member, 1001), false);
        const json_t *difference = difference_of(comparison, member);
        if (strcmp(tree_get_text(difference, "matters"), table[i].matters) != 0)
            fail_msg("%s matters for '%s'", member, tree_get_text(difference, "matters"));
        if (tree_get_number(comparison, "pairs") != (double)table[i].pairs ||
            tree_get_number(comparison, "dropped") != (double)table[i].dropped)
            fail_msg("%s: %.0f pairs, %.0f dropped", member, tree_get_number(comparison, "pairs"),
                     tree_get_number(comparison, "dropped"));
        if (has_row(comparison, "canny", "peak_reserved_bytes") != table[i].has_bytes ||
            has_row(comparison, "canny", "wall_ns") != table[i].has_time)
            fail_msg("%s: the wrong rows", member);
        if (has_note(comparison, "--force-compare") == (strcmp(table[i].matters, "nothing") == 0))
            fail_msg("%s: --force-compare is named where it helps, and nowhere else", member);
        json_decref(comparison);

        comparison = compare_with(table[i].part, member, value_of(member, 1000),
                                  value_of(member, 1001), true);
        if (!has_row(comparison, "canny", "peak_reserved_bytes") ||
            !has_row(comparison, "canny", "wall_ns"))
            fail_msg("%s: not all is compared by force", member);
        json_decref(comparison);

        if (strcmp(member, "machine_id") == 0 || strcmp(member, "can_split") == 0)
            continue; /* these are always known */
        comparison =
            compare_with(table[i].part, member, json_null(), value_of(member, 1001), false);
        if (strcmp(table[i].part, "env") != 0 && difference_of(comparison, member))
            fail_msg("%s: what is unknown is no difference", member);
        json_decref(comparison);
    }
}

static void half_the_memory_is_worth_a_sentence(void **state)
{
    (void)state;
    static const struct {
        uint64_t before, after;
        const char *note; /* NULL: none */
    } table[] = {
        {6134394880, 8684531712, NULL}, /* PoCL, minutes apart */
        {16ull << 30, 8ull << 30, "device cuda:0 has 0.5 times the memory"},
        {8ull << 30, 24ull << 30, "device cuda:0 has 3 times the memory"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        json_t *comparison = compare_with("device", "memory_bytes", tree_count(table[i].before),
                                          tree_count(table[i].after), false);
        assert_int_equal(has_note(comparison, table[i].note ? table[i].note : "times the memory"),
                         table[i].note != NULL);
        assert_int_equal(tree_get_number(comparison, "times_left_out"), 0);
        json_decref(comparison);
    }
}

/* What matters for nothing is named in one line. */
static void what_is_noted_is_named(void **state)
{
    (void)state;
    json_t *comparison =
        compare_with("host", "load1", tree_number(0.5055), tree_number(11.25), false);
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(compare_print(comparison, TABLE_TEXT, COMPARE_SHOW_CHANGED, out, NULL), 0);
    fclose(out);
    assert_non_null(strstr(text, "\ndiffers, and matters for nothing: host load1\n"));
    free(text);
    json_decref(comparison);
}

/* A few KiB more can round to another id of the machine. */
static void the_id_of_a_machine_rounds(void **state)
{
    (void)state;
    static const struct {
        const char *cpu;
        uint64_t memory_bytes;
        bool has_time;
    } table[] = {
        {"A CPU", (22ull << 30) + (16 << 10), true},
        {"A CPU", 44ull << 30, false},
        {"another CPU", (22ull << 30) + (16 << 10), false},
        {"A CPU", 22ull << 30, false}, /* with another GPU */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct compare_options options = default_options();
        json_t *roots[2];
        for (int r = 0; r < 2; r++) {
            roots[r] = compare_fixture(&(struct spec){0});
            put_fact(roots[r], "host", "machine_id", tree_text(r ? "deadbeef" : "97aaa1d1"));
            put_fact(roots[r], "host", "cpu", tree_text(r ? table[i].cpu : "A CPU"));
            put_fact(roots[r], "host", "memory_bytes",
                     tree_count(r ? table[i].memory_bytes : 22ull << 30));
        }
        json_t *comparison = compare_roots(roots[0], roots[1], &options);
        assert_int_equal(has_row(comparison, "canny", "wall_ns"), table[i].has_time);
        json_decref(comparison);
    }
}

/* Another driver of one device says nothing about the times on another one. */
static void devices_are_compared_one_by_one(void **state)
{
    (void)state;
    const struct compare_options options = default_options();
    json_t *roots[2];
    for (int r = 0; r < 2; r++) {
        roots[r] = compare_fixture(&(struct spec){0});
        json_t *devices = json_object_get(json_object_get(roots[r], "context"), "devices");
        json_t *other = json_deep_copy(json_array_get(devices, 0)), *one_case;
        size_t i;
        tree_put(other, "id", tree_text("opencl:0"));
        tree_put(other, "driver", tree_text(r ? "new" : "old"));
        tree_append(devices, other);
        json_array_foreach(json_object_get(roots[r], "cases"), i, one_case)
        {
            json_t *key = json_object_get(one_case, "key");
            if (strcmp(tree_get_text(key, "workload"), "fft") == 0)
                tree_put(key, "device", tree_text("opencl:0"));
        }
    }
    json_t *comparison = compare_roots(roots[0], roots[1], &options);
    assert_true(has_row(comparison, "canny", "wall_ns"));
    assert_false(has_row(comparison, "fft", "wall_ns"));
    assert_string_equal(tree_get_text(comparison, "verdict"), "unsure");
    assert_string_equal(tree_get_text(comparison, "sentence"),
                        "no regression in what was compared; 1 gated time left out");
    json_decref(comparison);
}

/* Every format names the case that is dropped, why, and how many there are. */
static void dropped_cases_are_named(void **state)
{
    (void)state;
    static const struct {
        enum table_format format;
        const char *words[3];
    } table[] = {
        {TABLE_TEXT,
         {"canny", "? dropped (another program)",
          "unsure: no regression in what was compared; 1 of 2 cases dropped"}},
        {TABLE_MARKDOWN,
         {"| canny |", "? dropped (another program)",
          "**unsure**: no regression in what was compared; 1 of 2 cases dropped"}},
        {TABLE_CSV, {",canny,small,", ",dropped,none,true,false,another program,", ",ok,ok,"}},
        {TABLE_JSON,
         {"\"verdict\":\"dropped\"", "\"reason\":\"another program\"", "\"dropped\": 1,"}},
    };
    json_t *comparison =
        compare_with("case", "program_digest", tree_text("aa"), tree_text("bb"), false);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        assert_int_equal(
            compare_print(comparison, table[i].format, COMPARE_SHOW_CHANGED, out, NULL), 0);
        fclose(out);
        for (size_t w = 0; w < 3; w++)
            if (!strstr(text, table[i].words[w]))
                fail_msg("'%s' is missing in\n%s", table[i].words[w], text);
        free(text);
    }
    json_decref(comparison);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fact_matters_for_what_it_says),
        cmocka_unit_test(half_the_memory_is_worth_a_sentence),
        cmocka_unit_test(what_is_noted_is_named),
        cmocka_unit_test(the_id_of_a_machine_rounds),
        cmocka_unit_test(devices_are_compared_one_by_one),
        cmocka_unit_test(dropped_cases_are_named),
    };
    return cmocka_run_group_tests_name("context_diff", tests, NULL, NULL);
}
