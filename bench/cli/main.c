#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "base/text.h"
#include "record/facts/context.h"
#include "record/table/text_grid.h"
#include "base/tree.h"
#include "experiment/experiment_rounds.h"
#include "run/rounds/atlas_run.h"
#include "run/rounds/devices.h"
#include "run/rounds/process.h"
#include "run/rounds/rounds.h"

static const struct command *const commands[] = {
#define X(name) &command_##name,
    COMMAND_LIST(X)
#undef X
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const char *command_name(void *context, size_t i)
{
    (void)context;
    return i < COMMANDS ? commands[i]->name : NULL;
}

static void help(FILE *target)
{
    struct text_grid commands_grid = text_grid_of("command|~summary");
    struct text_grid codes = text_grid_of(">code|~meaning");
    struct terminal_page page;
    commands_grid.indent = codes.indent = 2;
    commands_grid.no_titles = codes.no_titles = true;
    for (size_t i = 0; i < COMMANDS; i++) {
        text_grid_add_row(&commands_grid);
        text_grid_add(&commands_grid, "%s", commands[i]->name);
        text_grid_add(&commands_grid, "%s", commands[i]->summary);
    }
#define X(name, code, sentence)                                                                    \
    text_grid_add_row(&codes);                                                                     \
    text_grid_add(&codes, "%d", code);                                                             \
    text_grid_add(&codes, "%s", sentence);
    EXIT_CODE_LIST(X)
#undef X
    terminal_page_open(&page, target);
    fprintf(page.out, "%s\n\nusage: gamut COMMAND [...]\n\ncommands:\n", commands_summary);
    text_grid_print(&commands_grid, TABLE_TEXT, &page.terminal, page.out);
    fputs("\ngamut COMMAND --help says more; gamut --version names the build.\n\n"
          "Data goes to stdout, everything else to stderr. Exit codes:\n",
          page.out);
    text_grid_print(&codes, TABLE_TEXT, &page.terminal, page.out);
    terminal_page_close(&page);
    text_grid_free(&commands_grid);
    text_grid_free(&codes);
}

static void version(void)
{
    json_t *tool = context_tool();
    const char *rev = tree_get_text(tool, "git_rev");
    printf("gamut %s", tree_get_text(tool, "version"));
    if (*rev)
        printf(" (%s%s)", rev, json_is_true(json_object_get(tool, "git_dirty")) ? ", changed" : "");
    printf(", %s\n", tree_get_text(tool, "compiler"));
    json_decref(tool);
}

static int unknown_command(const char *word)
{
    int nearest = text_nearest(word, command_name, NULL);
    fprintf(stderr, "gamut: there is no command '%s'", word);
    if (nearest >= 0)
        fprintf(stderr, " (did you mean %s?)", commands[nearest]->name);
    fputs("; there are:", stderr);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(stderr, " %s", commands[i]->name);
    fputc('\n', stderr);
    return EXIT_INPUT;
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (asks_for_help(argv[i])) {
            flags_help(command, stdout);
            return EXIT_OK;
        }
    struct command_line line = {
        .argc = argc, .argv = argv, .commands = commands, .command_count = COMMANDS};
    struct error error = {0};
    int exit_code = flags_parse(command, argc - 2, argv + 2, &line, &error) ? report_error(&error)
                                                                            : command->run(&line);
    arena_free(&line.arena);
    /* If stdout goes to a full disk, the command has failed. */
    if ((fflush(stdout) || ferror(stdout)) && exit_code == EXIT_OK) {
        fputs("gamut: stdout could not be written\n", stderr);
        return EXIT_INPUT;
    }
    return exit_code;
}

/* The jobs of workers. */
static const struct worker_job jobs[] = {
    {"devices", devices_work},       {"cases", rounds_work}, {"atlas", atlas_work},
    {"experiment", experiment_work}, {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return EXIT_INPUT;
    }
    if (asks_for_help(argv[1])) {
        help(stdout);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        version();
        return EXIT_OK;
    }
    if (strcmp(argv[1], "worker") == 0)
        return worker_main(jobs);
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, argv[1]) == 0)
            return run_command(commands[i], argc, argv);
    return unknown_command(argv[1]);
}
