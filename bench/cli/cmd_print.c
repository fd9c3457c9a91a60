/* gamut print: prints a result file as a table, or in the format of another tool. */
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "results/facts/atlas.h"
#include "results/file/draft.h"
#include "results/show/table.h"

static const struct flag flags[] = {
    FLAG_FORMAT_OF_CASES,
    FLAGS_END,
};

static int print_atlases(const json_t *atlases, struct error *error)
{
    size_t i;
    json_t *each;
    json_array_foreach((json_t *)atlases, i, each)
    {
        struct atlas atlas;
        TRY(atlas_from_json(each, &atlas, error));
        atlas_print(&atlas, stdout);
        atlas_free(&atlas);
    }
    return 0;
}

/* Atlases, advice, fits and experiments have tables of their own; their files have no cases. */
static int print_result(const struct result *result, enum table_format format, enum table_show show,
                        struct error *error)
{
    const bool is_for_people = format == TABLE_TEXT || format == TABLE_MARKDOWN;
    const bool is_table = is_for_people || format == TABLE_CSV;
    if (result->experiment_count && is_table)
        experiment_tables_print(result, format, stdout);
    else if (json_array_size(result->advice) && is_table)
        advice_table_print(result->advice, format, stdout);
    else if (json_array_size(result->fits) && is_table)
        standings_print(result->fits, format, stdout);
    else if (json_array_size(result->atlas) && is_for_people)
        return print_atlases(result->atlas, error);
    else
        return table_print(result, format, show, stdout, error);
    return 0;
}

/* Loads and summarises all files or none. */
static int load_files(const struct command_line *line, struct result *results, struct error *error)
{
    for (size_t i = 0; i < line->positional_count; i++) {
        TRY(result_open(line->positional[i], &results[i], error));
        result_summarise(&results[i]);
    }
    return 0;
}

static int print_command(const struct command_line *line)
{
    const enum table_format format = (enum table_format)flag_number(line, "format");
    const size_t count = line->positional_count;
    struct result *results = must_alloc(count * sizeof *results);
    struct error error = {0};
    int code = 0;
    if (count > 1 && format != TABLE_OTAVA)
        code = error_set(&error, ERR_USAGE,
                         "print takes one file; only --format otava makes a history of %zu", count);
    THEN(code, load_files(line, results, &error));
    THEN(code,
         format == TABLE_OTAVA
             ? table_print_history(results, count, stdout, &error)
             : print_result(results, format, (enum table_show)flag_number(line, "show"), &error));
    for (size_t i = 0; i < count; i++)
        result_release(&results[i]);
    free(results);
    return code ? report_error(&error) : EXIT_OK;
}

const struct command command_print = {
    .name = "print",
    .summary = "print a result file as run did, or in a format that dashboards read",
    .arguments = "FILE | --format otava FILE...",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .run = print_command,
};
