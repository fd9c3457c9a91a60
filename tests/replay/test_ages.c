/* Ages of memory that was free when a recording began, worked out by hand. The calls of a log are
 * of segments "a" to "i"; "a" to "e" are wholly free at the start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/ages.h"
#include "tests/base/cmocka.h"
#include "tests/trace/trace_fixture.h"

#define AT(segment)      " q0 address=0x" segment "\n"
#define TAKE(segment)    "driver_alloc 20971520" AT(segment)
#define RELEASE(segment) "driver_free 20971520" AT(segment)
#define USE(b, segment)  "alloc b" b " 20971520" AT(segment)
#define END(b)           "free b" b " q0\ndone b" b " q0\n"
#define A                "2000000"
#define B                "4000000"
#define C                "6000000"
#define D                "8000000"
#define E                "a000000"
#define F                "c000000"
#define G                "e000000"
#define H                "10000000"
#define FOR(b, segment)  TAKE(segment) USE(b, segment) /* a request that takes memory */
#define BEGIN            TAKE(A) TAKE(B) TAKE(C) TAKE(D) TAKE(E) "start q0\n"
#define BOTH             "\"frees\",\"done\""

static struct ages ages_in(const char *knows, const char *log)
{
    struct text text = {0};
    struct trace_reader *reader;
    struct error error = {0};
    struct ages ages;
    text_add(&text,
             "gamut trace 1\n{\"source\":\"by hand\",\"time_unit_ns\":1,\"capacity_bytes\":null,"
             "\"lost_beginning\":true,\"knows\":[%s,\"driver\"]}\nqueue 0 \"0\"\n%s",
             knows, log);
    import_good("ages", text.data);
    text_free(&text);
    if (trace_open(trace_path("ages.trace"), &reader, &error) || ages_find(reader, &ages, &error))
        fail_msg("%s", error.text);
    trace_close(reader);
    return ages;
}

/* With x the age of what is released, n memories that can be collected and ages from the start on,
 * what was used since being younger: the average exceeds the oldest that is left. */
static void ages_are_the_least_that_agree_with_every_collection(void **state)
{
    (void)state;
    static const struct {
        const char *what, *knows, *log;
        unsigned ages[5];
    } cases[] = {
        {"nothing is collected", BOTH, BEGIN FOR("1", F), {0}},
        {"x / 5 > 0", BOTH, BEGIN RELEASE(A) FOR("1", F), {1}},
        {"(2 x - 1) / 5 > 0",
         BOTH,
         BEGIN USE("1", C) END("1") RELEASE(A) RELEASE(B) FOR("2", F),
         {1, 1}},
        {"what goes with it is as old, and nothing is left: x / 2 <= 0",
         BOTH,
         "held b1 1000" AT(B) "held b2 1000" AT(C) "held b3 1000" AT(D) "held b4 1000" AT(E)
             BEGIN END("1") RELEASE(A) RELEASE(B) FOR("5", F),
         {0}},
        {"later ones are known: x / 3 > 0, (x + 1) / 4 > 1, (x + 4 + 1) / 5 > 4",
         BOTH,
         BEGIN RELEASE(A) FOR("1", F) RELEASE(B) FOR("2", G) RELEASE(D) FOR("3", H),
         {16, 4, 0, 1, 0}},
        {"used between: x / 2 > 0, (x + 1) / 3 > 1, (x + 3 + 1) / 5 > 3",
         BOTH,
         BEGIN RELEASE(A) FOR("1", F) USE("4", C) RELEASE(B) FOR("2", G) RELEASE(D) FOR("3", H),
         {12, 3, 0, 1, 0}},
        {"used from the start on: x / 2 > 0, (x + 1) / 3 > 1, (x + 3 + 1) / 4 > 3",
         BOTH,
         "held b4 1000" AT(C) BEGIN RELEASE(A) FOR("1", F) RELEASE(B) FOR("2", G) RELEASE(D)
             FOR("3", H),
         {9, 3, 0, 1, 0}},
        {"one search younger: (x - 1) / 5 > 0",
         BOTH,
         BEGIN USE("1", C) END("1") RELEASE(A) FOR("2", F),
         {2}},
        {"small and private requests are no searches",
         BOTH,
         BEGIN USE("1", C) "driver_alloc 2097152" AT("1000000") "alloc b2 1048576" AT(
             "1000000") "driver_alloc 20971520 q0 address=0xc000000 pool=1\n"
                        "alloc b3 20971520 q0 address=0xc000000 pool=1\n" END("1") RELEASE(A)
                            FOR("4", G),
         {2}},
        {"all others are younger: (x - 1 - 2 - 3 - 4) / 5 > -1",
         BOTH,
         BEGIN USE("1", B) END("1") USE("2", C) END("2") USE("3", D) END("3") USE("4", E) END("4")
             RELEASE(A) FOR("5", F),
         {6}},
        {"one of them goes too: (x - 1 - 2 - 3 - 4) / 5 > -2",
         BOTH,
         BEGIN USE("1", B) END("1") USE("2", C) END("2") USE("3", D) END("3") USE("4", E) END("4")
             RELEASE(A) RELEASE(B) FOR("5", F),
         {1}},
        {"it was used itself", BOTH, BEGIN USE("1", A) END("1") RELEASE(A) FOR("2", F), {0}},
        {"a block is used until it is done: (x - 2) / 5 > 0",
         BOTH,
         BEGIN USE("1", C) "free b1 q0\n" FOR("2", F) "done b1 q0\n" RELEASE(A) FOR("3", G),
         {3}},
        {"or free, in a log without done: (x - 1) / 5 > 0",
         "\"frees\"",
         BEGIN USE("1", C) "free b1 q0\n" FOR("2", F) RELEASE(A) FOR("3", G),
         {2}},
        {"a trim is no collection", BOTH, BEGIN "trim q0\n" RELEASE(A) FOR("1", F), {0}},
        {"nor a release before a block", BOTH, BEGIN RELEASE(A) USE("1", B), {0}},
        {"nor of small memory too",
         BOTH,
         "driver_alloc 2097152" AT("1000000") BEGIN RELEASE(A) "driver_free 2097152" AT("1000000")
             FOR("1", F),
         {0}},
        {"nor of private memory too",
         BOTH,
         "driver_alloc 20971520 q0 address=0xe000000 pool=1\n" BEGIN RELEASE(
             A) "driver_free 20971520 q0 address=0xe000000 pool=1\n" FOR("1", F),
         {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ages ages = ages_in(cases[i].knows, cases[i].log);
        for (unsigned k = 0; k < 5; k++) {
            const uint64_t age = ages_of(&ages, 0x2000000 * (k + 1));
            if (age != cases[i].ages[k])
                fail_msg("%s: segment %c has an age of %llu", cases[i].what, 'a' + (int)k,
                         (unsigned long long)age);
        }
        assert_int_equal(ages_of(&ages, 0x2000001), 0);
        ages_free(&ages);
    }
}

/* Later ones say nothing of the start. */
static void a_thousand_collections_are_read(void **state)
{
    (void)state;
    for (unsigned count = 999; count <= 1001; count++) {
        struct text log = {0};
        text_add(&log, BEGIN TAKE(F));
        for (unsigned i = 0; i < count; i++)
            text_add(&log, RELEASE(F) TAKE(F));
        text_add(&log, RELEASE(A) TAKE(G));
        struct ages ages = ages_in(BOTH, log.data);
        assert_int_equal(ages_of(&ages, 0x2000000), count < 1000);
        ages_free(&ages);
        text_free(&log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages_are_the_least_that_agree_with_every_collection),
        cmocka_unit_test(a_thousand_collections_are_read),
    };
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
