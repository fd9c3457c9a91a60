/* What may stand behind a flag, or as an argument, for who completes command lines. It follows from
 * the tables of flags and from what is built in; nothing is listed twice. */
#ifndef GAMUT_CLI_WORDS_H
#define GAMUT_CLI_WORDS_H

#include "base/text.h"
#include "cli/flags.h"

enum word_kind {
    WORDS_NONE,    /* nothing that is known: a number, a name of one's own */
    WORDS_ONE_OF,  /* one of some words */
    WORDS_LIST_OF, /* some of them, with commas between */
    WORDS_FILE,
    WORDS_FOLDER,
};

/* The kind of a flag's value; the words that it may be are added to `words`, blanks between. A flag
 * that is called as a list of `gamut list` is (--strategy), or whose value is (METRIC:LIMIT), takes
 * what is in that list.
 * ERR_INTERNAL where a built-in program can't be read. */
int words_of_flag(const struct flag *flag, enum word_kind *kind, struct text *words,
                  struct error *error);

/* Of a command's arguments. "[a|b]" are words, "FILE" is a file; "WORKLOAD" is also a workload. */
int words_of_arguments(const struct command *command, enum word_kind *kind, struct text *words,
                       struct error *error);

#endif
