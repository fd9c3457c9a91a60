/* The least capacity of small traces, worked out by hand, and of real ones: it serves the trace,
 * and FIT_STEP_BYTES less do not. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/random.h"
#include "base/tree.h"
#include "replay/advise.h"
#include "replay/ages.h"
#include "replay/fit.h"
#include "replay/plan.h"
#include "tests/base/cmocka.h"
#include "trace/text.h"
#include "tests/trace/trace_fixture.h"

#define HEAD                                                                                       \
    "gamut trace 1\n{\"source\":\"by hand\",\"time_unit_ns\":1,\"capacity_bytes\":null,"           \
    "\"lost_beginning\":false,\"knows\":[\"frees\"]}\nqueue 0 \"default\"\n"
#define MIB UINT64_C(1048576)

static void must(int code, const struct error *error)
{
    if (code)
        fail_msg("%s", error->text);
}

static void import_file(const char *log, const char *name)
{
    struct import_report report;
    struct error error = {0};
    must(import_log(log, NULL, trace_path(name), true, &report, &error), &error);
    import_report_free(&report);
}

static struct lifetimes lifetimes_of(const char *path)
{
    struct lifetimes lifetimes;
    struct trace_reader *reader;
    struct error error = {0};
    must(trace_open(path, &reader, &error), &error);
    must(lifetimes_read(reader, &lifetimes, &error), &error);
    trace_close(reader);
    return lifetimes;
}

static struct fit fit_of(const char *path, const char *strategy)
{
    struct lifetimes lifetimes = lifetimes_of(path);
    struct allocator_plans plans = {0};
    const struct fit_options options = {
        .strategy = strategy, .plans = &plans, .free_at = FREE_AT_DONE, .demand = lifetimes.demand};
    struct fit fit;
    struct trace_reader *reader;
    struct error error = {0};
    lifetimes_free(&lifetimes);
    must(trace_open(path, &reader, &error), &error);
    must(fit_trace(reader, &options, &fit, &error), &error);
    trace_close(reader);
    return fit;
}

static struct ages *kept_ages;
static struct replay_refusal refused_last;
static uint64_t held_last;

/* How a replay with this capacity ends. */
static enum case_status replayed(const char *path, const char *strategy, uint64_t capacity_bytes)
{
    struct replay_options options = {
        .device = replay_device(0, NULL), .free_at = FREE_AT_DONE, .ages = kept_ages};
    struct option_values values;
    struct allocator_plans plans = {.make = plan_of_trace};
    struct replay_outcome outcome;
    struct trace_reader *reader;
    struct error error = {0};
    must(allocator_parse_planned(&plans, strategy, &options.strategy, &values, &error), &error);
    options.options = &values;
    options.device.capacity_bytes = capacity_bytes;
    must(trace_open(path, &reader, &error), &error);
    must(replay_trace(reader, &options, NULL, &outcome, &error), &error);
    trace_close(reader);
    allocator_plans_free(&plans);
    refused_last = outcome.refusal;
    held_last = outcome.counts.peak_reserved_bytes;
    return outcome.status;
}

/* 20 and 20 MiB, then 12 in place of the first, then 24 in place of the second. */
static const char moved[] = HEAD "alloc b1 20971520 q0\n"
                                 "alloc b2 20971520 q0\n"
                                 "free b1 q0\n"
                                 "alloc b3 12582912 q0\n"
                                 "free b2 q0\n"
                                 "alloc b4 25165824 q0\n";
/* Two live at once, nothing to gain. */
static const char grown[] = HEAD "alloc b1 100 q0\nalloc b2 200 q0\nfree b1 q0\n"
                                 "alloc b3 150 q0\n";
/* The second needs 10 MiB of a second chunk of 20; the first left 5. */
static const char tail[] = HEAD "alloc b1 15728640 q0\nalloc b2 15728640 q0\n";
/* 25 and 35 MiB fill three chunks of 20. */
static const char filled[] = HEAD "alloc b1 26214400 q0\nalloc b2 36700160 q0\n";
/* One block that a bin of powers of two rounds up. */
static const char rounded[] = HEAD "alloc b1 5242880 q0\n";

static const struct known {
    const char *name, *log, *strategy;
    uint64_t capacity_bytes, unlimited_bytes, optimum_bytes;
    uint64_t asked_bytes; /* when the most was reserved first */
    enum fit_cause cause;
    uint64_t event;
} knowns[] = {
    /* Every block in a memory of its own. */
    {"raw moved", moved, "raw", 40 * MIB, 40 * MIB, 40 * MIB, 40 * MIB, FIT_demand, 2},
    /* Block 3 has the first part of a segment of 20 MiB, so block 4 needs one more, of 24. The
     * segment of block 2 is released if it must be. */
    {"caching moved", moved, "caching", 44 * MIB, 64 * MIB, 40 * MIB, 36 * MIB, FIT_fragmentation,
     6},
    /* A device that is full refuses a chunk. A fraction refuses a request that exceeds it in
     * addition to what is held: 20 and 16 MiB, of which 20 are mapped; 40 and 36, of which 20. */
    {"vmm tail", tail, "vmm", 40 * MIB, 40 * MIB, 30 * MIB, 30 * MIB, FIT_fragmentation, 2},
    {"vmm tail, fraction", tail, "vmm:limit=fraction", 36 * MIB, 40 * MIB, 30 * MIB, 30 * MIB,
     FIT_fragmentation, 2},
    {"vmm filled", filled, "vmm", 60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, FIT_demand, 2},
    {"vmm filled, fraction", filled, "vmm:limit=fraction", 76 * MIB, 60 * MIB, 60 * MIB, 60 * MIB,
     FIT_fragmentation, 2},
    {"raw grown", grown, "raw", 350, 350, 350, 350, FIT_demand, 4},
    {"caching grown", grown, "caching", 2 * MIB, 2 * MIB, 350, 100, FIT_rounding, 1},
    /* It has half of the capacity, found to 512 bytes, and asks for no more: by its own count the
     * second request does not fit. */
    {"arena moved", moved, "arena", 80 * MIB + 36, 40960 * MIB, 40 * MIB, 20 * MIB,
     FIT_fragmentation, 2},
    {"pool rounded", rounded, "pool:leading_bits=0", 8 * MIB - 1, 8 * MIB - 1, 5 * MIB, 5 * MIB,
     FIT_rounding, 1},
};

static void the_least_capacity_is_the_known_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof knowns / sizeof *knowns; i++) {
        const struct known *k = &knowns[i];
        import_good("known", k->log);
        const char *path = trace_path("known.trace");
        struct lifetimes lifetimes = lifetimes_of(path);
        struct optimum optimum;
        lifetimes_optimum(&lifetimes, 1000000000, &optimum);
        lifetimes_free(&lifetimes);
        const struct fit fit = fit_of(path, k->strategy);
        print_message("%s\n", k->name);
        assert_int_equal(fit.status, CASE_ok);
        assert_int_equal(fit.capacity_bytes, k->capacity_bytes);
        assert_in_range(fit.capacity_bytes - fit.refused_bytes, 1, FIT_STEP_BYTES);
        assert_int_equal(fit.unlimited.peak_reserved_bytes, k->unlimited_bytes);
        assert_int_equal(fit.requested_at_peak_bytes, k->asked_bytes);
        assert_true(optimum.known && optimum.proven);
        assert_int_equal(optimum.bytes, k->optimum_bytes);
        assert_string_equal(fit_cause_name(fit.cause), fit_cause_name(k->cause));
        assert_int_equal(fit.refusal.event, k->event);
    }
}

static void a_refusal_knows_the_free_pieces(void **state)
{
    (void)state;
    import_good("moved", moved);
    const struct fit fit = fit_of(trace_path("moved.trace"), "caching");
    assert_true(fit.refusal.knows_free);
    assert_int_equal(fit.refusal.requested_bytes, 12 * MIB);
    assert_int_equal(fit.refusal.reserved_bytes, 20 * MIB);
    assert_int_equal(fit.refusal.free_bytes, 8 * MIB);
    assert_int_equal(fit.refusal.free_pieces, 1);
    assert_int_equal(fit.refusal.largest_free_bytes, 8 * MIB);
}

static void a_trace_without_blocks_needs_nothing(void **state)
{
    (void)state;
    import_good("empty", HEAD);
    const struct fit fit = fit_of(trace_path("empty.trace"), "caching");
    assert_int_equal(fit.status, CASE_ok);
    assert_int_equal(fit.capacity_bytes, 0);
    assert_int_equal(fit.cause, FIT_none);
}

static void a_strategy_that_cannot_start_is_skipped(void **state)
{
    (void)state;
    import_good("moved", moved);
    const struct fit fit = fit_of(trace_path("moved.trace"), "pool:kind=pinned");
    assert_int_equal(fit.status, CASE_skipped);
    assert_non_null(strstr(fit.reason, "device memory"));
}

/* Both ends hold for every strategy on a real trace, whose searches take two to 25 replays. */
static void both_ends_of_a_real_trace_hold(void **state)
{
    size_t count;
    const struct allocator_ops *const *list = allocator_list(&count);
    (void)state;
    import_file(GAMUT_ROOT "/tests/traces/pytorch/gnn.trace.csv.gz", "gnn.trace");
    const char *path = trace_path("gnn.trace");
    for (size_t i = 0; i < count; i++) {
        if (list[i]->serves_plan)
            continue;
        const struct fit fit = fit_of(path, list[i]->name);
        if (list[i]->harness_only || fit.status == CASE_skipped)
            continue;
        print_message("%s: %u replays\n", list[i]->name, fit.replays);
        assert_in_range(fit.replays, 2, 60 + FIT_BELOW_REPLAYS);
        assert_in_range(fit.capacity_bytes - fit.refused_bytes, 1, FIT_STEP_BYTES);
        assert_int_equal(replayed(path, list[i]->name, fit.capacity_bytes), CASE_ok);
        assert_int_equal(replayed(path, list[i]->name, fit.refused_bytes), CASE_oom);
        assert_true(fit.capacity_bytes <= fit.unlimited.peak_reserved_bytes);
        assert_true(fit.limited.peak_reserved_bytes <= fit.capacity_bytes);
    }
}

/* What PyTorch itself needed on an H100 (frontier.json): with a limit of `works_at` no request was
 * refused, with `fails_at` one was. `over`: how much more a fit may say, in parts of `works_at`. */
static const struct frontier {
    const char *program;
    double over_caching, over_vmm;
} frontiers[] = {
    {"bert", 0.005, 0.005},
    {"gnn", 0.005, 0.005},
    {"lstm", 0.005, 0.005},
    {"resnet", 0.005, 0.005},
    {"unet", 0.005, 0.005},
    /* record_stream keeps blocks until the device is done with them. How far it lags depends on the
     * waits of refused requests, and so on the limit; the trace was recorded without one. Measured:
     * 2.4 and 3.6 % too high. */
    {"streams", 0.03, 0.04},
};

static const json_t *row_of(const json_t *all, const char *program, bool expands)
{
    const json_t *row;
    size_t i;
    json_array_foreach(all, i, row)
    {
        if (strcmp(tree_get_text(row, "program"), program) == 0 &&
            (*tree_get_text(row, "conf") != 0) == expands)
            return row;
    }
    fail_msg("frontier.json has no %s", program);
    return NULL;
}

static void the_least_capacity_is_that_of_pytorch(void **state)
{
    static const char folder[] = GAMUT_ROOT "/tests/traces/pytorch/h100/";
    enum { FRONTIERS = sizeof frontiers / sizeof *frontiers };
    struct error error = {0};
    struct text text = {0};
    (void)state;
    must(text_read_file(&text, GAMUT_ROOT "/tests/traces/pytorch/h100/frontier.json", &error),
         &error);
    json_t *all = json_loads(text.data, 0, NULL);
    text_free(&text);
    assert_int_equal(json_array_size(all), 2 * FRONTIERS);
    for (size_t i = 0; i < 2 * FRONTIERS; i++) {
        const struct frontier *f = &frontiers[i / 2];
        const bool expands = i % 2;
        const char *strategy = expands ? "vmm:limit=fraction" : "caching";
        const json_t *row = row_of(all, f->program, expands);
        const double fails_at = tree_get_number(row, "fails_at");
        const double works_at = tree_get_number(row, "works_at");
        char path[256];
        snprintf(path, sizeof path, "%s%s.trace", folder, f->program);
        const struct fit fit = fit_of(path, strategy);
        /* With a hole there are two answers. PyTorch was tried around one of them. */
        const double fits_at =
            (double)((double)fit.lowest_bytes > 0.995 * fails_at ? fit.lowest_bytes
                                                                 : fit.capacity_bytes);
        print_message("%s %s: fits into %.0f, PyTorch needs %.0f to %.0f\n", f->program, strategy,
                      fits_at, fails_at, works_at);
        assert_true(fits_at > 0.995 * fails_at);
        assert_true(fits_at < (1 + (expands ? f->over_vmm : f->over_caching)) * works_at);
    }
    json_decref(all);
}

/* 20 MiB live when 30 are refused, or when a workspace gets 30. */
#define LIVE                                                                                       \
    HEAD "name 1 \"cuDNN workspaces: a\"\nname 2 \"a > cuDNN workspaces\"\nalloc b1 20971520 q0\n"
static const struct {
    const char *log;
    unsigned refused_count, dispensable_count; /* in MiB from here on: */
    uint64_t peak, needed_peak, capacity, needed;
    unsigned unserved_count;
} demands[] = {
    {LIVE "refused 31457280 q0\n", 1, 0, 50, 50, 50, 0, 0},
    /* Its block is given back at once: the free segment of 30 MiB goes for one of 40. */
    {LIVE "refused 31457280 q0\nalloc b2 41943040 q0\n", 1, 0, 60, 60, 60, 0, 0},
    /* No device has 100 GB. */
    {LIVE "refused 107374182400 q0\n", 1, 0, 20, 20, 20, 0, 1},
    {LIVE "refused 31457280 q0 name=1\n", 0, 0, 20, 20, 20, 0, 0},
    {LIVE "alloc b2 31457280 q0 name=1\nfree b2 q0\nalloc b3 20971520 q0\n", 0, 1, 50, 40, 50, 40,
     0},
    {LIVE "alloc b2 31457280 q0 name=2\n", 0, 0, 50, 50, 50, 0, 0},
};

static void refused_requests_count_and_dispensable_ones_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof demands / sizeof *demands; i++) {
        import_good("demand", demands[i].log);
        struct lifetimes lifetimes = lifetimes_of(trace_path("demand.trace"));
        const struct fit fit = fit_of(trace_path("demand.trace"), "caching");
        assert_int_equal(lifetimes.demand.refused_count, demands[i].refused_count);
        assert_int_equal(lifetimes.demand.ends_refused, i == 0 || i == 2);
        assert_int_equal(lifetimes.demand.dispensable_count, demands[i].dispensable_count);
        assert_int_equal(lifetimes.demand.dispensable_most_bytes,
                         demands[i].dispensable_count * 30 * MIB);
        assert_int_equal(lifetimes.demand.peak_bytes, demands[i].peak * MIB);
        assert_int_equal(lifetimes.demand.needed_peak_bytes, demands[i].needed_peak * MIB);
        assert_int_equal(fit.status, CASE_ok);
        assert_int_equal(fit.unserved_count, demands[i].unserved_count);
        assert_int_equal(fit.capacity_bytes, demands[i].capacity * MIB);
        assert_int_equal(fit.lowest_bytes, fit.capacity_bytes);
        assert_int_equal(fit.knows_needed, demands[i].dispensable_count > 0);
        assert_int_equal(fit.needed_bytes, demands[i].needed * MIB);
        lifetimes_free(&lifetimes);
    }
}

#define CUDNN GAMUT_ROOT "/tests/traces/pytorch/cudnn/"

/* What PyTorch did on an H100 under these limits: it ran under none that is below what is needed,
 * and nothing was refused under one that serves all. */
static void pytorch_runs_with_what_is_needed(void **state)
{
    json_t *row, *all = json_load_file(CUDNN "limits.json", 0, NULL);
    size_t i;
    (void)state;
    import_file(CUDNN "conv3d.snapshot.pickle.gz", "conv3d.trace");
    const struct fit fits[] = {fit_of(trace_path("conv3d.trace"), "caching"),
                               fit_of(CUDNN "unet_bench.trace", "caching")};
    for (size_t k = 0; k < 2; k++)
        assert_true(fits[k].knows_needed && fits[k].needed_bytes < fits[k].capacity_bytes);
    struct lifetimes lifetimes = lifetimes_of(trace_path("conv3d.trace"));
    assert_int_equal(lifetimes.demand.dispensable_count, 48); /* those of run_conv_plan */
    lifetimes_free(&lifetimes);
    assert_int_equal(json_array_size(all), 33);
    json_array_foreach(all, i, row)
    {
        const struct fit *fit = &fits[strcmp(tree_get_text(row, "program"), "conv3d") != 0];
        const double limit = tree_get_number(row, "limit");
        if (json_is_true(json_object_get(row, "ran")))
            assert_true(limit >= (double)fit->needed_bytes);
        if (tree_get_number(row, "refused") > 0)
            assert_true(limit < (double)fit->capacity_bytes);
        else
            assert_true(limit >= (double)fit->lowest_bytes);
    }
    json_decref(all);
}

/* ResNet-50 is served with 3716 MiB, but not with some capacities up to 3761. */
static void a_hole_is_below_the_least_capacity(void **state)
{
    static const char path[] = GAMUT_ROOT "/tests/traces/pytorch/h100/resnet.trace";
    (void)state;
    const struct fit fit = fit_of(path, "caching");
    assert_int_equal(fit.lowest_bytes, 3716 * MIB);
    assert_int_equal(fit.capacity_bytes, 3762 * MIB);
    assert_int_equal(replayed(path, "caching", fit.lowest_bytes), CASE_ok);
    assert_int_equal(replayed(path, "caching", fit.refused_bytes), CASE_oom);
    assert_int_equal(fit.refusal.event, refused_last.event);
    assert_int_equal(fit.refusal.reserved_bytes, refused_last.reserved_bytes);
    for (uint64_t mib = 3762; mib < 4280; mib += 37)
        assert_int_equal(replayed(path, "caching", mib * MIB), CASE_ok);
}

/* A strategy that takes regions of a size asks for less after a refusal: each capacity from the
 * lower bound up at which something changes is tried. */
static void the_lowest_capacity_is_the_least(void **state)
{
    static const char strategy[] = "bufalloc:region=1MiB";
    struct random random = {44};
    struct text log = {0};
    unsigned live[200], count = 0;
    (void)state;
    text_add(&log, "%s", HEAD);
    for (unsigned block = 1; block <= 200; block++) {
        text_add(&log, "alloc b%u %" PRIu64 " q0\n", block, 1 + random_below(&random, 3000));
        live[count++] = block;
        if (random_below(&random, 100) < 90) {
            const unsigned at = (unsigned)random_below(&random, count);
            text_add(&log, "free b%u q0\n", live[at]);
            live[at] = live[--count];
        }
    }
    import_good("regions", log.data);
    text_free(&log);
    const struct fit fit = fit_of(trace_path("regions.trace"), strategy);
    assert_true(fit.lowest_bytes < fit.refused_bytes);
    assert_int_equal(replayed(trace_path("regions.trace"), strategy, fit.lowest_bytes), CASE_ok);
    for (uint64_t bytes = 1; bytes < fit.lowest_bytes; bytes += 97)
        assert_int_equal(replayed(trace_path("regions.trace"), strategy, bytes), CASE_oom);
    /* tlsf is another one under each capacity, unless its parents are as small anyway. */
    static const char *const specs[] = {"tlsf", "tlsf:parent=4KiB", "arena", "arena:size=1MiB"};
    assert_false(fit.reads_capacity);
    for (unsigned i = 0; i < 4; i++) {
        const struct fit read = fit_of(trace_path("regions.trace"), specs[i]);
        assert_int_equal(read.status, CASE_ok);
        assert_int_equal(read.reads_capacity, i % 2 == 0);
        assert_true(read.lowest_bytes <= read.capacity_bytes);
        assert_int_equal(read.replays > FIT_BELOW_REPLAYS, read.reads_capacity);
        assert_int_equal(replayed(trace_path("regions.trace"), specs[i], read.lowest_bytes),
                         CASE_ok);
    }
}

/* Of several replays, the first finds them. */
static void ages_are_found_once(void **state)
{
    static const char strategy[] = "caching:conf={garbage_collection_threshold:0.6}";
    struct ages ages = {0};
    (void)state;
    import_file(GAMUT_ROOT "/tests/traces/pytorch/midrun/seed1/gnn.collect.pickle.gz",
                "aged.trace");
    kept_ages = &ages;
    assert_int_equal(replayed(trace_path("aged.trace"), strategy, 0), CASE_ok);
    const void *found = ages.memories;
    assert_non_null(found);
    assert_int_equal(replayed(trace_path("aged.trace"), strategy, 0), CASE_ok);
    assert_ptr_equal(ages.memories, found);
    kept_ages = NULL;
    ages_free(&ages);
}

/* ---- random traces against naive answers ---- */

enum { SWEPT_BLOCKS = 7, SWEPT_TRACES = 60 };

struct swept {
    uint64_t size[SWEPT_BLOCKS];
    unsigned from[SWEPT_BLOCKS], to[SWEPT_BLOCKS]; /* numbers of events; `to` is the free */
    uint64_t offset[SWEPT_BLOCKS], best;
};

static void draw_swept(struct swept *swept, struct random *random, struct text *log)
{
    unsigned live[SWEPT_BLOCKS], count = 0, event = 0, block = 0;
    text_add(log, "%s", HEAD);
    while (block < SWEPT_BLOCKS || count) {
        if (block < SWEPT_BLOCKS && (!count || random_below(random, 100) < 60)) {
            swept->size[block] = 1 + random_below(random, 3000);
            swept->from[block] = event;
            text_add(log, "alloc b%u %" PRIu64 " q0\n", block + 1, swept->size[block]);
            live[count++] = block++;
        } else {
            const unsigned at = (unsigned)random_below(random, count);
            swept->to[live[at]] = event;
            text_add(log, "free b%u q0\n", live[at] + 1);
            live[at] = live[--count];
        }
        event++;
    }
}

/* Every order in which blocks can be put at the lowest place that is free: one of them is best. */
static void try_orders(struct swept *s, unsigned placed, uint64_t height)
{
    if (height >= s->best)
        return;
    if (placed == (1U << SWEPT_BLOCKS) - 1)
        s->best = height;
    for (unsigned b = 0; b < SWEPT_BLOCKS; b++) {
        if (placed >> b & 1)
            continue;
        uint64_t at = 0;
        for (unsigned i = 0; i < SWEPT_BLOCKS; i++)
            if (placed >> i & 1 && s->from[i] < s->to[b] && s->from[b] < s->to[i] &&
                at < s->offset[i] + s->size[i] && s->offset[i] < at + s->size[b]) {
                at = s->offset[i] + s->size[i];
                i = UINT_MAX; /* from the first again */
            }
        s->offset[b] = at;
        try_orders(s, placed | 1U << b, at + s->size[b] > height ? at + s->size[b] : height);
    }
}

/* The plan's file is the plan, and a replay of it needs its arena in whole chunks. */
static void check_plan(const char *path)
{
    struct offset_plan made, read;
    struct error error = {0};
    char spec[512];
    const char *file = trace_path("swept.plan");
    must(plan_of_trace(path, &made, &error), &error);
    must(plan_verify(&made, &error), &error);
    must(plan_write(&made, file, true, &error), &error);
    must(plan_read(file, &read, &error), &error);
    const struct plan_queue *a = made.queues, *b = read.queues;
    assert_true(read.queue_count == 1 && read.digest == made.digest);
    assert_true(b->count == a->count && b->height == a->height);
    for (unsigned i = 0; i < a->count; i++)
        assert_true(a->slots[i].size == b->slots[i].size && a->slots[i].end == b->slots[i].end &&
                    a->slots[i].offset == b->slots[i].offset);
    snprintf(spec, sizeof spec, "planned:trace=%s", file);
    assert_int_equal(replayed(path, spec, 0), CASE_ok);
    assert_int_equal(held_last, (a->height + 2 * MIB - 1) / (2 * MIB) * (2 * MIB));
    plan_free(&made);
    plan_free(&read);
}

/* What the advice says of a setting is what its replay holds. */
static void check_advice(const char *path)
{
    const struct advise_options options = {
        .application = "gamut", .current = "pool", .free_at = FREE_AT_DONE, .jobs = 1};
    struct advise advise;
    struct error error = {0};
    bool interrupted;
    must(advise_traces(&path, 1, &options, &advise, &interrupted, &error), &error);
    const struct advised_setting *best = &advise.advices[0].best;
    assert_int_equal(replayed(path, "pool", 0), CASE_ok);
    assert_int_equal(held_last, advise.traces[0].now.reserved_bytes);
    if (best->is_known) {
        struct text spec = {0};
        setting_spec(&best->setting, &spec);
        assert_int_equal(replayed(path, spec.data, 0), CASE_ok);
        assert_int_equal(held_last, best->on[0].reserved_bytes);
        assert_true(advise.advices[0].leave ||
                    held_last * 100 <= advise.traces[0].now.reserved_bytes * 99);
        text_free(&spec);
    }
    advise_free(&advise);
}

static void naive_answers_hold(void **state)
{
    static const char *const strategies[] = {"raw", "pool",     "caching", "tagged", "tlsf", "vmm",
                                             "bfc", "bufalloc", "arena",   "stream", "ggml"};
    struct random random = {3};
    (void)state;
    for (unsigned n = 0; n < SWEPT_TRACES; n++) {
        struct swept swept = {.best = UINT64_MAX};
        struct text log = {0};
        draw_swept(&swept, &random, &log);
        import_good("swept", log.data);
        const char *path = trace_path("swept.trace");
        uint64_t most = 0;
        for (unsigned at = 0; at < 2 * SWEPT_BLOCKS; at++) {
            uint64_t sum = 0;
            for (unsigned b = 0; b < SWEPT_BLOCKS; b++)
                sum += swept.from[b] <= at && at < swept.to[b] ? swept.size[b] : 0;
            most = sum > most ? sum : most;
        }
        try_orders(&swept, 0, 0);

        /* The trace, and the trace of its text. */
        struct trace_reader *reader;
        struct trace_totals totals, again;
        struct error error = {0};
        char *text = NULL;
        size_t size;
        must(trace_open(path, &reader, &error), &error);
        FILE *out = open_memstream(&text, &size);
        must(trace_print(reader, out, &error), &error);
        fclose(out);
        totals = *trace_reader_totals(reader);
        trace_close(reader);
        assert_int_equal(totals.peak_bytes, most);
        import_good("printed", text);
        free(text);
        must(trace_open(trace_path("printed.trace"), &reader, &error), &error);
        assert_true(trace_read_totals(reader, &again));
        trace_close(reader);
        assert_int_equal(again.digest, totals.digest);

        struct lifetimes lifetimes = lifetimes_of(path);
        struct optimum optimum;
        lifetimes_optimum(&lifetimes, 1000000000, &optimum);
        assert_true(optimum.known && optimum.proven);
        assert_int_equal(optimum.bytes, swept.best);
        assert_int_equal(lifetimes.demand.peak_bytes, most);
        lifetimes_free(&lifetimes);
        assert_int_equal(replayed(path, "raw", 0), CASE_ok);
        assert_int_equal(held_last, most);
        check_plan(path);
        if (n % 10 == 0)
            check_advice(path);

        for (unsigned i = 0; i < sizeof strategies / sizeof *strategies; i++) {
            const struct fit fit = fit_of(path, strategies[i]);
            assert_int_equal(fit.status, CASE_ok);
            assert_true(fit.lowest_bytes >= most);
            assert_true(fit.lowest_bytes <= fit.capacity_bytes);
            assert_int_equal(replayed(path, strategies[i], fit.capacity_bytes), CASE_ok);
            assert_int_equal(replayed(path, strategies[i], fit.lowest_bytes), CASE_ok);
            const uint64_t least = fit.reads_capacity ? most : fit.lowest_bytes - FIT_STEP_BYTES;
            for (uint64_t at = most - 1; at < least; at += 1 + fit.lowest_bytes / 20)
                assert_int_equal(replayed(path, strategies[i], at), CASE_oom);
            if (fit.refused_bytes)
                assert_int_equal(replayed(path, strategies[i], fit.refused_bytes), CASE_oom);
        }
        text_free(&log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_capacity_is_the_known_one),
        cmocka_unit_test(a_refusal_knows_the_free_pieces),
        cmocka_unit_test(a_trace_without_blocks_needs_nothing),
        cmocka_unit_test(a_strategy_that_cannot_start_is_skipped),
        cmocka_unit_test(both_ends_of_a_real_trace_hold),
        cmocka_unit_test(the_least_capacity_is_that_of_pytorch),
        cmocka_unit_test(refused_requests_count_and_dispensable_ones_are_told),
        cmocka_unit_test(pytorch_runs_with_what_is_needed),
        cmocka_unit_test(a_hole_is_below_the_least_capacity),
        cmocka_unit_test(the_lowest_capacity_is_the_least),
        cmocka_unit_test(ages_are_found_once),
        cmocka_unit_test(naive_answers_hold),
    };
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
