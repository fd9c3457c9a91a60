/* gamut compare: says what became slower, larger or wrong between result files. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "results/compare/compare.h"
#include "results/compare/machines.h"
#include "results/file/result.h"

static const struct flag flags[] = {
    {"by", 'b', FLAG_TEXT, .value = "MEMBER=VALUE|machine",
     .help = "within one file: compare each case with the one that has this value instead "
             "(strategy=raw); machine: which strategy wins on which machine or device of all "
             "files, and what a wrong choice costs"},
    {"gate", 'g', FLAG_LIST, .value = "METRIC:LIMIT",
     .help = "a metric that may not get worse by more than a limit"},
    {"gate-file", 0, FLAG_TEXT, .help = "a JSON file of gates; those of --gate come after them"},
    {"metric", 0, FLAG_LIST, .value = "METRIC",
     .help =
         "compare only these and what --gate names [all; with --by wall_ns,peak_reserved_bytes]"},
    {"threshold", 't', FLAG_TEXT, .value = "PART", .fallback = "2%",
     .help = "the largest change that does not matter, for times without a gate"},
    {"show", 0, FLAG_CHOICE, .value = "WHAT", .fallback = "changed", .choices = "all|changed|worst",
     .help = "which rows are printed"},
    FLAG_FORMAT("table", "table|md|csv|json"),
    {"strict", 0, FLAG_SWITCH,
     .help = "exit 5 where a gated metric is unsure, or something was dropped or left out"},
    {"force-compare", 0, FLAG_SWITCH,
     .help =
         "leave out and drop nothing, although device, driver, machine, program or data differ"},
    FLAGS_END,
};

enum exit_code compare_exit_code(const json_t *comparison, bool strict)
{
    const enum exit_code codes[] = {[COMPARE_ok] = EXIT_OK,
                                    [COMPARE_unsure] = strict ? EXIT_UNSURE : EXIT_OK,
                                    [COMPARE_regression] = EXIT_REGRESSION,
                                    [COMPARE_failed] = EXIT_CASE_FAILED,
                                    [COMPARE_incomparable] = EXIT_INCOMPARABLE};
    return codes[compare_outcome(comparison)];
}

static int add_gates(const struct command_line *line, struct gates *gates, struct error *error)
{
    const char *path = flag_text(line, "gate-file"), *list = flag_text(line, "gate");
    if (path || list)
        *gates = (struct gates){0}; /* the user's gates replace the default ones */
    if (path)
        TRY(gates_add_file(gates, path, error));
    char rule[256];
    while (list && text_next_item(&list, rule, sizeof rule))
        TRY(gates_add(gates, rule, error));
    return 0;
}

/* Leaves out all metrics but those of a comma list. Between strategies nearly every counter
 * differs: with --by the default is one of time and one of memory. */
static int choose_metrics(const struct command_line *line, struct compare_options *options,
                          struct error *error)
{
    const char *list = flag_text(line, "metric");
    const bool has_own_gates = flag_text(line, "gate") || flag_text(line, "gate-file");
    bool chosen[GATES_MAX] = {false};
    char metric[256];
    if (!list && !flag_text(line, "by"))
        return 0;
    list = list ? list : "wall_ns,peak_reserved_bytes";
    while (text_next_item(&list, metric, sizeof metric))
        TRY(gates_mark_metric(metric, chosen, error));
    for (size_t i = 0; i < GATES_MAX; i++)
        options->leave_out[i] = !chosen[i] && !(has_own_gates && options->gates.gate[i].is_set);
    return 0;
}

static int read_options(const struct command_line *line, struct compare_options *options,
                        struct error *error)
{
    const char *threshold = flag_text(line, "threshold");
    if (!gate_parse_part(threshold, &options->threshold))
        return error_set(error, ERR_USAGE, "--threshold is '%s', expected a percentage such as 2%%",
                         threshold);
    options->force = flag_number(line, "force-compare");
    options->keep_equal = flag_number(line, "show") == COMPARE_SHOW_ALL;
    /* Within a file, a strategy that is worse than another is a regression only if the user sets a
     * gate. */
    if (!flag_text(line, "by"))
        options->gates = gates_default(options->threshold);
    TRY(add_gates(line, &options->gates, error));
    return choose_metrics(line, options, error);
}

static bool is_by_machine(const struct command_line *line)
{
    const char *by = flag_text(line, "by");
    return by && strcmp(by, "machine") == 0;
}

/* Between machines nothing is gated. */
static int check_machines(const struct command_line *line, struct error *error)
{
    const char *judging = "gate,gate-file,metric,strict,force-compare";
    char name[32];
    while (text_next_item(&judging, name, sizeof name))
        if (flag_is_given(line, name))
            return error_set(error, ERR_USAGE, "--by machine judges nothing: it takes no --%s",
                             name);
    if (flag_number(line, "format") == TABLE_JSON)
        return error_set(error, ERR_USAGE,
                         "--by machine has no JSON: --format csv has a line for each time");
    return 0;
}

static int check_files(const struct command_line *line, struct error *error)
{
    const size_t count = line->positional_count;
    if (is_by_machine(line))
        return check_machines(line, error);
    if (flag_text(line, "by") && count != 1)
        return error_set(error, ERR_USAGE, "--by compares within one file, and there are %zu",
                         count);
    if (!flag_text(line, "by") && count < 2)
        return error_set(error, ERR_USAGE,
                         "compare needs BASE and NEW; within one file, --by strategy=raw");
    return 0;
}

/* Loads all files or none: half a comparison would look like a whole one. */
static int load_files(const struct command_line *line, struct result *results,
                      struct compare_file *files, struct error *error)
{
    int code = 0;
    for (size_t i = 0; i < line->positional_count && code == 0; i++) {
        code = result_open(line->positional[i], &results[i], error);
        files[i] = (struct compare_file){&results[i], line->positional[i]};
    }
    return code;
}

static int compare_machines(const struct command_line *line, const struct compare_file *files,
                            int *exit_code, struct error *error)
{
    struct machines *machines;
    TRY(machines_compare(files, line->positional_count, &machines, error));
    int code = machines_print(machines, (enum table_format)flag_number(line, "format"),
                              (enum compare_show)flag_number(line, "show"), stdout, error);
    *exit_code = machines_have_any(machines) ? EXIT_OK : EXIT_INCOMPARABLE;
    machines_free(machines);
    return code;
}

static int compare_cases(const struct command_line *line, const struct compare_file *files,
                         int *exit_code, struct error *error)
{
    struct compare_options options = {0};
    const char *by = flag_text(line, "by");
    json_t *comparison = NULL;
    int code = read_options(line, &options, error);
    THEN(code, by ? compare_within(&files[0], by, &options, &comparison, error)
                  : compare_results(&files[0], files + 1, line->positional_count - 1, &options,
                                    &comparison, error));
    THEN(code, compare_print(comparison, (enum table_format)flag_number(line, "format"),
                             (enum compare_show)flag_number(line, "show"), stdout, error));
    if (!code)
        *exit_code = (int)compare_exit_code(comparison, flag_number(line, "strict"));
    json_decref(comparison);
    return code;
}

static int compare_command(const struct command_line *line)
{
    struct compare_file files[POSITIONALS_MAX];
    struct result *results = must_alloc(line->positional_count * sizeof *results);
    struct error error = {0};
    int exit_code = EXIT_OK, code = check_files(line, &error);
    THEN(code, load_files(line, results, files, &error));
    THEN(code, is_by_machine(line) ? compare_machines(line, files, &exit_code, &error)
                                   : compare_cases(line, files, &exit_code, &error));
    for (size_t i = 0; i < line->positional_count; i++)
        result_release(&results[i]);
    free(results);
    return code ? report_error(&error) : exit_code;
}

const struct command command_compare = {
    .name = "compare",
    .summary = "say what became slower, larger or wrong between result files, for people and CI",
    .arguments = "BASE NEW... | FILE --by MEMBER=VALUE | FILE... --by machine",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .run = compare_command,
};
