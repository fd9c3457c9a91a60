/* Measures one case: runs on a fresh allocator, checks, counts, times.
 *
 *   1. When this process measures a program on its data for the first time, with any strategy: a
 *      run with every block filled with 0xff. Its answer is compared with the reference, or with
 *      the answers that were right in earlier rounds. Drivers load and compile kernels at their
 *      first launch; this run keeps that out of all times.
 *   2. A run on a fresh allocator ("cold"); a second one ("warm"), whose counters are kept and
 *      which is the first timed sample; then samples until there are enough. The answers of the
 *      cold, the warm and the last run must be right.
 *   3. Afterwards the source must have everything back.
 */
#include "run/rounds/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"
#include "base/tree.h"
#include "run/execute/execute.h"
#include "run/select/device_group.h"
#include "run/select/inputs.h"
#include "alloc/planned/plans.h"
#include "run/rounds/case_cache.h"
#include "run/predict/predict.h"
#include "run/execute/spaces.h"

struct measure {
    struct device *device;
    struct case_cache *cache;
    struct predictor *predictor; /* NULL: nothing is predicted */
    struct allocator_plans plans;
};

struct measure *measure_open(struct device *device)
{
    struct measure *m = must_alloc(sizeof *m);
    m->device = device;
    m->cache = case_cache_open(device);
    return m;
}

void measure_predict(struct measure *m, const struct atlas *atlas)
{
    predictor_close(m->predictor);
    m->predictor = predictor_open(m->device, atlas);
}

void measure_close(struct measure *m)
{
    predictor_close(m->predictor);
    case_cache_close(m->cache);
    allocator_plans_free(&m->plans);
    free(m);
}

/* ---- one run --------------------------------------------------------------------------------- */

/* Everything that one case works with. */
struct session {
    struct measure *m;
    const struct entry *entry;
    const struct dataset *dataset;
    const struct fun *fun; /* the entry's fun, or its merged copy */
    bool *has_run;         /* `fun` has run in this process with right answers */
    const struct cached_kernels *kernels;
    struct cached_inputs *inputs;
    struct executor *executor;
    const struct allocator_ops *strategy;
    struct option_values strategy_options;
    struct spaces spaces;
    struct spaces_snapshot begin, end; /* counts before and after the last run */
    struct case_round *round;
    struct error error;
};

static void take_counts(const struct session *s, struct exact_counts *out)
{
    const struct memory_counts memory = spaces_between(&s->begin.all, &s->end.all);
    const struct executor_counts *run = executor_counts(s->executor);
    *out = (struct exact_counts){.live_lower_bound_bytes = run->peak_live_bytes,
                                 .launch_count = run->launch_count,
                                 .readback_count = run->readback_count};
#define X(name, unit, kind, better, help) out->name = memory.name;
    PEAK_LIST(X)
    MEMORY_CALL_LIST(X)
#undef X
    memcpy(out->copy, run->copy, sizeof out->copy);
}

/* Runs once. Inputs are in place and the device is idle when the clock starts; the device is idle
 * again when it stops. The caller ends the run. */
static int run_once(struct session *s, bool poison, struct sample *sample,
                    struct exact_counts *counts)
{
    struct device *d = s->m->device;
    TRY(spaces_reset_peaks(&s->spaces, &s->error));
    if (d->info->members > 1)
        residency_reset_peak(d);
    TRY(executor_begin(s->executor, s->spaces.of, &s->inputs->inputs.arguments, poison, &s->error));
    TRY(d->ops->sync(d, &s->error));
    TRY(d->ops->mark(d, MARK_START, &s->error));
    spaces_snapshot(&s->spaces, &s->begin);
    struct residency_counts g = device_group_counts(d);
    uint64_t start = clock_ns();
    TRY(executor_run(s->executor, &s->error));
    TRY(d->ops->mark(d, MARK_END, &s->error));
    TRY(d->ops->sync(d, &s->error));
    uint64_t wall = clock_ns() - start;
    const struct source_counts before = s->begin.all.driver, after = spaces_counts(&s->spaces);
    *sample = (struct sample){.wall_ns = wall,
                              .device_ns = UNKNOWN_NS,
                              .driver_alloc_ns = after.alloc_ns - before.alloc_ns,
                              .driver_touch_ns = after.touch_ns - before.touch_ns,
                              .driver_free_ns = after.free_ns - before.free_ns};
    TRY(d->ops->elapsed_ns(d, &sample->device_ns, &s->error));
    TRY(spaces_update(&s->spaces, &s->error));
    spaces_snapshot(&s->spaces, &s->end);
    take_counts(s, counts);
    device_group_count_since(d, &g, sample, counts);
    return 0;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* Reads the results of the last run and compares them. */
static int check_answer(struct session *s)
{
    struct case_round *round = s->round;
    unsigned count = s->entry->fun->body.result_count;
    struct host_array *results = must_alloc(count * sizeof *results);
    int code = executor_results(s->executor, results, &s->error);
    if (!code) {
        uint64_t digest = 0;
        for (unsigned r = 0; r < count; r++)
            digest = digest_bytes(digest, results[r].data,
                                  results[r].count * element_bytes(results[r].element));
        round->digest = digest;
        if (cached_answer_is_right(s->inputs, digest)) {
            if (round->check == CHECK_NONE)
                round->check = CHECK_DIGEST;
        } else if (inputs_can_check(s->entry, s->dataset)) {
            code = inputs_check(s->entry, s->dataset, &s->inputs->inputs, results,
                                &round->worst_error, &s->error);
            round->check = CHECK_REFERENCE;
            if (!code)
                cached_note_answer(s->inputs, digest);
        }
    }
    for (unsigned r = 0; r < count; r++)
        free(results[r].data);
    free(results);
    return code;
}

static int open_allocators(struct session *s, uint64_t capacity_bytes)
{
    /* A group copies buffers without the source's knowledge, so its members have the limit. */
    const bool is_group = s->m->device->info->members > 1;
    if (is_group)
        residency_limit(s->m->device, capacity_bytes);
    int code = spaces_open(&s->spaces, s->fun, s->m->device, s->strategy, &s->strategy_options,
                           is_group ? 0 : capacity_bytes, &s->error);
    if (code)
        spaces_close(&s->spaces);
    return code;
}

/* Adds what is left of `taken` bytes, which is negative where more was given back than taken. */
static void add_left(struct text *t, uint64_t taken, const char *what)
{
    const bool is_less = taken > INT64_MAX;
    if (taken)
        text_add(t, "%s%llu bytes%s of %s were %s", t->length ? "; and " : "",
                 (unsigned long long)(is_less ? -taken : taken), is_less ? " more" : "", what,
                 is_less ? "given back than taken" : "never given back");
}

/* Closes the allocators. Bytes that the sources have not got back by then have leaked. `code` is
 * that of the runs: their failure stays the first reason, and a leak is added to it. */
static int close_allocators(struct session *s, int code)
{
    struct text left = {0};
    text_add(&left, "%s", code ? s->error.text : "");
    const size_t before = left.length;
    add_left(&left, spaces_blocks(&s->spaces)->requested_bytes, "blocks");
    spaces_close(&s->spaces);
    add_left(&left, spaces_counts(&s->spaces).reserved_bytes, "driver memory");
    if (left.length > before)
        code = error_set(&s->error, code ? s->error.code : ERR_INTERNAL, "%s", left.data);
    text_free(&left);
    return code;
}

static int poisoned_run(struct session *s, uint64_t capacity_bytes)
{
    struct sample sample;
    struct exact_counts counts;
    TRY(open_allocators(s, capacity_bytes));
    int code = run_once(s, true, &sample, &counts);
    THEN(code, check_answer(s));
    executor_end(s->executor);
    return close_allocators(s, code);
}

/* ---- sampling -------------------------------------------------------------------------------- */

/* `phase` is what the run is called in files. */
static int checked_run(struct session *s, const char *phase, struct sample *sample,
                       struct exact_counts *counts)
{
    int code = run_once(s, false, sample, counts);
    json_t *spaces = code ? NULL : spaces_to_json(&s->spaces, &s->begin, &s->end);
    if (spaces) {
        s->round->spaces = s->round->spaces ? s->round->spaces : tree_object();
        tree_put(s->round->spaces, phase, spaces);
    }
    THEN(code, check_answer(s));
    executor_end(s->executor);
    return code;
}

static int take_samples(struct session *s, const struct measure_options *o)
{
    struct case_round *round = s->round;
    struct exact_counts counts;
    uint64_t spent = round->samples[0].wall_ns;
    int code = 0;
    for (bool last = false; !last && !code;) {
        unsigned n = (unsigned)round->sample_count;
        if (n >= o->most_samples || (n >= o->least_samples && spent >= o->least_ns))
            return 0;
        struct sample *sample = &round->samples[n];
        code = run_once(s, false, sample, &counts);
        if (!code) {
            spent += sample->wall_ns;
            round->sample_count++;
            last = n + 1 >= o->most_samples || (n + 1 >= o->least_samples && spent >= o->least_ns);
            if (last)
                code = check_answer(s);
        }
        executor_end(s->executor);
        if (!code && s->m->predictor)
            predictor_look(s->m->predictor);
    }
    return code;
}

static int measure_runs(struct session *s, const struct measure_options *o)
{
    struct case_round *round = s->round;
    TRY(*s->has_run ? 0 : poisoned_run(s, o->capacity_bytes));
    *s->has_run = true;
    TRY(open_allocators(s, o->capacity_bytes));
    int code = checked_run(s, "cold", &round->cold_sample, &round->cold);
    THEN(code, checked_run(s, "warm", &round->samples[0], &round->warm));
    if (!code) {
        round->sample_count = 1;
        if (s->m->predictor) {
            predictor_begin(s->m->predictor);
            predictor_look(s->m->predictor);
        }
        code = take_samples(s, o);
    }
    return close_allocators(s, code);
}

/* ---- the case -------------------------------------------------------------------------------- */

/* Chooses the fun that runs, the entry's own or a merged one, and its kernels. */
static int choose_fun(struct session *s, enum release_policy policy)
{
    const char *set = s->round->key.merge;
    if (!*set || strcmp(set, "none") == 0) {
        s->fun = s->entry->fun;
        s->has_run = &s->inputs->has_run;
    } else {
        struct cached_merge *merged =
            case_cache_merge(s->m->cache, s->entry, s->dataset, set, policy, s->inputs);
        if (merged->status) {
            s->error = merged->error;
            return merged->status;
        }
        s->fun = merged->merge->fun;
        s->has_run = &merged->has_run;
    }
    s->kernels = case_cache_kernels(s->m->cache, s->entry);
    if (s->kernels->status)
        s->error = s->kernels->error;
    return s->kernels->status;
}

static int measure_session(struct session *s, const struct measure_options *o)
{
    struct case_round *round = s->round;
    TRY(inputs_check_device(s->entry, s->dataset, s->m->device->info, o->capacity_bytes,
                            &s->error));
    TRY(allocator_parse_planned(&s->m->plans, round->key.strategy, &s->strategy,
                                &s->strategy_options, &s->error));
    TRY(case_cache_inputs(s->m->cache, s->entry, s->dataset, o->seed, o->known_digests,
                          o->known_digest_count, &s->inputs, &s->error));
    const enum release_policy policy =
        strcmp(round->key.release, "scope") == 0 ? RELEASE_SCOPE : RELEASE_LAST_USE;
    TRY(choose_fun(s, policy));
    round->traffic_bytes = s->inputs->inputs.traffic_bytes;
    round->program_digest = s->inputs->program_digest;
    round->inputs_digest = s->inputs->inputs_digest;
    s->executor =
        executor_open(s->fun, s->m->device, &s->kernels->kernels, s->kernels->code, policy);
    int code = measure_runs(s, o);
    if (!code && s->m->predictor) {
        const struct prediction_request request = {&round->key,      s->fun,
                                                   s->executor,      &s->inputs->inputs.arguments,
                                                   s->strategy,      &s->strategy_options,
                                                   o->capacity_bytes};
        code = predictor_predict(s->m->predictor, &request, &round->model);
    }
    executor_close(s->executor);
    return code;
}

/* Drops the numbers of a case that has failed. */
static void forget_numbers(struct case_round *round)
{
    round->sample_count = 0;
    json_decref(round->spaces);
    round->spaces = NULL;
}

int measure_case(struct measure *m, const struct entry *entry, const struct dataset *dataset,
                 const struct measure_options *options, struct case_round *round)
{
    struct session *s = must_alloc(sizeof *s);
    *s = (struct session){.m = m, .entry = entry, .dataset = dataset, .round = round};
    round->check = CHECK_NONE;
    round->worst_error = round->traffic_bytes = NAN;
    round->samples = must_alloc(options->most_samples * sizeof *round->samples);
    round->sample_count = 0;
    int code = measure_session(s, options);
    round->status = case_status_of(code);
    snprintf(round->reason, sizeof round->reason, "%.1000s", code ? s->error.text : "");
    if (code)
        forget_numbers(round);
    free(s);
    return code == ERR_DEVICE_LOST ? code : 0;
}
