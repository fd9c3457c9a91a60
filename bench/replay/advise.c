#include "replay/advise.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/planned/plans.h"
#include "alloc/pytorch_conf.h"
#include "base/arena.h"
#include "base/sort.h"
#include "replay/plan.h"
#include "replay/cases.h"
#include "replay/parallel.h"
#include "results/file/measured.h"

/* A setting is better if it holds this much of the other; see advise.h. */
static const double better_share = 0.99;
enum { PASSES_MAX = 3, FAMILIES_MAX = 16 };

/* Replays that have been made. */
struct replayed {
    char *spec;
    size_t trace;
    struct measure measure;
};

/* The search in one family of settings, for one advice. */
struct descent {
    size_t advice;
    bool is_own; /* of the application; else any of gamut's */
    struct advised_setting best;
    size_t tried_count;
};

struct search {
    const struct advise_options *options;
    struct advise *out;
    struct allocator_plans *plans;
    pthread_mutex_t lock; /* of what follows */
    uint64_t replays;
    unsigned replayed_count, replayed_capacity;
    struct replayed *replayed;
    size_t descent_count;
    struct descent *descents;
};

/* ---- driver calls ---- */

/* The driver calls of the recorded allocator and of a replay, in their order. */
struct calls {
    struct call {
        enum trace_kind kind;
        uint64_t bytes;
    } * items;
    unsigned count, capacity;
};
struct heard {
    struct calls logged, played;
    unsigned played_count; /* until the last event; then the strategy ends, and releases all */
    struct exactness exactness;
    bool goes_on; /* the last call may be continued: */
    uint64_t memory, end;
};

static void add_call(struct calls *calls, enum trace_kind kind, uint64_t bytes)
{
    calls->items = must_grow(calls->items, calls->count, &calls->capacity, sizeof *calls->items);
    calls->items[calls->count++] = (struct call){kind, bytes};
}

/* Adjacent parts that are mapped or unmapped for one request are one call, as PyTorch logs them. */
static void hear_source(void *context, enum source_event event, uint64_t memory, uint64_t offset,
                        uint64_t bytes)
{
    static const enum trace_kind kinds[] = {[SOURCE_HELD] = TRACE_driver_alloc,
                                            [SOURCE_GIVEN_BACK] = TRACE_driver_free,
                                            [SOURCE_MAPPED] = TRACE_driver_map,
                                            [SOURCE_UNMAPPED] = TRACE_driver_unmap};
    struct heard *h = context;
    struct call *last = h->played.count ? &h->played.items[h->played.count - 1] : NULL;
    const bool is_part = event == SOURCE_MAPPED || event == SOURCE_UNMAPPED;
    if (h->goes_on && is_part && last->kind == kinds[event] && h->memory == memory &&
        h->end == offset)
        last->bytes += bytes;
    else
        add_call(&h->played, kinds[event], bytes);
    h->goes_on = is_part;
    h->memory = memory;
    h->end = offset + bytes;
}

static void hear_event(void *context, const struct trace_event *e, const struct block *block,
                       const struct replay_state *state)
{
    struct heard *h = context;
    if (trace_is_driver_call(e->kind) && e->bytes)
        add_call(&h->logged, e->kind, e->bytes);
    if (e->kind == TRACE_start)
        h->logged.count = h->played.count = 0;
    exactness_follow(&h->exactness, e, state);
    h->played_count = h->played.count;
    h->goes_on = false;
}

static bool same_calls(const struct heard *h)
{
    bool same = h->logged.count == h->played_count;
    for (unsigned i = 0; same && i < h->played_count; i++)
        same = h->logged.items[i].kind == h->played.items[i].kind &&
               h->logged.items[i].bytes == h->played.items[i].bytes;
    return same;
}

/* ---- replays ---- */

/* A replay of a strategy has ended. */
static void note_replay(struct search *s, const char *doing, const char *spec)
{
    pthread_mutex_lock(&s->lock);
    const uint64_t replays = ++s->replays;
    pthread_mutex_unlock(&s->lock);
    if (!s->options->step)
        return;
    struct text text = {0};
    text_add(&text, "%s: %s", doing, spec);
    s->options->step(s->options->context, replays, text.data);
    text_free(&text);
}

/* EXPLAINED says of a refused request why. PLACED_ANEW takes no state at the start over. */
enum how { PLAIN, EXPLAINED, PLACED_ANEW };
static int replay(const struct search *s, const char *spec, size_t trace, uint64_t capacity_bytes,
                  enum how how, const volatile sig_atomic_t *stop, struct measure *measure,
                  struct error *error)
{
    struct option_values values;
    struct replay_options options = {.options = &values,
                                     .device = replay_device(capacity_bytes, s->options->atlas),
                                     .free_at = s->options->free_at,
                                     .explain = how == EXPLAINED,
                                     .places_anew = how == PLACED_ANEW,
                                     .stop = stop};
    struct replay_outcome outcome = {0};
    struct trace_reader *reader;
    struct heard heard = {0};
    const struct source_listener source = {&heard, hear_source};
    const struct replay_listener listener = {&heard, hear_event, &source};
    TRY(allocator_parse_planned(s->plans, spec, &options.strategy, &values, error));
    TRY(trace_open(s->out->traces[trace].path, &reader, error));
    int code = replay_trace(reader, &options, &listener, &outcome, error);
    const char *doubt =
        exactness_doubt(&heard.exactness, trace_reader_info(reader), trace_reader_totals(reader),
                        outcome.adopted, s->options->capacity_bytes != 0);
    trace_close(reader);
    *measure = (struct measure){.call_count = heard.played_count,
                                .logged_call_count = heard.logged.count,
                                .calls_are_logged = same_calls(&heard),
                                .exactness = heard.exactness,
                                .refused = outcome.refused,
                                .refusal = outcome.refusal,
                                .doubt = doubt,
                                .adopted = outcome.adopted,
                                .driver_ns = UNKNOWN_NS,
                                .run_ns = UNKNOWN_NS};
    free(heard.logged.items);
    free(heard.played.items);
    if (code == ERR_PARSE || code == ERR_IO)
        return code;
    if (code || outcome.status != CASE_ok) /* a setting that this trace cannot have */
        return 0;
    measure->ok = true;
    measure->reserved_bytes = outcome.counts.peak_reserved_bytes;
    measure->function_count = (uint64_t)measured_driver_calls(&outcome.counts);
    if (capacity_bytes > outcome.most_served_bytes && outcome.most_served_bytes)
        measure->spare_bytes = capacity_bytes - outcome.most_served_bytes;
    if (outcome.model.asked) {
        measure->driver_ns = outcome.model.driver_ns;
        measure->run_ns = outcome.model.predicted_ns;
    }
    return 0;
}

static void remember(struct search *s, const char *spec, size_t trace,
                     const struct measure *measure)
{
    pthread_mutex_lock(&s->lock);
    s->replayed =
        must_grow(s->replayed, s->replayed_count, &s->replayed_capacity, sizeof *s->replayed);
    s->replayed[s->replayed_count++] = (struct replayed){must_have(strdup(spec)), trace, *measure};
    pthread_mutex_unlock(&s->lock);
}

/* Replays under the limit of the log. It may be the device's or a share of it, which expandable
 * segments obey in another way (rule 7 of vmm): what they serve under both counts. */
static int replay_within(struct search *s, const char *spec, size_t index, uint64_t limit,
                         const volatile sig_atomic_t *stop, struct measure *measure,
                         struct error *error)
{
    struct measure other;
    struct text fraction = {0};
    TRY(replay(s, spec, index, limit, PLAIN, stop, measure, error));
    if (strncmp(spec, "vmm", 3) != 0 || !measure->refused.served_count)
        return 0;
    text_add(&fraction, "%s:limit=fraction", spec);
    const int code = replay(s, fraction.data, index, limit, PLAIN, stop, &other, error);
    if (!code && (!other.ok || other.refused.served_count < measure->refused.served_count))
        *measure = other;
    text_free(&fraction);
    return code;
}

/* The same, once for each setting and trace. */
static int look_up(struct search *s, const char *spec, size_t trace,
                   const volatile sig_atomic_t *stop, struct measure *measure, struct error *error)
{
    bool found = false;
    pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; i < s->replayed_count && !found; i++)
        if (s->replayed[i].trace == trace && strcmp(s->replayed[i].spec, spec) == 0) {
            *measure = s->replayed[i].measure;
            found = true;
        }
    pthread_mutex_unlock(&s->lock);
    if (found)
        return 0;
    const uint64_t given = s->options->capacity_bytes;
    TRY(replay_within(s, spec, trace, given ? given : s->out->traces[trace].limit_bytes, stop,
                      measure, error));
    note_replay(s, "settings", spec);
    remember(s, spec, trace, measure);
    return 0;
}

/* ---- what counts ---- */

static bool is_busy(const struct advised_trace *trace, const struct measure *m)
{
    return m->call_count > trace->request_count / 10 + 10;
}

static bool counts(const struct advised_trace *trace, const struct measure *m)
{
    const struct measure *now = &trace->now;
    if (!m->ok || is_busy(trace, m) || m->call_count > 2 * now->call_count + 10)
        return false;
    if (m->driver_ns == UNKNOWN_NS || now->driver_ns == UNKNOWN_NS)
        return true;
    const uint64_t more_ns = trace->duration_ns ? trace->duration_ns / 100 : now->driver_ns;
    return m->driver_ns <= now->driver_ns + more_ns;
}

/* Replays a setting on the traces of an advice. `is_known` is false if it does not count. */
static int measure(struct search *s, const struct advice *advice, struct advised_setting *setting,
                   const volatile sig_atomic_t *stop, struct error *error)
{
    struct text spec = {0};
    int code = 0;
    setting_spec(&setting->setting, &spec);
    setting->is_known = true;
    setting->cost = 0;
    setting->served_count = 0;
    for (size_t i = 0; !code && i < advice->count && !*stop; i++) {
        const struct advised_trace *trace = &s->out->traces[advice->first + i];
        struct measure *m = &setting->on[i];
        code = look_up(s, spec.data, advice->first + i, stop, m, error);
        const uint64_t now_bytes =
            m->adopted || !trace->anew_bytes ? trace->now.reserved_bytes : trace->anew_bytes;
        const double cost = now_bytes ? (double)m->reserved_bytes / (double)now_bytes : 1;
        setting->cost = cost > setting->cost ? cost : setting->cost;
        setting->served_count += m->refused.served_count;
        setting->is_known = setting->is_known && counts(trace, m);
    }
    text_free(&spec);
    setting->is_known = setting->is_known && !*stop;
    return code;
}

static bool is_better(const struct advised_setting *a, const struct advised_setting *b)
{
    if (!a->is_known || !b->is_known || a->served_count != b->served_count)
        return a->is_known && (!b->is_known || a->served_count > b->served_count);
    return a->cost < better_share * b->cost;
}

static struct measure *measures(const struct advice *advice)
{
    return must_alloc(advice->count * sizeof(struct measure));
}

static void keep(struct advised_setting *to, const struct advised_setting *from, size_t count)
{
    struct measure *on = to->on;
    *to = *from;
    to->on = on;
    memcpy(on, from->on, count * sizeof *on);
}

/* ---- the search ---- */

/* Tries all values of one option. */
static int turn(struct search *s, struct descent *d, unsigned knob, struct advised_setting *tried,
                const volatile sig_atomic_t *stop, bool *changed, struct error *error)
{
    const struct advice *advice = &s->out->advices[d->advice];
    const struct allocator_setting before = d->best.setting;
    const unsigned values = knob_value_count(before.at[knob].knob);
    for (unsigned value = 0; value < values && !*stop; value++) {
        if (value == before.at[knob].value)
            continue;
        tried->setting = before;
        tried->setting.at[knob].value = value;
        TRY(measure(s, advice, tried, stop, error));
        d->tried_count++;
        if (!is_better(tried, &d->best))
            continue;
        keep(&d->best, tried, advice->count);
        *changed = true;
    }
    return 0;
}

static int descend(void *context, size_t index, const volatile sig_atomic_t *stop,
                   struct error *error)
{
    struct search *s = context;
    struct descent *d = &s->descents[index];
    const struct advice *advice = &s->out->advices[d->advice];
    struct advised_setting tried = {.on = measures(advice)};
    bool changed = d->best.setting.knob_count > 0;
    int code = measure(s, advice, &d->best, stop, error);
    d->tried_count = 1;
    for (unsigned pass = 0; !code && changed && pass < PASSES_MAX && !*stop; pass++) {
        changed = false;
        for (unsigned knob = 0; !code && knob < d->best.setting.knob_count; knob++)
            code = turn(s, d, knob, &tried, stop, &changed, error);
    }
    free(tried.on);
    return code;
}

static void add_descents(struct search *s, size_t advice, const struct application *application,
                         bool is_own)
{
    struct allocator_setting setting;
    for (size_t i = 0; application_setting(application, i, &setting); i++)
        s->descents[s->descent_count++] = (struct descent){
            .advice = advice,
            .is_own = is_own,
            .best = {.setting = setting, .on = measures(&s->out->advices[advice])}};
}

static void add_all_descents(struct search *s)
{
    const struct application *any = application_find("gamut", "");
    s->descents = must_alloc(s->out->advice_count * 2 * FAMILIES_MAX * sizeof *s->descents);
    for (size_t i = 0; i < s->out->advice_count; i++) {
        add_descents(s, i, s->out->application, true);
        if (s->out->application != any && !s->options->own_only)
            add_descents(s, i, any, false);
    }
}

/* Chooses among the families. */
static void choose(struct search *s, size_t index)
{
    struct advice *advice = &s->out->advices[index];
    for (size_t i = 0; i < s->descent_count; i++) {
        const struct descent *d = &s->descents[i];
        if (d->advice != index || !d->is_own)
            continue;
        advice->tried_count += d->tried_count;
        if (!advice->is_single && is_better(&d->best, &advice->best))
            keep(&advice->best, &d->best, advice->count);
    }
    struct advised_setting now = {.cost = 1};
    for (size_t i = 0; i < advice->count; i++) {
        const struct advised_trace *trace = &s->out->traces[advice->first + i];
        now.served_count += trace->now.refused.served_count;
        advice->is_bad = advice->is_bad || trace->is_refused || is_busy(trace, &trace->now);
    }
    now.is_known = !advice->is_bad;
    advice->leave = !advice->best.is_known || (now.is_known && !is_better(&advice->best, &now));
    const struct advised_setting *bar = advice->leave ? &now : &advice->best;
    for (size_t i = 0; i < s->descent_count; i++) {
        const struct descent *d = &s->descents[i];
        if (d->advice == index && !d->is_own && is_better(&d->best, bar) &&
            is_better(&d->best, &advice->other))
            keep(&advice->other, &d->best, advice->count);
    }
}

/* Keeps a setting that serves all: rather one that does so under the least limit too (under a 64th
 * less than a given one), or that counts, or that needs less. */
static int try_single(struct search *s, struct advice *advice, struct advised_setting *tried,
                      const volatile sig_atomic_t *stop, struct error *error)
{
    const struct advised_setting *best = &advice->best;
    const struct advised_trace *trace = &s->out->traces[advice->first];
    const uint64_t wanted = trace->now.refused.count, given = s->options->capacity_bytes,
                   limit = given ? given - given / 64 : trace->least_limit_bytes;
    struct measure least = {0};
    struct text spec = {0};
    int code = measure(s, advice, tried, stop, error);
    const bool serves = !code && tried->on->ok && tried->served_count == wanted;
    setting_spec(&tried->setting, &spec);
    if (serves && limit)
        code = replay_within(s, spec.data, advice->first, limit, stop, &least, error);
    text_free(&spec);
    tried->rank = tried->is_known + (least.ok && least.refused.served_count == wanted ? 2 : 0);
    tried->is_known = serves;
    if (serves && (!advice->is_single || tried->rank > best->rank ||
                   (tried->rank == best->rank && tried->on->spare_bytes > best->on->spare_bytes))) {
        keep(&advice->best, tried, 1);
        advice->is_single = true;
    }
    return code;
}

#define PAIR                                                                                       \
    "expandable_segments and max_split_size_mb can hurt together: free blocks join to pieces "     \
    "that few requests may use"

static void note_advised_pair(struct advised_trace *trace, const struct advice *advice)
{
    const size_t length = strlen(trace->notes);
    struct text spec = {0};
    if (advice->leave)
        return;
    setting_spec(&advice->best.setting, &spec);
    if (strncmp(spec.data, "vmm:", 4) == 0 && strstr(spec.data, "max_split="))
        snprintf(trace->notes + length, sizeof trace->notes - length,
                 PAIR ". In this log they do not, but with other sizes they may\n");
    text_free(&spec);
}

/* Tries the application's allocators, and each option of the first alone. */
static int find_single(void *context, size_t index, const volatile sig_atomic_t *stop,
                       struct error *error)
{
    struct search *s = context;
    struct advice *advice = &s->out->advices[index];
    const struct replay_refused *refused = &s->out->traces[advice->first].now.refused;
    struct advised_setting tried = {.on = measures(advice)};
    int code = 0;
    for (size_t i = 0; refused->served_count < refused->count &&
                       application_setting(s->out->application, i, &tried.setting);
         i++) {
        ALSO(code, try_single(s, advice, &tried, stop, error));
        for (unsigned knob = 0; i == 0 && knob < tried.setting.knob_count; knob++) {
            unsigned *value = &tried.setting.at[knob].value;
            for (*value = knob_value_count(tried.setting.at[knob].knob); --*value;)
                ALSO(code, try_single(s, advice, &tried, stop, error));
        }
    }
    free(tried.on);
    return code;
}

/* ---- the current settings ---- */

static int read_trace(void *context, size_t index, const volatile sig_atomic_t *stop,
                      struct error *error)
{
    struct search *s = context;
    struct advised_trace *trace = &s->out->traces[index];
    struct lifetimes lifetimes;
    struct trace_reader *reader;
    TRY(replay_trace_name(trace->path, trace->name, error));
    TRY(trace_open(trace->path, &reader, error));
    const struct trace_info *info = trace_reader_info(reader);
    snprintf(trace->source, sizeof trace->source, "%s", info->source);
    snprintf(trace->program, sizeof trace->program, " %.254s",
             *info->application ? info->application : "...");
    struct text current = {0}, notes = {0};
    pytorch_recorded(info->allocator, &current, &notes);
    snprintf(trace->current, sizeof trace->current, "%s", current.data ? current.data : "");
    snprintf(trace->notes, sizeof trace->notes, "%s", notes.data ? notes.data : "");
    text_free(&current);
    text_free(&notes);
    trace->limit_bytes = trace_limit(info);
    trace->least_limit_bytes = info->limit_least_bytes;
    int code = lifetimes_read(reader, &lifetimes, error);
    trace->demand = lifetimes.demand;
    trace->request_count = lifetimes.request_count;
    trace->live_bytes = trace_reader_totals(reader)->peak_bytes;
    trace->began_before = info->lost_beginning || trace_reader_totals(reader)->by_kind[TRACE_start];
    trace->duration_ns = trace_reader_totals(reader)->last_ns;
    /* Without the setting the calls are sums, as of PyTorch's profiler. */
    trace->knows_calls =
        info->knows[TRACE_KNOWS_driver] && *info->allocator &&
        (!info->lost_beginning || trace_reader_totals(reader)->by_kind[TRACE_start]);
    lifetimes_free(&lifetimes);
    if (!code && info->knows[TRACE_KNOWS_sites])
        code = holders_at_peak(reader, &trace->holders, error);
    trace_close(reader);
    return code;
}

/* The application that is asked for. Recorded settings with a size of segments are of a PyTorch
 * that has such settings. */
static const char *asked_for(const struct search *s)
{
    bool has_sizes = s->out->trace_count > 0;
    for (size_t i = 0; i < s->out->trace_count; i++)
        has_sizes &= strstr(s->out->traces[i].current, "large_segment_size_mb:") != NULL;
    return has_sizes && !strcmp(s->options->application, "auto") ? "pytorch-2.11"
                                                                 : s->options->application;
}

static int find_application(struct search *s, struct error *error)
{
    struct advise *out = s->out;
    const char *name = asked_for(s);
    for (size_t i = 0; i < out->trace_count; i++) {
        struct advised_trace *trace = &out->traces[i];
        const struct application *application = application_find(name, trace->source);
        if (out->application && application != out->application)
            return error_set(
                error, ERR_USAGE, "%s is of %s and %s of %s: name one of both with --for",
                out->traces[0].path, out->application->name, trace->path, application->name);
        out->application = application;
        trace->is_logged = *trace->current && !s->options->current;
        if (!trace->is_logged)
            snprintf(trace->current, sizeof trace->current, "%s",
                     s->options->current ? s->options->current : application->unlogged);
    }
    return 0;
}

static bool is_exact(const struct measure *m)
{
    return m->ok && !m->exactness.most_bytes && !m->refused.served_count;
}

/* Is the replay under one limit more like the log than that under another? It was refused what is
 * refused in the log. */
static bool is_more_like(const struct measure *a, const struct measure *b)
{
    const uint64_t equal = a->exactness.equal_count, other = b->exactness.equal_count;
    return a->ok != b->ok   ? a->ok
           : equal != other ? equal > other
                            : a->refused.served_count < b->refused.served_count;
}

/* Replays the current setting under a limit, and keeps the measure if it is more like the log. */
static int try_limit(struct search *s, size_t index, uint64_t limit_bytes, const char *spec,
                     const volatile sig_atomic_t *stop, struct error *error)
{
    struct advised_trace *trace = &s->out->traces[index];
    struct measure *now = &trace->now, other;
    TRY(replay(s, spec, index, limit_bytes, EXPLAINED, stop, &other, error));
    note_replay(s, "current setting", spec);
    if (!is_more_like(&other, now))
        return 0;
    *now = other;
    snprintf(trace->current, sizeof trace->current, "%s", spec);
    if (!s->options->capacity_bytes)
        trace->limit_bytes = limit_bytes;
    return 0;
}

/* The log shows what could be held between two bounds, and not whether a limit was the device's or
 * set_per_process_memory_fraction's, which expandable segments obey in another way. What agrees
 * with the log is taken, first of all the most. */
static int try_limits(struct search *s, size_t index, const volatile sig_atomic_t *stop,
                      struct error *error)
{
    struct advised_trace *trace = &s->out->traces[index];
    const uint64_t given = s->options->capacity_bytes, most = trace->limit_bytes,
                   least = trace->least_limit_bytes;
    const uint64_t limits[] = {given ? given : most, least, least + (most - least) / 2};
    const bool is_open = trace->is_logged && most && !given && least < most;
    struct text plain = {0}, fraction = {0};
    text_add(&plain, "%s", trace->current);
    if (trace->is_logged && limits[0] && strstr(plain.data, "expandable_segments:True") &&
        !strstr(plain.data, ":limit="))
        text_add(&fraction, "%s:limit=fraction", plain.data);
    int code = 0;
    for (unsigned i = 0; !code && i < (is_open ? 3 : 1) && !is_exact(&trace->now); i++) {
        code = try_limit(s, index, limits[i], plain.data, stop, error);
        if (!code && fraction.length && fraction.length < sizeof trace->current &&
            !is_exact(&trace->now))
            code = try_limit(s, index, limits[i], fraction.data, stop, error);
    }
    if (!code)
        remember(s, trace->current, index, &trace->now);
    text_free(&plain);
    text_free(&fraction);
    return code;
}

/* Notes what both words hold that can hurt together, and each of them alone. */
static int note_pair(struct search *s, size_t index, const volatile sig_atomic_t *stop,
                     struct error *error)
{
    struct advised_trace *trace = &s->out->traces[index];
    const char *split = strstr(trace->current, "max_split_size_mb:");
    struct measure expandable, plain;
    char spec[64], both[32], one[32], other[32];
    const size_t length = strlen(trace->notes);
    if (!split || !strstr(trace->current, "expandable_segments:True"))
        return 0;
    snprintf(spec, sizeof spec, "caching:max_split=%lluMiB",
             strtoull(strchr(split, ':') + 1, NULL, 10));
    TRY(look_up(s, spec, index, stop, &plain, error));
    TRY(look_up(s, "vmm", index, stop, &expandable, error));
    if (plain.ok && expandable.ok)
        snprintf(trace->notes + length, sizeof trace->notes - length,
                 PAIR ". This log reserves %s with both, %s with expandable_segments "
                      "alone, and %s with max_split_size_mb alone\n",
                 text_bytes(both, trace->now.reserved_bytes),
                 text_bytes(one, expandable.reserved_bytes),
                 text_bytes(other, plain.reserved_bytes));
    return 0;
}

static int measure_now(void *context, size_t index, const volatile sig_atomic_t *stop,
                       struct error *error)
{
    struct search *s = context;
    struct advised_trace *trace = &s->out->traces[index];
    struct measure anew;
    TRY(try_limits(s, index, stop, error));
    trace->is_refused = !trace->now.ok && (s->options->capacity_bytes || trace->limit_bytes);
    if (trace->is_refused)
        TRY(replay(s, trace->current, index, 0, PLAIN, stop, &trace->now, error));
    TRY(note_pair(s, index, stop, error));
    if (trace->now.adopted) { /* what cannot start so is compared with a start like its own */
        TRY(replay(s, trace->current, index, 0, PLACED_ANEW, stop, &anew, error));
        trace->anew_bytes = smaller(anew.reserved_bytes, trace->now.reserved_bytes);
    }
    if (!trace->now.ok && !*stop)
        return error_set(error, ERR_USAGE,
                         "%s: the current setting, %s, cannot be replayed: name another one with "
                         "--current",
                         trace->path, trace->current);
    return 0;
}

/* ---- the least capacities ---- */

struct fitting {
    struct search *search;
    const char *spec;
};

static void note_step(void *context, unsigned replays, uint64_t refused, uint64_t served)
{
    const struct fitting *f = context;
    note_replay(f->search, "least capacity", f->spec);
}

static int fit_one(void *context, size_t index, const volatile sig_atomic_t *stop,
                   struct error *error)
{
    struct search *s = context;
    struct advice *advice = &s->out->advices[index / 2];
    const struct advised_trace *trace = &s->out->traces[advice->first];
    struct text spec = {0};
    struct fitting fitting = {s, trace->current};
    struct fit_options options = {.strategy = trace->current,
                                  .plans = s->plans,
                                  .free_at = s->options->free_at,
                                  .demand = trace->demand,
                                  .stop = stop,
                                  .step = note_step,
                                  .context = &fitting};
    struct trace_reader *reader;
    struct advised_setting *const setting = index % 2 ? &advice->best : NULL;
    if (setting && advice->leave)
        return 0;
    if (setting) {
        setting_spec(&setting->setting, &spec);
        if (advice->is_single && strcmp(spec.data, "vmm") == 0)
            text_add(&spec, ":limit=fraction"); /* which needs more */
        options.strategy = fitting.spec = spec.data;
    }
    int code = trace_open(trace->path, &reader, error);
    if (!code) {
        code = fit_trace(reader, &options, setting ? &setting->fit : &advice->current_fit, error);
        trace_close(reader);
    }
    text_free(&spec);
    return code;
}

/* ---- the whole ---- */

static int run(struct search *s, size_t count,
               int (*work)(void *context, size_t index, const volatile sig_atomic_t *stop,
                           struct error *error),
               bool *interrupted, struct error *error)
{
    const struct parallel all = {
        .count = count, .jobs = s->options->jobs, .context = s, .work = work};
    const volatile sig_atomic_t *stop = s->options->stop;
    int code = 0;
    if (*interrupted)
        return 0;
    if (!stop)
        return parallel_run(&all, interrupted, error);
    for (size_t i = 0; i < count && !code && !*stop; i++)
        code = work(s, i, stop, error);
    *interrupted = *stop;
    return code;
}

static void make_advices(struct advise *out)
{
    out->advice_count = out->trace_count + (out->trace_count > 1);
    out->advices = must_alloc(out->advice_count * sizeof *out->advices);
    for (size_t i = 0; i < out->advice_count; i++) {
        struct advice *advice = &out->advices[i];
        const bool is_all = i == out->trace_count;
        advice->first = is_all ? 0 : i;
        advice->count = is_all ? out->trace_count : 1;
        advice->best.on = measures(advice);
        advice->other.on = measures(advice);
    }
}

static int search_all(struct search *s, bool *interrupted, struct error *error)
{
    struct advise *out = s->out;
    const struct allocator_ops *current;
    struct option_values values;
    if (s->options->current) /* before several threads do */
        TRY(allocator_parse_planned(s->plans, s->options->current, &current, &values, error));
    make_advices(out);
    TRY(run(s, out->trace_count, read_trace, interrupted, error));
    TRY(find_application(s, error));
    TRY(run(s, out->trace_count, measure_now, interrupted, error));
    add_all_descents(s);
    TRY(run(s, s->descent_count, descend, interrupted, error));
    TRY(run(s, out->trace_count, find_single, interrupted, error));
    for (size_t i = 0; i < out->advice_count; i++)
        choose(s, i);
    for (size_t i = 0; i < out->trace_count; i++)
        note_advised_pair(&out->traces[out->advices[i].first], &out->advices[i]);
    return run(s, 2 * out->trace_count, fit_one, interrupted, error);
}

int advise_traces(const char *const *paths, size_t count, const struct advise_options *options,
                  struct advise *advise, bool *interrupted, struct error *error)
{
    struct allocator_plans plans = {.make = plan_of_trace};
    struct search s = {.options = options, .out = advise, .plans = &plans};
    *advise =
        (struct advise){.trace_count = count, .traces = must_alloc(count * sizeof *advise->traces)};
    for (size_t i = 0; i < count; i++)
        advise->traces[i].path = paths[i];
    *interrupted = false;
    pthread_mutex_init(&s.lock, NULL);
    int code = search_all(&s, interrupted, error);
    pthread_mutex_destroy(&s.lock);
    allocator_plans_free(&plans);
    for (size_t i = 0; i < s.descent_count; i++)
        free(s.descents[i].best.on);
    for (size_t i = 0; i < s.replayed_count; i++)
        free(s.replayed[i].spec);
    free(s.descents);
    free(s.replayed);
    return code;
}

void advise_bounds(const struct advised_trace *trace, const struct measure *m, uint64_t *least,
                   uint64_t *most)
{
    const struct exactness *x = &trace->now.exactness;
    const uint64_t held = m->reserved_bytes, logged = x->logged_peak_bytes;
    const uint64_t apart = held > logged ? held - logged : logged - held;
    const uint64_t off = larger(apart, x->most_bytes);
    const bool is_compared = trace->is_logged && trace->knows_calls;
    *least = *most = held;
    if (is_compared && m == &trace->now) {
        *most = held + off;
        *least = held > off + trace->live_bytes ? held - off : trace->live_bytes;
    } else if (trace->began_before || (is_compared && x->most_bytes)) {
        *most = UINT64_MAX;
        *least = trace->live_bytes;
    }
}

void advise_free(struct advise *advise)
{
    for (size_t i = 0; i < advise->advice_count; i++) {
        free(advise->advices[i].best.on);
        free(advise->advices[i].other.on);
    }
    for (size_t i = 0; advise->traces && i < advise->trace_count; i++)
        holders_free(&advise->traces[i].holders);
    free(advise->traces);
    free(advise->advices);
    *advise = (struct advise){0};
}
