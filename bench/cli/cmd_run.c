#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/recording.h"
#include "cli/run_atlas.h"
#include "cli/run_flags.h"
#include "cli/run_like.h"
#include "cli/run_noise.h"
#include "record/facts/case.h"
#include "record/statistics/ranks.h"
#include "record/result/result.h"
#include "record/result/suite_result.h"
#include "record/table/table.h"
#include "base/tree.h"
#include "run/select/catalogue.h"
#include "run/rounds/progress.h"
#include "run/rounds/devices.h"
#include "run/rounds/rounds.h"
#include "run/select/select.h"
#include "run/select/suite.h"

/* Everything that lives as long as a run. */
struct run {
    struct command_line *line;
    struct catalogue catalogue;
    struct suite suite; /* json NULL: none */
    struct like like;   /* root NULL: none */
    struct selection selection;
    size_t device_count;
    struct found_device *devices; /* selected ones first */
    struct rounds_options options;
    struct result result;
    struct text path; /* "" for none */
    struct progress progress;
    bool interrupted;
    json_t *told; /* reasons that have been printed, as keys */
};

static bool is_on(const struct run *run, enum run_flag flag)
{
    return run_flag_is_on(run->line, flag);
}

/* ---- before the first case ----------------------------------------------------------------- */

/* Opens the file whose run is repeated, and takes its options. */
static int open_like(struct run *run, struct error *error)
{
    const struct flag_value *flag = run->line->flag;
    const char *path = flag[RUN_ADD].text ? flag[RUN_ADD].text : flag[RUN_LIKE].text;
    if (!path)
        return 0;
    int code = like_open(&run->like, path, error);
    if (code)
        return code;
    const uint64_t rounds = flag[RUN_ROUNDS].number;
    code = like_flags(&run->like, run->line, error);
    /* How many the file has says nothing of how many to add. */
    if (flag[RUN_ADD].text)
        run->line->flag[RUN_ROUNDS].number = rounds;
    return code;
}

static int open_suite(struct run *run, struct error *error)
{
    const struct flag_value *flag = run->line->flag;
    int code = suite_open(flag[RUN_SUITE].text, &run->catalogue, &run->suite, error);
    if (!code)
        code = suite_narrow(&run->suite, flag[RUN_WORKLOAD].text, flag[RUN_DATASET].text, error);
    return code;
}

static int select_from_flags(struct run *run, struct error *error)
{
    const struct flag_value *flag = run->line->flag;
    const struct select_request request = {.workloads = flag[RUN_WORKLOAD].text,
                                           .strategies = flag[RUN_STRATEGY].text,
                                           .merges = flag[RUN_MERGE].text,
                                           .datasets = flag[RUN_DATASET].text,
                                           .releases = flag[RUN_RELEASE].text,
                                           .residencies = flag[RUN_RESIDENCY].text,
                                           .smoke = is_on(run, RUN_SMOKE)};
    int code = catalogue_open(&run->catalogue, error);
    if (!code && run->like.root)
        code = like_files(&run->like, &run->catalogue, &run->selection, error);
    else if (!code && flag[RUN_SUITE].text)
        code = open_suite(run, error);
    else if (!code)
        code = select_names(&request, &run->catalogue, &run->selection, error);
    if (!code)
        code = select_check_devices(flag[RUN_DEVICE].text, error);
    return code;
}

static int find_devices(struct run *run, struct error *error)
{
    const struct flag_value *flag = run->line->flag;
    const char *selectors = flag[RUN_DEVICE].text;
    /* Copies are what a time is compared with, and a smoke run's times are nobody's measure. */
    const bool copy_rate = !is_on(run, RUN_SMOKE) && !flag[RUN_ADD].text;
    int code = run->like.root ? like_devices(&run->like, flag[RUN_DEVICE].given ? selectors : NULL,
                                             copy_rate, &run->devices, &run->device_count, error)
                              : devices_find(selectors, copy_rate, &run->devices,
                                             &run->device_count, NULL, error);
    if (code)
        return code;
    if (run->like.root)
        return like_cases(&run->like, &run->catalogue, run->devices, run->device_count,
                          flag[RUN_DEVICE].given, flag[RUN_ADD].text, &run->selection, error);
    size_t selected = 0;
    while (selected < run->device_count && run->devices[selected].selected)
        selected++;
    struct device_info *infos = must_alloc(selected * sizeof *infos);
    for (size_t i = 0; i < selected; i++)
        infos[i] = run->devices[i].info;
    code = run->suite.json ? suite_cases(&run->suite, infos, selected, &run->selection, error)
                           : select_cases(&run->selection, infos, selected, error);
    free(infos);
    return code;
}

/* A smoke run's times are nobody's measure: it predicts where it is told to. */
static int find_atlases(struct run *run, struct error *error)
{
    const struct flag_value *flag = run->line->flag;
    if ((is_on(run, RUN_SMOKE) || flag[RUN_ADD].text) && !flag[RUN_ATLAS].text)
        return 0;
    int code = run_atlases(flag[RUN_ATLAS].text, flag[RUN_RESULTS].text, run->devices,
                           run->device_count, &run->options.atlases, error);
    /* The exit code of what is not there is for devices. */
    return code == ERR_NOT_FOUND ? ERR_USAGE : code;
}

/* ---- the result ---------------------------------------------------------------------------- */

static int save(struct run *run, struct error *error)
{
    if (!run->path.length) {
        result_summarise(run->result.root);
        return 0;
    }
    if (!is_on(run, RUN_NO_SAMPLES))
        return result_write(&run->result, run->path.data, error);
    struct result counters = run->result;
    counters.root = result_without_rounds(run->result.root);
    int code = result_write(&counters, run->path.data, error);
    result_free(&counters);
    return code;
}

/* Rounds are added to all cases alike. */
static int continue_result(struct run *run, struct error *error)
{
    struct like *like = &run->like;
    size_t counts[CASE_STATUSES];
    result_status_counts(like->root, counts);
    if (run->selection.case_count < counts[CASE_ok])
        return error_set(error, ERR_USAGE,
                         "%s has %zu cases that are ok, of which %zu can be run here: rounds are "
                         "added to all or to none",
                         like->path, counts[CASE_ok], run->selection.case_count);
    int code = result_continue(&run->result, json_incref(like->root), run->options.rounds, error);
    if (!code)
        code = like_check_machine(like, run->devices, run->device_count, error);
    if (code) {
        error_prefix(error, "%s: ", like->path);
        return code;
    }
    text_add(&run->path, "%s", like->path);
    return save(run, error);
}

/* Those that can't be repeated stand in the result too, with the reason. */
static void record_left_out(struct run *run)
{
    json_t *one_case;
    for (size_t i = 0; (one_case = json_array_get(json_object_get(run->like.root, "cases"), i));
         i++) {
        struct case_round round = {
            .status = CASE_skipped, .worst_error = NAN, .traffic_bytes = NAN};
        const char *reason = tree_get_text(run->like.left_out, tree_get_text(one_case, "id"));
        if (!*reason || case_key_from_json(json_object_get(one_case, "key"), &round.key, NULL))
            continue;
        snprintf(round.reason, sizeof round.reason, "%s", reason);
        result_add_round(&run->result, &round);
    }
}

/* Makes the result and, before anything is measured, its file. */
static int create_result(struct run *run, struct error *error)
{
    if (run->line->flag[RUN_ADD].text)
        return continue_result(run, error);
    const struct flag_value *flag = run->line->flag;
    json_t *options = run_flags_record(run->line, &run->options);
    if (run->like.root)
        like_selection(&run->like, options);
    const struct result_run facts = {.argc = run->line->argc,
                                     .argv = run->line->argv,
                                     .seed = run->options.measure.seed,
                                     .rounds = run->options.rounds,
                                     .options = options};
    int code = result_create(&run->result, &facts, error);
    json_decref(options);
    if (code)
        return code;
    record_devices(&run->result, run->devices, run->device_count);
    const json_t *suite =
        run->like.root ? json_object_get(run->like.root, "suite") : run->suite.json;
    if (suite)
        suite_result_set(run->result.root,
                         run->like.root ? tree_get_text(suite, "name") : run->suite.name, suite);
    record_left_out(run);
    /* A floor is for times that can be compared: with fewer rounds none can. */
    if (run->options.rounds >= RANKS_LEAST_ROUNDS && !is_on(run, RUN_AA))
        run_noise_known(&run->result, flag[RUN_RESULTS].text);
    if (flag[RUN_OUT].text)
        text_add(&run->path, "%s", flag[RUN_OUT].text);
    else if (!is_on(run, RUN_NO_SAVE))
        result_path(run->result.root, flag[RUN_RESULTS].text, &run->path);
    return save(run, error);
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
    (void)state;
    result_add_round(&run->result, round);
    if (round->status == CASE_ok)
        return;
    /* What cannot be done cannot be done for many cases: once is enough, the table names them. A
     * compiler's log is as long as it is the same for every strategy. */
    const struct case_key *key = &round->key;
    const bool again = json_object_get(run->told, round->reason) != NULL;
    if (again && round->status == CASE_skipped)
        return;
    progress_clear(&run->progress);
    fprintf(stderr, "gamut: %s: %s %s/%s on %s: %.*s\n", case_status_name(round->status),
            key->strategy, key->workload, key->dataset, key->device,
            again ? (int)strcspn(round->reason, "\n") : -1, round->reason);
    tree_put(run->told, round->reason, tree_count(1));
}

static int round_ended(void *context, const struct items_state *state, struct error *error)
{
    struct run *run = context;
    progress_round(&run->progress, state);
    result_set_session(&run->result, state->round + 1);
    return save(run, error);
}

static int measure_all(struct run *run, struct error *error)
{
    const struct rounds_watcher watcher = {run, working, case_ended, round_ended};
    fprintf(stderr, "gamut: %zu cases, %u %s, seed %llu%s%s\n", run->selection.case_count,
            run->options.rounds, run->options.rounds == 1 ? "round" : "rounds",
            (unsigned long long)run->options.measure.seed, run->path.length ? " -> " : "",
            run->path.length ? run->path.data : "");
    progress_begin(&run->progress, (enum progress_mode)run->line->flag[RUN_PROGRESS].number,
                   run->options.rounds);
    int code = rounds_run(&run->selection, &run->options, &watcher, &run->interrupted, error);
    progress_clear(&run->progress);
    if (!code && !run->interrupted && run->like.root)
        like_tell_changes(&run->like, run->result.root);
    if (!code && !run->interrupted && is_on(run, RUN_AA))
        run_noise_measured(&run->result);
    /* Also after a failure of the run itself: what was measured stays. */
    result_finish(&run->result, run->interrupted ? RUN_INTERRUPTED
                                : code           ? RUN_PARTIAL
                                                 : RUN_COMPLETE);
    int saved = save(run, code ? NULL : error);
    return code ? code : saved;
}

/* ---- the command --------------------------------------------------------------------------- */

static int report_result(struct run *run, struct error *error)
{
    size_t counts[CASE_STATUSES], failed = 0;
    result_status_counts(run->result.root, counts);
    int code = table_print(run->result.root, (enum table_format)run->line->flag[RUN_FORMAT].number,
                           stdout, error);
    fprintf(stderr, "gamut: %zu ok", counts[CASE_ok]);
    for (int s = 0; s < CASE_STATUSES; s++) {
        if (s != CASE_ok && counts[s])
            fprintf(stderr, ", %zu %s", counts[s], case_status_name((enum case_status)s));
        failed += s > CASE_skipped ? counts[s] : 0;
    }
    fprintf(stderr, "%s%s%s\n", run->interrupted ? ", interrupted" : "",
            run->path.length ? "; wrote " : "", run->path.length ? run->path.data : "");
    if (code)
        return report_error(error);
    if (run->interrupted)
        return EXIT_INTERRUPTED;
    if (failed)
        return EXIT_CASE_FAILED;
    return counts[CASE_ok] ? EXIT_OK : EXIT_NOTHING_RAN;
}

static int run_cases(struct run *run)
{
    struct error error = {0};
    int code = run_flags_check(run->line, &error);
    if (!code)
        code = open_like(run, &error);
    if (!code)
        code = run_flags_options(run->line, &run->options, &error);
    if (!code && run->line->flag[RUN_ADD].text)
        run->options.first_round = result_rounds(run->like.root);
    if (!code)
        code = select_from_flags(run, &error);
    if (!code)
        code = find_devices(run, &error);
    if (code == ERR_NOT_FOUND) {
        report_error(&error);
        return EXIT_NOTHING_RAN;
    }
    if (!code)
        code = find_atlases(run, &error);
    if (!code)
        code = create_result(run, &error);
    if (!code)
        code = measure_all(run, &error);
    return code ? report_error(&error) : report_result(run, &error);
}

static int run_command(const struct command_line *line)
{
    /* Threads that spin while they wait cost a virtual machine milliseconds a launch (320 us on
     * average on 2 virtual cores, 10 us asleep). The result file records the choice; who sets the
     * variable keeps it. */
    setenv("OMP_WAIT_POLICY", "passive", 0);
    struct command_line mine = *line; /* --like sets flags in it */
    mine.arena = (struct arena){0};
    struct run run = {.line = &mine, .told = tree_object()};
    int exit_code = run_cases(&run);
    text_free(&run.path);
    result_free(&run.result);
    free(run.devices);
    json_decref(run.options.atlases);
    json_decref(run.told);
    select_free(&run.selection);
    suite_close(&run.suite);
    like_close(&run.like);
    arena_free(&mine.arena);
    catalogue_close(&run.catalogue);
    return exit_code;
}

const struct command command_run = {
    .name = "run",
    .summary = "run cases, check and measure them, print a table and write a result file",
    .arguments = "",
    .flags = run_flags,
    .notes = "A list is separated by commas; its names may be globs (-w 'fft*') or all. Options\n"
             "follow a strategy: -s pool:leading_bits=2,tagged:policy=v1|v4 (two strategies).\n"
             "gamut list says what there is.\n",
    .run = run_command,
};
