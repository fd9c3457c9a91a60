/* Who holds what: sites are grouped by their beginnings, and sites of recordings say categories. */

#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "tests/trace/trace_fixture.h"
#include "trace/holders.h"

static void hold(const char *path, struct holders *holders)
{
    struct trace_reader *reader;
    struct trace_event first;
    struct error error = {0};
    assert_int_equal(trace_open(path, &reader, &error), 0);
    if (holders_at_peak(reader, holders, &error))
        fail_msg("%s", error.text);
    assert_int_equal(trace_next(reader, &first, &error), 1);
    assert_int_equal(trace_reader_totals(reader)->events, 1); /* it was led back */
    while (trace_next(reader, &first, &error) == 1)           /* only requests have guessed sites */
        assert_true(first.kind == TRACE_alloc ||
                    !strstr(trace_name_of(reader, first.name), "without Python"));
    trace_close(reader);
}

static void assert_texts(const struct holders *h, const char *categories, const char *sites)
{
    struct text said = {0}, lines = {0};
    assert_string_equal(holders_add_line(&said, h, 0), "holds");
    assert_string_equal(said.data, categories);
    for (unsigned i = 1; holders_add_line(&lines, h, i); i++)
        text_add(&lines, "\n");
    assert_string_equal(lines.data, sites);
    text_free(&said);
    text_free(&lines);
}

static void the_peak_is_grouped_by_the_beginnings_of_sites(void **state)
{
    (void)state;
    static const char log[] = "gamut trace 1\n"
                              "{\"source\":\"\",\"time_unit_ns\":1,\"capacity_bytes\":null,"
                              "\"lost_beginning\":false,\"knows\":[\"frees\",\"sites\"]}\n"
                              "name 1 \"activations: m.py:1 f > a.py:2 g\"\n"
                              "name 2 \"activations: m.py:1 f > b.py:3 h\"\n"
                              "name 3 \"gradients?: m.py:1 f\"\n"
                              "name 4 \"optimizer's state: m.py:5 f\"\n"
                              "name 5 \"cuda: a name > with a colon\"\n"
                              "name 6 \"activationsx: none\"\n"
                              "queue 0 \"0\"\n"
                              "alloc b1 4000 q0 name=3\n"
                              "free b1 q0\n"
                              "alloc b2 1000 q0 name=1\n"
                              "alloc b3 2000 q0 name=2\n"
                              "alloc b4 500 q0 name=3\n"
                              "alloc b5 400 q0 name=4\n"
                              "alloc b6 300 q0 name=5\n"
                              "alloc b7 200 q0 name=6\n"
                              "alloc b8 100 q0\n"
                              "alloc b9 1 q0 name=1\n"
                              "alloc b10 1 q0 name=1\n"
                              "free b9 q0\n"
                              "free b10 q0\n"
                              "alloc b11 4 q0 name=4\n"
                              "free b2 q0\n"
                              "alloc b12 1000 q0 name=4\n";
    struct holders h = {0};
    import_good("peak", log);
    hold(trace_path("peak.trace"), &h);
    assert_int_equal(h.event, 14);
    assert_int_equal(h.bytes, 4504);
    assert_texts(&h,
                 "activations 2.93 KiB (67 %), not known 600 B (13 %), gradients? 500 B (11 %), "
                 "optimizer's state 404 B (9 %); ? marks a guess",
                 "m.py:1 f (activations): 2.93 KiB in 2 blocks\n"
                 "m.py:1 f (gradients?): 500 B in 1 block\n"
                 "m.py:5 f (optimizer's state): 404 B in 2 blocks\n"
                 "cuda: a name: 300 B in 1 block\n"
                 "activationsx: none: 200 B in 1 block\n"
                 "1 other site: 100 B in 1 block\n");
    assert_string_equal(h.items[5].site, "no call stack");
    assert_int_equal(h.items[0].largest_bytes, 2000);
    json_t *json = holders_to_json(&h);
    const json_t *sites = json_object_get(json, "sites");
    assert_int_equal(json_array_size(sites), 6);
    assert_true(json_is_null(json_object_get(json_array_get(sites, 3), "category")));
    json_decref(json);
    holders_free(&h);
}

/* What is less than a thousandth is left out, and the rest is told once. */
static void small_holders_are_left_out_of_texts(void **state)
{
    (void)state;
    static const char most[] = "activations: m.py:1 f", *const small[] = {"a", "b", "c", "d"};
    struct holders h = {0};
    holders_add(&h, most, 0, 100000);
    for (unsigned i = 0; i < 4; i++)
        holders_add(&h, small[i], 0, 50);
    holders_end(&h);
    assert_texts(&h, "activations 97.7 KiB (100 %), not known 200 B (0.2 %)",
                 "m.py:1 f (activations): 97.7 KiB in 1 block\n4 other sites: 200 B in 4 blocks\n");
    holders_free(&h);
    for (unsigned i = 0; i < 2; i++)
        holders_add(&h, i ? small[0] : most, 0, i ? 1 : 100000);
    holders_end(&h);
    assert_texts(&h, "activations 97.7 KiB (100 %)",
                 "m.py:1 f (activations): 97.7 KiB in 1 block\n");
    holders_free(&h);
    holders_add(&h, "lib.so+0x10", 0, 1024);
    holders_end(&h);
    assert_texts(&h, "1.00 KiB; the sites say no category", "lib.so+0x10: 1.00 KiB in 1 block\n");
    holders_free(&h);
}

/* Recordings of PyTorch: with frames of C++, and with frames of Python only, from a random event
 * on. */
static void recordings_say_who_holds_what(void **state)
{
    (void)state;
    static const struct {
        const char *file, *name, *categories, *sites;
    } logs[] = {
        {"cudnn/conv3d.snapshot.pickle.gz", "conv3d.trace",
         "activations 150 MiB (40 %), cuDNN workspaces 116 MiB (31 %), gradients 103 MiB (28 %), "
         "not known 3.13 MiB (0.84 %)",
         "extra.py:16 conv3d (activations): 150 MiB in 2 blocks\n"
         "ConvolutionBackward0 (cuDNN workspaces): 116 MiB in 1 block\n"
         "ConvolutionBackward0 (gradients): 100 MiB in 2 blocks\n"
         "extra.py:16 conv3d: 3.13 MiB in 2 blocks\n"
         "PowBackward0 (gradients): 3.13 MiB in 1 block\n"},
        {"midrun/seed1/gpt.collect_split.pickle.gz", "gpt.trace",
         "activations 648 MiB (55 %), not known 303 MiB (26 %), gradients? 223 MiB (19 %); "
         "? marks a guess",
         "midrun.py:70 loss_of (activations): 648 MiB in 71 blocks\n"
         "before the recording: 303 MiB in 156 blocks\n"
         "a thread without Python (gradients?): 223 MiB in 2 blocks\n"},
        {"midrun/seed1/embeddings.full.pickle.gz", "embeddings.trace",
         "gradients? 1.42 GiB (68 %), not known 653 MiB (30 %), activations 46.8 MiB (2.2 %); "
         "? marks a guess",
         "a thread without Python (gradients?): 1.42 GiB in 20 blocks\n"
         "before the recording: 653 MiB in 19 blocks\n"
         "midrun.py:292 forward (activations): 46.8 MiB in 15 blocks\n"},
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        char path[256];
        struct import_report report;
        struct error error = {0};
        struct holders h = {0};
        snprintf(path, sizeof path, GAMUT_ROOT "/tests/traces/pytorch/%s", logs[i].file);
        assert_int_equal(import_log(path, NULL, trace_path(logs[i].name), true, &report, &error),
                         0);
        import_report_free(&report);
        hold(trace_path(logs[i].name), &h);
        assert_texts(&h, logs[i].categories, logs[i].sites);
        holders_free(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_is_grouped_by_the_beginnings_of_sites),
        cmocka_unit_test(small_holders_are_left_out_of_texts),
        cmocka_unit_test(recordings_say_who_holds_what),
    };
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
