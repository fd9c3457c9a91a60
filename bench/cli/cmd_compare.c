#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "record/compare/compare.h"
#include "record/compare/machines.h"
#include "record/result/result.h"

enum compare_flag {
    COMPARE_BY,
    COMPARE_GATE,
    COMPARE_GATE_FILE,
    COMPARE_METRIC,
    COMPARE_THRESHOLD,
    COMPARE_SHOW,
    COMPARE_FORMAT,
    COMPARE_STRICT,
    COMPARE_FORCE,
};

/* clang-format off */
static const struct flag flags[] = {
    [COMPARE_BY] = {"by", 'b', FLAG_TEXT, "MEMBER=VALUE|machine", NULL, NULL, 0, 0,
        "within one file: compare each case with the one that has this value instead (strategy=raw); "
        "machine: which strategy wins on which machine or device of all files, and what a wrong choice costs"},
    [COMPARE_GATE] = {"gate", 'g', FLAG_LIST, "METRIC:LIMIT", NULL, NULL, 0, 0,
        "a metric that may not get worse by more than a limit"},
    [COMPARE_GATE_FILE] = {"gate-file", 0, FLAG_TEXT, "FILE", NULL, NULL, 0, 0,
        "a JSON file of gates; those of --gate come after them"},
    [COMPARE_METRIC] = {"metric", 0, FLAG_LIST, "METRIC", NULL, NULL, 0, 0,
        "compare only these and what --gate names [all; with --by wall_ns,peak_reserved_bytes]"},
    [COMPARE_THRESHOLD] = {"threshold", 't', FLAG_TEXT, "PART", "2%", NULL, 0, 0,
        "the largest change that does not matter, for times without a gate"},
    [COMPARE_SHOW] = {"show", 0, FLAG_CHOICE, "WHAT", "changed", "all|changed|worst", 0, 0,
        "which rows are printed"},
    [COMPARE_FORMAT] = {"format", 'f', FLAG_CHOICE, "FORMAT", "table", "table|md|csv|json", 0, 0,
        "how the comparison is printed"},
    [COMPARE_STRICT] = {"strict", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
        "exit 5 where a gated metric is unsure, or something was dropped or left out"},
    [COMPARE_FORCE] = {"force-compare", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
        "leave out and drop nothing, although device, driver, machine, program or data differ"},
    {NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL},
};
/* clang-format on */

enum exit_code compare_exit_code(const json_t *comparison, bool strict)
{
    switch (compare_outcome(comparison)) {
    case COMPARE_incomparable:
        return EXIT_INCOMPARABLE;
    case COMPARE_failed:
        return EXIT_CASE_FAILED;
    case COMPARE_regression:
        return EXIT_REGRESSION;
    case COMPARE_unsure:
        return strict ? EXIT_UNSURE : EXIT_OK;
    case COMPARE_ok:
        break;
    }
    return EXIT_OK;
}

/* Takes the first of "a,b,c"; *list is the rest, or NULL after the last. */
static const char *next_word(const char **list, char word[256])
{
    const size_t length = strcspn(*list, ",");
    snprintf(word, 256, "%.*s", (int)length, *list);
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return word;
}

static int add_gates(const struct command_line *line, struct gates *gates, struct error *error)
{
    const char *path = line->flag[COMPARE_GATE_FILE].text, *list = line->flag[COMPARE_GATE].text;
    if (path || list)
        *gates = (struct gates){0}; /* the user's gates replace the default ones */
    int code = path ? gates_add_file(gates, path, error) : 0;
    for (const char *rule = list; rule && code == 0;) {
        char word[256];
        code = gates_add(gates, next_word(&rule, word), error);
    }
    return code;
}

/* Leaves out all metrics but those of a comma list. Between strategies nearly every counter differs:
 * with --by the default is one of time and one of memory. */
static int choose_metrics(const struct command_line *line, struct compare_options *options,
                          struct error *error)
{
    const char *list = line->flag[COMPARE_METRIC].text;
    const bool has_own_gates = line->flag[COMPARE_GATE].text || line->flag[COMPARE_GATE_FILE].text;
    bool chosen[GATES_MAX] = {false};
    int code = 0;
    if (!list && !line->flag[COMPARE_BY].text)
        return 0;
    for (list = list ? list : "wall_ns,peak_reserved_bytes"; list && code == 0;) {
        char word[256];
        code = gates_mark_metric(next_word(&list, word), chosen, error);
    }
    for (size_t i = 0; i < GATES_MAX; i++)
        options->leave_out[i] = !chosen[i] && !(has_own_gates && options->gates.gate[i].is_set);
    return code;
}

static int read_options(const struct command_line *line, struct compare_options *options,
                        struct error *error)
{
    const char *threshold = line->flag[COMPARE_THRESHOLD].text;
    if (!gate_parse_part(threshold, &options->threshold))
        return error_set(error, ERR_USAGE, "--threshold is '%s', expected a percentage such as 2%%",
                         threshold);
    options->force = line->flag[COMPARE_FORCE].number;
    options->keep_equal = line->flag[COMPARE_SHOW].number == COMPARE_SHOW_ALL;
    /* Within a file a strategy that is worse than another is a regression only if the user sets a gate. */
    if (!line->flag[COMPARE_BY].text)
        options->gates = gates_default(options->threshold);
    const int code = add_gates(line, &options->gates, error);
    return code ? code : choose_metrics(line, options, error);
}

static bool is_by_machine(const struct command_line *line)
{
    const char *by = line->flag[COMPARE_BY].text;
    return by && strcmp(by, "machine") == 0;
}

/* Between machines nothing is gated. */
static int check_machines(const struct command_line *line, struct error *error)
{
    static const enum compare_flag judging[] = {COMPARE_GATE, COMPARE_GATE_FILE, COMPARE_METRIC,
                                                COMPARE_STRICT, COMPARE_FORCE};
    for (size_t i = 0; i < sizeof judging / sizeof *judging; i++)
        if (line->flag[judging[i]].text || line->flag[judging[i]].number)
            return error_set(error, ERR_USAGE, "--by machine judges nothing: it takes no --%s",
                             flags[judging[i]].name);
    return 0;
}

static int check_files(const struct command_line *line, struct error *error)
{
    const size_t count = line->positional_count;
    if (is_by_machine(line))
        return check_machines(line, error);
    if (line->flag[COMPARE_BY].text && count != 1)
        return error_set(error, ERR_USAGE, "--by compares within one file, and there are %zu",
                         count);
    if (!line->flag[COMPARE_BY].text && count < 2)
        return error_set(error, ERR_USAGE,
                         "compare needs BASE and NEW; within one file, --by strategy=raw");
    return 0;
}

/* Loads all files or none: half a comparison would look like a whole one. */
static int load_files(const struct command_line *line, json_t **roots, struct compare_file *files,
                      struct error *error)
{
    int code = 0;
    for (size_t i = 0; i < line->positional_count && code == 0; i++) {
        code = result_load(line->positional[i], &roots[i], error);
        files[i] = (struct compare_file){roots[i], line->positional[i]};
    }
    return code;
}

static int compare_machines(const struct command_line *line, const struct compare_file *files,
                            int *exit_code, struct error *error)
{
    json_t *tree = NULL;
    int code = machines_compare(files, line->positional_count, &tree, error);
    if (!code)
        code = machines_print(tree, (enum table_format)line->flag[COMPARE_FORMAT].number,
                              (enum compare_show)line->flag[COMPARE_SHOW].number, stdout, error);
    *exit_code = machines_have_any(tree) ? EXIT_OK : EXIT_INCOMPARABLE;
    json_decref(tree);
    return code;
}

static int compare_cases(const struct command_line *line, const struct compare_file *files,
                         int *exit_code, struct error *error)
{
    struct compare_options options = {0};
    const char *by = line->flag[COMPARE_BY].text;
    json_t *comparison = NULL;
    int code = read_options(line, &options, error);
    if (!code)
        code = by ? compare_within(&files[0], by, &options, &comparison, error)
                  : compare_results(&files[0], files + 1, line->positional_count - 1, &options,
                                    &comparison, error);
    if (!code)
        code = compare_print(comparison, (enum table_format)line->flag[COMPARE_FORMAT].number,
                             (enum compare_show)line->flag[COMPARE_SHOW].number, stdout, error);
    if (!code)
        *exit_code = (int)compare_exit_code(comparison, line->flag[COMPARE_STRICT].number);
    json_decref(comparison);
    return code;
}

static int compare_command(const struct command_line *line)
{
    struct compare_file files[POSITIONALS_MAX];
    json_t *roots[POSITIONALS_MAX] = {NULL};
    struct error error = {0};
    int exit_code = EXIT_OK, code = check_files(line, &error);
    if (!code)
        code = load_files(line, roots, files, &error);
    if (!code)
        code = is_by_machine(line) ? compare_machines(line, files, &exit_code, &error)
                                   : compare_cases(line, files, &exit_code, &error);
    for (size_t i = 0; i < line->positional_count; i++)
        json_decref(roots[i]);
    return code ? report_error(&error) : exit_code;
}

const struct command command_compare = {
    .name = "compare",
    .summary = "say what became slower, larger or wrong between result files, for people and CI",
    .arguments = "BASE NEW... | FILE --by MEMBER=VALUE | FILE... --by machine",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .notes = "A gate is METRIC:LIMIT, such as wall_ns:2%, peak_reserved_bytes:4KiB,\n"
             "'copy_*:0' or exact:0 (all exact counters); none removes the gates before it.\n"
             "Without --gate and --gate-file, wall_ns has the threshold as its limit, and\n"
             "every exact counter of which less is better has 0.\n"
             "\n"
             "A time is slower or faster if its p, adjusted over all gated times (Holm), is\n"
             "at most 0.05 and its estimate is beyond the limit. It is the same if its\n"
             "interval is within the limit, and else unsure. Each strategy also has a row\n"
             "over all its cases, which finds changes that no single case shows. Rows of\n"
             "experiments are compared too: the first time of each has the gate of wall_ns.\n"
             "\n"
             "A case is dropped, by its name, if its program, its data or the limits of its\n"
             "device differ. Its times alone are left out if device, driver, machine or kind\n"
             "of build differ; counters do not depend on these. The rest is compared. Sizes\n"
             "of memory, load, kernel and environment are noted.\n"
             "\n"
             "--by machine puts the machines and devices of all files next to each other: the\n"
             "fastest strategy of each program, what each strategy loses where, the calls that\n"
             "it makes, and what a call costs there. A file of gamut atlas adds the prices.\n"
             "\n"
             "Exit codes: 0 no gated metric is worse, 1 one is, 2 a file cannot be read or\n"
             "an argument is wrong, 3 a case failed or is gone, or all failed, 4 nothing that\n"
             "is gated was compared, 5 (with --strict) unsure, dropped or left out. make\n"
             "turns every failure into 2: where the code matters, call gamut without make.\n",
    .run = compare_command,
};
