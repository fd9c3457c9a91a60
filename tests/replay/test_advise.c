/* Advice for small traces, worked out by hand; and how settings are written in the words of
 * applications. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "replay/advise.h"
#include "tests/base/cmocka.h"
#include "tests/trace/trace_fixture.h"

#define HEAD_OF(source)                                                                            \
    "gamut trace 1\n{\"source\":\"" source "\",\"time_unit_ns\":1,\"capacity_bytes\":null,"        \
    "\"lost_beginning\":false,\"knows\":[\"frees\"]}\nqueue 0 \"default\"\n"
#define MIB UINT64_C(1048576)

/* caching needs a second segment for block 4: 20 + 20 + 24 MiB. vmm maps what is missing at the end
 * of its range. */
#define MOVED                                                                                      \
    "alloc b1 20971520 q0\nalloc b2 20971520 q0\nfree b1 q0\nalloc b3 12582912 q0\n"               \
    "free b2 q0\nalloc b4 25165824 q0\n"
#define STEADY "alloc b1 20971520 q0\nfree b1 q0\nalloc b2 20971520 q0\nfree b2 q0\n"

/* The steps of the last search, which is done by one thread. */
static struct text steps;
static uint64_t step_count;

static void note_step(void *context, uint64_t replays, const char *doing)
{
    (void)context;
    assert_int_equal(replays, ++step_count);
    text_add(&steps, "%s\n", doing);
}

static struct advise advise_within(const char *const *names, size_t count, const char *current,
                                   const char *application, uint64_t capacity_bytes)
{
    const struct advise_options options = {.application = application,
                                           .current = current,
                                           .free_at = FREE_AT_DONE,
                                           .capacity_bytes = capacity_bytes,
                                           .jobs = 1,
                                           .step = note_step};
    const char *paths[4];
    struct advise advise;
    struct error error = {0};
    bool interrupted;
    text_free(&steps);
    step_count = 0;
    for (size_t i = 0; i < count; i++)
        paths[i] = trace_path(names[i]);
    if (advise_traces(paths, count, &options, &advise, &interrupted, &error))
        fail_msg("%s", error.text);
    assert_false(interrupted);
    return advise;
}

static struct advise advise_on(const char *const *names, size_t count, const char *current,
                               const char *application)
{
    return advise_within(names, count, current, application, 0);
}

static void has_words(const struct advised_setting *setting, const char *expected)
{
    struct text words = {0};
    assert_true(setting->is_known);
    setting_words(&setting->setting, &words);
    assert_string_equal(words.data, expected);
    text_free(&words);
}

static void each_replay_is_a_step(void **state)
{
    (void)state;
    import_good("moved", HEAD_OF("PyTorch by hand") MOVED);
    struct advise advise = advise_on(&(const char *){"moved.trace"}, 1, NULL, "auto");
    assert_int_equal(strncmp(steps.data, "current setting: caching\nsettings: ", 35), 0);
    assert_non_null(strstr(steps.data, "\nsettings: vmm"));
    assert_non_null(strstr(steps.data, "\nleast capacity: caching\n"));
    assert_true(step_count > advise.advices[0].tried_count);
    advise_free(&advise);
}

static void segments_that_grow_are_advised(void **state)
{
    (void)state;
    import_good("moved", HEAD_OF("PyTorch by hand") MOVED);
    struct advise advise = advise_on(&(const char *){"moved.trace"}, 1, NULL, "auto");
    const struct advice *advice = &advise.advices[0];
    assert_string_equal(advise.application->name, "pytorch");
    assert_string_equal(advise.traces[0].current, "caching");
    assert_int_equal(advise.advice_count, 1);
    assert_false(advice->leave);
    has_words(&advice->best, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    assert_int_equal(advise.traces[0].now.reserved_bytes, 64 * MIB);
    assert_int_equal(advise.traces[0].now.call_count, 3);
    assert_int_equal(advise.traces[0].demand.peak_bytes, 40 * MIB);
    assert_int_equal(advice->current_fit.capacity_bytes, 44 * MIB);
    assert_true(advice->best.on[0].reserved_bytes < 64 * MIB);
    advise_free(&advise);
}

static void what_is_good_is_left(void **state)
{
    (void)state;
    import_good("steady", HEAD_OF("PyTorch by hand") STEADY);
    struct advise advise = advise_on(&(const char *){"steady.trace"}, 1, NULL, "auto");
    assert_true(advise.advices[0].leave);
    advise_free(&advise);
    /* Nor is there anything to gain from a setting that is the best already. */
    import_good("moved", HEAD_OF("PyTorch by hand") MOVED);
    advise = advise_on(&(const char *){"moved.trace"}, 1, "vmm", "auto");
    assert_true(advise.advices[0].leave);
    assert_false(advise.traces[0].is_logged);
    advise_free(&advise);
}

/* An application without an allocator is told to have one, though it then holds more. */
static void a_driver_call_a_request_is_too_often(void **state)
{
    struct text log = {0};
    (void)state;
    text_add(&log, "%s", HEAD_OF("PyOpenCL by hand"));
    for (int i = 1; i <= 400; i++)
        text_add(&log, "alloc b%d 1000000 q0\nfree b%d q0\n", i, i);
    import_good("busy", log.data);
    text_free(&log);
    struct advise advise = advise_on(&(const char *){"busy.trace"}, 1, NULL, "auto");
    const struct advice *advice = &advise.advices[0];
    assert_int_equal(advise.traces[0].now.call_count, 800);
    assert_true(advice->is_bad);
    assert_false(advice->leave);
    has_words(&advice->best, "pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(queue))");
    assert_int_equal(advice->best.on[0].call_count, 1);
    advise_free(&advise);
}

static void what_a_limit_refuses_is_changed(void **state)
{
    static const char *const name = "moved.trace";
    (void)state;
    import_good("moved", HEAD_OF("PyTorch by hand") MOVED);
    /* 40 MiB live at once. */
    struct advise advise = advise_within(&name, 1, NULL, "auto", 40 * MIB - 1);
    assert_true(advise.traces[0].is_refused && advise.advices[0].is_bad);
    assert_int_equal(advise.traces[0].now.reserved_bytes, 64 * MIB);
    assert_true(advise.advices[0].leave && !advise.advices[0].best.is_known);
    advise_free(&advise);
    advise = advise_within(&name, 1, NULL, "auto", 40 * MIB);
    assert_true(advise.traces[0].is_refused && !advise.advices[0].leave);
    has_words(&advise.advices[0].best, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    advise_free(&advise);
    advise = advise_within(&name, 1, NULL, "auto", 44 * MIB);
    assert_false(advise.traces[0].is_refused);
    assert_int_equal(advise.traces[0].now.reserved_bytes, 44 * MIB);
    advise_free(&advise);
}

/* On two traces counts the one on which a setting does worst. */
static void several_traces_have_one_advice_more(void **state)
{
    static const char *const names[] = {"moved.trace", "steady.trace"};
    (void)state;
    import_good("moved", HEAD_OF("PyTorch by hand") MOVED);
    import_good("steady", HEAD_OF("PyTorch by hand") STEADY);
    struct advise advise = advise_on(names, 2, NULL, "auto");
    assert_int_equal(advise.advice_count, 3);
    assert_false(advise.advices[0].leave);
    assert_true(advise.advices[1].leave);
    assert_int_equal(advise.advices[2].count, 2);
    assert_true(advise.advices[2].leave); /* steady holds 20 MiB under both */
    advise_free(&advise);
}

static void the_search_is_the_same_every_time(void **state)
{
    (void)state;
    import_good("moved", HEAD_OF("by hand") MOVED);
    struct advise first = advise_on(&(const char *){"moved.trace"}, 1, NULL, "gamut");
    struct advise again = advise_on(&(const char *){"moved.trace"}, 1, NULL, "gamut");
    const struct advice *a = &first.advices[0], *b = &again.advices[0];
    assert_int_equal(a->tried_count, b->tried_count);
    assert_int_equal(a->leave, b->leave);
    assert_int_equal(a->best.is_known, b->best.is_known);
    assert_memory_equal(&a->best.setting, &b->best.setting, sizeof a->best.setting);
    advise_free(&first);
    advise_free(&again);
}

static const struct {
    const char *application;
    size_t family;
    unsigned value[2];
    const char *spec, *words;
} written[] = {
    {"pytorch", 0, {0, 0}, "caching", "unset PYTORCH_CUDA_ALLOC_CONF"},
    {"pytorch",
     0,
     {2, 0},
     "caching:max_split=64MiB",
     "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64"},
    {"pytorch",
     0,
     {1, 3},
     "caching:max_split=32MiB:divisions=8",
     "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32,roundup_power2_divisions:8"},
    {"pytorch", 1, {0, 0}, "vmm", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {"pytorch-2.11",
     0,
     {3, 1},
     "caching:large_segment=32MiB:max_split=32MiB",
     "PYTORCH_CUDA_ALLOC_CONF=large_segment_size_mb:32,max_split_size_mb:32"},
    {"pytorch-2.11",
     1,
     {1, 0},
     "vmm:large_chunk=12MiB",
     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,large_segment_size_mb:12"},
    {"rmm", 0, {0, 0}, "raw", "rmm.mr.CudaMemoryResource()"},
    {"rmm",
     1,
     {0, 0},
     "rmm",
     "rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=0)"},
    {"pyopencl",
     1,
     {0, 0},
     "pool",
     "pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(queue))"},
    {"serve", 0, {0, 0}, "caching", "gamut serve -s caching --"},
    {"gamut", 1, {1, 0}, "pool:leading_bits=2", "pool:leading_bits=2"},
};

static void settings_are_written_in_both_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        struct allocator_setting setting;
        struct text spec = {0}, words = {0};
        assert_true(application_setting(application_find(written[i].application, ""),
                                        written[i].family, &setting));
        for (unsigned k = 0; k < 2 && k < setting.knob_count; k++)
            setting.at[k].value = written[i].value[k];
        setting_spec(&setting, &spec);
        setting_words(&setting, &words);
        assert_string_equal(spec.data, written[i].spec);
        assert_string_equal(words.data, written[i].words);
        text_free(&spec);
        text_free(&words);
    }
}

/* All values that are tried are values of the option. */
static void all_values_are_values_of_the_option(void **state)
{
    static const char *const names[] = {"pytorch",  "pytorch-2.11", "rmm",
                                        "pyopencl", "serve",        "gamut"};
    (void)state;
    for (size_t a = 0; a < sizeof names / sizeof *names; a++) {
        struct allocator_setting setting;
        for (size_t f = 0; application_setting(application_find(names[a], ""), f, &setting); f++)
            for (unsigned k = 0; k < setting.knob_count; k++) {
                const struct knob *knob = setting.at[k].knob;
                for (unsigned v = 0; v < knob_value_count(knob); v++) {
                    const struct allocator_ops *ops;
                    struct option_values values;
                    struct error error = {0};
                    struct text spec = {0};
                    setting.at[k].value = v;
                    setting_spec(&setting, &spec);
                    if (allocator_parse(spec.data, &ops, &values, &error))
                        fail_msg("%s: %s", spec.data, error.text);
                    text_free(&spec);
                }
                setting.at[k].value = 0;
            }
    }
}

/* Under less than 64 MiB caching is refused, and gives its free segment back: 20 + 24 MiB. */
static void replays_are_under_the_inferred_limit(void **state)
{
    (void)state;
#define LIMITED(least, most)                                                                       \
    "gamut trace 1\n{\"source\":\"by hand\",\"time_unit_ns\":1,\"capacity_bytes\":null,"           \
    "\"lost_beginning\":false,\"limit_least_bytes\":" least ",\"limit_most_bytes\":" most          \
    ",\"knows\":[\"frees\"]}\nqueue 0 \"default\"\n" MOVED
    static const struct {
        const char *log;
        uint64_t given, reserved;
    } cases[] = {
        {HEAD_OF("by hand") MOVED, 0, 64 * MIB},
        {LIMITED("46137344", "67108863"), 0, 44 * MIB},
        {LIMITED("46137344", "67108863"), 64 * MIB, 64 * MIB}, /* --mem-limit is stronger */
        {LIMITED("67108864", "67108863"), 0, 64 * MIB},        /* the limit changed */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        import_good("limited", cases[i].log);
        struct advise advise = advise_within((const char *const[]){"limited.trace"}, 1, "caching",
                                             "auto", cases[i].given);
        assert_int_equal(advise.traces[0].now.reserved_bytes, cases[i].reserved);
        advise_free(&advise);
    }
}

/* ---- logs that begin in the middle ---- */

/* When this log began, PyTorch had a free segment of 100 MiB, and b1 in one of 20 MiB. */
#define BEGUN(rest)                                                                                \
    "gamut trace 1\n{\"source\":\"PyTorch by hand\",\"time_unit_ns\":1,\"capacity_bytes\":null,"   \
    "\"lost_beginning\":true,\"allocator\":\"caching\",\"knows\":[\"frees\",\"driver\","           \
    "\"addresses\"]}\nqueue 0 \"0\"\n"                                                             \
    "driver_alloc 104857600 q0 address=0x20000000\n"                                               \
    "driver_alloc 20971520 q0 address=0x10000000\n"                                                \
    "held b1 20971520 q0 address=0x10000000\nstart q0\n" rest

/* Without those 100 MiB, expandable segments hold 40 MiB and the current setting 32: no gain. */
static void no_setting_is_better_by_the_start_alone(void **state)
{
    (void)state;
    import_good("begun", BEGUN("alloc b2 12582912 q0 address=0x20000000\nfree b2 q0\n"));
    struct advise advise = advise_on((const char *const[]){"begun.trace"}, 1, NULL, "pytorch-2.11");
    const struct advised_trace *trace = &advise.traces[0];
    assert_true(advise.advices[0].leave);
    assert_int_equal(trace->now.reserved_bytes, 120 * MIB);
    assert_int_equal(trace->anew_bytes, 32 * MIB);
    advise_free(&advise);
    /* Another setting of the recorded allocator starts with them, and cannot use them for b2. */
    advise =
        advise_on((const char *const[]){"begun.trace"}, 1, "caching:max_split=64MiB", "pytorch");
    assert_true(advise.traces[0].now.adopted);
    assert_int_equal(advise.traces[0].now.reserved_bytes, 132 * MIB);
    advise_free(&advise);
}

/* b4 fits neither where b2 was nor where b3 was: caching gets 60 + 120 MiB in addition to what it
 * has. vmm needs no more than b1, b2 and b3. */
#define GROWS                                                                                      \
    "alloc b2 104857600 q0 address=0x20000000\ndriver_alloc 62914560 q0 address=0x30000000\n"      \
    "alloc b3 62914560 q0 address=0x30000000\nfree b2 q0\nfree b3 q0\n"                            \
    "driver_alloc 125829120 q0 address=0x40000000\n"                                               \
    "alloc b4 125829120 q0 address=0x40000000\nfree b4 q0\n"

static void settings_that_start_without_the_memory_are_bounded_by_the_live_blocks(void **state)
{
    (void)state;
    uint64_t least, most;
    import_good("grows", BEGUN(GROWS));
    struct advise advise = advise_on((const char *const[]){"grows.trace"}, 1, NULL, "pytorch");
    const struct advised_trace *trace = &advise.traces[0];
    const struct advised_setting *best = &advise.advices[0].best;
    assert_false(advise.advices[0].leave);
    assert_string_equal(best->setting.family.spec, "vmm");
    assert_int_equal(trace->now.reserved_bytes, 300 * MIB);
    advise_bounds(trace, &trace->now, &least, &most);
    assert_int_equal(least, 300 * MIB);
    assert_int_equal(most, 300 * MIB);
    assert_false(best->on[0].adopted);
    assert_int_equal(best->on[0].reserved_bytes, 180 * MIB);
    advise_bounds(trace, &best->on[0], &least, &most);
    assert_int_equal(least, 180 * MIB);
    assert_true(most == UINT64_MAX);
    advise_free(&advise);
}

/* The log of 340 MiB is not that of the replay, and so bounds it. */
static void a_replay_that_differs_is_bounded_by_how_much(void **state)
{
    (void)state;
    uint64_t least, most;
    import_good("differs", BEGUN("driver_alloc 41943040 q0 address=0x50000000\n" GROWS));
    struct advise advise = advise_on((const char *const[]){"differs.trace"}, 1, NULL, "pytorch");
    struct advised_trace *trace = &advise.traces[0];
    advise_bounds(trace, &trace->now, &least, &most);
    assert_int_equal(trace->now.reserved_bytes, 300 * MIB);
    assert_int_equal(least, 260 * MIB);
    assert_int_equal(most, 340 * MIB);
    trace->now.exactness.logged_peak_bytes =
        360 * MIB; /* as if the log had held more at its peak */
    advise_bounds(trace, &trace->now, &least, &most);
    assert_int_equal(least, 240 * MIB);
    assert_int_equal(most, 360 * MIB);
    advise_free(&advise);
}

/* A log that lost its beginning, and does not say what was there. */
static void without_a_start_there_is_only_a_least(void **state)
{
    (void)state;
    uint64_t least, most;
    import_good("lost", "gamut trace 1\n{\"source\":\"PyTorch by hand\",\"time_unit_ns\":1,"
                        "\"capacity_bytes\":null,\"lost_beginning\":true,\"knows\":[\"frees\"]}\n"
                        "queue 0 \"0\"\nheld b1 1048576 q0\nalloc b2 20971520 q0\n");
    struct advise advise = advise_on((const char *const[]){"lost.trace"}, 1, NULL, "pytorch");
    advise_bounds(&advise.traces[0], &advise.traces[0].now, &least, &most);
    assert_int_equal(least, 21 * MIB);
    assert_true(most == UINT64_MAX);
    advise_free(&advise);
}

static void a_doubt_names_what_the_log_lacks(void **state)
{
    (void)state;
#define GC "caching:conf={garbage_collection_threshold:0.6}"
    static const struct {
        const char *allocator;
        bool has_start, adopted, has_private, knows_pools;
        uint64_t limit_bytes; /* inferred */
        bool knows_limit;
        const char *doubt; /* a part; NULL: none */
    } cases[] = {
        {"caching", true, true, false, false, 0, false, NULL},
        {"caching", true, false, false, false, 0, false, "placed anew"},
        {"caching", true, true, true, false, MIB, false, "private ones are a guess"},
        {"caching", true, true, true, true, MIB, false, "memory limit: it is inferred"},
        {"caching", true, true, false, false, MIB, false, "memory limit: it is inferred"},
        {"caching", true, true, false, false, MIB, true, NULL},
        {GC, true, true, true, false, MIB, false, "memory limit, above a share"},
        {GC, true, true, false, false, MIB, true, "for how long memory had been free"},
        {GC, false, false, false, false, MIB, true, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct exactness exactness = {.has_private = cases[i].has_private};
        struct trace_info info = {.limit_most_bytes = cases[i].limit_bytes};
        struct trace_totals totals = {0};
        snprintf(info.allocator, sizeof info.allocator, "%s", cases[i].allocator);
        info.knows[TRACE_KNOWS_pools] = cases[i].knows_pools;
        totals.by_kind[TRACE_start] = cases[i].has_start;
        const char *doubt =
            exactness_doubt(&exactness, &info, &totals, cases[i].adopted, cases[i].knows_limit);
        if (!cases[i].doubt ? doubt != NULL : !doubt || !strstr(doubt, cases[i].doubt))
            fail_msg("case %zu: %s", i, doubt ? doubt : "no doubt");
    }
}

/* ---- limits that are inferred, and requests that were refused ---- */

#define RECORDED(strategy, least, most, log)                                                       \
    "gamut trace 1\n{\"source\":\"PyTorch by hand\",\"time_unit_ns\":1,\"capacity_bytes\":null,"   \
    "\"lost_beginning\":false,\"allocator\":\"%s\",\"limit_least_bytes\":%llu,"                    \
    "\"limit_most_bytes\":%llu,\"knows\":[\"frees\",\"driver\",\"queues\"]}\n"                     \
    "queue 0 \"0\"\nqueue 1 \"1\"\n%s",                                                            \
        strategy, (unsigned long long)(least)*MIB, (unsigned long long)(most)*MIB, log

/* Under less than 44 MiB caching releases 20 MiB for b2; under less than 84 MiB all for b3. */
#define RELEASES_FOR_B3                                                                            \
    "driver_alloc 20971520 q0\nalloc b1 20971520 q0\nfree b1 q0\n"                                 \
    "driver_alloc 25165824 q0\nalloc b2 25165824 q0\nfree b2 q0\n"                                 \
    "driver_free 20971520 q0\ndriver_free 25165824 q0\n"                                           \
    "driver_alloc 41943040 q0\nalloc b3 41943040 q0\n"
/* 60 MiB are needed. Then 40 MiB are mapped and free when 24 are asked for, which takes 20 more: 60
 * MiB. A fraction of less than 64 MiB refuses that, and all is unmapped. */
#define RELEASES_FOR_A_FRACTION                                                                    \
    "driver_alloc 62914560 q1\nalloc b1 62914560 q1\nfree b1 q1\ntrim q1\n"                        \
    "driver_free 62914560 q1\n"                                                                    \
    "driver_alloc 20971520 q1\nalloc b2 20971520 q1\nfree b2 q1\n"                                 \
    "driver_alloc 20971520 q0\nalloc b3 20971520 q0\nfree b3 q0\n"                                 \
    "driver_free 41943040 q0\ndriver_alloc 41943040 q0\nalloc b4 25165824 q0\n"
#define REFUSES_30 "driver_alloc 20971520 q0\nalloc b1 20971520 q0\nrefused 31457280 q0\n"

/* The most, the least and the middle are tried in this order, each of them as a fraction too. */
static void the_limit_is_the_first_that_agrees_with_the_log(void **state)
{
    (void)state;
    static const char expandable[] = "caching:conf={expandable_segments:True}";
    static const struct {
        const char *what, *strategy, *log;
        unsigned least, most, given, limit; /* MiB */
        unsigned tries;
        bool is_fraction;
    } cases[] = {
        {"all agree", "caching", RELEASES_FOR_B3, 44, 83, 0, 83, 1, false},
        {"the most is too much", "caching", RELEASES_FOR_B3, 44, 100, 0, 44, 2, false},
        {"the least is too little too", "caching", RELEASES_FOR_B3, 40, 100, 0, 70, 3, false},
        {"none agrees, and one is nearer", "caching", RELEASES_FOR_B3, 40, 200, 0, 40, 3, false},
        {"one is given", "caching", RELEASES_FOR_B3, 44, 100, 200, 100, 1, false},
        {"a fraction of the most", expandable, RELEASES_FOR_A_FRACTION, 44, 62, 0, 62, 2, true},
        {"one of the least", expandable, RELEASES_FOR_A_FRACTION, 62, 100, 0, 62, 4, true},
        {"one of the middle", expandable, RELEASES_FOR_A_FRACTION, 44, 80, 0, 62, 6, true},
        {"one of what is given", expandable, RELEASES_FOR_A_FRACTION, 44, 100, 62, 100, 2, true},
        {"a request that was refused is served", "caching", REFUSES_30, 45, 60, 0, 45, 2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text log = {0};
        text_add(&log, RECORDED(cases[i].strategy, cases[i].least, cases[i].most, cases[i].log));
        import_good("recorded", log.data);
        text_free(&log);
        struct advise advise = advise_within((const char *const[]){"recorded.trace"}, 1, NULL,
                                             "auto", cases[i].given * MIB);
        const struct advised_trace *trace = &advise.traces[0];
        if (trace->limit_bytes != cases[i].limit * MIB ||
            !!strstr(trace->current, ":limit=fraction") != cases[i].is_fraction)
            fail_msg("%s: %s within %llu MiB", cases[i].what, trace->current,
                     (unsigned long long)(trace->limit_bytes / MIB));
        unsigned tries = 0;
        for (const char *at = steps.data; (at = strstr(at, "current setting: ")); at++)
            tries++;
        assert_int_equal(tries, cases[i].tries);
        assert_int_equal(trace->now.refused.served_count, 0);
        advise_free(&advise);
    }
}

/* Under 42 MiB the 24 MiB fit into an expandable segment alone: see MOVED. Both hold 40 MiB. */
static void a_setting_that_serves_what_was_refused_is_better(void **state)
{
    (void)state;
    static const char *const name = "refused.trace";
    static const struct {
        const char *current;
        unsigned within, served_now, served; /* within: MiB */
        bool leave;
    } cases[] = {
        {"caching", 42, 0, 1, false}, /* no byte less, but the request */
        {"vmm", 42, 1, 1, true},      /* served already */
        {"caching", 0, 0, 0, true},   /* without a limit it is not asked for */
    };
    import_good("refused", HEAD_OF("PyTorch by hand") "alloc b1 20971520 q0\nalloc b2 20971520 q0\n"
                                                      "free b1 q0\nalloc b3 12582912 q0\nfree b2 "
                                                      "q0\nrefused 25165824 q0\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct advise advise =
            advise_within(&name, 1, cases[i].current, "auto", cases[i].within * MIB);
        const struct advice *advice = &advise.advices[0];
        assert_int_equal(advise.traces[0].now.refused.served_count, cases[i].served_now);
        assert_int_equal(advice->best.served_count, cases[i].served);
        assert_int_equal(advice->leave, cases[i].leave);
        assert_false(advise.traces[0].is_refused);
        if (!advice->leave)
            has_words(&advice->best, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
        advise_free(&advise);
    }
}

/* A refused request of 30 MiB: 18 MiB are free in its pool, on another queue and in a private pool
 * each, and 1.5 MiB in the pool of small blocks. */
#define PARTED                                                                                     \
    "gamut trace 1\n{\"source\":\"PyTorch by hand\",\"time_unit_ns\":1,"                           \
    "\"capacity_bytes\":null,\"lost_beginning\":false,"                                            \
    "\"knows\":[\"frees\",\"done\",\"queues\",\"pools\",\"sites\"]}\n"                             \
    "queue 0 \"default\"\nqueue 1 \"side\"\nname 1 \"train.py:9 step < run.py:1 main\"\n"          \
    "alloc b1 524288 q0\nalloc b2 2097152 q0\nalloc b3 2097152 q1\nalloc b4 2097152 q0 pool=1\n"

static void free_bytes_are_of_the_pool_of_the_blocks_beside_them(void **state)
{
    static const struct {
        const char *request, *reason;
        uint64_t place[FREE_PLACES];
    } cases[] = {
        {"refused 31457280 q0 name=1\n",
         "the largest free piece of its pool has 18.0 MiB, and more memory would exceed the limit; "
         "1.50 MiB of the free bytes are in the pool for blocks of other sizes; 18.0 MiB of the "
         "free bytes are on other streams; 18.0 MiB of the free bytes are in other pools, such as "
         "those of captured graphs",
         {18 * MIB, 3 * MIB / 2, 18 * MIB, 18 * MIB}},
        {"refused 31457280 q1\n", "the largest", {18 * MIB, 0, 39 * MIB / 2, 18 * MIB}},
        {"refused 73400320 q0\n",
         "the rest of the limit, 57.5 MiB, is less than the request; the live blocks are 0 B "
         "larger",
         {18 * MIB, 3 * MIB / 2, 18 * MIB, 18 * MIB}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text trace = {0}, reason = {0};
        text_add(&trace, "%s%s", PARTED, cases[i].request);
        import_good("parted", trace.data);
        struct advise advise =
            advise_within(&(const char *){"parted.trace"}, 1, "caching", "auto", 64 * MIB);
        const struct replay_refusal *r = &advise.traces[0].now.refusal;
        assert_true(r->knows_free);
        assert_int_equal(r->limit_bytes, 64 * MIB);
        assert_int_equal(r->reserved_bytes, 62 * MIB);
        assert_int_equal(r->granted_bytes, 13 * MIB / 2);
        assert_int_equal(r->free_bytes, r->reserved_bytes - r->granted_bytes);
        assert_int_equal(r->free_pieces, 4);
        assert_int_equal(r->largest_own_bytes, 18 * MIB);
        for (unsigned p = 0; p < FREE_PLACES; p++)
            assert_int_equal(r->place_bytes[p], cases[i].place[p]);
        refusal_add_reason(&reason, r);
        assert_int_equal(strncmp(reason.data, cases[i].reason, strlen(cases[i].reason)), 0);
        text_free(&trace);
        text_free(&reason);
        advise_free(&advise);
    }
}

static void a_workspace_that_is_refused_is_not_explained(void **state)
{
    (void)state;
    import_good("parted", PARTED "name 2 \"cuDNN workspaces: train.py:9 step\"\n"
                                 "refused 31457280 q0 name=2\n");
    struct advise advise =
        advise_within(&(const char *){"parted.trace"}, 1, "caching", "auto", 64 * MIB);
    assert_int_equal(advise.traces[0].now.refused.count, 1);
    assert_false(advise.traces[0].now.refusal.knows_free);
    advise_free(&advise);
}

/* caching keeps 20 MiB for a block of 2 MiB, and vmm has 38 MiB in one piece. */
static void the_option_that_serves_alone_needs_the_least(void **state)
{
    (void)state;
    import_good("alone", HEAD_OF("PyTorch by hand") "alloc b1 20971520 q0\nalloc b2 20971520 q0\n"
                                                    "free b1 q0\nalloc b3 2097152 q0\n"
                                                    "free b2 q0\nrefused 35651584 q0\n");
    struct advise advise =
        advise_within(&(const char *){"alone.trace"}, 1, "caching", "auto", 48 * MIB);
    const struct advice *advice = &advise.advices[0];
    assert_int_equal(advise.traces[0].now.refused.served_count, 0);
    has_words(&advice->best, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    assert_int_equal(advice->best.served_count, 1);
    assert_true(advice->is_single && !advice->leave);
    advise_free(&advise);
    /* 42 MiB end in a third chunk of vmm, within 61 MiB. A memory fraction would count a whole
     * segment, which is too much. */
    import_good("fraction",
                HEAD_OF("PyTorch by hand") "alloc b1 20971520 q0\nalloc b2 20971520 q0\n"
                                           "free b1 q0\nalloc b3 2097152 q0\n"
                                           "free b2 q0\nrefused 44040192 q0\n");
    advise = advise_within(&(const char *){"fraction.trace"}, 1, "caching", "auto", 61 * MIB);
    assert_false(advise.advices[0].is_single);
    assert_int_equal(advise.traces[0].now.refusal.largest_own_bytes, 18 * MIB);
    advise_free(&advise);
    /* What is served as it is needs none. */
    advise = advise_within(&(const char *){"alone.trace"}, 1, "caching", "auto", 120 * MIB);
    assert_false(advise.advices[0].is_single);
    assert_int_equal(advise.traces[0].now.refused.served_count, 1);
    assert_false(advise.traces[0].now.refusal.knows_free);
    advise_free(&advise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_replay_is_a_step),
        cmocka_unit_test(segments_that_grow_are_advised),
        cmocka_unit_test(what_is_good_is_left),
        cmocka_unit_test(a_driver_call_a_request_is_too_often),
        cmocka_unit_test(what_a_limit_refuses_is_changed),
        cmocka_unit_test(replays_are_under_the_inferred_limit),
        cmocka_unit_test(no_setting_is_better_by_the_start_alone),
        cmocka_unit_test(settings_that_start_without_the_memory_are_bounded_by_the_live_blocks),
        cmocka_unit_test(a_replay_that_differs_is_bounded_by_how_much),
        cmocka_unit_test(without_a_start_there_is_only_a_least),
        cmocka_unit_test(a_doubt_names_what_the_log_lacks),
        cmocka_unit_test(the_limit_is_the_first_that_agrees_with_the_log),
        cmocka_unit_test(a_setting_that_serves_what_was_refused_is_better),
        cmocka_unit_test(free_bytes_are_of_the_pool_of_the_blocks_beside_them),
        cmocka_unit_test(a_workspace_that_is_refused_is_not_explained),
        cmocka_unit_test(the_option_that_serves_alone_needs_the_least),
        cmocka_unit_test(several_traces_have_one_advice_more),
        cmocka_unit_test(the_search_is_the_same_every_time),
        cmocka_unit_test(settings_are_written_in_both_words),
        cmocka_unit_test(all_values_are_values_of_the_option),
    };
    const int failed = cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
    text_free(&steps);
    return failed;
}
