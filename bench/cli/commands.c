#include "cli/commands.h"

const char commands_summary[] =
    "gamut runs real GPU programs under several memory strategies, checks that the answers\n"
    "are right, and records time, memory, driver calls and copies.";

const struct command *const *commands_all(size_t *count)
{
    static const struct command *const commands[] = {
#define X(name) &command_##name,
        COMMAND_LIST(X)
#undef X
    };
    *count = sizeof commands / sizeof *commands;
    return commands;
}
