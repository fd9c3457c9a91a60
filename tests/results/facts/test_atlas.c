/* What an atlas knows, without a device: fits, costs between points, what calls wait for, and the
 * file it is kept in. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "results/facts/atlas.h"
#include "results/show/table.h"
#include "base/tree.h"
#include "tests/base/cmocka.h"
#include "tests/results/file/record_fixture.h"

static void add(struct atlas_curve *curve, uint64_t bytes, uint64_t live_count, uint64_t ns)
{
    struct atlas_point point = {.bytes = bytes, .live_count = live_count};
    atlas_summarise(&point, &ns, 1);
    atlas_add_point(curve, &point);
}

static void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-6 * fabs(wanted)))
        fail_msg("%.12g is not %.12g", value, wanted);
}

/* ---- points and fits ---- */

static void a_point_is_made_of_measured_values(void **state)
{
    (void)state;
    uint64_t ns[101];
    for (uint64_t i = 0; i < 101; i++)
        ns[i] = 1000 + (i * 37) % 101; /* 1000 to 1100, shuffled */
    struct atlas_point point = {0};
    atlas_summarise(&point, ns, 101);
    assert_int_equal(point.sample_count, 101);
    assert_int_equal(point.min_ns, 1000);
    assert_int_equal(point.p10_ns, 1010);
    assert_int_equal(point.p50_ns, 1050);
    assert_int_equal(point.p90_ns, 1090);
    assert_int_equal(point.p99_ns, 1099);
    assert_int_equal(point.max_ns, 1100);
    uint64_t two[] = {7, 5};
    atlas_summarise(&point, two, 2);
    assert_int_equal(point.p50_ns, 7); /* never 6, which was not measured */
}

static void a_line_is_found_again(void **state)
{
    (void)state;
    struct atlas atlas = {.timer_ns = 40};
    struct atlas_curve *curve = atlas_curve_of(&atlas, "raw", "alloc");
    for (int i = 8; i < 34; i++)
        add(curve, 1ull << i, 0, 45000 + (uint64_t)(0.125 * (double)(1ull << i)));
    add(curve, 256, 100000, 1); /* other conditions: not of the fit */
    atlas_finish_curve(curve);
    assert_int_equal(curve->line_count, 1);
    assert_near(curve->lines[0].a_ns, 45000);
    assert_near(curve->lines[0].b_ns_per_byte, 0.125);
    assert_true(curve->fit_error < 0.001);
    atlas_free(&atlas);
}

/* Small memories are cut from a page, large ones cost a call and their size. */
static void a_change_of_method_has_two_lines(void **state)
{
    (void)state;
    struct atlas atlas = {.timer_ns = 40};
    struct atlas_curve *curve = atlas_curve_of(&atlas, "raw", "alloc");
    for (int i = 8; i < 34; i++) {
        double bytes = (double)(1ull << i);
        add(curve, 1ull << i, 0, (uint64_t)(i < 21 ? 3000 : 45000 + bytes / 8));
    }
    atlas_finish_curve(curve);
    assert_int_equal(curve->line_count, 2);
    assert_int_equal(curve->lines[0].from_bytes, 0);
    assert_int_equal(curve->lines[1].from_bytes, 2 << 20);
    assert_near(curve->lines[0].a_ns, 3000);
    assert_near(curve->lines[1].a_ns, 45000);
    assert_near(curve->lines[1].b_ns_per_byte, 0.125);
    assert_true(curve->fit_error < 0.01);
    struct text fit = {0};
    atlas_fit_text(curve, &fit);
    assert_string_equal(fit.data, "3.00 µs; from 2.00 MiB 45.0 µs + 7.45 GiB/s");
    text_free(&fit);
    double ns = 0;
    assert_true(atlas_cost_ns(&atlas, "raw", "alloc", 1ull << 40, &ns));
    assert_true(fabs(ns / (0.125 * (double)(1ull << 40)) - 1) < 0.01); /* by the second */
    atlas_free(&atlas);
}

/* A step is where all that is larger costs thrice as much as all that is smaller. */
static void a_step_is_for_good(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns[5]; /* at 1, 2, 4, 8 and 16 MiB */
        uint64_t step;
    } rows[] = {
        {{3, 3, 40, 45, 400}, 4}, {{3, 9, 9, 10, 9}, 2},   {{3, 3, 40, 8, 40}, 0},
        {{3, 3, 40, 8, 120}, 16}, {{3, 6, 12, 24, 48}, 0}, {{3, 3, 3, 3, 3}, 0},
        {{30, 30, 3, 30, 30}, 0},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct atlas atlas = {.timer_ns = 0};
        struct atlas_curve *curve = atlas_curve_of(&atlas, "raw", "alloc");
        for (int i = 0; i < 5; i++)
            add(curve, 1ull << (20 + i), 0, rows[r].ns[i]);
        add(curve, 1ull << 20, 1000, 1000); /* other conditions */
        assert_int_equal(atlas_step_bytes(&atlas, "raw", "alloc"), rows[r].step << 20);
        assert_int_equal(atlas_step_bytes(&atlas, "raw", "free"), 0);
        atlas_free(&atlas);
    }
}

static void fits_are_never_negative_and_say_how_far_off_they_are(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns[4]; /* at 1, 2, 4, 8 KiB */
        double a, b, error;
    } cases[] = {
        {{100, 100, 100, 100}, 100, 0, 0},
        {{400, 300, 200, 100}, -1, 0, -1}, /* falls with size: a constant */
        {{1, 8, 64, 512}, 0, -1, -1},      /* steeper than a line: through nought */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct atlas atlas = {0};
        struct atlas_curve *curve = atlas_curve_of(&atlas, "raw", "alloc");
        for (int k = 0; k < 4; k++)
            add(curve, 1024ull << k, 0, cases[i].ns[k]);
        atlas_finish_curve(curve);
        assert_int_equal(curve->line_count, 1);
        assert_true(curve->lines[0].a_ns >= 0 && curve->lines[0].b_ns_per_byte >= 0);
        if (cases[i].a >= 0)
            assert_near(curve->lines[0].a_ns, cases[i].a);
        if (cases[i].b >= 0)
            assert_near(curve->lines[0].b_ns_per_byte + 1, cases[i].b + 1);
        if (cases[i].error >= 0)
            assert_near(curve->fit_error + 1, cases[i].error + 1);
        else
            assert_true(curve->fit_error > 0.3);
        atlas_free(&atlas);
    }
}

static void too_few_points_have_no_fit(void **state)
{
    (void)state;
    struct atlas atlas = {0};
    struct atlas_curve *curve = atlas_curve_of(&atlas, "command", "launch");
    add(curve, 0, 0, 900);
    atlas_finish_curve(curve);
    assert_true(curve->line_count == 0 && isnan(curve->fit_error));
    double ns;
    assert_true(atlas_cost_ns(&atlas, "command", "launch", 0, &ns));
    assert_near(ns, 900);
    atlas_free(&atlas);
}

/* ---- costs ---- */

static void costs_between_and_beyond_points(void **state)
{
    (void)state;
    struct atlas atlas = {0};
    struct atlas_curve *curve = atlas_curve_of(&atlas, "raw", "free");
    struct atlas_point skipped = {.bytes = 1 << 30, .skipped = "does not fit"};
    add(curve, 1 << 16, 0, 16000);
    add(curve, 1 << 12, 0, 1000);
    add(curve, 1 << 14, 0, 4000);
    add(curve, 1 << 13, 1000, 77); /* not with nothing else alive */
    atlas_add_point(curve, &skipped);
    atlas_finish_curve(curve);
    static const struct {
        uint64_t bytes;
        double ns;
    } cases[] = {
        {1 << 12, 1000}, {1 << 14, 4000},  {1 << 13, 2000},
        {1 << 15, 8000}, {1 << 17, 32000}, {1 << 30, 1000.0 * (1 << 18)},
        {1 << 10, 250},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double ns = 0;
        assert_true(atlas_cost_ns(&atlas, "raw", "free", cases[i].bytes, &ns));
        if (!(fabs(ns - cases[i].ns) <= 0.03 * cases[i].ns))
            fail_msg("%llu bytes: %g, not %g", (unsigned long long)cases[i].bytes, ns, cases[i].ns);
    }
    double ns;
    assert_false(atlas_cost_ns(&atlas, "raw", "alloc", 4096, &ns));
    assert_false(atlas_cost_ns(&atlas, "vmm", "free", 4096, &ns));
    atlas_curve_of(&atlas, "raw", "alloc");
    assert_false(atlas_cost_ns(&atlas, "raw", "alloc", 4096, &ns)); /* a curve without a point */
    atlas_free(&atlas);
}

/* However bad the fit, there is no jump where the points end. */
static void costs_go_on_from_the_outermost_points(void **state)
{
    (void)state;
    struct atlas atlas = {0};
    struct atlas_curve *curve = atlas_curve_of(&atlas, "raw", "alloc");
    add(curve, 1024, 0, 5000);
    add(curve, 2048, 0, 100);
    add(curve, 4096, 0, 200);
    add(curve, 8192, 0, 9000);
    atlas_finish_curve(curve);
    assert_true(curve->fit_error > 0.5);
    double below = 0, above = 0;
    assert_true(atlas_cost_ns(&atlas, "raw", "alloc", 1023, &below));
    assert_true(atlas_cost_ns(&atlas, "raw", "alloc", 8193, &above));
    assert_true(fabs(below - 5000) < 50 && fabs(above - 9000) < 50);
    atlas_free(&atlas);
}

/* ---- what a call waits for ---- */

static void probes_are_classified(void **state)
{
    (void)state;
    static const struct {
        double idle, own, other, spin;
        enum atlas_wait waits;
    } cases[] = {
        {45, 46, 44, 5000, ATLAS_WAITS_nothing},
        {45, 5040, 46, 5000, ATLAS_WAITS_own_queue},
        {45, 5040, 5041, 5000, ATLAS_WAITS_device},
        {45, 46, 5041, 5000, ATLAS_WAITS_unknown}, /* for another queue, but not its own? */
        {45, 2000, 46, 5000, ATLAS_WAITS_unknown}, /* neither at once nor until the end */
        {45, 5040, 2000, 5000, ATLAS_WAITS_unknown},
        {9000, 14000, 9100, 5000, ATLAS_WAITS_own_queue}, /* longer than the work in the way */
        {9000, 9100, 9300, 5000, ATLAS_WAITS_nothing},
        {45, NAN, 46, 5000, ATLAS_WAITS_unknown},
        {45, 5040, NAN, 5000, ATLAS_WAITS_unknown}, /* a device of one queue */
        {45, 46, 46, NAN, ATLAS_WAITS_unknown},
        {45, 46, 46, 0, ATLAS_WAITS_unknown},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct atlas_probe probe = {.idle_ns = cases[i].idle,
                                          .own_queue_ns = cases[i].own,
                                          .other_queue_ns = cases[i].other,
                                          .spin_ns = cases[i].spin};
        if (atlas_classify(&probe) != cases[i].waits)
            fail_msg("case %zu: %s, not %s", i, atlas_wait_name(atlas_classify(&probe)),
                     atlas_wait_name(cases[i].waits));
    }
}

static void a_curve_waits_as_its_worst_probe_and_a_size_as_its_nearest(void **state)
{
    (void)state;
    struct atlas atlas = {0};
    struct atlas_curve *curve = atlas_curve_of(&atlas, "raw", "free");
    atlas_add_probe(curve, &(struct atlas_probe){1 << 30, 10, 5010, 5010, 5000, 0});
    atlas_add_probe(curve, &(struct atlas_probe){4096, 10, 10, 10, 5000, 0});
    atlas_finish_curve(curve);
    assert_int_equal(curve->probes[0].bytes, 4096);
    assert_int_equal(curve->waits, ATLAS_WAITS_device);
    assert_int_equal(atlas_waits(&atlas, "raw", "free", 256), ATLAS_WAITS_nothing);
    assert_int_equal(atlas_waits(&atlas, "raw", "free", 1 << 28), ATLAS_WAITS_device);
    assert_int_equal(atlas_waits(&atlas, "raw", "alloc", 256), ATLAS_WAITS_unknown);
    atlas_free(&atlas);
}

/* ---- the file ---- */

/* A device whose calls can return early has probes; the host has none, and no busy prices
 * either. */
static void an_atlas_without_busy_prices_is_idle(void **state)
{
    (void)state;
    struct atlas atlas = {.timer_ns = NAN};
    atlas_curve_of(&atlas, "raw", "alloc");
    assert_false(atlas_is_idle(&atlas));
    atlas_add_probe(atlas_curve_of(&atlas, "command", "sync"), &(struct atlas_probe){.bytes = 0});
    assert_true(atlas_is_idle(&atlas));
    atlas_curve_of(&atlas, "raw", "alloc_busy");
    assert_false(atlas_is_idle(&atlas));
    atlas_free(&atlas);
}

static void a_file_gives_the_same_atlas(void **state)
{
    (void)state;
    struct atlas atlas = atlas_fixture(), again;
    struct error error = {0};
    json_t *json = atlas_to_json(&atlas);
    if (atlas_from_json(json, &again, &error))
        fail_msg("%s", error.text);
    json_t *json_again = atlas_to_json(&again);
    assert_true(json_equal(json, json_again));
    assert_int_equal(again.curve_count, 2);
    assert_int_equal(again.curves[0].point_count, 5);
    assert_int_equal(again.curves[0].probe_count, 2);
    assert_true(isnan(again.curves[0].probes[1].other_queue_ns));
    assert_string_equal(again.curves[0].points[3].skipped, "1 TiB are not free");
    json_decref(json_again);
    json_decref(json);
    atlas_free(&again);
    atlas_free(&atlas);
}

/* The value at a path such as "curves.0.points.1", and a replacement as JSON; NULL: removed. */
static void change(json_t *json, const char *path, const char *value)
{
    char parts[128], *rest = parts;
    snprintf(parts, sizeof parts, "%s", path);
    for (char *part; (part = strsep(&rest, "."));) {
        json_t *child = json_is_array(json) ? json_array_get(json, strtoul(part, NULL, 10))
                                            : json_object_get(json, part);
        if (rest) {
            assert_non_null(child);
            json = child;
            continue;
        }
        json_t *new_value = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
        assert_true(!value || new_value);
        if (json_is_array(json))
            json_array_set_new(json, strtoul(part, NULL, 10), new_value);
        else if (value)
            json_object_set_new(json, part, new_value);
        else
            json_object_del(json, part);
    }
}

static void what_is_no_atlas_is_refused_with_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *path, *value, *message;
    } cases[] = {
        {"device", NULL, "device: expected a text"},
        {"device", "\"\"", "device: the text is empty"},
        {"name", "3", "name: expected a text"},
        {"timer_ns", "-1", "timer_ns: expected a number from 0 up"},
        {"curves", "{}", "curves: expected an array"},
        {"curves.0", "null", "curves[0]: expected an object, found null"},
        {"curves.0.waits", "\"everybody\"",
         "curves[0].waits: \"everybody\" is none of unknown, nothing"},
        {"curves.0.method",
         "\"0123456789012345678901234567890123456789012345678901234567890123456\"",
         "curves[0].method: the text is longer than 63 bytes"},
        {"curves.1.method", "\"raw\"", "curves[1].call: this method and call came before"},
        {"curves.0.fit_error", "\"1\"", "curves[0].fit_error: expected a number"},
        {"curves.0.lines", "{}", "curves[0].lines: expected an array"},
        {"curves.0.lines.0.from_bytes", "1", "lines[0].from_bytes: the first line is from 0"},
        {"curves.0.lines.0.a_ns", "null", "lines[0].a_ns: a line has numbers"},
        {"curves.0.points", NULL, "curves[0].points: expected an array"},
        {"curves.0.points.0.bytes", "-4096", "curves[0].points[0].bytes: expected a count"},
        {"curves.0.points.0.bytes", "4096.5", "curves[0].points[0].bytes: expected a count"},
        {"curves.0.points.0.bytes", "9007199254740992", "expected a count below 2^53"},
        {"curves.0.points.0.sample_count", "4294967296", "expected a count below 2^32"},
        {"curves.0.points.0.p90_ns", "1", "points[0].p90_ns: below the quantile before it"},
        {"curves.0.points.0.p50_ns", "null", "points[0].p50_ns: expected a count"},
        {"curves.0.points.1.bytes", "4096", "points[1].bytes: points are in the order"},
        {"curves.0.points.3.skipped", NULL, "points[3].skipped: a point without samples says why"},
        {"curves.0.probes.0.waits", "\"device\"", "probes[0].waits: does not follow"},
        {"curves.0.probes.1.bytes", "4096", "probes[1].bytes: probes are in the order"},
    };
    struct atlas atlas = atlas_fixture();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct atlas read;
        struct error error = {0};
        json_t *json = atlas_to_json(&atlas);
        change(json, cases[i].path, cases[i].value);
        assert_int_equal(atlas_from_json(json, &read, &error), ERR_PARSE);
        if (!strstr(error.text, cases[i].message))
            fail_msg("%s = %s: \"%s\" instead of \"%s\"", cases[i].path,
                     cases[i].value ? cases[i].value : "nothing", error.text, cases[i].message);
        assert_int_equal(read.curve_count, 0);
        json_decref(json);
    }
    atlas_free(&atlas);
}

/* Any byte changed: refused, or read into an atlas that writes itself as what was read. */
static void damaged_files_are_refused_or_read_in_full(void **state)
{
    (void)state;
    struct atlas atlas = atlas_fixture();
    json_t *json = atlas_to_json(&atlas);
    char *text = json_dumps(json, JSON_COMPACT);
    const size_t length = strlen(text);
    static const char bytes[] = "0129-+.e{}[]\",:nulltrx\\ ";
    struct random random = {7};
    unsigned refused = 0, read_count = 0;
    for (int i = 0; i < 20000; i++) {
        char *damaged = strdup(text);
        for (uint64_t n = 1 + random_below(&random, 3); n > 0; n--)
            damaged[random_below(&random, length)] = bytes[random_below(&random, sizeof bytes - 1)];
        json_t *other = json_loads(damaged, 0, NULL);
        struct atlas read;
        struct error error = {0};
        if (other && atlas_from_json(other, &read, &error) == 0) {
            json_t *again = atlas_to_json(&read);
            struct atlas twice;
            assert_int_equal(atlas_from_json(again, &twice, &error), 0);
            assert_int_equal(twice.curve_count, read.curve_count);
            atlas_free(&twice);
            atlas_free(&read);
            json_decref(again);
            read_count++;
        } else if (other) {
            assert_non_null(strstr(error.text, ": "));
            refused++;
        }
        json_decref(other);
        free(damaged);
    }
    assert_true(refused > 1000 && read_count > 1000);
    free(text);
    json_decref(json);
    atlas_free(&atlas);
}

static void a_result_has_an_atlas_a_device(void **state)
{
    (void)state;
    struct atlas atlas = atlas_fixture(), read;
    struct error error = {0};
    json_t *all = tree_array();
    assert_int_equal(atlas_from_list(NULL, NULL, &read, &error), ERR_NOT_FOUND);
    assert_non_null(strstr(error.text, "gamut atlas"));
    tree_append(all, atlas_to_json(&atlas));
    assert_int_equal(atlas_from_list(all, NULL, &read, &error), 0);
    assert_string_equal(read.name, "H200");
    atlas_free(&read);
    assert_int_equal(atlas_from_list(all, "opencl:1", &read, &error), ERR_NOT_FOUND);
    assert_non_null(strstr(error.text, "opencl:1"));
    strcpy(atlas.device, "opencl:1");
    tree_append(all, atlas_to_json(&atlas));
    assert_int_equal(atlas_from_list(all, NULL, &read, &error), ERR_NOT_FOUND); /* which? */
    assert_int_equal(atlas_from_list(all, "opencl:1", &read, &error), 0);
    atlas_free(&read);
    atlas_free(&atlas);
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_point_is_made_of_measured_values),
        cmocka_unit_test(a_line_is_found_again),
        cmocka_unit_test(a_change_of_method_has_two_lines),
        cmocka_unit_test(a_step_is_for_good),
        cmocka_unit_test(fits_are_never_negative_and_say_how_far_off_they_are),
        cmocka_unit_test(too_few_points_have_no_fit),
        cmocka_unit_test(costs_between_and_beyond_points),
        cmocka_unit_test(costs_go_on_from_the_outermost_points),
        cmocka_unit_test(probes_are_classified),
        cmocka_unit_test(a_curve_waits_as_its_worst_probe_and_a_size_as_its_nearest),
        cmocka_unit_test(an_atlas_without_busy_prices_is_idle),
        cmocka_unit_test(a_file_gives_the_same_atlas),
        cmocka_unit_test(what_is_no_atlas_is_refused_with_the_place),
        cmocka_unit_test(damaged_files_are_refused_or_read_in_full),
        cmocka_unit_test(a_result_has_an_atlas_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
