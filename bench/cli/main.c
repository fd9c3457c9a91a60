/* The program gamut: finds the command, parses its line, and runs it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "experiment/experiment_rounds.h"
#include "results/facts/context.h"
#include "run/rounds/atlas_run.h"
#include "run/rounds/devices.h"
#include "run/rounds/process.h"
#include "replay/cases.h"
#include "run/rounds/rounds.h"

#define COMMAND(name) &command_##name,
static const struct command *const commands[] = {COMMAND_LIST(COMMAND)};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void version(void)
{
    const struct record_tool tool = context_tool();
    printf("gamut %s", tool.version);
    if (tool.git_rev)
        printf(" (%s%s)", tool.git_rev, tool.git_dirty > 0 ? ", changed" : "");
    printf(", %s\n", tool.compiler);
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run_command(const struct command *command, int first, struct command_line *line)
{
    for (int i = first; i < line->argc && strcmp(line->argv[i], "--") != 0; i++)
        if (asks_for_help(line->argv[i])) {
            flags_help(command, stdout);
            return EXIT_OK;
        }
    struct error error = {0};
    int exit_code = flags_parse(command, line->argc - first, line->argv + first, line, &error)
                        ? report_error(&error)
                        : command->run(line);
    arena_free(&line->arena);
    return exit_code;
}

/* If stdout goes to a full disk, the command has failed, be it only for help. */
static int finish(int exit_code)
{
    if ((fflush(stdout) || ferror(stdout)) && exit_code == EXIT_OK) {
        fputs("gamut: stdout could not be written\n", stderr);
        return EXIT_INPUT;
    }
    return exit_code;
}

/* The jobs of workers. */
static const struct worker_job jobs[] = {
    {"devices", devices_work},       {"cases", rounds_work},    {"atlas", atlas_work},
    {"experiment", experiment_work}, {"replays", replays_work}, {NULL, NULL},
};

int main(int argc, char **argv)
{
    struct command_line line = {
        .argc = argc, .argv = argv, .commands = commands, .command_count = COMMANDS};
    const struct command *command;
    struct error error = {0};
    json_set_alloc_funcs(must_alloc, free); /* or else a sound file would be "no JSON" */
    /* A file beyond the limit of ulimit -f is an error to report, as a full disk is. */
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        help_overview(&line, stderr);
        return EXIT_INPUT;
    }
    if (asks_for_help(argv[1])) {
        help_overview(&line, stdout);
        return finish(EXIT_OK);
    }
    if (strcmp(argv[1], "--version") == 0) {
        version();
        return finish(EXIT_OK);
    }
    if (strcmp(argv[1], "worker") == 0)
        return worker_main(jobs);
    const bool is_found = !help_find(&line, argv[1], &command, &error);
    if (!is_found && access(argv[1], R_OK) == 0)
        return finish(run_command(&command_explain, 1, &line));
    return is_found ? finish(run_command(command, 2, &line)) : report_error(&error);
}
