/* gamut experiment: runs an experiment on devices, one after the other. */
#include <stdio.h>

#include "alloc/registry.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/recording.h"
#include "experiment/experiment_rounds.h"
#include "results/show/table.h"
#include "results/file/draft.h"

static const struct flag flags[] = {
    FLAG_DEVICES,
    {"strategy", 's', FLAG_LIST, .fallback = "raw,pool,tlsf,stream",
     .help = "allocators with their options, for experiments that use any"},
    {"rounds", 'r', FLAG_COUNT, .fallback = "3", .least = 1, .most = 10000,
     .help = "how many times all rows run, each in a new process; intervals need 6"},
    FLAG_MEM_LIMIT,
    FLAG_TIMEOUT("120s"),
    FLAG_SEED("the seed of the order and of random values"),
    FLAG_FORMAT("table", "table|md|csv|json"),
    FLAGS_RESULT_FILE,
    FLAGS_END,
};

struct session {
    const struct command_line *line;
    struct recording recording;
    struct experiment_task task;
    uint64_t rows, failed; /* on all devices so far */
    struct status_line status;
    bool interrupted;
};

/* Checks the arguments before anything is measured, and makes the task of them. */
static int make_task(struct session *s, struct error *error)
{
    struct experiment_task *task = &s->task;
    struct experiment_plan plan = {0};
    char strategy[EXPERIMENT_WORD_MAX];
    *task = (struct experiment_task){
        .spec = s->line->positional[0],
        .rounds = (unsigned)flag_number(s->line, "rounds"),
        .timeout_ns = flag_number(s->line, "timeout"),
        .settings = {.strategies = flag_text(s->line, "strategy"),
                     .seed = flag_number(s->line, "seed"),
                     .capacity_bytes = flag_number(s->line, "mem-limit")},
    };
    for (size_t i = 0; experiment_strategy(&task->settings, true, i, strategy); i++) {
        const struct allocator_ops *ops;
        struct option_values options;
        TRY(allocator_parse(strategy, &ops, &options, error));
    }
    TRY(experiment_parse(task->spec, &task->experiment, &task->settings.options, error));
    const int code = task->experiment->plan(&task->settings, &plan, error);
    experiment_plan_free(&plan);
    return code;
}

/* ---- on one device --------------------------------------------------------------------------- */

/* Prints progress: on a terminal one line that is overwritten, elsewhere a line per round. */
static void working(void *context, const struct items_state *state, const char *row)
{
    struct session *s = context;
    if (s->status.redraws)
        status_line_show(&s->status, "%s on %s, round %u of %u, %zu of %zu: %s",
                         s->task.experiment->name, s->task.device, state->round + 1, s->task.rounds,
                         state->position + 1, state->in_round, row);
    else if (state->position == 0)
        fprintf(stderr, "gamut: %s on %s, round %u of %u: %zu rows\n", s->task.experiment->name,
                s->task.device, state->round + 1, s->task.rounds, state->in_round);
}

static int round_ended(void *context, struct error *error)
{
    struct session *s = context;
    return recording_save(&s->recording, error);
}

static int run_on_device(struct session *s, struct error *error)
{
    const struct experiment_watcher watcher = {
        .context = s, .working = working, .round_ended = round_ended};
    const struct experiment *e = s->task.experiment;
    json_t *options = experiment_options_to_json(e, &s->task.settings);
    struct result *result = &s->recording.draft.result;
    struct result_experiment *experiment = experiment_add(
        result, e->name, s->task.device, options, e->parameters, e->metrics, e->metric_count);
    const enum table_format format = (enum table_format)flag_number(s->line, "format");
    struct error why = {0};
    json_decref(options);
    int code = experiment_run(&s->task, result, experiment, &watcher, &s->interrupted, &why);
    status_line_clear(&s->status);
    experiment_summarise(result, experiment);
    if ((!code || code == ERR_IO) && (format == TABLE_TEXT || format == TABLE_MARKDOWN)) {
        fputs(s->rows ? "\n" : "", stdout);
        experiment_table_print(experiment, format, stdout);
        fflush(stdout);
    }
    s->rows += experiment->row_count;
    for (size_t i = 0; i < experiment->row_count; i++)
        s->failed += experiment->rows[i].status > CASE_skipped;
    if (code == ERR_IO)
        return error_set(error, code, "%s", why.text);
    if (code) { /* the next device may do better */
        report_error(&why);
        s->failed++;
    }
    return 0;
}

static int run_on_all(struct session *s, struct error *error)
{
    const struct recording *r = &s->recording;
    int code = 0;
    for (size_t d = 0; d < r->device_count && !s->interrupted && !code; d++) {
        s->task.device = r->devices[d].info.id;
        if (r->devices[d].selected)
            code = run_on_device(s, error);
    }
    return code ? code : recording_finish(&s->recording, s->interrupted, s->failed > 0, error);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_session(struct session *s)
{
    struct error error = {0};
    int code = make_task(s, &error);
    THEN(code, recording_open(&s->recording, s->line, &error));
    if (code == ERR_NOT_FOUND) {
        report_error(&error);
        return EXIT_NOTHING_RAN;
    }
    THEN(code, recording_start(&s->recording, s->line, NULL, &error));
    const int measured = code ? code : run_on_all(s, &error);
    if (code)
        return report_error(&error);
    if (measured)
        report_error(&error); /* what was measured is printed all the same */
    const struct result *result = &s->recording.draft.result;
    const uint64_t format = flag_number(s->line, "format");
    if (format == TABLE_CSV)
        experiment_tables_print(result, TABLE_CSV, stdout);
    if (format == TABLE_JSON && result_print(result, stdout, &error))
        return report_error(&error);
    char what[96];
    snprintf(what, sizeof what, "%llu rows, %llu failed", (unsigned long long)s->rows,
             (unsigned long long)s->failed);
    const int exit_code = report_end(what, &s->recording.file, !measured, s->interrupted);
    return exit_code ? exit_code : s->failed ? EXIT_CASE_FAILED : EXIT_OK;
}

static int experiment_command(const struct command_line *line)
{
    struct session s = {.line = line};
    status_line_open(&s.status, stderr);
    int exit_code = run_session(&s);
    recording_free(&s.recording);
    return exit_code;
}

const struct command command_experiment = {
    .name = "experiment",
    .summary = "measure what no program can express: sizes that only the device knows, and more",
    .arguments = "EXPERIMENT",
    .least_positionals = 1,
    .most_positionals = 1,
    .flags = flags,
    .run = experiment_command,
};
