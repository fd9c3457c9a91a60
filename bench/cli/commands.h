/* The commands, in the order of the help. A new command is a file, a line here and a section of
 * help.txt. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "cli/flags.h"

#define COMMAND_LIST(X)                                                                            \
    X(run)                                                                                         \
    X(atlas)                                                                                       \
    X(experiment)                                                                                  \
    X(list)                                                                                        \
    X(record)                                                                                      \
    X(serve)                                                                                       \
    X(trace)                                                                                       \
    X(replay)                                                                                      \
    X(fit)                                                                                         \
    X(explain)                                                                                     \
    X(advise)                                                                                      \
    X(view)                                                                                        \
    X(join)                                                                                        \
    X(plan)                                                                                        \
    X(new)                                                                                         \
    X(print)                                                                                       \
    X(compare)                                                                                     \
    X(plot)                                                                                        \
    X(report)                                                                                      \
    X(doctor)                                                                                      \
    X(completion)                                                                                  \
    X(man)                                                                                         \
    X(help)

#define X(name) extern const struct command command_##name;
COMMAND_LIST(X)
#undef X

/* A sentence that says what gamut does. */
static const char commands_summary[] =
    "gamut runs real GPU programs under several memory strategies, checks that the\n"
    "answers are right, and records time, memory, driver calls and copies.";

/* A warning for users of other people's programs. */
static const char commands_trust[] =
    "A .mem file is code: run compiles its kernels, and on the host they run with your\n"
    "rights. Run only programs that you trust. gamut plan runs nothing of a program.";

/* The exit code of `gamut compare`, from the comparison's verdict and --strict alone. */
enum exit_code compare_exit_code(const json_t *comparison, bool strict);

/* Prints what gamut is, its commands and its exit codes. */
void help_overview(const struct command_line *line, FILE *target);
/* Adds the lists of a topic, as gamut list prints them as JSON. ERR_USAGE: there is no such
 * topic. */
int list_topic(const char *topic, json_t *root, struct error *error);
/* Finds the command of this name. ERR_USAGE names the nearest and all that exist. */
int help_find(const struct command_line *line, const char *name, const struct command **found,
              struct error *error);
