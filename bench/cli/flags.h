/* Command lines. Each command has one table of flags, from which gamut parses the command line and
 * the environment and prints the help. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

/* The exit codes of every command: help, manual and README say the same. */
#define EXIT_CODE_LIST(X)                                                                          \
    X(EXIT_OK, 0, "done")                                                                          \
    X(EXIT_REGRESSION, 1, "compare, fit --against: something is worse, beyond its limit")          \
    X(EXIT_INPUT, 2, "a mistake on the command line, in a file or in reading or writing one")      \
    X(EXIT_CASE_FAILED, 3, "a case failed or is gone, or a check of doctor failed")                \
    X(EXIT_INCOMPARABLE, 4, "compare: nothing that is gated was compared")                         \
    X(EXIT_UNSURE, 5, "compare --strict: a gated metric is unsure")                                \
    X(EXIT_NOTHING_RAN, 77, "nothing could run: there is no device, or no program for it")         \
    X(EXIT_INTERRUPTED, 130, "interrupted; the file holds what was measured until then")

#define EXIT_CODE(name, code, ...) name = code,
enum exit_code { EXIT_CODE_LIST(EXIT_CODE) };

enum flag_type {
    FLAG_SWITCH, /* no value; in the environment 1 or 0 */
    FLAG_TEXT,
    FLAG_LIST,  /* comma-separated; a second use adds to the first */
    FLAG_COUNT, /* a whole number */
    FLAG_BYTES, /* "64MiB" */
    FLAG_TIME,  /* "150ms"; 0 needs no unit */
    FLAG_CHOICE,
};

struct flag {
    const char *name; /* long, without the dashes; NULL ends a table */
    char letter;      /* 0: none */
    enum flag_type type;
    const char *value;    /* name of the value in the help; NULL: flag_value_name knows it */
    const char *fallback; /* the default, as a user would write it; NULL: unset */
    const char *choices;  /* FLAG_CHOICE: "a|b|c" */
    uint64_t least, most; /* bounds of FLAG_COUNT and FLAG_TIME (in ns); most 0: no upper bound */
    const char *help;
};
#define FLAGS_END                                                                                  \
    {                                                                                              \
        0                                                                                          \
    } /* ends a table */

struct flag_value {
    bool given;          /* on the command line or in the environment */
    bool in_environment; /* it was given there */
    const char *text;    /* the value, or the fallback; NULL if there is none */
    uint64_t number; /* count, bytes or ns; the position of a choice; 1 for a switch that is on */
};

enum { FLAGS_MAX = 32, POSITIONALS_MAX = 1024 };
#define POSITIONALS_ANY SIZE_MAX

struct command;

struct command_line {
    const struct command *command;
    struct flag_value flag[FLAGS_MAX]; /* in the order of the command's table */
    size_t positional_count;
    unsigned positional_capacity;
    const char **positional; /* the arena owns the list */
    char **program; /* the words of another program's command line, or NULL; argv ends them */
    int argc;       /* the arguments of the whole process */
    char **argv;
    const struct command *const *commands; /* all commands, in the order of the help */
    size_t command_count;
    struct arena arena; /* owns joined lists; main frees it */
};

struct command {
    const char *name, *summary;
    const char *arguments; /* positional arguments in the usage line: "FILE"; "": none */
    size_t least_positionals, most_positionals;
    bool takes_program; /* the words from the first positional on are another program's */
    const struct flag *flags;
    int (*run)(const struct command_line *line); /* returns an exit code */
};

/* Adds the notes on a command, or its examples, as help.txt has them for a terminal. */
void command_add_notes(struct text *out, const char *command);
void command_add_examples(struct text *out, const char *command);

/* The name of a flag's value in the help: "LIST"; NULL for a switch. */
const char *flag_value_name(const struct flag *flag);

/* The value of a flag by its long name. The command must have the flag. */
const struct flag_value *flag_of(const struct command_line *line, const char *name);
bool flag_exists(const struct command_line *line, const char *name);

static inline const char *flag_text(const struct command_line *line, const char *name)
{
    return flag_of(line, name)->text;
}
static inline uint64_t flag_number(const struct command_line *line, const char *name)
{
    return flag_of(line, name)->number;
}
static inline bool flag_is_on(const struct command_line *line, const char *name)
{
    return flag_of(line, name)->number != 0;
}
static inline bool flag_is_given(const struct command_line *line, const char *name)
{
    return flag_of(line, name)->given;
}
/* Whether the flag stands on the command line: the environment may mean other commands. */
static inline bool flag_is_typed(const struct command_line *line, const char *name)
{
    return flag_of(line, name)->given && !flag_of(line, name)->in_environment;
}

/* Checks that no flag of the comma list `others` is given together with `name`. ERR_USAGE. */
int flags_exclude(const struct command_line *line, const char *name, const char *others,
                  struct error *error);

/* Refuses flags of the comma list that stand on the command line: "--rounds WHY". ERR_USAGE. */
int flags_refuse(const struct command_line *line, const char *names, const char *why,
                 struct error *error);

/* The table of a command without flags. */
extern const struct flag flags_none[1];

/* Reads the words after the command's name, and the environment: --mem-limit is also read from
 * GAMUT_MEM_LIMIT, but the command line wins. ERR_USAGE names the nearest flag and the flags that
 * exist. Free line->arena in either case. */
int flags_parse(const struct command *command, int argc, char **argv, struct command_line *line,
                struct error *error);

/* Sets the i-th flag of the command's table as if `text` had been given for it; a list grows.
 * Messages call the flag `where`. ERR_USAGE: the text is no value of the flag. It must outlive the
 * line. */
int flags_set(struct command_line *line, size_t i, const char *where, const char *text,
              struct error *error);

/* Prints the text of `gamut COMMAND --help`. */
void flags_help(const struct command *command, FILE *out);

/* Prints "gamut: MESSAGE" to stderr and returns EXIT_INPUT. */
int report_error(const struct error *error);
