#include "replay/cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "replay/parallel.h"

int replay_trace_name(const char *path, char name[64], struct error *error)
{
    const char *base = text_file_name(path);
    const size_t length = trace_stem(base);
    if (length > 63)
        return error_set(error, ERR_USAGE, "%s: the name is longer than 63 characters", path);
    memcpy(name, base, length);
    name[length] = 0;
    return 0;
}

struct crew {
    const struct replay_cases *all;
    void (*ended)(void *context, size_t index, const struct case_round *round);
    void *context;
    struct case_round *rounds; /* by case */
};

static enum replay_free_at free_at_of(const struct case_key *key)
{
    return strcmp(key->release, "let-go") == 0 ? FREE_AT_LET_GO : FREE_AT_DONE;
}

static int replay_one(const struct replay_cases *all, const struct replay_case *one,
                      const volatile sig_atomic_t *stop, struct replay_outcome *outcome,
                      struct error *error)
{
    struct option_values values;
    struct replay_options options = {.options = &values,
                                     .device = replay_device(all->capacity_bytes, all->atlas),
                                     .free_at = free_at_of(&one->key),
                                     .check = all->check,
                                     .stop = stop};
    struct trace_reader *reader;
    TRY(allocator_parse_planned(all->plans, one->key.strategy, &options.strategy, &values, error));
    TRY(trace_open(one->path, &reader, error));
    if (!all->capacity_bytes)
        options.device = replay_device(trace_limit(trace_reader_info(reader)), all->atlas);
    const int code = replay_trace(reader, &options, NULL, outcome, error);
    trace_close(reader);
    return code;
}

/* The round of a case so far; nothing else is known of it. */
static void fill_round(struct case_round *round, int code, const struct error *why,
                       const struct replay_outcome *outcome)
{
    round->status = code ? case_status_of(code) : outcome->status;
    round->program_digest = round->inputs_digest = outcome->digest;
    round->worst_error = round->traffic_bytes = NAN;
    round->cold = outcome->counts;
    snprintf(round->reason, sizeof round->reason, "%.1023s", code ? why->text : outcome->reason);
    struct text refused = {0};
    replay_add_refused(&refused, &outcome->refused);
    snprintf(round->refused, sizeof round->refused, "%s", refused.data ? refused.data : "");
    text_free(&refused);
    memset(&round->warm, 0xff, sizeof round->warm);
    memset(&round->cold_sample, 0xff, sizeof round->cold_sample);
}

/* A strategy that this trace or device cannot have is a skipped case, as in a run. */
static int play(void *context, size_t index, const volatile sig_atomic_t *stop, struct error *error)
{
    const struct crew *crew = context;
    const struct replay_case *one = &crew->all->cases[index];
    struct case_round *round = &crew->rounds[index];
    struct replay_outcome outcome = {.status = CASE_skipped};
    struct error why = {0};
    int code = replay_one(crew->all, one, stop, &outcome, &why);
    *round = (struct case_round){
        .key = one->key, .slot = (unsigned)index, .check = CHECK_BLOCKS, .model = outcome.model};
    fill_round(round, code, &why, &outcome);
    if (code == ERR_IO || code == ERR_PARSE || code == ERR_USAGE)
        return error_set(error, code, "%s", why.text);
    return 0;
}

static void ended(void *context, size_t index)
{
    const struct crew *crew = context;
    crew->ended(crew->context, index, &crew->rounds[index]);
}

int replay_cases(const struct replay_cases *all,
                 void (*each_ended)(void *context, size_t index, const struct case_round *round),
                 void *context, bool *interrupted, struct error *error)
{
    struct crew crew = {all, each_ended, context,
                        must_alloc(all->count * sizeof(struct case_round) + 1)};
    const struct parallel work = {
        .count = all->count, .jobs = all->jobs, .context = &crew, .work = play, .done = ended};
    int code = parallel_run(&work, interrupted, error);
    free(crew.rounds);
    return code;
}

/* ---- on a device ---- */

static void note(struct text *notes, uint64_t count, const char *what, const char *difference)
{
    char number[64];
    if (count)
        text_add(notes, "%s%s\n", text_count(number, (double)count, what), difference);
}

static void note_differences(struct text *notes, const struct schedule *s,
                             const struct live_counts *c)
{
    note(notes, s->launches - s->timed_launches, "kernel",
         ": the record does not say how long they took; the stand-ins read and write their blocks "
         "once");
    note(notes, c->wide, "kernel", " with more blocks than a stand-in has");
    note(notes, c->blocking, "transfer", " waited for, that was not in the record");
    note(notes, c->shortened, "transfer", " of more bytes than the block has: shortened");
    note(notes, c->unmapped, "map", " done as transfers: the device has no maps");
    note(notes, c->crossings, "wait",
         " of a queue for another, that the record does not have: memory moves between them");
    note(notes, c->lost, "command", " without a block that the record has");
}

static int replay_samples(struct trace_reader *reader, struct live *live,
                          const struct live_case_options *o, struct case_round *round,
                          struct replay_outcome *outcome, struct error *error)
{
    uint64_t spent_ns = 0;
    struct option_values values;
    struct replay_options options = {
        .options = &values, .live = live, .free_at = free_at_of(&round->key), .check = true};
    TRY(allocator_parse_planned(o->plans, round->key.strategy, &options.strategy, &values, error));
    live_keep_gaps(live, false);
    TRY(replay_trace(reader, &options, NULL, outcome, error));
    live_keep_gaps(live, strcmp(round->key.dataset, REPLAY_NO_GAPS) != 0);
    options.check = false;
    if (outcome->status)
        return 0;
    round->samples = must_alloc(o->most_samples * sizeof *round->samples);
    do {
        TRY(replay_trace(reader, &options, NULL, outcome, error));
        if (outcome->status)
            return 0;
        round->samples[round->sample_count++] = outcome->sample;
        spent_ns += outcome->sample.wall_ns;
    } while (round->sample_count < o->most_samples && spent_ns < o->least_ns);
    return 0;
}

static int replay_opened(struct device *device, struct trace_reader *reader,
                         const struct live_case_options *o, struct case_round *round,
                         struct replay_outcome *outcome, struct text *notes, struct error *error)
{
    struct schedule schedule;
    struct live *live = NULL;
    int code = schedule_read(reader, &schedule, error);
    THEN(code, live_open(device, &schedule, o->capacity_bytes, &live, error));
    if (!code) {
        code = replay_samples(reader, live, o, round, outcome, error);
        note_differences(notes, &schedule, live_counts(live));
    }
    live_close(live);
    schedule_free(&schedule);
    return code;
}

int replay_case_live(struct device *device, const char *path, const struct live_case_options *o,
                     struct case_round *round, struct text *notes)
{
    struct replay_outcome outcome = {.status = CASE_skipped};
    struct error why = {0};
    struct trace_reader *reader;
    int code = trace_open(path, &reader, &why);
    if (!code) {
        code = replay_opened(device, reader, o, round, &outcome, notes, &why);
        trace_close(reader);
    }
    round->check = CHECK_BLOCKS;
    fill_round(round, code, &why, &outcome);
    if (round->status)
        round->sample_count = 0;
    return code == ERR_DEVICE_LOST ? code : 0;
}

int replay_recorded_ns(const char *path, uint64_t *ns, struct error *error)
{
    struct schedule schedule;
    struct trace_reader *reader;
    TRY(trace_open(path, &reader, error));
    const int code = schedule_read(reader, &schedule, error);
    *ns = code ? 0 : schedule.recorded_ns;
    schedule_free(&schedule);
    trace_close(reader);
    return code;
}
