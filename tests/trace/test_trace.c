/* The trace file: what is written reads back, as a file and as text; what is damaged is refused
 * with its place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "tests/base/cmocka.h"
#include "tests/trace/trace_fixture.h"
#include "trace/codec.h"
#include "trace/edit.h"
#include "trace/text.h"

#define HEAD                                                                                       \
    "gamut trace 1\n"                                                                              \
    "{\"source\":\"by hand\",\"time_unit_ns\":1000,\"capacity_bytes\":null,"                       \
    "\"lost_beginning\":false,"                                                                    \
    "\"knows\":[\"times\",\"frees\",\"done\",\"queues\",\"phases\"]}\n"

/* Every kind of event, and every member. */
static const char all_kinds[] =
    "frame 1 0 \"model.py:40 main\"\n"
    "queue 0 \"default\"\n"
    "thread 0 \"main\"\n"
    "held b1 4096 q0 t0 granted=8192 stack=1 memory=1\n"
    "name 2 \"iteration\"\n"
    "begin q0 t0 name=2\n"
    "driver_alloc 2097152 q0 t0 @1000 address=0x7f0000000000\n"
    "hidden 3 1 \"module.py:7 _call_impl\"\n"
    "frame 4 3 \"model.py:12 forward\"\n"
    "name 5 \"model.py:12 forward\"\n"
    "alloc b2 100 q0 t0 @1000 granted=512 address=0x7f0000000000 name=5 stack=4 alignment=256 "
    "call=700\n"
    "frame 6 3 \"model.py:13 loss\"\n"
    "queue 1 \"copies\"\n"
    "thread 1 \"worker \\\"2\\\"\\n\"\n"
    "alloc b3 200 q1 t1 @2000 stack=6 pool=3\n"
    "name 7 \"scale\"\n"
    "launch q0 t0 @3000 name=7 device=5000 ended=9100 uses=b2rw,b3r,b1w\n"
    "copy 100 q1 t0 @4000 ended=8200 uses=b2w,b3r\n"
    "fill 100 q1 t0 @4000 uses=b2w\n"
    "write 100 q1 t0 @4000 uses=b2w\n"
    "read 100 q1 t0 @4000 uses=b3r\n"
    "map 100 q1 t0 @4000 uses=b3rw\n"
    "unmap q1 t0 @4000 uses=b3rw\n"
    "order q0 t0 @5000 other=1 behind=3\n"
    "free b2 q0 t0 @6000\n"
    "refused 99999999999 q0 t0 @7000 name=5 stack=4\n"
    "wait q1 t0 @8000\n"
    "done b2 q0 t0 @9000\n"
    "alloc b4 50 q0 t0 @9000 name=7 stack=4\n"
    "driver_map 2097152 q0 t0 @9000 address=0x7f0000200000\n"
    "driver_unmap 2097152 q0 t0 @9000 address=0x7f0000200000\n"
    "driver_free 2097152 q0 t0 @9000 address=0x7f0000000000\n"
    "trim q0 t0 @9000\n"
    "pool_begin q0 t0 @9000 pool=3\n"
    "pool_end q0 t0 @9000 pool=3\n"
    "start q0 t0 @9000\n"
    "end q0 t0 @10000 name=2\n";

static char *with_head(const char *events)
{
    struct text text = {0};
    text_add(&text, "%s%s", HEAD, events);
    return text.data;
}

static void import_events(const char *name, const char *events)
{
    char *text = with_head(events);
    import_good(name, text);
    free(text);
}

static void is_text(const char *name, const char *expected)
{
    char *events = events_of(name);
    assert_string_equal(events, expected);
    free(events);
}

static void text_becomes_a_file_and_the_same_text(void **state)
{
    (void)state;
    import_events("a", all_kinds);
    char *text = events_of("a");
    assert_string_equal(text, all_kinds);
    import_events("b", text);
    is_text("b", text);
    assert_int_equal(totals_of("a").digest, totals_of("b").digest);
    free(text);
}

static void the_digest_is_that_of_the_meaning(void **state)
{
    (void)state;
    static const char base[] = "alloc b1 10 q0 @1000\nalloc b2 20 q0 @2000\nfree b1 q0 @3000\n";
    import_events("base", base);
    const uint64_t digest = totals_of("base").digest;
    static const struct {
        const char *events;
        bool same;
    } cases[] = {
        {"alloc b7 10 q0 @1000\nalloc b9 20 q0 @2000\nfree b7 q0 @3000\n", true},
        {"queue 5 \"0\"\nalloc b1 10 q5 @1000\nalloc b2 20 q5 @2000\nfree b1 q5 @3000\n", true},
        {"name 9 \"unused\"\nalloc b1 10 q0 @1000\nalloc b2 20 q0 @2000\nfree b1 q0 @3000\n", true},
        {"alloc b1 10 q0 @1000\nalloc b2 20 q0 @2000\nfree b2 q0 @3000\n", false},
        {"alloc b1 10 q0 @1000\nalloc b2 21 q0 @2000\nfree b1 q0 @3000\n", false},
        {"alloc b1 10 q0 @1000\nalloc b2 20 q0 @2000\nfree b1 q0 @4000\n", false},
        {"alloc b1 10 q1 @1000\nalloc b2 20 q1 @2000\nfree b1 q1 @3000\n", false},
        {"alloc b1 10 q0 @1000 name=1\nalloc b2 20 q0 @2000\nfree b1 q0 @3000\n", false},
        {"alloc b2 20 q0 @1000\nalloc b1 10 q0 @2000\nfree b1 q0 @3000\n", false},
        {"alloc b1 10 q0 @1000\nalloc b2 20 q0 @2000\nfree b1 q0 @3000 ended=9\n", false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        import_events("other", cases[i].events);
        if ((totals_of("other").digest == digest) != cases[i].same)
            fail_msg("%s: the digest is %s", cases[i].events,
                     cases[i].same ? "another" : "the same");
    }
}

static void held_blocks_that_are_found_late_stand_in_front(void **state)
{
    (void)state;
    import_good("late", "action,addr,size,stream,time_us\n"
                        "alloc,4096,10,0,5\n"
                        "free_requested,8192,20,7,6\n"
                        "free_completed,8192,20,7,6\n"
                        "free_completed,12288,30,0,7\n");
    is_text("late", "queue 1 \"7\"\n"
                    "held b1 20 q1 address=0x2000\n"
                    "queue 0 \"0\"\n"
                    "held b2 30 q0 address=0x3000\n"
                    "start q0\n"
                    "alloc b3 10 q0 address=0x1000\n"
                    "free b1 q1 @1000\n"
                    "done b1 q1 @1000\n"
                    "done b2 q0 @2000\n");
}

/* Two threads write the log: the next owner of an address stands before the free of the last. */
static void frees_are_moved_in_front_of_the_next_owner(void **state)
{
    (void)state;
    static const char log[] = "action,addr,size,stream,time_us\n"
                              "alloc,4096,10,0,5\n"
                              "alloc,4096,20,0,6\n"
                              "free_requested,4096,10,0,7\n"
                              "free_completed,4096,10,0,7\n"
                              "free_requested,4096,20,0,8\n";
    struct import_report report;
    struct error error = {0};
    assert_int_equal(import_bytes("moved", log, sizeof log - 1, &report, &error), 0);
    assert_int_equal(report.traces[0].moved_frees, 1);
    import_report_free(&report);
    is_text("moved", "queue 0 \"0\"\n"
                     "alloc b1 10 q0 address=0x1000\n"
                     "free b1 q0 @1000\n"
                     "done b1 q0 @1000\n"
                     "alloc b2 20 q0 @1000 address=0x1000\n"
                     "free b2 q0 @3000\n");
}

/* A held block that is found late may use a name with a high index first. */
static void definitions_in_any_order_are_printed(void **state)
{
    (void)state;
    struct trace_info info = {.source = "test", .time_unit_ns = 1};
    struct trace_writer *writer;
    struct error error = {0};
    assert_int_equal(trace_create(trace_path("order.trace"), &info, &writer, &error), 0);
    trace_queue(writer, "0");
    const unsigned a = trace_name(writer, "a"), b = trace_name(writer, "b");
    trace_put(writer, &(struct trace_event){.kind = TRACE_begin, .name = b});
    trace_put(writer, &(struct trace_event){.kind = TRACE_begin, .name = a});
    assert_int_equal(trace_finish(writer, true, NULL, &error), 0);
    is_text("order",
            "name 2 \"b\"\nqueue 0 \"0\"\nbegin q0 name=2\nname 1 \"a\"\nbegin q0 name=1\n");
}

static void an_empty_name_is_a_name(void **state)
{
    (void)state;
    static const char text[] = "queue 0 \"0\"\n"
                               "thread 0 \"a\"\n"
                               "alloc b1 1 q0 t0\n"
                               "queue 1 \"\"\n"
                               "thread 1 \"\"\n"
                               "alloc b2 1 q1 t1\n";
    import_events("empty", text);
    is_text("empty", text);
}

static void names_of_any_bytes_are_kept(void **state)
{
    (void)state;
    struct trace_info info = {.source = "test", .time_unit_ns = 1};
    struct trace_writer *writer;
    struct error error = {0};
    assert_int_equal(trace_create(trace_path("names.trace"), &info, &writer, &error), 0);
    static const char *const names[] = {"plain", "K\xc3\xb6ln \"quoted\"\n", "not \xff utf", "",
                                        "plain"};
    char long_name[10000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    trace_queue(writer, "0");
    for (int i = 0; i < 5; i++)
        trace_put(writer,
                  &(struct trace_event){.kind = TRACE_begin, .name = trace_name(writer, names[i])});
    trace_put(writer,
              &(struct trace_event){.kind = TRACE_begin, .name = trace_name(writer, long_name)});
    assert_int_equal(trace_name(writer, "plain"), 1);
    assert_int_equal(trace_finish(writer, true, NULL, &error), 0);

    struct trace_reader *reader;
    struct trace_event event;
    assert_int_equal(trace_open(trace_path("names.trace"), &reader, &error), 0);
    static const char *const expected[] = {"plain", "K\xc3\xb6ln \"quoted\"\n", "not ? utf", "",
                                           "plain"};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(trace_next(reader, &event, &error), 1);
        assert_string_equal(trace_name_of(reader, event.name), expected[i]);
    }
    assert_int_equal(trace_next(reader, &event, &error), 1);
    assert_int_equal(strlen(trace_name_of(reader, event.name)), 4096);
    assert_string_equal(trace_name_of(reader, 12345), "");
    trace_close(reader);
    char *text = events_of("names");
    char *whole = with_head(text);
    import_good("names2", whole);
    is_text("names2", text);
    free(whole);
    free(text);
}

/* Reads to the end. Returns the code; *events: how many were delivered; *cut: was it cut off? */
static int read_all(const char *name, uint64_t *events, bool *cut, struct error *error)
{
    struct trace_reader *reader;
    struct trace_event event;
    *events = 0;
    *cut = false;
    TRY(trace_open(trace_path(name), &reader, error));
    int more;
    uint64_t lost;
    while ((more = trace_next(reader, &event, error)) > 0)
        ++*events;
    *cut = !more && trace_was_cut(reader, &lost);
    trace_close(reader);
    return more;
}

/* A trace of `count` events in some chunks: blocks that come and go. */
static void write_long(const char *name, unsigned count)
{
    struct trace_info info = {.source = "test", .time_unit_ns = 1};
    struct trace_writer *writer;
    struct error error = {0};
    info.knows[TRACE_KNOWS_frees] = true;
    assert_int_equal(trace_create(trace_path(name), &info, &writer, &error), 0);
    unsigned slots[16] = {0};
    for (unsigned i = 0; i < count; i++) {
        const bool begins = i / 16 % 2 == 0;
        struct trace_event e = {.kind = begins ? TRACE_alloc : TRACE_free, .time_ns = 10ull * i};
        if (begins) {
            char site[32];
            snprintf(site, sizeof site, "site %u", i % 1000);
            e.bytes = 1000 + i % 77;
            e.name = trace_name(writer, site);
            slots[i % 16] = trace_take_slot(writer);
        }
        e.slot = slots[i % 16];
        trace_put(writer, &e);
        if (!begins)
            trace_give_slot(writer, e.slot);
    }
    assert_int_equal(trace_finish(writer, true, NULL, &error), 0);
}

static void a_file_cut_anywhere_has_its_whole_chunks(void **state)
{
    (void)state;
    struct text whole = {0};
    import_events("small", all_kinds);
    read_bytes("small.trace", &whole);
    for (size_t length = 0; length < whole.length; length++) {
        uint64_t events;
        bool cut;
        struct error error = {0};
        write_bytes("torn.trace", whole.data, length);
        int code = read_all("torn.trace", &events, &cut, &error);
        if (code ? code != ERR_PARSE || !strstr(error.text, "torn.trace: ") : !cut)
            fail_msg("cut at %zu: code %d, %s", length, code, error.text);
    }
    text_free(&whole);
}

static void a_long_file_that_was_cut_off_keeps_what_came_before(void **state)
{
    (void)state;
    struct text whole = {0};
    uint64_t events;
    bool cut;
    struct error error = {0};
    write_long("long.trace", 200000);
    read_bytes("long.trace", &whole);
    assert_int_equal(read_all("long.trace", &events, &cut, &error), 0);
    assert_int_equal(events, 200000);
    assert_false(cut);
    write_bytes("long2.trace", whole.data, whole.length - 1);
    assert_int_equal(read_all("long2.trace", &events, &cut, &error), 0);
    assert_int_equal(events, 200000);
    assert_true(cut);
    write_bytes("long2.trace", whole.data, whole.length / 2);
    assert_int_equal(read_all("long2.trace", &events, &cut, &error), 0);
    assert_int_equal(events, 65536);
    assert_true(cut);
    text_free(&whole);

    struct trace_totals counted = totals_of("long"), totals;
    struct trace_reader *reader;
    assert_int_equal(trace_open(trace_path("long.trace"), &reader, &error), 0);
    assert_true(trace_read_totals(reader, &totals));
    assert_memory_equal(&totals, &counted, sizeof totals);
    trace_close(reader);
    assert_int_equal(trace_open(trace_path("long2.trace"), &reader, &error), 0);
    assert_false(trace_read_totals(reader, &totals));
    trace_close(reader);
}

/* No damaged byte goes unnoticed, and none looks as if the file ended too early. */
static void a_damaged_byte_is_found(void **state)
{
    (void)state;
    struct text whole = {0};
    import_events("small", all_kinds);
    read_bytes("small.trace", &whole);
    static const int masks[] = {1, 2,  3,  4,  5,   6,  7,
                                8, 16, 32, 64, 128, 255}; /* 5 to 7: version 4 becomes 1 to 3 */
    for (size_t at = 0; at < whole.length; at++)
        for (unsigned i = 0; i < sizeof masks / sizeof *masks; i++) {
            uint64_t events;
            bool cut;
            struct error error = {0};
            whole.data[at] ^= (char)masks[i];
            write_bytes("damaged.trace", whole.data, whole.length);
            whole.data[at] ^= (char)masks[i];
            int code = read_all("damaged.trace", &events, &cut, &error);
            if (code != ERR_PARSE || !strstr(error.text, "damaged.trace: "))
                fail_msg("byte %zu, bits %#x: code %d, %s", at, (unsigned)masks[i], code,
                         error.text);
        }
    text_free(&whole);
}

static void damage_in_a_chunk_is_named_with_its_place(void **state)
{
    (void)state;
    struct text whole = {0};
    uint64_t events;
    bool cut;
    struct error error = {0};
    write_long("long.trace", 200000);
    read_bytes("long.trace", &whole);
    whole.data[whole.length / 2] ^= 1; /* in the second of four chunks */
    write_bytes("damaged.trace", whole.data, whole.length);
    assert_int_equal(read_all("damaged.trace", &events, &cut, &error), ERR_PARSE);
    assert_int_equal(events, 65536);
    assert_non_null(strstr(error.text, "damaged.trace: chunk 2, at byte "));
    assert_non_null(strstr(error.text, " is damaged: its checksum is wrong"));
    text_free(&whole);
}

static void files_of_other_versions_are_refused(void **state)
{
    (void)state;
    struct text whole = {0};
    uint64_t events;
    bool cut;
    struct error error = {0};
    write_long("long.trace", 1);
    read_bytes("long.trace", &whole);
    whole.data[8] = 3;
    write_bytes("other.trace", whole.data, whole.length);
    assert_int_equal(read_all("other.trace", &events, &cut, &error), ERR_PARSE);
    assert_non_null(strstr(error.text, "the trace has version 3, and this gamut reads version 4: "
                                       "import or record it anew, or use revision fef064f"));
    whole.data[8] = 5;
    write_bytes("other.trace", whole.data, whole.length);
    assert_int_equal(read_all("other.trace", &events, &cut, &error), ERR_PARSE);
    assert_non_null(strstr(error.text, "or use the gamut that wrote it"));
    text_free(&whole);
}

/* Two writers of one path in one process share the file of their chunks. */
static void what_does_not_read_back_is_not_delivered(void **state)
{
    (void)state;
    struct trace_info info = {.source = "test", .time_unit_ns = 1};
    struct trace_writer *writers[2];
    struct error error = {0};
    for (int i = 0; i < 2; i++)
        assert_int_equal(trace_create(trace_path("twice.trace"), &info, &writers[i], &error), 0);
    for (unsigned n = 0; n < 2; n++)
        trace_put(writers[0], &(struct trace_event){.kind = TRACE_alloc, .slot = n, .bytes = n});
    trace_put(writers[1], &(struct trace_event){.kind = TRACE_alloc, .bytes = 1});
    assert_int_equal(trace_finish(writers[0], true, NULL, &error), 0);
    assert_int_equal(trace_finish(writers[1], true, NULL, &error), ERR_IO);
    assert_non_null(strstr(error.text, "bytes are no chunk"));
}

static void totals_are_those_of_the_events(void **state)
{
    (void)state;
    import_events("t", all_kinds);
    const struct trace_totals t = totals_of("t");
    assert_int_equal(t.events, 26);
    assert_int_equal(t.blocks, 4);
    assert_int_equal(t.live_at_end, 3);
    assert_int_equal(t.peak_bytes, 4096 + 100 + 200);
    assert_int_equal(t.requested_bytes, 4096 + 100 + 200 + 50);
    assert_int_equal(t.slots, 3);
    assert_int_equal(t.queues, 2);
    assert_int_equal(t.threads, 2);
    assert_int_equal(t.last_ns, 10000);
    assert_int_equal(t.by_kind[TRACE_held], 1);
    assert_int_equal(t.by_kind[TRACE_alloc], 3);
}

/* Numbers of one event: what `trace_finish` reads back, and how many threads the export names. */
static void a_number_costs_no_more_than_the_file(void **state)
{
    static const struct {
        struct trace_event event;
        bool is_read;
    } cases[] = {
        {{.kind = TRACE_wait, .thread = 4000}, true},
        {{.kind = TRACE_wait, .thread = 1 << 23}, false},
        {{.kind = TRACE_wait, .queue = 1 << 23}, false},
        {{.kind = TRACE_wait, .name = 1 << 23}, false},
        {{.kind = TRACE_order, .other = UINT32_MAX}, false},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct trace_info info = {.source = "test", .time_unit_ns = 1};
        struct trace_writer *writer;
        struct trace_reader *reader;
        struct text json = {0};
        struct error error;
        unsigned named = 0;
        assert_int_equal(trace_create(trace_path("number.trace"), &info, &writer, &error), 0);
        trace_put(writer, &cases[i].event);
        const int code = trace_finish(writer, true, NULL, &error);
        assert_int_equal(code == 0, cases[i].is_read);
        if (code) {
            assert_non_null(strstr(error.text, "it names a queue, a thread or a name"));
            continue;
        }
        FILE *out = fopen(trace_path("number.json"), "w");
        assert_int_equal(trace_open(trace_path("number.trace"), &reader, &error), 0);
        assert_int_equal(trace_export_perfetto(reader, out, &error), 0);
        fclose(out);
        trace_close(reader);
        read_bytes("number.json", &json);
        for (const char *at = json.data; (at = strstr(at, "thread_name")); at++)
            named++;
        assert_int_equal(named, 3); /* phases, the driver, and this one */
        text_free(&json);
    }
}

static void totals_have_an_end(void **state)
{
    (void)state;
    import_events("t", "alloc b1 18446744073709551615 q0 @9007199254740991\n"
                       "alloc b2 18446744073709551615 q0 @18446744073709551000\n");
    const struct trace_totals t = totals_of("t");
    assert_int_equal(t.peak_bytes, TRACE_TOTAL_MOST);
    assert_int_equal(t.requested_bytes, TRACE_TOTAL_MOST);
    assert_int_equal(t.last_ns, TRACE_TOTAL_MOST);
}

/* ---- cut and diff ---- */

/* With a phase, first and last are those of the phase. */
static void cut_part(const char *from, struct trace_part part, const char *phase, const char *to)
{
    struct trace_reader *reader;
    struct error error = {0};
    char file[64];
    snprintf(file, sizeof file, "%s.trace", from);
    if (trace_open(trace_path(file), &reader, &error))
        fail_msg("%s", error.text);
    snprintf(file, sizeof file, "%s.trace", to);
    int code = phase ? trace_find_phase(reader, phase, &part, &error) : 0;
    if (!code)
        code = trace_cut(reader, &part, trace_path(file), true, NULL, &error);
    trace_close(reader);
    if (code)
        fail_msg("%s", error.text);
}

static void cut(const char *from, uint64_t first, uint64_t last, const char *to)
{
    cut_part(from, (struct trace_part){.first = first, .last = last}, NULL, to);
}

static void a_part_has_what_lived_before_it(void **state)
{
    (void)state;
    import_events("all", "name 1 \"step\"\n"
                         "frame 3 0 \"main\"\n"
                         "frame 4 3 \"early\"\n"
                         "frame 5 3 \"late\"\n"
                         "held b1 5 q0\n"
                         "begin q0 @1000 name=1\n"
                         "alloc b2 10 q0 @1000 stack=4\n"
                         "alloc b3 20 q1 @2000 stack=3\n"
                         "free b2 q0 @3000\n"
                         "free b3 q1 @3000\n"
                         "done b2 q0 @4000\n"
                         "alloc b4 40 q0 @5000 name=1 stack=5\n"
                         "done b3 q1 @6000\n"
                         "end q0 @7000 name=1\n");
    cut("all", 8, 10, "part");
    is_text("part", "queue 0 \"0\"\n"
                    "held b1 5 q0\n"
                    "frame 1 0 \"main\"\n"
                    "queue 1 \"1\"\n"
                    "held b2 20 q1 stack=1\n"
                    "free b2 q1\n"
                    "name 2 \"step\"\n"
                    "begin q0 name=2\n"
                    "frame 3 1 \"late\"\n"
                    "alloc b3 40 q0 name=2 stack=3\n"
                    "done b2 q1 @1000\n"
                    "end q0 @2000 name=2\n");
}

static void a_cut_in_two_parts_loses_nothing(void **state)
{
    (void)state;
    import_events("all", all_kinds);
    const struct trace_totals t = totals_of("all");
    cut("all", 1, UINT64_MAX, "whole");
    is_text("whole", all_kinds);
    assert_int_equal(totals_of("whole").digest, t.digest);
    for (uint64_t k = 1; k < t.events; k++) {
        cut("all", 1, k, "left");
        cut("all", k + 1, UINT64_MAX, "right");
        assert_int_equal(totals_of("left").events, k);
        assert_int_equal(totals_of("right").live_at_end, t.live_at_end);
        assert_int_equal(totals_of("right").by_kind[TRACE_alloc] +
                             totals_of("left").by_kind[TRACE_alloc],
                         t.by_kind[TRACE_alloc]);
    }
}

static void no_part_begins_after_the_end(void **state)
{
    (void)state;
    struct trace_reader *reader;
    struct error error = {0};
    import_events("few", "alloc b1 1 q0\nalloc b2 1 q0\n");
    assert_int_equal(trace_open(trace_path("few.trace"), &reader, &error), 0);
    const struct trace_part part = {.first = 3, .last = 9};
    assert_int_equal(trace_cut(reader, &part, trace_path("no.trace"), true, NULL, &error),
                     ERR_USAGE);
    assert_non_null(strstr(error.text, "few.trace has 2 events, and the part begins at 3"));
    trace_close(reader);
}

static void a_phase_has_the_blocks_that_it_names(void **state)
{
    (void)state;
    import_events("all", "name 1 \"step\"\nname 2 \"other\"\n"
                         "alloc b1 10 q0\n"
                         "alloc b2 20 q0\n"
                         "alloc b3 30 q0\n"
                         "alloc b5 50 q0\n"
                         "free b5 q0\n"
                         "begin q0 name=2\n"
                         "begin q0 name=1\n"
                         "free b1 q0\n"
                         "done b5 q0\n"
                         "alloc b4 40 q0\n"
                         "done b1 q0\n"
                         "begin q0 name=1\n"
                         "launch q0 uses=b3rw,b4r\n"
                         "end q0 name=1\n"
                         "end q0 name=1\n"
                         "free b2 q0\n"
                         "begin q0 name=1\n"
                         "end q0 name=1\n");
    cut_part("all", (struct trace_part){0}, "step", "phase");
    is_text("phase", "queue 0 \"0\"\n"
                     "held b1 10 q0\n"
                     "held b2 30 q0\n"
                     "name 1 \"other\"\n"
                     "begin q0 name=1\n"
                     "name 2 \"step\"\n"
                     "begin q0 name=2\n"
                     "free b1 q0\n"
                     "alloc b3 40 q0\n"
                     "done b1 q0\n"
                     "begin q0 name=2\n"
                     "launch q0 uses=b2rw,b3r\n"
                     "end q0 name=2\n"
                     "end q0 name=2\n");
}

static void a_phase_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct trace_reader *reader;
    struct trace_part part;
    struct error error = {0};
    import_events("few", "name 1 \"step\"\nbegin q0 name=1\n");
    assert_int_equal(trace_open(trace_path("few.trace"), &reader, &error), 0);
    assert_int_equal(trace_find_phase(reader, "pets", &part, &error), ERR_USAGE);
    assert_non_null(strstr(error.text, "none of its 1 phases is called 'pets'"));
    assert_int_equal(trace_find_phase(reader, "step", &part, &error), 0);
    assert_int_equal(part.first, 1);
    assert_int_equal(part.last, UINT64_MAX);
    trace_close(reader);
}

/* Compares the traces "left" and "right"; *differences events differ. The caller frees the text. */
static char *diff(enum trace_view view, uint64_t *differences)
{
    struct trace_reader *side[2];
    struct error error = {0};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(trace_open(trace_path("left.trace"), &side[0], &error), 0);
    assert_int_equal(trace_open(trace_path("right.trace"), &side[1], &error), 0);
    assert_int_equal(trace_diff(side[0], side[1], view, 1, out, differences, &error), 0);
    fclose(out);
    trace_close(side[0]);
    trace_close(side[1]);
    return text;
}

struct diff_case {
    const char *events;
    uint64_t differences;
    const char *text;
};

static void check_diffs(enum trace_view view, const char *left, const struct diff_case *cases,
                        size_t count)
{
    import_events("left", left);
    for (size_t i = 0; i < count; i++) {
        uint64_t differences;
        import_events("right", cases[i].events);
        char *text = diff(view, &differences);
        assert_int_equal(differences, cases[i].differences);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
}

static void actions_are_compared_without_times_and_names(void **state)
{
    (void)state;
    static const char a[] = "queue 3 \"x\"\nqueue 5 \"y\"\nthread 0 \"t\"\nname 1 \"f\"\n"
                            "held b1 1 q0\nalloc b2 2 q5 t0 @5 name=1 memory=1\n"
                            "launch q3 t0 @9 name=1 call=4 device=3 uses=b1rw,b2r\n"
                            "order q5 @10 other=3\nread 2 q5 @10 call=2 uses=b2r\nwait q5 @10\n"
                            "free b2 q5 @11\ndone b2 q5 @12\nwait q3 @13 behind=1\n";
    static const struct diff_case cases[] = {
        {a, 0, ""},
        {"alloc b1 1 q0\nbegin q0\nalloc b2 2 q0 memory=1\nrefused 7 q0\n"
         "launch q0 uses=b1rw,b2r\norder q1 other=0\nread 2 q1 uses=b2r\nwait q1\n"
         "free b2 q0\nwait q0 behind=1\nend q0\ndone b2 q0\n",
         0, ""},
        /* another kind of memory; another queue; another access; another number of commands
         * behind */
        {"alloc b1 1 q0\nalloc b2 2 q0\nlaunch q0 uses=b1rw,b2r\norder q1 other=0\n"
         "read 2 q1 uses=b2r\nwait q1\nfree b2 q0\nwait q0 behind=1\n",
         1, "event 2\n- alloc b2 2 memory=1\n+ alloc b2 2\n"},
        {"alloc b1 1 q0\nalloc b2 2 q0 memory=1\nlaunch q0 uses=b1rw,b2r\norder q1 other=0\n"
         "done b1 q0\nread 2 q0 uses=b2r\nwait q1\nfree b2 q0\nwait q0 behind=1\n",
         1, "event 5 and 6\n- read 2 q1 uses=b2r\n+ read 2 q0 uses=b2r\n"},
        {"alloc b1 1 q0\nalloc b2 2 q0 memory=1\nlaunch q0 uses=b1rw,b2rw\norder q1 other=0\n"
         "read 2 q1 uses=b2r\nwait q1\nfree b1 q0\nwait q0\n",
         3, "event 3\n- launch q0 uses=b1rw,b2r\n+ launch q0 uses=b1rw,b2rw\n"},
    };
    check_diffs(TRACE_VIEW_ACTIONS, a, cases, sizeof cases / sizeof *cases);
}

static void differences_are_counted_and_printed(void **state)
{
    (void)state;
    static const char a[] = "name 1 \"f\"\nalloc b1 1 q0 name=1\nalloc b2 2 q0\n";
    static const struct diff_case cases[] = {
        {a, 0, ""},
        {"name 4 \"f\"\nalloc b1 1 q0 name=4\nalloc b2 2 q0\n", 0, ""},
        {"name 1 \"g\"\nalloc b1 1 q0 name=1\nalloc b2 2 q0\n", 1,
         "event 1\n- alloc b1 1 q0 name=\"f\"\n+ alloc b1 1 q0 name=\"g\"\n"},
        {"name 1 \"f\"\nalloc b1 1 q0 name=1\n", 1,
         "event 2\n- alloc b2 2 q0\n+ (the trace has ended)\n"},
        {"alloc b1 3 q0\nalloc b2 3 q0\nalloc b3 3 q0\n", 3,
         "event 1\n- alloc b1 1 q0 name=\"f\"\n+ alloc b1 3 q0\n"},
        {"name 1 \"\\u001b]0;\"\nalloc b1 1 q0 name=1\nalloc b2 2 q0\n", 1,
         "event 1\n- alloc b1 1 q0 name=\"f\"\n+ alloc b1 1 q0 name=\"\\u001B]0;\"\n"},
    };
    check_diffs(TRACE_VIEW_ALL, a, cases, sizeof cases / sizeof *cases);
}

/* ---- wrong texts ---- */

static void wrong_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *events, *message;
    } cases[] = {
        {"alloc b1 1 q0\nallok b2 1 q0\n", ":4: 'allok' is no kind of event"},
        {"alloc b1 1 q0\nalloc b1 1 q0\n", ":4: block b1 lives already"},
        {"free b1 q0\n", ":3: block b1 does not live"},
        {"alloc b1 1 q0\nfree b1 q0\nfree b1 q0\n", ":5: block b1 does not live"},
        {"alloc 1 q0\n", ":3: the event names no block"},
        {"alloc b1 1x q0\n", ":3: '1x': expected a number up to 18446744073709551615"},
        {"alloc b1 1 q99999999\n", ":3: '99999999': expected a number up to 16777215"},
        {"launch q0 uses=b1r\n", ":3: 'b1': there is no such live block"},
        {"alloc b1 1 q0 colour=1\n", ":3: 'colour' is no member of an event"},
        {"alloc b1 1 q0 memory=77\n", ":3: 'memory' is no member of an event"},
        {"name 1\n", ":3: expected a number and a text in double quotes"},
        {"name 1 x\n", ":3: expected a text in double quotes"},
        {"frame 1 0\n", ":3: expected two numbers and a text in double quotes"},
        {"frame 1 0 x\n", ":3: expected a text in double quotes"},
        {"frame 1 1 \"f\"\n", ":3: frame 1 stands in no line before"},
        {"name 1 \"n\"\nalloc b1 1 q0 stack=1\n", ":4: frame 1 stands in no line before"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct import_report report;
        struct error error = {0};
        char *log = with_head(cases[i].events);
        int code = import_bytes("wrong", log, strlen(log), &report, &error);
        import_report_free(&report);
        free(log);
        assert_int_equal(code, ERR_PARSE);
        if (!strstr(error.text, cases[i].message))
            fail_msg("%s: %s", cases[i].events, error.text);
    }
}

/* Adds a frame of a file. */
static void add_frame(struct text *out, uint64_t step, uint64_t twice)
{
    static const char frame = DEFINE_FRAME, text[] = {1, 'f'};
    text_add_bytes(out, &frame, 1);
    codec_put_difference(out, step);
    codec_put_number(out, twice);
    text_add_bytes(out, text, sizeof text);
}

/* A file with one event, after these definitions. */
static void write_chunk(const struct text *definitions, uint64_t stack)
{
    const struct trace_event e = {.kind = TRACE_alloc, .bytes = 5, .stack = (unsigned)stack};
    struct text contents = {0}, file = {0};
    struct codec_state state = {0};
    import_good("one", HEAD);
    read_bytes("one.trace", &file);
    const unsigned char *length = (const unsigned char *)file.data + TRACE_MAGIC_BYTES + 4;
    file.length = TRACE_MAGIC_BYTES + 8 + (length[0] | (size_t)length[1] << 8) + 4;
    text_add_bytes(&contents, definitions->data, definitions->length);
    codec_put(&contents, &state, &e, 0);
    char packed[65536];
    const size_t bytes = ZSTD_compress(packed, sizeof packed, contents.data, contents.length, 1);
    uint32_t head[5] = {(uint32_t)bytes, (uint32_t)contents.length, 1,
                        (uint32_t)crc32(0, (unsigned char *)packed, (unsigned)bytes)};
    head[4] = (uint32_t)crc32(TRACE_VERSION, (unsigned char *)head, 16);
    text_add_bytes(&file, (const char *)head, sizeof head);
    text_add_bytes(&file, packed, bytes);
    write_bytes("one.trace", file.data, file.length);
    text_free(&contents);
    text_free(&file);
}

static void a_damaged_call_stack_is_refused(void **state)
{
    static const struct {
        uint64_t frames[2][2]; /* the index beyond the next one, twice the way to the caller */
        unsigned stack, depth;
        const char *wrong;
    } cases[] = {
        {{{0, 2}, {0, 2}}, 2, 0, NULL},
        {{{0, 2}, {(uint64_t)-1, 3}}, 1, 0, NULL}, /* what is defined first stays */
        {{{0, 2}}, 2, 0, "event 1 (chunk 1, at byte "},
        {{{0, 2}}, 2, 0, ": its call stack is not defined"},
        {{{0, 2}, {0, 6}}, 1, 0, "chunk 1, at byte "},
        {{{0, 2}, {0, 6}}, 1, 0, "a definition is damaged"},
        {{{0, 2}, {1 << 24, 2}}, 1, 0, "a definition is damaged"},
        {{{0, 2}, {(uint64_t)-2, 2}}, 1, 0, "a definition is damaged"},
        {{{0, 2}, {(uint64_t)-2, 1}}, 1, 0, "name 0, which says that there is none, is defined"},
        {{{0, 2}, {0, 1}}, 1, 0, "a frame of a call stack stands before the frame that called it"},
        {{{0, 2}, {3, 2}}, 1, 0, "a frame of a call stack stands before the frame that called it"},
        {{{0, 2}, {0, 4}}, 1, TRACE_STACK_MOST - 1, NULL},
        {{{0, 2}, {0, 4}}, 1, TRACE_STACK_MOST, "a call stack has more than 1024 frames"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text frames = {0};
        struct error error = {0};
        uint64_t events;
        bool cut;
        for (unsigned k = 0; k < 2 && cases[i].frames[k][1]; k++)
            add_frame(&frames, cases[i].frames[k][0], cases[i].frames[k][1]);
        for (unsigned k = 0; k < cases[i].depth; k++)
            add_frame(&frames, 0, 2);
        write_chunk(&frames, cases[i].stack);
        const int code = read_all("one.trace", &events, &cut, &error);
        if (code != (cases[i].wrong ? ERR_PARSE : 0) ||
            (code && !strstr(error.text, cases[i].wrong)))
            fail_msg("case %u: %s", i, code ? error.text : "it is read");
        text_free(&frames);
    }
}

/* An event may come before the name of its thread: then it has none, however often it is read. */
static void a_second_reading_is_like_the_first(void **state)
{
    struct trace_reader *reader;
    struct trace_event event;
    struct error error = {0};
    uint64_t digest[2];
    (void)state;
    import_good("late", HEAD "queue 0 \"default\"\nalloc b1 100 q0 @1000\nalloc b2 100 q0 @1500\n"
                             "thread 0 \"main\"\nfree b1 q0 t0 @2000\n");
    assert_int_equal(trace_open(trace_path("late.trace"), &reader, &error), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trace_rewind(reader, &error), 0);
        assert_int_equal(trace_next(reader, &event, &error), 1);
        assert_string_equal(trace_thread_of(reader, event.thread), "");
        assert_int_equal(trace_next(reader, &event, &error), 1);
        assert_int_equal(trace_next(reader, &event, &error), 1);
        assert_string_equal(trace_thread_of(reader, event.thread), "main");
        if (trace_next(reader, &event, &error))
            fail_msg("%s", error.text);
        digest[i] = trace_reader_totals(reader)->digest;
    }
    assert_int_equal(digest[0], digest[1]);
    trace_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_becomes_a_file_and_the_same_text),
        cmocka_unit_test(the_digest_is_that_of_the_meaning),
        cmocka_unit_test(a_second_reading_is_like_the_first),
        cmocka_unit_test(a_damaged_call_stack_is_refused),
        cmocka_unit_test(held_blocks_that_are_found_late_stand_in_front),
        cmocka_unit_test(frees_are_moved_in_front_of_the_next_owner),
        cmocka_unit_test(definitions_in_any_order_are_printed),
        cmocka_unit_test(an_empty_name_is_a_name),
        cmocka_unit_test(names_of_any_bytes_are_kept),
        cmocka_unit_test(a_file_cut_anywhere_has_its_whole_chunks),
        cmocka_unit_test(a_long_file_that_was_cut_off_keeps_what_came_before),
        cmocka_unit_test(a_damaged_byte_is_found),
        cmocka_unit_test(files_of_other_versions_are_refused),
        cmocka_unit_test(what_does_not_read_back_is_not_delivered),
        cmocka_unit_test(damage_in_a_chunk_is_named_with_its_place),
        cmocka_unit_test(totals_are_those_of_the_events),
        cmocka_unit_test(totals_have_an_end),
        cmocka_unit_test(a_number_costs_no_more_than_the_file),
        cmocka_unit_test(a_part_has_what_lived_before_it),
        cmocka_unit_test(a_cut_in_two_parts_loses_nothing),
        cmocka_unit_test(no_part_begins_after_the_end),
        cmocka_unit_test(a_phase_has_the_blocks_that_it_names),
        cmocka_unit_test(a_phase_that_is_not_there_is_named),
        cmocka_unit_test(actions_are_compared_without_times_and_names),
        cmocka_unit_test(differences_are_counted_and_printed),
        cmocka_unit_test(wrong_lines_are_named),
    };
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
