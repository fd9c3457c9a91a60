/* One case: runs on a fresh allocator, checks, counts, times.
 *
 *   1. The first time that this process measures a program on its data, with whatever strategy: a
 *      run with every block filled with 0xff, whose answer is compared with the reference, or with
 *      what was right in an earlier round. Drivers load and compile kernels at their first launch;
 *      here that is in no time.
 *   2. A run on a fresh allocator ("cold"); a second one ("warm"), whose counters are kept and
 *      which is the first timed sample; then samples until there are enough. Answers of the
 *      cold, the warm and the last run must be right.
 *   3. Where asked for, runs in which the memory is looked at: one on a fresh allocator, and then
 *      warm ones until there are enough times of calls.
 *   4. Afterwards the source must have everything back.
 */
#include "run/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "program/generate.h"
#include "run/device_source.h"
#include "run/execute.h"
#include "run/group.h"
#include "run/inputs.h"
#include "run/memory_log.h"
#include "run/merging.h"
#include "run/predict.h"
#include "run/requirements.h"

struct built {
    struct built *next;
    const struct program *program;
    struct kernels kernels;
    struct device_program *code;
    int status; /* of the build, with its message */
    struct error error;
};

/* Inputs and the answers known to be right for them. */
struct prepared {
    struct prepared *next;
    const struct entry *entry;
    const struct dataset *dataset;
    uint64_t seed;
    struct inputs inputs;
    uint64_t program_digest, inputs_digest;
    size_t digest_count;
    uint64_t *digests;
    bool has_run; /* the program as written, on these */
};

/* What a merge set made of an entry for the sizes of a dataset. */
struct merged {
    struct merged *next;
    const struct entry *entry;
    const struct dataset *dataset;
    char set[sizeof((struct case_key *)NULL)->merge];
    struct merge *merge; /* NULL if it failed */
    bool has_run;
    int status;
    struct error error;
};

struct measure {
    struct device *device;
    struct built *built;
    struct merged *merged;
    struct prepared *prepared;   /* last used first */
    struct predictor *predictor; /* NULL: nothing is predicted */
};

/* Inputs of other cases are kept as long as all together stay below this. */
static const size_t kept_input_bytes = (size_t)2 << 30;

struct measure *measure_open(struct device *device)
{
    struct measure *m = must_alloc(sizeof *m);
    m->device = device;
    return m;
}

static void free_prepared(struct prepared *p)
{
    inputs_free(&p->inputs);
    free(p->digests);
    free(p);
}

void measure_predict(struct measure *m, const struct atlas *atlas)
{
    predictor_close(m->predictor);
    m->predictor = predictor_open(m->device, atlas);
}

void measure_close(struct measure *m)
{
    predictor_close(m->predictor);
    while (m->built) {
        struct built *next = m->built->next;
        if (m->built->code)
            m->device->ops->unbuild(m->device, m->built->code);
        kernels_free(&m->built->kernels);
        free(m->built);
        m->built = next;
    }
    while (m->merged) {
        struct merged *next = m->merged->next;
        merge_free(m->merged->merge);
        free(m->merged);
        m->merged = next;
    }
    while (m->prepared) {
        struct prepared *next = m->prepared->next;
        free_prepared(m->prepared);
        m->prepared = next;
    }
    free(m);
}

/* ---- what is kept between cases ------------------------------------------------------------- */

/* Compilers name the line of the body; not all of them show it. */
static void add_body_line(const struct program *program, struct error *error)
{
    char mark[256];
    snprintf(mark, sizeof mark, "%.200s:", program->path);
    size_t length = strlen(error->text);
    for (const char *at = error->text; (at = strstr(at, mark)); at++) {
        unsigned line = (unsigned)strtoul(at + strlen(mark), NULL, 10);
        const char *text = program_line(program, line);
        if (!text)
            continue;
        snprintf(error->text + length, sizeof error->text - length, "%s%s%u: %.*s",
                 length && error->text[length - 1] == '\n' ? "" : "\n", mark, line,
                 (int)strcspn(text, "\n"), text);
        return;
    }
}

static struct built *get_built(struct measure *m, const struct entry *entry)
{
    for (struct built *b = m->built; b; b = b->next)
        if (b->program == entry->program)
            return b;
    struct built *b = must_alloc(sizeof *b);
    b->next = m->built;
    m->built = b;
    b->program = entry->program;
    const struct device_info *info = device_info(m->device);
    enum kernel_language language = info->language;
    program_generate(entry->program, language, &b->kernels);
    const struct builtin *builtin = entry->builtin;
    bool compiled_in =
        language == KERNEL_HOST_C && builtin && strcmp(builtin->host_text, b->kernels.text) == 0;
    struct kernel_source source = {.name = entry->program->path,
                                   .text = b->kernels.text,
                                   .kernel_count = b->kernels.count,
                                   .kernel_names = b->kernels.names,
                                   .form = info->kind == DEVICE_GPU ? KERNEL_APART : KERNEL_ANY,
                                   .host_kernels = compiled_in ? builtin->host_kernels : NULL};
    b->status = m->device->ops->build(m->device, &source, &b->code, &b->error);
    if (b->status == ERR_BUILD)
        add_body_line(entry->program, &b->error);
    return b;
}

static struct merged *get_merged(struct measure *m, const struct entry *entry,
                                 const struct prepared *prepared, const char *set)
{
    for (struct merged *g = m->merged; g; g = g->next)
        if (g->entry == entry && g->dataset == prepared->dataset && strcmp(g->set, set) == 0)
            return g;
    struct merged *g = must_alloc(sizeof *g);
    *g = (struct merged){.next = m->merged, .entry = entry, .dataset = prepared->dataset};
    m->merged = g;
    snprintf(g->set, sizeof g->set, "%s", set);
    g->status = merging_run(entry->fun, set, &prepared->inputs.arguments, 0, &g->merge, &g->error);
    return g;
}

static void evict(struct measure *m, const struct prepared *keep)
{
    size_t bytes = 0;
    for (struct prepared **link = &m->prepared; *link;) {
        struct prepared *p = *link;
        bytes += p->inputs.bytes;
        if (p != keep && bytes > kept_input_bytes) {
            *link = p->next;
            free_prepared(p);
        } else {
            link = &p->next;
        }
    }
}

static int get_prepared(struct measure *m, const struct entry *entry, const struct dataset *dataset,
                        const struct measure_options *options, struct prepared **out,
                        struct error *error)
{
    struct prepared **link = &m->prepared;
    while (*link && ((*link)->entry != entry || (*link)->dataset != dataset ||
                     (*link)->seed != options->seed))
        link = &(*link)->next;
    struct prepared *p = *link;
    if (p) {
        *link = p->next;
    } else {
        p = must_alloc(sizeof *p);
        *p = (struct prepared){.entry = entry, .dataset = dataset, .seed = options->seed};
        int code = inputs_make(entry, dataset, options->seed, &p->inputs, error);
        if (code) {
            free(p);
            return code;
        }
        p->program_digest = program_digest(entry->fun);
        p->inputs_digest = inputs_digest(entry->fun, &p->inputs);
        p->digests = must_alloc(options->known_digest_count * sizeof *p->digests);
        p->digest_count = options->known_digest_count;
        if (p->digest_count)
            memcpy(p->digests, options->known_digests, p->digest_count * sizeof *p->digests);
    }
    p->next = m->prepared;
    m->prepared = p;
    evict(m, p);
    *out = p;
    return 0;
}

/* ---- one run -------------------------------------------------------------------------------- */

/* Everything that one case works with. */
struct session {
    struct measure *m;
    const struct entry *entry;
    const struct dataset *dataset;
    const struct fun *fun; /* the entry's, or what merging made of it */
    bool *has_run;         /* in this process, with right answers */
    struct prepared *prepared;
    struct executor *executor;
    const struct allocator_ops *strategy;
    struct option_values strategy_options;
    struct source source;
    struct allocator allocator;
    struct case_round *round;
    struct error error;
};

static int reset_peaks(struct session *s)
{
    struct allocator_counts *a = &s->allocator.counts;
    a->peak_requested_bytes = a->requested_bytes;
    a->peak_granted_bytes = a->granted_bytes;
    int code = source_reset_peak(&s->source);
    if (code)
        s->error = s->source.error;
    if (device_info(s->m->device)->members > 1)
        residency_reset_peak(s->m->device);
    return code;
}

static void take_counts(const struct session *s, const struct allocator_counts *a,
                        const struct source_counts *d, struct exact_counts *out)
{
    const struct allocator_counts *after = &s->allocator.counts;
    const struct source_counts *driver = &s->source.counts;
    const struct executor_counts *run = executor_counts(s->executor);
    *out = (struct exact_counts){
        .peak_requested_bytes = after->peak_requested_bytes,
        .peak_granted_bytes = after->peak_granted_bytes,
        .peak_reserved_bytes = driver->peak_reserved_bytes,
        .live_lower_bound_bytes = run->peak_live_bytes,
        .alloc_count = after->alloc_count - a->alloc_count,
        .free_count = after->free_count - a->free_count,
        .hit_count = after->hit_count - a->hit_count,
        .miss_count = after->miss_count - a->miss_count,
        .driver_alloc_count = driver->alloc_count - d->alloc_count,
        .driver_touch_count = driver->touch_count - d->touch_count,
        .driver_free_count = driver->free_count - d->free_count,
        .driver_map_count = driver->map_count - d->map_count,
        .driver_unmap_count = driver->unmap_count - d->unmap_count,
        .driver_sync_count = driver->sync_count - d->sync_count,
        .driver_refused_count = driver->refused_count - d->refused_count,
        .launch_count = run->launch_count,
        .readback_count = run->readback_count,
    };
    memcpy(out->copy, run->copy, sizeof out->copy);
}

/* Runs once. Inputs are in place and the device is idle when the clock starts; the device is idle
 * again when it stops. The caller ends the run. */
static int run_once(struct session *s, bool poison, struct sample *sample,
                    struct exact_counts *counts)
{
    struct device *d = s->m->device;
    int code = reset_peaks(s);
    if (!code)
        code = executor_begin(s->executor, &s->allocator, &s->prepared->inputs.arguments, poison,
                              &s->error);
    if (!code)
        code = d->ops->sync(d, &s->error);
    if (!code)
        code = d->ops->mark(d, 0, &s->error);
    if (code)
        return code;
    struct allocator_counts a = s->allocator.counts;
    struct source_counts c = s->source.counts;
    struct residency_counts g = group_counts(d);
    uint64_t start = clock_ns();
    code = executor_run(s->executor, &s->error);
    if (!code)
        code = d->ops->mark(d, 1, &s->error);
    if (!code)
        code = d->ops->sync(d, &s->error);
    uint64_t wall = clock_ns() - start;
    if (code)
        return code;
    const struct source_counts *after = &s->source.counts;
    *sample = (struct sample){.wall_ns = wall,
                              .device_ns = UNKNOWN_NS,
                              .driver_alloc_ns = after->alloc_ns - c.alloc_ns,
                              .driver_touch_ns = after->touch_ns - c.touch_ns,
                              .driver_free_ns = after->free_ns - c.free_ns};
    code = d->ops->elapsed_ns(d, &sample->device_ns, &s->error);
    if (!code && (code = source_update(&s->source)) != 0)
        s->error = s->source.error;
    take_counts(s, &a, &c, counts);
    group_count_since(d, &g, sample, counts);
    return code;
}

/* ---- checking ------------------------------------------------------------------------------- */

static void note_digest(struct prepared *p, uint64_t digest)
{
    p->digests = must_realloc(p->digests, (p->digest_count + 1) * sizeof *p->digests);
    p->digests[p->digest_count++] = digest;
}

static bool digest_known(const struct prepared *p, uint64_t digest)
{
    for (size_t i = 0; i < p->digest_count; i++)
        if (p->digests[i] == digest)
            return true;
    return false;
}

/* Reads the results of the run that has just been made and compares them. */
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
        if (digest_known(s->prepared, digest)) {
            if (round->check == CHECK_NONE)
                round->check = CHECK_DIGEST;
        } else if (inputs_can_check(s->entry, s->dataset)) {
            code = inputs_check(s->entry, s->dataset, &s->prepared->inputs, results,
                                &round->worst_error, &s->error);
            round->check = CHECK_REFERENCE;
            if (!code)
                note_digest(s->prepared, digest);
        }
    }
    for (unsigned r = 0; r < count; r++)
        free(results[r].data);
    free(results);
    return code;
}

static int open_allocator(struct session *s, uint64_t capacity_bytes)
{
    /* Copies of a group's buffers are made behind the source's back: its members have the limit. */
    const bool is_group = device_info(s->m->device)->members > 1;
    if (is_group)
        residency_limit(s->m->device, capacity_bytes);
    s->source = device_source(s->m->device, is_group ? 0 : capacity_bytes);
    return allocator_open(&s->allocator, s->strategy, &s->strategy_options, &s->source, &s->error);
}

/* Closes the allocator; what the source does not have back then has leaked. */
static int close_allocator(struct session *s)
{
    uint64_t live = s->allocator.counts.requested_bytes;
    allocator_close(&s->allocator);
    if (live || s->source.counts.reserved_bytes)
        return error_set(&s->error, ERR_INTERNAL,
                         "%llu bytes of blocks and %llu bytes of driver "
                         "memory were never given back",
                         (unsigned long long)live,
                         (unsigned long long)s->source.counts.reserved_bytes);
    return 0;
}

static int poisoned_run(struct session *s, uint64_t capacity_bytes)
{
    struct sample sample;
    struct exact_counts counts;
    int code = open_allocator(s, capacity_bytes);
    if (code)
        return code;
    code = run_once(s, true, &sample, &counts);
    if (!code)
        code = check_answer(s);
    executor_end(s->executor);
    int closed = close_allocator(s);
    return code ? code : closed;
}

/* ---- sampling ------------------------------------------------------------------------------- */

static int checked_run(struct session *s, struct sample *sample, struct exact_counts *counts)
{
    int code = run_once(s, false, sample, counts);
    if (!code)
        code = check_answer(s);
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
    }
    return code;
}

static int measure_runs(struct session *s, const struct measure_options *o)
{
    struct case_round *round = s->round;
    int code = 0;
    if (!*s->has_run)
        code = poisoned_run(s, o->capacity_bytes);
    if (!code) {
        *s->has_run = true;
        code = open_allocator(s, o->capacity_bytes);
    }
    if (code)
        return code;
    code = checked_run(s, &round->cold_sample, &round->cold);
    if (!code)
        code = checked_run(s, &round->samples[0], &round->warm);
    if (!code) {
        round->sample_count = 1;
        code = take_samples(s, o);
    }
    int closed = close_allocator(s);
    return code ? code : closed;
}

/* ---- what the memory does ------------------------------------------------------------------- */

enum { LOGGED_RUNS_MAX = 32 };                     /* warm ones; */
static const uint64_t logged_enough_ns = 20000000; /* fewer, when together they take so long */

static int logged_run(struct session *s, struct memory_log *log, uint64_t *wall_ns)
{
    struct sample sample;
    struct exact_counts counts;
    memory_log_begin_run(log);
    int code = run_once(s, false, &sample, &counts);
    if (!code)
        *wall_ns += sample.wall_ns;
    executor_end(s->executor);
    return code;
}

static int log_memory(struct session *s, const struct measure_options *o)
{
    uint64_t cold_ns = 0, warm_ns = 0;
    int code = open_allocator(s, o->capacity_bytes);
    if (code)
        return code;
    struct memory_log *log = memory_log_open(s->executor, &s->allocator);
    code = logged_run(s, log, &cold_ns);
    for (unsigned i = 0; i < LOGGED_RUNS_MAX && warm_ns < logged_enough_ns && !code; i++)
        code = logged_run(s, log, &warm_ns);
    if (!code)
        s->round->memory = memory_log_to_json(log);
    memory_log_close(log);
    int closed = close_allocator(s);
    return code ? code : closed;
}

/* ---- the case ------------------------------------------------------------------------------- */

/* The fun that runs: the entry's own, unless a merge set is asked for. */
static int choose_fun(struct session *s)
{
    const char *set = s->round->key.merge;
    s->fun = s->entry->fun;
    s->has_run = &s->prepared->has_run;
    if (!*set || strcmp(set, "none") == 0)
        return 0;
    struct merged *merged = get_merged(s->m, s->entry, s->prepared, set);
    if (merged->status)
        s->error = merged->error;
    else
        s->fun = merged->merge->fun;
    s->has_run = &merged->has_run;
    return merged->status;
}

static int measure_session(struct session *s, const struct measure_options *o)
{
    struct case_round *round = s->round;
    int code = requirements_check(s->entry, s->dataset, device_info(s->m->device),
                                  o->capacity_bytes, &s->error);
    if (!code)
        code = allocator_parse(round->key.strategy, &s->strategy, &s->strategy_options, &s->error);
    struct built *built = NULL;
    if (!code) {
        built = get_built(s->m, s->entry);
        code = built->status;
        if (code)
            s->error = built->error;
    }
    if (!code)
        code = get_prepared(s->m, s->entry, s->dataset, o, &s->prepared, &s->error);
    if (!code)
        code = choose_fun(s);
    if (code)
        return code;
    round->traffic_bytes = s->prepared->inputs.traffic_bytes;
    round->program_digest = s->prepared->program_digest;
    round->inputs_digest = s->prepared->inputs_digest;
    enum release_policy policy =
        strcmp(round->key.release, "scope") == 0 ? RELEASE_SCOPE : RELEASE_LAST_USE;
    code = executor_open(s->fun, s->m->device, &built->kernels, built->code, policy, &s->executor,
                         &s->error);
    if (!code)
        code = measure_runs(s, o);
    if (!code && o->log_memory)
        code = log_memory(s, o);
    if (!code && s->m->predictor) {
        const struct prediction_request request = {
            &round->key, s->executor,          &s->prepared->inputs.arguments,
            s->strategy, &s->strategy_options, o->capacity_bytes};
        code = predictor_predict(s->m->predictor, &request, &round->model);
    }
    executor_close(s->executor);
    return code;
}

/* What was measured before a failure means nothing. */
static void forget_numbers(struct case_round *round)
{
    round->sample_count = 0;
    json_decref(round->memory);
    round->memory = NULL;
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
