/* The traces that a command line names: files, and folders of them. */
#ifndef GAMUT_CLI_TRACES_H
#define GAMUT_CLI_TRACES_H

#include "cli/flags.h"

struct traces {
    size_t count;
    const char **paths; /* in the order of the command line; those of a folder by name */
    struct arena arena; /* owns them */
};

/* Makes the list of the positional arguments. A folder stands for all files in it whose names end
 * in ".trace". ERR_USAGE if it has none; ERR_IO. The caller calls traces_free in any case. */
int traces_named(const struct command_line *line, struct traces *traces, struct error *error);
void traces_free(struct traces *traces);

#endif
