/* gamut replay: replays traces under allocators, without a device or on one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/planned/planned.h"
#include "base/arena.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/session.h"
#include "results/show/table.h"
#include "replay/cases.h"
#include "results/file/measured.h"
#include "run/select/select.h"

enum free_at_choice { CHOICE_DONE, CHOICE_LET_GO, CHOICE_BOTH };

static const struct flag flags[] = {
    FLAG_TRACE_STRATEGIES,
    FLAG_SUITE,
    {"device", 'D', FLAG_LIST,
     .help = "replay on these devices, with the recorded commands and in real time: host, opencl, "
             "cuda, … [without a device]"},
    {"no-gaps", 0, FLAG_SWITCH,
     .help = "on a device: leave out the time between two calls of a thread"},
    {"rounds", 0, FLAG_COUNT, .fallback = "1", .least = 1, .most = 10000,
     .help = "on a device: how many times all cases run, each time in a new process"},
    FLAG_TIMEOUT("600s"),
    FLAG_FREE_AT("done|let-go|both"),
    FLAG_MEM_LIMIT,
    FLAG_ATLAS,
    {"check", 0, FLAG_SWITCH,
     .help = "check the allocator's invariants and every block's place; slow"},
    FLAG_JOBS,
    FLAG_SEED("shuffles cases that run on a device; without one the order is fixed"),
    FLAG_SHARD,
    FLAG_FORMAT_OF_CASES,
    FLAGS_RESULT_FILE,
    FLAGS_END,
};

struct replay_session {
    struct session common;
    struct replay_cases all;
    struct replay_case *cases;
    struct case_round *rounds; /* by case */
    bool *ended;
    size_t ended_count;
    struct text notes; /* of the replays on devices: lines that were printed */
    bool on_device;
    int unsaved; /* the code of the error, if the result could not be written */
};

/* ---- cases ---- */

static void add_case(struct replay_session *s, const char *path, const char *name,
                     const char *release, const char *strategy, const char *device)
{
    struct replay_case *one = &s->cases[s->all.count++];
    one->path = path;
    snprintf(one->key.workload, sizeof one->key.workload, "%s", name);
    snprintf(one->key.dataset, sizeof one->key.dataset, "%s",
             flag_number(s->common.line, "no-gaps") ? REPLAY_NO_GAPS : REPLAY_DATASET);
    snprintf(one->key.merge, sizeof one->key.merge, "none");
    snprintf(one->key.release, sizeof one->key.release, "%s", release);
    snprintf(one->key.strategy, sizeof one->key.strategy, "%s", strategy);
    snprintf(one->key.device, sizeof one->key.device, "%s", device);
}

static void add_cases(struct replay_session *s, const char *path, const struct names *strategies,
                      const char *name, const char *release)
{
    for (size_t i = 0; i < strategies->count; i++) {
        if (!s->on_device)
            add_case(s, path, name, release, strategies->items[i], REPLAY_DEVICE);
        for (size_t d = 0; s->on_device && d < s->common.recording.device_count; d++)
            if (s->common.recording.devices[d].selected)
                add_case(s, path, name, release, strategies->items[i],
                         s->common.recording.devices[d].info.id);
    }
}

static int check_names(const struct traces *traces, struct error *error)
{
    char name[64], other[64];
    for (size_t i = 0; i < traces->count; i++) {
        TRY(replay_trace_name(traces->paths[i], name, error));
        for (size_t k = 0; k < i; k++) {
            TRY(replay_trace_name(traces->paths[k], other, error));
            if (strcmp(name, other) == 0)
                return error_set(error, ERR_USAGE,
                                 "%s and %s are both called %s in a result: rename one",
                                 traces->paths[k], traces->paths[i], name);
        }
    }
    return 0;
}

static int make_cases(struct replay_session *s, struct error *error)
{
    const struct command_line *line = s->common.line;
    const uint64_t when = s->on_device && !flag_is_given(line, "free-at")
                              ? CHOICE_LET_GO
                              : flag_number(line, "free-at");
    const size_t devices = s->on_device ? s->common.recording.device_count : 1;
    const size_t most =
        2 * devices * s->common.traces.count *
        (s->common.strategies.selection.strategies.count + s->common.strategies.recorded);
    s->cases = must_alloc(most * sizeof *s->cases);
    for (size_t i = 0; i < s->common.traces.count; i++) {
        char name[64];
        struct names strategies;
        TRY(replay_trace_name(s->common.traces.paths[i], name, error));
        TRY(trace_strategies_of(&s->common.strategies, &s->common.traces, i, &strategies, error));
        if (when != CHOICE_LET_GO)
            add_cases(s, s->common.traces.paths[i], &strategies, name, "done");
        if (when != CHOICE_DONE)
            add_cases(s, s->common.traces.paths[i], &strategies, name, "let-go");
    }
    s->rounds = must_alloc(s->all.count * sizeof *s->rounds);
    s->ended = must_alloc(s->all.count * sizeof *s->ended);
    s->all.cases = s->cases;
    s->all.plans = &s->common.strategies.selection.plans;
    s->all.check = flag_number(line, "check") != 0;
    return 0;
}

/* ---- shards ---- */

/* The trace that a case replays. */
static size_t trace_of(const struct session *s, const struct replay_case *one)
{
    size_t i = 0;
    while (s->traces.paths[i] != one->path)
        i++;
    return i;
}

/* Without a device a case is an item: it has no times that another case is compared with. On a
 * device all cases of a trace are compared. */
static int make_work(struct replay_session *s, struct error *error)
{
    session_divide(&s->common, s->all.count);
    for (size_t i = 0; i < s->all.count; i++) {
        const struct replay_case *one = &s->cases[i];
        const char *unit = s->on_device ? one->key.workload : NULL;
        TRY(session_item(&s->common, i, "", unit, trace_of(&s->common, one), error));
        case_id(&one->key, s->common.work.items[i].id);
    }
    return 0;
}

/* Keeps the cases that are to be replayed. */
static void keep_own(struct replay_session *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->all.count; i++)
        if (s->common.work.own[i])
            s->cases[kept++] = s->cases[i];
    s->all.count = kept;
}

/* ---- the run, on devices ---- */

static void live_working(void *context, const struct items_state *state, size_t index)
{
    struct replay_session *s = context;
    status_line_show(&s->common.status, "replaying %zu/%zu: %s of %s on %s", state->done + 1,
                     state->done + state->left, s->cases[index].key.strategy,
                     s->cases[index].key.workload, s->cases[index].key.device);
}

/* Prints each difference between a replay and its trace once. */
static void tell_notes(struct replay_session *s, const struct case_key *key, const char *notes)
{
    for (size_t length; notes && *notes; notes += length + (notes[length] != 0)) {
        length = strcspn(notes, "\n");
        char line[512];
        snprintf(line, sizeof line, "gamut: %s on %s: %.*s\n", key->workload, key->device,
                 (int)(length < 384 ? length : 384), notes);
        if (s->notes.data && strstr(s->notes.data, line))
            continue;
        text_add(&s->notes, "%s", line);
        status_line_clear(&s->common.status);
        fputs(line, stderr);
    }
}

static void live_ended(void *context, const struct items_state *state, size_t index,
                       const struct case_round *round, const char *notes)
{
    struct replay_session *s = context;
    tell_notes(s, &s->cases[index].key, notes);
    draft_add_round(&s->common.recording.draft, round);
}

static int live_round_ended(void *context, const struct items_state *state, struct error *error)
{
    struct replay_session *s = context;
    status_line_clear(&s->common.status);
    draft_set_session(&s->common.recording.draft, state->round + 1);
    return recording_save(&s->common.recording, error);
}

static int replay_on_devices(struct replay_session *s, struct error *error)
{
    static const uint64_t least_ns = 100000000;
    const struct replays_options options = {
        .rounds = (unsigned)flag_number(s->common.line, "rounds") - s->common.work.first_round,
        .first_round = s->common.work.first_round,
        .timeout_ns = flag_number(s->common.line, "timeout"),
        .seed = flag_number(s->common.line, "seed"),
        .live = {
            .capacity_bytes = s->all.capacity_bytes, .least_ns = least_ns, .most_samples = 50}};
    const struct replays_watcher watcher = {s, live_working, live_ended, live_round_ended};
    return replays_run(s->cases, s->all.count, &options, &watcher, &s->common.interrupted, error);
}

/* Are the strategy and the device the trace's own? A recording of calls to a driver has raw. */
static bool is_recorded(const struct replay_session *s, const char *path,
                        const struct case_key *key)
{
    struct trace_reader *reader;
    struct error error;
    if (trace_open(path, &reader, &error))
        return false;
    const struct trace_info *info = trace_reader_info(reader);
    bool is = false;
    for (size_t d = 0; d < s->common.recording.device_count; d++)
        is |= strcmp(s->common.recording.devices[d].info.id, key->device) == 0 &&
              strcmp(s->common.recording.devices[d].info.name, info->device) == 0 &&
              strcmp(info->allocator, key->strategy) == 0;
    trace_close(reader);
    return is;
}

/* Compares the time of each replay with the recorded one. It repeats the recorded time under the
 * recorded allocator on the recorded device, and is a prediction elsewhere. */
static void compare_times(const struct replay_session *s)
{
    const struct result *result = &s->common.recording.draft.result;
    for (size_t i = 0; i < s->all.count; i++) {
        const struct replay_case *c = &s->cases[i];
        struct error error;
        uint64_t recorded_ns = 0;
        char took[32], recorded[32], id[13];
        if (replay_recorded_ns(c->path, &recorded_ns, &error) || !recorded_ns)
            continue;
        case_id(&c->key, id);
        const struct result_case *one = result_case_of(result, id);
        const double ns = one ? measured_wall_ns(one) : NAN;
        if (!(ns > 0))
            continue;
        fprintf(stderr, "gamut: %s, %s on %s: %s, %.3f of the recorded %s%s%s\n", c->key.workload,
                c->key.strategy, c->key.device, text_ns(took, ns), ns / (double)recorded_ns,
                text_ns(recorded, (double)recorded_ns),
                strcmp(c->key.dataset, REPLAY_NO_GAPS) == 0 ? ", without its gaps" : "",
                is_recorded(s, c->path, &c->key) ? "" : ": a prediction of the application's time");
    }
}

/* ---- the run, without a device ---- */

/* The request that the log says was refused is in the result as a warning. */
static void tell_refused(struct replay_session *s, const struct case_round *round)
{
    struct result *result = &s->common.recording.draft.result;
    char id[13];
    case_id(&round->key, id);
    for (size_t i = 0; *round->refused && i < result->case_count; i++)
        if (strcmp(result->cases[i].id, id) == 0)
            result_warn(result, &result->cases[i], "refused-request", "requests", round->refused);
}

static void ended(void *context, size_t index, const struct case_round *round)
{
    struct replay_session *s = context;
    s->rounds[index] = *round;
    s->ended[index] = true;
    draft_add_round(&s->common.recording.draft, round);
    tell_refused(s, round);
    recording_save_now_and_then(&s->common.recording);
    status_line_show(&s->common.status, "replayed %zu/%zu: %s of %s", ++s->ended_count,
                     s->all.count, s->cases[index].key.strategy, s->cases[index].key.workload);
}

/* A plan of the trace itself knows the future. A log of PyTorch does not know the device. */
static void name_limits(const struct replay_session *s)
{
    bool told = false;
    for (size_t i = 0; i < s->all.count; i++) {
        const struct allocator_ops *ops;
        struct option_values options;
        struct trace_reader *reader;
        struct error error;
        if (!s->ended[i] ||
            allocator_parse_planned(s->all.plans, s->cases[i].key.strategy, &ops, &options, &error))
            continue;
        if (s->rounds[i].program_digest &&
            planned_digest(ops, &options) == s->rounds[i].program_digest)
            fprintf(stderr, "gamut: %s is an oracle: its plan was made of %s itself\n",
                    s->cases[i].key.strategy, s->cases[i].key.workload);
        if (told || s->on_device || !ops->opens_pool ||
            trace_open(s->cases[i].path, &reader, &error))
            continue;
        told = replay_is_of_pytorch(trace_reader_info(reader));
        if (told)
            fputs("gamut: stream: PyTorch's log does not say when the device is done with a block: "
                  "of 21 programs 18 reserved as much within 2 %, 3 from 16 % less to 5 % more\n",
                  stderr);
        trace_close(reader);
    }
}

static int report_result(struct replay_session *s, struct error *error)
{
    struct result *result = &s->common.recording.draft.result;
    if (s->unsaved)
        report_error(error);
    result_summarise(result);
    int code = table_print(result, (enum table_format)flag_number(s->common.line, "format"),
                           (enum table_show)flag_number(s->common.line, "show"), stdout, error);
    name_limits(s);
    if (s->on_device)
        compare_times(s);
    int exit_code =
        report_cases(result, &s->common.recording.file, !s->unsaved, s->common.interrupted);
    return code ? report_error(error) : exit_code;
}

/* The cases have the names of the devices that are found. */
static int start(struct replay_session *s, struct error *error)
{
    struct session *c = &s->common;
    if (s->on_device)
        TRY(recording_open(&c->recording, c->line, error));
    TRY(make_cases(s, error));
    TRY(make_work(s, error));
    if (s->on_device)
        TRY(recording_start(&c->recording, c->line, &c->work, error));
    else
        TRY(session_start(c, NULL, error));
    keep_own(s);
    return 0;
}

static int run(struct replay_session *s, const struct command_line *line, struct error *error)
{
    s->on_device = flag_is_typed(line, "device");
    TRY(s->on_device
            ? flags_refuse(line, "atlas,jobs,check", "is for replays without --device", error)
            : flags_refuse(line, "no-gaps,rounds", "needs --device", error));
    TRY(session_open(&s->common, line, error));
    TRY(check_names(&s->common.traces, error));
    s->all.atlas = s->common.atlas;
    s->all.jobs = s->common.jobs;
    s->all.capacity_bytes = s->common.capacity_bytes;
    TRY(start(s, error));
    status_line_open(&s->common.status, stderr);
    const int code = s->on_device ? replay_on_devices(s, error)
                                  : replay_cases(&s->all, ended, s, &s->common.interrupted, error);
    status_line_clear(&s->common.status);
    s->unsaved = session_finish(&s->common, code, error);
    return code;
}

static int replay_command(const struct command_line *line)
{
    struct replay_session s = {0};
    struct error error = {0};
    const int exit_code =
        run(&s, line, &error) ? session_error(&s.common, &error) : report_result(&s, &error);
    text_free(&s.notes);
    for (size_t i = 0; i < s.all.count; i++)
        case_round_free(&s.rounds[i]);
    free(s.cases);
    free(s.rounds);
    free(s.ended);
    session_close(&s.common);
    return exit_code;
}

const struct command command_replay = {
    .name = "replay",
    .summary = "replay traces of applications under every allocator, without a GPU or on one",
    .arguments = "[TRACE|LOG...]",
    .most_positionals = POSITIONALS_ANY,
    .flags = flags,
    .run = replay_command,
};
