#include "replay/fit.h"

#include <stdio.h>

#include "replay/ages.h"

/* The search ends after so many replays, wherever it is; with the two facts it takes about 20. */
enum { REPLAYS_MAX = 150 };

struct search {
    struct trace_reader *reader;
    const struct fit_options *options;
    struct replay_options replay;
    struct option_values values;
    struct fit *fit;
    /* Capacities: `refused` does not serve the trace, and `served` does. */
    uint64_t refused, served;
    uint64_t refused_seen, served_seen; /* those that were replayed; served_seen 0: none yet */
    uint64_t lower_bytes;               /* none below it serves; at least 1 */
    uint64_t changes_at; /* the least capacity at which the last served replay goes another way */
    bool plain;          /* bisect only: the two facts do not hold */
    bool is_explained;   /* why a request is refused */
    uint64_t peak_bytes; /* the most reserved so far, where that is listened for */
    struct error *error;
};

const char *fit_cause_name(enum fit_cause cause)
{
    static const char *const names[] = {FIT_CAUSE_LIST(TEXT_NAME)};
    return names[cause];
}

static int play(struct search *s, uint64_t capacity_bytes, struct replay_outcome *outcome)
{
    s->replay.device.capacity_bytes = capacity_bytes;
    s->fit->replays++;
    TRY(replay_trace(s->reader, &s->replay, NULL, outcome, s->error));
    s->fit->reads_capacity |= outcome->reads_capacity;
    if (s->options->step)
        s->options->step(s->options->context, s->fit->replays, s->refused, s->served);
    return 0;
}

/* A replay that ended in another way than served or refused ends the search. */
static void fail(struct search *s, const struct replay_outcome *outcome)
{
    s->fit->status = outcome->status;
    snprintf(s->fit->reason, sizeof s->fit->reason, "%s", outcome->reason);
}

static enum fit_cause cause_of(const struct replay_outcome *outcome, uint64_t capacity_bytes)
{
    const struct replay_refusal *r = &outcome->refusal;
    if (r->requested_bytes + r->bytes > capacity_bytes)
        return FIT_demand;
    /* If the bytes that are not held would do, the strategy asked for more than the request; one
     * that did not ask at all wants none of them. */
    const uint64_t unheld = r->reserved_bytes < capacity_bytes && outcome->least_refused_bytes
                                ? capacity_bytes - r->reserved_bytes
                                : 0;
    uint64_t rounded = r->granted_bytes - r->requested_bytes;
    uint64_t pieces = r->reserved_bytes - r->granted_bytes;
    *(unheld >= r->bytes ? &rounded : &pieces) += unheld >= r->bytes ? unheld - r->bytes : unheld;
    return rounded > pieces ? FIT_rounding : FIT_fragmentation;
}

/* The least capacity under which this served replay goes the same way. */
static uint64_t needed_bytes(const struct replay_outcome *outcome)
{
    return outcome->most_served_bytes ? outcome->most_served_bytes
                                      : outcome->counts.peak_reserved_bytes;
}

static void note_served(struct search *s, uint64_t capacity_bytes,
                        const struct replay_outcome *outcome)
{
    const uint64_t needed = needed_bytes(outcome);
    s->fit->limited = outcome->counts;
    s->changes_at = outcome->least_refused_bytes;
    s->served_seen = capacity_bytes;
    s->served = s->plain || needed > capacity_bytes ? capacity_bytes : needed;
    if (s->refused < s->served)
        return;
    /* A smaller capacity serves what a larger one refused. */
    s->plain = true;
    s->refused = s->refused_seen < s->served ? s->refused_seen : s->lower_bytes - 1;
}

static void note_refused(struct search *s, uint64_t capacity_bytes,
                         const struct replay_outcome *outcome)
{
    const uint64_t changes_at = outcome->least_refused_bytes;
    if (capacity_bytes == s->served) {
        /* It does not serve: the strategy knows the capacity. */
        s->plain = true;
        s->served = s->served_seen ? s->served_seen : 2 * s->served;
    }
    s->refused = s->refused_seen = capacity_bytes;
    if (!s->plain && changes_at > capacity_bytes && changes_at <= s->served)
        s->refused = changes_at - 1;
    if (!s->replay.explain)
        return;
    s->is_explained = true;
    s->fit->refusal = outcome->refusal;
    s->fit->cause = cause_of(outcome, capacity_bytes);
}

/* Replays with a capacity, and moves one of the ends. */
static int probe(struct search *s, uint64_t capacity_bytes)
{
    struct replay_outcome outcome;
    TRY(play(s, capacity_bytes, &outcome));
    if (outcome.status == CASE_ok)
        note_served(s, capacity_bytes, &outcome);
    else if (outcome.status == CASE_oom)
        note_refused(s, capacity_bytes, &outcome);
    else
        fail(s, &outcome);
    return 0;
}

/* Narrows until the ends are neighbours, and replays what was inferred of them. */
static int narrow(struct search *s)
{
    while (s->fit->status == CASE_ok && s->fit->replays < REPLAYS_MAX) {
        const uint64_t between = s->served - s->refused;
        if (between > FIT_STEP_BYTES) {
            TRY(probe(s, s->refused + between / 2));
        } else if (s->served != s->served_seen) {
            TRY(probe(s, s->served));
        } else if (s->refused > 0 && !s->is_explained) {
            s->replay.explain = true;
            TRY(probe(s, s->refused));
            s->replay.explain = false;
        } else {
            return 0;
        }
    }
    return 0;
}

static int find_between(struct search *s, uint64_t refused, uint64_t served)
{
    s->refused = s->refused_seen = refused;
    s->served = served;
    s->served_seen = 0;
    s->plain = false;
    return narrow(s);
}

/* From the lower bound up to what was found, from change to change: the first that serves. Where
 * the capacity is read, each is another strategy: they are tried at even distances. */
static int look_below(struct search *s)
{
    struct replay_outcome outcome;
    struct fit *fit = s->fit;
    uint64_t at = fit->status == CASE_ok ? s->lower_bytes : UINT64_MAX;
    const uint64_t between = fit->lowest_bytes - s->lower_bytes;
    for (unsigned i = 0; i < FIT_BELOW_REPLAYS && at < fit->lowest_bytes; i++) {
        TRY(play(s, at, &outcome));
        if (outcome.status == CASE_ok)
            fit->lowest_bytes = at;
        else if (outcome.status != CASE_oom)
            fail(s, &outcome);
        at = fit->reads_capacity                ? at + 1 + between / FIT_BELOW_REPLAYS
             : outcome.least_refused_bytes > at ? outcome.least_refused_bytes
                                                : UINT64_MAX;
    }
    return 0;
}

/* From what was found up to `top`, which serves, from change to change. */
static int look_above(struct search *s, uint64_t top)
{
    struct replay_outcome outcome;
    struct fit *fit = s->fit;
    const unsigned last = fit->replays + FIT_ABOVE_REPLAYS;
    while (fit->status == CASE_ok && fit->replays < last && s->changes_at > s->served &&
           s->changes_at < top) {
        const uint64_t at = s->changes_at;
        TRY(play(s, at, &outcome));
        s->is_explained = outcome.status == CASE_ok;
        if (outcome.status == CASE_ok)
            s->changes_at = outcome.least_refused_bytes > at ? outcome.least_refused_bytes : top;
        else if (outcome.status == CASE_oom)
            TRY(find_between(s, at, top));
        else
            fail(s, &outcome);
    }
    return 0;
}

/* The least capacity if dispensable requests may be refused. */
static int find_needed(struct search *s)
{
    struct fit *fit = s->fit, all = *fit;
    const uint64_t peak = s->options->demand.needed_peak_bytes;
    if (fit->status != CASE_ok || s->options->demand.dispensable_count == 0)
        return 0;
    s->fit = &all;
    s->replay.can_leave_out = s->is_explained = true;
    s->lower_bytes = peak == 0 ? 1 : peak < s->lower_bytes ? peak : s->lower_bytes;
    TRY(find_between(s, s->lower_bytes - 1, fit->lowest_bytes));
    fit->replays = all.replays;
    fit->reads_capacity = all.reads_capacity;
    fit->knows_needed = all.status == CASE_ok;
    fit->needed_bytes = s->served;
    return 0;
}

static void hear(void *context, const struct trace_event *event, const struct block *block,
                 const struct replay_state *state)
{
    struct search *s = context;
    if (state->most_reserved_bytes <= s->peak_bytes)
        return;
    s->peak_bytes = state->most_reserved_bytes;
    s->fit->requested_at_peak_bytes = state->requested_bytes;
}

static int find(struct search *s)
{
    const struct replay_listener listener = {.context = s, .event = hear};
    struct replay_outcome outcome;
    struct fit *fit = s->fit;
    const struct demand *demand = &s->options->demand;
    fit->replays++; /* without a limit: it alone has times */
    TRY(replay_trace(s->reader, &s->replay, &listener, &outcome, s->error));
    s->replay.device.atlas = NULL;
    if (outcome.status != CASE_ok) {
        fail(s, &outcome);
        return 0;
    }
    fit->unlimited = fit->limited = outcome.counts;
    fit->times = outcome.model;
    fit->unserved_count = demand->refused_count - outcome.refused.count;
    const uint64_t top = s->served = needed_bytes(&outcome);
    if (demand->peak_bytes == 0)
        return 0;
    s->lower_bytes = fit->unserved_count ? 1 : demand->peak_bytes;
    TRY(find_between(s, s->lower_bytes - 1, top));
    fit->lowest_bytes = s->served;
    TRY(look_above(s, top));
    fit->capacity_bytes = s->served;
    if (fit->lowest_bytes > s->served)
        fit->lowest_bytes = s->served;
    fit->refused_bytes = s->refused;
    TRY(look_below(s));
    return find_needed(s);
}

int fit_trace(struct trace_reader *reader, const struct fit_options *options, struct fit *fit,
              struct error *error)
{
    const struct trace_info *info = trace_reader_info(reader);
    struct ages ages = {0};
    *fit = (struct fit){.status = CASE_ok};
    struct search s = {.reader = reader,
                       .options = options,
                       .replay = {.options = &s.values,
                                  .device = replay_device(0, options->atlas),
                                  .must_serve_refused = true,
                                  .ages = &ages,
                                  .free_at = options->free_at,
                                  .stop = options->stop},
                       .fit = fit,
                       .error = error};
    TRY(allocator_parse_planned(options->plans, options->strategy, &s.replay.strategy, &s.values,
                                error));
    /* The device is as large as it is, however little of it the strategy may have. */
    if (info->capacity_bytes)
        s.replay.device.memory_bytes = info->capacity_bytes;
    int code = find(&s);
    ages_free(&ages);
    if (code && code != ERR_PARSE && code != ERR_IO) {
        fit->status = case_status_of(code);
        snprintf(fit->reason, sizeof fit->reason, "%.1023s", error->text);
        return 0;
    }
    return code;
}
