/* gamut plan: prints what merge sets do to a program, without running it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_kind.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/plan/plan_output.h"
#include "base/tree.h"
#include "run/select/catalogue.h"
#include "run/select/inputs.h"
#include "run/select/select.h"

enum plan_level { LEVEL_SOURCE, LEVEL_IR, LEVEL_BOTH };
enum plan_format { PLAN_AS_TABLE, PLAN_AS_JSON };

static const struct flag flags[] = {
    {"merge", 'm', FLAG_LIST,
     .help = "merge sets, or all: print what each of them does to the program"},
    {"dataset", 'd', FLAG_TEXT, .value = "DATASET",
     .help = "the dataset for sizes that are not given as size=value, or all, each in turn [smoke, "
             "or the first]"},
    {"print", 0, FLAG_CHOICE, .value = "LEVEL", .fallback = "ir", .choices = "source|ir|both",
     .help =
         "print the program as written (source), with its memory (ir; merged with -m), or both"},
    {"why", 0, FLAG_TEXT, .value = "NAME",
     .help = "print only what was decided about this array or block, with every refusal"},
    {"release", 0, FLAG_CHOICE, .value = "POLICY", .fallback = "last-use",
     .choices = "last-use|scope",
     .help = "when runs free memory: the sets best and extended choose for it"},
    FLAG_FORMAT("table", "table|json"),
    {"time-limit", 0, FLAG_TIME, .fallback = "1s", .least = 1,
     .help = "how long the search for the least memory may take"},
    {"lifetimes", 0, FLAG_TEXT, .value = "FILE.csv",
     .help = "instead of a program: print offsets for the buffers of this file"},
    {"capacity", 0, FLAG_BYTES,
     .help = "with --lifetimes: stop at the first plan that fits into this size"},
    {"planner", 0, FLAG_TEXT, .value = "NAME",
     .help =
         "with --lifetimes: instead of offsets, print a table with this planner of another "
         "project, or with all: tflite, xla-spatial, xla-temporal, xla, tvm, onnxruntime, iree, "
         "ggml"},
    FLAGS_END,
};

/* ---- programs ------------------------------------------------------------------------------- */

/* The functions that an argument names: all of a file, or one workload. */
struct choice {
    const struct program *program;
    const struct entry *entries;
    size_t entry_count;
};

static int find_program(struct catalogue *catalogue, const char *what, struct choice *choice,
                        struct error *error)
{
    size_t length = strlen(what);
    const bool is_file =
        strchr(what, '/') || (length > 4 && strcmp(what + length - 4, ".mem") == 0);
    if (is_file) { /* its names may be those of a built-in program */
        int code = catalogue_add_file(catalogue, what, error);
        if (!code)
            *choice =
                (struct choice){catalogue->programs[0], catalogue->entries, catalogue->entry_count};
        return code;
    }
    const struct entry *entry;
    int code = catalogue_open(catalogue, error);
    THEN(code, select_workload(catalogue, what, &entry, error));
    if (!code)
        *choice = (struct choice){entry->program, entry, 1};
    return code;
}

static void print_text(const struct program *program)
{
    char *text = program_print(program);
    fputs(text, stdout);
    free(text);
}

static int print_source(const struct program *program, struct error *error)
{
    struct program *source;
    TRY(program_parse(program->path, program->text, strlen(program->text), &source, error));
    print_text(source);
    program_free(source);
    return 0;
}

static int print_program(const struct program *program, enum plan_level level, struct error *error)
{
    if (level == LEVEL_SOURCE)
        return print_source(program, error);
    if (level == LEVEL_BOTH) {
        puts("-- as it is written");
        TRY(print_source(program, error));
        puts("\n-- with its memory");
    }
    print_text(program);
    return 0;
}

/* ---- merging -------------------------------------------------------------------------------- */

static void print_merged(const struct merge_report *report, enum plan_level level)
{
    if (level == LEVEL_BOTH) {
        struct program *before = program_clone(report->fun);
        puts("-- before");
        print_text(before);
        program_free(before);
    }
    for (size_t r = 0; r < report->row_count; r++) {
        if (report->row_count > 1 || level == LEVEL_BOTH)
            printf("%s-- merged by %s\n", r || level == LEVEL_BOTH ? "\n" : "",
                   report->rows[r].set);
        print_text(report->rows[r].merge->program);
    }
}

/* Says which sizes the numbers are for, or why there are no numbers. */
static void tell_sizes(const struct entry *entry, const struct plan_values *values,
                       const struct merge_report *report)
{
    const struct dataset *first =
        entry->program->dataset_count ? &entry->program->datasets[0] : NULL;
    char lacking[200] = "there is no dataset";
    if (!values->known && first)
        snprintf(lacking, sizeof lacking, "dataset %s does not set '%s'", first->name,
                 inputs_lacking(entry->fun, first));
    if (!values->known)
        terminal_print(stderr,
                       "gamut: %s: no sizes are given and %s: no bytes are counted, and what needs "
                       "sizes (plan, best) is not done; give them as name=value\n",
                       entry->name, lacking);
    else if (values->chosen)
        terminal_print(stderr, "gamut: %s: sizes of dataset %s\n", entry->name, values->dataset);
    if (values->known &&
        (values->readings.from == READINGS_arrays || values->readings.from == READINGS_run))
        terminal_print(stderr, "gamut: %s: %s (dataset %s, seed %d)\n", entry->name,
                       readings_from_sentence(values->readings.from), values->dataset, PLAN_SEED);
    if (values->known && !report->counted)
        terminal_print(stderr, "gamut: %s: no bytes are counted: %s\n", entry->name,
                       report->not_counted.text);
}

/* A missing parameter is the user's mistake. A missing value that only a run can know is not. */
static bool lacks_parameter(const struct fun *fun, const struct plan_values *values)
{
    for (unsigned i = 0; i < fun->param_count; i++)
        if (fun->names[fun->params[i]].kind == NAME_SCALAR &&
            !argument(values->known, fun->names[fun->params[i]].text))
            return true;
    return false;
}

static int print_report(const struct command_line *line, const struct entry *entry,
                        const struct merge_report *report, const struct plan_values *values,
                        json_t *plans, struct error *error)
{
    if (values->known && !report->counted &&
        (report->not_counted.code != ERR_USAGE || lacks_parameter(entry->fun, values))) {
        *error = report->not_counted;
        return error->code;
    }
    tell_sizes(entry, values, report);
    if (flag_is_given(line, "print")) {
        print_merged(report, (enum plan_level)flag_number(line, "print"));
        return 0;
    }
    if (flag_text(line, "why"))
        return plan_print_why(report, flag_text(line, "why"), stdout, error);
    if (flag_number(line, "format") == PLAN_AS_JSON)
        tree_append(plans, plan_json(report, values));
    else
        plan_print_table(report, stdout);
    return 0;
}

static int report_dataset(const struct command_line *line, const struct entry *entry,
                          const char *dataset, const struct names *sets, json_t *plans,
                          struct error *error)
{
    struct plan_values values;
    struct merge_report report;
    TRY(plan_values_make(entry, dataset, line->positional + 1, line->positional_count - 1, &values,
                         error));
    int code = merge_report_make(entry->fun, values.known, sets->items, sets->count,
                                 (enum release_policy)flag_number(line, "release"),
                                 (int64_t)flag_number(line, "time-limit"), &report, error);
    if (!code) {
        code = print_report(line, entry, &report, &values, plans, error);
        merge_report_free(&report);
    }
    plan_values_free(&values);
    return code;
}

/* One report, or with -d all one for each dataset that sets the parameters which no word gives. */
static int report_entry(const struct command_line *line, const struct entry *entry,
                        const struct names *sets, json_t *plans, struct error *error)
{
    const char *chosen = flag_text(line, "dataset");
    const struct program *program = entry->program;
    const bool as_text = flag_number(line, "format") != PLAN_AS_JSON;
    unsigned reports = 0;
    int code = 0;
    if (!chosen || strcmp(chosen, "all") != 0)
        return report_dataset(line, entry, chosen, sets, plans, error);
    for (unsigned d = 0; d < program->dataset_count && !code; d++) {
        const struct dataset *dataset = &program->datasets[d];
        if (line->positional_count == 1 && inputs_lacking(entry->fun, dataset))
            continue; /* it belongs to other funs of the file */
        if (as_text)
            printf("%s-- %s, dataset %s\n", reports ? "\n" : "", entry->name, dataset->name);
        code = report_dataset(line, entry, dataset->name, sets, plans, error);
        reports++;
    }
    if (!code && !reports)
        return error_set(error, ERR_USAGE,
                         "-d all: no dataset of %s sets all of its parameters; give them as "
                         "name=value",
                         entry->name);
    return code;
}

static int report_all(const struct command_line *line, const struct choice *choice,
                      struct error *error)
{
    const bool as_json = flag_number(line, "format") == PLAN_AS_JSON;
    struct selection sets = {0};
    json_t *plans = tree_array();
    int code = select_merges(&sets, flag_text(line, "merge"), error);
    for (size_t i = 0; i < choice->entry_count && !code; i++) {
        if (choice->entry_count > 1 && !as_json)
            printf("%s-- %s\n", i ? "\n" : "", choice->entries[i].name);
        code = report_entry(line, &choice->entries[i], &sets.merges, plans, error);
    }
    if (!code && as_json) {
        json_t *root = tree_object();
        tree_put(root, "plans", plans);
        tree_print(root, JSON_INDENT(1), stdout);
    } else {
        json_decref(plans);
    }
    select_free(&sets);
    return code;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int check_usage(const struct command_line *line, struct error *error)
{
    if (flag_text(line, "lifetimes"))
        return line->positional_count || flag_text(line, "merge")
                   ? error_set(error, ERR_USAGE, "--lifetimes and a program exclude each other")
                   : flags_refuse(line, "dataset,print,why,release", "is for a program", error);
    if (!line->positional_count)
        return error_set(error, ERR_USAGE, "plan needs FILE|WORKLOAD; see gamut plan --help");
    TRY(flags_refuse(line, "capacity,planner", "is for --lifetimes", error));
    if (!flag_text(line, "merge")) {
        const char *what = line->positional_count > 1       ? line->positional[1]
                           : flag_text(line, "why")         ? "--why"
                           : flag_is_typed(line, "dataset") ? "--dataset"
                                                            : NULL;
        return what ? error_set(error, ERR_USAGE, "%s says nothing without merge sets: try -m all",
                                what)
                    : 0;
    }
    if (flag_is_given(line, "print") && flag_number(line, "print") == LEVEL_SOURCE)
        return error_set(error, ERR_USAGE,
                         "merged programs have memory: with -m, --print is ir or both");
    const bool as_json = flag_number(line, "format") == PLAN_AS_JSON;
    if ((flag_is_given(line, "print") != 0) + (flag_text(line, "why") != NULL) + as_json > 1)
        return error_set(error, ERR_USAGE, "--print, --why and --format json exclude each other");
    return 0;
}

static int run_lifetimes(const struct command_line *line)
{
    const struct lifetimes_options options = {
        .path = flag_text(line, "lifetimes"),
        .has_capacity = flag_text(line, "capacity") != NULL,
        .capacity = flag_number(line, "capacity"),
        .time_limit_ns = flag_number(line, "time-limit"),
        .planner = flag_text(line, "planner"),
        .as_json = flag_number(line, "format") == PLAN_AS_JSON,
    };
    struct error error = {0};
    const int code = plan_lifetimes(&options, stdout, &error);
    if (!code)
        return EXIT_OK;
    const int exit_code = report_error(&error);
    return code == ERR_OOM || code == ERR_WRONG ? EXIT_CASE_FAILED : exit_code;
}

static int plan_command(const struct command_line *line)
{
    struct error error = {0};
    int code = check_usage(line, &error);
    if (code)
        return report_error(&error);
    if (flag_text(line, "lifetimes"))
        return run_lifetimes(line);
    struct catalogue catalogue = {0};
    struct choice choice = {0};
    code = find_program(&catalogue, line->positional[0], &choice, &error);
    code = file_explain(line->positional[0], "program", code, &error);
    if (!code && flag_text(line, "merge"))
        code = report_all(line, &choice, &error);
    else if (!code)
        code = print_program(choice.program, (enum plan_level)flag_number(line, "print"), &error);
    catalogue_close(&catalogue);
    return code ? report_error(&error) : EXIT_OK;
}

const struct command command_plan = {
    .name = "plan",
    .summary = "print a program with its memory; say what merge sets would do to it",
    .arguments = "FILE|WORKLOAD [size=value...]",
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .run = plan_command,
};
