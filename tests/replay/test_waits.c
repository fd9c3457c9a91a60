/* Waits of traces that are written by hand, with exact figures. */
#include <stdlib.h>
#include <string.h>

#include "replay/waits.h"
#include "tests/base/cmocka.h"
#include "tests/trace/trace_fixture.h"

#define HEAD(more)                                                                                 \
    "gamut trace "                                                                                 \
    "1\n{\"source\":\"test\",\"time_unit_ns\":1,\"capacity_bytes\":null,\"lost_beginning\":false," \
    "\"knows\":[\"times\",\"frees\","                                                              \
    "\"done\",\"queues\",\"uses\"" more "]}\n"
#define ENDS HEAD(",\"device_times\",\"ends\"")

static void read_text(const char *text, struct waits *waits)
{
    struct trace_reader *reader;
    struct error error = {0};
    import_good("waits", text);
    assert_int_equal(trace_open(trace_path("waits.trace"), &reader, &error), 0);
    if (waits_read(reader, waits, &error))
        fail_msg("%s", error.text);
    trace_close(reader);
}

struct expected {
    uint64_t calls, waited, unknown, ns, longest_ns;
};

static void is_sum(const struct waits *waits, enum wait_kind kind, struct expected expected)
{
    const struct wait_sum *sum = &waits->kinds[kind];
    if (sum->calls != expected.calls || sum->waited != expected.waited ||
        sum->unknown != expected.unknown || sum->ns != expected.ns ||
        sum->longest_ns != expected.longest_ns)
        fail_msg("%s: %zu calls, %zu waited, %zu unknown, %zu ns, longest %zu",
                 wait_kind_title(kind), (size_t)sum->calls, (size_t)sum->waited,
                 (size_t)sum->unknown, (size_t)sum->ns, (size_t)sum->longest_ns);
}

static void by_the_ends_of_commands(void **state)
{
    (void)state;
    struct waits w;
    read_text(ENDS "name 1 \"k\"\nname 2 \"site\"\n"
                   "alloc b1 1024 q0 @100 call=50 name=2\n"
                   "launch q0 @200 call=10 name=1 ended=1300 uses=b1rw\n"
                   /* Blocks until the kernel has ended; its own work of 150 ns is no wait. */
                   "map 64 q0 @300 call=1200 ended=1450 uses=b1r\n"
                   "wait q0 @300\n"
                   /* Does not block; the wait behind it does. */
                   "launch q0 @2000 call=10 name=1 ended=5000 uses=b1rw\n"
                   "map 64 q0 @3000 call=20 ended=5100 uses=b1r\n"
                   "wait q0 @3100 call=2100\n"
                   /* When it begins, nothing is left to wait for. */
                   "read 64 q0 @5500 call=500 ended=5900 uses=b1r\n"
                   "wait q0 @5500\n"
                   /* A wait for the first of two commands. */
                   "launch q0 @6100 call=10 name=1 ended=6500 uses=b1rw\n"
                   "launch q0 @6200 call=10 name=1 ended=9500 uses=b1rw\n"
                   "wait q0 @6300 call=210 behind=1\n"
                   /* A free that waits for both. */
                   "free b1 q0 @7000 call=3000\n"
                   "done b1 q0 @7000\n",
              &w);
    assert_true(w.by_ends);
    assert_int_equal(w.duration_ns, 10000 - 50);
    is_sum(&w, WAIT_map, (struct expected){1, 1, 0, 1000, 1000});
    is_sum(&w, WAIT_wait, (struct expected){2, 2, 0, 2000 + 200, 2000});
    is_sum(&w, WAIT_read, (struct expected){1, 0, 0, 0, 0});
    is_sum(&w, WAIT_free, (struct expected){1, 1, 0, 2500, 2500});
    is_sum(&w, WAIT_alloc, (struct expected){1, 0, 0, 0, 0});
    is_sum(&w, WAIT_first_launch, (struct expected){1, 0, 0, 0, 0});
    is_sum(&w, WAIT_command, (struct expected){4, 0, 0, 0, 0});
    assert_int_equal(waits_sum(&w, true).ns, 3500);
    assert_int_equal(waits_sum(&w, false).ns, 2200);
    assert_int_equal(w.place_count, 4);
    assert_int_equal(w.places[0].kind, WAIT_free);
    assert_string_equal(w.places[0].at, "site");
    assert_string_equal(w.places[0].last, "k");
    assert_int_equal(w.places[1].kind, WAIT_wait);
    assert_string_equal(w.places[1].last, "map");
    assert_null(w.places[1].at);
    waits_free(&w);
}

/* What such calls take while the device is idle is no wait, and neither is what ends after the
 * call. */
static void a_call_is_not_blamed_for_its_own_time(void **state)
{
    (void)state;
    struct waits w;
    read_text(ENDS "name 1 \"k\"\n"
                   "alloc b1 1024 q0 @100 call=40\n"
                   "alloc b2 1024 q0 @200 call=40\n"
                   "launch q0 @300 call=10 name=1 ended=1000 uses=b1rw\n"
                   "launch q0 @310 call=10 name=1 ended=9000 uses=b1rw\n"
                   /* 60 ns, in which the first kernel ends after 50: not more than 20. */
                   "alloc b3 1024 q0 @1010 call=60\n"
                   /* 10 ns longer than usual, but nothing ended within. */
                   "alloc b4 1024 q0 @1100 call=50\n"
                   "alloc b5 1024 q0 @9500 call=40\n",
              &w);
    is_sum(&w, WAIT_alloc, (struct expected){5, 1, 0, 20, 20});
    is_sum(&w, WAIT_command, (struct expected){1, 0, 0, 0, 0});
    waits_free(&w);
}

static void several_queues(void **state)
{
    (void)state;
    struct waits w;
    read_text(ENDS "name 1 \"slow\"\nname 2 \"quick\"\nqueue 0 \"0\"\nqueue 1 \"1\"\n"
                   "alloc b1 1024 q0 @10 call=5\n"
                   "launch q0 @100 call=10 name=1 ended=5000 uses=b1rw\n"
                   "launch q1 @200 call=10 name=2 ended=600\n"
                   /* One call for two queues. */
                   "wait q1 @300 call=4800\nwait q0 @300\n"
                   "launch q0 @6000 call=10 name=1 ended=8000 uses=b1rw\n"
                   /* A queue that was told to wait for another. */
                   "order q1 @6100 other=0\n"
                   "wait q1 @6200 call=1900\n"
                   /* The end of a command is unknown, and so is the wait for it. */
                   "launch q1 @9000 call=10 name=2\n"
                   "wait q1 @9100 call=300\n",
              &w);
    is_sum(&w, WAIT_wait, (struct expected){3, 2, 1, 4700 + 1800, 4700});
    assert_int_equal(w.places[0].sum.longest_ns, 4700);
    assert_string_equal(w.places[0].last, "slow");
    waits_free(&w);
}

/* A command without an end may have ended within any call until the host has waited for it, or
 * until a command after it has ended. */
static void ends_that_were_lost(void **state)
{
    (void)state;
    struct waits w;
    read_text(ENDS "name 1 \"k\"\nqueue 0 \"0\"\nqueue 1 \"1\"\n"
                   "alloc b1 1024 q0 @10 call=5\n"
                   "alloc b2 1024 q0 @20 call=5\n"
                   "alloc b3 1024 q0 @30 call=5\n"
                   "alloc b4 1024 q0 @40 call=5\n"
                   "launch q0 @100 call=10 name=1 ended=1100\n"
                   "launch q0 @120 call=10 name=1\n"
                   "free b1 q0 @200 call=300\ndone b1 q0 @200\n" /* the first one runs */
                   "free b2 q0 @900 call=600\ndone b2 q0 @900\n" /* the second may end within */
                   "order q1 @1600 other=0\n"
                   "wait q1 @1700 call=100\n"                    /* for that one */
                   "launch q0 @2000 call=10 name=1 ended=3000\n" /* and both before it */
                   "write 0 q0 @2100 call=10\n"                  /* has no end to lose */
                   "free b3 q0 @2200 call=1000\ndone b3 q0 @2200\n"
                   "launch q0 @4000 call=10 name=1\n"
                   "wait q0 @4100 call=100\n"
                   "free b4 q0 @5000 call=300\ndone b4 q0 @5000\n",
              &w);
    is_sum(&w, WAIT_free, (struct expected){4, 1, 1, 700, 700});
    is_sum(&w, WAIT_wait, (struct expected){2, 0, 2, 0, 0});
    assert_int_equal(w.commands, 5);
    assert_int_equal(w.without_end, 2);
    json_t *json = waits_to_json(&w, 1);
    assert_int_equal(json_integer_value(json_object_get(json, "without_end")), 2);
    json_decref(json);
    waits_free(&w);
}

static void bounds_without_the_ends(void **state)
{
    (void)state;
    struct waits w;
    read_text(HEAD("") "name 1 \"k\"\n"
                       "alloc b1 1024 q0 @10 call=5\n"
                       "alloc b2 1000 q0 @20 call=9\n"
                       "alloc b3 1000 q0 @40 call=7\n"
                       "read 64 q0 @90 call=30 uses=b1r\nwait q0 @90\n" /* idle: 30 */
                       "launch q0 @200 call=10 name=1 uses=b1rw\n"
                       "alloc b4 900 q0 @300 call=27\n" /* 1000 bytes take 7 or 9 */
                       "read 100 q0 @400 call=1030 uses=b1r\nwait q0 @400\n"
                       "free b1 q0 @2000 call=500\ndone b1 q0 @2000\n" /* nothing to wait for */
                       "launch q0 @3000 call=10 name=1 uses=b2rw\n"
                       "free b2 q0 @4000\ndone b2 q0 @4000\n" /* of unknown duration */
                       "wait q0 @5000 call=70\n",             /* no other to compare with */
              &w);
    assert_false(w.by_ends);
    is_sum(&w, WAIT_alloc, (struct expected){4, 1, 0, 20, 20});
    is_sum(&w, WAIT_read, (struct expected){2, 1, 0, 1000, 1000});
    is_sum(&w, WAIT_free, (struct expected){2, 0, 1, 0, 0});
    is_sum(&w, WAIT_wait, (struct expected){1, 1, 0, 70, 70});
    is_sum(&w, WAIT_first_use, (struct expected){1, 0, 0, 0, 0});
    json_t *json = waits_to_json(&w, 1), *kind = json_object_get(json, "kinds");
    assert_string_equal(json_string_value(json_object_get(json, "by")), "bounds");
    assert_int_equal(json_array_size(json_object_get(json, "places")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(kind, "free"), "unknown")),
                     1);
    json_decref(json);
    waits_free(&w);
}

static const char loop[] =
    ENDS "name 1 \"k\"\n"
         "alloc b1 4096 q0 @100 call=50\n"
         "launch q0 @200 call=10 name=1 ended=1200 uses=b1rw\n"
         "free b1 q0 @300 call=1000\ndone b1 q0 @300\n"
         "alloc b2 4096 q0 @2000 call=50\n"
         "launch q0 @2100 call=10 name=1 ended=3100 uses=b2rw\n"
         "launch q0 @2110 call=400 name=1 ended=3200 uses=b2rw\n"
         "free b2 q0 @2600 call=1000\ndone b2 q0 @2600\n"
         "alloc b3 4096 q0 @5000 call=50\n"
         "launch q0 @5010 call=10 name=1 ended=5900\n"
         "launch q0 @5500 call=500 name=1 ended=7000 uses=b3rw\n"; /* makes the memory of b3 */

static void frees_and_first_uses_wait(void **state)
{
    (void)state;
    struct waits w;
    read_text(loop, &w);
    is_sum(&w, WAIT_free, (struct expected){2, 2, 0, 900 + 600, 900});
    is_sum(&w, WAIT_first_use, (struct expected){2, 1, 0, 400, 400});
    waits_free(&w);
}

static void what_a_trace_must_know(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "gamut trace "
        "1\n{\"source\":\"test\",\"time_unit_ns\":1,\"capacity_bytes\":null,\"lost_beginning\":"
        "false,\"knows\":[\"frees\",\"uses\"]}\n",
        "gamut trace "
        "1\n{\"source\":\"test\",\"time_unit_ns\":1,\"capacity_bytes\":null,\"lost_beginning\":"
        "false,\"knows\":[\"frees\",\"times\"]}\n"};
    for (int i = 0; i < 2; i++) {
        struct trace_reader *reader;
        struct waits w;
        struct error error = {0};
        import_good("poor", texts[i]);
        assert_int_equal(trace_open(trace_path("poor.trace"), &reader, &error), 0);
        assert_int_equal(waits_read(reader, &w, &error), ERR_UNSUPPORTED);
        assert_non_null(strstr(error.text, i ? "does not know the commands"
                                             : "does not know when calls were made"));
        waits_free(&w);
        trace_close(reader);
    }
    /* Nothing happened. */
    struct waits w;
    read_text(ENDS, &w);
    assert_int_equal(w.duration_ns, 0);
    assert_int_equal(w.place_count, 0);
    waits_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_ends_of_commands),
        cmocka_unit_test(a_call_is_not_blamed_for_its_own_time),
        cmocka_unit_test(several_queues),
        cmocka_unit_test(ends_that_were_lost),
        cmocka_unit_test(bounds_without_the_ends),
        cmocka_unit_test(frees_and_first_uses_wait),
        cmocka_unit_test(what_a_trace_must_know),
    };
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
