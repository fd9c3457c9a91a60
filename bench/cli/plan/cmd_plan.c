#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/plan/plan_output.h"
#include "cli/plan/published.h"
#include "cli/plan/plan_values.h"
#include "base/tree.h"
#include "merge/pack/pack_read.h"
#include "run/select/catalogue.h"
#include "run/select/inputs.h"
#include "run/select/select.h"

enum plan_flag {
    PLAN_MERGE,
    PLAN_DATASET,
    PLAN_PRINT,
    PLAN_WHY,
    PLAN_FORMAT,
    PLAN_TIME_LIMIT,
    PLAN_LIFETIMES,
    PLAN_CAPACITY,
    PLAN_PUBLISHED
};
enum plan_level { LEVEL_SOURCE, LEVEL_IR, LEVEL_BOTH };

static const struct flag flags[] = {
    [PLAN_MERGE] = {"merge", 'm', FLAG_LIST, "LIST", NULL, NULL, 0, 0,
                    "merge sets, or all: print what each of them does to the program"},
    [PLAN_DATASET] =
        {"dataset", 'd', FLAG_TEXT, "DATASET", NULL, NULL, 0, 0,
         "the dataset for sizes that are not given as size=value [smoke, or the first]"},
    [PLAN_PRINT] =
        {"print", 0, FLAG_CHOICE, "LEVEL", "ir", "source|ir|both", 0, 0,
         "print the program as written (source), with its memory (ir; merged with -m), or both"},
    [PLAN_WHY] = {"why", 0, FLAG_TEXT, "NAME", NULL, NULL, 0, 0,
                  "print only what was decided about this array or block"},
    [PLAN_FORMAT] = {"format", 0, FLAG_CHOICE, "FORMAT", "table", "table|json|csv", 0, 0,
                     "what is printed on stdout; csv only with --published"},
    [PLAN_TIME_LIMIT] = {"time-limit", 0, FLAG_TIME, "TIME", "1s", NULL, 1, 0,
                         "how long the search for the least memory may take"},
    [PLAN_LIFETIMES] = {"lifetimes", 0, FLAG_TEXT, "FILE.csv", NULL, NULL, 0, 0,
                        "instead of a program: print offsets for the buffers of this file"},
    [PLAN_CAPACITY] = {"capacity", 0, FLAG_BYTES, "SIZE", NULL, NULL, 0, 0,
                       "with --lifetimes: stop at the first plan that fits into this size"},
    [PLAN_PUBLISHED] =
        {"published", 0, FLAG_TEXT, "FILE.csv", NULL, NULL, 0, 0,
         "instead of a program: print published peaks and those of gamut's programs"},
    {NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL},
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
    if (!code)
        code = select_workload(catalogue, what, &entry, error);
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
    int code = program_parse(program->path, program->text, strlen(program->text), &source, error);
    if (code)
        return code;
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
        int code = print_source(program, error);
        if (code)
            return code;
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
    const struct flag_value *flag = line->flag;
    if (values->known && !report->counted &&
        (report->not_counted.code != ERR_USAGE || lacks_parameter(entry->fun, values))) {
        *error = report->not_counted;
        return error->code;
    }
    tell_sizes(entry, values, report);
    if (flag[PLAN_PRINT].given) {
        print_merged(report, (enum plan_level)flag[PLAN_PRINT].number);
        return 0;
    }
    if (flag[PLAN_WHY].text)
        return plan_print_why(report, flag[PLAN_WHY].text, stdout, error);
    if (flag[PLAN_FORMAT].number == PLAN_AS_JSON)
        tree_append(plans, plan_json(report, values));
    else
        plan_print_table(report, stdout);
    return 0;
}

static int report_entry(const struct command_line *line, const struct entry *entry,
                        const struct names *sets, json_t *plans, struct error *error)
{
    const struct flag_value *flag = line->flag;
    struct plan_values values;
    struct merge_report report;
    int code = plan_values_make(entry, flag[PLAN_DATASET].text, line->positional + 1,
                                line->positional_count - 1, &values, error);
    if (code)
        return code;
    code = merge_report_make(entry->fun, values.known, sets->items, sets->count,
                             (int64_t)flag[PLAN_TIME_LIMIT].number, &report, error);
    if (!code) {
        code = print_report(line, entry, &report, &values, plans, error);
        merge_report_free(&report);
    }
    plan_values_free(&values);
    return code;
}

static int report_all(const struct command_line *line, const struct choice *choice,
                      struct error *error)
{
    const bool as_json = line->flag[PLAN_FORMAT].number == PLAN_AS_JSON;
    struct selection sets = {0};
    json_t *plans = tree_array();
    int code = select_merges(&sets, line->flag[PLAN_MERGE].text, error);
    for (size_t i = 0; i < choice->entry_count && !code; i++) {
        if (choice->entry_count > 1 && !as_json)
            printf("%s-- %s\n", i ? "\n" : "", choice->entries[i].name);
        code = report_entry(line, &choice->entries[i], &sets.merges, plans, error);
    }
    if (!code && as_json) {
        json_t *root = tree_object();
        tree_put(root, "plans", plans);
        json_dumpf(root, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(root);
    } else {
        json_decref(plans);
    }
    select_free(&sets);
    return code;
}

/* ---- offsets for the buffers of a CSV file -------------------------------------------------- */

static int64_t to_ns(double seconds)
{
    return seconds >= 9e9 ? INT64_MAX : seconds > 0 ? (int64_t)(seconds * 1e9) : 0;
}

static void print_summary(const struct pack_table *table, const struct pack_result *result,
                          int64_t capacity)
{
    char time[32];
    const double bound = result->lower_bound ? (double)result->lower_bound : 1;
    fprintf(stderr, "%zu buffers, height %lld bytes, lower bound %lld, gap %.2f %%, ", table->count,
            (long long)result->height, (long long)result->lower_bound,
            100.0 * (double)(result->height - result->lower_bound) / bound);
    if (capacity >= 0 && !result->optimal)
        fprintf(stderr, "within %lld", (long long)capacity);
    else
        fputs(result->optimal ? "optimal" : "not proven (time limit)", stderr);
    fprintf(stderr, "; by %s, %llu nodes, %s\n", result->method, (unsigned long long)result->nodes,
            text_ns(time, (double)result->elapsed_ns));
}

static int check_capacity(const char *path, const struct pack_result *result, int64_t capacity,
                          struct error *error)
{
    if (capacity < 0 || result->height <= capacity)
        return 0;
    if (result->lower_bound > capacity)
        return error_set(error, ERR_OOM,
                         "%s: the buffers do not fit into %lld bytes: no plan is lower than %lld",
                         path, (long long)capacity, (long long)result->lower_bound);
    return error_set(
        error, ERR_OOM,
        "%s: no plan within %lld bytes was found in time, nor a proof that there is "
        "none: the lowest found is %lld, the lower bound %lld; try a longer time limit",
        path, (long long)capacity, (long long)result->height, (long long)result->lower_bound);
}

/* Writes the file's rows with an offset each to stdout, and to stderr how high the plan is and
 * whether it is proved to be the lowest. With a capacity (-1: none) any plan within it will do; if
 * there is none, or none was found in time, returns ERR_OOM and writes nothing. Otherwise 0 or an
 * error of pack_read_file. */
static int plan_lifetimes(const char *path, int64_t capacity, double time_limit_s,
                          struct error *error)
{
    struct pack_table table;
    struct pack_result result;
    int code = pack_read_file(path, &table, error);
    if (code)
        return code;
    const struct pack_options options = {.time_limit_ns = to_ns(time_limit_s),
                                         .capacity = capacity > 0 ? capacity : 0};
    code = pack_solve(table.buffers, table.count, &options, &result, error);
    if (!code)
        code = check_capacity(path, &result, capacity, error);
    if (!code) {
        pack_write(&table, result.offset, stdout);
        print_summary(&table, &result, capacity);
    }
    pack_result_free(&result);
    pack_table_free(&table);
    return code;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int check_published(const struct command_line *line, struct error *error)
{
    static const enum plan_flag others[] = {PLAN_MERGE, PLAN_DATASET,   PLAN_PRINT,
                                            PLAN_WHY,   PLAN_LIFETIMES, PLAN_CAPACITY};
    if (line->positional_count)
        return error_set(error, ERR_USAGE, "--published and a program exclude each other");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (line->flag[others[i]].given)
            return error_set(error, ERR_USAGE, "--published and --%s exclude each other",
                             flags[others[i]].name);
    return 0;
}

static int check_usage(const struct command_line *line, struct error *error)
{
    const struct flag_value *flag = line->flag;
    if (flag[PLAN_PUBLISHED].text)
        return check_published(line, error);
    if (flag[PLAN_FORMAT].number == PLAN_AS_CSV)
        return error_set(error, ERR_USAGE, "--format csv is for --published");
    if (flag[PLAN_LIFETIMES].text)
        return line->positional_count || flag[PLAN_MERGE].text
                   ? error_set(error, ERR_USAGE, "--lifetimes and a program exclude each other")
                   : 0;
    if (!line->positional_count)
        return error_set(error, ERR_USAGE, "plan needs FILE|WORKLOAD; see gamut plan --help");
    if (flag[PLAN_CAPACITY].text)
        return error_set(error, ERR_USAGE, "--capacity is for --lifetimes");
    if (!flag[PLAN_MERGE].text) {
        const char *what = line->positional_count > 1 ? line->positional[1]
                           : flag[PLAN_WHY].text      ? "--why"
                                                      : NULL;
        return what ? error_set(error, ERR_USAGE, "%s says nothing without merge sets: try -m all",
                                what)
                    : 0;
    }
    if (flag[PLAN_PRINT].given && flag[PLAN_PRINT].number == LEVEL_SOURCE)
        return error_set(error, ERR_USAGE,
                         "merged programs have memory: with -m, --print is ir or both");
    const bool as_json = flag[PLAN_FORMAT].number == PLAN_AS_JSON;
    if ((flag[PLAN_PRINT].given != 0) + (flag[PLAN_WHY].text != NULL) + as_json > 1)
        return error_set(error, ERR_USAGE, "--print, --why and --format json exclude each other");
    return 0;
}

static int run_lifetimes(const struct command_line *line)
{
    const struct flag_value *flag = line->flag;
    struct error error = {0};
    int64_t capacity = -1;
    if (flag[PLAN_CAPACITY].text)
        capacity = flag[PLAN_CAPACITY].number > INT64_MAX ? INT64_MAX
                                                          : (int64_t)flag[PLAN_CAPACITY].number;
    int code = plan_lifetimes(flag[PLAN_LIFETIMES].text, capacity,
                              (double)flag[PLAN_TIME_LIMIT].number / 1e9, &error);
    if (code == ERR_OOM) {
        report_error(&error);
        return EXIT_CASE_FAILED;
    }
    return code ? report_error(&error) : EXIT_OK;
}

static int plan_command(const struct command_line *line)
{
    struct error error = {0};
    int code = check_usage(line, &error);
    if (code)
        return report_error(&error);
    if (line->flag[PLAN_LIFETIMES].text)
        return run_lifetimes(line);
    if (line->flag[PLAN_PUBLISHED].text) {
        code = plan_published(line->flag[PLAN_PUBLISHED].text,
                              (enum plan_format)line->flag[PLAN_FORMAT].number,
                              (int64_t)line->flag[PLAN_TIME_LIMIT].number, &error);
        return code ? report_error(&error) : EXIT_OK;
    }
    struct catalogue catalogue = {0};
    struct choice choice;
    code = find_program(&catalogue, line->positional[0], &choice, &error);
    if (!code && line->flag[PLAN_MERGE].text)
        code = report_all(line, &choice, &error);
    else if (!code)
        code =
            print_program(choice.program, (enum plan_level)line->flag[PLAN_PRINT].number, &error);
    catalogue_close(&catalogue);
    return code ? report_error(&error) : EXIT_OK;
}

const struct command command_plan = {
    .name = "plan",
    .summary = "print a program with its memory; say what merge sets would do to it",
    .arguments = "FILE|WORKLOAD [size=value...]",
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .notes = "Without -m, plan prints the program. With -m it prints a row for each merge\n"
             "set:\n"
             "  blocks          blocks that the program's text allocates\n"
             "  allocations     allocations of one run\n"
             "  peak            the most bytes that a run holds, under each release policy\n"
             "  lower bound     the most bytes that are still needed at one moment\n"
             "  scope over it   how far the peak under scope is above the lower bound\n"
             "  over best       how far the peak at last use is above that of the set best\n"
             "  copies, elided  copies that a run makes and leaves out\n"
             "Then it says what was merged, what was refused, and why.\n"
             "\n"
             "A .mem file is code, which gamut run compiles and runs with your rights. plan\n"
             "runs nothing of it: look at a program with plan before you trust it.\n"
             "\n"
             "A scalar that the program reads from an array has to be given if sizes or\n"
             "branches depend on it. If it is read several times it may have several\n"
             "values, count=7,3,0; the last one is used for all further reads.\n"
             "\n"
             "--format json: {plans: [{program, fun, dataset, scalars: {name: value},\n"
             "  not_counted, sets: [{set, chosen, block_count, alloc_count,\n"
             "  peak_scope_bytes, peak_last_use_bytes, live_lower_bound_bytes, scope_gap,\n"
             "  over_best, copies: {kind: {count, bytes, elided_count, elided_bytes}},\n"
             "  arena: {bytes, lower_bound_bytes, proven}, planning_ns,\n"
             "  decisions: [{pass, action, line, array, from, into,\n"
             "  refused: {condition, label, sentence, detail}}]}]}]}.\n"
             "  null is unknown or none; scope_gap and over_best are ratios less 1.\n"
             "\n"
             "--published FILE.csv prints bytes for each row of a table of published peaks,\n"
             "such as workloads/thesis/appendix_b.csv. \"ours before\" and \"after\" are the\n"
             "peaks of gamut's program under inplace and coalesce+reuse, with blocks freed\n"
             "at the end of their scope. \"as written\", \"merged\" (coalesce+reuse), \"plan\"\n"
             "and \"best\" free blocks at their last use. A bound is the peak that the\n"
             "published program would reach if it freed every block at its last use and\n"
             "packed the rest. \"before is\" and \"after is\" say whether ours needs fewer,\n"
             "equal or more bytes than published; \"best is\" compares with the least\n"
             "published number. optimal: no packing of these lifetimes is smaller.\n"
             "--format json: {published: [{…}]}, with the columns of --format csv as keys.\n",
    .run = plan_command,
};
