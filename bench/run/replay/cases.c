#include "run/replay/cases.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc/registry.h"
#include "run/plan/plan.h"
#include "base/arena.h"
#include "run/replay/replay_snapshot.h"
#include "run/replay/parallel.h"

int replay_trace_name(const char *path, char name[64], struct error *error)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strlen(base);
    const size_t suffix = strlen(TRACE_SUFFIX);
    if (length > suffix && strcmp(base + length - suffix, TRACE_SUFFIX) == 0)
        length -= suffix;
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

/* Opens the trace of a case, and fills in *options, which borrow *values. */
static int open_case(const struct replay_cases *all, const struct replay_case *one,
                     struct option_values *values, struct replay_options *options,
                     struct trace_reader **reader, struct error *error)
{
    *options = (struct replay_options){
        .options = values,
        .device = replay_device(all->capacity_bytes, all->atlas),
        .free_at = strcmp(one->key.release, "let-go") == 0 ? FREE_AT_LET_GO : FREE_AT_DONE,
        .own_time = all->own_time,
        .check = all->check};
    TRY(strategy_parse(one->key.strategy, &options->strategy, values, error));
    return trace_open(one->path, reader, error);
}

static int replay_one(const struct replay_cases *all, const struct replay_case *one,
                      const volatile sig_atomic_t *stop, struct replay_outcome *outcome,
                      json_t **memory, struct error *error)
{
    struct option_values values;
    struct replay_options options;
    struct trace_reader *reader;
    TRY(open_case(all, one, &values, &options, &reader, error));
    options.stop = stop;
    struct replay_memory *record = replay_memory_open(reader, all->steps);
    int code = replay_trace(reader, &options, replay_memory_listener(record), outcome, error);
    *memory = code ? NULL : replay_memory_to_json(record);
    replay_memory_close(record);
    trace_close(reader);
    return code;
}

int replay_case_snapshot(const struct replay_cases *all, const struct replay_case *one,
                         const char *path, struct error *error)
{
    struct option_values values;
    struct replay_options options;
    struct replay_outcome outcome;
    struct trace_reader *reader;
    TRY(open_case(all, one, &values, &options, &reader, error));
    FILE *out = fopen(path, "wx");
    int code = out ? replay_to_snapshot(reader, &options, out, &outcome, error)
                   : error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    if (out && fclose(out) != 0 && !code)
        code = error_set(error, ERR_IO, "%s could not be written: %s", path, strerror(errno));
    if (out && code)
        unlink(path);
    trace_close(reader);
    return code;
}

/* A strategy that this trace or device cannot have is a skipped case, as in a run. */
static int play(void *context, size_t index, const volatile sig_atomic_t *stop, struct error *error)
{
    const struct crew *crew = context;
    const struct replay_case *one = &crew->all->cases[index];
    struct case_round *round = &crew->rounds[index];
    struct replay_outcome outcome = {.status = CASE_skipped};
    struct error why = {0};
    json_t *memory = NULL;
    int code = replay_one(crew->all, one, stop, &outcome, &memory, &why);
    *round = (struct case_round){.key = one->key,
                                 .slot = (unsigned)index,
                                 .status = code ? case_status_of(code) : outcome.status,
                                 .check = CHECK_BLOCKS,
                                 .program_digest = outcome.digest,
                                 .inputs_digest = outcome.digest,
                                 .worst_error = NAN,
                                 .traffic_bytes = NAN,
                                 .cold = outcome.counts,
                                 .model = outcome.model,
                                 .memory = memory};
    snprintf(round->reason, sizeof round->reason, "%.1023s", code ? why.text : outcome.reason);
    memset(&round->warm, 0xff, sizeof round->warm);
    memset(&round->cold_sample, 0xff, sizeof round->cold_sample);
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
