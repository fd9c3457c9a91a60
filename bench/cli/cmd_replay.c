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
#include "cli/recording.h"
#include "cli/traces.h"
#include "record/table/table.h"
#include "run/replay/cases.h"
#include "run/rounds/replays.h"
#include "record/result/case_tree.h"
#include "run/select/select.h"

enum replay_flag {
    REPLAY_STRATEGY,
    REPLAY_SUITE,
    REPLAY_ON_DEVICE,
    REPLAY_NO_GAPS_FLAG,
    REPLAY_ROUNDS,
    REPLAY_TIMEOUT,
    REPLAY_FREE_AT,
    REPLAY_MEM_LIMIT,
    REPLAY_ATLAS,
    REPLAY_OWN_TIME,
    REPLAY_CHECK,
    REPLAY_TIMELINE,
    REPLAY_JOBS,
    REPLAY_SEED,
    REPLAY_SHARD,
    REPLAY_FORMAT,
    REPLAY_OUT,
    REPLAY_FORCE,
    REPLAY_RESULTS,
    REPLAY_NO_SAVE,
};
enum free_at_choice { CHOICE_DONE, CHOICE_LET_GO, CHOICE_BOTH };

static const struct flag flags[] = {
    [REPLAY_STRATEGY] =
        {"strategy", 's', FLAG_LIST, "LIST", NULL, NULL, 0, 0,
         "allocators: all, recorded (the trace's own), pool, 'caching:max_split=64MiB', "
         "… [all]"},
    [REPLAY_SUITE] = {"suite", 0, FLAG_TEXT, "NAME", NULL, NULL, 0, 0,
                      "also the traces of a suite: real is ten applications"},
    [REPLAY_ON_DEVICE] = {"device", 'D', FLAG_LIST, "LIST", NULL, NULL, 0, 0,
                          "replay on these devices, with the recorded commands and in real time: "
                          "host, opencl, cuda, … [without a device]"},
    [REPLAY_NO_GAPS_FLAG] = {"no-gaps", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
                             "on a device: leave out the time between two calls of a thread"},
    [REPLAY_ROUNDS] = {"rounds", 0, FLAG_COUNT, "N", "1", NULL, 1, 10000,
                       "on a device: how many times all cases run, each time in a new process"},
    [REPLAY_TIMEOUT] = {"timeout", 0, FLAG_TIME, "TIME", "600s", NULL, 1000000, 0,
                        "on a device: the longest that a case may take in a round"},
    [REPLAY_FREE_AT] = {"free-at", 0, FLAG_CHOICE, "WHEN", "done", "done|let-go|both", 0, 0,
                        "when the allocator gets a freed block back: when its last command is "
                        "done, or when the application lets it go [on a device: let-go]"},
    [REPLAY_MEM_LIMIT] = {"mem-limit", 0, FLAG_BYTES, "SIZE", NULL, NULL, 0, 0,
                          "the memory of the device: more is refused"},
    [REPLAY_ATLAS] =
        {"atlas", 0, FLAG_TEXT, "FILE", NULL, NULL, 0, 0,
         "a result file with an atlas, whose prices driver calls have; of several, cuda:0"},
    [REPLAY_OWN_TIME] = {"own-time", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
                         "time the allocator's own work too; needs --atlas"},
    [REPLAY_CHECK] = {"check", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
                      "check the allocator's invariants and every block's place; slow"},
    [REPLAY_TIMELINE] = {"timeline", 0, FLAG_CHOICE, "X", "events", "events|times|off", 0, 0,
                         "record memory over the events of the trace, or over its times; off is "
                         "faster"},
    [REPLAY_JOBS] = {"jobs", 'j', FLAG_COUNT, "N", "0", NULL, 0, 1024,
                     "replays at once; 0: one for each processor"},
    [REPLAY_SEED] = {"seed", 0, FLAG_COUNT, "N", "42", NULL, 0, (1ull << 53) - 1,
                     "the seed of the order of cases on a device; else there is no chance in it"},
    [REPLAY_SHARD] = FLAG_SHARD,
    [REPLAY_FORMAT] = {"format", 0, FLAG_CHOICE, "FORMAT", "table", TABLE_FORMAT_CHOICES, 0, 0,
                       TABLE_FORMAT_HELP},
    [REPLAY_OUT] = {"out", 'o', FLAG_TEXT, "FILE", NULL, NULL, 0, 0,
                    "the result file; FILE.gz is compressed "
                    "[RESULTS/<machine>/<time>-<rev>.json]"},
    [REPLAY_FORCE] = {"force", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, "replace FILE if it exists"},
    [REPLAY_RESULTS] = {"results", 0, FLAG_TEXT, "RESULTS", "results", NULL, 0, 0,
                        "the folder of result files"},
    [REPLAY_NO_SAVE] = {"no-save", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, "write no result file"},
    {NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL},
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
             s->line->flag[REPLAY_NO_GAPS_FLAG].number ? REPLAY_NO_GAPS : REPLAY_DATASET);
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
    const uint64_t when = s->on_device && !line->flag[REPLAY_FREE_AT].given
                              ? CHOICE_LET_GO
                              : line->flag[REPLAY_FREE_AT].number;
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
    s->all.steps = steps[line->flag[REPLAY_TIMELINE].number];
    s->all.jobs = (unsigned)line->flag[REPLAY_JOBS].number;
    s->all.check = line->flag[REPLAY_CHECK].number != 0;
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
        if (s->line->flag[REPLAY_SHARD].text && (i == 0 || one->path != s->cases[i - 1].path))
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
    const char *list = line->flag[REPLAY_STRATEGY].text;
    TRY(traces_named(line, &s->traces, error));
    if (line->flag[REPLAY_SUITE].text)
        TRY(traces_of_suite(line->flag[REPLAY_SUITE].text, &s->traces, error));
    if (!s->traces.count)
        return error_set(error, ERR_USAGE,
                         "replay needs TRACE... or --suite; see gamut replay --help");
    TRY(check_names(&s->traces, error));
    return trace_strategies_named(list ? list : "all", &s->strategies, error);
}

/* GAMUT_DEVICE and GAMUT_ROUNDS are meant for other commands: they do not make a replay one on a device. */
static bool on_line(const struct command_line *line, enum replay_flag flag)
{
    return line->flag[flag].given && !line->flag[flag].in_environment;
}

/* Flags that mean nothing on a device, or without one. */
static int check_flags(const struct session *s, struct error *error)
{
    static const enum replay_flag dry[] = {REPLAY_ATLAS, REPLAY_OWN_TIME, REPLAY_TIMELINE,
                                           REPLAY_JOBS, REPLAY_CHECK};
    static const enum replay_flag live[] = {REPLAY_NO_GAPS_FLAG, REPLAY_ROUNDS};
    for (size_t i = 0; s->on_device && i < sizeof dry / sizeof *dry; i++)
        if (on_line(s->line, dry[i]))
            return error_set(error, ERR_USAGE, "--%s is for replays without --device",
                             flags[dry[i]].name);
    for (size_t i = 0; !s->on_device && i < sizeof live / sizeof *live; i++)
        if (on_line(s->line, live[i]))
            return error_set(error, ERR_USAGE, "--%s needs --device", flags[live[i]].name);
    return 0;
}

static int read_atlas(struct session *s, struct error *error)
{
    const char *path = s->line->flag[REPLAY_ATLAS].text;
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
    const struct flag_value *flag = s->line->flag;
    const struct replays_options options = {
        .rounds = (unsigned)flag[REPLAY_ROUNDS].number - s->first_round,
        .first_round = s->first_round,
        .timeout_ns = flag[REPLAY_TIMEOUT].number,
        .seed = flag[REPLAY_SEED].number,
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
    int code =
        table_print(root, (enum table_format)s->line->flag[REPLAY_FORMAT].number, stdout, error);
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
    s->all.own_time = s->line->flag[REPLAY_OWN_TIME].number != 0;
    s->all.capacity_bytes = s->line->flag[REPLAY_MEM_LIMIT].number;
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
    struct session s = {.line = line, .on_device = on_line(line, REPLAY_ON_DEVICE)};
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
        "\n"
        "A folder stands for all files *.trace in it. gamut trace import makes traces of\n"
        "the logs of PyTorch and others.\n",
    .run = replay_command,
};
