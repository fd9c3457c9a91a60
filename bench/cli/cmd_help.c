/* gamut help: says what gamut and its commands are for. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "results/show/text_grid.h"

void help_overview(const struct command_line *line, FILE *target)
{
    struct text_grid commands = text_grid_of("command|~summary");
    struct text_grid codes = text_grid_of(">code|~meaning");
    struct terminal_page page;
    commands.indent = codes.indent = 2;
    commands.no_titles = codes.no_titles = true;
    for (size_t i = 0; i < line->command_count; i++) {
        text_grid_add_row(&commands);
        text_grid_add(&commands, "%s", line->commands[i]->name);
        text_grid_add(&commands, "%s", line->commands[i]->summary);
    }
#define X(name, code, sentence)                                                                    \
    text_grid_add_row(&codes);                                                                     \
    text_grid_add(&codes, "%d", code);                                                             \
    text_grid_add(&codes, "%s", sentence);
    EXIT_CODE_LIST(X)
#undef X
    terminal_page_open(&page, target);
    fprintf(page.out, "%s\n\nusage: gamut COMMAND [...]\n\ncommands:\n", commands_summary);
    text_grid_print(&commands, TABLE_TEXT, &page.terminal, page.out);
    fputs("\ngamut help COMMAND says more, with examples; gamut --version names the build.\n\n",
          page.out);
    fprintf(page.out, "%s\n\n", commands_trust);
    fputs("Data goes to stdout, everything else to stderr. Exit codes:\n", page.out);
    text_grid_print(&codes, TABLE_TEXT, &page.terminal, page.out);
    terminal_page_close(&page);
    text_grid_free(&commands);
    text_grid_free(&codes);
}

static const char *name_at(void *line, size_t i)
{
    const struct command_line *l = line;
    return i < l->command_count ? l->commands[i]->name : NULL;
}

int help_find(const struct command_line *line, const char *name, const struct command **found,
              struct error *error)
{
    for (size_t i = 0; i < line->command_count; i++)
        if (strcmp(line->commands[i]->name, name) == 0) {
            *found = line->commands[i];
            return 0;
        }
    return text_unknown(error, name, name_at, (void *)line, "there is no command");
}

static int help_command(const struct command_line *line)
{
    const struct command *command;
    struct error error = {0};
    if (line->positional_count == 0)
        help_overview(line, stdout);
    else if (help_find(line, line->positional[0], &command, &error))
        return report_error(&error);
    else
        flags_help(command, stdout);
    return EXIT_OK;
}

const struct command command_help = {
    .name = "help",
    .summary = "say what gamut or a command of it does",
    .arguments = "[COMMAND]",
    .most_positionals = 1,
    .flags = flags_none,
    .run = help_command,
};
