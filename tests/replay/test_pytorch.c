/* Replays of PyTorch's histories under the settings that they were recorded with: the same driver
 * calls in the same order with the same sizes, and each block in the same place of its segment.
 *
 *     test_pytorch                                 the histories of tests/traces
 *     test_pytorch TRACE [STRATEGY [CAPACITY]]     another one: prints what differs, in a line
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/arena.h"
#include "base/text.h"
#include "replay/exactness.h"
#include "tests/base/cmocka.h"
#include "tests/trace/trace_fixture.h"

struct driver_call {
    enum trace_kind kind;
    uint64_t event, memory, offset, bytes; /* offset: an address in recorded calls */
};

struct calls {
    struct driver_call *items;
    unsigned count, capacity;
};

/* Where a memory of the replay lies in the recorded process. */
struct base {
    uint64_t address, mapped_bytes;
};

struct check {
    struct calls recorded, played;
    unsigned compared;  /* calls */
    struct base *bases; /* by handle */
    uint64_t base_count, blocks, misplaced, differing_calls;
    char call_text[256], place_text[256]; /* the first differences; "": none */
};

static void add_call(struct calls *calls, struct driver_call call)
{
    calls->items = must_grow(calls->items, calls->count, &calls->capacity, sizeof *calls->items);
    calls->items[calls->count++] = call;
}

static struct base *base_of(struct check *c, uint64_t memory)
{
    if (memory >= c->base_count) {
        const uint64_t count = 2 * memory + 16;
        c->bases = must_realloc(c->bases, count * sizeof *c->bases);
        memset(c->bases + c->base_count, 0, (count - c->base_count) * sizeof *c->bases);
        c->base_count = count;
    }
    return &c->bases[memory];
}

/* Are the calls the same? Learns where the memory lies. */
static bool is_same(struct check *c, const struct driver_call *recorded,
                    const struct driver_call *played)
{
    struct base *base = base_of(c, played->memory);
    if (recorded->kind != played->kind || recorded->bytes != played->bytes)
        return false;
    if (played->kind == TRACE_driver_alloc ||
        (played->kind == TRACE_driver_map && base->mapped_bytes == 0))
        base->address = recorded->offset - played->offset;
    base->mapped_bytes += played->kind == TRACE_driver_map     ? played->bytes
                          : played->kind == TRACE_driver_unmap ? -played->bytes
                                                               : 0;
    return recorded->offset == base->address + played->offset;
}

static void describe(char *text, size_t size, const char *whose, const struct driver_call *call)
{
    if (call)
        snprintf(text, size, "%s: %s of %llu bytes at 0x%llx (event %llu)", whose,
                 trace_kind_name(call->kind), (unsigned long long)call->bytes,
                 (unsigned long long)call->offset, (unsigned long long)call->event);
    else
        snprintf(text, size, "%s: no call", whose);
}

/* Compares the calls that both sides have made, and with `all` demands that none is left. */
static void compare_calls(struct check *c, bool all)
{
    for (; c->compared < c->recorded.count || c->compared < c->played.count; c->compared++) {
        const struct driver_call *recorded =
            c->compared < c->recorded.count ? &c->recorded.items[c->compared] : NULL;
        struct driver_call *played =
            c->compared < c->played.count ? &c->played.items[c->compared] : NULL;
        if ((!recorded || !played) && !all)
            return;
        if (recorded && played && is_same(c, recorded, played))
            continue;
        c->differing_calls++;
        if (*c->call_text)
            continue;
        char left[120], right[120];
        if (played)
            played->offset += base_of(c, played->memory)->address;
        describe(left, sizeof left, "PyTorch", recorded);
        describe(right, sizeof right, "replay", played);
        snprintf(c->call_text, sizeof c->call_text, "call %u: %s, %s", c->compared + 1, left,
                 right);
    }
}

static void on_source(void *context, enum source_event what, uint64_t memory, uint64_t offset,
                      uint64_t bytes)
{
    static const enum trace_kind kinds[] = {[SOURCE_HELD] = TRACE_driver_alloc,
                                            [SOURCE_GIVEN_BACK] = TRACE_driver_free,
                                            [SOURCE_MAPPED] = TRACE_driver_map,
                                            [SOURCE_UNMAPPED] = TRACE_driver_unmap};
    struct check *c = context;
    const struct driver_call call = {
        .kind = kinds[what], .memory = memory, .offset = offset, .bytes = bytes};
    struct driver_call *last = c->played.count ? &c->played.items[c->played.count - 1] : NULL;
    const bool is_part = what == SOURCE_MAPPED || what == SOURCE_UNMAPPED;
    /* PyTorch maps and unmaps adjacent chunks at once. */
    if (is_part && last && !last->event && last->kind == call.kind && last->memory == memory &&
        last->offset + last->bytes == offset)
        last->bytes += bytes;
    else
        add_call(&c->played, call);
}

static void on_event(void *context, const struct trace_event *e, const struct block *block,
                     const struct replay_state *state)
{
    struct check *c = context;
    for (unsigned i = c->played.count; i-- > 0 && !c->played.items[i].event;)
        c->played.items[i].event = state->event;
    if (e->kind >= TRACE_driver_alloc && e->kind <= TRACE_driver_unmap)
        add_call(&c->recorded, (struct driver_call){.kind = e->kind,
                                                    .event = state->event,
                                                    .offset = e->address,
                                                    .bytes = e->bytes});
    compare_calls(c, e->kind == TRACE_alloc);
    if (e->kind != TRACE_alloc)
        return;
    const uint64_t address = base_of(c, block->memory)->address + block->offset;
    c->blocks++;
    if (address == e->address)
        return;
    if (c->misplaced++ == 0)
        snprintf(c->place_text, sizeof c->place_text,
                 "block b%llu of %llu bytes (event %llu): PyTorch: 0x%llx, replay: 0x%llx",
                 (unsigned long long)e->block, (unsigned long long)e->bytes,
                 (unsigned long long)state->event, (unsigned long long)e->address,
                 (unsigned long long)address);
}

/* Replays a trace; `spec` NULL: under the recorded strategy. */
static void replay_checked(const char *path, const char *spec, uint64_t capacity_bytes,
                           struct check *check, struct replay_outcome *outcome)
{
    struct error error = {0};
    struct trace_reader *reader;
    struct option_values values;
    struct replay_options options = {.options = &values,
                                     .device = replay_device(capacity_bytes, NULL),
                                     .free_at = FREE_AT_DONE,
                                     .check = true};
    *check = (struct check){0};
    const struct source_listener source = {check, on_source};
    const struct replay_listener listener = {check, on_event, &source};
    if (trace_open(path, &reader, &error) ||
        allocator_parse(spec ? spec : trace_reader_info(reader)->allocator, &options.strategy,
                        &values, &error) ||
        replay_trace(reader, &options, &listener, outcome, &error))
        fail_msg("%s", error.text);
    if (outcome->status != CASE_ok)
        fail_msg("%s: %s", path, outcome->reason);
    while (check->played.count && !check->played.items[check->played.count - 1].event)
        check->played.count--; /* the end of the replay gives everything back */
    compare_calls(check, true);
    trace_close(reader);
}

static void end_check(struct check *c)
{
    free(c->recorded.items);
    free(c->played.items);
    free(c->bases);
}

/* ---- the tool ---- */

static void report(const char *path, const char *spec, uint64_t capacity_bytes)
{
    struct check c;
    struct replay_outcome outcome;
    replay_checked(path, spec, capacity_bytes, &c, &outcome);
    printf("%s: %u calls, %llu differ; %llu blocks, %llu misplaced; reserved %llu%s%s%s%s\n", path,
           c.recorded.count, (unsigned long long)c.differing_calls, (unsigned long long)c.blocks,
           (unsigned long long)c.misplaced, (unsigned long long)outcome.counts.peak_reserved_bytes,
           *c.call_text ? "; " : "", c.call_text, *c.place_text ? "; " : "", c.place_text);
    end_check(&c);
}

/* ---- the tests ---- */

#define TRACES GAMUT_ROOT "/tests/traces/pytorch/"

/* The path of a recording as a trace; imports it if it is a log. */
static const char *trace_of(const char *file)
{
    static char path[256];
    struct import_report report;
    struct error error = {0};
    snprintf(path, sizeof path, TRACES "%s", file);
    if (strstr(file, ".trace") && !strstr(file, ".csv"))
        return path;
    const char *out = trace_path("recording.trace");
    if (import_log(path, NULL, out, true, &report, &error))
        fail_msg("%s", error.text);
    import_report_free(&report);
    return out;
}

/* The strategy is that of the recorded settings. The bytes are the peak that PyTorch reported. */
static void every_call_and_every_place_is_that_of_pytorch(void **state)
{
    (void)state;
    static const uint64_t limit_bytes = 6000000000;
    static const struct {
        const char *file;
        unsigned calls, blocks, reserved_mib;
        bool limited; /* by set_per_process_memory_fraction */
    } cases[] = {
        {"settings/graphs.0.pickle.gz", 25, 75, 304, false},
        {"settings/graphs.1.pickle.gz", 27, 75, 312, false},
        {"settings/graphs.2.pickle.gz", 25, 75, 304, false},
        {"settings/graphs.3.pickle.gz", 25, 75, 304, false},
        {"settings/graphs.4.pickle.gz", 25, 75, 304, false},
        {"settings/graphs.5.pickle.gz", 25, 75, 304, true},
        {"settings/graphs.6.pickle.gz", 27, 75, 312, false},
        {"settings/graphs.7.pickle.gz", 25, 75, 304, false},
        {"settings/graphs.8.pickle.gz", 25, 75, 304, false},
        {"settings/graphs.9.pickle.gz", 27, 75, 312, false},
        {"settings/lstm.0.pickle.gz", 17, 309, 748, false},
        {"settings/lstm.1.pickle.gz", 14, 309, 602, false},
        {"settings/lstm.5.pickle.gz", 17, 309, 748, true},
        {"settings/lstm.9.pickle.gz", 24, 309, 562, false},
        {"settings/streams.0.pickle.gz", 27, 453, 1202, false},
        {"settings/streams.1.pickle.gz", 20, 453, 704, false},
        {"settings/streams.7.pickle.gz", 29, 453, 1164, false},
        {"settings/unet.2.pickle.gz", 44, 642, 5080, false},
        {"settings/unet.6.pickle.gz", 22, 642, 2286, false},
        {"settings/unet.8.pickle.gz", 44, 642, 5080, false},
        {"settings/unet.9.pickle.gz", 46, 642, 4646, false},
        {"settings/gnn.3.pickle.gz", 25, 1234, 5402, false},
        {"settings/gnn.4.pickle.gz", 24, 1234, 5728, false},
        {"settings/gnn.5.pickle.gz", 44, 1234, 3324, true},
        {"settings/resnet.5.pickle.gz", 373, 4471, 3766, true},
        {"settings/resnet.9.trace", 220, 4471, 7654, false},
        {"h100/bert.trace", 67, 5851, 3518, false},
        {"settings/bert.3.trace", 73, 5851, 3694, false},
        {"settings/bert.7.trace", 154, 5851, 7390, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct check c;
        struct replay_outcome outcome;
        replay_checked(trace_of(cases[i].file), NULL, cases[i].limited ? limit_bytes : 0, &c,
                       &outcome);
        if (c.differing_calls || c.misplaced)
            fail_msg("%s: %llu calls differ, %llu blocks are misplaced; %s; %s", cases[i].file,
                     (unsigned long long)c.differing_calls, (unsigned long long)c.misplaced,
                     c.call_text, c.place_text);
        assert_int_equal(c.recorded.count, cases[i].calls);
        assert_int_equal(c.blocks, cases[i].blocks);
        assert_int_equal(outcome.counts.peak_reserved_bytes, (uint64_t)cases[i].reserved_mib << 20);
        end_check(&c);
    }
}

struct late {
    struct exactness exactness;
    uint64_t start_bytes; /* reserved when the recording began */
};

static void follow_late(void *context, const struct trace_event *e, const struct block *block,
                        const struct replay_state *state)
{
    struct late *late = context;
    (void)block;
    exactness_follow(&late->exactness, e, state);
    if (e->kind == TRACE_start)
        late->start_bytes = state->reserved_bytes;
}

/* Recordings that begin in the middle of a program. The bytes at the start are those of the final
 * segments less what the log's calls got. The limit is that of set_per_process_memory_fraction. */
static void a_recording_that_begins_late_is_exact(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        uint64_t limit_bytes;
        unsigned calls, start_mib;
        const char *spec; /* or NULL: as the log says */
    } cases[] = {
        {"midrun/seed1/gnn.expandable.pickle.gz", 0, 1, 1626, NULL},
        {"midrun/seed1/streams.by_size.pickle.gz", 0, 3, 314, NULL},
        {"midrun/seed1/streams.divisions.pickle.gz", 0, 8, 322, NULL},
        {"midrun/seed1/experts.rounding.pickle.gz", 2246895878, 16, 1858, NULL},
        {"midrun/seed1/lstm.expandable_split.pickle.gz", 0, 8, 704, NULL},
        {"midrun/seed1/embeddings.collect.pickle.gz", 3460534944, 5, 2776, NULL},
        {"midrun/seed1/streams.collect.pickle.gz", 230690717, 65, 144, NULL},
        {"midrun/seed1/gpt.default.pickle.gz", 1094179988, 4, 1024, NULL},
        {"midrun/seed1/graphs.expandable_split.pickle.gz", 0, 20, 886, NULL},
        {"midrun/seed1/evaluate.expandable_split.pickle.gz", 2029563872, 42, 986,
         "caching:conf={expandable_segments:True,max_split_size_mb:128}:limit=fraction"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct late late = {0};
        struct trace_reader *reader;
        struct option_values values;
        struct error error = {0};
        struct replay_outcome outcome = {0};
        struct replay_options options = {.options = &values,
                                         .device = replay_device(cases[i].limit_bytes, NULL),
                                         .free_at = FREE_AT_DONE,
                                         .check = true};
        const struct replay_listener listener = {.context = &late, .event = follow_late};
        if (trace_open(trace_of(cases[i].file), &reader, &error) ||
            allocator_parse(cases[i].spec ? cases[i].spec : trace_reader_info(reader)->allocator,
                            &options.strategy, &values, &error) ||
            replay_trace(reader, &options, &listener, &outcome, &error))
            fail_msg("%s: %s", cases[i].file, error.text);
        trace_close(reader);
        const struct exactness *x = &late.exactness;
        if (outcome.status != CASE_ok || !outcome.adopted || x->most_bytes ||
            late.start_bytes != (uint64_t)cases[i].start_mib << 20)
            fail_msg("%s: %s; adopted %d, %llu of %llu calls are equal, the first that is not is "
                     "event %llu, %llu bytes at the start",
                     cases[i].file, outcome.reason, outcome.adopted,
                     (unsigned long long)x->equal_count, (unsigned long long)x->call_count,
                     (unsigned long long)x->first_event, (unsigned long long)late.start_bytes);
        assert_int_equal(x->call_count, cases[i].calls);
    }
}

/* Histories recorded under the default settings, replayed under others. PyTorch reported these
 * peaks when it ran the same programs so. */
static void other_settings_hold_what_pytorch_held(void **state)
{
    (void)state;
    static const char *const files[] = {"resnet.trace.csv.gz", "gnn.trace.csv.gz",
                                        "gpt_generate.trace"};
    static const struct {
        const char *spec;
        unsigned reserved_mib[3];
    } rows[] = {
        {"caching", {3820, 4548, 774}},
        {"caching:conf={expandable_segments:True}", {3096, 1888, 666}},
        {"caching:conf={max_split_size_mb:64}", {4646, 10058, 774}},
        {"caching:conf={roundup_power2_divisions:4}", {3894, 4810, 800}},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = trace_of(files[i]);
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            struct check c;
            struct replay_outcome outcome;
            replay_checked(path, rows[k].spec, 0, &c, &outcome);
            if (outcome.counts.peak_reserved_bytes != (uint64_t)rows[k].reserved_mib[i] << 20)
                fail_msg("%s under %s: %llu MiB, expected %u", files[i], rows[k].spec,
                         (unsigned long long)(outcome.counts.peak_reserved_bytes >> 20),
                         rows[k].reserved_mib[i]);
            end_check(&c);
        }
    }
}

/* empty_cache and the begins of captures are trims; collections by age are none. */
static void trims_are_told_from_collections(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        unsigned trims;
    } cases[] = {
        {"settings/lstm.0.pickle.gz", 1},   {"settings/lstm.1.pickle.gz", 1},
        {"settings/graphs.0.pickle.gz", 3}, {"settings/graphs.1.pickle.gz", 2},
        {"settings/graphs.5.pickle.gz", 3}, {"settings/bert.7.trace", 0},
        {"settings/gnn.5.pickle.gz", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace_reader *reader;
        struct trace_totals totals;
        struct error error = {0};
        assert_int_equal(trace_open(trace_of(cases[i].file), &reader, &error), 0);
        assert_true(trace_read_totals(reader, &totals));
        if (totals.by_kind[TRACE_trim] != cases[i].trims)
            fail_msg("%s: %llu trims, expected %u", cases[i].file,
                     (unsigned long long)totals.by_kind[TRACE_trim], cases[i].trims);
        trace_close(reader);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_and_every_place_is_that_of_pytorch),
        cmocka_unit_test(a_recording_that_begins_late_is_exact),
        cmocka_unit_test(other_settings_hold_what_pytorch_held),
        cmocka_unit_test(trims_are_told_from_collections),
    };
    uint64_t capacity_bytes = 0;
    if (argc == 1)
        return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
    if (argc > 3)
        text_to_bytes(argv[3], &capacity_bytes);
    report(argv[1], argc > 2 && *argv[2] ? argv[2] : NULL, capacity_bytes);
    return 0;
}
