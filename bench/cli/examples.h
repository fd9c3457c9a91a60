/* Examples of command lines, for the help and the manual. */
#ifndef GAMUT_CLI_EXAMPLES_H
#define GAMUT_CLI_EXAMPLES_H

struct example {
    const char *command; /* its name; NULL ends the table */
    const char *line;    /* as typed in a shell */
    const char *what;
};

/* In the order of the commands. tests/docs/test_commands.sh runs them all in one folder, so that
 * later ones read the files of earlier ones. */
extern const struct example examples[];

#endif
