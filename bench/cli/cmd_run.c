/* gamut run: selects cases, measures them round by round, and writes a result file. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/tree.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/earlier.h"
#include "cli/flags.h"
#include "cli/reasons.h"
#include "cli/recording.h"
#include "cli/traces.h"
#include "results/compare/gates.h"
#include "results/compare/noise.h"
#include "results/facts/case.h"
#include "results/file/baseline.h"
#include "results/file/measured.h"
#include "results/file/draft.h"
#include "results/file/result.h"
#include "results/statistics/ranks.h"
#include "results/show/table.h"
#include "run/rounds/devices.h"
#include "run/rounds/progress.h"
#include "run/rounds/rounds.h"
#include "run/select/catalogue.h"
#include "run/select/device_group.h"
#include "run/select/select.h"
#include "run/select/suite.h"

/* ---- flags ---------------------------------------------------------------------------------- */

static const struct flag flags[] = {
    {"workload", 'w', FLAG_LIST,
     .help = "programs: names, globs, or files (*.mem) [all but churn]"},
    {"strategy", 's', FLAG_LIST, .help = "allocators, with options [all but null]"},
    {"merge", 'm', FLAG_LIST, .fallback = "none", .help = "merge sets"},
    {"dataset", 'd', FLAG_LIST,
     .help = "datasets: names or globs [small on a CPU, medium on a GPU]"},
    {"device", 'D', FLAG_LIST, .fallback = "best",
     .help = "host, cuda, opencl:1, opencl:NVIDIA, all, cuda:0+cuda:1 (a group), …"},
    {"release", 0, FLAG_LIST, .fallback = "last-use",
     .help = "when blocks are freed: last-use (after their last use), scope (at the end of their "
             "scope)"},
    {"residency", 'R', FLAG_LIST, .fallback = DEFAULT_RESIDENCY,
     .help = "where buffers live in a group of devices"},
    {"suite", 0, FLAG_TEXT, .value = "NAME",
     .help = "run the cases of a suite, or of a file (*.json); -w and -d narrow it"},
    {"like", 0, FLAG_TEXT,
     .help = "repeat the run of a result file: its cases and options; -D narrows it"},
    {"add", 0, FLAG_TEXT,
     .help = "as --like, but add the rounds to the result file, which this build must have made"},
    FLAG_SHARD,
    {"rounds", 0, FLAG_COUNT, .fallback = "10", .least = 1, .most = 10000,
     .help = "how many times all cases run, each time in a new process"},
    {"until", 0, FLAG_TEXT, .value = "PART",
     .help = "end before --rounds [100] when the interval of each time is within this part of it: "
             "2%"},
    {"samples", 0, FLAG_COUNT, .fallback = "5", .least = 1, .most = 1000000,
     .help = "the least number of timed runs of a case in a round"},
    /* More samples a round change no median, only the size of the file. */
    {"max-samples", 0, FLAG_COUNT, .fallback = "200", .least = 1, .most = 1000000,
     .help = "the greatest number of timed runs of a case in a round"},
    {"min-time", 0, FLAG_TIME, .fallback = "100ms",
     .help = "go on timing a case until its runs took this long together"},
    FLAG_SEED("the seed of the inputs and of the order of cases"),
    {"smoke", 0, FLAG_SWITCH,
     .help = "make one round with one timed run of each case, on the smallest datasets"},
    {"aa", 0, FLAG_SWITCH,
     .help = "measure the noise floor: run the rounds four times and compare them"},
    FLAG_MEM_LIMIT,
    FLAG_TIMEOUT("120s"),
    {"atlas", 0, FLAG_TEXT,
     .help =
         "predict times by this atlas, or the one in FILE [the newest of the device in RESULTS]"},
    {"baseline", 0, FLAG_TEXT, .value = "NAMES",
     .help = "what ratios are over: a strategy, a merge set or both (pool,best) [raw; without raw "
             "the fastest]"},
    FLAG_FORMAT_OF_CASES,
    FLAGS_RESULT_FILE,
    {"no-samples", 0, FLAG_SWITCH,
     .help = "write only the counters, without rounds and times: a baseline to commit"},
    {"progress", 0, FLAG_CHOICE, .value = "WHEN", .fallback = "auto",
     .choices = "auto|always|never|plain", .help = "when progress is shown on stderr"},
    FLAGS_END,
};

/* The number of a flag; `smoke` if --smoke is on and the flag was not given. */
static uint64_t number_or(const struct command_line *line, const char *name, uint64_t smoke)
{
    const struct flag_value *value = flag_of(line, name);
    return flag_is_on(line, "smoke") && !value->given ? smoke : value->number;
}

/* Until intervals are narrow, --rounds are the most. */
static uint64_t rounds_of(const struct command_line *line)
{
    const bool are_most = flag_text(line, "until") && !flag_is_given(line, "rounds");
    return are_most ? 100 : number_or(line, "rounds", 1);
}

/* Fills in what is measured and how; first_round is 0. ERR_USAGE where numbers contradict each
 * other, ERR_IO where the result file exists. */
static int run_flags_options(const struct command_line *line, struct rounds_options *options,
                             struct error *error)
{
    uint64_t least = number_or(line, "samples", 1), most = number_or(line, "max-samples", 1);
    if (most < least && flag_is_given(line, "max-samples"))
        return error_set(error, ERR_USAGE, "--max-samples %llu is below --samples %llu",
                         (unsigned long long)most, (unsigned long long)least);
    const uint64_t rounds = rounds_of(line);
    if (flag_is_on(line, "aa") && rounds < NOISE_LEAST_ROUNDS)
        return error_set(error, ERR_USAGE, "--aa compares runs of --rounds %d or more",
                         NOISE_LEAST_ROUNDS);
    *options = (struct rounds_options){
        .rounds = (unsigned)rounds * (flag_is_on(line, "aa") ? NOISE_BLOCKS : 1),
        .timeout_ns = flag_number(line, "timeout"),
        .measure = {.least_samples = (unsigned)least,
                    .most_samples = (unsigned)(most < least ? least : most),
                    .least_ns = number_or(line, "min-time", 0),
                    .seed = flag_number(line, "seed"),
                    .capacity_bytes = flag_number(line, "mem-limit")},
    };
    return flag_text(line, "out") && !flag_text(line, "shard")
               ? result_file_check(flag_text(line, "out"), flag_is_on(line, "force"), error)
               : 0;
}

/* Checks that no two flags contradict each other. ERR_USAGE names two that do. */
static int run_flags_check(const struct command_line *line, struct error *error)
{
#define ITS_CASES "workload,strategy,merge,dataset,release,residency,suite"
    static const struct {
        const char *name, *others;
    } exclusions[] = {
        {"suite", "strategy,merge,release,residency"},
        {"like", ITS_CASES},
        {"add", ITS_CASES ",like,out,no-save,no-samples,aa,seed,smoke,baseline,shard"},
        {"no-samples", "no-save,aa"},
        {"shard", "no-samples,aa"}, /* what the file lacks, a later try cannot go on with */
        {"out", "no-save"},
        {"until", "aa,smoke,shard"},
    };
#undef ITS_CASES
    for (size_t i = 0; i < sizeof exclusions / sizeof *exclusions; i++)
        TRY(flags_exclude(line, exclusions[i].name, exclusions[i].others, error));
    if (flag_is_given(line, "residency") && !device_group_is_named(flag_text(line, "device")))
        return error_set(error, ERR_USAGE,
                         "--residency is for a group of devices, and --device names none: "
                         "host+host, cuda:0+cuda:1");
    return 0;
}

/* The flags as they took effect, with what --smoke made of them; the caller owns it. */
static json_t *run_flags_record(const struct command_line *line,
                                const struct rounds_options *options)
{
    json_t *record = record_flags(flags, line->flag);
    tree_put(record, "rounds", tree_count(rounds_of(line)));
    if (number_or(line, "min-time", 0) == 0)
        tree_put(record, "min-time", tree_text("0"));
    tree_put(record, "samples", tree_count(options->measure.least_samples));
    tree_put(record, "max-samples", tree_count(options->measure.most_samples));
    return record;
}

/* ---- repeating a run from its file, and adding rounds to it --------------------------------- */

/* A result whose run is to be repeated. */
struct like {
    const char *path;
    bool is_given;
    struct result result;
    json_t *left_out; /* "reason" of each case that cannot be repeated, by its id */
};

/* ERR_IO or ERR_PARSE; ERR_USAGE where it has no cases. like_close in any case. */
static int like_open(struct like *like, const char *path, struct error *error)
{
    *like = (struct like){.path = path, .left_out = tree_object()};
    int code = result_open(path, &like->result, error);
    like->is_given = !code;
    THEN(code, like->result.case_count == 0
                   ? error_set(error, ERR_USAGE, "%s has no cases to repeat", path)
                   : 0);
    return code;
}

/* ---- flags ---------------------------------------------------------------------------------- */

/* Flags that select cases, and flags that say where the result goes and how it looks. Neither kind
 * changes how a case is measured. */
static const char *const selecting[] = {"workload", "strategy", "merge", "dataset",
                                        "device",   "release",  "suite"};
static const char *const presenting[] = {"out",      "force",      "format", "results", "no-save",
                                         "progress", "show",       "atlas",  "aa",      "like",
                                         "add",      "no-samples", "shard",  "until"};
enum {
    SELECTING = sizeof selecting / sizeof *selecting,
    PRESENTING = sizeof presenting / sizeof *presenting
};

static bool is_among(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Copies the options that select cases from the file to the new result: the cases are the same. */
static void like_selection(const struct like *like, json_t *options)
{
    for (size_t i = 0; i < SELECTING; i++) {
        json_t *value = json_object_get(like->result.run.options, selecting[i]);
        if (value)
            tree_put(options, selecting[i], json_incref(value));
        else
            json_object_del(options, selecting[i]);
    }
}

static const char *value_text(struct arena *arena, const json_t *value)
{
    if (json_is_boolean(value))
        return json_is_true(value) ? "1" : "0";
    if (json_is_integer(value))
        return arena_printf(arena, "%lld", (long long)json_integer_value(value));
    return json_is_string(value) ? json_string_value(value) : NULL;
}

/* Sets those of the command's flags that say how cases are measured (rounds, samples, seed, limits)
 * to what they were, unless they are given. Options that this command does not know are named on
 * stderr. The number of rounds in the file does not say how many to add. */
static int like_flags(const struct like *like, struct command_line *line, bool adds,
                      struct error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach(like->result.run.options, name, value)
    {
        const char *text = value_text(&line->arena, value);
        size_t i = 0;
        if (is_among(selecting, SELECTING, name) || is_among(presenting, PRESENTING, name) ||
            !text || (adds && strcmp(name, "rounds") == 0))
            continue;
        while (flags[i].name && strcmp(flags[i].name, name) != 0)
            i++;
        if (!flags[i].name) {
            terminal_print(stderr,
                           "gamut: %s was run with --%s %s, which this gamut does not know\n",
                           like->path, name, text);
            continue;
        }
        if (line->flag[i].given)
            continue;
        const char *where = arena_printf(&line->arena, "%s: run.options.%s", like->path, name);
        TRY(flags_set(line, i, where, text, error));
    }
    return 0;
}

/* ---- devices -------------------------------------------------------------------------------- */

static bool has_cases_on(const struct like *like, const char *device)
{
    for (size_t i = 0; i < like->result.case_count; i++)
        if (strcmp(like->result.cases[i].key.device, device) == 0)
            return true;
    return false;
}

static bool all_are_here(const char *group, const struct found_device *devices, size_t count)
{
    char part[sizeof devices->info.id];
    bool all = true;
    for (unsigned p = 0; all && device_group_member(group, p, part, sizeof part); p++) {
        all = false;
        for (size_t i = 0; i < count; i++)
            all |= strcmp(devices[i].info.id, part) == 0;
    }
    return all;
}

/* No machine lists its groups: those that the file has cases on, each once, if all their devices
 * are here. */
static void add_groups(const struct like *like, const struct found_device *devices, size_t count,
                       struct text *ours)
{
    json_t *seen = tree_object();
    for (size_t i = 0; i < like->result.case_count; i++) {
        const char *id = like->result.cases[i].key.device;
        if (!device_group_is_named(id) || json_object_get(seen, id) ||
            !all_are_here(id, devices, count))
            continue;
        text_add(ours, "%s%s", ours->length ? "," : "", id);
        tree_put(seen, id, json_true());
    }
    json_decref(seen);
}

static int no_device(const struct like *like, const char *selectors, struct error *error)
{
    return error_set(error, ERR_NOT_FOUND,
                     "%s has no case on a device that %s%s; its cases are on %s", like->path,
                     selectors ? "is named by --device " : "this machine has",
                     selectors ? selectors : "", like->result.cases[0].key.device);
}

/* The devices of the file's cases that this machine has, or of these the ones that `selectors`
 * names; as devices_find. ERR_NOT_FOUND if there is none. */
static int like_devices(const struct like *like, const char *selectors, bool copy_rate,
                        struct found_device **devices, size_t *count, struct error *error)
{
    struct text ours = {0};
    TRY(devices_find(selectors ? selectors : "", false, devices, count, NULL, error));
    for (size_t i = 0; i < *count; i++) {
        const struct found_device *found = &(*devices)[i];
        if ((found->selected || !selectors) && has_cases_on(like, found->info.id))
            text_add(&ours, "%s%s", ours.length ? "," : "", found->info.id);
    }
    if (!selectors)
        add_groups(like, *devices, *count, &ours);
    free(*devices);
    *devices = NULL;
    *count = 0;
    int code = ours.length ? devices_find(ours.data, copy_rate, devices, count, NULL, error)
                           : no_device(like, selectors, error);
    text_free(&ours);
    return code;
}

static bool is_selected(const struct found_device *devices, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (devices[i].selected && strcmp(devices[i].info.id, id) == 0)
            return true;
    return false;
}

/* ---- cases ---------------------------------------------------------------------------------- */

static void leave_out(struct like *like, const struct result_case *one, const char *reason)
{
    char words[MEASURED_WORDS];
    terminal_print(stderr, "gamut: not repeated: %s: %s\n", measured_words(words, one), reason);
    tree_put(like->left_out, one->id, tree_text(reason));
}

/* The cases of the file that can be run here, in its order. Of the others like->left_out says why;
 * cases on devices that were not asked for are in neither. `only_ok`: no case that failed.
 * ERR_NOT_FOUND if none is left. */
static int like_cases(struct like *like, const struct catalogue *catalogue,
                      const struct found_device *devices, size_t device_count, bool narrowed,
                      bool only_ok, struct selection *selection, struct error *error)
{
    const struct result *result = &like->result;
    selection->case_count = 0;
    selection->cases =
        arena_alloc(&selection->arena, result->case_count * sizeof *selection->cases);
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        struct error why = {0};
        const bool is_here = is_selected(devices, device_count, one->key.device);
        if ((!is_here && narrowed) || (only_ok && one->status != CASE_ok))
            continue;
        if (!is_here)
            leave_out(like, one, "this machine has no such device");
        else if (select_check_key(catalogue, &one->key, &why))
            leave_out(like, one, why.text);
        else
            selection->cases[selection->case_count++] = one->key;
    }
    return selection->case_count
               ? 0
               : error_set(error, ERR_NOT_FOUND, "nothing of %s can be repeated here", like->path);
}

/* ---- what is not as it was ------------------------------------------------------------------ */

/* ERR_USAGE where one of the devices is not the one that the file's rounds were made on. */
static int like_check_machine(const struct like *like, const struct found_device *devices,
                              size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct device_info *ours = &devices[i].info;
        const struct record_device *theirs = result_device(&like->result, ours->id);
        const struct {
            const char *name, *was, *is;
        } facts[] = {{"name", theirs ? theirs->name : "", ours->name},
                     {"driver", theirs ? theirs->driver : "", ours->driver}};
        for (size_t f = 0; theirs && f < sizeof facts / sizeof *facts; f++)
            if (strcmp(facts[f].was, facts[f].is) != 0)
                return error_set(error, ERR_USAGE,
                                 "the %s of %s was '%s', here it is '%s': one result has rounds of "
                                 "one device; --like makes a result of its own",
                                 facts[f].name, ours->id, facts[f].was, facts[f].is);
    }
    return 0;
}

/* Says on stderr which workloads and datasets are not what they were in the file. */
static void like_tell_changes(const struct like *like, const struct result *now)
{
    json_t *printed = tree_object();
    for (size_t i = 0; i < now->case_count; i++) {
        const struct result_case *one = &now->cases[i];
        const struct result_case *before = result_case_of(&like->result, one->id);
        const struct {
            const char *was, *is, *sentence;
        } facts[] = {
            {before ? before->program_digest : NULL, one->program_digest, "another program"},
            {before ? before->inputs_digest : NULL, one->inputs_digest, "other data"}};
        struct text what = {0};
        text_add(&what, "%s %s", one->key.workload, one->key.dataset);
        for (size_t f = 0; f < sizeof facts / sizeof *facts; f++)
            if (facts[f].was && facts[f].is && strcmp(facts[f].was, facts[f].is) != 0 &&
                !json_object_get(printed, what.data)) {
                terminal_print(stderr, "gamut: %s: %s than in %s\n", what.data, facts[f].sentence,
                               like->path);
                tree_put(printed, what.data, json_true());
            }
        text_free(&what);
    }
    json_decref(printed);
}

/* ---- the run -------------------------------------------------------------------------------- */

/* Everything that lives as long as a run. */
struct run {
    struct command_line *line;
    struct catalogue catalogue;
    struct suite suite; /* json NULL: none */
    struct like like;
    struct selection selection;
    size_t device_count;
    struct found_device *devices; /* selected ones first */
    struct known_atlases known;
    struct rounds_options options;
    struct result_draft draft;
    struct result_file file;
    struct progress progress;
    bool interrupted;
    double until; /* the part of a time that its interval may be wide to either side; 0: any */
    struct reasons reasons;
};

/* ---- before the first case ----------------------------------------------------------------- */

/* Opens the file whose run is repeated, and takes its options. */
static int open_like(struct run *run, struct error *error)
{
    const char *path =
        flag_text(run->line, "add") ? flag_text(run->line, "add") : flag_text(run->line, "like");
    if (!path)
        return 0;
    TRY(like_open(&run->like, path, error));
    return like_flags(&run->like, run->line, flag_is_given(run->line, "add"), error);
}

static int open_suite(struct run *run, struct error *error)
{
    if (traces_is_suite(flag_text(run->line, "suite")))
        return error_set(error, ERR_USAGE,
                         "%s is a suite of traces, which have no programs to run: gamut replay "
                         "--suite %s",
                         flag_text(run->line, "suite"), flag_text(run->line, "suite"));
    TRY(suite_open(flag_text(run->line, "suite"), &run->catalogue, &run->suite, error));
    return suite_narrow(&run->suite, flag_text(run->line, "workload"),
                        flag_text(run->line, "dataset"), error);
}

static int select_from_flags(struct run *run, struct error *error)
{
    const struct select_request request = {.workloads = flag_text(run->line, "workload"),
                                           .strategies = flag_text(run->line, "strategy"),
                                           .merges = flag_text(run->line, "merge"),
                                           .datasets = flag_text(run->line, "dataset"),
                                           .releases = flag_text(run->line, "release"),
                                           .residencies = flag_text(run->line, "residency"),
                                           .smoke = flag_is_on(run->line, "smoke")};
    TRY(catalogue_open(&run->catalogue, error));
    if (run->like.is_given)
        TRY(select_files_of_run(run->like.result.run.options, &run->catalogue, &run->selection,
                                error));
    else if (flag_text(run->line, "suite"))
        TRY(open_suite(run, error));
    else
        TRY(select_names(&request, &run->catalogue, &run->selection, error));
    return select_check_devices(flag_text(run->line, "device"), error);
}

static int find_devices(struct run *run, struct error *error)
{
    const char *selectors = flag_text(run->line, "device");
    /* Times are compared with the rate of copies, but those of a smoke run are not used. */
    const bool copy_rate = !flag_is_on(run->line, "smoke") && !flag_text(run->line, "add");
    TRY(run->like.is_given
            ? like_devices(&run->like, flag_is_given(run->line, "device") ? selectors : NULL,
                           copy_rate, &run->devices, &run->device_count, error)
            : devices_find(selectors, copy_rate, &run->devices, &run->device_count, NULL, error));
    if (run->like.is_given)
        return like_cases(&run->like, &run->catalogue, run->devices, run->device_count,
                          flag_is_given(run->line, "device"), flag_text(run->line, "add"),
                          &run->selection, error);
    size_t selected = 0;
    while (selected < run->device_count && run->devices[selected].selected)
        selected++;
    struct device_info *infos = must_alloc(selected * sizeof *infos);
    for (size_t i = 0; i < selected; i++)
        infos[i] = run->devices[i].info;
    int code = run->suite.json ? suite_cases(&run->suite, infos, selected, &run->selection, error)
                               : select_cases(&run->selection, infos, selected, error);
    free(infos);
    return code ? code : select_check_values(&run->selection, &run->catalogue, error);
}

/* The baseline must be one of the selected cases'. ERR_USAGE. */
static int check_baseline(const struct run *run, struct error *error)
{
    const char *names = flag_text(run->line, "baseline");
    struct case_key baseline;
    return names ? baseline_read(names, run->selection.cases, run->selection.case_count, &baseline,
                                 error)
                 : 0;
}

/* A smoke run predicts times only if --atlas names a file, as its times are not used. */
static int find_atlases(struct run *run, struct error *error)
{
    if ((flag_is_on(run->line, "smoke") || flag_text(run->line, "add")) &&
        !flag_text(run->line, "atlas"))
        return 0;
    int code = run_atlases(flag_text(run->line, "atlas"), flag_text(run->line, "results"),
                           run->devices, run->device_count, &run->known, error);
    run->options.atlases = run->known.atlases;
    /* The exit code for ERR_NOT_FOUND says that a device is missing, not an atlas. */
    return code == ERR_NOT_FOUND ? ERR_USAGE : code;
}

/* ---- the result ---------------------------------------------------------------------------- */

static int save_result(struct run *run, struct error *error)
{
    if (!run->file.path.length) {
        result_summarise(&run->draft.result);
        return 0;
    }
    if (!flag_is_on(run->line, "no-samples"))
        return save_or_move(&run->file, &run->draft, error);
    struct result_draft counters = draft_without_rounds(&run->draft);
    int code = save_or_move(&run->file, &counters, error);
    draft_free(&counters);
    return code;
}

/* Rounds are added to all cases alike. */
static int continue_result(struct run *run, struct error *error)
{
    struct like *like = &run->like;
    size_t counts[CASE_STATUSES];
    result_status_counts(&like->result, counts);
    if (run->selection.case_count < counts[CASE_ok])
        return error_set(error, ERR_USAGE,
                         "%s has %zu cases that are ok, of which %zu can be run here: rounds are "
                         "added to all or to none",
                         like->path, counts[CASE_ok], run->selection.case_count);
    int code = like_check_machine(like, run->devices, run->device_count, error);
    if (code) {
        error_prefix(error, "%s: ", like->path);
        return code;
    }
    TRY(result_file_continue(&run->file, &run->draft, like->path, &like->result,
                             run->options.rounds, error));
    run->options.first_round = result_rounds(&run->draft.result);
    return 0;
}

/* Adds the cases that cannot be repeated to the result too, with the reason. */
static void record_left_out(struct run *run)
{
    for (size_t i = 0; i < run->like.result.case_count; i++) {
        const struct result_case *one = &run->like.result.cases[i];
        struct case_round round = {
            .key = one->key, .status = CASE_skipped, .worst_error = NAN, .traffic_bytes = NAN};
        const char *reason = tree_get_text(run->like.left_out, one->id);
        if (!*reason)
            continue;
        snprintf(round.reason, sizeof round.reason, "%s", reason);
        draft_add_round(&run->draft, &round);
    }
}

/* ---- shards ---- */

/* All cases with the same data on a device are compared. Each is timed for as long as another
 * (--min-time), whatever it is. */
static void make_work(struct run *run, struct work *work)
{
    const struct selection *all = &run->selection;
    *work = (struct work){.items = must_alloc((all->case_count + 1) * sizeof *work->items),
                          .count = all->case_count};
    for (size_t i = 0; i < all->case_count; i++) {
        const struct case_key *key = &all->cases[i];
        case_id(key, work->items[i].id);
        work->items[i].unit = arena_printf(&run->line->arena, "%s/%s on %s", key->workload,
                                           key->dataset, key->device);
        work->items[i].cost = 1;
    }
}

/* Begins the file, and keeps the cases that are to be measured. */
static int start(struct run *run, struct error *error)
{
    struct work work;
    size_t kept = 0;
    make_work(run, &work);
    int code = begin_work(&run->draft, &run->file, run->line, &work, error);
    for (size_t i = 0; !code && i < work.count; i++)
        if (work.own[i])
            run->selection.cases[kept++] = run->selection.cases[i];
    if (!code) {
        run->selection.case_count = kept;
        run->options.first_round = work.first_round;
        run->options.rounds -= work.first_round;
    }
    free(work.items);
    free(work.own);
    return code;
}

/* Makes the result and, before anything is measured, its file. */
static int create_result(struct run *run, struct error *error)
{
    if (flag_text(run->line, "add"))
        return continue_result(run, error);
    json_t *options = run_flags_record(run->line, &run->options);
    if (run->like.is_given)
        like_selection(&run->like, options);
    const struct result_command facts = {.argc = run->line->argc,
                                         .argv = run->line->argv,
                                         .seed = run->options.measure.seed,
                                         .rounds = run->options.rounds,
                                         .options = options};
    int code = draft_create(&run->draft, &facts, error);
    json_decref(options);
    if (code)
        return code;
    record_devices(&run->draft, run->devices, run->device_count);
    const struct result_suite *again = run->like.is_given ? run->like.result.suite : NULL;
    json_t *suite = again ? json_of_fields(result_suite_struct.fields, again) : NULL;
    if (suite || run->suite.json)
        suite_result_set(&run->draft.result, again ? again->name : run->suite.name,
                         suite ? suite : run->suite.json);
    json_decref(suite);
    if (!flag_text(run->line, "shard")) /* they are in no shard's list */
        record_left_out(run);
    /* A floor is for times that can be compared: with fewer rounds none can. */
    if (run->options.rounds >= RANKS_LEAST_ROUNDS && !flag_is_on(run->line, "aa"))
        run_noise_known(&run->draft.result, flag_text(run->line, "results"));
    return start(run, error);
}

/* ---- until intervals are narrow ------------------------------------------------------------- */

/* Is the interval of each time as narrow as --until demands? An interval shrinks with the square
 * root of the rounds. */
static bool is_narrow(const struct run *run, bool tell)
{
    const struct result *result = &run->draft.result;
    const unsigned rounds = result_rounds(result);
    size_t times = 0, narrow = 0;
    double widest = 0;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct statistics *wall = &measured_stat(&result->cases[i], "wall_ns")->over;
        const double half = fmax(wall->ci_hi - wall->median, wall->median - wall->ci_lo);
        times += result->cases[i].status == CASE_ok;
        narrow += result->cases[i].status == CASE_ok && half <= run->until * wall->median;
        widest = fmax(widest, half / wall->median);
    }
    if (tell)
        fprintf(stderr, "gamut: the intervals of %zu of %zu times are within %.3g %%", narrow,
                times, 100 * run->until);
    if (tell && narrow < times && widest > 0)
        fprintf(stderr, "; about %.0f rounds would do for the widest, %.3g %%",
                ceil(rounds * pow(widest / run->until, 2)), 100 * widest);
    fputs(tell ? "\n" : "", stderr);
    return narrow == times;
}

/* ---- while it runs ------------------------------------------------------------------------- */

static void working(void *context, const struct items_state *state, const struct case_key *key)
{
    struct run *run = context;
    progress_working(&run->progress, state, key);
}

static void case_ended(void *context, const struct items_state *state,
                       const struct case_round *round)
{
    struct run *run = context;
    draft_add_round(&run->draft, round);
    progress_case(&run->progress, state, round);
    if (round->status == CASE_ok)
        return;
    progress_clear(&run->progress);
    reasons_add(&run->reasons, round);
}

static int round_ended(void *context, const struct items_state *state, struct error *error)
{
    struct run *run = context;
    progress_clear(&run->progress);
    reasons_round_ended(&run->reasons);
    draft_set_session(&run->draft, state->round + 1);
    TRY(save_result(run, error));
    progress_round(&run->progress, state); /* a round that was announced is in the file */
    return run->until > 0 && is_narrow(run, false);
}

static int measure_all(struct run *run, struct error *error)
{
    const struct rounds_watcher watcher = {run, working, case_ended, round_ended};
    char cases[48], rounds[48];
    fprintf(stderr, "gamut: %s, %s, seed %llu%s%s\n",
            text_count(cases, (double)run->selection.case_count, "case"),
            text_count(rounds, run->options.rounds, "round"),
            (unsigned long long)run->options.measure.seed, run->file.path.length ? " -> " : "",
            run->file.path.length ? run->file.path.data : "");
    progress_begin(&run->progress, (enum progress_mode)flag_number(run->line, "progress"),
                   run->options.rounds);
    int code = rounds_run(&run->selection, &run->options, &watcher, &run->interrupted, error);
    progress_clear(&run->progress);
    reasons_round_ended(&run->reasons);
    if (!code && !run->interrupted && run->like.is_given)
        like_tell_changes(&run->like, &run->draft.result);
    if (!code && !run->interrupted && run->until > 0) {
        draft_plan_rounds(&run->draft.result, result_rounds(&run->draft.result));
        is_narrow(run, true);
    }
    if (!code && !run->interrupted && flag_is_on(run->line, "aa"))
        run_noise_measured(&run->draft.result);
    /* Also if the run itself failed: the cases measured so far stay. */
    draft_finish(&run->draft, run->interrupted ? RUN_INTERRUPTED
                              : code           ? RUN_PARTIAL
                                               : RUN_COMPLETE);
    ALSO(code, save_result(run, code ? NULL : error));
    return code;
}

/* ---- the command --------------------------------------------------------------------------- */

/* `measured` is the error that ended the run, or 0: the table is printed all the same. */
static int report_result(struct run *run, int measured, struct error *error)
{
    if (measured)
        report_error(error);
    int code = table_print(&run->draft.result, (enum table_format)flag_number(run->line, "format"),
                           (enum table_show)flag_number(run->line, "show"), stdout, error);
    int exit_code = report_cases(&run->draft.result, &run->file, !measured, run->interrupted);
    return code ? report_error(error) : exit_code;
}

/* Names of programs may stand without -w. */
static int take_names(struct command_line *line, struct error *error)
{
    if (line->positional_count && line->flag[0].in_environment)
        line->flag[0] = (struct flag_value){0};
    for (size_t i = 0; i < line->positional_count; i++)
        TRY(flags_set(line, 0, "WORKLOAD", line->positional[i], error)); /* flags[0] is -w */
    return 0;
}

/* ERR_NOT_FOUND: there is no device to run on. */
static int prepare(struct run *run, struct error *error)
{
    TRY(take_names(run->line, error));
    const char *until = flag_text(run->line, "until");
    TRY(run_flags_check(run->line, error));
    if (until && (!gate_parse_part(until, &run->until) || run->until <= 0))
        return error_set(error, ERR_USAGE, "--until is '%s', expected a percentage such as 2%%",
                         until);
    TRY(open_like(run, error));
    TRY(run_flags_options(run->line, &run->options, error));
    TRY(select_from_flags(run, error));
    return find_devices(run, error);
}

static int begin(struct run *run, struct error *error)
{
    TRY(check_baseline(run, error));
    TRY(find_atlases(run, error));
    TRY(create_result(run, error));
    if (json_array_size(run->known.sources))
        draft_set_atlases(&run->draft, run->known.sources);
    return 0;
}

static int run_cases(struct run *run)
{
    struct error error = {0};
    int code = prepare(run, &error);
    if (code == ERR_NOT_FOUND) {
        report_error(&error);
        return EXIT_NOTHING_RAN;
    }
    code = code ? code : begin(run, &error);
    return code ? report_error(&error) : report_result(run, measure_all(run, &error), &error);
}

static int run_command(const struct command_line *line)
{
    /* Threads that spin while they wait cost a virtual machine milliseconds a launch (320 µs on
     * average on 2 virtual cores, 10 µs asleep). The result file records the choice; a user who
     * sets the variable keeps it. */
    setenv("OMP_WAIT_POLICY", "passive", 0);
    struct command_line mine = *line; /* --like sets flags in it */
    mine.arena = (struct arena){0};
    struct run run = {.line = &mine};
    int exit_code = run_cases(&run);
    result_file_close(&run.file);
    draft_free(&run.draft);
    free(run.devices);
    json_decref(run.known.atlases);
    json_decref(run.known.sources);
    reasons_free(&run.reasons);
    select_free(&run.selection);
    suite_close(&run.suite);
    result_release(&run.like.result);
    json_decref(run.like.left_out);
    arena_free(&mine.arena);
    catalogue_close(&run.catalogue);
    return exit_code;
}

const struct command command_run = {
    .name = "run",
    .summary = "run cases, check and measure them, print a table and write a result file",
    .arguments = "[WORKLOAD|FILE...]",
    .most_positionals = POSITIONALS_ANY,
    .flags = flags,
    .run = run_command,
};
