#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "run/catalogue.h"
#include "run/select.h"

enum plan_flag { PLAN_PRINT };
enum plan_level { LEVEL_SOURCE, LEVEL_IR };

static const struct flag flags[] = {
    [PLAN_PRINT] = {"print", 0, FLAG_CHOICE, "LEVEL", "ir", "source|ir", 0, 0,
                    "as it is written, or with its memory"},
    {NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL},
};

/* The program of a file or of a workload by name, with its memory. */
static int find_program(struct catalogue *catalogue, const char *what,
                        const struct program **program, struct error *error)
{
    size_t length = strlen(what);
    const bool is_file =
        strchr(what, '/') || (length > 4 && strcmp(what + length - 4, ".mem") == 0);
    if (is_file) { /* of which a built-in one may have been the model: names may be the same */
        int code = catalogue_add_file(catalogue, what, error);
        if (!code)
            *program = catalogue->programs[catalogue->program_count - 1];
        return code;
    }
    const struct entry *entry;
    int code = catalogue_open(catalogue, error);
    if (!code)
        code = select_workload(catalogue, what, &entry, error);
    if (!code)
        *program = entry->program;
    return code;
}

static void print(const struct program *program)
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
    print(source);
    program_free(source);
    return 0;
}

static int run(const struct command_line *line)
{
    struct error error = {0};
    struct catalogue catalogue = {0};
    const struct program *program = NULL;
    int code = find_program(&catalogue, line->positional[0], &program, &error);
    if (!code && line->flag[PLAN_PRINT].number == LEVEL_SOURCE)
        code = print_source(program, &error);
    else if (!code)
        print(program);
    catalogue_close(&catalogue);
    return code ? report_error(&error) : EXIT_OK;
}

const struct command command_plan = {
    .name = "plan",
    .summary = "print a program, as it is written or with its memory",
    .arguments = "FILE|WORKLOAD",
    .least_positionals = 1,
    .most_positionals = 1,
    .flags = flags,
    .run = run,
};
