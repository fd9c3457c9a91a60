#include "cli/commands.h"

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
