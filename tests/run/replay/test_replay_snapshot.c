/* A replay as a snapshot of PyTorch: imported again, it has the requests of the trace, and the driver
 * calls and the places of the strategy that played it. And PyTorch's viewer reads it: what that needs
 * is checked here by the rules of torch/utils/viz/MemoryViz.js of pytorch/pytorch (00067369). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc/registry.h"
#include "run/replay/replay_snapshot.h"
#include "tests/trace/trace_fixture.h"
#include "trace/import/value.h"

#define HEAD                                                                                       \
    "gamut trace 1\n{\"source\":\"by hand\",\"time_unit_ns\":1000,\"capacity_bytes\":null,"        \
    "\"lost_beginning\":false,\"knows\":[\"times\",\"frees\",\"done\",\"queues\",\"sites\"]}\n"

static void must(int code, const struct error *error)
{
    if (code)
        fail_msg("%s", error->text);
}

/* ---- the viewer ---- */

/* The viewer knows these opcodes; the argument's bytes, -4: a length of four bytes and the text. */
static int argument_of(unsigned char opcode)
{
    static const struct {
        unsigned char opcode;
        int bytes;
    } known[] = {{'K', 1},  {'M', 2},  {'J', 4},  {'X', -4}, {'h', 1},  {'j', 4},
                 {'}', 0},  {']', 0},  {'(', 0},  {'e', 0},  {'u', 0},  {'.', 0},
                 {0x86, 0}, {0x88, 0}, {0x89, 0}, {0x94, 0}, {0x80, 1}, {0x8a, 1}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].opcode == opcode)
            return known[i].bytes;
    fail_msg("the viewer does not know the opcode 0x%02x", opcode);
    return 0;
}

/* The opcodes are those that the viewer's unpickler has, and a list grows by few items at once. */
static void viewer_unpickles(const struct text *file)
{
    enum { ITEMS_MOST = 2000, DEPTH_MOST = 64 };
    const unsigned char *at = (const unsigned char *)file->data, *end = at + file->length;
    unsigned stack = 0, marks[DEPTH_MOST], mark_count = 0;
    while (at < end) {
        const unsigned char opcode = *at++;
        int bytes = argument_of(opcode);
        if (bytes == -4)
            bytes = 4 + at[0] + 256 * at[1];
        if (opcode == 0x80)
            assert_in_range(*at, 2, 4);
        if (opcode == 0x8a) { /* a longer one is a BigInt, which cannot be added to a number */
            assert_in_range(*at, 1, 8);
            bytes += *at;
        }
        at += bytes;
        if (opcode == '(') {
            assert_true(mark_count < DEPTH_MOST);
            marks[mark_count++] = stack;
        } else if (opcode == 'e' || opcode == 'u') {
            assert_true(mark_count > 0);
            assert_true(stack - marks[--mark_count] <= ITEMS_MOST);
            stack = marks[mark_count];
        } else if (opcode == 0x86) {
            stack--;
        } else if (opcode != 0x80 && opcode != 0x94 && opcode != '.') {
            stack++;
        }
    }
    assert_int_equal(stack, 1);
    assert_true(at == end && end[-1] == '.');
}

/* The viewer's state, which it finds by going back from the end. */
struct span {
    uint64_t address, bytes, stream;
    bool pending; /* a block that was let go */
};
struct view {
    struct span segments[16384], blocks[16384];
    unsigned segment_count, block_count;
};

static uint64_t member(const struct value *dict, const char *key)
{
    uint64_t number = 0;
    if (!value_count_of(value_get(dict, key), &number))
        fail_msg("%s is missing", key);
    return number;
}

static void put_span(struct span *spans, unsigned *count, struct span span)
{
    assert_true(*count < 16384);
    spans[(*count)++] = span;
}

static struct span *covering(struct span *spans, unsigned count, uint64_t address, uint64_t bytes)
{
    for (unsigned i = 0; i < count; i++)
        if (spans[i].address <= address && address + bytes <= spans[i].address + spans[i].bytes)
            return &spans[i];
    fail_msg("nothing is at %llx", (unsigned long long)address);
    return NULL;
}

/* Memory comes back; parts of one stream that touch become one. */
static void give_segment(struct view *v, struct span added, bool merges)
{
    for (unsigned i = 0; merges && i < v->segment_count; i++) {
        struct span *s = &v->segments[i];
        const bool before = s->address + s->bytes == added.address;
        if ((!before && added.address + added.bytes != s->address) || s->stream != added.stream)
            continue;
        added.address = before ? s->address : added.address;
        added.bytes += s->bytes;
        *s = v->segments[--v->segment_count];
        i = UINT32_MAX; /* from the first one again */
    }
    put_span(v->segments, &v->segment_count, added);
}

static void take_segment(struct view *v, struct span taken, bool is_part)
{
    struct span *s = covering(v->segments, v->segment_count, taken.address, taken.bytes);
    const struct span old = *s;
    assert_int_equal(old.stream, taken.stream);
    if (!is_part)
        assert_int_equal(old.bytes, taken.bytes);
    *s = v->segments[--v->segment_count];
    const uint64_t end = taken.address + taken.bytes;
    if (old.address < taken.address)
        put_span(v->segments, &v->segment_count,
                 (struct span){old.address, taken.address - old.address, old.stream, false});
    if (end < old.address + old.bytes)
        put_span(v->segments, &v->segment_count,
                 (struct span){end, old.address + old.bytes - end, old.stream, false});
}

static void take_back(struct view *v, const struct value *entry)
{
    const char *action = value_text_of(value_get(entry, "action"));
    const struct span span = {member(entry, "addr"), member(entry, "size"), member(entry, "stream"),
                              true};
    assert_non_null(action);
    assert_non_null(value_get(entry, "frames"));
    if (strcmp(action, "alloc") == 0 || strcmp(action, "free_requested") == 0) {
        struct span *block = covering(v->blocks, v->block_count, span.address, span.bytes);
        assert_int_equal(block->address, span.address);
        assert_int_equal(block->pending, *action == 'f');
        block->pending = false;
        if (*action == 'a')
            *block = v->blocks[--v->block_count];
    } else if (strcmp(action, "free_completed") == 0) {
        covering(v->segments, v->segment_count, span.address, span.bytes);
        put_span(v->blocks, &v->block_count, span);
    } else if (strcmp(action, "segment_free") == 0 || strcmp(action, "segment_unmap") == 0) {
        give_segment(v, span, action[8] == 'u');
    } else {
        take_segment(v, span, strcmp(action, "segment_map") == 0);
    }
}

/* A segment's blocks cover it, and its sums are theirs. */
static void see_segment(struct view *v, const struct value *segment)
{
    const struct value_list *blocks = value_list_of(value_get(segment, "blocks"));
    const uint64_t begin = member(segment, "address");
    uint64_t at = begin, allocated = 0, active = 0;
    assert_int_equal(member(segment, "device"), 0);
    for (unsigned i = 0; i < blocks->count; i++) {
        const struct value *b = &blocks->items[i];
        const char *state = value_text_of(value_get(b, "state"));
        const bool pending = strcmp(state, "active_pending_free") == 0;
        const bool lives = pending || strcmp(state, "active_allocated") == 0;
        assert_true(lives || strcmp(state, "inactive") == 0);
        assert_int_equal(member(b, "address"), at);
        assert_true(member(b, "requested_size") <= member(b, "size"));
        if (lives)
            put_span(v->blocks, &v->block_count, (struct span){at, member(b, "size"), 0, pending});
        allocated += lives && !pending ? member(b, "size") : 0;
        active += lives ? member(b, "size") : 0;
        at += member(b, "size");
    }
    assert_int_equal(at - begin, member(segment, "total_size"));
    assert_int_equal(allocated, member(segment, "allocated_size"));
    assert_int_equal(active, member(segment, "active_size"));
    put_span(v->segments, &v->segment_count,
             (struct span){begin, at - begin, member(segment, "stream"), false});
}

static void viewer_shows(const char *path)
{
    struct view *v = must_alloc(sizeof *v);
    struct arena arena = {0};
    struct value root;
    struct text file = {0};
    struct error error = {0};
    must(text_read_file(&file, path, &error), &error);
    viewer_unpickles(&file);
    must(pickle_read(&arena, file.data, file.length, &root, &error), &error);
    const struct value_list *segments = value_list_of(value_get(&root, "segments"));
    const struct value_list *traces = value_list_of(value_get(&root, "device_traces"));
    for (unsigned i = 0; i < segments->count; i++)
        see_segment(v, &segments->items[i]);
    assert_int_equal(traces->count, 1);
    const struct value_list *entries = value_list_of(&traces->items[0]);
    for (unsigned i = entries->count; i-- > 0;)
        take_back(v, &entries->items[i]);
    assert_int_equal(v->block_count, 0);
    assert_int_equal(v->segment_count, 0);
    arena_free(&arena);
    text_free(&file);
    free(v);
}

/* ---- replays ---- */

/* Replays NAME.trace, and imports the snapshot to SNAPSHOT.trace. */
static struct replay_outcome replay(const char *name, const char *strategy, const char *snapshot)
{
    struct replay_options options = {.device = replay_device(0, NULL), .free_at = FREE_AT_DONE};
    struct option_values values;
    struct replay_outcome outcome;
    struct trace_reader *reader;
    struct import_report report;
    struct error error = {0};
    char file[64];
    snprintf(file, sizeof file, "%s.trace", name);
    must(allocator_parse(strategy, &options.strategy, &values, &error), &error);
    options.options = &values;
    must(trace_open(trace_path(file), &reader, &error), &error);
    FILE *out = fopen(trace_path("snapshot.pickle"), "w");
    assert_non_null(out);
    must(replay_to_snapshot(reader, &options, out, &outcome, &error), &error);
    fclose(out);
    trace_close(reader);
    viewer_shows(trace_path("snapshot.pickle"));
    snprintf(file, sizeof file, "%s.trace", snapshot);
    must(import_log(trace_path("snapshot.pickle"), NULL, trace_path(file), true, &report, &error),
         &error);
    import_report_free(&report);
    return outcome;
}

static void a_small_replay_has_its_places(void **state)
{
    (void)state;
    import_good("small", HEAD "queue 0 \"0\"\n"
                              "name 1 \"adam.py:182 step < train.py:9 main\"\n"
                              "name 2 \"iteration\"\n"
                              "begin q0 @1000 name=2\n"
                              "alloc b1 1000 q0 @1000 name=1\n"
                              "alloc b2 3000 q0 @2000 name=1\n"
                              "free b1 q0 @3000\n"
                              "done b1 q0 @4000\n"
                              "end q0 @5000 name=2\n"
                              "alloc b3 500 q0 @6000\n");
    replay("small", "caching", "played");
    char *text = events_of("played");
    assert_string_equal(text, "name 1 \"iteration\"\n"
                              "queue 0 \"0\"\n"
                              "begin q0 name=1\n"
                              "driver_alloc 2097152 q0 address=0x7f0000000000\n"
                              "name 2 \"adam.py:182 step < train.py:9 main\"\n"
                              "alloc b1 1000 q0 address=0x7f0000000000 name=2\n"
                              "alloc b2 3000 q0 @1000 address=0x7f0000000400 name=2\n"
                              "free b1 q0 @2000\n"
                              "done b1 q0 @3000\n"
                              "end q0 @4000 name=1\n"
                              "alloc b3 500 q0 @5000 address=0x7f0000000000\n");
    free(text);
    char *info = info_of("played");
    assert_non_null(strstr(info, "\"lost_beginning\":false"));
    free(info);
}

/* The most bytes that the driver calls of a trace hold at once. */
static uint64_t most_held(const char *name)
{
    struct trace_reader *reader;
    struct trace_event e;
    struct error error = {0};
    uint64_t held = 0, most = 0;
    char file[64];
    snprintf(file, sizeof file, "%s.trace", name);
    must(trace_open(trace_path(file), &reader, &error), &error);
    while (trace_next(reader, &e, &error) > 0) {
        if (e.kind == TRACE_driver_alloc || e.kind == TRACE_driver_map)
            held += e.bytes;
        if (e.kind == TRACE_driver_free || e.kind == TRACE_driver_unmap)
            held -= e.bytes;
        most = held > most ? held : most;
    }
    trace_close(reader);
    return most;
}

static void a_real_replay_is_whole(void **state)
{
    (void)state;
    static const char *const strategies[] = {"raw", "pool", "caching", "vmm", "tlsf"};
    struct import_report report;
    struct error error = {0};
    must(import_log(GAMUT_ROOT "/tests/traces/pytorch/gnn.snapshot.pickle.gz", NULL,
                    trace_path("gnn.trace"), true, &report, &error),
         &error);
    import_report_free(&report);
    const struct trace_totals before = totals_of("gnn");
    for (unsigned i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        const struct replay_outcome outcome = replay("gnn", strategies[i], "played");
        const struct trace_totals after = totals_of("played");
        assert_int_equal(outcome.status, CASE_ok);
        assert_int_equal(after.blocks, before.blocks);
        assert_int_equal(after.peak_bytes, before.peak_bytes);
        assert_int_equal(after.requested_bytes, before.requested_bytes);
        assert_int_equal(after.live_at_end, before.live_at_end);
        assert_int_equal(after.by_kind[TRACE_done], before.by_kind[TRACE_done]);
        assert_int_equal(after.by_kind[TRACE_begin], before.by_kind[TRACE_begin]);
        assert_int_equal(most_held("played"), outcome.counts.peak_reserved_bytes);
    }
}

/* The history begins empty, so every block and segment at the end was made in it. */
static void the_segments_are_those_of_the_history(void **state)
{
    (void)state;
    import_good("two", HEAD "queue 0 \"0\"\nqueue 1 \"7\"\n"
                            "alloc b1 4000000 q0 @1000\n"
                            "alloc b2 4000000 q1 @2000\n"
                            "free b1 q0 @3000\n"
                            "done b1 q0 @3000\n"
                            "alloc b3 9000000 q0 @4000\n");
    static const char *const strategies[] = {"raw", "caching", "vmm", "tlsf"};
    for (unsigned i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        replay("two", strategies[i], "played");
        char *info = info_of("played");
        if (!strstr(info, "\"lost_beginning\":false"))
            fail_msg("%s: a block or a segment was not made in the history", strategies[i]);
        free(info);
    }
}

/* A block that waits for its last command at the end, one without bytes, many blocks in a segment,
 * and memory that one queue maps and another unmaps. */
static void what_a_viewer_could_trip_over(void **state)
{
    (void)state;
    struct text log = {0};
    text_add(&log, HEAD "queue 0 \"0\"\nqueue 1 \"7\"\nalloc b1 0 q0\nfree b1 q0\ndone b1 q0\n");
    for (unsigned i = 2; i < 9000; i++)
        text_add(&log, "begin q0 name=0\nalloc b%u 600 q%u\n", i, i % 2);
    text_add(&log,
             "alloc b9000 90000000 q1\nalloc b9001 60000000 q0\nfree b9000 q1\ndone b9000 q1\n"
             "trim q0\nalloc b9002 150000000 q0\nfree b9001 q0\nfree b2 q0\n");
    import_good("odd", log.data);
    text_free(&log);
    static const char *const strategies[] = {"raw", "pool", "caching", "vmm", "tlsf"};
    for (unsigned i = 0; i < sizeof strategies / sizeof *strategies; i++)
        replay("odd", strategies[i], "played");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_replay_has_its_places),
        cmocka_unit_test(a_real_replay_is_whole),
        cmocka_unit_test(what_a_viewer_could_trip_over),
        cmocka_unit_test(the_segments_are_those_of_the_history),
    };
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
