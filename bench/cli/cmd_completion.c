/* Scripts that complete command lines in a shell. Every word is in the script, so that no process
 * is started while somebody types. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/completion.h"

static int run(const struct command_line *line)
{
    struct error error = {0};
    struct text script = {0};
    int code;
    if (strcmp(line->positional[0], "bash") == 0)
        code = completion_bash(&script, &error);
    else if (strcmp(line->positional[0], "zsh") == 0)
        code = completion_zsh(&script, &error);
    else
        code = error_set(&error, ERR_USAGE, "there is no completion for '%s'; there are: bash zsh",
                         line->positional[0]);
    if (!code)
        fputs(script.data, stdout);
    text_free(&script);
    return code ? report_error(&error) : EXIT_OK;
}

static const struct flag flags[] = {{NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL}};

const struct command command_completion = {
    .name = "completion",
    .summary = "print a script that completes gamut's command lines in a shell",
    .arguments = "bash|zsh",
    .least_positionals = 1,
    .most_positionals = 1,
    .flags = flags,
    .notes = "For one session of bash: source <(gamut completion bash). make install puts the\n"
             "scripts where the shells look for them.\n",
    .run = run,
};
