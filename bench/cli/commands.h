/* The commands, in the order of the help. A new one is a file and a line here. */
#ifndef GAMUT_CLI_COMMANDS_H
#define GAMUT_CLI_COMMANDS_H

#include "cli/flags.h"

#define COMMAND_LIST(X)                                                                            \
    X(run)                                                                                         \
    X(atlas)                                                                                       \
    X(experiment)                                                                                  \
    X(list)                                                                                        \
    X(plan)                                                                                        \
    X(compare)                                                                                     \
    X(plot)                                                                                        \
    X(report)                                                                                      \
    X(doctor)                                                                                      \
    X(completion)                                                                                  \
    X(man)

#define X(name) extern const struct command command_##name;
COMMAND_LIST(X)
#undef X

/* What gamut is, in a sentence. */
extern const char commands_summary[];

/* All of them, in that order. */
const struct command *const *commands_all(size_t *count);

#endif
