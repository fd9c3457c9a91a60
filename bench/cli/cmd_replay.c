#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/planned/planned.h"
#include "alloc/registry.h"
#include "run/plan/plan.h"
#include "base/arena.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/recording.h"
#include "cli/traces.h"
#include "record/table/table.h"
#include "run/replay/cases.h"
#include "run/rounds/replays.h"
#include "record/result/case_tree.h"
#include "run/select/select.h"

enum free_at_choice { CHOICE_DONE, CHOICE_LET_GO, CHOICE_BOTH };

static const struct flag flags[] = {
    FLAG_TRACE_STRATEGIES,
    {"suite", 0, FLAG_TEXT, .value = "NAME",
     .help = "also the traces of a suite: real is ten applications"},
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
    {"own-time", 0, FLAG_SWITCH, .help = "time the allocator's own work too; needs --atlas"},
    {"check", 0, FLAG_SWITCH,
     .help = "check the allocator's invariants and every block's place; slow"},
    {"timeline", 0, FLAG_CHOICE, .value = "X", .fallback = "events", .choices = "events|times|off",
     .help = "record memory over the events of the trace, or over its times; off is faster"},
    FLAG_JOBS,
    FLAG_SEED("shuffles cases that run on a device; without one the order is fixed"),
    FLAG_SHARD,
    FLAG_FORMAT_OF_CASES,
    FLAGS_RESULT_FILE,
    FLAGS_END,
};

struct session {
    const struct command_line *line;
    struct traces traces;
    struct trace_strategies strategies;
    struct replay_cases all;
    struct replay_case *cases;
    struct case_round *rounds; /* by case */
    bool *ended;
    size_t ended_count;
    struct status_line status;
    struct atlas atlas;
    struct recording recording;
    struct text notes; /* of the replays on devices: lines that were printed */
    bool on_device, interrupted;
    unsigned first_round; /* on a device: what an earlier try of the shard has made */
    int unsaved;          /* the code of the error, if the result could not be written */
};

/* ---- cases ---- */

static void add_case(struct session *s, const char *path, const char *name, const char *release,
                     const char *strategy, const char *device)
{
    struct replay_case *one = &s->cases[s->all.count++];
    one->path = path;
    snprintf(one->key.workload, sizeof one->key.workload, "%s", name);
    snprintf(one->key.dataset, sizeof one->key.dataset, "%s",
             flag_number(s->line, "no-gaps") ? REPLAY_NO_GAPS : REPLAY_DATASET);
    snprintf(one->key.merge, sizeof one->key.merge, "none");
    snprintf(one->key.release, sizeof one->key.release, "%s", release);
    snprintf(one->key.strategy, sizeof one->key.strategy, "%s", strategy);
    snprintf(one->key.device, sizeof one->key.device, "%s", device);
}

static void add_cases(struct session *s, const char *path, const struct names *strategies,
                      const char *name, const char *release)
{
    for (size_t i = 0; i < strategies->count; i++) {
        if (!s->on_device)
            add_case(s, path, name, release, strategies->items[i], REPLAY_DEVICE);
        for (size_t d = 0; s->on_device && d < s->recording.device_count; d++)
            if (s->recording.devices[d].selected)
                add_case(s, path, name, release, strategies->items[i],
                         s->recording.devices[d].info.id);
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

static int make_cases(struct session *s, struct error *error)
{
    const struct command_line *line = s->line;
    const uint64_t when = s->on_device && !flag_is_given(line, "free-at")
                              ? CHOICE_LET_GO
                              : flag_number(line, "free-at");
    const size_t devices = s->on_device ? s->recording.device_count : 1;
    const size_t most = 2 * devices * s->traces.count *
                        (s->strategies.selection.strategies.count + s->strategies.recorded);
    s->cases = must_alloc(most * sizeof *s->cases);
    for (size_t i = 0; i < s->traces.count; i++) {
        char name[64];
        struct names strategies;
        TRY(replay_trace_name(s->traces.paths[i], name, error));
        TRY(trace_strategies_of(&s->strategies, &s->traces, i, &strategies, error));
        if (when != CHOICE_LET_GO)
            add_cases(s, s->traces.paths[i], &strategies, name, "done");
        if (when != CHOICE_DONE)
            add_cases(s, s->traces.paths[i], &strategies, name, "let-go");
    }
    s->rounds = must_alloc(s->all.count * sizeof *s->rounds);
    s->ended = must_alloc(s->all.count * sizeof *s->ended);
    s->all.cases = s->cases;
    static const enum replay_steps steps[] = {STEPS_EVENTS, STEPS_TIMES, STEPS_NONE};
    s->all.steps = steps[flag_number(line, "timeline")];
    s->all.jobs = (unsigned)flag_number(line, "jobs");
    s->all.check = flag_number(line, "check") != 0;
    return 0;
}

/* ---- shards ---- */

/* Without a device a case is an item: it has no times that another case is compared with. It costs as
 * many steps as its trace has events. On a device all cases of a trace are compared. */
static int make_work(struct session *s, struct work *work, struct error *error)
{
    uint64_t events = 0;
    *work = (struct work){.items = must_alloc((s->all.count + 1) * sizeof *work->items),
                          .count = s->all.count};
    for (size_t i = 0; i < s->all.count; i++) {
        struct shard_item *item = &work->items[i];
        const struct replay_case *one = &s->cases[i];
        if (flag_text(s->line, "shard") && (i == 0 || one->path != s->cases[i - 1].path))
            TRY(trace_events(one->path, &events, error));
        case_id(&one->key, item->id);
        item->unit = s->on_device ? one->key.workload : item->id;
        item->cost = events;
    }
    return 0;
}

/* Begins the file, and keeps the cases that are to be replayed. */
static int start(struct session *s, struct error *error)
{
    struct work work;
    size_t kept = 0;
    int code = make_work(s, &work, error);
    if (!code)
        code = recording_start(&s->recording, s->line, &work, error);
    for (size_t i = 0; !code && i < work.count; i++)
        if (work.own[i])
            s->cases[kept++] = s->cases[i];
    s->all.count = code ? s->all.count : kept;
    s->first_round = work.first_round;
    free(work.items);
    free(work.own);
    return code;
}

/* Reads what the command line names, before a device is looked for. */
static int read_names(struct session *s, struct error *error)
{
    const struct command_line *line = s->line;
    const char *list = flag_text(line, "strategy");
    TRY(traces_named(line, &s->traces, error));
    if (flag_text(line, "suite"))
        TRY(traces_of_suite(flag_text(line, "suite"), &s->traces, error));
    if (!s->traces.count)
        return error_set(error, ERR_USAGE,
                         "replay needs TRACE... or --suite; see gamut replay --help");
    TRY(check_names(&s->traces, error));
    return trace_strategies_named(list ? list : "all", &s->strategies, error);
}

/* Flags that mean nothing on a device, or without one. */
static int check_flags(const struct session *s, struct error *error)
{
    const char *others =
        s->on_device ? "atlas,own-time,timeline,jobs,check" : "no-gaps,rounds";
    char name[32];
    while (text_next_item(&others, name, sizeof name))
        if (flag_is_typed(s->line, name))
            return error_set(error, ERR_USAGE,
                             s->on_device ? "--%s is for replays without --device"
                                          : "--%s needs --device",
                             name);
    return 0;
}

static int read_atlas(struct session *s, struct error *error)
{
    const char *path = flag_text(s->line, "atlas");
    if (!path)
        return s->all.own_time ? error_set(error, ERR_USAGE, "--own-time needs --atlas") : 0;
    TRY(recorded_atlas(path, &s->atlas, error));
    s->all.atlas = &s->atlas;
    return 0;
}

/* ---- the run, on devices ---- */

static void live_working(void *context, const struct items_state *state, size_t index)
{
    struct session *s = context;
    status_line_show(&s->status, "replaying %zu/%zu: %s of %s on %s", state->done + 1,
                     state->done + state->left, s->cases[index].key.strategy,
                     s->cases[index].key.workload, s->cases[index].key.device);
}

/* Each difference between a replay and its trace is told once. */
static void tell_notes(struct session *s, const struct case_key *key, const char *notes)
{
    for (size_t length; notes && *notes; notes += length + (notes[length] != 0)) {
        length = strcspn(notes, "\n");
        char line[512];
        snprintf(line, sizeof line, "gamut: %s on %s: %.*s\n", key->workload, key->device,
                 (int)(length < 384 ? length : 384), notes);
        if (s->notes.data && strstr(s->notes.data, line))
            continue;
        text_add(&s->notes, "%s", line);
        status_line_clear(&s->status);
        fputs(line, stderr);
    }
}

static void live_ended(void *context, const struct items_state *state, size_t index,
                       const struct case_round *round, const char *notes)
{
    struct session *s = context;
    (void)state;
    tell_notes(s, &s->cases[index].key, notes);
    result_add_round(&s->recording.result, round);
}

static int live_round_ended(void *context, const struct items_state *state, struct error *error)
{
    struct session *s = context;
    status_line_clear(&s->status);
    result_set_session(&s->recording.result, state->round + 1);
    return recording_save(&s->recording, error);
}

static int replay_on_devices(struct session *s, struct error *error)
{
    static const uint64_t least_ns = 100000000;
    const struct replays_options options = {
        .rounds = (unsigned)flag_number(s->line, "rounds") - s->first_round,
        .first_round = s->first_round,
        .timeout_ns = flag_number(s->line, "timeout"),
        .seed = flag_number(s->line, "seed"),
        .live = {
            .capacity_bytes = s->all.capacity_bytes, .least_ns = least_ns, .most_samples = 50}};
    const struct replays_watcher watcher = {s, live_working, live_ended, live_round_ended};
    status_line_open(&s->status, stderr);
    int code = replays_run(s->cases, s->all.count, &options, &watcher, &s->interrupted, error);
    status_line_clear(&s->status);
    s->unsaved = recording_finish(&s->recording, s->interrupted, code != 0, code ? NULL : error);
    return code;
}

/* Are the strategy and the device the trace's own? A recording of calls to a driver has raw. */
static bool is_recorded(const struct session *s, const char *path, const struct case_key *key)
{
    struct trace_reader *reader;
    struct error error;
    if (trace_open(path, &reader, &error))
        return false;
    const struct trace_info *info = trace_reader_info(reader);
    bool is = false;
    for (size_t d = 0; d < s->recording.device_count; d++)
        is |= strcmp(s->recording.devices[d].info.id, key->device) == 0 &&
              strcmp(s->recording.devices[d].info.name, info->device) == 0 &&
              strcmp(info->allocator, key->strategy) == 0;
    trace_close(reader);
    return is;
}

/* The time under the recorded allocator on the recorded device is compared with the recorded one; another is a prediction. */
static void compare_times(const struct session *s)
{
    const json_t *cases = json_object_get(s->recording.result.root, "cases"), *one;
    for (size_t i = 0; i < s->all.count; i++) {
        const struct replay_case *c = &s->cases[i];
        struct case_key key;
        struct error error;
        uint64_t recorded_ns = 0;
        size_t k;
        char took[32], recorded[32];
        if (replay_recorded_ns(c->path, &recorded_ns, &error) || !recorded_ns)
            continue;
        json_array_foreach(cases, k, one)
        {
            const double ns = case_stat(one, "wall_ns", "median");
            if (case_key_from_json(json_object_get(one, "key"), &key, NULL) ||
                memcmp(&key, &c->key, sizeof key) != 0 || !(ns > 0))
                continue;
            fprintf(stderr, "gamut: %s, %s on %s: %s, %.3f of the recorded %s%s%s\n", key.workload,
                    key.strategy, key.device, text_ns(took, ns), ns / (double)recorded_ns,
                    text_ns(recorded, (double)recorded_ns),
                    strcmp(key.dataset, REPLAY_NO_GAPS) == 0 ? ", without its gaps" : "",
                    is_recorded(s, c->path, &key) ? ""
                                                  : ": a prediction of the application's time");
        }
    }
}

/* ---- the run, without a device ---- */

static void ended(void *context, size_t index, const struct case_round *round)
{
    struct session *s = context;
    s->rounds[index] = *round;
    s->ended[index] = true;
    result_add_round(&s->recording.result, round);
    recording_save_now_and_then(&s->recording);
    status_line_show(&s->status, "replayed %zu/%zu: %s of %s", ++s->ended_count, s->all.count,
                     s->cases[index].key.strategy, s->cases[index].key.workload);
}

static int replay_all(struct session *s, struct error *error)
{
    status_line_open(&s->status, stderr);
    int code = replay_cases(&s->all, ended, s, &s->interrupted, error);
    status_line_clear(&s->status);
    s->unsaved = recording_finish(&s->recording, s->interrupted, code != 0, code ? NULL : error);
    return code;
}

/* What a plan of the trace itself holds is out of reach for a program, which does not know its future. */
static void name_oracles(const struct session *s)
{
    for (size_t i = 0; i < s->all.count; i++) {
        const struct allocator_ops *ops;
        struct option_values options;
        struct error error;
        if (s->ended[i] && !strategy_parse(s->cases[i].key.strategy, &ops, &options, &error) &&
            ops == &allocator_planned && planned_digest(&options) == s->rounds[i].program_digest)
            fprintf(stderr, "gamut: %s is an oracle: its plan was made of %s itself\n",
                    s->cases[i].key.strategy, s->cases[i].path);
    }
}

static int report_result(struct session *s, struct error *error)
{
    json_t *root = s->recording.result.root;
    if (s->unsaved)
        report_error(error);
    result_summarise(root);
    int code = table_print(root, (enum table_format)flag_number(s->line, "format"), stdout, error);
    name_oracles(s);
    if (s->on_device)
        compare_times(s);
    int exit_code = report_cases(root, &s->recording.file, !s->unsaved, s->interrupted);
    return code ? report_error(error) : exit_code;
}

static int prepare(struct session *s, struct error *error)
{
    TRY(make_cases(s, error));
    TRY(recording_open_dry(&s->recording, s->line, s->all.capacity_bytes, s->all.atlas, error));
    return start(s, error);
}

/* The cases have the names of the devices that are found. */
static int prepare_on_devices(struct session *s, struct error *error)
{
    TRY(recording_open(&s->recording, s->line, error));
    TRY(make_cases(s, error));
    return start(s, error);
}

static int run_session(struct session *s)
{
    struct error error = {0};
    s->all.own_time = flag_number(s->line, "own-time") != 0;
    s->all.capacity_bytes = flag_number(s->line, "mem-limit");
    int code = check_flags(s, &error);
    if (!code)
        code = read_names(s, &error);
    if (!code)
        code = read_atlas(s, &error);
    if (!code)
        code = s->on_device ? prepare_on_devices(s, &error) : prepare(s, &error);
    if (!code)
        code = s->on_device ? replay_on_devices(s, &error) : replay_all(s, &error);
    return code ? report_error(&error) : report_result(s, &error);
}

static int replay_command(const struct command_line *line)
{
    struct session s = {.line = line, .on_device = flag_is_typed(line, "device")};
    int exit_code = run_session(&s);
    recording_free(&s.recording);
    select_free(&s.strategies.selection);
    traces_free(&s.traces);
    atlas_free(&s.atlas);
    text_free(&s.notes);
    for (size_t i = 0; i < s.all.count; i++)
        case_round_free(&s.rounds[i]);
    free(s.cases);
    free(s.rounds);
    free(s.ended);
    return exit_code;
}

const struct command command_replay = {
    .name = "replay",
    .summary = "replay traces of applications under every allocator, without a GPU or on one",
    .arguments = "[TRACE...]",
    .most_positionals = POSITIONALS_ANY,
    .flags = flags,
    .notes =
        "A trace and an allocator are a case, as in gamut run: the result file, compare,\n"
        "plot and report are the same. Bytes and driver calls are exact. With --atlas\n"
        "the time in driver calls is predicted from measured prices. What the\n"
        "application would have done after a refusal is unknown: such a case ends with\n"
        "the refused request, as oom.\n"
        "\n"
        "With --device the commands, copies, maps and waits of the trace run there, each when\n"
        "the recorded gap of its thread has passed. Other kernels stand in for the recorded\n"
        "ones: they use the same blocks, and take as long if the trace says how long (gamut\n"
        "record --times); else they read and write their blocks once. The time is to be compared\n"
        "with the recorded one under the recorded allocator on the recorded device, and predicts\n"
        "the application's time under the others. All threads are played from one.\n"
        "--rounds, --timeout, --no-gaps and --seed are for --device, where --free-at is let-go\n"
        "unless it is given.\n"
        "\n"
        "A folder stands for all files *.trace in it. gamut trace import makes traces of\n"
        "the logs of PyTorch and others.\n",
    .run = replay_command,
};
